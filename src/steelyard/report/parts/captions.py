"""What is to be seen in each figure, in a sentence made from its numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from steelyard.comparison.results import Comparison
from steelyard.core.text import all_of, listed, plural
from steelyard.metaevaluation.results import MetaEvaluation, MetaResult
from steelyard.stats.permutation.pvalues import pair_index


def captions(found: Comparison | None, meta: MetaEvaluation | None) -> dict[str, str]:
    """Give a sentence for each figure that the numbers say something of, by the name of the chart.

    Examples
    --------
    >>> import steelyard as sy
    >>> found = sy.compare(sy.demo_set(), "learned-refA", n_bootstrap=100)
    >>> captions(found, None)["chart-ranks"]
    'Dolomite takes the first place in 95% of the resampled test sets, Kaolin in 5%'
    """
    told: dict[str, str] = {}
    if found is not None and len(found.systems) > 1:
        of_systems: dict[str, Callable[[Comparison], str]] = {
            "chart-forest": _forest,
            "chart-ranks": _ranks,
            "chart-wins": _wins,
        }
        told |= {name: say(found) for name, say in of_systems.items()}
    if meta is not None and meta.results:
        of_metrics: dict[str, Callable[[MetaEvaluation], str]] = {
            "chart-metrics": _metrics,
            "chart-scatter": _scatter,
            "chart-calibration": _calibration,
            "chart-metametrics": _metametrics,
        }
        told |= {name: say(meta) for name, say in of_metrics.items()}
    return {name: text for name, text in told.items() if text}


def _forest(found: Comparison) -> str:
    """Say whose interval overlaps with that of the best."""
    by = next(iter(found.aggregations))
    own, order = found.aggregations[by], found.ranking(by)
    if own.low is None or own.high is None:
        return ""
    place = [found.systems.index(name) for name in order]
    ends = [(float(own.low[i]), float(own.high[i])) for i in place]
    return _overlapping(order, ends, f"by {found.shown(by)}")


def _overlapping(names: Sequence[str], ends: Sequence[tuple[float, float]], by: str) -> str:
    (low, high), best = ends[0], names[0]
    if np.isnan([low, high]).any() or len(names) < 2:
        return ""
    near = [
        name for name, (a, b) in zip(names[1:], ends[1:], strict=True) if a <= high and b >= low
    ]
    if not near:
        return f"The interval of {best}, the best {by}, lies apart from all others"
    whose = f"that of {near[0]}" if len(near) == 1 else f"those of {listed(near, 3, last=' and ')}"
    return f"The interval of {best}, the best {by}, overlaps with {whose}"


def _ranks(found: Comparison) -> str:
    """Say who takes the first place how often when segments are drawn anew."""
    for own in found.aggregations.values():
        if own.rank_shares is None or not own.rank_shares.size:
            continue
        share = own.rank_shares[:, 0]
        order = [i for i in np.argsort(-share, kind="stable") if share[i] >= 0.005][:3]
        if not order:
            return ""
        first, *others = [(found.systems[i], f"{100 * share[i]:.0f}%") for i in order]
        rest = "".join(f", {name} in {often}" for name, often in others)
        return f"{first[0]} takes the first place in {first[1]} of the resampled test sets{rest}"
    return ""


def _wins(found: Comparison) -> str:
    """Say who wins most segments and who fewest, ties as half."""
    alone = next((own.alone for own in found.aggregations.values() if own.alone is not None), None)
    if alone is None:
        return ""
    n = len(found.systems)
    won = np.where(np.eye(n, dtype=bool), np.nan, alone)
    known = ~np.isnan(won).all(axis=1)
    if known.sum() < 2:
        return ""
    share = np.full(n, np.nan)
    share[known] = np.nanmean(won[known], axis=1)
    best, worst = int(np.nanargmax(share)), int(np.nanargmin(share))
    return (
        f"With ties as half, {found.systems[best]} wins {100 * share[best]:.0f}% of its "
        f"comparisons, {found.systems[worst]} {100 * share[worst]:.0f}%"
    )


def _known(meta: MetaEvaluation, by: str) -> list[MetaResult]:
    """Give results under one meta-metric that have a value, best first."""
    own = [r for r in meta.results if r.by == by and not np.isnan(r.value)]
    return sorted(own, key=lambda r: (-r.value, r.metric))


def _metrics(meta: MetaEvaluation) -> str:
    """Say whose interval overlaps with that of the best metric."""
    by = meta.results[0].by
    known = [r for r in _known(meta, by) if r.ci is not None]
    if len(known) < 2:
        return ""
    ends = [r.ci for r in known if r.ci is not None]
    return _overlapping([r.metric for r in known], ends, f"by {by}")


def _scatter(meta: MetaEvaluation) -> str:
    """Say how many pairs of systems the best metric orders as people do."""
    best = _known(meta, meta.results[0].by)
    pa = {r.metric: r for r in meta.results if r.by == "pa" and not np.isnan(r.value)}
    if not best or best[0].metric not in pa:
        return ""
    share = f"{100 * pa[best[0].metric].value:.0f}%"
    return f"{best[0].metric} orders {share} of the pairs of systems as {meta.human} does"


def _calibration(meta: MetaEvaluation) -> str:
    """Say which differences count as ties."""
    tied = [r for r in meta.results if r.epsilon is not None and not np.isnan(r.value)]
    if not tied:
        return ""
    best = max(tied, key=lambda r: r.value)
    what = f"{best.metric} does best, at {best.value:.3f}"
    if best.epsilon == 0:
        return f"{what}, with its own ties"
    return f"{what}, where differences up to {best.epsilon:.3g} count as ties"


def _metametrics(meta: MetaEvaluation) -> str:
    """Say how far two meta-metrics order metrics alike."""
    names = list(dict.fromkeys(r.by for r in meta.results))
    for other in reversed(names[1:]):
        one, two = meta.values(names[0]), meta.values(other)
        both = [m for m in one if not np.isnan(one[m] + two.get(m, np.nan))]
        if len(both) < 3:
            continue
        i, j = pair_index(len(both))
        x, y = (np.array([values[m] for m in both]) for values in (one, two))
        signs = np.sign(x[i] - x[j]) * np.sign(y[i] - y[j])
        share = 100 * (1 + float(signs.mean())) / 2
        pair = all_of([names[0], other])
        return f"{pair} order {share:.0f}% of {plural(len(i), 'pair')} of metrics alike"
    return ""
