"""A screen: how wide it is, whether it has colours, and how texts are cut and wrapped for it.

Files and pipes are screens without a width, without colours and without bars: whoever reads them
gets every letter.
"""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TextIO

#: Codes of the few styles that are used, by what they are for.
STYLES = {"stress": "1", "head": "36", "aside": "2", "warning": "33", "error": "31", "next": "32"}
_DRAWN = "─●┄…"  # what a stream must be able to write, to draw with it
WIDER = "a wider window has all columns"
_WHOLE = "a wider window or to_frame() has all columns"
_NARROWEST = 20  # no terminal is narrower; what says so is not to be believed
_USUAL = 80
_ELLIPSIS = "…"


@dataclass(frozen=True, slots=True)
class Screen:
    """What a text is laid out for; ``whole`` says how to see the columns that have no room."""

    width: int | None = None
    colour: bool = False
    drawn: bool = False
    whole: str = _WHOLE

    @classmethod
    def of(
        cls,
        stream: TextIO,
        colour: str = "auto",
        whole: str = _WHOLE,
        environment: Mapping[str, str] = os.environ,
    ) -> Screen:
        """Look at a stream; ``colour`` is one of ``auto always never``.

        ``COLUMNS`` says how wide a terminal is, ``NO_COLOR`` and ``FORCE_COLOR`` whether there are
        colours where nobody said it.

        Examples
        --------
        >>> import io
        >>> Screen.of(io.StringIO()) == PLAIN
        True
        >>> Screen.of(io.StringIO(), "always").colour
        True
        """
        terminal = _is_terminal(stream)
        if colour == "auto":
            wanted = terminal and environment.get("TERM") != "dumb"
            coloured = not environment.get("NO_COLOR") and (
                wanted or environment.get("FORCE_COLOR", "") not in ("", "0")
            )
        else:
            coloured = colour == "always"
        width = _columns(stream, environment) if terminal else None
        return cls(width, coloured, terminal and _can_write(stream, _DRAWN), whole)

    def styled(self, text: str, style: str | None) -> str:
        r"""Put a text into a style, where there are colours.

        Examples
        --------
        >>> Screen(colour=True).styled("A", "stress"), PLAIN.styled("A", "stress")
        ('\x1b[1mA\x1b[0m', 'A')
        """
        if not (self.colour and style and text):
            return text
        return f"\x1b[{STYLES[style]}m{text}\x1b[0m"

    def lines(self, text: str, style: str | None = None, first: str = "") -> list[str]:
        """Wrap a text; ``first`` is the word that it begins with, in the style alone.

        Without such a word the style is that of all of it.

        Examples
        --------
        >>> Screen(width=24).lines("warning: 3 of 5 scores are missing", first="warning:")
        ['warning: 3 of 5 scores', '  are missing']
        """
        lines = [line for part in text.split("\n") for line in wrapped(part, self.width)]
        if not (first and lines[0].startswith(first)):
            style = None if first else style
            return [self.styled(line, style) for line in lines]
        return [self.styled(first, style) + lines[0].removeprefix(first), *lines[1:]]


#: A file, a pipe, or a text that somebody keeps.
PLAIN = Screen()


def _is_terminal(stream: TextIO) -> bool:
    try:
        return stream.isatty()
    except (AttributeError, ValueError):  # something else that is written to, or a closed file
        return False


def _can_write(stream: TextIO, text: str) -> bool:
    try:
        text.encode(getattr(stream, "encoding", None) or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def _columns(stream: TextIO, environment: Mapping[str, str]) -> int:
    said = environment.get("COLUMNS", "")
    if said.isdecimal() and int(said) > 0:
        return max(int(said), _NARROWEST)
    try:
        found = os.get_terminal_size(stream.fileno()).columns
    except (OSError, ValueError, AttributeError):
        found = 0
    return max(found, _NARROWEST) if found else _USUAL


def text_width(text: str) -> int:
    """Count the cells of a terminal that a text takes: East Asian letters two, marks none.

    Examples
    --------
    >>> text_width("abc"), text_width("系统"), text_width("e\u0301")
    (3, 4, 1)
    """
    if text.isascii():
        return len(text)
    return sum(map(_cells, text))


def _cells(c: str) -> int:
    if unicodedata.category(c) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(c) in "WF" else 1


def _letters(text: str) -> Iterator[str]:
    """Go through letters, each with the marks that stand on it."""
    letter = ""
    for c in text:
        if letter and _cells(c):
            yield letter
            letter = ""
        letter += c
    if letter:
        yield letter


def _begin(text: str, width: int) -> str:
    """Give as many letters from the beginning as fit."""
    return _fitting(_letters(text), width)


def _end(text: str, width: int) -> str:
    """Give as many letters from the end as fit."""
    fitting = list(_letters(text))[::-1]
    return "".join(reversed(list(_letters_within(fitting, width))))


def _fitting(letters: Iterable[str], width: int) -> str:
    return "".join(_letters_within(letters, width))


def _letters_within(letters: Iterable[str], width: int) -> Iterator[str]:
    for letter in letters:
        width -= text_width(letter)
        if width < 0:
            return
        yield letter


def _broken(word: str, width: int) -> Iterator[str]:
    """Break what has no blanks into pieces that fit."""
    while text_width(word) > width:
        piece = _begin(word, width) or next(_letters(word))
        yield piece
        word = word[len(piece) :]
    if word:
        yield word


def wrapped(text: str, width: int | None, indent: str = "  ") -> list[str]:
    """Break a line at blanks so that no part is wider; further parts are set in by ``indent``.

    Blanks at the beginning stay, and set in all parts. A word that is too wide itself is broken.

    Examples
    --------
    >>> wrapped("one line of several words", 12)
    ['one line of', '  several', '  words']
    >>> wrapped("any text", None)
    ['any text']
    """
    if width is None or text_width(text) <= width:
        return [text]
    margin = text[: len(text) - len(text.lstrip(" "))]
    further = margin + indent
    if text_width(further) * 2 > width:  # hardly any room would be left
        margin, further = "", ""
    lines: list[str] = []
    line = ""
    for blank, word in re.findall("( *)([^ ]+)", text.strip(" ")):
        start = margin if not lines else further
        if line and text_width(line + blank + word) <= width:
            line += blank + word
            continue
        if line:
            lines.append(line)
            start = further
        *whole, line = _broken(word, width - text_width(start))
        for piece in whole:
            lines.append(start + piece)
            start = further
        line = start + line
    return [*lines, line] if line else lines or [""]


def shortened(names: Sequence[str], width: int, other: Collection[str] = ()) -> list[str]:
    """Cut names in the middle; two that differ stay apart, by where they begin to.

    No name becomes one of the ``other`` ones.

    Examples
    --------
    >>> shortened(["a-very-long-name", "short"], 9)
    ['a-ve…name', 'short']
    >>> shortened(["model-v1-checkpoint", "model-v2-checkpoint"], 9)
    ['mo…1-che…', 'mo…2-che…']
    """
    found = {name: name for name in names if text_width(name) <= width}
    taken = {*found, *other}
    alike: dict[str, list[str]] = {}
    for name in dict.fromkeys(names):
        if name not in found:
            alike.setdefault(_without_middle(name, width), []).append(name)
    count = 1
    for middle, own in alike.items():
        same = _same_begin(own)
        for name in own:
            cut = middle if len(own) == 1 else _from(name, same, width)
            while cut in taken:
                count += 1
                number = f"{_ELLIPSIS}{count}"
                cut = _begin(name, width - len(number)) + number
            found[name] = cut
            taken.add(cut)
    return [found[name] for name in names]


def _same_begin(names: Sequence[str]) -> int:
    """Count the characters that names begin alike with."""
    low, high = min(names), max(names)
    pairs = enumerate(zip(low, high, strict=False))
    return next((k for k, (a, b) in pairs if a != b), min(len(low), len(high)))


def _without_middle(name: str, width: int) -> str:
    begin = _begin(name, width // 2)
    return begin + _ELLIPSIS + _end(name, width - 1 - text_width(begin))


def _from(name: str, place: int, width: int) -> str:
    """Cut a name so that what stands at a place can be seen."""
    begin = _begin(name[:place], (width - 2) // 3)
    rest, room = name[place:], width - 1 - text_width(begin)
    if text_width(rest) > room:
        rest = _begin(rest, room - 1) + _ELLIPSIS
    return begin + _ELLIPSIS + rest
