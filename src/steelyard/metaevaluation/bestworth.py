"""What differences of the best metric are worth to people, on the systems that were weighed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from steelyard.data.worth import Worth, measured_here
from steelyard.metaevaluation.cube import Data
from steelyard.metaevaluation.floor import is_sentinel
from steelyard.metaevaluation.results import MetaResult


def worth_of_best(
    data: Data, human: str, results: Sequence[MetaResult], unit: str, rng: np.random.Generator
) -> Worth | None:
    """Measure the worth of the metric that the first meta-metric of systems puts first.

    None where systems are not weighed, or are too few (:mod:`steelyard.data.worth`).
    """
    own = [
        result.metric
        for result in results
        if result.level == "sys" and not np.isnan(result.value) and not is_sentinel(result.metric)
    ]
    return measured_here(data.es, human, own[0], rng, unit=unit) if own else None
