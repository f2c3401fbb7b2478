"""Entity annotations: which knowledge-base entities a linker found in which sentence.

Two layouts: JSON lines (system, line, sentence, entities ``[[begin, end, id], ...]``), and that of
the KoBE release: one JSON object per system, ``{"annotated_sentence": [{sentence, entities}]}``, in
folders (:mod:`steelyard.formats.folders.koberelease`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

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

#: The systems of annotations that are none: what outputs are compared with.
SIDES = ("src", "ref")
_KEYS = ("begin", "end", "id")
_EXPECTED = "'entities': expected a list of [begin, end, id]"


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
            notes=self.notes,
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
    notes = tuple(note for one in parts for note in one.notes)
    return replace(first, systems=systems, inputs=inputs, notes=notes)


def _numbered(n: int) -> tuple[str, ...]:
    return tuple(str(number) for number in range(1, n + 1))


def read(table: RawTable) -> EntityAnnotations:
    """Read annotations; all systems must have the same lines."""
    if "annotated_sentence" in table:
        name, sentences, unlinked = released(table)
        return EntityAnnotations({name: sentences}, notes=left_out(unlinked, table.place))
    column = roles.segment_column(table)
    if column is None:
        table.fail(f"no line column (one of {', '.join(roles.SEGMENT)})")
    found: dict[str, dict[str, Sentence]] = {}
    names = table.labels("system") if "system" in table else ["unknown"] * table.n_rows
    texts = table.texts("sentence")
    unlinked = 0
    for row, (name, line) in enumerate(zip(names, table.labels(column), strict=True)):
        listed = table.columns["entities"][row]
        if isinstance(listed, str):
            listed = files.parse_json(listed, table.path, table.line(row))
        if line in found.setdefault(name, {}):
            table.fail(f"line '{line}' of '{name}' occurs twice", row)
        fail = partial(table.fail, row=row)
        files.whole(f"{name}{line}", "a name", fail)
        found[name][line] = sentence = _sentence(texts[row] or "", listed, fail)
        unlinked += len(listed) - len(sentence.mentions)
    lines = sorted({line for own in found.values() for line in own}, key=natural_key)
    for name, own in found.items():
        if len(own) != len(lines):
            lost = next(line for line in lines if line not in own)
            table.fail(f"system '{name}' has no line '{lost}'")
    plain = lines == list(_numbered(len(lines)))
    return EntityAnnotations(
        {n: tuple(own[ln] for ln in lines) for n, own in sorted(found.items())},
        lines=() if plain else tuple(lines),
        notes=left_out(unlinked, table.place),
    )


def left_out(unlinked: int, place: str) -> tuple[str, ...]:
    """Say how many mentions have no id, if any: nothing can be the same as they."""
    if not unlinked:
        return ()
    return (f"{place}: {plural(unlinked, 'mention')} without an id left out",)


def _sentence(text: str, listed: Any, fail: files.Fail) -> Sentence:
    """Read a sentence with those of its mentions that have an id."""
    if not isinstance(listed, list):
        fail(_EXPECTED)
    size = len(files.whole(text, "'sentence'", fail).encode())
    found = [_mention(one, fail) for one in listed]
    for one in found:
        # Characters are at most as many as bytes, in which the release counts the beginning.
        if not 0 <= one.begin <= one.end <= size:
            span = f"[{brief(one.begin)}, {brief(one.end)}]"
            told = f"'entities': {span} is no part of the {plural(len(text), 'character')}"
            fail(f"{told} of the sentence, expected [begin, end, id] with 0 <= begin <= end")
    return Sentence(text, tuple(one for one in found if one.id.strip()))


def _mention(one: Any, fail: files.Fail) -> EntityMention:
    named: dict[str, Any] = one if isinstance(one, dict) else {}
    values = [one[key] for key in _KEYS] if named.keys() >= set(_KEYS) else one
    if not (isinstance(values, list) and len(values) == 3):
        fail(_EXPECTED)
    begin, end, id_ = values
    if not (type(begin) is type(end) is int and (id_ is None or isinstance(id_, str))):
        fail(_EXPECTED)
    for key in ("text", "category"):
        value = named.get(key)
        if not (value is None or isinstance(value, str)):
            fail(f"entity's '{key}': {value!r}, expected text")
    readings = named.get("candidates", [])
    if not (isinstance(readings, list) and all(isinstance(own, str) for own in readings)):
        fail(f"entity's 'candidates': {readings!r}, expected a list of ids")
    text, category = named.get("text"), named.get("category")
    for own in (id_, text, category, *readings):
        files.whole(own or "", "'entities'", fail)
    return EntityMention(id_ or "", begin, end, text, category, tuple(readings))


def system_name(path: Path) -> str:
    """Name a system by its released file: newstest2019.SYSTEM.LP, or -src. / -ref. in the name."""
    for side in ("src", "ref"):
        if f"-{side}." in path.name:
            return side
    name = path.name.removesuffix(".gz").removesuffix(".json")
    head, dot, rest = name.partition(".")
    return rest.rpartition(".")[0] or name if dot and head.startswith("newstest") else name


def released(table: RawTable) -> tuple[str, tuple[Sentence, ...], int]:
    """Read a released file: the system, its sentences, and how many mentions have no id."""
    if "annotated_sentence" not in table:
        table.fail("no 'annotated_sentence', expected a file of the KoBE release")
    listed = table.columns["annotated_sentence"][0]
    if table.n_rows != 1 or not isinstance(listed, list):
        table.fail("'annotated_sentence': expected one list of sentences")
    sentences, unlinked = [], 0
    for number, value in enumerate(listed, 1):
        fail = partial(_fail_in, table, number)
        if not isinstance(value, dict) or not isinstance(value.get("sentence"), str):
            fail("expected an object with 'sentence' and 'entities'")
        entities = value.get("entities", [])
        sentences.append(_sentence(value["sentence"], entities, fail))
        unlinked += len(entities) - len(sentences[-1].mentions)
    return files.whole(system_name(table.path), "the name", table.fail), tuple(sentences), unlinked


def _fail_in(table: RawTable, number: int, message: str) -> NoReturn:
    table.fail(f"sentence {number}: {message}", 0)


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
