"""Power of tests: the chance that a difference of a given size is found with n units."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from scipy.special import bdtr, bdtrik, nctdtr, ndtr, ndtri, stdtr, stdtrit

from steelyard.core.errors import UsageError
from steelyard.core.options import (
    check_flag,
    check_fraction,
    check_number,
    check_share,
    check_whole,
)
from steelyard.stats.arrays import Counts, Floats, ratio
from steelyard.stats.paired.corrections import williams
from steelyard.stats.permutation.lattice import as_lattice
from steelyard.stats.permutation.tails import quick_p
from steelyard.stats.resampling.unitfreedom import freedom_of_counts

MOST = 10_000_000  # more units than anybody has
_SIMULATED = 300  # units up to which the power of the sign-flip test is simulated
_DRAWS = 500
_ALL_SIGNS = 12  # units up to which all signs are tried


def _check(n: int, alpha: float, *, two_sided: bool) -> None:
    check_whole(n=n)
    check_fraction(alpha=alpha)
    check_flag(two_sided=two_sided)


def t_power(effect: float, n: int, alpha: float = 0.05, *, two_sided: bool = True) -> float:
    """Power of the paired t test for a mean difference of ``effect`` standard deviations.

    Examples
    --------
    >>> round(t_power(0.5, 34), 3)
    0.808
    """
    check_number(effect=effect)
    _check(n, alpha, two_sided=two_sided)
    if n < 2:
        return 0.0
    freedom, shift = n - 1, effect * np.sqrt(n)
    edge = stdtrit(freedom, 1 - (alpha / 2 if two_sided else alpha))
    found = 1 - nctdtr(freedom, shift, edge)
    if two_sided:
        found += nctdtr(freedom, shift, -edge)
    return float(found)


def sign_power(
    win: float, n: int, alpha: float = 0.05, *, tie: float = 0.0, two_sided: bool = True
) -> float:
    """Power of the sign test if one side wins a unit that does not tie with probability ``win``.

    Ties are left out: power is that of the expected number of other units, rounded.

    Examples
    --------
    >>> round(sign_power(0.75, 30), 3)
    0.803
    """
    check_number(0, 1, win=win)
    check_share(tie=tie)
    _check(n, alpha, two_sided=two_sided)
    n = round(n * (1 - tie))
    if n < 1:
        return 0.0
    # The least number of wins that is significant: P(X >= c) = P(X <= n - c) for a fair coin.
    tail = alpha / 2 if two_sided else alpha
    most = int(np.floor(bdtrik(tail, n, 0.5))) + 1 if bdtr(0, n, 0.5) <= tail else -1
    while most >= 0 and bdtr(most, n, 0.5) > tail:
        most -= 1
    if most < 0:
        return 0.0
    found = bdtr(most, n, 1 - win)
    if two_sided:
        found += bdtr(most, n, win)
    return float(min(found, 1.0))


def normal_power(
    difference: float, error: Floats, alpha: float = 0.05, *, two_sided: bool = True
) -> Floats:
    """Power where a difference has a normal standard error.

    Examples
    --------
    >>> normal_power(2.8, np.array([1.0])).round(3).tolist()
    [0.8]
    """
    check_number(difference=difference)
    _check(0, alpha, two_sided=two_sided)
    edge = float(-ndtri(alpha / 2 if two_sided else alpha))
    z = ratio(np.full_like(error, difference), error)
    found = ndtr(z - edge)
    return np.asarray(found + ndtr(-z - edge) if two_sided else found)


def williams_power(
    r12: float, r13: float, r23: float, n: int, alpha: float = 0.05, *, two_sided: bool = True
) -> float:
    """Power of Williams' test of two correlations with ``n`` systems, approximately.

    The statistic is taken as Student's t around the value that the correlations themselves give.

    Examples
    --------
    >>> williams_power(0.9, 0.8, 0.85, 10) < williams_power(0.9, 0.8, 0.85, 30)
    True
    """
    check_number(-1, 1, r12=r12, r13=r13, r23=r23)
    _check(n, alpha, two_sided=two_sided)
    if n <= 3:
        return 0.0
    p = float(williams(r12, r13, r23, n))
    if np.isnan(p):
        return float("nan")
    shift = float(-stdtrit(n - 3, p))
    edge = float(stdtrit(n - 3, 1 - (alpha / 2 if two_sided else alpha)))
    found = stdtr(n - 3, shift - edge)
    return float(found + stdtr(n - 3, -shift - edge) if two_sided else found)


def needed(
    power: Callable[[int], float], target: float, least: int = 2, *, ragged: bool = False
) -> int | None:
    """Find the fewest units with this power by bisection, None if even ten million are too few.

    ``ragged`` is a power that goes up and down on its way up, as that of the sign test does, whose
    p-values come in steps: the fewest units are those from which on it does not fall below again.

    Examples
    --------
    >>> needed(lambda n: t_power(0.5, n), 0.8)
    34
    """
    check_fraction(target=target)
    check_whole(1, least=least)
    check_flag(ragged=ragged)
    high = least
    while power(high) < target:
        if high >= MOST:
            return None
        high = min(high * 2, MOST)
    low = least - 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if power(middle) >= target else (middle, high)
    # A unit less had too little: the last such number is near, within some roots of it.
    ahead = high if ragged else MOST
    while ahead < min(MOST, high + 20 + 4 * math.isqrt(high)):
        ahead += 1
        high = high if power(ahead) >= target else ahead + 1
    return high


def fewest_signs(alpha: float) -> int | None:
    """Count the units from which on signs can be significant, two-sided: all the same, 2 / 2^n.

    None where no number of units can.

    Examples
    --------
    >>> fewest_signs(0.05), fewest_signs(0.01), fewest_signs(0.0)
    (6, 8, None)
    """
    return next((n for n in range(1, 1000) if 2.0 ** (1 - n) < alpha), None)


def permutation_needed(
    x: Floats, alpha: float, target: float, rng: np.random.Generator
) -> int | None:
    """Find the fewest units from which on the sign-flip test has this power, two-sided.

    Power is the share of resamples of the observed differences with p below the level. It is
    simulated up to some hundreds of units, with all signs of up to twelve of them; with more, that
    of the t test says the same. None if even ten million are too few.

    Examples
    --------
    >>> permutation_needed(np.array([1.0, 2, 3, 4]), 0.05, 0.8, np.random.default_rng(0))
    6
    """
    least = fewest_signs(alpha)
    if least is None or not x.any():
        return None
    spread = float(x.std(ddof=1)) if len(x) > 1 else 0.0
    effect = min(abs(float(x.mean())) / spread, 10.0) if spread > 0 else 10.0
    guess = needed(lambda n: t_power(effect, n, alpha), target, least)
    if guess is None or guess > _SIMULATED:
        return guess
    size = 2 * guess
    while size <= 8 * _SIMULATED:
        power = _permutation_power(x, size, alpha, rng)
        power[: least - 1] = 0.0
        found = int(np.flatnonzero(np.append(-1.0, power) < target)[-1]) + 1
        if found <= 3 * size // 4:
            return found
        size *= 2
    return guess


def _permutation_power(x: Floats, size: int, alpha: float, rng: np.random.Generator) -> Floats:
    """Power of the two-sided sign-flip test with 1, 2, ..., ``size`` units, drawn from x."""
    drawn = rng.choice(x, (_DRAWS, size)) / np.sqrt((x * x).mean())
    square = drawn * drawn
    t, second, fourth = (np.cumsum(part, axis=1) for part in (drawn, square, square * square))
    known = second > 0
    second = np.where(known, second, 1.0)
    mid = quick_p(*(part.astype(np.float32) for part in (t, second, fourth))).astype(np.float64)
    z = t / np.sqrt(second)
    # Sums that come in steps tie: half of the ties are on top of the mid-p.
    ties = _step(x) / np.sqrt((x * x).mean() * second) * np.exp(-z * z / 2) / np.sqrt(2 * np.pi)
    p = 2 * (np.minimum(mid, 1 - mid) + ties)
    for n in range(1, min(size, _ALL_SIGNS) + 1):
        signs = (np.arange(2 ** (n - 1))[:, None] >> np.arange(n)) % 2 * 2.0 - 1  # or all turned
        null, own = np.abs(signs @ drawn[:, :n].T), np.abs(t[:, n - 1])
        p[:, n - 1] = (null >= own - 1e-12 * n * own.max(initial=1.0)).mean(axis=0)
    return np.asarray((np.where(known, p, 1.0) < alpha).mean(axis=0))


def _step(x: Floats) -> float:
    """Half of the step in which sums of these differences with any signs come; 0 if in none."""
    whole = as_lattice(np.append(x, 0.0))
    if whole is None:
        return 0.0
    moves = np.abs(whole[:-1] - whole[-1]).astype(np.int64)
    return float(np.abs(x).max() / moves.max() * np.gcd.reduce(moves))


def resampled_p(test: str, x: Floats, counts: Counts | Floats) -> Floats:
    """Two-sided p-values of a test of mean (or median) 0 in each resample of the units.

    Parameters
    ----------
    test
        ``t``, ``permutation`` (signs change at random; an expansion) or ``sign``.
    x
        Differences, one per unit, none missing.
    counts
        How often each unit occurs, resamples x units.

    Examples
    --------
    >>> x = np.array([1.0, 2.0, 3.0, -1.0])
    >>> resampled_p("sign", x, np.array([[1, 1, 1, 1], [3, 3, 3, 0]])).round(4).tolist()
    [0.625, 0.0039]
    """
    w = np.asarray(counts, dtype=np.float64)
    if test == "sign":
        wins, losses = w @ (x > 0), w @ (x < 0)
        tail = bdtr(np.minimum(wins, losses), (wins + losses).astype(int), 0.5)
        return np.asarray(np.minimum(2 * tail, 1.0))
    scale = np.sqrt((x * x).mean()) or 1.0
    y = x / scale
    total, squares = w @ y, w @ (y * y)
    if test == "t":
        n = w.sum(axis=1)
        variance = np.maximum(ratio(squares - total * total / n, n - 1), 0.0)
        return np.asarray(2 * stdtr(n - 1, -np.abs(ratio(total, np.sqrt(variance * n)))))
    if test == "permutation":
        single = (a.astype(np.float32)[:, None] for a in (total, squares, w @ y**4))
        p = quick_p(*single)[:, 0].astype(np.float64)
        return np.asarray(np.minimum(2 * np.minimum(p, 1 - p), 1.0))
    raise UsageError(f"no power of test '{test}'; expected t, permutation or sign")


def resampled_unit_p(
    test: str, sums: Floats, sizes: Floats, wins: Floats, counts: Counts | Floats
) -> Floats:
    """Two-sided p-values in each resample of units of several segments.

    ``sums``, ``sizes`` and ``wins`` (less losses) are those of each unit. The t test is that of
    :mod:`steelyard.stats.paired.clustered`, the other two change the signs of whole units.

    Examples
    --------
    >>> x, ones = np.array([1.0, 2.0, 3.0, -1.0]), np.ones(4)
    >>> counts = np.array([[1, 1, 1, 1], [2, 1, 1, 1]])
    >>> p = resampled_unit_p("t", x, ones, np.sign(x), counts)
    >>> bool(np.allclose(p, resampled_p("t", x, counts)))
    True
    """
    if test == "permutation":
        return resampled_p(test, sums, counts)
    if test == "sign":
        return resampled_p("permutation", wins, counts)
    if test != "t":
        raise UsageError(f"no power of test '{test}'; expected t, permutation or sign")
    w = np.asarray(counts, dtype=np.float64)
    n = w @ sizes
    mean = ratio(w @ sums, n)
    off = sums - mean[:, None] * sizes
    share = ratio(sizes, n[:, None])
    variance = (w * ratio(off * off, np.where(w > 0, 1 - share, 1.0))).sum(axis=1)
    t = ratio(mean * n, np.sqrt(variance))
    return np.asarray(2 * stdtr(freedom_of_counts(sizes, w), -np.abs(t)))
