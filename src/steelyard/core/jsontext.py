"""JSON over several lines, as the standard library writes it, but fast where arrays are large.

The library's fast encoder writes one line only; over several lines it goes through every number in
Python. A row of an array is one step here. NumPy is not imported: help texts need none.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterable, Mapping
from json.encoder import encode_basestring
from typing import Any


def indented(value: object, line: str, by: str) -> str:
    """Write a value; what is not finite is null, and names of anything are texts.

    Parameters
    ----------
    value
        Numbers, texts, lists, mappings and NumPy arrays of them.
    line
        A line break with what stands before the line.
    by
        What stands before lines further in, besides.

    Examples
    --------
    >>> print(indented({"x": [1, float("nan")]}, chr(10), "  "))
    {
      "x": [
        1,
        null
      ]
    }
    """
    inner = line + by
    ends = "[]"
    if _is_array(value):
        parts = _array(value, inner, by)
    elif isinstance(value, Mapping):
        ends = "{}"
        pairs = {str(k): indented(v, inner, by) for k, v in value.items()}
        parts = [f"{encode_basestring(k)}: {v}" for k, v in pairs.items()]
    elif isinstance(value, (list, tuple, set, frozenset)):
        parts = [indented(v, inner, by) for v in value]
    else:
        return _scalar(value)
    return f"{ends[0]}{inner}{f',{inner}'.join(parts)}{line}{ends[1]}" if parts else ends


def _is_array(value: object) -> bool:
    numpy = sys.modules.get("numpy")  # where it was never loaded, no value is of it
    return numpy is not None and isinstance(value, numpy.ndarray) and bool(value.ndim)


def _array(value: Any, inner: str, by: str) -> list[str]:
    if value.ndim > 1 or value.dtype.kind != "f":
        rows: Iterable[object] = value if value.ndim > 1 else value.tolist()
        return [indented(part, inner, by) for part in rows]
    parts = list(map(float.__repr__, value.tolist()))
    finite = abs(value) < float("inf")  # NaN is not
    for k in (~finite).nonzero()[0].tolist() if not finite.all() else ():
        parts[k] = "null"
    return parts


def _scalar(value: Any) -> str:
    """Write what has no parts; a number of NumPy's becomes a plain one."""
    if not isinstance(value, (str, int, float)) or type(value).__module__ == "numpy":
        value = value.item() if hasattr(value, "item") else value
    if isinstance(value, str):
        return encode_basestring(value)
    if isinstance(value, float):
        return float.__repr__(value) if math.isfinite(value) else "null"
    return json.dumps(value)
