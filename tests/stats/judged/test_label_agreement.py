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


@given(
    st.integers(0, 100_000), st.integers(2, 5), st.sampled_from(["plain", "linear", "quadratic"])
)
def test_kappa_and_its_error(seed: int, k: int, weights: str) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 60))
    a = rng.integers(0, k, n)
    b = np.where(rng.random(n) < 0.5, a, rng.integers(0, k, n))
    found = kappa(a, b, k, weights=weights)
    value, se = naive_kappa(a, b, k, weights)
    np.testing.assert_allclose([found.value, found.se], [value, se], atol=1e-7)


@given(st.integers(0, 100_000), st.integers(2, 5))
def test_ac1_and_its_error(seed: int, k: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 60))
    a, b = rng.integers(0, k, (2, n))
    found = pooled_agreement(a, b, k, "ac1")
    np.testing.assert_allclose([found.value, found.se], naive_ac1(a, b, k), atol=1e-9)


@given(st.integers(0, 100_000), st.integers(2, 5))
def test_alpha_is_that_of_two_raters(seed: int, k: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 60))
    a, b = rng.integers(0, k, (2, n))
    unit = np.tile(np.arange(n), 2)
    wanted = krippendorff_alpha(unit, np.concatenate([a, b]).astype(float), "nominal").value
    np.testing.assert_allclose(pooled_agreement(a, b, k, "alpha").value, wanted, atol=1e-12)


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
        found = coefficient(a, b, 3, unit=prompt).se
        left = [coefficient(a[prompt != g], b[prompt != g], 3).value for g in range(60)]
        jackknife = math.sqrt(59 / 60 * ((np.array(left) - np.mean(left)) ** 2).sum())
        assert found == pytest.approx(jackknife, rel=0.03)
        assert found > coefficient(a, b, 3).se


def test_one_category_is_undefined_and_said() -> None:
    same = np.ones(5, dtype=int)
    found = label_agreement(same, same, 3, ordered=True)
    assert found.accuracy.value == 1
    assert not found.kappa.known
    assert "one category" in found.kappa.why
    assert not found.alpha.known
    assert found.ac1.value == 1
    assert found.majority == 1


def test_no_row_in_common() -> None:
    found = label_agreement(np.array([0, -1]), np.array([-1, 1]), 2)
    assert found.n == 0
    assert not found.accuracy.known
    assert not found.kappa.known


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


@pytest.mark.parametrize("weights", ["plain", "linear", "quadratic"])
def test_what_is_not_understood_is_one_category_more(weights: str) -> None:
    """As a column of codes, in which the last category is as far from all as the furthest two."""
    rng = np.random.default_rng(3)
    human, judge = rng.integers(0, 4, 200), rng.integers(-1, 4, 200)
    judge = np.where(judge < 0, -2, np.where(rng.random(200) < 0.5, human, judge))
    own = label_agreement(human, judge, 4, ordered=True)
    name = "kappa" if weights == "plain" else f"kappa_{weights}"
    grade = np.array([0.0, 1, 2, 3])
    power = {"plain": 0, "linear": 1, "quadratic": 2}[weights]

    def apart(a: int, b: int) -> float:
        if b < 0:
            return 1.0
        return float(a != b) if power == 0 else abs(grade[a] - grade[b]) ** power / 3**power

    seen = np.mean([apart(a, b) for a, b in zip(human, judge, strict=True)])
    chance = np.mean([apart(a, b) for a in human for b in judge])
    assert getattr(own, name).value == pytest.approx(1 - seen / chance)
    codes = np.where(judge < 0, 4, judge)
    assert own.ac1 == pooled_agreement(human, codes, 5, "ac1")
    assert own.alpha == pooled_agreement(human, codes, 5, "alpha")


def test_a_category_that_nobody_used_changes_nothing() -> None:
    rng = np.random.default_rng(4)
    a = rng.integers(0, 2, 300)
    b = np.where(rng.random(300) < 0.7, a, 1 - a)
    assert pooled_agreement(2 * a, 2 * b, 3, "ac1").value == pytest.approx(
        pooled_agreement(a, b, 2, "ac1").value
    )
    share = (a.mean() + b.mean()) / 2
    chance = 2 * share * (1 - share)  # Gwet (2008), two categories
    agreed = (a == b).mean()
    assert pooled_agreement(2 * a, 2 * b, 3, "ac1").value == pytest.approx(
        (agreed - chance) / (1 - chance)
    )


def test_weighted_kappa_goes_by_distances_of_values() -> None:
    rng = np.random.default_rng(5)
    grades = np.array([1.0, 2, 4, 5])
    a = rng.integers(0, 4, 300)
    b = np.where(rng.random(300) < 0.6, a, rng.integers(0, 4, 300))
    for name, power in (("linear", 1), ("quadratic", 2)):
        seen = (np.abs(grades[a] - grades[b]) ** power).mean()
        chance = (np.abs(grades[a][:, None] - grades[b]) ** power).mean()
        found = kappa(a, b, 4, weights=name, values=grades)
        assert found.value == pytest.approx(1 - seen / chance)
        places = kappa(a, b, 4, weights=name)
        assert found.value != pytest.approx(places.value, abs=1e-3)
        # A grade of the scale that nobody gave changes nothing.
        five = np.array([0, 1, 3, 4])
        assert kappa(five[a], five[b], 5, weights=name).value == pytest.approx(found.value)


def test_split_raters_count_in_part() -> None:
    """Two raters: agreement is the mean of that with each, and so is the table."""
    rng = np.random.default_rng(6)
    first, second, judge = (rng.integers(0, 3, 200) for _ in range(3))
    shares = (np.eye(3)[first] + np.eye(3)[second]) / 2
    found = label_agreement(shares, judge, 3)
    one, other = (label_agreement(x, judge, 3) for x in (first, second))
    assert found.accuracy.value == pytest.approx((one.accuracy.value + other.accuracy.value) / 2)
    assert found.counts == pytest.approx((one.counts + other.counts) / 2)
    both = kappa(np.concatenate([first, second]), np.tile(judge, 2), 3, unit=np.tile(range(200), 2))
    assert found.kappa.value == pytest.approx(both.value)
    assert found.kappa.se == pytest.approx(both.se, rel=0.01)
    assert found.accuracy.n == 200


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
    found = correlation(x, y)
    assert found.value == pytest.approx(np.corrcoef(x, y)[0, 1])
    left = [np.corrcoef(np.delete(x, i), np.delete(y, i))[0, 1] for i in range(200)]
    assert found.se == pytest.approx(
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
    for _ in range(1000):
        cells = rng.choice(4, 80, p=p.ravel())
        found = label_agreement(cells // 2, cells % 2, 2)
        hits += [found.kappa.low <= truth <= found.kappa.high,
                 found.accuracy.low <= 0.75 <= found.accuracy.high]  # fmt: skip
    assert (hits / 1000 > 0.93).all()
    assert (hits / 1000 < 0.97).all()


def test_pandalm(shared: Path) -> None:
    log = realdata.pandalm(shared)

    def labels(column):
        return np.array([CODES[row[column]] for row in log.rows])

    people = (2 * realdata.majority(log)).astype(int)
    for pair, value, se, ac1 in (
        ((1, 2), 0.852023, 0.015078, 0.876614),
        ((1, 3), 0.878944, 0.013752, 0.899407),
        ((2, 3), 0.861661, 0.014557, 0.883298),
    ):
        a, b = (labels(f"annotator{k}") for k in pair)
        found = label_agreement(a, b, 3)
        ours = (found.kappa.value, found.kappa.se, found.ac1.value)
        assert ours == pytest.approx((value, se, ac1), abs=6e-7)
    first = pooled_agreement(labels("annotator1"), labels("annotator2"), 3, "ac1")
    assert first.se == pytest.approx(0.012714, abs=6e-7)
    for judge, accuracy, numbers in (
        ("pandalm-7b", 0.6677, (0.435355, 0.024055, 0.529109, 0.021796, 0.435567)),
        ("gpt-3.5-turbo", 0.7156, (0.492865, 0.023749, 0.605150, 0.020775, 0.491943)),
    ):
        found = label_agreement(people, labels(judge), 3, unparsed="drop")
        assert found.accuracy.value == pytest.approx(accuracy, abs=5e-5)
        five = (found.kappa.value, found.kappa.se, found.ac1.value, found.ac1.se, found.alpha.value)
        assert five == pytest.approx(numbers, abs=6e-7)
    counts = label_agreement(people, labels("pandalm-7b"), 3).counts
    order = [2, 0, 1]  # left, right, tie
    wanted = [[298, 84, 40], [100, 337, 35], [35, 38, 32]]
    assert counts[np.ix_(order, order)].tolist() == wanted
    assert found.unparsed == 25


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
        found = kappa(a, b, 5, weights=weights)
        assert (found.value, found.se) == pytest.approx((value, se), abs=1e-11)


@pytest.mark.parametrize("n", [4, 30, 400])
def test_agreement_on_all_rows_is_no_certainty(n):
    """Wilson's interval of all in n, carried over: a gate must not open on two labels."""
    labels = np.tile([0, 1], n // 2)
    found = label_agreement(labels, labels, 2)
    share = wilson(n, n).low
    assert found.accuracy.low == pytest.approx(share)
    for own in (found.kappa, found.ac1, found.alpha):
        assert (own.value, own.high) == (1, 1)
        assert own.low == pytest.approx(1 - 2 * (1 - share))
    constant = label_agreement(labels, np.zeros(n, dtype=int), 2).kappa
    assert constant.value == 0
    assert constant.low == pytest.approx(-constant.high)
    assert constant.high > 0


def test_correlation_on_a_line_is_no_certainty():
    x = np.arange(12.0)
    found = correlation(x, 3 * x)
    assert (found.value, found.high) == pytest.approx((1, 1))
    assert found.low == pytest.approx(wilson(12, 12).low)
    back = correlation(x, -x)
    assert (back.low, back.high) == pytest.approx((-1, -found.low))
