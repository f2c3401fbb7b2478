r"""Difficulty and discrimination of segments from scores, by a factor model for few systems.

A score is :math:`x_{is} = d_s + a_s \theta_i + e_{is}`: how easy the segment is, and how much of
the ability of the system it shows (a congeneric factor model, the two-parameter model of scores;
with :math:`a_s = 1` for all it is the one-parameter model, in which segments differ in difficulty
alone). There are many segments and few systems, so the roles of the usual item response models are
exchanged: abilities are parameters, each known from all segments, while segments are a sample with
a spread of ease :math:`\kappa` and of discrimination :math:`\tau`, of which each is seen through
the scores of 5 to 50 systems only.

What is identified. Abilities have mean 0 and segments a mean discrimination of 1, so that abilities
are in units of the score. Over segments, the scores of two different systems have the covariance

.. math:: C_{ij} = \kappa^2 + \rho (\theta_i + \theta_j) + \tau^2 \theta_i \theta_j,

to which noise adds nothing, however much of it each system has: three numbers from N (N - 1) / 2
covariances, by least squares. Variances are left out on purpose. A fit to them, as by the largest
likelihood, takes the greater noise of bad systems for spread of discrimination if noise is the same
for all, and with a noise for each system takes two that err alike (one is a copy of the other) for
the truth, with noise 0. Two systems have one covariance, and tell no discrimination; it takes
three. With these numbers, what a segment says by itself, the mean of its scores and their slope on
ability, is drawn towards the average segment by as much as its error demands: the minimum of
:math:`(a - b_s)^2 / v_s + (a - 1)^2 / \tau^2` for a slope :math:`b_s` of error variance
:math:`v_s`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import fdtrc

from steelyard.core import bounds
from steelyard.core.errors import ShapeError, UsageError
from steelyard.stats.arrays import Floats, ratio, row_means
from steelyard.stats.instances.ease import additive_fit
from steelyard.stats.permutation.pvalues import pair_index

FEWEST = 3  #: systems that tell discrimination
_LEAST = 0.01  # of the usual variance: the least noise that a system is taken to have
_SURE = 0.05  # level at which systems differ, so that there is something to discriminate


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentFit:
    r"""What a model says of segments and systems; NaN where there is nothing to say.

    ``ease`` is what a system of average ability scores on a segment (a logit where scores are
    right or wrong), ``discrimination`` how much of a difference in ability the segment shows, 1
    on average; both with standard deviations of what the few systems leave open. ``spread_ease``
    and ``spread_discrimination`` are the deviations :math:`\kappa` and :math:`\tau` over segments,
    ``noises`` those of the noise of each system.
    """

    ease: Floats
    ease_sd: Floats
    discrimination: Floats
    discrimination_sd: Floats
    ability: Floats
    noises: Floats
    spread_ease: float
    spread_discrimination: float
    separated: bool = True  # whether systems differ by more than chance
    converged: bool = True
    logistic: bool = False
    likelihoods: tuple[float, float] | None = None  # of one parameter for each segment, and of two

    @property
    def noise(self) -> float:
        """Deviation of the noise of all systems together; NaN where the model has none."""
        return float(np.sqrt(row_means(self.noises[None, :] ** 2)[0]))

    @property
    def reliability_ease(self) -> float:
        """Share of the variance of what systems say of ease that is not error."""
        return _reliability(self.ease_sd, self.spread_ease)

    @property
    def reliability_discrimination(self) -> float:
        """Share of the variance of what systems say of discrimination that is not error."""
        return _reliability(self.discrimination_sd, self.spread_discrimination)


def _reliability(deviations: Floats, spread: float) -> float:
    known = deviations[~np.isnan(deviations)]
    if not known.size or np.isnan(spread):
        return float("nan")
    return float(1 - (known * known).mean() / spread**2) if spread > 0 else 0.0


def fit_scores(scores: Floats, *, discriminate: bool = True) -> SegmentFit:
    """Fit difficulty and discrimination of segments to scores.

    Parameters
    ----------
    scores
        Systems x segments, higher is better; NaN where missing. Segments that no system has are
        NaN in the result, and their discrimination is where they do not have two.
    discriminate
        Whether segments may differ in discrimination. They have none of two systems, nor where
        systems do not differ by more than chance (an F-test at 5 %).

    Raises
    ------
    UsageError
        If all scores are the same, or there are fewer than two systems.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> a = rng.normal(1, 0.5, 2000)
    >>> scores = a * np.linspace(-2, 2, 8)[:, None] + rng.normal(0, 1, (8, 2000))
    >>> found = fit_scores(scores)
    >>> round(found.spread_discrimination, 1), round(found.noise, 1)
    (0.5, 1.0)
    """
    bounds.flag(discriminate=discriminate)
    if scores.ndim != 2:
        raise ShapeError(f"expected systems x segments, got shape {scores.shape}")
    known = ~np.isnan(scores)
    seen = np.asarray(known.any(axis=1))
    if seen.sum() < 2:
        raise UsageError("difficulty of segments takes the scores of two systems at least")
    if np.ptp(scores[known]) == 0:
        raise UsageError("all scores are the same: no segment is harder than another")
    ability, ease = additive_fit(scores)
    t = np.where(seen, ability, 0.0)
    covariances = pairwise_covariances(scores)
    slopes = discrimination_slopes(scores, t)
    sure = _separated(scores, ability, ease)
    two = discriminate and sure and bool(seen.sum() >= FEWEST)
    if two:
        middle = float(np.nanmean(slopes))  # 1 where no cell is missing
        t, slopes = t * middle, slopes / middle
    spread = _spread(covariances, t, seen, two=two)
    noises = _noises(covariances, t, seen, spread)
    mean = row_means(ease[None, :])[0]
    weights = np.where(known, (noises * noises)[:, None], 0.0)
    error = ratio(weights.sum(axis=0), known.sum(axis=0) ** 2)
    of_ease, of_slope = (max(spread[k], 0.0) for k in (0, 2))
    found_ease, sd_ease = _drawn(ease, error, mean, of_ease)
    found, sd = np.full((2, scores.shape[1]), np.nan)
    if two:
        error = _slope_errors(known, t, noises)
        found, sd = _drawn(slopes, error, 1.0, of_slope)
    return SegmentFit(
        ease=found_ease,
        ease_sd=sd_ease,
        discrimination=found,
        discrimination_sd=sd,
        ability=np.where(seen, t, np.nan),
        noises=noises,
        spread_ease=float(np.sqrt(of_ease)),
        spread_discrimination=float(np.sqrt(of_slope)) if two else float("nan"),
        separated=sure,
    )


def discrimination_slopes(scores: Floats, ability: Floats) -> Floats:
    """Give how much each segment's scores rise with ability: the slope of least squares.

    NaN where a segment has no two systems of different ability.

    Examples
    --------
    >>> scores = np.array([[0.0, 5.0, 1.0], [1.0, 5.0, np.nan], [2.0, 5.0, np.nan]])
    >>> discrimination_slopes(scores, np.array([-1.0, 0.0, 1.0])).tolist()
    [1.0, 0.0, nan]
    """
    if scores.shape[:1] != ability.shape:
        raise ShapeError(f"{len(scores)} systems but {len(ability)} abilities")
    known = ~np.isnan(scores)
    off = _centred(known, ability)
    x = np.where(known, scores, 0.0)
    x = np.where(known, x - ratio(x.sum(axis=0), known.sum(axis=0)), 0.0)
    return ratio((off * x).sum(axis=0), _squares(off, ability))


def _centred(known: np.ndarray, ability: Floats) -> Floats:
    """Abilities less their mean over the systems that have each segment; 0 for the others."""
    t = np.where(known, ability[:, None], 0.0)
    return np.where(known, t - ratio(t.sum(axis=0), known.sum(axis=0)), 0.0)


def _squares(off: Floats, ability: Floats) -> Floats:
    squares = (off * off).sum(axis=0)
    least = 1e-12 * float((ability * ability).max(initial=0.0))  # what rounding leaves of 0
    return np.where(squares > least, squares, 0.0)


def _slope_errors(known: np.ndarray, ability: Floats, noises: Floats) -> Floats:
    """Variances of slopes, given the noise of each system."""
    off = _centred(known, ability)
    squares = _squares(off, ability)
    top = (np.where(known, (noises * noises)[:, None], 0.0) * off * off).sum(axis=0)
    return ratio(top, squares * squares)


def pairwise_covariances(scores: Floats) -> Floats:
    """Covariance of every two systems over the segments that both have; NaN for fewer than two.

    Examples
    --------
    >>> pairwise_covariances(np.array([[1.0, 2.0, 3.0], [2.0, 4.0, np.nan]])).tolist()
    [[1.0, 1.0], [1.0, 2.0]]
    """
    known = (~np.isnan(scores)).astype(np.float64)
    x = np.where(known > 0, scores - row_means(scores)[:, None], 0.0)
    n = known @ known.T
    sums = x @ known.T
    products = x @ x.T - ratio(sums * sums.T, n)
    return ratio(products, np.where(n > 1, n - 1, 0))


def _spread(
    covariances: Floats, t: Floats, seen: np.ndarray, *, two: bool
) -> tuple[float, float, float]:
    """Fit covariances of systems: variances of ease and discrimination, with theirs in between.

    Variances may come out below 0, where there is no spread.
    """
    i, j = pair_index(len(t))
    own = covariances[i, j]
    used = seen[i] & seen[j] & ~np.isnan(own)
    i, j, own = i[used], j[used], own[used]
    if not own.size:
        return 0.0, 0.0, 0.0
    if not two:
        return float(own.mean()), 0.0, 0.0
    scale = float(np.sqrt((t * t).mean()))
    u = t / scale
    design = np.stack([np.ones(len(i)), u[i] + u[j], u[i] * u[j]], axis=1)
    ease, both, slope = np.linalg.lstsq(design, own, rcond=None)[0]
    return float(ease), float(both) / scale, float(slope) / scale**2


def _noises(
    covariances: Floats, t: Floats, seen: np.ndarray, spread: tuple[float, float, float]
) -> Floats:
    """Deviation of each system's noise: what of its variance segments do not explain."""
    variances = np.diagonal(covariances)
    left = variances - spread[0] - 2 * spread[1] * t - spread[2] * t * t
    usual = variances[seen & ~np.isnan(variances)]
    least = _LEAST * float(usual.mean()) if usual.size else 0.0
    return np.where(seen & ~np.isnan(left), np.sqrt(np.maximum(left, least)), np.nan)


def _separated(scores: Floats, ability: Floats, ease: Floats) -> bool:
    """Test whether systems differ, by the F-test of two-way tables."""
    known = ~np.isnan(scores)
    counts = known.sum(axis=1)
    t = np.where(counts > 0, ability, 0.0)
    rest = np.where(known, scores - ease - t[:, None], 0.0)
    free = int((counts > 0).sum()) - 1
    left = int(known.sum()) - free - int(known.any(axis=0).sum())
    size = float(np.abs(scores[known]).max())
    noise = float((rest * rest).sum())
    if left < 1 or noise <= 1e-24 * size * size * known.sum():
        return bool(np.abs(t).max() > 1e-12 * size)
    found = float((counts * t * t).sum()) / free / (noise / left)
    return bool(fdtrc(free, left, found) < _SURE)


def _drawn(own: Floats, error: Floats, mean: float, spread: float) -> tuple[Floats, Floats]:
    """Draw estimates towards their mean by their error variances; give them, and deviations."""
    share = np.where(
        spread + error > 0, spread / np.where(spread + error > 0, spread + error, 1), 1
    )
    return mean + share * (own - mean), np.sqrt(share * error)
