"""Entity annotations: which knowledge-base entities a linker found in which sentence.

Two layouts: JSON lines (system, line, sentence, entities ``[[begin, end, id], ...]``), and that of
the KoBE release: one JSON object per system, ``{"annotated_sentence": [{sentence, entities}]}``, in
folders (:mod:`steelyard.formats.folders.koberelease`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from steelyard.core.errors import InputError
from steelyard.core.provenance import InputFile
from steelyard.core.words import plural
from steelyard.data.evalset import EvalSet
from steelyard.data.segments import Segments, natural_key
from steelyard.formats import files, roles, tables
from steelyard.formats.format import TableFormat
from steelyard.formats.rawtable import RawTable

#: The systems of annotations that are none: what outputs are compared with.
SIDES = ("src", "ref")


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

    ``lines`` are what the sentences are called, if not 1, 2, ...
    """

    systems: Mapping[str, tuple[Sentence, ...]]
    lines: tuple[str, ...] = ()
    language_pair: str | None = None
    inputs: tuple[InputFile, ...] = field(default=(), compare=False)

    @property
    def n_segments(self) -> int:
        """How many sentences each system has."""
        return len(next(iter(self.systems.values()), ()))

    @property
    def ids(self) -> tuple[str, ...]:
        """What the sentences are called."""
        return self.lines or _numbered(self.n_segments)

    def evalset(self) -> EvalSet:
        """Give the texts without their mentions, as a set to be scored.

        Examples
        --------
        >>> said = {name: (Sentence(text, ()),) for name, text in (("src", "ja"), ("A", "yes"))}
        >>> es = EntityAnnotations(said).evalset()
        >>> es.systems, es.segments.sources, es.outputs["A"]
        (('A',), ('ja',), ('yes',))
        """
        texts = {name: tuple(s.text for s in own) for name, own in self.systems.items()}
        references = {"ref": texts["ref"]} if "ref" in texts else {}
        segments = Segments(self.ids, sources=texts.get("src"), references=references)
        outputs = {name: own for name, own in texts.items() if name not in SIDES}
        return EvalSet(
            tuple(outputs),
            segments,
            outputs=outputs,
            language_pair=self.language_pair,
            inputs=self.inputs,
        )


def merged(parts: Sequence[EntityAnnotations]) -> EntityAnnotations:
    """Put annotations of several systems together; they must be of the same sentences.

    Examples
    --------
    >>> one, other = ({name: (Sentence("x", ()),)} for name in ("src", "A"))
    >>> list(merged([EntityAnnotations(one), EntityAnnotations(other)]).systems)
    ['src', 'A']
    """
    first, *others = parts
    systems = dict(first.systems)
    for one in others:
        place = one.inputs[0].path if one.inputs else None
        if one.ids != first.ids:
            told = f"{plural(one.n_segments, 'sentence')}, and others have {first.n_segments}"
            same = one.n_segments == first.n_segments
            raise InputError("other lines than those before" if same else told, path=place)
        for name, own in one.systems.items():
            if name in systems:
                raise InputError(f"links of system '{name}' a second time", path=place)
            systems[name] = own
    inputs = tuple(file for one in parts for file in one.inputs)
    return replace(first, systems=systems, inputs=inputs)


def _numbered(n: int) -> tuple[str, ...]:
    return tuple(str(number) for number in range(1, n + 1))


def read(table: RawTable) -> EntityAnnotations:
    """Read annotations; all systems must have the same lines."""
    if "annotated_sentence" in table:
        return EntityAnnotations({system_name(table.path): _released(table)})
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
    plain = lines == list(_numbered(len(lines)))
    return EntityAnnotations(
        {n: tuple(own[ln] for ln in lines) for n, own in sorted(found.items())},
        lines=() if plain else tuple(lines),
    )


def _mentions(listed: Any, path: Path, line: int) -> tuple[EntityMention, ...]:
    def fail() -> NoReturn:
        raise InputError("'entities': expected a list of [begin, end, id]", path=path, line=line)

    if not isinstance(listed, list):
        fail()
    mentions = []
    for one in listed:
        named: dict[str, Any] = {}
        if isinstance(one, dict):
            named = one
            values: list[Any] = [one.get(key) for key in ("begin", "end", "id")]
        elif isinstance(one, list) and len(one) == 3:
            values = one
        else:
            fail()
        if not all(type(v) is int for v in values[:2]) or not isinstance(values[2], str):
            fail()
        for key in ("text", "category"):
            value = named.get(key)
            if not (value is None or isinstance(value, str)):
                raise InputError(
                    f"entity's '{key}': {value!r}, expected text", path=path, line=line
                )
        readings = named.get("candidates", [])
        if not (isinstance(readings, list) and all(isinstance(own, str) for own in readings)):
            told = f"entity's 'candidates': {readings!r}, expected a list of ids"
            raise InputError(told, path=path, line=line)
        mentions.append(
            EntityMention(
                values[2],
                values[0],
                values[1],
                named.get("text"),
                named.get("category"),
                tuple(readings),
            )
        )
    return tuple(mentions)


def system_name(path: Path) -> str:
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


def write(annotations: EntityAnnotations, path: Path) -> None:
    """Write a row per system and sentence."""
    numbers = annotations.lines or range(1, annotations.n_segments + 1)
    rows = [
        (name, number, sentence)
        for name, sentences in annotations.systems.items()
        for number, sentence in zip(numbers, sentences, strict=True)
    ]
    columns = {
        "system": [name for name, _, _ in rows],
        "line": [number for _, number, _ in rows],
        "sentence": [sentence.text for _, _, sentence in rows],
        "entities": [
            [
                [m.begin, m.end, m.id] if m == EntityMention(*m[:3]) else written(m)
                for m in sentence.mentions
            ]
            for _, _, sentence in rows
        ],
    }
    tables.write(path, columns)


def written(mention: EntityMention) -> dict[str, Any]:
    """Give a mention as files hold it, without what is not known."""
    own: dict[str, Any] = {"id": mention.id, "begin": mention.begin, "end": mention.end}
    if mention.text is not None:
        own["text"] = mention.text
    if mention.category is not None:
        own["category"] = mention.category
    return own | ({"candidates": list(mention.candidates)} if mention.candidates else {})


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
