"""Is this name doubtful? London in "London Grammar", 11 in "Windows 11": parts of other names.

No base knows every name. What may be a part of a longer name, or a small place that nothing shows
to be a place, is left undecided: it is never wanted of a translation, but good where it is kept.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence
from functools import cache, lru_cache
from typing import NamedTuple

from steelyard.kobe.languages import CASELESS
from steelyard.kobe.linking.lexicon import PLACES, UNSPACED, Entry
from steelyard.kobe.linking.wordforms import (
    NOUNS_WITH_CAPITALS,
    Token,
    common,
    lemma,
    place_words,
    stop_words,
)
from steelyard.kobe.mention import Mention, Mentions

#: After these a capital says nothing.
BEFORE_CAPITAL = frozenset(".!?…:;\"“”„«»‘'([{*-–—•|\n¿¡")
#: Words that join the words of a name: Bank of America, Université de Paris.
_OF = {
    "en": "of|of the",
    "fr": "de|du|des|de la",
    "es": "de|del|de la",
    "pt": "de|do|da",
    "it": "di|del|della",
    "ro": "de",
    "ca": "de|del",
    "nl": "van|van de",
}
_WORD = r"[^\W_]\w*(?:['’&-][^\W_]\w*)*"
_NUMBERS = frozenset({"number", "ordinal"})
#: People and countries keep their names inside longer ones; all of these need not.
_PARTS = PLACES | _NUMBERS | {"organisation", "product", "event", "name", "month", "language"}
#: A neighbour of these kinds is a mention of its own, not a part of the same name.
_APART = frozenset({"country", "weekday", "unit", "currency", "percent", "date", "time", "number"})
_LISTED = 6  # characters between two names of a list
_SHORT_IN_HAN = 3  # characters of a name that is hardly anything else
_CHINESE_NAME = re.compile(r"[\u3400-\u9fff]{1,6}(?:·[\u3400-\u9fff]{1,4})+")
_AROUND = 40  # characters in which a neighbour is looked for
_HEADLINE = 0.7  # of the words of a headline have a capital ...
_SHORT = 10  # ... all of them in a text of fewer words


class NameSpan(NamedTuple):
    """A name in a folded text: its span, its key and meaning, and how it was found."""

    start: int
    end: int
    key: int
    entry: Entry
    inflected: bool = False
    doubtful: bool = False


def is_initial(text: str, at: int) -> bool:
    """Tell whether a capital is only that of a sentence's beginning."""
    before = text[:at].rstrip()
    return not before or before[-1] in BEFORE_CAPITAL


def small_places(
    text: str, tokens: Sequence[Token], names: list[NameSpan], lang: str
) -> list[NameSpan]:
    """Mark the places that may be words or people; ``text`` has the places of the folded one.

    Where no capital tells a name from a word, they are left out.
    """
    starts = [token[1] for token in tokens]
    marked = []
    for at, name in enumerate(names):
        doubtful = "·" in text and lang in UNSPACED and _in_chinese_name(text, name)
        if _is_small_place(name, lang) and not (
            _shown_to_be_place(text, tokens, starts, names, at, lang)
            and not _is_word(text[name.start : name.end], lang)
        ):
            if lang in CASELESS:
                continue
            doubtful = True
        doubtful = doubtful or name.doubtful or name.entry.doubtful
        marked.append(name._replace(doubtful=True) if doubtful else name)
    return marked


def _is_word(written: str, lang: str) -> bool:
    """Tell whether a name is an ordinary word as well; without capitals, any word may be meant."""
    if lang in CASELESS:
        return " " not in written and lemma(written, lang) is not None
    return common(written.lower(), lang)


def _is_small_place(name: NameSpan, lang: str) -> bool:
    entry = name.entry
    if lang in UNSPACED:
        short = name.end - name.start < _SHORT_IN_HAN
        return entry.category in ("city", "airport") and entry.doubtful and short
    return entry.unplaced


def _in_chinese_name(text: str, name: NameSpan) -> bool:
    """Tell whether a name is one piece of a longer one that is written with dots."""
    return any(
        match.start() <= name.start and name.end <= match.end()
        for match in _CHINESE_NAME.finditer(text)
    )


def _shown_to_be_place(
    text: str,
    tokens: Sequence[Token],
    starts: Sequence[int],
    names: Sequence[NameSpan],
    at: int,
    lang: str,
) -> bool:
    """Tell whether a word before a name, or another place beside it, shows that it is a place."""
    name, words = names[at], place_words(lang)
    if " " in text[name.start : name.end] or not (words or lang in CASELESS):
        return True
    first = bisect_left(starts, name.start)
    if first and tokens[first - 1][0] in words and text[tokens[first - 1][2] : name.start] == " ":
        return True
    for other in (*names[max(0, at - 1) : at], *names[at + 1 : at + 2]):
        if other.entry.category in PLACES or other.entry.category == "country":
            left, right = sorted((name, other))
            gap = text[left.end : right.start]
            if len(gap) <= _LISTED and not gap.isspace() and "." not in gap:
                return not _is_small_place(other, lang) or lang not in CASELESS
    return False


def parts_of_names(text: str, lang: str, mentions: Mentions) -> Mentions:
    """Mark mentions as doubtful that stand beside another word with a capital.

    Two words that "of" joins stand beside each other. Titles of works are translated as a whole,
    and a number after a product is its version.

    Examples
    --------
    >>> eleven = Mention(14, 16, "11", "num:11", "number")
    >>> [m.doubtful for m in parts_of_names("I use Windows 11.", "en", (eleven,))]
    [True]
    """
    apart = {at for m in mentions if m.category in _APART for at in (m.start, m.end)}
    products = {m.end + gap for m in mentions if m.category == "product" for gap in (0, 1)}
    capitals_tell = lang not in CASELESS and bool(mentions) and not is_headline(text)
    marked = []
    for mention in mentions:
        if mention.category in _NUMBERS and mention.start in products:
            doubtful = True
        elif mention.category in _PARTS and not mention.doubtful:
            doubtful = capitals_tell and _is_part(text, lang, mention, apart)
        else:
            doubtful = mention.category == "work" and lang not in CASELESS
        marked.append(mention._replace(doubtful=True) if doubtful else mention)
    return tuple(marked)


@lru_cache(maxsize=1 << 14)
def is_headline(text: str) -> bool:
    """Tell whether capitals say nothing, since nearly all words have them."""
    words = [word for word in text.split() if word[0].isalpha() and len(word) > 3]
    share = 1 if len(words) < _SHORT else _HEADLINE
    return len(words) > 3 and sum(word[0].isupper() for word in words) >= share * len(words)


def _is_part(text: str, lang: str, mention: Mention, apart: set[int]) -> bool:
    numeric = mention.category in _NUMBERS
    if numeric and lang in NOUNS_WITH_CAPITALS:
        return False
    before, after = _neighbours(lang)
    match = before.search(text, max(0, mention.start - _AROUND), mention.start)
    if match and match.end("word") not in apart and _has_name_capital(text, lang, match):
        return True
    match = None if numeric else after.match(text, mention.end)
    return bool(match and match.start("word") not in apart) and _has_name_capital(text, lang, match)


@cache
def _neighbours(lang: str) -> tuple[re.Pattern[str], re.Pattern[str]]:
    gap = f"[ -]| (?:{_OF[lang]}) " if lang in _OF else "[ -]"
    return (
        re.compile(rf"(?<![\w'’-])(?P<word>{_WORD})(?:{gap})$"),
        re.compile(rf"(?:{gap})(?P<word>{_WORD})"),
    )


def _has_name_capital(text: str, lang: str, match: re.Match[str] | None) -> bool:
    """Tell whether a word has a capital because it is a part of a name."""
    if match is None:
        return False
    word, low = match["word"], match["word"].lower()
    if not (word[0].isupper() or (word.isalpha() and word != low)):  # iPhone
        return False
    if "-" in (match[0][0], match[0][-1]):  # London-Marathon
        return True
    if low in stop_words(lang):
        return False
    if lang in NOUNS_WITH_CAPITALS:
        return lemma(word, lang) is None
    return not (is_initial(text, match.start("word")) and common(low, lang))
