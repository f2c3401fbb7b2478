"""Components of who beat whom against closures of small graphs."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from steelyard.stats.strength.wins import (
    all_connected,
    find_components,
    pair_wins,
)

tables = st.integers(0, 7).flatmap(
    lambda n: hnp.arrays(np.float64, (n, n), elements=st.sampled_from([0.0, 0.0, 0.0, 1.0]))
)


def hollow(table):
    table = table.copy()
    np.fill_diagonal(table, 0)
    return table


def find(wins, ties=None):
    return find_components(pair_wins(wins, np.zeros_like(wins) if ties is None else ties))


def closure(beats):
    """Who reaches whom, and everybody themselves, by Warshall's algorithm."""
    reach = beats.astype(bool) | np.eye(len(beats), dtype=bool)
    for k in range(len(beats)):
        reach |= reach[:, [k]] & reach[[k], :]
    return reach


@given(tables)
def test_components_against_the_closure(table):
    wins = hollow(table)
    n = len(wins)
    reach = closure(wins)
    ours = find(wins)
    assert sorted(k for members in ours.members for k in members) == list(range(n))
    for c, members in enumerate(ours.members):
        first = members[0]
        assert list(members) == np.flatnonzero(reach[first] & reach[:, first]).tolist()
        ahead = reach[:, first] & ~reach[first]
        comparable = (reach[first] | reach[:, first]).all()
        assert ours.above[c] == (ahead.sum() if comparable else pytest.approx(np.nan, nan_ok=True))
        # Best first: nothing later in the list is above.
        assert not any(reach[later[0], first] for later in ours.members[c + 1 :])
    sizes = [len(members) for members in ours.members]
    largest = [c for c, size in enumerate(sizes) if size == max(sizes)]
    above_the_others = [
        c for c in largest if all(reach[ours.members[c][0], ours.members[d][0]] for d in largest)
    ]
    assert ours.main == (above_the_others[0] if above_the_others else None)


@given(st.lists(tables.map(hollow), min_size=1, max_size=4), st.integers(1, 7))
def test_many_graphs_at_once(graphs, n):
    stack = np.zeros((len(graphs), n, n), dtype=bool)
    for b, graph in enumerate(graphs):
        m = min(n, len(graph))
        stack[b, :m, :m] = graph[:m, :m] > 0
    expected = [closure(graph).all() for graph in stack]
    assert all_connected(stack).tolist() == expected


def feasible(wins, ties):
    """Search for levels with wins of at least one level and ties of at most one, by brute force.

    Levels are spread over at most n - 1 steps, so small integers suffice.
    """
    n = len(wins)
    for code in range(n**n):
        level = np.array([(code // n**k) % n for k in range(n)])
        gap = level[:, None] - level[None, :]
        if (gap[wins > 0] >= 1).all() and (np.abs(gap[ties > 0]) <= 1).all():
            return True
    return False


@given(
    st.integers(2, 4).flatmap(
        lambda n: st.lists(
            st.sampled_from(["none", "win", "loss", "tie", "win+tie", "both"]),
            min_size=n * (n - 1) // 2,
            max_size=n * (n - 1) // 2,
        ).map(lambda kinds: (n, kinds))
    )
)
def test_ties_can_be_fitted_unless_levels_explain_everything(case):
    n, kinds = case
    wins, ties = np.zeros((n, n)), np.zeros((n, n))
    for (i, j), kind in zip(combinations(range(n), 2), kinds, strict=True):
        wins[i, j] = kind in ("win", "win+tie", "both")
        wins[j, i] = kind in ("loss", "both")
        ties[i, j] = ties[j, i] = "tie" in kind
    if len(find(wins + ties).members) > 1 or not ties.any() or not wins.any():
        return  # no group that hangs together, or nothing to trade off
    assert (len(find(wins, ties).members) == 1) == (not feasible(wins, ties))
