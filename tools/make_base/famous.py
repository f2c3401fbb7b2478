"""What everybody knows by name: brands, world bodies, feasts; oceans, rivers, mountains, planets.

Two tables, written by hand. Public registers have these in Latin letters, and lack most of them in
scripts without capitals, where nothing else tells that a word is a name.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from make_base.tables import HERE, table
from steelyard.kobe.base.codec import UNSTATED, Entity, Flag, Name

_LABEL = int(Flag.LABEL)
_FAMILIAR = 6.5  # 10^6.5 people: names that newspapers don't explain
_LANDMARK = 5.9  # below a city that is meant whatever its name means: Earth is a word as well
_LATIN = "latin"  # column of names that all languages with Latin letters have in common


class _Table:
    """A table with an id first, and a column of names for each language, ``|`` between them."""

    name: str
    file: str
    version = "1"
    licence = "Apache-2.0"

    def langs(self) -> list[str]:
        """Give the titles of the columns."""
        head = (HERE / self.file).read_text(encoding="utf-8").partition("\n")[0]
        return head.split("\t")

    def entity(self, row: dict[str, str]) -> Entity:
        """Give the entity of a row."""
        raise NotImplementedError

    def rows(self) -> Iterator[tuple[Entity, Sequence[Name]]]:
        """Yield each entity with its names."""
        head = self.langs()
        for cells in table(self.file):
            row = dict(zip(head, cells, strict=True))
            yield self.entity(row), list(_names(row))


def _names(row: dict[str, str]) -> Iterator[Name]:
    """Give the names of a row; the first of each language is its label.

    Examples
    --------
    >>> list(_names({"id": "x", "latin": "Nokia", "zh": "诺基亚"}))[:2]
    [Name(lang='en', text='Nokia', flags=16), Name(lang='mul', text='Nokia', flags=0)]
    """
    for lang, cell in row.items():
        if lang in ("id", "category") or not cell:
            continue
        first, *others = cell.split("|")
        if lang == _LATIN:
            yield Name("en", first, _LABEL)
            # Names that are written small as well are so in English, too.
            yield from (Name("en", text) for text in others if text.casefold() == first.casefold())
            yield from (Name(UNSTATED, text) for text in (first, *others))
        else:
            yield Name(lang, first, _LABEL)
            yield from (Name(lang, text) for text in others)


class Famous(_Table):
    """The table ``famous.tsv``: brands, bodies and feasts."""

    name, file = "famous", "famous.tsv"

    def entity(self, row: dict[str, str]) -> Entity:
        """Give the entity of a row."""
        return Entity(row["id"], row["category"], prior=_FAMILIAR)


class Nature(_Table):
    """The table ``nature.tsv``: landmarks of the Earth, and what is seen from it."""

    name, file = "nature", "nature.tsv"

    def entity(self, row: dict[str, str]) -> Entity:
        """Give the entity of a row."""
        return Entity(row["id"], "place", prior=_LANDMARK)
