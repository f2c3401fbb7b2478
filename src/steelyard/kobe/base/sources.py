"""What names are read from: Wikidata's dump, tables of names, and glossaries.

Dumps and tables of names are read line by line. A glossary is TBX or a table, which is either long,
with the columns ``lang`` and ``alias`` (or ``term``, ``name``), or wide, with one column for each
language (``de``, ``term_de``) and several names of one thing divided by ``|``; the
columns ``source`` and ``target`` are of the languages that `lp` says, as ``en-de``. The columns
``id``, ``category``, ``same_as``, ``status`` and ``case sensitive`` may be there; without ``id`` a
wide row is a thing of its own. Names with a status such as deprecated or forbidden are kept, and
never linked.
"""

from __future__ import annotations

import bz2
import gzip
import json
import os
import re
import sys
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from importlib.resources import files as package
from itertools import groupby
from pathlib import Path
from typing import Any, NoReturn

from steelyard.core.errors import STDIN, InputError, UsageError, shown_path
from steelyard.core.provenance import installed_version
from steelyard.formats import bitext, files, tables
from steelyard.formats.rawtable import RawTable
from steelyard.formats.view import FileView
from steelyard.kobe.base.build import check_id, replaced_folder
from steelyard.kobe.base.codec import (
    CONCEPT,
    CORE,
    Entity,
    Flag,
    Name,
    population_prior,
    sitelinks_prior,
)
from steelyard.kobe.base.knowledge import (
    EMBEDDED,
    FORMAT,
    MANIFEST,
    TERMS,
    Glossary,
    KnowledgeBase,
    below,
    read_manifest,
    read_terms,
)
from steelyard.kobe.languages import known, normalise, primary
from steelyard.kobe.linking.wordforms import fold
from steelyard.kobe.options import TIERS

_GZIP, _BZIP2, _ZSTD = b"\x1f\x8b", b"BZh", b"\x28\xb5\x2f\xfd"
_QID = re.compile(r"Q[1-9]\d*")
_LABEL, _DEMONYM, _FORBIDDEN = int(Flag.LABEL), int(Flag.DEMONYM), int(Flag.FORBIDDEN)
Row = dict[str, str]


def with_namespace(id_: str) -> str:
    """Give a plain QID the namespace of Wikidata."""
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
    text = package("steelyard.kobe.base").joinpath("classes.tsv").read_text(encoding="utf-8")
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


class AliasTable(LineSource):
    """A table of names: ``id``, ``lang``, ``alias`` (or ``name``), perhaps ``category``, ``prior``.

    It is tab-separated, without quotes, with a header line. A plain ``Q567`` is Wikidata's,
    ``wd:Q567``. ``tier`` says what is a common noun, and the prior counts people.
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
        try:
            count = float(row.get("prior") or 0)
        except ValueError:
            what = f"prior '{row['prior']}' is not a number"
            raise InputError(what, path=self.path, line=number) from None
        tier = row.get("tier") or TIERS[CORE]
        if tier not in TIERS:
            what = f"tier '{tier}', expected core or concept"
            raise InputError(what, path=self.path, line=number)
        id_, category = with_namespace(row["id"]), row.get("category") or "other"
        entity = Entity(id_, category, TIERS.index(tier), population_prior(count))
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


# -- glossaries

#: What a company checks first is meant before anything else that has the same name.
TERM_PRIOR = 9.0
_ID = ("id", "entity", "concept", "concept id", "entry id")
_TEXT = ("alias", "term", "name")
_LANG = ("lang", "language", "locale")
_CASE = ("case sensitive", "case_sensitive", "casesensitive", "case-sensitive")
#: Columns that are no language: those that are read, and those that glossaries have for readers.
_OTHER = frozenset(
    (*_ID, *_TEXT, *_LANG, *_CASE, "category", "same_as", "status", "definition", "description",
     "note", "notes", "comment", "comments", "context", "domain", "subject", "part of speech",
     "pos", "gender", "example", "project", "client", "author", "created", "modified", "date")
)  # fmt: skip
_YES = frozenset({"yes", "y", "true", "1", "x", "ja", "oui"})


def read_glossary(path: str | Path, *, lp: str | None = None) -> Glossary:
    """Read a glossary; `lp` says the languages of columns called source and target."""
    file = Path(path)
    view = FileView(file)
    if view.head.lstrip("\ufeff \t\r\n").startswith("<") or view.kind == "tbx":
        rows = []
        for id_, terms in bitext.tbx_entries(file, view.data):
            try:
                names = _labelled([(normalise(lang), text, banned) for lang, text, banned in terms])
            except UsageError as error:
                raise InputError(str(error), path=file) from None
            if names:
                rows.append((Entity(_id(id_, names), "term", CORE, TERM_PRIOR), names))
        if not rows:
            raise InputError("no terms: expected TBX with termEntry or conceptEntry", path=file)
    else:
        rows = list(_rows(tables.read(file, is_text=lambda _: True), _pair(lp)))
    return Glossary(f"terms {file.name}", f"{len(view.data)} bytes", "yours", rows)


def counted(glossary: Glossary) -> dict[str, Any]:
    """Count terms and names to be used, the names of each language, and forbidden names."""
    names = [(entity.id, name) for entity, row in glossary.rows for name in row]
    allowed = [(id_, name) for id_, name in names if not name.flags & _FORBIDDEN]
    return {
        "terms": len({id_ for id_, _ in allowed}),
        "names": len(allowed),
        "languages": dict(sorted(Counter(name.lang for _, name in allowed).items())),
        "forbidden": len(names) - len(allowed),
    }


def add(
    glossary: Glossary, folder: Path, *, upon: str | None = None, force: bool = False
) -> KnowledgeBase:
    """Add terms to a base, and open it; those of a glossary of the same name are replaced.

    With ``upon`` (``embedded`` or a folder) a new base is made that lies upon this one.
    """
    if upon is None:
        read_manifest(folder)
        kept = [other for other in read_terms(folder) if other.name != glossary.name]
        files.write_text(folder / TERMS, _lines([*kept, glossary]))
        return KnowledgeBase.open(folder)
    facts = {"base": upon}
    if upon != EMBEDDED:
        whole = Path(upon).resolve()
        if whole == folder.resolve():
            raise UsageError(f"{folder} can't lie upon itself: to=... adds to it in place")
        facts = {"base": str(whole), "relative": os.path.relpath(whole, folder.resolve())}
    read_manifest(below(folder, facts))
    manifest = {"format": FORMAT, "steelyard": installed_version(), "upon": facts}
    with replaced_folder(folder, force=force) as fresh:
        files.write_text(fresh / TERMS, _lines([glossary]))
        files.write_text(fresh / MANIFEST, json.dumps(manifest, ensure_ascii=False, indent=1))
    return KnowledgeBase.open(folder)


def _lines(glossaries: Sequence[Glossary]) -> str:
    return "".join(f"{json.dumps(g._asdict(), ensure_ascii=False)}\n" for g in glossaries)


def _id(stated: str, names: Sequence[Name]) -> str:
    """Return an id with a namespace: the stated one, or one made of the first name."""
    if stated:
        id_ = with_namespace("_".join(stated.split()))
        return id_ if ":" in id_ else f"term:{id_}"
    return "term:" + "_".join(fold(names[0].text, names[0].lang).split())


def _labelled(terms: Sequence[tuple[str, str, bool]]) -> list[Name]:
    """Return names; the first of a language that may be used is its main one."""
    names: list[Name] = []
    for lang, text, banned in terms:
        main = any(n.lang == lang and n.flags & _LABEL for n in names)
        names.append(Name(lang, text, _FORBIDDEN if banned else 0 if main else _LABEL))
    return names


def _pair(lp: str | None) -> dict[str, str]:
    if lp is None:
        return {}
    source, dash, target = lp.partition("-")
    if not dash:
        raise UsageError(f"lp='{lp}', expected two languages, as en-de")
    codes = normalise(source), normalise(target)
    return {f"{side}{more}": code for side, code in zip(("source", "target"), codes, strict=True)
            for more in ("", " term")}  # fmt: skip


def _rows(table: RawTable, pair: dict[str, str]) -> Iterator[tuple[Entity, list[Name]]]:
    cells = {" ".join(name.lower().split()): [text or "" for text in table.texts(name)]
             for name in table.columns}  # fmt: skip

    def column(names: Sequence[str]) -> list[str]:
        empty = [""] * table.n_rows
        return next((cells[name] for name in names if name in cells), empty)

    long = bool({*_TEXT} & cells.keys()) and bool({*_LANG} & cells.keys())
    languages = {} if long else _languages(table, list(cells), pair)
    ids, cases, statuses = column(_ID), column(_CASE), column(("status",))
    for row in range(table.n_rows):
        banned, case = bitext.is_banned(statuses[row]), cases[row].strip().lower()
        if long:
            texts = [(_language(table, column(_LANG)[row], row), column(_TEXT)[row])]
        else:
            texts = [(lang, part) for name, lang in languages.items()
                     for part in cells[name][row].split("|")]  # fmt: skip
        names = _labelled([(lang, text.strip(), banned) for lang, text in texts if text.strip()])
        if case and case not in _YES:
            names += [Name(lang, text.lower(), flags) for lang, text, flags in names]
        if names:
            # What must be written as it stands is a name.
            category = column(("category",))[row].strip() or ("name" if case in _YES else "term")
            same = tuple(map(with_namespace, column(("same_as",))[row].split()))
            id_ = _id(ids[row].strip(), names)
            yield Entity(id_, category, CORE, TERM_PRIOR, same), list(dict.fromkeys(names))


def _languages(table: RawTable, columns: list[str], pair: dict[str, str]) -> dict[str, str]:
    languages = {}
    for column in columns:
        if lang := pair.get(column) or (None if column in _OTHER else _language_of(column)):
            languages[column] = lang
        elif column in ("source", "target"):
            table.fail(f"column '{column}' does not say its language: call it by one, as 'de', or "
                       "say lp=... as en-de")  # fmt: skip
        elif column not in _OTHER:
            table.fail(f"column '{column}' is no language; expected 'lang' and 'alias', or one "
                       "column for each language, and perhaps 'id' and 'category'")  # fmt: skip
    if not languages:
        table.fail(f"no names: column 'alias' or 'lang' is missing; found: {', '.join(columns)}")
    return languages


def _language_of(header: str) -> str | None:
    code = bitext.language_of(header)
    return None if code is None or (lang := primary(code)) not in known() else lang


def _language(table: RawTable, code: str, row: int) -> str:
    try:
        return normalise(code)
    except UsageError as error:
        table.fail(str(error), row)
