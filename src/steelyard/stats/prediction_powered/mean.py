r"""A mean by people, from few labels and many verdicts (prediction-powered inference, PPI++).

.. math:: \theta = \lambda \bar f_U + \overline{(y - \lambda f)}_L

on labelled rows L and the others U: whatever the judge gets wrong on average is taken off by the
labels. :math:`\lambda` is how much the judge is worth listening to: 0 for one that knows nothing,
when people alone are left. The gain is that of the correlation, no more. The difference of two
systems is the mean of differences on the same items.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri, stdtrit

from steelyard.core.errors import ShapeError
from steelyard.core.options import check_choice
from steelyard.stats.arrays import Floats
from steelyard.stats.estimate import Estimate, undefined
from steelyard.stats.judged.proportions import clopper_pearson, noise_by_unit

FEWEST = 15  # labels below which a line through them says nothing of its own noise
POPULATIONS = ("any", "fixed")
Codes = NDArray[np.integer]


@dataclass(frozen=True, slots=True)
class Corrected:
    """A corrected estimate, with those of people and of the judge alone.

    ``weight`` is lambda; 0 means that the judge was of no use, or could not be used (``note``).
    ``rho`` is the correlation of judge and people on labelled rows, NaN where undefined.
    """

    estimate: Estimate
    people: Estimate
    judge: float
    weight: float
    rho: float
    n_labelled: int
    n_judged: int
    note: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Give what ``--json`` prints."""
        own = self.estimate.to_dict()
        return {
            "corrected": own["value"],
            "ci": own["ci"],
            "se": own["se"],
            "human": self.people.to_dict(),
            "judge": self.judge,
            "lambda": self.weight,
            "rho": self.rho,
            "n_labelled": self.n_labelled,
            "n_judged": self.n_judged,
            "why": own["why"],
            "note": self.note or None,
        }


def with_every_verdict(judge: Floats) -> Floats:
    """Fill missing verdicts with the mean verdict: a prediction that needs no label.

    Labels correct any prediction, so that coverage does not depend on which rows lack a verdict. A
    label is never left out because the judge failed on its row.

    Examples
    --------
    >>> with_every_verdict(np.array([1.0, np.nan, 0.0])).tolist()
    [1.0, 0.5, 0.0]
    """
    missing = np.isnan(judge)
    return np.where(missing, mean_verdict(judge) if not missing.all() else 0.0, judge)


def mean_verdict(judge: Floats) -> float:
    """Give the mean of the verdicts that there are; NaN without any."""
    read = judge[~np.isnan(judge)]
    return float(read.mean()) if len(read) else math.nan


def tuned_weight(human: Floats, judged: Floats, others: Floats) -> float:
    """Give the lambda with the least noise, between 0 and 1.

    Cov(y, f) over (1 + n / N) Var(f); the covariance from labels (over n), the variance from all
    rows (over one less than there are).

    Examples
    --------
    >>> f = np.array([0.0, 1, 0, 1])
    >>> tuned_weight(f, f, np.tile(f, 100)) > 0.9, tuned_weight(1 - f, f, f)
    (True, 0.0)
    """
    n, more = len(human), len(others)
    if not n or not more:
        return 0.0
    spread = float(np.concatenate([judged, others]).var(ddof=1))
    if spread <= 0:
        return 0.0
    shared = float(((human - human.mean()) * (judged - judged.mean())).mean())
    return min(1.0, max(0.0, shared / ((1 + n / more) * spread)))


def corrected_mean(
    human: Floats,
    judge: Floats,
    *,
    unit: Codes | None = None,
    level: float = 0.95,
    small: bool = True,
    weight: float | None = None,
    population: str = "any",
) -> Corrected:
    """Correct a judge's mean by labels that were chosen at random.

    Parameters
    ----------
    human
        Labels, NaN where there is none.
    judge
        Verdicts as numbers; NaN (no verdict) counts as the mean verdict.
    unit
        What rows share, labelled or not; None: rows are independent.
    level
        Of the intervals.
    small
        t intervals that know that the line was fitted (n - 2 degrees of freedom, and what labels
        that differ from the rest in the judge's eyes add); False: the normal interval of PPI++.
    weight
        Lambda; None: the best one.
    population
        ``any``: rows are a sample of what could be asked; ``fixed``: the rows at hand are all that
        is asked about.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> truth = rng.normal(size=1000)
    >>> judge = truth + 0.5 * rng.normal(size=1000) + 3
    >>> human = np.where(np.arange(1000) < 100, truth, np.nan)
    >>> found = corrected_mean(human, judge)
    >>> bool(found.estimate.low < truth.mean() < found.estimate.high)
    True
    >>> found.estimate.se < found.people.se, 0.5 < found.weight < 1
    (True, True)
    """
    check_choice(POPULATIONS, population=population)
    if human.shape != judge.shape or human.ndim != 1:
        raise ShapeError(f"{human.shape} labels but {judge.shape} verdicts")
    alone, judged = mean_verdict(judge), int((~np.isnan(judge)).sum())
    prediction = with_every_verdict(judge)
    labelled, rest = ~np.isnan(human), np.isnan(human)
    y, f, others = human[labelled], prediction[labelled], prediction[rest]
    n, more = len(y), len(others)
    units = None if unit is None else (unit[labelled], unit[rest])
    people = people_alone(y, None if unit is None else unit[labelled], level)
    if not n:
        nothing = undefined("no label of people")
        return Corrected(nothing, nothing, alone, 0.0, math.nan, 0, judged)
    rho = _rho(y, f)
    note = _why_not(y, f, more, weight)
    if note:
        return Corrected(people, people, alone, 0.0, rho, n, judged, note)
    lam = tuned_weight(y, f, others) if weight is None else weight
    residuals = y - lam * f
    off = residuals - residuals.mean()
    value = lam * float(others.mean()) + float(residuals.mean())
    # What each row adds to the estimate; labels of a population that is known whole add less.
    of_labels, of_rest = off / n, lam * (others - others.mean()) / more
    unsure = 1.0
    if population == "fixed":
        unsure = more / (n + more)
        of_labels, of_rest = of_labels * math.sqrt(unsure), np.zeros(more)
    leverage = 0.0
    if small:
        of_labels = of_labels * math.sqrt(n / (n - 2))
        of_rest = of_rest * math.sqrt(more / (more - 1)) if more > 1 else of_rest
        apart = float(others.mean() - f.mean()) ** 2 / float(((f - f.mean()) ** 2).sum())
        leverage = unsure * float(off @ off) / (n - 2) * apart
    variance, freedom = _noise(of_labels, of_rest, units)
    se = math.sqrt(variance + leverage)
    if math.isnan(se):
        why = "no interval: all rows share one unit"
        estimate = Estimate(value, n=n, why=why)
        return Corrected(estimate, people, alone, lam, rho, n, judged)
    tail = 0.5 + level / 2
    reach = se * float(stdtrit(min(freedom, n - 2.0), tail) if small else ndtri(tail))
    estimate = Estimate(value, value - reach, value + reach, se, n=n)
    return Corrected(estimate, people, alone, lam, rho, n, judged)


def _noise(
    of_labels: Floats, of_rest: Floats, units: tuple[Codes, Codes] | None
) -> tuple[float, float]:
    """Give the variance of a sum of influences, and its degrees of freedom."""
    if units is None:
        return float(of_labels @ of_labels + of_rest @ of_rest), math.inf
    together = np.concatenate([of_labels, of_rest])
    se, groups = noise_by_unit(together * len(together), np.concatenate(units))
    # Only units with labels tell how noisy labels are.
    return se * se, float(min(groups, len(np.unique(units[0]))) - 1)


def _rho(y: Floats, f: Floats) -> float:
    if len(y) < 3 or np.ptp(y) == 0 or np.ptp(f) == 0:
        return math.nan
    return float(np.corrcoef(y, f)[0, 1])


def _why_not(y: Floats, f: Floats, more: int, weight: float | None) -> str:
    """Say why the judge is not used; nothing where it is."""
    if not more:
        return "every row has a label: people alone"
    if np.ptp(y) == 0:
        return "all labels are the same: people alone"
    if weight is not None:
        return ""
    if len(y) < FEWEST:
        return f"{len(y)} labels, fewer than {FEWEST}: people alone"
    if np.ptp(f) == 0:
        return "the judge says the same of all labelled rows: people alone"
    return ""


def people_alone(human: Floats, unit: Codes | None = None, level: float = 0.95) -> Estimate:
    """Give the mean of labels: t, by unit; exact for few ones and zeros, or for one class.

    Fewer than fifteen labels between 0 and 1 that are not ones and zeros have no interval: one from
    their spread would be too short.

    Examples
    --------
    >>> found = people_alone(np.array([1.0, 1, 1, 0, 1]))
    >>> found.value, round(found.low, 3), round(found.high, 3)
    (0.8, 0.284, 0.995)
    >>> people_alone(np.array([1.0, 0.5, 0])).why
    'no interval: 3 labels, fewer than 15'
    """
    n = len(human)
    if not n:
        return undefined("no label of people")
    mean = float(human.mean())
    binary = bool(np.isin(human, (0.0, 1.0)).all())
    inside = bool((human >= 0).all() and (human <= 1).all())
    if binary and unit is None and (n < FEWEST or np.ptp(human) == 0):
        return clopper_pearson(int(human.sum()), n, level)
    if inside and n < FEWEST:
        return Estimate(mean, n=n, why=f"no interval: {n} labels, fewer than {FEWEST}")
    if n < 2 or np.ptp(human) == 0:
        why = "no interval: all labels are the same" if n > 1 else "no interval: one label"
        return Estimate(mean, n=n, why=why)
    se, groups = noise_by_unit(human - mean, unit)
    if math.isnan(se):
        return Estimate(mean, n=n, why="no interval: all labels share one unit")
    if unit is None:
        se *= math.sqrt(n / (n - 1))
    reach = float(stdtrit(groups - 1, 0.5 + level / 2)) * se
    return Estimate(mean, mean - reach, mean + reach, se, n=n)
