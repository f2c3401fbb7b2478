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
_NAMELIKE = re.compile(r"[\w.-]*[/.]\w[\w./-]*|\d[\d,.]*\b|[\w.%+-]*[A-Z\d_][\w.%+-]*|\w+-[\w-]+")
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
    end = len(text) if more is None else more.start()
    pieces = text[:end].split(", ")
    first, last = _longest([len(piece.split()) <= _WORDS for piece in pieces])
    # The words around a list end with its first name, and begin with its last one.
    first, last = max(first - 1, 0), min(last + 1, len(pieces) - 1)
    whole = more is not None and last == len(pieces) - 1  # the rest of this list is counted
    counted = int(more[1].replace(",", "")) if whole and more is not None else 0
    left = last - first + 1 - _KEPT + counted
    if left + _KEPT <= _LONGEST:
        return text
    if whole and more is not None:
        tail = text[more.end() :]
    else:
        after = "".join(f", {own}" for own in pieces[last + 1 :])
        tail = _after_name(pieces[last]) + after + text[end:]
    return f"{', '.join(pieces[: first + _KEPT])} and {left:,} more{tail}"


def _longest(flags: Sequence[bool]) -> tuple[int, int]:
    """Give the first and the last place of the longest run; the last is before the first of none.

    Examples
    --------
    >>> _longest([True, False, True, True]), _longest([False])
    ((2, 3), (0, -1))
    """
    best, start = (0, -1), 0
    for k, flag in enumerate(flags):
        start = start if flag else k + 1
        best = max(best, (start, k), key=lambda run: run[1] - run[0])
    return best


def _after_name(piece: str) -> str:
    """Give what follows a name."""
    found = re.match(r"(?:and )?(?:'[^']*'|\S+)(.*)", piece, re.DOTALL)
    return "" if found is None else found[1]
