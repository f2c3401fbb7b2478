"""Everything that CLDR names, through Babel, in every language that has been described at all.

These are territories, languages, scripts, currencies, units, months and days, and the cities after
which time zones are called.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from itertools import product
from typing import Any

from make_base.places import country, people, zone_city
from steelyard.kobe.base.codec import UNSTATED, Entity, Flag, Name, population_prior
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
_PRIORS = {"script": 4.0, "region": 6.0}
_NO_COUNTRY = frozenset({"EZ", "QO", "XA", "XB", "ZZ"})
_RARE = frozenset({"en_Dsrt", "en_Shaw", "hi_Latn"})
#: Regions that spell otherwise: kilometre, quilómetro.
_OWN_SPELLING = frozenset({"en_GB", "pt_PT"})
#: Units whose abbreviation differs from a usual one's by a capital only, if at all: Ml, Mb, PT.
_SELDOM = frozenset(
    "volume-megaliter digital-bit digital-kilobit digital-megabit digital-gigabit digital-terabit"
    " graphics-dot graphics-pixel graphics-megapixel graphics-em concentr-item concentr-mole"
    " pressure-megapascal power-milliwatt energy-foodcalorie duration-century length-point"
    " torque-pound-force-foot force-pound-force mass-dalton mass-earth-mass mass-solar-mass"
    " length-earth-radius length-solar-radius length-solar-luminosity light-solar-luminosity"
    " duration-day-person duration-month-person duration-week-person duration-year-person".split()
)
_UNIT, _SELDOM_UNIT = 5.0, 4.0


class Cldr:
    """Everything CLDR names; `langs` limits it to some languages."""

    name = "cldr"
    licence = "Unicode-3.0"

    def __init__(self, langs: frozenset[str] | None = None) -> None:
        import babel
        from babel.core import get_global

        self.langs = langs
        self.version = f"{get_global('cldr')['version']} (Babel {babel.__version__})"

    def rows(self) -> Iterator[tuple[Entity, Sequence[Name]]]:
        """Yield every entity once, with its names in all languages."""
        names: dict[str, list[Name]] = defaultdict(list)
        with fresh_data() as load:
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
        _leave_to_the_usual(names)
        # درهم is money: nobody has weighed by it for a hundred years.
        if "unit:volume-dram" in names:
            names["unit:volume-dram"] = [n for n in names["unit:volume-dram"] if n.lang != "ar"]
        for id_ in sorted(names):
            yield entity(id_), list(dict.fromkeys(names[id_]))


def language_codes() -> list[str]:
    """List the codes of all languages that CLDR names or has data for."""
    from babel.core import get_global

    codes = {*get_global("likely_subtags"), *get_global("language_aliases").values()}
    found = {primary(code) for code in codes} | {"en", UNSTATED}
    return sorted(code for code in found if code and code != "und")


def locales(langs: frozenset[str] | None = None) -> list[tuple[str, str]]:
    """List Babel's locales that stand for a language in a script, each with its language."""
    from babel.localedata import locale_identifiers

    found = []
    for locale in sorted(locale_identifiers()):
        lang = primary(locale)
        # Most regions say the same once more; texts are rarely in Deseret or in romanised Hindi.
        region = any(len(part) < 4 or part.isupper() for part in locale.split("_")[1:])
        if (
            lang
            and (not region or locale in _OWN_SPELLING)
            and locale not in _RARE
            and (langs is None or lang in langs)
        ):
            found.append((locale, lang))
    return found


@contextmanager
def fresh_data() -> Iterator[Any]:
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


def at(data: Mapping[str, Any], *path: str) -> dict[Any, Any]:
    """Go down into raw data, following aliases without writing anything back."""
    from babel.localedata import Alias, merge

    value: Any = data
    for step in ("", *path):
        value = value if step == "" else value.get(step, {})
        if isinstance(value, Alias):
            value = at(data, *value.keys)
        elif isinstance(value, tuple):
            alias, own = value
            value = dict(at(data, *alias.keys))
            merge(value, own)
    return value if isinstance(value, dict) else {}


def _names(data: Mapping[str, Any]) -> Iterator[tuple[str, str, int]]:
    """Yield (id, name, flags) of one locale."""
    for code, name in at(data, "territories").items():
        if code not in _NO_COUNTRY and _is_name(name, code):
            id_ = f"{'m49' if code.isdigit() else 'iso'}:{code}"
            main, _, other = name.partition(" (")  # Myanmar (Burma)
            yield id_, main, _LABEL
            if len(other) > 4:
                yield id_, other.removesuffix(")"), 0
    for code, name in at(data, "languages").items():
        if "_" not in code and _is_name(name, code):
            yield f"lang:{code}", name, _LABEL
    for code, name in at(data, "scripts").items():
        if _is_name(name, code):
            yield f"script:{code}", name, _LABEL
    for zone, facts in at(data, "time_zones").items():
        if "/" in zone and not zone.startswith("Etc/") and _is_name(facts.get("city"), zone):
            yield f"tz:{zone}", facts["city"], _LABEL
    yield from _currencies(data)
    yield from _bare_currencies(data)
    yield from _units(data)
    yield from _calendar(data)


def _is_name(name: object, code: str) -> bool:
    return isinstance(name, str) and name not in {"", code}


def _currencies(data: Mapping[str, Any]) -> Iterator[tuple[str, str, int]]:
    for code, name in at(data, "currency_names").items():
        if _is_name(name, code):
            yield f"cur:{code}", name, _LABEL
    for code, forms in at(data, "currency_names_plural").items():
        for name in forms.values():
            if _is_name(name, code):
                yield f"cur:{code}", name, _INFLECTED
    for code, symbol in at(data, "currency_symbols").items():
        if _is_name(symbol, code):
            yield f"cur:{code}", symbol, _SYMBOL


def _bare_currencies(data: Mapping[str, Any]) -> Iterator[tuple[str, str, int]]:
    """Yield what is left of a currency's name without the country: dollars, рублей, korun.

    A word that begins like a word in a name of a territory or language is taken for the country.
    """
    abroad = {"us", "u.s."}
    for what in ("territories", "languages"):
        for name in at(data, what).values():
            words = _WORDS.split(name) if isinstance(name, str) else ()
            abroad |= {word.casefold()[:4] for word in words if len(word) > 1}
    singular, plural = at(data, "currency_names"), at(data, "currency_names_plural")
    for code in _BARE:
        for name in dict.fromkeys((singular.get(code, ""), *plural.get(code, {}).values())):
            words = [word for word in _WORDS.split(name) if word]
            kept = [i for i, word in enumerate(words) if word.casefold()[:4] not in abroad]
            if 0 < len(kept) < len(words) and kept[-1] - kept[0] == len(kept) - 1:
                bare = " ".join(words[i] for i in kept)
                if bare not in _OTHER_MEANING:
                    yield f"cur:{code}", bare, _INFLECTED


def _units(data: Mapping[str, Any]) -> Iterator[tuple[str, str, int]]:
    for unit, widths in at(data, "unit_display_names").items():
        for width, name in widths.items():
            if _is_name(name, unit):
                yield f"unit:{unit}", name, _LABEL if width == "long" else _ABBREVIATION
    for unit in at(data, "unit_patterns"):
        for width, flag in (("long", _INFLECTED), ("short", _ABBREVIATION)):
            for form, pattern in at(data, "unit_patterns", unit, width).items():
                name = pattern.replace("{0}", "").strip() if isinstance(pattern, str) else ""
                if name and form != "per" and "{" not in name:
                    yield f"unit:{unit}", name, flag


def _leave_to_the_usual(names: dict[str, list[Name]]) -> None:
    """Take abbreviations from seldom units that usual ones have too, but for their capitals.

    Names are found whatever their case: ``ml`` is no megalitre, ``MB`` no megabit.
    """
    usual = {
        (name.lang, name.text.casefold())
        for id_, own in names.items()
        if id_.startswith("unit:") and id_.removeprefix("unit:") not in _SELDOM
        for name in own
    }
    for id_ in [f"unit:{code}" for code in _SELDOM]:
        if id_ in names:
            kept = [n for n in names[id_] if (n.lang, n.text.casefold()) not in usual]
            names[id_] = kept


def _calendar(data: Mapping[str, Any]) -> Iterator[tuple[str, str, int]]:
    kinds = (("months", "month"), ("days", "dow"))
    contexts = (("stand-alone", _LABEL), ("format", _INFLECTED))
    for (what, prefix), (context, flag) in product(kinds, contexts):
        for width, own in (("wide", flag), ("abbreviated", _ABBREVIATION)):
            for number, name in at(data, what, context, width).items():
                if _is_name(name, "") and not _PLACEHOLDER.match(name):
                    yield f"{prefix}:{number}", name, own


def entity(id_: str) -> Entity:  # noqa: PLR0911 -- one for each kind
    """Give the entity that one of CLDR's codes stands for."""
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
    if kind == "unit":
        return Entity(id_, "unit", prior=_SELDOM_UNIT if code in _SELDOM else _UNIT)
    category = "script" if kind == "script" else "region"
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
