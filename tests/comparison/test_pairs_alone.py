"""What a pair says by itself, beside the fit of all systems: in results, tables, figures."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.comparison.logs import compare_battles
from steelyard.comparison.run import compare
from steelyard.data.evalset import EvalSet, ScoreTable
from steelyard.data.judgements import BattleLog
from steelyard.data.segments import Segments
from steelyard.stats.paired.tests import sign_test, wilcoxon_test

ALL = ["mean", "median", "bt", "elo", "trueskill"]
NAN = float("nan")


def make(values: np.ndarray, *, better: bool = True) -> EvalSet:
    ids = tuple(str(i) for i in range(values.shape[1]))
    table = ScoreTable(values, higher_is_better=better)
    return EvalSet(tuple("ABCDEFGH"[: len(values)]), Segments(ids), {"m": table})


@given(st.integers(0, 10_000), st.booleans())
def test_a_pair_alone_is_the_share_that_it_wins(seed, better):
    rng = np.random.default_rng(seed)
    values = rng.integers(0, 4, (4, 15)).astype(float)
    values[rng.random(values.shape) < 0.1] = NAN
    values[:, 0] = np.arange(4.0)
    found = compare(make(values, better=better), by=ALL, tests=["sign"], intervals=None)
    if found.facts["over_all"] is not None:
        values = values[:, ~np.isnan(values).any(axis=0)]
    for name, own in found.aggregations.items():
        if name in ("mean", "median"):
            assert own.alone is None
            continue
        assert own.alone is not None
        for i in range(4):
            for j in range(4):
                if i == j:
                    assert np.isnan(own.alone[i, j])
                    continue
                gap = values[i] - values[j] if better else values[j] - values[i]
                gap = gap[~np.isnan(gap)]
                share = ((gap > 0).sum() + 0.5 * (gap == 0).sum()) / len(gap)
                assert own.alone[i, j] == pytest.approx(share)


def test_two_systems_need_no_joint_fit():
    values = np.random.default_rng(0).normal(size=(2, 30))
    bt = compare(make(values), by="bt", intervals=None).aggregations["bt"]
    assert bt.alone is not None
    assert bt.alone[0, 1] == pytest.approx(bt.pairwise[0, 1])


def test_a_cycle_is_seen_in_pairs_alone_only():
    """A beats B, B beats C, C beats A on two of three segments: all are equally strong."""
    values = np.array([[3.0, 2, 1], [2.0, 1, 3], [1.0, 3, 2]])
    bt = compare(make(values), by="bt", intervals=None).aggregations["bt"]
    assert bt.alone is not None
    assert bt.pairwise[0, 1] == pytest.approx(0.5)
    assert bt.alone[0, 1] == pytest.approx(2 / 3)
    assert bt.alone[2, 0] == pytest.approx(2 / 3)


def test_battles_have_pairs_alone_too():
    codes = np.array([0, 0, 1, 2, 1, 2], dtype=np.int32)
    others = np.array([1, 1, 2, 0, 0, 1], dtype=np.int32)
    log = BattleLog(("A", "B", "C"), codes, others, np.array([1, 1, 1, 0.5, 1, 1.0]))
    found = compare_battles(log, by=["bt", "mean"], intervals=None)
    bt = found.aggregations["bt"]
    assert bt.alone is not None
    assert bt.alone[0, 1] == pytest.approx(2 / 3)  # two of three battles
    assert bt.alone[0, 2] == pytest.approx(0.5)
    assert found.aggregations["mean"].alone is None
    assert found.to_dict()["aggregations"]["bt"]["pairwise_alone"] is bt.alone


def test_the_paper_s_tool_gives_pairs_alone(shared):
    """Pairformance's example: it prints .650 for M0 over M1, the fit of all five says .634."""
    path = shared / "bt-eval" / "pairformance-dialogue-example.csv"
    bt = compare(path, by="bt", intervals=None).aggregations["bt"]
    assert bt.alone is not None
    assert round(bt.alone[0, 1], 3) == 0.65
    assert round(bt.pairwise[0, 1], 3) == 0.634


def test_wilcoxon_can_prefer_who_loses_most_segments():
    """The caveat of the documentation: forty large wins outvote sixty small losses."""
    gap = np.r_[np.linspace(2, 3, 40), -np.linspace(0.1, 1, 60)]
    scores = np.stack([gap, np.zeros(100)])
    assert wilcoxon_test(scores, alternative="greater").p[0, 1] < 0.05
    assert sign_test(scores, alternative="less").p[0, 1] < 0.05
