"""Who rated which output: the raters of every cell of systems x segments, as codes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

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


def teams_overlap(rater: Counts, team: Counts) -> bool:
    """Tell whether somebody rated outputs in several teams, which are not independent then.

    Examples
    --------
    >>> teams_overlap(np.array([0, 1, 0]), np.array([0, 0, 1]))
    True
    """
    pairs = np.unique(np.stack([rater, team]), axis=1)
    return bool(len(np.unique(pairs[0])) < pairs.shape[1])


def rater_sets(ratings: Ratings, systems: Sequence[str], segments: Sequence[str]) -> Counts:
    """Code who rated each output, systems x segments; several together are a rater of their own.

    An output that nobody rated has -1; control items do not count.

    Examples
    --------
    >>> one = Ratings.from_labels(list("AAB"), list("111"), list("rsr"), np.ones(3))
    >>> rater_sets(one, ["A", "B"], ["1", "2"]).tolist()
    [[0, -1], [1, -1]]
    """
    size = len(segments)
    system, segment = places(ratings.systems, systems), places(ratings.segments, segments)
    row, column = system[ratings.system], segment[ratings.segment]
    keep = (row >= 0) & (column >= 0) & ratings.is_item("system", "repeat")
    who: dict[int, set[int]] = {}
    cells = (row * size + column)[keep].tolist()
    for cell, rater in zip(cells, ratings.rater[keep].tolist(), strict=True):
        who.setdefault(cell, set()).add(rater)
    names = {cell: str(sorted(own)) for cell, own in who.items()}
    code = {name: k for k, name in enumerate(sorted(set(names.values())))}
    found = np.full(len(systems) * size, -1, dtype=np.int64)
    for cell, name in names.items():
        found[cell] = code[name]
    return found.reshape(len(systems), size)
