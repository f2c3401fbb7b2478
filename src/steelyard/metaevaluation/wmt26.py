"""The metrics task of WMT26: error spans, scores, and outputs that are free of errors.

Spans convert to scores, and both to verdicts: no marked error, or a score from a threshold on that
fits the other half of the documents best.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from steelyard.core.display import Record, Result, Statement, Summary, keys, named, one_line
from steelyard.core.errors import UsageError
from steelyard.core.provenance import Provenance
from steelyard.core.rng import Rng, streams
from steelyard.core.table import Column, Table
from steelyard.core.text import plural
from steelyard.data.evalset import EvalSet, ScoreTable
from steelyard.data.segments import Segments
from steelyard.formats.judged.metricstask import CLEAN, SCORES
from steelyard.formats.load import Source
from steelyard.formats.options import LoadOptions
from steelyard.metaevaluation.errorspans import (
    SEVERE,
    Common,
    Marked,
    Output,
    SpanEvaluation,
    evaluate_spans,
    named_apart,
    shared_outputs,
    swap_pvalues,
)
from steelyard.metaevaluation.options import MetaOptions, SpanOptions
from steelyard.metaevaluation.results import MetaEvaluation, Significance
from steelyard.metaevaluation.run import evaluate
from steelyard.metaevaluation.spanmeasures import best_threshold, detection
from steelyard.stats.arrays import Floats
from steelyard.stats.metametrics import registry
from steelyard.stats.ranks import ranks, whole

CLEAN_FROM = 85.0  # an ESA score from which on an output without marked errors is free of errors
_PERFECT, _COSTS = 100.0, {False: 1.0, True: 5.0}  # of minor and major errors
_ZERO = "always-0"
HUMAN = "human"


@dataclass(frozen=True, slots=True)
class DetectionResult(Record):
    """How well one metric tells which outputs are free of errors."""

    metric: str
    mcc: float
    precision: float
    recall: float
    ci: tuple[float, float] | None = None
    rank: int | None = None
    baseline: bool = False


@dataclass(frozen=True, repr=False)
class MetricsTask(Result):
    """The three tasks, as far as gold and predictions have them."""

    json_keys = keys("gold tasks significance n_outputs clean_share provenance warnings")
    gold: str
    spans: SpanEvaluation | None
    scores: MetaEvaluation
    detection: tuple[DetectionResult, ...]
    detection_test: Significance | None
    n_outputs: int  # of the third task
    clean_share: float
    warnings: tuple[str, ...] = ()
    provenance: Provenance | None = field(default=None)

    @property
    def tasks(self) -> dict[str, list[dict[str, Any]]]:
        """The rows of each task."""
        spans = () if self.spans is None else self.spans.results
        rows: Mapping[str, Sequence[Record]]
        rows = {"1": spans, "2": self.scores.results, "3": self.detection}
        return {name: [row.to_dict() for row in part] for name, part in rows.items()}

    @property
    def significance(self) -> dict[str, Any]:
        """The tests of each task."""
        tests = {"1": self.spans, "2": self.scores}
        every = {name: part.significance for name, part in tests.items() if part is not None}
        return every | ({} if self.detection_test is None else {"3": self.detection_test})

    def words(self) -> Summary:
        """Return the best metric of each task."""
        return Summary.of(self._statements())

    def _statements(self) -> Iterator[Statement]:
        for number, part in (("1", self.spans), ("2", self.scores)):
            if part is not None:
                yield "settled", f"Task {number}: {part.answer()[0]}"
        ahead = [row for row in self.detection if not row.baseline]
        if ahead:
            best = ahead[0]
            ci = "" if best.ci is None else f", 95% CI {best.ci[0]:.3f} to {best.ci[1]:.3f}"
            share = f"{100 * self.clean_share:.0f}% of {plural(self.n_outputs, 'output')}"
            text = f"Task 3: {best.metric} detects outputs without errors best (MCC {best.mcc:.3f}"
            yield "settled", f"{text}{ci}); {share} have none."
        for text in () if self.spans is None else self.spans.words().undecided:
            if text.startswith("By "):
                yield "undecided", text

    def answer(self) -> tuple[str, ...]:
        """Return a sentence per task."""
        return self.words().settled

    def table(self) -> Table:
        """Return the rows of the third task."""
        columns = [Column("metric"), Column("mcc", "higher", digits=3)]
        columns += [Column(name, digits=3) for name in ("low", "high", "precision", "recall")]
        rows = tuple(
            (r.metric, r.mcc, *((None, None) if r.ci is None else r.ci), r.precision, r.recall)
            for r in self.detection
        )
        return Table("Task 3, outputs without errors", tuple(columns), rows)

    def tables(self) -> list[Table]:
        """Return a table per task."""
        parts = (("Task 1, error spans", self.spans), ("Task 2, scores", self.scores))
        tables = [(title, part.table()) for title, part in parts if part is not None]
        made = [Table(title, t.columns, t.rows, t.notes, t.rules) for title, t in tables]
        return [*made, *([self.table()] if self.detection else [])]

    def __repr__(self) -> str:
        names = [row.metric for row in self.detection]
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
    scores = evaluate(es, HUMAN, registry.chosen(by), options, rng)
    warnings += scores.warnings
    outputs, lost = shared_outputs(clean, [m[0] for m in metrics.values()], "lack a prediction")
    common = Common.of([people, *sources], outputs, "auto")
    truth = np.array([clean[o] for o in outputs], dtype=np.float64)
    halves, draws, swaps = streams(rng, 3)
    verdicts = {name: _verdicts(m, outputs, truth, common, halves) for name, m in metrics.items()}
    verdicts[_ZERO] = np.zeros(len(outputs))
    counts = np.array([_confusions(truth, said) for said in verdicts.values()])
    sums = common.sums(counts)
    ends = common.intervals(sums, detection, asked.n_bootstrap, draws)
    parts = np.stack(detection(sums.sum(axis=1)), axis=1)
    n = len(metrics)
    place = [*whole(ranks(parts[:n, 2])), None]
    order = [*np.argsort(-parts[:n, 2], kind="stable").tolist(), n]
    names = list(verdicts)
    rows = tuple(
        DetectionResult(
            metric=names[k],
            mcc=float(parts[k, 2]),
            precision=float(parts[k, 0]),
            recall=float(parts[k, 1]),
            ci=ends[k],
            rank=place[k],
            baseline=k == n,
        )
        for k in order
    )
    test = None
    if options.significance and n > 1:
        draws_of_test = asked.n_resamples or 2000
        p = swap_pvalues(sums[order[:n]], detection, draws_of_test, swaps)
        tested = tuple(names[k] for k in order[:n])
        test = Significance(tested, p, "inputs", draws_of_test, "two-sided")
    files = tuple(file for source in (people, *sources) for file in source.files)
    warnings += [*lost, *common.units.warnings, *([] if spans is None else spans.warnings)]
    return MetricsTask(
        gold=people.name,
        spans=spans,
        scores=scores,
        detection=rows,
        detection_test=test,
        n_outputs=len(outputs),
        clean_share=float(truth.mean()),
        warnings=tuple(dict.fromkeys(warnings)),
        provenance=Provenance.of("meta", {"preset": "wmt26"}, files, rng, options),
    )


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
    return score, {o: x >= least and not _errors(people, o) for o, x in score.items()}


def _errors(source: Marked, output: Output) -> list[bool]:
    """Return whether each marked error of an output is major, also of those without a place."""
    errors = (error for rating in source.errors.get(output, ()) for error in rating)
    words = (error.severity.strip().lower() for error in errors if not error.in_source)
    return [SEVERE[word] for word in words if word in SEVERE]


def _cost(source: Marked, output: Output) -> float:
    """Return what the errors of an output cost, a mean over its ratings."""
    return sum(_COSTS[major] for major in _errors(source, output)) / len(source.errors[output])


Metric = tuple[dict[Output, float], dict[Output, float] | None]  # scores, and verdicts if known


def _metrics(source: Marked) -> dict[str, Metric]:
    """Return scores and verdicts of each metric of a source."""
    verdicts = source.scores.get(CLEAN)
    scores = source.scores.get(SCORES)
    if scores is None and source.values:
        scores = {o: float(np.mean(values)) for o, values in source.values.items()}
        if verdicts is None and source.errors:
            verdicts = {o: x >= CLEAN_FROM and not _errors(source, o) for o, x in scores.items()}
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
    """Put human and metric scores into one set."""
    systems = tuple(sorted({system for system, _ in score}))
    ids = tuple(sorted({segment for _, segment in score}))
    documents = {k: name for source in (people, *sources) for k, name in source.documents.items()}
    names = tuple(documents.get(segment) for segment in ids)

    def table(values: Mapping[Output, float], kind: Literal["human", "metric"]) -> ScoreTable:
        cells = [[values.get((system, k), np.nan) for k in ids] for system in systems]
        return ScoreTable(np.array(cells, dtype=np.float64), kind)

    tables = {HUMAN: table(score, "human")}
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
    """Return tp, fp, fn, tn of each output."""
    return np.stack([truth * said, (1 - truth) * said, truth * (1 - said),
                     (1 - truth) * (1 - said)], axis=-1)  # fmt: skip
