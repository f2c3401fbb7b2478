"""How many entities texts hold, and in how many sentences: what a linker has to work with."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from steelyard.core.errors import ShapeError
from steelyard.core.table import Column, Table
from steelyard.kobe.mention import Mentions


@dataclass(frozen=True, slots=True)
class EntityStatistics:
    """Counts of entities in sources and references; those of references are None without one.

    ``histogram`` counts sentences of the source by their number of entities.
    """

    name: str
    n_sentences: int
    n_with_entities: int
    n_source: int
    n_reference: int | None
    n_source_distinct: int
    n_reference_distinct: int | None
    n_common_distinct: int | None
    histogram: tuple[tuple[int, int], ...]

    @property
    def coverage(self) -> float:
        """The share of sentences with an entity, NaN without sentences."""
        return self.n_with_entities / self.n_sentences if self.n_sentences else float("nan")

    def to_dict(self) -> dict[str, Any]:
        """Give what ``--json`` prints."""
        return {
            "name": self.name,
            "sentences": self.n_sentences,
            "sentences_with_entities": self.n_with_entities,
            "source_entities": self.n_source,
            "reference_entities": self.n_reference,
            "source_distinct": self.n_source_distinct,
            "reference_distinct": self.n_reference_distinct,
            "common_distinct": self.n_common_distinct,
            "coverage": self.coverage,
            "histogram": [list(pair) for pair in self.histogram],
        }

    def rows(self) -> list[tuple[str, int | None]]:
        """Give the rows of the table of the method's paper."""
        return [
            ("sentences", self.n_sentences),
            ("source sentences with entities", self.n_with_entities),
            ("source entities", self.n_source),
            ("reference entities", self.n_reference),
            ("distinct source entities", self.n_source_distinct),
            ("distinct reference entities", self.n_reference_distinct),
            ("distinct entities in both", self.n_common_distinct),
        ]


def entity_statistics(
    name: str, sources: Sequence[Mentions], references: Sequence[Mentions] | None = None
) -> EntityStatistics:
    """Count entities of sources and, where there is one, of a reference.

    Examples
    --------
    >>> from steelyard.kobe.mention import Mention
    >>> a, b = Mention(0, 1, "a", "a"), Mention(1, 2, "b", "b")
    >>> stats = entity_statistics("x", [(a, a), ()], [(a, b), (b,)])
    >>> [count for _, count in stats.rows()], stats.histogram
    ([2, 1, 2, 3, 1, 2, 1], ((0, 1), (2, 1)))
    """
    if references is not None and len(references) != len(sources):
        raise ShapeError(f"{len(sources)} sources and {len(references)} references")
    own = {m.id for mentions in sources for m in mentions}
    theirs = None if references is None else {m.id for one in references for m in one}
    return EntityStatistics(
        name,
        len(sources),
        sum(bool(mentions) for mentions in sources),
        sum(map(len, sources)),
        None if references is None else sum(map(len, references)),
        len(own),
        None if theirs is None else len(theirs),
        None if theirs is None else len(own & theirs),
        tuple(sorted(Counter(map(len, sources)).items())),
    )


def statistics_table(found: Sequence[EntityStatistics]) -> Table:
    """Put statistics of several sets side by side."""
    columns = (Column(""), *(Column(stats.name, digits=0) for stats in found))
    rows = zip(*(stats.rows() for stats in found), strict=True)
    return Table(
        "Entities", columns, tuple((row[0][0], *(count for _, count in row)) for row in rows)
    )


def histogram_table(stats: EntityStatistics) -> Table:
    """Show how many sentences have how many entities, with a bar for each."""
    most = max((count for _, count in stats.histogram), default=1)
    rows = tuple(
        (entities, count, "#" * max(1, round(40 * count / most)))
        for entities, count in stats.histogram
    )
    columns = (Column("entities", digits=0), Column("sentences", digits=0), Column(""))
    return Table(f"Sentences by number of entities: {stats.name}", columns, rows)
