"""Warnings as the page shows them: those that are alike together, without folders of the disk."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from steelyard.core.provenance import InputFile
from steelyard.core.text import plural

# What differs between warnings that say the same of different things: names, options, numbers.
_VARIES = re.compile(r"'[^']*'|--[a-z-]+ \S+|\([^()]*\)|-?\d[\d.,]*")
_NAMES = re.compile(r"'[^']*'(?:, '[^']*'){5,}")
_NAMED = 3  # names that are listed of more than five
_ALIKE = 2  # warnings of one wording that are shown


def shown_warnings(lines: Iterable[str]) -> list[str]:
    """Return each warning once, long lists cut; of many of one wording the first two and a count.

    Examples
    --------
    >>> shown_warnings(["a.csv is short", "'x' is odd", "'y' is odd", "'z' is odd", "'u' is odd"])
    ['a.csv is short', "'x' is odd", "'y' is odd (and 2 more warnings of this kind)"]
    """
    alike: dict[str, list[str]] = {}
    for line in dict.fromkeys(lines):
        alike.setdefault(_VARIES.sub("*", line), []).append(_NAMES.sub(_few, line))
    shown = []
    for same in alike.values():
        more = len(same) - _ALIKE
        if more > 0:
            same[_ALIKE - 1] += f" (and {plural(more, 'more warning')} of this kind)"
        shown += same[:_ALIKE]
    return shown


def _few(match: re.Match[str]) -> str:
    names = match[0].split("', '")
    return "', '".join(names[:_NAMED]) + f"' and {len(names) - _NAMED} more"


def without_folders(inputs: Sequence[InputFile]) -> Callable[[str], str]:
    """Return what takes the folders of the user's disk out of a text; names of files stay.

    Examples
    --------
    >>> hide = without_folders([InputFile("/home/me/data/a.csv", "table")])
    >>> hide("/home/me/data/a.csv does not have 'B'; see /home/me/data/notes")
    "a.csv does not have 'B'; see notes"
    """
    # Only folders from the root on: the name of a folder alone may be a word, or a system.
    folders: set[Path] = set()
    paths: dict[str, str] = {}
    for file in inputs:
        path = Path(file.path)
        paths[str(path)] = paths[file.path] = path.name
        for spelling in (path, path.absolute(), path.resolve()):
            folders.update(folder for folder in (spelling.parent, spelling.parent.parent)
                           if folder.is_absolute() and folder.name)  # fmt: skip
    paths |= {f"{folder}{os.sep}": "" for folder in folders}
    paths |= {str(folder): folder.name for folder in folders}
    hidden = sorted(paths.items(), key=lambda pair: -len(pair[0]))

    def clean(text: str) -> str:
        for path, name in hidden:
            text = text.replace(path, name)
        return text

    return clean
