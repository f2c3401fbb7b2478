"""Warnings as people read them: those of a kind in one line, long lists of names cut.

The library says each of them in full, and JSON keeps them so.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence

_LONGEST, _KEPT = 5, 3  # names that a list may have, and that stay of a longer one
_WORDS = 3  # that a name may have; more are a sentence
_PIECE = r"(?:[^,;:()]|[,:](?! ))+"  # 1,800 and num:12 are pieces
_LIST = re.compile(rf"(?:{_PIECE}, ){{{_LONGEST},}}{_PIECE}")
_MORE = re.compile(r" and ([\d,]+) more\b")
# What differs between warnings of a kind: what is quoted, numbers, and names that look like it.
_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"")
_NAMELIKE = re.compile(r"\d[\d,.]*\b|[\w.%+-]*[A-Z\d_][\w.%+-]*|\w+-[\w-]+")
_REPEATED = re.compile(r"#(?:(?:, | and | )?#)+")


def brief(warnings: Sequence[str], names: Collection[str] = (), every: str = "") -> list[str]:
    """Shorten warnings; ``names`` are those of systems and metrics, ``every`` says where all are.

    Examples
    --------
    >>> said = [f"bt: without {a}, Ann and Bob change places" for a in ("Cy", "Di", "Ed")]
    >>> brief(said, every="--json")
    ['bt: without Cy, Ann and Bob change places (and 2 more like this: --json)']
    >>> brief(["left out: a-1, b-1, c-1, d-1, e-1, f-1, g-1 (keep)"])
    ['left out: a-1, b-1, c-1 and 4 more (keep)']
    """
    kinds: dict[str, list[str]] = {}
    known = _any_of(names)
    for warning in dict.fromkeys(warnings):
        kinds.setdefault(_kind(warning, known), []).append(warning)
    return list(_told(kinds, every))


def _told(kinds: dict[str, list[str]], every: str) -> Iterator[str]:
    place = f": {every}" if every else ""
    for first, *more in kinds.values():
        told = _LIST.sub(lambda found: _cut(found[0]), first)
        yield f"{told} (and {len(more):,} more like this{place})" if more else told


def _any_of(names: Collection[str]) -> re.Pattern[str] | None:
    """Recognise any of the names, the longest first."""
    own = sorted({name for name in names if name}, key=len, reverse=True)
    if not own:
        return None
    return re.compile(r"(?<![\w-])(?:" + "|".join(map(re.escape, own)) + r")(?![\w-])")


def _kind(warning: str, names: re.Pattern[str] | None) -> str:
    """Give what warnings of a kind have in common."""
    masked = warning if names is None else names.sub("#", warning)
    return _REPEATED.sub("#", _NAMELIKE.sub("#", _QUOTED.sub("#", masked)))


def _cut(text: str) -> str:
    """Cut a list of names; what stands before the first and after the last one stays."""
    more = _MORE.search(text)
    counted = 0 if more is None else int(more[1].replace(",", ""))
    tail = "" if more is None else text[more.end() :]
    pieces = (text if more is None else text[: more.start()]).split(", ")
    names = [len(piece.split()) <= _WORDS for piece in pieces]
    if not any(names):
        return text
    first = names.index(True)
    last = next((k for k in range(first, len(names)) if not names[k]), len(names)) - 1
    # The words around the list end with its first name, and begin with its last one.
    first = max(first - 1, 0)
    if last < len(pieces) - 1:
        last += 1
        if more is None or last < len(pieces) - 1:
            tail = (
                _after_name(pieces[last])
                + "".join(f", {own}" for own in pieces[last + 1 :])
                + ("" if more is None else text[more.start() :])
            )
            counted = 0
    elif more is None:
        tail = _after_name(pieces[last])
    left = last - first + 1 - _KEPT + counted
    if left + _KEPT <= _LONGEST:
        return text
    return f"{', '.join(pieces[: first + _KEPT])} and {left:,} more{tail}"


def _after_name(piece: str) -> str:
    """Give what follows a name."""
    found = re.match(r"(?:and )?(?:'[^']*'|\S+)(.*)", piece, re.DOTALL)
    return "" if found is None else found[1]
