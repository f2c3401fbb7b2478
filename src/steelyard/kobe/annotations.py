"""Annotations made elsewhere: the released files of the method's authors, spaCy, any linker's JSON.

The release counts the beginning of a mention in bytes and its length in characters, and repeats and
nests mentions. They are taken as they stand: counts must not change, only spans are put right.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from steelyard.core.errors import InputError, UsageError, hint
from steelyard.formats import entityfiles, files
from steelyard.formats.entityfiles import EntityAnnotations, Sentence
from steelyard.formats.tables import read as read_table
from steelyard.kobe.mention import Id, Mention, Mentions


def read_annotations(path: str | Path) -> EntityAnnotations:
    """Read annotations: JSON lines of several systems, a file of the release, or a folder of them.

    Sources are the system ``src`` and references ``ref``.
    """
    place = Path(path)
    if files.is_folder(place):
        return entityfiles.read_folder(place)
    table = read_table(place)
    if not entityfiles.FORMAT.recognise(table):
        raise InputError(
            "holds no entity annotations (sentence and entities, or annotated_sentence)",
            path=place,
        )
    return entityfiles.read(table)


def mentions_of(sentence: Sentence) -> Mentions:
    """Give the mentions of an annotated sentence with spans in characters, in the file's order.

    Examples
    --------
    >>> begin = len("Köln und ".encode())  # the release counts it in bytes
    >>> vienna = entityfiles.EntityMention("/m/0fhp9", begin, begin + 4)
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
        found.append(Mention(start, end, one.text or text[start:end], one.id, rule="annotation"))
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

    Examples
    --------
    >>> vienna = entityfiles.EntityMention("Q1741", 3, 7)
    >>> one = EntityAnnotations({"src": (Sentence("In Wien", (vienna,)),)})
    >>> AnnotatedLinker([one]).link(["In Wien"], "de", "en")[0][0].text
    'Wien'
    """

    def __init__(self, annotations: Iterable[EntityAnnotations], signature: str = "files") -> None:
        self.signature = signature
        self._known: dict[str, Mentions] = {}
        for each in annotations:
            for sentences in each.systems.values():
                for sentence in sentences:
                    self._known.setdefault(sentence.text, mentions_of(sentence))

    def link(self, texts: Sequence[str], lang: str, other: str) -> list[Mentions]:  # noqa: ARG002
        """Look the texts up; one that the annotations lack is an error."""
        for number, text in enumerate(texts, 1):
            if text not in self._known:
                raise UsageError(f"text {number} ({lang}) is not in the annotations: '{text[:60]}'")
        return [self._known[text] for text in texts]

    def name(self, entity: Id) -> str:
        """Ids are those of the annotations."""
        return str(entity)
