"""Tests, tiers and notes are computed when they are read, and are the same then."""

from __future__ import annotations

import copy
import pickle
from dataclasses import replace

import numpy as np
import pytest

import steelyard as sy
from steelyard.core.errors import UsageError
from steelyard.data.evalset import EvalSet, ScoreTable
from steelyard.data.segments import Segments

PARTS = ("unit", "tests", "tiers", "notes", "warnings", "provenance")


def a_set(n=6, size=80):
    scores = np.random.default_rng(0).normal(np.linspace(0, 0.5, n)[:, None], 1, (n, size))
    documents = tuple(f"d{k // 4}" for k in range(size))
    segments = Segments(tuple(map(str, range(size))), documents=documents)
    names = tuple(f"s{i:03d}" for i in range(n))
    return EvalSet(names, segments, {"quality": ScoreTable(scores.round(1))})


@pytest.mark.parametrize("order", [PARTS, PARTS[::-1]])
def test_it_makes_no_difference_what_is_read_first(order):
    tests = ["t", "permutation", "bootstrap", "sign"]
    expected = sy.compare(a_set(), tests=tests, n_bootstrap=50, rng=3).to_dict()
    result = sy.compare(a_set(), tests=tests, n_bootstrap=50, rng=3)
    for part in order:
        assert getattr(result, part) is getattr(result, part)
    np.testing.assert_equal(result.to_dict(), expected)


def test_copies_hold_what_would_have_been_computed():
    expected = sy.compare(a_set(), n_bootstrap=20).to_dict()
    for copied in (
        pickle.loads(pickle.dumps(sy.compare(a_set(), n_bootstrap=20))),
        copy.deepcopy(sy.compare(a_set(), n_bootstrap=20)),
        replace(sy.compare(a_set(), n_bootstrap=20), alpha=0.05),
    ):
        np.testing.assert_equal(copied.to_dict(), expected)


def test_options_that_do_not_fit_are_refused_at_once():
    with pytest.raises(UsageError, match="mood's test is two-sided"):
        sy.compare(a_set(), tests="mood", alternative="less")
    with pytest.raises(UsageError, match="needs resamples"):
        sy.compare(a_set(), tests="bootstrap", intervals=None)
    with pytest.raises(UsageError, match="no errors by unit"):
        sy.compare(a_set(), by=sy.bt(ties="davidson"), tests="bt-gap")
    with pytest.raises(UsageError, match="orders is 3 and 4"):
        sy.compare(a_set(), by=[sy.elo(orders=3), sy.trueskill(orders=4)])
    with pytest.raises(UsageError, match="scale is an option of battles"):
        sy.compare(a_set(), by=sy.bt(scale="elo"))


def test_pairs_are_a_frame_in_the_order_of_the_ranking():
    result = sy.compare(a_set(), by=["mean", "bt"], n_bootstrap=50)
    for by, test in (("mean", "paired t-test"), ("bt", "sign test")):
        frame = result.pairs(by, "pandas")
        assert len(frame) == 15
        assert frame.loc[0, ["leader", "other"]].tolist() == result.ranking(by)[:2]
        assert set(frame["test"]) == {test}
        p = result.tests[result.tiers[by].test]
        i, j = (result.systems.index(name) for name in frame.loc[3, ["leader", "other"]])
        assert frame.loc[3, "p"] == p.p[i, j]
        assert frame.loc[3, "p_adjusted"] == p.p_adjusted[i, j]
