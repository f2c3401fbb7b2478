"""Whether labelled rows look like the others: in what the judge says, length, system, slice.

Labels that were picked because the judge failed, or because answers were short, correct the wrong
thing. A test can't show that labels are random, only that they are not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtrc, kolmogorov

from steelyard.stats.arrays import Floats, group_sums
from steelyard.stats.paired.corrections import adjust

Bools = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Difference:
    """How labelled rows differ from the others in one thing: p, and p after Holm's correction."""

    name: str
    test: str
    p: float
    p_adjusted: float

    def to_dict(self) -> dict[str, Any]:
        """Give what ``--json`` prints."""
        return {"name": self.name, "test": self.test, "p": self.p, "p_adjusted": self.p_adjusted}


def unlike_the_rest(
    labelled: Bools,
    numbers: Mapping[str, Floats],
    words: Mapping[str, Sequence[str]],
) -> tuple[Difference, ...]:
    """Compare labelled rows with the others.

    Numbers by Kolmogorov and Smirnov (conservative where many are equal; columns of up to ten
    values by chi-square), words by chi-square; categories that are too rare are taken together.

    Examples
    --------
    >>> labelled = np.arange(200) < 60
    >>> found = unlike_the_rest(labelled, {"length": np.arange(200.0)}, {"set": ["a", "b"] * 100})
    >>> [(own.name, own.p_adjusted < 0.01) for own in found]
    [('length', True), ('set', False)]
    """
    found: list[tuple[str, str, float]] = []
    for name, column in numbers.items():
        known = ~np.isnan(column)
        values = column[known]
        if len(np.unique(values)) <= 10:
            found.append((name, "chi-square", _chi_square(values, labelled[known])))
        else:
            found.append((name, "Kolmogorov-Smirnov", _smirnov(values, labelled[known])))
    for name, said in words.items():
        found.append((name, "chi-square", _chi_square(np.asarray(said), labelled)))
    tested = [own for own in found if not np.isnan(own[2])]
    if not tested:
        return ()
    adjusted = adjust(np.array([p for _, _, p in tested]))
    return tuple(
        Difference(name, test, p, float(both))
        for (name, test, p), both in zip(tested, adjusted, strict=True)
    )


def _smirnov(values: Floats, labelled: Bools) -> float:
    one, other = np.sort(values[labelled]), np.sort(values[~labelled])
    if not len(one) or not len(other):
        return float("nan")
    at = np.concatenate([one, other])
    gap = np.abs(
        np.searchsorted(one, at, side="right") / len(one)
        - np.searchsorted(other, at, side="right") / len(other)
    ).max()
    n = len(one) * len(other) / (len(one) + len(other))
    return float(kolmogorov(np.sqrt(n) * gap))


def _chi_square(values: NDArray[Any], labelled: Bools) -> float:
    _, code = np.unique(values, return_inverse=True)
    size = np.bincount(code)
    share = float(labelled.mean()) if len(labelled) else 0.0
    if not 0 < share < 1:
        return float("nan")
    rare = size * min(share, 1 - share) < 1  # expected counts below one
    code = np.where(rare[code], len(size), code)
    _, code = np.unique(code, return_inverse=True)
    k = int(code.max()) + 1
    if k < 2:
        return float("nan")
    seen = np.stack([group_sums(code, x.astype(np.float64), k) for x in (labelled, ~labelled)])
    expected = np.outer(seen.sum(axis=1), seen.sum(axis=0)) / len(code)
    return float(chdtrc(k - 1, ((seen - expected) ** 2 / expected).sum()))
