"""Metrics against people: which metric, or LLM judge, agrees with the human score."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

import numpy as np

from steelyard.core.errors import UsageError
from steelyard.core.lazy import lazy
from steelyard.core.options import check_names, check_text, spelled
from steelyard.core.progress import each
from steelyard.core.provenance import Provenance
from steelyard.core.rng import Rng, generator, streams
from steelyard.core.text import listed
from steelyard.data.evalset import EvalSet
from steelyard.data.units import RATER, SEGMENT, Units, units_of
from steelyard.formats.load import Source, as_evalset
from steelyard.metaevaluation.cube import Data, Run, prepare, the_human, the_metrics
from steelyard.metaevaluation.differences import gaps_of, worth_of_best
from steelyard.metaevaluation.floor import is_sentinel, sentinel_tables
from steelyard.metaevaluation.leftout import beside, without
from steelyard.metaevaluation.levels import check_levels, item_units, pooled
from steelyard.metaevaluation.options import DEFAULT, POOLED, MetaOptions
from steelyard.metaevaluation.outliers import Outliers, find_outliers
from steelyard.metaevaluation.raterdraws import (
    RaterDraws,
    intervals_of,
    people_behind,
    people_unit,
    segment_unit,
)
from steelyard.metaevaluation.results import MetaEvaluation, MetaResult, Significance
from steelyard.metaevaluation.significance import compare_metrics, ranked
from steelyard.metaevaluation.words import LISTED, outlier_warnings
from steelyard.stats.arrays import Floats
from steelyard.stats.metametrics import registry
from steelyard.stats.metametrics.accuracy import Spa
from steelyard.stats.metametrics.base import MetaMetric, Resamples
from steelyard.stats.resampling import bootstrap


@spelled(MetaOptions)
def meta_evaluate(  # noqa: PLR0913 - every option has a default
    es: Source,
    human: str | None = None,
    *,
    by: str | MetaMetric | Sequence[str | MetaMetric] = DEFAULT,
    metrics: Collection[str] | None = None,
    level: str | None = None,
    group_by: str | None = None,
    significance: bool = False,
    scheme: str = "inputs",
    alternative: str = "greater",
    n_resamples: int | None = None,
    alpha: float = 0.05,
    correction: str = "none",
    intervals: str | None = "unit",
    n_bootstrap: int = 1000,
    method: str = "exact",
    unit: str = "segment",
    epsilon: float | None = None,
    threshold: float | None = None,
    pa_ties: str = "strict",
    keep_references: bool = False,
    common: bool = False,
    outliers: str = "both",
    outlier_cutoff: float = 2.5,
    sentinels: bool = False,
    rng: Rng = 0,
) -> MetaEvaluation:
    """Weigh metrics against a human score.

    Parameters
    ----------
    es
        Systems, segments and scores: a set, or what :func:`steelyard.load` takes.
    human
        The human score; may be left out if there is only one.
    by
        Meta-metrics: ``spa pa pearson spearman kendall-b kendall-c acc-eq tau-eq pdp kendall-like``
        and the Kendall variants; or :class:`~steelyard.stats.metametrics.base.MetaMetric` objects.
    metrics
        Which metrics; by default all that are not human scores.
    level
        ``sys``, ``seg``, or ``doc`` or ``domain``, where scores are means over the segments of a
        document or domain; by default each meta-metric's own (correlations: ``sys``).
    group_by
        ``none``, ``item`` or ``system`` at other levels than ``sys``; by default each
        meta-metric's own.
    significance, scheme, alternative, n_resamples, alpha, correction
        Test all pairs of metrics by swapping their scores (``inputs``, ``cells``, ``systems``,
        ``rows+columns``), by swapping verdicts on ``pairs``, or by ``williams``' test; correct the
        p-values for their number (``holm``, ``bonferroni``, ``benjamini-hochberg``); and put the
        metrics into clusters.
    intervals, n_bootstrap
        What is resampled for 95 % intervals of values and ranks: ``unit``, ``system``, ``both``,
        ``rater`` (people alone are drawn anew, from the ratings that the set carries), or None. A
        warning says where there is none.
    method, unit
        How p-values inside soft pairwise accuracy are found, and what is independent, hence changes
        sign, is swapped and is resampled as a whole: ``segment``, by which it is defined,
        ``document``, ``prompt``, a column, a number of consecutive segments, or ``auto``; with
        ``rater``, ``segment+rater`` or ``document+rater``, people's p-values have errors by rater.
    epsilon, threshold, pa_ties
        Ties: a fixed epsilon instead of calibration, the human threshold of Kendall-like
        statistics, and ``strict`` or ``drop-human`` for pairwise accuracy.
    keep_references
        Keep systems that are the reference of one of the metrics.
    common
        Weigh all metrics on what all of them have: leave out systems that a metric lacks, and
        segments on which a metric lacks a score that people gave.
    outliers, outlier_cutoff
        Systems whose human score is further from the median than so many robust standard
        deviations: at level ``sys``, values with and without them (``both``), ``keep`` says nothing
        of them, ``drop`` leaves them out of everything.
    sentinels
        Weigh scores that know nothing of quality, too (:mod:`steelyard.metaevaluation.floor`); a
        warning names the metrics that one of them beats.
    rng
        Seed of the draws.

    Examples
    --------
    >>> import steelyard as sy
    >>> chosen = ["learned-refA", "random-src"]
    >>> result = meta_evaluate(sy.demo_set(), "mqm", by="spa", metrics=chosen)
    >>> {name: round(value, 2) for name, value in result.values("spa").items()}
    {'learned-refA': 0.83, 'random-src': 0.46}
    """
    options = MetaOptions.of(locals())
    es = as_evalset(es, human, options.unit)
    return evaluate(es, human, registry.chosen(by), options, rng)


def evaluate(
    es: EvalSet, human: str | None, metas: Sequence[MetaMetric], options: MetaOptions, rng: Rng
) -> MetaEvaluation:
    """Weigh metrics as :func:`meta_evaluate` does."""
    human = the_human(es, human)
    metrics = options.metrics
    if options.sentinels:
        es, metrics = _with_sentinels(es, human, metrics, generator(rng).spawn(3)[2])
    data, warnings = prepare(
        es, human, metrics, keep_references=options.keep_references, common=options.common
    )
    options.check_unit()
    far, data = _far(data, human, options)
    n_segments, asked, own_unit = len(data.judged), options.level, segment_unit(options.unit)
    if asked in POOLED:  # from here on, documents or domains are what segments are elsewhere
        check_levels(metas, asked)
        data, told = pooled(data, human, asked)
        warnings += told
    ratings, data = people_behind(es, human, options, data)
    units, options = item_units(data, options) or (judged_units(data, own_unit), options)
    warnings += _said_of(units, data, options)
    draws = streams(rng, 2)  # of tests, of resamples
    raters = weights = None
    if options.intervals is not None:
        raters = RaterDraws.of(data, human, ratings, options, draws[1])
        weights = raters or _resamples(data, options, units, draws[1])
    results: list[MetaResult] = []
    tests: dict[str, Significance] = {}
    chance: dict[str, float] = {}
    coarser: dict[str, dict[str, float]] = {}
    known = units.coarser if data.raters is None else None
    for meta in each(metas):
        run = Run.of(data, meta, options, units.codes)
        found = run.results()
        warnings += meta.notes(run.view)
        if options.significance:
            test, told = compare_metrics(run, found, options, draws[0])
            warnings += told
            if test is not None:
                tests[meta.name] = test
                found = ranked(found, test, options.alpha)
        warnings += _beaten(found)
        found, told = intervals_of(run, found, weights)
        warnings += told
        level = meta.chance(run.view)
        chance |= {} if level is None else {meta.name: level}
        if far.systems and run.view.level == "sys" and options.outliers == "both":
            found = beside(run, found, far.systems)
        results += [replace(r, level=asked) for r in found] if asked in POOLED else found
        if known is not None and known.n > 1 and meta.on_cells and run.view.level == "sys":
            other = Run.of(data, meta, options, known.codes).results()
            coarser[meta.name] = {result.metric: result.value for result in other}
    warnings += [*without_value(results), *outlier_warnings(far, results)]
    shown = options.provenance(human, [meta.name for meta in metas])
    worth_draws = streams(rng, 4)[3]
    weighs = asked not in POOLED and any(result.level == "sys" for result in results)
    return MetaEvaluation(
        human=human,
        n_systems=data.es.n_systems,
        n_segments=n_segments,
        systems=data.es.systems,
        results=tuple(results),
        significance=tests,
        warnings=tuple(dict.fromkeys(warnings)),
        provenance=Provenance.of("meta", shown, es.inputs, rng, options),
        chance=chance,
        resampled=options.intervals or "" if raters is None else RATER,
        unit=people_unit(data, options.unit, units),
        by_coarser=coarser,
        n_cells=int(np.count_nonzero(data.known)),
        outliers=far,
        source=es,
        worth=lazy(lambda: worth_of_best(data, human, results, own_unit, worth_draws)),
        gaps=lazy(lambda: gaps_of(data, units.codes)) if weighs else {},
    )


def _far(data: Data, human: str, options: MetaOptions) -> tuple[Outliers, Data]:
    """Find the outlying systems, and what is left without them if they are to go."""
    far = find_outliers(human, data.es.systems, data.human_systems,
                        cutoff=options.outlier_cutoff, handling=options.outliers)  # fmt: skip
    if not far.systems or options.outliers != "drop":
        return far, data
    rest = without(data, far.systems)
    if not rest.es.n_systems:
        raise UsageError(f'{far.sentence()}: outliers="drop" leaves no system')
    return far, rest


def _said_of(units: Units, data: Data, options: MetaOptions) -> tuple[str, ...]:
    """Give what must be said of units; refuse too few of them beside raters."""
    if data.crossed and units.few:
        raise UsageError(f'unit="{options.unit}": {units.too_few()} for a test by both')
    # Segments are the definition, which is said below the table.
    return () if units.name == SEGMENT else units.warnings


def _with_sentinels(
    es: EvalSet, human: str, metrics: Collection[str] | None, rng: np.random.Generator
) -> tuple[EvalSet, tuple[str, ...]]:
    """Add sentinels to the metrics that are weighed."""
    chosen = the_metrics(es, human, metrics)
    tables = sentinel_tables(es, human, rng)
    return replace(es, scores={**es.scores, **tables}), (*chosen, *tables)


def _beaten(found: Sequence[MetaResult]) -> list[str]:
    """Warn of metrics that a sentinel among them beats."""
    known = [result for result in found if not np.isnan(result.value)]
    sentinels = [result for result in known if is_sentinel(result.metric)]
    if not sentinels:
        return []
    best = max(sentinels, key=lambda result: result.value)
    below = [r for r in known if r.value < best.value and not is_sentinel(r.metric)]
    if not below:
        return []
    shown = listed([f"'{r.metric}' ({r.value:.3f})" for r in below], LISTED, rest="other")
    what = f"the sentinel '{best.metric}' ({best.value:.3f}), which knows nothing of quality,"
    return [f"{best.by}: {what} beats {shown}"]


def without_value(found: Sequence[MetaResult]) -> list[str]:
    """Say which metrics have no value, and why."""
    why: dict[str, dict[str, list[str]]] = {}  # reason, meta-metric, metrics
    for result in found:
        if np.isnan(result.value):
            own = why.setdefault(result.note or "undefined", {})
            own.setdefault(result.by, []).append(f"'{result.metric}'")
    texts = []
    for reason, by_meta in why.items():
        alike: dict[tuple[str, ...], list[str]] = {}
        for by, names in by_meta.items():
            alike.setdefault(tuple(sorted(names)), []).append(by)
        for metrics, metas in alike.items():
            shown = listed(metrics, LISTED, rest="other")
            texts.append(f"{', '.join(metas)}: no value for {shown}: {reason}")
    return texts


def pair_preferences(
    es: Source,
    human: str,
    metric: str,
    *,
    systems: Collection[str] | None = None,
    method: str = "exact",
    unit: str = "segment",
) -> tuple[tuple[str, ...], Floats, Floats]:
    """Give the p-values that soft pairwise accuracy compares: systems, human, metric.

    ``p[i, j]`` is small where system i beats j. ``systems`` are those of a result (references of
    metrics are left out of it); by default they are chosen as :func:`meta_evaluate` does.

    Examples
    --------
    >>> import steelyard as sy
    >>> systems, human, metric = pair_preferences(sy.demo_set(), "mqm", "learned-refA")
    >>> human.shape == metric.shape == (len(systems), len(systems))
    True
    """
    es = as_evalset(es, human)
    check_text(human=human, metric=metric)
    check_names(optional=True, systems=systems)
    options = MetaOptions(method=method, unit=unit)
    kept = es if systems is None else es.select(systems=systems)
    data, _ = prepare(kept, human, [metric], keep_references=systems is not None)
    spa = Spa("spa")
    run = Run.of(data, spa, options, judged_units(data, options.unit).codes)
    if np.isnan(data.segments(metric)).all():
        raise UsageError(f"'{metric}' has no segment scores where '{human}' has some")
    return (data.es.systems, *spa.pair_pvalues(run.view, 0))


def judged_units(data: Data, unit: str) -> Units:
    """Find the units of the segments that people judged."""
    used = np.zeros(data.es.n_segments, dtype=bool)
    used[data.judged] = True
    return units_of(data.es.segments, unit, used)


def _resamples(
    data: Data, options: MetaOptions, units: Units, rng: np.random.Generator
) -> Resamples | None:
    """Draw systems, and segments in the units that also change sign and are swapped together."""
    es, human, n = data.es, data.human, options.n_bootstrap
    intervals = options.intervals
    if intervals is None:
        return None
    segments = systems = None
    least = len(human)  # of what is drawn
    if intervals != "system":
        segments = bootstrap.segment_counts(n, es.n_segments, rng, units.codes)
        least = units.n
    if intervals in ("system", "both"):
        systems = bootstrap.draw_counts(n, es.n_systems, rng)
        least = min(least, len(human))
    return Resamples(intervals, segments, systems, units.name, least)
