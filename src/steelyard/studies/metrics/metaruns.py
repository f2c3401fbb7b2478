"""What studies of meta-evaluations share: the data, one run per meta-metric, and provenance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from steelyard.core.errors import UsageError
from steelyard.core.options import Options
from steelyard.core.provenance import Provenance
from steelyard.core.rng import Rng
from steelyard.core.text import plural
from steelyard.data.units import SEGMENT, Units
from steelyard.formats.load import Source, as_evalset
from steelyard.metaevaluation.data import HINT, Data, Run, prepare, the_human
from steelyard.metaevaluation.options import MetaOptions
from steelyard.metaevaluation.results import MetaResult
from steelyard.metaevaluation.run import without_value
from steelyard.metaevaluation.tests import resampled_metrics
from steelyard.stats.metametrics import registry
from steelyard.stats.metametrics.base import MetaMetric, Resamples
from steelyard.studies.metrics.options import MetaStudyOptions

By = str | MetaMetric | Sequence[str | MetaMetric]
_OPTION = ' (intervals="system")'  # an option that studies do not have


@dataclass(frozen=True, slots=True)
class MetaRuns:
    """One run per meta-metric on the same data, and what it found (best metric first)."""

    human: str
    data: Data
    runs: tuple[Run, ...]
    results: tuple[list[MetaResult], ...]
    warnings: tuple[str, ...]
    units: Units  # of the segments that people judged

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the meta-metrics."""
        return tuple(run.meta.name for run in self.runs)

    @property
    def values(self) -> list[dict[str, float]]:
        """The value of every metric, under each meta-metric."""
        return [{result.metric: result.value for result in found} for found in self.results]

    def resampled(self, kind: str) -> tuple[list[list[str]], list[str]]:
        """Metrics that each run can resample by ``system`` or ``segment``; warnings name others."""
        some = np.ones((1, 1))  # what is drawn does not matter here
        resamples = Resamples(kind, *((None, some) if kind == "system" else (some, None)))
        able, told = [], []
        for run, found in zip(self.runs, self.results, strict=True):
            names, warned = resampled_metrics(run, found, resamples)
            able.append(names)
            told += [text.removesuffix(_OPTION) for text in warned]
        return able, told

    def told(self, more: Sequence[str] = ()) -> tuple[str, ...]:
        """Warnings and those of a study, each once."""
        return tuple(dict.fromkeys([*self.warnings, *more]))

    def provenance(
        self, command: str, settings: dict[str, Any], rng: Rng, options: Options
    ) -> Provenance:
        """Say how a study came about."""
        shown = {"human": self.human, "with": ",".join(self.names), **settings}
        return Provenance.of(f"study {command}", shown, self.data.es.inputs, rng, options)


def need_differences(data: Data, human: str) -> None:
    """Refuse what no verdict on metrics rests on: one system, or a score that never differs."""
    if data.es.n_systems < 2:
        raise UsageError("there is 1 system: expected two or more, which metrics and people order")
    known = [scores[~np.isnan(scores)] for scores in (data.human, data.human_systems)]
    if all(own.size == 0 or own.min() == own.max() for own in known):
        n = plural(int(known[0].size or known[1].size), f"'{human}' score")
        raise UsageError(f"{n}, all of them the same: no metric can agree or disagree with them")


def open_runs(
    es: Source,
    human: str | None,
    by: By,
    options: MetaStudyOptions,
    *,
    unit: str = SEGMENT,
) -> MetaRuns:
    """Prepare the data as :func:`steelyard.meta_evaluate` does, and evaluate metrics."""
    metas = list(dict.fromkeys(registry.chosen(by)))
    weighed = MetaOptions(level=options.level, group_by=options.group_by)
    es = as_evalset(es, human, unit)
    human = the_human(es, human)
    data, told = prepare(es, human, options.metrics, keep_references=options.keep_references)
    need_differences(data, human)
    units = data.units(unit)
    runs = tuple(Run.of(data, meta, weighed, units.codes) for meta in metas)
    results = tuple(run.results() for run in runs)
    warnings = [text.removesuffix(HINT) for text in told]
    warnings += without_value([result for found in results for result in found])
    return MetaRuns(human, data, runs, results, tuple(warnings), units)
