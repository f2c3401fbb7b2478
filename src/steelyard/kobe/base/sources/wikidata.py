"""Wikidata's JSON dump, line by line: labels, aliases, demonyms, classes, ids of other sources."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from steelyard.kobe.base.records import CONCEPT, CORE, Entity, Flag, Name, sitelinks_prior
from steelyard.kobe.base.sources.lines import LineSource
from steelyard.kobe.languages import primary

#: Properties that name the same thing elsewhere.
_ELSEWHERE = {"P1566": "gn:", "P297": "iso:", "P498": "cur:", "P218": "lang:"}
_CONCEPTS = frozenset({"concept", "species"})
_NOT_WIKIPEDIAS = frozenset({"commonswiki", "specieswiki", "metawiki", "wikidatawiki"})
_LABEL, _DEMONYM = int(Flag.LABEL), int(Flag.DEMONYM)
DROPPED = "-"


class Wikidata(LineSource):
    """The public dump (``latest-all.json``; gzip, bzip2 or ``-`` for standard input).

    Parameters
    ----------
    path
        The dump.
    min_sitelinks
        Items in fewer Wikipedias are left out: most of them are papers, stars and proteins.
    skip_broken
        Count lines that are not JSON instead of stopping at them.
    """

    name = "wikidata"
    licence = "CC0-1.0"

    def __init__(
        self, path: str | Path, *, min_sitelinks: int = 3, skip_broken: bool = False
    ) -> None:
        super().__init__(path, skip_broken=skip_broken)
        self.min_sitelinks = min_sitelinks
        self.version += f", {min_sitelinks} sitelinks or more"

    def fingerprint(self) -> str:
        """Tell this input with these options from all others."""
        return f"{super().fingerprint()} {self.min_sitelinks}"

    def rows(self) -> Iterator[tuple[Entity, Sequence[Name]]]:
        """Yield items with names, and demonyms as entities of their own."""
        import orjson

        for number, line in self.lines.read(self.position):
            text = line.strip().rstrip(b",")
            if text in (b"", b"[", b"]"):
                continue
            try:
                item = orjson.loads(text)
                found = self._item(item) if item.get("type", "item") == "item" else ()
            except orjson.JSONDecodeError as error:
                self.lines.fail(number, f"not valid JSON: {error}")
                continue
            except (AttributeError, KeyError, TypeError, ValueError) as error:
                self.lines.fail(number, f"not a Wikidata item ({type(error).__name__}: {error})")
                continue
            self.position = number
            yield from found

    def _item(self, item: Mapping[str, Any]) -> list[tuple[Entity, list[Name]]]:
        links = item.get("sitelinks") or {}
        count = len([s for s in links if s[-4:] == "wiki" and s not in _NOT_WIKIPEDIAS])
        if count < self.min_sitelinks:
            return []
        claims = item.get("claims") or {}
        category = _category(claims)
        if category == DROPPED:
            return []
        labels = item.get("labels") or {}
        names = [
            Name(lang, label["value"], _LABEL)
            for code, label in labels.items()
            if (lang := primary(code))
        ]
        names += [
            Name(lang, alias["value"])
            for code, aliases in (item.get("aliases") or {}).items()
            if (lang := primary(code))
            for alias in aliases
        ]
        id_ = f"wd:{item['id']}"
        tier = _tier(category, labels)
        same = tuple(
            prefix + value
            for property_, prefix in _ELSEWHERE.items()
            if property_ in claims
            for value in _values(claims[property_])
            if isinstance(value, str)
        )
        prior = sitelinks_prior(count)
        entity = Entity(id_, category or ("concept" if tier else "other"), tier, prior, same)
        rows = [(entity, names)]
        if "P1549" in claims:
            demonyms = [
                Name(lang, value["text"], _DEMONYM)
                for value in _values(claims["P1549"])
                if (lang := primary(value["language"]))
            ]
            rows.append((Entity(f"{id_}:dem", "demonym", CORE, prior), demonyms))
        return rows


def _values(statements: Sequence[Mapping[str, Any]]) -> Iterator[Any]:
    """Give the values of statements that are not deprecated."""
    for statement in statements:
        snak = statement["mainsnak"]
        if statement.get("rank") != "deprecated" and snak.get("snaktype", "value") == "value":
            yield snak["datavalue"]["value"]


@cache
def classes() -> dict[str, str]:
    """Read the shipped map of frequent classes to categories (``-``: left out)."""
    text = files("steelyard.kobe.base.sources").joinpath("classes.tsv").read_text(encoding="utf-8")
    rows = [line.split("\t") for line in text.splitlines()[1:]]
    return {row[0]: row[1] for row in rows}


def _category(claims: Mapping[str, Any]) -> str:
    """Give the category of an item by the first of its classes that is known."""
    known = classes()
    found = ""
    for property_ in ("P31", "P279"):
        for value in _values(claims.get(property_, ())):
            own = known.get(value["id"], "")
            if own == DROPPED and property_ == "P31":
                return DROPPED
            if own and own != DROPPED and not found:
                found = own
    if not found and "P279" in claims:
        return "concept"
    return found


def _tier(category: str, labels: Mapping[str, Any]) -> int:
    """Tell names from common nouns: these are written small in English."""
    if category:
        return CONCEPT if category in _CONCEPTS else CORE
    label = labels.get("en") or labels.get("mul") or {}
    return CONCEPT if label.get("value", "X")[:1].islower() else CORE
