"""Links made elsewhere: the authors' release, JSON of any linker, linkers of other packages.

The release counts the start of a mention in bytes and its length in characters, and repeats and
nests mentions. Only the spans are corrected: counts must not change.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path

from steelyard.core.errors import InputError, UsageError, hint
from steelyard.core.provenance import InputFile
from steelyard.core.text import listed, plural
from steelyard.formats.cells import brief
from steelyard.formats.entities import EntityAnnotations, Sentence
from steelyard.formats.reading import Reading, read_all
from steelyard.kobe.mention import Id, Linker, Mention, Mentions


def read_annotations(path: str | Path, lp: str | None = None) -> EntityAnnotations:
    """Read annotations, in which the source is the system ``src`` and a reference ``ref``.

    ``lp`` is the language pair, which files do not name.
    """
    path = Path(path)
    (item,) = read_all([path], Reading(lp=lp))
    annotations = item.value
    if not isinstance(annotations, EntityAnnotations):
        raise InputError("holds no entity annotations (sentence and entities)", path=path)
    pair = lp or annotations.language_pair
    return replace(annotations, inputs=item.files, notes=item.notes, language_pair=pair)


def mentions_of(sentence: Sentence) -> Mentions:
    """Return the mentions of an annotated sentence with spans in characters, in the file's order.

    Examples
    --------
    >>> begin = len("Köln und ".encode())  # the release counts it in bytes
    >>> from steelyard.formats.entities import EntityMention
    >>> vienna = EntityMention("/m/0fhp9", begin, begin + 4)
    >>> mentions_of(Sentence("Köln und Wien", (vienna,)))[0][:4]
    (9, 13, 'Wien', '/m/0fhp9')
    """
    text = sentence.text
    mentions = []
    for item in sentence.mentions:
        start, length = item.begin, item.end - item.begin
        as_written = item.text is not None and text[start : item.end] == item.text
        if not (text.isascii() or as_written):
            start = len(text.encode()[:start].decode(errors="ignore"))
            length = length if item.text is None else len(item.text)
        start = min(max(start, 0), len(text))
        end = min(start + max(length, 0), len(text))
        mentions.append(
            Mention(start, end, item.text or text[start:end], item.id, item.category or "entity",
                    candidates=item.candidates, rule="annotation")
        )  # fmt: skip
    return tuple(mentions)


def linked(annotations: EntityAnnotations) -> dict[str, list[Mentions]]:
    """Return the mentions of every system, sentence by sentence."""
    return {
        name: [mentions_of(sentence) for sentence in sentences]
        for name, sentences in annotations.systems.items()
    }


class AnnotatedLinker:
    """A linker that looks texts up in annotations.

    A row of texts (a source, a system) that is annotated under its name, sentence by sentence, has
    these mentions; any other text has those of the first sentence that reads the same.

    Examples
    --------
    >>> from steelyard.formats.entities import EntityMention
    >>> vienna = EntityMention("Q1741", 3, 7)
    >>> annotations = EntityAnnotations({"src": (Sentence("In Wien", (vienna,)),)})
    >>> AnnotatedLinker([annotations]).link(["In Wien"], "de", "en")[0][0].text
    'Wien'
    """

    def __init__(self, annotations: Iterable[EntityAnnotations], signature: str = "files") -> None:
        self.signature = signature
        self.inputs: tuple[InputFile, ...] = ()
        self._notes: tuple[str, ...] = ()
        self._rows: dict[str, tuple[Sentence, ...]] = {}
        self._sentences: dict[str, Sentence] = {}
        self._ambiguous: set[str] = set()  # texts with several lists of mentions
        self._looked_up: set[str] = set()  # ... that were looked up
        self._by_text: dict[str, None] = {}  # rows that are not annotated under their name
        for each in annotations:
            self.inputs += each.inputs
            self._notes += each.notes
            for name, sentences in each.systems.items():
                self._rows.setdefault(name, sentences)
                for sentence in sentences:
                    first = self._sentences.setdefault(sentence.text, sentence)
                    if first.mentions != sentence.mentions:
                        self._ambiguous.add(sentence.text)

    @classmethod
    def of(cls, links: EntityAnnotations | str | Path, lp: str | None = None) -> AnnotatedLinker:
        """Take annotations, or read them; the signature names the files and their hash."""
        if not isinstance(links, EntityAnnotations):
            links = read_annotations(links, lp)
        names = [f"{Path(i.path).name}@{(i.sha256 or '')[:8]}" for i in links.inputs]
        return cls([links], f"links:{'+'.join(names) or 'given'}".replace(" ", "_"))

    def link(self, texts: Sequence[str], lang: str, other: str) -> list[Mentions]:  # noqa: ARG002
        """Look the texts up; a text that is not annotated is an error."""
        return self._look_up(texts, f"({lang}) is not in the annotations")

    def link_row(self, names: Sequence[str], texts: Sequence[str | None]) -> list[Mentions]:
        """Return the mentions of a row of texts that annotations have under one of these names.

        Missing and empty texts need not be annotated.
        """
        for name in names:
            row = self._rows.get(name, ())
            if len(row) == len(texts) and all(
                text in (None, sentence.text) for sentence, text in zip(row, texts, strict=True)
            ):
                pairs = zip(row, texts, strict=True)
                return [() if text is None else mentions_of(s) for s, text in pairs]
        if any(texts):
            self._by_text[names[0]] = None
        missing = f"of '{names[0]}' is not among the sentences of the links"
        return self._look_up([text or "" for text in texts], missing, empty=True)

    def _look_up(
        self, texts: Sequence[str], missing: str, *, empty: bool = False
    ) -> list[Mentions]:
        for number, text in enumerate(texts, 1):
            if text not in self._sentences and not (empty and not text):
                raise UsageError(f"text {number} {missing}: '{text[:60]}'")
        self._looked_up |= self._ambiguous.intersection(texts)
        nothing = Sentence("", ())
        return [mentions_of(self._sentences.get(text, nothing)) for text in texts]

    def notes_on_links(self) -> tuple[str, ...]:
        """Say what was left out, and which mentions may not be those of the texts."""
        notes = list(self._notes)
        if self._by_text:
            names = listed([f"'{row}'" for row in self._by_text])
            note = f"links of {names} are found by text, not by name"
            notes.append(f"{note}: each sentence has those of the first one that reads the same")
        if self._looked_up:
            n = plural(len(self._looked_up), "text")
            notes.append(f"{n} with several links in different places: the first are taken")
        return tuple(notes)

    def name(self, entity: Id) -> str:
        """Return the id of the annotations."""
        return str(entity)


# -- linkers of other packages

#: The group of entry points by which packages add linkers.
GROUP = "steelyard.linkers"
_OBJECT = re.compile(r"\w+(\.\w+)*:\w+(\.\w+)*")


def named_linker(name: str) -> Linker:
    """Load a linker that a package has added to :data:`GROUP`, or ``module:object``.

    What is loaded is a linker, or a function or class without arguments that gives one.

    Examples
    --------
    >>> named_linker("nobody")
    Traceback (most recent call last):
    steelyard.core.errors.UsageError: no linker 'nobody': expected the name of one that a package...
    """
    added = {point.name: point for point in entry_points(group=GROUP)}
    if name not in added and not _OBJECT.fullmatch(name):
        expected = "expected the name of one that a package adds, or MODULE:OBJECT"
        raise UsageError(f"no linker '{name}': {expected}; {hint(name, added)}")
    point = added.get(name) or EntryPoint(name, name, GROUP)
    with _one_line(name, f"can't be loaded from {point.value}"):
        loaded = point.load()
        made = loaded if isinstance(loaded, Linker) and not isinstance(loaded, type) else loaded()
    if not isinstance(made, Linker) or not isinstance(made.signature, str):
        kind = type(made).__name__
        raise UsageError(f"linker '{name}': a {kind} has no signature, link and name")
    return ForeignLinker(name, made)


@contextmanager
def _one_line(name: str, what: str) -> Iterator[None]:
    """Turn whatever foreign code raises into one line; it may even try to end the process."""
    try:
        yield
    except (Exception, SystemExit) as error:
        words = " ".join(str(error).split())
        raise UsageError(f"linker '{name}': {what}: {type(error).__name__} {words}") from error


class ForeignLinker:
    """A linker of another package, whose answers are checked.

    Examples
    --------
    >>> class Forgetful:
    ...     signature, link, name = "x", lambda self, texts, lang, other: [], str
    >>> ForeignLinker("mine:Forgetful", Forgetful()).link(["Wien"], "de", "en")
    Traceback (most recent call last):
    steelyard.core.errors.UsageError: linker 'mine:Forgetful': link gives 0 lists for 1 text...
    """

    def __init__(self, name: str, linker: Linker) -> None:
        self._name, self._linker, self.signature = name, linker, linker.signature

    def link(self, texts: Sequence[str], lang: str, other: str) -> list[Mentions]:
        """Let it find the mentions, and check that they are mentions of the texts."""
        with _one_line(self._name, "link fails"):
            rows = [tuple(row) for row in self._linker.link(texts, lang, other)]
        what = ""
        if len(rows) != len(texts):
            what = f"link gives {plural(len(rows), 'list')} for {plural(len(texts), 'text')}"
        for row, text in zip(rows, texts, strict=False):
            for mention in row:
                if not _is_sound(mention, text):
                    what = what or f"link gives {brief(mention)}, expected a Mention in the text"
        if what:
            raise UsageError(f"linker '{self._name}': {what}")
        return rows

    def name(self, entity: Id) -> str:
        """Ask it what the outside calls an entity."""
        with _one_line(self._name, "name fails"):
            return str(self._linker.name(entity))


def _is_sound(mention: object, text: str) -> bool:
    """Tell whether a mention is one, and in the text."""
    if not isinstance(mention, Mention) or not isinstance(mention.candidates, tuple):
        return False
    ids, words = (mention.id, *mention.candidates), (mention.text, mention.category)
    return (
        isinstance(mention.start, int)
        and isinstance(mention.end, int)
        and 0 <= mention.start <= mention.end <= len(text)
        and all(isinstance(id_, (int, str)) for id_ in ids)
        and all(isinstance(word, str) for word in words)
    )
