"""Plain files, one line per segment: texts as sacreBLEU takes them, or numbers.

A file of texts is the source, a reference or the outputs of one system; a file of numbers holds the
scores of one system. Systems and references are named by their file's stem, or by their place if
they come from a pipe that a shell made, ``<(zcat a.gz)``: its path is a number. Segments are
numbered from 1, as lines are.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from steelyard.core.errors import InputError, UsageError
from steelyard.core.provenance import InputFile
from steelyard.core.text import plural
from steelyard.data.evalset import EvalSet, ScoreTable
from steelyard.data.segments import Segments, Texts
from steelyard.formats import files
from steelyard.formats.cells import Cells, parse_number
from steelyard.formats.files import kept, names_of
from steelyard.formats.format import ForeignFormat
from steelyard.formats.rawtable import RawTable
from steelyard.formats.scoretables import LONG
from steelyard.formats.view import FileView

TEXTS, SCORES = "plain text", "plain scores"  # names of the formats
SCORE = "score"  # what numbers without a name are called


def _guessed(paths: Sequence[Path], names: Sequence[str], what: str) -> tuple[str, ...]:
    pairs = zip(paths, names, strict=True)
    shown = [f"{path} as '{name}'" for path, name in pairs if files.is_nameless(path)]
    if not shown:
        return ()
    why = f"a pipe has no name to call a {what} by"
    return (f"{why}: {', '.join(shown)}, by its place (a file is named by its stem)",)


@kept()
def read(
    outputs: Sequence[Path],
    source: Path | None = None,
    references: Sequence[Path] = (),
    *,
    allow_empty: bool = False,
) -> EvalSet:
    """Read the texts of systems, with source and references where given.

    All files must have the same number of lines. A line without text is an error, unless
    ``allow_empty`` says that it stands for an empty text.
    """
    if not outputs:
        raise UsageError("no outputs: expected a file for each system")
    systems, refs = names_of(outputs, "system"), names_of(references, "reference")
    paths = [*([] if source is None else [source]), *references, *outputs]
    texts = [_texts(path, allow_empty=allow_empty) for path in paths]
    need_one_length(paths, [len(lines) for lines in texts], "line")
    first = 0 if source is None else 1
    segments = Segments(
        tuple(str(k + 1) for k in range(len(texts[0]))),
        sources=texts[0] if first else None,
        references=dict(zip(refs, texts[first : first + len(refs)], strict=True)),
    )
    by_system = dict(zip(systems, texts[first + len(refs) :], strict=True))
    notes = _guessed(references, refs, "reference") + _guessed(outputs, systems, "system")
    inputs = _inputs(paths, TEXTS)
    return EvalSet(tuple(systems), segments, {}, by_system, inputs=inputs, notes=notes)


def _inputs(paths: Sequence[Path], form: str) -> tuple[InputFile, ...]:
    return tuple(InputFile(str(path), form, files.sha256(path)) for path in paths)


def _texts(path: Path, *, allow_empty: bool) -> Texts:
    lines = files.lines(files.read_text(path))
    if not lines:
        raise InputError("is empty, expected a line for each segment", path=path)
    for number, line in enumerate(lines, 1):
        if not (allow_empty or line.strip()):
            message = "no text (allow_empty=True takes it for an empty one)"
            raise InputError(message, path=path, line=number)
    return tuple(lines)


def is_numbers(path: Path) -> bool:
    """Tell from its first line whether a file holds a number on each line."""
    return not files.is_folder(path) and _number(files.first_line(path)) is not None


def _number(text: str) -> float | None:
    value = parse_number(text.strip())
    return value if value is not None and math.isfinite(value) else None


def numbers(data: bytes, path: Path, count: int | None, what: str) -> list[float]:
    """Read a number from each line; ``count`` is how many there must be, and ``what`` they are."""
    values = []
    for number, line in enumerate(files.lines(files.decode(data, path)), 1):
        value = _number(line)
        if value is None:
            raise InputError(f"'{line[:40]}' is not a number", path=path, line=number)
        values.append(value)
    if not values or (count is not None and len(values) != count):
        expected = what if count is None else f"{count}: {what}"
        raise InputError(f"{plural(len(values), 'number')}, expected {expected}", path=path)
    return values


def read_numbers(path: Path, count: int | None = None, what: str = "one per line") -> list[float]:
    """Read a file with a number on each line."""
    return numbers(files.read_bytes(path), path, count, what)


def need_one_length(paths: Sequence[Path], lengths: Sequence[int], noun: str) -> None:
    """Refuse files of different lengths."""
    for path, n in zip(paths, lengths, strict=True):
        if n != lengths[0]:
            message = f"{plural(n, noun)}, but {paths[0]} has {lengths[0]}"
            raise InputError(message, path=path, line=min(n, lengths[0]) + 1)


@kept()
def read_scores(paths: Sequence[Path], name: str = SCORE) -> EvalSet:
    """Read the scores of systems, a file for each with a number on each line."""
    systems = names_of(paths, "system")
    rows = [read_numbers(path) for path in paths]
    need_one_length(paths, [len(row) for row in rows], "number")
    segments = Segments(tuple(str(k + 1) for k in range(len(rows[0]))))
    notes, inputs = _guessed(paths, systems, "system"), _inputs(paths, SCORES)
    scores = {name: ScoreTable(np.array(rows))}
    return EvalSet(tuple(systems), segments, scores, inputs=inputs, notes=notes)


def _recognise(view: FileView) -> bool:
    """Tell whether a file holds a number on each line that is seen, and nothing else."""
    seen = [] if view.kind in ("json", "jsonl", "ndjson") else view.first_lines
    return bool(seen) and all(_number(line) is not None for line in seen)


def _unfold(view: FileView) -> RawTable:
    values = numbers(view.data, view.path, None, "one per line")
    (system,) = names_of([view.path], "system")
    columns: dict[str, Cells] = {
        "system": [system] * len(values),
        "segment": [str(k + 1) for k in range(len(values))],
        SCORE: values,
    }
    given = {"system": "the file", "segment": "the line", SCORE: "the line"}
    return RawTable(view.path, columns, len(values), given=given, blank_is_missing=False)


FORMAT = ForeignFormat(
    name=SCORES,
    gives=EvalSet,
    known_by="a number on each line, and nothing else",
    example="61.2\n70.5\n",
    example_name="A.txt",
    looks=("text",),
    recognise=_recognise,
    unfold=_unfold,
    becomes=LONG,
)
