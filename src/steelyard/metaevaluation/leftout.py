"""What agreement over systems is without the outlying ones.

A metric that tells one hopeless system from all others correlates with people, whatever it says of
the rest. So every meta-metric at level ``sys`` is run once more on the other systems.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

import numpy as np

from steelyard.core.words import plural
from steelyard.metaevaluation.cube import Data, Run, quoted
from steelyard.metaevaluation.outliers import Outliers, Without
from steelyard.metaevaluation.results import MetaResult
from steelyard.stats.ranks import ranks, whole

_SHOWN = 3  # metrics whose values a warning gives


def without(data: Data, systems: Collection[str]) -> Data:
    """Leave systems out of what is weighed."""
    kept = [i for i, name in enumerate(data.es.systems) if name not in systems]
    es = data.es.drop(systems=[name for name in data.es.systems if name in systems])
    return Data(es, data.human[kept], data.human_systems[kept], data.metrics)


def beside(run: Run, found: Sequence[MetaResult], systems: Collection[str]) -> list[MetaResult]:
    """Give results the value and place that they have without these systems."""
    kept = [i for i, name in enumerate(run.data.es.systems) if name not in systems]
    part = run.view.part(np.array(kept, dtype=np.int64))
    places = run.places([result.metric for result in found])
    values = run.meta.values(part)
    other = [values[k].value for k in places]
    n_systems = (~np.isnan(part.scores.human_systems + part.scores.systems)).sum(axis=1)
    here = whole(ranks([result.value for result in found]))
    there = whole(ranks(other))
    return [
        replace(result, without_outliers=Without(value, low, high, int(n_systems[k])))
        for result, value, low, high, k in zip(found, other, there, here, places, strict=True)
    ]


def outlier_warnings(outliers: Outliers, results: Sequence[MetaResult]) -> list[str]:
    """Warn of outliers, and say how much they matter under each meta-metric."""
    if not outliers.systems or outliers.handling == "keep":
        return []
    if outliers.handling == "drop":
        return [f"{outliers.sentence()}: left out"]
    parts = []
    for by in dict.fromkeys(result.by for result in results):
        own = [r for r in results if r.by == by and r.without_outliers is not None]
        parts += _moves(by, own) if own else []
    if not parts:
        return []
    them = "it" if len(outliers.systems) == 1 else "them"
    return [f"{outliers.sentence()}; without {them} {'; '.join(parts)}"]


def _moves(by: str, own: Sequence[MetaResult]) -> list[str]:
    """Say which values of a meta-metric move most, and whether the order of metrics stays."""
    pairs = [(r.metric, r.value, r.without_outliers.value) for r in own if r.without_outliers]
    both = [(name, a, b) for name, a, b in pairs if not np.isnan(a - b)]
    lost = [name for name, a, b in pairs if np.isnan(b) and not np.isnan(a)]
    told = []
    if both:
        both.sort(key=lambda one: (-abs(one[2] - one[1]), one[0]))
        shown = [f"{name} {a:.3f} becomes {b:.3f}" for name, a, b in both[:_SHOWN]]
        what = " (what moves most)" if len(both) > _SHOWN else ""
        order = f", {_order(both)}" if len(both) > 1 else ""
        told.append(f"{by} of {', '.join(shown)}{what}{order}")
    if lost:
        told.append(f"{by} has no value for {quoted(lost)}")
    return told


def _order(both: Sequence[tuple[str, float, float]]) -> str:
    """Say how many pairs of metrics change their order.

    Examples
    --------
    >>> _order([("a", 0.9, 0.5), ("b", 0.8, 0.6), ("c", 0.1, 0.1)])
    'and 1 of 3 pairs of metrics changes its order (first: b, not a)'
    """
    with_all, rest = (np.array([one[k] for one in both]) for k in (1, 2))
    i, j = np.triu_indices(len(both), 1)
    turned = int(((with_all[i] - with_all[j]) * (rest[i] - rest[j]) < 0).sum())
    if not turned:
        return "and the order of metrics stays"
    names = [one[0] for one in both]
    best = [min(zip(-own, names, strict=True))[1] for own in (with_all, rest)]
    first = "" if best[0] == best[1] else f" (first: {best[1]}, not {best[0]})"
    verb = "changes its" if turned == 1 else "change their"
    return f"and {turned} of {plural(len(i), 'pair')} of metrics {verb} order{first}"
