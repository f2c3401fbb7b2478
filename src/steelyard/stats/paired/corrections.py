"""Corrections for many tests, p-values put together, and tests and intervals in closed form."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from steelyard.core.errors import UsageError
from steelyard.core.options import check_choice
from steelyard.stats.arrays import Floats, ratio
from steelyard.stats.distributions import ndtr, ndtri, stdtr

CORRECTIONS = ("none", "bonferroni", "holm", "benjamini-hochberg")
_SAME = 1e-13  # 1 - abs(r23) below this is rounding: the metrics are one and the same
_SLACK = 1e-12  # by how much rounding may push a determinant below 0


def williams(
    r12: ArrayLike, r13: ArrayLike, r23: ArrayLike, n: ArrayLike, *, alternative: str = "greater"
) -> Floats:
    r"""Williams' test of two correlations that share a variable, the human score.

    With :math:`K = 1 - r_{12}^2 - r_{13}^2 - r_{23}^2 + 2 r_{12} r_{13} r_{23}`,

    .. math:: t = \frac{(r_{12} - r_{13}) \sqrt{(n - 1)(1 + r_{23})}}{\sqrt{2 K \frac{n - 1}{n - 3}
              + \left(\frac{r_{12} + r_{13}}{2}\right)^2 (1 - r_{23})^3}}

    follows Student's t with n - 3 degrees of freedom if both correlations are equal. ``greater``
    means that the first metric correlates higher. NaN for n <= 3, for a metric and itself (or its
    mirror image), and for correlations that are missing or that no three variables can have.
    """
    t, freedom = _williams_t(*(np.asarray(x, dtype=np.float64) for x in (r12, r13, r23, n)))
    # The lower tail of the mirrored statistic: 1 - P(T < t) would lose the small p-values.
    if alternative == "two-sided":
        return np.asarray(2 * stdtr(freedom, -np.abs(t)))
    return np.asarray(stdtr(freedom, -t if alternative == "greater" else t))


def _williams_t(a: Floats, b: Floats, c: Floats, n: Floats) -> tuple[Floats, Floats]:
    """Return t and its degrees of freedom, both NaN where the test is undefined."""
    a, b, c, n = np.broadcast_arrays(a, b, c, n)
    defined = (n > 3) & (np.abs(c) < 1 - _SAME)
    a, b, c, n = (np.where(defined, x, np.nan) for x in (a, b, c, n))
    # K, factored so that nothing cancels where the metrics are close; it is the determinant of
    # the correlation matrix, so a negative one (any abs(r) > 1, too) is of no such matrix.
    k = (1 - c) * (1 + c - 2 * a * b) - (a - b) ** 2
    k = np.where(k < -_SLACK, np.nan, np.maximum(k, 0))
    spread = 2 * k * (n - 1) / (n - 3) + ((a + b) / 2) ** 2 * (1 - c) ** 3
    t = ratio((a - b) * np.sqrt((n - 1) * (1 + c)), np.sqrt(spread))
    return t, n - 3


def adjust(p: ArrayLike, method: str = "holm") -> Floats:
    """Correct p-values of any shape for the number of tests; NaN is no test and stays NaN.

    ``bonferroni`` and ``holm`` bound the chance of any false claim; ``benjamini-hochberg`` bounds
    the expected share of false claims among those made.
    """
    check_choice(CORRECTIONS, correction=method)
    result = np.array(p, dtype=np.float64)
    tests = ~np.isnan(result)
    result[tests] = np.minimum(_corrected(result[tests], method), 1)
    return result


def _corrected(p: Floats, method: str) -> Floats:
    m = p.size
    if method == "none":
        return p
    if method == "bonferroni":
        return m * p
    order = np.argsort(p, kind="stable")
    rank = np.arange(1, m + 1)
    if method == "holm":
        steps = np.maximum.accumulate((m - rank + 1) * p[order])
    else:
        # m / rank is 1 for the largest p, which the product must leave exactly as it is.
        steps = np.minimum.accumulate((p[order] * (m / rank))[::-1])[::-1]
    result = np.empty(m)
    result[order] = steps
    return result


def adjust_pairs(p: Floats, method: str = "holm", *, symmetric: bool) -> Floats:
    """Correct a matrix of pairwise p-values; the diagonal is no test and stays as it is.

    Two-sided p-values are ``symmetric``: each pair is one test. Of one-sided ones a pair is one
    test, too, in the direction that the data speak for; the other one is corrected along with its
    likes.
    """
    result = np.array(p, dtype=np.float64)
    i, j = np.triu_indices(len(result), 1)
    upper, lower = result[i, j], result[j, i]
    if symmetric:
        filled = np.where(np.isnan(lower), upper, lower)
        if not np.allclose(upper, filled, rtol=1e-6, atol=1e-12, equal_nan=True):
            raise UsageError("pairs have two different p-values: those of directed tests")
        result[i, j] = result[j, i] = adjust(upper, method)
        return result
    ahead = adjust(np.fmin(upper, lower), method)
    behind = np.maximum(adjust(np.fmax(upper, lower), method), ahead)
    for a, b, this, other in ((i, j, upper, lower), (j, i, lower, upper)):
        result[a, b] = np.where(np.isnan(this), np.nan, np.where(this > other, behind, ahead))
    return result


def stouffer(p: Floats) -> Floats:
    r"""Combine p-values along the first axis by Stouffer's method; NaN if any of them is.

    :math:`z_d = \Phi^{-1}(1 - p_d)` and :math:`p = 1 - \Phi(\sum_d z_d / \sqrt{D})`. Of two-sided
    p-values it forgets the direction: a lead in one domain and an equal loss in another add up.
    """
    z = -ndtri(np.asarray(p, dtype=np.float64))
    with np.errstate(invalid="ignore"):  # p of 0 and of 1: nothing to be said
        return np.asarray(ndtr(-z.sum(axis=0) / np.sqrt(max(len(z), 1))))


def wilson_interval(
    successes: ArrayLike, n: ArrayLike, level: float = 0.95
) -> tuple[Floats, Floats]:
    """Return Wilson's confidence interval of a proportion; NaN where there is no trial.

    Unlike the textbook interval it stays within 0 and 1 and has a width even if all or none of
    the ``n`` trials succeed. Trials must be independent: pairs that share a system are not.
    """
    s, trials = np.broadcast_arrays(
        np.asarray(successes, dtype=np.float64), np.asarray(n, dtype=np.float64)
    )
    z = float(-ndtri((1 - level) / 2))
    share = ratio(s, trials)
    whole = trials + z * z
    centre = (s + z * z / 2) / whole
    half = z / whole * np.sqrt(s * (1 - share) + z * z / 4)
    # Exact at the ends, where centre and half differ by rounding alone.
    low = np.where(s == 0, 0 * share, np.clip(centre - half, 0, 1))
    high = np.where(s == trials, 1 + 0 * share, np.clip(centre + half, 0, 1))
    return low, high
