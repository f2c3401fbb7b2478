r"""How well people agree with people, on the target that the judge faces.

A judge that agrees with the majority of three people in 80 % may be as good as any of them: a
person, too, differs from the others. So every rater is compared with what the *other* raters said,
and the judge with the same others on the same rows; means over raters, and their difference, have
intervals over rows (by unit).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steelyard.core.errors import ShapeError
from steelyard.stats.arrays import Floats
from steelyard.stats.estimate import Estimate, undefined
from steelyard.stats.judged.proportions import with_noise

Codes = NDArray[np.integer]
LEAST = 10  # rows that a rater must share with others to be one of the ceiling


@dataclass(frozen=True, slots=True)
class Ceiling:
    """Agreement of raters with the others, of the judge with the same others, and the difference.

    ``measure`` says what agreement is: a share of equal labels, or a correlation.
    """

    people: Estimate
    judge: Estimate
    difference: Estimate
    n_raters: int
    measure: str

    def to_dict(self) -> dict[str, Any]:
        """Give what ``--json`` prints."""
        return {
            "people": self.people.to_dict(),
            "judge": self.judge.to_dict(),
            "difference": self.difference.to_dict(),
            "n_raters": self.n_raters,
            "measure": self.measure,
        }


def label_ceiling(
    raters: Codes,
    judge: Codes,
    n_categories: int,
    *,
    unit: Codes | None = None,
    level: float = 0.95,
) -> Ceiling:
    """Give the ceiling of labels: equal to what most of the others said.

    Rows on which the others are split have no target. A judge that could not be understood (-2) is
    wrong; rows on which it said nothing (-1) do not count for either.

    Parameters
    ----------
    raters
        Raters x rows, codes of categories, below 0 where silent.
    judge
        A code per row.

    Examples
    --------
    >>> raters = np.array([[0, 0, 1, 1] * 5, [0, 0, 1, 0] * 5, [0, 1, 1, 1] * 5])
    >>> found = label_ceiling(raters, np.array([0, 0, 1, 1] * 5), 2)
    >>> round(found.people.value, 3), round(found.judge.value, 3)
    (0.778, 1.0)
    """
    _check(raters, judge)
    rows = np.arange(raters.shape[1])
    counts = np.zeros((n_categories, raters.shape[1]))
    for own in raters:
        counts[own[own >= 0], rows[own >= 0]] += 1
    parts = []
    for own in raters:
        others = counts.copy()
        others[own[own >= 0], rows[own >= 0]] -= 1
        most = others.max(axis=0)
        clear = (most > 0) & ((others == most).sum(axis=0) == 1)
        keep = np.flatnonzero((own >= 0) & clear & (judge != -1))
        target = others.argmax(axis=0)[keep]
        parts.append((keep, *((x[keep] == target).astype(np.float64) for x in (own, judge))))
    return _over_raters(parts, raters.shape[1], _share, "equal labels", unit, level)


def score_ceiling(
    raters: Floats, judge: Floats, *, unit: Codes | None = None, level: float = 0.95
) -> Ceiling:
    """Give the ceiling of numbers: the correlation with the mean of the others.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> truth = rng.normal(size=200)
    >>> raters = truth + rng.normal(size=(3, 200))
    >>> found = score_ceiling(raters, truth)
    >>> found.judge.value > found.people.value, found.difference.low > 0
    (True, True)
    """
    _check(raters, judge)
    known = ~np.isnan(raters)
    total, n = np.where(known, raters, 0.0).sum(axis=0), known.sum(axis=0)
    parts = []
    for own in raters:
        keep = np.flatnonzero(~np.isnan(own) & (n > 1) & ~np.isnan(judge))
        target = (total[keep] - own[keep]) / (n[keep] - 1)
        parts.append((keep, *(np.stack([x[keep], target]) for x in (own, judge))))
    return _over_raters(parts, raters.shape[1], _correlation, "correlation", unit, level)


def _check(raters: NDArray[Any], judge: NDArray[Any]) -> None:
    if raters.ndim != 2 or judge.shape != raters.shape[1:]:
        raise ShapeError(f"{raters.shape} raters x rows but {judge.shape} of the judge")


_Measure = Callable[[NDArray[np.float64]], tuple[float, Floats]]


def _share(right: Floats) -> tuple[float, Floats]:
    """Give a share, and the influence of each row on it."""
    value = float(right.mean())
    return value, right - value


def _correlation(pairs: Floats) -> tuple[float, Floats]:
    """Give a correlation, and the influence of each row on it; NaN where nothing varies."""
    spread = pairs.std(axis=1)
    if (spread <= 1e-12 * np.abs(pairs).max(axis=1)).any():
        return float("nan"), np.full(pairs.shape[1], np.nan)
    a, b = (pairs - pairs.mean(axis=1, keepdims=True)) / spread[:, None]
    r = float((a * b).mean())
    return r, a * b - r * (a * a + b * b) / 2


def _over_raters(
    parts: list[tuple[Any, ...]],
    n_rows: int,
    measure: _Measure,
    name: str,
    unit: Codes | None,
    level: float,
) -> Ceiling:
    """Average over raters; the influence of a row is the sum of those that it has on each."""
    people, judge = np.zeros((2, n_rows))
    values: list[tuple[float, float]] = []
    touched = np.zeros(n_rows, dtype=bool)
    for keep, own, theirs in parts:
        if len(keep) < LEAST:
            continue
        (a, of_a), (b, of_b) = measure(own), measure(theirs)
        if np.isnan(a) or np.isnan(b):
            continue
        values.append((a, b))
        people[keep] += of_a / len(keep)
        judge[keep] += of_b / len(keep)
        touched[keep] = True
    k = len(values)
    if k < 2:
        why = (
            f"{len(parts)} rater{'s' if len(parts) != 1 else ''} with {LEAST} rows or more that "
            "others judged, too: two are needed to see how far people agree"
            if k == 0
            else f"one rater of {len(parts)} shares {LEAST} rows or more with others"
        )
        nothing = undefined(why)
        return Ceiling(nothing, nothing, nothing, k, name)
    n = int(touched.sum())
    own_unit = None if unit is None else unit[touched]
    means = np.mean(values, axis=0)
    # with_noise divides by the number of rows: influences are those on a mean over them.
    of_people, of_judge = (x[touched] * n / k for x in (people, judge))
    return Ceiling(
        people=with_noise(float(means[0]), of_people, own_unit, level, least=-1.0, most=1.0),
        judge=with_noise(float(means[1]), of_judge, own_unit, level, least=-1.0, most=1.0),
        difference=with_noise(float(means[1] - means[0]), of_judge - of_people, own_unit, level),
        n_raters=k,
        measure=name,
    )
