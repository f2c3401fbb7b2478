"""Few units: intervals cover, say what the test says, and fewer than six decide nothing."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy import stats

import steelyard as sy
from steelyard.comparison.card import decide
from steelyard.data.evalset import EvalSet, ScoreTable
from steelyard.data.segments import Segments
from steelyard.stats.paired.tests import flip_interval, permutation_test, proportions_interval


def make(rows: Any, **segments: Any) -> EvalSet:
    values = np.array(rows, dtype=float)
    ids = tuple(map(str, range(values.shape[1])))
    return EvalSet(("A", "B"), Segments(ids, **segments), {"m": ScoreTable(values)})


def drawn(kind: str, n: int, rng: np.random.Generator) -> tuple[np.ndarray, float]:
    """Scores of two systems, and the difference that they were drawn with."""
    if kind == "normal":
        gap = 0.3 * rng.integers(0, 3)
        return rng.normal(size=n) + rng.normal(size=(2, n)) + [[gap], [0.0]], float(gap)
    if kind == "grades":
        return rng.integers(1, 4, n) + rng.integers(0, 3, (2, n)).astype(float), 0.0
    right = rng.choice([0.3, 0.5, 0.7, 0.8], (2, 1))
    luck = np.where(rng.random(n) < 0.5, rng.random(n), rng.random((2, n)))
    return (luck < right).astype(float), float(right[0, 0] - right[1, 0])


def simulate(n_sets: int, seed: int) -> dict[str, list[bool]]:
    """Whether intervals cover, for sets of 4 to 40 segments; none may contradict a p-value."""
    rng = np.random.default_rng(seed)
    covered: dict[str, list[bool]] = {"compare": [], "card": []}
    for k in range(n_sets):
        kind = ("normal", "binary", "grades")[k % 3]
        scores, truth = drawn(kind, int(rng.integers(4, 41)), rng)
        es = make(scores)
        found = sy.compare(es, by="mean", n_bootstrap=50)
        card = decide(es, ("A", "B"), n_bootstrap=50)
        own = found.aggregations["mean"]
        assert own.pairwise_ci is not None
        ends = own.pairwise_ci[0][0, 1], own.pairwise_ci[1][0, 1]
        decides = found.tiers["mean"].test
        shown = {decides: found.tests[decides].p[0, 1]}
        for where, (low, high), tests in (
            ("compare", ends, shown),
            ("card", card.ci, {"": card.p}),
        ):
            covered[where].append(not (truth < low or truth > high))
            for name, p in tests.items():
                assert (low > 0 or high < 0) == (p < 0.05), (where, kind, name, scores)
    return covered


def test_intervals_of_few_segments_do_not_contradict_tests():
    for covered in simulate(60, 1).values():
        assert np.mean(covered) > 0.88  # 60 sets: four standard errors of 95 %


@pytest.mark.thorough
def test_intervals_of_few_segments_cover():
    for covered in simulate(1200, 2).values():
        assert 0.93 <= np.mean(covered) <= 0.97


def test_the_interval_beside_t_is_that_of_t():
    rng = np.random.default_rng(3)
    scores = rng.normal(size=(2, 9))
    found = sy.compare(make(scores), by="mean", tests="t", n_bootstrap=50)
    own = found.aggregations["mean"]
    assert own.pairwise_ci is not None
    expected = stats.ttest_rel(*scores).confidence_interval()
    assert (own.pairwise_ci[0][0, 1], own.pairwise_ci[1][0, 1]) == pytest.approx(tuple(expected))
    assert own.pairwise_ci[0][1, 0] == -own.pairwise_ci[1][0, 1]


@pytest.mark.parametrize("seed", range(5))
def test_flips_are_inverted(seed):
    """Just inside the interval the test keeps a shift, just outside it rejects it."""
    gap = np.random.default_rng(seed).normal(size=8)
    low, high = (float(end[0]) for end in flip_interval(gap[None], None))

    def p(shift: float) -> float:
        sums = [np.dot(signs, gap - shift) for signs in product((-1, 1), repeat=8)]
        upper = np.mean(np.array(sums) >= (gap - shift).sum() - 1e-9)
        lower = np.mean(np.array(sums) <= (gap - shift).sum() + 1e-9)
        return float(min(1.0, 2 * min(upper, lower)))

    for end, out in ((low, -1), (high, 1)):
        assert p(end - out * 1e-6) >= 0.05 > p(end + out * 1e-6)
    assert (low > 0 or high < 0) == (permutation_test(np.stack([gap, 0 * gap])).p[0, 1] < 0.05)


def test_the_score_interval_of_proportions_solves_its_equation():
    wins, losses, n = (np.array([x]) for x in (9.0, 2.0, 36.0))
    for end in proportions_interval(wins, losses, n):
        delta = float(end[0])
        # The likeliest shares of wins and losses that differ by delta, on a grid.
        q = np.linspace(max(0, -delta) + 1e-9, (1 - delta) / 2 - 1e-9, 400_001)
        best = q[np.argmax(9 * np.log(q + delta) + 2 * np.log(q) + 25 * np.log(1 - 2 * q - delta))]
        z = (9 - 2 - 36 * delta) / np.sqrt(36 * (2 * best + delta * (1 - delta)))
        assert abs(z) == pytest.approx(1.959964, abs=1e-4)


@pytest.mark.parametrize("n", [2, 3, 4, 5])
@pytest.mark.parametrize("spread", [0.0, 0.001])
def test_fewer_than_six_segments_decide_nothing(n, spread):
    base = np.linspace(0.6, 0.8, n)
    es = make([base + 0.1 + spread * np.arange(n), base])
    found = sy.compare(es, by="mean", n_bootstrap=50)
    assert found.tests["t"].p_adjusted[0, 1] >= 0.0625
    assert found.tiers["mean"].clusters == (1, 1)
    assert not spread or found.tests["t"].p[0, 1] < 0.05
    card = decide(es, ("A", "B"), n_bootstrap=50)
    assert card.p == 2.0 ** (1 - n)
    for result in (found, card):
        assert "significant" not in str(result.words())


def test_compare_and_human_count_the_observation(tmp_path):
    """Four segments, A above B on each: one of sixteen signs; human's test has one side."""
    rows = [[90.0, 80, 70, 95], [60.0, 55, 40, 42]]
    path = tmp_path / "ratings.csv"
    lines = ["rater,system,segment,value"]
    lines += [f"r,{s},{k},{x:g}" for s, row in zip("AB", rows, strict=True)
              for k, x in enumerate(row)]  # fmt: skip
    path.write_text("\n".join(lines) + "\n")
    people = sy.human_scores(path, protocol=sy.da(test="permutation"))
    assert people.p is not None
    assert people.p[0, 1] == 0.0625
    assert {system.cluster for system in people.systems} == {1}
    assert "significant" not in str(people.words())
    found = sy.compare(make(rows), by="mean", tests="permutation")
    assert found.tests["permutation"].p[0, 1] == 0.125


@pytest.mark.parametrize(("n", "asked"), [(5, False), (12, True)])
def test_a_handful_of_segments_does_not_say_how_many_it_would_take(n: int, asked: bool):
    scores = np.array([np.arange(n) % 3, (np.arange(n) % 4) / 2])
    card = decide(make(scores), ("A", "B"), n_bootstrap=50)
    assert any("power" in sentence for sentence in card.answer()) == asked
