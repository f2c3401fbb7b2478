"""Power of tests: the chance that a difference of a given size is found with n units."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from steelyard.core.errors import UsageError
from steelyard.stats.arrays import Counts, Floats, ratio
from steelyard.stats.distributions import bdtr, nctdtr, ndtr, ndtri, stdtr, stdtrit
from steelyard.stats.permutation.lattice import as_lattice
from steelyard.stats.permutation.tails import quick_p
from steelyard.stats.resampling.cluster_df import freedom_of_counts

MOST = 10_000_000  # more units than anybody has
_SIMULATED = 300  # units up to which the power of the sign-flip test is simulated
_DRAWS = 500
_ALL_SIGNS = 12  # units up to which all signs are tried


def t_power(effect: float, n: int, alpha: float = 0.05) -> float:
    """Power of the two-sided paired t-test for a mean difference of ``effect`` deviations."""
    if n < 2:
        return 0.0
    freedom, shift = n - 1, effect * np.sqrt(n)
    edge = float(stdtrit(freedom, 1 - alpha / 2))
    return float(1 - nctdtr(freedom, shift, edge) + nctdtr(freedom, shift, -edge))


def sign_power(win: float, n: int, alpha: float = 0.05) -> float:
    """Power of the two-sided sign test if one side wins a unit with probability ``win``."""
    if n < 1:
        return 0.0
    from scipy.special import bdtrik

    # The most losses that are significant.
    tail = alpha / 2
    most = int(np.floor(bdtrik(tail, n, 0.5))) + 1 if bdtr(0, n, 0.5) <= tail else -1
    while most >= 0 and bdtr(most, n, 0.5) > tail:
        most -= 1
    if most < 0:
        return 0.0
    return min(float(bdtr(most, n, 1 - win) + bdtr(most, n, win)), 1.0)


def normal_power(difference: float, error: Floats, alpha: float = 0.05) -> Floats:
    """Two-sided power where a difference has a normal standard error."""
    edge = float(-ndtri(alpha / 2))
    z = ratio(np.full_like(error, difference), error)
    return np.asarray(ndtr(z - edge) + ndtr(-z - edge))


def needed(
    power: Callable[[int], float], target: float, least: int = 2, *, ragged: bool = False
) -> int | None:
    """Find the fewest units with this power by bisection, None if even ten million are too few.

    ``ragged`` is a power that goes up and down on its way up, as that of the sign test does, whose
    p-values come in steps: the fewest units are those from which on it does not fall below again.
    """
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


def permutation_needed(
    x: Floats, alpha: float, target: float, rng: np.random.Generator
) -> int | None:
    """Find the fewest units from which on the sign-flip test has this power, two-sided.

    Power is the share of resamples of the differences with p below the level, simulated up to some
    hundreds of units; with more, the t test says the same. None if even ten million are too few.
    """
    # The signs of fewer units are never significant: 2 / 2^n where all are the same.
    least = next((n for n in range(1, 1000) if 2.0 ** (1 - n) < alpha), None)
    if least is None or not x.any():
        return None
    spread = float(x.std(ddof=1)) if len(x) > 1 else 0.0
    effect = min(abs(float(x.mean())) / spread, 10.0) if spread > 0 else 10.0
    guess = needed(lambda n: t_power(effect, n, alpha), target, least)
    if guess is None or guess > _SIMULATED:
        return guess
    # Power is ragged: the answer counts if it is well inside what was simulated.
    size = 2 * guess
    while size <= 8 * _SIMULATED:
        power = _permutation_power(x, size, alpha, rng)
        power[: least - 1] = 0.0
        fewest = int(np.flatnonzero(np.append(-1.0, power) < target)[-1]) + 1
        if fewest <= 3 * size // 4:
            return fewest
        size *= 2
    return guess


def _permutation_power(x: Floats, size: int, alpha: float, rng: np.random.Generator) -> Floats:
    """Power of the two-sided sign-flip test with 1, 2, ..., ``size`` units, drawn from x."""
    drawn = rng.choice(x, (_DRAWS, size)) / np.sqrt((x * x).mean())
    square = drawn * drawn
    t, second, fourth = (np.cumsum(part, axis=1) for part in (drawn, square, square * square))
    moving = second > 0
    second = np.where(moving, second, 1.0)
    mid = quick_p(*(part.astype(np.float32) for part in (t, second, fourth))).astype(np.float64)
    z = t / np.sqrt(second)
    # Sums that come in steps tie: half of the ties are on top of the mid-p.
    ties = _step(x) / np.sqrt((x * x).mean() * second) * np.exp(-z * z / 2) / np.sqrt(2 * np.pi)
    p = 2 * (np.minimum(mid, 1 - mid) + ties)
    for n in range(1, min(size, _ALL_SIGNS) + 1):
        signs = (np.arange(2 ** (n - 1))[:, None] >> np.arange(n)) % 2 * 2.0 - 1  # or all turned
        null, sums = np.abs(signs @ drawn[:, :n].T), np.abs(t[:, n - 1])
        p[:, n - 1] = (null >= sums - 1e-12 * n * sums.max(initial=1.0)).mean(axis=0)
    return np.asarray((np.where(moving, p, 1.0) < alpha).mean(axis=0))


def _step(x: Floats) -> float:
    """Half of the step in which sums of these differences with any signs come; 0 if in none."""
    whole = as_lattice(np.append(x, 0.0))
    if whole is None:
        return 0.0
    moves = np.abs(whole[:-1] - whole[-1]).astype(np.int64)
    return float(np.abs(x).max() / moves.max() * np.gcd.reduce(moves))


def resampled_p(
    test: str, sums: Floats, sizes: Floats, wins: Floats, counts: Counts | Floats
) -> Floats:
    """Return two-sided p-values of mean (or median) 0 in each resample of units.

    ``test`` is ``t``, ``permutation`` or ``sign``; ``sums``, ``sizes`` and ``wins`` (less losses)
    are those of each unit, ``counts`` (resamples x units) says how often it occurs.
    """
    w = np.asarray(counts, dtype=np.float64)
    single = bool((sizes == 1).all())
    if test == "t":
        n = w @ sizes
        mean = ratio(w @ sums, n)
        rest = sums - mean[:, None] * sizes
        share = ratio(sizes, n[:, None])
        variance = (w * ratio(rest * rest, np.where(w > 0, 1 - share, 1.0))).sum(axis=1)
        freedom = n - 1 if single else freedom_of_counts(sizes, w)
        return np.asarray(2 * stdtr(freedom, -np.abs(ratio(mean * n, np.sqrt(variance)))))
    if test == "sign" and single:
        won, lost = w @ (wins > 0), w @ (wins < 0)
        tail = bdtr(np.minimum(won, lost), (won + lost).astype(int), 0.5)
        return np.asarray(np.minimum(2 * tail, 1.0))
    if test not in ("sign", "permutation"):
        raise UsageError(f"no power of test '{test}'; expected t, permutation or sign")
    x = wins if test == "sign" else sums
    y = x / (np.sqrt((x * x).mean()) or 1.0)
    moments = ((w @ power).astype(np.float32)[:, None] for power in (y, y * y, y**4))
    p = quick_p(*moments)[:, 0].astype(np.float64)
    return np.asarray(np.minimum(2 * np.minimum(p, 1 - p), 1.0))
