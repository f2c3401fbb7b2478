"""Rankings into groups: from p-values of all pairs to clusters, letters and rank ranges.

Items come sorted, best first, and ``p[i, j]`` is the p-value of i's lead over j. NaN is never
significant and the diagonal is never read. There is no single right way to cut a ranking, because
"not significantly different" is not transitive; each rule here does one thing:

* :func:`greedy_clusters`: a new cluster starts with the first item that some member of the current
  one beats (WMT metrics task, soft pairwise accuracy).
* :func:`never_split_clusters`: two items that are not significantly different stay together.
* :func:`compact_letters`: items share a letter if and only if they are not significantly different.
* :func:`wmt_clusters`, :func:`rank_ranges`: what WMT publishes about human evaluation.
* :func:`walked_ranges`, :func:`range_clusters`: what it has published since 2025.

Published rules differ at the level itself: :func:`wins`, :func:`wmt_clusters`, :func:`rank_ranges`
and :func:`walked_ranges` ask for p < alpha, the others for p <= alpha.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from steelyard.core.errors import DegenerateError
from steelyard.stats.arrays import Counts, Floats

MAX_LETTERS = 10_000
_ALPHABET = "abcdefghijklmnopqrstuvwxyz"

Bools = NDArray[np.bool_]


def _significant(p: Floats, alpha: float) -> Bools:
    """Return which pairs differ, p <= alpha; only above the diagonal, where the better leads."""
    return np.triu(np.asarray(p) <= alpha, 1)


def _beats(p: Floats, alpha: float) -> Bools:
    """Return which row beats which column, p < alpha, in either direction."""
    return (np.asarray(p) < alpha) & ~np.eye(len(p), dtype=bool)


def _numbered(opens: Bools) -> Counts:
    """Number clusters from 1, given which items open one (the first does anyway)."""
    return 1 + np.cumsum(opens, dtype=np.int64) - opens[:1]


def greedy_clusters(p: Floats, alpha: float = 0.05) -> Counts:
    """Cut where an item is significantly worse than any member of the current cluster.

    Items that are not significantly different may be separated; those of one cluster never differ.
    """
    differ = _significant(p, alpha)
    opens = np.zeros(len(differ), dtype=bool)
    start = 0
    for i in range(len(differ)):
        if differ[start:i, i].any():
            opens[i] = True
            start = i
    return _numbered(opens)


def never_split_clusters(p: Floats, alpha: float = 0.05) -> Counts:
    """Cut only where everything above differs significantly from everything below.

    The finest partition into consecutive groups that keeps every two items together that are not
    significantly different (p > alpha or NaN).
    """
    alike = np.triu(~_significant(p, alpha))  # with the diagonal: every row has a last one
    n = len(alike)
    last = n - 1 - np.argmax(alike[:, ::-1], axis=1) if n else np.empty(0, dtype=np.int64)
    opens = np.zeros(n, dtype=bool)
    opens[1:] = np.maximum.accumulate(last)[:-1] < np.arange(1, n)
    return _numbered(opens)


def alike_groups(p: Floats, alpha: float = 0.05) -> tuple[tuple[int, ...], ...]:
    """List the largest groups of items among which nothing differs significantly (p <= alpha).

    These are the maximal cliques of the graph of pairs that do not differ. Items are added one by
    one: a group is kept, extended, or cut to what is alike the new item.
    """
    differ = _significant(p, alpha)
    alike = ~(differ | differ.T)
    # A set of items is a number with a bit for each.
    near = [sum(1 << j for j in np.flatnonzero(row).tolist()) for row in alike]
    groups = {0} if len(alike) else set()
    for item in range(len(alike)):
        earlier = near[item] & ((1 << item) - 1)
        cut = {group & earlier for group in groups}
        groups = {group for group in groups if group & ~earlier} | {
            group | 1 << item for group in cut if _is_maximal(group, earlier, near)
        }
        if len(groups) > MAX_LETTERS:  # their number never falls
            raise DegenerateError(
                f"the {len(alike)} items form more than {MAX_LETTERS:,} groups without a "
                "significant difference; letters can't sum them up, clusters can"
            )
    return tuple(sorted(tuple(_bits(group)) for group in groups))


def _is_maximal(group: int, candidates: int, near: list[int]) -> bool:
    """Return whether no other candidate is alike all members of the group."""
    others = candidates & ~group
    for member in _bits(group):
        if not others:
            break
        others &= near[member]
    return not others


def _bits(items: int) -> Iterator[int]:
    """List the items of a set, which is a number with a bit for each."""
    while items:
        lowest = items & -items
        yield lowest.bit_length() - 1
        items ^= lowest


def compact_letters(p: Floats, alpha: float = 0.05) -> tuple[str, ...]:
    """Compact letter display: two items share a letter iff they do not differ significantly.

    Each of the :func:`alike_groups` gets a letter: a, b, ..., z, aa, ab, ... With more than 26
    groups, letters are separated by commas, because "aab" could be read in two ways.
    """
    groups = alike_groups(p, alpha)
    letters: list[list[str]] = [[] for _ in range(len(p))]
    for number, group in enumerate(groups):
        letter = _letter(number)
        for item in group:
            letters[item].append(letter)
    separator = "," if len(groups) > len(_ALPHABET) else ""
    return tuple(separator.join(item) for item in letters)


def _letter(number: int) -> str:
    """Name a group as spreadsheets name columns: 0 is a, 25 is z, 26 is aa."""
    higher, digit = divmod(number, len(_ALPHABET))
    return (_letter(higher - 1) if higher else "") + _ALPHABET[digit]


def wins(p: Floats, alpha: float = 0.05) -> Counts:
    """Count the items that each beats: entries of its row with p < alpha.

    ``p`` is one-sided, row better than column, in both directions; ``p.T`` counts losses.
    """
    return np.asarray(_beats(p, alpha).sum(axis=1, dtype=np.int64))


def wmt_clusters(p: Floats, alpha: float = 0.05) -> list[tuple[int, int]]:
    """Return the first and last rank of each item's cluster, as WMT does for human evaluation.

    A cluster ends after the k-th of N items if that item beats N - k others, whichever they are.
    """
    won = wins(p, alpha)
    ends = won == np.arange(len(won) - 1, -1, -1)
    return spans(np.asarray(np.cumsum(ends) - ends, dtype=np.int64))


def spans(cluster: Counts) -> list[tuple[int, int]]:
    """Return first and last rank of each item's cluster, given rising numbers of clusters."""
    first = np.searchsorted(cluster, cluster, side="left") + 1
    last = np.searchsorted(cluster, cluster, side="right")
    return list(zip(first.tolist(), last.tolist(), strict=True))


def rank_ranges(p: Floats, alpha: float = 0.05) -> list[tuple[int, int]]:
    """Return the ranks that each item could hold: from 1 + its losses to N - its wins.

    ``p`` is as for :func:`wins`.
    """
    beats = _beats(p, alpha)
    first = 1 + beats.sum(axis=0)
    last = len(beats) - beats.sum(axis=1)
    return list(zip(first.tolist(), last.tolist(), strict=True))


def walked_ranges(p: Floats, alpha: float = 0.05) -> list[tuple[int, int]]:
    """Return each item's ranks: up to the first one that beats it, down to the first it beats.

    The rule of WMT25: an item further away that is not beaten does not widen the range.
    """
    beats = np.triu(_beats(p, alpha), 1)
    ranges = []
    for i in range(len(beats)):
        above, below = np.flatnonzero(beats[:i, i]), np.flatnonzero(beats[i, i + 1 :])
        first = int(above[-1]) + 2 if len(above) else 1
        last = i + int(below[0]) + 1 if len(below) else len(beats)
        ranges.append((first, last))
    return ranges


def range_clusters(ranges: Sequence[tuple[int, int]]) -> Counts:
    """Cut after the k-th item if all ranges above end there and all below start later (WMT25)."""
    first, last = np.array(ranges, dtype=np.int64).reshape(-1, 2).T
    opens = np.zeros(len(first), dtype=bool)
    border = np.arange(1, len(first))
    lowest = np.minimum.accumulate(first[::-1])[::-1]
    opens[1:] = (np.maximum.accumulate(last)[:-1] <= border) & (lowest[1:] > border)
    return _numbered(opens)
