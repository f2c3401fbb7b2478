"""The layouts of tables, the synonyms of their columns, and which scores are human."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from steelyard import EvalSet, ScoreTable, Segments, load, save
from steelyard.core.errors import UsageError
from steelyard.formats import tables
from steelyard.formats.save import NAMED

Refusal = Callable[..., str]


@pytest.mark.parametrize("suffix", ["csv", "tsv", "jsonl", "parquet"])
def test_system_table(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"x.{suffix}"
    tables.write(path, {"system": ["B", "A"], "x": np.array([0.5, np.nan]), "lp": ["a-b"] * 2})
    es = load(path)
    assert es.systems == ("A", "B")
    assert es.n_segments == 0
    assert es["x"].system_scores is not None
    assert str(es["x"].system_scores.tolist()) == "[nan, 0.5]"
    assert es.language_pair == "a-b"


def test_text_layout(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    rows: list[dict[str, Any]] = [
        {"seg": 10, "doc": 2, "src": "s10", "refs": {"refA": "r10"}, "out": {"B": "b10"}},
        {"seg": 9, "doc": 1, "src": "", "refs": {"refB": "q9"}, "out": {"A": "", "B": None}},
    ]
    path.write_text("".join(json.dumps({"domain": "n", **row}) + "\n\n" for row in rows))
    es = load(path)
    assert es.segments == Segments(
        ("9", "10"),
        ("1", "2"),
        ("n", "n"),
        ("", "s10"),
        {"refA": (None, "r10"), "refB": ("q9", None)},
    )
    assert es.outputs == {"A": ("", None), "B": (None, "b10")}
    assert es.systems == ("A", "B")


# Which scores are human.


def test_uses_are_told_by_names_and_never_for_people(tmp_path: Path) -> None:
    names = ["a-src", "a-refA", "a-refA.refB", "a-all", "a", "a-b", "human-src"]
    cells = {"system": ["A"], "segment": ["1"]}
    path = tmp_path / "x.csv"
    tables.write(path, {**cells, **{name: np.array([1.0]) for name in names}})
    es = load(path, human="human-src")
    found = {name: es[name].uses for name in names}
    assert found == {
        "a-src": ("src",),
        "a-refA": ("refA",),
        "a-refA.refB": ("refA", "refB"),
        "a-all": ("all",),
        "a": (),
        "a-b": (),
        "human-src": (),
    }


def test_uses_know_references_of_another_input(tmp_path: Path) -> None:
    scores = tmp_path / "x.csv"
    tables.write(scores, {"system": ["A"], "segment": ["1"], "chrF-gold": np.array([1.0])})
    texts = tmp_path / "t.jsonl"
    texts.write_text('{"seg":"1","refs":{"gold":"r"},"out":{"A":"a"}}\n')
    assert load(scores, texts)["chrF-gold"].uses == ("gold",)
    assert load(scores)["chrF-gold"].uses == ()


# What is kept.


# Writing.


def rich() -> EvalSet:
    values = np.array([[0.1, np.nan], [-0.0, 5e-324]])
    return EvalSet(
        ("A", "B"),
        Segments(("0", "1"), ("d", "d"), ("n", "m"), ("s0", "s1"), {"refA": ("r0", "r1")}),
        {"chrF-refA": ScoreTable(values, uses=("refA",))},
        {"A": ("a0", "a1"), "B": ("b0", None)},
        language_pair="en-de",
    )


def test_save_says_what_is_lost(tmp_path: Path) -> None:
    es = rich().with_scores(
        "mqm", [[1.0, 2.0], [3.0, 4.0]], kind="human", higher_is_better=False,
        system_scores=np.array([1.0, 2.0]), domain_scores=np.ones((2, 2)),
    )  # fmt: skip
    lost = save(es, tmp_path / "x.csv")
    for what in (
        "official system scores",
        "stored domain and document scores",
        "which scores are human",
        "which scores are better when lower",
    ):
        assert what in lost


def test_save_refuses(tmp_path: Path, refusal: Refusal) -> None:
    es = rich()
    assert "did you mean 'native'?" in refusal(save, es, tmp_path / "x.csv", to="nativ")
    assert "format" in refusal(save, es, tmp_path / "x.xlsx", to="long")
    (tmp_path / "file").write_text("")
    for form in NAMED:
        suffix = ".parquet" if form == "native" else ".jsonl"
        refusal(save, es, tmp_path / "file" / f"x{suffix}", to=form)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["file"]


@pytest.mark.parametrize("name", ["x.PARQUET", "x.Parquet", "x.PQ", "x.parquet.gz"])
def test_native_file_is_native_by_whatever_name(tmp_path: Path, name: str) -> None:
    es = rich().with_scores("TER", [[1.0, 2.0], [3.0, 4.0]], higher_is_better=False)
    path = tmp_path / name
    try:
        save(es, path)
    except UsageError:
        assert not path.exists()
    else:
        assert load(path).identical(es)
