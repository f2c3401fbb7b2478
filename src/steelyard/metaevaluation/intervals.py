"""Intervals of values and ranks of one meta-metric: the resamples, and why there may be none."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from steelyard.core.words import plural
from steelyard.metaevaluation.data import Data, Run
from steelyard.metaevaluation.results import MetaResult, units
from steelyard.stats.arrays import Floats, row_means, same_digits
from steelyard.stats.kendall.cellpairs import MAX_PAIRS, MAX_SEGMENTS
from steelyard.stats.kendall.cellreplicates import cell_replicates
from steelyard.stats.kendall.itemreplicates import item_replicates
from steelyard.stats.permutation.corpus import bootstrap_scores
from steelyard.stats.ranks import SINGLE, ranks
from steelyard.stats.resampling import bootstrap

_LISTED = 5  # metrics that a warning names


@dataclass(frozen=True, slots=True)
class Resamples:
    """How often each segment and each system occurs in each resample; None where each does once."""

    unit: str
    segments: Floats | None = None
    systems: Floats | None = None
    drawn: str = "segment"  # segments are drawn one by one, by document, or so many together
    n_units: int = 2  # judged units to draw from: of one alone, every resample is the same


def with_intervals(
    run: Run, found: list[MetaResult], resamples: Resamples | None
) -> list[MetaResult]:
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
        return found
    able = resampled_metrics(run, found, resamples)
    if able:
        found, undefined = _placed(found, able, replicates(run, able, resamples))
        if undefined:
            reason = "it is undefined in most resamples"
            run.warnings.append(_warning(run, resamples, reason, undefined))
        run.warnings.extend(_outside(run, found, resamples))
    return found


def _outside(run: Run, found: list[MetaResult], resamples: Resamples) -> list[str]:
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
    how = run.meta.name if run.level == "sys" else f"{run.meta.name} grouped by {run.group_by}"
    rest = len(beyond) - _LISTED
    shown = ", ".join(beyond[:_LISTED]) + (f" and {plural(rest, 'other')}" if rest > 0 else "")
    drawn = units(resamples.unit, resamples.drawn)
    text = f"{how}: the interval does not hold the value of {shown}: resamples repeat some {drawn} "
    return [f"{text}and lack others, so they are noisier than the data; do not rely on it"]


def resampled_metrics(run: Run, found: list[MetaResult], resamples: Resamples) -> list[str]:
    """List the metrics with a value that can be resampled; warn of the others."""
    why: dict[str, list[str]] = {}
    able = []
    for result in found:
        if np.isnan(result.value):
            continue  # its note says why there is nothing to resample
        reason = _obstacle(run, result.metric, resamples)
        if reason is None:
            able.append(result.metric)
        else:
            why.setdefault(reason, []).append(result.metric)
    run.warnings.extend(_warning(run, resamples, reason, names) for reason, names in why.items())
    return able


def _placed(
    found: list[MetaResult], able: list[str], values: Floats
) -> tuple[list[MetaResult], list[str]]:
    """Give results their intervals, and the metrics that turned out to have none."""
    low, high = bootstrap.interval(values)
    best, worst = bootstrap.interval(ranks(values, close=SINGLE))
    where = {name: i for i, name in enumerate(able) if not np.isnan(low[i])}
    results = []
    for result in found:
        i = where.get(result.metric)
        if i is None:
            results.append(result)
            continue
        places = (int(best[i]), int(np.ceil(worst[i])))
        results.append(replace(result, ci=(float(low[i]), float(high[i])), rank_ci=places))
    return results, [name for name in able if name not in where]


def _warning(run: Run, resamples: Resamples, reason: str, names: list[str]) -> str:
    how = run.meta.name if run.level == "sys" else f"{run.meta.name} grouped by {run.group_by}"
    shown = ", ".join(f"'{name}'" for name in sorted(names)[:_LISTED])
    rest = len(names) - _LISTED
    shown += f" and {plural(rest, 'other')}" if rest > 0 else ""
    return f"{how}: no interval over {units(resamples.unit, resamples.drawn)} for {shown}: {reason}"


def _obstacle(run: Run, metric: str, resamples: Resamples) -> str | None:
    """Say why a metric that has a value can't have an interval, None if it can."""
    if resamples.n_units == 1:
        return "there is only one to draw"
    if run.meta.name == "spa":
        return None
    if run.level == "sys":
        fixed = None if resamples.segments is None else _fixed_scores(run.data, metric)
        done = fixed is not None or resamples.systems is None
    else:
        fixed, done = None, _whole_groups(run, resamples)
    if done:
        return fixed
    statistic = run.known_statistic(metric)
    if statistic is None:
        return "a function of your own has no definition for copies of systems or of cells"
    if statistic.by_pairs and run.group_by in ("none", "system"):
        return _too_many_pairs(run, metric, resamples)
    return None


def _fixed_scores(data: Data, metric: str) -> str | None:
    if np.isnan(data.human).all():
        return "the human score has system scores only (--intervals system)"
    if not same_digits(data.human_systems, row_means(data.human)):
        return "the official human scores are not means of segments (--intervals system)"
    if not data.es.scores[metric].has_segments:
        return "there are system scores only (--intervals system)"
    if data.statistics(metric) is None and _behind(data, metric) is None:
        return "official system scores are not means of segments (--intervals system)"
    return None


def _too_many_pairs(run: Run, metric: str, resamples: Resamples) -> str | None:
    """Pairs of cells take time that grows with their number."""
    if run.group_by == "none" and resamples.segments is not None and resamples.systems is not None:
        return "pairs of cells are counted over segments or systems, not both"
    known = ~np.isnan(run.data.segments(metric))
    segments = int(known.any(axis=0).sum())
    if resamples.segments is not None and segments > MAX_SEGMENTS:
        return f"{segments} segments have too many pairs (at most {MAX_SEGMENTS} segments)"
    pairs = known.sum() ** 2 / 2 if run.group_by == "none" else (known.sum(axis=1) ** 2).sum() / 2
    return f"{pairs:.2g} pairs of cells are too many" if pairs > MAX_PAIRS else None


def _behind(data: Data, metric: str) -> Floats | None:
    """Segment scores whose means are the system scores, None if official scores are something else.

    Official scores are often means over all segments, also those that people did not judge.
    """
    table = data.es.scores[metric]
    judged = data.segments(metric)
    if table.system_scores is None:
        return judged
    official = data.systems(metric)
    for scores in (judged, table.oriented):
        if same_digits(official, row_means(scores)):
            return scores
    return None


def _whole_groups(run: Run, resamples: Resamples) -> bool:
    """Whether groups are drawn as they are, so that each keeps its value."""
    if not run.by_mean:
        return False
    if run.group_by == "item":
        return resamples.systems is None
    return run.group_by == "system" and resamples.segments is None


def replicates(run: Run, names: list[str], resamples: Resamples) -> Floats:
    """Values of each metric in each resample: resamples x metrics.

    Each metric is computed by itself, so that identical ones stay so to the last bit.
    """
    data, u, w = run.data, resamples.segments, resamples.systems
    if run.meta.name == "spa":
        stack = np.stack([data.additive(name) for name in names])
        pairs = None if w is None else bootstrap.pair_weights(w)
        return bootstrap.bootstrap_spa(
            data.human, stack, segments=u, pairs=pairs, blocks=run.blocks
        )
    if run.level == "sys":
        human = (
            data.human_systems[None, :] if u is None else bootstrap.bootstrap_means(data.human, u)
        )
        columns = [run.on_systems(human, _system_scores(data, name, u), w) for name in names]
    else:
        columns = [_of_segments(run, name, resamples) for name in names]
    return np.stack(columns, axis=1)


def _system_scores(data: Data, metric: str, segments: Floats | None) -> Floats:
    """System scores in each resample, a single row if segments stay as they are."""
    if segments is None:
        return data.systems(metric)[None, :]
    stats = data.statistics(metric)
    if stats is not None:
        return data.sign(metric) * bootstrap_scores(stats, segments)
    behind = _behind(data, metric)
    assert behind is not None
    return bootstrap.bootstrap_means(behind, segments)


def _of_segments(run: Run, metric: str, resamples: Resamples) -> Floats:
    u, w = resamples.segments, resamples.systems
    if _whole_groups(run, resamples):
        counts = u if run.group_by == "item" else w
        assert counts is not None
        return bootstrap.bootstrap_groups(*run.group_stacks([metric]), counts)[:, 0]
    statistic = run.known_statistic(metric)
    assert statistic is not None
    human, scores = run.data.human, run.data.segments(metric)
    if run.group_by == "item":
        return item_replicates(statistic, human, scores, w, u)
    by_system = run.group_by == "system"
    return cell_replicates(statistic, human, scores, by_system=by_system, segments=u, systems=w)
