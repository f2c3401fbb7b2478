"""Texts and tables as people read them on a terminal.

A screen with a width gets wrapped texts and tables that fit: names are cut in the middle, the least
important columns go, intervals are drawn. A file or a pipe is a screen without a width: it gets
every letter. ``rich`` draws progress bars, but not these tables: it would cost every command 35 ms
to load, can't leave out columns by importance, and can cut two names to the same one.
"""

from __future__ import annotations

import math
import os
import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TextIO

from steelyard.core.errors import printable
from steelyard.core.table import Cell, Table, decimals, shown_number
from steelyard.core.text import listed

#: Codes of the few styles, by what they are for.
STYLES = {"stress": "1", "head": "36", "aside": "2", "warning": "33", "error": "31", "next": "32"}
WIDER = "a wider window has all columns"
_ALL_COLUMNS = "a wider window or to_frame() has all columns"
_NARROWEST, _USUAL = 20, 80  # columns of a terminal that says less, or nothing
_GAP = 2  # blanks between columns
_FIRST = 99  # the importance of the column that says what a row is about
_BAR, _WIDEST_BAR = 14, 20  # cells of a drawn interval; more where the ends of the scale need them


@dataclass(frozen=True, slots=True)
class Screen:
    """What a text is laid out for; ``whole`` says how to see the columns that have no room."""

    width: int | None = None
    colour: bool = False
    drawn: bool = False
    whole: str = _ALL_COLUMNS

    @classmethod
    def of(
        cls,
        stream: TextIO,
        colour: str = "auto",
        whole: str = _ALL_COLUMNS,
        environment: Mapping[str, str] = os.environ,
    ) -> Screen:
        """Return what a stream is; ``colour`` is one of ``auto always never``.

        ``COLUMNS`` sets the width of a terminal, ``NO_COLOR`` and ``FORCE_COLOR`` the colours where
        ``colour`` is ``auto``.
        """
        try:
            terminal = stream.isatty()
        except (AttributeError, ValueError):  # something else that is written to, or a closed file
            terminal = False
        coloured = colour == "always"
        if colour == "auto" and not environment.get("NO_COLOR"):
            forced = environment.get("FORCE_COLOR", "") not in ("", "0")
            coloured = forced or (terminal and environment.get("TERM") != "dumb")
        if not terminal:
            return cls(None, coloured, drawn=False, whole=whole)
        try:
            "─●…".encode(getattr(stream, "encoding", None) or "ascii")
            drawn = True
        except (UnicodeEncodeError, LookupError):
            drawn = False
        return cls(_columns(stream, environment), coloured, drawn, whole)

    def styled(self, text: str, style: str | None) -> str:
        """Return a text in a style, where there are colours."""
        if not (self.colour and style and text):
            return text
        return f"\x1b[{STYLES[style]}m{text}\x1b[0m"

    def lines(self, text: str, style: str | None = None, first: str = "") -> list[str]:
        """Wrap a text and style it: all of it, or only the word ``first`` that it begins with.

        Examples
        --------
        >>> Screen(width=24).lines("warning: 3 of 5 scores are missing", first="warning:")
        ['warning: 3 of 5 scores', '  are missing']
        """
        lines = [line for part in text.split("\n") for line in wrapped(part, self.width)]
        if not first:
            return [self.styled(line, style) for line in lines]
        if lines[0].startswith(first):
            lines[0] = self.styled(first, style) + lines[0].removeprefix(first)
        return lines


PLAIN = Screen()  #: a file, a pipe, or a text that somebody keeps


def _columns(stream: TextIO, environment: Mapping[str, str]) -> int:
    columns = environment.get("COLUMNS", "")
    if columns.isdecimal() and int(columns) > 0:
        return max(int(columns), _NARROWEST)
    try:
        width = os.get_terminal_size(stream.fileno()).columns
    except (OSError, ValueError, AttributeError):
        width = 0
    return max(width, _NARROWEST) if width else _USUAL


def text_width(text: str) -> int:
    """Return the cells that a text takes on a terminal: East Asian letters two, marks none.

    Examples
    --------
    >>> text_width("abc"), text_width("系统"), text_width("e\u0301")
    (3, 4, 1)
    """
    return len(text) if text.isascii() else sum(map(_cells, text))


def _cells(c: str) -> int:
    if unicodedata.category(c) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(c) in "WF" else 1


def _begin(text: str, width: int) -> str:
    """Return as many letters from the beginning as fit, each with its marks."""
    for k, c in enumerate(text):
        width -= _cells(c)
        if width < 0:
            return text[:k]
    return text


def _end(text: str, width: int) -> str:
    """Return as many letters from the end as fit, each with its marks."""
    start = len(text)
    for k in reversed(range(len(text))):
        cells = _cells(text[k])
        width -= cells
        if width < 0:
            break
        start = k if cells else start  # marks stay with their letter
    return text[start:]


def wrapped(text: str, width: int | None, indent: str = "  ") -> list[str]:
    """Break a line at blanks so that no part is wider; further parts are set in by ``indent``.

    Blanks at the beginning stay, and set in all parts. A word that is too wide is broken.

    Examples
    --------
    >>> wrapped("one line of several words", 12)
    ['one line of', '  several', '  words']
    """
    if width is None or text_width(text) <= width:
        return [text]
    margin = text[: len(text) - len(text.lstrip(" "))]
    further = margin + indent
    if text_width(further) * 2 > width:  # hardly any room would be left
        margin = further = ""
    lines: list[str] = []
    line = start = margin
    for blank, word in re.findall("( *)([^ ]+)", text.strip(" ")):
        gap = "" if line == start else blank
        if gap and text_width(line + gap + word) > width:
            lines.append(line)
            line, start, gap = further, further, ""
        rest = word
        while text_width(line + gap + rest) > width:
            piece = _begin(rest, width - text_width(line)) or _begin(rest, 2)
            lines.append(line + piece)
            line, start, rest = further, further, rest[len(piece) :]
        line += gap + rest
    return [*lines, line] if line.strip() or not lines else lines


def shortened(names: Sequence[str], width: int, taken: Collection[str] = ()) -> list[str]:
    """Cut names in the middle; two that differ stay apart, by where they begin to differ.

    No name becomes one of the ``taken`` ones.

    Examples
    --------
    >>> shortened(["a-very-long-name", "short"], 9)
    ['a-ve…name', 'short']
    >>> shortened(["model-v1-checkpoint", "model-v2-checkpoint"], 9)
    ['mo…1-che…', 'mo…2-che…']
    """
    short = {name: name for name in names if text_width(name) <= width}
    used = {*short, *taken}
    alike: dict[str, list[str]] = {}
    for name in dict.fromkeys(names):
        if name not in short:
            begin = _begin(name, width // 2)
            middle = f"{begin}…{_end(name, width - 1 - text_width(begin))}"
            alike.setdefault(middle, []).append(name)
    count = 1
    for middle, group in alike.items():
        same = len(os.path.commonprefix(group))  # noqa: RUF071 - characters are meant
        for name in group:
            cut = middle if len(group) == 1 else _cut_to_show(name, same, width)
            while cut in used:
                count += 1
                cut = _begin(name, width - len(f"…{count}")) + f"…{count}"
            short[name] = cut
            used.add(cut)
    return [short[name] for name in names]


def _cut_to_show(name: str, position: int, width: int) -> str:
    """Cut a name so that what stands at a position can be seen."""
    begin = _begin(name[:position], (width - 2) // 3)
    rest, room = name[position:], width - 1 - text_width(begin)
    if text_width(rest) > room:
        rest = _begin(rest, room - 1) + "…"
    return f"{begin}…{rest}"


@dataclass(frozen=True, slots=True)
class Bar:
    """Drawn intervals, a text per row; ``value`` and ``ends`` are the columns that they show."""

    value: int
    ends: tuple[int, int]
    heading: str
    cells: tuple[str, ...]


def bars_of(table: Table) -> list[Bar]:
    """Draw the intervals of a table: columns low and high, side by side, after their value.

    None where fewer than two rows have an interval, or where rows are not on one scale.

    Examples
    --------
    >>> from steelyard.core.table import Column
    >>> columns = (Column("system"), Column("mean", "higher"), Column("low"), Column("high"))
    >>> bars_of(Table("", columns, (("A", 0.51, 0.5, 0.53), ("B", 0.44, 0.42, 0.47))))[0].cells
    ('         ──●──', '──●────')
    """
    names = [column.name for column in table.columns]
    pairs = [j for j in range(2, len(names) - 1) if names[j : j + 2] == ["low", "high"]]
    bars = (_bar(table, low) for low in pairs)
    return [bar for bar in bars if bar is not None]


def _bar(table: Table, low: int) -> Bar | None:
    columns = table.columns
    # An interval is of the column that its key names ("mean low"), else of the one before it.
    key = (columns[low].key or "").removesuffix(" low")
    values = [j for j in range(low) if (columns[j].key or columns[j].name) == key] or [low - 1]
    value = values[-1]
    if not value or not table.right(value) or columns[value].mixed or columns[low].mixed:
        return None
    rows = [[_number(row[j]) for j in (value, low, low + 1)] for row in table.rows]
    ends = [(a, b) for _, a, b in rows if not math.isnan(a + b)]
    start, stop = min((a for a, _ in ends), default=0.0), max((b for _, b in ends), default=0.0)
    digits = columns[value].digits
    if digits is None:
        digits = decimals([row[value] for row in table.rows])
    left, right = shown_number(start, digits), shown_number(stop, digits)
    width = max(_BAR, len(left + right) + 2)
    if len(ends) < 2 or not start < stop or width > _WIDEST_BAR:
        return None

    def position(x: float) -> int:
        return round(min(max((x - start) / (stop - start), 0.0), 1.0) * (width - 1))

    cells = []
    for x, a, b in rows:
        bar = [" "] * width
        if not math.isnan(a + b):
            bar[position(a) : position(b) + 1] = "─" * (position(b) + 1 - position(a))
        if not math.isnan(x):
            bar[position(x)] = "●"
        cells.append("".join(bar).rstrip())
    return Bar(value, (low, low + 1), left + right.rjust(width - len(left)), tuple(cells))


def _number(cell: Cell) -> float:
    number = isinstance(cell, (int, float)) and not isinstance(cell, bool) and math.isfinite(cell)
    return float(cell) if number else math.nan  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class _Column:
    """A column on its way to the screen; ``index`` is its place in the table, None of a bar.

    Words may be broken into several lines; other texts are names, which are cut. ``bar`` is the
    value whose bar shows the same as this column.
    """

    key: str
    heading: tuple[str, ...]
    cells: tuple[str, ...]
    importance: int
    index: int | None
    right: bool = False
    words: bool = False
    bar: int | None = None
    width: int = 0

    @property
    def room(self) -> int:
        return max(map(text_width, self.cells), default=0)

    @property
    def natural(self) -> int:
        return max(self.room, *map(text_width, self.heading))

    def least(self, *, hard: bool) -> int:
        """Return the cells that it keeps as long as possible, or in any case."""
        if self.index is None:
            return self.natural
        if self.right:
            return min(self.natural, max(self.room, 8 if hard else 12))
        return min(self.natural, 8 if hard else 20 if self.words else 24)

    def stacked(self) -> _Column:
        """Set the words of the heading one upon the other, where that makes it narrower."""
        heading = re.sub(" ([↑↓])", "\xa0\\1", " ".join(self.heading))  # arrows stay with a word
        room = max(self.room, *map(text_width, heading.split(" ")))
        lines = (line.replace("\xa0", " ") for line in wrapped(heading, room, ""))
        return self if self.index is None else replace(self, heading=tuple(lines))


def table_text(table: Table, screen: Screen = PLAIN) -> str:
    """Return the lines of a table, laid out for a screen."""
    columns = _table_columns(table, screen)
    shown = columns if screen.width is None else _fitting(columns, screen.width)
    shown = _with_widths(shown, screen.width)
    lines = screen.lines(printable(table.title), "stress") if table.title else []
    lines += _grid(table, shown, screen) if shown else []
    for note in table.notes:
        lines += screen.lines(printable(note), "aside")
    indices = {column.index for column in shown}
    hidden = [column.key for column in columns if column.index not in (None, *indices)]
    if hidden:
        names = listed(shortened(hidden, 24), 6)
        lines += screen.lines(f"Not shown: {names} ({screen.whole}).", "aside")
    return "\n".join(lines)


def _table_columns(table: Table, screen: Screen) -> list[_Column]:
    texts = [[printable(cell) for cell in row] for row in table.shown()]
    bars = {bar.value: bar for bar in bars_of(table)} if screen.drawn else {}
    bar_of = {end: bar.value for bar in bars.values() for end in bar.ends}
    right = [table.right(j) for j in range(len(table.columns))]
    columns = []
    for j, (key, column) in enumerate(zip(table.keys(), table.columns, strict=True)):
        cells = tuple(row[j] for row in texts)
        phrases = any(cell.count(" ") > 1 for cell in cells) and (j > 0 or not any(right))
        first = j == 0 and len(table.columns) > 1
        columns.append(
            _Column(
                key=printable(key),
                heading=(printable(column.heading),),
                cells=cells,
                importance=_FIRST if first else column.importance,
                index=j,
                right=right[j],
                words=phrases and not right[j],
                bar=bar_of.get(j),
            )
        )
        if j in bars:
            bar = bars[j]
            columns.append(_Column("", (bar.heading,), bar.cells, column.importance - 2, None))
    return columns


def _total(widths: Iterable[int]) -> int:
    return sum(width + _GAP for width in widths) - _GAP


def _fitting(columns: list[_Column], width: int) -> list[_Column]:
    """Leave out columns until the others fit: what bars show, then what matters least."""
    if _total(column.natural for column in columns) <= width:
        return columns
    columns = [column.stacked() for column in columns]
    for bar in dict.fromkeys(c.bar for c in reversed(columns) if c.bar is not None):
        if _total(column.natural for column in columns) > width:
            columns = [column for column in columns if column.bar != bar]
    for hard in (False, True):
        while _total(column.least(hard=hard) for column in columns) > width:
            last = min(reversed(columns), key=lambda column: column.importance)
            if len(columns) <= (1 if hard else 2) or last.importance == _FIRST:
                break
            columns = [column for column in columns if column is not last]
    return columns


def _with_widths(columns: Sequence[_Column], width: int | None) -> list[_Column]:
    """Give each column what it needs, and cut what does not fit."""
    widths = natural = [column.natural for column in columns]
    if width is None or not columns or _total(natural) <= width:
        return [replace(column, width=n) for column, n in zip(columns, natural, strict=True)]
    widths = [column.least(hard=False) for column in columns]
    if _total(widths) > width:
        widths = [column.least(hard=True) for column in columns]
    while _total(widths) < width:
        wanting = [j for j in range(len(widths)) if widths[j] < natural[j]]
        for j in wanting[: width - _total(widths)]:
            widths[j] += 1
    widths = [min(n, width) for n in widths]  # a single column may still be too wide
    headings = [" ".join(column.heading) for column in columns]
    fits = [max(map(text_width, c.heading)) <= n for c, n in zip(columns, widths, strict=True)]
    taken = {heading for heading, fit in zip(headings, fits, strict=True) if fit}
    made = []
    for column, n, heading, fit in zip(columns, widths, headings, fits, strict=True):
        lines, cells = column.heading, column.cells
        if not fit:
            lines = tuple(shortened([heading], n, taken))
            taken |= set(lines)
        if column.index is not None and not column.words and not column.right:
            cells = tuple(shortened(cells, n))
        made.append(replace(column, heading=lines, cells=cells, width=n))
    return made


def _grid(table: Table, columns: Sequence[_Column], screen: Screen) -> Iterator[str]:
    """Yield the lines of heading and rows."""
    dash = "─" if screen.drawn else "-"
    rule = screen.styled("  ".join(dash * column.width for column in columns), "aside")
    height = max(len(column.heading) for column in columns)
    headings = [[""] * (height - len(c.heading)) + list(c.heading) for c in columns]
    yield from _lines(headings, columns, screen, ["head"] * len(columns))
    yield rule
    for i in range(len(table.rows)):
        if i in table.rules:
            yield rule
        styles = ["stress" if (i, column.index) in table.bold else None for column in columns]
        broken = screen.width is not None
        cells = [
            wrapped(c.cells[i], c.width, "") if c.words and broken else [c.cells[i]]
            for c in columns
        ]
        yield from _lines(cells, columns, screen, styles)


def _lines(
    cells: Sequence[Sequence[str]],
    columns: Sequence[_Column],
    screen: Screen,
    styles: Sequence[str | None],
) -> Iterator[str]:
    """Yield the lines of cells that stand side by side, some of several lines."""
    for k in range(max(map(len, cells))):
        parts = []
        for lines, column, style in zip(cells, columns, styles, strict=True):
            text = lines[k] if k < len(lines) else ""
            blank = " " * (column.width - text_width(text))
            styled = screen.styled(text, style)
            parts.append(blank + styled if column.right else styled + blank)
        yield "  ".join(parts).rstrip()


def result_text(words: Sequence[str], pieces: Sequence[Table | str], screen: Screen = PLAIN) -> str:
    """Lay out a result: the answer in words, then tables, and texts between them.

    A note of a table that the words say already is left out.
    """
    answer = []
    for k, text in enumerate(words):
        answer += screen.lines(printable(text), None if k else "stress")
    blocks, table_screen = ["\n".join(answer)], screen
    for piece in pieces:
        if isinstance(piece, Table):
            notes = tuple(note for note in piece.notes if note not in set(words))
            blocks.append(table_text(replace(piece, notes=notes), table_screen))
            table_screen = replace(screen, whole=WIDER)  # a file has the first table alone
        else:
            blocks.append("\n".join(screen.lines("\n".join(map(printable, piece.split("\n"))))))
    return "\n\n".join(block for block in blocks if block)


def names_in(tables: Iterable[Table]) -> set[str]:
    """Return what tables name: their columns, and the first cell of each row."""
    names: set[str] = set()
    for table in tables:
        names |= {column.name for column in table.columns}
        names |= {row[0] for row in table.rows if row and isinstance(row[0], str)}
    return names
