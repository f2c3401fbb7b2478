"""A user's own knowledge: a table of names, or a terminology (brands, terms) as CSV or TBX."""

from __future__ import annotations

import csv
import hashlib
import io
import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from steelyard.core.errors import InputError, UsageError
from steelyard.core.text import plural
from steelyard.formats import files
from steelyard.kobe.base.headers import language_of
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
from steelyard.kobe.base.tbx import FORBIDDEN, Tbx
from steelyard.kobe.languages import normalise, primary
from steelyard.kobe.linking.wordforms import fold

#: Layers of names, places, numbers and dates; all others hold common nouns.
_CORE = frozenset({"", "cldr", "date", "geo", "geoalt"})
_CATEGORIES = {"geo": "place", "airport": "place", "subdivision": "region", "feature": "concept"}
#: What a company checks first is meant before anything else that has the same name.
TERM_PRIOR = 9.0
_ID = ("id", "entity", "concept", "concept id", "entry id")
_TEXT = ("alias", "term", "name")
_LANG = ("lang", "language", "locale")
_CASE = ("case sensitive", "case_sensitive", "casesensitive", "case-sensitive")
_OTHER = ("category", "prior", "same_as", "status")
#: Columns that glossaries have for their readers.
_REMARKS = frozenset(
    ("definition", "description", "note", "notes", "comment", "comments", "context", "domain",
     "subject", "part of speech", "pos", "gender", "example", "project", "client", "author",
     "created", "modified", "date", "")
)  # fmt: skip
_QID = re.compile(r"Q[1-9]\d*")


class AliasTable(ColumnSource):
    """A table of names: ``id``, ``lang``, ``alias`` (or ``name``), perhaps ``category``, ``prior``.

    A plain ``Q567`` is Wikidata's, ``wd:Q567``.
    ``layer`` or ``tier`` say what is a common noun. The prior of layers that begin with ``wn``
    counts senses, that of all others people.
    """

    name = "table"
    also: ClassVar[dict[str, str]] = {"name": "alias"}

    def __init__(
        self, path: str | Path, *, licence: str = "not stated", skip_broken: bool = False
    ) -> None:
        super().__init__(path, skip_broken=skip_broken)
        self.licence = licence

    def rows(self) -> Iterator[tuple[Entity, Sequence[Name]]]:
        """Yield entities with names, those of one entity together if they are so in the file."""
        for last, given, rows in self.groups(("id", "lang", "alias"), "id"):
            names, entity, id_ = [], None, with_namespace(given)
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
    (or ``term``, ``name``), or wide, with one column for each language (``de``, ``term_de``,
    ``German``) and several names of one thing divided by ``|``; the columns ``source`` and
    ``target`` are of the languages that `lp` says, as ``en-de``. The columns ``id``, ``category``,
    ``prior``, ``same_as``, ``status`` and ``case sensitive`` may be there; without ``id`` a wide
    row is a thing of its own, known by its first name. Names that are deprecated or forbidden are
    left out: they are not to be kept.
    """

    licence = "yours"

    def __init__(self, path: str | Path, *, lp: str | None = None) -> None:
        self.path = Path(path)
        self.name = f"terms {self.path.name}"
        self.position = 0
        self.forbidden = 0
        self._text = files.read_text(self.path)
        self._pair = _pair(lp)
        self.version = f"{len(self._text)} characters"
        is_xml = self._text.lstrip()[:5] in {"<?xml", "<mart", "<tbx ", "<tbx>"}
        if is_xml or files.suffix(self.path) in {"tbx", "xml"}:
            tbx = Tbx(self.path)
            self._rows = [
                (Entity(_id(entry.id, entry.names), "term", CORE, TERM_PRIOR), entry.names)
                for entry in tbx.parse(self._text)
            ]
            self.forbidden = tbx.forbidden
        else:
            self._rows = list(self._table())

    def fingerprint(self) -> str:
        """Tell this input from all others."""
        return f"{self.name} {hashlib.sha256(self._text.encode()).hexdigest()} {self._pair}"

    def rows(self) -> Iterator[tuple[Entity, Sequence[Name]]]:
        """Yield one thing after the other."""
        yield from self._rows

    def counted(self) -> dict[str, Any]:
        """Count terms and names, and the names of each language."""
        langs = Counter(name.lang for _, names in self._rows for name in names)
        return {
            "terms": len({entity.id for entity, _ in self._rows}),
            "names": langs.total(),
            "languages": dict(sorted(langs.items())),
            "forbidden": self.forbidden,
        }

    def said(self) -> str:
        """Say how many terms there are, and in which languages."""
        counts = self.counted()
        langs = ", ".join(f"{lang} {n:,}" for lang, n in counts["languages"].items())
        left = f"; {plural(self.forbidden, 'name')} not to be used left out"
        said = f"{plural(counts['terms'], 'term')} of {self.path.name}: {langs}"
        return said + (left if self.forbidden else "")

    def _table(self) -> Iterator[tuple[Entity, list[Name]]]:
        head = self._text.lstrip("\n\r").partition("\n")[0]
        delimiter = max("\t;,", key=head.count)
        reader = csv.DictReader(io.StringIO(self._text, newline=""), delimiter=delimiter)
        columns = [" ".join((name or "").lower().split()) for name in reader.fieldnames or ()]
        while columns and not columns[-1]:  # a delimiter at the end of each line
            columns.pop()
        for name in columns:
            if columns.count(name) > 1:
                what = f"column '{name}' is there twice"
                raise InputError(what, path=self.path, line=1)
        reader.fieldnames = columns
        plan = _Columns.of(columns, self._pair, self.path)
        try:
            for row in reader:
                yield from self._row(row, plan, reader.line_num)
        except csv.Error as error:
            raise InputError(
                f"not valid CSV: {error}", path=self.path, line=reader.line_num
            ) from None

    def _row(
        self, row: dict[Any, Any], plan: _Columns, line: int
    ) -> Iterator[tuple[Entity, list[Name]]]:
        more = row.pop(None, [])
        given = [value for value in (*row.values(), *more) if value is not None]
        if None in row.values() or any(value.strip() for value in more):
            what = f"{len(given)} fields, expected {len(plan.names)}"
            raise InputError(what, path=self.path, line=line)
        names = list(plan.spelt(row, self.path, line))
        status = "".join(row.get("status", "").lower().split()).replace("-", "")
        if status.startswith(FORBIDDEN):
            self.forbidden += len(names)
        elif names:
            if _said(row.get(plan.case, "")) is False:
                names += [Name(lang, text.lower(), flags) for lang, text, flags in names]
                names = list(dict.fromkeys(names))
            yield self._entity(row, plan, names, line), names

    def _entity(self, row: dict[str, str], plan: _Columns, names: list[Name], line: int) -> Entity:
        own = row.get(plan.id, "").strip() if plan.id else ""
        try:
            prior = float(row.get("prior") or TERM_PRIOR)
        except ValueError:
            what = f"prior '{row['prior']}' is not a number"
            raise InputError(what, path=self.path, line=line) from None
        if not math.isfinite(prior):
            what = f"prior '{row['prior']}' is not a finite number"
            raise InputError(what, path=self.path, line=line)
        same = tuple(with_namespace(id_) for id_ in row.get("same_as", "").split())
        # What must be written as it stands is a name.
        plain = "name" if _said(row.get(plan.case, "")) else "term"
        return Entity(_id(own, names), row.get("category", "").strip() or plain, CORE, prior, same)


@dataclass(frozen=True)
class _Columns:
    """Which columns of a table hold what."""

    names: list[str]
    text: str | None  # of long tables
    lang: str | None
    id: str
    case: str
    spoken: dict[str, str]  # languages of the columns of wide ones
    stated: dict[str, str]  # columns that say the language of others

    @classmethod
    def of(cls, columns: list[str], pair: tuple[str, ...], path: Path) -> _Columns:
        def first(names: Sequence[str]) -> str | None:
            return next((name for name in names if name in columns), None)

        text, lang, id_ = first(_TEXT), first(_LANG), first(_ID) or ""
        case = first(_CASE) or ""
        spoken: dict[str, str] = {}
        stated: dict[str, str] = {}
        rest = [c for c in columns if c not in {id_, case, *_OTHER, *_REMARKS}]
        if text is None or lang is None:
            spoken, stated, unknown = _languages(rest, columns, pair)
            if (text is None) != (lang is None) and not (spoken or stated):
                missing = "lang" if lang is None else "alias"
                what = f"column '{missing}' is missing; found: {', '.join(columns)}"
                raise InputError(what, path=path, line=1)
            if unknown and unknown[0] in ("source", "target"):
                what = (
                    f"column '{unknown[0]}' does not say its language: call it by one, as 'de', or"
                    " say lp=... as en-de"
                )
                raise InputError(what, path=path, line=1)
            if unknown:
                what = (
                    f"column '{unknown[0]}' is no language; expected 'lang' and 'alias', or one "
                    "column for each language, and perhaps 'id', 'category' and 'prior'"
                )
                raise InputError(what, path=path, line=1)
            if not (spoken or stated):
                found = ", ".join(columns) or "nothing"
                what = f"no names: column 'alias' is missing; found: {found}"
                raise InputError(what, path=path, line=1)
            text = lang = None
        return cls(columns, text, lang, id_, case, spoken, stated)

    def spelt(self, row: dict[str, str], path: Path, line: int) -> Iterator[Name]:
        """Give the names of a row."""
        if self.text and self.lang:
            if row[self.text].strip():
                yield Name(_lang(row[self.lang], path, line), row[self.text])
            return
        columns = list(self.spoken.items())
        for column, told in self.stated.items():
            if row[column].strip():
                columns.append((column, _lang(row[told], path, line)))
        for column, code in columns:
            for i, name in enumerate(filter(str.strip, row[column].split("|"))):
                yield Name(code, name.strip(), int(Flag.LABEL) if i == 0 else 0)


def _languages(
    rest: list[str], columns: list[str], pair: tuple[str, ...]
) -> tuple[dict[str, str], dict[str, str], list[str]]:
    """Give columns by language, columns whose language another column says, and all others."""
    spoken, stated, unknown = {}, {}, []
    sides = dict(zip(("source", "target"), pair, strict=False))
    sides |= {f"{side} term": code for side, code in sides.items()}
    for column in rest:
        said = next((c for c in (f"{column} language", f"{column}_lang") if c in columns), None)
        if column.endswith((" language", "_lang")):
            continue
        if column in sides:
            spoken[column] = sides[column]
        elif said is not None:
            stated[column] = said
        elif (code := language_of(column)) is not None:
            spoken[column] = code
        else:
            unknown.append(column)
    return spoken, stated, unknown


def _pair(lp: str | None) -> tuple[str, ...]:
    if lp is None:
        return ()
    source, dash, target = lp.partition("-")
    if not dash:
        raise UsageError(f"lp='{lp}', expected two languages, as en-de")
    return normalise(source), normalise(target)


def _said(text: str) -> bool | None:
    """Read yes or no; None if nothing is said."""
    told = text.strip().lower()
    return None if not told else told in {"yes", "y", "true", "1", "x", "ja", "oui"}


def _lang(code: str, path: Path, line: int) -> str:
    found = language_of(code)
    if found is not None:
        return found
    try:
        return normalise(code)
    except UsageError as error:
        raise InputError(str(error), path=path, line=line) from None


def _id(given: str, names: Sequence[Name]) -> str:
    """Give an id with a namespace: the given one, or one made of the first name."""
    chosen = given or fold(names[0].text, names[0].lang)
    chosen = with_namespace("_".join(chosen.split())) if given else "_".join(chosen.split())
    return chosen if ":" in chosen and given else f"term:{chosen}"


def with_namespace(id_: str) -> str:
    """Give a plain QID the namespace of Wikidata.

    Examples
    --------
    >>> with_namespace("Q567"), with_namespace("gn:1"), with_namespace("Q")
    ('wd:Q567', 'gn:1', 'Q')
    """
    return f"wd:{id_}" if _QID.fullmatch(id_) else id_
