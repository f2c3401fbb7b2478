"""ParaNames: names of people, places and organisations of Wikidata in 400 languages, as a table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from steelyard.kobe.base.records import CORE, Entity, Flag, Name, sitelinks_prior
from steelyard.kobe.base.sources.lines import LineSource, NamedColumns
from steelyard.kobe.languagecodes import primary

_TYPES = {"PER": "person", "LOC": "place", "ORG": "organisation"}


class ParaNames(LineSource):
    """The release file: ``wikidata_id``, ``eng``, ``label``, ``language``, ``type``, tab-separated.

    It has no counts of sitelinks; how many languages name a thing stands in for them.
    """

    name = "paranames"
    licence = "CC-BY-4.0"

    def rows(self) -> Iterator[tuple[Entity, Sequence[Name]]]:
        """Yield entities with names, those of one entity together if they are so in the file."""
        columns = {"wikidata_id": True, "label": True, "language": True, "type": True, "eng": False}
        table = NamedColumns(self.lines, columns, "wikidata_id")
        for last, id_, rows in table.groups(self.position):
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
