"""Benchmarks: which sets, which meta-metrics, which weights. A TOML file per shared task."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from steelyard.core.errors import UsageError, hint
from steelyard.data.evalset import EvalSet
from steelyard.formats.folders import mtme
from steelyard.formats.load import load
from steelyard.stats.metametrics.base import MetaMetric
from steelyard.stats.metametrics.registry import metametric

_FOLDER = Path(__file__).parent
NAMES = tuple(sorted(path.stem for path in _FOLDER.glob("*.toml")))
#: What a file may be called that holds the tables of a language pair: ``en-de.human.csv.gz``.
_PARTS = ("human", "human.seg", "metrics", "metrics.seg", "metrics.sys", "text")


@dataclass(frozen=True, slots=True)
class SetSpec:
    """One test set: where it is, who its reference is, and which systems stay out."""

    name: str
    reference: str | None = None
    human: str | None = None  # the benchmark's, if None
    outliers: Sequence[str] = ()
    human_systems: bool = False  # whether other human translations count as systems


@dataclass(frozen=True, slots=True)
class Task:
    """One meta-metric, taken on each set, or pooled over all of them (pairwise accuracy)."""

    by: str | MetaMetric
    level: str | None = None
    group_by: str | None = None
    weight: float = 1.0
    pooled: bool = False
    domains: bool = False  # also within each domain
    both_humans: bool = False  # once without, once with human translations as systems

    @property
    def meta(self) -> MetaMetric:
        """The meta-metric itself."""
        return self.by if isinstance(self.by, MetaMetric) else metametric(self.by)


@dataclass(frozen=True, slots=True)
class Benchmark:
    """Sets and tasks.

    ``order`` is what decides, the average ``score`` or ``rank``; ``weights`` of tasks are
    ``given``, ``split`` evenly by attributes, or those of ``domains`` alone.
    """

    name: str
    title: str
    human: str
    sets: tuple[SetSpec, ...]
    tasks: tuple[Task, ...]
    order: str = "score"
    weights: str = "given"


@dataclass(frozen=True, slots=True)
class Inputs:
    """Where the sets of a benchmark are.

    ``folder`` is an mt-metrics-eval folder, the folder above it, or a folder of tables called
    ``LP.human.csv`` and the like. ``sets`` are loaded already. ``add`` are score files of one's
    own: (set or None for all, path).
    """

    folder: str | Path | None = None
    sets: Mapping[str, EvalSet] = field(default_factory=dict)
    add: Sequence[tuple[str | None, str]] = ()

    def find(
        self, benchmark: Benchmark, test: SetSpec, human: str | None
    ) -> tuple[EvalSet | None, set[str]]:
        """Load a set with the user's own files, None if it is nowhere; and what is the user's."""
        if test.name in self.sets:
            return self.sets[test.name], set()
        sources, lp = self._sources(benchmark, test)
        if not sources:
            return None, set()
        gold = human or test.human or benchmark.human
        own = [path for name, path in self.add if name in (None, test.name)]
        es = load(*sources, human=gold, lp=lp)
        if not own:
            return es, set()
        both = load(*sources, *own, human=gold, lp=lp or test.name)
        return both, set(both.scores) - set(es.scores)

    def _sources(self, benchmark: Benchmark, test: SetSpec) -> tuple[list[Path], str | None]:
        if self.folder is None:
            return [], None
        root = Path(self.folder)
        for candidate in (root, root / benchmark.name.partition("-")[0]):
            if mtme.recognise(candidate) and test.name in mtme.language_pairs(candidate):
                return [candidate], test.name
        names = [f"{test.name}.{part}" for part in _PARTS]
        tables = sorted(root.glob(f"{test.name}.*")) if root.is_dir() else []
        return [p for p in tables if p.name.removesuffix(".gz").rpartition(".")[0] in names], None


def preset(name: str) -> Benchmark:
    """Return a shared task's protocol.

    Examples
    --------
    >>> wmt24 = preset("wmt24")
    >>> [test.name for test in wmt24.sets], [task.by for task in wmt24.tasks]
    (['en-de', 'en-es', 'ja-zh'], ['spa', 'acc-eq'])
    """
    if name not in NAMES:
        raise UsageError(f"no preset '{name}'; {hint(name, NAMES)}")
    keys = tomllib.loads((_FOLDER / f"{name}.toml").read_text())
    sets = tuple(SetSpec(**spec) for spec in keys.pop("set"))
    tasks = tuple(Task(by=task.pop("with"), **task) for task in keys.pop("task"))
    return Benchmark(name=name, sets=sets, tasks=tasks, **keys)
