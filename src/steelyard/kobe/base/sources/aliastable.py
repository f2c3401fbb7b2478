"""A table of names: ``layer``, ``id``, ``category``, ``lang``, ``alias``, ``prior``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from steelyard.core.errors import InputError
from steelyard.kobe.base.records import (
    CONCEPT,
    CORE,
    TIERS,
    Entity,
    Name,
    population_prior,
    senses_prior,
)
from steelyard.kobe.base.sources.lines import LineSource, NamedColumns
from steelyard.kobe.languagecodes import primary

#: Layers of names, places, numbers and dates; all others hold common nouns.
_CORE = frozenset({"", "cldr", "date", "geo", "geoalt"})
_WORDNETS = "wn"
_CATEGORIES = {"geo": "place", "airport": "place", "subdivision": "region", "feature": "concept"}


class AliasTable(LineSource):
    """Tab-separated, one name in a line; ``layer`` or ``tier`` say what is a common noun.

    The prior of layers that begin with ``wn`` counts senses, that of all others people.
    """

    name = "table"

    def __init__(
        self, path: str | Path, *, licence: str = "not stated", skip_broken: bool = False
    ) -> None:
        super().__init__(path, skip_broken=skip_broken)
        self.licence = licence

    def rows(self) -> Iterator[tuple[Entity, Sequence[Name]]]:
        """Yield entities with names, those of one entity together if they are so in the file."""
        needed = {"id": True, "category": False, "lang": True, "alias": True, "prior": False}
        table = NamedColumns(self.lines, needed, "id")
        for last, id_, rows in table.groups(self.position):
            names, entity = [], None
            for number, row in rows:
                lang = primary(row["lang"])
                if lang is None:
                    self.lines.fail(number, f"unknown language code '{row['lang']}'")
                    continue
                names.append(Name(lang, row["alias"]))
                entity = entity or self._entity(id_, number, row)
            self.position = last
            if entity is not None:
                yield entity, names

    def _entity(self, id_: str, number: int, row: dict[str, str]) -> Entity:
        layer = row.get("layer", "")
        category = row.get("category") or "other"
        if category == "date":
            category = "month" if id_.startswith("month:") else "weekday"
        try:
            count = float(row.get("prior") or 0)
        except ValueError:
            what = f"prior '{row['prior']}' is not a number"
            raise InputError(what, path=self.lines.path, line=number) from None
        tier = CORE if layer in _CORE else CONCEPT
        if row.get("tier"):
            if row["tier"] not in TIERS:
                what = f"tier '{row['tier']}', expected core or concept"
                raise InputError(what, path=self.lines.path, line=number)
            tier = TIERS.index(row["tier"])
        prior = senses_prior(count) if layer.startswith(_WORDNETS) else population_prior(count)
        return Entity(id_, _CATEGORIES.get(category, category), tier, prior)
