"""What studies of meta-evaluations share: the data, one run per meta-metric, and provenance."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from steelyard.core import bounds
from steelyard.core.provenance import Provenance
from steelyard.core.rng import Rng
from steelyard.formats.load import Source, as_evalset
from steelyard.metaevaluation.data import HINT, Data, Run, prepare, the_human
from steelyard.metaevaluation.intervals import resampled_metrics
from steelyard.metaevaluation.options import MetaOptions
from steelyard.metaevaluation.results import MetaResult
from steelyard.stats.arrays import Counts
from steelyard.stats.metametrics import catalogue
from steelyard.stats.metametrics.base import MetaMetric, Resamples

By = str | MetaMetric | Sequence[str | MetaMetric]
DEFAULT = ("spa", "pa")
_OPTION = ' (intervals="system")'  # an option that studies do not have


@dataclass(frozen=True, slots=True)
class MetaRuns:
    """One run per meta-metric on the same data, and what it found (best metric first)."""

    human: str
    data: Data
    runs: tuple[Run, ...]
    results: tuple[list[MetaResult], ...]
    warnings: list[str]

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the meta-metrics."""
        return tuple(run.meta.name for run in self.runs)

    @property
    def judged(self) -> Counts:
        """Places of the segments that people scored."""
        return self.data.judged

    def resampled(self, kind: str) -> list[list[str]]:
        """Metrics that each run can resample by ``system`` or ``segment``; warnings name others."""
        some = np.ones((1, 1))  # what is drawn does not matter here
        resamples = Resamples(kind, *((None, some) if kind == "system" else (some, None)))
        able = []
        for run, found in zip(self.runs, self.results, strict=True):
            names, told = resampled_metrics(run, found, resamples)
            able.append(names)
            self.warnings.extend(text.removesuffix(_OPTION) for text in told)
        return able

    def found_warnings(self) -> tuple[str, ...]:
        """Warnings, each once."""
        return tuple(dict.fromkeys(self.warnings))

    def provenance(self, command: str, settings: dict[str, Any], rng: Rng) -> Provenance:
        """Say how a study came about."""
        shown = {"human": self.human, "with": ",".join(self.names), **settings}
        return Provenance.of(f"study {command}", shown, self.data.es.inputs, rng)


def open_runs(
    es: Source,
    human: str | None,
    by: By,
    metrics: Collection[str] | None,
    *,
    level: str | None = None,
    group_by: str | None = None,
    keep_references: bool = False,
    method: str = "exact",
) -> MetaRuns:
    """Prepare the data as :func:`steelyard.meta_evaluate` does, and weigh metrics.

    Examples
    --------
    >>> import steelyard as sy
    >>> open_runs(sy.demo_set(), "mqm", "pa", ["learned-refA"]).results[0][0].metric
    'learned-refA'
    """
    metas = list(dict.fromkeys(catalogue.chosen(by)))
    options = MetaOptions(level=level, group_by=group_by, method=method)
    bounds.flag(keep_references=keep_references)
    es = as_evalset(es, human)
    human = the_human(es, human)
    data, told = prepare(es, human, metrics, keep_references=keep_references)
    warnings = [text.removesuffix(HINT) for text in told]
    runs = tuple(Run.of(data, meta, options) for meta in metas)
    results = tuple(run.results() for run in runs)
    for run in runs:
        warnings += run.meta.notes(run.view)
    return MetaRuns(human, data, runs, results, warnings)
