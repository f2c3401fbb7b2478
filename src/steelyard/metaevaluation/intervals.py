"""Intervals of values and ranks of one meta-metric: the resamples, and why there may be none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from steelyard.core.text import listed
from steelyard.core.warnings import TypedWarning
from steelyard.metaevaluation.cube import Run
from steelyard.metaevaluation.results import MetaResult, units
from steelyard.metaevaluation.words import LISTED, quoted
from steelyard.stats.arrays import Floats
from steelyard.stats.metametrics.base import Resamples
from steelyard.stats.ranks import SINGLE, ranks
from steelyard.stats.resampling import bootstrap


def with_intervals(
    run: Run, found: list[MetaResult], resamples: Resamples | None
) -> tuple[list[MetaResult], list[str]]:
    """Add 95 % intervals of values and of ranks; warn of metrics that can't have one.

    - At level ``sys``, the statistic is computed anew from the means over the resampled segments,
      each system counting as often as it was drawn. Official system scores are resampled if they
      are the means of segment scores, up to rounding.
    - Grouped by ``item``, resampled segments keep their values; where systems are resampled, the
      value of each segment is computed anew.
    - Grouped by ``none`` or ``system``, the cells count as often as their segment and system.

    Ranks are taken among the metrics that have an interval.
    """
    if resamples is None:
        return found, []
    able, warnings = resampled_metrics(run, found, resamples)
    if able:
        found, undefined = placed(found, able, replicates(run, able, resamples))
        if undefined:
            reason = "it is undefined in most resamples"
            warnings.append(without_interval(run, resamples, reason, undefined))
        warnings += outside(run, found, resamples)
    return found, warnings


def outside(run: Run, found: list[MetaResult], resamples: Resamples) -> list[str]:
    """Name metrics whose value their interval does not hold: resamples are not like the data.

    A resample repeats some units and lacks others, which adds noise: a statistic near its best, of
    few units, falls in nearly all of them.
    """
    slack = 5e-4  # p-values inside resampled soft accuracies are approximations
    beyond = [
        f"'{r.metric}' ({r.value:.3f})"
        for r in found
        if r.ci is not None and not r.ci[0] - slack <= r.value <= r.ci[1] + slack
    ]
    if not beyond:
        return []
    shown = listed(beyond, LISTED, rest="other")
    drawn = units(resamples.unit, resamples.drawn)
    text = f"{run.label}: the interval does not hold the value of {shown}: resamples repeat some"
    return [f"{text} {drawn} and lack others, so they are noisier than the data; do not rely on it"]


def resampled_metrics(
    run: Run, found: list[MetaResult], resamples: Resamples
) -> tuple[list[str], list[str]]:
    """List the metrics with a value that can be resampled, and warnings of the others."""
    why: dict[str, list[str]] = {}
    able = []
    for result in found:
        if np.isnan(result.value):
            continue  # its note says why there is nothing to resample
        reason: str | None = "there is only one to draw"
        if resamples.n_units != 1:
            reason = run.meta.obstacle(run.view, run.data.places[result.metric], resamples)
        if reason is None:
            able.append(result.metric)
        else:
            why.setdefault(reason, []).append(result.metric)
    return able, [without_interval(run, resamples, reason, names) for reason, names in why.items()]


def placed(
    found: list[MetaResult], able: list[str], values: Floats
) -> tuple[list[MetaResult], list[str]]:
    """Give results their intervals, and the metrics that turned out to have none."""
    low, high = bootstrap.interval(values)
    best, worst = bootstrap.interval(ranks(values, close=SINGLE))
    where = {name: i for i, name in enumerate(able) if not np.isnan(low[i])}

    def placed(result: MetaResult) -> MetaResult:
        if result.metric not in where:
            return result
        i = where[result.metric]
        places = (int(best[i]), int(np.ceil(worst[i])))
        return replace(result, ci=(float(low[i]), float(high[i])), rank_ci=places)

    return [placed(result) for result in found], [name for name in able if name not in where]


def without_interval(run: Run, resamples: Resamples, reason: str, names: list[str]) -> str:
    """Say why some metrics have no interval."""
    drawn = units(resamples.unit, resamples.drawn)
    text = f"{run.label}: no interval over {drawn} for {quoted(sorted(names))}: {reason}"
    return TypedWarning(text, f"no-interval: {reason}")


def replicates(run: Run, names: Sequence[str], resamples: Resamples) -> Floats:
    """Values of each metric in each resample: resamples x metrics."""
    return run.meta.replicates(run.view, run.places(names), resamples)
