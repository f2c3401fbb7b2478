"""How well raters agree with each other, on the target that the judge faces.

A judge that agrees with the majority of three people in 80% of rows may be as good as any of them:
a person, too, differs from the others. So every rater is compared with the *other* raters, and the
judge with the same others on the same rows; means over raters, and their difference, have intervals
over rows (by unit).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steelyard.stats.agreement import label_counts
from steelyard.stats.arrays import Floats
from steelyard.stats.correlation import pearson_influence
from steelyard.stats.estimate import Codes, Estimate, from_influence, undefined

LEAST = 10  # rows that a rater must share with others to be part of the ceiling


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
        """Return what ``--json`` prints."""
        return asdict(self) | {
            name: getattr(self, name).to_dict() for name in ("people", "judge", "difference")
        }


#: Agreement of some rows with their target, and the influence of each row on it.
_Measure = Callable[[NDArray[Any], NDArray[Any]], tuple[float, Floats]]
#: Rows of a rater that others judged, too, and what these others say of them.
_Target = tuple[NDArray[np.intp], NDArray[Any]]


def label_ceiling(
    raters: Codes,
    judge: Codes,
    n_categories: int,
    *,
    unit: Codes | None = None,
    level: float = 0.95,
) -> Ceiling:
    """Return the ceiling of labels (raters x rows): equal to what most of the others said.

    Where the others are split, each of their most frequent labels counts in part. A judge that
    could not be understood (-2) is wrong; rows without a verdict (-1) count for neither.
    """
    counts = label_counts(list(raters), n_categories)
    targets = []
    for labels in raters:
        others = (counts - label_counts([labels], n_categories)).T
        tied = (others == others.max(axis=1, keepdims=True)) & (others > 0)
        rows = np.flatnonzero((labels >= 0) & tied.any(axis=1) & (judge != -1))
        targets.append((rows, tied[rows] / tied[rows].sum(axis=1, keepdims=True)))
    return _over_raters(raters, judge, targets, _equal, "equal labels", unit, level)


def score_ceiling(
    raters: Floats, judge: Floats, *, unit: Codes | None = None, level: float = 0.95
) -> Ceiling:
    """Return the ceiling of numbers (raters x rows): correlation with the mean of the others."""
    present = ~np.isnan(raters)
    total, n = np.where(present, raters, 0.0).sum(axis=0), present.sum(axis=0)
    targets = []
    for values in raters:
        rows = np.flatnonzero(~np.isnan(values) & (n > 1) & ~np.isnan(judge))
        targets.append((rows, (total[rows] - values[rows]) / (n[rows] - 1)))
    return _over_raters(raters, judge, targets, pearson_influence, "correlation", unit, level)


def _equal(labels: Codes, shares: Floats) -> tuple[float, Floats]:
    """Return the share of equal labels, and the influence of each row on it."""
    equal = np.where(labels >= 0, shares[np.arange(len(labels)), np.maximum(labels, 0)], 0.0)
    return float(equal.mean()), equal - equal.mean()


def _over_raters(
    raters: NDArray[Any],
    judge: NDArray[Any],
    targets: list[_Target],
    measure: _Measure,
    name: str,
    unit: Codes | None,
    level: float,
) -> Ceiling:
    """Average over raters; the influence of a row is the sum of its influences on each."""
    influence = np.zeros((2, len(judge)))
    values: list[tuple[float, float]] = []
    touched = np.zeros(len(judge), dtype=bool)
    for verdicts, (rows, target) in zip(raters, targets, strict=True):
        if len(rows) < LEAST:
            continue
        people, of_people = measure(verdicts[rows], target)
        judged, of_judge = measure(judge[rows], target)
        if math.isnan(people) or math.isnan(judged):
            continue
        values.append((people, judged))
        influence[:, rows] += np.stack([of_people, of_judge]) / len(rows)
        touched[rows] = True
    k = len(values)
    if k < 2:
        why = (
            f"{len(raters)} rater{'s' if len(raters) != 1 else ''} with {LEAST} rows or more that "
            "others judged, too: two are needed to see how far people agree"
            if k == 0
            else f"one rater of {len(raters)} shares {LEAST} rows or more with others"
        )
        nothing = undefined(why)
        return Ceiling(nothing, nothing, nothing, k, name)
    units = None if unit is None else unit[touched]
    people, judged = (float(mean) for mean in np.mean(values, axis=0))
    # from_influence divides by the number of rows: influences are those on a mean over them.
    of_people, of_judge = influence[:, touched] * touched.sum() / k
    return Ceiling(
        people=from_influence(people, of_people, units, level, (-1.0, 1.0)),
        judge=from_influence(judged, of_judge, units, level, (-1.0, 1.0)),
        difference=from_influence(judged - people, of_judge - of_people, units, level),
        n_raters=k,
        measure=name,
    )
