"""Benchmarks: which sets, which meta-metrics, which weights; the WMT protocols and users' own.

A benchmark is a TOML file. ``[[set]]`` names a test set, ``[[task]]`` a meta-metric that is taken
on each of them; ``human`` is the gold score. The files of the shared tasks stand beside this one.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from steelyard.core import bounds
from steelyard.core.errors import UsageError, hint
from steelyard.formats import toml
from steelyard.formats.toml import Section
from steelyard.stats.metametrics import base as metametrics
from steelyard.stats.metametrics.base import MetaMetric

_FOLDER = Path(__file__).parent
NAMES = tuple(sorted(path.stem for path in _FOLDER.glob("*.toml")))
ORDERS = ("score", "rank")
WEIGHTS = ("given", "split", "domains")


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
            metametrics.metametric(self.by)
        bounds.choice(metametrics.LEVELS, optional=True, level=self.level)
        bounds.choice(metametrics.GROUPS, optional=True, group_by=self.group_by)
        bounds.number(0, strict=True, weight=self.weight)
        bounds.flag(pooled=self.pooled, domains=self.domains, both_humans=self.both_humans)

    @property
    def meta(self) -> MetaMetric:
        """The meta-metric itself."""
        return self.by if isinstance(self.by, MetaMetric) else metametrics.metametric(self.by)


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
        name,
        section.text("reference"),
        section.text("human"),
        section.names("outliers"),
        section.flag("human_systems"),
        section.names("files"),
    )


def _task(section: Section) -> Task:
    section.only(("with", "level", "group_by", "weight", "pooled", "domains", "both_humans"))
    by = section.text("with")
    if by is None or by not in metametrics.METAMETRICS:
        raise section.error(f"no meta-metric '{by}'; {hint(str(by), metametrics.METAMETRICS)}")
    for key, known in (("level", metametrics.LEVELS), ("group_by", metametrics.GROUPS)):
        found = section.text(key)
        if found is not None and found not in known:
            raise section.error(f"'{key}' is '{found}', expected one of {', '.join(known)}")
    weight = section.number("weight", 1.0)
    if weight is None or weight <= 0:
        raise section.error(f"'weight' is {weight}, expected a number above 0")
    if section.flag("pooled") and by != "pa":
        raise section.error(f"'pooled' is for pairwise accuracy (pa), not for {by}")
    return Task(
        by,
        section.text("level"),
        section.text("group_by"),
        weight,
        section.flag("pooled"),
        section.flag("domains"),
        section.flag("both_humans"),
    )
