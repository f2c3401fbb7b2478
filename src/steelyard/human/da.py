"""Direct assessment: scores of 0 to 100, standardised by rater."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from steelyard.data.judgements import Floats, Ratings
from steelyard.stats.arrays import Counts, group_sums, ratio


@dataclass(frozen=True, slots=True)
class RaterScale:
    """How each rater uses the scale: number of rows with a score, mean, sample deviation, ends."""

    n: Counts
    mean: Floats
    sd: Floats
    low: Floats
    high: Floats

    @property
    def usable(self) -> NDArray[np.bool_]:
        """Who can be standardised: two scores or more, not all the same."""
        return (self.n > 1) & (self.high > self.low)


def rater_scale(ratings: Ratings) -> RaterScale:
    """Measure how each rater uses the scale, over all of the rater's rows, controls included."""
    size = len(ratings.raters)
    known = ~np.isnan(ratings.value)
    rater, value = ratings.rater[known], ratings.value[known]
    n = np.bincount(rater, minlength=size).astype(np.int64)
    mean = ratio(group_sums(rater, value, size), n)
    gap = value - mean[rater]
    # The sum of the gaps is 0 but for rounding, which this takes out.
    squares = group_sums(rater, gap * gap, size) - ratio(group_sums(rater, gap, size) ** 2, n)
    low, high = np.full(size, np.inf), np.full(size, -np.inf)
    np.minimum.at(low, rater, value)
    np.maximum.at(high, rater, value)
    low[n == 0] = high[n == 0] = np.nan
    return RaterScale(n, mean, np.sqrt(np.maximum(ratio(squares, n - 1), 0)), low, high)


def standardise(ratings: Ratings, scale: RaterScale | None = None) -> Floats:
    """Give the z of each row: how many of the rater's deviations above the rater's mean it is.

    Mean and sample deviation are over all of the rater's rows, controls included. NaN where a
    rater has fewer than two scores, or gave the same one to everything.

    Examples
    --------
    >>> ratings = Ratings.from_labels(
    ...     ["A", "B", "A"], ["1", "1", "1"], ["r", "r", "s"], np.array([70.0, 50.0, 90.0])
    ... )
    >>> standardise(ratings).round(4).tolist()
    [0.7071, nan, -0.7071]
    """
    found = rater_scale(ratings) if scale is None else scale
    sd = np.where(found.usable, found.sd, np.nan)
    result: Floats = (ratings.value - found.mean[ratings.rater]) / sd[ratings.rater]
    return result
