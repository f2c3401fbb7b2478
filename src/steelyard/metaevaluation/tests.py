"""Tests of differences between metrics, and intervals over segments or systems."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import comb

import numpy as np

from steelyard.core.errors import DegenerateError
from steelyard.core.warnings import TypedWarning
from steelyard.data.units import Units
from steelyard.metaevaluation.data import Data, Run
from steelyard.metaevaluation.options import MetaOptions, MetricTest, Scheme
from steelyard.metaevaluation.results import MetaResult, Significance, quoted, resampled_units
from steelyard.stats import clusters
from steelyard.stats.arrays import Floats
from steelyard.stats.metametrics import swap_tests
from steelyard.stats.metametrics.base import Resamples
from steelyard.stats.metametrics.swap_tests import MetricComparison, Null, Swaps
from steelyard.stats.paired.corrections import adjust_pairs
from steelyard.stats.ranks import SINGLE, ranks
from steelyard.stats.resampling import bootstrap

#: True nulls that are rejected at 5%, where that is not 3% to 7%, by scheme and level; measured on
#: metrics of a shared task (the documentation has all of them).
_MEASURED = {
    ("cells", "sys"): "1%",
    ("williams", "sys"): "7%",
    ("cells", "seg"): "20%",
    ("systems", "seg"): "23%",
    ("williams", "seg"): "25%",
}
VALID: Scheme = "inputs"  # the scheme that keeps its level
KEEPS = '(scheme="inputs" keeps its level)'
_WORK = 3e8  # pairs of metrics x pairs of systems x draws that cost some seconds
_SLOW = 200  # draws of a statistic that is computed anew in each
_UNDEFINED = "it is undefined in most resamples"


def compare_metrics(
    run: Run, results: list[MetaResult], test: MetricTest, stream: np.random.Generator
) -> tuple[Significance | None, list[str]]:
    """Test the differences of all pairs of metrics that have a value, best first; and warnings."""
    scheme, name = test.scheme, run.meta.name
    metrics = [r.metric for r in results if not np.isnan(r.value)]
    if scheme != "williams":
        metrics = swappable(run, results)
    if len(metrics) < 2:
        return None, []
    comparison, warnings = _compare(run, metrics, test, stream)
    if comparison is None:
        return None, [f"{run.label}: there is no test of differences by '{scheme}'"]
    if np.isnan(comparison.p).all():
        why = "there is no segment that all systems and metrics have (common=True)"
        return None, [*warnings, f"{name}: no test of differences by '{scheme}': {why}"]
    warnings += _other_scores(run, results, metrics, comparison)
    reason = caveat(run, scheme)
    significance = replace(significance_of(metrics, comparison, test), note=reason)
    if reason is not None and scheme != VALID:
        warnings.append(TypedWarning(f"{name}: {reason} {KEEPS}", "level-of-test"))
    return significance, warnings


def significance_of(
    metrics: Sequence[str], comparison: MetricComparison, test: MetricTest
) -> Significance:
    """Correct p-values as asked, and keep how they were made."""
    adjusted = None
    if test.correction != "none":
        symmetric = test.alternative == "two-sided"
        adjusted = adjust_pairs(comparison.p, test.correction, symmetric=symmetric)
    return Significance(tuple(metrics), comparison.p, comparison.scheme, comparison.n_resamples,
                        test.alternative, adjusted, test.correction)  # fmt: skip


def caveat(run: Run, scheme: str) -> str | None:
    """Say where a scheme rejects too many true nulls, or far too few; None if it does not."""
    share = _MEASURED.get((scheme, run.view.level))
    if share is None:
        return run.meta.caveat
    return f"scheme {scheme} rejects about {share} of true nulls at 5% if metrics err on segments"


def _other_scores(
    run: Run, results: list[MetaResult], metrics: list[str], comparison: MetricComparison
) -> list[str]:
    """Say where what was tested is not what is shown: official scores that are no means."""
    if run.view.level != "sys" or run.meta.on_cells:
        return []
    shown = {r.metric: r.value for r in results}
    other = [
        name
        for name, value in zip(metrics, comparison.values, strict=True)
        if abs(value - shown[name]) > 1e-6 and run.data.es.scores[name].system_scores is not None
    ]
    text = f"{run.meta.name}: tests use segment means, not the official scores of {quoted(other)}"
    return [TypedWarning(text, "official-scores", other)] if other else []


def swappable(run: Run, results: Sequence[MetaResult]) -> list[str]:
    """Return the metrics whose segments can be swapped."""
    names = [r.metric for r in results if not np.isnan(r.value)]
    return [name for name in names if run.data.es.scores[name].has_segments]


def _compare(
    run: Run,
    metrics: list[str],
    test: MetricTest,
    stream: np.random.Generator,
) -> tuple[MetricComparison | None, list[str]]:
    exact = run.meta.exact(run.view, run.index(metrics), test.scheme, test.alternative)
    if exact is not None or test.scheme not in swap_tests.SCHEMES:
        return exact, []
    warnings = []
    if run.meta.recomputed(run.view, test.scheme) and test.n_resamples is None:
        least = f"no p-value is below {1 / (_SLOW + 1):.3f} (n_resamples=... for more)"
        warnings.append(f"{run.meta.name}: tested with {_SLOW} slow draws, so {least}")
        test = replace(test, n_resamples=_SLOW)
    return draw_null(run, metrics, test, stream).compare(test.alternative), warnings


def draw_null(
    run: Run,
    metrics: list[str],
    test: MetricTest,
    stream: np.random.Generator,
) -> Null:
    """Draw the differences of metrics under a scheme of swaps, for all pairs."""
    work = max(1, comb(len(metrics), 2) * comb(run.data.es.n_systems, 2))
    k = test.n_resamples or (10_000 if work * 10_000 < _WORK else 1000)
    swaps = Swaps(scheme=test.scheme, n=k, rng=stream, blocks=run.view.blocks)
    return run.meta.null(run.view, run.index(metrics), swaps)


def ranked(results: list[MetaResult], test: Significance, alpha: float) -> list[MetaResult]:
    """Give each tested metric its cluster (greedy, as the shared tasks do) and its letters."""
    p = test.decisive
    rank = dict(zip(test.metrics, clusters.greedy_clusters(p, alpha).tolist(), strict=True))
    try:
        letters = dict(zip(test.metrics, clusters.compact_letters(p, alpha), strict=True))
    except DegenerateError:  # too many overlapping groups to letter: the p-values remain
        letters = {}
    return [replace(r, rank=rank.get(r.metric), letters=letters.get(r.metric)) for r in results]


def draw_resamples(
    data: Data, options: MetaOptions, units: Units, rng: np.random.Generator
) -> Resamples:
    """Draw systems, and segments in the units that also change sign and are swapped together."""
    n, n_systems, intervals = options.n_bootstrap, data.es.n_systems, str(options.intervals)
    segments = systems = None
    least = n_systems  # of what is drawn
    if intervals != "system":
        segments = bootstrap.segment_counts(n, data.es.n_segments, rng, units.codes)
        least = units.n
    if intervals in ("system", "both"):
        systems = bootstrap.draw_counts(n, n_systems, rng)
        least = min(least, n_systems)
    return Resamples(intervals, segments, systems, units.name, least)


def with_intervals(
    run: Run, results: list[MetaResult], draws: Resamples | None
) -> tuple[list[MetaResult], list[str]]:
    """Add 95% intervals of values and of ranks; warn of metrics that can't have one.

    - At level ``sys``, the statistic is computed anew from the means over the resampled segments,
      each system counting as often as it was drawn. Official system scores are resampled if they
      are the means of segment scores, up to rounding.
    - Grouped by ``item``, resampled segments keep their values; where systems are resampled, the
      value of each segment is computed anew.
    - Grouped by ``none`` or ``system``, the cells count as often as their segment and system.

    Ranks are taken among the metrics that have an interval.
    """
    if draws is None:
        return results, []
    able, warnings = resampled_metrics(run, results, draws)
    if not able:
        return results, warnings
    values = replicates(run, able, draws)
    low, high = bootstrap.interval(values)
    best, worst = bootstrap.interval(ranks(values, close=SINGLE))
    defined = {name: i for i, name in enumerate(able) if not np.isnan(low[i])}
    placed, beyond = [], []
    for r in results:
        i = defined.get(r.metric)
        if i is not None:
            ends = (int(best[i]), int(np.ceil(worst[i])))
            r = replace(r, ci=(float(low[i]), float(high[i])), rank_ci=ends)  # noqa: PLW2901
            # p-values inside resampled soft accuracies are approximations.
            if not low[i] - 5e-4 <= r.value <= high[i] + 5e-4:
                beyond.append(r.metric)
        placed.append(r)
    undefined = [name for name in able if name not in defined]
    if undefined:
        warnings.append(_no_interval(run, draws, _UNDEFINED, undefined))
    if beyond:  # a resample of few units is noisier than the data: a value near its best falls
        named = f"{run.label}: the interval misses the value of {quoted(beyond)}"
        units = resampled_units(draws.unit, draws.drawn)
        warnings.append(f"{named}: resamples repeat {units}; do not rely on it")
    return placed, warnings


def resampled_metrics(
    run: Run, results: Sequence[MetaResult], resamples: Resamples
) -> tuple[list[str], list[str]]:
    """List the metrics with a value that can be resampled, and warnings of the others."""
    why: dict[str, list[str]] = {}
    able = []
    for result in results:
        if np.isnan(result.value):
            continue  # its note says why there is nothing to resample
        reason: str | None = "there is only one to draw"
        if resamples.n_units != 1:
            reason = run.meta.obstacle(run.view, run.data.index[result.metric], resamples)
        if reason is None:
            able.append(result.metric)
        else:
            why.setdefault(reason, []).append(result.metric)
    return able, [_no_interval(run, resamples, reason, names) for reason, names in why.items()]


def _no_interval(run: Run, resamples: Resamples, reason: str, names: list[str]) -> str:
    drawn = resampled_units(resamples.unit, resamples.drawn)
    text = f"{run.label}: no interval over {drawn} for {quoted(sorted(names))}: {reason}"
    return TypedWarning(text, f"no-interval: {reason}")


def replicates(run: Run, names: Sequence[str], resamples: Resamples) -> Floats:
    """Return the values of each metric in each resample: resamples x metrics."""
    return run.meta.replicates(run.view, run.index(names), resamples)
