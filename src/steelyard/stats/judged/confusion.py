r"""A judge's labels beside people's: how often they agree, beyond what chance would do.

All coefficients are smooth functions of the table of counts, so that each row has an influence on
them; their errors are sums of influences, by unit where rows share one. Without units kappa's is
that of Fleiss, Cohen and Everitt (1969), AC1's that of Gwet (2008).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steelyard.core import bounds
from steelyard.core.errors import ShapeError
from steelyard.stats.arrays import Floats
from steelyard.stats.estimate import Estimate, undefined
from steelyard.stats.judged.proportions import share_by_unit, wilson, with_noise

WEIGHTS = ("plain", "linear", "quadratic")
WRONG, DROP = "wrong", "drop"
Codes = NDArray[np.integer]


@dataclass(frozen=True, slots=True, eq=False)
class LabelAgreement:
    """How far a judge's labels agree with people's.

    Parameters
    ----------
    counts
        Rows: what people said; columns: what the judge said.
    unparsed
        Rows on which the judge said something that can't be understood.
    accuracy
        Share of rows on which both say the same; unparsed ones are wrong, or not counted.
    kappa, kappa_linear, kappa_quadratic
        Cohen's; weighted ones where categories are ordered.
    ac1
        Gwet's.
    alpha
        Krippendorff's, of categories without order.
    majority
        How often "always the most frequent label of people" would be right.
    recall, precision
        By category.
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
        """Rows on which both said something that can be understood."""
        return int(self.counts.sum())

    def to_dict(self) -> dict[str, Any]:
        """Give what ``--json`` prints; the caller adds the names of categories."""
        names = ("accuracy", "kappa", "kappa_linear", "kappa_quadratic", "ac1", "alpha")
        return {name: getattr(self, name).to_dict() for name in names} | {
            "unparsed": self.unparsed,
            "majority": self.majority,
            "recall": [own.to_dict() for own in self.recall],
            "precision": [own.to_dict() for own in self.precision],
        }


def label_agreement(
    human: Codes,
    judge: Codes,
    n_categories: int,
    *,
    unit: Codes | None = None,
    ordered: bool = False,
    unparsed: str = WRONG,
    level: float = 0.95,
) -> LabelAgreement:
    """Compare a judge's labels with people's.

    Parameters
    ----------
    human, judge
        Codes of categories; -1 where nothing was said, -2 where it was not understood.
    n_categories
        How many categories there are.
    unit
        What rows share; None: rows are independent.
    ordered
        Whether weighted kappa means anything.
    unparsed
        ``wrong``: what can't be understood is no agreement; ``drop``: it is left out. Coefficients
        beyond accuracy leave it out either way.
    level
        Of the intervals.

    Examples
    --------
    >>> human, judge = np.array([0, 0, 1, 1, 1, -1]), np.array([0, 1, 1, 1, -2, 0])
    >>> found = label_agreement(human, judge, 2)
    >>> found.accuracy.value, round(found.kappa.value, 4), found.unparsed
    (0.6, 0.5, 1)
    """
    bounds.choice((WRONG, DROP), unparsed=unparsed)
    if human.shape != judge.shape or human.ndim != 1:
        raise ShapeError(f"{human.shape} labels of people but {judge.shape} of the judge")
    k = n_categories
    both = (human >= 0) & (judge >= 0)
    unread = (human >= 0) & (judge == -2)
    a, b = human[both].astype(np.int64), judge[both].astype(np.int64)
    own = None if unit is None else unit[both]
    counts = np.bincount(a * k + b, minlength=k * k).reshape(k, k).astype(np.float64)
    kept = both | unread if unparsed == WRONG else both
    right = (human[kept] == judge[kept]).astype(np.float64)
    rows, columns = counts.sum(axis=1), counts.sum(axis=0)
    labelled = human[kept]
    majority = (
        float(np.bincount(labelled, minlength=k).max() / len(labelled))
        if len(labelled)
        else float("nan")
    )
    plain, linear, quadratic = (
        kappa(a, b, k, weights=name, unit=own, level=level)
        if name == "plain" or ordered
        else undefined("categories have no order")
        for name in WEIGHTS
    )
    return LabelAgreement(
        counts=counts,
        unparsed=int(unread.sum()),
        accuracy=share_by_unit(right, None if unit is None else unit[kept], level),
        kappa=plain,
        kappa_linear=linear,
        kappa_quadratic=quadratic,
        ac1=gwet_ac1(a, b, k, unit=own, level=level),
        alpha=nominal_alpha(a, b, k, unit=own, level=level),
        majority=majority,
        recall=tuple(wilson(counts[c, c], rows[c], level) for c in range(k)),
        precision=tuple(wilson(counts[c, c], columns[c], level) for c in range(k)),
    )


def _table(a: Codes, b: Codes, k: int) -> tuple[Floats, Floats, Floats]:
    """Give shares of the cells, of the rows and of the columns."""
    p = np.bincount(a * k + b, minlength=k * k).reshape(k, k) / len(a)
    return p, p.sum(axis=1), p.sum(axis=0)


def kappa(
    human: Codes,
    judge: Codes,
    n_categories: int,
    *,
    weights: str = "plain",
    unit: Codes | None = None,
    level: float = 0.95,
) -> Estimate:
    """Cohen's kappa of two columns of codes without gaps, plain or weighted.

    Undefined where chance alone would always agree: both used one category, and the same.

    Examples
    --------
    >>> a, b = np.array([0, 0, 1, 1, 2, 2]), np.array([0, 1, 1, 1, 2, 0])
    >>> round(kappa(a, b, 3).value, 4), round(kappa(a, b, 3, weights="linear").value, 4)
    (0.5, 0.4)
    """
    bounds.choice(WEIGHTS, weights=weights)
    n, k = len(human), n_categories
    if not n:
        return undefined("no row that both judged")
    p, r, c = _table(human, judge, k)
    w = _weights(k, weights)
    observed, chance = float((w * p).sum()), float(r @ w @ c)
    if 1 - chance < 1e-12:
        return undefined("people and judge both used one category only", n)
    value = (observed - chance) / (1 - chance)
    by_row, by_column = w @ c, w.T @ r  # mean weight of a label of people, and of one of the judge
    influence = (
        (w[human, judge] - observed) - (1 - value) * (by_row[human] + by_column[judge] - 2 * chance)
    ) / (1 - chance)
    return with_noise(value, influence, unit, level, most=1.0, least=-1.0)


def _weights(k: int, weights: str) -> Floats:
    place = np.arange(k, dtype=np.float64)
    far = np.abs(place[:, None] - place) / max(k - 1, 1)
    return {"plain": np.eye(k), "linear": 1 - far, "quadratic": 1 - far * far}[weights]


def gwet_ac1(
    human: Codes,
    judge: Codes,
    n_categories: int,
    *,
    unit: Codes | None = None,
    level: float = 0.95,
) -> Estimate:
    """Gwet's AC1 of two columns of codes without gaps.

    Examples
    --------
    >>> round(gwet_ac1(np.array([0, 0, 1, 1, 2, 2]), np.array([0, 1, 1, 1, 2, 0]), 3).value, 4)
    0.5052
    """
    n, k = len(human), n_categories
    if not n:
        return undefined("no row that both judged")
    if k < 2:
        return undefined("one category only", n)
    p, r, c = _table(human, judge, k)
    share = (r + c) / 2
    observed, chance = float(np.trace(p)), float((share * (1 - share)).sum() / (k - 1))
    value = (observed - chance) / (1 - chance)
    by_row = ((1 - share)[human] + (1 - share)[judge]) / 2 / (k - 1)
    influence = (
        ((human == judge) - chance) / (1 - chance)
        - 2 * (1 - value) * (by_row - chance) / (1 - chance)
        - value
    )
    if unit is None and n > 1:
        influence = influence * np.sqrt(n / (n - 1))  # as Gwet divides
    return with_noise(value, influence, unit, level, most=1.0, least=-1.0)


def nominal_alpha(
    human: Codes,
    judge: Codes,
    n_categories: int,
    *,
    unit: Codes | None = None,
    level: float = 0.95,
) -> Estimate:
    """Krippendorff's alpha of two columns of codes without gaps, categories without order.

    Examples
    --------
    >>> round(nominal_alpha(np.array([0, 0, 1, 1]), np.array([0, 1, 1, 1]), 2).value, 4)
    0.5333
    """
    n = len(human)
    if not n:
        return undefined("no row that both judged")
    p, r, c = _table(human, judge, n_categories)
    share = (r + c) / 2
    alike = float(share @ share)
    if 1 - alike < 1e-12:
        return undefined("people and judge both used one category only", n)
    correction = (2 * n - 1) / (2 * n)
    differ = 1 - float(np.trace(p))
    value = 1 - correction * differ / (1 - alike)
    drawn = share[human] + share[judge] - 2 * alike  # what a row adds to the chance of being alike
    influence = -correction * (
        ((human != judge) - differ) / (1 - alike) + differ * drawn / (1 - alike) ** 2
    )
    return with_noise(value, influence, unit, level, most=1.0, least=-1.0)
