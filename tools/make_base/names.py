"""People, organisations, products and works, from cuts of Wikidata and other open registers.

The table (``names.tsv.gz``, see its DATA.md) has one row for each name: id, category, language,
name, prior, source. Each of its sources is a source of the base, with its own licence; what is
taken of an entity is decided with all of its names at hand.
"""

from __future__ import annotations

import gzip
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from make_base.choice import CATEGORIES, Candidate, is_taken
from make_base.dictionary import all_ordinary, words
from steelyard.kobe.base.codec import UNSTATED, Entity, Flag, Name, script, sitelinks_prior
from steelyard.kobe.languages import primary
from steelyard.kobe.linking.wordforms import fold

_LABEL = int(Flag.LABEL)
#: Names that more things than this have name none of them.
_SHARED = 2
_GIVEN = 20  # people who have a given name
_KNOWN = 3.0  # of 23 languages
_CLEAR = 0.8  # how much better known one of them must be to have the name alone


class Origin(NamedTuple):
    """Where rows of the table come from, as the base's manifest states it."""

    name: str
    version: str
    licence: str


ORIGINS = {
    "xfactr": Origin("wikidata-xfactr", "Wikidata 2020, as cut by X-FACTR c1938ec", "CC0-1.0"),
    "everypolitician": Origin(
        "wikidata-everypolitician", "Wikidata 2018, as cut by EveryPolitician 9f1aaf4", "CC0-1.0"
    ),
    "ror": Origin("ror", "ROR, ror-records d93fc66 (2026)", "CC0-1.0"),
    "nsi": Origin("name-suggestion-index", "c8b272e (2026)", "BSD-3-Clause"),
}


class Row(NamedTuple):
    """A name of the table."""

    lang: str
    text: str
    prior: float
    sources: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Thing:
    """An entity of the table with the names that were taken."""

    entity: Entity
    names: Mapping[str, Sequence[Name]]  # by source


class Names:
    """The names that one of the table's sources gives to chosen entities."""

    def __init__(self, origin: str, things: Sequence[Thing]) -> None:
        self.origin, self.things = origin, things
        self.name, self.version, self.licence = ORIGINS[origin]

    def rows(self) -> Iterator[tuple[Entity, Sequence[Name]]]:
        """Yield each entity with what this source calls it."""
        for thing in self.things:
            if own := thing.names.get(self.origin):
                yield thing.entity, own


def read(path: Path) -> dict[str, tuple[str, list[Row]]]:
    """Read the table: the category and the rows of each id."""
    found: dict[str, tuple[str, list[Row]]] = {}
    with gzip.open(path, "rt", encoding="utf-8") as file:
        next(file)
        for line in file:
            id_, category, lang, text, prior, source = line.rstrip("\n").split("\t")
            sources = tuple(one for one in source.split("+") if one in ORIGINS)
            code = primary(lang)
            if sources and code is not None:
                row = Row(code, text, float(prior), sources)
                found.setdefault(id_, (category, []))[1].append(row)
    return found


def given_names(table: Mapping[str, tuple[str, list[Row]]]) -> frozenset[str]:
    """Give the folded words with which the names of several people begin: no company's alone."""
    count = Counter(
        first
        for kind, rows in table.values()
        if kind == "person"
        for first in {fold(row.text, row.lang).split()[0] for row in rows if " " in row.text}
    )
    return frozenset(word for word, n in count.items() if n >= _GIVEN)


def known(rows: Sequence[Row]) -> float:
    """Give of how many of 23 languages have a thing, whatever its sources count.

    Examples
    --------
    >>> known([Row("en", "Joe Biden", 96.0, ("everypolitician",))])
    18.3...
    """
    best = 0.0
    for row in rows:
        for source in row.sources:
            if source == "everypolitician":  # Wikipedias, of which 130 stand for all 23 languages
                best = max(best, min(22.0, row.prior**0.637))
            elif source == "nsi":  # countries in which a brand is seen
                best = max(best, min(12.0, row.prior))
            else:
                best = max(best, min(22.0, row.prior))
    return best


def prior(languages: float) -> float:
    """Give the prior on the base's scale: who is known in all languages has 140 Wikipedias."""
    return sitelinks_prior(max(1, round(languages**1.6)))


def choose(
    table: Mapping[str, tuple[str, list[Row]]],
    places: Collection[str],
    nouns: Collection[str],
) -> list[Thing]:
    """Choose entities and their names."""
    chosen: dict[str, tuple[str, float, dict[str, list[Row]]]] = {}
    for id_, (kind, rows) in sorted(table.items()):
        if kind in CATEGORIES:
            category, how = CATEGORIES[kind], known(rows)
            taken = _of_one(category, how, rows, places, nouns)
            if taken:
                chosen[id_] = (category, how, taken)
    dropped = _ambiguous(chosen)
    things = []
    for id_, (category, how, taken) in chosen.items():
        kept = {
            lang: [row for row in own if (id_, lang, row.text) not in dropped]
            for lang, own in taken.items()
        }
        kept = {lang: own for lang, own in kept.items() if own}
        if _meets(kept, how):
            things.append(_thing(id_, category, how, kept))
    return things


def _of_one(
    category: str, how: float, rows: Sequence[Row], places: Collection[str], nouns: Collection[str]
) -> dict[str, list[Row]]:
    """Choose names of one entity, by language, its most typical one first."""
    by_lang: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        by_lang[row.lang].append(row)
    spelled = Counter(row.text for row in rows)
    taken: dict[str, list[Row]] = {}
    for lang, own in by_lang.items():
        ranked = sorted(own, key=lambda row: _typical(category, row, own, spelled))
        good = [
            row
            for place, row in enumerate(ranked)
            if is_taken(_asked(category, row, how), places, nouns)
            and not (place and category == "organisation" and _is_generic(row))
        ]
        # Where the usual name can't be found, who uses it would seem to have lost the thing.
        if good and (ranked[0] in good or lang == UNSTATED):
            taken[lang] = good
    return _symmetric(category, taken)


def _is_generic(row: Row) -> bool:
    """Whether a name that is not the usual one says only what a thing is: Supreme Court."""
    return all_ordinary([word for word in words(row.text) if len(word) > 2], row.lang)


def _asked(category: str, row: Row, how: float) -> Candidate:
    return Candidate(category, row.lang, row.text, how)


def _typical(
    category: str, row: Row, own: Sequence[Row], spelled: Mapping[str, int]
) -> tuple[bool, int, bool, int, int, int, str]:
    """Give the order in which names of an entity in a language are typical.

    The name of more sources and of more languages; with one given name; the one that the longer
    ones contain; no abbreviation.
    """
    labelled = "everypolitician" in row.sources  # it has labels only
    parts = max(len(words(row.text)), row.text.count("·") + row.text.count("・") + 1)
    odd = abs(parts - 2) if category == "person" else 0
    inside = sum(row.text in other.text for other in own)
    short = row.text.isupper() or "." in row.text or "," in row.text
    votes = spelled[row.text] + 3 * len(row.sources)
    return (not labelled, -votes if not short else 0, short, odd, -inside, len(row.text), row.text)


def _symmetric(category: str, taken: dict[str, list[Row]]) -> dict[str, list[Row]]:
    """Leave out single words that have no counterpart in Latin letters.

    A single word that only one side of a pair may use would be lost by every translation.
    """
    latin = [r for own in taken.values() for r in own if script(r.text[0]) == "LATIN"]
    if category in ("work", "product") and not latin:
        return {}  # ordinary words are told from titles by dictionaries of Latin languages
    if any(len(words(row.text)) == 1 for row in latin):
        return taken
    found = {}
    for lang, own in taken.items():
        kept = [row for row in own if len(words(row.text)) > 1 or not row.text[0].isupper()]
        if kept:
            found[lang] = kept
    return found


def _ambiguous(
    chosen: Mapping[str, tuple[str, float, dict[str, list[Row]]]],
) -> set[tuple[str, str, str]]:
    """Give (id, language, name) of names that too many things have, but for one much better known.

    Latin names of any language count together: they are found in all of them.
    """
    owners: dict[tuple[str, str], list[tuple[float, str, str, str]]] = defaultdict(list)
    for id_, (_, how, taken) in chosen.items():
        for lang, own in taken.items():
            for row in own:
                latin = script(row.text[0]) == "LATIN"
                key = ("" if latin else lang, fold(row.text, lang))
                owners[key].append((prior(how), id_, lang, row.text))
    dropped = set()
    for named in owners.values():
        if len({id_ for _, id_, _, _ in named}) > 1:
            best, first = max((value, id_) for value, id_, _, _ in named)
            others = {id_ for value, id_, _, _ in named if id_ != first and value > best - _CLEAR}
            single = len(words(named[0][3])) == 1
            for _, id_, lang, text in named:
                if id_ != first or len(others) >= _SHARED or (others and single):
                    dropped.add((id_, lang, text))
    return dropped


def _meets(taken: Mapping[str, Sequence[Row]], how: float) -> bool:
    """Whether texts of two languages can both have a name of it.

    One name that is the same everywhere tells little more than that it was copied: it is worth its
    place for well-known things only.
    """
    shared = {row.text for row in taken.get(UNSTATED, ())}
    own = sum(any(row.text not in shared for row in rows) for rows in taken.values())
    return own + bool(shared) > 1 or (bool(shared) and how >= _KNOWN)


def _thing(id_: str, category: str, how: float, taken: Mapping[str, list[Row]]) -> Thing:
    """Give an entity with its names, once where many Latin languages have the same."""
    shared = {row.text for row in taken.get(UNSTATED, ())}
    names: dict[str, list[Name]] = defaultdict(list)
    for lang, own in sorted(taken.items()):
        others = any(row.text not in shared for row in own)
        for place, row in enumerate(own):
            # The label stands beside other names, lest one of these be shown for it.
            if lang == UNSTATED or row.text not in shared or (others and not place):
                flags = _LABEL if place == 0 else 0
                names[row.sources[0]].append(Name(lang, row.text, flags))
    full = id_ if ":" in id_ else f"wd:{id_}"
    return Thing(Entity(full, category, prior=prior(how)), names)
