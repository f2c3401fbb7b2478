"""TBX: terminologies of versions 2 and 3, in any dialect, with or without namespaces."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple
from xml.parsers import expat

from steelyard.core.errors import InputError, UsageError
from steelyard.kobe.base.records import Flag, Name
from steelyard.kobe.languages import normalise

_ENTRIES = frozenset({"termEntry", "conceptEntry"})
_LANGUAGES = frozenset({"langSet", "langSec"})
_TERMS = frozenset({"tig", "ntig", "termSec"})
#: Where a term's standing is said: ``type`` of a note, or the name of an element of its own.
_STANDING = frozenset({"administrativeStatus", "normativeAuthorization", "usageStatus", "status"})
#: What nobody should write: no name to be kept.
FORBIDDEN = ("deprecated", "superseded", "obsolete", "forbidden", "donotuse", "notallowed")


class Entry(NamedTuple):
    """One concept."""

    id: str
    names: list[Name]
    line: int


class Tbx:
    """Reads entries of TBX: ``termEntry``/``langSet`` (2) or ``conceptEntry``/``langSec`` (3)."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.found: list[Entry] = []
        #: Terms that are not to be used.
        self.forbidden = 0
        self._id = self._lang = self._text = ""
        self._line = 0
        self._names: list[Name] = []
        self._terms: list[str] = []  # of the section that is open
        self._standing: list[str] | None = None
        self._in_term = self._banned = False
        self._parser = expat.ParserCreate("utf-8")  # decoded already, whatever it says
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._data
        self._parser.EntityDeclHandler = self._refuse

    def parse(self, text: str) -> list[Entry]:
        """Give all entries that have terms."""
        try:
            self._parser.Parse(text.encode(), True)
        except expat.ExpatError as error:
            what = f"not valid XML: {expat.errors.messages[error.code]}"
            raise InputError(what, path=self.path, line=error.lineno) from None
        if not self.found:
            what = "no terms: expected TBX with termEntry or conceptEntry"
            if self.forbidden:
                what = f"no terms to be used: all {self.forbidden} are marked as deprecated"
            raise InputError(what, path=self.path)
        return self.found

    def _refuse(self, *_: object) -> None:
        what = "declares XML entities, which are not read"
        raise InputError(what, path=self.path, line=self._parser.CurrentLineNumber)

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        name = tag.rpartition(":")[2]
        if name in _ENTRIES:
            self._id, self._names = attributes.get("id", ""), []
            self._line = self._parser.CurrentLineNumber
        elif name in _LANGUAGES:
            code = attributes.get("xml:lang") or attributes.get("lang") or ""
            try:
                self._lang = normalise(code)
            except UsageError as error:
                line = self._parser.CurrentLineNumber
                raise InputError(str(error), path=self.path, line=line) from None
        elif name in _TERMS:
            self._terms, self._banned = [], False
        elif name == "term":
            self._in_term, self._text = True, ""
        elif name in _STANDING or attributes.get("type") in _STANDING:
            self._standing = []

    def _data(self, text: str) -> None:
        if self._in_term:
            self._text += text
        elif self._standing is not None:
            self._standing.append(text)

    def _end(self, tag: str) -> None:
        name = tag.rpartition(":")[2]
        if name == "term" and self._in_term:
            self._in_term = False
            if self._text.strip():
                self._terms.append(" ".join(self._text.split()))
        elif self._standing is not None:
            told = "".join("".join(self._standing).lower().split()).replace("-", "")
            self._banned |= told.startswith(FORBIDDEN)
            self._standing = None
        elif name in _TERMS or name in _LANGUAGES:
            self._take()
        elif name in _ENTRIES and self._names:
            self.found.append(Entry(self._id, self._names, self._line))

    def _take(self) -> None:
        """Take the terms of a section, whose standing is known at its end only."""
        if self._banned:
            self.forbidden += len(self._terms)
        else:
            for term in self._terms:
                known = any(other.lang == self._lang for other in self._names)
                self._names.append(Name(self._lang, term, 0 if known else int(Flag.LABEL)))
        self._terms, self._banned = [], False
