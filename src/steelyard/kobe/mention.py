"""What a linker gives: mentions of entities in a text. Score and explanation need nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol, runtime_checkable

#: An entity: a number of the knowledge base, or a name (``num:12``, ``/m/0cjk9``) from elsewhere.
Id = int | str


class Mention(NamedTuple):
    """A mention: where it stands in the text (in characters), and what it means.

    ``id`` is the best reading, which the score compares; ``candidates`` are all of them, best
    first, by which lists of errors are kept short. ``rule`` says how the mention was found.
    """

    start: int
    end: int
    text: str
    id: Id
    category: str = "entity"
    tier: str = "core"
    candidates: tuple[Id, ...] = ()
    rule: str = ""

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
