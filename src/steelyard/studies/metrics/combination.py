"""Whether a combination of metrics is better than its best part.

Metrics are combined by averages and by weights that are learned from people
(:mod:`steelyard.stats.combining`), held out over systems and documents at once. What a combination
has to beat is the part that looks best where weights are learned, not the one that turns out best.
The tests are those of :func:`steelyard.meta_evaluate`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from steelyard.comparison.options import known as known_names
from steelyard.core import bounds
from steelyard.core.errors import UsageError
from steelyard.core.options import keywords
from steelyard.core.rng import Rng, generator
from steelyard.core.table import Cell, Column, Table
from steelyard.core.words import plural
from steelyard.data.evalset import EvalSet, ScoreTable
from steelyard.data.independence import DOCUMENT, SEGMENT, Units, units_of
from steelyard.formats.load import Source, as_evalset
from steelyard.metaevaluation.cube import HINT, Data, Run, prepare, the_human
from steelyard.metaevaluation.intervals import replicates, resampled_metrics
from steelyard.metaevaluation.options import MetaOptions, Procedure
from steelyard.metaevaluation.results import MetaResult
from steelyard.metaevaluation.results import units as resampled
from steelyard.metaevaluation.significance import compare_metrics, draw_null
from steelyard.metaevaluation.words import quoted
from steelyard.stats.arrays import Floats, row_means
from steelyard.stats.combining import (
    CrossWeights,
    Folds,
    balanced_folds,
    combined,
    learn_weights,
    rank_scores,
    z_scores,
)
from steelyard.stats.metametrics.base import Resamples
from steelyard.stats.resampling.bootstrap import draw_counts, interval, segment_counts
from steelyard.studies.metrics.combinedrows import BEST, COMBINATION, PART, Row, Weighed, ordered
from steelyard.studies.metrics.metaruns import By, MetaRuns, need_differences, open_runs
from steelyard.studies.metrics.options import COMBINE_META, HOW, CombineOptions, MetaStudyOptions
from steelyard.studies.results import Progress, Study, steps

PREFIX = "combined-"
_LEARNED = {"nnls": False, "nnls-pairs": True}  # whether differences are fitted


@dataclass(frozen=True, slots=True)
class Combined:
    """What the study found, and the combined scores of all cells, out of their folds."""

    study: Study
    scores: EvalSet


@dataclass(frozen=True, slots=True, eq=False)
class _Parts:
    """What is combined: one scale for people's cells, higher is better."""

    es: EvalSet
    human: str
    names: tuple[str, ...]
    cube: Floats
    judged: Floats  # people's scores where all parts have one
    folds: Folds
    held_out: Units  # what folds of segments are made of
    warnings: tuple[str, ...]


@keywords(CombineOptions)
def combine_metrics(
    es: Source,
    human: str | None = None,
    *,
    by: By = COMBINE_META,
    options: CombineOptions,
    rng: Rng = 0,
    progress: Progress | None = None,
) -> Combined:
    """Combine metrics, and weigh each combination against its parts and the best of them.

    See :class:`CombineOptions`, and :func:`steelyard.meta_evaluate` for what is weighed.

    Examples
    --------
    >>> import steelyard as sy
    >>> parts = ["learned-refA", "estimator-src", "chars-refA"]
    >>> found = combine_metrics(sy.demo_set(), "mqm", by="spa", metrics=parts, n_bootstrap=50)
    >>> found.scores.metrics
    ('combined-nnls', 'combined-nnls-pairs', 'combined-rank', 'combined-z')
    >>> sum(found.study.facts["best_part"]["spa"].values())  # folds: 5 of systems, 5 of documents
    25
    """
    bounds.function(optional=True, progress=progress)
    known_names("combination", options.how, HOW)
    if not options.how:
        raise UsageError("how: expected at least one combination")
    splitting, testing = generator(rng).spawn(2)
    es = as_evalset(es, human, options.unit)
    parts = _parts(es, the_human(es, human), options, splitting)
    weights = {
        how: learn_weights(parts.cube, parts.judged, parts.folds, differences=differences)
        for how, differences in _LEARNED.items()
        if how in options.how
    }
    made = _made(parts, options.how, weights)
    runs, chosen = _best_parts(parts, by, options, progress)
    weighing = open_runs(
        _plain_set(parts, made),
        parts.human,
        [run.meta for run in runs.runs],
        _plain_options([*made, *parts.names], options),
        unit=options.unit,
    )
    streams = testing.spawn(len(chosen))
    found = [
        _weighed(weighing, k, tuple(made), best, options, stream)
        for k, (best, stream) in enumerate(zip(chosen, streams, strict=True))
    ]
    told = [*parts.warnings, *(text for one in found for text in one.warnings)]
    told += [
        f"{PREFIX}{how}: in {own.empty} of {plural(_count(parts.folds), 'fold')} no metric goes "
        "with people; all weigh alike there"
        for how, own in weights.items()
        if own.empty
    ]
    study = Study(
        name="combine",
        parts={
            **{own.by: own.table() for own in found},
            **({"weights": _weight_table(parts, weights)} if weights else {}),
        },
        facts={
            "metrics": list(parts.names),
            "folds": {
                "systems": parts.folds.shape[0],
                "segments": parts.folds.shape[1],
                "of": parts.held_out.name,
                "n": parts.held_out.n,
            },
            "weights": {
                how: {
                    "every": dict(zip(parts.names, own.every.tolist(), strict=True)),
                    "folds": own.folds,
                }
                for how, own in weights.items()
            },
            "best_part": {own.by: own.best for own in found},
            "verdicts": {own.by: own.sentences() for own in found},
        },
        warnings=tuple(dict.fromkeys(told)),
        provenance=weighing.provenance("combine", _settings(options, parts), rng, options),
    )
    return Combined(study, _scores(parts, made))


def _plain_options(names: Sequence[str], options: CombineOptions) -> MetaStudyOptions:
    return MetaStudyOptions(
        metrics=list(names), level=options.level, group_by=options.group_by, keep_references=True
    )


def _settings(options: CombineOptions, parts: _Parts) -> dict[str, Any]:
    return {
        "metrics": ",".join(parts.names),
        "how": ",".join(options.how),
        "folds": "x".join(map(str, parts.folds.shape)),
        "unit": options.unit,
    }


def _count(folds: Folds) -> int:
    return folds.shape[0] * folds.shape[1]


def _parts(es: EvalSet, human: str, options: CombineOptions, rng: np.random.Generator) -> _Parts:
    """Choose what takes part, bring it to one scale, and split it."""
    data, told = prepare(es, human, options.metrics, keep_references=options.keep_references)
    es, names = data.es, data.metrics
    _refuse(data, human)
    warnings = [text.removesuffix(HINT) for text in told]
    raw = np.stack([es[name].oriented for name in names])
    raw[:, np.isnan(raw).any(axis=0)] = np.nan
    judged = np.where(np.isnan(raw[0]), np.nan, data.human)
    if np.isnan(judged).all():
        raise UsageError("no output that people scored has scores of all parts")
    lost = int((~np.isnan(data.human)).sum() - (~np.isnan(judged)).sum())
    if lost:
        warnings.append(f"{plural(lost, 'output')} that people scored and a part lacks left out")
    official = [n for n in names if es[n].system_scores is not None or es[n].statistics is not None]
    if official:
        what = "parts are their segment scores, and scores of systems the means of these"
        warnings.append(f"{quoted(official)}: {what}")
    flat = [name for name, own in zip(names, raw, strict=True) if np.nanmax(own) == np.nanmin(own)]
    if flat:
        raise UsageError(f"{quoted(flat)} constant: there is nothing to combine")
    nobody = [name for name, own in zip(es.systems, judged, strict=True) if np.isnan(own).all()]
    if nobody:
        rest = _parts(es.drop(systems=nobody), human, options, rng)
        what = f"no output that people and all parts scored: {quoted(nobody)} left out"
        return replace(rest, warnings=(what, *rest.warnings))
    some = ~np.isnan(judged).all(axis=0)
    held_out, few = _held_out(es, some, options.folds)
    folds = Folds(
        balanced_folds(es.n_systems, min(options.system_folds, es.n_systems), rng),
        _segment_folds(held_out, some, options.folds, rng),
    )
    told = [*warnings, *few]
    return _Parts(es, human, names, z_scores(raw), judged, folds, held_out, tuple(told))


def _refuse(data: Data, human: str) -> None:
    """Refuse what can't be combined, or held out."""
    es, names = data.es, data.metrics
    if len(names) < 2:
        raise UsageError(f"expected at least two metrics to combine, found {len(names)}")
    lacking = [name for name in names if not es[name].has_segments]
    if lacking:
        raise UsageError(f"no segment scores of {quoted(lacking)}: they can't be combined")
    taken = [name for name in names if name in {PREFIX + how for how in HOW}]
    if taken:
        raise UsageError(f"{quoted(taken)}: a combination has that name; leave it out of the parts")
    if np.isnan(data.human).all():
        raise UsageError(f"'{human}' has system scores only: there is nothing to learn from")
    need_differences(data, human)
    if es.n_systems < 4:
        counted = plural(es.n_systems, "system")
        raise UsageError(f"{counted}: four at least, so that two can be held out")


def _held_out(es: EvalSet, used: Any, folds: int) -> tuple[Units, list[str]]:
    """Documents, where they are known and enough for the folds, else segments; and a warning."""
    documents, told = es.segments.documents, []
    if documents is not None:
        own = [documents[i] for i in np.flatnonzero(used)]
        n = len(set(own) - {None})
        if None not in own and n >= folds:
            return units_of(es.segments, DOCUMENT, used), []
        few = f"{plural(n, 'document')} are known, too few for {folds} folds or not of all segments"
        told.append(f"{few}: segments are held out one by one")
    found = replace(units_of(es.segments, SEGMENT, used), warnings=(), coarser=None)
    if found.n < folds:
        raise UsageError(f"{found.counted()}: expected at least as many as folds ({folds})")
    return found, told


def _segment_folds(units: Units, used: Any, k: int, rng: np.random.Generator) -> Any:
    """Folds of segments: whole units, those that people judged spread evenly."""
    codes = np.arange(len(used)) if units.codes is None else units.codes
    folds = np.empty(int(codes.max()) + 1, dtype=np.int64)
    judged = np.unique(codes[used])
    others = np.setdiff1d(np.arange(len(folds)), judged)
    folds[judged] = balanced_folds(len(judged), k, rng)
    folds[others] = balanced_folds(len(others), k, rng)
    return folds[codes]


def _made(
    parts: _Parts, how: Sequence[str], weights: Mapping[str, CrossWeights]
) -> dict[str, Floats]:
    """Scores of all combinations: systems x segments."""
    made = {}
    for name in dict.fromkeys(how):
        if name in weights:
            made[PREFIX + name] = combined(parts.cube, weights[name].folds, parts.folds)
        else:
            scaled = rank_scores(parts.cube) if name == "rank" else parts.cube
            made[PREFIX + name] = scaled.mean(axis=0)
    return made


def _best_parts(
    parts: _Parts, by: By, options: CombineOptions, progress: Progress | None
) -> tuple[MetaRuns, list[Counter[str]]]:
    """Count how often each part is the best of those outside a fold, under each meta-metric."""
    plain = MetaStudyOptions(
        metrics=list(parts.names), level=options.level, group_by=options.group_by,
        keep_references=True,
    )  # fmt: skip
    every = _plain_set(parts, {})
    runs = open_runs(every, parts.human, by, plain, unit=options.unit)
    asked = MetaOptions(level=options.level, group_by=options.group_by, unit=options.unit)
    found: list[Counter[str]] = [Counter() for _ in runs.runs]
    tick = steps(progress, _count(parts.folds) * len(runs.runs))
    for rows, columns in parts.folds.outside():
        codes = None if runs.units.codes is None else runs.units.codes[columns]
        data = _outside(runs.data, rows, columns)
        for run, counts in zip(runs.runs, found, strict=True):
            results = Run.of(data, run.meta, asked, codes).results()  # best first, then by name
            if np.isnan(results[0].value):
                raise UsageError(
                    f"{run.meta.name} has no value outside a fold: fewer folds, or other data"
                )
            counts[results[0].metric] += 1
            tick()
    return runs, found


def _outside(data: Data, rows: Any, columns: Any) -> Data:
    """Keep the systems and segments that a fold learns from."""
    es = data.es
    systems = [name for name, kept in zip(es.systems, rows, strict=True) if kept]
    ids = [one for one, kept in zip(es.segments.ids, columns, strict=True) if kept]
    part = es.select(systems=systems, segments=ids)
    human = data.human[np.ix_(rows, columns)]
    return Data(part, human, row_means(human), data.metrics)


def _plain_set(parts: _Parts, more: Mapping[str, Floats]) -> EvalSet:
    """Make a set of segment scores alone: people's, the parts' on one scale, and others."""
    scores = dict(zip(parts.names, parts.cube, strict=True)) | dict(more)
    tables = {name: ScoreTable(own, direction_given=True) for name, own in scores.items()}
    tables[parts.human] = ScoreTable(parts.judged, kind="human", direction_given=True)
    es = parts.es
    return EvalSet(es.systems, es.segments, tables, name=es.name, inputs=es.inputs)


def _scores(parts: _Parts, made: Mapping[str, Floats]) -> EvalSet:
    """Make the set that holds the combined scores."""
    tables = {name: ScoreTable(own, direction_given=True) for name, own in made.items()}
    es, segments = parts.es, parts.es.segments
    return EvalSet(es.systems, replace(segments, sources=None, references={}), tables,
                   name=es.name, language_pair=es.language_pair, inputs=es.inputs)  # fmt: skip


def _weighed(
    runs: MetaRuns,
    k: int,
    made: tuple[str, ...],
    best: Counter[str],
    options: CombineOptions,
    rng: np.random.Generator,
) -> Weighed:
    """Weigh combinations and parts under a meta-metric, and test them against the best part."""
    run, found, values = runs.runs[k], runs.results[k], runs.values[k]
    tests, draws = rng.spawn(2)
    able, p, told = _tested(run, found, [*made, *best], options, tests)
    shares = {name: n / best.total() for name, n in best.items()}
    goal = sum(share * values[name] for name, share in shares.items())
    ends, more = _ends(run, found, shares, options, runs.units, draws)
    rows = [Row(BEST, BEST, goal)]
    for name, value in values.items():
        low, high = ends.get(name, (np.nan, np.nan))
        more_p = less_p = float("nan")
        if name in made and {name, *best} <= set(able):
            at, others = able.index(name), [able.index(one) for one in best]
            more_p, less_p = float(p[at, others].max()), float(p[others, at].max())
        kind = COMBINATION if name in made else PART
        rows.append(Row(name, kind, value, value - goal, low, high, more_p, less_p))
    return Weighed(
        by=run.meta.name,
        rows=ordered(rows),
        best=dict(best.most_common()),
        alpha=options.alpha,
        drawn=resampled("both" if run.view.level == "sys" else "unit", runs.units.name),
        of_systems=run.view.level == "sys",
        warnings=(*more, *told),
    )


def _tested(
    run: Run,
    found: list[MetaResult],
    names: Sequence[str],
    options: CombineOptions,
    rng: np.random.Generator,
) -> tuple[list[str], Floats, list[str]]:
    """Test all pairs of some scores: ``p[a, b]`` is small where a beats b.

    Weights of a system come from other systems, so they differ from system to system a little, on
    all of its segments alike. Tests that swap segments take that for a difference between the
    scores (they reject 8 to 13 % of true nulls at 5 %, measured on simulated sets), so at level sys
    the larger p-value of swapping segments and of swapping systems counts (2 to 4 %).
    """
    some = [result for result in found if result.metric in names]
    procedure = Procedure(n_resamples=options.n_resamples, alpha=options.alpha)
    test, told = compare_metrics(run, some, procedure, rng)
    if test is None:
        return [], np.empty((0, 0)), told
    able = list(test.metrics)
    if run.view.level != "sys":
        return able, test.p, told
    by_system = replace(procedure, scheme="systems")
    other = draw_null(run, able, by_system, rng.spawn(1)[0]).compare(procedure.alternative)
    return able, np.fmax(test.p, other.p), told


def _ends(
    run: Run,
    found: list[MetaResult],
    shares: Mapping[str, float],
    options: CombineOptions,
    units: Units,
    rng: np.random.Generator,
) -> tuple[dict[str, tuple[float, float]], list[str]]:
    """Intervals of the differences from the best part, over units and, at level sys, systems."""
    n, es = options.n_bootstrap, run.data.es
    counts = segment_counts(n, es.n_segments, rng, units.codes)
    resamples = Resamples("unit", counts, None, units.name, units.n)
    if run.view.level == "sys":
        systems = draw_counts(n, es.n_systems, rng)
        resamples = Resamples("both", counts, systems, units.name, min(units.n, es.n_systems))
    able, told = resampled_metrics(run, found, resamples)
    if not set(shares) <= set(able):
        return {}, told
    values = replicates(run, able, resamples)
    goal = sum(share * values[:, able.index(name)] for name, share in shares.items())
    low, high = interval(values - np.asarray(goal)[:, None])
    return dict(zip(able, zip(low.tolist(), high.tolist(), strict=True), strict=True)), told


def _weight_table(parts: _Parts, weights: Mapping[str, CrossWeights]) -> Table:
    """Show the weights of the parts, and their spread over the folds."""
    columns = [Column("metric")]
    rows: list[list[Cell]] = [[name] for name in parts.names]
    for how, own in weights.items():
        columns.append(Column(how, digits=3))
        columns += [Column(end, digits=3, key=f"{how} {end}") for end in ("least", "most")]
        for k, row in enumerate(rows):
            some = own.folds[..., k]
            row += [float(own.every[k]), float(some.min()), float(some.max())]
    first = next(iter(weights.values())).every
    order = sorted(range(len(rows)), key=lambda k: (-first[k], parts.names[k]))
    note = (
        "weights of z-scores from all cells, and the least and the most of a fold; they add up to 1"
    )
    return Table("Weights", tuple(columns), tuple(tuple(rows[k]) for k in order), (note,))
