"""Data at the door: frames of pandas, polars and Arrow, datasets, mappings of columns, arrays.

All become a RawTable.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from steelyard.core.errors import InputError, UsageError
from steelyard.formats import tables
from steelyard.formats.columns import stays_text
from steelyard.formats.rawtable import FRAME, RawTable
from steelyard.formats.tables import are_padded, check_header

PLACE = FRAME
_INDEX = (
    "the index is no plain range, and may name segments: reset_index() makes a column of it, "
    "reset_index(drop=True) forgets it"
)


def recognise(value: object) -> bool:
    """Tell whether a value is a table, without importing any frame library."""
    import narwhals as nw

    if _is_mapping(value) or _is_array(value):
        return True

    try:
        native = nw.from_native(_plain(value), pass_through=True)
    except nw.exceptions.DuplicateError:
        return True
    return isinstance(native, (nw.DataFrame, nw.LazyFrame))


def _plain(value: Any) -> Any:
    """Give the table behind a dataset (Hugging Face) or a batch of Arrow, anything else as is."""
    package = type(value).__module__.partition(".")[0]
    if package == "datasets" and hasattr(value, "column_names"):
        if isinstance(value, dict):
            splits = ", ".join(map(str, value))
            raise UsageError(
                f"a dataset of several splits ({splits}): give one of them, as ds[...]"
            )
        return value.with_format("arrow")[:]  # in its own order, whatever was selected or shuffled
    if package == "pyarrow" and type(value).__name__ == "RecordBatch":
        from importlib import import_module

        return import_module("pyarrow").Table.from_batches([value])
    return value


def _is_mapping(value: object) -> bool:
    if not isinstance(value, Mapping) or type(value).__module__.partition(".")[0] == "datasets":
        return False
    return bool(value) and all(isinstance(name, str) for name in value)


def _is_array(value: object) -> bool:
    return isinstance(value, np.ndarray) and value.ndim == 2 and value.dtype.kind in "fiub"


def _of_mapping(value: Mapping[str, Any]) -> RawTable:
    """Take a column for each system (or of whatever else), or scores by id for each."""
    if all(isinstance(column, Mapping) for column in value.values()):
        document = {name: dict(column) for name, column in value.items()}
        return tables.of_objects(document, PLACE)
    columns: dict[str, Any] = {}
    index = None
    for name, column in value.items():
        if isinstance(column, (str, bytes)) or not hasattr(column, "__len__"):
            raise UsageError(f"'{name}' is {type(column).__name__}, expected a list of scores")
        labels = list(column.index) if hasattr(column, "iloc") else None
        if labels is not None and labels != list(range(len(labels))):
            if index is not None and labels != index:
                raise UsageError(f"'{name}' has another index than the columns before it")
            index = labels
        columns[name] = _cells(np.asarray(column))
    if index is not None and "segment" not in columns:
        columns = {"segment": [str(label) for label in index], **columns}
    return tables.of_lists(columns, PLACE)


def _cells(column: Any) -> list[Any]:
    """Give the cells of an array or an index, None for whatever a library calls missing."""
    return [None if _is_missing(cell) else cell for cell in column.tolist()]


def read(value: Any) -> RawTable:
    """Take the columns of a frame, and the levels of its index that have names."""
    import narwhals as nw

    if _is_mapping(value):
        return _of_mapping(value)
    if _is_array(value):
        rows = {f"system {k}": row.tolist() for k, row in enumerate(value, 1)}
        return _of_mapping(rows)
    value = _plain(value)
    if hasattr(value, "iloc"):  # pandas, or made like it: names can be anything there
        _check_names(value.columns)
    try:
        frame = nw.from_native(value)
    except nw.exceptions.DuplicateError:
        check_header(PLACE, [str(name) for name in value.columns])
        raise
    if isinstance(frame, nw.LazyFrame):
        frame = frame.collect()
    if not len(frame):
        raise InputError("has no rows", path=PLACE)
    index = nw.maybe_get_index(frame)
    columns: dict[str, Any] = _index_columns(index)
    padded = are_padded(frame.columns)  # as pandas reads "system, segment, chrF"
    shown = [name.strip(" ") if padded else name for name in frame.columns]
    names = check_header(PLACE, [*columns, *shown])[len(columns) :]
    for name, in_frame in zip(names, frame.columns, strict=True):
        column = frame[in_frame]
        if column.dtype.is_float() and not stays_text(name):
            columns[name] = column.cast(nw.Float64).to_numpy().astype(np.float64)
        else:
            columns[name] = [None if _is_missing(cell) else cell for cell in column.to_list()]
    moved = (
        index is not None
        and list(index.names) == [None]
        and not np.array_equal(index, np.arange(len(frame)))
    )
    needed = {"segment": _INDEX} if moved else {}
    return RawTable(PLACE, columns, len(frame), blank_is_missing=False, needed=needed)


def _check_names(names: Iterable[Any]) -> None:
    """Refuse names of columns that are no texts: numbers, or several levels of names."""
    for name in names:
        if not isinstance(name, str):
            raise UsageError(
                f"{PLACE}: a column is named {name!r}, expected a text and no levels: system, "
                "segment, a score or, in a wide table, a system (df.columns = [...] renames them)"
            )


def _index_columns(index: Any) -> dict[str, Any]:
    """Return the named levels of a pandas index as columns; an unnamed one must be integers."""
    if index is None:
        return {}
    names = list(index.names)
    if names == [None]:
        if not np.issubdtype(np.asarray(index).dtype, np.integer):
            raise UsageError(f"{PLACE}: {_INDEX}")
        return {}
    if None in names:
        raise UsageError(f"{PLACE}: a level of the index has no name; reset_index() makes columns")
    _check_names(names)
    return {name: _cells(index.get_level_values(k)) for k, name in enumerate(names)}


def _is_missing(value: object) -> bool:
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, float) and math.isnan(value)
