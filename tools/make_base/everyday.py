"""Names that people use and official tables lack: USA, Holland, rouble, NATO; written by hand."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from make_base.cldr import entity
from make_base.tables import table
from steelyard.kobe.base.codec import UNSTATED, Entity, Flag, Name

_LABEL = int(Flag.LABEL)
_FAMILIAR = 6.5  # 10^6.5 people: abbreviations that newspapers don't explain


class Everyday:
    """The table ``everyday.tsv``: id, language, name. Wikidata items in it are organisations."""

    name = "everyday"
    version = "1"
    licence = "Apache-2.0"

    def rows(self) -> Iterator[tuple[Entity, Sequence[Name]]]:
        """Yield each entity with its names."""
        rows = sorted(table("everyday.tsv"), key=lambda row: row[0])
        for id_, own in groupby(rows, key=lambda row: row[0]):
            names = list(dict.fromkeys(Name(lang, text) for _, lang, text in own))
            if id_.startswith("wd:"):
                yield Entity(id_, "organisation", prior=_FAMILIAR), _labelled(names)
            else:
                yield entity(id_), names


def _labelled(names: Sequence[Name]) -> list[Name]:
    """Mark the first name in each language as the label; one of all languages is English, too."""
    both = [n for n in names if n.lang == UNSTATED]
    firsts = {
        name.lang: name for name in reversed([*(n._replace(lang="en") for n in both), *names])
    }
    every = dict.fromkeys([*firsts.values(), *names])
    return [n._replace(flags=_LABEL) if firsts.get(n.lang) == n else n for n in every]
