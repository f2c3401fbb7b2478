"""How large a difference of a metric counts: its believable gap, and what it is worth to people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from steelyard.metaevaluation.agreement_curve import curve_of_set
from steelyard.metaevaluation.cube import Data
from steelyard.metaevaluation.floor import is_sentinel
from steelyard.metaevaluation.results import MetaResult
from steelyard.stats.arrays import Counts
from steelyard.stats.curves import AgreementCurve
from steelyard.stats.estimate import undefined
from steelyard.stats.judged.gap import Gap, believable_gap, system_means


def gaps_of(data: Data, codes: Counts | None) -> Mapping[str, Gap]:
    """Measure the smallest believable gap of each metric.

    Means are those of segment scores, human and of the metric, over what both scored; higher is
    better in both, noise is by unit. A metric with system scores alone has no gap.
    """
    return {name: _gap(data, codes, name) for name in data.metrics}


def _gap(data: Data, codes: Counts | None, metric: str) -> Gap:
    human, scores = data.human, data.segments(metric)
    both = ~(np.isnan(human) | np.isnan(scores))
    if not both.any():
        nothing = undefined("no segment that people and the metric scored")
        return Gap(gap=nothing, slope=nothing, tau=float("nan"), n_systems=0)
    system, segment = np.nonzero(both)
    unit = None if codes is None else codes[segment]
    return believable_gap(system_means(system, human[both], scores[both], len(human), unit))


def worth_of_best(
    data: Data, human: str, results: Sequence[MetaResult], unit: str, rng: np.random.Generator
) -> AgreementCurve | None:
    """Measure the worth of the metric that the first meta-metric of systems puts first.

    None where systems are not weighed, or are too few.
    """
    metrics = (
        result.metric
        for result in results
        if result.level == "sys" and not np.isnan(result.value) and not is_sentinel(result.metric)
    )
    best = next(metrics, None)
    return None if best is None else curve_of_set(data.es, human, best, rng, unit=unit)
