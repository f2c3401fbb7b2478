"""Warnings as the page shows them: by kind, those that are alike together, without folders."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from steelyard.core.provenance import InputFile

# What differs between warnings that say the same of different things: names, options, numbers.
_VARIES = re.compile(r"'[^']*'|--[a-z-]+ \S+|\([^()]*\)|-?\d[\d.,]*")
_NAMES = re.compile(r"'[^']*'(?:, '[^']*'){5,}")
_NAMED = 3  # names that are listed of more than five
_TOLD = 2  # warnings of one wording that are shown; more are a click away


@dataclass(frozen=True, slots=True)
class Alike:
    """Warnings of one wording: those that are shown, and the others."""

    shown: tuple[str, ...]
    more: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Kind:
    """All warnings of one kind, under a heading."""

    title: str
    lines: tuple[Alike, ...]


def kinds(told: Mapping[str, Iterable[str]]) -> list[Kind]:
    """Group warnings by kind, each told once, under the first heading that has it.

    Examples
    --------
    >>> found = kinds({"Files": ["a.csv is short"], "Metrics": ["'x' is odd", "'y' is odd",
    ...                "'z' is odd", "'u' is odd", "a.csv is short"]})
    >>> [kind.title for kind in found], found[1].lines[0].more
    (['Files', 'Metrics'], ("'z' is odd", "'u' is odd"))
    """
    known: set[str] = set()
    found = []
    for title, lines in told.items():
        new = [line for line in dict.fromkeys(lines) if line not in known]
        known.update(new)
        alike: dict[str, list[str]] = {}
        for line in new:
            alike.setdefault(wording(line), []).append(line)
        if alike:
            found.append(Kind(title, tuple(map(_cut, alike.values()))))
    return found


def _cut(lines: list[str]) -> Alike:
    """Keep a few of many; one line more is not worth a click."""
    kept = len(lines) if len(lines) <= _TOLD + 1 else _TOLD
    return Alike(tuple(lines[:kept]), tuple(lines[kept:]))


def wording(line: str) -> str:
    """Give what is the same in warnings that say the same of different things.

    Examples
    --------
    >>> wording("'A' beats 12 (x)") == wording("'B' beats 3 (y)")
    True
    """
    return _VARIES.sub("*", line)


def shortened(line: str) -> str:
    """Cut long lists of quoted names down to three and a count.

    Examples
    --------
    >>> shortened("no value for 'a', 'b', 'c', 'd', 'e', 'f': no scores")
    "no value for 'a', 'b', 'c' and 3 more: no scores"
    """

    def few(found: re.Match[str]) -> str:
        names = found[0].split("', '")
        return "', '".join(names[:_NAMED]) + f"' and {len(names) - _NAMED} more"

    return _NAMES.sub(few, line)


def without_folders(inputs: Sequence[InputFile]) -> Callable[[str], str]:
    """Give what takes the folders of the user's disk out of a text; names of files stay.

    Examples
    --------
    >>> hide = without_folders([InputFile("/home/me/data/a.csv", "table")])
    >>> hide("/home/me/data/a.csv does not have 'B'; see /home/me/data/notes")
    "a.csv does not have 'B'; see notes"
    """
    # Only folders from the root on: the name of a folder alone may be a word, or a system.
    folders: set[Path] = set()
    paths: dict[str, str] = {}
    for one in inputs:
        given = Path(one.path)
        paths[str(given)] = paths[one.path] = given.name
        for path in (given, given.absolute(), given.resolve()):
            folders.update(folder for folder in (path.parent, path.parent.parent)
                           if folder.is_absolute() and folder.name)  # fmt: skip
    paths |= {f"{folder}{os.sep}": "" for folder in folders}
    paths |= {str(folder): folder.name for folder in folders}
    hidden = sorted(paths.items(), key=lambda pair: -len(pair[0]))

    def clean(text: str) -> str:
        for path, name in hidden:
            text = text.replace(path, name)
        return text

    return clean
