"""Small places in scripts without capitals: a name of one word is more often a word, or a person.

Where names have no capitals, النادي is the club before it is a town, and 民主 is democracy. So a
place that is too small to be meant by its name alone needs something beside it that tells: a word
before (in, the city of), a sign after (市, 県), or another place.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING

from steelyard.kobe.linking.lexicon import UNSPACED
from steelyard.kobe.linking.wordforms import lemma, place_kinds, place_words
from steelyard.kobe.linking.wordshapes import CASELESS
from steelyard.kobe.linking.written import Token

if TYPE_CHECKING:
    from steelyard.kobe.linking.doubt import Found

_SMALL = frozenset({"city", "airport", "state"})
_PLACES = frozenset({"city", "airport", "state", "country", "region", "place"})
_HAN = frozenset({"zh", "yue", "lzh", "wuu", "ja"})
_SHORT = 3  # characters of a name in Han that is hardly anything else
#: Signs after a place and before one; the second are words, and so say less.
_AFTER = frozenset("市县縣区區镇鎮乡鄉村省州郡町県府港站駅湾灣")
_BEFORE = frozenset("在于於从從到赴往抵")
_LISTED = "、，,和与與及や・／/"
_GAP = 3


def placed(text: str, tokens: Sequence[Token], found: list[Found], lang: str) -> list[Found]:
    """Leave out small places of one word that nothing tells from a word or a person.

    ``text`` is the text in its own writing, in the places of the folded one.
    """
    if lang not in CASELESS or not any(_is_small(one, lang) for one in found):
        return found
    if lang in _HAN:
        return [one for at, one in enumerate(found) if _told_in_han(text, found, at, lang)]
    if lang in UNSPACED:
        return found
    return [one for at, one in enumerate(found) if _told(text, tokens, found, at, lang)]


def _is_small(name: Found, lang: str) -> bool:
    entry = name.entry
    if entry.category not in _SMALL:
        return False
    if lang in _HAN:
        return entry.category != "state" and entry.doubtful and name.end - name.start < _SHORT
    return entry.unplaced


def _told_in_han(text: str, found: Sequence[Found], at: int, lang: str) -> bool:
    name = found[at]
    if not _is_small(name, lang):
        return True
    if text[name.end : name.end + 1] in _AFTER and name.end < len(text):
        return True
    if name.start and text[name.start - 1] in _BEFORE:
        return True
    return _in_list(text, found, at, lang)


def _in_list(text: str, found: Sequence[Found], at: int, lang: str) -> bool:
    """Whether a place that is sure stands beside a name: 浙江余姚, كندا ومصر."""
    for other in found[max(0, at - 1) : at + 2]:
        if other is found[at] or other.entry.category not in _PLACES or _is_small(other, lang):
            continue
        first, second = sorted((found[at], other))
        gap = text[first.end : second.start]
        if len(gap) <= _GAP and not gap.strip(_LISTED + "، و"):
            return lang in _HAN or bool(gap.strip())
    return False


def _told(text: str, tokens: Sequence[Token], found: Sequence[Found], at: int, lang: str) -> bool:
    name = found[at]
    written = text[name.start : name.end]
    if not _is_small(name, lang) or " " in written:
        return True
    first = bisect_left([token[1] for token in tokens], name.start)
    word, _, end = tokens[first - 1] if first else ("", 0, 0)
    beside = bool(first) and text[end : name.start] == " "
    if beside and word in place_kinds(lang):
        return True
    if first + 1 < len(tokens) and text[name.end : tokens[first + 1][1]] == " ":
        after = tokens[first + 1][0]
        if after in place_kinds(lang):
            return True
    else:
        after = ""
    # What the dictionary has is a word as well: "in", "from" stand before words, too.
    if _is_word(written, lang):
        return False
    told = (beside and word in place_words(lang)) or after in place_words(lang)
    return told or _in_list(text, found, at, lang)


@cache
def _is_word(written: str, lang: str) -> bool:
    return lemma(written, lang) is not None
