"""M-ETA: an accepted name of the entity stands in the output."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import steelyard as sy
from steelyard.core.errors import InputError, UsageError
from steelyard.data.segments import Segments
from steelyard.scoring.goldnames import has_any
from steelyard.scoring.run import score

_WORDS = st.text("aAbBß \u0130", min_size=1, max_size=4).filter(str.strip)


@given(_WORDS, st.lists(_WORDS, min_size=1, max_size=3))
def test_against_the_definition(output: str, names: list[str]) -> None:
    said = False
    for name in names:
        low, wanted = output.casefold(), name.casefold()
        said |= any(low[i : i + len(wanted)] == wanted for i in range(len(low)))
    assert has_any(output, "\n".join(names)) == said


def small(accepted: tuple[str | None, ...] | None) -> sy.EvalSet:
    segments = Segments(("1", "2", "3", "4"), accepted=accepted)
    return sy.EvalSet(("A",), segments, outputs={"A": ("in WIEN", "Vienna", "", None)})


def test_edges() -> None:
    table = score(small(("Wien", "Wien\nVienne", "Wien", "Wien")), "m-eta").evalset["m-eta"]
    np.testing.assert_array_equal(table.values, [[100, 0, 0, np.nan]])
    assert table.system_means()[0] == pytest.approx(100 / 3)


def test_segments_without_names_take_no_part_and_are_counted() -> None:
    found = score(small(("Wien", None, "Wien", "Wien")), "m-eta")
    np.testing.assert_array_equal(found.evalset["m-eta"].values, [[100, np.nan, 0, np.nan]])
    assert "m-eta: 1 segment without accepted names excluded" in found.warnings


@pytest.mark.parametrize("accepted", [None, (None,) * 4])
def test_without_any_names_it_is_refused(accepted: tuple[None, ...] | None) -> None:
    with pytest.raises(UsageError, match="m-eta needs accepted names"):
        score(small(accepted), "m-eta")


def test_names_survive_every_file(tmp_path: Path) -> None:
    row = {"seg": "1", "src": "x", "refs": ["a", "b"], "mentions": ["Wien", "Vienne  la"],
           "out": {"A": "y"}}  # fmt: skip
    other = {"seg": "2", "src": "x", "refs": ["a"], "mentions": [], "out": {"A": "y"}}
    path = tmp_path / "t.jsonl"
    path.write_text(f"{json.dumps(row)}\n{json.dumps(other)}\n")
    es = sy.load(path)
    assert es.segments.accepted == ("Wien\nVienne la", None)
    assert es.segments.references == {"ref1": ("a", "a"), "ref2": ("b", None)}
    for name in ("again.jsonl", "native.parquet", "long.csv"):
        to = {"again.jsonl": "text", "native.parquet": "native", "long.csv": "long"}[name]
        sy.save(es, tmp_path / name, to=to)
        assert sy.load(tmp_path / name).segments.accepted == es.segments.accepted
    assert es.select(segments=["2"]).segments.accepted == (None,)
    assert sy.load(path, path).segments.accepted == es.segments.accepted


@pytest.mark.parametrize("bad", [[1], {"a": "b"}, [" "], 3])
def test_names_that_are_none_are_refused(tmp_path: Path, bad: object) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text(json.dumps({"seg": "1", "mentions": bad, "out": {"A": "y"}}) + "\n")
    with pytest.raises(InputError, match=r"t\.jsonl:1: 'mentions': expected a list of names"):
        sy.load(path)


def test_official(shared: Path) -> None:
    folder = shared / "ea-mt"
    with (folder / "expected.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 10
    for lp in {row["lp"] for row in rows}:
        es = sy.load(folder / f"{lp}.jsonl.gz", lp=lp)
        scores = score(es, "m-eta").system_scores()
        for row in rows:
            if row["lp"] == lp:
                assert round(scores[row["system"]]["m-eta"], 2) == float(row["m_eta"])
                assert es.n_segments == int(row["n"])
