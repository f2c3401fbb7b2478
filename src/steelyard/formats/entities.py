"""Entity annotations: which knowledge-base entities a linker found in which sentence.

JSON lines: system, line, sentence, entities ``[[begin, end, id], ...]``. ``reproduce kobe`` also
reads the KoBE release, an object ``{"annotated_sentence": [{sentence, entities}]}`` per system in
``LP/newstest2019.SYSTEM.LP``, with ``newstest2019-XXYY-src.XX`` and ``...-ref.YY`` beside it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from steelyard.core import provenance
from steelyard.core.errors import InputError
from steelyard.core.provenance import InputFile
from steelyard.core.text import plural
from steelyard.data.evalset import EvalSet
from steelyard.data.segments import Segments, natural_key
from steelyard.formats import columns as roles
from steelyard.formats import files, tables
from steelyard.formats.cells import brief
from steelyard.formats.format import TableFormat
from steelyard.formats.rawtable import RawTable
from steelyard.formats.view import FileView, document

#: The systems of annotations that are none: what outputs are compared with.
SIDES = ("src", "ref")
_KEYS = ("begin", "end", "id")
_EXPECTED = "'entities': expected a list of [begin, end, id]"
_PAIR = re.compile(r"[a-z]{2}-[a-z]{2}")
_RELEASE = ("", "newstest2019", "wmt19-submitted-data/newstest2019")  # where pairs stand in it


class EntityMention(NamedTuple):
    """One mention: the entity's id and the span, as the file counts it.

    The release counts ``begin`` in bytes and the length in characters: take ``text`` where it is
    given, and never slice the sentence with the two. ``candidates`` are all readings, where a
    linker gives several.
    """

    id: str
    begin: int
    end: int
    text: str | None = None
    category: str | None = None
    candidates: tuple[str, ...] = ()


class Sentence(NamedTuple):
    """A sentence and its mentions, repeats included."""

    text: str
    mentions: tuple[EntityMention, ...]


@dataclass(frozen=True, slots=True)
class EntityAnnotations:
    """Per system (``src`` and ``ref`` among them, where given) its sentences in order.

    ``lines`` are what the sentences are called, if not 1, 2, ...; ``notes`` what was left out.
    """

    systems: Mapping[str, tuple[Sentence, ...]]
    lines: tuple[str, ...] = ()
    language_pair: str | None = None
    inputs: tuple[InputFile, ...] = field(default=(), compare=False)
    notes: tuple[str, ...] = field(default=(), compare=False)

    @property
    def n_segments(self) -> int:
        """How many sentences each system has."""
        return len(next(iter(self.systems.values()), ()))

    @property
    def ids(self) -> tuple[str, ...]:
        """What the sentences are called."""
        return self.lines or _numbered(self.n_segments)

    def evalset(self) -> EvalSet:
        """Return the texts without their mentions, as a set to be scored."""
        texts = {name: tuple(s.text for s in self.systems[name]) for name in self.systems}
        references = {"ref": texts["ref"]} if "ref" in texts else {}
        segments = Segments(self.ids, sources=texts.get("src"), references=references)
        outputs = {name: column for name, column in texts.items() if name not in SIDES}
        return EvalSet(
            tuple(outputs),
            segments,
            outputs=outputs,
            language_pair=self.language_pair,
            inputs=self.inputs,
            notes=self.notes,
        )


def merged(parts: Sequence[EntityAnnotations]) -> EntityAnnotations:
    """Put annotations of several systems together; they must be of the same sentences."""
    first, *others = parts
    systems = dict(first.systems)
    for part in others:
        path = part.inputs[0].path if part.inputs else None
        if part.n_segments != first.n_segments:
            count = plural(part.n_segments, "sentence")
            raise InputError(f"{count}, and others have {first.n_segments}", path=path)
        if part.ids != first.ids:
            raise InputError("other lines than those before", path=path)
        for name, sentences in part.systems.items():
            if name in systems:
                raise InputError(f"links of system '{name}' a second time", path=path)
            systems[name] = sentences
    inputs = tuple(file for part in parts for file in part.inputs)
    notes = tuple(note for part in parts for note in part.notes)
    return replace(first, systems=systems, inputs=inputs, notes=notes)


def _numbered(n: int) -> tuple[str, ...]:
    return tuple(str(number) for number in range(1, n + 1))


def read(table: RawTable) -> EntityAnnotations:
    """Read annotations; all systems must have the same lines."""
    column = roles.segment_column(table)
    if column is None:
        table.fail(f"no line column (one of {', '.join(roles.SEGMENT)})")
    systems: dict[str, dict[str, Sentence]] = {}
    names = table.labels("system") if "system" in table else ["unknown"] * table.n_rows
    texts = table.texts("sentence")
    n_unlinked = 0
    for row, (name, line) in enumerate(zip(names, table.labels(column), strict=True)):
        entities = table.columns["entities"][row]
        if isinstance(entities, str):
            entities = files.parse_json(entities, table.path, table.line(row))
        if line in systems.setdefault(name, {}):
            table.fail(f"line '{line}' of '{name}' occurs twice", row)
        fail = partial(table.fail, row=row)
        files.whole(f"{name}{line}", "a name", fail)
        systems[name][line] = sentence = _sentence(texts[row] or "", entities, fail)
        n_unlinked += len(entities) - len(sentence.mentions)
    lines = sorted({line for by_line in systems.values() for line in by_line}, key=natural_key)
    for name, by_line in systems.items():
        if len(by_line) != len(lines):
            lost = next(line for line in lines if line not in by_line)
            table.fail(f"system '{name}' has no line '{lost}'")
    return EntityAnnotations(
        {name: tuple(by_line[n] for n in lines) for name, by_line in sorted(systems.items())},
        lines=() if tuple(lines) == _numbered(len(lines)) else tuple(lines),
        notes=_unlinked(n_unlinked, table.place),
    )


def _unlinked(count: int, where: str) -> tuple[str, ...]:
    """Note how many mentions have no id, if any: nothing can be the same as they."""
    return (f"{where}: {plural(count, 'mention')} without an id left out",) if count else ()


def _sentence(text: str, entities: Any, fail: files.Fail) -> Sentence:
    if not isinstance(entities, list):
        fail(_EXPECTED)
    size = len(files.whole(text, "'sentence'", fail).encode())
    mentions = [_mention(entity, fail) for entity in entities]
    for mention in mentions:
        # Characters are at most as many as bytes, in which the release counts the beginning.
        if not 0 <= mention.begin <= mention.end <= size:
            span = f"[{brief(mention.begin)}, {brief(mention.end)}]"
            part = f"'entities': {span} is no part of the {plural(len(text), 'character')}"
            fail(f"{part} of the sentence, expected [begin, end, id] with 0 <= begin <= end")
    return Sentence(text, tuple(mention for mention in mentions if mention.id.strip()))


def _mention(entity: Any, fail: files.Fail) -> EntityMention:
    fields: dict[str, Any] = entity if isinstance(entity, dict) else {}
    values = [fields[key] for key in _KEYS] if fields.keys() >= set(_KEYS) else entity
    if not (isinstance(values, list) and len(values) == 3):
        fail(_EXPECTED)
    begin, end, id_ = values
    text, category, candidates = (fields.get(key) for key in ("text", "category", "candidates"))
    if not (type(begin) is type(end) is int):
        fail(_EXPECTED)
    if not isinstance(candidates, list | None):
        fail(f"{_EXPECTED}, found {brief(candidates)} as 'candidates'")
    texts = [("id", id_), ("text", text), ("category", category)]
    for key, value in (*texts, *(("candidates", other) for other in candidates or ())):
        if not isinstance(value, str | None):
            fail(f"{_EXPECTED}, found {brief(value)} as '{key}'")
        files.whole(value or "", "'entities'", fail)
    return EntityMention(id_ or "", begin, end, text, category, tuple(candidates or ()))


def write(annotations: EntityAnnotations, path: Path) -> None:
    """Write a row per system and sentence."""
    numbers = annotations.lines or range(1, annotations.n_segments + 1)
    rows = [
        (name, number, sentence.text, [_written(mention) for mention in sentence.mentions])
        for name, sentences in annotations.systems.items()
        for number, sentence in zip(numbers, sentences, strict=True)
    ]
    names = ("system", "line", "sentence", "entities")
    tables.write(path, {name: [row[i] for row in rows] for i, name in enumerate(names)})


def _written(mention: EntityMention) -> list[Any] | dict[str, Any]:
    if mention == EntityMention(*mention[:3]):
        return [mention.begin, mention.end, mention.id]
    fields = mention._asdict() | {"candidates": list(mention.candidates)}
    return {key: value for key, value in fields.items() if value is not None and value != []}


FORMAT = TableFormat(
    name="entity annotations",
    gives=EntityAnnotations,
    known_by="sentence and entities",
    example='{"system": "A", "line": 1, "sentence": "In Bonn", "entities": [[3, 7, "Q586"]]}\n',
    example_name="entities.jsonl",
    marks=(".sentence .entities",),
    read=read,
    write=write,
    to="entities",
    suits=lambda _value, _path: True,
)


def released_pairs(folder: Path) -> dict[str, Path]:
    """Return the folders of language pairs of the KoBE release."""
    return {
        path.name: path
        for part in _RELEASE
        for path in sorted((folder / part).glob("*-*"))
        if _PAIR.fullmatch(path.name) and any(path.glob("newstest2019*"))
    }


def read_released(folder: Path) -> EntityAnnotations:
    """Read a language pair of the release: a file per system, with the same number of sentences."""
    paths = sorted(folder.glob("newstest2019*"))
    systems = {_system_name(path): tuple(_released_sentences(path)) for path in paths}
    lengths = {name: len(sentences) for name, sentences in systems.items()}
    if len(set(lengths.values())) != 1:
        raise InputError(f"systems differ in their number of sentences: {lengths}", path=folder)
    read_file = InputFile(str(folder), "KoBE release", provenance.sha256(paths, folder))
    return EntityAnnotations(systems, language_pair=folder.name, inputs=(read_file,))


def _released_sentences(path: Path) -> Iterator[Sentence]:
    for record in document(FileView(path)).objects("annotated_sentence"):
        text = record.text("sentence")
        if text is None:
            record.wrong("sentence", "text")
        yield _sentence(text, record.elements("entities"), record.fail)


def _system_name(path: Path) -> str:
    """Name a system by its released file: newstest2019.SYSTEM.LP, or -src. / -ref. in the name."""
    side = next((side for side in SIDES if f"-{side}." in path.name), None)
    return side or path.name.partition(".")[2].rpartition(".")[0] or path.name
