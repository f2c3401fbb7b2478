"""Metrics against people: which metric, or LLM judge, agrees with the human score."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, replace

import numpy as np

from steelyard.core.errors import UsageError
from steelyard.core.lazy import lazy
from steelyard.core.options import check_flag, check_instance, check_names, check_text
from steelyard.core.progress import each
from steelyard.core.provenance import Provenance
from steelyard.core.rng import Rng, generator, streams
from steelyard.core.table import Cell, Column, Table
from steelyard.core.text import all_of, plural
from steelyard.core.warnings import TypedWarning
from steelyard.data.evalset import EvalSet
from steelyard.data.units import AUTO, DOCUMENT, DOMAIN, PROMPT, RATER, SEGMENT, Units
from steelyard.formats.load import Source, as_evalset
from steelyard.metaevaluation.data import (
    Data,
    Run,
    curve_of_set,
    find_outliers,
    is_sentinel,
    item_units,
    pooled,
    prepare,
    sentinel_tables,
    the_human,
    the_metrics,
)
from steelyard.metaevaluation.options import (
    DEFAULT,
    POOLED,
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
    RaterDraws,
    compare_metrics,
    draw_resamples,
    people_unit,
    ranked,
    ratings_behind,
    replicates,
    segment_unit,
    with_intervals,
)
from steelyard.stats.arrays import Counts, Floats, ratio
from steelyard.stats.curves import AgreementCurve
from steelyard.stats.distributions import ndtr
from steelyard.stats.estimate import undefined
from steelyard.stats.judged.gap import Gap, believable_gap, system_means
from steelyard.stats.metametrics import registry
from steelyard.stats.metametrics.accuracy import Spa
from steelyard.stats.metametrics.base import MetaMetric, Resamples
from steelyard.stats.ranks import ranks, whole
from steelyard.stats.resampling.bootstrap import interval, segment_counts

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
        ``sys``, ``seg``, or ``doc`` or ``domain``, where scores are means over the segments of a
        document or domain; by default each meta-metric's own (correlations: ``sys``).
    group_by
        ``none``, ``item`` or ``system`` at other levels than ``sys``; by default each
        meta-metric's own.
    significance
        Test all pairs of metrics and put them into clusters: True, or the test with its options,
        ``sy.metric_test(scheme="cells", correction="holm")``.
    intervals, n_bootstrap
        What is resampled for 95% intervals of values and ranks, and how often: ``unit``,
        ``system``, ``both``, ``rater`` (only people, from the ratings that the set carries), or
        None. A warning says where there is none.
    unit
        What is independent: changes sign inside soft pairwise accuracy, is swapped and is resampled
        as a whole. ``segment``, by which it is defined, ``document``, ``prompt``, a column, a
        number of consecutive segments, or ``auto``; with ``rater``, ``segment+rater`` or
        ``document+rater``, people's p-values have errors by rater.
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
    es: EvalSet, human: str | None, metas: Sequence[MetaMetric], options: MetaOptions, rng: Rng
) -> MetaEvaluation:
    """Evaluate metrics as :func:`meta_evaluate` does."""
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
    n_segments, level, unit = len(data.judged), options.level, segment_unit(options.unit)
    if level in POOLED:  # documents or domains replace segments below
        _check_levels(metas, level)
        data, more = pooled(data, human, level)
        warnings += more
    ratings, data = ratings_behind(es, human, options, data)
    if level in POOLED:
        units, options = item_units(data, options)
    else:
        units = data.units(unit)
    warnings += _unit_warnings(units, data, options)
    test_draws, resample_draws = streams(rng, 2)
    draws: RaterDraws | Resamples | None = None
    if options.intervals is not None:
        draws = RaterDraws.of(data, human, ratings, options, resample_draws)
        draws = draws or draw_resamples(data, options, units, resample_draws)
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
        part, more = with_intervals(run, part, draws)
        warnings += more
        if outliers.systems and run.view.level == "sys" and options.outliers == "both":
            part = run.without(part, outliers.systems)
        results += [replace(r, level=level) for r in part] if level in POOLED else part
    warnings += without_value(results)
    chance = {run.meta.name: run.meta.chance(run.view) for run in runs}
    worth_draws = streams(rng, 4)[3]
    of_systems = level not in POOLED and any(result.level == "sys" for result in results)
    shown = options.provenance(human, [meta.name for meta in metas])
    return MetaEvaluation(
        human=human,
        n_systems=data.es.n_systems,
        n_segments=n_segments,
        systems=data.es.systems,
        results=tuple(results),
        significance=tests,
        warnings=tuple(dict.fromkeys(warnings)),
        provenance=Provenance.of("meta", shown, es.inputs, rng, options),
        chance={by: value for by, value in chance.items() if value is not None},
        p_error={run.meta.name: run.meta.p_error(run.view) for run in runs},
        resampled=RATER if isinstance(draws, RaterDraws) else options.intervals or "",
        unit=people_unit(data, options.unit, units),
        by_coarser=_by_coarser(runs, options, units),
        n_cells=int(np.count_nonzero(~np.isnan(data.human))),
        outliers=outliers,
        source=es,
        worth=lazy(lambda: _worth_of_best(data, human, results, unit, worth_draws)),
        gaps=lazy(lambda: {m: _gap(data, units.codes, m) for m in data.metrics})
        if of_systems
        else {},
    )


def _by_coarser(
    runs: Sequence[Run], options: MetaOptions, units: Units
) -> dict[str, dict[str, float]]:
    """Return the values that a coarser unit gives where p-values inside them depend on it."""
    coarser, values = units.coarser, {}
    for run in runs:
        if coarser is None or coarser.n < 2 or run.data.raters is not None:
            return {}
        if run.meta.on_cells and run.view.level == "sys":
            results = Run.of(run.data, run.meta, options, coarser.codes).results()
            values[run.meta.name] = {result.metric: result.value for result in results}
    return values


def _outliers(data: Data, human: str, options: MetaOptions) -> tuple[Outliers, Data]:
    """Return the outlying systems, and the data without them if they are to go."""
    outliers = find_outliers(human, data.es.systems, data.human_systems,
                             cutoff=options.outlier_cutoff, handling=options.outliers)  # fmt: skip
    if not outliers.systems or options.outliers != "drop":
        return outliers, data
    rest = data.without(outliers.systems)
    if not rest.es.n_systems:
        raise UsageError('outliers="drop" leaves no system')
    return outliers, rest


def _check_levels(metas: Sequence[MetaMetric], level: str) -> None:
    """Refuse meta-metrics that only compare systems."""
    for meta in metas:
        if "seg" not in meta.levels:
            others = 'by=["acc-eq", "pearson"]'
            raise UsageError(f"'{meta.name}' compares systems: it has no level {level} ({others})")


def _unit_warnings(units: Units, data: Data, options: MetaOptions) -> tuple[str, ...]:
    """Return warnings of units; refuse too few of them beside raters."""
    if data.crossed and units.few:
        raise UsageError(f'unit="{options.unit}": {units.too_few()} for a test by both')
    return () if units.name == SEGMENT else units.warnings  # segments are the definition


def _beaten(results: Sequence[MetaResult]) -> list[str]:
    """Warn of metrics that a sentinel among them beats."""
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
    """Measure the smallest believable gap of a metric with segment scores; noise is by unit."""
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
    """Measure how often people agree with the best metric by the first meta-metric of systems."""
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


# Metrics on groups of segments, such as domains.

_GROUP_META = "spa"
_GROUP_DRAWS = 200  # resamples of each group


@dataclass(frozen=True, slots=True, eq=False)
class Agreements:
    """How metrics agree with people in groups of segments: metrics x groups, best metric first.

    ``p`` tests, in each group, the lead of a metric over the one that is best on all segments; it
    is corrected for all metrics and groups (Bonferroni), since the largest lead is looked for.
    """

    by: str
    human: str
    metrics: tuple[str, ...]
    names: tuple[str, ...]
    sizes: tuple[int, ...]
    unit: str
    every: Floats  # on all segments
    value: Floats
    low: Floats
    high: Floats
    p: Floats
    alpha: float = 0.05

    @property
    def ranks(self) -> Floats:
        """Ranks of metrics in each group, from 1."""
        return np.stack([ranks(column) for column in self.value.T], axis=1)

    def leaders(self) -> dict[str, tuple[str, ...]]:
        """Return the best metrics of each group."""
        return {
            name: tuple(m for m, r in zip(self.metrics, column, strict=True) if r == 1)
            for name, column in zip(self.names, self.ranks.T, strict=True)
        }

    def sentences(self, group: str) -> list[str]:
        """Say which metric is best where, and whether that is more than noise."""
        best, leaders = self.metrics[0], self.leaders()
        n = sum(best in names for names in leaders.values())
        led = f"in {n or 'none'} of {plural(len(self.names), group)}"
        sentences = [f"{best} agrees best with {self.human} by {self.by} overall, and {led}."]
        for g, (name, names) in enumerate(leaders.items()):
            if not names or best in names:
                continue
            i = self.metrics.index(names[0])
            gain = f"{self.value[i, g]:.3f} against {self.value[0, g]:.3f}"
            verdict = "significant" if self.p[i, g] < self.alpha else "within noise"
            verdict = "not testable" if np.isnan(self.p[i, g]) else verdict
            sentences.append(f"In {name}, {all_of(names)} leads ({gain}: {verdict}).")
        return sentences

    def table(self, group: str) -> Table:
        """Return a row per metric and group; ``group`` is what a group is called."""
        columns = (Column("metric"), Column(group), Column("segments"), Column("rank"),
                   Column(self.by, "higher", digits=3), Column("low", digits=3),
                   Column("high", digits=3))  # fmt: skip
        rows: list[tuple[Cell, ...]] = []
        for g, name in enumerate(self.names):
            order = whole(self.ranks[:, g])
            for i in sorted(range(len(order)), key=lambda k: (order[k] is None, order[k] or 0, k)):
                cells = (float(x[i, g]) for x in (self.value, self.low, self.high))
                rows.append((self.metrics[i], name, self.sizes[g], order[i], *cells))
        note = f"low, high: 95% interval over {_GROUP_DRAWS} resamples of {self.unit}s"
        cuts = frozenset(range(len(self.metrics), len(rows), len(self.metrics)))
        return Table("", columns, tuple(rows), (note,), cuts)


def weigh_groups(
    es: EvalSet,
    meta: MetaEvaluation,
    groups: Mapping[str, Counts],
    *,
    most: int | None = None,
    alpha: float = 0.05,
    rng: Rng = 0,
) -> Agreements | None:
    """Evaluate metrics in each group of segments, with the systems of a meta-evaluation.

    ``groups`` are positions of segments; ``most`` limits the metrics to the best ones. None where
    there was no soft pairwise accuracy, or a group has no value. p-values inside the measure are
    series (Edgeworth): quick, and off by some 0.001 on a hundred segments.

    Examples
    --------
    >>> import steelyard as sy
    >>> es = sy.demo_set()
    >>> meta = sy.meta_evaluate(es, "mqm", metrics=["learned-refA", "random-src"], n_bootstrap=10)
    >>> halves = {"early": np.arange(225), "late": np.arange(225, 450)}
    >>> weigh_groups(es, meta, halves).value.round(2).tolist()
    [[0.85, 0.83], [0.57, 0.48]]
    """
    every = {r.metric: r.value for r in meta.results if r.by == _GROUP_META}
    every = {metric: value for metric, value in every.items() if not np.isnan(value)}
    names = sorted(every, key=lambda name: (-every[name], name))[:most]
    if not names or not es[meta.human].has_segments:
        return None
    (measure,) = registry.chosen(_GROUP_META)
    unit = meta.unit.name if meta.unit.name in (DOCUMENT, PROMPT, DOMAIN) else SEGMENT
    whole_set = es.select(systems=meta.systems, scores=[meta.human, *names])
    values, ends, tests, sizes, drawn_unit = [], [], [], [], ""
    for segments, stream in zip(groups.values(), streams(rng, len(groups)), strict=True):
        part = whole_set.select(segments=[es.segments.ids[i] for i in segments])
        try:
            data, _ = prepare(part, meta.human, names, keep_references=True)
        except UsageError:
            return None
        units = data.units(AUTO)  # of what is drawn
        # p-values inside the measure are those of the meta-evaluation, or values would differ.
        run = Run.of(data, measure, MetaOptions(), data.units(unit).codes)
        by_metric = {result.metric: result.value for result in run.results()}
        value = np.array([by_metric[name] for name in names])
        defined = np.flatnonzero(~np.isnan(value))
        if 0 not in defined:
            return None
        counts = segment_counts(_GROUP_DRAWS, data.es.n_segments, stream, units.codes)
        drawn = np.full((_GROUP_DRAWS, len(names)), np.nan)
        resamples = Resamples("unit", counts, None, units.name, units.n)
        drawn[:, defined] = replicates(run, [names[i] for i in defined], resamples)
        error = np.std(drawn - drawn[:, :1], axis=0, ddof=1)
        tests.append(np.minimum(1.0, 2 * ndtr(-np.abs(ratio(value - value[0], error)))))
        values.append(value)
        ends.append(interval(drawn))
        sizes.append(len(data.judged))
        drawn_unit = units.name
    p = np.stack(tests, axis=1) * max(1, (len(names) - 1) * len(groups))
    low, high = (np.stack(column, axis=1) for column in zip(*ends, strict=True))
    return Agreements(
        by=_GROUP_META,
        human=meta.human,
        metrics=tuple(names),
        names=tuple(groups),
        sizes=tuple(sizes),
        unit=drawn_unit,
        every=np.array([every[name] for name in names]),
        value=np.stack(values, axis=1),
        low=low,
        high=high,
        p=np.minimum(p, 1.0),
        alpha=alpha,
    )
