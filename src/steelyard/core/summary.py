"""What a result says in words: what can be concluded, what stays open, and how sure that is."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from steelyard.core.errors import printable

Part = Literal["settled", "undecided", "sureness"]
#: A sentence, after the part of the summary that it stands in.
Told = tuple[Part, str]
_HEADINGS: dict[Part, str] = {
    "settled": "What can be concluded",
    "undecided": "What stays open",
    "sureness": "How sure that is",
}


@dataclass(frozen=True, slots=True)
class Summary:
    """Sentences of the summary: what is settled, what is open, and how sure it is.

    Examples
    --------
    >>> told = Summary.of([("settled", "A is best."), ("sureness", "In 95 % of the draws.")])
    >>> print(told.text())
    What can be concluded:
      A is best.
    How sure that is:
      In 95 % of the draws.
    >>> told.brief()
    ('A is best.', 'In 95 % of the draws.')
    """

    settled: tuple[str, ...] = ()
    undecided: tuple[str, ...] = ()
    sureness: tuple[str, ...] = ()

    @classmethod
    def of(cls, told: Iterable[Told]) -> Summary:
        """Sort sentences by the part that they stand in."""
        every = list(told)
        return cls(*(tuple(text for own, text in every if own == part) for part in _HEADINGS))

    def and_then(self, told: Iterable[Told]) -> Summary:
        """Add sentences, each at the end of its part."""
        own = [(part, text) for part in _HEADINGS for text in getattr(self, part)]
        return Summary.of([*own, *told])

    def to_dict(self) -> dict[str, list[str]]:
        """Give the sentences by heading."""
        return {part: list(getattr(self, part)) for part in _HEADINGS}

    def headed(self) -> list[tuple[str, tuple[str, ...]]]:
        """Give the sentences under the headings that people read."""
        found = ((heading, getattr(self, part)) for part, heading in _HEADINGS.items())
        return [(heading, lines) for heading, lines in found if lines]

    def sentences(self) -> tuple[str, ...]:
        """Give all sentences, in the order in which they are read."""
        return (*self.settled, *self.undecided, *self.sureness)

    def brief(self) -> tuple[str, ...]:
        """Give what answers the question: the first sentence of each part."""
        return tuple(part[0] for part in (self.settled, self.undecided, self.sureness) if part)

    def rest(self) -> Summary:
        """Give what is left when the answer has been told (:meth:`brief`)."""
        return Summary(self.settled[1:], self.undecided[1:], self.sureness[1:])

    def text(self) -> str:
        """Write the summary for a terminal."""
        return "\n".join(
            "\n".join([f"{heading}:", *(f"  {printable(line)}" for line in lines)])
            for heading, lines in self.headed()
        )
