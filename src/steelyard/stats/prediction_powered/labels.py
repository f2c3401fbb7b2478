r"""How many labels are needed, what a judge saves of them, and which rows to label next.

With the correlation :math:`\rho` of judge and people over rows, n labels and N rows with a verdict
alone are worth :math:`n (n + N) / (n + (1 - \rho^2) N)` labels: at most :math:`1 / (1 - \rho^2)`
times as many, however many verdicts there are.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtrc, ndtri

from steelyard.core.errors import UsageError
from steelyard.core.options import check_number, check_whole
from steelyard.stats.arrays import Floats, group_sums, ratio

Codes = NDArray[np.integer]
_UNIFORM = 0.1  # share of a budget that does not trust the pilot


def worth_of_labels(rho: float, n: float, more: float) -> float:
    """Give how many labels alone would be as good as n labels and so many further verdicts.

    Examples
    --------
    >>> round(worth_of_labels(0.5, 100, 900), 1), worth_of_labels(0.0, 100, 900)
    (129.0, 100.0)
    """
    check_number(-1, 1, rho=rho)
    return n * (n + more) / (n + (1 - rho * rho) * more)


def labels_for_half_width(
    spread: float, rho: float, half_width: float, total: int, *, level: float = 0.95
) -> int | None:
    """Give the fewest labels of so many judged rows that reach a half-width; None: not even all.

    Parameters
    ----------
    spread
        Standard deviation of what people say of a row.
    rho
        Correlation of judge and people; 0 without a judge.
    half_width
        Of the interval that is wanted.
    total
        Rows that the judge has judged.

    Examples
    --------
    >>> labels_for_half_width(0.5, 0.0, 0.1, 1000), labels_for_half_width(0.5, 0.6, 0.1, 1000)
    (97, 64)
    """
    check_number(0, None, strict=True, half_width=half_width, spread=spread)
    check_whole(2, total=total)
    n = np.arange(2, total + 1)
    z = float(ndtri(0.5 + level / 2))
    variance = spread * spread / n * (1 - rho * rho * (total - n) / total)
    enough = np.flatnonzero(z * np.sqrt(variance) <= half_width)
    return int(n[enough[0]]) if len(enough) else None


def labels_to_separate(
    difference: float,
    spread: float,
    rho: float,
    total: int,
    *,
    power: float = 0.8,
    level: float = 0.95,
) -> int | None:
    """Give the labelled items on which two systems so far apart are told apart; None: not even all.

    ``spread`` and ``rho`` are those of the *differences* of the two systems.

    Examples
    --------
    >>> labels_to_separate(0.2, 0.5, 0.0, 1000), labels_to_separate(0.001, 0.5, 0.5, 1000)
    (50, None)
    """
    check_number(0, 1, strict=True, power=power, level=level)
    if difference == 0:
        raise UsageError("difference: expected a number other than 0")
    reach = float(ndtri(0.5 + level / 2))
    half = abs(difference) * reach / (reach + float(ndtri(power)))
    return labels_for_half_width(spread, rho, half, total, level=level)


def labels_for_kappa(se: float, n: int, half_width: float, *, level: float = 0.95) -> int:
    """Give the labels that kappa needs for a half-width, from its error in a pilot of n.

    Examples
    --------
    >>> labels_for_kappa(0.11, 50, 0.1)
    233
    """
    check_number(0, None, strict=True, half_width=half_width)
    z = float(ndtri(0.5 + level / 2))
    return max(2, math.ceil((z / half_width) ** 2 * n * se * se - 1e-9))


def labels_to_pass(
    accuracy: float, required: float, *, power: float = 0.8, level: float = 0.95, most: int = 20_000
) -> int | None:
    """Give the labels with which a judge of that accuracy shows that it is above what is required.

    Exactly: the fewest n from which on the one-sided binomial test at (1 - level) / 2 has that
    power; None beyond ``most``.

    Examples
    --------
    >>> labels_to_pass(0.9, 0.8)
    113
    """
    check_number(0, 1, strict=True, accuracy=accuracy, required=required)
    if accuracy <= required:
        return None
    alpha = (1 - level) / 2
    n = np.arange(1, most + 1)
    least = np.ceil(n * required).astype(np.int64)
    # The fewest successes that would be too many by chance; found from the normal guess on.
    guess = n * required + float(ndtri(1 - alpha)) * np.sqrt(n * required * (1 - required))
    k = np.clip(np.floor(guess).astype(np.int64) - 2, least, n)
    for _ in range(200):
        high = (bdtrc(k - 1, n, required) > alpha) & (k <= n)
        if not high.any():
            break
        k = k + high
    reached = np.where(k <= n, bdtrc(np.minimum(k, n) - 1, n, accuracy), 0.0) >= power
    # The power of an exact test saws: from this n on it stays.
    short = np.flatnonzero(~reached)
    first = int(short[-1]) + 1 if len(short) else 0
    return int(n[first]) if first < len(n) else None


def next_probabilities(judge: Floats, human: Floats, budget: float, *, n_bins: int = 5) -> Floats:
    """Give the probability of labelling each row next: more where the judge was wrong more often.

    From the pilot's labels, the root mean square error of the judge by bins of its score; a tenth
    of the budget is spread evenly, since the pilot may be wrong. 0 for labelled rows; probabilities
    sum to the budget, and are at most 1.

    Parameters
    ----------
    judge
        Verdicts as numbers, NaN where there is none (these can't be chosen).
    human
        Labels, NaN where there is none.
    budget
        How many labels there shall be.

    Examples
    --------
    >>> judge = np.repeat([0.0, 1.0], 50)
    >>> human = np.full(100, np.nan)
    >>> human[:10], human[50:60] = 0.0, np.tile([0.0, 1.0], 5)
    >>> chosen = next_probabilities(judge, human, 20)
    >>> round(float(chosen.sum()), 6), bool(chosen[70] > 2 * chosen[20]), float(chosen[0])
    (20.0, True, 0.0)
    """
    open_rows = np.isnan(human) & ~np.isnan(judge)
    n = int(open_rows.sum())
    check_number(0, None, strict=True, budget=budget)
    if budget > n:
        raise UsageError(f"{n} rows are judged and have no label, expected {math.ceil(budget)}")
    known = ~(np.isnan(human) | np.isnan(judge))
    error = np.ones(n)
    if known.any():
        edges = np.unique(judge[known | open_rows])
        if len(edges) > n_bins:
            edges = np.unique(np.quantile(judge[known | open_rows], np.arange(n_bins) / n_bins))
        code = np.clip(np.searchsorted(edges, judge, side="right") - 1, 0, None)
        cells = len(edges)
        squares = group_sums(code[known], (human[known] - judge[known]) ** 2, cells)
        count = group_sums(code[known], None, cells)
        overall = float(squares.sum() / count.sum())
        # A bin with few labels is taken for partly like all of them.
        rmse = np.sqrt((squares + overall) / (count + 1))
        error = rmse[code[open_rows]] if rmse.any() else error
    wanted = (1 - _UNIFORM) * ratio(error, error.sum()) + _UNIFORM / n
    result = np.zeros(len(judge))
    result[open_rows] = _capped(wanted, budget)
    return result


def _capped(share: Floats, budget: float) -> Floats:
    """Scale shares to a budget, none above 1."""
    result = share * budget
    for _ in range(len(share)):
        above = result >= 1
        free = ~above
        left = budget - float(above.sum())
        if not free.any() or float(result[free].sum()) <= 0:
            break
        scaled = share[free] * left / float(share[free].sum())
        result[above] = 1.0
        result[free] = scaled
        if (scaled <= 1).all():
            break
    return np.minimum(result, 1.0)
