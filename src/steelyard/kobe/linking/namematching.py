"""Names of a source that no base knows, looked for in its translation."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from steelyard.kobe.linking.nameparts import same_part
from steelyard.kobe.linking.romanise import romanise, similarity

#: How alike two words must be to be one name: in one script, across scripts, and with scripts of
#: few vowels, in which much is alike.
SAME_SCRIPT, OTHER_SCRIPT, KATAKANA, FEW_VOWELS = 0.76, 0.64, 0.66, 0.74
_SHORT = 4  # letters below which words must be more alike
_BESIDE = 0.7  # of what is needed
_ENDING = 4  # letters that an inflected name may have more, or fewer
_WORD = re.compile(
    r"[\u30a1-\u30fa\u30fc]+|[\u3400-\u9fff]+|[\u3041-\u3096]+"
    r"|[^\s\u0000-\u002f\u003a-\u0040\u005b-\u0060\u007b-\u00bf\u2000-\u206f\u3000-\u30ff"
    r"\u3400-\u9fff\u0964\u0965\u060c\u061b\u061f\uff00-\uff0f\uff1a-\uff20]+"
)
Span = tuple[int, int]
_PARTS = re.compile(r"[\s\-‑'’&.·・･＝=]+")


class Piece(NamedTuple):
    """A word of an output."""

    text: str
    start: int
    end: int


def pieces(text: str) -> list[Piece]:
    """Give the words of a text that may be names; Katakana and Han stand by themselves.

    In scripts with capitals these are the words that have one.

    Examples
    --------
    >>> [piece.text for piece in pieces("ジョー・バイデン氏はXi’an-Straße im")]
    ['ジョー', 'バイデン', '氏', 'は', 'Xi', 'Straße']
    """
    return [Piece(m[0], *m.span()) for m in _WORD.finditer(text) if _may_be_name(m[0])]


@lru_cache(maxsize=1 << 16)
def _may_be_name(word: str) -> bool:
    low = word.lower()
    return low != word or (not word.isascii() and word == word.upper())


def find_in(name: str, output: str, words: Callable[[], list[Piece]]) -> Span | None:
    """Give the span of an output that has a name of the source, None where none is like it.

    ``words`` gives the words of the output, which are needed only where the name is not there as it
    is written.

    Examples
    --------
    >>> text = "So Volodymyr Zelenskyy said"
    >>> find_in("Владимир Зеленский", text, lambda: pieces(text))
    (3, 22)
    """
    span = exactly(name, output)
    if span is not None:
        return span
    parts = [part for part in _PARTS.split(name) if part]
    if not parts:
        return None
    there = words()
    found = _together(parts, there)
    if found is None and not any(map(str.isdigit, name)):  # F-15 is like F-16, and another
        found = _apart(parts, there)
    return found or exactly(name.lower(), output.lower())


def exactly(written: str, output: str) -> Span | None:
    """Find a name as it is written, at the start of a word and up to an ending of its last.

    Examples
    --------
    >>> exactly("Babiš", "s Andrejem Babišem"), exactly("Ana", "Anatol Banane")
    ((11, 18), None)
    """
    at = output.find(written)
    while at >= 0:
        end = at + len(written)
        before = output[at - 1] if at else " "
        if not (before.isalnum() and before < "\u0e00" and written[0].isalnum()):
            more = end
            while more < len(output) and output[more].isalpha() and output[more] < "\u0e00":
                more += 1
            if more - end <= (_ENDING if len(written) >= 4 else 1):
                return at, more
        at = output.find(written, at + 1)
    return None


def _together(parts: Sequence[str], words: Sequence[Piece]) -> Span | None:
    """Find a name whose words are joined or cut otherwise: Cyber Punk, Cyberpunk, Cyber-Punk."""
    whole = "".join(map(romanise, parts))
    if len(whole) < 4:
        return None
    for at, word in enumerate(words):
        joined = ""
        for last in words[at : at + len(parts) + 2]:
            joined += romanise(last.text)
            if len(joined) >= len(whole):
                if joined.startswith(whole) and len(joined) - len(whole) <= _ENDING:
                    return word.start, last.end
                if len(whole) >= 5 and whole in joined and "\u3400" <= last.text[0] <= "\u9fff":
                    return word.start, last.end
                break
    return None


def _apart(parts: Sequence[str], words: Sequence[Piece]) -> Span | None:
    """Find the words of a name one by one, in any order."""
    free = dict(enumerate(words))
    hits: list[int] = []
    left = []
    for part in sorted(parts, key=lambda p: (-len(p), p)):
        best, at = _best(part, free)
        if best >= 1:
            hits.append(at)
            del free[at]
        else:
            left.append(part)
    lost = 0
    for part in left:  # beside a part that is there, less will do
        near = {at: free[at] for hit in hits for at in (hit - 1, hit + 1) if at in free}
        best, at = _best(part, near)
        if best >= _BESIDE:
            hits.append(at)
            del free[at]
        elif len(part) >= _SHORT:
            lost += 1
    if not hits or lost >= len(hits) + (len(parts) == 2):
        return None
    if lost and _replaced(hits, words):
        return None
    start, end = min(hits), max(hits)
    if end - start > 2 * len(parts) + 2:
        start = end = hits[0]
    return words[start].start, words[end].end


def _best(part: str, words: Mapping[int, Piece]) -> tuple[float, int]:
    """Give how alike the word is that is most like a part of a name, and its place."""
    best, place = 0.0, -1
    for at, word in words.items():
        found = alike(part, word.text)
        if found > best:
            best, place = found, at
    return best, place


def _replaced(hits: Sequence[int], words: Sequence[Piece]) -> bool:
    """Whether another name stands beside what was found, in the place of what was not."""
    for hit in hits:
        for at in (hit - 1, hit + 1):
            if 0 <= at < len(words) and at not in hits:
                near, own = words[at], words[hit]
                gap = near.start - own.end if at > hit else own.start - near.end
                if gap <= 1 and near.text[0].isupper() and len(near.text) > 2:
                    return True
    return False


@lru_cache(maxsize=1 << 17)
def alike(one: str, other: str) -> float:
    """Say how far two words are one name: 1 and more if they are.

    Examples
    --------
    >>> alike("Трампом", "Trump") >= 1, alike("Babišem", "Babiš") >= 1, alike("Anna", "Hanka") >= 1
    (True, True, False)
    """
    a, b = romanise(one), romanise(other)
    if not a or not b:
        return 0.0
    if a == b:
        return 2.0
    shorter, longer = sorted((a, b), key=len)
    if shorter.isdigit() or longer.isdigit() or len(shorter) < 2:
        return 0.0
    if (
        len(shorter) >= 3
        and longer.startswith(shorter)
        and (len(longer) - len(shorter) <= (_ENDING if len(shorter) >= 4 else 2))
    ):
        return 1.5
    if same_part(one, other):
        return 2.0
    need = _needed(one, other)
    best = similarity(one, other)
    # Endings of cases: the rest must be alike.
    for cut in (1, 2, 3) if need not in (KATAKANA, FEW_VOWELS) else ():
        if best < need and len(a) - cut >= 4 and len(one) - cut >= 4:
            best = max(best, similarity(one[: len(one) - cut], other) - 0.03 * cut)
        if best < need and len(b) - cut >= 4 and len(other) - cut >= 4:
            best = max(best, similarity(one, other[: len(other) - cut]) - 0.03 * cut)
    return best / (need + 0.1 * (len(shorter) < _SHORT))


def _needed(one: str, other: str) -> float:
    first, second = sorted((one[0], other[0]))
    if second < "\u0250" or (first >= "\u0370" and second < "\u0530"):
        return SAME_SCRIPT
    if "\u0590" <= second < "\u0f00":
        return FEW_VOWELS
    return KATAKANA if "\u30a0" <= second <= "\u30ff" else OTHER_SCRIPT
