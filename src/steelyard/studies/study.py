"""What studies share: their result, curves with intervals, and runs of a meta-evaluation."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import numpy as np

from steelyard.core.display import Record, Result, Statement, Summary, named, one_line
from steelyard.core.errors import UsageError, hint
from steelyard.core.options import Options, check_function, keywords
from steelyard.core.provenance import Provenance, origin
from steelyard.core.rng import Rng, generator
from steelyard.core.table import Cell, Table
from steelyard.core.text import plural
from steelyard.data.units import SEGMENT, Units
from steelyard.formats.load import Source, as_evalset
from steelyard.metaevaluation.data import HINT, Data, Run, prepare, the_human
from steelyard.metaevaluation.options import MetaOptions
from steelyard.metaevaluation.results import MetaResult
from steelyard.metaevaluation.run import without_value
from steelyard.metaevaluation.tests import resampled_metrics
from steelyard.stats.arrays import Floats, ratio, row_means
from steelyard.stats.metametrics import registry
from steelyard.stats.metametrics.base import MetaMetric, Resamples
from steelyard.stats.resampling.bootstrap import bootstrap_means, interval, segment_counts
from steelyard.studies.options import META, MetaStudyOptions

Progress = Callable[[int, int], None]  # called with how much is done and how much there is
Row = tuple[Cell, ...]
By = str | MetaMetric | Sequence[str | MetaMetric]
N_BOOTSTRAP = 1000  # of the intervals of means
_NORMAL = 1.959963984540054
SYSTEM = "system"  # a unit of meta-metrics
_OPTION = ' (intervals="system")'  # an option that studies do not have


@dataclass(frozen=True, slots=True)
class Line(Record):
    """One line of a figure: values with 95% intervals, and how many numbers each is a mean of."""

    name: str
    y: Floats
    low: Floats
    high: Floats
    n: tuple[int, ...]

    def at(self, k: int) -> tuple[float, float, float]:
        """Return a value with its interval."""
        return float(self.y[k]), float(self.low[k]), float(self.high[k])


@dataclass(frozen=True, slots=True)
class Curve(Record):
    """The data behind one panel of a figure."""

    name: str
    title: str
    x_label: str
    y_label: str
    x: tuple[Cell, ...]
    lines: tuple[Line, ...]


@dataclass(frozen=True, slots=True, repr=False)
class Study(Result):
    """Sentences, tables by name (``parts``), curves, and further JSON (``facts``)."""

    name: str
    parts: Mapping[str, Table]
    sentences: tuple[Statement, ...] = ()
    curves: tuple[Curve, ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    provenance: Provenance | None = None

    def words(self) -> Summary:
        """Return what the study found, in sentences."""
        return Summary.of(self.sentences)

    def __repr__(self) -> str:
        tables = f"tables {named(list(self.parts), 5)}"
        curves = named([curve.name for curve in self.curves], 5)
        return one_line(self, f"{self.name}: {tables}{f'; curves {curves}' if curves else ''}")

    def tables(self) -> list[Table]:
        """Return all tables that have rows."""
        return [table for table in self.parts.values() if table.rows]

    def table(self, name: str | None = None) -> Table:
        """Return one table, by default the first."""
        return self.parts[name if name is not None else next(iter(self.parts))]

    def curve(self, name: str) -> Curve:
        """Return one curve by its name."""
        curves = {curve.name: curve for curve in self.curves}
        if name not in curves:
            raise UsageError(f"no curve '{name}' in this study; {hint(name, curves)}")
        return curves[name]

    def to_dict(self) -> dict[str, Any]:
        """Return what ``--json`` prints."""
        return {
            "study": self.name,
            **self.facts,
            "tables": {name: table.records() for name, table in self.parts.items()},
            "curves": [curve.to_dict() for curve in self.curves],
            **origin(self.provenance),
            "warnings": list(self.warnings),
        }


def steps(progress: Progress | None, total: int) -> Callable[[], None]:
    """Return a function to call after each of some steps, which reports how many are done."""
    done = count(1)
    return lambda: None if progress is None else progress(next(done), total)


def draw_subsets(n: int, size: int, draws: int, rng: np.random.Generator) -> Floats:
    """Draw ``size`` of ``n`` items without replacement: draws x items, 0 or 1."""
    chosen = np.argsort(rng.random((draws, n)), axis=1)[:, :size]
    counts = np.zeros((draws, n))
    np.put_along_axis(counts, chosen, 1.0, axis=1)
    return counts


def plain_line(name: str, y: Floats, n: int = 1) -> Line:
    """Return a line without intervals."""
    nothing = np.full(len(y), np.nan)
    return Line(name, y, nothing, nothing, (n,) * len(y))


def line_of(name: str, parts: Iterable[Floats], rng: np.random.Generator) -> Line:
    """Return a line with the mean of each part and its 95% bootstrap interval; NaN is missing."""
    rows, sizes = [], []
    for part in parts:
        values = part[~np.isnan(part)]
        low, high = np.full((2, 1), np.nan)
        if values.size > 1:
            counts = segment_counts(N_BOOTSTRAP, values.size, rng)
            low, high = interval(bootstrap_means(values[None], counts))
        rows.append((values.mean() if values.size else np.nan, low[0], high[0]))
        sizes.append(values.size)
    ends = np.array(rows, dtype=np.float64).reshape(-1, 3)
    return Line(name, ends[:, 0], ends[:, 1], ends[:, 2], tuple(sizes))


def mean_line(name: str, values: Floats) -> Line:
    """Return a line of the means of each row, with normal 95% intervals of the means."""
    present = ~np.isnan(values)
    n = present.sum(axis=1)
    mean = row_means(values)
    squares = np.where(present, values - mean[:, None], 0.0) ** 2
    half = _NORMAL * np.sqrt(ratio(squares.sum(axis=1), n * (n - 1)))
    return Line(name, mean, mean - half, mean + half, tuple(n.tolist()))


@dataclass(frozen=True, slots=True)
class MetaRuns:
    """One run per meta-metric on the same data, and its results (best metric first)."""

    human: str
    data: Data
    runs: tuple[Run, ...]
    results: tuple[list[MetaResult], ...]
    warnings: tuple[str, ...]
    units: Units  # of the segments that people judged
    rng: Rng  # as it was asked for
    stream: np.random.Generator
    progress: Progress | None

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the meta-metrics."""
        return tuple(run.meta.name for run in self.runs)

    @property
    def values(self) -> list[dict[str, float]]:
        """The value of every metric, under each meta-metric."""
        return [{result.metric: result.value for result in results} for results in self.results]

    def resampled(self, kind: str) -> tuple[list[list[str]], list[str]]:
        """Metrics that each run can resample by ``system`` or ``segment``; warnings name others."""
        some = np.ones((1, 1))  # what is drawn does not matter here
        resamples = Resamples(kind, *((None, some) if kind == "system" else (some, None)))
        able, warnings = [], []
        for run, results in zip(self.runs, self.results, strict=True):
            names, texts = resampled_metrics(run, results, resamples)
            able.append(names)
            warnings += [text.removesuffix(_OPTION) for text in texts]
        return able, warnings

    def study(
        self,
        name: str,
        parts: Mapping[str, Table],
        settings: Mapping[str, Any],
        options: Options,
        *,
        warnings: Sequence[str] = (),
        **more: Any,
    ) -> Study:
        """Return a study of these runs."""
        shown = {"human": self.human, "with": ",".join(self.names), **settings}
        made = Provenance.of(f"study {name}", shown, self.data.es.inputs, self.rng, options)
        every = tuple(dict.fromkeys([*self.warnings, *warnings]))
        return Study(name, parts, warnings=every, provenance=made, **more)


def open_runs(
    es: Source,
    human: str | None,
    by: By,
    options: MetaStudyOptions,
    rng: Rng = 0,
    progress: Progress | None = None,
) -> MetaRuns:
    """Prepare the data and evaluate metrics as :func:`steelyard.meta_evaluate` does."""
    check_function(optional=True, progress=progress)
    stream, metas = generator(rng), list(dict.fromkeys(registry.chosen(by)))
    unit = getattr(options, "unit", SEGMENT)
    unit = SEGMENT if unit == SYSTEM else unit
    asked = MetaOptions(level=options.level, group_by=options.group_by)
    es = as_evalset(es, human, unit)
    human = the_human(es, human)
    data, notes = prepare(es, human, options.metrics, keep_references=options.keep_references)
    if data.es.n_systems < 2:
        raise UsageError("there is 1 system: expected two or more, which metrics and people order")
    scores = [values[~np.isnan(values)] for values in (data.human, data.human_systems)]
    if all(values.size == 0 or values.min() == values.max() for values in scores):
        n = plural(int(scores[0].size or scores[1].size), f"'{human}' score")
        raise UsageError(f"{n}, all of them the same: no metric can agree or disagree with them")
    units = data.units(unit)
    runs = tuple(Run.of(data, meta, asked, units.codes) for meta in metas)
    results = tuple(run.results() for run in runs)
    warnings = [text.removesuffix(HINT) for text in notes]
    warnings += without_value([result for part in results for result in part])
    return MetaRuns(human, data, runs, results, tuple(warnings), units, rng, stream, progress)


def meta_study(
    cls: type[MetaStudyOptions],
) -> Callable[[Callable[[MetaRuns, Any], Study]], Callable[..., Study]]:
    """Make a study of meta-evaluated metrics: ``cls`` are its options, which become keywords."""

    def decorate(function: Callable[[MetaRuns, Any], Study]) -> Callable[..., Study]:
        def study(
            es: Source,
            human: str | None = None,
            *,
            by: By = META,
            options: MetaStudyOptions,
            rng: Rng = 0,
            progress: Progress | None = None,
        ) -> Study:
            return function(open_runs(es, human, by, options, rng, progress), options)

        for name in ("__module__", "__name__", "__qualname__", "__doc__"):
            setattr(study, name, getattr(function, name))
        return keywords(cls)(study)

    return decorate
