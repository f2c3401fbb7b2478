"""Ratings put together row by row, and sets made of records that repeat texts for every rater."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from steelyard.core.errors import UsageError
from steelyard.core.text import listed
from steelyard.data.evalset import EvalSet, ScoreTable
from steelyard.data.judgements import ErrorSpan, Floats, Ratings
from steelyard.data.segments import Segments, Texts
from steelyard.formats.rawtable import RawTable
from steelyard.formats.view import FileView, Record

HUMAN = "human"  # ratings whose protocol has no name
NOBODY = "unknown"  # a rater without a name


class Rating(NamedTuple):
    """One row of :class:`Ratings`, with names instead of codes."""

    system: str
    segment: str
    rater: str
    value: float
    errors: tuple[ErrorSpan, ...] | None
    item: str = "system"
    unit: str | None = None
    seconds: float = float("nan")
    document: str | None = None
    wave: int = 0
    domain: str | None = None


def ratings(rows: Sequence[Rating]) -> Ratings:
    """Put rows together; columns without any value stay None."""

    def column(name: str, missing: Any) -> tuple[Any, ...] | None:
        cells = [getattr(row, name) for row in rows]
        filled = tuple(missing if cell is None else cell for cell in cells)
        return None if all(cell is None or cell == missing for cell in cells) else filled

    errors = tuple(row.errors for row in rows)
    seconds = np.array([row.seconds for row in rows], dtype=np.float64)
    return Ratings.from_labels(
        [row.system for row in rows],
        [row.segment for row in rows],
        [row.rater for row in rows],
        np.array([row.value for row in rows], dtype=np.float64),
        errors=None if all(e is None for e in errors) else errors,
        item=column("item", "system"),
        seconds=None if np.isnan(seconds).all() else seconds,
        wave=column("wave", 0),
        **{name: column(name, "") for name in ("unit", "document", "domain")},
    )


@dataclass
class Builder:
    """A set that is being read: segments and outputs by name, ratings by protocol.

    ``scored`` are human scores that are more than means of ratings: (system, segment) to value.
    """

    view: FileView
    described: dict[str, dict[str, str]] = field(default_factory=dict)
    references: dict[str, dict[str, str]] = field(default_factory=dict)
    outputs: dict[str, dict[str, str]] = field(default_factory=dict)
    rated: dict[str, list[Rating]] = field(default_factory=dict)
    scored: dict[str, dict[tuple[str, str], float]] = field(default_factory=dict)

    def describe(self, segment: str, record: Record, **facts: str | None) -> None:
        """Add the document, domain or source of a segment; records must not contradict."""
        described = self.described.setdefault(segment, {})
        for what, text in facts.items():
            _add(described, what, text, f"{what} of segment '{segment}'", record)

    def refer(self, name: str, segment: str, text: str | None, record: Record) -> None:
        """Add a reference translation."""
        texts = self.references.setdefault(name, {})
        _add(texts, segment, text, f"reference of segment '{segment}'", record)

    def output(self, system: str, segment: str, text: str | None, record: Record) -> None:
        """Add the output of a system."""
        texts = self.outputs.setdefault(system, {})
        _add(texts, segment, text, f"output of '{system}' for segment '{segment}'", record)

    def rate(self, name: str, rating: Rating) -> None:
        """Add a rating."""
        self.rated.setdefault(name, []).append(rating)

    def evalset(self, lp: str | None, notes: Sequence[str] = ()) -> EvalSet:
        """Make the set; a human score is the mean of all ratings of an output."""
        ids = tuple(self.described)
        if not ids:
            self.view.fail("holds no judgement")
        rated = {name: ratings(rows) for name, rows in self.rated.items()}
        systems = tuple(sorted({*self.outputs, *(s for r in rated.values() for s in r.systems)}))
        row = {name: i for i, name in enumerate(systems)}
        column = {name: i for i, name in enumerate(ids)}

        def texts(by_segment: Mapping[str, str]) -> Texts:
            return tuple(by_segment.get(segment) for segment in ids)

        def fact(what: str) -> Texts | None:
            values = tuple(self.described[segment].get(what) for segment in ids)
            return values if any(text is not None for text in values) else None

        scores = {name: _means(of_protocol, row, column) for name, of_protocol in rated.items()}
        for name, cells in self.scored.items():
            scores[name] = np.full((len(systems), len(ids)), np.nan)
            for (system, segment), value in cells.items():
                scores[name][row[system], column[segment]] = value
        references = {name: texts(of) for name, of in self.references.items() if of}
        return EvalSet(
            systems,
            Segments(ids, fact("document"), fact("domain"), fact("source"), references),
            {
                name: ScoreTable(values, "human", direction_given=True)
                for name, values in scores.items()
                if not np.isnan(values).all()
            },
            {name: texts(of) for name, of in self.outputs.items() if of},
            rated,
            language_pair=lp,
            notes=tuple(self.view.note(note) for note in notes),
        )


def _add(texts: dict[str, str], key: str, text: str | None, what: str, record: Record) -> None:
    if text is not None and texts.setdefault(key, text) != text:
        record.fail(f"{what} is {text[:40]!r}, but {texts[key][:40]!r} on an earlier line")


def _means(rated: Ratings, row: Mapping[str, int], column: Mapping[str, int]) -> Floats:
    """Average the ratings of every output, without control items."""
    rows = rated.is_item("system", "repeat") & ~np.isnan(rated.value)
    systems = np.array([row[name] for name in rated.systems], dtype=np.int64)
    segments = np.array([column[name] for name in rated.segments], dtype=np.int64)
    output = systems[rated.system[rows]] * len(column) + segments[rated.segment[rows]]
    n = len(row) * len(column)
    total = np.bincount(output, rated.value[rows], minlength=n)
    count = np.bincount(output, minlength=n)
    means = np.where(count > 0, total / np.maximum(count, 1), np.nan)
    return means.reshape(len(row), len(column))


def language_pair(view: FileView, lp: str | None, pairs: Collection[str]) -> str:
    """Return the language pair that is wanted of those in a file, or its only one."""
    shown = listed(sorted(pairs), 12)
    if lp is None and len(pairs) > 1:
        raise UsageError(f"{view.path}: choose a language pair with lp=...; found: {shown}")
    if lp is not None and lp not in pairs:
        view.fail(f"no language pair '{lp}'; found: {shown}")
    return lp or next(iter(pairs))


def noting_unused(table: RawTable, used: Collection[str | None]) -> RawTable:
    """Note the columns of judgements that nothing holds once they are read."""
    unused = [name for name in table.columns if name not in used]
    named = [(name, table.given.get(name, name)) for name in unused]
    shown = [name if name == in_file else f"{name} ({in_file})" for name, in_file in named]
    note = f"{table.places}: columns not used: {listed(shown, 8)}"
    return replace(table, notes=(*table.notes, note)) if unused else table


def counted_within(pairs: Collection[tuple[str, str | None]]) -> bool:
    """Tell whether documents count their segments anew: pairs of segment and document."""
    counts = Counter(segment for segment, _ in set(pairs))
    return any(count > 1 for count in counts.values())
