"""Entity annotations: which knowledge-base entities a linker found in which sentence.

Two layouts: JSON lines (system, line, sentence, entities ``[[begin, end, id], ...]``), and that of
the KoBE release: one JSON object per system, ``{"annotated_sentence": [{sentence, entities}]}``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from steelyard.core.errors import InputError
from steelyard.data.segments import natural_key
from steelyard.formats import files, roles, tables
from steelyard.formats.format import TableFormat
from steelyard.formats.rawtable import RawTable


class EntityMention(NamedTuple):
    """One mention: the entity's id and the span, as the file counts it.

    The release counts ``begin`` in bytes and the length in characters: take ``text`` where it is
    given, and never slice the sentence with the two.
    """

    id: str
    begin: int
    end: int
    text: str | None = None


class Sentence(NamedTuple):
    """A sentence and its mentions, repeats included."""

    text: str
    mentions: tuple[EntityMention, ...]


@dataclass(frozen=True, slots=True)
class EntityAnnotations:
    """Per system (``src`` and ``ref`` among them, where given) its sentences in order."""

    systems: Mapping[str, tuple[Sentence, ...]]

    @property
    def n_segments(self) -> int:
        """How many sentences each system has."""
        return len(next(iter(self.systems.values()), ()))


def read(table: RawTable) -> EntityAnnotations:
    """Read annotations; all systems must have the same lines."""
    if "annotated_sentence" in table:
        return EntityAnnotations({_system_name(table.path): _released(table)})
    column = roles.segment_column(table)
    if column is None:
        table.fail(f"no line column (one of {', '.join(roles.SEGMENT)})")
    found: dict[str, dict[str, Sentence]] = {}
    names = table.labels("system") if "system" in table else ["unknown"] * table.n_rows
    texts = table.texts("sentence")
    for row, (name, line) in enumerate(zip(names, table.labels(column), strict=True)):
        listed = table.columns["entities"][row]
        if isinstance(listed, str):
            listed = files.parse_json(listed, table.path, table.line(row))
        if line in found.setdefault(name, {}):
            table.fail(f"line '{line}' of '{name}' occurs twice", row)
        mentions = _mentions(listed, table.path, table.line(row))
        found[name][line] = Sentence(texts[row] or "", mentions)
    lines = sorted({line for own in found.values() for line in own}, key=natural_key)
    for name, own in found.items():
        if len(own) != len(lines):
            lost = next(line for line in lines if line not in own)
            table.fail(f"system '{name}' has no line '{lost}'")
    return EntityAnnotations(
        {n: tuple(own[ln] for ln in lines) for n, own in sorted(found.items())}
    )


def _mentions(listed: Any, path: Path, line: int) -> tuple[EntityMention, ...]:
    def fail() -> NoReturn:
        raise InputError("'entities': expected a list of [begin, end, id]", path=path, line=line)

    if not isinstance(listed, list):
        fail()
    mentions = []
    for one in listed:
        if isinstance(one, dict):
            values: list[Any] = [one.get(key) for key in ("begin", "end", "id")]
            text = one.get("text")
        elif isinstance(one, list) and len(one) == 3:
            values, text = one, None
        else:
            fail()
        if not all(type(v) is int for v in values[:2]) or not isinstance(values[2], str):
            fail()
        if not (text is None or isinstance(text, str)):
            raise InputError(f"entity's 'text': {text!r}, expected text", path=path, line=line)
        mentions.append(EntityMention(values[2], values[0], values[1], text))
    return tuple(mentions)


def _system_name(path: Path) -> str:
    """Name a system by its released file: newstest2019.SYSTEM.LP, or -src. / -ref. in the name."""
    for side in ("src", "ref"):
        if f"-{side}." in path.name:
            return side
    name = path.name.removesuffix(".gz").removesuffix(".json")
    head, dot, rest = name.partition(".")
    return rest.rpartition(".")[0] or name if dot and head.startswith("newstest") else name


def _released(table: RawTable) -> tuple[Sentence, ...]:
    listed = table.columns["annotated_sentence"][0]
    if table.n_rows != 1 or not isinstance(listed, list):
        table.fail("'annotated_sentence': expected one list of sentences")
    sentences = []
    for number, value in enumerate(listed, 1):
        if not isinstance(value, dict) or not isinstance(value.get("sentence"), str):
            table.fail(f"sentence {number}: expected an object with 'sentence' and 'entities'")
        mentions = _mentions(value.get("entities", []), table.path, table.line(0))
        sentences.append(Sentence(value["sentence"], mentions))
    return tuple(sentences)


def read_folder(folder: Path) -> EntityAnnotations:
    """Read a folder of the release, one file per system, all with the same number of sentences."""
    found: dict[str, tuple[Sentence, ...]] = {}
    for path in sorted(p for p in folder.iterdir() if p.is_file() and not p.name.startswith(".")):
        for name, sentences in read(tables.read(path)).systems.items():
            if name in found:
                raise InputError(f"a second file for system '{name}'", path=path)
            found[name] = sentences
    lengths = {name: len(sentences) for name, sentences in found.items()}
    if len(set(lengths.values())) != 1:
        raise InputError(f"systems differ in their number of sentences: {lengths}", path=folder)
    return EntityAnnotations(found)


def write(annotations: EntityAnnotations, path: Path) -> None:
    """Write a row per system and sentence, counted from 1."""
    rows = [
        (name, number, sentence)
        for name, sentences in annotations.systems.items()
        for number, sentence in enumerate(sentences, 1)
    ]
    columns = {
        "system": [name for name, _, _ in rows],
        "line": [number for _, number, _ in rows],
        "sentence": [sentence.text for _, _, sentence in rows],
        "entities": [[_written(m) for m in sentence.mentions] for _, _, sentence in rows],
    }
    tables.write(path, columns)


def _written(mention: EntityMention) -> list[Any] | dict[str, Any]:
    if mention.text is None:
        return [mention.begin, mention.end, mention.id]
    return mention._asdict()


FORMAT = TableFormat(
    name="entity annotations",
    gives=EntityAnnotations,
    known_by="sentence and entities",
    example='{"system": "A", "line": 1, "sentence": "In Bonn", "entities": [[3, 7, "Q586"]]}\n',
    example_name="entities.jsonl",
    marks=("sentence entities", "annotated_sentence"),
    read=read,
    write=write,
    to="entities",
    suits=lambda _value, _path: True,
)
