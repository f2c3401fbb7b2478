"""Tables and results as people read them on a screen.

Where a screen has a width, columns go by importance until the table fits, names are cut in the
middle, texts are wrapped, and intervals are drawn. Where it has none (a file, a pipe), everything
is there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from steelyard.core.bars import Bar, bars_of
from steelyard.core.errors import printable
from steelyard.core.screen import PLAIN, WIDER, Screen, shortened, text_width, wrapped
from steelyard.core.table import Table
from steelyard.core.text import listed

_GAP = 2  # blanks between columns
_NAME, _WORDS, _HEAD = 24, 20, 12  # cells that names, texts and headings keep as long as they can
_LEAST = 8  # and that they keep in any case
_ARROWS = {arrow: f"\xa0{arrow}" for arrow in "↑↓"}  # which stay with the word before
_NAMED = 6  # columns that are named among those without room


@dataclass(frozen=True, slots=True)
class _Part:
    """A column on its way to the screen; ``place`` is its place in the table, None of a bar.

    ``words`` may be broken into several lines; other texts are names, and are cut. ``bar`` is the
    column beside which a bar shows the same.
    """

    key: str
    head: tuple[str, ...]
    cells: tuple[str, ...]
    room: int  # that the cells take
    importance: int
    place: int | None
    right: bool = False
    words: bool = False
    bar: int | None = None

    @property
    def natural(self) -> int:
        """The cells that it takes if nothing is cut."""
        return max(self.room, *map(text_width, self.head))

    def least(self, *, hard: bool) -> int:
        """The cells that it needs; fewer if need be."""
        if self.place is None:
            return self.natural
        if self.right:
            return min(self.natural, max(self.room, _LEAST if hard else _HEAD))
        return min(self.natural, _LEAST if hard else _WORDS if self.words else _NAME)

    def stacked(self) -> _Part:
        """Set the words of the heading one upon the other, where that makes it narrower."""
        if self.place is None or len(self.head) != 1:
            return self
        head = self.head[0].replace(" ↑", _ARROWS["↑"]).replace(" ↓", _ARROWS["↓"])
        room = max(self.room, *map(text_width, head.split(" ")))
        lines = (line.replace("\xa0", " ") for line in wrapped(head, room, ""))
        return replace(self, head=tuple(lines))


def table_text(table: Table, screen: Screen = PLAIN) -> str:
    """Lay out a table.

    Examples
    --------
    >>> from steelyard.core.table import Column
    >>> columns = (Column("system"), Column("mean", "higher"), Column("low"), Column("high"))
    >>> table = Table("", columns, (("A", 0.51, 0.5, 0.53), ("B", 0.44, 0.42, 0.47)))
    >>> print(table_text(table, Screen(width=36, drawn=True)))
    system  mean ↑  0.4200  0.5300
    ──────  ──────  ──────────────
    A       0.5100           ──●──
    B       0.4400  ──●────
    Not shown: low, high (a wider window
      or to_frame() has all columns).
    """
    parts = _parts(table, screen)
    shown = parts if screen.width is None else _fitting(parts, screen.width)
    lines = screen.lines(printable(table.title), "stress") if table.title else []
    if shown:
        lines += _grid(table, shown, screen)
    for note in table.notes:
        lines += screen.lines(printable(note), "aside")
    places = {part.place for part in shown}
    left = [part.key for part in parts if part.place not in (None, *places)]
    if left:
        names = listed(shortened(left, _NAME), _NAMED)
        lines += screen.lines(f"Not shown: {names} ({screen.whole}).", "aside")
    return "\n".join(lines)


def _parts(table: Table, screen: Screen) -> list[_Part]:
    """Make columns of a table, and bars of its intervals."""
    shown = [[printable(cell) for cell in row] for row in table.shown()]
    keys = [printable(key) for key in table.to_columns()]
    bars = bars_of(table) if screen.drawn else ()
    ends = {place: bar.value for bar in bars for place in bar.ends}
    right = [table.right(j) for j in range(len(table.columns))]
    parts = []
    for j, column in enumerate(table.columns):
        cells = tuple(row[j] for row in shown)
        parts.append(
            _Part(
                key=keys[j],
                head=(printable(column.heading),),
                cells=cells,
                room=_room(cells),
                importance=column.importance if j or len(table.columns) == 1 else _FIRST,
                place=j,
                right=right[j],
                words=not right[j] and (j > 0 or not any(right)) and _are_words(shown, j),
                bar=ends.get(j),
            )
        )
        parts += [_drawn(bar, table) for bar in bars if bar.value == j]
    return parts


def _are_words(shown: list[list[str]], j: int) -> bool:
    """Tell texts from names, which are one thing in one line."""
    return any(row[j].count(" ") > 1 for row in shown)


_FIRST = 99  # the importance of what a row is about


def _drawn(bar: Bar, table: Table) -> _Part:
    importance = table.columns[bar.value].importance - 2
    key, head = f"bar of {bar.name}", (bar.head,)
    return _Part(key, head, bar.cells, _room(bar.cells), importance, None)


def _room(cells: Sequence[str]) -> int:
    return max(map(text_width, cells), default=0)


def _total(parts: Sequence[_Part], widths: Iterable[int]) -> int:
    return sum(widths) + _GAP * (len(parts) - 1)


def _fitting(parts: list[_Part], width: int) -> list[_Part]:
    """Leave out columns until the others fit."""
    if _total(parts, (part.natural for part in parts)) <= width:
        return parts
    kept = [part.stacked() for part in parts]
    # What bars say, too, goes before anything is cut.
    for bar in dict.fromkeys(part.bar for part in reversed(kept) if part.bar is not None):
        if _total(kept, (part.natural for part in kept)) <= width:
            break
        kept = [part for part in kept if part.bar != bar]
    kept = _important(kept, width, hard=False)
    return _important(kept, width, hard=True)


def _important(parts: list[_Part], width: int, *, hard: bool) -> list[_Part]:
    """Leave out what matters least, the last first, until the rest fits; something stays."""
    least = [part.least(hard=hard) for part in parts]
    total = _total(parts, least)
    left: set[int] = set()
    fewest = 1 if hard else 2
    for k in sorted(range(len(parts)), key=lambda k: (parts[k].importance, -k)):
        if total <= width or len(parts) - len(left) <= fewest or parts[k].importance == _FIRST:
            break
        left.add(k)
        total -= least[k] + _GAP
    return [part for k, part in enumerate(parts) if k not in left]


def _widths(parts: Sequence[_Part], width: int | None) -> list[int]:
    """Give each column what it needs, and what is left to those that could use it."""
    natural = [part.natural for part in parts]
    if width is None or _total(parts, natural) <= width:
        return natural
    found = [part.least(hard=False) for part in parts]
    if _total(parts, found) > width:
        found = [part.least(hard=True) for part in parts]
    left = width - _total(parts, found)
    while left > 0:
        wanting = [j for j in range(len(parts)) if found[j] < natural[j]][:left]
        if not wanting:
            break
        for j in wanting:
            found[j] += 1
        left -= len(wanting)
    return [min(own, width) for own in found]  # one column may still be too wide


def _grid(table: Table, parts: list[_Part], screen: Screen) -> list[str]:
    """Give the lines of heading and rows."""
    widths = _widths(parts, screen.width)
    if screen.width is not None:
        parts = _cut(parts, widths)
    dash = "─" if screen.drawn else "-"
    rule = screen.styled("  ".join(dash * width for width in widths), "aside")
    height = max(len(part.head) for part in parts)
    lines = []
    for k in range(height):  # headings stand on the rule
        cells = [part.head[k - height] if height - k <= len(part.head) else "" for part in parts]
        lines.append(_line(cells, parts, widths, screen, ["head"] * len(parts)))
    lines.append(rule)
    for i in range(len(table.rows)):
        lines += [rule] if i in table.rules else []
        styles = ["stress" if (i, part.place) in table.bold else None for part in parts]
        lines += [
            _line(cells, parts, widths, screen, styles) for cells in _row(parts, widths, i, screen)
        ]
    return lines


def _row(
    parts: Sequence[_Part], widths: Sequence[int], i: int, screen: Screen
) -> Iterator[list[str]]:
    """Give the lines of a row: more than one where texts are broken."""
    if screen.width is None:
        yield [part.cells[i] for part in parts]
        return
    broken = [
        wrapped(part.cells[i], width, "") if part.words else [part.cells[i]]
        for part, width in zip(parts, widths, strict=True)
    ]
    for k in range(max(map(len, broken))):
        yield [own[k] if k < len(own) else "" for own in broken]


def _cut(parts: list[_Part], widths: Sequence[int]) -> list[_Part]:
    """Cut names and headings so that they fit, and that those that differ stay apart."""
    heads: dict[int, list[str]] = {}
    taken = set()
    for part, width in zip(parts, widths, strict=True):
        if max(map(text_width, part.head)) > width:
            heads.setdefault(width, []).append(" ".join(part.head))
        else:
            taken.add(" ".join(part.head))
    cuts: dict[tuple[int, str], str] = {}
    for width, own in heads.items():
        cut = dict(zip(own, shortened(own, width, taken), strict=True))
        cuts |= {(width, whole): short for whole, short in cut.items()}
        taken |= set(cut.values())
    found = []
    for part, width in zip(parts, widths, strict=True):
        short = cuts.get((width, " ".join(part.head)))
        cells = part.cells
        if not (part.place is None or part.words or part.right):
            cells = tuple(shortened(cells, width))
        found.append(replace(part, head=part.head if short is None else (short,), cells=cells))
    return found


def _line(
    cells: Sequence[str],
    parts: Sequence[_Part],
    widths: Sequence[int],
    screen: Screen,
    styles: Sequence[str | None],
) -> str:
    padded = []
    for cell, part, width, style in zip(cells, parts, widths, styles, strict=True):
        blank = " " * (width - text_width(cell))
        shown = screen.styled(cell, style)
        padded.append(blank + shown if part.right else shown + blank)
    return "  ".join(padded).rstrip()


def result_text(words: Sequence[str], shown: Sequence[Table | str], screen: Screen = PLAIN) -> str:
    """Lay out a result: the answer in words, then tables, and texts between them.

    A note of a table that the words have said already is left out.
    """
    said, own = set(words), screen
    styles = ["stress", *[None] * len(words)]  # the answer itself
    told = (
        screen.lines(printable(text), style) for text, style in zip(words, styles, strict=False)
    )
    parts = ["\n".join(line for lines in told for line in lines)]
    for one in shown:
        if isinstance(one, Table):
            notes = tuple(note for note in one.notes if note not in said)
            parts.append(table_text(replace(one, notes=notes), own))
            own = replace(screen, whole=WIDER)  # a file has the first table alone
        else:
            lines = map(printable, one.split("\n"))
            parts.append("\n".join(part for line in lines for part in screen.lines(line)))
    return "\n\n".join(part for part in parts if part)


def names_in(tables: Iterable[Table]) -> set[str]:
    """Give what tables name: their columns, and what the first cell of each row is."""
    found: set[str] = set()
    for table in tables:
        found |= {column.name for column in table.columns}
        found |= {row[0] for row in table.rows if row and isinstance(row[0], str)}
    return found
