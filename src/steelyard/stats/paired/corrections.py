"""Tests and intervals in closed form, and corrections for asking many questions at once."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri, stdtr

from steelyard.core.errors import ShapeError, UsageError
from steelyard.core.options import check_choice, check_flag, check_fraction
from steelyard.stats.arrays import Floats, ratio

ALTERNATIVES = ("greater", "less", "two-sided")
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

    follows Student's t with n - 3 degrees of freedom if both correlations are equal. Correlations
    keep their signs: a metric that runs against people is beaten by one that does not.

    Parameters
    ----------
    r12, r13
        Correlation of metric 1 and of metric 2 with the human score.
    r23
        Correlation of the two metrics with each other.
    n
        Number of cells (systems, segments) that all three were computed from.
    alternative
        ``greater``: metric 1 correlates higher; ``less``: lower; ``two-sided``: either.

    Returns
    -------
    Floats
        p-values, in the shape to which the arguments broadcast; NaN without a degree of freedom
        (n <= 3), for a metric and itself (or its mirror image), and for correlations that are
        missing or that no three variables can have.

    Examples
    --------
    >>> round(float(williams(0.9, 0.8, 0.85, 14)), 7)
    0.0957518
    """
    check_choice(ALTERNATIVES, alternative=alternative)
    t, freedom = _williams_t(*(np.asarray(x, dtype=np.float64) for x in (r12, r13, r23, n)))
    # The lower tail of the mirrored statistic: 1 - P(T < t) would lose the small p-values.
    if alternative == "two-sided":
        return np.asarray(2 * stdtr(freedom, -np.abs(t)))
    return np.asarray(stdtr(freedom, -t if alternative == "greater" else t))


def _williams_t(a: Floats, b: Floats, c: Floats, n: Floats) -> tuple[Floats, Floats]:
    """Give t and its degrees of freedom, both NaN where the test is undefined."""
    a, b, c, n = np.broadcast_arrays(a, b, c, n)
    known = (n > 3) & (np.abs(c) < 1 - _SAME)
    a, b, c, n = (np.where(known, x, np.nan) for x in (a, b, c, n))
    # K, factored so that nothing cancels where the metrics are close; it is the determinant of
    # the correlation matrix, so a negative one (any abs(r) > 1, too) is of no such matrix.
    k = (1 - c) * (1 + c - 2 * a * b) - (a - b) ** 2
    k = np.where(k < -_SLACK, np.nan, np.maximum(k, 0))
    spread = 2 * k * (n - 1) / (n - 3) + ((a + b) / 2) ** 2 * (1 - c) ** 3
    t = ratio((a - b) * np.sqrt((n - 1) * (1 + c)), np.sqrt(spread))
    return t, n - 3


def adjust(p: ArrayLike, method: str = "holm") -> Floats:
    """Correct p-values for the number of tests.

    Parameters
    ----------
    p
        p-values of any shape; NaN is no test: it does not count and stays NaN.
    method
        ``none``; ``bonferroni`` and ``holm`` bound the chance of any false claim (Holm's rejects
        everything that Bonferroni's does, and more); ``benjamini-hochberg`` bounds the expected
        share of false claims among those made.

    Returns
    -------
    Floats
        Adjusted p-values in the shape of ``p``, in the same order, at most 1: compare them with
        the level meant for all tests together.

    Examples
    --------
    >>> adjust([0.01, 0.02, 0.03, 0.04, 0.05]).round(3).tolist()
    [0.05, 0.08, 0.09, 0.09, 0.09]
    >>> adjust([0.01, 0.02, 0.03, 0.04, 0.05], "benjamini-hochberg").round(3).tolist()
    [0.05, 0.05, 0.05, 0.05, 0.05]
    """
    check_choice(CORRECTIONS, correction=method)
    result = np.array(p, dtype=np.float64)
    tests = ~np.isnan(result)
    raw = result[tests]
    if ((raw < 0) | (raw > 1)).any():
        raise UsageError(f"p-values lie between 0 and 1, found {raw.min():g} to {raw.max():g}")
    result[tests] = np.minimum(_corrected(raw, method), 1)
    return result


def _corrected(p: Floats, method: str) -> Floats:
    m = p.size
    if method == "none":
        return p
    if method == "bonferroni":
        return m * p
    order = np.argsort(p, kind="stable")
    place = np.arange(1, m + 1)
    if method == "holm":
        steps = np.maximum.accumulate((m - place + 1) * p[order])
    else:
        # m / place is 1 for the largest p, which the product must leave exactly as it is.
        steps = np.minimum.accumulate((p[order] * (m / place))[::-1])[::-1]
    result = np.empty(m)
    result[order] = steps
    return result


def adjust_pairs(p: Floats, method: str = "holm", *, symmetric: bool) -> Floats:
    """Correct a matrix of pairwise p-values; the diagonal is no test and stays as it is.

    Parameters
    ----------
    p
        Items x items.
    method
        As for :func:`adjust`.
    symmetric
        True for two-sided p-values: each pair is one test, read above the diagonal and written to
        both halves (what the lower half holds must agree or be NaN). False for one-sided ones:
        a pair is one test there, too, in the direction that the data speak for, which has the
        smaller p. (The other one says nothing that could be claimed; it is corrected along with
        its likes.) As with a single pair, the level holds for a direction that was chosen before
        the data were seen; who claims whichever is ahead errs up to twice as often, unless by
        two-sided tests.

    Examples
    --------
    >>> import numpy as np
    >>> p = np.array([[1.0, 0.01, 0.04], [0.01, 1.0, 0.03], [0.04, 0.03, 1.0]])
    >>> adjust_pairs(p, symmetric=True).round(3).tolist()
    [[1.0, 0.03, 0.06], [0.03, 1.0, 0.06], [0.06, 0.06, 1.0]]
    """
    check_flag(symmetric=symmetric)
    result = np.array(p, dtype=np.float64)
    if result.ndim != 2 or result.shape[0] != result.shape[1]:
        raise ShapeError(f"expected a square matrix of p-values, got shape {result.shape}")
    i, j = np.triu_indices(len(result), 1)
    if not symmetric:
        p_ij, p_ji = result[i, j], result[j, i]
        ahead = adjust(np.fmin(p_ij, p_ji), method)
        behind = np.maximum(adjust(np.fmax(p_ij, p_ji), method), ahead)
        for a, b, own, other in ((i, j, p_ij, p_ji), (j, i, p_ji, p_ij)):
            result[a, b] = np.where(np.isnan(own), np.nan, np.where(own > other, behind, ahead))
        return result
    _must_agree(result[i, j], result[j, i])
    result[i, j] = result[j, i] = adjust(result[i, j], method)
    return result


def _must_agree(upper: Floats, lower: Floats) -> None:
    """Refuse one-sided p-values that are passed as two-sided: half of them would be lost."""
    differ: NDArray[np.bool_] = ~np.isnan(lower) & ~np.isclose(upper, lower, rtol=1e-6, atol=1e-12)
    if differ.any():
        raise UsageError(
            f"{int(differ.sum())} pairs have two different p-values; "
            "directed tests need symmetric=False"
        )


def wilson_interval(
    successes: ArrayLike, n: ArrayLike, level: float = 0.95
) -> tuple[Floats, Floats]:
    """Wilson's confidence interval of a proportion, such as an accuracy.

    Unlike the textbook interval it stays within 0 and 1 and has a width even if all or none of
    the ``n`` trials succeed. Trials must be independent: pairs that share a system are not.

    Returns
    -------
    low, high
        Bounds in the shape to which the arguments broadcast; NaN where there is no trial.

    Examples
    --------
    >>> low, high = wilson_interval(9, 10)
    >>> round(float(low), 4), round(float(high), 4)
    (0.5958, 0.9821)
    """
    check_fraction(level=level)
    s, trials = np.broadcast_arrays(
        np.asarray(successes, dtype=np.float64), np.asarray(n, dtype=np.float64)
    )
    if ((s < 0) | (s > trials)).any():
        raise UsageError("successes must be at least 0 and at most the number of trials")
    z = float(-ndtri((1 - level) / 2))
    share = ratio(s, trials)
    whole = trials + z * z
    centre = (s + z * z / 2) / whole
    half = z / whole * np.sqrt(s * (1 - share) + z * z / 4)
    # Exact at the ends, where centre and half differ by rounding alone.
    low = np.where(s == 0, 0 * share, np.clip(centre - half, 0, 1))
    high = np.where(s == trials, 1 + 0 * share, np.clip(centre + half, 0, 1))
    return low, high
