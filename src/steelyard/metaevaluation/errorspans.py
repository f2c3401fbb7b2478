"""Which source of error spans finds the errors that people marked."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from steelyard.core.decision import shown_p
from steelyard.core.display import Record, Result, Statement, Summary, keys, named, one_line
from steelyard.core.errors import UsageError
from steelyard.core.options import keywords
from steelyard.core.provenance import InputFile, Provenance
from steelyard.core.rng import Rng, streams
from steelyard.core.table import Cell, Column, Table
from steelyard.core.text import all_of, plural
from steelyard.data.evalset import EvalSet
from steelyard.data.judgements import ErrorSpan, Ratings
from steelyard.data.segments import Segments
from steelyard.data.units import UnitEffect, Units, many, units_of
from steelyard.formats.load import Source, read
from steelyard.formats.options import LoadOptions
from steelyard.metaevaluation.options import SpanOptions
from steelyard.metaevaluation.results import Significance
from steelyard.metaevaluation.spanmeasures import Spans, counts_of, f_scores
from steelyard.stats.arrays import Counts, Floats
from steelyard.stats.permutation.pvalues import pair_index
from steelyard.stats.ranks import ranks, whole
from steelyard.stats.resampling.bootstrap import draw_counts, interval

Output = tuple[str, str]  #: system and segment
Value = Callable[[Floats], tuple[Floats, ...]]  #: numbers of sums, of which the last is tested
NONE, ALL, HUMAN = "none", "all-minor", "another annotator"
#: Severities that count, and whether they are major; others (undecided, neutral) are no errors.
SEVERE = {"minor": False, "": False, "major": True, "critical": True}
_NOTHING: Spans = np.zeros((0, 3), dtype=np.int64)


@dataclass(frozen=True)
class Marked:
    """What one source says of outputs: their errors by rating, scores, texts and documents."""

    name: str
    errors: dict[Output, list[tuple[ErrorSpan, ...]]] = field(default_factory=dict)
    values: dict[Output, list[float]] = field(default_factory=dict)  # of ratings
    scores: dict[str, dict[Output, float]] = field(default_factory=dict)  # tables, higher is better
    lengths: dict[Output, int] = field(default_factory=dict)
    documents: dict[str, str] = field(default_factory=dict)
    files: list[InputFile] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    reading: LoadOptions = field(default_factory=LoadOptions)

    @classmethod
    def of(cls, source: Source, options: LoadOptions) -> Marked:
        """Read a source: a path, a set, or ratings."""
        name = Path(source).name.split(".jsonl")[0] if isinstance(source, (str, Path)) else "spans"
        name = name.removesuffix(".gz").removesuffix(".csv").removesuffix(".json")
        marked = cls(name, reading=options)
        parts = () if isinstance(source, Ratings) else read([source], options).parts
        for part in parts:
            marked.files.extend(part.files or getattr(part.value, "inputs", ()))
            marked.notes.extend((*part.notes, *getattr(part.value, "notes", ())))
        for value in [part.value for part in parts] or [source]:
            if isinstance(value, Ratings):
                marked.add_ratings(value)
            elif isinstance(value, EvalSet):
                marked.add_set(value)
            else:
                raise UsageError(f"{source}: expected error spans, scores or texts")
        return marked

    def add_ratings(self, ratings: Ratings) -> None:
        """Add errors and values; what people were not asked for is missing."""
        for row in np.flatnonzero(ratings.is_item("system", "repeat")).tolist():
            system = ratings.systems[ratings.system[row]]
            segment = ratings.segments[ratings.segment[row]]
            if not self._kept(system):
                continue
            errors = None if ratings.errors is None else ratings.errors[row]
            if errors is not None:
                self.errors.setdefault((system, segment), []).append(errors)
            if not np.isnan(ratings.value[row]):
                value = float(ratings.value[row])
                self.values.setdefault((system, segment), []).append(value)
            if ratings.document is not None and ratings.document[row]:
                self.documents[segment] = ratings.document[row]

    def add_set(self, es: EvalSet) -> None:
        """Add what a set holds; of several ratings, those of the human score that is named."""
        options = self.reading
        es = es.drop(systems=[name for name in es.systems if not self._kept(name)])
        chosen = options.human if options.human in es.ratings else None
        for name, ratings in es.ratings.items():
            if chosen in (None, name):
                self.add_ratings(ratings)
        for segment, document in zip(es.segments.ids, es.segments.documents or (), strict=False):
            if document is not None:
                self.documents[segment] = document
        for system, texts in es.outputs.items():
            for segment, text in zip(es.segments.ids, texts, strict=True):
                if text is not None:
                    self.lengths[system, segment] = len(text)
        for name, table in es.scores.items():
            sign = -1 if name in options.lower_is_better or not table.higher_is_better else 1
            i, k = np.nonzero(~np.isnan(table.values))
            rows = zip(i.tolist(), k.tolist(), (sign * table.values[i, k]).tolist(), strict=True)
            self.scores[name] = {(es.systems[a], es.segments.ids[b]): x for a, b, x in rows}

    def _kept(self, system: str) -> bool:
        """Tell whether a system is wanted."""
        wanted = self.reading.systems
        return system not in self.reading.drop_systems and (wanted is None or system in wanted)

    def spans(self, output: Output) -> list[Spans]:
        """Return the spans of each rating that have a place in the output, and a severity."""
        return [
            np.array(
                [
                    (e.start, e.end, SEVERE[severity])
                    for e in errors
                    if (severity := e.severity.strip().lower()) in SEVERE
                    and not e.in_source and e.start is not None and e.end is not None
                    and e.end > e.start
                ],
                dtype=np.int64,
            ).reshape(-1, 3)
            for errors in self.errors[output]
        ]  # fmt: skip


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

    def intervals(
        self, sums: Floats, value: Value, n: int, rng: np.random.Generator
    ) -> list[tuple[float, float] | None]:
        """Return 95% intervals of each metric's value over resampled units."""
        if sums.shape[1] < 2:
            return [None] * len(sums)
        drawn = draw_counts(n, sums.shape[1], rng)
        resampled = np.einsum("bu,muk->bmk", drawn, sums, optimize=True)
        low, high = interval(value(resampled)[-1], self.level)
        return [None if np.isnan(x + y) else (x, y) for x, y in zip(low, high, strict=True)]


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
    """One source of spans under one measure; ``rank`` is by F, without baselines."""

    metric: str
    measure: str
    precision: float
    recall: float
    f: float
    ci: tuple[float, float] | None = None
    rank: int | None = None
    baseline: bool = False


@dataclass(frozen=True, repr=False)
class SpanEvaluation(Result):
    """How sources of error spans agree with the spans that people marked."""

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
        ci = "" if first.ci is None else f", 95% CI {first.ci[0]:.3f} to {first.ci[1]:.3f}"
        text = f"{first.metric} matches {self.gold} best ({measure} F {first.f:.3f}{ci})"
        test = self.significance.get(measure)
        if test is None or not others:
            yield "settled", f"{text}."
            if others:
                lead = f"Its lead over {others[0].metric} was not tested (significance=True)."
                yield "undecided", lead
        else:
            row = test.p[test.metrics.index(first.metric)]
            p = float(row[test.metrics.index(others[0].metric)])
            if p <= 0.05:
                yield "settled", f"{text}, ahead of {others[0].metric} ({shown_p(p)})."
            else:
                close = f"{others[0].metric} is too close to call ({shown_p(p)})"
                yield "undecided", f"{text}, but {close}."
        beaten: dict[str, list[str]] = {}
        for name in self.measures:
            best = max(r.f for r in self.of_measure(name))
            for line in self.of_measure(name, baselines=True):
                if line.metric in (NONE, ALL) and line.f > best:
                    beaten.setdefault(line.metric, []).append(f"{name} ({line.f:.3f})")
        for baseline, names in beaten.items():
            what = "marking nothing" if baseline == NONE else "one span over the whole output"
            yield "undecided", f"By {all_of(names)} alone, {what} beats every source."
        size = f"{plural(self.n_outputs, 'output')} and {self.unit.counted()}"
        yield "sureness", f"This rests on {size}."

    def answer(self) -> tuple[str, ...]:
        """Return the best source, what is open, and what baselines say."""
        words = self.words()
        return (*words.settled, *words.undecided)[:3]

    def table(self) -> Table:
        """Return a row per source: F of every measure, the first with interval and parts."""
        first = self.measures[0]
        columns = [Column("metric"), Column(f"{first} F", "higher", digits=3, key=first)]
        columns += [Column(end, digits=3) for end in ("low", "high", "precision", "recall")]
        columns += [Column(f"{name} F", "higher", digits=3, key=name) for name in self.measures[1:]]
        rows: list[tuple[Cell, ...]] = []
        sources = [*self.of_measure(first), *self.of_measure(first, baselines=True)]
        for r in sources:
            other = [x.f for name in self.measures[1:] for x in self.results
                     if x.metric == r.metric and x.measure == name]  # fmt: skip
            ends = (None, None) if r.ci is None else r.ci
            rows.append((r.metric, r.f, *ends, r.precision, r.recall, *other))
        size = f"{plural(self.n_outputs, 'output')}, {self.average} average"
        note = f"Spans of {self.gold} on {size}; low, high: 95% CI over {many(self.unit.name)}."
        rule = frozenset((len(self.of_measure(first)),))
        return Table("", tuple(columns), tuple(rows), (note,), rule)

    def __repr__(self) -> str:
        names = [r.metric for r in self.of_measure(self.measures[0])]
        return one_line(self, f"of {named(names)} against {self.gold}: {self.n_outputs} outputs")


@keywords(SpanOptions)
def spans(
    gold: Source,
    *predictions: Source,
    options: SpanOptions,
    reading: LoadOptions | None = None,
    rng: Rng = 0,
) -> SpanEvaluation:
    """Measure how well error spans agree with those that people marked.

    Parameters
    ----------
    gold
        Marked errors: a path that :func:`steelyard.load` or :func:`steelyard.human_scores` takes
        (error lists, Appraise, mt-metrics-eval ratings, pearmut, WMT26 metrics task), ratings, or a
        set with ratings.
    *predictions
        The same, of metrics or of other people. A source with texts and no errors gives the lengths
        of outputs, for the baseline that marks everything.
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
    >>> round(result.results[0].f, 3)
    0.857
    """
    reading = reading or LoadOptions()
    people = Marked.of(gold, reading)
    sources = named_apart([Marked.of(source, reading) for source in predictions])
    return evaluate_spans(people, sources, options, rng)


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
        raise UsageError(f"{'no prediction' if people.errors else people.name} has error spans")
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
    draws, swaps = streams(rng, 2)
    results: list[SpanResult] = []
    tests: dict[str, Significance] = {}
    for measure in options.measures:
        counts = np.array(
            [
                [_mean_counts(measure, g, p) for g, p in zip(marked, by_output, strict=True)]
                for by_output in lines.values()
            ]
        )
        value = f_scores
        if options.average == "macro":
            counts = np.stack([*f_scores(counts), np.ones(counts.shape[:2])], axis=-1)
            value = _means
        sums = common.sums(counts)
        ends = common.intervals(sums, value, options.n_bootstrap, draws)
        parts = np.stack(value(sums.sum(axis=1)), axis=1)
        place = [*whole(ranks(parts[:n_lines, 2])), *[None] * len(lines)]
        part = [
            SpanResult(name, measure, *_three(parts[k]), ends[k], place[k], k >= n_lines)
            for k, name in enumerate(lines)
        ]
        order = np.lexsort((-parts[:, 2], np.array([r.baseline for r in part]))).tolist()
        results += [part[k] for k in order]
        if options.significance and n_lines > 1:
            best, n = order[:n_lines], options.n_resamples or 2000
            p = swap_pvalues(sums[best], value, n, swaps)
            metrics = tuple(part[k].metric for k in best)
            tests[measure] = Significance(metrics, p, "inputs", n, "two-sided")
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


def _mean_counts(measure: str, gold: list[Spans], pred: list[Spans]) -> Any:
    """Average the counts over all ratings of an output, none of which is compared with itself."""
    pairs = [(g, p) for g in gold for p in pred if g is not p]
    return np.mean([counts_of(measure, g, p) for g, p in pairs], axis=0)


def _three(values: Floats) -> tuple[float, float, float]:
    a, b, c = values.tolist()
    return a, b, c


def _means(sums: Floats) -> tuple[Floats, Floats, Floats]:
    """Return means of precision, recall and F over outputs, from sums and their number."""
    precision, recall, f, n = np.moveaxis(sums, -1, 0)
    return precision / n, recall / n, f / n
