"""Ratings pair after pair against the same battles one by one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from steelyard.core.errors import ShapeError, UsageError
from steelyard.reproduction.pairorder import elo_by_pairs, trueskill_by_pairs
from steelyard.stats.strength.battlelog import score_battles
from steelyard.stats.strength.elo import EloOptions, elo_ratings
from steelyard.stats.strength.trueskill import TrueSkillOptions, trueskill_ratings

CELLS = st.sampled_from([float("nan"), 0.0, 1.0, 2.0, 3.0])
TABLES = st.tuples(st.integers(1, 3), st.integers(1, 7), st.integers(1, 5)).flatmap(
    lambda shape: arrays(np.float64, shape, elements=CELLS)
)


@settings(max_examples=30)
@given(tables=TABLES)
def test_equals_one_battle_after_the_other(tables):
    elo, second = elo_by_pairs(tables), elo_by_pairs(tables, ties_as="second")
    skills = trueskill_by_pairs(tables)
    for k, scores in enumerate(tables):
        log = score_battles(scores, by="pair")
        lost = replace(log, outcome=np.where(log.outcome == 0.5, 0.0, log.outcome))
        assert elo[k] == pytest.approx(elo_ratings(log), abs=1e-9, nan_ok=True)
        assert second[k] == pytest.approx(elo_ratings(lost), abs=1e-9, nan_ok=True)
        one = trueskill_ratings(log)
        assert skills.mu[k] == pytest.approx(one.mu, abs=1e-9, nan_ok=True)
        assert skills.sigma[k] == pytest.approx(one.sigma, abs=1e-9, nan_ok=True)


def test_options_are_passed_on():
    scores = np.random.default_rng(0).normal(size=(1, 4, 6))
    log = score_battles(scores[0], by="pair")
    elo, skill = EloOptions(k=4.0, initial=1000.0), TrueSkillOptions(beta=1.0, tau=0.0)
    assert elo_by_pairs(scores, options=elo)[0] == pytest.approx(elo_ratings(log, elo))
    found = trueskill_by_pairs(scores, options=skill)
    assert found.mu[0] == pytest.approx(trueskill_ratings(log, skill).mu)


def test_bad_arguments():
    with pytest.raises(UsageError, match="unknown treatment of ties 'first'"):
        elo_by_pairs(np.zeros((1, 2, 3)), ties_as="first")
    with pytest.raises(ShapeError, match="tables x systems x segments"):
        elo_by_pairs(np.zeros((2, 3)))
