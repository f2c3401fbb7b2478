"""What every result is to a reader: sentences first, then tables, then a figure; and JSON.

A result writes its ``words()`` and declares what JSON has (``json_keys``) and the columns of its
table (``layout``). A screen with a width gets wrapped texts and tables that fit; a file or a pipe
gets every letter. Rich's Console and Table take 80 ms to load, and a narrow table cuts numbers.
"""

from __future__ import annotations

import math
import os
import re
import sys
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from importlib import import_module
from typing import Any, ClassVar, Literal, NamedTuple, TextIO

from steelyard.core.errors import MissingDependencyError, OutOfMemoryError, printable
from steelyard.core.provenance import Provenance, origin
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
#: Codes of the few styles, by what they are for.
STYLES = {"stress": "1", "head": "36", "aside": "2", "warning": "33", "error": "31", "next": "32"}
_WIDER = "a wider window has all columns"
_NARROWEST, _USUAL = 20, 80  # columns of a terminal that says less, or nothing
_GAP = 2  # blanks between columns
_FIRST, _WORDS, _HEADING = 24, 16, 12  # cells that a first column, a text and a heading may keep
_ONE_CELL = re.compile("[ -\u02ff↑↓…─≥≤]*")  # spares most commands from loading rich


@dataclass(frozen=True, slots=True)
class Screen:
    """What a text is laid out for; ``whole`` says how to see the columns that have no room."""

    width: int | None = None
    colour: bool = False
    whole: str = "a wider window or to_frame() has all columns"

    @classmethod
    def of(cls, stream: TextIO, colour: str = "auto") -> Screen:
        """Return what a stream is; ``colour`` is one of ``auto always never``."""
        terminal, width = False, 0
        with suppress(AttributeError, OSError, ValueError):  # no file, or a closed one
            terminal = stream.isatty()
            width = int(os.environ.get("COLUMNS") or os.get_terminal_size(stream.fileno()).columns)
        coloured = colour == "always"
        if colour == "auto" and not os.environ.get("NO_COLOR"):
            forced = os.environ.get("FORCE_COLOR", "") not in ("", "0")
            coloured = forced or (terminal and os.environ.get("TERM") != "dumb")
        return cls(max(width or _USUAL, _NARROWEST) if terminal else None, coloured)

    def styled(self, text: str, style: str | None) -> str:
        """Return a text in a style, where there are colours."""
        if not (self.colour and style and text):
            return text
        return f"\x1b[{STYLES[style]}m{text}\x1b[0m"

    def lines(self, text: str, style: str | None = None, first: str = "") -> list[str]:
        """Wrap a text and style it: all of it, or only the word ``first`` that it begins with."""
        lines = [line for part in text.split("\n") for line in wrapped(part, self.width)]
        if not first:
            return [self.styled(line, style) for line in lines]
        if lines[0].startswith(first):
            lines[0] = self.styled(first, style) + lines[0].removeprefix(first)
        return lines


PLAIN = Screen()  #: a file, a pipe, or a text that somebody keeps


def text_width(text: str) -> int:
    """Return the cells that a text takes on a terminal: East Asian letters two, marks none."""
    if _ONE_CELL.fullmatch(text):
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def wrapped(text: str, width: int | None, indent: str = "  ") -> list[str]:
    """Break a line at blanks, or within words that are too wide; blanks at the beginning stay."""
    if width is None or text_width(text) <= width:
        return [text]
    lines: list[str] = []
    line = text[: len(text) - len(text.lstrip(" "))]
    further = line + indent
    if len(further) * 2 > width:  # hardly any room would be left
        line = further = ""
    for word in re.findall(" *[^ ]+", text):
        if line.strip() and text_width(line + word) > width:
            lines.append(line)
            line = further
        rest = word if line.strip() else word.lstrip(" ")
        while text_width(line + rest) > width:
            end = 1
            while text_width(line + rest[: end + 1]) <= width:
                end += 1
            lines.append(line + rest[:end])
            line, rest = further, rest[end:]
        line += rest
    return [*lines, line] if line.strip() or not lines else lines


@dataclass(frozen=True, slots=True)
class _Column:
    """A column on its way to the screen: ``least`` is the width that it keeps."""

    index: int
    key: str
    heading: str
    cells: tuple[str, ...]
    importance: int
    right: bool

    @property
    def natural(self) -> int:
        return max(map(text_width, (self.heading, *self.cells)))

    @property
    def least(self) -> int:
        if self.right:  # numbers are never broken
            word = max(map(text_width, self.heading.split(" ")))
            return max(min(word, _HEADING), *map(text_width, self.cells))
        return min(self.natural, _WORDS if self.index else _FIRST)


def table_text(table: Table, screen: Screen = PLAIN) -> str:
    """Return the lines of a table, laid out for a screen."""
    texts = [[printable(cell) for cell in row] for row in table.shown()]
    columns = [
        _Column(
            index=j,
            key=printable(key),
            # A no-break space keeps the arrow with the last word.
            heading=re.sub(" ([↑↓])$", "\xa0\\1", printable(column.heading)),
            cells=tuple(row[j] for row in texts),
            importance=column.importance,
            right=table.right(j),
        )
        for j, (key, column) in enumerate(zip(table.keys(), table.columns, strict=True))
    ]
    shown = columns[:]
    width = math.inf if screen.width is None else screen.width
    # What matters least goes until the others fit; the first column says what a row is.
    while len(shown) > 1 and _total(column.least for column in shown) > width:
        shown.remove(min(reversed(shown[1:]), key=lambda column: column.importance))
    lines = screen.lines(printable(table.title), "stress") if table.title else []
    lines += _grid(table, shown, screen) if shown else []
    for note in table.notes:
        lines += screen.lines(printable(note), "aside")
    hidden = [column.key for column in columns if column not in shown]
    if hidden:
        lines += screen.lines(f"Not shown: {listed(hidden, 6)} ({screen.whole}).", "aside")
    return "\n".join(lines)


def _total(widths: Iterable[int]) -> int:
    return sum(width + _GAP for width in widths) - _GAP


def _widths(columns: Sequence[_Column], width: int | None) -> list[int]:
    """Return the width of each column: what it needs, or else its share of what is left."""
    natural = [column.natural for column in columns]
    if width is None or _total(natural) <= width:
        return natural
    widths = [min(column.least, width) for column in columns]
    while _total(widths) < width:
        narrow = [j for j, column_width in enumerate(widths) if column_width < natural[j]]
        for j in narrow[: width - _total(widths)]:
            widths[j] += 1
    return widths


def _grid(table: Table, columns: Sequence[_Column], screen: Screen) -> Iterator[str]:
    """Yield the lines of heading and rows."""
    widths = _widths(columns, screen.width)

    def row(cells: Iterable[str], styles: Sequence[str | None], *, low: bool = False) -> list[str]:
        broken = [wrapped(cell, n, "") for cell, n in zip(cells, widths, strict=True)]
        height = max(map(len, broken))
        lines = []
        for k in range(height):
            parts = []
            for j, column in enumerate(columns):
                line = k - (height - len(broken[j]) if low else 0)
                text = broken[j][line] if 0 <= line < len(broken[j]) else ""
                blank = " " * (widths[j] - text_width(text))
                styled = screen.styled(text, styles[j])
                parts.append(blank + styled if column.right else styled + blank)
            lines.append("  ".join(parts).rstrip())
        return lines

    rule = "  ".join("-" * n for n in widths)
    for line in row([column.heading for column in columns], ["head"] * len(columns), low=True):
        yield line.replace("\xa0", " ")
    yield screen.styled(rule, "aside")
    for i in range(len(table.rows)):
        if i in table.rules:
            yield screen.styled(rule, "aside")
        styles = ["stress" if (i, column.index) in table.bold else None for column in columns]
        yield from row([column.cells[i] for column in columns], styles)


def result_text(words: Sequence[str], pieces: Sequence[Table | str], screen: Screen = PLAIN) -> str:
    """Lay out a result: its words, then tables without notes that the words say, and texts."""
    answer = []
    for k, text in enumerate(words):
        answer += screen.lines(printable(text), None if k else "stress")
    blocks = ["\n".join(answer)]
    for piece in pieces:
        if isinstance(piece, Table):
            notes = tuple(note for note in piece.notes if note not in set(words))
            blocks.append(table_text(replace(piece, notes=notes), screen))
            screen = replace(screen, whole=_WIDER)  # a file has the first table alone
        else:
            blocks.append("\n".join(screen.lines("\n".join(map(printable, piece.split("\n"))))))
    return "\n\n".join(block for block in blocks if block)


@dataclass(frozen=True, slots=True)
class Summary:
    """Sentences of a summary: what is settled, what is open, and how sure it is."""

    settled: tuple[str, ...] = ()
    undecided: tuple[str, ...] = ()
    sureness: tuple[str, ...] = ()

    @classmethod
    def of(cls, sentences: Iterable[Statement]) -> Summary:
        """Sort sentences by the part that they belong to."""
        pairs = list(sentences)
        return cls(*(tuple(text for p, text in pairs if p == part) for part in _HEADINGS))

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
        """Return the first sentence of each part, which answer the question."""
        return (*self.settled[:1], *self.undecided[:1], *self.sureness[:1])

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
    parts = (name.partition("=") for name in names.split())
    return {key: attribute or key for key, _, attribute in parts}


class Field(NamedTuple):
    """A column of a table: the attribute of a row that it shows, and how."""

    name: str
    heading: str | None = None
    better: Literal["higher", "lower"] | None = None
    digits: int | None = None
    interval: str | None = None  # the attribute with the ends of its interval
    importance: int = 5
    mixed: bool = False  # each number is rounded by itself


class Layout(NamedTuple):
    """The table of a result: the attribute that holds its rows, and the columns."""

    rows: str
    columns: tuple[Field, ...]


class Result(Record):
    """A result that people look at; its dataclass is made with ``repr=False``."""

    __slots__ = ()
    layout: ClassVar[Layout]

    @abstractmethod
    def words(self) -> Summary:
        """Return what can be concluded, what stays open, and how sure that is."""

    def table(self) -> Table:
        """Return the first table, with the result's ``title`` and ``notes`` if it has them."""
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

    def signed(self, pieces: Sequence[Any]) -> list[Any]:
        """Put the statistics signature below the first table."""
        provenance: Provenance | None = getattr(self, "provenance", None)
        signature = None if provenance is None else provenance.signature()
        signed = list(pieces)
        first = next((k for k, piece in enumerate(signed) if isinstance(piece, Table)), None)
        if signature is not None and first is not None:
            table = signed[first]
            signed[first] = replace(table, notes=(*table.notes, signature))
        return signed

    def text(self, screen: Screen = PLAIN) -> str:
        """Return what the command prints: the answer in words, tables, warnings."""
        warnings = brief(getattr(self, "warnings", ()), every="warnings")
        lines = "\n".join(f"warning: {text}" for text in warnings)
        return result_text(self.answer(), [*self.signed(self.pieces()), lines], screen)

    def __str__(self) -> str:
        # Whoever prints it wants it to fit; whoever keeps it wants no codes of colours in it.
        return self.text(Screen.of(sys.stdout, colour="never"))

    def plot(self, kind: str | None = None) -> Any:
        """Draw a figure, a Vega-Lite chart; ``kind`` is one of those that ``--plot`` takes."""
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
    return import_module("steelyard.report.figures.registry")


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
    end = _NAME // 2
    return listed([n if len(n) <= _NAME else f"{n[:end]}…{n[1 - end :]}" for n in names], most)


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
    return [{kind: item.pop("name"), **plain(item)} for item in (row._asdict() for row in rows)]


def ranked(scores: Sequence[float], *, higher_is_better: bool = True) -> list[int | None]:
    """Return ranks from 1; equal scores share the best one, undefined scores have none."""
    ordered = sorted((x for x in scores if not math.isnan(x)), reverse=higher_is_better)
    first: dict[float, int] = {}
    for rank, score in enumerate(ordered, 1):
        first.setdefault(score, rank)
    return [first.get(score) for score in scores]
