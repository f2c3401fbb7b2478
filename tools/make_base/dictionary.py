"""Which words are ordinary ones in a larger language: poison as names of one word.

The dictionaries are simplemma's, as in the linker. They hold some names as well, with capitals.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

from steelyard.kobe.base.codec import script

#: Latin names turn up in all of these. Dictionaries of other scripts hold names in small letters
#: (the Russian one has all of them so), which tells nothing.
LARGE = {"LATIN": tuple("en de fr es it pt nl pl cs sv da nb ro id".split())}
_WORD = re.compile(r"[^\W\d_]+(?:['’\-.][^\W\d_]+)*\.?")


@cache
def _dictionaries() -> Mapping[str, Any]:
    from simplemma.strategies.dictionaries.dictionary_factory import DefaultDictionaryFactory

    factory = DefaultDictionaryFactory(cache_max_size=64)
    return {lang: factory.get_dictionary(lang) for own in LARGE.values() for lang in own}


@cache
def _german_nouns() -> frozenset[str]:
    """Give the German words with capitals that have more forms than a name's genitive."""
    forms: dict[str, int] = defaultdict(int)
    words = _dictionaries()["de"]
    for form in words:
        if form[:1].isupper():
            of = words[form]
            forms[of] += form not in (of, f"{of}s", f"{of}'")
    return frozenset(word for word, n in forms.items() if n)


def _small(word: str, lang: str) -> bool:
    """Whether a word is in a dictionary in small letters; in German also if it is a noun."""
    if lang == "de" and word[:1].upper() + word[1:].lower() in _german_nouns():
        return True
    return word.lower() in _dictionaries()[lang]


@cache
def ordinary(word: str, lang: str) -> bool:
    """Whether a word is an ordinary one in a language that has a dictionary.

    Examples
    --------
    >>> ordinary("Corona", "es"), ordinary("Lage", "de"), ordinary("Merkel", "de")
    (True, True, False)
    """
    return lang in _dictionaries() and _small(word, lang)


@cache
def ordinary_somewhere(word: str) -> bool:
    """Whether a word is an ordinary one in any of the larger languages of its script.

    Examples
    --------
    >>> ordinary_somewhere("Corona"), ordinary_somewhere("Gazprom")
    (True, False)
    """
    return any(_small(word, lang) for lang in LARGE.get(script(word[:1]), ()))


@cache
def mostly_ordinary(word: str) -> bool:
    """Whether more dictionaries have a word in small letters than have it as a name.

    Dictionaries made from texts hold names in small letters by mistake, and verbs made of names.

    Examples
    --------
    >>> mostly_ordinary("Orange"), mostly_ordinary("Texas")  # doctest: +SKIP
    (True, False)
    """
    langs = LARGE.get(script(word[:1]), ())
    small = sum(_small(word, lang) for lang in langs)
    name = word[:1].upper() + word[1:].lower()
    named = sum(_dictionaries()[lang].get(name) == name for lang in langs if lang != "de")
    return bool(small > named)


def all_ordinary(words: Iterable[str], lang: str) -> bool:
    """Whether all words of a name are ordinary: in its language, or in any if it is not stated."""
    if lang in _dictionaries():
        return all(ordinary(word, lang) for word in words)
    return all(ordinary_somewhere(word) for word in words)


def words(text: str) -> list[str]:
    """Give the words of a name; what is written with hyphens is one.

    Examples
    --------
    >>> words("Coca-Cola Co. (1892) d'Or")
    ['Coca-Cola', 'Co.', "d'Or"]
    """
    return _WORD.findall(text)
