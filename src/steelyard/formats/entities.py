"""Entity annotations: which knowledge-base entities a linker found in which sentence.

Two layouts are read: JSON lines (system, line, sentence, entities ``[[begin, end, id], ...]``), and
that of the KoBE release, a JSON object per system, ``{"annotated_sentence": [{sentence,
entities}]}``, in a folder per language pair:
``annotations/wmt19-submitted-data/newstest2019/LP/newstest2019.SYSTEM.LP``, with
``newstest2019-XXYY-src.XX`` and ``...-ref.YY`` beside it. JSON lines are also written.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from steelyard.core import provenance
from steelyard.core.errors import InputError, UsageError, hint, printable
from steelyard.core.provenance import InputFile
from steelyard.core.text import listed, plural
from steelyard.data.evalset import EvalSet
from steelyard.data.segments import Segments, natural_key
from steelyard.formats import files, roles, tables
from steelyard.formats.cells import brief
from steelyard.formats.format import SetFormat, TableFormat
from steelyard.formats.rawtable import RawTable

#: The systems of annotations that are none: what outputs are compared with.
SIDES = ("src", "ref")
_KEYS = ("begin", "end", "id")
_EXPECTED = "'entities': expected a list of [begin, end, id]"
_RELEASE = "KoBE release"
_PAIR = re.compile(r"[a-z]{2,3}(_[A-Za-z]+)?-[a-z]{2,3}(_[A-Za-z]+)?")
_DEPTH = 6  # folders in folders that are looked into
_MOST_FOLDERS = 300  # that are looked into in all
_MOST_FILES = 50  # of a folder that are looked at to tell whether it is of the release
_BEGINNING = 4096  # bytes of a file in which its key must stand


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
        """Return the texts without their mentions, as a set to be scored.

        Examples
        --------
        >>> texts = {name: (Sentence(text, ()),) for name, text in (("src", "ja"), ("A", "yes"))}
        >>> es = EntityAnnotations(texts).evalset()
        >>> es.systems, es.segments.sources, es.outputs["A"]
        (('A',), ('ja',), ('yes',))
        """
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
    """Put annotations of several systems together; they must be of the same sentences.

    Examples
    --------
    >>> src, other = ({name: (Sentence("x", ()),)} for name in ("src", "A"))
    >>> list(merged([EntityAnnotations(src), EntityAnnotations(other)]).systems)
    ['src', 'A']
    """
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
    if "annotated_sentence" in table:
        name, sentences, n_unlinked = _released(table)
        return EntityAnnotations({name: sentences}, notes=_unlinked(n_unlinked, table.place))
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
    """Read a sentence with those of its mentions that have an id."""
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
    values = [entity[key] for key in _KEYS] if fields.keys() >= set(_KEYS) else entity
    if not (isinstance(values, list) and len(values) == 3):
        fail(_EXPECTED)
    begin, end, id_ = values
    if not (type(begin) is type(end) is int and (id_ is None or isinstance(id_, str))):
        fail(_EXPECTED)
    for key in ("text", "category"):
        value = fields.get(key)
        if not (value is None or isinstance(value, str)):
            fail(f"entity's '{key}': {value!r}, expected text")
    candidates = fields.get("candidates", [])
    if not (isinstance(candidates, list) and all(isinstance(c, str) for c in candidates)):
        fail(f"entity's 'candidates': {candidates!r}, expected a list of ids")
    text, category = fields.get("text"), fields.get("category")
    for value in (id_, text, category, *candidates):
        files.whole(value or "", "'entities'", fail)
    return EntityMention(id_ or "", begin, end, text, category, tuple(candidates))


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
    """Return a mention as files hold it, without what is not known."""
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
    marks=("sentence entities", "annotated_sentence"),
    read=read,
    write=write,
    to="entities",
    suits=lambda _value, _path: True,
)


def annotated_folders(folder: Path) -> dict[str, Path]:
    """Return the folders of language pairs in a folder and below, or the folder itself.

    A few files of each tell what it is, so a folder of anything else costs little.
    """
    pairs: dict[str, Path] = {}
    for path in islice(_folders(folder, 0), _MOST_FOLDERS):
        first = next(filter(_is_annotated, islice(_files(path), _MOST_FILES)), None)
        if first is None:
            continue
        pair = _pair_of(path, first)
        if pair in pairs:
            message = f"two folders of {pair}: {pairs[pair]} and {path}; give one of them"
            raise InputError(message, path=folder)
        pairs[pair] = path
    return pairs


def _folders(folder: Path, depth: int) -> Iterator[Path]:
    yield folder
    if depth < _DEPTH:
        for path in sorted(folder.iterdir()):
            if path.is_dir() and not path.is_symlink() and not path.name.startswith("."):
                yield from _folders(path, depth + 1)


def _files(folder: Path) -> list[Path]:
    """Return the files of a folder, those that are named as in the release before all others."""
    shown = (path for path in folder.iterdir() if not path.name.startswith("."))
    return sorted(filter(Path.is_file, shown), key=lambda path: (not _is_named(path), path))


def _is_named(path: Path) -> bool:
    return path.name.startswith("newstest")


def _is_annotated(path: Path) -> bool:
    return b'"annotated_sentence"' in files.head(path, _BEGINNING)


def _bare_name(path: Path) -> str:
    return path.name.removesuffix(".gz").removesuffix(".json")


def _pair_of(folder: Path, first: Path) -> str:
    """Return the language pair of a folder by its name, else by the end of a file's."""
    names = (folder.resolve().name, _bare_name(first).rpartition(".")[2])
    return next((name for name in names if _PAIR.fullmatch(name)), names[0])


def read_folder(folder: Path, lp: str | None = None) -> EntityAnnotations:
    """Read one language pair of the release; any folder above that of the pair will do."""
    pairs = annotated_folders(folder)
    if not pairs:
        raise InputError(
            "holds no entity annotations: expected LP/newstest2019.SYSTEM.LP as in the KoBE "
            "release",
            path=folder,
        )
    if lp is None and len(pairs) > 1:
        held = f"annotations of {plural(len(pairs), 'language pair')}: {', '.join(pairs)}"
        raise UsageError(f"{folder}: {held}; choose one with lp=...")
    first = next(iter(pairs))
    pair = first if lp is None else lp
    if pair not in pairs:
        if len(pairs) > 1 or _PAIR.fullmatch(first):
            raise UsageError(f"{folder}: no language pair '{pair}'; {hint(pair, pairs)}")
        pairs = {pair: pairs[first]}  # files that do not say what they are
    return _read_pair(pairs[pair], pair)


def _read_pair(folder: Path, pair: str) -> EntityAnnotations:
    """Read a file per system, all with the same number of sentences."""
    for path in sorted(folder.iterdir()):
        if path.is_symlink() and not path.exists() and not path.name.startswith("."):
            raise InputError("is a link to a file that is not there", path=path)
    systems: dict[str, tuple[Sentence, ...]] = {}
    used, others, n_unlinked = [], [], 0
    for path in sorted(_files(folder)):
        if not (_is_named(path) or _is_annotated(path)):
            others.append(printable(path.name))
            continue
        name, sentences, n_bare = _released(tables.read(path))
        if name in systems:
            raise InputError(f"a second file for system '{name}'", path=path)
        systems[name] = sentences
        n_unlinked += n_bare
        used.append(path)
    notes = _unlinked(n_unlinked, str(folder))
    if others:
        notes += (f"{folder}: passed over {listed(others)}: not of the KoBE release",)
    lengths = {name: len(sentences) for name, sentences in systems.items()}
    if len(set(lengths.values())) != 1:
        raise InputError(f"systems differ in their number of sentences: {lengths}", path=folder)
    return EntityAnnotations(
        systems,
        language_pair=pair if _PAIR.fullmatch(pair) else None,
        inputs=(InputFile(str(folder), _RELEASE, provenance.sha256(used, folder)),),
        notes=notes,
    )


def _released(table: RawTable) -> tuple[str, tuple[Sentence, ...], int]:
    """Read a released file: the system, its sentences, and how many mentions have no id."""
    if "annotated_sentence" not in table:
        table.fail("no 'annotated_sentence', expected a file of the KoBE release")
    values = table.columns["annotated_sentence"][0]
    if table.n_rows != 1 or not isinstance(values, list):
        table.fail("'annotated_sentence': expected one list of sentences")
    sentences, n_unlinked = [], 0
    for number, value in enumerate(values, 1):

        def fail(message: str, number: int = number) -> NoReturn:
            table.fail(f"sentence {number}: {message}", 0)

        if not isinstance(value, dict) or not isinstance(value.get("sentence"), str):
            fail("expected an object with 'sentence' and 'entities'")
        entities = value.get("entities", [])
        sentences.append(_sentence(value["sentence"], entities, fail))
        n_unlinked += len(entities) - len(sentences[-1].mentions)
    name = files.whole(_system_name(table.path), "the name", table.fail)
    return name, tuple(sentences), n_unlinked


def _system_name(path: Path) -> str:
    """Name a system by its released file: newstest2019.SYSTEM.LP, or -src. / -ref. in the name."""
    for side in SIDES:
        if f"-{side}." in path.name:
            return side
    name = _bare_name(path)
    head, dot, rest = name.partition(".")
    return rest.rpartition(".")[0] or name if dot and head.startswith("newstest") else name


RELEASE = SetFormat(
    name=_RELEASE,
    gives=EntityAnnotations,
    known_by="folder of files with annotated_sentence, LP/newstest2019.SYSTEM.LP",
    example="annotations/.../ru-en/newstest2019-ruen-src.ru, .../newstest2019.SYSTEM.ru-en, ...",
    folder=True,
    recognise=lambda view: bool(annotated_folders(view.path)),
    read=lambda view, lp, _where: read_folder(view.path, lp),
)
