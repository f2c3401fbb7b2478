"""A judge beside people on the same rows: equal labels, near numbers, and the ceiling of both.

A judge that agrees with the majority of three people in 80% of rows may be as good as any of them:
a person, too, differs from the others. The ceiling compares every rater with the *other* raters,
and the judge with the same others on the same rows. A judge may also be compared with itself
(runs), and with its next version (drift).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steelyard.stats.agreement import (
    WEIGHTS,
    kappa,
    label_counts,
    label_shares,
    pooled_agreement,
)
from steelyard.stats.arrays import Floats
from steelyard.stats.correlation import pearson_influence
from steelyard.stats.estimate import (
    ONE_UNIT,
    Codes,
    Estimate,
    critical,
    from_influence,
    mean_estimate,
    plain_fields,
    share_estimate,
    side_p,
    undefined,
    unit_error,
    unseen_share,
    wilson,
)

WRONG, DROP = "wrong", "drop"
CONSTANT_JUDGE = "the judge gave the same number to all rows"
CONSTANT_PEOPLE = "people gave the same number to all rows"
LEAST = 10  # rows that a rater must share with others to be part of the ceiling
_NO_ROW = "no row that both judged"


@dataclass(frozen=True, slots=True, eq=False)
class LabelAgreement:
    """How far a judge's labels agree with people's."""

    counts: Floats  # people's labels by the judge's
    #: Labels that can't be understood: in kappa, AC1 and alpha a category far from all others.
    unparsed: int
    accuracy: Estimate
    kappa: Estimate
    kappa_linear: Estimate
    kappa_quadratic: Estimate
    ac1: Estimate
    alpha: Estimate
    majority: float  # how often people's most frequent label is right
    recall: tuple[Estimate, ...]
    precision: tuple[Estimate, ...]

    @property
    def n(self) -> int:
        """Rows that all coefficients are of."""
        return self.accuracy.n

    def to_dict(self) -> dict[str, Any]:
        """Return what ``--json`` prints; the caller adds the names of categories."""
        names = ("accuracy", "kappa", "kappa_linear", "kappa_quadratic", "ac1", "alpha")
        return {name: getattr(self, name).to_dict() for name in names} | {
            "unparsed": self.unparsed,
            "majority": self.majority,
            "recall": [share.to_dict() for share in self.recall],
            "precision": [share.to_dict() for share in self.precision],
        }


def label_agreement(
    human: Codes | Floats,
    judge: Codes,
    n_categories: int,
    *,
    unit: Codes | None = None,
    ordered: bool = False,
    values: Floats | None = None,
    unparsed: str = WRONG,
    level: float = 0.95,
) -> LabelAgreement:
    """Compare a judge's labels with people's.

    People's labels are codes, or shares of categories; the judge's are codes, -1 where there is
    none and -2 where it was not understood: ``wrong`` counts that as a verdict of its own, with
    which nobody agrees, ``drop`` leaves it out. Weighted kappa measures distances of ``values``.
    """
    k = n_categories
    shares = label_shares(human, k)
    labelled = shares.sum(axis=1) > 0
    unread = labelled & (judge == -2)
    kept = labelled & (judge >= 0)
    if unparsed == WRONG:
        kept |= unread
    people = np.pad(shares[kept], ((0, 0), (0, 1)))
    labels = np.where(judge[kept] < 0, k, judge[kept])  # what can't be read is one category more
    units = None if unit is None else unit[kept]
    n = len(labels)
    table = np.stack([people[labels == c].sum(axis=0) for c in range(k + 1)], axis=1)
    rows, columns = table.sum(axis=1), table.sum(axis=0)
    apart = np.append(np.arange(k, dtype=np.float64) if values is None else values, np.nan)
    plain, linear, quadratic = (
        kappa(people, labels, k + 1, weights=name, values=apart, unit=units, level=level)
        if name == "plain" or ordered
        else undefined("categories have no order")
        for name in WEIGHTS
    )
    return LabelAgreement(
        counts=table[:k, :k],
        unparsed=int(unread.sum()),
        accuracy=share_estimate(people[np.arange(n), labels], units, level),
        kappa=plain,
        kappa_linear=linear,
        kappa_quadratic=quadratic,
        ac1=pooled_agreement(people, labels, k + 1, "ac1", unit=units, level=level),
        alpha=pooled_agreement(people, labels, k + 1, "alpha", unit=units, level=level),
        majority=float(rows.max() / n) if n else float("nan"),
        recall=tuple(wilson(table[c, c], rows[c], level) for c in range(k)),
        precision=tuple(wilson(table[c, c], columns[c], level) for c in range(k)),
    )


@dataclass(frozen=True, slots=True)
class ScoreAgreement:
    """How far a judge's numbers agree with people's."""

    rho: Estimate  # Pearson's correlation over rows
    offset: Estimate  # judge minus people on average
    rmse: float

    def to_dict(self) -> dict[str, Any]:
        """Return what ``--json`` prints."""
        return plain_fields(self)


def score_agreement(
    human: Floats, judge: Floats, *, unit: Codes | None = None, level: float = 0.95
) -> ScoreAgreement:
    """Compare a judge's numbers with people's, NaN where either is missing."""
    both = ~(np.isnan(human) | np.isnan(judge))
    if not both.any():
        nothing = undefined(_NO_ROW)
        return ScoreAgreement(nothing, nothing, float("nan"))
    error = judge[both] - human[both]
    units = None if unit is None else unit[both]
    return ScoreAgreement(
        rho=correlation(human[both], judge[both], unit=units, level=level),
        offset=mean_estimate(error, units, level),
        rmse=float(np.sqrt(error @ error / len(error))),
    )


def correlation(
    x: Floats, y: Floats, *, unit: Codes | None = None, level: float = 0.95
) -> Estimate:
    """Pearson's correlation of two columns without gaps; the interval is Fisher's, by unit.

    Where all rows lie on one line, it reaches as far as rows that were not seen could take it.
    """
    n = len(x)
    if n < 3:
        return undefined(f"{n} rows, expected three or more", n)
    r, influence = pearson_influence(x, y)
    if math.isnan(r):
        flat = np.ptp(x) <= 1e-12 * np.abs(x).max()
        return undefined(CONSTANT_PEOPLE if flat else CONSTANT_JUDGE, n)
    room = 1 - r * r
    if room < 1e-12:
        n_units = n if unit is None else len(np.unique(unit))
        low, high = sorted((r, r * (1 - unseen_share(n_units, level))))
        return Estimate(r, low, high, 0.0, n=n)
    se, n_units = unit_error(influence, unit)
    if math.isnan(se):
        return Estimate(r, n=n, why=ONE_UNIT)
    reach = critical(level, math.inf if unit is None else n_units - 1) * se / room
    z = math.atanh(r)
    return Estimate(r, math.tanh(z - reach), math.tanh(z + reach), se, n=n)


@dataclass(frozen=True, slots=True)
class Ceiling:
    """Agreement of raters with the others, of the judge with the same, and the difference."""

    people: Estimate
    judge: Estimate
    difference: Estimate
    n_raters: int
    measure: str  # what agreement is: a share of equal labels, or a correlation

    def to_dict(self) -> dict[str, Any]:
        """Return what ``--json`` prints."""
        return plain_fields(self)


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


def self_agreement(runs: Floats, *, unit: Codes | None = None, level: float = 0.95) -> Estimate:
    """Return how often two runs of a judge on a row say the same, from runs x rows.

    The mean over rows judged twice or more of the share of equal pairs; NaN is a missing run.
    """
    n_runs = (~np.isnan(runs)).sum(axis=0)
    repeated = n_runs > 1
    if not repeated.any():
        return undefined("no row was judged twice")
    runs, n_runs = runs[:, repeated], n_runs[repeated]
    first, second = np.triu_indices(len(runs), 1)
    alike = (runs[first] == runs[second]).sum(axis=0)
    units = None if unit is None else unit[repeated]
    return mean_estimate(alike / (n_runs * (n_runs - 1) / 2), units, level, (0.0, 1.0))


@dataclass(frozen=True, slots=True)
class Drift:
    """What changed from one judge to the next on the same rows."""

    gained: int  # rows that were wrong and are right now
    lost: int  # the other way
    p: float
    difference: Estimate  # of the shares of right verdicts, new minus old
    changed: Estimate  # share of verdicts that differ

    def to_dict(self) -> dict[str, Any]:
        """Return what ``--json`` prints."""
        return plain_fields(self)


def drift(
    human: Codes, old: Codes, new: Codes, *, unit: Codes | None = None, level: float = 0.95
) -> Drift:
    """Compare two judges with people on the same rows: exact McNemar, and the paired difference.

    Where rows share units, the p-value is of t with the error by unit. Labels are codes, -1 where
    there is none; -2, not understood, is wrong.
    """
    both = (old != -1) & (new != -1)
    if not both.any():
        nothing = undefined(_NO_ROW)
        return Drift(0, 0, float("nan"), nothing, nothing)
    differ = (old[both] != new[both]).astype(np.float64)
    changed = mean_estimate(differ, None if unit is None else unit[both], level, (0.0, 1.0))
    rows = both & (human >= 0)
    if not rows.any():
        return Drift(0, 0, float("nan"), undefined("no row of both has a label"), changed)
    step = (new[rows] == human[rows]).astype(np.float64) - (old[rows] == human[rows])
    units = None if unit is None else unit[rows]
    return Drift(
        gained=int((step > 0).sum()),
        lost=int((step < 0).sum()),
        p=side_p(step, units),
        difference=mean_estimate(step, units, level),
        changed=changed,
    )
