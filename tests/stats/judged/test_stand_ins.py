"""Whether a judge may stand in for a person: ceilings, the alternative annotator test, reruns."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import ttest_1samp

from steelyard.stats.agreement import label_counts, vote
from steelyard.stats.estimate import mean_estimate
from steelyard.stats.judged.agreement import (
    drift,
    label_agreement,
    label_ceiling,
    score_ceiling,
    self_agreement,
)
from steelyard.stats.judged.alt_test import alternative_annotator
from steelyard.stats.judged.bias import swapped_position


def sparse(rng, raters, rows, k):
    """Labels of people, a third of them missing, and a judge's."""
    truth = rng.integers(0, k, rows)
    said = np.where(rng.random((raters, rows)) < 0.7, truth, rng.integers(0, k, (raters, rows)))
    said = said.astype(float)
    said[rng.random((raters, rows)) < 0.33] = np.nan
    judge = np.where(rng.random(rows) < 0.6, truth, rng.integers(0, k, rows)).astype(float)
    return said, judge


def naive_ceiling(said, judge):
    """Every rater, and the judge, against the most frequent labels of the others."""
    people, judges = [], []
    for j in range(len(said)):
        mine, theirs = [], []
        for i in range(said.shape[1]):
            if np.isnan(said[j, i]):
                continue
            others = [said[o, i] for o in range(len(said)) if o != j and not np.isnan(said[o, i])]
            best = max((others.count(x) for x in others), default=0)
            top = {x for x in others if others.count(x) == best}
            if top:
                mine.append((said[j, i] in top) / len(top))
                theirs.append((judge[i] in top) / len(top))
        people.append(np.mean(mine))
        judges.append(np.mean(theirs))
    return np.mean(people), np.mean(judges)


@given(st.integers(0, 10_000))
def test_the_ceiling_takes_the_same_others_for_both(seed: int) -> None:
    said, judge = sparse(np.random.default_rng(seed), 4, 60, 3)
    codes = np.where(np.isnan(said), -1, said).astype(int)
    result = label_ceiling(codes, judge.astype(int), 3)
    np.testing.assert_allclose(
        [result.people.value, result.judge.value], naive_ceiling(said, judge), atol=1e-12
    )
    assert result.difference.value == pytest.approx(result.judge.value - result.people.value)


def test_a_rater_as_judge_meets_the_ceiling() -> None:
    """A judge like the raters: its difference from them is above or below zero in 5 of 100."""
    rng = np.random.default_rng(3)
    outside = 0
    for _ in range(300):
        truth = rng.integers(0, 3, 150)
        said = np.where(rng.random((4, 150)) < 0.7, truth, rng.integers(0, 3, (4, 150)))
        result = label_ceiling(said[:3], said[3], 3).difference
        outside += not result.low <= 0 <= result.high
    assert abs(outside / 300 - 0.05) < 3 * np.sqrt(0.05 * 0.95 / 300)


def test_one_rater_has_no_ceiling() -> None:
    result = label_ceiling(np.zeros((1, 40), int), np.zeros(40, int), 2)
    assert not result.people.known
    assert "two are needed" in result.people.why
    numbers = score_ceiling(np.arange(40.0)[None], np.arange(40.0))
    assert not numbers.people.known


def naive_alt(said, judge, scoring, epsilon):
    """Row by row, with the scores of the paper and SciPy's t test."""
    p, advantage = [], []
    for j in range(len(said)):
        worse, better = [], []
        for i in range(said.shape[1]):
            others = [said[o, i] for o in range(len(said)) if o != j and not np.isnan(said[o, i])]
            if np.isnan(said[j, i]) or not others:
                continue

            def score(x, others=others):
                if scoring == "accuracy":
                    return np.mean([x == o for o in others])
                return -np.sqrt(np.mean([(x - o) ** 2 for o in others]))

            rater, llm = score(said[j, i]), score(judge[i])
            near = np.isclose(rater, llm, atol=1e-12)
            worse.append(float(rater > llm or near))
            better.append(float(llm > rater or near))
        difference = np.array(worse) - np.array(better)
        p.append(ttest_1samp(difference, epsilon, alternative="less").pvalue)
        advantage.append(np.mean(better))
    return np.array(p), np.mean(advantage)


@given(st.integers(0, 2_000), st.sampled_from(["accuracy", "neg_rmse"]))
def test_the_alternative_annotator_test(seed: int, scoring: str) -> None:
    said, judge = sparse(np.random.default_rng(seed), 3, 90, 5)
    result = alternative_annotator(said, judge, scoring=scoring, epsilon=0.15, least_rows=10)
    p, advantage = naive_alt(said, judge, scoring, 0.15)
    np.testing.assert_allclose(result.p, p, atol=1e-9)
    assert result.advantage.value == pytest.approx(advantage)
    steps = np.arange(1, 4)
    ordered = np.sort(p)
    beaten = np.flatnonzero(ordered <= steps / 3 * 0.05 / (1 / steps).sum())
    assert result.winning_rate == pytest.approx((beaten[-1] + 1) / 3 if len(beaten) else 0)


@given(st.integers(0, 5000))
def test_self_agreement_counts_pairs_of_runs(seed: int) -> None:
    rng = np.random.default_rng(seed)
    runs = rng.integers(0, 3, (4, 12)).astype(float)
    runs[rng.random((4, 12)) < 0.4] = np.nan
    shares = []
    for column in runs.T:
        own = column[~np.isnan(column)]
        if len(own) > 1:
            pairs = [(i, j) for i in range(len(own)) for j in range(i)]
            shares.append(np.mean([own[i] == own[j] for i, j in pairs]))
    result = self_agreement(runs)
    assert result.known == bool(shares)
    if shares:
        assert result.value == pytest.approx(np.mean(shares))


def test_drift() -> None:
    human = np.array([0, 0, 0, 1, 1, 1, -1, 0])
    old = np.array([0, 1, 1, 1, 0, 1, 0, -1])
    new = np.array([0, 0, 0, 1, -2, 0, 1, 0])
    result = drift(human, old, new)
    assert (result.gained, result.lost) == (2, 1)
    assert result.difference.n == 6
    assert result.difference.value == pytest.approx(1 / 6)
    assert result.p == pytest.approx(1.0)
    assert result.changed.n == 7
    nothing = drift(human, np.full(8, -1), new)
    assert not nothing.changed.known


@pytest.mark.parametrize(
    ("estimate", "why"),
    [
        (lambda: label_agreement(np.array([0, -1]), np.array([-1, 1]), 2).kappa, "no row"),
        (lambda: label_agreement(np.array([0, -1]), np.array([-1, 1]), 2).ac1, "no row"),
        (lambda: swapped_position(np.array([2, -1]), np.array([-1, 0])).bias, "both orders"),
        (lambda: alternative_annotator(np.ones((2, 20)), np.ones(20)).advantage, "30 rows"),
        (lambda: mean_estimate(np.ones(4), np.zeros(4, int)), "all rows share one unit"),
    ],
)
def test_nothing_to_measure_has_no_interval_and_a_reason(estimate, why):
    result = estimate()
    assert not result.bounded
    assert why in result.why


def test_the_vote_of_several():
    votes = [np.array([0, 1, -1, 1]), np.array([0, 0, -1, -1]), np.array([1, -1, -1, -1])]
    assert vote(label_counts(votes, 2)).tolist() == [0, -1, -1, 1]
