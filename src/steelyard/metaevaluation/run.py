"""Metrics against people: which metric, or LLM judge, agrees with the human score."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from steelyard.core import bounds
from steelyard.core.errors import UsageError, hint
from steelyard.core.provenance import Provenance
from steelyard.core.rng import Rng, generator
from steelyard.core.words import plural
from steelyard.data.evalset import EvalSet
from steelyard.data.linting import uninformative
from steelyard.data.overview import score_facts
from steelyard.formats.load import Source, as_evalset
from steelyard.metaevaluation.coverage import common_part, lacking
from steelyard.metaevaluation.data import Data, Run
from steelyard.metaevaluation.floor import is_sentinel, sentinel_tables
from steelyard.metaevaluation.intervals import Resamples, with_intervals
from steelyard.metaevaluation.results import UNITS, MetaEvaluation, MetaResult, Significance
from steelyard.metaevaluation.significance import Procedure, compare_metrics, ranked
from steelyard.stats.arrays import Counts, Floats, row_means
from steelyard.stats.metametrics import base as metametrics
from steelyard.stats.metametrics.base import MetaMetric
from steelyard.stats.permutation.pvalues import check_method
from steelyard.stats.resampling import bootstrap

DEFAULT = ("spa", "pa", "acc-eq")
_LISTED = 5  # metrics that a warning names


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
    intervals: str | None = "segment",
    n_bootstrap: int = 1000,
    method: str = "exact",
    unit: str = "segment",
    epsilon: float | None = None,
    threshold: float | None = None,
    pa_ties: str = "strict",
    keep_references: bool = False,
    common: bool = False,
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
        ``sys`` or ``seg``; by default each meta-metric's own (correlations: ``sys``).
    group_by
        ``none``, ``item`` or ``system`` at level ``seg``; by default each meta-metric's own.
    significance, scheme, alternative, n_resamples, alpha, correction
        Test all pairs of metrics by swapping their scores (``inputs``, ``cells``, ``systems``,
        ``rows+columns``), by swapping verdicts on ``pairs``, or by ``williams``' test; correct the
        p-values for their number (``holm``, ``bonferroni``, ``benjamini-hochberg``); and put the
        metrics into clusters.
    intervals, n_bootstrap
        What is resampled for 95 % intervals of values and ranks: ``segment``, ``document``,
        ``system`` or ``both`` (segments and systems), or None. A warning says where there is none.
    method, unit
        How p-values inside soft pairwise accuracy are found, and what changes sign together:
        ``segment``, ``document``, or a number of consecutive segments.
    epsilon, threshold, pa_ties
        Ties: a fixed epsilon instead of calibration, the human threshold of Kendall-like
        statistics, and ``strict`` or ``drop-human`` for pairwise accuracy.
    keep_references
        Keep systems that are the reference of one of the metrics.
    common
        Weigh all metrics on what all of them have: leave out systems that a metric lacks, and
        segments on which a metric lacks a score that people gave.
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
    es = as_evalset(es, human)
    metas = metametrics.chosen(by)
    human = the_human(es, human)
    procedure = Procedure(scheme, alternative, n_resamples, alpha, correction)
    ties = metametrics.Options(epsilon, 0.0 if threshold is None else threshold, pa_ties)
    check_method(method)
    bounds.choice(metametrics.LEVELS, optional=True, level=level)
    bounds.choice(metametrics.GROUPS, optional=True, group_by=group_by)
    bounds.choice(UNITS, optional=True, intervals=intervals)
    bounds.whole(10, n_bootstrap=n_bootstrap)
    bounds.flag(significance=significance, keep_references=keep_references, sentinels=sentinels,
                common=common)  # fmt: skip
    if sentinels:
        es, metrics = _with_sentinels(es, human, metrics, generator(rng).spawn(3)[2])
    data, warnings = prepare(es, human, metrics, keep_references=keep_references, common=common)
    check_unit(method, unit)
    blocks = unit_codes(data.es, unit)
    stream, resampling = generator(rng).spawn(2)
    weights = _resamples(data, intervals, unit, n_bootstrap, resampling)
    results: list[MetaResult] = []
    tests: dict[str, Significance] = {}
    chance: dict[str, float] = {}
    for meta in metas:
        own = meta.options.threshold if threshold is None else threshold
        options = replace(ties, threshold=own)
        run = Run(data, meta, level, group_by, options, method, blocks, warnings)
        found = run.results()
        if significance:
            test = compare_metrics(run, found, procedure, stream)
            if test is not None:
                tests[meta.name] = test
                found = ranked(found, test, alpha)
        warnings += _beaten(found)
        found = with_intervals(run, found, weights)
        if meta.name == "acc-eq" and run.group_by == "item" and data.es.n_systems > 1:
            chance[meta.name] = metametrics.chance_level(data.human)
        results += found
    warnings += _without_value(results)
    settings: dict[str, Any] = {
        "human": human,
        "with": ",".join(meta.name for meta in metas),
        "method": method,
        "unit": unit,
    }
    if common:
        settings["common"] = True
    if intervals:
        settings |= {"intervals": intervals, "bootstrap": n_bootstrap}
    if significance:
        settings |= {"scheme": scheme, "alternative": alternative, "alpha": alpha}
        settings |= {"correction": correction} if correction != "none" else {}
    return MetaEvaluation(
        human,
        data.es.n_systems,
        int((~np.isnan(data.human)).any(axis=0).sum()),
        data.es.systems,
        tuple(results),
        tests,
        tuple(dict.fromkeys(warnings)),
        Provenance.of("meta", settings, es.inputs, rng),
        chance,
        intervals or "",
        unit,
        None if blocks is None else len(np.unique(blocks)),
        int((~np.isnan(data.human)).sum()),
    )


def _with_sentinels(
    es: EvalSet, human: str, metrics: Collection[str] | None, rng: np.random.Generator
) -> tuple[EvalSet, tuple[str, ...]]:
    """Add sentinels to the metrics that are weighed."""
    chosen = _chosen(es, human, metrics)
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
    shown = ", ".join(f"'{r.metric}' ({r.value:.3f})" for r in below[:_LISTED])
    rest = f" and {plural(len(below) - _LISTED, 'other')}" if len(below) > _LISTED else ""
    what = f"the sentinel '{best.metric}' ({best.value:.3f}), which knows nothing of quality,"
    return [f"{best.by}: {what} beats {shown}{rest}"]


def _without_value(found: Sequence[MetaResult]) -> list[str]:
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
            rest = len(metrics) - _LISTED
            more = f" and {plural(rest, 'other')}" if rest > 0 else ""
            shown = ", ".join(metrics[:_LISTED])
            texts.append(f"{', '.join(metas)}: no value for {shown}{more}: {reason}")
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
    bounds.text(human=human, metric=metric)
    bounds.names(optional=True, systems=systems)
    check_method(method)
    kept = es if systems is None else es.select(systems=systems)
    data, warnings = prepare(kept, human, [metric], keep_references=systems is not None)
    spa = metametrics.metametric("spa")
    run = Run(data, spa, None, None, spa.options, method, unit_codes(data.es, unit), warnings)
    if np.isnan(data.segments(metric)).all():
        raise UsageError(f"'{metric}' has no segment scores where '{human}' has some")
    return (data.es.systems, *run.pair_pvalues(metric))


def the_human(es: EvalSet, human: str | None) -> str:
    """Give the human score: the one named, or the only one there is."""
    if human is None:
        if len(es.human) != 1:
            known = ", ".join(es.human) or "none"
            raise UsageError(f"name the human score (--human NAME); known as human: {known}")
        return es.human[0]
    bounds.text(human=human)
    es[human]  # an unknown name is an error that shows the known ones
    return human


def prepare(
    es: EvalSet,
    human: str,
    metrics: Collection[str] | None,
    *,
    keep_references: bool,
    common: bool = False,
) -> tuple[Data, list[str]]:
    """Choose metrics and systems, and note what was left out and why."""
    names = _chosen(es, human, metrics)
    warnings = list(es.notes)
    gold = es[human]
    empty = (
        np.isnan(gold.values).all(axis=1) if gold.has_segments else np.isnan(gold.system_means())
    )
    unscored = [s for s, lost in zip(es.systems, np.atleast_1d(empty), strict=True) if lost]
    if unscored:
        text = plural(len(unscored), "system")
        warnings.append(f"{text} without a '{human}' score left out: {', '.join(unscored)}")
    used = {ref for name in names for ref in es.scores[name].uses}
    references = [s for s in es.systems if s in used and s not in unscored]
    if references and not keep_references:
        listed = ", ".join(references)
        warnings.append(f"left out as the reference of a metric: {listed} (--keep-references)")
        unscored += references
    kept = es.drop(systems=unscored) if unscored else es
    if not kept.n_systems:
        raise UsageError(f"no system has a '{human}' score")
    if common:
        kept, left_out = common_part(kept, human, names)
        warnings += left_out
    gold = kept[human]
    means = row_means(gold.values) if gold.system_scores is None else gold.system_scores
    sign = 1 if gold.higher_is_better else -1
    data = Data(kept, gold.oriented, means * sign, names)
    blank = int(np.isnan(gold.values).all(axis=0).sum()) if gold.has_segments else 0
    if blank:
        warnings.append(f"{plural(blank, 'segment')} without a '{human}' score take no part")
    warnings += lacking(data)
    warnings += _look(data, human)
    return data, warnings


def _chosen(es: EvalSet, human: str, metrics: Collection[str] | None) -> tuple[str, ...]:
    bounds.names(optional=True, metrics=metrics)
    if metrics is None:
        names = tuple(name for name in es.metrics if name != human)
    else:
        for name in metrics:
            if name not in es.scores:
                raise UsageError(f"no metric '{name}'; {hint(name, es.scores)}")
        names = tuple(sorted(set(metrics) - {human}))
    if not names:
        raise UsageError("no metric to weigh: every score is human")
    return names


def _look(data: Data, human: str) -> list[str]:
    """Warn of metrics that are constant, identical, or upside down."""
    found = []
    for name, constant, twin in uninformative((n, data.segments(n)) for n in data.metrics):
        if constant is not None:
            found.append(f"'{name}' is constant: it can't tell systems apart")
        if twin is not None:
            found.append(f"'{name}' and '{twin}' are identical")
        facts = score_facts(name, data.es[name], data.es[human])
        found += facts.doubts(human)
    means = data.human_systems[~np.isnan(data.human_systems)]
    if len(means) > 1 and means.min() == means.max():
        found.append(f"'{human}' ties all systems: agreement with it says nothing of systems")
    return found


def check_unit(method: str, unit: str) -> None:
    """Refuse units that a method of p-values does not know."""
    if method == "mtme" and unit != "segment":
        raise UsageError(f"unit '{unit}': method mtme flips single segments, as its toolkit does")


def unit_codes(es: EvalSet, unit: str) -> Counts | None:
    """Give the code of the unit that each segment belongs to, None for single segments."""
    if unit == "segment":
        return None
    if unit == "document":
        codes = es.segments.document_codes()
        if codes is None:
            raise UsageError('unit="document": the documents of the segments are not known')
        return codes
    if not (isinstance(unit, str) and unit.isdecimal() and int(unit)):
        raise UsageError(f"unit '{unit}': expected segment, document or a number of segments")
    return np.arange(es.n_segments, dtype=np.int64) // int(unit)


def _resamples(
    data: Data, intervals: str | None, unit: str, n: int, rng: np.random.Generator
) -> Resamples | None:
    """Draw systems, and segments in the units that also change sign and are swapped together."""
    es, human = data.es, data.human
    if intervals is None:
        return None
    if intervals == "document":
        if unit not in ("segment", "document"):
            raise UsageError(f"intervals over documents, unit '{unit}': expected one unit")
        unit = "document"
    segments = systems = None
    least = len(human)  # of what is drawn
    if intervals != "system":
        blocks = unit_codes(es, unit) if es.n_segments else None
        segments = bootstrap.segment_counts(n, es.n_segments, rng, blocks)
        judged = np.flatnonzero((~np.isnan(human)).any(axis=0))
        least = len(judged if blocks is None else np.unique(blocks[judged]))
    if intervals in ("system", "both"):
        systems = bootstrap.draw_counts(n, es.n_systems, rng)
        least = min(least, len(human))
    return Resamples(intervals, segments, systems, unit, least)
