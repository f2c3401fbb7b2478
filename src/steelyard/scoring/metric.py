"""What a metric is: something that scores the outputs of a set.

A metric of your own is a class with a ``score`` method, made known by an entry point of the group
``steelyard.metrics`` (see :mod:`steelyard.scoring.registry`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np

from steelyard.core.errors import UsageError, hint
from steelyard.core.table import Table
from steelyard.data.evalset import EvalSet, ScoreTable
from steelyard.data.segments import Texts
from steelyard.stats.arrays import Floats

Distance = Callable[[Sequence[tuple[str, str]]], Floats]


class Report(Protocol):
    """What a metric tells beside scores."""

    def to_dict(self) -> dict[str, Any]:
        """Give what ``--json`` prints."""

    def details(self) -> tuple[Table, ...]:
        """Give tables to print below the scores."""

    def jsonl(self) -> Iterator[str]:
        """Give lines of JSON, with what it has to say of each segment."""


@dataclass(frozen=True, slots=True, eq=False)
class Scored:
    """What a metric gives: the scores, what exactly they are in a line, and what to say of them.

    A ``report`` has more to tell than scores.
    """

    table: ScoreTable
    signature: str
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    report: Report | None = None


@runtime_checkable
class Metric(Protocol):
    """A metric, with all its settings made; ``name`` is what its scores are called."""

    @property
    def name(self) -> str:
        """The name of the scores."""

    def score(self, es: EvalSet, references: Sequence[str] | None = None) -> Scored:
        """Score the outputs of a set against these references; None: against its only one."""


def output_rows(es: EvalSet) -> list[Texts]:
    """Give the outputs of every system, all None for a system without any; none at all is an error.

    Examples
    --------
    >>> from steelyard import Segments
    >>> output_rows(EvalSet(("A", "B"), Segments(("1",)), outputs={"A": ("so",)}))
    [('so',), (None,)]
    """
    if not es.outputs:
        raise UsageError("the set has no outputs to score; give a text file")
    blank: Texts = (None,) * es.n_segments
    return [es.outputs.get(system, blank) for system in es.systems]


def chosen_references(es: EvalSet, names: Sequence[str] | None) -> tuple[str, ...]:
    """Check names of references; a set with one reference needs none named."""
    if isinstance(names, str):
        raise UsageError(f"expected a list of names of references, got the string '{names}'")
    if names is None and len(es.references) == 1:
        return es.references
    if not names:
        known = ", ".join(es.references)
        raise UsageError(
            f"the set has several references ({known}): name those to use"
            if es.references
            else "the set has no reference to compare outputs with"
        )
    for name in names:
        if name not in es.references:
            raise UsageError(f"no reference named '{name}'; {hint(name, es.references)}")
    return tuple(dict.fromkeys(names))


def target_language(language_pair: str | None) -> str | None:
    """Give the second language of a pair.

    Examples
    --------
    >>> target_language("en-zh_CN"), target_language(None)
    ('zh', None)
    """
    parts = (language_pair or "").split("-", 1)
    return re.split("[-_]", parts[1])[0].lower() if len(parts) == 2 else None


def nearest(es: EvalSet, references: Sequence[str], distance: Distance) -> Floats:
    """Measure every output against every reference, each different pair once, and keep the least.

    Gives systems x segments, NaN where the output or all references are missing.

    Examples
    --------
    >>> from steelyard import Segments
    >>> segments = Segments(("1", "2"), references={"a": ("xx", "x"), "b": ("x", None)})
    >>> es = EvalSet(("A",), segments, outputs={"A": ("x", "xxx")})
    >>> gap = lambda pairs: np.array([abs(len(x) - len(y)) for x, y in pairs])
    >>> nearest(es, ["a", "b"], gap).tolist()
    [[0.0, 2.0]]
    """
    cells: dict[tuple[str, str], list[tuple[int, int]]] = {}
    columns = [es.segments.references[name] for name in references]
    for i, texts in enumerate(output_rows(es)):
        for j, text in enumerate(texts):
            for column in columns:
                reference = column[j]
                if text is not None and reference is not None:
                    cells.setdefault((text, reference), []).append((i, j))
    values = np.full((es.n_systems, es.n_segments), np.inf)
    for where, value in zip(cells.values(), distance(list(cells)).tolist(), strict=True):
        for cell in where:
            values[cell] = min(values[cell], value)
    return np.where(np.isinf(values), np.nan, values)
