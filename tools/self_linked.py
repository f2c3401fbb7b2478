"""Which languages the linker is good for: those in which it finds the names it was given.

The names that a base has for countries, languages, months and days are put in a sentence each, and
linked. Where a language's words are cut in the wrong places, its names are not found again.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import NamedTuple

from steelyard.kobe.base.codec import Flag
from steelyard.kobe.linking.linker import DictionaryLinker

KINDS = ("country", "language", "month", "weekday")
#: A language is supported if that share of its names is found.
ENOUGH = 0.95
_FEWEST = 19  # names: months and days


class SelfLinked(NamedTuple):
    """How many of a language's own names are found in it."""

    lang: str
    found: int
    names: int

    @property
    def rate(self) -> float:
        """The share of names that are found."""
        return self.found / self.names

    @property
    def supported(self) -> bool:
        """Whether enough of them are found, and there are enough to tell."""
        return self.names >= _FEWEST and self.rate >= ENOUGH


def self_linked(linker: DictionaryLinker, langs: Iterable[str] | None = None) -> list[SelfLinked]:
    """Count by language the names of the base that are found where they stand in a sentence.

    Each language is paired with English, and English with German.
    """
    wanted = frozenset(linker.kb.languages if langs is None else langs)
    found, names = Counter[str](), Counter[str]()
    for lang, own in sorted(_names(linker, wanted).items()):
        other = "de" if lang == "en" else "en"
        countries = linker.lexicon(lang, other).countries
        linked = linker.link([f"x, {text}." for text, _ in own], lang, other)
        names[lang] = len(own)
        for (_, entity), mentions in zip(own, linked, strict=True):
            meant = {entity, countries.get(entity, entity)}
            found[lang] += any(meant.intersection(one.readings) for one in mentions)
        linker.forget()
    return [SelfLinked(lang, found[lang], names[lang]) for lang in names]


def _names(linker: DictionaryLinker, wanted: frozenset[str]) -> dict[str, list[tuple[str, int]]]:
    """Give main names and their entities by language."""
    kb = linker.kb
    kinds = {i for i, kind in enumerate(kb.manifest["categories"]) if kind in KINDS}
    label = int(Flag.LABEL)
    found = defaultdict(list)
    for entity, kind in enumerate(kb.category.tolist()):
        if kind not in kinds:
            continue
        for lang, text, flags in kb.names(entity):
            if flags & label and lang in wanted:
                found[lang].append((text, entity))
    return found
