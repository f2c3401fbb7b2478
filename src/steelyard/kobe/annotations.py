"""Annotations made elsewhere: the released files of the method's authors, spaCy, any linker's JSON.

The release counts the beginning of a mention in bytes and its length in characters, and repeats and
nests mentions. They are taken as they stand: counts must not change, only spans are put right.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from steelyard.core.errors import InputError, UsageError, hint
from steelyard.core.provenance import InputFile
from steelyard.core.text import listed, plural
from steelyard.formats import entities, files
from steelyard.formats.entities import EntityAnnotations, Sentence
from steelyard.formats.reading import Reading, read_all
from steelyard.kobe.mention import Id, Mention, Mentions


def read_annotations(path: str | Path, lp: str | None = None) -> EntityAnnotations:
    """Read annotations: JSON lines of several systems, a file of the release, or a folder of it.

    Sources are the system ``src`` and references ``ref``. ``lp`` chooses one of several language
    pairs, for folders above theirs.
    """
    place = Path(path)
    if files.is_folder(place):
        return entities.read_folder(place, lp)
    (found,) = read_all([place], Reading(lp=lp))
    if not isinstance(found.value, EntityAnnotations):
        raise InputError(
            "holds no entity annotations (sentence and entities, or annotated_sentence)",
            path=place,
        )
    return replace(
        found.value,
        inputs=found.files,
        notes=found.notes,
        language_pair=lp or found.value.language_pair,
    )


def mentions_of(sentence: Sentence) -> Mentions:
    """Give the mentions of an annotated sentence with spans in characters, in the file's order.

    Examples
    --------
    >>> from steelyard.formats import entities
    >>> begin = len("Köln und ".encode())  # the release counts it in bytes
    >>> vienna = entities.EntityMention("/m/0fhp9", begin, begin + 4)
    >>> sentence = Sentence("Köln und Wien", (vienna,))
    >>> mentions_of(sentence)[0][:4]
    (9, 13, 'Wien', '/m/0fhp9')
    """
    text = sentence.text
    plain = text.isascii()
    raw = b"" if plain else text.encode()
    found = []
    for one in sentence.mentions:
        start, length = one.begin, one.end - one.begin
        as_written = one.text is not None and text[start : one.end] == one.text
        if not (plain or as_written):
            start = len(raw[:start].decode(errors="ignore"))
            length = length if one.text is None else len(one.text)
        start = min(max(start, 0), len(text))
        end = min(start + max(length, 0), len(text))
        found.append(
            Mention(
                start,
                end,
                one.text or text[start:end],
                one.id,
                category=one.category or "entity",
                candidates=one.candidates,
                rule="annotation",
            )
        )
    return tuple(found)


def linked(annotations: EntityAnnotations) -> dict[str, list[Mentions]]:
    """Give the mentions of every system, sentence by sentence."""
    return {
        name: [mentions_of(sentence) for sentence in sentences]
        for name, sentences in annotations.systems.items()
    }


def from_spacy(doc: Any) -> Mentions:
    """Take the entities of a spaCy document that a linker gave ids (``kb_id_``, else ``ent_id_``).

    Entities without an id have no meaning that could be compared, and are left out.
    """
    return tuple(
        Mention(
            span.start_char,
            span.end_char,
            span.text,
            span.kb_id_ or span.ent_id_,
            category=span.label_ or "entity",
            rule="spacy",
        )
        for span in doc.ents
        if span.kb_id_ or span.ent_id_
    )


class SpacyLinker:
    """A linker made of one spaCy pipeline per language.

    Parameters
    ----------
    pipelines
        Per language code a loaded pipeline that gives entities ids of one knowledge base.
    signature
        What the pipelines are; their names and versions by default.
    """

    def __init__(self, pipelines: Mapping[str, Any], signature: str | None = None) -> None:
        self._pipelines = dict(pipelines)
        parts = [
            f"{nlp.meta.get('lang', lang)}_{nlp.meta.get('name', 'pipeline')}"
            f"-{nlp.meta.get('version', '0')}"
            for lang, nlp in sorted(self._pipelines.items())
        ]
        self.signature = signature or "spacy:" + "+".join(parts)

    def link(self, texts: Sequence[str], lang: str, other: str) -> list[Mentions]:  # noqa: ARG002
        """Run the pipeline of the language over the texts."""
        if lang not in self._pipelines:
            raise UsageError(f"no spaCy pipeline for '{lang}'; {hint(lang, self._pipelines)}")
        return [from_spacy(doc) for doc in self._pipelines[lang].pipe(texts)]

    def name(self, entity: Id) -> str:
        """Ids are those of the pipeline."""
        return str(entity)


class AnnotatedLinker:
    """A linker that looks sentences up in annotations, so that files of any linker can be scored.

    Where a row of texts (a source, a system) is annotated as it stands, sentence by sentence, its
    mentions are those of the same place; otherwise those of the first sentence with the same text.

    Examples
    --------
    >>> from steelyard.formats import entities
    >>> vienna = entities.EntityMention("Q1741", 3, 7)
    >>> one = EntityAnnotations({"src": (Sentence("In Wien", (vienna,)),)})
    >>> AnnotatedLinker([one]).link(["In Wien"], "de", "en")[0][0].text
    'Wien'
    """

    def __init__(self, annotations: Iterable[EntityAnnotations], signature: str = "files") -> None:
        self.signature = signature
        #: Texts that were looked up, and that have other mentions elsewhere.
        self.unsure: set[str] = set()
        #: Rows that are not annotated under their name, sentence by sentence.
        self.by_text: dict[str, None] = {}
        #: What the annotations were read from, and what was left out of them.
        self.inputs: tuple[InputFile, ...] = ()
        self.notes: tuple[str, ...] = ()
        self._rows: dict[str, tuple[Sentence, ...]] = {}
        self._known: dict[str, Sentence] = {}
        self._several: set[str] = set()
        for each in annotations:
            self.inputs += each.inputs
            self.notes += each.notes
            for name, sentences in each.systems.items():
                self._rows.setdefault(name, sentences)
                for sentence in sentences:
                    first = self._known.setdefault(sentence.text, sentence)
                    if first.mentions != sentence.mentions:
                        self._several.add(sentence.text)

    @classmethod
    def of(cls, links: EntityAnnotations | str | Path, lp: str | None = None) -> AnnotatedLinker:
        """Take annotations, or read them; the signature names the files and their hash."""
        found = links if isinstance(links, EntityAnnotations) else read_annotations(links, lp)
        named = [f"{Path(i.path).name}@{(i.sha256 or '')[:8]}" for i in found.inputs]
        return cls([found], f"links:{'+'.join(named) or 'given'}".replace(" ", "_"))

    def link(self, texts: Sequence[str], lang: str, other: str) -> list[Mentions]:  # noqa: ARG002
        """Look the texts up; one that the annotations lack is an error."""
        for number, text in enumerate(texts, 1):
            if text not in self._known:
                raise UsageError(f"text {number} ({lang}) is not in the annotations: '{text[:60]}'")
        self.unsure |= self._several.intersection(texts)
        return [mentions_of(self._known[text]) for text in texts]

    def link_row(self, names: Sequence[str], texts: Sequence[str | None]) -> list[Mentions]:
        """Give the mentions of a row of texts; missing and empty ones need not be annotated.

        ``names`` are those that annotations may have for the row, its own first.
        """
        row = names[0]
        for name in names:
            own = self._rows.get(name, ())
            if len(own) == len(texts) and all(
                text is None or sentence.text == text
                for sentence, text in zip(own, texts, strict=True)
            ):
                return [
                    () if text is None else mentions_of(sentence)
                    for sentence, text in zip(own, texts, strict=True)
                ]
        if any(texts):
            self.by_text[row] = None
        for number, text in enumerate(texts, 1):
            if text and text not in self._known:
                told = f"text {number} of '{row}' is not among the sentences of the links"
                raise UsageError(f"{told}: '{text[:60]}'")
        self.unsure |= self._several.intersection(text for text in texts if text)
        nothing = Sentence("", ())
        return [mentions_of(self._known.get(text or "", nothing)) for text in texts]

    def said(self) -> tuple[str, ...]:
        """Say how sure it is that the mentions are those of the texts."""
        found = list(self.notes)
        if self.by_text:
            names = listed([f"'{row}'" for row in self.by_text])
            told = f"links of {names} are found by text, not by name"
            found.append(f"{told}: each sentence has those of the first one that reads the same")
        if self.unsure:
            told = plural(len(self.unsure), "text")
            found.append(f"{told} with several links in different places: the first are taken")
        return tuple(found)

    def name(self, entity: Id) -> str:
        """Ids are those of the annotations."""
        return str(entity)
