"""Columns that number rows are never taken for scores without a word."""

from __future__ import annotations

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


def written(suffix: str) -> Any:
    """Give a function that writes columns to a file of this kind."""

    def write(path: Path, columns: dict[str, Any]) -> Path:
        tables.write(path.with_suffix(suffix), columns)
        return path.with_suffix(suffix)

    return write


FORMS = (
    *map(written, (".csv", ".jsonl", ".parquet")),
    lambda _path, columns: pd.DataFrame(columns),
    lambda _path, columns: pl.DataFrame(columns),
)


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


@pytest.mark.parametrize(
    ("command", "more"),
    [
        ("data info", []),
        ("compare", ["--score", "m", "--bootstrap", "20"]),
        ("meta", ["--human", "h", "--by", "pa"]),
        ("study segments", ["--human", "h"]),
    ],
)
def test_every_command_says_once_what_was_guessed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], command: str, more: list[str]
) -> None:
    scores = {"m": np.concatenate([GOOD, BAD]), "h": np.concatenate([GOOD, BAD[::-1]])}
    path = FORMS[0](tmp_path / "x", long("model", "example_id", **scores))
    assert run([*command.split(), str(path), *more]) == 0
    said = "".join(capsys.readouterr())
    assert said.count("system: model") == said.count("segment: example_id") == 1, said
    assert "is taken as" not in said
