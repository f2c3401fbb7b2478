r"""AutoRank: several metrics in one number per system, from 1 (the best) to N (the worst).

The automatic ranking of WMT's general task. Two forms were published; both average over metrics,
and both depend on which systems take part, at the ends of the scale more than elsewhere:

* ``wmt25``: :math:`z = (x - \mathrm{median}) / \max(\epsilon, \max - Q_{25})` of each metric, which
  systems that fail do not stretch; the mean of z over metrics is mapped so that the best is 1 and
  the worst N;
* ``wmt24``: each metric is mapped to 1 ... N, the best to 1, and the mean is left as it is.

More is better in all metrics: turn the others first.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from steelyard.core.errors import ShapeError
from steelyard.core.options import check_choice, check_number
from steelyard.stats.arrays import Counts, Floats, ratio
from steelyard.stats.resampling.bootstrap import bootstrap_means, segment_counts

FORMS = ("wmt25", "wmt24")
EPSILON = 1e-12  #: the least spread of a metric that systems are scaled by


@dataclass(frozen=True, slots=True)
class AutoRank:
    """``ranks`` is the AutoRank of each system, ``scaled`` (metrics x systems) what it averages.

    ``scaled`` are z for ``wmt25``, numbers from 1 to N for ``wmt24``. Arrays have the leading axes
    of the input, such as resamples.
    """

    ranks: Floats
    scaled: Floats


def autorank(means: Floats, form: str = "wmt25", *, worst: float | None = None) -> AutoRank:
    """Rank systems by the means of several metrics.

    Parameters
    ----------
    means
        ... x metrics x systems; more is better.
    form
        ``wmt25`` or ``wmt24``.
    worst
        The number of the worst system; None: as many as there are systems.

    Returns
    -------
    AutoRank
        Less is better. A system that lacks a metric has no number, and takes no part in the scale
        of the other metrics either; a single system, and systems that all have the same, have
        none: best and worst are not told apart. Nor does a metric tell systems apart whose means
        differ by rounding alone: z is 0 then, and there are no numbers from 1 to N.

    Examples
    --------
    >>> autorank(np.array([[3.0, 2.0, 1.0], [30.0, 10.0, 20.0]])).ranks.tolist()
    [1.0, 3.0, 3.0]
    >>> autorank(np.array([[3.0, 2.0, 1.0], [30.0, 10.0, 20.0]]), "wmt24").ranks.tolist()
    [1.0, 2.5, 2.5]
    """
    check_choice(FORMS, form=form)
    x = np.asarray(means, dtype=np.float64)
    if x.ndim < 2:
        raise ShapeError(f"expected metrics x systems, got shape {x.shape}")
    whole = ~np.isnan(x).any(axis=-2, keepdims=True)
    x = np.where(whole, x, np.nan)
    check_number(optional=True, worst=worst)
    last = whole.sum(axis=-1, keepdims=True) if worst is None else worst
    if form == "wmt24":
        scaled = _mapped(x, last)
        return AutoRank(scaled.mean(axis=-2), scaled)
    gap = np.where(_span(x) > 0, x - _quantile(x, 0.5), np.where(np.isnan(x), np.nan, 0.0))
    scaled = gap / np.maximum(EPSILON, scale_of(x))
    overall = scaled.mean(axis=-2, keepdims=True)
    return AutoRank(_mapped(overall, last)[..., 0, :], scaled)


def scale_of(means: Floats) -> Floats:
    """Give what ``wmt25`` divides by: the best system's lead over the 25th percentile.

    Examples
    --------
    >>> scale_of(np.array([[4.0, 3.0, 2.0, 1.0, 0.0]])).tolist()
    [[3.0]]
    """
    return np.asarray(_highest(means) - _quantile(means, 0.25))


def _highest(x: Floats) -> Floats:
    return np.asarray(np.fmax.reduce(x, axis=-1, keepdims=True))


def _span(x: Floats) -> Floats:
    """Give the best minus the worst, 0 where that is rounding alone."""
    high, low = _highest(x), np.fmin.reduce(x, axis=-1, keepdims=True)
    size = np.maximum(np.abs(high), np.abs(low))
    return np.asarray(np.where(high - low > EPSILON * size, high - low, 0.0))


def _quantile(x: Floats, q: float) -> Floats:
    """Quantile over the systems that take part, between neighbours in proportion."""
    known = (~np.isnan(x)).sum(axis=-1, keepdims=True)
    ordered = np.sort(x, axis=-1)  # NaN last
    last = np.maximum(known - 1, 0)
    place = last * q
    below = np.floor(place).astype(np.int64)
    above = np.minimum(below + 1, last)
    a, b = (np.take_along_axis(ordered, at, axis=-1) for at in (below, above))
    return np.asarray(a + (b - a) * (place - below))


def _mapped(x: Floats, last: Counts | float) -> Floats:
    """Map the highest to 1 and the lowest to the last place; NaN where they are the same."""
    return 1 + (last - 1) * ratio(_highest(x) - x, np.broadcast_to(_span(x), x.shape))


def bootstrap_autorank(
    scores: Floats,
    form: str = "wmt25",
    *,
    n_resamples: int = 1000,
    rng: np.random.Generator,
    blocks: Counts | None = None,
) -> Floats:
    """Draw AutoRank anew in resamples of the segments: resamples x systems.

    All metrics are of the same resample, in which medians, quantiles and both ends are new.

    Parameters
    ----------
    scores
        Metrics x systems x segments; more is better, NaN is left out of the means.
    form
        ``wmt25`` or ``wmt24``.
    n_resamples, rng
        How many, and what they are drawn by.
    blocks
        The code of each segment's unit (its document), drawn as a whole; None: segments are.

    Examples
    --------
    >>> scores = np.array([[[3.0, 4, 5], [1, 2, 3], [0, 0, 1]]])
    >>> drawn = bootstrap_autorank(scores, n_resamples=20, rng=np.random.default_rng(0))
    >>> drawn.shape, drawn[:, 0].tolist() == [1.0] * 20
    ((20, 3), True)
    """
    metrics, systems, segments = scores.shape
    counts = segment_counts(n_resamples, segments, rng, blocks)
    means = bootstrap_means(scores.reshape(-1, segments), counts)
    return autorank(means.reshape(n_resamples, metrics, systems), form).ranks
