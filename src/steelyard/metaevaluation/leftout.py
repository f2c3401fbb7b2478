"""What agreement over systems is without the outlying ones.

A metric that tells one hopeless system from all others correlates with people, whatever it says of
the rest. So every meta-metric at level ``sys`` is run once more on the other systems.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

import numpy as np

from steelyard.metaevaluation.cube import Data, Run
from steelyard.metaevaluation.outliers import Without
from steelyard.metaevaluation.results import MetaResult
from steelyard.stats.ranks import ranks, whole


def without(data: Data, systems: Collection[str]) -> Data:
    """Leave systems out of what is weighed."""
    kept = [i for i, name in enumerate(data.es.systems) if name not in systems]
    es = data.es.drop(systems=[name for name in data.es.systems if name in systems])
    return Data(es, data.human[kept], data.human_systems[kept], data.metrics)


def beside(run: Run, found: Sequence[MetaResult], systems: Collection[str]) -> list[MetaResult]:
    """Give results the value and place that they have without these systems."""
    kept = [i for i, name in enumerate(run.data.es.systems) if name not in systems]
    part = run.view.of_systems(np.array(kept, dtype=np.int64))
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
