"""What a linker gives: mentions of entities in a text, and how many of them texts hold.

Score and explanation need nothing else of it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, runtime_checkable

from steelyard.core.errors import ShapeError
from steelyard.core.table import Column, Table

#: Groups of categories: each has a precision of its own, and stands for another of its group when
#: one is put in the place of the other.
GROUPS = {
    "number": ("number", "percent", "ordinal"),
    "date": ("date", "time", "month", "weekday"),
    "unit": ("unit",),
    "money": ("currency",),
    "place": ("country", "region", "state", "city", "place", "airport", "language", "demonym"),
    "name": ("person", "organisation", "work", "product", "event", "name"),
    "term": ("term",),
}
GROUP = {category: group for group, own in GROUPS.items() for category in own}

#: An entity: a number of the knowledge base, or a name (``num:12``, ``/m/0cjk9``) from elsewhere.
Id = int | str


class Mention(NamedTuple):
    """A mention: where it stands in the text (in characters), and what it means.

    ``id`` is the best reading, which the score compares; ``candidates`` are all of them, best
    first, by which lists of errors are kept short. ``rule`` says how the mention was found. A
    ``doubtful`` one may be a part of something else (London in "London Grammar"): it is never
    wanted of an output, but is good where an output needs it.
    """

    start: int
    end: int
    text: str
    id: Id
    category: str = "entity"
    tier: str = "core"
    candidates: tuple[Id, ...] = ()
    rule: str = ""
    doubtful: bool = False

    @property
    def group(self) -> str:
        """What kind of thing it is, among a few: number, date, unit, money, place, name, ..."""
        return GROUP.get(self.category, "other")

    @property
    def readings(self) -> tuple[Id, ...]:
        """All readings, the best among them."""
        return self.candidates or (self.id,)


Mentions = tuple[Mention, ...]


@runtime_checkable
class Linker(Protocol):
    """Whatever finds entities in texts: the one of this package, or a neural one of yours.

    ``lang`` is the language of the texts and ``other`` the one they are compared with (the same
    for comparison with a reference). The same entity has the same id in both.
    """

    @property
    def signature(self) -> str:
        """What exactly links, in a few words without blanks."""
        ...

    def link(self, texts: Sequence[str], lang: str, other: str) -> list[Mentions]:
        """Find the mentions in each text, in order of their place."""
        ...

    def name(self, entity: Id) -> str:
        """Give the id of an entity as the outside knows it (``wd:Q183``)."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkedTexts:
    """Texts with their mentions: of sources, and of each output after the language filter.

    Outputs that are ``references`` are human translations. ``foreign`` are the segments whose
    output is not in the target language.
    """

    ids: tuple[str, ...]
    sources: tuple[str | None, ...]
    source_mentions: tuple[Mentions, ...]
    outputs: Mapping[str, tuple[str | None, ...]]
    output_mentions: Mapping[str, tuple[Mentions | None, ...]]
    foreign: Mapping[str, frozenset[int]]
    references: tuple[str, ...] = ()

    @property
    def filtered(self) -> dict[str, int]:
        """How many sentences of each output are not in the target language."""
        return {name: len(own) for name, own in self.foreign.items()}


# -- how many

#: Counts: the field, its key in JSON, its row in the table of the method's paper.
_COUNTS = (
    ("n_sentences", "sentences", "sentences"),
    ("n_with_entities", "sentences_with_entities", "source sentences with entities"),
    ("n_source", "source_entities", "source entities"),
    ("n_reference", "reference_entities", "reference entities"),
    ("n_source_distinct", "source_distinct", "distinct source entities"),
    ("n_reference_distinct", "reference_distinct", "distinct reference entities"),
    ("n_common_distinct", "common_distinct", "distinct entities in both"),
)


@dataclass(frozen=True, slots=True)
class EntityStatistics:
    """Counts of entities in sources and references; None for the side that is not there.

    ``histogram`` counts sentences by their number of entities: those of ``side``, the source where
    there is one.
    """

    name: str
    n_sentences: int
    n_with_entities: int | None
    n_source: int | None
    n_reference: int | None
    n_source_distinct: int | None
    n_reference_distinct: int | None
    n_common_distinct: int | None
    histogram: tuple[tuple[int, int], ...]
    side: str = "source"

    @property
    def coverage(self) -> float:
        """The share of sentences (of ``side``) with an entity, NaN without sentences."""
        bare = dict(self.histogram).get(0, 0)
        return 1 - bare / self.n_sentences if self.n_sentences else float("nan")

    @property
    def title(self) -> str:
        """The name, with the side where it is not the source."""
        return self.name if self.side == "source" else f"{self.name} ({self.side})"

    def to_dict(self) -> dict[str, Any]:
        """Give what ``--json`` prints."""
        counts = {key: getattr(self, name) for name, key, _ in _COUNTS}
        histogram = [list(pair) for pair in self.histogram]
        return {
            "name": self.name,
            **counts,
            "coverage": self.coverage,
            "histogram": histogram,
            "histogram_of": self.side,
        }

    def rows(self) -> list[tuple[str, int | None]]:
        """Give the rows of the table of the method's paper."""
        return [(words, getattr(self, name)) for name, _, words in _COUNTS]


def entity_statistics(
    name: str,
    sources: Sequence[Mentions] | None,
    references: Sequence[Mentions] | None = None,
) -> EntityStatistics:
    """Count entities of sources and of a reference; one of them may be absent.

    Examples
    --------
    >>> a, b = Mention(0, 1, "a", "a"), Mention(1, 2, "b", "b")
    >>> stats = entity_statistics("x", [(a, a), ()], [(a, b), (b,)])
    >>> [count for _, count in stats.rows()], stats.histogram
    ([2, 1, 2, 3, 1, 2, 1], ((0, 1), (2, 1)))
    """
    shown = references if sources is None else sources
    if shown is None:
        raise ShapeError("neither sources nor references to count entities of")
    if sources is not None and references is not None and len(references) != len(sources):
        raise ShapeError(f"{len(sources)} sources and {len(references)} references")
    own, theirs = (
        None if side is None else {m.id for mentions in side for m in mentions}
        for side in (sources, references)
    )
    return EntityStatistics(
        name,
        len(shown),
        None if sources is None else sum(bool(mentions) for mentions in sources),
        None if sources is None else sum(map(len, sources)),
        None if references is None else sum(map(len, references)),
        None if own is None else len(own),
        None if theirs is None else len(theirs),
        None if own is None or theirs is None else len(own & theirs),
        tuple(sorted(Counter(map(len, shown)).items())),
        "reference" if sources is None else "source",
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
    return Table(f"Sentences by number of entities: {stats.title}", columns, rows)
