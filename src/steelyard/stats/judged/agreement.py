"""A judge beside people on the same rows: equal labels, and near numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from steelyard.stats.agreement import WEIGHTS, gwet_ac1, kappa, label_shares, nominal_alpha
from steelyard.stats.arrays import Floats
from steelyard.stats.correlation import pearson_influence
from steelyard.stats.estimate import (
    ONE_UNIT,
    Codes,
    Estimate,
    critical,
    mean_estimate,
    share_estimate,
    undefined,
    unit_error,
    unseen_share,
    wilson,
)

WRONG, DROP = "wrong", "drop"
CONSTANT_JUDGE = "the judge gave the same number to all rows"
CONSTANT_PEOPLE = "people gave the same number to all rows"
_NO_ROW = "no row that both judged"


@dataclass(frozen=True, slots=True, eq=False)
class LabelAgreement:
    """How far a judge's labels agree with people's.

    ``counts`` are people's labels by the judge's, where these can be understood; ``unparsed`` the
    rows where they can't. ``majority`` is how often people's most frequent label is right. Weighted
    kappas are of ordered categories. What can't be understood is a category of its own in kappa,
    AC1 and alpha, as far from all others as the furthest two.
    """

    counts: Floats
    unparsed: int
    accuracy: Estimate
    kappa: Estimate
    kappa_linear: Estimate
    kappa_quadratic: Estimate
    ac1: Estimate
    alpha: Estimate
    majority: float
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
        ac1=gwet_ac1(people, labels, k + 1, unit=units, level=level),
        alpha=nominal_alpha(people, labels, k + 1, unit=units, level=level),
        majority=float(rows.max() / n) if n else float("nan"),
        recall=tuple(wilson(table[c, c], rows[c], level) for c in range(k)),
        precision=tuple(wilson(table[c, c], columns[c], level) for c in range(k)),
    )


@dataclass(frozen=True, slots=True)
class ScoreAgreement:
    """How far a judge's numbers agree with people's.

    ``rho`` is Pearson's correlation over rows, ``offset`` judge minus people on average.
    """

    rho: Estimate
    offset: Estimate
    rmse: float

    def to_dict(self) -> dict[str, Any]:
        """Return what ``--json`` prints."""
        return {"rho": self.rho.to_dict(), "offset": self.offset.to_dict(), "rmse": self.rmse}


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
