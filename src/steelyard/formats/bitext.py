"""Translation files: XLIFF 1.2 and 2.x, TMX, PO, pairs of plain files, tables; and glossaries.

XML is read by expat. External DTDs are never loaded, and a file that declares anything in its own
DTD (entities above all) is refused. Positions are those in the bytes of the file, so that notes are
put into a copy that is otherwise the same. Inline tags become text: native code as it stands
(``%s``, ``<b>``), other tags by their number (``<g1>``, ``<x2/>``), markers not at all.
"""

from __future__ import annotations

import gzip
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NoReturn
from xml.parsers import expat
from xml.sax.saxutils import escape

from steelyard.core.errors import InputError, UsageError
from steelyard.core.text import listed, plural
from steelyard.formats import columns as roles
from steelyard.formats import files, tables
from steelyard.formats.cells import is_gap, label
from steelyard.formats.files import on_disk
from steelyard.formats.format import SetFormat
from steelyard.formats.rawtable import RawTable
from steelyard.formats.view import FileView

XLIFF, TMX, PO = "XLIFF", "TMX", "PO"
_SUFFIXES = {"po": PO, "pot": PO, "tmx": TMX, "xlf": XLIFF, "xliff": XLIFF, "sdlxliff": XLIFF,
             "mqxliff": XLIFF}  # fmt: skip
_LANGUAGE = re.compile(r"[A-Za-z]{2,3}([-_][A-Za-z0-9]{2,8})*")
_SOURCE = (*roles.SOURCE, *roles.ALSO["source"], "source_term")
_TARGET = ("target", "tgt", "translation", "target_text", "tgt_text", "target_segment", "mt",
           *roles.OUTPUT, "hypothesis", "target_term")  # fmt: skip
_SOURCE_LANGUAGE = ("src_lang", "source_lang", "source_language", "srclang")
_TARGET_LANGUAGE = ("tgt_lang", "target_lang", "target_language", "tgtlang", "trg_lang")


@dataclass(frozen=True, slots=True)
class BitextSegment:
    """A source and its translation, which is empty where there is none."""

    id: str
    source: str
    target: str
    line: int


@dataclass(frozen=True, slots=True)
class Bitext:
    """A translation: its segments in the order of the file, and its languages where known."""

    path: str
    format: str
    src_lang: str | None
    tgt_lang: str | None
    segments: tuple[BitextSegment, ...]


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

    Parameters
    ----------
    *paths
        XLIFF 1.2 or 2.x, TMX, PO, or a table (CSV, TSV, JSON lines, ...) with columns of source and
        target; or two plain files with a line per segment, whose suffixes may name the languages.

    Raises
    ------
    InputError
        What is wrong, with the file and the line.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "menu.csv"
    >>> _ = path.write_text("id,source,target\nopen,Open %s,%s öffnen\n", encoding="utf-8")
    >>> read_bitext(path).segments
    (BitextSegment(id='open', source='Open %s', target='%s öffnen', line=2),)
    """
    if len(paths) == 2:
        return _plain_pair(Path(paths[0]), Path(paths[1]))
    if len(paths) != 1:
        raise UsageError("expected one bilingual file, or a source file and a target file")
    path = Path(paths[0])
    view = FileView(path)
    form = bilingual_format(view)
    if form == PO:
        return _bitext(path, PO, _read_po(path))
    if form is not None:
        units = (_Xliff if form == XLIFF else _Tmx)(path).read(view.data)
        return _bitext(path, form, units)
    if view.head.lstrip().startswith("<"):
        view.fail("is no XLIFF and no TMX", 1)
    return _read_table(path)


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
    if form not in (XLIFF, PO):
        raise UsageError(f"{bitext_path}: notes can be written into XLIFF and PO alone")
    units = _read_po(view.path) if form == PO else _Xliff(view.path).read(view.data)
    unknown = sorted(notes.keys() - {unit.id for unit in units.segments})
    if unknown:
        raise UsageError(f"{bitext_path}: no segment '{unknown[0]}'")
    data = view.data
    together: dict[int, tuple[_Unit, list[str]]] = {}  # segments of a unit have one place
    for unit in units.segments:
        together.setdefault(unit.place, (unit, []))[1].extend(notes.get(unit.id, ()))
    pieces, at = [], 0
    for place, (unit, texts) in sorted(together.items()):
        if texts:
            pieces += [data[at:place], units.noted(unit, texts)]
            at = place
    content = b"".join([*pieces, data[at:]])
    with files.replacing(Path(out)) as temporary:
        packed = Path(out).suffix == ".gz"
        temporary.write_bytes(gzip.compress(content, mtime=0) if packed else content)


# What readers find.


@dataclass(slots=True)
class _Unit:
    """A segment, and where notes on it go: a position in the file, and what goes around them."""

    id: str
    line: int
    source: str = ""
    target: str = ""
    place: int = 0
    indent: str = ""
    prefix: str = ""  # of its namespace
    inside: bool = True  # notes stand in an element of their own that is there already


@dataclass(slots=True)
class _Units:
    """The segments of a file, its languages, and how notes are written into it."""

    segments: list[_Unit]
    src_lang: str | None
    tgt_lang: str | None
    noted: Callable[[_Unit, Sequence[str]], bytes] = lambda _unit, _notes: b""


def _bitext(path: Path, form: str, units: _Units) -> Bitext:
    if not units.segments:
        raise InputError("holds no segment", path=path)
    segments = tuple(BitextSegment(u.id, u.source, u.target, u.line) for u in units.segments)
    return Bitext(str(path), form, units.src_lang, units.tgt_lang, segments)


def _apart(units: Sequence[_Unit]) -> None:
    """Number ids that occur several times."""
    counts = Counter(unit.id for unit in units)
    taken, seen = set(counts), Counter[str]()
    for unit in units:
        name = unit.id
        seen[name] += 1
        while counts[name] > 1 and seen[name] > 1 and unit.id in taken:
            unit.id = f"{name}#{seen[name]}"
            seen[name] += unit.id in taken
        taken.add(unit.id)


# XML.


def parse_xml(
    data: bytes,
    path: Path,
    start: Callable[[str, dict[str, str]], None],
    end: Callable[[str], None],
    text: Callable[[str], None],
) -> Any:
    """Make a parser that calls these; refuse DTDs of the file itself, and entities.

    Returns a function that parses the file, and the parser, which knows positions.
    """
    parser = expat.ParserCreate()
    parser.buffer_text = True

    def fail(message: str) -> NoReturn:
        raise InputError(message, path=path, line=parser.CurrentLineNumber)

    def doctype(_name: str, _system: Any, _public: Any, internal: int) -> None:
        if internal:
            fail("declares a DTD of its own (entities), which is not read")

    parser.StartDoctypeDeclHandler = doctype
    parser.EntityDeclHandler = lambda *_: fail("declares XML entities, which are not read")
    parser.SkippedEntityHandler = lambda name, _: fail(f"entity '&{name};' is not defined")
    parser.StartElementHandler, parser.EndElementHandler = start, end
    parser.CharacterDataHandler = text

    def run() -> None:
        try:
            parser.Parse(data, True)
        except expat.ExpatError as error:
            message = f"not valid XML: {expat.ErrorString(error.code)}"
            raise InputError(message, path=path, line=error.lineno) from None
        except (LookupError, ValueError) as error:  # an encoding that nobody knows
            raise InputError(f"not readable XML ({error})", path=path, line=1) from None

    return run, parser


#: Inline elements whose content is native code, and those that are nothing but marks.
_NATIVE = frozenset(("ph", "bpt", "ept", "it", "ut"))
_MARKS = frozenset(("mrk", "sm", "em", "hi", "sub"))


class _Reader:
    """What XLIFF and TMX share: a stack of elements, and a text that is being read."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.units: list[_Unit] = []
        self.stack: list[str] = []
        self.preserved = [False]  # whether blanks count, for each element that is open
        self.parts: list[str] | None = None  # of the text that is being read
        self.inline: list[tuple[str, str]] = []  # ends of inline elements that are open
        self.codes: dict[str, str] = {}  # native code of a unit, by id
        self.src_lang: str | None = None
        self.tgt_lang: str | None = None

    def read(self, data: bytes) -> _Units:
        self.data, self.encoding = data, _xml_encoding(data)
        run, self.parser = parse_xml(data, self.path, self._start, self._end, self._text)
        run()
        _apart(self.units)
        return _Units(self.units, self.src_lang, self.tgt_lang)

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        name = tag.rpartition(":")[2]
        if self.parts is None:
            self.start(name, tag, attributes)
        else:
            self.parts.append(self.opened(name, attributes))
        self.stack.append(name)
        space = attributes.get("xml:space")
        self.preserved.append(self.preserved[-1] if space is None else space == "preserve")

    def _end(self, tag: str) -> None:
        name, self.tag = self.stack.pop(), tag
        self.keeps = self.preserved.pop()
        if self.inline:
            native, shown = self.inline.pop()
            if self.parts is not None and shown:
                empty = not native or self.parts[-1] == native
                self.parts.append(shown if empty else "")
            return
        self.end(name)

    def _text(self, text: str) -> None:
        if self.parts is not None:
            self.parts.append(text)

    def opened(self, name: str, attributes: Mapping[str, str]) -> str:
        """Return what an inline element begins with, and remember what it ends with."""
        number = next((attributes[k] for k in ("id", "x", "i", "startRef") if k in attributes), "")
        start, end = f"<{name}{number}>", f"</{name}{number}>"
        if name in _MARKS:
            start = end = ""
        elif name == "cp":
            start, end = _character(attributes.get("hex", "")), ""
        elif name in _NATIVE or name in ("x", "bx", "ex", "sc", "ec"):
            # Content is native code and stands for itself; a sign that no text has starts it.
            code = self.original(attributes, "dataRef")
            code = code or attributes.get("equiv-text") or attributes.get("disp", "")
            start, end = f"\0{len(self.inline)}", code or f"<{name}{number}/>"
        elif name == "pc":
            start = self.original(attributes, "dataRefStart") or start
            end = self.original(attributes, "dataRefEnd") or end
        self.inline.append((start if start[:1] == "\0" else "", end))
        return start

    def original(self, attributes: Mapping[str, str], key: str) -> str:
        """Return the native code that an attribute refers to."""
        return self.codes.get(attributes.get(key, ""), "")

    def finished(self) -> str:
        """Return the text that was read."""
        parts, self.parts = self.parts or [], None
        text = "".join(part for part in parts if part[:1] != "\0")
        # Tools that indent XML break lines within texts, too.
        return text if self.keeps else re.sub(r"\s*\n\s*", " ", text).strip()

    def fail(self, message: str) -> NoReturn:
        raise InputError(message, path=self.path, line=self.parser.CurrentLineNumber)

    def start(self, name: str, tag: str, attributes: dict[str, str]) -> None:
        raise NotImplementedError

    def end(self, name: str) -> None:
        raise NotImplementedError


def _character(code: str) -> str:
    return chr(int(code, 16)) if re.fullmatch("[0-9A-Fa-f]{1,5}", code) else "\ufffd"


class _Xliff(_Reader):
    """XLIFF 1.2 (``trans-unit``) and 2.x (``unit`` with ``segment``)."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.unit: _Unit | None = None
        self.of_unit: list[_Unit] = []  # segments of a unit of version 2
        self.code: str | None = None
        self.place: tuple[int, str, bool] | None = None  # of notes in a unit of version 2

    def read(self, data: bytes) -> _Units:
        units = super().read(data)

        def noted(unit: _Unit, notes: Sequence[str]) -> bytes:
            version_2 = unit.prefix.endswith("2")
            prefix, kind = unit.prefix[:-1], "category" if version_2 else "from"
            tags = [
                f'<{prefix}note {kind}="steelyard">{escape(_printable(note))}</{prefix}note>'
                for note in notes
            ]
            if version_2 and not unit.inside:
                text = f"<{prefix}notes>{''.join(tags)}</{prefix}notes>{unit.indent}"
            elif version_2:
                text = "".join(tags)
            else:
                text = "".join(f"{unit.indent}{tag}" for tag in tags)
            return text.encode(self.encoding, "xmlcharrefreplace")

        units.noted = noted
        return units

    def start(self, name: str, tag: str, attributes: dict[str, str]) -> None:
        if name == "xliff":
            self.src_lang, self.tgt_lang = attributes.get("srcLang"), attributes.get("trgLang")
        elif name == "file":
            self.src_lang = self.src_lang or attributes.get("source-language")
            self.tgt_lang = self.tgt_lang or attributes.get("target-language")
        elif name in ("trans-unit", "unit"):
            version = "1" if name == "trans-unit" else "2"
            self.prefix = tag.removesuffix(name) + version
            self.unit_id = attributes.get("id") or str(len(self.units) + 1)
            self.of_unit, self.codes, self.place, self.unit = [], {}, None, None
            if version == "1":
                self._begin(self.unit_id)
        elif name == "data" and self.stack[-1] == "originalData":
            self.code, self.parts = attributes.get("id", ""), []
        elif name in ("originalData", "segment", "ignorable") and self.stack[-1] == "unit":
            self.place = self.place or (self.parser.CurrentByteIndex, self._indent(), False)
            if name == "segment":
                self._begin(attributes.get("id") or str(len(self.of_unit) + 1))
        elif name in ("source", "target") and self.stack[-1] in ("trans-unit", "segment"):
            if self.unit is None:
                self.fail(f"'{name}' outside of a unit")
            if name == "source" or not self.unit.source:
                self.unit.indent = self._indent()
            self.unit.line = self.parser.CurrentLineNumber
            self.parts = []

    def _begin(self, id_: str) -> None:
        self.unit = _Unit(id_, self.parser.CurrentLineNumber, prefix=self.prefix)
        self.of_unit.append(self.unit)

    def end(self, name: str) -> None:
        owner = self.stack[-1] if self.stack else ""
        if self.code is not None and name == "data":
            self.codes[self.code], self.code = self.finished(), None
        elif self.parts is not None and name in ("source", "target"):
            assert self.unit is not None
            setattr(self.unit, name, self.finished())
        if name in ("source", "seg-source", "target") and owner == "trans-unit" and self.unit:
            self.unit.place = self._behind()
        elif name == "notes" and owner == "unit" and self.place is None:
            self.place = (self.parser.CurrentByteIndex, "", True)
        elif name in ("trans-unit", "unit"):
            for unit in self.of_unit:
                if name == "unit":
                    several = len(self.of_unit) > 1
                    unit.id = f"{self.unit_id}/{unit.id}" if several else self.unit_id
                    unit.place, unit.indent, unit.inside = self.place or (0, "", True)
            self.units += self.of_unit
            self.of_unit, self.unit = [], None

    def _behind(self) -> int:
        """Return the position behind the tag that ends here."""
        start, end = f"</{self.tag}".encode(self.encoding), ">".encode(self.encoding)
        at: int = self.parser.CurrentByteIndex
        if not self.data.startswith(start, at):  # an empty element, which ends there
            return at
        return self.data.index(end, at) + len(end)

    def _indent(self) -> str:
        """Return the line end and the blanks before the tag that begins here, if there are any."""
        at = self.parser.CurrentByteIndex
        before = self.data[max(0, at - 400) : at].decode(self.encoding, "replace")
        match = re.search(r"\r?\n[ \t]*$", before)
        return "" if match is None else match[0]


def _xml_encoding(data: bytes) -> str:
    """Tell the encoding of XML by its mark or its declaration."""
    for mark, name in ((b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be")):
        if data.startswith(mark):
            return name
    declared = re.match(rb"(?:\xef\xbb\xbf)?<\?xml[^>]*encoding=[\"']([\w.-]+)", data)
    return declared[1].decode("ascii") if declared else "utf-8"


def _printable(note: str) -> str:
    """Replace what XML can't hold."""
    return re.sub(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", "\ufffd", note)


class _Tmx(_Reader):
    """TMX: translation units with a variant for each language, of which two are read."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.variants: dict[str, tuple[str, int]] = {}

    def start(self, name: str, _tag: str, attributes: dict[str, str]) -> None:
        if name == "header":
            declared = attributes.get("srclang", "")
            self.src_lang = None if declared in ("", "*all*") else declared
        elif name == "tu":
            self.id = attributes.get("tuid") or str(len(self.units) + 1)
            self.variants = {}
        elif name == "tuv":
            self.lang = attributes.get("xml:lang") or attributes.get("lang") or ""
            if not self.lang:
                self.fail("'tuv' without xml:lang")
        elif name == "seg" and self.stack[-1] == "tuv":
            self.line, self.parts = self.parser.CurrentLineNumber, []

    def end(self, name: str) -> None:
        if name == "seg" and self.parts is not None:
            self.variants[self.lang] = (self.finished(), self.line)
        elif name == "tu" and self.variants:
            if self.src_lang is None:
                self.src_lang = next(iter(self.variants))
            others = [lang for lang in self.variants if not _same(lang, self.src_lang)]
            if self.tgt_lang is None and others:
                self.tgt_lang = others[0]
            source, line = self._variant(self.src_lang)
            target, target_line = self._variant(self.tgt_lang)
            self.units.append(_Unit(self.id, target_line or line, source, target))

    def _variant(self, lang: str | None) -> tuple[str, int]:
        same = (held for name, held in self.variants.items() if _same(name, lang))
        return next(same, ("", 0))


def _same(lang: str | None, other: str | None) -> bool:
    """Tell whether two tags are of one language: en, en-US and en_us are."""
    first, second = (re.split("[-_]", tag or "")[0].casefold() for tag in (lang, other))
    return first == second != ""


# PO.


_PO_LINE = re.compile(r'\s*((#~)?(#\|)?\s*(msg[a-z_]+(\[\d+\])?)?\s*".*"|#.*|)\s*')


def _read_po(path: Path) -> _Units:
    import polib

    data = files.read_bytes(path)
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
        held = polib.pofile(str(on_disk(path)), wrapwidth=0, encoding=encoding)
    except (OSError, ValueError) as error:
        at = re.search(r"\(line (\d+)\)(: (.*))?", str(error))
        reason = (at[3] if at else str(error)) or "syntax error"
        at_line = int(at[1]) if at else None
        raise InputError(f"not valid PO: {reason}", path=path, line=at_line) from None
    starts = [0, *(match.end() for match in re.finditer(rb"\r\n|\r|\n", data))]
    units = []
    for number, entry in enumerate((e for e in held if not e.obsolete), 1):
        line = entry.linenum or 1
        place = starts[min(line, len(starts)) - 1]
        forms = entry.msgstr_plural or {"": entry.msgstr}
        for form, target in sorted(forms.items()):
            plural_form = entry.msgid_plural and form not in ("", 0)
            source = entry.msgid_plural if plural_form else entry.msgid
            id_ = str(number) if form == "" else f"{number}[{form}]"
            units.append(_Unit(id_, line, source, target, place=place))

    def noted(_unit: _Unit, notes: Sequence[str]) -> bytes:
        lines = (f"# {' '.join(_printable(note).split())}" for note in notes)
        ending = "\r\n" if b"\r\n" in data else "\n"
        return "".join(f"{line}{ending}" for line in lines).encode(encoding, "replace")

    about = held.metadata
    source_language = about.get("X-Source-Language") or about.get("Source-Language") or None
    return _Units(units, source_language, about.get("Language") or None, noted)


# Plain files and tables.


def _plain_pair(source: Path, target: Path) -> Bitext:
    texts = [files.lines(files.read_text(path)) for path in (source, target)]
    if len(texts[0]) != len(texts[1]):
        message = f"{plural(len(texts[1]), 'line')}, but {source} has {len(texts[0])}"
        raise InputError(message, path=target, line=min(map(len, texts)) + 1)
    units = [_Unit(str(n), n, *pair) for n, pair in enumerate(zip(*texts, strict=True), 1)]
    languages = [suffix if _LANGUAGE.fullmatch(suffix := files.suffix(path)) else None
                 for path in (source, target)]  # fmt: skip
    if any(lang in ("txt", "csv", "tsv", "md") for lang in languages):
        languages = [None, None]
    bitext = _bitext(source, "plain text", _Units(units, languages[0], languages[1]))
    return replace(bitext, path=f"{source} and {target}")


def _column(table: RawTable, names: Sequence[str]) -> str | None:
    spelt = {roles.key(name): name for name in reversed(list(table.columns))}
    return next((spelt[name] for name in names if name in spelt), None)


def _cells(table: RawTable, column: str | None) -> list[str]:
    """Return the texts of a column; empty where a cell is, or where there is no column."""
    if column is None:
        return [""] * table.n_rows
    return [
        "" if is_gap(cell) and cell != "-" else label(cell) or "" for cell in table.columns[column]
    ]


def _read_table(path: Path) -> Bitext:
    table = tables.read(path, is_text=lambda _: True)
    source, target = _column(table, _SOURCE), _column(table, _TARGET)
    if source is None or target is None:
        lacking = "source" if source is None else "target"
        table.fail(f"no column '{lacking}', found {listed(list(table.columns), 8)}")
    ids = next((n for n in table.columns if roles.key(n) in roles.SEGMENT), None)
    ids = ids or next((n for n in table.columns if roles.names_items(n)), None)
    names = [str(n) for n in range(1, table.n_rows + 1)] if ids is None else table.labels(ids)
    texts = zip(names, table.texts(source), table.texts(target), strict=True)
    units = [
        _Unit(name, table.line(row), s or "", t or "") for row, (name, s, t) in enumerate(texts)
    ]
    _apart(units)
    languages = [_only(table, columns) for columns in (_SOURCE_LANGUAGE, _TARGET_LANGUAGE)]
    pair = _only(table, roles.LANGUAGES)
    if pair is not None and languages == [None, None]:
        languages = list(pair.split("-", 1)) if "-" in pair else [None, None]
    return _bitext(path, "table", _Units(units, languages[0], languages[1]))


def _only(table: RawTable, names: Sequence[str]) -> str | None:
    """Return the only value of a column, None if there is no such column or it has several."""
    values = set(_cells(table, _column(table, names))) - {""}
    return values.pop() if len(values) == 1 else None


# Glossaries.

_YES = frozenset(("yes", "y", "true", "1", "x", "ja", "oui"))
_NO = frozenset(("", "no", "n", "false", "0", "nein", "non"))
#: How a status begins that forbids a term.
_BANNED = ("deprecated", "superseded", "obsolete", "forbidden", "donotuse", "notallowed")
_FORBIDDEN = ("forbidden", "banned", "do_not_use", "not_allowed", "wrong")
_UNTRANSLATABLE = ("untranslatable", "do_not_translate", "dnt", "keep", "no_translation")
_CASE = ("case_sensitive", "casesensitive", "case", "match_case")
_SEGMENT = ("segment", "seg", "segment_id", "seg_id", "sentence", "sentence_id", "line")
_STATUS = ("status", "usage", "administrative_status", "usage_status")
#: Where TBX says a term's status: ``type`` of a note, or the name of an element.
_TBX_STATUS = frozenset(("administrativeStatus", "normativeAuthorization", "usageStatus", "status"))


_HEADER = re.compile(
    r"(?:(?:term|source|target|lang)[ _:]?)?[(\[]?([A-Za-z]{2,3}(?:[-_][A-Za-z]{2,4})?)[)\]]?"
)


def is_banned(status: str) -> bool:
    """Tell whether the status of a term forbids it."""
    return re.sub(r"[\s_-]", "", status.casefold()).startswith(_BANNED)


def read_glossary(
    path: str | Path, src_lang: str | None = None, tgt_lang: str | None = None
) -> list[GlossaryTerm]:
    r"""Read a glossary: CSV, TSV or TBX.

    Parameters
    ----------
    path
        A table has the columns ``source`` and ``target``, or one for each language (``en``,
        ``term_de``), with alternatives between ``|``. Further columns: ``forbidden`` (yes, or the
        forbidden words themselves), ``status``, ``untranslatable``, ``case sensitive``,
        ``segment``.
    src_lang, tgt_lang
        The languages wanted of a glossary that has several; by default its first two.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "terms.csv"
    >>> _ = path.write_text("source,target,forbidden\ntrain,Zug,Eisenbahn\n")
    >>> [(term.target, term.forbidden) for term in read_glossary(path)]
    [('Zug', False), ('Eisenbahn', True)]
    """
    path = Path(path)
    view = FileView(path)
    if view.head.lstrip("\ufeff \t\r\n").startswith("<") or view.kind == "tbx":
        terms = _Tbx(path, src_lang, tgt_lang).terms(view.data)
    else:
        terms = list(_table_terms(path, src_lang, tgt_lang))
    if not terms:
        raise InputError("holds no term", path=path)
    return list(dict.fromkeys(terms))


def _table_terms(path: Path, src_lang: str | None, tgt_lang: str | None) -> Iterator[GlossaryTerm]:
    table = tables.read(path, is_text=lambda _: True)
    source, target = _column(table, (*_SOURCE, "term")), _column(table, _TARGET)
    languages = {name: lang for name in table.columns if (lang := _language_of(name))}
    if source is None or (target is None and languages):
        wanted = (src_lang, tgt_lang)
        sides = [next((n for n, lang in languages.items() if _same(lang, w)), None) for w in wanted]
        rest = [name for name in languages if name not in sides]
        source, target = (s or (rest.pop(0) if rest and w is None else None)
                          for s, w in zip(sides, wanted, strict=True))  # fmt: skip
    kept = _cells(table, _column(table, _UNTRANSLATABLE))
    if source is None or (target is None and not any(kept)):
        lacking = "source" if source is None else "target"
        table.fail(f"no column '{lacking}', found {listed(list(table.columns), 8)}")
    columns = (_column(table, names) for names in (_FORBIDDEN, _STATUS, _CASE, _SEGMENT))
    cells = zip(_cells(table, source), _cells(table, target), kept,
                *(_cells(table, column) for column in columns), strict=True)  # fmt: skip
    for row, (term, translation, keep, forbidden, status, case, segment) in enumerate(cells):
        if not term.strip():
            table.fail(f"{table.named(source)} is empty, expected a term", row)
        names, others = _split(term), _split(translation)
        stays = _is_yes(keep)
        words = [] if forbidden.strip().casefold() in _YES | _NO else _split(forbidden)
        banned = _is_yes(forbidden) or is_banned(status)
        if not others and not stays and not words:
            table.fail(f"'{names[0]}' has no translation", row)
        for name in names:
            about: dict[str, Any] = {"case": _is_yes(case), "segment": segment.strip() or None}
            for other in others or ([name] if stays else []):
                yield GlossaryTerm(name, other, banned, stays, **about)
            for other in words:
                yield GlossaryTerm(name, other, True, False, **about)


def _split(cell: str) -> list[str]:
    return [part.strip() for part in cell.split("|") if part.strip()]


def _is_yes(cell: str) -> bool:
    return cell.strip().casefold() in _YES


def _language_of(header: str) -> str | None:
    """Return the language that a header names by its code: ``de``, ``de-AT``, ``term_de``."""
    code = _HEADER.fullmatch(header.strip())
    no_language = ("id", "pos", "src", "tgt", "dnt")
    return code[1] if code and code[1].casefold() not in no_language else None


@dataclass(slots=True)
class _Term:
    text: str
    banned: bool = False


@dataclass(slots=True)
class _Entry:
    """The terms of a concept by language."""

    terms: dict[str, list[_Term]] = field(default_factory=dict)


class _Tbx:
    """TBX in versions 2 (``termEntry``, ``langSet``) and 3 (``conceptEntry``, ``langSec``)."""

    def __init__(self, path: Path, src_lang: str | None, tgt_lang: str | None) -> None:
        self.path, self.wanted = path, (src_lang, tgt_lang)
        self.entries: list[_Entry] = []
        self.lang = ""
        self.parts: list[str] = []
        self.section: list[_Term] = []  # the terms that a status is about

    def terms(self, data: bytes) -> list[GlossaryTerm]:
        run, self.parser = parse_xml(data, self.path, self._start, self._end, self.parts.append)
        run()
        languages = list(dict.fromkeys(lang for entry in self.entries for lang in entry.terms))
        source = self._language(languages, self.wanted[0], None)
        target = self._language(languages, self.wanted[1], source)
        return [
            GlossaryTerm(name.text, other.text, forbidden=other.banned)
            for entry in self.entries
            for name in self._of(entry, source)
            if not name.banned
            for other in self._of(entry, target)
        ]

    def _language(self, languages: Iterable[str], wanted: str | None, but: str | None) -> str:
        for lang in languages:
            if _same(lang, wanted) or (wanted is None and not _same(lang, but)):
                return lang
        shown = wanted or "two languages"
        raise InputError(f"has no terms of {shown}, expected TBX", path=self.path)

    def _of(self, entry: _Entry, lang: str) -> list[_Term]:
        return [term for name, terms in entry.terms.items() if _same(name, lang) for term in terms]

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        name = tag.rpartition(":")[2]
        if name in ("termEntry", "conceptEntry"):
            self.entries.append(_Entry())
        elif name in ("langSet", "langSec"):
            self.lang = attributes.get("xml:lang") or attributes.get("lang") or ""
            if not self.lang or not self.entries:
                line = self.parser.CurrentLineNumber
                raise InputError(f"'{name}' without xml:lang", path=self.path, line=line)
        elif name in ("tig", "ntig", "termSec"):
            self.section = []
        self.says_status = name in _TBX_STATUS or attributes.get("type") in _TBX_STATUS
        if name != "hi":
            self.parts.clear()

    def _end(self, tag: str) -> None:
        name = tag.rpartition(":")[2]
        text = " ".join("".join(self.parts).split())
        if name == "term" and text and self.entries and self.lang:
            term = _Term(text)
            self.entries[-1].terms.setdefault(self.lang, []).append(term)
            self.section.append(term)
        elif self.says_status and is_banned(text):
            for term in self.section:
                term.banned = True
        if name != "hi":
            self.parts.clear()
            self.says_status = False


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
