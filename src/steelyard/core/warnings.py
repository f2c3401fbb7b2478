"""Warnings as people read them: those of a kind in one line, long lists of names cut.

The library gives each of them in full, and JSON keeps them so.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

_KEPT, _LONGEST = 3, 5  # names that stay of a list that is longer
_WORD = r"(?:'[^']*'|(?:[^\s,;:()']|[,:'](?=\S))+)"  # 1,800 and num:12 are words
_NAME = rf"{_WORD}(?: {_WORD}){{0,2}}"  # more words are a sentence
_LIST = re.compile(
    rf"({_NAME}(?:, {_NAME}){{{_KEPT - 1}}})((?:, {_NAME})*)"
    rf"(?:, {_NAME} and ([\d,]+) more\b|, (?:and )?{_WORD}( and {_WORD})?)"
)
# What differs between warnings of a kind: what is quoted, numbers, and names that look like it.
_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"")
_NAMELIKE = re.compile(r"[\w.-]*[/.]\w[\w./-]*|\d[\d,.]*\b|[\w.%+-]*[A-Z\d_][\w.%+-]*|\w+-[\w-]+")
_REPEATED = re.compile(r"#(?:(?:, | and | )?#)+")


def brief(warnings: Sequence[str], names: Collection[str] = (), every: str = "") -> list[str]:
    """Shorten warnings; ``names`` are those of systems and metrics, ``every`` says where all are.

    Examples
    --------
    >>> texts = [f"bt: without {a}, Ann and Bob change places" for a in ("Cy", "Di", "Ed")]
    >>> brief(texts, every="--json")
    ['bt: without Cy, Ann and Bob change places (and 2 more like this: --json)']
    >>> brief(["left out: a-1, b-1, c-1, d-1, e-1, f-1, g-1 (keep)"])
    ['left out: a-1, b-1, c-1 and 4 more (keep)']
    """
    kinds: dict[str, list[str]] = {}
    longest_first = sorted(filter(None, names), key=len, reverse=True)
    known = re.compile(rf"(?<![\w-])(?:{'|'.join(map(re.escape, longest_first))})(?![\w-])")
    for warning in dict.fromkeys(warnings):
        masked = known.sub("#", warning) if longest_first else warning
        kind = _REPEATED.sub("#", _NAMELIKE.sub("#", _QUOTED.sub("#", masked)))
        kinds.setdefault(kind, []).append(warning)
    where = f": {every}" if every else ""
    return [
        _LIST.sub(_cut, first) + (f" (and {len(more):,} more like this{where})" if more else "")
        for first, *more in kinds.values()
    ]


def _cut(match: re.Match[str]) -> str:
    """Return the first names of a list, and how many follow."""
    kept, middle, counted, last = match.groups()
    left = len(re.findall(rf", {_NAME}", middle)) + (1 if last is None else 2)
    left += int(counted.replace(",", "")) if counted else 0
    return match[0] if left + _KEPT <= _LONGEST else f"{kept} and {left:,} more"
