"""Options of KoBE: how names are found in texts, and how the score is computed.

They are a file of their own because the help of the command line reads them, without NumPy.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, Literal

from steelyard.core.errors import UsageError, hint
from steelyard.core.options import (
    Options,
    as_tuple,
    check_choice,
    check_instance,
    choice,
    flag,
    source,
    text,
    whole,
)

if TYPE_CHECKING:
    from steelyard.kobe.mention import Linker

Matching = Literal["strict", "candidates"]
Measure = Literal["recall", "precision", "f"]
MEASURES = ("recall", "precision", "f")
FILTERS = ("sentence", "script", "off")
#: Tiers of a knowledge base, by number: names, and common nouns.
TIERS = ("core", "concept")


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
    names
        Names that are not in the base: ``auto`` (alarms only, in pairs of languages where people
        keep them), ``on`` (in any pair, and in the score), ``off``.
    """

    tiers: tuple[str, ...] = TIERS
    inventory: Literal["shared", "full"] = choice("shared", ("shared", "full"))
    min_population: int = whole(15_000)
    sure_population: int = whole(1_000_000)
    national_languages: bool = flag(default=True)
    lemmas: bool = flag(default=True)
    values: bool = flag(default=True)
    names: Literal["auto", "on", "off"] = choice("auto", ("auto", "on", "off"))

    def __post_init__(self) -> None:
        for tier in as_tuple(tiers=self.tiers):
            check_choice(TIERS, tiers=tier)
        super().__post_init__()

    def signature(self) -> str:
        """Name what differs from the defaults."""
        return ",".join(
            f"{item.name}:{'+'.join(value) if isinstance(value, tuple) else value}"
            for item in fields(self)
            if (value := getattr(self, item.name)) != item.default
        )


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
        ``recall`` (what is lost?), ``precision`` (what is added?) or ``f``, their harmonic mean;
        the penalty is one of recall alone.
    counted
        ``mentions``, as in the paper, or ``entities``, each once per segment: a summary need not
        repeat what its source repeats.
    weights
        ``uniform``, or ``consensus``: each mention counts as much as other systems keep it.
    language_filter
        ``sentence`` (letters and language identifier, and scripts of mentions), ``script`` (scripts
        of mentions only) or ``off``; ``auto`` is ``sentence``, but ``off`` for links from files.
    links
        Annotations of another linker, or the file or folder of them, in place of our links.
    linker
        Another linker, in place of ours: the name of one that a package has added, or
        ``module:object``.
    link
        How names are found.
    """

    against: str = text("src")
    matching: Literal["strict", "candidates"] = choice("strict", ("strict", "candidates"))
    penalty: bool = flag(default=True)
    rounded: bool = flag()
    measure: Literal["recall", "precision", "f"] = choice("recall", MEASURES)
    counted: Literal["mentions", "entities"] = choice("mentions", ("mentions", "entities"))
    weights: Literal["uniform", "consensus"] = choice("uniform", ("uniform", "consensus"))
    language_filter: str = choice("auto", ("auto", *FILTERS))
    links: Any = source(None)  # noqa: RUF009
    linker: str | None = text(None)
    link: LinkOptions = field(default_factory=LinkOptions)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_instance(LinkOptions, "LinkOptions", link=self.link)
        if self.links is not None and self.linker is not None:
            raise UsageError("links=... and linker=...: expected one of them")
        if (self.links or self.linker) is not None and self.link != LinkOptions():
            other = "links are given (links=...)" if self.linker is None else "another linker does"
            reason = f"find names in texts, and do nothing where {other}"
            raise UsageError(f"options of link ({self.link.signature()}) {reason}")

    def settled(self, *, linked: bool = False) -> KobeOptions:
        """Decide on the language filter; ``linked`` if links come from files."""
        if self.language_filter != "auto":
            return self
        return replace(self, language_filter="off" if linked else "sentence")

    @classmethod
    def of(cls, settings: Mapping[str, Any]) -> KobeOptions:
        """Make options from settings by name, those of the linker in ``link``.

        Examples
        --------
        >>> KobeOptions.of({"rounded": True, "link": {"min_population": 5}}).link.min_population
        5
        >>> KobeOptions.of({"link": {"min_popluation": 5}})
        Traceback (most recent call last):
        steelyard.core.errors.UsageError: kobe has no option 'link.min_popluation'; did you mean...
        """
        top = dict(settings)
        link = top.pop("link", LinkOptions())
        inner = [f"link.{item.name}" for item in fields(LinkOptions)]
        names = [*(item.name for item in fields(cls) if item.name != "link"), *inner]
        if not isinstance(link, (Mapping, LinkOptions)):
            advice = f"set one of them, as kobe.{inner[2]}=...; known: {', '.join(inner)}"
            raise UsageError(f"kobe.link is a group of options, got {link!r}; {advice}")
        deep = dict(link) if isinstance(link, Mapping) else {}
        for name in (*top, *(f"link.{name}" for name in deep)):
            if name not in names:
                raise UsageError(f"kobe has no option '{name}'; {hint(name, names)}")
        if isinstance(link, Mapping):
            if isinstance(deep.get("tiers"), str):
                deep["tiers"] = tuple(deep["tiers"].split(","))
            link = LinkOptions(**deep)
        return cls(**top, link=link)

    def signature(self, linker: Linker, src: str | None, tgt: str | None) -> str:
        """Name everything that the score depends on."""
        parts = {
            f"measure:{self.measure}": self.measure != "recall",
            f"pair:{src}-{tgt}": src and tgt,
            f"against:{self.against}": True,
            f"match:{self.matching}": True,
            f"ecp:{'yes' if self.penalty else 'no'}": True,
            "rounded:yes": self.rounded,
            f"lid:{self.language_filter}": True,
            f"weights:{self.weights}": True,
            f"counted:{self.counted}": self.counted != "mentions",
            linker.signature: True,
        }
        return "|".join(part for part, shown in parts.items() if shown)
