"""What a matrix of scores looks like before anything is concluded from it."""

from __future__ import annotations

import numpy as np

from steelyard.stats.arrays import Floats


def missing_share(values: Floats) -> float:
    """Share of cells without a score; NaN for a matrix without cells.

    Examples
    --------
    >>> import numpy as np
    >>> missing_share(np.array([[1.0, np.nan], [2.0, 3.0]]))
    0.25
    """
    return float(np.isnan(values).mean()) if values.size else float("nan")


def tie_share(values: Floats) -> float:
    """Share of pairs of systems that have the same score on the same segment.

    ``values`` is systems x segments; pairs with a missing score do not count. NaN without pairs.

    Examples
    --------
    >>> import numpy as np
    >>> tie_share(np.array([[1.0, 5.0], [1.0, 4.0], [2.0, np.nan]]))
    0.25
    """
    tied = pairs = 0
    for i in range(len(values) - 1):
        gap = values[i + 1 :] - values[i]
        tied += int(np.count_nonzero(gap == 0))
        pairs += int(np.count_nonzero(~np.isnan(gap)))
    return tied / pairs if pairs else float("nan")


def pearson(x: Floats, y: Floats) -> tuple[float, int]:
    """Correlate the cells that both have: (r, number of cells); r is NaN where nothing varies.

    Examples
    --------
    >>> import numpy as np
    >>> r, n = pearson(np.array([1.0, 2.0, np.nan]), np.array([2.0, 4.0, 9.0]))
    >>> round(r, 12), n
    (1.0, 2)
    """
    both = ~(np.isnan(x) | np.isnan(y))
    a, b = x[both], y[both]
    n = a.size
    if n < 2 or a.max() == a.min() or b.max() == b.min():
        return float("nan"), n
    a, b = (_unit(a), _unit(b))
    return float(np.clip(a @ b, -1, 1)), n


def _unit(x: Floats) -> Floats:
    """Centre and scale to length one; first by the largest value, so that no square underflows."""
    x = x - x.mean()
    x = x / np.abs(x).max()
    return x / np.sqrt(x @ x)


def range_of(values: Floats) -> tuple[float, float]:
    """Smallest and largest score; NaN where there is none."""
    known = values[~np.isnan(values)]
    return (float(known.min()), float(known.max())) if known.size else (float("nan"),) * 2
