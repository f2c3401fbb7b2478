"""What a linker gives: mentions of entities in texts, and how many there are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple, Protocol, runtime_checkable

from steelyard.core.display import Record, keys
from steelyard.core.errors import ShapeError

#: Groups of categories: an entity can be replaced by another of its group.
GROUPS = {
    "number": ("number", "percent", "ordinal"),
    "date": ("date", "time", "month", "weekday"),
    "unit": ("unit",),
    "money": ("currency",),
    "place": ("country", "region", "state", "city", "place", "airport", "language", "demonym"),
    "name": ("person", "organisation", "work", "product", "event", "name"),
    "term": ("term",),
}
GROUP = {category: group for group, categories in GROUPS.items() for category in categories}

#: An entity: a number of the knowledge base, or a name (``num:12``, ``/m/0cjk9``) from elsewhere.
Id = int | str


class Mention(NamedTuple):
    """An entity in a text: its span in characters, and what it means.

    ``id`` is the best reading, which the score compares; ``candidates`` are all readings, best
    first, which alarms compare. ``rule`` says how the mention was linked. A ``doubtful`` mention
    may be part of something else (London in "London Grammar"): no output has to keep it.
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
        """The group of its category: number, date, unit, money, place, name, term or other."""
        return GROUP.get(self.category, "other")

    @property
    def readings(self) -> tuple[Id, ...]:
        """All readings, the best among them."""
        return self.candidates or (self.id,)


Mentions = tuple[Mention, ...]


@runtime_checkable
class Linker(Protocol):
    """Finds entities in texts: ours, or one of your own.

    ``lang`` is the language of the texts and ``other`` the one they are compared with. An entity
    has the same id in both.
    """

    @property
    def signature(self) -> str:
        """Name and version, without blanks."""
        ...

    def link(self, texts: Sequence[str], lang: str, other: str) -> list[Mentions]:
        """Return the mentions of each text, in the order of the text."""
        ...

    def name(self, entity: Id) -> str:
        """Return the public id of an entity: ``wd:Q183``."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkedTexts:
    """Sources and outputs with their mentions, those of outputs after the language filter.

    The outputs named in ``references`` are human translations. ``foreign`` holds the segments whose
    output is not in the target language.
    """

    ids: tuple[str, ...]
    sources: tuple[str | None, ...]
    source_mentions: tuple[Mentions, ...]
    outputs: Mapping[str, tuple[str | None, ...]]
    output_mentions: Mapping[str, tuple[Mentions | None, ...]]
    foreign: Mapping[str, frozenset[int]]
    references: tuple[str, ...] = ()


# -- how many entities there are

#: Attributes of EntityStatistics with the row that each has in the table of the method's paper.
_ROWS = {
    "n_sentences": "sentences",
    "n_with_entities": "source sentences with entities",
    "n_source": "source entities",
    "n_reference": "reference entities",
    "n_source_distinct": "distinct source entities",
    "n_reference_distinct": "distinct reference entities",
    "n_common_distinct": "distinct entities in both",
}


@dataclass(frozen=True, slots=True)
class EntityStatistics(Record):
    """Counts of entities in sources and references; None for a missing side.

    ``histogram`` counts the sentences of ``side`` by their number of entities.
    """

    json_keys: ClassVar[Mapping[str, str]] = keys(
        "name sentences=n_sentences sentences_with_entities=n_with_entities "
        "source_entities=n_source reference_entities=n_reference source_distinct=n_source_distinct "
        "reference_distinct=n_reference_distinct common_distinct=n_common_distinct coverage "
        "histogram histogram_of=side"
    )

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
        """The share of sentences with an entity, NaN without sentences."""
        bare = dict(self.histogram).get(0, 0)
        return 1 - bare / self.n_sentences if self.n_sentences else float("nan")

    @property
    def counts(self) -> tuple[int | None, ...]:
        """The counts in the order of the paper's table."""
        return tuple(getattr(self, name) for name in _ROWS)

    @property
    def title(self) -> str:
        """The name, with the side if it is not the source."""
        return self.name if self.side == "source" else f"{self.name} ({self.side})"


def entity_statistics(
    name: str,
    sources: Sequence[Mentions] | None,
    references: Sequence[Mentions] | None = None,
) -> EntityStatistics:
    """Count the entities of sources, of a reference, or of both.

    Examples
    --------
    >>> a, b = Mention(0, 1, "a", "a"), Mention(1, 2, "b", "b")
    >>> stats = entity_statistics("x", [(a, a), ()], [(a, b), (b,)])
    >>> stats.counts, stats.histogram
    ((2, 1, 2, 3, 1, 2, 1), ((0, 1), (2, 1)))
    """
    counted = references if sources is None else sources
    if counted is None:
        raise ShapeError("neither sources nor references to count entities of")
    if sources is not None and references is not None and len(references) != len(sources):
        raise ShapeError(f"{len(sources)} sources and {len(references)} references")
    distinct = [
        None if side is None else {m.id for mentions in side for m in mentions}
        for side in (sources, references)
    ]
    return EntityStatistics(
        name,
        n_sentences=len(counted),
        n_with_entities=None if sources is None else sum(map(bool, sources)),
        n_source=None if sources is None else sum(map(len, sources)),
        n_reference=None if references is None else sum(map(len, references)),
        n_source_distinct=None if distinct[0] is None else len(distinct[0]),
        n_reference_distinct=None if distinct[1] is None else len(distinct[1]),
        n_common_distinct=None if None in distinct else len(set.intersection(*distinct)),  # type: ignore[arg-type]
        histogram=tuple(sorted(Counter(map(len, counted)).items())),
        side="reference" if sources is None else "source",
    )
