"""Links made elsewhere: the authors' release, JSON of any linker.

The release counts the start of a mention in bytes and its length in characters, and repeats and
nests mentions. Only the spans are corrected: counts must not change.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from steelyard.core.errors import InputError, UsageError
from steelyard.core.provenance import InputFile
from steelyard.core.text import listed
from steelyard.formats.entities import EntityAnnotations, Sentence
from steelyard.formats.reading import Reading, read_all
from steelyard.kobe.mention import Id, Mention, Mentions


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


def entity_counts(
    sources: Sequence[Mentions] | None, references: Sequence[Mentions] | None
) -> tuple[int | None, ...]:
    """Count entities as the paper's table does; None for what needs a side that is not there."""
    sides = (sources, references)
    distinct = [None if side is None else {m.id for row in side for m in row} for side in sides]
    one, two = distinct
    return (
        len(sources or references or ()),
        None if sources is None else sum(map(bool, sources)),
        *(None if side is None else sum(map(len, side)) for side in sides),
        *(None if ids is None else len(ids) for ids in distinct),
        None if one is None or two is None else len(one & two),
    )


class AnnotatedLinker:
    """A linker that looks texts up in annotations.

    A row of texts (a source, a system) that is annotated under its name, sentence by sentence, has
    these mentions; any other text has those of the first sentence that reads the same.
    """

    def __init__(self, annotations: Iterable[EntityAnnotations], signature: str = "files") -> None:
        self.signature = signature
        self.inputs: tuple[InputFile, ...] = ()
        self._notes: tuple[str, ...] = ()
        self._rows: dict[str, tuple[Sentence, ...]] = {}
        self._sentences: dict[str, Sentence] = {}
        self._by_text: dict[str, None] = {}  # rows that are not annotated under their name
        for each in annotations:
            self.inputs += each.inputs
            self._notes += each.notes
            for name, sentences in each.systems.items():
                self._rows.setdefault(name, sentences)
                for sentence in sentences:
                    self._sentences.setdefault(sentence.text, sentence)

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
        nothing = Sentence("", ())
        return [mentions_of(self._sentences.get(text, nothing)) for text in texts]

    def notes_on_links(self) -> tuple[str, ...]:
        """Say what was left out, and which mentions may not be those of the texts."""
        notes = list(self._notes)
        if self._by_text:
            names = listed([f"'{row}'" for row in self._by_text])
            note = f"links of {names} are found by text, not by name"
            notes.append(f"{note}: each sentence has those of the first one that reads the same")
        return tuple(notes)

    def name(self, entity: Id) -> str:
        """Return the id of the annotations."""
        return str(entity)
