r"""How many labels are needed, what a judge saves of them, and which rows to label next.

With the correlation :math:`\rho` of judge and people over rows, n labels and N rows with a verdict
alone are worth :math:`n (n + N) / (n + (1 - \rho^2) N)` labels: at most :math:`1 / (1 - \rho^2)`
times as many, however many verdicts there are.
"""

from __future__ import annotations

import math

import numpy as np

from steelyard.core.errors import UsageError
from steelyard.stats.arrays import Floats, group_sums, ratio
from steelyard.stats.estimate import critical

_UNIFORM = 0.1  # share of a budget that does not trust the pilot


def worth_of_labels(rho: float, n: float, more: float) -> float:
    """Return how many labels alone would be as good as n labels and so many further verdicts."""
    return n * (n + more) / (n + (1 - rho * rho) * more)


def labels_for_half_width(
    spread: float, rho: float, half_width: float, total: int, *, level: float = 0.95
) -> int | None:
    """Return the fewest labels of ``total`` judged rows for a half-width; None: not even all.

    ``spread`` is the standard deviation of labels, ``rho`` the correlation of judge and people.
    """
    n = np.arange(2, total + 1)
    variance = spread * spread / n * (1 - rho * rho * (total - n) / total)
    enough = np.flatnonzero(critical(level) * np.sqrt(variance) <= half_width)
    return int(n[enough[0]]) if len(enough) else None


def labels_for_kappa(se: float, n: int, half_width: float, *, level: float = 0.95) -> int:
    """Return the labels that kappa needs for a half-width, from its error in a pilot of n."""
    return max(2, math.ceil((critical(level) / half_width) ** 2 * n * se * se - 1e-9))


def next_probabilities(judge: Floats, human: Floats, budget: float, *, n_bins: int = 5) -> Floats:
    """Return the probability of labelling each row next: more where the judge was wrong more often.

    From the pilot's labels, the root mean square error of the judge by bins of its score; a tenth
    of the budget is spread evenly, since the pilot may be wrong. 0 for rows with a label or no
    verdict.
    """
    judged, labelled = ~np.isnan(judge), ~np.isnan(human)
    free, pilot = judged & ~labelled, judged & labelled
    n = int(free.sum())
    if budget > n:
        raise UsageError(f"{n} rows are judged and have no label, expected {math.ceil(budget)}")
    error = np.ones(n)
    if pilot.any():
        edges = np.unique(judge[judged])
        if len(edges) > n_bins:
            edges = np.unique(np.quantile(judge[judged], np.arange(n_bins) / n_bins))
        code = np.clip(np.searchsorted(edges, judge, side="right") - 1, 0, None)
        squares = group_sums(code[pilot], (human[pilot] - judge[pilot]) ** 2, len(edges))
        count = group_sums(code[pilot], None, len(edges))
        # A bin with few labels is taken for partly like all of them.
        rmse = np.sqrt((squares + float(squares.sum() / count.sum())) / (count + 1))
        error = rmse[code[free]] if rmse.any() else error
    share = (1 - _UNIFORM) * ratio(error, error.sum()) + _UNIFORM / n
    result = np.zeros(len(judge))
    result[free] = _capped(share, budget)
    return result


def _capped(share: Floats, budget: float) -> Floats:
    """Scale shares to a budget, none above 1."""
    result = share * budget
    while (result > 1).any() and (free := result < 1).any():
        left = budget - float((~free).sum())
        result[~free] = 1.0
        result[free] = share[free] * left / float(share[free].sum())
    return np.minimum(result, 1.0)
