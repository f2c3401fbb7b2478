"""Tests of differences between metrics, and intervals over segments, systems or raters."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from steelyard.core.errors import DegenerateError, UsageError
from steelyard.core.text import plural
from steelyard.core.warnings import TypedWarning
from steelyard.data.evalset import EvalSet
from steelyard.data.judgements import Ratings
from steelyard.data.segments import positions
from steelyard.data.units import (
    FEWEST,
    RATER,
    SEGMENT,
    UnitEffect,
    Units,
    rater_groups,
    too_few,
    too_few_groups,
)
from steelyard.metaevaluation.data import Data, Run
from steelyard.metaevaluation.options import POOLED, MetaOptions, MetricTest, Scheme
from steelyard.metaevaluation.results import MetaResult, Significance, quoted, resampled_units
from steelyard.stats import clusters
from steelyard.stats.arrays import Counts, Floats, ratio, row_means, same_digits
from steelyard.stats.metametrics import swap_tests
from steelyard.stats.metametrics.base import Resamples
from steelyard.stats.metametrics.swap_tests import MetricComparison, Null, Swaps
from steelyard.stats.paired.corrections import adjust_pairs
from steelyard.stats.permutation.pvalues import pair_index
from steelyard.stats.ranks import SINGLE, ranks
from steelyard.stats.resampling import bootstrap

#: True nulls that are rejected at 5%, where that is not 3% to 7%, by scheme and level; measured on
#: metrics of a shared task (the documentation has all of them).
_MEASURED = {
    ("cells", "sys"): "1%",
    ("rows+columns", "sys"): "1%",
    ("williams", "sys"): "7%",
    ("cells", "seg"): "20%",
    ("systems", "seg"): "23%",
    ("rows+columns", "seg"): "20%",
    ("williams", "seg"): "25%",
}
VALID: Scheme = "inputs"  # the scheme that keeps its level
KEEPS = '(scheme="inputs" keeps its level)'
_WORK = 3e8  # pairs of metrics x pairs of systems x draws that cost some seconds
_SLOW = 200  # draws of a statistic that is computed anew in each
_RATERS = Resamples("unit", drawn=RATER)  # as messages name them
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
    if reason is None or scheme == VALID:
        return significance, warnings
    # A scheme that may not keep its level is accompanied by the one that does.
    other = replace(test, scheme=VALID)
    valid, more = _compare(run, metrics, other, stream.spawn(1)[0], slow=False)
    if valid is None:
        return significance, [*warnings, *more, f"{name}: {reason} {KEEPS}"]
    significance = replace(significance, valid=significance_of(metrics, valid, other))
    i, j = pair_index(len(metrics))
    asked, by_inputs = (
        int((np.fmin(p[i, j], p[j, i]) <= test.alpha).sum())
        for p in (each.decisive for each in (significance, significance.valid) if each)
    )
    text = f"{name}: {reason}; {plural(asked, 'difference')} significant by it, {by_inputs} by "
    return significance, [*warnings, *more, TypedWarning(f"{text}inputs", "level-of-test")]


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
    if scheme == "pairs":
        why = "takes pairs that share systems as independent"
        return f"scheme pairs {why} and rejects about 18% of true nulls at 5%"
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
    *,
    slow: bool = True,
) -> tuple[MetricComparison | None, list[str]]:
    exact = run.meta.exact(run.view, run.index(metrics), test.scheme, test.alternative)
    if exact is not None or test.scheme not in swap_tests.SCHEMES:
        return exact, []
    warnings = []
    if run.meta.recomputed(run.view, test.scheme):
        if not slow:
            return None, []
        if test.n_resamples is None:
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
    work = max(1, _pairs(len(metrics)) * _pairs(run.data.es.n_systems))
    k = test.n_resamples or (10_000 if work * 10_000 < _WORK else 1000)
    swaps = Swaps(scheme=test.scheme, n=k, rng=stream, blocks=run.view.blocks)
    return run.meta.null(run.view, run.index(metrics), swaps)


def _pairs(n: int) -> float:
    return n * (n - 1) / 2


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
    run: Run, results: list[MetaResult], draws: RaterDraws | Resamples | None
) -> tuple[list[MetaResult], list[str]]:
    """Add 95% intervals of values and of ranks; warn of metrics that can't have one.

    - At level ``sys``, the statistic is computed anew from the means over the resampled segments,
      each system counting as often as it was drawn. Official system scores are resampled if they
      are the means of segment scores, up to rounding.
    - Grouped by ``item``, resampled segments keep their values; where systems are resampled, the
      value of each segment is computed anew.
    - Grouped by ``none`` or ``system``, the cells count as often as their segment and system.
    - Where raters are drawn, human scores are averaged anew, and metrics and outputs stay.

    Ranks are taken among the metrics that have an interval.
    """
    if draws is None:
        return results, []
    if isinstance(draws, RaterDraws):
        able, warnings = _rater_metrics(run, results, draws)
        drawn = _RATERS
    else:
        able, warnings = resampled_metrics(run, results, draws)
        drawn = draws
    if not able:
        return results, warnings
    if isinstance(draws, RaterDraws):
        values = run.meta.rejudged(run.view, run.index(able), draws)
    else:
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
        warnings.append(_no_interval(run, drawn, _UNDEFINED, undefined))
    if beyond:  # a resample of few units is noisier than the data: a value near its best falls
        named = f"{run.label}: the interval misses the value of {quoted(beyond)}"
        units = resampled_units(drawn.unit, drawn.drawn)
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


# Raters: who is drawn anew for intervals, or whose errors human p-values have.


def segment_unit(unit: str) -> str:
    """Return the unit of segments: raters are none of them.

    Examples
    --------
    >>> segment_unit("rater"), segment_unit("document+rater"), segment_unit("5")
    ('segment', 'document', '5')
    """
    return SEGMENT if unit == RATER else unit.removesuffix(f"+{RATER}")


def _of_raters(unit: str) -> bool:
    return unit == RATER or unit.endswith(f"+{RATER}")


def asks_for_raters(options: MetaOptions) -> str | None:
    """Return the option that asks for raters, None where none does."""
    if options.intervals == RATER:
        return f'intervals="{RATER}"'
    return f'unit="{options.unit}"' if _of_raters(options.unit) else None


@dataclass(frozen=True, slots=True, eq=False)
class Judgements:
    """The ratings behind the human scores of some data: oriented values, cells and raters."""

    value: Floats
    cell: Counts
    rater: Counts
    n_raters: int
    shape: tuple[int, int]

    @classmethod
    def behind(cls, data: Data, human: str, ratings: Ratings) -> Judgements:
        """Return the rows behind the scores; ratings whose means differ from them are refused."""
        es = data.es
        system = positions(ratings.systems, es.systems)[ratings.system]
        segment = positions(ratings.segments, es.segments.ids)[ratings.segment]
        keep = (system >= 0) & (segment >= 0) & ~np.isnan(ratings.value)
        keep &= ratings.is_item("system", "repeat")
        raters, rater = np.unique(ratings.rater[keep], return_inverse=True)
        value = ratings.value[keep] * data.sign(human)
        cell = (system * es.n_segments + segment)[keep]
        shape = (es.n_systems, es.n_segments)
        judgements = cls(value, cell, rater.astype(np.int64), len(raters), shape)
        (again,) = judgements.humans(np.ones((1, max(len(raters), 1))))
        slack = 1e-6 * (float(np.nanmax(np.abs(data.human), initial=0.0)) or 1.0)
        off = int((~np.isclose(again, data.human, rtol=0, atol=slack, equal_nan=True)).sum())
        if off:
            raise UsageError(
                f"the ratings of '{human}' do not average to its scores on {off:,} of "
                f"{again.size:,} outputs: raters can't be drawn anew"
            )
        return judgements

    def humans(self, weights: Floats) -> Iterator[Floats]:
        """Average human scores anew, each rater counting so often: systems x segments each."""
        size = self.shape[0] * self.shape[1]
        for counts in weights:
            w = counts[self.rater]
            total = np.bincount(self.cell, weights=w * self.value, minlength=size)
            n = np.bincount(self.cell, weights=w, minlength=size)
            yield ratio(total, n).reshape(self.shape)


def ratings_behind(
    es: EvalSet, human: str, options: MetaOptions, data: Data
) -> tuple[Ratings | None, Data]:
    """Return the ratings, where raters are asked for, and data that have them if they are units."""
    asked = asks_for_raters(options)
    if asked is None:
        return None, data
    if options.level in POOLED:
        raise UsageError(f'{asked}: ratings are of segments, not of level "{options.level}"')
    ratings = es.ratings.get(human)
    if ratings is None:
        raise UsageError(
            f"{asked}: the ratings behind '{human}' are not known; give raw ratings instead of "
            "their means (protocol=...)"
        )
    if np.isnan(ratings.value).all():
        raise UsageError(
            f"{asked}: the ratings of '{human}' are errors without a value; "
            "human_scores(...).rated_set has their cost"
        )
    if not _of_raters(options.unit):
        return ratings, data
    Judgements.behind(data, human, ratings)  # which checks that these are the ratings
    codes = rater_groups(ratings, data.es.systems, data.es.segments.ids)
    few = too_few_groups(codes[~np.isnan(data.human)], ratings)
    if few is not None:
        draws = 'intervals="rater" draws the people themselves'
        raise UsageError(f'unit="{options.unit}": {few}; {draws}')
    return ratings, replace(data, raters=codes, crossed=options.unit != RATER)


def people_unit(data: Data, unit: str, units: Units) -> UnitEffect:
    """Say what is independent in the human score, and what that changes."""
    if data.raters is None:
        return units.effect(data.human)
    if unit == RATER:
        n = len(np.unique(data.raters[~np.isnan(data.human)]))
        return UnitEffect(RATER, n, float("nan"))
    return UnitEffect(f"{units.name}+{RATER}", units.n, float("nan"))


@dataclass(frozen=True, slots=True, eq=False)
class RaterDraws:
    """How often each rater counts in each resample, and the human scores that follow."""

    judged: Judgements
    weights: Floats

    @classmethod
    def of(
        cls,
        data: Data,
        human: str,
        ratings: Ratings | None,
        options: MetaOptions,
        rng: np.random.Generator,
    ) -> RaterDraws | None:
        """Draw raters; None where nobody asks for them."""
        as_units = _of_raters(options.unit) and options.intervals == "unit"
        if ratings is None or not (options.intervals == RATER or as_units):
            return None
        judged = Judgements.behind(data, human, ratings)
        return cls(judged, bootstrap.draw_counts(options.n_bootstrap, judged.n_raters, rng))

    def __iter__(self) -> Iterator[Floats]:
        return self.judged.humans(self.weights)


def _rater_metrics(
    run: Run, results: Sequence[MetaResult], draws: RaterDraws
) -> tuple[list[str], list[str]]:
    """List the metrics that can have an interval over raters: all that have a value, or none."""
    names = [result.metric for result in results if not np.isnan(result.value)]
    warnings, n, reason = [], draws.judged.n_raters, None
    if names and n < FEWEST:
        warnings.append(f"{too_few(n, RATER)}: any interval over them is rough")
    if n < 2:
        reason = "there is only one to draw"
    elif run.data.raters is not None and run.meta.on_cells:
        reason = 'its p-values by rater are not computed anew (intervals="rater", another unit)'
    elif not same_digits(run.data.human_systems, row_means(run.data.human)):
        reason = "the official human scores are not means of segments"
    if reason is None or not names:
        return names, warnings
    return [], [*warnings, _no_interval(run, _RATERS, reason, names)]
