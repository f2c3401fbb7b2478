"""Labels of a judge beside people's: textbook formulas, edges, and figures of other packages."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.stats.judged import realdata
from tests.stats.naive import SEEDS

from steelyard.stats.agreement import kappa, krippendorff_alpha, pooled_agreement
from steelyard.stats.estimate import Estimate, clopper_pearson, share_estimate, wilson
from steelyard.stats.judged.agreement import correlation, label_agreement, score_agreement

CODES = {"right": 0, "tie": 1, "bothbad": 1, "left": 2, "": -2}


def table(a, b, k):
    return np.array([[np.mean((a == i) & (b == j)) for j in range(k)] for i in range(k)])


def naive_kappa(a, b, k, weights):
    """Fleiss, Cohen and Everitt (1969), cell by cell."""
    p = table(a, b, k)
    r, c = p.sum(1), p.sum(0)
    w = np.array([[1 - abs(i - j) / (k - 1) if weights == "linear"
                   else 1 - ((i - j) / (k - 1)) ** 2 if weights == "quadratic"
                   else float(i == j) for j in range(k)] for i in range(k)])  # fmt: skip
    po = sum(w[i, j] * p[i, j] for i in range(k) for j in range(k))
    pe = sum(w[i, j] * r[i] * c[j] for i in range(k) for j in range(k))
    if 1 - pe < 1e-12:
        return math.nan, math.nan
    value = (po - pe) / (1 - pe)
    mean_row = [sum(c[j] * w[i, j] for j in range(k)) for i in range(k)]
    mean_column = [sum(r[i] * w[i, j] for i in range(k)) for j in range(k)]
    inner = sum(
        p[i, j] * (w[i, j] - (mean_row[i] + mean_column[j]) * (1 - value)) ** 2
        for i in range(k) for j in range(k)
    )  # fmt: skip
    variance = (inner - (value - pe * (1 - value)) ** 2) / (len(a) * (1 - pe) ** 2)
    return value, math.sqrt(max(variance, 0))


def naive_ac1(a, b, k):
    """Gwet (2008), row by row."""
    n = len(a)
    p = table(a, b, k)
    pi = (p.sum(0) + p.sum(1)) / 2
    pe = sum(x * (1 - x) for x in pi) / (k - 1)
    value = (np.trace(p) - pe) / (1 - pe)
    squares = 0.0
    for i, j in zip(a, b, strict=True):
        pe_u = ((1 - pi[i]) + (1 - pi[j])) / 2 / (k - 1)
        g = (float(i == j) - pe) / (1 - pe) - 2 * (1 - value) * (pe_u - pe) / (1 - pe)
        squares += (g - value) ** 2
    return value, math.sqrt(squares / (n * (n - 1)))


@given(SEEDS, st.integers(2, 5), st.sampled_from(["plain", "linear", "quadratic", "ac1", "alpha"]))
def test_coefficients_and_their_errors(seed, k, name):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 60))
    a = rng.integers(0, k, n)
    b = np.where(rng.random(n) < 0.5, a, rng.integers(0, k, n))
    if name == "alpha":
        unit, labels = np.tile(np.arange(n), 2), np.concatenate([a, b]).astype(float)
        wanted = krippendorff_alpha(unit, labels, "nominal").value
        np.testing.assert_allclose(pooled_agreement(a, b, k, name).value, wanted, atol=1e-12)
    elif name == "ac1":
        ours = pooled_agreement(a, b, k, name)
        used = len({*a, *b})  # a category that nobody used changes nothing
        if used == k:
            np.testing.assert_allclose([ours.value, ours.se], naive_ac1(a, b, k), atol=1e-9)
    else:
        ours = kappa(a, b, k, weights=name)
        np.testing.assert_allclose([ours.value, ours.se], naive_kappa(a, b, k, name), atol=1e-7)


@pytest.mark.parametrize(("weights", "power"), [("plain", 0), ("linear", 1), ("quadratic", 2)])
def test_distances_of_grades_and_of_what_is_not_understood(weights, power):
    """Grades weigh by their values; what was not understood is as far as the furthest two."""
    rng = np.random.default_rng(3)
    grades = np.array([1.0, 2, 4, 5])
    human, judge = rng.integers(0, 4, 200), rng.integers(-1, 4, 200)
    judge = np.where(judge < 0, -2, np.where(rng.random(200) < 0.5, human, judge))
    ours = label_agreement(human, judge, 4, ordered=True, values=grades)

    def apart(a, b):
        return 1.0 if b < 0 else float(a != b) * abs(grades[a] - grades[b]) ** power / 4**power

    seen = np.mean([apart(a, b) for a, b in zip(human, judge, strict=True)])
    chance = np.mean([apart(a, b) for a in human for b in judge])
    name = "kappa" if weights == "plain" else f"kappa_{weights}"
    assert getattr(ours, name).value == pytest.approx(1 - seen / chance)
    codes = np.where(judge < 0, 4, judge)
    assert ours.ac1 == pooled_agreement(human, codes, 5, "ac1")
    assert ours.alpha == pooled_agreement(human, codes, 5, "alpha")


def test_errors_are_those_of_leaving_out_units() -> None:
    """By prompt: the error is about that of a jackknife over prompts."""
    rng = np.random.default_rng(0)
    prompt = np.repeat(np.arange(60), 5)
    easy = rng.random(60)[prompt]
    a = rng.integers(0, 3, 300)
    b = np.where(rng.random(300) < easy, a, rng.integers(0, 3, 300))
    ac1, alpha = (partial(pooled_agreement, coefficient=name) for name in ("ac1", "alpha"))
    coefficients: tuple[Callable[..., Estimate], ...] = (kappa, ac1, alpha)
    for coefficient in coefficients:
        result = coefficient(a, b, 3, unit=prompt).se
        left = [coefficient(a[prompt != g], b[prompt != g], 3).value for g in range(60)]
        jackknife = math.sqrt(59 / 60 * ((np.array(left) - np.mean(left)) ** 2).sum())
        assert result == pytest.approx(jackknife, rel=0.03)
        assert result > coefficient(a, b, 3).se


def test_one_category_is_undefined_and_said() -> None:
    same = np.ones(5, dtype=int)
    result = label_agreement(same, same, 3, ordered=True)
    assert result.accuracy.value == 1
    assert not result.kappa.known
    assert "one category" in result.kappa.why
    assert not result.alpha.known
    assert result.ac1.value == 1
    assert result.majority == 1


def test_what_is_not_understood_is_wrong_or_left_out() -> None:
    human, judge = np.array([0, 0, 1, 1, 2]), np.array([0, -2, 1, 2, -2])
    wrong = label_agreement(human, judge, 3)
    left = label_agreement(human, judge, 3, unparsed="drop")
    assert (wrong.accuracy.value, wrong.accuracy.n) == (0.4, 5)
    assert (left.accuracy.value, left.accuracy.n) == (2 / 3, 3)
    assert wrong.unparsed == left.unparsed == 2
    # By hand: people say 0, 1 and 2 in 2, 2 and 1 of 5 rows, the judge 0, 1, 2 in 1 each.
    chance = (2 * 1 + 2 * 1 + 1 * 1) / 25
    assert wrong.kappa.value == pytest.approx((0.4 - chance) / (1 - chance))
    assert left.kappa.value == pytest.approx(0.5)
    assert [own.value for own in wrong.recall] == [0.5, 0.5, 0.0]
    assert not wrong.kappa_linear.known  # no order


def test_intervals_of_shares() -> None:
    assert wilson(0, 10).low == 0
    exact = clopper_pearson(0, 10)
    assert (exact.low, exact.high) == pytest.approx((0, 1 - 0.025 ** (1 / 10)))
    assert not wilson(0, 0).known
    one = share_estimate(np.ones(4), np.zeros(4, int))
    assert not one.bounded
    # All right in twelve prompts: an interval of twelve rows, not of as many as there are.
    sure = share_estimate(np.ones(60), np.repeat(np.arange(12), 5))
    assert sure.low == wilson(12, 12).low


def test_numbers() -> None:
    rng = np.random.default_rng(1)
    x = rng.normal(size=200)
    y = x + rng.normal(size=200)
    result = correlation(x, y)
    assert result.value == pytest.approx(np.corrcoef(x, y)[0, 1])
    left = [np.corrcoef(np.delete(x, i), np.delete(y, i))[0, 1] for i in range(200)]
    assert result.se == pytest.approx(
        math.sqrt(199 / 200 * ((left - np.mean(left)) ** 2).sum()), rel=0.05
    )
    assert not correlation(np.ones(9), y[:9]).known
    assert "people gave the same" in correlation(np.ones(9), y[:9]).why
    assert correlation(x, -2 * x).low == pytest.approx(-1)
    apart = score_agreement(np.array([1.0, np.nan]), np.array([np.nan, 2.0]))
    assert not apart.rho.known


def test_coverage_of_kappa_and_accuracy() -> None:
    """Draws from a known table, 80 rows: intervals hold the truth in 93 to 97 of 100."""
    rng = np.random.default_rng(2)
    p = np.array([[0.35, 0.1], [0.15, 0.4]])
    table = [(i, j) for i in (0, 1) for j in (0, 1) for _ in range(round(100 * p[i, j]))]
    one, other = np.array(table).T
    truth = naive_kappa(one, other, 2, None)[0]
    hits = np.zeros(2)
    for _ in range(500):
        cells = rng.choice(4, 80, p=p.ravel())
        result = label_agreement(cells // 2, cells % 2, 2)
        hits += [result.kappa.low <= truth <= result.kappa.high,
                 result.accuracy.low <= 0.75 <= result.accuracy.high]  # fmt: skip
    assert (hits / 500 > 0.92).all()
    assert (hits / 500 < 0.98).all()


def test_annotators_of_pandalm(shared: Path) -> None:
    log = realdata.pandalm(shared)

    def labels(column):
        return np.array([CODES[row[column]] for row in log.rows])

    for pair, value, se, ac1 in (
        ((1, 2), 0.852023, 0.015078, 0.876614),
        ((1, 3), 0.878944, 0.013752, 0.899407),
        ((2, 3), 0.861661, 0.014557, 0.883298),
    ):
        a, b = (labels(f"annotator{k}") for k in pair)
        result = label_agreement(a, b, 3)
        ours = (result.kappa.value, result.kappa.se, result.ac1.value)
        assert ours == pytest.approx((value, se, ac1), abs=6e-7)
    first = pooled_agreement(labels("annotator1"), labels("annotator2"), 3, "ac1")
    assert first.se == pytest.approx(0.012714, abs=6e-7)


def test_weighted_kappa_of_summeval(shared: Path) -> None:
    def labels(name, who, column):
        return {
            row["item"]: int(row["label"]) - 1
            for row in realdata.rows(shared / f"judges/alttest/{name}.csv.gz")
            if row["set"] == "summeval" and row[column] == who
        }

    raters = sorted({
        row["rater"] for row in realdata.rows(shared / "judges/alttest/humans.csv.gz")
        if row["set"] == "summeval"
    })  # fmt: skip
    expert, judge = labels("humans", raters[0], "rater"), labels("judges", "gpt-4o", "judge")
    items = sorted(expert)
    a, b = (np.array([own[item] for item in items]) for own in (expert, judge))
    for weights, value, se in (
        ("linear", 0.219120198693, 0.005847543349),
        ("quadratic", 0.366784405414, 0.007845255468),
    ):
        result = kappa(a, b, 5, weights=weights)
        assert (result.value, result.se) == pytest.approx((value, se), abs=1e-11)


@pytest.mark.parametrize("n", [4, 30, 400])
def test_agreement_on_all_rows_is_no_certainty(n):
    """Wilson's interval of all in n, carried over: a gate must not open on two labels."""
    labels = np.tile([0, 1], n // 2)
    result = label_agreement(labels, labels, 2)
    share = wilson(n, n).low
    assert result.accuracy.low == pytest.approx(share)
    for own in (result.kappa, result.ac1, result.alpha):
        assert (own.value, own.high) == (1, 1)
        assert own.low == pytest.approx(1 - 2 * (1 - share))
    constant = label_agreement(labels, np.zeros(n, dtype=int), 2).kappa
    assert constant.value == 0
    assert constant.low == pytest.approx(-constant.high)
    assert constant.high > 0
