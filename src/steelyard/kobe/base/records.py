"""What a source of knowledge yields: entities with their names, and how sure to be meant they are.

A prior is one number on one scale for every source, so that an ambiguous name is decided alike in
both languages and across sources: **log10 of the people it concerns**. Places have inhabitants,
languages speakers, currencies the inhabitants of the countries that use them. Other counts are
mapped onto that scale by the functions below.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from enum import IntFlag
from importlib.resources import files
from typing import NamedTuple, Protocol


class Flag(IntFlag):
    """What is known of a name; one byte for each pair of a name and an entity.

    Use ``int(Flag.LABEL)`` in loops: the operators of flags are slow.
    """

    CASED = 1  #: begins with a capital in every form that was read
    UPPER = 2  #: all its letters are capitals: US, EUR
    INFLECTED = 4  #: a plural, genitive or the like
    UNSTATED = 8  #: its language was not said (``mul``)
    LABEL = 16  #: the main name in its language
    DEMONYM = 32  #: names the people of a place
    ABBREVIATION = 64  #: Mon, Jan., kg
    SYMBOL = 128  #: €, $


#: What a source says of a name; the other flags follow from how and where it is written.
STATED = Flag.INFLECTED | Flag.LABEL | Flag.DEMONYM | Flag.ABBREVIATION | Flag.SYMBOL
#: A name that two sources give keeps these if either has them; all others only if both do.
KEPT_IF_ANY = Flag.LABEL | Flag.UNSTATED

#: What is done, how many items of it, and of how many if that is known.
Progress = Callable[[str, int, int | None], None]

UNSTATED = "mul"
CORE, CONCEPT = 0, 1
TIERS = ("core", "concept")
#: Categories of every source but wordnets (their lexicographer files) and users' own.
CATEGORIES = (
    "country", "region", "city", "place", "language", "script", "currency", "unit", "month",
    "weekday", "person", "organisation", "work", "product", "event", "species", "demonym",
    "concept", "term", "name", "other",
)  # fmt: skip


#: Whose id an entity keeps when sources are merged; others come after these.
NAMESPACES = ["wd", "iso", "gn", "cur", "lang", "wn"]


def rank(id_: str) -> int:
    """Give the place of an id's namespace among those whose id an entity keeps."""
    space = id_.partition(":")[0]
    return NAMESPACES.index(space) if space in NAMESPACES else len(NAMESPACES)


class Entity(NamedTuple):
    """One thing, known by an id such as ``wd:Q183``, ``gn:2950159`` or ``cur:EUR``.

    ``same_as`` holds ids of other sources for the same thing: records that share an id become one
    entity. Nothing is ever merged because its name is the same.
    """

    id: str
    category: str
    tier: int = CORE
    prior: float = 0.0
    same_as: tuple[str, ...] = ()


class Name(NamedTuple):
    """A name of an entity in a language (``mul`` where the source does not say which)."""

    lang: str
    text: str
    flags: int = 0


class Source(Protocol):
    """Where knowledge comes from.

    ``rows`` may yield an entity several times with more names. A source that reads line by line
    counts in ``position`` the lines that are done with, and starts after that many, so that an
    interrupted build goes on where it stopped; others leave it at 0 and are read again.
    """

    name: str
    version: str
    licence: str
    position: int

    def fingerprint(self) -> str:
        """Tell this input with these options from all others."""

    def rows(self) -> Iterator[tuple[Entity, Sequence[Name]]]:
        """Yield entities with names."""


def shipped(name: str) -> list[list[str]]:
    """Read a table that stands beside this file, without its header."""
    text = files("steelyard.kobe.base").joinpath(name).read_text(encoding="utf-8")
    return [line.split("\t") for line in text.splitlines()[1:]]


def population_prior(people: float) -> float:
    """Give the prior of a place or language by its people: 5.0 for a city of 100,000.

    Examples
    --------
    >>> round(population_prior(100_000), 3), population_prior(0)
    (5.0, 0.0)
    """
    return math.log10(1.0 + max(0.0, people))


def sitelinks_prior(sitelinks: int) -> float:
    """Give the prior of a Wikidata item by its sitelinks: 100 are worth a million people.

    Examples
    --------
    >>> sitelinks_prior(100), sitelinks_prior(0)
    (6.0, 0.0)
    """
    return 2.0 + 2.0 * math.log10(sitelinks) if sitelinks > 0 else 0.0


def senses_prior(count: float) -> float:
    """Give the prior of a wordnet's concept by how often its sense was counted in texts.

    Examples
    --------
    >>> senses_prior(0), senses_prior(99)
    (3.0, 5.0)
    """
    return 3.0 + math.log10(1.0 + max(0.0, count))
