"""Demonyms as names of their countries: British is Britain, as Chinese is China.

Which of country, people and language a word means can't be told from the word, and translations
go freely between them. Words come from three places: i18n-nationality (MIT) for eight languages;
CLDR's names of currencies in all languages, where the country is an adjective (Libyan dinar,
libyscher Dinar, ливийский динар); ``demonyms.tsv``, written by hand, for what both lack.
"""

from __future__ import annotations

import gzip
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import takewhile
from pathlib import Path
from typing import Any

from make_base.cldr import at, entity, fresh_data, locales
from make_base.inflection import RULES, forms, lemma
from make_base.places import countries, people
from make_base.tables import table
from steelyard.kobe.base.codec import Entity, Flag, Name
from steelyard.kobe.linking.lexicon import UNSPACED
from steelyard.kobe.linking.wordforms import stop_words

_DEMONYM = int(Flag.DEMONYM)
#: Languages that write demonyms with a capital.
_CAPITAL = frozenset({"en", "nl"})
#: Currencies that are called by a form of their country's name, and US dollars of other days.
_MISLEADING = frozenset({"AFN", "AFA", "USN", "USS", "EUR", "CHE", "CHW", "COU", "MXV", "CLF"})
_WORD = re.compile(r"[^\W\d_][\w'’\-]*", re.UNICODE)
_SMALL = 1_000_000
#: Wrong in i18n-nationality 1.4.0: the two are exchanged, or it is another word.
_MISTAKEN = frozenset(
    {("NE", "nb"), ("NG", "nb"), ("NE", "nl"), ("NZ", "de"), ("RO", "nb"), ("SZ", "it")}
)
_COMMON = 3  # countries in whose currencies a word may stand and still be an adjective of one


class _Demonyms:
    """Yields the countries that have demonyms, with all forms of them."""

    name: str
    version: str
    licence: str

    def words(self) -> Iterator[tuple[str, str, str]]:
        """Yield (id, language, first form)."""
        raise NotImplementedError

    def rows(self) -> Iterator[tuple[Entity, Sequence[Name]]]:
        """Yield each country with what its people and things are called."""
        found: dict[str, dict[Name, None]] = defaultdict(dict)
        for id_, lang, word in self.words():
            for form in forms(word, lang):
                if form.lower() not in stop_words(lang):
                    found[id_][Name(lang, form, _DEMONYM)] = None
        for id_, names in sorted(found.items()):
            state = "-" in id_  # whose prior is not known here
            yield (Entity(id_, "state") if state else entity(id_)), list(names)


class WrittenDemonyms(_Demonyms):
    """The table ``demonyms.tsv``."""

    name, version, licence = "demonyms", "1", "Apache-2.0"

    def words(self) -> Iterator[tuple[str, str, str]]:
        """Yield (id, language, first form)."""
        for id_, lang, own in table("demonyms.tsv"):
            for word in own.split("|"):
                yield id_, lang, word


class Nationalities(_Demonyms):
    """The npm package i18n-nationality, out of the table of names."""

    name, version, licence = "i18n-nationality", "1.4.0", "MIT"

    def __init__(self, path: Path) -> None:
        self.path = path

    def words(self) -> Iterator[tuple[str, str, str]]:
        """Yield (id, language, first form) of those that are a single word of one country."""
        found: dict[tuple[str, str], set[str]] = defaultdict(set)
        with gzip.open(self.path, "rt", encoding="utf-8") as file:
            for line in file:
                id_, _, lang, text, _, source = line.rstrip("\n").split("\t")
                if "i18n-nationality" in source:
                    word = text if lang in _CAPITAL else text.lower()
                    found[lang, word].add(id_.removeprefix("demonym:"))
        called = country_names()
        for (lang, word), codes in sorted(found.items()):
            # British is said of the Virgin Islands, too; who is meant is the large country.
            sure = [code for code in sorted(codes) if _is_sure(code, lang, word)]
            if len(sure) == 1 and word.lower() not in called.get((lang, sure[0]), ()):
                yield f"iso:{sure[0]}", lang, word


def _is_sure(code: str, lang: str, word: str) -> bool:
    """Whether an entry is likely to be right: those of islands are made of anything at hand."""
    if people(code) < _SMALL or len(word) < 5 or (code, lang) in _MISTAKEN:
        return False
    if lang == "de":
        return bool(re.fullmatch(r"[^\W\d_-]+(isch|deutsch|ysch)|deutsch", word))
    return (lang not in _CAPITAL or word[0].isupper()) and len(word.split()) <= 2


class Currencies(_Demonyms):
    """The adjectives in CLDR's names of currencies."""

    name, licence = "cldr-currencies", "Unicode-3.0"

    def __init__(self) -> None:
        import babel

        self.version = f"Babel {babel.__version__}"

    def words(self) -> Iterator[tuple[str, str, str]]:
        """Yield (id, language, first form)."""
        with fresh_data() as load:
            for locale, lang in locales():
                if lang not in UNSPACED and "_" not in locale:
                    yield from sorted(adjectives(load(locale), lang))


def country_names() -> Mapping[tuple[str, str], set[str]]:
    """Give the names of countries in small letters by language and code."""
    found: dict[tuple[str, str], set[str]] = defaultdict(set)
    with fresh_data() as load:
        for locale, lang in locales():
            for code, name in at(load(locale), "territories").items():
                if isinstance(name, str):
                    found[lang, code].add(name.lower())
    return found


def adjectives(data: Mapping[str, Any], lang: str) -> set[tuple[str, str, str]]:
    """Find the words in names of currencies that are formed from their country's name."""
    territories = {c: n for c, n in at(data, "territories").items() if isinstance(n, str)}
    plural = at(data, "currency_names_plural")
    users: dict[str, set[str]] = defaultdict(set)
    found: dict[str, set[str]] = defaultdict(set)
    for code, main in at(data, "currency_names").items():
        home = code[:2]
        if code in _MISLEADING or home not in territories or home not in countries():
            continue
        for name in (main, *plural.get(code, {}).values()):
            own = _WORD.findall(name.partition("(")[0]) if isinstance(name, str) else []
            for word in own:
                users[lemma(word.lower(), lang)].add(home)
                if len(own) > 1 and derived(word.lower(), territories[home].lower()):
                    found[lemma(word.lower(), lang)].add(home)
    result = set()
    for word, homes in found.items():
        # Sudan is meant before South Sudan.
        single = [home for home in homes if len(territories[home].split()) == 1]
        chosen = single if len(homes) > 1 else sorted(homes)
        if len(chosen) == 1 and len(users[word]) <= _COMMON and _is_adjective(word, lang):
            shown = word.capitalize() if lang in _CAPITAL else word
            result.add((f"iso:{chosen[0]}", lang, shown))
    return result


def _is_adjective(word: str, lang: str) -> bool:
    """Whether a word ends as adjectives do, where that is known: others are cases of the name."""
    endings = tuple(ending for ending, _ in RULES.get(lang, ()))
    return not endings or word.endswith(endings)


def derived(word: str, country: str) -> bool:
    """Whether a word in small letters is formed from a country's name, and not the name itself.

    Examples
    --------
    >>> derived("ливийский", "ливия"), derived("британский", "великобритания")
    (True, True)
    >>> derived("dinar", "libya"), derived("libya", "libya")
    (False, False)
    """
    if len(word) < 4 or word in _WORD.findall(country):
        return False
    least = 3 if len(country) <= 5 else 4
    parts = [part for part in _WORD.findall(country) if len(part) > 2]
    if any(_common(word, part) >= min(least, len(part)) for part in parts):
        return True
    return len(word) > 6 and word[:5] in country


def _common(one: str, other: str) -> int:
    """Count the letters that two words have in common from their start."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))
