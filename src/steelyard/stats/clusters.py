"""Rankings into groups: from p-values of all pairs to clusters, letters and rank ranges.

Items come sorted, best first, and ``p[i, j]`` is the p-value of i's lead over j. NaN is never
significant and the diagonal is never read. There is no single right way to cut a ranking, because
"not significantly different" is not transitive; each rule here does one thing:

* :func:`greedy_clusters`: a new cluster starts with the first item that some member of the current
  one beats (WMT metrics task, soft pairwise accuracy).
* :func:`neighbour_clusters`: ... that the item right above it beats.
* :func:`never_split_clusters`: two items that are not significantly different stay together.
* :func:`compact_letters`: items share a letter if and only if they are not significantly different.
* :func:`wmt_clusters`, :func:`rank_ranges`: what WMT publishes about human evaluation.
* :func:`walked_ranges`, :func:`range_clusters`: what it has published since 2025.

Published rules differ at the level itself, and so do these functions: :func:`wins`,
:func:`wmt_clusters`, :func:`rank_ranges`, :func:`walked_ranges` and :func:`neighbour_clusters` ask
for p < alpha, the others for p <= alpha.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from steelyard.core.errors import DegenerateError, ShapeError
from steelyard.core.options import check_number
from steelyard.stats.arrays import Counts, Floats

MAX_LETTERS = 10_000
_STEPS = 50  # of the search for groups, for each that can be told
_ALPHABET = "abcdefghijklmnopqrstuvwxyz"

Bools = NDArray[np.bool_]


def _checked(p: Floats, alpha: float) -> Floats:
    """Give the matrix of p-values, its diagonal blanked."""
    matrix = np.array(p, dtype=np.float64)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise ShapeError(f"expected a square matrix of p-values, got shape {matrix.shape}")
    check_number(0, 1, alpha=alpha)
    np.fill_diagonal(matrix, np.nan)
    return matrix


def _significant(p: Floats, alpha: float) -> Bools:
    """Which pairs differ, p <= alpha; true only above the diagonal, where the better leads."""
    return np.triu(_checked(p, alpha) <= alpha, 1)


def _beats(p: Floats, alpha: float) -> Bools:
    """Which row beats which column, p < alpha, in either direction."""
    return _checked(p, alpha) < alpha


def _numbered(opens: Bools) -> Counts:
    """Number clusters from 1, given which items open one (the first does anyway)."""
    opens = opens.copy()
    opens[:1] = True
    return np.cumsum(opens, dtype=np.int64)


def greedy_clusters(p: Floats, alpha: float = 0.05) -> Counts:
    """Cut where an item is significantly worse than any member of the current cluster.

    The rule of the WMT metrics task and of soft pairwise accuracy: items that are not
    significantly different may be separated, items of one cluster never differ significantly.

    Parameters
    ----------
    p
        Items x items, best first; ``p[i, j]`` is the p-value of i's lead over j. Only i < j counts.
    alpha
        Significant is p <= alpha.

    Returns
    -------
    Counts
        The cluster of each item, from 1.

    Examples
    --------
    >>> import numpy as np
    >>> p = np.full((4, 4), 0.5)
    >>> p[0, 2:] = 0.01
    >>> greedy_clusters(p).tolist()
    [1, 1, 2, 2]
    """
    differ = _significant(p, alpha)
    opens = np.zeros(len(differ), dtype=bool)
    start = 0
    for i in range(len(differ)):
        if differ[start:i, i].any():
            opens[i] = True
            start = i
    return _numbered(opens)


def neighbour_clusters(p: Floats, alpha: float = 0.05) -> Counts:
    """Cut where an item is significantly worse (p < alpha) than the one right above it.

    Items far apart in the ranking can share a cluster although they differ significantly.

    Examples
    --------
    >>> import numpy as np
    >>> p = np.full((4, 4), 0.5)
    >>> p[0, 2:] = p[2, 3] = 0.01
    >>> neighbour_clusters(p).tolist()
    [1, 1, 1, 2]
    """
    beats = _beats(p, alpha)
    opens = np.zeros(len(beats), dtype=bool)
    opens[1:] = np.diagonal(beats, offset=1)
    return _numbered(opens)


def never_split_clusters(p: Floats, alpha: float = 0.05) -> Counts:
    """Cut only where everything above differs significantly from everything below.

    The finest partition into consecutive groups that keeps every two items together that are not
    significantly different (p > alpha or NaN). Only i < j counts.

    Examples
    --------
    >>> import numpy as np
    >>> p = np.full((4, 4), 0.01)
    >>> p[0, 1] = p[1, 2] = 0.5
    >>> never_split_clusters(p).tolist()
    [1, 1, 1, 2]
    """
    alike = np.triu(~_significant(p, alpha))  # with the diagonal: every row has a last one
    n = len(alike)
    last = n - 1 - np.argmax(alike[:, ::-1], axis=1) if n else np.empty(0, dtype=np.int64)
    opens = np.zeros(n, dtype=bool)
    opens[1:] = np.maximum.accumulate(last)[:-1] < np.arange(1, n)
    return _numbered(opens)


def alike_groups(p: Floats, alpha: float = 0.05) -> tuple[tuple[int, ...], ...]:
    """List the largest groups of items among which nothing differs significantly (p <= alpha).

    These are the maximal cliques of the graph of pairs that are not significantly different, each
    a sorted tuple of positions, ordered by best member (then second best, ...). Only i < j counts.

    Raises
    ------
    DegenerateError
        If there are more than 10,000: differences so scattered cannot be summed up in groups.

    Examples
    --------
    >>> import numpy as np
    >>> p = np.full((4, 4), 0.5)
    >>> p[0, 2:] = 0.01
    >>> alike_groups(p)
    ((0, 1), (1, 2, 3))
    """
    differ = _significant(p, alpha)
    alike = ~(differ | differ.T)
    np.fill_diagonal(alike, False)
    found: list[tuple[int, ...]] = []
    for clique in _maximal_cliques(alike):
        if clique is None or len(found) == MAX_LETTERS:
            raise DegenerateError(
                f"the {len(alike)} items form more than {MAX_LETTERS:,} groups without a "
                "significant difference; letters can't sum them up, clusters can"
            )
        found.append(tuple(_bits(clique)))
    return tuple(sorted(found))


def _bits(items: int) -> Iterator[int]:
    """List the items of a set, which is a number with a bit for each."""
    while items:
        lowest = items & -items
        yield lowest.bit_length() - 1
        items ^= lowest


def _maximal_cliques(alike: Bools) -> Iterator[int | None]:
    """Bron and Kerbosch's search with a pivot, on a stack: a clique may be deeper than Python's.

    Sets are numbers with a bit for each item. At worst the search is exponential: it gives up with
    None once it has taken many more steps than groups can be told.
    """
    packed = np.packbits(alike, axis=1, bitorder="little")
    neighbours = [int.from_bytes(row.tobytes(), "little") for row in packed]
    if not neighbours:
        return
    stack = [(0, (1 << len(neighbours)) - 1, 0)]
    for _ in range(_STEPS * MAX_LETTERS):
        if not stack:
            return
        clique, open_, done = stack.pop()
        if not open_:
            if not done:  # else it is part of a clique that was seen before
                yield clique
            continue
        # Any maximal clique holds the pivot or an item that the pivot is not alike.
        for v in _bits(open_ & ~neighbours[_pivot(open_, done, neighbours)]):
            stack.append((clique | 1 << v, open_ & neighbours[v], done & neighbours[v]))
            open_ ^= 1 << v
            done |= 1 << v
    if stack:
        yield None


def _pivot(open_: int, done: int, neighbours: list[int]) -> int:
    """Give the item that is alike most of the open ones."""
    most, pivot, size = -1, 0, open_.bit_count()
    for v in _bits(open_ | done):
        shared = (open_ & neighbours[v]).bit_count()
        if shared > most:
            most, pivot = shared, v
            if shared == size:
                break
    return pivot


def compact_letters(p: Floats, alpha: float = 0.05) -> tuple[str, ...]:
    """Compact letter display: two items share a letter iff they do not differ significantly.

    Each of the :func:`alike_groups` gets a letter: a, b, ..., z, aa, ab, ... With more than 26
    groups, letters are separated by commas, because "aab" could be read in two ways.

    Examples
    --------
    >>> import numpy as np
    >>> p = np.full((4, 4), 0.5)
    >>> p[0, 2:] = 0.01
    >>> compact_letters(p)
    ('a', 'ab', 'b', 'b')
    """
    groups = alike_groups(p, alpha)
    letters: list[list[str]] = [[] for _ in range(len(p))]
    for number, group in enumerate(groups):
        letter = _letter(number)
        for item in group:
            letters[item].append(letter)
    separator = "," if len(groups) > len(_ALPHABET) else ""
    return tuple(separator.join(own) for own in letters)


def _letter(number: int) -> str:
    """Name a group as spreadsheets name columns: 0 is a, 25 is z, 26 is aa."""
    name = ""
    number += 1
    while number:
        number, digit = divmod(number - 1, len(_ALPHABET))
        name = _ALPHABET[digit] + name
    return name


def wins(p: Floats, alpha: float = 0.05) -> Counts:
    """Count the items that each beats: entries of its row with p < alpha.

    ``p`` is one-sided, row better than column, in both directions. Applied to ``p.T`` this counts
    losses.

    Examples
    --------
    >>> import numpy as np
    >>> wins(np.array([[0.5, 0.2, 0.01], [0.8, 0.5, 0.02], [0.99, 0.98, 0.5]])).tolist()
    [1, 1, 0]
    """
    return np.asarray(_beats(p, alpha).sum(axis=1, dtype=np.int64))


def wmt_clusters(p: Floats, alpha: float = 0.05) -> list[tuple[int, int]]:
    """Clusters as WMT publishes them for human evaluation: first and last rank, for each item.

    A cluster ends after the k-th of N items if that item beats N - k others: as many as stand
    below it. Which ones they are, and what the items above it beat, is not asked.

    Parameters
    ----------
    p
        Items x items, best first; one-sided, row better than column, in both directions.
    alpha
        Significant is p < alpha.

    Returns
    -------
    list of (first, last)
        The first and the last rank of the cluster in which each item is, from 1.

    Examples
    --------
    >>> import numpy as np
    >>> wmt_clusters(np.array([[0.5, 0.2, 0.01], [0.8, 0.5, 0.02], [0.99, 0.98, 0.5]]))
    [(1, 2), (1, 2), (3, 3)]
    """
    won = wins(p, alpha)
    n = len(won)
    ends = won == np.arange(n - 1, -1, -1)
    return spans(np.asarray(np.cumsum(ends) - ends, dtype=np.int64))


def spans(cluster: Counts) -> list[tuple[int, int]]:
    """First and last place of the cluster of each item, given the (rising) number of its cluster.

    Examples
    --------
    >>> import numpy as np
    >>> spans(np.array([1, 1, 2]))
    [(1, 2), (1, 2), (3, 3)]
    """
    first = np.searchsorted(cluster, cluster, side="left") + 1
    last = np.searchsorted(cluster, cluster, side="right")
    return list(zip(first.tolist(), last.tolist(), strict=True))


def rank_ranges(p: Floats, alpha: float = 0.05) -> list[tuple[int, int]]:
    """Range of ranks that each item could hold: from 1 + its losses to N - its wins.

    ``p`` is one-sided, row better than column, in both directions; significant is p < alpha.

    Examples
    --------
    >>> import numpy as np
    >>> rank_ranges(np.array([[0.5, 0.2, 0.01], [0.8, 0.5, 0.2], [0.99, 0.8, 0.5]]))
    [(1, 2), (1, 3), (2, 3)]
    """
    beats = _beats(p, alpha)
    first = 1 + beats.sum(axis=0)
    last = len(beats) - beats.sum(axis=1)
    return list(zip(first.tolist(), last.tolist(), strict=True))


def walked_ranges(p: Floats, alpha: float = 0.05) -> list[tuple[int, int]]:
    """Range of ranks of each item: up to the first one that beats it, down to the first it beats.

    The rule of WMT25. An item further away that is not beaten does not widen the range, unlike in
    :func:`rank_ranges`. ``p`` is one-sided, row better than column; only i < j counts.

    Examples
    --------
    >>> import numpy as np
    >>> p = np.full((4, 4), 0.5)
    >>> p[0, 1] = p[1, 3] = 0.01
    >>> walked_ranges(p)
    [(1, 1), (2, 3), (1, 4), (3, 4)]
    """
    beats = np.triu(_beats(p, alpha), 1)
    n = len(beats)
    found = []
    for i in range(n):
        above, below = np.flatnonzero(beats[:i, i]), np.flatnonzero(beats[i, i + 1 :])
        first = int(above[-1]) + 2 if len(above) else 1
        last = i + int(below[0]) + 1 if len(below) else n
        found.append((first, last))
    return found


def range_clusters(ranges: Sequence[tuple[int, int]]) -> Counts:
    """Cut after the k-th item if all ranges above end there and all below start later (WMT25).

    Examples
    --------
    >>> range_clusters([(1, 2), (1, 2), (3, 4), (3, 4)]).tolist()
    [1, 1, 2, 2]
    >>> range_clusters([(1, 2), (2, 3), (2, 3)]).tolist()
    [1, 1, 1]
    """
    first, last = (np.array([own[end] for own in ranges], dtype=np.int64) for end in (0, 1))
    n = len(first)
    opens = np.zeros(n, dtype=bool)
    if n:
        places = np.arange(1, n)
        lowest = np.minimum.accumulate(first[::-1])[::-1]
        opens[1:] = (np.maximum.accumulate(last)[:-1] <= places) & (lowest[1:] > places)
    return _numbered(opens)
