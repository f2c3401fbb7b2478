"""How large a difference of a metric counts: its smallest believable gap, in its own points."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from steelyard.metaevaluation.cube import Data
from steelyard.stats.arrays import Counts
from steelyard.stats.estimate import undefined
from steelyard.stats.judged.gap import Gap, believable_gap, system_means


def gaps_of(
    data: Data, codes: Counts | None, metrics: Sequence[str] | None = None
) -> Mapping[str, Gap]:
    """Measure the smallest believable gap of each metric.

    Means are those of segment scores, people's and the metric's, over what both scored, and more is
    better in both; noise is by unit. A metric that has scores of systems alone has no gap.
    """
    return {name: _gap(data, codes, name) for name in (metrics or data.metrics)}


def _gap(data: Data, codes: Counts | None, metric: str) -> Gap:
    human, own = data.human, data.segments(metric)
    both = ~(np.isnan(human) | np.isnan(own))
    if not both.any():
        nothing = undefined("no segment that people and the metric scored")
        return Gap(gap=nothing, slope=nothing, tau=float("nan"), n_systems=0)
    system, segment = np.nonzero(both)
    unit = None if codes is None else codes[segment]
    return believable_gap(system_means(system, human[both], own[both], len(human), unit))
