"""The rules of the paired-evaluation paper's code, against the same done step by step."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from steelyard.reproduction.aspublished import elo_by_pairs, trueskill_by_pairs
from steelyard.stats.strength.sequential import EloOptions, TrueSkillOptions, battles_in_time
from steelyard.stats.strength.wins import score_battles

CELLS = st.sampled_from([float("nan"), 0.0, 1.0, 2.0, 3.0])
TABLES = st.tuples(st.integers(1, 3), st.integers(1, 7), st.integers(1, 5)).flatmap(
    lambda shape: arrays(np.float64, shape, elements=CELLS)
)


@settings(max_examples=30)
@given(tables=TABLES)
def test_equals_one_battle_after_the_other(tables):
    ratings, skills = elo_by_pairs(tables), trueskill_by_pairs(tables)
    for k, scores in enumerate(tables):
        log = score_battles(scores)
        log = log.take(np.lexsort((log.right, log.left)))  # pair after pair
        lost = replace(log, outcome=np.where(log.outcome == 0.5, 0.0, log.outcome))
        expected = battles_in_time(EloOptions(), lost).scores
        assert ratings[k] == pytest.approx(expected, abs=1e-9, nan_ok=True)
        expected = battles_in_time(TrueSkillOptions(), log).scores
        assert skills[k] == pytest.approx(expected, abs=1e-9, nan_ok=True)
