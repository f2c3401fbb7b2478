"""Names of files, systems, segments and scores may hold anything that a text can hold."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steelyard import EvalSet, ScoreTable, Segments, load, save
from steelyard.core.errors import InputError, UsageError
from steelyard.formats import tables
from steelyard.formats.judged import battle_counts

Fresh = Callable[[], Path]

NAMES = [
    "a b", " a ", "a.b", "a-b", "a,b", "a;b", 'a"b', '"a"', "a'b", "a\tb", "a\nb", "a\r\nb", "a\rb",
    "🦀", "模型", "مرحبا", "\u202eabc", "a\u2028b", "e\u0301", "NaN", "None", "NA", "1", "1.0",
    "1e5", "007", "-", "#", "=1+1", "\\", "a\\nb", "%s", "{x}", "$x", "a/b", "..", "*", "[x]", "?",
    "a\0b", "\ufeffa", "true", "null", "a" * 300, "a\x0bb", "a\x1cb", "a\x85b",
]  # fmt: skip
SUFFIXES = ["csv", "tsv", "jsonl", "csv.gz", "tsv.gz", "jsonl.gz", "parquet"]


def small(system: str = "A", segment: str = "1", score: str = "x") -> EvalSet:
    values = np.array([[0.1, 0.2], [0.3, np.nan]])
    return EvalSet(
        (system, f"{system} 2"),
        Segments((segment, f"{segment} 2")),
        {score: ScoreTable(values)},
    )


@pytest.mark.parametrize("suffix", ["csv", "tsv", "jsonl", "parquet"])
@pytest.mark.parametrize("name", NAMES)
def test_names_come_back(tmp_path: Path, name: str, suffix: str) -> None:
    es = small(name, name, name)
    path = tmp_path / f"x.{suffix}"
    save(es, path)
    assert load(path).identical(es)


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
words = texts.filter(str.strip)


@pytest.mark.parametrize("suffix", ["csv", "tsv", "jsonl", "parquet"])
@settings(max_examples=50)
@given(
    systems=st.lists(words, min_size=1, max_size=3, unique=True),
    ids=st.lists(words, min_size=1, max_size=3, unique=True),
    data=st.data(),
)
def test_any_long_table_comes_back(
    fresh: Fresh, suffix: str, systems: list[str], ids: list[str], data: st.DataObject
) -> None:
    filled = suffix in ("jsonl", "parquet")  # delimited files can't tell an empty text from none
    text = texts if filled else words
    sources = tuple(data.draw(st.lists(text, min_size=len(ids), max_size=len(ids))))
    outputs = {
        name: tuple(data.draw(st.lists(text, min_size=len(ids), max_size=len(ids))))
        for name in systems
    }
    es = EvalSet(tuple(systems), Segments(tuple(ids), sources=sources), {}, outputs)
    path = fresh() / f"x.{suffix}"
    save(es, path, to="long")
    assert load(path).identical(es)


FILE_NAMES = [
    "a b", "a.b", "-a", "a,b", "a'b", 'a"b', "a\tb", "a\nb", "[x]*", "*", "?", "{a,b}", "~", "🦀",
    "模型", "مرحبا", "a;b", "a%20b", "x=1", "$HOME", "a\\b", "a:b", "#", "--lp", "a&b", "**",
]  # fmt: skip


@pytest.mark.parametrize("suffix", ["csv", "csv.gz", "parquet"])
@pytest.mark.parametrize("name", FILE_NAMES)
def test_names_of_files_are_taken_literally(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, suffix: str
) -> None:
    monkeypatch.setattr(tables, "_FAST_FROM", 0)
    es = small()
    other = es.with_scores("x", es["x"].values + 1)
    for neighbour in ("x1", "a", "[x]"):
        save(other, tmp_path / f"{neighbour}.{suffix}", to="long")
    path = tmp_path / f"{name}.{suffix}"
    save(es, path, to="long")
    assert load(path).identical(es)
    parent = tmp_path / f"in {name}"
    parent.mkdir()
    save(es, parent / f"y.{suffix}", to="long")
    assert load(parent / f"y.{suffix}").identical(es)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_names_that_differ_in_case_only_stay_apart(tmp_path: Path, suffix: str) -> None:
    values = np.arange(4.0).reshape(2, 2)
    es = EvalSet(
        ("A", "a"),
        Segments(("s", "S"), references={"R": ("1", "2"), "r": ("3", "4")}),
        {"BLEU": ScoreTable(values), "bleu": ScoreTable(values + 10)},
    )
    path = tmp_path / f"x.{suffix}"
    save(es, path)
    assert load(path).identical(es)


def test_columns_of_foreign_parquet_that_differ_in_case_keep_their_names(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    pl.DataFrame({"system": ["A"], "segment": ["1"], "x": [1.0], "X": [2.0]}).write_parquet(path)
    assert {name: t.values.tolist() for name, t in load(path).scores.items()} == {
        "X": [[2.0]],
        "x": [[1.0]],
    }


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet"])
@pytest.mark.parametrize("name", ["system", "segment", "doc", "source", "output", "lp", "ref:x"])
def test_a_score_does_not_swallow_a_column(tmp_path: Path, name: str, suffix: str) -> None:
    es = EvalSet(
        ("A",),
        Segments(("1",), ("d",), None, ("s",), {"x": ("r",)}),
        {name: ScoreTable(np.array([[0.5]]))},
        {"A": ("o",)},
        language_pair="en-de",
    )
    with pytest.raises(UsageError, match=name):
        save(es, tmp_path / f"x.{suffix}", to="native" if suffix == "parquet" else "long")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet"])
@pytest.mark.parametrize("where", ["system", "segment", "source", "score"])
def test_what_utf_8_cannot_write_is_refused(tmp_path: Path, suffix: str, where: str) -> None:
    bad = "a\ud800b"
    name = {key: bad if key == where else "x" for key in ("system", "segment", "source", "score")}
    es = EvalSet(
        (name["system"],),
        Segments((name["segment"],), sources=(name["source"],)),
        {name["score"]: ScoreTable(np.array([[0.5]]))},
    )
    with pytest.raises((UsageError, InputError)) as caught:
        save(es, tmp_path / f"x.{suffix}")
    assert str(caught.value).encode().decode().isprintable()
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["", " ", "\t", "\u3000\xa0"])
def test_no_name_is_blank(tmp_path: Path, name: str) -> None:
    """Neither in files and frames, which tell the place, nor where a set is made of arrays."""
    long = {"system": ["A", name], "segment": ["1", "1"], "x": [1.0, 2.0]}
    found = "is empty" if not name else f"holds {name!r}"
    for suffix in ("jsonl", "parquet", "csv"):
        path = tmp_path / f"x.{suffix}"
        tables.write(path, long, names=("system", "segment"))
        line = 3 if suffix == "csv" else 2
        message = f"x.{suffix}:{line}: column 'system' {found}, expected a name"
        with pytest.raises(InputError, match=re.escape(message)):
            load(path)
    with pytest.raises(InputError, match="<frame>:2: column 'system'"):
        load(pl.DataFrame(long))
    for make in (
        lambda: small(name),
        lambda: small(segment=name),
        lambda: small(score=name),
        lambda: small().with_scores(name, np.zeros((2, 2))),
        lambda: Segments(("1",), references={name: ("a",)}),
    ):
        with pytest.raises(UsageError, match=f"{re.escape(found)}, expected names"):
            make()


@pytest.mark.parametrize("column", ["left", "right", "unit"])
def test_no_name_in_a_long_log_is_blank(tmp_path: Path, column: str) -> None:
    """DuckDB, which reads these, has another notion of blanks than Python."""
    row = {"left": "A", "right": "B", "outcome": "left", "unit": "1", column: "\u3000 "}
    path, other = tmp_path / "log.csv", tmp_path / "other.csv"
    path.write_text("left,right,outcome,unit\nA,B,right,1\n" + ",".join(row.values()) + "\n")
    other.write_text("left,right,outcome,unit\nA,B,right,1\n")
    with pytest.raises(InputError, match=f"log.csv:3: column '{column}' holds .*, expected a name"):
        battle_counts.read_counts([path, other])
