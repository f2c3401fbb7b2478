r"""A mean by people, from few labels and many verdicts (prediction-powered inference, PPI++).

.. math:: \theta = \lambda \bar f_U + \overline{(y - \lambda f)}_L

on labelled rows L and the others U: whatever the judge gets wrong on average is taken off by the
labels. :math:`\lambda` is how much the judge is worth listening to: 0 for one that knows nothing,
when people alone are left. The gain is that of the correlation, no more. The difference of two
systems is the mean of differences on the same items.

Labels may be a random sample of all rows, or of each stratum: then
:math:`\theta = \sum_k a_k \theta_k` with the shares a of all rows, each part with a weight of its
own. With known probabilities :math:`\pi_i` and the indicator :math:`\xi_i` of a label it is the
mean of :math:`\lambda f_i + \xi_i (y_i - \lambda f_i) / \pi_i`. Every estimate comes with the
influence of each row, from which its error follows, and what it shares with other estimates.

Estimates of systems that were judged on the same items are not independent. Influences summed by
unit give the covariance of all of them; draws from it say how far the largest of all differences
strays by chance, and which places systems can hold.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steelyard.core.errors import UsageError
from steelyard.core.text import listed
from steelyard.stats.arrays import Floats, group_sums, ratio
from steelyard.stats.correlation import cell_pearson
from steelyard.stats.distributions import expit, stdtr
from steelyard.stats.estimate import (
    ONE_UNIT,
    Codes,
    Estimate,
    clopper_pearson,
    critical,
    symmetric,
    undefined,
    unit_error,
)

FEWEST = 15  # labels below which a line through them says nothing of its own noise


@dataclass(frozen=True, slots=True)
class Corrected:
    """A corrected estimate, with those of people and of the judge alone."""

    estimate: Estimate
    people: Estimate
    judge: float
    weight: float  # lambda; 0 if the judge was of no use, or could not be used (note)
    rho: float  # correlation of judge and people on labelled rows, NaN where undefined
    n_labelled: int
    n_judged: int
    note: str = ""
    #: What each row adds to the estimate; it sums to 0.
    influence: Floats = field(default_factory=lambda: np.empty(0), repr=False, compare=False)

    def to_dict(self) -> dict[str, Any]:
        """Return what ``--json`` prints."""
        estimate = self.estimate.to_dict()
        return {
            "corrected": estimate["value"],
            "ci": estimate["ci"],
            "se": estimate["se"],
            "human": self.people.to_dict(),
            "judge": self.judge,
            "lambda": self.weight,
            "rho": self.rho,
            "n_labelled": self.n_labelled,
            "n_judged": self.n_judged,
            "why": estimate["why"],
            "note": self.note or None,
        }


def with_every_verdict(judge: Floats) -> Floats:
    """Fill missing verdicts with the mean verdict: labels correct any prediction."""
    missing = np.isnan(judge)
    return np.where(missing, 0.0 if missing.all() else mean_verdict(judge), judge)


def mean_verdict(judge: Floats) -> float:
    """Return the mean of the verdicts that there are; NaN without any."""
    present = judge[~np.isnan(judge)]
    return float(present.mean()) if len(present) else math.nan


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
    """Correct a judge's mean by labels that were chosen at random, NaN where there is none.

    A missing verdict counts as the mean verdict. ``small`` gives t intervals for a fitted line (n -
    2 degrees of freedom, plus what labels that differ from the rest in the judge's eyes add);
    without it they are the normal ones of PPI++. ``weight`` is lambda, by default the best one. A
    ``fixed`` population has no rows but those at hand.
    """
    verdict, n_judged = mean_verdict(judge), int((~np.isnan(judge)).sum())
    prediction = with_every_verdict(judge)
    labelled = ~np.isnan(human)
    y, f, others = human[labelled], prediction[labelled], prediction[~labelled]
    n, more = len(y), len(others)
    people = people_alone(y, None if unit is None else unit[labelled], level)
    if not n:
        return Corrected(people, people, verdict, 0.0, math.nan, 0, n_judged,
                         influence=np.zeros(more))  # fmt: skip
    rho = cell_pearson(y, f)[0] if n > 2 else math.nan
    note = _why_not(y, f, more, weight)
    if note:
        influence = _line(human, prediction, 0.0)[1]
        return Corrected(people, people, verdict, 0.0, rho, n, n_judged, note, influence)
    lam = _tuned_weight(y, f, others) if weight is None else weight
    value, influence = _line(human, prediction, lam)
    scaled, leverage = influence, 0.0
    if small:
        scaled = _unbiased(influence, labelled, 2)
        off = (n * influence[labelled]) @ (n * influence[labelled])
        apart = float(others.mean() - f.mean()) ** 2 / float(((f - f.mean()) ** 2).sum())
        leverage = float(off) / (n - 2) * apart
    if population == "fixed":  # the other rows are known, and labels add what is left open
        share = more / (n + more)
        scaled = np.where(labelled, scaled * math.sqrt(share), 0.0)
        leverage *= share
    variance, freedom = float(scaled @ scaled), math.inf
    if unit is not None:
        error, n_units = unit_error(scaled * len(scaled), unit)
        variance = error * error
        # Only units with labels tell how noisy labels are.
        freedom = float(min(n_units, len(np.unique(unit[labelled]))) - 1)
    if math.isnan(variance):
        estimate = Estimate(value, n=n, why=ONE_UNIT)
    else:
        freedom = min(freedom, n - 2.0) if small else math.inf
        estimate = symmetric(value, math.sqrt(variance + leverage), n, level, freedom)
    return Corrected(estimate, people, verdict, lam, rho, n, n_judged, influence=influence)


def _line(human: Floats, prediction: Floats, weight: float) -> tuple[float, Floats]:
    """Return the mean of rows that random labels correct, and what each row adds to it."""
    labelled = ~np.isnan(human)
    residuals = human[labelled] - weight * prediction[labelled]
    value = float(residuals.mean())
    influence = np.zeros(len(human))
    influence[labelled] = (residuals - value) / len(residuals)
    if weight:
        others = prediction[~labelled]
        value += weight * float(others.mean())
        influence[~labelled] = weight * (others - others.mean()) / len(others)
    return value, influence


def _unbiased(influence: Floats, labelled: NDArray[np.bool_], lost: int) -> Floats:
    """Scale influences to an unbiased variance: ``lost`` degrees of freedom went into the line."""
    n = int(labelled.sum())
    more = len(labelled) - n
    rest = more / (more - 1) if more > 1 else 1.0
    return influence * np.where(labelled, math.sqrt(n / (n - lost)), math.sqrt(rest))


def _tuned_weight(human: Floats, judged: Floats, others: Floats) -> float:
    """Return the lambda of least noise in 0..1: Cov(y, f) over (1 + n / N) Var(f)."""
    spread = float(np.concatenate([judged, others]).var(ddof=1))
    if spread <= 0:
        return 0.0
    shared = float(((human - human.mean()) * (judged - judged.mean())).mean())
    return min(1.0, max(0.0, shared / ((1 + len(human) / len(others)) * spread)))


def _why_not(y: Floats, f: Floats, more: int, weight: float | None) -> str:
    """Return why the judge is not used; nothing where it is."""
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
    """Return the mean of labels: t, by unit; exact for few ones and zeros, or for one class.

    Fewer than fifteen other labels between 0 and 1 have no interval: it would be too short.
    """
    n = len(human)
    if not n:
        return undefined("no label of people")
    mean = float(human.mean())
    same = bool(np.ptp(human) == 0)
    if np.isin(human, (0.0, 1.0)).all() and unit is None and (n < FEWEST or same):
        return clopper_pearson(int(human.sum()), n, level)
    if n < FEWEST and ((human >= 0) & (human <= 1)).all():
        return Estimate(mean, n=n, why=f"no interval: {n} labels, fewer than {FEWEST}")
    if same:
        why = "no interval: all labels are the same" if n > 1 else "no interval: one label"
        return Estimate(mean, n=n, why=why)
    se, n_units = unit_error(human - mean, unit)
    if math.isnan(se):
        return Estimate(mean, n=n, why="no interval: all labels share one unit")
    if unit is None:
        se *= math.sqrt(n / (n - 1))
    return symmetric(mean, se, n, level, n_units - 1)


def stratified_mean(
    human: Floats,
    judge: Floats,
    stratum: Codes,
    *,
    names: Sequence[str] | None = None,
    unit: Codes | None = None,
    level: float = 0.95,
) -> Corrected:
    """Correct a judge's mean by labels that are random within strata, as fifty of each verdict.

    Taken for a random sample instead, such labels give intervals that miss the truth half of the
    time. ``names`` are those of strata, for messages. Rows that share a unit count as such where
    that makes more noise.
    """
    prediction, labelled = with_every_verdict(judge), ~np.isnan(human)
    codes, code = np.unique(stratum, return_inverse=True)
    counts = np.bincount(code[labelled], minlength=len(codes))
    if (counts < 2).any():
        called = [str(c) if names is None else names[c] for c in codes]
        few = [f"'{called[k]}' ({counts[k]})" for k in np.flatnonzero(counts < 2)]
        raise UsageError(
            f"labels by stratum: expected two or more in each, but {listed(few)}: no label there "
            "tells how wrong the judge is"
        )
    share = np.bincount(code) / len(code)
    means, noise, freedoms, weights = (np.zeros(len(codes)) for _ in range(4))
    influence = np.zeros(len(human))
    for k in range(len(codes)):
        rows = np.flatnonzero(code == k)
        means[k], adds, variance, weights[k], freedoms[k] = _stratum(human[rows], prediction[rows])
        influence[rows] = share[k] * adds
        noise[k] = share[k] ** 2 * variance
    value = float(share @ means)
    # The shares of strata are those of a sample, too.
    influence += (means[code] - value) / len(human)
    variance = float(noise.sum() + share @ (means - value) ** 2 / len(human))
    labels = human[labelled]
    n = len(labels)
    if not variance > 0:
        weights[:] = 0.0
        estimate = Estimate(value, n=n, why="no interval: labels of every stratum are the same")
        note = ""
    else:
        uncertain = float((noise**2 / freedoms).sum())
        freedom = variance**2 / uncertain if uncertain > 0 else math.inf
        estimate = _share_interval(value, math.sqrt(variance), labels, level, freedom)
        estimate = _with_units(estimate, influence, labelled, unit, level)
        note = "labels are random within strata; the mean of people alone does not weigh them"
    return Corrected(
        estimate=estimate,
        people=people_alone(labels, None, level),
        judge=mean_verdict(judge),
        weight=float(share @ weights),
        rho=math.nan,
        n_labelled=n,
        n_judged=int((~np.isnan(judge)).sum()),
        note=note,
        influence=influence,
    )


def _stratum(human: Floats, prediction: Floats) -> tuple[float, Floats, float, float, float]:
    """Return mean, influences, variance, weight and degrees of freedom of one stratum."""
    labelled = ~np.isnan(human)
    y, f, others = human[labelled], prediction[labelled], prediction[~labelled]
    usable = len(y) >= FEWEST and len(others) > 1 and np.ptp(f) > 0 and np.ptp(y) > 0
    weight = _tuned_weight(y, f, others) if usable else 0.0
    mean, influence = _line(human, prediction, weight)
    lost = 2 if weight else 1  # degrees of freedom: the mean, and the line
    scaled = _unbiased(influence, labelled, lost)
    variance = float(scaled @ scaled)
    if variance == 0 and np.isin(y, (0.0, 1.0)).all():
        # All alike: as noisy as if one more of either kind had been seen (Agresti and Coull).
        p = (float(y.sum()) + 1) / (len(y) + 2)
        variance = p * (1 - p) / (len(y) + 2)
    return mean, influence, variance, weight, float(len(y) - lost)


def _share_interval(
    value: float, se: float, labels: Floats, level: float, freedom: float
) -> Estimate:
    """Return an interval; of a share inside 0 and 1 on the scale of log-odds."""
    n = len(labels)
    if not ((labels >= 0) & (labels <= 1)).all() or not 0 < value < 1:
        return symmetric(value, se, n, level, freedom)
    centre = math.log(value / (1 - value))
    reach = critical(level, freedom) * se / (value * (1 - value))
    return Estimate(value, float(expit(centre - reach)), float(expit(centre + reach)), se, n=n)


def _with_units(
    estimate: Estimate,
    influence: Floats,
    labelled: NDArray[np.bool_],
    unit: Codes | None,
    level: float,
) -> Estimate:
    """Let rows that share a unit count as such, where that makes more noise."""
    if unit is None or len(np.unique(unit)) == len(unit):
        return estimate
    se, _ = unit_error(influence * len(influence), unit)
    if math.isnan(se):
        return Estimate(estimate.value, n=estimate.n, why=ONE_UNIT)
    if se <= estimate.se:
        return estimate
    freedom = max(len(np.unique(unit[labelled])) - 1, 1)
    return symmetric(estimate.value, se, estimate.n, level, freedom)


def weighted_mean(
    human: Floats,
    judge: Floats,
    probability: Floats,
    *,
    unit: Codes | None = None,
    level: float = 0.95,
) -> Corrected:
    """Correct a judge's mean by labels with known probabilities, as a plan of labels gives them."""
    if not ((probability > 0) & (probability <= 1)).all():
        raise UsageError("probabilities of labels: expected a number above 0, up to 1, in each row")
    verdict, n_judged = mean_verdict(judge), int((~np.isnan(judge)).sum())
    labelled, f = ~np.isnan(human), with_every_verdict(judge)
    n, total = int(labelled.sum()), len(human)
    if n < 2:
        nothing = undefined(f"{n} labels, expected two or more", n)
        return Corrected(nothing, nothing, verdict, 0.0, math.nan, n, n_judged,
                         influence=np.zeros(total))  # fmt: skip
    people = np.where(labelled, np.nan_to_num(human) / probability, 0.0)
    noise = f * (labelled / probability - 1)
    off = noise - noise.mean()
    spread = float(off @ off)
    lam = float(off @ (people - people.mean())) / spread if spread > 0 else 0.0
    rows = people - lam * noise
    value, alone = float(rows.mean()), float(people.mean())
    se, n_units = unit_error(rows - value, unit)
    freedom = math.inf
    if unit is None:
        se *= math.sqrt(total / (total - 1))
    elif n_units > 1:
        freedom = n_units - 1
    return Corrected(
        estimate=symmetric(value, se, n, level, freedom),
        people=symmetric(alone, unit_error(people - alone, unit)[0], n, level),
        judge=verdict,
        weight=lam,
        rho=math.nan,
        n_labelled=n,
        n_judged=n_judged,
        influence=(rows - value) / total,
    )


# ------------------------------------------------------------------------- several systems at once


def joint_covariance(
    influences: Sequence[Floats], units: Sequence[Codes], errors: Floats
) -> Floats:
    """Return the covariance of estimates from what each row adds to each, summed by unit.

    ``influences`` and ``units`` have an array per estimate, a number for each of its rows. The
    diagonal is scaled to the standard ``errors``; an unknown one makes a row and a column of NaN.
    """
    _, code = np.unique(np.concatenate(list(units)), return_inverse=True)
    n_units = int(code.max(initial=-1)) + 1
    parts = np.split(code, np.cumsum([len(rows) for rows in units])[:-1])
    sums = np.stack([group_sums(c, x, n_units) for c, x in zip(parts, influences, strict=True)])
    products = sums @ sums.T
    size = np.sqrt(np.diagonal(products))
    scale = np.outer(size, size)
    correlation = np.nan_to_num(ratio(products, scale))
    np.fill_diagonal(correlation, 1.0)
    return np.asarray(correlation * np.outer(errors, errors))


@dataclass(frozen=True, slots=True, eq=False)
class Together:
    """What holds for all pairs of systems at once."""

    p: Floats  # of each pair alone
    p_adjusted: Floats  # of the largest of all differences
    best: Floats  # rank that a system can hold, all of them together
    worst: Floats


def all_together(
    covariance: Floats,
    differences: Floats,
    errors: Floats,
    freedom: Floats,
    values: Floats,
    rng: np.random.Generator,
    *,
    draws: int = 2000,
    level: float = 0.95,
) -> Together:
    """Test all differences (row minus column) at once, and return the places systems can hold.

    ``errors`` and their degrees of ``freedom`` are those of each pair itself, which may be smaller
    than what the covariance of the estimates says. Systems with NaN are excluded.
    """
    k = len(values)
    present = ~np.isnan(np.diagonal(covariance)) & ~np.isnan(values)
    n = int(present.sum())
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.where(errors > 0, np.abs(differences) / errors, np.nan)
    p = 2 * np.asarray(stdtr(freedom, -t), dtype=np.float64)
    np.fill_diagonal(p, np.nan)
    if n < 2:
        nothing = np.full((k, k), np.nan)
        return Together(p, nothing, np.ones(k), np.full(k, float(max(n, 1))))
    among = np.ix_(present, present)
    drawn = _draw(covariance[among], float(np.nanmin(freedom[among])), rng, draws)
    largest = _largest_differences(drawn, covariance[among])
    below = np.searchsorted(np.sort(largest), t, side="left")
    adjusted = np.where(np.isnan(t), np.nan, (draws - below + 1) / (draws + 1))
    adjusted = np.maximum(adjusted, p)  # rounding of draws must not make a pair surer than alone
    np.fill_diagonal(adjusted, np.nan)
    sure = adjusted <= 1 - level
    best = 1.0 + (sure & (differences < 0)).sum(axis=1)
    worst = n - (sure & (differences > 0)).sum(axis=1).astype(np.float64)
    return Together(p, adjusted, best, worst)


def _draw(covariance: Floats, freedom: float, rng: np.random.Generator, draws: int) -> Floats:
    """Draw how far estimates stray: multivariate t with the fewest degrees of freedom of all."""
    values, vectors = np.linalg.eigh(covariance)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    drawn = rng.standard_normal((draws, len(values))) @ root.T
    if np.isfinite(freedom):
        freedom = max(freedom, 1.0)
        drawn = drawn / np.sqrt(rng.chisquare(freedom, draws) / freedom)[:, None]
    return np.asarray(drawn, dtype=np.float64)


def _largest_differences(drawn: Floats, covariance: Floats) -> Floats:
    """Return the largest difference of each draw, in standard errors."""
    spread = np.diagonal(covariance)
    largest = np.zeros(len(drawn))
    for i in range(len(spread)):
        error = np.sqrt(np.maximum(spread[i] + spread[i + 1 :] - 2 * covariance[i, i + 1 :], 0.0))
        varies = error > 1e-12 * np.sqrt(spread.max())
        if varies.any():
            apart = np.abs(drawn[:, i, None] - drawn[:, i + 1 :][:, varies]) / error[varies]
            largest = np.maximum(largest, apart.max(axis=1))
    return largest
