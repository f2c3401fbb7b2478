"""What a difference is worth: how often people agree that two systems differ, by its size.

Every pair of systems has a difference by a metric, and one by people:

* The **agreement** of a pair is 1 if people order the two as the metric does, 0 if they order them
  the other way round, and 1/2 if people, or the metric, see no difference. Ties are not left out:
  people who can't tell two systems apart agree with neither order.
* The **monotone curve** is the isotonic regression of agreement on the size of the difference (pool
  adjacent violators): it assumes that larger differences are agreed with at least as often, and
  nothing else.
* The **smooth curve** says that people agree with a difference of size x with the chance
  ``l + (1 - 2 l) Phi(a log(1 + x / s))``. There is no intercept: which system is called the first
  is arbitrary, so that the chance at a difference of 0 is one half. For large s and l = 0 it is
  ``Phi(b x)``, which is the truth if people and the metric err normally. Real metrics fall short of
  it in two ways: a finite s lets the curve rise ever more slowly (COMET), and a lapse rate l puts a
  ceiling of ``1 - l`` on it (BLEU, chrF): some pairs the metric gets wrong however large their
  difference is. The likelihood chooses both.

The chance that people's difference is *significant* where they agree is
``Phi(c + a log(1 + x / s))``: at 0 it is what it is. Times the chance of agreement, it is the
chance that people agree significantly.

Pairs of a set share systems, and are not independent. The band is therefore made of resamples of
what is: whole sets (campaigns), or, of one set, its systems, a pair counting as often as both of
its systems were drawn. One undecided pair at the median difference is added to every fit, so that
there is one where people always agree.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import log_ndtr, ndtr, ndtri

from steelyard.core.errors import ShapeError
from steelyard.core.options import check_choice, check_whole
from steelyard.stats.arrays import Counts, Floats, ratio, real_array

CELLS = 64  #: groups of pairs of about the same difference that curves are fitted to, at most
_SCALES = 2.0 ** np.arange(-6, 7)  # of s, in medians of differences
_LAPSES = (0.02, 0.04, 0.07, 0.1, 0.13, 0.16, 0.2, 0.25)  # of l, beside 0
_BENT = (1.0, 4.0, 64.0)  # of s beside a lapse rate: both bend a curve, so that few will do
_STEPS = 50  # of Fisher's scoring, at most
_NEAR = 1e-6  # of the last step of a fit: parameters are that near to the best ones
_LEAP = 2.0  # of any step
_FREE, _SHRINK = 10, 0.8  # steps of any length, and how leaps shrink after them: a fit may swing
_HOPELESS = (
    10.0  # log-likelihood below the best shape of all rows together: no row is tried with it
)
_FAR = 7.0  # standard deviations beyond which a chance is 0 or 1
_RIDGE = 1e-9  # keeps a step finite where all differences are alike
_NULLS = 200  # draws of outcomes whose chances are right
_CHUNK = 64  # resamples at a time: as much as the cache holds


def agreements(metric: ArrayLike, human: ArrayLike) -> Floats:
    """Tell for each pair whether people's difference has the sign of the metric's: 1, 0, or 1/2.

    NaN where either is missing.

    Examples
    --------
    >>> agreements([1.0, 2.0, -1.0, 0.0, 1.0], [3.0, -1.0, -2.0, 1.0, 0.0]).tolist()
    [1.0, 0.0, 1.0, 0.5, 0.5]
    """
    m, h = real_array("metric", metric), real_array("human", human)
    if m.shape != h.shape:
        raise ShapeError(f"one difference each of {m.shape} and {h.shape} pairs")
    return 0.5 + 0.5 * np.sign(m) * np.sign(h)


def monotone(trials: Floats, hits: Floats) -> Floats:
    """Fit shares that never fall to hits of trials, by least squares: rows x cells.

    The fit at a cell is the largest, over where a block may begin, of the smallest mean, over where
    it may end. Cells without trials take part in the block that they lie in.

    Examples
    --------
    >>> monotone(np.array([[1.0, 1.0, 3.0, 0.0]]), np.array([[0.0, 1.0, 1.5, 0.0]])).tolist()
    [[0.0, 0.625, 0.625, 0.625]]
    """
    parts = [
        _minimax(trials[k : k + _CHUNK], hits[k : k + _CHUNK])
        for k in range(0, len(trials), _CHUNK)
    ]
    return np.concatenate(parts)


def _minimax(trials: Floats, hits: Floats) -> Floats:
    n, h = (np.pad(np.cumsum(each, axis=1), ((0, 0), (1, 0))) for each in (trials, hits))
    begin, end = np.arange(trials.shape[1]), np.arange(1, trials.shape[1] + 1)
    means = ratio(h[:, None, end] - h[:, begin, None], n[:, None, end] - n[:, begin, None])
    means = np.where(np.isnan(means) | (begin[:, None] >= end), np.inf, means)
    least = np.minimum.accumulate(means[..., ::-1], axis=-1)[..., ::-1]  # over later ends
    # A beginning after which there are no trials begins no block.
    least = np.where(np.isinf(least) | (begin[:, None] >= end), -np.inf, least)
    found = least.max(axis=1)
    return np.where(np.isinf(found), np.nan, found)


@dataclass(frozen=True, slots=True)
class Smooth:
    """Chances of ``l + (1 - 2 l) Phi(c + a log(1 + x / s))``, a curve for each row of parameters.

    The lapse rate l is 0 where there is an intercept c.
    """

    a: Floats
    s: Floats
    c: Floats
    lapse: Floats

    def at(self, x: ArrayLike) -> Floats:
        """Give the chance at each difference: rows x differences."""
        size = np.abs(np.asarray(x, dtype=np.float64))
        lapse = self.lapse[:, None]
        steady = ndtr(self.c[:, None] + self.a[:, None] * np.log1p(size / self.s[:, None]))
        return lapse + (1 - 2 * lapse) * steady

    def inverse(self, chance: ArrayLike) -> Floats:
        """Give the difference at which each chance is reached: rows x chances, inf where never.

        Examples
        --------
        >>> curve = Smooth(*np.array([[1.0], [2.0], [0.0], [0.1]]))
        >>> round(curve.at(curve.inverse(0.8)).item(), 12), curve.inverse(0.95).item()
        (0.8, inf)
        """
        lapse = self.lapse[:, None]
        steady = (np.asarray(chance, dtype=np.float64) - lapse) / (1 - 2 * lapse)
        need = ndtri(np.clip(steady, 0.0, 1.0)) - self.c[:, None]
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            found = self.s[:, None] * np.expm1(need / self.a[:, None])
        found = np.where(self.a[:, None] > 0, found, np.inf)
        return np.where(need <= 0, 0.0, found)


@dataclass(frozen=True)
class Cells:
    """Pairs in groups of about the same size of difference, each at the mean of its pairs."""

    x: Floats  # rising
    code: Counts  # of each pair

    @classmethod
    def of(cls, sizes: Floats, most: int = CELLS) -> Cells:
        """Group pairs: one cell for each size if there are few, else about as many pairs in each.

        Pairs of one size are never parted.
        """
        levels, level = np.unique(sizes, return_inverse=True)
        if len(levels) > most:
            counts = np.bincount(level)
            middle = np.cumsum(counts) - counts / 2  # where the pairs of a size stand among all
            of_level = np.minimum((middle * most / len(sizes)).astype(np.int64), most - 1)
            code = np.unique(of_level, return_inverse=True)[1][level]
        else:
            code = level
        return cls(np.bincount(code, sizes) / np.bincount(code), code)

    def sums(self, weights: Floats, values: Floats) -> tuple[Floats, Floats]:
        """Add up, by cell, the weights of pairs, and weights times values: rows x cells."""
        order = np.argsort(self.code, kind="stable")
        opens = np.flatnonzero(np.r_[True, np.diff(self.code[order]) > 0])
        w = weights[:, order]
        return np.add.reduceat(w, opens, axis=1), np.add.reduceat(w * values[order], opens, axis=1)


def fit_smooth(x: Floats, trials: Floats, hits: Floats, *, intercept: bool = False) -> Smooth:
    """Fit the smooth curve by maximum likelihood: rows (resamples) x cells of trials and hits.

    The scale s is the best of thirteen, from 1/64 to 64 times the median difference; without an
    intercept, the lapse rate is the best of nine, from 0 to 1/4. The rest is found by Fisher's
    scoring, for all of them at once, from what suits all rows together.
    """
    middle = _median(x, trials.sum(axis=0))
    one = np.ones((len(trials), 1))
    x, trials, hits = np.r_[x, middle], np.hstack([trials, one]), np.hstack([hits, 0.5 * one])
    shapes = [(scale, 0.0) for scale in _SCALES]
    if not intercept:
        shapes += [(scale, lapse) for lapse in _LAPSES for scale in _BENT]
    scales, lapses = np.array(shapes if middle > 0 else [(1.0, 0.0)]).T
    scales = scales * (middle or 1.0)
    z = np.log1p(x / scales[:, None])  # shapes x cells
    together = trials.mean(axis=0, keepdims=True), hits.mean(axis=0, keepdims=True)
    centre, unit = _standard(z, together[0][0], intercept=intercept)
    z = (z - centre[:, None]) / unit[:, None]
    *begin, likelihood = _scoring(z, lapses, *together, None, intercept=intercept)
    tried = np.flatnonzero(likelihood[0] >= likelihood.max() - _HOPELESS)
    z, scales, lapses, centre, unit = (
        values[tried] for values in (z, scales, lapses, centre, unit)
    )
    start = begin[0][:, tried], begin[1][:, tried]
    parts = [
        _scoring(
            z, lapses, trials[k : k + _CHUNK], hits[k : k + _CHUNK], start, intercept=intercept
        )
        for k in range(0, len(trials), _CHUNK)
    ]
    a, c, likelihood = (np.concatenate(each) for each in zip(*parts, strict=True))
    a = a / unit
    c = c - a * centre
    chosen = likelihood.argmax(axis=1)
    rows = np.arange(len(chosen))
    return Smooth(a[rows, chosen], scales[chosen], c[rows, chosen], lapses[chosen])


def _standard(z: Floats, weights: Floats, *, intercept: bool) -> tuple[Floats, Floats]:
    """Give centre and size of each row, so that steps suffice however steep a curve is.

    The centre is 0 without an intercept; and where all differences are alike, which have no size.
    """
    share = weights / weights.sum()
    mean = z @ share if intercept else np.zeros(len(z))
    size = np.sqrt((z - mean[:, None]) ** 2 @ share)
    some = size > _RIDGE * z.max(axis=1)
    return np.where(some, mean, 0.0), np.where(some, size, 1.0)


def _median(x: Floats, weights: Floats) -> float:
    """Give the weighted median of the differences that are not 0, or 0."""
    known = (x > 0) & (weights > 0)
    if not known.any():
        return 0.0
    total = np.cumsum(weights[known])
    return float(x[known][np.searchsorted(total, total[-1] / 2)])


def _scoring(
    z: Floats,
    lapses: Floats,
    trials: Floats,
    hits: Floats,
    start: tuple[Floats, Floats] | None,
    *,
    intercept: bool,
) -> tuple[Floats, Floats, Floats]:
    """Fit a chance of ``l + (1 - 2 l) Phi(c + a z)`` for rows x shapes; c is 0 without intercept.

    Every fit ends with its own last step (few of a thousand take more than ten), so that none
    depends on those beside it. Leaps are bounded: the first steps may lead too far, to where all is
    flat. Gives a, c and the log-likelihood.
    """
    shape = len(trials), len(z)
    zero = np.zeros(shape)
    begin = (zero, zero) if start is None else (zero + start[0], zero + start[1])
    a, c = (values.reshape(-1).copy() for values in begin)
    row, column = np.divmod(np.arange(a.size), shape[1])
    going = np.arange(a.size)
    at, lapse, n, h = z[column], lapses[column, None], trials[row], hits[row]
    for k in range(_STEPS):
        steps = _fisher_step(at, lapse, n, h, a[going], c[going], intercept=intercept)
        leap = _LEAP * _SHRINK ** max(0, k - _FREE)
        step, step_c = (np.clip(length, -leap, leap) for length in steps)
        a[going] += step
        c[going] += step_c
        still = np.maximum(np.abs(step), np.abs(step_c)) >= _NEAR
        if not still.any():
            break
        if not still.all():
            going, at, lapse = going[still], at[still], lapse[still]
            n, h = n[still], h[still]
    a, c = a.reshape(shape), c.reshape(shape)
    steady = c[..., None] + a[..., None] * z
    n, h = trials[:, None, :], hits[:, None, :]
    log_p, log_q = (_log_chance(side, lapses[:, None]) for side in (steady, -steady))
    return a, c, (h * log_p + (n - h) * log_q).sum(axis=-1)


def _log_chance(steady: Floats, lapse: Floats) -> Floats:
    """Give the logarithm of ``l + (1 - 2 l) Phi(steady)``, exact in the tail where l is 0."""
    with np.errstate(divide="ignore"):
        return np.logaddexp(np.log(lapse), np.log1p(-2 * lapse) + log_ndtr(steady))


def _fisher_step(
    z: Floats, lapse: Floats, n: Floats, h: Floats, a: Floats, c: Floats, *, intercept: bool
) -> tuple[Floats, Floats]:
    """Give the next step of a and of c: fits x cells of differences, trials and hits."""
    at = np.clip(c[:, None] + a[:, None] * z, -_FAR, _FAR)
    p = lapse + (1 - 2 * lapse) * ndtr(at)
    density = (1 - 2 * lapse) * np.exp(-0.5 * at * at) / np.sqrt(2 * np.pi)
    spread = p * (1 - p)
    off, bend = density * (h - n * p) / spread, n * density * density / spread
    slope, curve = (off * z).sum(axis=-1), (bend * z * z).sum(axis=-1) + _RIDGE
    if intercept:
        slope_c, curve_c = off.sum(axis=-1), bend.sum(axis=-1) + _RIDGE
        both = (bend * z).sum(axis=-1)
        det = curve * curve_c - both * both
        step = (curve_c * slope - both * slope_c) / det
        step_c = (curve * slope_c - both * slope) / det
    else:
        step, step_c = slope / curve, np.zeros_like(slope)
    return step, step_c


def resampled_pairs(
    sets: Counts, first: Counts, second: Counts, *, by: str, draws: int, rng: np.random.Generator
) -> Floats:
    """Weigh pairs by resamples of whole ``sets``, or of the ``systems`` of each set: draws x pairs.

    A pair counts as often as both of its systems were drawn, in whatever combination.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> one = np.zeros(3, dtype=np.int64)
    >>> pairs = np.array([0, 0, 1]), np.array([1, 2, 2])
    >>> resampled_pairs(one, *pairs, by="systems", draws=2, rng=rng).shape
    (2, 3)
    """
    check_choice(("sets", "systems"), by=by)
    check_whole(1, draws=draws)
    if by == "sets":
        n = int(sets.max()) + 1
        drawn = rng.multinomial(n, np.full(n, 1 / n), size=draws)
        return drawn[:, sets].astype(np.float64)
    owner = np.full(int(max(first.max(), second.max())) + 1, -1)
    owner[first], owner[second] = sets, sets
    counts = np.zeros((draws, len(owner)))
    for one in np.unique(sets):
        members = np.flatnonzero(owner == one)
        share = np.full(len(members), 1 / len(members))
        counts[:, members] = rng.multinomial(len(members), share, size=draws)
    return counts[:, first] * counts[:, second]


@dataclass(frozen=True, slots=True)
class Calibration:
    """Chances that were said and shares that were seen, in bins of about as many pairs.

    ``error`` is the expected calibration error: the mean distance of both over pairs; ``by_chance``
    what it would be, on average, if the chances were right and pairs independent.
    """

    said: Floats
    seen: Floats
    n: Counts
    error: float
    by_chance: float


def calibration(
    chance: Floats, outcome: Floats, rng: np.random.Generator, *, bins: int = 10
) -> Calibration:
    """Compare chances with what happened (0, 1, or 1/2) on pairs that they were not fitted to.

    Examples
    --------
    >>> chance, outcome = np.array([0.6] * 5 + [0.9] * 5), np.array([1, 1, 1, 0, 0] + [1] * 5)
    >>> found = calibration(chance, outcome, np.random.default_rng(0), bins=2)
    >>> found.said.tolist(), found.seen.tolist(), round(found.error, 3)
    ([0.6, 0.9], [0.6, 1.0], 0.05)
    """
    check_whole(1, bins=bins)
    cells = Cells.of(chance, bins)
    n = np.bincount(cells.code)

    def errors(rows: Floats) -> Floats:
        seen = np.stack([np.bincount(cells.code, row, len(n)) for row in rows])
        found: Floats = np.abs(seen - cells.x * n).sum(axis=1) / n.sum()
        return found

    own = np.asarray(outcome, dtype=np.float64)
    drawn = (rng.random((_NULLS, len(chance))) < chance).astype(np.float64)
    seen = np.bincount(cells.code, own, len(n)) / n
    error, by_chance = float(errors(own[None])[0]), float(errors(drawn).mean())
    return Calibration(cells.x, seen, n, error, by_chance)
