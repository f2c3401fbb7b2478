"""JSON as a table: records in lines, in a list or under a key; columns, or rows by name.

Objects in cells become columns with a dot (``scores.comet``), and a list of answers per item
(``responses: [{model, score}]``) becomes a row for each.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from steelyard.core.errors import InputError
from steelyard.core.text import listed
from steelyard.formats import files
from steelyard.formats.columns import are_measures, has_role, names_systems
from steelyard.formats.rawtable import RawTable

#: Keys of ours that hold lists or objects.
NESTED = frozenset(("out", "refs", "errors", "entities", "annotated_sentence", "mentions"))
_DEEPEST = 6  # objects in objects whose values become columns
Record = tuple[int, Any]  # the line of a record, and what it is


def read(text: str, path: Path) -> RawTable:
    """Read the table that a text is."""
    document = files.json_document(text, path)
    if isinstance(document, dict) and files.kind(path) not in ("jsonl", "ndjson"):
        return _of_document(document, text, path)
    if not isinstance(document, files.JsonList):  # lines, of which there may be one
        lines = enumerate(files.lines(text), 1)
        document = [(n, files.parse_json(line, path, n)) for n, line in lines if line.strip()]
    return _of_records(document, path)


def is_table(document: Mapping[str, Any]) -> bool:
    """Tell whether a document is laid out like a table."""
    return _layout(document) != ""


def refuse(document: Mapping[str, Any], path: Path) -> NoReturn:
    """Refuse a document that is laid out like no table."""
    keys = listed(list(document), 8)
    raise InputError(
        f"a JSON document with keys {keys}; expected records (in lines, in a list or under one "
        "key), a list of scores for each system, or a log",
        path=path,
    )


def _layout(document: Mapping[str, Any]) -> str:
    """Name how a document holds a table; blank if it holds none."""
    values = list(document.values())
    nested = any(isinstance(value, (dict, list)) for value in values)
    lists = [name for name, value in document.items() if _are_objects(value)]
    layout = ""
    if not nested or not NESTED.isdisjoint(document):
        layout = "record"
    elif lists and len(lists) == len(values) > 1:
        layout = "systems"
    elif len(lists) == 1:
        layout = "key"
    elif all(isinstance(value, list) and value and _are_scalars(value) for value in values):
        layout = "lists"
    elif all(isinstance(v, dict) and v and _are_scalars(v.values()) for v in values):
        layout = "objects"
    return layout


def _are_objects(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(v, dict) for v in value)


def _are_scalars(values: Any) -> bool:
    return not any(isinstance(value, (dict, list)) for value in values)


def _of_document(document: dict[str, Any], text: str, path: Path) -> RawTable:
    layout = _layout(document)
    if layout == "systems":
        rows = [{"system": name, **row} for name, records in document.items() for row in records]
        if any(names_systems(key) for records in document.values() for r in records for key in r):
            refuse(document, path)
        return _of_records([(1, row) for row in rows], path)
    if layout == "key":
        key = next(name for name, value in document.items() if _are_objects(value))

        @cache
        def lines() -> list[int]:
            return list(files.element_lines(text, [key]))

        return _of_records([(k, row) for k, row in enumerate(document[key])], path, lines)
    if layout == "lists":
        return of_lists(document, path)
    if layout == "objects":
        return of_objects(document, path)
    return _of_records([(1, document)], path)


def of_lists(columns: dict[str, list[Any]], path: Path) -> RawTable:
    """Read a list for each system, or for each column."""
    if not any(map(len, columns.values())):
        raise InputError("has no rows", path=path)
    first, length = next((name, len(value)) for name, value in columns.items())
    for name, value in columns.items():
        if len(value) != length:
            message = f"'{name}' has {len(value)} values, but '{first}' has {length}"
            raise InputError(message, path=path)
    _check_keys(columns, path, 1)
    return RawTable(path, columns, length, lambda _: 1, blank_is_missing=False)


def of_objects(document: dict[str, dict[str, Any]], path: Path) -> RawTable:
    """Read scores by system and id, or by id and system: by what the keys are."""
    outer = list(document)
    inner = list(dict.fromkeys(key for row in document.values() for key in row))
    by_rows = are_measures(inner) or any(has_role(key) for key in inner)
    by_columns = any(has_role(key) for key in outer)
    if by_rows == by_columns:
        if len(outer) == len(inner) == 1:
            refuse(document, path)
        if len(outer) == len(inner):
            raise InputError(
                "could be scores by system and id, or by id and system; expected records with "
                "keys system, segment and score",
                path=path,
            )
        by_columns = len(outer) < len(inner)
    if by_columns:
        columns: dict[str, Any] = {
            name: [row.get(key) for key in inner] for name, row in document.items()
        }
        index, n = inner, len(inner)
        label = "segment"
    else:
        columns = {key: [row.get(key) for row in document.values()] for key in inner}
        index, n = outer, len(outer)
        label = "system" if are_measures(inner) else "segment"
    if index != [str(k) for k in range(n)] and label not in columns:
        columns = {label: index, **columns}
    _check_keys(columns, path, 1)
    return RawTable(path, columns, n, lambda _: 1, blank_is_missing=False)


def _check_keys(row: Mapping[str, Any], path: Path, line: int) -> None:
    if any(not name.strip() for name in row):
        raise InputError("a key of the object has no name", path=path, line=line)


def _of_records(records: Sequence[Record], path: Path, lines: Any = None) -> RawTable:
    if not records:
        raise InputError("has no rows", path=path)
    starts = [start for start, _ in records]

    def line_of(row: int) -> int:
        return int(starts[row]) if lines is None else int(lines()[starts[row]])

    objects = []
    for row, (_, value) in enumerate(records):
        if not isinstance(value, dict):
            files.need_object(value, path, line_of(row))
        if any(not name.strip() for name in value):
            _check_keys(value, path, line_of(row))
        objects.append(value)
    columns = flat(_columns(objects), path)
    if not columns:
        raise InputError("no object has any key", path=path)
    answers = [name for name, cells in columns.items() if _are_answers(name, cells)]
    rows = list(range(len(objects)))
    if len(answers) == 1:
        columns, rows = _one_row_each(columns, answers[0], path)
    return RawTable(
        path, columns, len(rows), lambda row: line_of(rows[row]), blank_is_missing=False
    )


def _columns(objects: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    names = dict.fromkeys(name for value in objects for name in value)
    return {name: [value.get(name) for value in objects] for name in names}


def flat(columns: Mapping[str, Any], path: Path, depth: int = 0) -> dict[str, Any]:
    """Make columns of the values of objects, where a column holds objects alone."""
    made: dict[str, Any] = {}
    for name, cells in columns.items():
        held = [] if isinstance(cells, np.ndarray) else [c for c in cells if c is not None]
        nested = held and name not in NESTED and all(isinstance(cell, dict) for cell in held)
        if not nested or depth == _DEEPEST or not any(held):
            parts = {name: cells}
        else:
            inside = _columns([cell or {} for cell in cells])
            parts = flat(
                {f"{name}.{key}": column for key, column in inside.items()}, path, depth + 1
            )
        for key in parts:
            if key in made:
                raise InputError(f"column '{key}' occurs twice", path=path)
        made |= parts
    return made


def _are_answers(name: str, cells: Sequence[Any]) -> bool:
    """Tell whether a column holds lists of answers, each with the system that gave it."""
    held = [cell for cell in cells if cell is not None]
    if name in NESTED or not held or not all(_are_objects(cell) for cell in held):
        return False
    return all(any(names_systems(key) for key in answer) for cell in held for answer in cell)


def _one_row_each(
    columns: dict[str, list[Any]], name: str, path: Path
) -> tuple[dict[str, list[Any]], list[int]]:
    """Give every answer of an item a row, beside what the item says."""
    answers = [(row, answer) for row, cell in enumerate(columns[name]) for answer in cell or ()]
    inside = flat(_columns([answer for _, answer in answers]), path)
    rows = [row for row, _ in answers]
    outside = {key: [cells[row] for row in rows] for key, cells in columns.items() if key != name}
    return outside | {f"{name}.{k}" if k in outside else k: v for k, v in inside.items()}, rows
