"""Each clustering rule against its definition, hand-worked cases and WMT22's published ranking."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from tests.stats.judged.realdata import rows
from tests.stats.naive import NAN

from steelyard.core.errors import DegenerateError
from steelyard.stats import clusters

ALPHA = 0.05
cells = st.sampled_from([0.0, 0.01, ALPHA, 0.06, 0.5, 1.0, NAN])
squares = st.integers(0, 8).flatmap(lambda n: hnp.arrays(np.float64, (n, n), elements=cells))
symmetric = squares.map(lambda p: np.triu(p) + np.triu(p, 1).T)


@pytest.fixture(params=["cs-en", "de-en", "ru-en", "zh-en"])
def wmt22(request, shared):
    """The official p-values and the rows of the official ranking of one language pair."""
    folder = shared / "wmt22-da"
    if not folder.is_dir():
        pytest.skip(f"no {folder}")
    systems = rows(folder / f"{request.param}.systems.csv")
    matrix = {row["system"]: row for row in rows(folder / f"{request.param}.wilcoxon_p.csv")}
    names = [row["system"] for row in systems]
    return np.array([[float(matrix[a][b]) for b in names] for a in names]), systems


def test_wmt22_ranking(wmt22):
    p, systems = wmt22
    assert clusters.wins(p).tolist() == [int(row["wins"]) for row in systems]
    result = clusters.wmt_clusters(p)
    assert result == [(int(row["rank_from"]), int(row["rank_to"])) for row in systems]
    ends = [last == place for place, (_, last) in enumerate(result, 1)]
    assert ends == [row["end_of_cluster"] == "True" for row in systems]


def significant(p, i, j, alpha=ALPHA):
    return bool(p[min(i, j), max(i, j)] <= alpha)


# --- naive references -----------------------------------------------------------------------------


def naive_greedy(p):
    result: list[list[int]] = []
    current: list[int] = []
    for i in range(len(p)):
        if any(p[x, i] <= ALPHA for x in current):
            current = []
        if not current:
            result.append([])
        current.append(i)
        result[-1].append(i)
    return [rank for rank, members in enumerate(result, 1) for _ in members]


def naive_never_split(p):
    n = len(p)
    ranks: list[int] = []
    for k in range(n):
        cut = k > 0 and all(p[i, j] <= ALPHA for i in range(k) for j in range(k, n))
        ranks.append(1 if k == 0 else ranks[-1] + cut)
    return ranks


@given(squares)
def test_clusters_against_their_definitions(p):
    assert clusters.greedy_clusters(p, ALPHA).tolist() == naive_greedy(p)
    assert clusters.never_split_clusters(p, ALPHA).tolist() == naive_never_split(p)


# --- letters --------------------------------------------------------------------------------------


def naive_cliques(p):
    """All subsets without a significant pair that nothing can be added to."""
    n = len(p)
    free = [
        set(some)
        for size in range(1, n + 1)
        for some in combinations(range(n), size)
        if not any(significant(p, i, j) for i, j in combinations(some, 2))
    ]
    return sorted(tuple(sorted(a)) for a in free if not any(a < b for b in free))


@given(symmetric)
def test_groups_against_all_subsets(p):
    assert list(clusters.alike_groups(p, ALPHA)) == naive_cliques(p)


def test_letters_go_on_after_z():
    n = 60  # neighbours alone are alike: a group for each pair of them
    p = np.where(np.abs(np.subtract.outer(np.arange(n), np.arange(n))) > 1, 0.01, 0.5)
    names = [letters.split(",")[-1] for letters in clusters.compact_letters(p)][:-1]
    assert names[:2] + names[25:28] + names[51:53] == ["a", "b", "z", "aa", "ab", "az", "ba"]
    assert len(set(names)) == n - 1


def scattered(n):
    """Triples that differ among themselves and from nothing else: 3 ** (n / 3) groups."""
    return np.where(np.equal.outer(np.arange(n) // 3, np.arange(n) // 3), 0.01, 0.5)


def test_too_many_groups():
    assert len(clusters.alike_groups(scattered(24))) == 3**8
    with pytest.raises(DegenerateError, match="60 items form more than 10,000 groups"):
        clusters.compact_letters(scattered(60))


# --- human evaluation -----------------------------------------------------------------------------


def naive_wins(p):
    n = len(p)
    return [sum(p[k, j] < ALPHA for j in range(n) if j != k) for k in range(n)]


def naive_wmt(p):
    n, won, start, result = len(p), naive_wins(p), 1, []
    for k in range(1, n + 1):
        if won[k - 1] == n - k or k == n:
            result += [(start, k)] * (k - start + 1)
            start = k + 1
    return result


def naive_ranges(p):
    n = len(p)
    lost = [sum(p[j, k] < ALPHA for j in range(n) if j != k) for k in range(n)]
    return [(1 + a, n - b) for a, b in zip(lost, naive_wins(p), strict=True)]


@given(squares)
def test_human_rules_against_their_definitions(p):
    assert clusters.wins(p, ALPHA).tolist() == naive_wins(p)
    assert clusters.wins(p.T, ALPHA).tolist() == naive_wins(p.T)
    assert clusters.wmt_clusters(p, ALPHA) == naive_wmt(p)
    assert clusters.rank_ranges(p, ALPHA) == naive_ranges(p)


# --- by hand --------------------------------------------------------------------------------------


def test_the_level_itself():
    p = np.array([[NAN, ALPHA], [1 - ALPHA, NAN]])
    assert clusters.greedy_clusters(p).tolist() == [1, 2]
    assert clusters.never_split_clusters(p).tolist() == [1, 2]
    assert clusters.compact_letters(p) == ("a", "b")
    assert clusters.wins(p).tolist() == [0, 0]
    assert clusters.wmt_clusters(p, math.nextafter(ALPHA, 1)) == [(1, 1), (2, 2)]


@given(st.integers(0, 9), st.integers(0, 10**6))
def test_walked_ranges_stop_at_the_first_significant_neighbour(n, seed):
    p = np.random.default_rng(seed).uniform(size=(n, n)) ** 2
    expected = []
    for i in range(n):
        first = last = i
        while first > 0 and not p[first - 1, i] < 0.05:
            first -= 1
        while last < n - 1 and not p[i, last + 1] < 0.05:
            last += 1
        expected.append((first + 1, last + 1))
    result = clusters.walked_ranges(p)
    assert result == expected
    lines = [
        k for k in range(1, n)
        if all(end <= k for _, end in result[:k]) and all(start > k for start, _ in result[k:])
    ]  # fmt: skip
    cut = clusters.range_clusters(result)
    assert cut.tolist() == [1 + sum(k <= i for k in lines) for i in range(n)]
