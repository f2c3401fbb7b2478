"""Names that may be a part of something else: London in "London Grammar", Paris in "Paris Hilton".

A base can't know every name. Where a name of one word stands inside a longer one that the base
does not know, in a title, or in a compound, what it means there is left undecided. Countries are
kept by human translators in most of these places, and are doubted in fewer.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence
from typing import NamedTuple

from steelyard.kobe.linking.lexicon import UNSPACED, Entry
from steelyard.kobe.linking.wordforms import (
    NOUNS_WITH_CAPITALS,
    common,
    lemma,
    place_words,
    stop_words,
)
from steelyard.kobe.linking.written import Token

#: After these a capital says nothing.
BEFORE_CAPITAL = frozenset(".!?…:;\"“”„«»‘'([{*-–—•|\n¿¡")
_PLACES = frozenset({"city", "place", "airport", "state", "region", "subdivision", "geo"})
_DAYS = frozenset({"month", "weekday"})
_NAMED = frozenset({"person", "organisation", "work", "product", "event", "name"})
#: Words that join the words of a name: Bank of America, Université de Paris.
_OF = {
    "en": frozenset({"of"}),
    "fr": frozenset({"de", "du", "des", "d"}),
    "es": frozenset({"de", "del"}),
    "pt": frozenset({"de", "do", "da"}),
    "it": frozenset({"di", "del", "della"}),
    "ro": frozenset({"de"}),
    "ca": frozenset({"de", "del"}),
}
_QUOTED = re.compile(
    r"[\"“„«‚‘*_]([^\"“”„«»‘’*_\n]{2,60})[\"”“»’*_]|(?<!\w)'([^'\n]{2,60})'(?!\w)|《([^》\n]{1,40})》"
)
_LISTED = 6  # characters between two names of a list
_CJK = "\u3400-\u9fff"
#: Characters that write foreign names, and hardly anything else beside a name.
_SOUNDS = frozenset("尔斯克拉姆伊莱罗洛娜纳兹萨诺弗埃奥维蒂茨娅赫迪鲁穆阿艾贝勒恩戈丹")
_JOINED = re.compile(rf"[{_CJK}]{{1,6}}(?:·[{_CJK}]{{1,6}})+")


class Found(NamedTuple):
    """A name in a folded text: its span, its key and meaning, and how it was found."""

    start: int
    end: int
    key: int
    entry: Entry
    inflected: bool = False
    doubtful: bool = False


def doubted(text: str, tokens: Sequence[Token], found: list[Found], lang: str) -> list[Found]:
    """Mark the names that may be a part of something else.

    ``text`` is the text in its own writing, in the places of the folded one.
    """
    if lang in UNSPACED:
        return [_undecided(name, _inside_sounds(text, name)) for name in found]
    context = _Context(text, tokens, found, lang)
    return [_undecided(name, context.doubts(at)) for at, name in enumerate(found)]


def _undecided(name: Found, doubt: bool) -> Found:  # noqa: FBT001
    doubtful = doubt or name.doubtful or name.entry.doubtful
    return name._replace(doubtful=True) if doubtful else name


def is_initial(text: str, at: int) -> bool:
    """Whether a capital at a place is one of a sentence's beginning."""
    before = text[:at].rstrip()
    return not before or before[-1] in BEFORE_CAPITAL


class _Context:
    """The words around names in one text."""

    def __init__(
        self, text: str, tokens: Sequence[Token], found: Sequence[Found], lang: str
    ) -> None:
        self.text, self.tokens, self.found, self.lang = text, tokens, found, lang
        self.starts = [token[1] for token in tokens]
        self.titles: list[tuple[int, int]] | None = None

    def doubts(self, at: int) -> bool:
        """Whether a name is doubtful here."""
        name = self.found[at]
        category = name.entry.category
        if category not in _PLACES and category not in _DAYS and category != "country":
            return category in _NAMED and not _several(self.text, name) and self._in_run(at)
        if _several(self.text, name):
            return False
        if category in _PLACES and name.entry.unplaced and self._is_word(name):
            return True
        return self._in_run(at) or self._unplaced(at) or self._in_title(name)

    def _unplaced(self, at: int) -> bool:
        """Whether nothing tells that a small place is meant, and not a person or a word."""
        name = self.found[at]
        before = place_words(self.lang)
        if not name.entry.unplaced or not before:
            return False
        text, first = self.text, bisect_left(self.starts, name.start)
        word, _, end = self.tokens[first - 1] if first else ("", 0, 0)
        if word in before and text[end : name.start] == " ":
            return False
        return not (self._beside(at, -1) or self._beside(at, 1))

    def _beside(self, at: int, step: int) -> bool:
        """Whether another place stands beside a name, as in lists: Wien, Graz und Linz."""
        if not 0 <= at + step < len(self.found):
            return False
        left, right = sorted((self.found[at], self.found[at + step]))
        other = self.found[at + step].entry
        if other.category not in _PLACES and other.category != "country":
            return False
        gap = self.text[left.end : right.start]
        return len(gap) <= _LISTED and (not gap.isspace()) and "." not in gap

    def _is_word(self, name: Found) -> bool:
        """Whether a name is a word as it is written: Füßen, which is folded as Füssen is."""
        return common(self.text[name.start : name.end].lower(), self.lang)

    def _in_run(self, at: int) -> bool:
        name = self.found[at]
        first = bisect_left(self.starts, name.start)
        last = bisect_left(self.starts, name.end)
        country = name.entry.category == "country"
        if first and self._before(at, first, country=country):
            return True
        return not country and last < len(self.tokens) and self._after(at, last)

    def _before(self, at: int, first: int, *, country: bool) -> bool:
        text, (word, start, end) = self.text, self.tokens[first - 1]
        gap = text[end : self.found[at].start]
        if gap == "-" and not country:
            return _capital(text, start) and not self._neighbour(at - 1, start, end)
        if gap not in (" ", "'"):
            return False
        if not _capital(text, start):
            joins = word in _OF.get(self.lang, ()) and first > 1
            return joins and self._part(*self.tokens[first - 2]) and text[end] == " "
        if self._neighbour(at - 1, start, end) or gap == "'":
            return False
        return self._part(word, start, end)

    def _after(self, at: int, last: int) -> bool:
        text, (word, start, end) = self.text, self.tokens[last]
        gap = text[self.found[at].end : start]
        if gap not in (" ", "-") or not _capital(text, start):
            return False
        if self._neighbour(at + 1, start, end):
            return False
        return gap == "-" or self._part(word, start, end)

    def _neighbour(self, at: int, start: int, end: int) -> bool:
        """Whether a word is of a name by itself, so that two names stand beside each other."""
        if not 0 <= at < len(self.found):
            return False
        other = self.found[at]
        within = other.start <= start and end <= other.end
        return within and other.entry.category != "city" and other.entry.category not in _NAMED

    def _part(self, word: str, start: int, end: int) -> bool:
        """Whether a word with a capital can be a part of a longer name."""
        if not _capital(self.text, start) or word in stop_words(self.lang):
            return False
        if self.lang in NOUNS_WITH_CAPITALS:
            return lemma(self.text[start:end], self.lang) is None
        return not (is_initial(self.text, start) and common(word, self.lang))

    def _in_title(self, name: Found) -> bool:
        if self.titles is None:
            spans = [match.span() for match in _QUOTED.finditer(self.text)]
            self.titles = [span for span in spans if self._is_title(*span)]
        return any(start <= name.start and name.end <= end for start, end in self.titles)

    def _is_title(self, start: int, end: int) -> bool:
        """Whether what is quoted is called so, rather than said: its words have capitals."""
        own = self.tokens[bisect_left(self.starts, start) : bisect_left(self.starts, end)]
        words = [token for token in own if token[0] not in stop_words(self.lang)]
        return 0 < len(own) <= 6 and all(_capital(self.text, token[1]) for token in words)


def _several(text: str, name: Found) -> bool:
    return " " in text[name.start : name.end]


def _capital(text: str, at: int) -> bool:
    return text[at] != text[at].lower()


def _inside_sounds(text: str, name: Found) -> bool:
    """Whether a Chinese name is a piece of a longer one that is written by its sounds."""
    start, end = name.start, name.end
    for match in _JOINED.finditer(text) if "·" in text else ():
        if match.start() < end and start < match.end() and "·" not in text[start:end]:
            beside = "·" in (text[start - 1 : start], text[end : end + 1])
            return beside or any(char in _SOUNDS for char in text[start:end])
    if name.entry.category not in _PLACES and name.entry.category != "country":
        return False
    if text[start] not in _SOUNDS and text[end - 1] not in _SOUNDS:
        return False
    before, after = text[start - 1 : start], text[end : end + 1]
    return before in _SOUNDS or after in _SOUNDS
