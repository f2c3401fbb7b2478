"""Glossaries: terms of a company or a project, as a table or TBX, added to a base.

A table is either long, with the columns ``lang`` and ``alias`` (or ``term``, ``name``), or wide,
with one column for each language (``de``, ``term_de``, ``German``) and several names of one thing
divided by ``|``; the columns ``source`` and ``target`` are of the languages that `lp` says, as
``en-de``. The columns ``id``, ``category``, ``same_as``, ``status`` and ``case sensitive`` may be
there; without ``id`` a wide row is a thing of its own. Names with a status such as deprecated or
forbidden are kept, and never linked.
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from steelyard.core.errors import InputError, UsageError
from steelyard.core.provenance import installed_version
from steelyard.formats import bitext, files, tables
from steelyard.formats.rawtable import RawTable
from steelyard.formats.view import FileView
from steelyard.kobe.base.build import replaced_folder
from steelyard.kobe.base.codec import CORE, Entity, Flag, Name
from steelyard.kobe.base.knowledge import (
    EMBEDDED,
    FORMAT,
    MANIFEST,
    TERMS,
    Glossary,
    KnowledgeBase,
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
_AROUND = frozenset(
    "term terms name names alias label text source src target tgt translation language lang locale"
    " simplified traditional".split()
)
_BETWEEN = re.compile(r"[\s_:()\[\]/.,|-]+")


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
        if lang := pair.get(column) or (None if column in _OTHER else language_of(column)):
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


def language_of(header: str) -> str | None:
    """Return the language that the header of a column names, or None.

    Examples
    --------
    >>> [language_of(h) for h in ("de-AT", "English (US)", "term_de", "Source [fr]")]
    ['de', 'en', 'de', 'fr']
    >>> language_of("colour"), language_of("term"), language_of("Chinese (Simplified)")
    (None, None, 'zh')
    """
    words = [word for word in _BETWEEN.split(header.lower()) if word and word not in _AROUND]
    if not words:
        return None
    try:
        # A tag in a longer text ends it: 'term (de-AT)'; 'part of speech' is none.
        code = normalise("-".join(words)) if len(words) < 3 and len(words[0]) < 4 else None
    except UsageError:
        return None
    return code or _language_named(words[0])


@cache
def _language_named(word: str) -> str | None:
    """Return the language of this English name, as the embedded base has it."""
    base = default()
    key = base.key("en", fold(word, "en"))
    ids = map(base.external_id, [] if key is None else base.postings(key)[0].tolist())
    return next((normalise(id_[5:]) for id_ in ids if id_.startswith("lang:")), None)


def _language(table: RawTable, code: str, row: int) -> str:
    try:
        return language_of(code) or normalise(code)
    except UsageError as error:
        table.fail(str(error), row)
