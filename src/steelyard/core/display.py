"""What every result is to a reader: sentences first, then tables, then a figure; and JSON.

A class of results derives from :class:`Result`, its parts from :class:`Record`. It writes its
``words()`` and declares the rest: which attributes JSON has (``json_keys``, by default the fields)
and the columns of its table (``layout``). How these are printed, shown in a notebook, and turned
into frames and JSON is written here once.
"""

from __future__ import annotations

import math
import sys
from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from importlib import import_module
from typing import Any, ClassVar, Literal, NamedTuple

from steelyard.core.console import PLAIN, Screen, result_text
from steelyard.core.errors import MissingDependencyError, OutOfMemoryError, printable
from steelyard.core.provenance import origin
from steelyard.core.table import Cell, Column, Frame, Table, escape_html, interval_decimals, plain
from steelyard.core.text import listed, plural
from steelyard.core.warnings import brief

Part = Literal["settled", "undecided", "sureness"]
Statement = tuple[Part, str]  #: a sentence, after the part of the summary that it belongs to
_HEADINGS: dict[Part, str] = {
    "settled": "What can be concluded",
    "undecided": "What stays open",
    "sureness": "How sure that is",
}
_LINE, _NAME = 199, 24  # characters of a one-line repr, and of a name in it


@dataclass(frozen=True, slots=True)
class Summary:
    """Sentences of a summary: what is settled, what is open, and how sure it is.

    Examples
    --------
    >>> summary = Summary.of([("settled", "A is best."), ("sureness", "In 95% of the draws.")])
    >>> print(summary.text())
    What can be concluded:
      A is best.
    How sure that is:
      In 95% of the draws.
    >>> summary.brief()
    ('A is best.', 'In 95% of the draws.')
    """

    settled: tuple[str, ...] = ()
    undecided: tuple[str, ...] = ()
    sureness: tuple[str, ...] = ()

    @classmethod
    def of(cls, sentences: Iterable[Statement]) -> Summary:
        """Sort sentences by the part that they belong to."""
        pairs = list(sentences)
        return cls(*(tuple(text for p, text in pairs if p == part) for part in _HEADINGS))

    def and_then(self, sentences: Iterable[Statement]) -> Summary:
        """Add sentences, each at the end of its part."""
        pairs = [(part, text) for part in _HEADINGS for text in getattr(self, part)]
        return Summary.of([*pairs, *sentences])

    def to_dict(self) -> dict[str, list[str]]:
        """Return the sentences by part."""
        return {part: list(getattr(self, part)) for part in _HEADINGS}

    def headed(self) -> list[tuple[str, tuple[str, ...]]]:
        """Return the sentences under the headings that people read."""
        parts = ((heading, getattr(self, part)) for part, heading in _HEADINGS.items())
        return [(heading, lines) for heading, lines in parts if lines]

    def sentences(self) -> tuple[str, ...]:
        """Return all sentences, in the order in which they are read."""
        return (*self.settled, *self.undecided, *self.sureness)

    def brief(self) -> tuple[str, ...]:
        """Return what answers the question: the first sentence of each part."""
        return tuple(part[0] for part in (self.settled, self.undecided, self.sureness) if part)

    def rest(self) -> Summary:
        """Return the sentences that :meth:`brief` leaves out."""
        return Summary(self.settled[1:], self.undecided[1:], self.sureness[1:])

    def text(self) -> str:
        """Return the summary with its headings."""
        return "\n".join(
            "\n".join([f"{heading}:", *(f"  {printable(line)}" for line in lines)])
            for heading, lines in self.headed()
        )


class Record:
    """A dataclass that is an object in JSON: NaN is null, an array is a list."""

    __slots__ = ()
    json_keys: ClassVar[Mapping[str, str]] = {}  #: attributes by key; by default all fields

    def to_dict(self) -> dict[str, Any]:
        """Return what ``--json`` prints; a provenance also says which files were read."""
        names = self.json_keys or {item.name: item.name for item in fields(self)}  # type: ignore[arg-type]
        values: dict[str, Any] = {}
        for key, name in names.items():
            value = getattr(self, name)
            values |= origin(value) if key == "provenance" else {key: plain(value)}
        return values


def keys(names: str) -> Mapping[str, str]:
    """Return keys of JSON with their attributes: ``"metric with=by"`` has the second as ``by``."""
    pairs = (name.partition("=") for name in names.split())
    return {key: attribute or key for key, _, attribute in pairs}


class Field(NamedTuple):
    """A column of a table: the attribute of a row that it shows, and how.

    ``interval`` is the attribute that holds the ends of an interval around it, or None; ``mixed``
    rounds each number by itself.
    """

    name: str
    heading: str | None = None
    better: Literal["higher", "lower"] | None = None
    digits: int | None = None
    interval: str | None = None
    importance: int = 5
    mixed: bool = False


class Layout(NamedTuple):
    """The table of a result: the attribute that holds its rows, and the columns."""

    rows: str
    columns: tuple[Field, ...]


class Result(Record):
    """A result that people look at: in a terminal, in a notebook, as a figure.

    A dataclass that derives from it is made with ``repr=False``: its fields would fill a screen.
    """

    __slots__ = ()
    layout: ClassVar[Layout]

    @abstractmethod
    def words(self) -> Summary:
        """Return what can be concluded, what stays open, and how sure that is."""

    def table(self) -> Table:
        """Return the table that people look at first, under the result's ``title`` if it has one.

        Its notes are the result's ``notes``.
        """
        rows = getattr(self, self.layout.rows)
        title, notes = getattr(self, "title", ""), getattr(self, "notes", ())
        return table_of(rows, self.layout.columns, title, notes)

    def __repr__(self) -> str:
        rows = getattr(self, self.layout.rows)
        names = named([str(getattr(row, self.layout.columns[0].name)) for row in rows])
        return one_line(self, f"of {plural(len(rows), 'row')}: {names}")

    def tables(self) -> list[Table]:
        """Return all tables that the command prints, the first one first."""
        return [self.table()]

    def pieces(self) -> list[Table | str]:
        """Return what is printed after the words: tables, and texts where a result has them."""
        return [*self.tables()]

    def to_frame(self, backend: str | None = None) -> Frame:
        """Return the first table as a pandas or polars frame."""
        return self.table().to_frame(backend)

    def summary(self) -> str:
        """Return what was found in sentences."""
        return self.words().text()

    def answer(self) -> tuple[str, ...]:
        """Return the few sentences that answer the question."""
        return self.words().brief()

    def text(self, screen: Screen = PLAIN) -> str:
        """Return what the command prints: the answer in words, tables, warnings."""
        warnings = brief(getattr(self, "warnings", ()), every="warnings")
        lines = "\n".join(f"warning: {text}" for text in warnings)
        return result_text(self.answer(), [*self.pieces(), lines], screen)

    def __str__(self) -> str:
        # Whoever prints it wants it to fit; whoever keeps it wants no codes of colours in it.
        return self.text(replace(Screen.of(sys.stdout), colour=False))

    def plot(self, kind: str | None = None) -> Any:
        """Draw a figure, an Altair chart; ``kind`` is one of those that ``--plot`` takes."""
        return _figures().draw(self, kind)

    def _repr_html_(self) -> str:
        """Return words, table, and the usual figure if it can be drawn, for a notebook."""
        sentences = "".join(f"<p>{escape_html(line)}</p>" for line in self.words().sentences())
        try:
            figure = _figures().picture(self)
        except (MissingDependencyError, OutOfMemoryError) as error:
            figure = f"<p>{escape_html(str(error))}</p>"
        return f"<div>{sentences}{self.table().html()}{figure}</div>"


def _figures() -> Any:
    """Load what draws results: the one import that points up, so that results have ``plot()``."""
    return import_module("steelyard.report.figures.ofresults")


def table_of(
    rows: Sequence[Any], columns: Sequence[Field], title: str = "", notes: Sequence[str] = ()
) -> Table:
    """Return a table with a row per object, from columns that are declared once."""
    made: list[Column] = []
    cells: list[list[Cell]] = []
    for column in columns:
        values = [getattr(row, column.name) for row in rows]
        digits, heading = column.digits, column.heading or column.name.replace("_", " ")
        ends: list[tuple[Any, Any]] = []
        if column.interval is not None:
            ends = [getattr(row, column.interval) or (math.nan, math.nan) for row in rows]
            if digits is None:
                numbers = [math.nan if value is None else value for value in values]
                digits = interval_decimals(numbers, *zip(*ends, strict=True)) if rows else None
        made.append(Column(heading, column.better, digits, column.mixed,
                           importance=column.importance))  # fmt: skip
        cells.append(values)
        for k, end in enumerate(("low", "high") if column.interval is not None else ()):
            key = f"{heading} {end}"
            made.append(Column(end, digits=digits, key=key, importance=column.importance - 1))
            cells.append([pair[k] for pair in ends])
    return Table(title, tuple(made), tuple(zip(*cells, strict=True)), tuple(notes))


def one_line(result: object, text: str) -> str:
    """Return the repr of a result: its class and what it holds, cut where it is too long."""
    line = printable(f"<{type(result).__name__} {text}>")
    return line if len(line) <= _LINE else f"{line[: _LINE - 2]}…>"


def named(names: Sequence[str], most: int = 3) -> str:
    """Name the first few, long names shortened in the middle, and count the rest."""
    half = _NAME // 2
    return listed(
        [n if len(n) <= _NAME else f"{n[:half]}…{n[len(n) - half + 1 :]}" for n in names], most
    )


class RankingRow(NamedTuple):
    """A row of ``ranking`` in JSON; ``tier`` counts groups that tests do not tell apart."""

    name: str
    rank: int | None
    score: float
    low: float | None = None
    high: float | None = None
    tier: int | None = None


def ranking(kind: Literal["system", "metric"], rows: Iterable[RankingRow]) -> list[dict[str, Any]]:
    """Return an object per system or metric, in their order."""
    objects = (row._asdict() for row in rows)
    return [{kind: item.pop("name"), **plain(item)} for item in objects]


def ranked(scores: Sequence[float], *, higher_is_better: bool = True) -> list[int | None]:
    """Return ranks from 1; equal scores share the best one, undefined scores have none."""
    ordered = sorted((x for x in scores if not math.isnan(x)), reverse=higher_is_better)
    first: dict[float, int] = {}
    for rank, score in enumerate(ordered, 1):
        first.setdefault(score, rank)
    return [first.get(score) for score in scores]
