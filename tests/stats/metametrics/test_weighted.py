"""Statistics of resamples by counts against resampling that really copies rows and columns."""

from __future__ import annotations

from itertools import combinations
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import rankdata
from tests.stats.naive import NAN, SEEDS, pair_kind

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
    """Counts of pairs by kind; those of one unit's copies are dropped."""
    ties = STATISTICS[name]
    pairs = [(a, b) for a, b in combinations(cells, 2) if a.unit != b.unit or a.copy == b.copy]
    of_pairs = [
        pair_kind(a.human - b.human, a.metric - b.metric, ties.epsilon, ties.threshold)
        for a, b in pairs
    ]
    return np.array([of_pairs.count(kind) for kind in range(5)])


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
    result = np.array([value(name, g) for g in groups])
    result = result[~np.isnan(result)]
    return result.mean() if len(result) else NAN


def copied(counts):
    return [(unit, copy) for unit, n in enumerate(counts) for copy in range(int(n))]


def scores(rng, shape, missing=0.15):
    human = rng.integers(0, 4, shape) / rng.choice([1, 3])
    metric = np.round(human + rng.normal(0, 1, shape), 1)
    lost = rng.random((2, *shape)) < missing
    return np.where(lost[0], NAN, human), np.where(lost[1], NAN, metric)


def known(cells):
    return [c for c in cells if not np.isnan(c.human + c.metric)]


def check(result, expected):
    np.testing.assert_allclose(result, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", LOCAL)
@given(st.integers(1, 6), SEEDS, st.booleans())
def test_system_scores_against_copies(name, n, seed, one_row):
    rng = np.random.default_rng(seed)
    human, metric = scores(rng, (1 if one_row else 5, n))
    systems = bootstrap.draw_counts(5, n, rng)
    result = STATISTICS[name].rows(human, metric, systems)
    for b, counts in enumerate(systems):
        row = 0 if one_row else b
        cells = [Cell(i, 0, c, human[row, i], metric[row, i]) for i, c in copied(counts)]
        check(result[b], value(name, known(cells)))


@pytest.mark.parametrize("name", sorted(STATISTICS))
@given(st.integers(1, 5), st.integers(1, 4), SEEDS, st.booleans())
def test_items_against_copies(name, n, s, seed, both):
    rng = np.random.default_rng(seed)
    human, metric = scores(rng, (n, s))
    systems = bootstrap.draw_counts(4, n, rng)
    segments = bootstrap.draw_counts(4, s, rng) if both else None
    result = STATISTICS[name].items(human, metric, systems, segments)
    for b, counts in enumerate(systems):
        drawn = copied(np.ones(s) if segments is None else segments[b])
        groups = [
            known([Cell(i, t, c, human[i, t], metric[i, t]) for i, c in copied(counts)])
            for t, _ in drawn
        ]
        check(result[b], over_groups(name, groups))


@pytest.mark.parametrize("by_system", [False, True])
@pytest.mark.parametrize("name", ON_CELLS)
@given(st.integers(1, 4), st.integers(1, 6), SEEDS, st.sampled_from(["segment", "system", "both"]))
def test_cells_against_copies(name, by_system, n, s, seed, unit):
    rng = np.random.default_rng(seed)
    human, metric = scores(rng, (n, s))
    segments = None if unit == "system" else bootstrap.draw_counts(4, s, rng)
    systems = None if unit == "segment" else bootstrap.draw_counts(4, n, rng)
    values = STATISTICS[name].cells(
        human, metric, by_system=by_system, segments=segments, systems=systems
    )
    for b in range(4):
        rows = copied(np.ones(n) if systems is None else systems[b])
        drawn = copied(np.ones(s) if segments is None else segments[b])
        groups = [
            known([Cell(t, i, c, human[i, t], metric[i, t]) for t, c in drawn]) for i, _ in rows
        ]
        together = value(name, [cell for group in groups for cell in group])
        check(np.broadcast_to(values, 4)[b], over_groups(name, groups) if by_system else together)


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
    result = STATISTICS["pearson"].cells(human, metric, by_system=False, segments=segments)
    assert np.isnan(result[0])
    assert result[1] == pytest.approx(1)


def test_means_that_differ_by_rounding_are_ties():
    metric = np.array([[0.1 + 0.2, 0.3, 0.5]])
    human = np.array([[1.0, 1.0, 2.0]])
    accuracy = METAMETRICS["pa"].weighted(TieRules())
    assert accuracy.rows(human, metric) == [1]
    assert STATISTICS["spearman"].rows(human, metric) == pytest.approx(1)
    assert STATISTICS["kendall-c"].rows(human, metric) == pytest.approx(8 / 9)
