"""The simulation against its description, a naive twin, and the claims of the paper."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats as reference
from hypothesis import given, settings
from hypothesis import strategies as st

from steelyard.core.errors import UsageError
from steelyard.core.table import dumps
from steelyard.stats.strength.bradleyterry import bradley_terry
from steelyard.stats.strength.sequential import EloOptions, TrueSkillOptions, battles_in_time
from steelyard.stats.strength.wins import Battles, win_counts
from steelyard.studies.options import Design
from steelyard.studies.simulation import recovered, simulate, simulate_scores
from steelyard.studies.study import Study

SMALL = Design(types=(1, 2), outliers=(0.0, 0.1), systems=(2, 4), segments=(8,), repeats=6)


@pytest.fixture(scope="module")
def whole() -> Study:
    return simulate(rng=0)


def test_regular_scores_are_strength_offset_and_noise():
    design = Design(repeats=400, noise=0.5)
    strengths, scores = simulate_scores(design, (3, 0.0, 4, 11), np.random.default_rng(0))
    assert strengths == pytest.approx(strengths / strengths.sum(axis=1, keepdims=True) * 10)
    assert scores.shape == (400, 4, 9)  # three types of three segments: eleven do not divide
    rest = scores - strengths[:, :, None]
    offsets = rest.mean(axis=1).reshape(400, 3, 3).mean(axis=2)
    assert offsets.min() > -1
    assert offsets.max() < 101
    assert offsets.mean() == pytest.approx(50, abs=3)
    noise = rest - np.repeat(offsets, 3, axis=1)[:, None, :]
    assert noise.std() == pytest.approx(0.5 * np.sqrt(11 / 12), rel=0.02)


@pytest.mark.parametrize(("share", "count"), [(0.01, 1), (0.2, 4), (0.25, 5)])
def test_reversed_outliers_come_on_top(share, count):
    strengths, scores = simulate_scores(Design(), (1, share, 6, 20), np.random.default_rng(1))
    assert scores.shape == (10, 6, 20 + count)
    for own, table in zip(strengths, scores, strict=True):
        for row in table[:, 20:].T:
            assert reference.kendalltau(own, row).statistic < 0
            assert row.min() >= 0
            assert row.max() <= 100


def test_permuted_outliers_keep_their_scores():
    plain = Design(noise=0.0)
    swapped = Design(noise=0.0, outlier_kind="permuted")
    setting = (1, 0.2, 6, 20)
    strengths, scores = simulate_scores(swapped, setting, np.random.default_rng(1))
    _, before = simulate_scores(plain, (1, 0.0, 6, 20), np.random.default_rng(1))
    assert scores.shape == before.shape
    assert np.sort(scores, axis=1) == pytest.approx(np.sort(before, axis=1))
    assert np.array_equal(scores[:, :, 4:], before[:, :, 4:])
    assert not np.array_equal(scores[:, :, :4], before[:, :, :4])
    assert strengths.shape == (10, 6)


@settings(max_examples=30)
@given(st.integers(0, 10_000), st.integers(2, 7), st.integers(1, 9))
def test_recovery_against_one_set_at_a_time(seed, n, segments):
    rng = np.random.default_rng(seed)
    strengths, scores = rng.random((3, n)), rng.integers(0, 9, (3, n, segments)).astype(float)
    found = recovered(strengths, scores)
    for k in range(3):
        counts = win_counts(scores[k])
        fit = bradley_terry(counts.wins, counts.ties)
        values = (scores[k].mean(axis=1), np.median(scores[k], axis=1), -fit.ranks)
        for tau, value in zip(found[k], values, strict=True):
            if len(np.unique(value.round(9))) == 1:
                assert np.isnan(tau)
            else:
                expected = reference.kendalltau(strengths[k], value.round(9)).statistic
                assert tau == pytest.approx(expected, abs=1e-12)


def naive_ratings(scores, orders, rng):
    """Play every segment in every order: all pairs, in random order; means over the orders."""
    n, segments = scores.shape
    pairs = np.array([(i, j) for i in range(n) for j in range(i + 1, n)])
    elo, trueskill = [], []
    for _ in range(orders):
        rows = [(i, j, s) for s in rng.permutation(segments) for i, j in rng.permutation(pairs)]
        left, right, at = np.array(rows).T
        outcome = (np.sign(scores[left, at] - scores[right, at]) + 1) / 2
        log = Battles(left, right, outcome, n)
        elo.append(battles_in_time(EloOptions(), log).scores)
        trueskill.append(battles_in_time(TrueSkillOptions(), log).scores)
    return np.mean(elo, axis=0), np.mean(trueskill, axis=0)


def test_ratings_against_battle_after_battle():
    rng = np.random.default_rng(8)
    strengths = rng.permuted(np.tile(np.arange(4.0), (5, 1)), axis=1)
    scores = 2 * strengths[:, :, None] + rng.normal(size=(5, 4, 12))
    scores[1, 2] = scores[1, 0]  # a tie on every segment
    found = recovered(strengths, scores, ["trueskill", "elo"], orders=60, rng=rng)
    for k in (0, 2, 3, 4):
        for tau, value in zip(found[k], naive_ratings(scores[k], 60, rng)[::-1], strict=True):
            assert tau == pytest.approx(reference.kendalltau(strengths[k], value).statistic)
    assert (found[1] < 1).all()


def test_size_and_settings(whole):
    assert whole.facts == {"n_settings": 288, "n_sets": 2880}
    assert [curve.name for curve in whole.curves] == list("abcdefgh")
    for curve in whole.curves:
        for line in curve.lines:
            assert len(line.y) == len(curve.x)
            assert (line.low <= line.y).all()
            assert (line.y <= line.high).all()
    everything = whole.curve("g").lines[0].n
    assert sum(everything) == 2880
    assert "seed:0" in whole.provenance.line()
    dumps(whole.to_dict())


def lines(study: Study, panel: str) -> dict[str, np.ndarray]:
    return {line.name: line.y for line in study.curve(panel).lines}


def test_mean_fails_with_outliers_median_with_types_bt_with_neither(whole):
    outliers, types, both = lines(whole, "c"), lines(whole, "d"), lines(whole, "f")
    assert outliers["mean"][-1] < outliers["mean"][0] - 0.3
    assert outliers["median"][-1] > outliers["median"][0] - 0.05
    assert outliers["bt"][-1] > outliers["bt"][0] - 0.05
    assert types["median"][-1] < types["median"][0] - 0.1
    assert types["mean"][-1] > types["mean"][0] - 0.05
    assert types["bt"][-1] > types["bt"][0] - 0.05
    assert both["median"][-1] < both["median"][0] - 0.4  # made worse by outliers
    assert both["bt"][-1] > both["bt"][0] - 0.05
    for panel in "efgh":
        found = lines(whole, panel)
        assert (found["bt"] > found["mean"] - 0.03).all()
        assert (found["bt"] > found["median"] - 0.03).all()


def test_every_claim_holds(whole):
    claims = whole.table("claims").records()
    assert len(claims) == 10
    assert all(row["holds"] for row in claims)


def test_figures_of_the_authors_simulation(whole):
    overall = {row["ranking"]: row["tau"] for row in whole.table("overall").records()}
    assert overall == pytest.approx({"mean": 0.498, "median": 0.591, "bt": 0.772}, abs=0.025)
    found = lines(whole, "e")
    assert found["mean"] == pytest.approx([0.788, 0.400, 0.307], abs=0.05)
    assert found["median"] == pytest.approx([0.670, 0.560, 0.543], abs=0.05)
    assert found["bt"] == pytest.approx([0.781, 0.768, 0.766], abs=0.03)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"types": ()}, "at least one of them"),
        ({"types": (11,), "segments": (10,)}, "types of segments"),
    ],
)
def test_bad_designs(settings, message):
    with pytest.raises(UsageError, match=message):
        Design(**settings)
