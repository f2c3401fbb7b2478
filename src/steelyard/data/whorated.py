"""Who rated which output: the raters of every cell of systems x segments, as codes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from steelyard.core.text import plural
from steelyard.data.independence import FEWEST, counted, too_few
from steelyard.data.judgements import Ratings
from steelyard.stats.arrays import Counts

RATER = "rater"


def places(names: Sequence[str], own: Sequence[str]) -> Counts:
    """Give the place of each name among others, -1 where it is not there.

    Examples
    --------
    >>> places(["b", "x"], ["a", "b"]).tolist()
    [1, -1]
    """
    at = {name: k for k, name in enumerate(own)}
    return np.array([at.get(name, -1) for name in names], dtype=np.int64)


def rater_groups(ratings: Ratings, systems: Sequence[str], segments: Sequence[str]) -> Counts:
    """Code who rated each output, systems x segments, so that different codes share nobody.

    Raters who rated an output together are one group, with all whom either rated others with:
    smaller teams of them would not be independent. An output that nobody rated has -1; control
    items, and rows without a value, do not count.

    Examples
    --------
    >>> one = Ratings.from_labels(list("AABB"), list("1112"), list("rsrt"), np.ones(4))
    >>> rater_groups(one, ["A", "B"], ["1", "2"]).tolist()
    [[0, -1], [0, 1]]
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    size = len(systems) * len(segments)
    system, segment = places(ratings.systems, systems), places(ratings.segments, segments)
    row, column = system[ratings.system], segment[ratings.segment]
    keep = (row >= 0) & (column >= 0) & _rated(ratings)
    cell, rater = (row * len(segments) + column)[keep], ratings.rater[keep].astype(np.int64)
    n = size + len(ratings.raters)
    graph = coo_array((np.ones(len(cell), dtype=bool), (cell, size + rater)), shape=(n, n))
    label = connected_components(graph.tocsr(), directed=False)[1][:size]
    found = np.full(size, -1, dtype=np.int64)
    some = np.unique(cell)
    found[some] = np.unique(label[some], return_inverse=True)[1]
    return found.reshape(len(systems), len(segments))


def _rated(ratings: Ratings) -> NDArray[np.bool_]:
    return ratings.is_item("system", "repeat") & ~np.isnan(ratings.value)


def too_few_groups(groups: Counts, ratings: Ratings) -> str | None:
    """Say that raters are too few for a test, None if they are enough."""
    n = len(np.unique(groups[groups >= 0]))
    if n >= FEWEST:
        return None
    known = len(np.unique(ratings.rater[_rated(ratings)]))
    if n == known:
        return f"{too_few(n, RATER)} for a test by rater"
    what = f"{counted(known, RATER)}, who share outputs, are {plural(n, 'independent group')}"
    return f"{what}: too few for a test by rater"
