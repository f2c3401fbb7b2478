"""Data frames at the door: pandas, polars and whatever else narwhals knows become a RawTable."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np

from steelyard.errors import InputError
from steelyard.formats import layout
from steelyard.formats.tables import RawTable, check_header

PLACE = Path("<frame>")


def recognise(value: object) -> bool:
    """Tell whether a value is a data frame, without importing any frame library."""
    import narwhals as nw

    try:
        native = nw.from_native(value, pass_through=True)
    except nw.exceptions.DuplicateError:
        return True
    return isinstance(native, (nw.DataFrame, nw.LazyFrame))


def read(value: Any) -> RawTable:
    """Take the columns of a frame; its index, if it has one, is not looked at."""
    import narwhals as nw

    try:
        frame = nw.from_native(value)
    except nw.exceptions.DuplicateError:
        check_header(PLACE, [str(name) for name in value.columns])
        raise
    if isinstance(frame, nw.LazyFrame):
        frame = frame.collect()
    check_header(PLACE, [str(name) for name in frame.columns])
    if not len(frame):
        raise InputError("has no rows", path=PLACE)
    columns: dict[str, Any] = {}
    for name in frame.columns:
        column = frame[name]
        if column.dtype.is_float() and not layout.is_text(name):
            columns[str(name)] = column.cast(nw.Float64).to_numpy().astype(np.float64)
        else:
            columns[str(name)] = [None if _is_missing(v) else v for v in column.to_list()]
    return RawTable(PLACE, columns, len(frame), blank_is_missing=False)


def _is_missing(value: object) -> bool:
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, float) and math.isnan(value)
