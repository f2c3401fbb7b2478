"""Benchmarks: which sets, which meta-metrics, which weights; the WMT protocols and users' own.

A benchmark is a TOML file. ``[[set]]`` names a test set, ``[[task]]`` a meta-metric that is taken
on each of them; ``human`` is the gold score. The files of the shared tasks stand beside this one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from steelyard.core.errors import UsageError, hint
from steelyard.core.options import as_list, check_choice, check_flag, check_instance, check_number
from steelyard.data.evalset import EvalSet
from steelyard.formats import toml
from steelyard.formats.folders import mtme
from steelyard.formats.load import load
from steelyard.formats.toml import Section
from steelyard.metaevaluation.options import GROUPS, LEVELS
from steelyard.stats.metametrics.base import MetaMetric
from steelyard.stats.metametrics.registry import METAMETRICS, metametric

_FOLDER = Path(__file__).parent
NAMES = tuple(sorted(path.stem for path in _FOLDER.glob("*.toml")))
ORDERS = ("score", "rank")
WEIGHTS = ("given", "split", "domains")
#: What a file may be called that holds the tables of a language pair: ``en-de.human.csv.gz``.
_PARTS = ("human", "human.seg", "metrics", "metrics.seg", "metrics.sys", "text")


@dataclass(frozen=True, slots=True)
class SetSpec:
    """One test set: where it is, who its reference is, and which systems stay out."""

    name: str
    reference: str | None = None
    human: str | None = None  # the benchmark's, if None
    outliers: tuple[str, ...] = ()
    human_systems: bool = False  # whether other human translations count as systems
    files: tuple[str, ...] = ()  # relative to the benchmark's file; otherwise found by name


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

    def __post_init__(self) -> None:
        if not isinstance(self.by, MetaMetric):
            metametric(self.by)
        check_choice(LEVELS, optional=True, level=self.level)
        check_choice(GROUPS, optional=True, group_by=self.group_by)
        check_number(0, strict=True, weight=self.weight)
        check_flag(pooled=self.pooled, domains=self.domains, both_humans=self.both_humans)

    @property
    def meta(self) -> MetaMetric:
        """The meta-metric itself."""
        return self.by if isinstance(self.by, MetaMetric) else metametric(self.by)


@dataclass(frozen=True, slots=True)
class Benchmark:
    """Sets and tasks; ``order`` says whether the average score or the average rank decides."""

    name: str
    title: str
    human: str
    sets: tuple[SetSpec, ...]
    tasks: tuple[Task, ...]
    order: str = "score"
    weights: str = "given"
    path: Path = field(default_factory=Path)


@dataclass(frozen=True, slots=True)
class Inputs:
    """Where the sets of a benchmark are.

    ``folder`` is an mt-metrics-eval folder, the folder above it, or a folder of tables called
    ``LP.human.csv`` and the like; sets with ``files`` do not need it. ``sets`` are loaded already.
    ``add`` are score files of one's own: (set or None for all, path).
    """

    folder: str | Path | None = None
    sets: Mapping[str, EvalSet] = field(default_factory=dict)
    add: Sequence[tuple[str | None, str]] = ()

    def __post_init__(self) -> None:
        check_instance((str, Path), "a path", optional=True, folder=self.folder)
        check_instance(Mapping, "sets by name", sets=self.sets)
        as_list(tuple, add=self.add)

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
        if test.files:
            return [benchmark.path.parent / name for name in test.files], None
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
    """Give a shared task's protocol.

    Examples
    --------
    >>> wmt24 = preset("wmt24")
    >>> [test.name for test in wmt24.sets], [task.by for task in wmt24.tasks]
    (['en-de', 'en-es', 'ja-zh'], ['spa', 'acc-eq'])
    """
    if name not in NAMES:
        raise UsageError(f"no preset '{name}'; {hint(name, NAMES)}")
    return read(_FOLDER / f"{name}.toml")


def read(path: Path) -> Benchmark:
    """Read a benchmark from a TOML file."""
    top = toml.read(path)
    top.only(("title", "human", "order", "weights", "set", "task"))
    order, weights = top.text("order", "score"), top.text("weights", "given")
    if order not in ORDERS:
        raise top.error(f"'order' is '{order}', expected {' or '.join(ORDERS)}")
    if weights not in WEIGHTS:
        raise top.error(f"'weights' is '{weights}', expected {' or '.join(WEIGHTS)}")
    human = top.text("human")
    if human is None:
        raise top.error("no 'human': expected the name of the human score")
    sets = tuple(_test_set(section) for section in top.sections("set"))
    tasks = tuple(_task(section) for section in top.sections("task"))
    for found, what in ((sets, "set"), (tasks, "task")):
        if not found:
            raise top.error(f"no [[{what}]]: expected at least one")
    seen: set[str] = set()
    for one in sets:
        if one.name in seen:
            raise top.error(f"the set '{one.name}' stands there twice")
        seen.add(one.name)
    title = top.text("title") or path.stem
    return Benchmark(path.stem, title, human, sets, tasks, order, weights, path)


def _test_set(section: Section) -> SetSpec:
    section.only(("name", "reference", "human", "outliers", "human_systems", "files"))
    name = section.text("name")
    if not name:
        raise section.error("no 'name': expected a language pair or another name of the set")
    return SetSpec(
        name=name,
        reference=section.text("reference"),
        human=section.text("human"),
        outliers=section.names("outliers"),
        human_systems=section.flag("human_systems"),
        files=section.names("files"),
    )


def _task(section: Section) -> Task:
    section.only(("with", "level", "group_by", "weight", "pooled", "domains", "both_humans"))
    by = section.text("with")
    if by is None or by not in METAMETRICS:
        raise section.error(f"no meta-metric '{by}'; {hint(str(by), METAMETRICS)}")
    for key, known in (("level", LEVELS), ("group_by", GROUPS)):
        found = section.text(key)
        if found is not None and found not in known:
            raise section.error(f"'{key}' is '{found}', expected one of {', '.join(known)}")
    weight = section.number("weight", 1.0)
    if weight is None or weight <= 0:
        raise section.error(f"'weight' is {weight}, expected a number above 0")
    if section.flag("pooled") and not METAMETRICS[by].pools:
        raise section.error(f"'pooled' is for pairwise accuracy (pa), not for {by}")
    return Task(
        by=by,
        level=section.text("level"),
        group_by=section.text("group_by"),
        weight=weight,
        pooled=section.flag("pooled"),
        domains=section.flag("domains"),
        both_humans=section.flag("both_humans"),
    )
