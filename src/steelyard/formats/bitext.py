"""Translation files: XLIFF 1.2 and 2.x, TMX, PO, pairs of plain files, tables; and glossaries.

XML is read by expat. External DTDs are never loaded, and a file that declares anything in its own
DTD (entities above all) is refused. Positions are those in the bytes of the file, so that notes are
put into a copy that is otherwise the same. Inline tags become text: native code as it stands
(``%s``, ``<b>``), other tags by their number (``<g1>``, ``<x2/>``), markers not at all.
"""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from html import escape
from itertools import accumulate
from pathlib import Path
from typing import Any, NamedTuple, NoReturn
from xml.parsers import expat

from steelyard.core.errors import InputError, UsageError
from steelyard.core.text import listed, plural
from steelyard.formats import columns as roles
from steelyard.formats import files, tables
from steelyard.formats.cells import is_gap, label
from steelyard.formats.format import SetFormat
from steelyard.formats.rawtable import RawTable
from steelyard.formats.view import FileView

XLIFF, TMX, PO = "XLIFF", "TMX", "PO"
_SUFFIXES = {"po": PO, "pot": PO, "tmx": TMX, "xlf": XLIFF, "xliff": XLIFF, "sdlxliff": XLIFF,
             "mqxliff": XLIFF}  # fmt: skip
_LANGUAGE = re.compile(r"[A-Za-z]{2,3}([-_][A-Za-z0-9]{2,8})*")
_NO_LANGUAGE = frozenset(
    ("txt", "src", "tgt", "trg", "ref", "hyp", "out", "tok", "bpe", "dat", "md")
)
_SOURCE = (*roles.SOURCE, *roles.ALSO["source"], "source_term")
_TARGET = ("target", "tgt", "translation", "target_text", "tgt_text", "target_segment", "mt",
           *roles.OUTPUT, "hypothesis", "target_term")  # fmt: skip
_SOURCE_LANGUAGE = ("src_lang", "source_lang", "source_language", "srclang")
_TARGET_LANGUAGE = ("tgt_lang", "target_lang", "target_language", "tgtlang", "trg_lang")


class _NotePlace(NamedTuple):
    """Where notes go in the bytes of a file: templates of a note, and of all notes together."""

    at: int
    note: str
    group: str
    encoding: str
    is_xml: bool

    def written(self, notes: Sequence[str]) -> bytes:
        """Return the bytes of some notes."""
        texts = (_UNPRINTABLE.sub("\ufffd", note) for note in notes)
        safe = (escape(t, quote=False) if self.is_xml else " ".join(t.split()) for t in texts)
        text = self.group.format("".join(map(self.note.format, safe)))
        return text.encode(self.encoding, "xmlcharrefreplace")


_UNPRINTABLE = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True, slots=True)
class BitextSegment:
    """A source and its translation, which is empty where there is none."""

    id: str
    source: str
    target: str
    line: int
    place: _NotePlace | None = field(default=None, repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class Bitext:
    """A translation: its segments in the order of the file, and its languages where known."""

    path: str
    format: str
    src_lang: str | None
    tgt_lang: str | None
    segments: tuple[BitextSegment, ...]

    @classmethod
    def of(
        cls, path: Path, form: str, segments: Sequence[BitextSegment],
        src_lang: str | None, tgt_lang: str | None,
    ) -> Bitext:  # fmt: skip
        """Number ids that occur several times; refuse a file without segments."""
        if not segments:
            raise InputError("holds no segment", path=path)
        by_name: dict[str, BitextSegment] = {}
        for segment in segments:
            name, count = segment.id, 1
            while name in by_name:
                count += 1
                name = f"{segment.id}#{count}"
            by_name[name] = replace(segment, id=name)
        return cls(str(path), form, src_lang or None, tgt_lang or None, tuple(by_name.values()))


@dataclass(frozen=True, slots=True)
class GlossaryTerm:
    """A term and a translation of it; several of one source are alternatives.

    A ``forbidden`` translation must not be used, an ``untranslatable`` term stays as it is. With
    ``case`` letters must be as written. ``segment`` is the only segment that the term is for.
    """

    source: str
    target: str
    forbidden: bool = False
    untranslatable: bool = False
    case: bool = False
    segment: str | None = None


def read_bitext(*paths: str | Path) -> Bitext:
    r"""Read a translation: one bilingual file, or a file of sources and one of translations.

    One file is XLIFF, TMX, PO, or a table (CSV, TSV, JSON lines, ...) with columns of source and
    target. Two are plain files with a line per segment, whose suffixes may name the languages.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "menu.csv"
    >>> _ = path.write_text("id,source,target\nopen,Open %s,%s öffnen\n", encoding="utf-8")
    >>> read_bitext(path).segments
    (BitextSegment(id='open', source='Open %s', target='%s öffnen', line=2),)
    """
    if len(paths) == 2:
        return _read_pair(Path(paths[0]), Path(paths[1]))
    if len(paths) != 1:
        raise UsageError("expected one bilingual file, or a source file and a target file")
    view = FileView(Path(paths[0]))
    form = bilingual_format(view)
    if form is not None:
        return _READERS[form](view.path, view.data)
    if view.head.lstrip().startswith("<"):
        view.fail("is no XLIFF and no TMX", 1)
    return _read_table(view.path)


def bilingual_format(view: FileView) -> str | None:
    """Name the format of a bilingual file by its first element, or its suffix."""
    root = re.search(r"<(?:[\w.-]+:)?(xliff|tmx)[\s>/]", view.head[:20_000])
    if root is not None and view.head.lstrip("\ufeff \t\r\n").startswith("<"):
        return {"xliff": XLIFF, "tmx": TMX}[root[1]]
    return _SUFFIXES.get(view.kind)


def write_annotated(bitext_path: Path, out: Path, notes: Mapping[str, Sequence[str]]) -> None:
    """Write a copy of XLIFF or PO that has notes at the segments with these ids.

    Notes are ``<note>`` elements, or comments of the translator; nothing else differs.
    """
    view = FileView(Path(bitext_path))
    form = bilingual_format(view)
    if form is None or form == TMX:
        raise UsageError(f"{bitext_path}: notes can be written into XLIFF and PO alone")
    segments = {segment.id: segment for segment in _READERS[form](view.path, view.data).segments}
    unknown = sorted(notes.keys() - segments)
    if unknown:
        raise UsageError(f"{bitext_path}: no segment '{unknown[0]}'")
    notes_at: dict[_NotePlace, list[str]] = {}  # segments of a unit share a place
    for id_, segment in segments.items():
        if segment.place is not None and notes.get(id_):
            notes_at.setdefault(segment.place, []).extend(notes[id_])
    content, start = b"", 0
    for place in sorted(notes_at):
        content += view.data[start : place.at] + place.written(notes_at[place])
        start = place.at
    content += view.data[start:]
    with files.replacing(Path(out)) as temporary:
        packed = Path(out).suffix == ".gz"
        temporary.write_bytes(gzip.compress(content, mtime=0) if packed else content)


# XML.

#: Inline elements that stand for native code, and those that are nothing but marks.
_CODES = frozenset(("ph", "bpt", "ept", "it", "ut", "x", "bx", "ex", "sc", "ec"))
_MARKS = frozenset(("mrk", "sm", "em", "hi", "sub"))
_DEEPEST = 200  # elements in each other


@dataclass(slots=True)
class _Node:
    """An element: what it holds, its line, and the bytes that it goes from and to."""

    tag: str
    attributes: dict[str, str]
    line: int = 1
    start: int = 0
    keeps_blanks: bool = False  # and line ends, as xml:space says
    end: int = 0
    content: list[str | _Node] = field(default_factory=list)

    @property
    def name(self) -> str:
        """The tag without the prefix of a namespace."""
        return self.tag.rpartition(":")[2]

    def children(self, *names: str) -> list[_Node]:
        """Return the elements of these names that stand directly in this one."""
        return [c for c in self.content if isinstance(c, _Node) and (c.name in names or not names)]

    def inside(self, *names: str) -> Iterator[_Node]:
        """Yield the elements of these names anywhere in this one, in their order."""
        for node in self.children():
            if node.name in names:
                yield node
            yield from node.inside(*names)

    def plain(self) -> str:
        """Return the text without tags."""
        return "".join(part if isinstance(part, str) else part.plain() for part in self.content)


def _parsed(data: bytes, path: Path) -> _Node:
    """Parse XML; refuse DTDs of the file itself, and entities."""
    parser = expat.ParserCreate()
    parser.buffer_text = True
    encoding = _xml_encoding(data)
    stack = [_Node("", {})]

    def fail(message: str) -> NoReturn:
        raise InputError(message, path=path, line=parser.CurrentLineNumber)

    def doctype(_name: str, _system: Any, _public: Any, internal: int) -> None:
        if internal:
            fail("declares a DTD of its own (entities), which is not read")

    def start(tag: str, attributes: dict[str, str]) -> None:
        if len(stack) > _DEEPEST:
            fail(f"elements in more than {_DEEPEST} others")
        space = attributes.get("xml:space")
        keeps = stack[-1].keeps_blanks if space is None else space == "preserve"
        line, at = parser.CurrentLineNumber, parser.CurrentByteIndex
        stack.append(_Node(tag, attributes, line, at, keeps))
        stack[-2].content.append(stack[-1])

    def end(tag: str) -> None:
        node, node.end = stack.pop(), parser.CurrentByteIndex
        if data.startswith(f"</{tag}".encode(encoding), node.end):  # else it is empty: <x/>
            mark = ">".encode(encoding)
            node.end = data.index(mark, node.end) + len(mark)

    def text(content: str) -> None:
        stack[-1].content.append(content)

    parser.StartDoctypeDeclHandler = doctype
    parser.SkippedEntityHandler = lambda name, _: fail(f"entity '&{name};' is not defined")
    parser.StartElementHandler, parser.EndElementHandler = start, end
    parser.CharacterDataHandler = text
    try:
        parser.Parse(data, True)
    except expat.ExpatError as error:
        message = f"not valid XML: {expat.ErrorString(error.code)}"
        raise InputError(message, path=path, line=error.lineno) from None
    except (LookupError, ValueError) as error:  # an encoding that nobody knows
        raise InputError(f"not readable XML ({error})", path=path, line=1) from None
    return stack[0]


def _xml_encoding(data: bytes) -> str:
    """Tell the encoding of XML by its mark or its declaration."""
    for mark, name in ((b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be")):
        if data.startswith(mark):
            return name
    declared = re.match(rb"(?:\xef\xbb\xbf)?<\?xml[^>]*encoding=[\"']([\w.-]+)", data)
    return declared[1].decode("ascii") if declared else "utf-8"


def _readable(node: _Node, codes: Mapping[str, str], *, keeps_blanks: bool = False) -> str:
    """Return the text of a source or target, inline tags in a form that can be compared."""
    text = "".join(_inline(part, codes) for part in node.content)
    if keeps_blanks or node.keeps_blanks:
        return text
    # Tools that indent XML break lines within texts, too.
    return re.sub(r"[ \t\r]*\n[ \t\r\n]*", " ", text).strip(" ")


def _inline(part: str | _Node, codes: Mapping[str, str]) -> str:
    if isinstance(part, str):
        return part
    name, attributes = part.name, part.attributes
    text = "".join(_inline(inner, codes) for inner in part.content)
    number = next((attributes[k] for k in ("id", "x", "i", "startRef") if k in attributes), "")
    if name in _MARKS:
        return text
    if name in _CODES:  # whose content, or what it refers to, is native code
        code = codes.get(attributes.get("dataRef", "")) or attributes.get("equiv-text")
        return text or code or attributes.get("disp") or f"<{name}{number}/>"
    start, end = (codes.get(attributes.get(key, "")) for key in ("dataRefStart", "dataRefEnd"))
    return f"{start or f'<{name}{number}>'}{text}{end or f'</{name}{number}>'}"


def _read_xliff(path: Path, data: bytes) -> Bitext:
    """Read XLIFF 1.2 (``trans-unit``) and 2.x (``unit`` with ``segment``)."""
    root = _parsed(data, path)
    heads = [node.attributes for node in root.inside("xliff", "file")]
    names = (("srcLang", "source-language"), ("trgLang", "target-language"))
    languages = [next((a[key] for a in heads for key in keys if key in a), None) for keys in names]
    segments: list[BitextSegment] = []
    for number, unit in enumerate(root.inside("trans-unit", "unit"), 1):
        id_, parts = unit.attributes.get("id") or str(number), unit.children("segment")
        if unit.name == "trans-unit":
            parts = [unit] if unit.children("source", "seg-source", "target") else []
        codes = {
            code.attributes.get("id", ""): _readable(code, {}, keeps_blanks=True)
            for code in unit.inside("data")
        }
        place = _place_in(unit, data)
        for k, part in enumerate(parts, 1):
            name = id_ if len(parts) == 1 else f"{id_}/{part.attributes.get('id') or k}"
            sides = {side.name: side for side in part.children("source", "target")}
            texts = {side: _readable(node, codes) for side, node in sides.items()}
            line = list(sides.values())[-1].line if sides else part.line
            source, target = texts.get("source", ""), texts.get("target", "")
            segments.append(BitextSegment(name, source, target, line, place))
    return Bitext.of(path, XLIFF, segments, languages[0], languages[1])


def _place_in(unit: _Node, data: bytes) -> _NotePlace:
    """Return the place of notes in a unit, which are indented as what they stand beside.

    In XLIFF 1.2 they follow the texts, in 2.x the other ``notes``, or open the unit.
    """
    encoding, prefix = _xml_encoding(data), unit.tag.removesuffix(unit.name)
    if unit.name == "trans-unit":
        key, before = "from", unit.children("source", "seg-source", "target")
    else:
        key = "category"
        before = [note for group in unit.children("notes") for note in group.children("note")]
    beside = [*before, *unit.children("originalData", "segment", "ignorable"), unit][0]
    around = data[max(0, beside.start - 400) : beside.start].decode(encoding, "replace")
    match = re.search(r"\r?\n[ \t]*$", around)
    indent = "" if match is None else match[0]
    note = f'<{prefix}note {key}="steelyard">{{}}</{prefix}note>'
    if before:
        return _NotePlace(before[-1].end, indent + note, "{}", encoding, True)
    group = f"<{prefix}notes>{{}}</{prefix}notes>{indent}"
    return _NotePlace(beside.start, note, group, encoding, True)


def _read_tmx(path: Path, data: bytes) -> Bitext:
    """Read translation units, of the source and the first other language."""
    root = _parsed(data, path)
    declared = next((h.attributes.get("srclang", "") for h in root.inside("header")), "")
    source = None if declared in ("", "*all*") else declared
    target = None
    segments = []
    for number, unit in enumerate(root.inside("tu"), 1):
        variants = [
            (_language(variant, path), _readable(text, {}, keeps_blanks=True), text.line)
            for variant in unit.children("tuv")
            for text in variant.children("seg")
        ]
        if not variants:
            continue
        source = source or variants[0][0]
        target = target or next((v[0] for v in variants if not _same(v[0], source)), None)
        sides = [
            next((v for v in variants if _same(v[0], wanted)), ("", "", 0))
            for wanted in (source, target)
        ]
        id_ = unit.attributes.get("tuid") or str(number)
        line = sides[1][2] or sides[0][2]
        segments.append(BitextSegment(id_, sides[0][1], sides[1][1], line))
    return Bitext.of(path, TMX, segments, source, target)


def _language(node: _Node, path: Path) -> str:
    lang = node.attributes.get("xml:lang") or node.attributes.get("lang")
    if not lang:
        raise InputError(f"'{node.name}' without xml:lang", path=path, line=node.line)
    return lang


def _same(lang: str | None, other: str | None) -> bool:
    first, second = (re.split("[-_]", tag or "")[0].casefold() for tag in (lang, other))
    return first == second != ""


# PO.

_PO_LINE = re.compile(r'\s*((#~)?(#\|)?\s*(msg[a-z_]+(\[\d+\])?)?\s*".*"|#.*|)\s*')


def _read_po(path: Path, data: bytes) -> Bitext:
    import polib

    charset = re.search(rb"charset=([\w.-]+)", data[:20_000])
    encoding = charset[1].decode("ascii") if charset and charset[1] != b"CHARSET" else "utf-8"
    encoding = "utf-8-sig" if data.startswith(b"\xef\xbb\xbf") else encoding
    try:
        text = data.decode(encoding)
    except LookupError:
        raise InputError(f"charset '{encoding}' is unknown", path=path) from None
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputError(f"not {encoding}, as it says", path=path, line=line) from None
    for line, row in enumerate(re.split("\r\n|\r|\n", text), 1):
        if not _PO_LINE.fullmatch(row):  # polib would leave a part of it out
            raise InputError("not valid PO: expected a text in quotes", path=path, line=line)
    try:
        entries = polib.pofile(str(files.on_disk(path)), wrapwidth=0, encoding=encoding)
    except (OSError, ValueError) as error:
        at = re.search(r"\(line (\d+)\)(: (.*))?", str(error))
        reason, at_line = ((at[3] or "syntax error"), int(at[1])) if at else (str(error), None)
        raise InputError(f"not valid PO: {reason}", path=path, line=at_line) from None
    starts = list(accumulate(map(len, data.splitlines(keepends=True)), initial=0))
    note = "# {}\r\n" if b"\r\n" in data else "# {}\n"
    segments = []
    for number, entry in enumerate((e for e in entries if not e.obsolete), 1):
        line = entry.linenum or 1
        place = _NotePlace(starts[min(line, len(starts)) - 1], note, "{}", encoding, False)
        forms = entry.msgstr_plural or {None: entry.msgstr}
        for form, target in sorted(forms.items()):
            source = entry.msgid_plural if form and entry.msgid_plural else entry.msgid
            id_ = str(number) if form is None else f"{number}[{form}]"
            segments.append(BitextSegment(id_, source, target, line, place))
    about = entries.metadata
    source_language = about.get("X-Source-Language") or about.get("Source-Language")
    return Bitext.of(path, PO, segments, source_language, about.get("Language"))


_READERS = {XLIFF: _read_xliff, TMX: _read_tmx, PO: _read_po}


# Plain files and tables.


def _read_pair(source: Path, target: Path) -> Bitext:
    sources, targets = (files.lines(files.read_text(path)) for path in (source, target))
    if len(sources) != len(targets):
        message = f"{plural(len(targets), 'line')}, but {source} has {len(sources)}"
        raise InputError(message, path=target, line=min(len(sources), len(targets)) + 1)
    pairs = enumerate(zip(sources, targets, strict=True), 1)
    segments = [BitextSegment(str(n), text, translation, n) for n, (text, translation) in pairs]
    suffixes = [path.name.removesuffix(".gz").rpartition(".")[2] for path in (source, target)]
    languages = [
        suffix if _LANGUAGE.fullmatch(suffix) and suffix.casefold() not in _NO_LANGUAGE else None
        for suffix in suffixes
    ]
    bitext = Bitext.of(source, "plain text", segments, languages[0], languages[1])
    return replace(bitext, path=f"{source} and {target}")


def _column(table: RawTable, names: Sequence[str]) -> str | None:
    spelt = {roles.key(name): name for name in reversed(list(table.columns))}
    return next((spelt[name] for name in names if name in spelt), None)


def _needed(table: RawTable, source: str | None, target: str | None) -> tuple[str, str]:
    """Return the columns of source and target; refuse a table that lacks one."""
    if source is None or target is None:
        lacking = "source" if source is None else "target"
        table.fail(f"no column '{lacking}', found {listed(list(table.columns), 8)}")
    return source, target


def _cells(table: RawTable, column: str | None) -> list[str]:
    """Return the texts of a column; empty where a cell is, or where there is no column."""
    if column is None:
        return [""] * table.n_rows
    return [
        "" if is_gap(cell) and cell != "-" else label(cell) or "" for cell in table.columns[column]
    ]


def _only(table: RawTable, names: Sequence[str]) -> str | None:
    """Return the only value of a column, None if there is no such column or it has several."""
    values = set(_cells(table, _column(table, names))) - {""}
    return values.pop() if len(values) == 1 else None


def _read_table(path: Path) -> Bitext:
    table = tables.read(path, is_text=lambda _: True)
    source, target = _needed(table, _column(table, _SOURCE), _column(table, _TARGET))
    ids = next((n for n in table.columns if roles.key(n) in roles.SEGMENT), None)
    ids = ids or next((n for n in table.columns if roles.names_items(n)), None)
    names = [str(n) for n in range(1, table.n_rows + 1)] if ids is None else table.labels(ids)
    texts = zip(names, table.texts(source), table.texts(target), strict=True)
    segments = [
        BitextSegment(name, source_text or "", target_text or "", table.line(row))
        for row, (name, source_text, target_text) in enumerate(texts)
    ]
    languages = [_only(table, columns) for columns in (_SOURCE_LANGUAGE, _TARGET_LANGUAGE)]
    pair = _only(table, roles.LANGUAGES) or ""
    if "-" in pair and languages == [None, None]:
        languages = list(pair.split("-", 1))
    return Bitext.of(path, "table", segments, languages[0], languages[1])


# Glossaries.

_YES = frozenset(("yes", "y", "true", "1", "x", "ja", "oui"))
_NO = frozenset(("", "no", "n", "false", "0", "nein", "non"))
#: How a status begins that forbids a term.
_BANNED = ("deprecated", "superseded", "obsolete", "forbidden", "donotuse", "notallowed")
_UNTRANSLATABLE = ("untranslatable", "do_not_translate", "dnt", "keep", "no_translation")
#: What else a row of a glossary may say of its term.
_ABOUT_TERMS = (
    ("forbidden", "banned", "do_not_use", "not_allowed", "wrong"),
    ("status", "usage", "administrative_status", "usage_status"),
    ("case_sensitive", "casesensitive", "case", "match_case"),
    ("segment", "seg", "segment_id", "seg_id", "sentence", "sentence_id", "line"),
)
#: Where TBX says a term's status: ``type`` of a note, or the name of an element.
_TBX_STATUS = frozenset(("administrativeStatus", "normativeAuthorization", "usageStatus", "status"))
_HEADER = re.compile(
    r"(?:(?:term|source|target|lang)[ _:]?)?[(\[]?([A-Za-z]{2,3}(?:[-_][A-Za-z]{2,4})?)[)\]]?"
)


def is_banned(status: str) -> bool:
    """Tell whether the status of a term forbids it."""
    return re.sub(r"[\s_-]", "", status.casefold()).startswith(_BANNED)


def language_of(header: str) -> str | None:
    """Return the language that a header names by its code: ``de``, ``de-AT``, ``term_de``."""
    code = _HEADER.fullmatch(header.strip())
    no_language = ("id", "pos", "src", "tgt", "dnt")
    return code[1] if code and code[1].casefold() not in no_language else None


def read_glossary(
    path: str | Path, src_lang: str | None = None, tgt_lang: str | None = None
) -> list[GlossaryTerm]:
    """Read the terms of two languages, by default the first two, from CSV, TSV or TBX.

    A table has the columns ``source`` and ``target``, or one for each language (``en``,
    ``term_de``), with alternatives between ``|``. Further columns: ``forbidden`` (yes, or the
    forbidden words themselves), ``status``, ``untranslatable``, ``case sensitive``, ``segment``.
    """
    view = FileView(Path(path))
    is_tbx = view.head.lstrip("\ufeff \t\r\n").startswith("<") or view.kind == "tbx"
    terms = list((_tbx_terms if is_tbx else _table_terms)(view, (src_lang, tgt_lang)))
    if not terms:
        view.fail("holds no term")
    return list(dict.fromkeys(terms))


_Wanted = tuple[str | None, str | None]


def _chosen(languages: Sequence[str], wanted: _Wanted) -> list[str | None]:
    """Return the languages that are wanted, else the first that are left; None for lack of one."""
    chosen = [next((lang for lang in languages if _same(lang, w)), None) for w in wanted]
    left = [lang for lang in languages if not any(_same(lang, other) for other in chosen)]
    for k, lang in enumerate(wanted):
        if lang is None and left:
            chosen[k] = left[0]
            left = [other for other in left if not _same(other, left[0])]
    return chosen


def _table_terms(view: FileView, wanted: _Wanted) -> Iterator[GlossaryTerm]:
    table = tables.read(view.path, is_text=lambda _: True)
    source, target = _column(table, (*_SOURCE, "term")), _column(table, _TARGET)
    by_language = {lang: name for name in table.columns if (lang := language_of(name))}
    if source is None or (target is None and by_language):
        source, target = (by_language.get(lang or "") for lang in _chosen([*by_language], wanted))
    kept = _cells(table, _column(table, _UNTRANSLATABLE))
    source, _ = _needed(table, source, target or (source if any(kept) else None))
    further = (_cells(table, _column(table, names)) for names in _ABOUT_TERMS)
    cells = zip(_cells(table, source), _cells(table, target), kept, *further, strict=True)
    for row, (term, translation, keep, forbidden, status, case, segment) in enumerate(cells):
        if not term.strip():
            table.fail(f"{table.named(source)} is empty, expected a term", row)
        names, translations, stays = _split(term), _split(translation), _is_yes(keep)
        banned_words = [] if forbidden.strip().casefold() in _YES | _NO else _split(forbidden)
        if not translations and not stays and not banned_words:
            table.fail(f"'{names[0]}' has no translation", row)
        banned = _is_yes(forbidden) or is_banned(status)
        for name in names:
            about: dict[str, Any] = {"case": _is_yes(case), "segment": segment.strip() or None}
            for other in translations or ([name] if stays else []):
                yield GlossaryTerm(name, other, banned, stays, **about)
            for other in banned_words:
                yield GlossaryTerm(name, other, True, False, **about)


def _split(cell: str) -> list[str]:
    return [part.strip() for part in cell.split("|") if part.strip()]


def _is_yes(cell: str) -> bool:
    return cell.strip().casefold() in _YES


def tbx_entries(path: Path, data: bytes) -> list[tuple[str, list[tuple[str, str, bool]]]]:
    """Read the entries of TBX 2 and 3: id, and terms (language, text, whether it is forbidden)."""
    entries = []
    for entry in _parsed(data, path).inside("termEntry", "conceptEntry"):
        sections = entry.inside("langSet", "langSec")
        terms = [(_language(s, path), *term) for s in sections for term in _section_terms(s)]
        entries.append((entry.attributes.get("id", ""), terms))
    return entries


def _section_terms(section: _Node) -> Iterator[tuple[str, bool]]:
    for part in list(section.inside("tig", "ntig", "termSec")) or [section]:
        notes = [n for n in part.inside(*_TBX_STATUS, "termNote", "admin", "note")
                 if n.name in _TBX_STATUS or n.attributes.get("type") in _TBX_STATUS]  # fmt: skip
        banned = any(is_banned(note.plain()) for note in notes)
        texts = (" ".join(term.plain().split()) for term in part.inside("term"))
        yield from ((text, banned) for text in texts if text)


def _tbx_terms(view: FileView, wanted: _Wanted) -> Iterator[GlossaryTerm]:
    entries = [terms for _, terms in tbx_entries(view.path, view.data)]
    languages = _chosen(list(dict.fromkeys(term[0] for terms in entries for term in terms)), wanted)
    if None in languages:
        lacking = wanted[languages.index(None)] or "two languages"
        view.fail(f"has no terms of {lacking}, expected TBX")
    for terms in entries:
        sources, targets = ([t[1:] for t in terms if _same(t[0], lang)] for lang in languages)
        for source, banned in sources:
            for target, forbidden in () if banned else targets:
                yield GlossaryTerm(source, target, forbidden)


def _form(name: str, **about: Any) -> SetFormat:
    return SetFormat(
        name=name,
        gives=Bitext,
        looks=("text",),
        recognise=lambda view: bilingual_format(view) == name,
        read=lambda view, _lp, _where: read_bitext(view.path),
        **about,
    )


FORMATS = (
    _form(
        XLIFF,
        known_by="XML with the root xliff, version 1.2 or 2.x",
        example='<xliff version="1.2"><file source-language="en" target-language="de"><body>'
        '<trans-unit id="1"><source>Open</source><target>Öffnen</target></trans-unit></body></file>'
        "</xliff>\n",
        example_name="menu.xlf",
    ),
    _form(
        TMX,
        known_by="XML with the root tmx",
        example='<tmx version="1.4"><header srclang="en"/><body><tu><tuv xml:lang="en"><seg>Open'
        '</seg></tuv><tuv xml:lang="de"><seg>Öffnen</seg></tuv></tu></body></tmx>\n',
        example_name="memory.tmx",
    ),
    _form(
        PO,
        known_by="name ends in .po or .pot",
        example='msgid "Open"\nmsgstr "Öffnen"\n',
        example_name="de.po",
    ),
)
