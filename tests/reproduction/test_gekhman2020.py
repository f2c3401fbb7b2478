"""The KoBE paper reproduced, as far as scores and entity links are at hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

import steelyard as sy
from steelyard.data.evalset import EvalSet
from steelyard.data.segments import Segments
from steelyard.reproduction.gekhman2020 import PAPER, TABLES, correlations, reproduce_kobe


def test_correlations_keep_their_sign_and_skip_gaps():
    scores = {
        "human_z": sy.ScoreTable(
            np.empty((4, 0)), kind="human", system_scores=np.array([1, 2, 3, 5.0])
        ),
        "up": sy.ScoreTable(np.empty((4, 0)), system_scores=np.array([2.0, 4, 6, np.nan])),
        "down": sy.ScoreTable(np.empty((4, 0)), system_scores=np.array([5.0, 3, 2, 1])),
    }
    es = EvalSet(tuple("abcd"), Segments(()), scores)
    found = correlations(es)
    assert found["up"] == pytest.approx(1)
    assert found["down"] == pytest.approx(np.corrcoef([1, 2, 3, 5], [5, 3, 2, 1])[0, 1])


def test_without_data_everything_is_listed(tmp_path):
    found = reproduce_kobe(tmp_path)
    assert all(row.note for row in found.rows if row.match is None)
    known = [row.what for row in found.rows if row.match is not None]
    assert len(known) == 4  # what follows from the printed cells
    cells = sum(
        not math.isnan(value)
        for key in TABLES
        for metric, row in PAPER.figures()[key].items()
        if metric != "columns"
        for value in row
    )
    assert sum(row.part in TABLES.values() for row in found.rows) == cells
    assert "figures that need it are not compared" in found.warnings[0]


def test_all_rows_of_other_metrics(shared):
    found = reproduce_kobe(shared)
    rows = {row.what: row for row in found.rows}
    assert len(rows) == len(found.rows)
    others = [row for name, row in rows.items() if row.part in TABLES.values()
              and not name.endswith("KoBE")]  # fmt: skip
    assert len(others) == 68
    assert all(row.match for row in others)
    assert rows["Table 1, de-en, BLEU"].published == 0.849
    assert rows["Table 1, zh-en, BLEU"].published == 0.899
    assert all(row.match for row in found.rows if row.part in ("Authors' code", "Section 5"))
    kobe = rows["Table 4, ru-en, KoBE"]
    assert (kobe.match, round(float(kobe.ours or 0), 3)) == (False, 0.914)
    assert "earlier run" in str(kobe.note)
    assert rows["Section 5, directions in which YiSi-2 goes against people, of 18"].ours == 6
