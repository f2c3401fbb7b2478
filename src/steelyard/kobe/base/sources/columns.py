"""Tables of names, one in a line, tab-separated and without quotes: one's own, and ParaNames."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path

from steelyard.core.errors import InputError
from steelyard.kobe.base.records import (
    CONCEPT,
    CORE,
    TIERS,
    Entity,
    Flag,
    Name,
    population_prior,
    senses_prior,
    sitelinks_prior,
)
from steelyard.kobe.base.sources.lines import LineSource
from steelyard.kobe.languages import primary

#: Layers of names, places, numbers and dates; all others hold common nouns.
_CORE = frozenset({"", "cldr", "date", "geo", "geoalt"})
_WORDNETS = "wn"
_CATEGORIES = {"geo": "place", "airport": "place", "subdivision": "region", "feature": "concept"}
_TYPES = {"PER": "person", "LOC": "place", "ORG": "organisation"}


class _ColumnSource(LineSource):
    """A table with a header line."""

    def groups(
        self, needed: Sequence[str], by: str
    ) -> Iterator[tuple[int, str, list[tuple[int, dict[str, str]]]]]:
        """Give (last line, id, rows) of rows in a row with the same value in the column `by`.

        A row knows its line.
        """
        for key, group in groupby(self._rows(needed), key=lambda row: row[1][by]):
            rows = list(group)
            yield rows[-1][0], key, rows

    def _rows(self, needed: Sequence[str]) -> Iterator[tuple[int, dict[str, str]]]:
        header: list[str] = []
        start = self.position
        for number, line in self.lines.read():
            try:
                fields = line.decode("utf-8-sig" if number == 1 else "utf-8").rstrip("\r\n")
            except UnicodeDecodeError as error:
                self.lines.fail(number, f"byte 0x{line[error.start]:02x} is not UTF-8")
                continue
            cells = fields.split("\t")
            if not header:
                header = self._header(cells, needed, number)
            elif number > start and fields:
                if len(cells) != len(header):
                    self.lines.fail(number, f"{len(cells)} fields, expected {len(header)}")
                else:
                    yield number, dict(zip(header, cells, strict=True))

    def _header(self, cells: list[str], needed: Sequence[str], number: int) -> list[str]:
        for name in needed:
            if name not in cells:
                what = f"column '{name}' is missing; found: {', '.join(cells[:12])}"
                raise InputError(what, path=self.lines.path, line=number)
        return cells


class AliasTable(_ColumnSource):
    """One's own: ``id``, ``lang``, ``alias`` and perhaps ``category`` and ``prior``.

    ``layer`` or ``tier`` say what is a common noun. The prior of layers that begin with ``wn``
    counts senses, that of all others people.
    """

    name = "table"

    def __init__(
        self, path: str | Path, *, licence: str = "not stated", skip_broken: bool = False
    ) -> None:
        super().__init__(path, skip_broken=skip_broken)
        self.licence = licence

    def rows(self) -> Iterator[tuple[Entity, Sequence[Name]]]:
        """Yield entities with names, those of one entity together if they are so in the file."""
        for last, id_, rows in self.groups(("id", "lang", "alias"), "id"):
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


class ParaNames(_ColumnSource):
    """Names of people, places and organisations of Wikidata in 400 languages.

    The release file has ``wikidata_id``, ``eng``, ``label``, ``language`` and ``type``. It has no
    counts of sitelinks; how many languages name a thing stands in for them.
    """

    name = "paranames"
    licence = "CC-BY-4.0"

    def rows(self) -> Iterator[tuple[Entity, Sequence[Name]]]:
        """Yield entities with names, those of one entity together if they are so in the file."""
        needed = ("wikidata_id", "label", "language", "type")
        for last, id_, rows in self.groups(needed, "wikidata_id"):
            names = []
            for _, row in rows:
                if lang := primary(row["language"]):
                    names.append(Name(lang, row["label"], int(Flag.LABEL)))
            if rows[0][1].get("eng"):
                names.append(Name("en", rows[0][1]["eng"], int(Flag.LABEL)))
            category = _TYPES.get(rows[0][1]["type"].replace(",", "-").split("-")[0], "name")
            prior = sitelinks_prior(len({name.lang for name in names}))
            self.position = last
            yield Entity(f"wd:{id_.removeprefix('wd:')}", category, CORE, prior), names
