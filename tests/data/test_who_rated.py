"""Groups of raters who share nobody, against a naive union."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

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
