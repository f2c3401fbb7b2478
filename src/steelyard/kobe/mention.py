"""What a linker gives: mentions of entities in texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol, runtime_checkable

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
