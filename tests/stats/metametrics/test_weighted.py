"""Statistics of resamples by counts against resampling that really copies rows and columns."""

from __future__ import annotations

from itertools import combinations
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import rankdata

from steelyard.stats import correlation
from steelyard.stats.kendall.counting import KENDALL
from steelyard.stats.metametrics.base import TieRules
from steelyard.stats.metametrics.registry import METAMETRICS
from steelyard.stats.metametrics.weighted import (
    WeightedPairs,
    WeightedPearson,
    WeightedSpearman,
    WeightedTauC,
)
from steelyard.stats.resampling import bootstrap

NAN = float("nan")


def variant(name, *, epsilon=0.0, threshold=0.0, pooled=False):
    return WeightedPairs(pooled, KENDALL[name].value, epsilon, threshold)


STATISTICS = {
    "pearson": WeightedPearson(),
    "pdp": WeightedPearson(pooled=True),
    "spearman": WeightedSpearman(),
    "kendall-b": WeightedPairs(value=correlation.kendall_b),
    "kendall-c": WeightedTauC(),
    "kendall-like": variant("kendall-hard", threshold=2.0, pooled=True),
    "acc-eq": variant("acc-eq", epsilon=0.7),
    "tau-eq": variant("tau-eq", epsilon=0.1),
    "kendall-soft": variant("kendall-soft", threshold=1.0),
}
ON_CELLS = ["pearson", "pdp", "spearman"]
LOCAL = sorted(set(STATISTICS) - {"pdp", "kendall-like"})  # those that level sys knows


class Cell(NamedTuple):
    """A copy of a cell: which cell it is, which copy of its unit, and its scores."""

    unit: int
    place: int
    copy: int
    human: float
    metric: float


def kinds(cells, name):
    """Concordant, discordant, human, metric and both ties; pairs of one unit's copies dropped."""
    ties = STATISTICS[name]
    found = [0, 0, 0, 0, 0]
    for a, b in combinations(cells, 2):
        if a.unit == b.unit and a.copy != b.copy:
            continue
        h, m = a.human - b.human, a.metric - b.metric
        h_tied = abs(h) < ties.threshold or h == 0
        m_tied = abs(m) <= ties.epsilon
        if h_tied or m_tied:
            found[2 if not m_tied else 3 if not h_tied else 4] += 1
        else:
            found[0 if h * m > 0 else 1] += 1
    return np.array(found)


def worth(name, counts):
    same, opposite, human, metric, both = (float(n) for n in counts)
    total = same + opposite + human + metric + both
    if name == "kendall-b":
        room = ((total - human - both) * (total - metric - both)) ** 0.5
        return (same - opposite) / room if room else NAN
    top, pairs = {
        "kendall-like": (same - opposite - metric, same + opposite + metric),
        "acc-eq": (same + both, total),
        "tau-eq": (same + both - opposite - human - metric, total),
        "kendall-soft": (same - opposite, same + opposite + metric),
    }[name]
    return top / pairs if pairs else NAN


def pearson(x, y):
    if len(x) < 2 or np.ptp(x) == 0 or np.ptp(y) == 0:
        return NAN
    return np.corrcoef(x, y)[0, 1]


def value(name, cells):
    """One group of copied cells."""
    h, m = np.array([c.human for c in cells]), np.array([c.metric for c in cells])
    if name in ("pearson", "pdp"):
        return pearson(h, m)
    if name == "spearman":
        return pearson(rankdata(h), rankdata(m)) if len(h) else NAN
    counts = kinds(cells, name)
    if name == "kendall-c":
        own = sum((a.unit, a.place) == (b.unit, b.place) for a in cells for b in cells)
        levels = min(len(set(h)), len(set(m)))
        room = (2 * counts.sum() + own) * (levels - 1) / levels if levels else 0
        return 2 * (counts[0] - counts[1]) / room if room else NAN
    return worth(name, counts)


def over_groups(name, groups):
    """Mean over groups where defined; pooled statistics add up first."""
    if name == "kendall-like":
        return worth(name, sum((kinds(g, name) for g in groups), start=np.zeros(5)))
    if name == "pdp":
        gaps = [
            (a.human - b.human, a.metric - b.metric) for g in groups for a, b in combinations(g, 2)
        ]
        h, m = np.array(gaps).T if gaps else (np.zeros(0), np.zeros(0))
        size = np.sqrt((h * h).sum() * (m * m).sum())
        return (h * m).sum() / size if size else NAN
    found = np.array([value(name, g) for g in groups])
    found = found[~np.isnan(found)]
    return found.mean() if len(found) else NAN


def copied(counts):
    return [(unit, copy) for unit, n in enumerate(counts) for copy in range(int(n))]


def scores(rng, shape, missing=0.15):
    human = rng.integers(0, 4, shape) / rng.choice([1, 3])
    metric = np.round(human + rng.normal(0, 1, shape), 1)
    lost = rng.random((2, *shape)) < missing
    return np.where(lost[0], NAN, human), np.where(lost[1], NAN, metric)


def known(cells):
    return [c for c in cells if not np.isnan(c.human + c.metric)]


def check(found, expected):
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


SEEDS = st.integers(0, 10**6)


@pytest.mark.parametrize("name", LOCAL)
@settings(max_examples=40)
@given(st.integers(1, 6), SEEDS, st.booleans())
def test_system_scores_against_copies(name, n, seed, one_row):
    rng = np.random.default_rng(seed)
    human, metric = scores(rng, (1 if one_row else 5, n))
    systems = bootstrap.draw_counts(5, n, rng)
    found = STATISTICS[name].rows(human, metric, systems)
    for b, counts in enumerate(systems):
        row = 0 if one_row else b
        cells = [Cell(i, 0, c, human[row, i], metric[row, i]) for i, c in copied(counts)]
        check(found[b], value(name, known(cells)))


@pytest.mark.parametrize("name", sorted(STATISTICS))
@settings(max_examples=25)
@given(st.integers(1, 5), st.integers(1, 4), SEEDS, st.booleans())
def test_items_against_copies(name, n, s, seed, both):
    rng = np.random.default_rng(seed)
    human, metric = scores(rng, (n, s))
    systems = bootstrap.draw_counts(4, n, rng)
    segments = bootstrap.draw_counts(4, s, rng) if both else None
    found = STATISTICS[name].items(human, metric, systems, segments)
    for b, counts in enumerate(systems):
        drawn = copied(np.ones(s) if segments is None else segments[b])
        groups = [
            known([Cell(i, t, c, human[i, t], metric[i, t]) for i, c in copied(counts)])
            for t, _ in drawn
        ]
        check(found[b], over_groups(name, groups))


@pytest.mark.parametrize("name", ON_CELLS)
@settings(max_examples=25)
@given(st.integers(1, 3), st.integers(1, 6), SEEDS)
def test_all_cells_over_segments_against_copies(name, n, s, seed):
    rng = np.random.default_rng(seed)
    human, metric = scores(rng, (n, s))
    segments = bootstrap.draw_counts(4, s, rng)
    found = STATISTICS[name].cells(human, metric, by_system=False, segments=segments)
    for b, counts in enumerate(segments):
        cells = [
            Cell(t, i, c, human[i, t], metric[i, t]) for t, c in copied(counts) for i in range(n)
        ]
        check(found[b], value(name, known(cells)))


@pytest.mark.parametrize("name", ON_CELLS)
@settings(max_examples=25)
@given(st.integers(1, 5), st.integers(1, 4), SEEDS)
def test_all_cells_over_systems_against_copies(name, n, s, seed):
    rng = np.random.default_rng(seed)
    human, metric = scores(rng, (n, s))
    systems = bootstrap.draw_counts(4, n, rng)
    found = STATISTICS[name].cells(human, metric, by_system=False, systems=systems)
    for b, counts in enumerate(systems):
        cells = [
            Cell(i, t, c, human[i, t], metric[i, t]) for i, c in copied(counts) for t in range(s)
        ]
        check(found[b], value(name, known(cells)))


@pytest.mark.parametrize("name", ON_CELLS)
@settings(max_examples=25)
@given(st.integers(1, 4), st.integers(1, 4), SEEDS)
def test_all_cells_over_both_against_copies(name, n, s, seed):
    rng = np.random.default_rng(seed)
    human, metric = scores(rng, (n, s))
    segments, systems = bootstrap.draw_counts(4, s, rng), bootstrap.draw_counts(4, n, rng)
    found = STATISTICS[name].cells(
        human, metric, by_system=False, segments=segments, systems=systems
    )
    for b in range(4):
        cells = [
            Cell(0, 0, 0, human[i, t], metric[i, t])
            for i, _ in copied(systems[b])
            for t, _ in copied(segments[b])
        ]
        check(found[b], value(name, known(cells)))


@pytest.mark.parametrize("name", ON_CELLS)
@settings(max_examples=25)
@given(st.integers(1, 4), st.integers(1, 6), SEEDS, st.sampled_from(["segment", "system", "both"]))
def test_cells_of_each_system_against_copies(name, n, s, seed, unit):
    rng = np.random.default_rng(seed)
    human, metric = scores(rng, (n, s))
    segments = None if unit == "system" else bootstrap.draw_counts(4, s, rng)
    systems = None if unit == "segment" else bootstrap.draw_counts(4, n, rng)
    found = STATISTICS[name].cells(
        human, metric, by_system=True, segments=segments, systems=systems
    )
    for b in range(4):
        rows = copied(np.ones(n) if systems is None else systems[b])
        drawn = copied(np.ones(s) if segments is None else segments[b])
        groups = [
            known([Cell(t, i, c, human[i, t], metric[i, t]) for t, c in drawn]) for i, _ in rows
        ]
        check(np.broadcast_to(found, 4)[b], over_groups(name, groups))


def test_resamples_of_one_system_only_are_undefined():
    human, metric = np.array([[1.0, 2.0, 3.0]]), np.array([[1.0, 3.0, 2.0]])
    systems = np.array([[3.0, 0.0, 0.0]])
    for name in LOCAL:
        assert np.isnan(STATISTICS[name].rows(human, metric, systems)).all(), name
        found = STATISTICS[name].items(human.T, metric.T, systems)
        assert np.isnan(found).all(), name


def test_constant_scores_are_undefined_where_they_should_be():
    human, flat = np.arange(6.0).reshape(2, 3), np.full((2, 3), 0.1 + 0.2)
    segments, systems = np.array([[2.0, 1.0, 0.0]]), np.array([[1.0, 1.0]])
    for name in (*ON_CELLS, "kendall-b", "kendall-c"):
        assert np.isnan(STATISTICS[name].items(human, flat, systems, segments)).all()
    for name in ON_CELLS:
        s = STATISTICS[name]
        assert np.isnan(s.cells(human, flat, by_system=False, segments=segments)).all()
        assert np.isnan(s.cells(human, flat, by_system=True, segments=segments)).all()
    # A metric that ties everything is never right where people see a difference.
    assert STATISTICS["acc-eq"].items(human, flat, systems, segments) == [0]


def test_a_constant_part_far_from_the_rest_is_constant():
    """Sums of squares cancel to rounding, not to zero: that must not become a correlation."""
    human, metric = np.array([[0.1, 0.1, 0.1, 7.0]]), np.array([[0.3, 0.7, 0.2, 1e6]])
    segments = np.array([[2.0, 1.0, 1.0, 0.0], [1.0, 1.0, 1.0, 1.0]])
    found = STATISTICS["pearson"].cells(human, metric, by_system=False, segments=segments)
    assert np.isnan(found[0])
    assert found[1] == pytest.approx(1)


def test_means_that_differ_by_rounding_are_ties():
    metric = np.array([[0.1 + 0.2, 0.3, 0.5]])
    human = np.array([[1.0, 1.0, 2.0]])
    accuracy = METAMETRICS["pa"].weighted(TieRules())
    assert accuracy is not None
    assert accuracy.rows(human, metric) == [1]
    assert STATISTICS["spearman"].rows(human, metric) == pytest.approx(1)
    assert STATISTICS["kendall-c"].rows(human, metric) == pytest.approx(8 / 9)


def test_all_but_soft_accuracy_have_weights():
    known = {name for name, meta in METAMETRICS.items() if meta.weighted(TieRules())}
    assert known == set(METAMETRICS) - {"spa"}
