r"""Tests of paired differences between systems, for all pairs of systems at once, by unit.

What is independent is a *unit*: a document, a prompt, or each segment by itself, which is the
ordinary case of the same test (``units=None``). Segments of one unit may be correlated in any way.

Every test takes systems x segments (NaN where missing; a pair is compared on the segments both
have) and a code per segment, and returns systems x systems p-values: ``p[i, j]`` of system i
against system j, NaN on the diagonal and wherever the test is undefined.

===============  =================================================================================
``t``            means; the differences should be roughly normal, or many
``permutation``  means, by the signs of the differences, without assumptions on their shape
``bootstrap``    means, by resampling units
``wilcoxon``     signed ranks of the differences (by unit: Rosner, Glynn and Lee 2006, here exact)
``sign``         wins less losses, as Bradley-Terry ranks
``mcnemar``      the same of scores that are 0 or 1
``median``       scores above the common median, of the one system less of the other
``mood``         Mood's test of medians: single segments, as if they were not paired
``gap``          any ranking, from resamples of its scores
===============  =================================================================================

**By signs.** Two systems that are equally good could have swapped what they have on a whole unit.
So each test by signs scores every segment (a difference, a signed rank, a win or a loss, a side of
the median), adds these scores up within units, :math:`x_g`, and asks how often
:math:`\sum_g e_g x_g` with fair signs :math:`e_g` is as far out as :math:`\sum_g x_g`. That holds
its level whatever the segments of a unit have in common, and it is exact.

``median`` and ``mood`` are two tests: both look at the scores above the median of both systems
together, but Mood's compares the two counts by chi-squared and ignores which scores belong
together. It has no form by unit.

**The t-test.** With n segments of which the share :math:`p_g` lies in unit g, and :math:`u_g` the
sum of its differences less their mean, the variance of the mean is estimated by
:math:`\sum_g u_g^2 / (1 - p_g) / n^2` (CR2, Bell and McCaffrey 2002), which is :math:`s^2 / n` for
single segments. Degrees of freedom: :mod:`steelyard.stats.resampling.cluster_df`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from steelyard.core.errors import UsageError
from steelyard.stats.arrays import Counts, Floats, distinct, ratio
from steelyard.stats.correlation import ranks
from steelyard.stats.distributions import bdtr, chdtrc, ndtr, ndtri, stdtr, stdtrit
from steelyard.stats.permutation.lattice import Z, lattice_tails
from steelyard.stats.permutation.pvalues import block_sums, pair_index, pairwise_pvalues, sided
from steelyard.stats.permutation.tails import product_tails
from steelyard.stats.resampling.bootstrap import row_medians
from steelyard.stats.resampling.cluster_df import freedom_of_sizes
from steelyard.stats.strength.wins import WinCounts, win_counts

Bools = NDArray[np.bool_]

_CELLS = 1 << 17  # differences held at a time
_NOISE = 1e-13  # of the mean size of differences: what rounding may leave of an error of 0
_TIED = 1e-12  # of the largest difference of a row: what is closer is tied but for rounding
_LATTICE = 2_000_000  # distinct sums x frequencies up to which sums are transformed as a lattice
_ENUMERATED = 32  # units up to which ``product_tails`` tries all signs, and tells ties apart
_WORTH_NOTING = 1e-3  # numerical error of a p-value: three digits are shown
FEW_UNITS = 50  # below these, intervals of differences invert the test
DECISIVE = 6  # units that it takes to reach 5% by the signs of all: 2 / 2**6
_ALL = 14  # units of which all subsets are looked at; of more, some are drawn
_DRAWS = 1 << 14
_HELD = 1 << 22  # subset means held at a time
_HALVINGS = 60

Ends = tuple[Floats, Floats]
Tails = tuple[Floats, Floats, float]  # P(T >= t), P(T <= t) and their error


class PairPValues(NamedTuple):
    """p-values of all pairs of systems, and their largest numerical error."""

    p: Floats
    error: float = 0.0


class MeanError(NamedTuple):
    """Means, their standard errors, degrees of freedom, and units, of rows of differences."""

    mean: Floats
    error: Floats
    freedom: Floats
    n_units: Counts


def pair_differences(scores: Floats) -> Iterator[tuple[Counts, Counts, Floats]]:
    """Yield pairs of systems i < j with their differences, as many at a time as fit."""
    i, j = pair_index(len(scores))
    step = max(1, _CELLS // max(scores.shape[1], 1))
    for start in range(0, len(i), step):
        a, b = i[start : start + step], j[start : start + step]
        yield a, b, scores[a] - scores[b]


def _all_pairs(
    scores: Floats, alternative: str, tails: Callable[[Floats, Counts, Counts], Tails]
) -> PairPValues:
    """Fill the matrix from upper and lower tails of the pairs i < j, and their error."""
    p = np.full((len(scores), len(scores)), np.nan)
    worst = 0.0
    for i, j, gap in pair_differences(scores) if scores.shape[1] else ():
        p[i, j], p[j, i], error = tails(gap, i, j)
        worst = max(worst, error)
    return PairPValues(sided(p, alternative), (2 if alternative == "two-sided" else 1) * worst)


def mean_error(gap: Floats, units: Counts | None = None) -> MeanError:
    """Return the mean of each row (NaN: missing), its error and freedom, NaN below two units."""
    known = ~np.isnan(gap)
    n = known.sum(axis=1).astype(np.float64)
    filled = np.where(known, gap, 0.0)
    mean = ratio(filled.sum(axis=1), n)
    sizes, sums, share = _unit_sums(gap, known, mean, n, units)
    error = np.sqrt(ratio(sums * sums, 1 - share).sum(axis=1)) / np.maximum(n, 1)
    # Rounding alone must not make a constant difference vary, nor differences that cancel differ.
    noise = _NOISE * ratio(np.abs(filled).sum(axis=1), n)
    still = error <= noise
    error[still] = 0.0
    mean[still & (np.abs(mean) <= noise)] = 0.0
    return MeanError(mean, error, _freedom(sizes, units), (sizes > 0).sum(axis=1))


def _unit_sums(
    gap: Floats, known: Bools, mean: Floats, n: Floats, units: Counts | None
) -> tuple[Floats, Floats, Floats]:
    """Return the sizes of units, their sums of what is left of the mean, and their shares."""
    sizes = block_sums(known.astype(np.float64), units)
    sums = block_sums(np.where(known, gap - mean[:, None], 0.0), units)
    return sizes, sums, ratio(sizes, n[:, None])


def _freedom(sizes: Floats, units: Counts | None) -> Floats:
    if units is None:
        n = (sizes > 0).sum(axis=1)
        return np.where(n > 1, n - 1.0, np.nan)
    if len(sizes) and (sizes == sizes[0]).all():  # nothing is missing: all rows have one answer
        return np.repeat(freedom_of_sizes(sizes[:1]), len(sizes))
    return freedom_of_sizes(sizes)


def shared_units(known: Bools, units: Counts | None) -> Counts:
    """Count the units in which two systems (rows) have a segment in common, for all pairs."""
    if units is None:
        present = known.astype(np.float64)
        return np.asarray(present @ present.T, dtype=np.int64)
    shared = np.zeros((len(known), len(known)), dtype=np.int64)
    order = np.argsort(units, kind="stable")
    starts = np.flatnonzero(np.r_[True, np.diff(units[order]) != 0])[: len(order)]
    for segments in np.split(order, starts[1:]):
        present = known[:, segments].astype(np.float32)
        shared += present @ present.T > 0
    return shared


def t_tails(
    lead: Floats, error: Floats, freedom: Floats, n_units: Counts | None = None
) -> tuple[Floats, Floats]:
    """P(T >= t) and P(T <= t) of leads with errors; both are 1 where neither is above 0.

    Of a lead without spread the signs of ``n_units`` decide: one of 2**n is as far out.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.where((lead == 0) & (error > 0), 0.0, lead / error)
    same = (lead == 0) & (error == 0)  # nothing differs: no evidence on either side
    upper, lower = (np.where(same, 1.0, stdtr(freedom, x)) for x in (-t, t))
    if n_units is not None:
        still = (error == 0) & (lead != 0)
        least = 2.0 ** -n_units.astype(np.float64)
        upper = np.where(still, np.where(lead > 0, least, 1.0), upper)
        lower = np.where(still, np.where(lead < 0, least, 1.0), lower)
    return upper, lower


def t_test(
    scores: Floats, units: Counts | None = None, *, alternative: str = "two-sided"
) -> PairPValues:
    """Paired t-test; NaN below two units. The signs decide on a constant difference."""

    def tails(gap: Floats, _i: Counts, _j: Counts) -> Tails:
        return *t_tails(*mean_error(gap, units)), 0.0

    return _all_pairs(scores, alternative, tails)


def permutation_test(
    scores: Floats, units: Counts | None = None, *, alternative: str = "two-sided"
) -> PairPValues:
    """Paired permutation test of means, computed without draws; identical systems give p = 1."""
    result = pairwise_pvalues(scores, blocks=units, tail="ge")
    twice = 2 if alternative == "two-sided" else 1
    return PairPValues(sided(result.p, alternative), twice * result.error)


def error_note(error: float) -> list[str]:
    """Say how good p-values of the permutation test are, where it is not to three digits."""
    if error <= _WORTH_NOTING:
        return []
    why = "scores are nearly on a lattice, or a few differences outweigh all others"
    return [f"permutation: p-values are good to {error:.1g} ({why})"]


def flip_tails(sums: Floats) -> Tails:
    """P(T >= t) and P(T <= t) over all signs, for rows of whole numbers; and the largest error."""
    # Rounding may leave less than the chance of the signs as they are, or even less than nothing.
    least = 2.0 ** -np.count_nonzero(sums, axis=1).astype(np.float64)
    tails = lattice_tails(sums) if _is_coarse(sums) else None
    if tails is not None:
        above, at, error = tails
        return np.clip(above + at, least, 1), np.clip(1 - above, least, 1), error
    # Some thousand ranks make a lattice too fine to transform. Few units are enumerated; of many
    # the characteristic function gives the chance of being beyond a point. It can't tell what lies
    # on it: so it is asked half a step short of t, and half a step further, where nothing lies.
    upper, lower, error = np.empty(len(sums)), np.empty(len(sums)), 0.0
    few = np.count_nonzero(sums, axis=1) <= _ENUMERATED
    if few.any():
        above, at, _ = product_tails(sums[few])
        upper[few], lower[few] = above + at, 1 - above
    if not few.all():
        many = sums[~few]
        t, half = many.sum(axis=1), np.gcd.reduce(many.astype(np.int64), axis=1)
        upper[~few], _, short = product_tails(many, t - half)
        beyond, _, far = product_tails(many, t + half)
        lower[~few] = 1 - beyond
        error = float(np.maximum(short, far).max())
    return np.clip(upper, least, 1), np.clip(lower, least, 1), error


def _tested(tails: Tails, tested: Bools | np.bool_) -> Tails:
    """Make the tails of pairs that have no test NaN."""
    upper, lower, error = tails
    return np.where(tested, upper, np.nan), np.where(tested, lower, np.nan), error


def _is_coarse(sums: Floats) -> bool:
    """Tell whether transforming the lattice of these sums is little work."""
    size = np.abs(sums)
    reach = np.minimum(size.sum(axis=1), Z * np.sqrt((size * size).sum(axis=1)))
    frequencies = (np.abs(sums.sum(axis=1)) + reach).max(initial=0.0) / 4
    return bool(len(np.unique(size)) * frequencies <= _LATTICE)


def signed_rank_tails(gap: Floats, units: Counts | None = None) -> Tails:
    """P(T >= t) and P(T <= t) of the sums of signed ranks of rows of differences; and their error.

    Zero differences are left out, tied ones share their mean rank; ranks are of segments, signs of
    units. 1 where nothing differs, NaN without any difference.
    """
    known = ~np.isnan(gap)
    rank = _ranks_of_sizes(np.where(known & (gap != 0), np.abs(gap), np.nan))
    # Doubled: mean ranks are halves.
    signed = np.rint(2 * rank) * np.sign(np.where(known, gap, 0.0))
    return _tested(flip_tails(block_sums(signed, units)), known.any(axis=1))


def _ranks_of_sizes(size: Floats) -> Floats:
    """Rank the sizes of each row, 0 where there is none; what differs by rounding only is tied."""
    order = np.argsort(size, axis=1, kind="stable")
    ordered = np.take_along_axis(size, order, axis=1)
    slack = _TIED * np.fmax.reduce(size, axis=1, initial=0.0)
    opens = np.ones(size.shape, dtype=bool)
    opens[:, 1:] = ~(np.diff(ordered, axis=1) <= slack[:, None])
    first = np.maximum.accumulate(np.where(opens, ordered, -np.inf), axis=1)
    settled = np.empty_like(size)
    np.put_along_axis(settled, order, first, axis=1)
    return np.nan_to_num(ranks(settled.T).T)


def wilcoxon_test(
    scores: Floats, units: Counts | None = None, *, alternative: str = "two-sided"
) -> PairPValues:
    """Wilcoxon's signed-rank test (:func:`signed_rank_tails`), never a normal approximation."""
    return _all_pairs(scores, alternative, lambda gap, _i, _j: signed_rank_tails(gap, units))


def sign_test(
    scores: Floats,
    units: Counts | None = None,
    *,
    tolerance: float = 0.0,
    alternative: str = "two-sided",
) -> PairPValues:
    """Sign test: wins less losses under all signs, ties (to a tolerance) left out; 1 if all tie."""
    if units is None:  # a binomial test of counts, which are made faster than differences
        counts = win_counts(scores, tolerance=tolerance)
        return PairPValues(sign_test_counts(counts.wins, counts.met > 0, alternative=alternative))

    def tails(gap: Floats, _i: Counts, _j: Counts) -> Tails:
        lead = (gap > tolerance).astype(np.float64) - (gap < -tolerance)
        return _tested(flip_tails(block_sums(lead, units)), (~np.isnan(gap)).any(axis=1))

    return _all_pairs(scores, alternative, tails)


def sign_test_counts(wins: Floats, compared: Bools, *, alternative: str = "two-sided") -> Floats:
    """Exact sign test of ``wins[i, j]`` of i over j; NaN if not ``compared``, 1 if all tied."""
    won = wins.astype(np.int64)
    n = won + won.T
    p = np.where(n > 0, bdtr(won.T, n, 0.5), 1.0)  # P(as few losses)
    return sided(np.where(compared, p, np.nan), alternative)


def mcnemar_test(
    scores: Floats, units: Counts | None = None, *, alternative: str = "two-sided"
) -> PairPValues:
    """McNemar's exact test of scores that are 0 or 1 (or 0 and -1): the sign test of those."""
    known = np.abs(scores[~np.isnan(scores)])
    if not ((known == 0) | (known == 1)).all():
        raise UsageError("McNemar's test is of scores that are 0 or 1")
    return sign_test(scores, units, alternative=alternative)


def median_test(
    scores: Floats, units: Counts | None = None, *, alternative: str = "two-sided"
) -> PairPValues:
    """Test medians by what systems could swap; NaN where no score is above the common median."""

    def tails(gap: Floats, i: Counts, j: Counts) -> Tails:
        # Swapping whole units leaves the common median as it is.
        first, second = _above_median(scores, i, j, gap)
        tails = flip_tails(block_sums(first.astype(np.float64) - second, units))
        return _tested(tails, (first | second).any(axis=1))

    return _all_pairs(scores, alternative, tails)


def mood_test(scores: Floats) -> PairPValues:
    """Mood's test of medians, two-sided; NaN where no score is above the common one, or all are."""

    def tails(gap: Floats, i: Counts, j: Counts) -> Tails:
        above, other = (side.sum(axis=1) for side in _above_median(scores, i, j, gap))
        total, n = above + other, (~np.isnan(gap)).sum(axis=1)
        excess = np.maximum(0.0, np.abs(above - total / 2) - 0.5)  # corrected for continuity
        statistic = 4 * excess * excess * (ratio(1, total) + ratio(1, 2 * n - total))
        half = np.asarray(chdtrc(1, statistic)) / 2
        return half, half, 0.0

    return _all_pairs(scores, "two-sided", tails)


def _above_median(scores: Floats, i: Counts, j: Counts, gap: Floats) -> tuple[Bools, Bools]:
    """Tell which scores of either system are above the median of both, on common segments."""
    first, second = (np.where(np.isnan(gap), np.nan, scores[k]) for k in (i, j))
    middle = row_medians(np.concatenate([first, second], axis=1))[:, None]
    return first > middle, second > middle


def gap_test(
    scores: Floats,
    replicates: Floats,
    *,
    alternative: str = "two-sided",
    freedom: float = np.inf,
    shrunk: float = 1.0,
) -> Floats:
    """Test differences of scores by their spread over resamples: t = gap / deviation of the gap.

    Only resamples count that give every system with a score one, too; NaN where fewer than half do.
    ``freedom`` is one less than the units resampled; the variance is too small by ``shrunk``.
    """
    p = np.full((len(scores), len(scores)), np.nan)
    scored = np.flatnonzero(np.isfinite(scores))
    drawn = replicates[:, scored]
    usable = np.isfinite(drawn).all(axis=1)
    if len(scored) < 2 or usable.sum() < max(2, len(drawn) / 2):
        return p
    spread = np.cov(drawn[usable], rowvar=False)
    variance = np.diagonal(spread)[:, None] + np.diagonal(spread) - 2 * spread
    gap = scores[scored][:, None] - scores[scored]
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.where(gap == 0, 0.0, gap / np.sqrt(np.maximum(variance / shrunk, 0.0)))
    p[np.ix_(scored, scored)] = ndtr(-t) if np.isinf(freedom) else stdtr(freedom, -t)
    return sided(p, alternative)


def bootstrap_test(
    observed: Floats, replicates: Floats, *, alternative: str = "two-sided"
) -> Floats:
    """Test differences of any aggregate by its replicates, resamples x systems, around the null.

    p is the share of resamples whose difference strays from the observed one by at least the
    observed one, the observed set counting as one.
    """
    n = len(observed)
    p = np.full((n, n), np.nan)
    slack = 1e-12 * float(np.fmax.reduce(np.abs(observed), initial=0.0))
    for i in range(n):
        gap = observed[i] - observed
        null = replicates[:, i : i + 1] - replicates - gap
        if alternative == "two-sided":
            beyond = np.abs(null) >= np.abs(gap) - slack
        else:
            beyond = null >= gap - slack if alternative == "greater" else null <= gap + slack
        drawn = (~np.isnan(null)).sum(axis=0)
        tested = (drawn > 0) & ~np.isnan(gap)
        p[i] = np.where(tested, (beyond.sum(axis=0) + 1) / (drawn + 1), np.nan)
    np.fill_diagonal(p, np.nan)
    return p


# Intervals of mean differences. The t interval inverts the t-test; that of sign flips rests on
# subsets of units: flipping the signs of a set A of differences that are shifted by d brings their
# sum no lower than it was just where the mean over A is at most d, so that the ends are order
# statistics of the means of all subsets (Hartigan 1969).


def t_interval(gap: Floats, units: Counts | None, level: float = 0.95) -> Ends:
    """Return an interval of the mean of each row (NaN where missing), with errors by unit.

    Without any spread it is the value itself, from six units on; with fewer there is none.
    """
    mean, error, freedom, n_units = mean_error(gap, units)
    defined = (n_units > 1) & ((error > 0) | (n_units >= DECISIVE))
    half = stdtrit(np.where(n_units > 1, freedom, 1.0), (1 + level) / 2)
    half *= np.where(defined, error, np.nan)
    return mean - half, mean + half


def flip_interval(gap: Floats, units: Counts | None, level: float = 0.95) -> Ends:
    """Return an interval of the mean of each row that inverts the sign-flip test of whole units.

    Fewer than six units get the t interval, which :func:`agreeing` then makes to hold 0.
    """
    low, high = t_interval(gap, units, level)
    known = ~np.isnan(gap)
    sums = block_sums(np.where(known, gap, 0.0), units)
    sizes = block_sums(known.astype(np.float64), units)
    n_units = (sizes > 0).sum(axis=1)
    for count in distinct(n_units[2.0 ** (1.0 - n_units) < 1 - level]).tolist():
        subsets = _subsets(count)
        # The empty set is the observation itself, which counts. Of draws, as many as of all.
        rank = int(np.ceil((1 - level) / 2 * (len(subsets) + 1))) - 1
        rank = min(max(rank, 1), len(subsets))
        rows = np.flatnonzero(n_units == count)
        for part in np.array_split(rows, max(1, len(rows) * len(subsets) // _HELD)):
            used = sizes[part] > 0
            total, size = (x[part][used].reshape(len(part), count) for x in (sums, sizes))
            means = np.sort((subsets @ total.T) / (subsets @ size.T), axis=0)
            low[part], high[part] = means[rank - 1], means[-rank]
    return low, high


def _subsets(n: int) -> Floats:
    """Return all subsets of n units but the empty one, or some that are drawn; always the same."""
    if n <= _ALL:
        return ((np.arange(1, 1 << n)[:, None] >> np.arange(n)) & 1).astype(np.float64)
    drawn = np.random.default_rng(n).integers(0, 2, size=(_DRAWS, n)).astype(np.float64)
    return drawn[drawn.any(axis=1)]


def proportions_interval(wins: Floats, losses: Floats, n: Floats, level: float = 0.95) -> Ends:
    r"""Return the score interval of the difference of two paired proportions, by Tango (1998).

    ``wins`` are segments that only the first has right, ``losses`` those that only the second has.
    The ends solve :math:`(b - c - n \delta)^2 = z^2 n (2 q + \delta (1 - \delta))`, in which q is
    the share of losses that is likeliest where the difference is :math:`\delta`.
    """
    z = float(ndtri((1 + level) / 2))
    gap = ratio(wins - losses, n)

    def slack(delta: Floats) -> Floats:
        """By how much z exceeds the observed statistic: positive inside the interval."""
        half = -wins - losses + (2 * n - wins + losses) * delta
        share = np.sqrt(np.maximum(half**2 + 8 * n * losses * delta * (1 - delta), 0)) - half
        share /= 4 * n
        spread = n * (2 * share + delta * (1 - delta))
        return z * np.sqrt(np.maximum(spread, 0)) - np.abs(wins - losses - n * delta)

    ends = []
    for far in (-1.0, 1.0):
        inside, outside = gap.copy(), np.full(gap.shape, far)
        for _ in range(_HALVINGS):
            middle = (inside + outside) / 2
            held = slack(middle) >= 0
            inside, outside = np.where(held, middle, inside), np.where(held, outside, middle)
        ends.append(inside)
    return ends[0], ends[1]


def agreeing(value: Floats, ends: Ends, p: Floats, level: float = 0.95) -> Ends:
    r"""Move an end that contradicts the test, so that 0 is outside just where it rejects.

    Where p is below 1 - level, the end next to 0 becomes the test-based one of Miettinen,
    :math:`value (1 - z / z_p)`, which is on the same side as the value; else it becomes 0.
    """
    low, high = ends
    alpha = 1 - level
    rejects: Bools = p < alpha
    keeps: Bools = p >= alpha
    with np.errstate(invalid="ignore", divide="ignore"):
        near = value * (1 - ndtri(1 - alpha / 2) / -ndtri(np.where(rejects, p, 0.01) / 2))
    wrong = rejects & (low <= 0) & (high >= 0)
    low = np.where(wrong & (value > 0), near, np.where(keeps & (low > 0), 0.0, low))
    high = np.where(wrong & (value < 0), near, np.where(keeps & (high < 0), 0.0, high))
    return low, high


def few_units_p(p: Floats, n_units: Counts | Floats, *, two_sided: bool) -> Floats:
    """Return p-values, of fewer than six units at least 1/16 and what their signs can reach."""
    sides = 2.0 if two_sided else 1.0
    least = np.maximum(sides * 2.0 ** -np.asarray(n_units, np.float64), 1 / 16)
    return np.where((n_units < DECISIVE) & ~np.isnan(p), np.maximum(p, np.minimum(least, 1)), p)


# Sizes of differences: systems x systems, row against column, NaN on the diagonal.


def superiority(counts: WinCounts) -> Floats:
    """Return the share of segments that a system wins, ties counting half: ``[i, j]`` of i."""
    share = np.triu(ratio(counts.wins + 0.5 * counts.ties, counts.met), 1)
    result = share + np.tril(1 - share.T, -1)  # the two of a pair add up to 1
    np.fill_diagonal(result, np.nan)
    return np.asarray(result)
