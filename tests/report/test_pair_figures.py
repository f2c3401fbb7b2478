"""Figures of pairs: matrices by every ranking and of pairs alone."""

from __future__ import annotations

import numpy as np
import pytest

from steelyard.comparison.run import compare
from steelyard.core.errors import UsageError
from steelyard.data.evalset import EvalSet, ScoreTable
from steelyard.data.segments import Segments
from steelyard.report.figures import comparison as cf

pytest.importorskip("vl_convert")
ALL = ["mean", "median", "bt", "elo", "trueskill"]


def make(values: np.ndarray) -> EvalSet:
    ids = tuple(str(i) for i in range(values.shape[1]))
    return EvalSet(tuple("ABCDEFGH"[: len(values)]), Segments(ids), {"m": ScoreTable(values)})


def test_figures_say_which_they_are(look):
    values = np.random.default_rng(1).normal(size=(3, 40)) + np.arange(3.0)[:, None] / 2
    found = compare(make(values), by=ALL, tests=["t", "sign"], intervals=None)
    joint, alone = cf.draw("pairwise", found), cf.draw("pairwise-alone", found)
    for chart, said in ((joint, "one fit of all systems"), (alone, "each pair by itself")):
        assert any(said in line for line in chart["title"]["subtitle"])
    bt = found.aggregations["bt"]
    assert bt.alone is not None
    for chart, matrix in ((joint, bt.pairwise), (alone, bt.alone)):
        for cell in look.rows(chart, "row", "column", "value"):
            i, j = (found.systems.index(cell[side]) for side in ("row", "column"))
            assert cell["value"] == pytest.approx(matrix[i, j], rel=1e-5)
    averages = compare(make(values), by="mean", intervals=None)
    with pytest.raises(UsageError, match="needs a ranking by bt, elo or trueskill"):
        cf.draw("pairwise-alone", averages)
