r"""A judge's labels beside people's: how often they agree, beyond what chance would do.

All coefficients are smooth functions of the table of counts, so that each row has an influence on
them; their errors are sums of influences, by unit where rows share one. Without units kappa's is
that of Fleiss, Cohen and Everitt (1969), AC1's that of Gwet (2008).

What people said of a row is a code, or a share of each category where raters are split.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steelyard.core.errors import ShapeError
from steelyard.core.options import check_choice
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
        Rows: what people said; columns: what the judge said, where it can be understood.
    unparsed
        Rows on which the judge said something that can't be understood.
    accuracy
        Share of rows on which both say the same; unparsed ones are wrong, or not counted.
    kappa, kappa_linear, kappa_quadratic
        Cohen's; weighted ones where categories are ordered. What can't be understood is a category
        of its own (also of ac1 and alpha), as far from all others as the furthest two.
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
        """Rows that all coefficients are of."""
        return self.accuracy.n

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

    Parameters
    ----------
    human
        Codes of categories, below 0 where nothing was said; or shares of categories (rows x
        categories) that sum to 1, to 0 where nothing was said.
    judge
        Codes of categories; -1 where nothing was said, -2 where it was not understood.
    n_categories
        How many categories there are.
    unit
        What rows share; None: rows are independent.
    ordered
        Whether weighted kappa means anything.
    values
        What categories stand for, by which weighted kappa measures distances; None: their places.
    unparsed
        ``wrong``: what can't be understood is a verdict of its own, with which nobody agrees;
        ``drop``: it is left out.
    level
        Of the intervals.

    Examples
    --------
    >>> human, judge = np.array([0, 0, 1, 1, 1, -1]), np.array([0, 1, 1, 1, -2, 0])
    >>> found = label_agreement(human, judge, 2)
    >>> found.accuracy.value, round(found.kappa.value, 4), found.unparsed
    (0.6, 0.2857, 1)
    """
    check_choice((WRONG, DROP), unparsed=unparsed)
    if len(human) != len(judge) or judge.ndim != 1:
        raise ShapeError(f"{human.shape} labels of people but {judge.shape} of the judge")
    k = n_categories
    shares = label_shares(human, k)
    labelled = shares.sum(axis=1) > 0
    unread = labelled & (judge == -2)
    kept = labelled & (judge >= 0)
    if unparsed == WRONG:
        kept = kept | unread
    people = np.pad(shares[kept], ((0, 0), (0, 1)))
    said = np.where(judge[kept] < 0, k, judge[kept])  # what can't be read is one category more
    shared = None if unit is None else unit[kept]
    table = _table(people, said, k + 1)[0] * len(said) if len(said) else np.zeros((k + 1, k + 1))
    rows, columns = table.sum(axis=1), table.sum(axis=0)
    apart = np.append(np.arange(k, dtype=np.float64) if values is None else values, np.nan)
    plain, linear, quadratic = (
        kappa(people, said, k + 1, weights=name, values=apart, unit=shared, level=level)
        if name == "plain" or ordered
        else undefined("categories have no order")
        for name in WEIGHTS
    )
    return LabelAgreement(
        counts=table[:k, :k],
        unparsed=int(unread.sum()),
        accuracy=_mean_share(people[np.arange(len(said)), said], shared, level),
        kappa=plain,
        kappa_linear=linear,
        kappa_quadratic=quadratic,
        ac1=gwet_ac1(people, said, k + 1, unit=shared, level=level),
        alpha=nominal_alpha(people, said, k + 1, unit=shared, level=level),
        majority=float(rows.max() / len(said)) if len(said) else float("nan"),
        recall=tuple(wilson(table[c, c], rows[c], level) for c in range(k)),
        precision=tuple(wilson(table[c, c], columns[c], level) for c in range(k)),
    )


def label_shares(human: Codes | Floats, n_categories: int) -> Floats:
    """Give what people said as shares of categories, rows x categories; 0 where they are silent.

    Examples
    --------
    >>> label_shares(np.array([1, -1]), 2).tolist()
    [[0.0, 1.0], [0.0, 0.0]]
    """
    if human.ndim == 2:
        return np.asarray(human, dtype=np.float64)
    found = np.zeros((len(human), n_categories))
    known = np.flatnonzero(human >= 0)
    found[known, human[known].astype(np.int64)] = 1.0
    return found


def _mean_share(right: Floats, unit: Codes | None, level: float) -> Estimate:
    """Give the mean of how right each row is; rows on which raters are split are right in part."""
    if np.isin(right, (0.0, 1.0)).all():
        return share_by_unit(right, unit, level)
    mean = float(right.mean())
    return with_noise(mean, right - mean, unit, level, least=0.0, most=1.0)


def _table(people: Floats, judge: Codes, k: int) -> tuple[Floats, Floats, Floats]:
    """Give shares of the cells, of the rows and of the columns."""
    p = np.stack([people[judge == c].sum(axis=0) for c in range(k)], axis=1) / len(judge)
    return p, p.sum(axis=1), p.sum(axis=0)


def kappa(
    human: Codes | Floats,
    judge: Codes,
    n_categories: int,
    *,
    weights: str = "plain",
    values: Floats | None = None,
    unit: Codes | None = None,
    level: float = 0.95,
) -> Estimate:
    """Cohen's kappa of two columns of codes without gaps, plain or weighted.

    Undefined where chance alone would always agree: both used one category, and the same. Weights
    go by the distance of ``values``, by default of places; a category whose value is NaN is as far
    from all others as the furthest two.

    Examples
    --------
    >>> a, b = np.array([0, 0, 1, 1, 2, 2]), np.array([0, 1, 1, 1, 2, 0])
    >>> round(kappa(a, b, 3).value, 4), round(kappa(a, b, 3, weights="linear").value, 4)
    (0.5, 0.4)
    """
    check_choice(WEIGHTS, weights=weights)
    n, k = len(judge), n_categories
    if not n:
        return undefined("no row that both judged")
    people = label_shares(human, k)
    p, r, c = _table(people, judge, k)
    w = _weights(np.arange(k, dtype=np.float64) if values is None else values, weights)
    observed, chance = float((w * p).sum()), float(r @ w @ c)
    if 1 - chance < 1e-12:
        return undefined("people and judge both used one category only", n)
    value = (observed - chance) / (1 - chance)
    by_row, by_column = w @ c, w.T @ r  # mean weight of a label of people, and of one of the judge
    influence = (
        ((people @ w)[np.arange(n), judge] - observed)
        - (1 - value) * (people @ by_row + by_column[judge] - 2 * chance)
    ) / (1 - chance)
    return with_noise(value, influence, unit, level, most=1.0, least=-1.0)


def _weights(values: Floats, weights: str) -> Floats:
    if weights == "plain":
        return np.eye(len(values))
    far = np.abs(values[:, None] - values)
    widest = float(np.nanmax(far, initial=0.0))
    far = np.nan_to_num(far / widest if widest else far, nan=1.0)
    np.fill_diagonal(far, 0.0)
    return 1 - far if weights == "linear" else 1 - far * far


def gwet_ac1(
    human: Codes | Floats,
    judge: Codes,
    n_categories: int,
    *,
    unit: Codes | None = None,
    level: float = 0.95,
) -> Estimate:
    """Gwet's AC1 of two columns of codes without gaps, over the categories that occur in them.

    Examples
    --------
    >>> round(gwet_ac1(np.array([0, 0, 1, 1, 2, 2]), np.array([0, 1, 1, 1, 2, 0]), 3).value, 4)
    0.5052
    """
    n = len(judge)
    if not n:
        return undefined("no row that both judged")
    people = label_shares(human, n_categories)
    p, r, c = _table(people, judge, n_categories)
    share = (r + c) / 2
    k = max(int((share > 0).sum()), 2)
    observed, chance = float(np.trace(p)), float((share * (1 - share)).sum() / (k - 1))
    value = (observed - chance) / (1 - chance)
    by_row = (people @ (1 - share) + (1 - share)[judge]) / 2 / (k - 1)
    influence = (
        (people[np.arange(n), judge] - chance) / (1 - chance)
        - 2 * (1 - value) * (by_row - chance) / (1 - chance)
        - value
    )
    if unit is None and n > 1:
        influence = influence * np.sqrt(n / (n - 1))  # as Gwet divides
    return with_noise(value, influence, unit, level, most=1.0, least=-1.0)


def nominal_alpha(
    human: Codes | Floats,
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
    n = len(judge)
    if not n:
        return undefined("no row that both judged")
    people = label_shares(human, n_categories)
    p, r, c = _table(people, judge, n_categories)
    share = (r + c) / 2
    alike = float(share @ share)
    if 1 - alike < 1e-12:
        return undefined("people and judge both used one category only", n)
    correction = (2 * n - 1) / (2 * n)
    differ = 1 - float(np.trace(p))
    value = 1 - correction * differ / (1 - alike)
    drawn = people @ share + share[judge] - 2 * alike  # what a row adds to chance agreement
    apart = 1 - people[np.arange(n), judge]
    influence = -correction * ((apart - differ) / (1 - alike) + differ * drawn / (1 - alike) ** 2)
    return with_noise(value, influence, unit, level, most=1.0, least=-1.0)
