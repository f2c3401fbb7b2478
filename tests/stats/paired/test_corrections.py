"""Williams' test, corrections and Wilson's interval: formulas written out, and WMT20's results."""

from __future__ import annotations

import math
from collections import defaultdict
from itertools import combinations, permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import stats
from scipy.special import ndtr
from tests.stats.judged.realdata import rows
from tests.stats.naive import NAN

from steelyard.core.errors import UsageError
from steelyard.stats.paired.corrections import (
    CORRECTIONS,
    adjust,
    adjust_pairs,
    stouffer,
    williams,
    wilson_interval,
)

pvalues = st.one_of(st.sampled_from([0.0, 0.01, 0.02, 0.05, 1.0, NAN]), st.floats(0, 1))


def naive_williams(r12, r13, r23, n):
    k = 1 - r12**2 - r13**2 - r23**2 + 2 * r12 * r13 * r23
    below = 2 * k * (n - 1) / (n - 3) + ((r12 + r13) / 2) ** 2 * (1 - r23) ** 3
    return stats.t.sf((r12 - r13) * math.sqrt((n - 1) * (1 + r23)) / math.sqrt(below), n - 3)


@st.composite
def correlations(draw):
    """Three correlations that some data have, not so close to 1 that the naive formula suffers."""
    n = draw(st.integers(4, 40))
    data = np.random.default_rng(draw(st.integers(0, 10**6))).normal(size=(3, n))
    data[1:] += draw(st.floats(-2, 2)) * data[0]
    r = np.asarray(np.corrcoef(data))
    return r[0, 1], r[0, 2], r[1, 2], n


@given(correlations())
def test_williams_against_the_formula(case):
    r12, r13, r23, n = case
    p = float(williams(r12, r13, r23, n))
    assert p == pytest.approx(naive_williams(*case), rel=1e-6)
    assert float(williams(r13, r12, r23, n)) == pytest.approx(1 - p, abs=1e-12)
    assert float(williams(r12, r13, r23, n, alternative="less")) == pytest.approx(1 - p, abs=1e-12)
    two = float(williams(r12, r13, r23, n, alternative="two-sided"))
    assert two == pytest.approx(2 * min(p, 1 - p), abs=1e-12)


def test_williams_golden_small_and_of_matrices():
    assert float(williams(0.9, 0.8, 0.85, 14)) == pytest.approx(0.0957518, abs=5e-8)
    tiny = float(williams(0.99, 0.2, 0.25, 500))
    assert 0 < tiny < 1e-100
    assert tiny == pytest.approx(naive_williams(0.99, 0.2, 0.25, 500), rel=1e-6)
    r = np.array([0.9, 0.8, 0.6])
    between = np.array([[1, 0.85, 0.7], [0.85, 1, 0.75], [0.7, 0.75, 1]])
    p = williams(r[:, None], r[None, :], between, 14)
    assert np.isnan(np.diag(p)).all()
    for i, j in permutations(range(3), 2):
        assert p[i, j] == pytest.approx(naive_williams(r[i], r[j], between[i, j], 14))


@pytest.mark.parametrize("alternative", ["greater", "less", "two-sided"])
@pytest.mark.parametrize(
    "case",
    [
        (0.9, 0.8, 0.85, 3),
        (0.9, 0.8, 0.85, 0),
        (0.9, 0.8, 0.85, NAN),
        (NAN, 0.8, 0.85, 14),
        (0.9, NAN, 0.85, 14),
        (0.9, 0.8, NAN, 14),
        (0.9, 0.9, 1.0, 14),  # a metric and itself
        (0.9, 0.9, 1 - 2e-16, 14),  # ... after rounding
        (0.9, 0.9, 1 + 2e-16, 14),
        (0.9, -0.9, -1.0, 14),  # a metric and its mirror image
        (0.9, -0.9, -1 + 2e-16, 14),
        (0.9, -0.9, 0.9, 14),  # no data have such correlations
        (0.7, 0.6, -0.9, 14),
        (2.0, 2.0, 2.0, 14),
        (1.5, 1.5, 0.9, 14),
        (1.1, 0.2, 0.2, 14),
        (1.0, 1.0, 1.0, 14),
    ],
)
def test_williams_undefined(case, alternative):
    assert math.isnan(float(williams(*case, alternative=alternative)))


def test_williams_on_the_border_of_what_data_can_have():
    """K is 0 up to rounding, on either side: t is boundless or undefined, never a warning."""
    rng = np.random.default_rng(0)
    for _ in range(50):
        human, other = rng.normal(size=(2, 12))
        r = np.corrcoef([human, 3 * human + 1, other, other * rng.uniform(0.1, 9) + rng.normal()])
        assert float(williams(r[0, 1], r[0, 2], r[1, 2], 12)) < 0.05
        assert math.isnan(float(williams(r[0, 2], r[0, 3], r[2, 3], 12)))
    angle = np.linspace(0.1, 1.4, 200)
    p = williams(np.cos(angle), -np.cos(angle), -np.cos(2 * angle), 12)
    assert (np.isnan(p) | (p < 1e-12)).all()


def test_williams_holds_its_level():
    rng = np.random.default_rng(3)
    human = rng.normal(size=(2000, 12))
    a, b = human + rng.normal(size=(2, 2000, 12))
    r = np.array([np.corrcoef(trio) for trio in zip(human, a, b, strict=True)])
    p = williams(r[:, 0, 1], r[:, 0, 2], r[:, 1, 2], 12)
    for level in (0.05, 0.2, 0.5, 0.8):
        assert (p <= level).mean() == pytest.approx(level, abs=0.03)


# --- WMT20 metrics task ---------------------------------------------------------------------------

REFSETS = {"_B": "newstestB2020", "_M": "newstestM2020", "_P": "newstestP2020"}


@pytest.fixture(scope="module")
def wmt20(shared):
    """p-values that a beats b, by (table, systems): from the scores, and the official ones."""
    folder = shared / "wmt20-metrics"
    if not folder.is_dir():
        pytest.skip(f"no {folder}")
    outliers = {(row["lp"], row["system"]) for row in rows(folder / "outliers.csv")}
    scores = [r for r in rows(folder / "sys-scores.csv.gz") if "Human" not in r["system"]]
    official: dict[tuple[str, str], dict[tuple[str, str], float]] = defaultdict(dict)
    for row in rows(folder / "williams.official.csv.gz"):
        p = float(row["p"] or "nan")
        official[row["table"], row["systems"]][row["metric_a"], row["metric_b"]] = p
    return {key: (_ours(scores, outliers, *key), listed) for key, listed in official.items()}


def _ours(scores, outliers, table, systems):
    variant = table[-2:] if table[-2:] in REFSETS else ""
    wanted = table.removesuffix(variant), REFSETS.get(variant, "newstest2020")
    table_rows = [row for row in scores if (row["table"], row["refset"]) == wanted]
    if systems == "excl_outliers":
        table_rows = [
            r for r in table_rows if (r["lp"].removesuffix(variant), r["system"]) not in outliers
        ]
    columns = [c for c in list(table_rows[0])[4:] if any(row[c] for row in table_rows)]
    r = np.corrcoef([[float(row[c]) for row in table_rows] for c in columns])
    p = williams(r[0, 1:, None], r[0, None, 1:], r[1:, 1:], len(table_rows))
    metrics = ["HUMAN_RAW" if c == "human_raw" else c for c in columns[1:]]
    return {(a, b): p[i, j] for i, a in enumerate(metrics) for j, b in enumerate(metrics) if i != j}


TWINS = ({"Yisi-combi", "bleurt-Yisi-combi"}, {"esim", "paresim-1"})  # same scores in some tables


def test_wmt20_williams(wmt20):
    """All 49 tables, also those with negative correlations (en-zh, iu-en, ...).

    Metrics with the same scores have no p; the official files list them with an empty one, except
    where rounding turned 0 / 0 into a t of 0 (en-iu_full without outliers).
    """
    assert {"deen", "zhen", "ruen", "ende"} <= {table for table, _ in wmt20}
    assert len(wmt20) == 49
    assert sum(len(listed) for _, listed in wmt20.values()) == 6141
    for ours, listed in wmt20.values():
        assert set(listed) <= set(ours)
        for pair, p in ours.items():
            if pair in listed:
                assert p == pytest.approx(listed[pair], abs=1e-8, nan_ok=True)
            else:
                assert p > 0.05 or (math.isnan(p) and set(pair) in TWINS)
    assert sum(math.isnan(p) for ours, _ in wmt20.values() for p in ours.values()) == 20


def test_wmt20_winners(wmt20, shared):
    """Official winners are the metrics that no other beats.

    The organisers also strike both of two metrics with the same scores (p is not above 0.05 if it
    is NaN): those eight rows are theirs alone.
    """
    differ = []
    winners = rows(shared / "wmt20-metrics" / "sys-correlations.official.csv")
    winners = [row for row in winners if row["systems"] == "excl_outliers"]
    for row in winners:
        ours, _ = wmt20[row["table"], row["systems"]]
        beaten = any(p <= 0.05 for (_, b), p in ours.items() if b == row["metric"])
        if row["winner"] != str(not beaten):
            differ.append((row["table"], row["metric"], row["winner"]))
    assert len(winners) == 872
    combi = [(t, m, "False") for t in ("ende", "ende_B", "ende_P") for m in TWINS[0]]
    assert sorted(differ) == sorted([*combi, *(("eniu_news", m, "False") for m in TWINS[1])])


# --- corrections ----------------------------------------------------------------------------------


def naive_adjust(p, method):
    known = sorted(x for x in p if not math.isnan(x))
    m = len(known)

    def one(x):
        if math.isnan(x) or method == "none":
            return x
        if method == "bonferroni":
            return min(1, m * x)
        if method == "holm":  # the largest of what it and all smaller ones are multiplied to
            return min(1, max((m - k) * y for k, y in enumerate(known) if y <= x))
        return min(1, *(m / (k + 1) * y for k, y in enumerate(known) if y >= x))

    return [one(x) for x in p]


@given(st.lists(pvalues, max_size=12), st.sampled_from(CORRECTIONS))
def test_adjust_against_the_definitions(p, method):
    np.testing.assert_allclose(adjust(p, method), naive_adjust(p, method), rtol=1e-12)


squares = st.integers(0, 5).flatmap(lambda n: hnp.arrays(np.float64, (n, n), elements=pvalues))


@given(squares, st.sampled_from(CORRECTIONS))
def test_adjust_pairs_symmetric(p, method):
    p = np.triu(p) + np.triu(p, 1).T
    n = len(p)
    pairs = [(i, j) for i in range(n) for j in range(i + 1, n)]
    expected = p.copy()
    for (i, j), value in zip(pairs, naive_adjust([p[x] for x in pairs], method), strict=True):
        expected[i, j] = expected[j, i] = value
    np.testing.assert_allclose(adjust_pairs(p, method, symmetric=True), expected, rtol=1e-12)


@given(squares, st.sampled_from(CORRECTIONS))
def test_adjust_pairs_directed(p, method):
    """A pair is one test: the smaller of its two p-values among the smaller ones of all pairs."""
    pairs = [sorted(pair, key=lambda x: (np.isnan(p[x]), p[x]))
             for pair in ([(i, j), (j, i)] for i, j in combinations(range(len(p)), 2))]  # fmt: skip
    small = naive_adjust([p[first] for first, _ in pairs], method)
    known = [p[first] if np.isnan(p[last]) else p[last] for first, last in pairs]
    large = naive_adjust(known, method)
    expected = p.copy()
    for (first, last), a, b in zip(pairs, small, large, strict=True):
        expected[first] = a
        if not np.isnan(p[last]):
            expected[last] = a if p[first] == p[last] else max(a, b)
    np.testing.assert_allclose(adjust_pairs(p, method, symmetric=False), expected, rtol=1e-12)


@pytest.mark.parametrize("method", ["bonferroni", "holm"])
def test_false_claims_among_equal_items(method):
    """Of 5 equal items: rarely any claim, and twice as often if direction is up to the data."""
    rng = np.random.default_rng(0)
    either = upward = twosided = 0
    for _ in range(800):
        z = rng.normal(size=5)
        lower = ndtr((z[:, None] - z[None, :]) / np.sqrt(2))
        claims = adjust_pairs(1 - lower, method, symmetric=False) < 0.05
        np.fill_diagonal(claims, val=False)
        either += int(claims.any())
        upward += int(np.triu(claims).any())
        both = adjust_pairs(2 * np.minimum(lower, 1 - lower), method, symmetric=True) < 0.05
        np.fill_diagonal(both, val=False)
        twosided += int(both.any())
    assert 0.03 <= either / 800 <= 0.1
    assert upward / 800 <= 0.055
    assert twosided / 800 <= 0.055


def test_adjust_pairs_refuses():
    with pytest.raises(UsageError, match="two different p-values"):
        adjust_pairs(np.array([[0.5, 0.01], [0.99, 0.5]]), symmetric=True)


# --- Wilson's interval ----------------------------------------------------------------------------


@given(st.integers(1, 500), st.data(), st.sampled_from([0.5, 0.9, 0.95, 0.99, 0.9999]))
def test_wilson_against_scipy(n, data, level):
    k = data.draw(st.integers(0, n))
    low, high = wilson_interval(k, n, level)
    expected = stats.binomtest(k, n).proportion_ci(level, method="wilson")
    assert float(low) == pytest.approx(expected.low, abs=1e-12)
    assert float(high) == pytest.approx(expected.high, abs=1e-12)
    assert 0 <= low <= k / n <= high <= 1
    # What defines the bounds: the score test of either just rejects.
    z = stats.norm.ppf((1 + level) / 2)
    for bound in (low, high):
        assert abs(k - n * bound) == pytest.approx(z * np.sqrt(n * bound * (1 - bound)), abs=1e-6)


@given(st.lists(st.floats(1e-6, 1 - 1e-6), min_size=1, max_size=5))
def test_stouffer_is_the_formula(p):
    z = [stats.norm.ppf(1 - one) for one in p]
    assert stouffer(np.array(p)) == pytest.approx(stats.norm.sf(sum(z) / len(z) ** 0.5), abs=1e-10)


def test_domains_that_say_nothing():
    # A p-value of 1 says "no difference" for certain, whatever the other domains say.
    assert stouffer(np.array([1e-9, 1.0])) == 1
    assert math.isnan(stouffer(np.array([0.01, NAN])))
