"""Which source finds the errors that people marked: spans, and the metrics task of WMT26."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from steelyard.core.display import Record, Result, Statement, Summary, keys, named, one_line
from steelyard.core.errors import UsageError
from steelyard.core.options import check_instance, keywords
from steelyard.core.provenance import Provenance
from steelyard.core.rng import Rng, streams
from steelyard.core.table import Cell, Column, Table
from steelyard.core.text import all_of, plural
from steelyard.data.evalset import EvalSet, ScoreTable
from steelyard.data.segments import Segments
from steelyard.data.units import UnitEffect, Units, many, units_of
from steelyard.formats.judged.marked import SEVERE, Marked, Output
from steelyard.formats.judged.wmt26 import CLEAN, SCORES
from steelyard.formats.load import Source
from steelyard.formats.options import LoadOptions
from steelyard.metaevaluation.options import MetaOptions, SpanOptions
from steelyard.metaevaluation.results import (
    MetaEvaluation,
    MetaResult,
    Significance,
    lead,
    shown_ci,
)
from steelyard.metaevaluation.run import evaluate
from steelyard.metaevaluation.spanmeasures import (
    Spans,
    best_threshold,
    counts_of,
    detection,
    f_scores,
)
from steelyard.stats.arrays import Counts, Floats
from steelyard.stats.metametrics import registry
from steelyard.stats.permutation.pvalues import pair_index
from steelyard.stats.ranks import ranks, whole
from steelyard.stats.resampling.bootstrap import draw_counts, interval

Value = Callable[[Floats], tuple[Floats, ...]]  #: numbers of sums, of which the last is tested
NONE, ALL, HUMAN = "none", "all-minor", "another annotator"
MCC = "mcc"  # the measure of verdicts
_NOTHING: Spans = np.zeros((0, 3), dtype=np.int64)


@dataclass(frozen=True)
class Common:
    """The outputs that all sources have, and what is independent among them."""

    outputs: tuple[Output, ...]
    unit: Counts  # of each output
    units: Units
    level: float  # to ask of percentile intervals

    @classmethod
    def of(cls, sources: Sequence[Marked], outputs: Sequence[Output], unit: str) -> Common:
        """Find the units of outputs by what any source says of documents."""
        ids = tuple(sorted({segment for _, segment in outputs}))
        documents = {k: name for source in sources for k, name in source.documents.items()}
        names = tuple(documents.get(segment) for segment in ids)
        segments = Segments(ids, names if any(names) else None)
        used = np.ones(len(ids), dtype=bool)
        units = units_of(segments, unit, used)
        position = {segment: k for k, segment in enumerate(ids)}
        index = np.array([position[segment] for _, segment in outputs], dtype=np.int64)
        code = index
        if units.codes is not None:
            code = np.unique(units.codes, return_inverse=True)[1][index]
        return cls(tuple(outputs), code, units, units.level(0.95, used))

    def sums(self, counts: Floats) -> Floats:
        """Add up counts of outputs (metrics x outputs x kinds) by unit."""
        total = np.zeros((len(counts), int(self.unit.max()) + 1, counts.shape[-1]))
        for row, values in zip(total, counts, strict=True):
            np.add.at(row, self.unit, values)
        return total

    def placed(
        self, counts: Mapping[str, Floats], n: int, value: Value, options: SpanOptions, rng: Rng
    ) -> tuple[list[dict[str, Any]], Significance | None]:
        """Return rows of sources, best first, then baselines (beyond the first ``n``), and a test.

        A row is a :class:`SpanResult` without its measure.
        """
        draws, swaps = streams(rng, 2)
        names, sums = list(counts), self.sums(np.array(list(counts.values())))
        drawn = draw_counts(options.n_bootstrap, sums.shape[1], draws)
        resampled = np.einsum("bu,muk->bmk", drawn, sums, optimize=True)
        low, high = interval(value(resampled)[-1], self.level)
        parts = np.stack(value(sums.sum(axis=1)), axis=1)
        rank = [*whole(ranks(parts[:n, 2])), *[None] * len(names)]
        order = [*np.argsort(-parts[:n, 2], kind="stable"), *range(n, len(names))]
        rows = [
            {
                "metric": names[k],
                **dict(zip(("precision", "recall", "value"), parts[k].tolist(), strict=True)),
                "ci": (float(low[k]), float(high[k])) if sums.shape[1] > 1 else None,
                "rank": rank[k],
                "baseline": k >= n,
            }
            for k in order
        ]
        if not options.significance or n < 2:
            return rows, None
        resamples = options.n_resamples or 2000
        p = swap_pvalues(sums[order[:n]], value, resamples, swaps)
        tested = tuple(names[k] for k in order[:n])
        return rows, Significance(tested, p, "inputs", resamples, "two-sided")


def swap_pvalues(sums: Floats, value: Value, n: int, rng: np.random.Generator) -> Floats:
    """Return two-sided p-values of all pairs of metrics, whose units are swapped at random."""
    total = sums.sum(axis=1)
    moved = np.einsum("bu,muk->mbk", rng.integers(0, 2, (n, sums.shape[1])), sums, optimize=True)
    observed = value(total)[-1]
    p = np.full((len(sums), len(sums)), np.nan)
    for a, b in zip(*pair_index(len(sums)), strict=True):
        first, second = (total[i] - moved[i] + moved[j] for i, j in ((a, b), (b, a)))
        drawn = np.abs(value(first)[-1] - value(second)[-1])
        extreme = drawn >= abs(observed[a] - observed[b]) - 1e-12
        p[a, b] = p[b, a] = (1 + np.count_nonzero(extreme)) / (n + 1)
    return p


@dataclass(frozen=True, slots=True)
class SpanResult(Record):
    """One source under one measure; ``rank`` is by the value (F), without baselines."""

    json_keys = keys("metric measure precision recall f=value ci rank baseline")
    metric: str
    measure: str
    precision: float
    recall: float
    value: float
    ci: tuple[float, float] | None = None
    rank: int | None = None
    baseline: bool = False


class DetectionResult(SpanResult):
    """How well one metric tells which outputs are free of errors: the value is MCC."""

    __slots__ = ()
    json_keys = keys("metric mcc=value precision recall ci rank baseline")


@dataclass(frozen=True, repr=False)
class SpanEvaluation(Result):
    """How sources of error spans, or of verdicts, agree with what people marked."""

    json_keys = keys("gold n_outputs average unit results significance provenance warnings")
    gold: str
    n_outputs: int
    average: str
    unit: UnitEffect
    results: tuple[SpanResult, ...]
    significance: Mapping[str, Significance] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    provenance: Provenance | None = None

    def of_measure(self, measure: str, *, baselines: bool = False) -> list[SpanResult]:
        """Return the results under one measure, best first."""
        return [r for r in self.results if r.measure == measure and r.baseline == baselines]

    @property
    def measures(self) -> list[str]:
        """The measures, in the order that was asked for."""
        return list(dict.fromkeys(result.measure for result in self.results))

    def words(self) -> Summary:
        """Return which source finds the errors best, and what baselines say about measures."""
        return Summary.of(self._statements())

    def _statements(self) -> Iterator[Statement]:
        measure = self.measures[0]
        first, *others = self.of_measure(measure)
        value = f"{_label(measure)} {first.value:.3f}{shown_ci(first.ci)}"
        text = f"{first.metric} matches {self.gold} best ({value})"
        test = self.significance.get(measure)
        p = {r.metric: test.between(first.metric, r.metric) for r in others} if test else {}
        close = [name for name, value in p.items() if not value <= 0.05]
        names = [r.metric for r in others]
        yield from lead(text, names, p[names[0]] if p else None, close)
        for baseline, names in self._beaten().items():
            what = "marking nothing" if baseline == NONE else "one span over the whole output"
            yield "undecided", f"By {all_of(names)} alone, {what} beats every source."
        size = f"{plural(self.n_outputs, 'output')} and {self.unit.counted()}"
        yield "sureness", f"This rests on {size}."

    def _beaten(self) -> dict[str, list[str]]:
        beaten: dict[str, list[str]] = {}
        for name in self.measures:
            best = max(r.value for r in self.of_measure(name))
            for line in self.of_measure(name, baselines=True):
                if line.metric in (NONE, ALL) and line.value > best:
                    beaten.setdefault(line.metric, []).append(f"{name} ({line.value:.3f})")
        return beaten

    def answer(self) -> tuple[str, ...]:
        """Return the best source, what is open, and what baselines say."""
        words = self.words()
        return (*words.settled, *words.undecided)[:3]

    def table(self) -> Table:
        """Return a row per source: F of every measure, the first with interval and parts."""
        first = self.measures[0]
        columns = [Column("metric"), Column(_label(first), "higher", digits=3, key=first)]
        columns += [Column(end, digits=3) for end in ("low", "high", "precision", "recall")]
        columns += [
            Column(_label(name), "higher", digits=3, key=name) for name in self.measures[1:]
        ]
        rows: list[tuple[Cell, ...]] = []
        sources = [*self.of_measure(first), *self.of_measure(first, baselines=True)]
        for r in sources:
            other = [x.value for name in self.measures[1:] for x in self.results
                     if x.metric == r.metric and x.measure == name]  # fmt: skip
            ends = (None, None) if r.ci is None else r.ci
            rows.append((r.metric, r.value, *ends, r.precision, r.recall, *other))
        size = f"{plural(self.n_outputs, 'output')}, {self.average} average"
        note = f"Against {self.gold} on {size}; low, high: 95% CI over {many(self.unit.name)}."
        rule = frozenset((len(self.of_measure(first)),))
        return Table("", tuple(columns), tuple(rows), (note,), rule)

    def __repr__(self) -> str:
        names = [r.metric for r in self.of_measure(self.measures[0])]
        return one_line(self, f"of {named(names)} against {self.gold}: {self.n_outputs} outputs")


@keywords(SpanOptions)
def spans(
    *sources: Source,
    options: SpanOptions,
    reading: LoadOptions | None = None,
    rng: Rng = 0,
) -> SpanEvaluation:
    """Measure how well error spans agree with those that people marked.

    Parameters
    ----------
    *sources
        First what people marked, then predictions of metrics or of other people: paths that
        :func:`steelyard.human_scores` takes (error lists, Appraise, mt-metrics-eval ratings,
        pearmut, WMT26 metrics task), ratings, or sets with ratings. A source with texts and no
        errors gives the lengths of outputs, for the baseline that marks everything.
    reading
        How files are read: a language pair, systems, the name of ratings.
    rng
        Seed of the draws.

    Other options are those of :class:`SpanOptions`.

    Returns
    -------
    SpanEvaluation
        Precision, recall and F of each source and measure, with intervals, tests and baselines.

    See Also
    --------
    steelyard.meta_evaluate : Scores instead of spans.

    Examples
    --------
    >>> from steelyard.data.judgements import ErrorSpan, Ratings
    >>> def made(*ends):
    ...     errors = tuple((ErrorSpan("", "minor", 0, end),) for end in ends)
    ...     return Ratings.from_labels("AB", "11", "rr", np.full(2, np.nan), errors=errors)
    >>> result = spans(made(4, 8), made(4, 4), measures=["mpp"])
    >>> round(result.results[0].value, 3)
    0.857
    """
    check_instance(LoadOptions, "LoadOptions", optional=True, reading=reading)
    if len(sources) < 2:
        raise UsageError("expected what people marked, and at least one prediction")
    people, *predictions = [Marked.of(source, reading or LoadOptions()) for source in sources]
    return evaluate_spans(people, named_apart(predictions), options, rng)


def named_apart(sources: Sequence[Marked]) -> list[Marked]:
    """Number sources of the same name."""
    names: list[str] = []
    for source in sources:
        same = [name for name in names if name.partition(" (")[0] == source.name]
        names.append(f"{source.name} ({len(same) + 1})" if same else source.name)
    return [replace(source, name=name) for source, name in zip(sources, names, strict=True)]


def evaluate_spans(
    people: Marked, sources: Sequence[Marked], options: SpanOptions, rng: Rng
) -> SpanEvaluation:
    """Compare sources that are read."""
    predictions = [source for source in sources if source.errors]
    if not people.errors or not predictions:
        who = "no prediction has" if people.errors else f"{people.name} has no"
        raise UsageError(f"{who} error spans")
    lacking = "are not marked by every prediction"
    outputs, warnings = shared_outputs(people.errors, [x.errors for x in predictions], lacking)
    common = Common.of([people, *sources], outputs, options.unit)
    warnings += [note for source in (people, *sources) for note in source.notes]
    warnings += common.units.warnings
    marked = [people.spans(output) for output in outputs]
    lines = {source.name: [source.spans(output) for output in outputs] for source in predictions}
    n_lines = len(lines)
    lines[NONE] = [[_NOTHING]] * len(outputs)
    lengths = {o: n for source in (people, *sources) for o, n in source.lengths.items()}
    if all(output in lengths for output in outputs):
        lines[ALL] = [[np.array([(0, max(1, lengths[o]), 0)])] for o in outputs]
    else:
        warnings.append("no baseline that marks everything: texts of outputs are not known")
    if all(len(ratings) > 1 for ratings in marked):
        lines[HUMAN] = marked
    results: list[SpanResult] = []
    tests: dict[str, Significance] = {}
    for measure, stream in zip(options.measures, streams(rng, len(options.measures)), strict=True):
        counts = {
            name: np.array(
                [_mean_counts(measure, g, p) for g, p in zip(marked, by_output, strict=True)]
            )
            for name, by_output in lines.items()
        }
        value = f_scores
        if options.average == "macro":
            value = _means
            ones = np.ones(len(outputs))
            counts = {k: np.stack([*f_scores(x), ones], axis=-1) for k, x in counts.items()}
        rows, test = common.placed(counts, n_lines, value, options, stream)
        results += [SpanResult(measure=measure, **row) for row in rows]
        tests |= {} if test is None else {measure: test}
    shown = {"gold": people.name, "measures": ",".join(options.measures)}
    files = tuple(file for source in (people, *sources) for file in source.files)
    return SpanEvaluation(
        gold=people.name,
        n_outputs=len(outputs),
        average=options.average,
        unit=UnitEffect(common.units.name, common.units.n, float("nan")),
        results=tuple(results),
        significance=tests,
        warnings=tuple(dict.fromkeys(warnings)),
        provenance=Provenance.of("spans", shown, files, rng, options),
    )


def shared_outputs(
    gold: Collection[Output], predictions: Sequence[Collection[Output]], lacking: str
) -> tuple[list[Output], list[str]]:
    """Return the outputs that people and all predictions have, and a warning of the others."""
    outputs = sorted(o for o in gold if all(o in prediction for prediction in predictions))
    if not outputs:
        raise UsageError("no output (system and segment) is in the gold and in all predictions")
    lost = len(gold) - len(outputs)
    text = f"{lost:,} of {len(gold):,} outputs are ignored: they {lacking}"
    return outputs, [text] if lost else []


def _label(measure: str) -> str:
    return "MCC" if measure == MCC else f"{measure} F"


def _mean_counts(measure: str, gold: list[Spans], pred: list[Spans]) -> Any:
    """Average the counts over all ratings of an output, none of which is compared with itself."""
    pairs = [(g, p) for g in gold for p in pred if g is not p]
    return np.mean([counts_of(measure, g, p) for g, p in pairs], axis=0)


def _means(sums: Floats) -> tuple[Floats, Floats, Floats]:
    precision, recall, f, n = np.moveaxis(sums, -1, 0)
    return precision / n, recall / n, f / n


# The metrics task of WMT26. Spans convert to scores, and both to verdicts: no marked error, or a
# score from a threshold on that fits the other half of the documents best.

PEOPLE = "human"
CLEAN_FROM = 85.0  # an ESA score from which on an output without marked errors is free of errors
_PERFECT, _COSTS = 100.0, {False: 1.0, True: 5.0}  # of minor and major errors
_ZERO = "always-0"


@dataclass(frozen=True, repr=False)
class MetricsTask(Result):
    """The three tasks, as far as gold and predictions have them.

    ``ceiling`` are the scores of another annotator, where people rated every output twice.
    """

    json_keys = keys("gold tasks significance n_outputs clean_share provenance warnings")
    gold: str
    spans: SpanEvaluation | None
    scores: MetaEvaluation
    ceiling: tuple[MetaResult, ...]
    detection: SpanEvaluation
    clean_share: float
    warnings: tuple[str, ...] = ()
    provenance: Provenance | None = None

    @property
    def n_outputs(self) -> int:
        """How many outputs the third task has."""
        return self.detection.n_outputs

    @property
    def tasks(self) -> dict[str, list[dict[str, Any]]]:
        """The rows of each task."""
        spans = () if self.spans is None else self.spans.results
        rows: Mapping[str, Sequence[Record]]
        rows = {"1": spans, "2": (*self.scores.results, *self.ceiling), "3": self.detection.results}
        return {name: [row.to_dict() for row in part] for name, part in rows.items()}

    @property
    def significance(self) -> dict[str, Any]:
        """The tests of each task."""
        tests = {"1": self.spans, "2": self.scores}
        every: dict[str, Any] = {k: part.significance for k, part in tests.items() if part}
        if self.detection.significance:
            every["3"] = self.detection.significance[MCC]
        return every

    def words(self) -> Summary:
        """Return the best metric of each task."""
        return Summary.of(self._statements())

    def _statements(self) -> Iterator[Statement]:
        for number, part in (("1", self.spans), ("2", self.scores), ("3", self.detection)):
            if part is not None:
                yield "settled", f"Task {number}: {part.answer()[0]}"
        for text in () if self.spans is None else self.spans.words().undecided:
            if text.startswith("By "):
                yield "undecided", text
        share = f"{100 * self.clean_share:.0f}% of {plural(self.n_outputs, 'output')}"
        yield "sureness", f"{share} have no errors."

    def answer(self) -> tuple[str, ...]:
        """Return a sentence per task."""
        return self.words().settled

    def table(self) -> Table:
        """Return the rows of the third task."""
        return replace(self.detection.table(), title="Task 3, outputs without errors")

    def tables(self) -> list[Table]:
        """Return a table per task."""
        scores = self.scores.table()
        by = {(r.metric, r.by): r.value for r in self.ceiling}
        lines = tuple(
            tuple(HUMAN if c.name == "metric" else by.get((HUMAN, c.name)) for c in scores.columns)
            for _ in self.ceiling[:1]
        )
        rules = frozenset([len(scores.rows)] if lines else [])
        scores = replace(scores, rows=(*scores.rows, *lines), rules=rules)
        first = [] if self.spans is None else [("Task 1, error spans", self.spans.table())]
        tables = [*first, ("Task 2, scores", scores)]
        return [*(replace(table, title=title) for title, table in tables), self.table()]

    def __repr__(self) -> str:
        names = [row.metric for row in self.detection.results]
        return one_line(self, f"against {self.gold}: {named(names)}")


def metrics_task(
    gold: Source,
    predictions: Sequence[Source],
    by: Sequence[str] = ("spa", "acc-eq"),
    options: MetaOptions | None = None,
    reading: LoadOptions | None = None,
    rng: Rng = 0,
) -> MetricsTask:
    """Evaluate metrics by the three tasks of WMT26; see :func:`steelyard.spans` for sources.

    A prediction may hold spans, scores (ESA, or columns of a table) and verdicts; what it lacks is
    made of what it has.
    """
    options, reading = options or MetaOptions(), reading or LoadOptions()
    people = Marked.of(gold, reading)
    sources = named_apart([Marked.of(source, reading) for source in predictions])
    score, clean = _gold(people, reading.human)
    metrics = {name: facts for source in sources for name, facts in _metrics(source).items()}
    if not metrics:
        raise UsageError("no prediction has error spans or scores")
    warnings = [note for source in (people, *sources) for note in source.notes]
    asked = SpanOptions(
        measures=("wmt25", "mpp"),
        significance=options.significance,
        n_bootstrap=options.n_bootstrap,
        n_resamples=options.n_resamples or 2000,
    )
    spans = None
    if people.errors and any(source.errors for source in sources):
        spans = evaluate_spans(people, sources, asked, rng)
    es = _scored_set(people, sources, score, {k: m[0] for k, m in metrics.items()})
    scores = evaluate(es, PEOPLE, registry.chosen(by), options, rng)
    ceiling: tuple[MetaResult, ...] = ()
    if _rated_twice(people):
        first, second = ({o: people.values[o][k] for o in score} for k in (0, 1))
        es = _scored_set(people, sources, first, {HUMAN: second})
        alone = replace(options, significance=False, metrics=None, intervals=None)
        ceiling = evaluate(es, PEOPLE, registry.chosen(by), alone, rng).results
    outputs, lost = shared_outputs(clean, [m[0] for m in metrics.values()], "lack a prediction")
    common = Common.of([people, *sources], outputs, "auto")
    truth = np.array([clean[o] for o in outputs], dtype=np.float64)
    halves, draws = streams(rng, 2)
    verdicts = {name: _verdicts(m, outputs, truth, common, halves) for name, m in metrics.items()}
    verdicts[_ZERO] = np.zeros(len(outputs))
    counts = {name: _confusions(truth, said) for name, said in verdicts.items()}
    if ceiling:
        said = [np.array([_is_clean(people, o, k) for o in outputs], np.float64) for k in (0, 1)]
        counts[HUMAN] = _confusions(*said)
    rows, test = common.placed(counts, len(metrics), detection, asked, draws)
    files = tuple(file for source in (people, *sources) for file in source.files)
    warnings += [*scores.warnings, *lost, *common.units.warnings]
    warnings += () if spans is None else spans.warnings
    return MetricsTask(
        gold=people.name,
        spans=spans,
        scores=scores,
        ceiling=ceiling,
        detection=SpanEvaluation(
            gold=people.name,
            n_outputs=len(outputs),
            average="micro",
            unit=UnitEffect(common.units.name, common.units.n, float("nan")),
            results=tuple(DetectionResult(measure=MCC, **row) for row in rows),
            significance={} if test is None else {MCC: test},
        ),
        clean_share=float(truth.mean()),
        warnings=tuple(dict.fromkeys(warnings)),
        provenance=Provenance.of("meta", {"preset": "wmt26"}, files, rng, options),
    )


def _rated_twice(people: Marked) -> bool:
    n = {output: len(values) for output, values in people.values.items()}
    complete = not people.errors or n == {o: len(errors) for o, errors in people.errors.items()}
    return complete and min(n.values(), default=0) > 1


def _is_clean(people: Marked, output: Output, rating: int) -> bool:
    """Tell whether one of the ratings of an output finds no error."""
    marked = people.errors[output][rating] if people.errors else ()
    errors = (e for e in marked if not e.in_source and e.severity.strip().lower() in SEVERE)
    return people.values[output][rating] >= CLEAN_FROM and not any(errors)


def _gold(people: Marked, human: str | None) -> tuple[dict[Output, float], dict[Output, bool]]:
    """Return scores, and which outputs are free of errors: from 85 on, and nothing marked.

    Scores that are never above 0 are costs of errors (MQM), which are made where there are none: 0
    is free of errors.
    """
    score = {o: float(np.mean(values)) for o, values in people.values.items()}
    if not score and people.scores:
        if human is None and len(people.scores) > 1:
            raise UsageError(f"name the human score (human=NAME): {', '.join(people.scores)}")
        score = people.scores[human if human is not None else next(iter(people.scores))]
    score = score or {o: -_cost(people, o) for o in people.errors}
    if not score:
        raise UsageError(f"{people.name}: expected error spans or human scores")
    least = 0.0 if max(score.values()) <= 0 else CLEAN_FROM
    return score, {o: x >= least and not people.majors(o) for o, x in score.items()}


def _cost(source: Marked, output: Output) -> float:
    return sum(_COSTS[major] for major in source.majors(output)) / len(source.errors[output])


Metric = tuple[dict[Output, float], dict[Output, float] | None]  # scores, and verdicts if known


def _metrics(source: Marked) -> dict[str, Metric]:
    verdicts = source.scores.get(CLEAN)
    scores = source.scores.get(SCORES)
    if scores is None and source.values:
        scores = {o: float(np.mean(values)) for o, values in source.values.items()}
        if verdicts is None and source.errors:
            verdicts = {o: x >= CLEAN_FROM and not source.majors(o) for o, x in scores.items()}
    if scores is None and source.errors:
        scores = {o: max(0.0, _PERFECT - _cost(source, o)) for o in source.errors}
        verdicts = verdicts or {o: x == _PERFECT for o, x in scores.items()}
    if scores is None and verdicts is not None:
        scores = verdicts
    if scores is not None:
        return {source.name: (scores, verdicts)}
    return {name: (table, None) for name, table in source.scores.items()}


def _scored_set(
    people: Marked,
    sources: Sequence[Marked],
    score: Mapping[Output, float],
    metrics: Mapping[str, Mapping[Output, float]],
) -> EvalSet:
    systems = tuple(sorted({system for system, _ in score}))
    ids = tuple(sorted({segment for _, segment in score}))
    documents = {k: name for source in (people, *sources) for k, name in source.documents.items()}
    names = tuple(documents.get(segment) for segment in ids)

    def table(values: Mapping[Output, float], kind: Literal["human", "metric"]) -> ScoreTable:
        cells = [[values.get((system, k), np.nan) for k in ids] for system in systems]
        return ScoreTable(np.array(cells, dtype=np.float64), kind)

    tables = {PEOPLE: table(score, "human")}
    tables |= {name: table(values, "metric") for name, values in metrics.items()}
    files = tuple(file for source in (people, *sources) for file in source.files)
    segments = Segments(ids, names if any(names) else None)
    return EvalSet(systems, segments, tables, inputs=files)


def _verdicts(
    metric: Metric, outputs: Sequence[Output], truth: Floats, common: Common, rng: Any
) -> Floats:
    """Return 1 where a metric calls an output free of errors, by itself or by a threshold."""
    scores, verdicts = metric
    if verdicts is not None:
        return np.array([float(verdicts.get(o, 0.0) > 0) for o in outputs])
    values = np.array([scores[o] for o in outputs])
    state = np.random.default_rng(rng.bit_generator.seed_seq)  # the same halves for every metric
    half = (state.permutation(int(common.unit.max()) + 1) % 2)[common.unit]
    said = np.zeros(len(outputs))
    for side in (0, 1):
        fit, held = half != side, half == side
        if fit.any():
            said[held] = values[held] >= best_threshold(values[fit], truth[fit])
    return said


def _confusions(truth: Floats, said: Floats) -> Floats:
    return np.stack([truth * said, (1 - truth) * said, truth * (1 - said),
                     (1 - truth) * (1 - said)], axis=-1)  # fmt: skip
