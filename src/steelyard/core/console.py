"""Texts and tables as people read them on a terminal.

A screen with a width gets wrapped texts and tables that fit; a file or a pipe gets every letter.
``rich`` measures what is not plain ASCII. Its Console and Table are not used: loading them takes
80 ms, a tenth of a command, and a narrow table of theirs cuts numbers.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TextIO

from steelyard.core.errors import printable
from steelyard.core.table import Table
from steelyard.core.text import listed

#: Codes of the few styles, by what they are for.
STYLES = {"stress": "1", "head": "36", "aside": "2", "warning": "33", "error": "31", "next": "32"}
_ALL_COLUMNS = "a wider window or to_frame() has all columns"
_WIDER = "a wider window has all columns"
_NARROWEST, _USUAL = 20, 80  # columns of a terminal that says less, or nothing
_GAP = 2  # blanks between columns
_NAME, _WORDS, _HEADING = 24, 16, 12  # cells that a first column, a text and a heading may keep
_ONE_CELL = re.compile("[ -\u02ff↑↓…─≥≤]*")  # spares most commands from loading rich


@dataclass(frozen=True, slots=True)
class Screen:
    """What a text is laid out for; ``whole`` says how to see the columns that have no room."""

    width: int | None = None
    colour: bool = False
    drawn: bool = False
    whole: str = _ALL_COLUMNS

    @classmethod
    def of(
        cls, stream: TextIO, colour: str = "auto", environment: Mapping[str, str] = os.environ
    ) -> Screen:
        """Return what a stream is; ``colour`` is one of ``auto always never``.

        ``COLUMNS`` sets the width, ``NO_COLOR`` and ``FORCE_COLOR`` the colours if ``auto``.
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
            return cls(None, coloured)
        encoding = str(getattr(stream, "encoding", "")).lower()
        return cls(_columns(stream, environment), coloured, drawn=encoding.startswith("utf"))

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
    """Return the cells that a text takes on a terminal: East Asian letters two, marks none."""
    if _ONE_CELL.fullmatch(text):
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def _first_cells(text: str, width: int) -> str:
    """Return as many letters from the beginning as fit, at least one."""
    end = 1
    while end < len(text) and text_width(text[: end + 1]) <= width:
        end += 1
    return text[:end]


def wrapped(text: str, width: int | None, indent: str = "  ") -> list[str]:
    """Break a line at blanks so that no part is wider; further parts are set in by ``indent``.

    Blanks at the beginning stay, and set in all parts. A word that is too wide is broken.
    """
    if width is None or text_width(text) <= width:
        return [text]
    margin = text[: len(text) - len(text.lstrip(" "))]
    further = margin + indent
    if len(further) * 2 > width:  # hardly any room would be left
        margin = further = ""
    lines: list[str] = []
    line = margin
    for word in re.findall(" *[^ ]+", text):
        if line.strip() and text_width(line + word) > width:
            lines.append(line)
            line = further
        rest = word if line.strip() else word.lstrip(" ")
        while text_width(line + rest) > width:
            piece = _first_cells(rest, width - text_width(line))
            lines.append(line + piece)
            line, rest = further, rest[len(piece) :]
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
        return min(self.natural, _WORDS if self.index else _NAME)


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
    shown = columns if screen.width is None else _fitting(columns, screen.width)
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


def _fitting(columns: list[_Column], width: int) -> list[_Column]:
    """Leave out what matters least until the others fit; the first column says what a row is."""
    while len(columns) > 1 and _total(column.least for column in columns) > width:
        last = min(reversed(columns[1:]), key=lambda column: column.importance)
        columns = [column for column in columns if column is not last]
    return columns


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

    rule = "  ".join(("─" if screen.drawn else "-") * n for n in widths)
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
    blocks, table_screen = ["\n".join(answer)], screen
    for piece in pieces:
        if isinstance(piece, Table):
            notes = tuple(note for note in piece.notes if note not in set(words))
            blocks.append(table_text(replace(piece, notes=notes), table_screen))
            table_screen = replace(screen, whole=_WIDER)  # a file has the first table alone
        else:
            blocks.append("\n".join(screen.lines("\n".join(map(printable, piece.split("\n"))))))
    return "\n\n".join(block for block in blocks if block)
