"""Metrics against people: which metric, or LLM judge, agrees with the human score."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import asdict, replace

import numpy as np

from steelyard.core.errors import UsageError
from steelyard.core.lazy import lazy
from steelyard.core.options import check_flag, check_instance, check_names, check_text
from steelyard.core.progress import each
from steelyard.core.provenance import Provenance
from steelyard.core.rng import Rng, generator, streams
from steelyard.core.warnings import TypedWarning
from steelyard.data.evalset import EvalSet
from steelyard.data.units import SEGMENT
from steelyard.formats.load import Source, as_evalset
from steelyard.metaevaluation.data import (
    Data,
    Run,
    curve_of_set,
    find_outliers,
    is_sentinel,
    prepare,
    sentinel_tables,
    the_human,
    the_metrics,
)
from steelyard.metaevaluation.options import (
    DEFAULT,
    GroupBy,
    Intervals,
    Level,
    MetaOptions,
    MetaRules,
    MetricTest,
)
from steelyard.metaevaluation.results import (
    MetaEvaluation,
    MetaResult,
    Outliers,
    Significance,
    quoted,
)
from steelyard.metaevaluation.tests import (
    compare_metrics,
    draw_resamples,
    ranked,
    with_intervals,
)
from steelyard.stats.arrays import Counts, Floats
from steelyard.stats.curves import AgreementCurve
from steelyard.stats.estimate import undefined
from steelyard.stats.judged.gap import Gap, believable_gap, system_means
from steelyard.stats.metametrics import registry
from steelyard.stats.metametrics.accuracy import Spa
from steelyard.stats.metametrics.base import MetaMetric

By = str | MetaMetric | Sequence[str | MetaMetric]


def meta_evaluate(  # noqa: PLR0913 - every option has a default
    es: Source,
    human: str | None = None,
    *,
    by: By = DEFAULT,
    metrics: Collection[str] | None = None,
    level: Level | None = None,
    group_by: GroupBy | None = None,
    significance: bool | MetricTest = False,
    intervals: Intervals | None = "unit",
    n_bootstrap: int = 1000,
    unit: str = "segment",
    rules: MetaRules | None = None,
    rng: Rng = 0,
) -> MetaEvaluation:
    """Measure how well metrics agree with a human score.

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
        ``sys`` or ``seg``; by default each meta-metric's own (correlations: ``sys``).
    group_by
        ``none``, ``item`` or ``system`` at level ``seg``; by default each meta-metric's own.
    significance
        Test all pairs of metrics and put them into clusters: True, or the test with its options,
        ``sy.metric_test(scheme="cells", correction="holm")``.
    intervals, n_bootstrap
        What is resampled for 95% intervals of values and ranks, and how often: ``unit``,
        ``system``, ``both``, or None. A warning says where there is none.
    unit
        What is independent: changes sign inside soft pairwise accuracy, is swapped and is resampled
        as a whole. ``segment``, by which it is defined, ``document``, ``prompt``, a column, a
        number of consecutive segments, or ``auto``.
    rules
        Which systems and segments count, and how ties and outliers do:
        ``sy.meta_rules(common=True, outliers="drop")``.
    rng
        Seed of the draws.

    Returns
    -------
    MetaEvaluation
        A result per metric and meta-metric; ``values(by)``, ``table()``, ``summary()``,
        ``to_frame()`` and ``plot()`` show it.

    See Also
    --------
    steelyard.run_benchmark : The protocols of shared tasks, over several sets.
    steelyard.compare : Systems against systems.
    steelyard.judge : LLM judges against people.

    Examples
    --------
    >>> import steelyard as sy
    >>> chosen = ["learned-refA", "random-src"]
    >>> result = meta_evaluate(sy.demo_set(), "mqm", by="spa", metrics=chosen)
    >>> {name: round(value, 2) for name, value in result.values("spa").items()}
    {'learned-refA': 0.83, 'random-src': 0.46}
    """
    test = MetricTest()
    if isinstance(significance, MetricTest):
        test, significance = significance, True
    check_flag(significance=significance)
    check_instance(MetaRules, "a sy.meta_rules(...)", optional=True, rules=rules)
    options = MetaOptions(
        metrics=metrics,
        level=level,
        group_by=group_by,
        significance=significance,
        intervals=intervals,
        n_bootstrap=n_bootstrap,
        unit=unit,
        **asdict(test),
        **asdict(rules or MetaRules()),
    )
    es = as_evalset(es, human, options.unit)
    return evaluate(es, human, registry.chosen(by), options, rng)


def evaluate(
    es: EvalSet,
    human: str | None,
    metas: Sequence[MetaMetric],
    options: MetaOptions,
    rng: Rng,
    *,
    brief: bool = False,
) -> MetaEvaluation:
    """Evaluate metrics as :func:`meta_evaluate` does; brief: the first has intervals alone."""
    human = the_human(es, human)
    metrics: Collection[str] | None = options.metrics
    if options.sentinels:
        tables = sentinel_tables(es, human, generator(rng).spawn(3)[2])
        metrics = (*the_metrics(es, human, metrics), *tables)
        es = replace(es, scores={**es.scores, **tables})
    data, warnings = prepare(
        es, human, metrics, keep_references=options.keep_references, common=options.common
    )
    options.check_unit()
    outliers, data = _outliers(data, human, options)
    units = data.units(options.unit)
    warnings += () if units.name == SEGMENT else units.warnings  # segments are the definition
    test_draws, resample_draws = streams(rng, 2)
    draws = None
    if options.intervals is not None:
        draws = draw_resamples(data, options, units, resample_draws)
    runs = [Run.of(data, meta, options, units.codes) for meta in metas]
    results: list[MetaResult] = []
    tests: dict[str, Significance] = {}
    for run in each(runs):
        part = run.results()
        if options.significance:
            test, more = compare_metrics(run, part, options, test_draws)
            warnings += more
            if test is not None:
                tests[run.meta.name] = test
                part = ranked(part, test, options.alpha)
        warnings += _beaten(part)
        part, more = with_intervals(run, part, None if brief and run is not runs[0] else draws)
        warnings += more
        if outliers.systems and run.view.level == "sys" and options.outliers == "both":
            part = run.without(part, outliers.systems)
        results += part
    warnings += without_value(results)
    chance = {run.meta.name: run.meta.chance(run.view) for run in runs}
    worth_draws = streams(rng, 4)[3]
    of_systems = any(result.level == "sys" for result in results)
    shown = options.provenance(human, [meta.name for meta in metas])
    return MetaEvaluation(
        human=human,
        n_systems=data.es.n_systems,
        n_segments=len(data.judged),
        systems=data.es.systems,
        results=tuple(results),
        significance=tests,
        warnings=tuple(dict.fromkeys(warnings)),
        provenance=Provenance.of("meta", shown, es.inputs, rng, options),
        chance={by: value for by, value in chance.items() if value is not None},
        p_error={run.meta.name: run.meta.p_error(run.view) for run in runs},
        resampled=options.intervals or "",
        unit=units.effect(data.human),
        n_cells=int(np.count_nonzero(~np.isnan(data.human))),
        outliers=outliers,
        source=es,
        worth=lazy(lambda: _worth_of_best(data, human, results, options.unit, worth_draws)),
        gaps=lazy(lambda: {m: _gap(data, units.codes, m) for m in data.metrics})
        if of_systems
        else {},
    )


def _outliers(data: Data, human: str, options: MetaOptions) -> tuple[Outliers, Data]:
    outliers = find_outliers(human, data.es.systems, data.human_systems, options.outliers)
    if not outliers.systems or options.outliers != "drop":
        return outliers, data
    rest = data.without(outliers.systems)
    if not rest.es.n_systems:
        raise UsageError('outliers="drop" leaves no system')
    return outliers, rest


def _beaten(results: Sequence[MetaResult]) -> list[str]:
    defined = [result for result in results if not np.isnan(result.value)]
    sentinels = [result for result in defined if is_sentinel(result.metric)]
    if not sentinels:
        return []
    best = max(sentinels, key=lambda result: result.value)
    below = [r.metric for r in defined if r.value < best.value and not is_sentinel(r.metric)]
    text = f"{best.by}: '{best.metric}', which ignores quality, beats {quoted(below)}"
    return [TypedWarning(text, "sentinel")] if below else []


def without_value(results: Sequence[MetaResult]) -> list[str]:
    """Say which metrics have no value, and why."""
    why: dict[tuple[str, str], list[str]] = {}  # meta-metrics by reason and metrics
    for by in dict.fromkeys(result.by for result in results):
        lost: dict[str, list[str]] = {}
        for result in results:
            if result.by == by and np.isnan(result.value):
                lost.setdefault(result.note or "undefined", []).append(result.metric)
        for reason, names in lost.items():
            why.setdefault((quoted(sorted(names)), reason), []).append(by)
    return [
        TypedWarning(f"no {', '.join(metas)} for {names}: {reason}", "no-value")
        for (names, reason), metas in why.items()
    ]


def _gap(data: Data, codes: Counts | None, metric: str) -> Gap:
    human, scores = data.human, data.segments(metric)
    both = ~(np.isnan(human) | np.isnan(scores))
    if not both.any():
        nothing = undefined("no segment that people and the metric scored")
        return Gap(gap=nothing, slope=nothing, tau=float("nan"), n_systems=0)
    system, segment = np.nonzero(both)
    unit = None if codes is None else codes[segment]
    return believable_gap(system_means(system, human[both], scores[both], len(human), unit))


def _worth_of_best(
    data: Data, human: str, results: Sequence[MetaResult], unit: str, rng: np.random.Generator
) -> AgreementCurve | None:
    for r in results:
        if r.level == "sys" and not np.isnan(r.value) and not is_sentinel(r.metric):
            return curve_of_set(data.es, human, r.metric, rng, unit=unit)
    return None


def pair_preferences(
    es: Source,
    human: str,
    metric: str,
    *,
    systems: Collection[str] | None = None,
    method: str = "exact",
    unit: str = "segment",
) -> tuple[tuple[str, ...], Floats, Floats]:
    """Return the p-values that soft pairwise accuracy compares: systems, human, metric.

    ``p[i, j]`` is small where system i beats j. ``systems`` are those of a result (references of
    metrics are excluded from it); by default they are chosen as :func:`meta_evaluate` does.

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
    options = MetaOptions.of({"method": method, "unit": unit})
    kept = es if systems is None else es.select(systems=systems)
    data, _ = prepare(kept, human, [metric], keep_references=systems is not None)
    spa = Spa("spa")
    run = Run.of(data, spa, options, data.units(options.unit).codes)
    if np.isnan(data.segments(metric)).all():
        raise UsageError(f"'{metric}' has no segment scores where '{human}' has some")
    return (data.es.systems, *spa.pair_pvalues(run.view, 0))
