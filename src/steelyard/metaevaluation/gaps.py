"""How large a difference of a metric counts: its smallest believable gap, in its own points.

Measured when it is asked for: most who weigh metrics look at a few of them.
"""

from __future__ import annotations

import numpy as np

from steelyard.metaevaluation.cube import Data
from steelyard.stats.arrays import Counts
from steelyard.stats.estimate import undefined
from steelyard.stats.judged.believable import Gap, believable_gap, system_means


class Gaps:
    """The smallest believable gaps of metrics, each measured once.

    Means are those of segment scores, people's and the metric's, over what both scored; noise is by
    unit. A metric that has scores of systems alone has none.
    """

    def __init__(self, data: Data, codes: Counts | None) -> None:
        self._data, self._codes = data, codes
        self._found: dict[str, Gap] = {}

    def of(self, metric: str) -> Gap:
        """Give the gap of a metric."""
        if metric not in self._found:
            self._found[metric] = self._measured(metric)
        return self._found[metric]

    def _measured(self, metric: str) -> Gap:
        human, own = self._data.human, self._data.segments(metric)
        both = ~(np.isnan(human) | np.isnan(own))
        if not both.any():
            nothing = undefined("no segment that people and the metric scored")
            return Gap(gap=nothing, slope=nothing, tau=float("nan"), n_systems=0)
        system, segment = np.nonzero(both)
        unit = None if self._codes is None else self._codes[segment]
        return believable_gap(system_means(system, human[both], own[both], len(human), unit))
