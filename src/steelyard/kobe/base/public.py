"""Knowledge that is public and that one fetches: Wikidata's dump, ParaNames, wordnets."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from steelyard.core.errors import InputError, UsageError, need_extra
from steelyard.core.provenance import sha256
from steelyard.kobe.base.lines import ColumnSource, LineSource
from steelyard.kobe.base.records import (
    CONCEPT,
    CORE,
    Entity,
    Flag,
    Name,
    senses_prior,
    shipped,
    sitelinks_prior,
)
from steelyard.kobe.languages import primary

#: Properties that name the same thing elsewhere.
_ELSEWHERE = {"P1566": "gn:", "P297": "iso:", "P498": "cur:", "P218": "lang:"}
_CONCEPTS = frozenset({"concept", "species"})
_NOT_WIKIPEDIAS = frozenset({"commonswiki", "specieswiki", "metawiki", "wikidatawiki"})
_LABEL, _DEMONYM = int(Flag.LABEL), int(Flag.DEMONYM)
DROPPED = "-"
_TYPES = {"PER": "person", "LOC": "place", "ORG": "organisation"}  # of ParaNames
_OFFSET = re.compile(r"-(\d{8}-[a-z])$")  # of Princeton WordNet


class Wikidata(LineSource):
    """The JSON dump ``latest-all.json`` (gzip, bzip2 or ``-`` for standard input).

    It has labels, aliases, demonyms, classes and ids of other sources.

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
    return {class_: category for class_, category, _ in shipped("classes.tsv")}


def _category(claims: Mapping[str, Any]) -> str:
    """Give the category of an item by the first of its classes that is known."""
    found = ""
    for property_ in ("P31", "P279"):
        for value in _values(claims.get(property_, ())):
            own = classes().get(value["id"], "")
            if own == DROPPED and property_ == "P31":
                return DROPPED
            if own != DROPPED:
                found = found or own
    return found or ("concept" if "P279" in claims else "")


def _tier(category: str, labels: Mapping[str, Any]) -> int:
    """Tell names from common nouns: these are written small in English."""
    if category:
        return CONCEPT if category in _CONCEPTS else CORE
    label = labels.get("en") or labels.get("mul") or {}
    return CONCEPT if label.get("value", "X")[:1].islower() else CORE


class ParaNames(ColumnSource):
    """Names of people, places and organisations of Wikidata in 400 languages.

    The release file has ``wikidata_id``, ``eng``, ``label``, ``language`` and ``type``. It has no
    counts of sitelinks; how many languages name a thing stands in for them.
    """

    name = "paranames"
    licence = "CC-BY-4.0"

    def rows(self) -> Iterator[tuple[Entity, Sequence[Name]]]:
        """Yield entities with names, those of one entity together if they are so in the file."""
        needed = ("wikidata_id", "label", "language", "type")
        for last, id_, rows in self.groups(needed, "wikidata_id"):
            names = []
            for _, row in rows:
                if lang := primary(row["language"]):
                    names.append(Name(lang, row["label"], int(Flag.LABEL)))
            if rows[0][1].get("eng"):
                names.append(Name("en", rows[0][1]["eng"], int(Flag.LABEL)))
            category = _TYPES.get(rows[0][1]["type"].replace(",", "-").split("-")[0], "name")
            prior = sitelinks_prior(len({name.lang for name in names}))
            self.position = last
            yield Entity(f"wd:{id_.removeprefix('wd:')}", category, CORE, prior), names


class Wordnets:
    """Common nouns: those of the wordnets that ``wn`` has, or of one file in the WN-LMF format.

    Concepts of different wordnets are one entity where they share an interlingual index or an
    offset of Princeton WordNet 3.0.
    """

    name = "omw"

    def __init__(self, path: str | Path | None = None) -> None:
        need_extra("kobe", "a knowledge base", "wn")
        self.path = None if path is None else Path(path)
        self.position = 0
        with self._database() as wn:
            lexicons = wn.lexicons()
            if not lexicons:
                raise UsageError(
                    "wn has no wordnets: run 'python -m wn download omw:1.4', or name a WN-LMF file"
                )
            self.version = ", ".join(sorted(lexicon.specifier() for lexicon in lexicons))
            self.licence = ", ".join(sorted({str(lexicon.license) for lexicon in lexicons}))

    @contextmanager
    def _database(self) -> Iterator[Any]:
        """Give ``wn`` on its own database, or on a temporary one that holds the file."""
        import wn

        config: Any = vars(wn)["config"]
        if self.path is None:
            yield wn
            return
        if not self.path.exists():
            raise InputError("no such file", path=self.path)
        used = config.data_directory
        with tempfile.TemporaryDirectory(prefix="steelyard-wn-") as folder:
            config.data_directory = folder
            try:
                wn.add(self.path, progress_handler=None)
                yield wn
            except (wn.Error, wn.lmf.LMFError, ValueError, OSError) as error:
                what = f"can't be read as a wordnet ({' '.join(str(error).split())})"
                raise InputError(what, path=self.path) from error
            finally:
                config.data_directory = used

    def fingerprint(self) -> str:
        """Tell this input from all others."""
        files = [] if self.path is None else [self.path]
        if self.path is not None and self.path.is_dir():
            files = [path for path in self.path.rglob("*") if path.is_file()]
        return f"{self.name} {self.version} {sha256(files)}"

    def rows(self) -> Iterator[tuple[Entity, Sequence[Name]]]:
        """Yield each noun synset of each wordnet."""
        with self._database() as wn:
            for lexicon in sorted(wn.lexicons(), key=lambda one: one.specifier()):
                lang = primary(lexicon.language)
                if lang is None:
                    continue
                own = wn.Wordnet(lexicon=lexicon.specifier(), expand="")
                for synset in own.synsets(pos="n"):
                    yield _synset(synset, lang)


def _synset(synset: Any, lang: str) -> tuple[Entity, list[Name]]:
    offset = _OFFSET.search(synset.id)
    index = synset.ili if isinstance(synset.ili, str) else getattr(synset.ili, "id", None)
    ids = [f"wn:{offset[1]}"] if offset else []
    ids += [f"ili:{index}"] if index else []
    ids = ids or [f"synset:{synset.id}"]
    counts = (sum(_value(count) for count in sense.counts()) for sense in synset.senses())
    prior = senses_prior(sum(counts))
    category = synset.lexfile() or "noun"
    entity = Entity(ids[0], category, CONCEPT, prior, tuple(ids[1:]))
    return entity, [Name(lang, lemma.replace("_", " ")) for lemma in synset.lemmas()]


def _value(count: Any) -> float:
    return float(getattr(count, "value", count))
