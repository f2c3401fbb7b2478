r"""AutoRank: several metrics in one number per system, from 1 (the best) to N (the worst).

The automatic ranking of WMT's general task. Both published forms average over metrics, and both
depend on which systems take part, most of all at the ends of the scale:

* ``wmt25``: :math:`z = (x - \mathrm{median}) / \max(\epsilon, \max - Q_{25})` of each metric, which
  failing systems do not stretch; the mean of z is mapped so that the best is 1 and the worst N;
* ``wmt24``: each metric is mapped to 1 ... N, the best to 1, and the mean is left as it is.

More is better in all metrics: turn the others first.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from steelyard.stats.arrays import Counts, Floats, beyond_rounding, quantile, ratio
from steelyard.stats.resampling.bootstrap import bootstrap_means, segment_counts

EPSILON = 1e-12  #: the least spread of a metric that systems are scaled by


@dataclass(frozen=True, slots=True)
class AutoRank:
    """``ranks`` is the AutoRank of each system, ``scaled`` (metrics x systems) what it averages."""

    ranks: Floats
    scaled: Floats


def autorank(means: Floats, form: str = "wmt25", *, worst: float | None = None) -> AutoRank:
    """Rank systems by the means of several metrics (... x metrics x systems); less is better.

    ``worst`` is the number of the worst system, by default N. A system that lacks a metric has no
    number and does not count in the scale of the other metrics. There are no numbers where systems
    differ by rounding alone: best and worst are not told apart (z is 0 then).
    """
    complete = ~np.isnan(means).any(axis=-2, keepdims=True)
    x = np.where(complete, means, np.nan)
    last = complete.sum(axis=-1, keepdims=True) if worst is None else worst
    if form == "wmt24":
        scaled = _mapped(x, last)
        return AutoRank(scaled.mean(axis=-2), scaled)
    gap = np.where(_span(x) > 0, x - quantile(x, 0.5), np.where(np.isnan(x), np.nan, 0.0))
    scaled = gap / np.maximum(EPSILON, scale_of(x))
    overall = scaled.mean(axis=-2, keepdims=True)
    return AutoRank(_mapped(overall, last)[..., 0, :], scaled)


def scale_of(means: Floats) -> Floats:
    """Return what ``wmt25`` divides by: the best system's lead over the 25th percentile."""
    return np.asarray(_highest(means) - quantile(means, 0.25))


def _highest(x: Floats) -> Floats:
    return np.asarray(np.fmax.reduce(x, axis=-1, keepdims=True))


def _span(x: Floats) -> Floats:
    """Return the best minus the worst, 0 where that is rounding alone."""
    high, low = _highest(x), -_highest(-x)
    return beyond_rounding(high - low, np.maximum(np.abs(high), np.abs(low)))


def _mapped(x: Floats, last: Counts | float) -> Floats:
    """Map the highest to 1 and the lowest to the last rank; NaN where they are the same."""
    return 1 + (last - 1) * ratio(_highest(x) - x, _span(x))


def bootstrap_autorank(
    scores: Floats,
    form: str = "wmt25",
    *,
    n_resamples: int = 1000,
    rng: np.random.Generator,
    blocks: Counts | None = None,
) -> Floats:
    """Return AutoRank in resamples of the segments or units (``blocks``): resamples x systems."""
    metrics, systems, segments = scores.shape
    counts = segment_counts(n_resamples, segments, rng, blocks)
    means = bootstrap_means(scores.reshape(-1, segments), counts)
    return autorank(means.reshape(n_resamples, metrics, systems), form).ranks
