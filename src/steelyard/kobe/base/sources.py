"""Sources that are read line by line: Wikidata's dump, and tables of names."""

from __future__ import annotations

import bz2
import gzip
import re
import sys
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from importlib.resources import files
from itertools import groupby
from pathlib import Path
from typing import Any, NoReturn

from steelyard.core.errors import STDIN, InputError, shown_path
from steelyard.kobe.base.build import check_id
from steelyard.kobe.base.codec import (
    CONCEPT,
    CORE,
    Entity,
    Flag,
    Name,
    population_prior,
    senses_prior,
    sitelinks_prior,
)
from steelyard.kobe.languages import primary
from steelyard.kobe.options import TIERS

_GZIP, _BZIP2, _ZSTD = b"\x1f\x8b", b"BZh", b"\x28\xb5\x2f\xfd"
_QID = re.compile(r"Q[1-9]\d*")
_LABEL, _DEMONYM = int(Flag.LABEL), int(Flag.DEMONYM)
Row = dict[str, str]


def with_namespace(id_: str) -> str:
    """Give a plain QID the namespace of Wikidata.

    Examples
    --------
    >>> with_namespace("Q567"), with_namespace("gn:1"), with_namespace("Q")
    ('wd:Q567', 'gn:1', 'Q')
    """
    return f"wd:{id_}" if _QID.fullmatch(id_) else id_


class LineSource:
    """A source that is read line by line: plain, gzip, bzip2, or standard input."""

    name: str

    def __init__(self, path: str | Path) -> None:
        self.path = shown_path(path)
        self.version = Path(self.path).name
        self._file = None if str(path) == STDIN else Path(path)
        if self._file is not None and not self._file.is_file():
            what = "is a folder, expected a file" if self._file.is_dir() else "no such file"
            raise InputError(what, path=path)

    def fail(self, number: int, message: str) -> NoReturn:
        """Refuse a line."""
        raise InputError(message, path=self.path, line=number)

    def lines(self) -> Iterator[tuple[int, bytes]]:
        """Give the number and the bytes of each line."""
        number = 0
        with self._open() as stream:
            try:
                for number, line in enumerate(stream, 1):
                    yield number, line
            except (EOFError, zlib.error, gzip.BadGzipFile) as error:
                what = f"damaged or truncated after this line ({error})"
                raise InputError(what, path=self.path, line=number) from error
            except OSError as error:
                what = f"can't be read ({error.strerror or error})"
                raise InputError(what, path=self.path, line=number) from error

    @contextmanager
    def _open(self) -> Iterator[Any]:
        if self._file is None:
            yield sys.stdin.buffer
            return
        with self._file.open("rb") as raw:
            magic = raw.peek(4)[:4]
            if magic == _ZSTD:
                what = "is packed by zstd: pipe it, as 'zstd -dc FILE | steelyard kb build ... -'"
                raise InputError(what, path=self.path)
            if magic.startswith(_GZIP):
                yield gzip.GzipFile(fileobj=raw)
            else:
                yield bz2.BZ2File(raw) if magic.startswith(_BZIP2) else raw


# -- Wikidata

#: Properties that name the same thing elsewhere.
_ELSEWHERE = {"P1566": "gn:", "P297": "iso:", "P498": "cur:", "P218": "lang:"}
_CONCEPTS = frozenset({"concept", "species"})
_NOT_WIKIPEDIAS = frozenset({"commonswiki", "specieswiki", "metawiki", "wikidatawiki"})
_DROPPED = "-"


class Wikidata(LineSource):
    """The JSON dump ``latest-all.json`` (gzip, bzip2 or ``-`` for standard input).

    It has labels, aliases, demonyms, classes and ids of other sources.

    Parameters
    ----------
    path
        The dump.
    min_sitelinks
        Items in fewer Wikipedias are left out: most of them are papers, stars and proteins.
    """

    name = "wikidata"
    licence = "CC0-1.0"

    def __init__(self, path: str | Path, *, min_sitelinks: int = 3) -> None:
        super().__init__(path)
        self.min_sitelinks = min_sitelinks
        self.version += f", {min_sitelinks} sitelinks or more"

    def rows(self) -> Iterator[tuple[Entity, Sequence[Name]]]:
        """Yield items with names, and demonyms as entities of their own."""
        import orjson

        for number, line in self.lines():
            text = line.strip().rstrip(b",")
            if text in (b"", b"[", b"]"):
                continue
            try:
                item = orjson.loads(text)
                rows = self._item(item) if item.get("type", "item") == "item" else []
            except orjson.JSONDecodeError as error:
                self.fail(number, f"not valid JSON: {error}")
            except (AttributeError, KeyError, TypeError, ValueError) as error:
                self.fail(number, f"not a Wikidata item ({type(error).__name__}: {error})")
            else:
                yield from rows

    def _item(self, item: Mapping[str, Any]) -> list[tuple[Entity, list[Name]]]:
        links = item.get("sitelinks") or {}
        count = len([s for s in links if s[-4:] == "wiki" and s not in _NOT_WIKIPEDIAS])
        if count < self.min_sitelinks:
            return []
        claims = item.get("claims") or {}
        category = _category(claims)
        if category == _DROPPED:
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
            for value in _values(claims.get(property_, ()))
            if isinstance(value, str)
        )
        prior = sitelinks_prior(count)
        entity = Entity(id_, category or ("concept" if tier else "other"), tier, prior, same)
        demonyms = [
            Name(lang, value["text"], _DEMONYM)
            for value in _values(claims.get("P1549", ()))
            if (lang := primary(value["language"]))
        ]
        people = [(Entity(f"{id_}:dem", "demonym", CORE, prior), demonyms)] if demonyms else []
        return [(entity, names), *people]


def _values(statements: Sequence[Mapping[str, Any]]) -> Iterator[Any]:
    """Give the values of statements that are not deprecated."""
    for statement in statements:
        snak = statement["mainsnak"]
        if statement.get("rank") != "deprecated" and snak.get("snaktype", "value") == "value":
            yield snak["datavalue"]["value"]


@cache
def classes() -> dict[str, str]:
    """Read the shipped map of frequent classes to categories (``-``: left out)."""
    text = files("steelyard.kobe.base").joinpath("classes.tsv").read_text(encoding="utf-8")
    rows = (line.split("\t") for line in text.splitlines()[1:])
    return {class_: category for class_, category, _ in rows}


def _category(claims: Mapping[str, Any]) -> str:
    categories = []
    for property_ in ("P31", "P279"):
        for value in _values(claims.get(property_, ())):
            category = classes().get(value["id"], "")
            if category == _DROPPED and property_ == "P31":
                return _DROPPED
            categories.append(category.removeprefix(_DROPPED))
    return next(filter(None, categories), "concept" if "P279" in claims else "")


def _tier(category: str, labels: Mapping[str, Any]) -> int:
    """Tell names from common nouns: these are written small in English."""
    if category:
        return CONCEPT if category in _CONCEPTS else CORE
    label = labels.get("en") or labels.get("mul") or {}
    return CONCEPT if label.get("value", "X")[:1].islower() else CORE


# -- tables

#: Layers of names, places, numbers and dates; all others hold common nouns.
_CORE = frozenset({"", "cldr", "date", "geo", "geoalt"})
_CATEGORIES = {"geo": "place", "airport": "place", "subdivision": "region", "feature": "concept"}


class AliasTable(LineSource):
    """A table of names: ``id``, ``lang``, ``alias`` (or ``name``), perhaps ``category``, ``prior``.

    It is tab-separated, without quotes, with a header line. A plain ``Q567`` is Wikidata's,
    ``wd:Q567``. ``layer`` or ``tier`` say what is a common noun. The prior of layers that begin
    with ``wn`` counts senses, that of all others people.
    """

    name = "table"
    licence = "not stated"

    def rows(self) -> Iterator[tuple[Entity, Sequence[Name]]]:
        """Yield entities with names, those of one entity together if they are so in the file."""
        for _, group in groupby(self._rows(), key=lambda row: row[1]["id"]):
            numbered = list(group)
            names = []
            for number, row in numbered:
                lang = primary(row["lang"])
                if lang is None:
                    self.fail(number, f"unknown language code '{row['lang']}'")
                names.append(Name(lang, row["alias"]))
            yield self._entity(*numbered[0]), names

    def _entity(self, number: int, row: Row) -> Entity:
        id_, layer, category = with_namespace(row["id"]), row.get("layer", ""), row.get("category")
        if category == "date":
            category = "month" if id_.startswith("month:") else "weekday"
        try:
            count = float(row.get("prior") or 0)
        except ValueError:
            what = f"prior '{row['prior']}' is not a number"
            raise InputError(what, path=self.path, line=number) from None
        tier = row.get("tier") or TIERS[CORE if layer in _CORE else CONCEPT]
        if tier not in TIERS:
            what = f"tier '{tier}', expected core or concept"
            raise InputError(what, path=self.path, line=number)
        prior = senses_prior(count) if layer.startswith("wn") else population_prior(count)
        category = _CATEGORIES.get(category or "", category or "other")
        entity = Entity(id_, category, TIERS.index(tier), prior)
        check_id(entity, self.path, number)
        return entity

    def _rows(self) -> Iterator[tuple[int, Row]]:
        header: list[str] = []
        for number, line in self.lines():
            try:
                text = line.decode("utf-8-sig" if number == 1 else "utf-8").rstrip("\r\n")
            except UnicodeDecodeError as error:
                self.fail(number, f"byte 0x{line[error.start]:02x} is not UTF-8")
            cells = text.split("\t")
            if not header:
                plain = "alias" not in cells
                header = ["alias" if plain and cell == "name" else cell for cell in cells]
                for name in ("id", "lang", "alias"):
                    if name not in header:
                        what = f"column '{name}' is missing; found: {', '.join(cells[:12])}"
                        self.fail(number, what)
            elif text and len(cells) != len(header):
                self.fail(number, f"{len(cells)} fields, expected {len(header)}")
            elif text:
                yield number, dict(zip(header, cells, strict=True))
