"""Columns that number rows are never taken for scores without a word."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from steelyard import EvalSet, ScoreTable, Segments, load
from steelyard.cli.main import run
from steelyard.core.errors import InputError, UsageError
from steelyard.formats import tables

N = 20
RNG = np.random.default_rng(0)
GOOD, BAD = (RNG.random(N).round(3) for _ in range(2))


def as_csv(path: Path, columns: dict[str, Any]) -> Path:
    tables.write(path.with_suffix(".csv"), columns)
    return path.with_suffix(".csv")


def as_jsonl(path: Path, columns: dict[str, Any]) -> Path:
    tables.write(path.with_suffix(".jsonl"), columns)
    return path.with_suffix(".jsonl")


def as_parquet(path: Path, columns: dict[str, Any]) -> Path:
    tables.write(path.with_suffix(".parquet"), columns)
    return path.with_suffix(".parquet")


def as_pandas(_path: Path, columns: dict[str, Any]) -> Any:
    return pd.DataFrame(columns)


def as_polars(_path: Path, columns: dict[str, Any]) -> Any:
    return pl.DataFrame(columns)


FORMS = (as_csv, as_jsonl, as_parquet, as_pandas, as_polars)


def wide(**more: Any) -> dict[str, Any]:
    return {**more, "baseline": BAD, "candidate": GOOD}


def long(system: str = "system", segment: str = "segment", **more: Any) -> dict[str, Any]:
    return {
        system: ["gpt-4o"] * N + ["llama"] * N,
        segment: list(range(N)) * 2,
        **more,
        "accuracy": np.concatenate([GOOD, BAD]),
    }


def said(es: EvalSet) -> str:
    return "\n".join(es.notes)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", ["id", "ID", "questionId", "doc_id", "index", "prompt", "example"])
@pytest.mark.parametrize("values", [range(N), range(7, 7 + N), [f"q{i}" for i in range(N)]])
def test_an_id_is_the_segment_of_a_wide_table(form, name, values, tmp_path):
    es = load(form(tmp_path / "x", wide(**{name: list(values)})))
    assert es.systems == ("baseline", "candidate")
    assert es.segments.ids == tuple(map(str, values)) or isinstance(values, list)
    np.testing.assert_allclose(es["score"].system_means(), [BAD.mean(), GOOD.mean()])
    assert f"column '{name}' is taken as the segment" in said(es)


def test_ids_are_kept_as_they_are_written(tmp_path):
    """Ids are no numbers: leading zeros and more digits than a double holds stay."""
    path = tmp_path / "x.csv"
    for first in ("007", "9007199254740993"):
        rows = [first, *map(str, range(100, 103))]
        path.write_text("id,a,b\n" + "".join(f"{i},0.5,0.25\n" for i in rows) * 1)
        assert first in load(path).segments.ids
        whole = pd.DataFrame({"id": [int(first), 1, 2], "a": [0.5, 1, 2], "b": [1.0, 2, 3]})
        assert str(int(first)) in load(whole).segments.ids


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("start", [0, 1])
@pytest.mark.parametrize("shuffled", [False, True])
@pytest.mark.parametrize("place", ["first", "last"])
def test_a_column_that_counts_the_rows_is_no_system(form, start, shuffled, place, tmp_path):
    counted = np.arange(start, start + N)
    if shuffled:
        counted = RNG.permutation(counted)
    columns = wide(k=counted) if place == "first" else {**wide(), "k": counted}
    es = load(form(tmp_path / "x", columns))
    assert (es.systems, es.n_segments) == (("baseline", "candidate"), N)
    assert "column 'k' is taken as the segment" in said(es)
    assert load(form(tmp_path / "x", columns), ignore=["k"]).systems == ("baseline", "candidate")
    assert load(form(tmp_path / "x", columns), systems=["k", "candidate"]).n_systems == 2


def test_a_few_numbers_may_count_by_chance_and_are_named(tmp_path):
    es = load(as_csv(tmp_path / "x", {"A": [1, 2, 3], "B": [2, 2, 2]}))
    assert "column 'A' counts the rows" in said(es)
    es = load(as_csv(tmp_path / "x", {"segment": range(N), "A": range(N), "B": [2] * N}))
    assert "column 'A' counts the rows" in said(es)
    assert not said(load(as_csv(tmp_path / "x", {"A": [0, 1], "B": [2, 2]})))
    assert not said(load(as_csv(tmp_path / "x", {"A": [0, 1, 1], "B": [2, 2, 3]})))


@pytest.mark.parametrize("form", FORMS)
def test_a_second_id_describes_the_item(form, tmp_path):
    columns = {"id": list(range(N)), "question_id": [k // 2 for k in range(N)], **wide()}
    es = load(form(tmp_path / "x", columns))
    assert es.systems == ("baseline", "candidate")
    assert es.segments.metadata["question_id"][:3] == ("0", "0", "1")
    odd = {**wide(), "item_id": list(range(N)), "question_id": [k // 2 for k in range(N)]}
    with pytest.raises(
        UsageError, match="'item_id' and 'question_id' could both be the segment: columns="
    ):
        load(form(tmp_path / "x", odd))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", ["id", "index", "example_id", "Unnamed: 0"])
def test_an_id_is_no_score_of_a_long_table(form, name, tmp_path):
    columns = {**long(), name: [3.5] * (2 * N)}
    assert list(load(form(tmp_path / "x", columns)).scores) == ["accuracy"]
    es = load(form(tmp_path / "x", columns), kind={"metric": [name]})
    assert sorted(es.scores) == sorted([name, "accuracy"])


def test_a_system_of_a_wide_table_may_be_called_model(tmp_path):
    es = load(as_csv(tmp_path / "x", {"baseline": GOOD, "model": BAD}))
    assert (es.systems, es.notes) == (("baseline", "model"), ())


def test_a_running_number_is_no_segment(tmp_path):
    columns = long(segment="id") | {"id": list(range(2 * N))}
    with pytest.raises(InputError, match=r"'id' is another on every row.*ignore=..id"):
        load(as_csv(tmp_path / "x", columns))


def test_documents_are_no_segments(tmp_path):
    columns = wide(doc_id=[i // 2 for i in range(N)])
    with pytest.raises(InputError, match=r"'doc_id' is taken as the segment; a document"):
        load(as_csv(tmp_path / "x", columns))


def test_errors_call_a_column_as_the_file_does(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("model,example_id,m\nA,1,0.5\nA,,0.5\n")
    with pytest.raises(InputError, match=r"x\.csv:3: column 'example_id' is empty"):
        load(path)


@pytest.mark.parametrize("form", FORMS)
def test_one_row_of_numbers_is_no_table_of_systems(form, tmp_path):
    with pytest.raises(InputError, match="one row of cells under 'foo', 'bar'"):
        load(form(tmp_path / "x", {"foo": [1.0], "bar": [2.0]}))
    assert load(form(tmp_path / "x", {"segment": ["1"], "foo": [1.0], "bar": [2.0]})).n_systems == 2


def test_a_slip_among_numbers_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"x\.csv:3: column 'mood': 'x' is not a number"):
        load(as_csv(tmp_path / "x", long(mood=[1, "x"] * N)))


def names(text: str) -> Iterable[str]:
    return text.split(",")


PADDED = "system, segment, m1\nA, 1, 0.5\nA, 2, 0.25\nB, 1, 0.75\nB, 2, 1\n"


@pytest.mark.parametrize(
    "text",
    [
        PADDED,
        PADDED.replace(", ", " , "),
        PADDED.replace(", ", " ,"),
        PADDED.replace(", ", "; "),
        PADDED.replace(", 1, ", ', "1", '),
    ],
)
@pytest.mark.parametrize("fast", [True, False])
def test_blanks_beside_separators_belong_to_no_name(text, fast, tmp_path, monkeypatch):
    if fast:
        monkeypatch.setattr(tables, "_FAST_FROM", 1)
    plain, padded = tmp_path / "plain.csv", tmp_path / "padded.csv"
    plain.write_text(PADDED.replace(", ", ","))
    padded.write_text(text)
    assert load(padded).identical(load(plain))


def test_blanks_around_single_names_and_cells_stay(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("system,segment, m1 \nA,1,0.5\nA ,1,0.25\n")
    es = load(path)
    assert (list(es.scores), es.systems) == ([" m1 "], ("A", "A "))


def test_padded_names_of_a_frame(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text(PADDED)
    assert load(pd.read_csv(path)).identical(load(path))  # which leaves the blanks to us
    frame = pd.DataFrame({"m1": ["A"], " segment": [1], " m1": [0.5]})
    with pytest.raises(InputError, match="'m1' occurs twice"):
        load(frame)


GUARDED = ("-base", "=x", "+1", "@a", " -b", "'-base", "''=x", "'s", "plain")


def test_guards_against_formulas_are_taken_off_again(tmp_path):
    """A result table joins by name with the scores that it was made of."""
    from steelyard.core.table import Column, Table

    means = [k / 8 for k in range(len(GUARDED))]
    rows = tuple(zip(GUARDED, means, strict=True))
    path = tmp_path / "result.csv"
    path.write_text(Table("", (Column("system"), Column("mean")), rows).csv())
    assert "\n'-base," in path.read_text()
    es = load(path)
    assert es.systems == tuple(sorted(GUARDED))
    assert dict(zip(es.systems, es["mean"].system_means().tolist(), strict=True)) == dict(rows)
    assert "is taken for a guard against formulas" in said(es)


@pytest.mark.parametrize("form", ["long", "system"])
@pytest.mark.parametrize("suffix", ["csv", "tsv", "jsonl", "parquet"])
def test_written_names_come_back_exactly(form, suffix, tmp_path):
    from steelyard.formats.save import save

    names = [name for name in GUARDED if name == name.strip()]
    values = np.arange(2.0 * len(names)).reshape(len(names), 2) / 4
    es = EvalSet(tuple(names), Segments(("'-1", "=2")), {names[0]: ScoreTable(values)})
    path = tmp_path / f"x.{suffix}"
    save(es, path, to=form)
    again = load(path)
    assert again.systems == es.systems
    assert list(again.scores) == list(es.scores)
    if form != "system":
        assert again.segments.ids == es.segments.ids


@pytest.mark.parametrize("name", ["Model", "System", "MODEL_NAME"])
def test_a_system_may_begin_with_a_capital(tmp_path: Path, name: str) -> None:
    path = tmp_path / "x.csv"
    path.write_text(f"{name},segment,m\na,1,0.5\nb,1,0.25\n", encoding="utf-8")
    es = load(path)
    assert es.systems == ("a", "b")


def as_texts(path: Path, *rows: dict[str, Any]) -> Path:
    path.write_text(
        "".join(json.dumps({**row, "out": {"A": "a", "B": "b"}}) + "\n" for row in rows)
    )
    return path


@pytest.mark.parametrize("name", ["id", "example_id", "questionId"])
def test_an_id_names_the_segments_of_texts(tmp_path: Path, name: str) -> None:
    es = load(as_texts(tmp_path / "x.jsonl", {name: "s1"}, {name: "s2"}))
    assert es.segments.ids == ("s1", "s2")
    assert es.notes == (f"{tmp_path / 'x.jsonl'}: column '{name}' is taken as the segment",)
    plain = load(as_texts(tmp_path / "x.jsonl", {"seg": "s1", name: "7"}, {"seg": "s2", name: "7"}))
    assert plain.segments.ids == ("s1", "s2")
    assert not plain.notes


def test_an_id_of_texts_that_repeats_is_named(tmp_path: Path) -> None:
    path = as_texts(tmp_path / "x.jsonl", {"doc_id": "d"}, {"doc_id": "d"})
    with pytest.raises(InputError, match=r"x.jsonl:2: .*column 'doc_id' is taken as the segment"):
        load(path)
    with pytest.raises(InputError, match="no segment column"):
        load(as_texts(path, {"src": "a"}))


COMMANDS = {
    "data info": [],
    "data check": [],
    "compare": ["--score", "m", "--bootstrap", "20"],
    "compare --pair gpt-4o,llama": ["--score", "m", "--bootstrap", "20"],
    "meta": ["--human", "h", "--by", "pa"],
    "report": ["--human", "h"],
    "study segments": ["--human", "h"],
    "study ties": ["--human", "h"],
}


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_says_once_what_was_guessed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    rows = long(
        "model", "example_id", m=np.concatenate([GOOD, BAD]), h=np.concatenate([GOOD, BAD[::-1]])
    )
    path = as_csv(tmp_path / "x", rows)
    out = ["--out", str(tmp_path / "x.html")] if command == "report" else []
    first, *more = command.split()
    words = (
        [first, *more[:1], str(path)] if first in ("data", "study") else [first, str(path), *more]
    )
    assert run([*words, *COMMANDS[command], *out]) == 0
    said = "".join(capsys.readouterr())
    for name, role in (("model", "system"), ("example_id", "segment")):
        assert said.count(f"{role}: {name}") == 1, said
        assert "is taken as" not in said


def test_score_says_once_what_was_guessed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = as_texts(tmp_path / "x.jsonl", {"id": "1", "refs": {"r": "a"}})
    for command in ("score", "compare"):
        assert run([command, str(path), "--metrics", "chrf"]) == 0
        assert capsys.readouterr().err.count("segment: id") == 1


def test_an_epoch_needs_a_system_and_an_item(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("id,trial,a,b\n1,1,0.5,0.6\n2,2,0.4,0.5\n")
    with pytest.raises(InputError, match="column 'trial' needs a system and an item"):
        load(path)
    path.write_text("model,task,acc\nA,x,0.5\nB,x,0.6\n")
    assert load(path)["acc"].system_means().tolist() == [0.5, 0.6]


@pytest.mark.parametrize("counter", ["id", "Unnamed: 0"])
@pytest.mark.parametrize("item", ["prompt", "example"])
def test_a_counter_of_rows_gives_way_to_the_item(tmp_path: Path, counter: str, item: str) -> None:
    path = tmp_path / "x.csv"
    path.write_text(f"{counter},model,{item},x\n0,A,p,0.5\n1,A,q,0.6\n2,B,p,0.7\n3,B,q,0.8\n")
    es = load(path)
    assert es.segments.ids == ("p", "q")


def test_a_task_may_be_an_item(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("task_id,model,passed\nHumanEval/0,A,True\nHumanEval/0,B,False\n")
    assert load(path).segments.ids == ("HumanEval/0",)
