"""Which names of people, organisations, products and works may stand in the base.

Names of several words are trustworthy, names of one word are poison: human translators keep 85 %
of the first and a third of the second (Haus, Tempo, Gold, Post), because most are no names where
they are found. So a single word must be well known, and no ordinary word.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import NamedTuple

from make_base.dictionary import all_ordinary, mostly_ordinary, words
from steelyard.kobe.base.codec import script
from steelyard.kobe.linking.wordforms import fold

CATEGORIES = {"person": "person", "organisation": "organisation", "brand": "product",
              "work": "work"}  # fmt: skip
#: How many of 23 languages must name a thing for a single word of them to be taken.
_KNOWN = {"person": 20, "organisation": 11, "product": 10, "work": 16}
_KNOWN_SHORT = {"person": 20, "organisation": 13, "product": 14, "work": 99}
_KNOWN_ABBREVIATION = 13
_KNOWN_TITLE = 12  # of works and products that are made of ordinary words: Star Wars
#: Characters of a name where words are not divided, by category.
_CHARACTERS = {"person": 3, "organisation": 4, "product": 4, "work": 4}
_UNDIVIDED = frozenset({"CJK", "HIRAGANA", "KATAKANA", "HANGUL", "THAI", "LAO", "KHMER", "MYANMAR"})
_CASED = frozenset({"LATIN", "CYRILLIC", "GREEK", "ARMENIAN"})
_ARTICLES = frozenset(
    "the a an der die das den dem ein eine le la les l' un une el los las il lo gli i o os as het"
    " de een den det the".split()
)
_TITLES = frozenset(
    "mr mr. mrs mrs. ms ms. dr dr. prof prof. president sir dame lord lady saint st st. king queen"
    " prince princess pope general colonel captain senator sen. rep. chancellor minister judge"
    " justice his her el don doña señor monsieur madame m. mme herr frau papa san emperor"
    " император король царь президент".split()
)
_ODD = re.compile(r"[\"“”„«»()\[\]{}<>|/:;,?!#@*=+\\]|\d{3}|\s-\s|\. [A-ZА-Я][a-zа-я]{3}")
_INITIAL = re.compile(r"(^|[\s.])[^\W\d_]\.?(?=\s|$)|^([^\W\d_]\.)+")


class Candidate(NamedTuple):
    """A name that a source gives; ``known`` is of how many of 23 languages have the thing."""

    category: str
    lang: str
    text: str
    known: float


def is_taken(name: Candidate, places: Collection[str] = (), nouns: Collection[str] = ()) -> bool:
    """Whether a name may stand for a thing.

    Parameters
    ----------
    name
        What is asked for.
    places
        Folded names of countries, states and cities, which no single word may be.
    nouns
        Ordinary words of languages without blanks, which have no dictionary here.

    Examples
    --------
    >>> is_taken(Candidate("person", "en", "Angela Merkel", 5))
    True
    >>> is_taken(Candidate("person", "en", "A. Merkel", 22))
    False
    >>> is_taken(Candidate("work", "de", "Gold", 22))
    False
    >>> is_taken(Candidate("organisation", "zh", "有限公司", 2), nouns={"有限公司"})
    False
    """
    category, text = name.category, name.text
    first = next(filter(str.isalpha, text), "")
    if not first or len(text) > 80 or _ODD.search(text):
        return False
    kind = script(first)
    if kind in _UNDIVIDED:
        return _undivided(name, kind, places, nouns)
    if kind in _CASED and not first.isupper():
        return False
    own = words(text)
    if category == "person" and (_INITIAL.search(text) or own[0].lower() in _TITLES):
        return False
    if len(own) > 1 and own[0].lower() in _ARTICLES:
        own = own[1:]
    if len(own) > 1:
        return _several(name, own, cased=kind in _CASED)
    return _single(name, text if len(text.split()) == 1 else "", places)


def _several(name: Candidate, own: list[str], *, cased: bool) -> bool:
    """Judge a name of several words: one of them at least must be a whole one."""
    if max(map(len, own)) < 3 or sum(len(word.strip(".")) > 1 for word in own) < 2:
        return False
    capitals = sum(word[:1].isupper() for word in own)
    if cased and name.category == "person" and capitals < 2:
        return False
    if name.category == "organisation" and cased and capitals < 2 and name.lang in ("en", "mul"):
        return False
    if name.category in ("work", "product") and len(own) < 4:
        return name.known >= _KNOWN_TITLE or not all_ordinary(own, name.lang)
    return True


def _single(name: Candidate, text: str, places: Collection[str]) -> bool:
    """Judge a single word."""
    if not text or fold(text, name.lang) in places:
        return False
    if text.isupper() and name.category == "organisation":
        return 3 <= len(text) <= 6 and text.isalpha() and name.known >= _KNOWN_ABBREVIATION
    if len(text) < 4 or name.known < _KNOWN[name.category]:
        return False
    return not mostly_ordinary(text)


def _undivided(name: Candidate, kind: str, places: Collection[str], nouns: Collection[str]) -> bool:
    letters = [char for char in name.text if char.isalpha()]
    if fold(name.text, name.lang) in places or name.text in nouns:
        return False
    if kind in ("THAI", "LAO", "KHMER", "MYANMAR"):
        return len(name.text) >= 8
    if "·" in name.text or "・" in name.text or "=" in name.text:
        return True
    if len(letters) >= _CHARACTERS[name.category]:
        return True
    return len(letters) >= 2 and name.known >= _KNOWN_SHORT[name.category]
