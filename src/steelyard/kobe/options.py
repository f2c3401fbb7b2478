"""Options of KoBE: how names are found in texts, and how the score is computed."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Literal

from steelyard.core import bounds
from steelyard.core.options import Options, choice, flag, text, whole
from steelyard.kobe.base.records import TIERS

if TYPE_CHECKING:
    from steelyard.kobe.mention import Linker

Matching = Literal["strict", "candidates"]
Measure = Literal["recall", "precision"]
FILTERS = ("sentence", "script", "off")


@dataclass(frozen=True)
class LinkOptions(Options):
    """How names are found.

    Parameters
    ----------
    tiers
        Tiers of the knowledge base to link: ``core`` (names, places, dates, ...), ``concept``.
    inventory
        ``shared``: only entities with names in both languages; ``full``: all.
    min_population
        Cities below that many people are not linked.
    sure_population
        Cities from here on are linked even if their name is an ordinary word.
    national_languages
        Whether languages that are named after a country count as the country.
    lemmas
        Whether inflected words are looked up by their dictionary forms.
    values
        Whether numbers, percentages, dates and times are linked.
    """

    tiers: tuple[str, ...] = TIERS
    inventory: Literal["shared", "full"] = choice("shared", ("shared", "full"))
    min_population: int = whole(15_000)
    sure_population: int = whole(1_000_000)
    national_languages: bool = flag(default=True)
    lemmas: bool = flag(default=True)
    values: bool = flag(default=True)

    def __post_init__(self) -> None:
        for tier in bounds.listed(tiers=self.tiers):
            bounds.choice(TIERS, tiers=tier)
        super().__post_init__()

    def signature(self) -> str:
        """Name what differs from the defaults."""
        named = [
            f"{one.name}:{'+'.join(value) if isinstance(value, tuple) else value}"
            for one in fields(self)
            if (value := getattr(self, one.name)) != one.default
        ]
        return ",".join(named)


@dataclass(frozen=True)
class KobeOptions(Options):
    """How the score is computed.

    Parameters
    ----------
    against
        ``src``, or the name of a reference for the reference-based score.
    matching
        ``strict`` (best readings, as in the paper) or ``candidates`` (any reading).
    penalty
        Whether outputs with too many entities are penalised.
    rounded
        Whether recall is rounded before the penalty, as in the authors' script.
    measure
        ``recall``, or ``precision`` for information.
    weights
        ``uniform``, or ``consensus``: each mention counts as much as other systems keep it.
    language_filter
        ``sentence`` (letters and language identifier, and scripts of mentions), ``script`` (scripts
        of mentions only) or ``off``.
    link
        How names are found.
    """

    against: str = text("src")
    matching: Literal["strict", "candidates"] = choice("strict", ("strict", "candidates"))
    penalty: bool = flag(default=True)
    rounded: bool = flag()
    measure: Literal["recall", "precision"] = choice("recall", ("recall", "precision"))
    weights: Literal["uniform", "consensus"] = choice("uniform", ("uniform", "consensus"))
    language_filter: str = choice("sentence", FILTERS)
    link: LinkOptions = field(default_factory=LinkOptions)

    def __post_init__(self) -> None:
        super().__post_init__()
        bounds.instance(LinkOptions, "LinkOptions", link=self.link)

    def signature(self, linker: Linker, src: str, tgt: str) -> str:
        """Name everything that the score depends on."""
        parts = [
            f"pair:{src}-{tgt}",
            f"against:{self.against}",
            f"match:{self.matching}",
            f"ecp:{'yes' if self.penalty else 'no'}",
            f"lid:{self.language_filter}",
            f"weights:{self.weights}",
            linker.signature,
        ]
        if self.rounded:
            parts.insert(4, "rounded:yes")
        if self.measure != "recall":
            parts.insert(0, f"measure:{self.measure}")
        return "|".join(parts)
