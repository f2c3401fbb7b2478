"""What differences of the best metric are worth to people, on the systems that were weighed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from steelyard.data.agreement_curve import curve_of_set
from steelyard.metaevaluation.cube import Data
from steelyard.metaevaluation.floor import is_sentinel
from steelyard.metaevaluation.results import MetaResult
from steelyard.stats.curves import AgreementCurve


def worth_of_best(
    data: Data, human: str, results: Sequence[MetaResult], unit: str, rng: np.random.Generator
) -> AgreementCurve | None:
    """Measure the worth of the metric that the first meta-metric of systems puts first.

    None where systems are not weighed, or are too few (:mod:`steelyard.data.agreement_curve`).
    """
    own = [
        result.metric
        for result in results
        if result.level == "sys" and not np.isnan(result.value) and not is_sentinel(result.metric)
    ]
    return curve_of_set(data.es, human, own[0], rng, unit=unit) if own else None
