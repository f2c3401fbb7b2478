"""Groups of raters who share nobody, against a naive union."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import steelyard as sy
from steelyard.core.errors import UsageError
from steelyard.data.judgements import Ratings
from steelyard.data.units import rater_groups

ROWS = st.lists(st.tuples(*(st.integers(0, 3),) * 3), min_size=1, max_size=12, unique=True)


def table(rows, values=None) -> Ratings:
    system, segment, rater = ([f"{x}" for x in column] for column in zip(*rows, strict=True))
    known = np.ones(len(rows)) if values is None else np.asarray(values, dtype=float)
    return Ratings.from_labels(system, segment, rater, known)


def naive(rows) -> dict[tuple[int, int], frozenset[int]]:
    """Join teams that share a rater until none do; the people behind each output."""
    teams = [{r for a, b, r in rows if (a, b) == cell} for cell in {row[:2] for row in rows}]
    for _ in teams:
        teams = [set().union(*(other for other in teams if other & one)) for one in teams]
    return {(a, b): next(frozenset(t) for t in teams if r in t) for a, b, r in rows}


@given(ROWS)
def test_groups_are_unions_of_teams(rows):
    found = rater_groups(table(rows), [*"0123"], [*"0123"])
    expected = naive(rows)
    assert (found >= 0).sum() == len(expected)
    for one, people in expected.items():
        for other, others in expected.items():
            assert (found[one] == found[other]) == (people == others)


def test_what_does_not_count():
    rows = [(0, 0, 0), (0, 0, 1), (1, 0, 1), (2, 0, 2)]
    codes = rater_groups(table(rows, [1, np.nan, 1, np.nan]), ["0", "1", "2"], ["0"]).ravel()
    assert codes.tolist() == [0, 1, -1]  # who gave no value is part of no team


def test_raters_without_a_z_make_no_unit(tmp_path):
    """Somebody who gives 50 to everything has no z, and takes no part in scores or in units."""
    rng = np.random.default_rng(3)
    rows = [(a, b, r) for r in range(12) for a in range(3) for b in (2 * r, 2 * r + 1)]
    values = rng.normal(60, 10, len(rows))
    flat = [(a, b, 99) for a in range(3) for b in range(0, 24, 2)]
    both = table(rows, values), table([*rows, *flat], [*values, *[50] * 36])
    plain, more = (sy.human_scores(one, protocol="da", unit="rater", n_bootstrap=0) for one in both)
    assert plain.unit is not None
    assert more.unit is not None
    assert plain.unit.n == more.unit.n == 12
    np.testing.assert_array_equal(plain.p, more.p)


def pooled(rng, n_raters, n_segments=60, *, overlap, n_systems=2) -> Ratings:
    """Equal systems; raters differ in severity and in taste; two rate each output."""
    severity = rng.normal(0, 5, (n_systems, n_raters))
    rows, values = [], []
    for system in range(n_systems):
        for segment in range(n_segments):
            first = int(rng.integers(n_raters))
            second = int(rng.integers(n_raters)) if overlap else first ^ 1
            for rater in {first, second}:
                rows.append((system, segment, rater))
                values.append(50 + severity[system, rater] + rng.normal(0, 3))
    return table(rows, np.round(values, 2))


def test_raters_who_share_outputs_are_no_units_of_their_own():
    ratings = pooled(np.random.default_rng(0), 24, overlap=True)
    told = "24 raters, who share outputs, are 1 independent group: too few"
    with pytest.raises(UsageError, match=told):
        sy.human_scores(ratings, protocol=sy.da(standardised=False), unit="rater", n_bootstrap=0)


@pytest.mark.slow
def test_teams_that_share_nobody_keep_the_level():
    """Twelve pairs of raters whose tastes differ: by pair at the level, by segment far above."""
    rng = np.random.default_rng(1)
    wrong = {"rater": 0, "segment": 0}
    n = 200
    for _ in range(n):
        ratings = pooled(rng, 24, overlap=False)
        for unit in wrong:
            da = sy.da(standardised=False, test="t" if unit == "rater" else None)
            found = sy.human_scores(ratings, protocol=da, unit=unit, n_bootstrap=0)
            assert found.p is not None
            wrong[unit] += bool(np.nanmin(found.p) < 0.025)
    assert wrong["rater"] <= 0.09 * n
    assert wrong["segment"] >= 0.2 * n
