"""Glossaries: terms of a company or a project, as CSV, TSV or TBX, added to a base.

A table (comma-, tab- or semicolon-separated) is either long, with the columns ``lang`` and
``alias`` (or ``term``, ``name``), or wide, with one column for each language (``de``, ``term_de``,
``German``) and several names of one thing divided by ``|``; the columns ``source`` and ``target``
are of the languages that `lp` says, as ``en-de``. The columns ``id``, ``category``, ``prior``,
``same_as``, ``status`` and ``case sensitive`` may be there; without ``id`` a wide row is a thing of
its own, known by its first name. TBX is read in versions 2 and 3, in any dialect.

Names that are deprecated or forbidden are kept with a flag: no text is linked with them, and
`KnowledgeBase.forbidden` lists them.
"""

from __future__ import annotations

import csv
import io
import json
import math
import os
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree as ET
from xml.parsers import expat

from steelyard.core.errors import InputError, UsageError
from steelyard.core.provenance import installed_version
from steelyard.formats import files
from steelyard.kobe.base.build import replaced_folder
from steelyard.kobe.base.codec import CORE, Entity, Flag, Name
from steelyard.kobe.base.knowledge import (
    EMBEDDED,
    FORMAT,
    MANIFEST,
    TERMS,
    Glossary,
    KnowledgeBase,
    Rows,
    below,
    default,
    read_manifest,
    read_terms,
)
from steelyard.kobe.base.sources import with_namespace
from steelyard.kobe.languages import normalise
from steelyard.kobe.linking.wordforms import fold

#: What a company checks first is meant before anything else that has the same name.
TERM_PRIOR = 9.0
_LABEL, _FORBIDDEN = int(Flag.LABEL), int(Flag.FORBIDDEN)
#: How a status begins that forbids a name.
_BANNED = ("deprecated", "superseded", "obsolete", "forbidden", "donotuse", "notallowed")


def read_glossary(path: str | Path, *, lp: str | None = None) -> Glossary:
    """Read a glossary; `lp` says the languages of columns called source and target."""
    file = Path(path)
    text = files.read_text(file)
    is_xml = text.lstrip("\ufeff \n\r\t")[:5] in {"<?xml", "<mart", "<tbx ", "<tbx>"}
    if is_xml or files.suffix(file) in {"tbx", "xml"}:
        rows = list(_tbx(text, file))
    else:
        rows = list(_table(text, _pair(lp), file))
    return Glossary(f"terms {file.name}", f"{len(text)} characters", "yours", rows)


def counted(glossary: Glossary) -> dict[str, Any]:
    """Count terms and names to be used, the names of each language, and forbidden names."""
    names = [(entity.id, name) for entity, own in glossary.rows for name in own]
    allowed = [(id_, name) for id_, name in names if not name.flags & _FORBIDDEN]
    langs = Counter(name.lang for _, name in allowed)
    return {
        "terms": len({id_ for id_, _ in allowed}),
        "names": len(allowed),
        "languages": dict(sorted(langs.items())),
        "forbidden": len(names) - len(allowed),
    }


def add(
    glossary: Glossary, folder: Path, *, upon: str | None = None, force: bool = False
) -> KnowledgeBase:
    """Add terms to a base, and open it.

    Parameters
    ----------
    glossary
        The terms. What a glossary of the same name said before is replaced.
    folder
        The base.
    upon
        Make a new base that lies upon this one (``embedded`` or a folder), instead of adding to
        the one that is there.
    force
        With `upon`: replace the base that is there.
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
    """Give an id with a namespace: the stated one, or one made of the first name."""
    if stated:
        id_ = with_namespace("_".join(stated.split()))
        return id_ if ":" in id_ else f"term:{id_}"
    return "term:" + "_".join(fold(names[0].text, names[0].lang).split())


def _is_banned(status: str) -> bool:
    return "".join(status.lower().split()).replace("-", "").startswith(_BANNED)


# -- tables

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
_YES = frozenset({"yes", "y", "true", "1", "x", "ja", "oui"})


class _Columns(NamedTuple):
    """Which columns of a table hold what."""

    id: str
    case: str
    long: bool  # one name in a row
    languages: dict[str, str]  # of columns of names
    stated: dict[str, str]  # per column of names, the column that says its language


def _pair(lp: str | None) -> tuple[str, ...]:
    if lp is None:
        return ()
    source, dash, target = lp.partition("-")
    if not dash:
        raise UsageError(f"lp='{lp}', expected two languages, as en-de")
    return normalise(source), normalise(target)


def _table(text: str, pair: tuple[str, ...], path: Path) -> Iterator[tuple[Entity, list[Name]]]:
    head = text.lstrip("\n\r").partition("\n")[0]
    delimiter = max("\t;,", key=head.count)
    reader = csv.DictReader(io.StringIO(text, newline=""), delimiter=delimiter)
    columns = [" ".join((name or "").lower().split()) for name in reader.fieldnames or ()]
    while columns and not columns[-1]:  # a delimiter at the end of each line
        columns.pop()
    for name in columns:
        if columns.count(name) > 1:
            raise InputError(f"column '{name}' is there twice", path=path, line=1)
    reader.fieldnames = columns
    plan = _columns(columns, pair, path)
    try:
        for row in reader:
            more = row.pop(None, [])
            if None in row.values() or any(value.strip() for value in more):
                n = len([value for value in (*row.values(), *more) if value is not None])
                what = f"{n} fields, expected {len(columns)}"
                raise InputError(what, path=path, line=reader.line_num)
            if names := list(_names(row, plan, path, reader.line_num)):
                yield _entity(row, plan, names, path, reader.line_num), names
    except csv.Error as error:
        raise InputError(f"not valid CSV: {error}", path=path, line=reader.line_num) from None


def _columns(columns: list[str], pair: tuple[str, ...], path: Path) -> _Columns:
    def first(names: Sequence[str]) -> str:
        return next((name for name in names if name in columns), "")

    text, lang, id_, case = first(_TEXT), first(_LANG), first(_ID), first(_CASE)
    if text and lang:
        return _Columns(id_, case, True, {}, {text: lang})
    sides = dict(zip(("source", "target"), pair, strict=False))
    sides |= {f"{side} term": code for side, code in sides.items()}
    languages, stated, unknown = dict[str, str](), dict[str, str](), list[str]()
    for column in columns:
        if column in {id_, case, *_OTHER, *_REMARKS} or column.endswith((" language", "_lang")):
            continue
        code = sides.get(column)
        beside = [c for c in (f"{column} language", f"{column}_lang") if c in columns]
        if code is None and beside:
            stated[column] = beside[0]
        elif code := code or language_of(column):
            languages[column] = code
        else:
            unknown.append(column)
    what = ""
    if bool(text) != bool(lang) and not (languages or stated):
        missing = "alias" if lang else "lang"
        what = f"column '{missing}' is missing; found: {', '.join(columns)}"
    elif unknown and unknown[0] in ("source", "target"):
        what = (
            f"column '{unknown[0]}' does not say its language: call it by one, as 'de', or"
            " say lp=... as en-de"
        )
    elif unknown:
        what = (
            f"column '{unknown[0]}' is no language; expected 'lang' and 'alias', or one "
            "column for each language, and perhaps 'id', 'category' and 'prior'"
        )
    elif not (languages or stated):
        what = f"no names: column 'alias' is missing; found: {', '.join(columns) or 'nothing'}"
    if what:
        raise InputError(what, path=path, line=1)
    return _Columns(id_, case, False, languages, stated)


def _names(row: dict[str, str], plan: _Columns, path: Path, line: int) -> Iterator[Name]:
    """Give the names of a row; in small letters, too, where their case does not matter."""
    columns = list(plan.languages.items())
    for column, stated in plan.stated.items():
        if row[column].strip():
            columns.append((column, _language(row[stated], path, line)))
    flags = _FORBIDDEN if _is_banned(row.get("status", "")) else 0
    names = []
    for column, lang in columns:
        texts = [row[column]] if plan.long else row[column].split("|")
        for i, text in enumerate(filter(str.strip, texts)):
            label = 0 if plan.long or i or flags else _LABEL
            names.append(Name(lang, text.strip(), flags | label))
    case = row.get(plan.case, "").strip().lower()
    if case and case not in _YES:
        names += [Name(lang, text.lower(), flag) for lang, text, flag in names]
    return iter(dict.fromkeys(names))


def _entity(
    row: dict[str, str], plan: _Columns, names: list[Name], path: Path, line: int
) -> Entity:
    try:
        prior = float(row.get("prior") or TERM_PRIOR)
    except ValueError:
        raise InputError(f"prior '{row['prior']}' is not a number", path=path, line=line) from None
    if not math.isfinite(prior):
        raise InputError(f"prior '{row['prior']}' is not a finite number", path=path, line=line)
    same = tuple(with_namespace(id_) for id_ in row.get("same_as", "").split())
    # What must be written as it stands is a name.
    plain = "name" if row.get(plan.case, "").strip().lower() in _YES else "term"
    category = row.get("category", "").strip() or plain
    return Entity(_id(row.get(plan.id, "").strip(), names), category, CORE, prior, same)


# -- languages of columns

_AROUND = frozenset(
    "term terms name names alias label text source target src tgt trg translation preferred main "
    "language lang locale simplified traditional".split()
)
_BETWEEN = re.compile(r"[\s_:()\[\]/.,|-]+")
#: In these languages any language may be named; in others, the language itself.
_READ = frozenset({"en", "de", "fr", "es", "it"})
_ALSO = {
    "castilian": "es", "česky": "cs", "farsi": "fa", "flemish": "nl", "bokmål": "nb",
    "mandarin": "zh", "norsk": "nb", "slovene": "sl",
}  # fmt: skip


def language_of(header: str) -> str | None:
    """Give the language that the header of a column names, or None.

    Examples
    --------
    >>> [language_of(h) for h in ("de-AT", "English (US)", "term_de", "Source [fr]", "Deutsch")]
    ['de', 'en', 'de', 'fr', 'de']
    >>> language_of("colour"), language_of("term"), language_of("Chinese (Simplified)")
    (None, None, 'zh')
    """
    words = [word for word in _BETWEEN.split(header.lower()) if word and word not in _AROUND]
    if not words:
        return None
    name = _language_named(words[0])
    if name is not None and all(len(word) < 14 for word in words[1:]):
        return name
    try:
        # A tag in a longer text ends it: 'term (de-AT)'; 'part of speech' is none.
        return normalise("-".join(words)) if len(words) < 3 and len(words[0]) < 4 else None
    except UsageError:
        return None


@cache
def _language_named(word: str) -> str | None:
    """Give the language of this name, as the embedded base knows languages."""
    base = default()
    for lang in base.languages:
        key = base.key(lang, fold(word, lang))
        for entity in () if key is None else base.postings(key)[0].tolist():
            id_ = base.external_id(entity)
            if id_ == f"lang:{lang}" or (lang in _READ and id_.startswith("lang:")):
                return normalise(id_.removeprefix("lang:"))
    return _ALSO.get(word)


def _language(code: str, path: Path, line: int) -> str:
    try:
        return language_of(code) or normalise(code)
    except UsageError as error:
        raise InputError(str(error), path=path, line=line) from None


# -- TBX

_ENTRIES = frozenset({"termEntry", "conceptEntry"})
_LANGUAGES = frozenset({"langSet", "langSec"})
_TERMS = frozenset({"tig", "ntig", "termSec"})
#: Where a term's status is said: ``type`` of a note, or the name of an element of its own.
_STATUS = frozenset({"administrativeStatus", "normativeAuthorization", "usageStatus", "status"})
_XML_LANG = "{http://www.w3.org/XML/1998/namespace}lang"


def _tbx(text: str, path: Path) -> Rows:
    """Give the entries that have terms."""
    if (at := text.find("<!ENTITY")) >= 0:
        what = "declares XML entities, which are not read"
        raise InputError(what, path=path, line=text.count("\n", 0, at) + 1)
    try:
        root = ET.fromstring(text.lstrip("\ufeff \n\r\t"))  # noqa: S314 - without entities
    except ET.ParseError as error:
        what = f"not valid XML: {expat.ErrorString(error.code)}"
        raise InputError(what, path=path, line=error.position[0]) from None
    rows = []
    for entry in _inside(root, _ENTRIES):
        names: list[Name] = []
        for section in _inside(entry, _LANGUAGES):
            code = section.get(_XML_LANG) or section.get("lang") or ""
            lang = _language(code, path, _line(text, f"lang=[\"']{re.escape(code)}[\"']"))
            for part in list(_inside(section, _TERMS)) or [section]:
                names += _of_section(part, lang, names)
        if names:
            rows.append((Entity(_id(entry.get("id", ""), names), "term", CORE, TERM_PRIOR), names))
    if not rows:
        raise InputError("no terms: expected TBX with termEntry or conceptEntry", path=path)
    return rows


def _of_section(part: ET.Element, lang: str, before: Sequence[Name]) -> list[Name]:
    """Give the terms of a section; the first that may be used is the main name."""
    notes = [e for e in part.iter() if _tag(e) in _STATUS or e.get("type") in _STATUS]
    banned = any(_is_banned("".join(note.itertext())) for note in notes)
    names: list[Name] = []
    for element in _inside(part, frozenset({"term"})):
        if term := " ".join("".join(element.itertext()).split()):
            named = any(n.lang == lang and n.flags & _LABEL for n in (*before, *names))
            flags = _FORBIDDEN if banned else 0 if named else _LABEL
            names.append(Name(lang, term, flags))
    return names


def _tag(element: ET.Element) -> str:
    return str(element.tag).rpartition("}")[2]


def _inside(element: ET.Element, tags: frozenset[str]) -> Iterator[ET.Element]:
    return (inner for inner in element.iter() if _tag(inner) in tags)


def _line(text: str, pattern: str) -> int:
    match = re.search(pattern, text)
    return text.count("\n", 0, match.start() if match else 0) + 1
