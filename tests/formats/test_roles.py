"""Columns that number rows are never taken for scores without a word."""

from __future__ import annotations

import json
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


PADDED = "system, segment, m1\nA, 1, 0.5\nA, 2, 0.25\nB, 1, 0.75\nB, 2, 1\n"


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


def as_texts(path: Path, *rows: dict[str, Any]) -> Path:
    path.write_text(
        "".join(json.dumps({**row, "out": {"A": "a", "B": "b"}}) + "\n" for row in rows)
    )
    return path


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
