"""Every exception that Steelyard raises on purpose; :class:`SteelyardError` catches them all.

The message of each is one line: what was found, what was expected and, for a file, where.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from steelyard.core.text import listed

STDIN = "-"  # the path of standard input
_BEGIN, _END = 700, 250  # of a message that is longer than both
_JOINERS = "\u200c\u200d"
# Format characters that show: signs that Arabic, Syriac and Kaithi numbers stand under.
_SIGNS = "\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u0890\u0891\u08e2\U000110bd\U000110cd"


def shown_path(path: object) -> str:
    """Return a path as messages name it."""
    return "<stdin>" if str(path) == STDIN else str(path)


def printable(text: str) -> str:
    """Show characters that steer a terminal, or that nobody sees, as escapes."""
    if text.isascii() and text.isprintable():
        return text
    framed = f" {text} "
    return "".join(
        c.encode("unicode_escape").decode() if _is_hidden(before, c, after) else c
        for before, c, after in zip(framed, framed[1:], framed[2:], strict=False)
    )


def _is_hidden(before: str, c: str, after: str) -> bool:
    category = unicodedata.category(c)
    if category != "Cf" or c in _SIGNS:
        return category in ("Cc", "Cs", "Zl", "Zp")
    # Joiners stay where they shape what stands on both sides: Persian, Indic scripts, emoji.
    joins = all(x > "\u05ff" and unicodedata.category(x)[0] in "LMS" for x in (before, after))
    return not (c in _JOINERS and joins)


class SteelyardError(Exception):
    """Base of all errors below; its text is one line, meant for people."""

    exit_code = 1

    def __init__(self, message: str = "") -> None:
        text = printable(message)
        if len(text) > _BEGIN + _END:  # a name, or a list of them, would make it endless
            text = f"{text[:_BEGIN]} … {text[-_END:]}"
        super().__init__(text)


class InputError(SteelyardError):
    """A file or frame holds something that can't be right; ``line`` counts from 1."""

    exit_code = 2

    def __init__(self, message: str, *, path: object = None, line: int | None = None) -> None:
        self.message, self.line = message, line
        self.path = None if path is None else str(path)
        at = "" if line is None else f":{line}"
        where = "" if path is None else f"{shown_path(path)}{at}: "
        super().__init__(f"{where}{message}")


class UsageError(SteelyardError):
    """An argument or an option is wrong."""

    exit_code = 2


class ShapeError(SteelyardError):
    """Arrays do not fit each other."""


class DegenerateError(SteelyardError):
    """The data can't answer the question (nothing varies, one system); the message says why."""


class MissingDependencyError(SteelyardError):
    """An optional library is not installed; the message holds the command that installs it."""


#: What each extra brings, by the names under which it is imported.
_EXTRAS = {
    "kobe": ("marisa_trie", "orjson", "py3langid", "simplemma"),
    "plots": ("vl_convert",),
}


def need_extra(extra: str, what: str, *libraries: str) -> None:
    """Raise MissingDependencyError without the libraries of an extra (all, or those named)."""
    missing = [name for name in libraries or _EXTRAS[extra] if find_spec(name) is None]
    if missing:
        names = ", ".join(missing)
        raise MissingDependencyError(f"{what} needs {names}: pip install 'steelyard[{extra}]'")


class OutOfMemoryError(SteelyardError):
    """There is not enough memory; the message says what helps."""

    @classmethod
    def at(cls, what: object = "") -> OutOfMemoryError:
        """Return the error of something that is too large."""
        where = f"{what}: " if what else ""
        return cls(f"{where}out of memory; more of it, fewer `jobs` or less data at a time help")


class AddressSpace(NamedTuple):
    """The limit of what a process may reserve (``ulimit -v``) and what is left of it, in MB."""

    limit: int
    left: int


def address_space() -> AddressSpace | None:
    """Return what this process may reserve; None without a limit, or beyond Linux."""
    try:
        import resource

        limit = resource.getrlimit(resource.RLIMIT_AS)[0]
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    except (ImportError, OSError):
        return None
    if limit == resource.RLIM_INFINITY:
        return None
    return AddressSpace(limit >> 20, max(limit - pages * resource.getpagesize(), 0) >> 20)


class DownloadError(SteelyardError):
    """A download failed, or what it brought was refused."""


def plain_word(word: str) -> str:
    """Return a name in small letters, with hyphens between its words."""
    return "-".join(str(word).casefold().replace("_", " ").replace("-", " ").split())


def hint(word: str, choices: Iterable[str], also: Mapping[str, str] | None = None) -> str:
    """Return the choices, the nearest first, as the tail of an error; ``also`` are other names."""
    names, asked = sorted(set(choices)), plain_word(word)
    meant = {plain_word(name): choice for name, choice in (also or {}).items() if choice in names}
    meant |= {choice.casefold(): choice for choice in names}
    near = [asked] if asked in meant else get_close_matches(str(word).casefold(), meant, n=1)
    shown = listed(names, 20) or "none"
    return f"did you mean '{meant[near[0]]}'? Known: {shown}" if near else f"known: {shown}"
