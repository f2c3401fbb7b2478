"""A user's own knowledge: a table of names, or a terminology (brands, terms) as CSV or TBX."""

from __future__ import annotations

import csv
import hashlib
import io
from collections.abc import Iterator, Sequence
from pathlib import Path
from xml.parsers import expat

from steelyard.core.errors import InputError, UsageError
from steelyard.formats import files
from steelyard.kobe.base.lines import ColumnSource
from steelyard.kobe.base.records import (
    CONCEPT,
    CORE,
    TIERS,
    Entity,
    Flag,
    Name,
    population_prior,
    senses_prior,
)
from steelyard.kobe.languages import normalise, primary
from steelyard.kobe.linking.wordforms import fold

#: Layers of names, places, numbers and dates; all others hold common nouns.
_CORE = frozenset({"", "cldr", "date", "geo", "geoalt"})
_CATEGORIES = {"geo": "place", "airport": "place", "subdivision": "region", "feature": "concept"}
#: What a company checks first is meant before anything else that has the same name.
TERM_PRIOR = 9.0
_ID = ("id", "entity", "concept")
_TEXT = ("alias", "term", "name")
_LANG = ("lang", "language")
_OTHER = ("category", "prior", "same_as")


class AliasTable(ColumnSource):
    """A table of names: ``id``, ``lang``, ``alias`` and perhaps ``category`` and ``prior``.

    ``layer`` or ``tier`` say what is a common noun. The prior of layers that begin with ``wn``
    counts senses, that of all others people.
    """

    name = "table"

    def __init__(
        self, path: str | Path, *, licence: str = "not stated", skip_broken: bool = False
    ) -> None:
        super().__init__(path, skip_broken=skip_broken)
        self.licence = licence

    def rows(self) -> Iterator[tuple[Entity, Sequence[Name]]]:
        """Yield entities with names, those of one entity together if they are so in the file."""
        for last, id_, rows in self.groups(("id", "lang", "alias"), "id"):
            names, entity = [], None
            for number, row in rows:
                lang = primary(row["lang"])
                if lang is None:
                    self.lines.fail(number, f"unknown language code '{row['lang']}'")
                    continue
                names.append(Name(lang, row["alias"]))
                entity = entity or self._entity(id_, number, row)
            self.position = last
            if entity is not None:
                yield entity, names

    def _entity(self, id_: str, number: int, row: dict[str, str]) -> Entity:
        layer = row.get("layer", "")
        category = row.get("category") or "other"
        if category == "date":
            category = "month" if id_.startswith("month:") else "weekday"
        try:
            count = float(row.get("prior") or 0)
        except ValueError:
            what = f"prior '{row['prior']}' is not a number"
            raise InputError(what, path=self.lines.path, line=number) from None
        tier = row.get("tier") or TIERS[CORE if layer in _CORE else CONCEPT]
        if tier not in TIERS:
            what = f"tier '{tier}', expected core or concept"
            raise InputError(what, path=self.lines.path, line=number)
        prior = senses_prior(count) if layer.startswith("wn") else population_prior(count)
        return Entity(id_, _CATEGORIES.get(category, category), TIERS.index(tier), prior)


class Terms:
    """A terminology: columns by name, or TBX of version 2 or 3.

    CSV (also tab- or semicolon-separated) is either long, with the columns ``lang`` and ``alias``
    (or ``term``, ``name``), or wide, with one column for each language and several names of one
    thing divided by ``|``. The columns ``id``, ``category`` and ``prior`` may be there; without
    ``id`` a wide row is a thing of its own, known by its first name.
    """

    licence = "yours"

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.name = f"terms {self.path.name}"
        self.position = 0
        self._text = files.read_text(self.path)
        self.version = f"{len(self._text)} characters"
        is_xml = self._text.lstrip()[:5] in {"<?xml", "<mart", "<tbx ", "<tbx>"}
        if is_xml or files.suffix(self.path) in {"tbx", "xml"}:
            self._rows = _Tbx(self.path).parse(self._text)
        else:
            self._rows = list(self._table())

    def fingerprint(self) -> str:
        """Tell this input from all others."""
        return f"{self.name} {hashlib.sha256(self._text.encode()).hexdigest()}"

    def rows(self) -> Iterator[tuple[Entity, Sequence[Name]]]:
        """Yield one thing after the other."""
        yield from self._rows

    def _table(self) -> Iterator[tuple[Entity, list[Name]]]:
        head = self._text.partition("\n")[0]
        delimiter = max("\t;,", key=head.count)
        reader = csv.DictReader(io.StringIO(self._text, newline=""), delimiter=delimiter)
        columns = [(name or "").strip().lower() for name in reader.fieldnames or ()]
        reader.fieldnames = columns
        text = next((name for name in _TEXT if name in columns), None)
        lang = next((name for name in _LANG if name in columns), None)
        id_ = next((name for name in _ID if name in columns), "")
        if (text is None) != (lang is None):
            missing = "lang" if lang is None else "alias"
            what = f"column '{missing}' is missing; found: {', '.join(columns)}"
            raise InputError(what, path=self.path, line=1)
        spoken = {} if text else self._languages(columns, id_)
        for row in reader:
            line = reader.line_num
            if None in row or None in row.values():
                found = len([value for value in row.values() if value is not None])
                what = f"{found} fields, expected {len(columns)}"
                raise InputError(what, path=self.path, line=line)
            if text and lang:
                names = (
                    [Name(_lang(row[lang], self.path, line), row[text])]
                    if row[text].strip()
                    else []
                )
            else:
                names = [
                    Name(code, name, int(Flag.LABEL) if i == 0 else 0)
                    for column, code in spoken.items()
                    for i, name in enumerate(row[column].split("|"))
                    if name.strip()
                ]
            if names:
                yield self._entity(row, id_, names, line), names

    def _languages(self, columns: list[str], id_: str) -> dict[str, str]:
        found = {}
        for column in columns:
            if column not in {id_, *_OTHER}:
                try:
                    found[column] = normalise(column)
                except UsageError:
                    what = (
                        f"column '{column}' is no language; expected 'lang' and 'alias', or one "
                        "column for each language, and perhaps 'id', 'category' and 'prior'"
                    )
                    raise InputError(what, path=self.path, line=1) from None
        if not found:
            what = f"no names: column 'alias' is missing; found: {', '.join(columns) or 'nothing'}"
            raise InputError(what, path=self.path, line=1)
        return found

    def _entity(self, row: dict[str, str], id_: str, names: list[Name], line: int) -> Entity:
        own = row.get(id_, "").strip() if id_ else ""
        try:
            prior = float(row.get("prior") or TERM_PRIOR)
        except ValueError:
            what = f"prior '{row['prior']}' is not a number"
            raise InputError(what, path=self.path, line=line) from None
        same = tuple(row.get("same_as", "").split())
        return Entity(_id(own, names), row.get("category") or "term", CORE, prior, same)


def _lang(code: str, path: Path, line: int) -> str:
    try:
        return normalise(code)
    except UsageError as error:
        raise InputError(str(error), path=path, line=line) from None


def _id(given: str, names: Sequence[Name]) -> str:
    """Give an id with a namespace: the given one, or one made of the first name."""
    chosen = given or fold(names[0].text, names[0].lang)
    chosen = "_".join(chosen.split())
    return chosen if ":" in chosen and given else f"term:{chosen}"


class _Tbx:
    """Reads entries of TBX: ``termEntry``/``langSet`` (2) or ``conceptEntry``/``langSec`` (3)."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.found: list[tuple[Entity, list[Name]]] = []
        self.id = self.lang = self.text = ""
        self.names: list[Name] = []
        self.in_term = False
        self.parser = expat.ParserCreate()
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.CharacterDataHandler = self._data
        self.parser.EntityDeclHandler = self._refuse

    def parse(self, text: str) -> list[tuple[Entity, list[Name]]]:
        """Give all entries that have terms."""
        try:
            self.parser.Parse(text.encode(), True)
        except expat.ExpatError as error:
            what = f"not valid XML: {expat.errors.messages[error.code]}"
            raise InputError(what, path=self.path, line=error.lineno) from None
        if not self.found:
            raise InputError(
                "no terms: expected TBX with termEntry or conceptEntry", path=self.path
            )
        return self.found

    def _refuse(self, *_: object) -> None:
        what = "declares XML entities, which are not read"
        raise InputError(what, path=self.path, line=self.parser.CurrentLineNumber)

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        name = tag.rpartition(":")[2]
        if name in {"termEntry", "conceptEntry"}:
            self.id, self.names = attributes.get("id", ""), []
        elif name in {"langSet", "langSec"}:
            code = attributes.get("xml:lang") or attributes.get("lang") or ""
            self.lang = _lang(code, self.path, self.parser.CurrentLineNumber)
        elif name == "term":
            self.in_term, self.text = True, ""

    def _data(self, text: str) -> None:
        if self.in_term:
            self.text += text

    def _end(self, tag: str) -> None:
        name = tag.rpartition(":")[2]
        if name == "term" and self.in_term:
            self.in_term = False
            if self.text.strip():
                known = any(other.lang == self.lang for other in self.names)
                self.names.append(Name(self.lang, self.text, 0 if known else int(Flag.LABEL)))
        elif name in {"termEntry", "conceptEntry"} and self.names:
            id_ = _id(self.id, self.names)
            self.found.append((Entity(id_, "term", CORE, TERM_PRIOR), self.names))
