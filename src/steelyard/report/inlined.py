"""Data that stands in the page for its script to read."""

from __future__ import annotations

from steelyard.core.table import dumps

_ESCAPES = {ord(c): f"\\u{ord(c):04x}" for c in "<>&\u2028\u2029"}


def script_json(value: object) -> str:
    r"""Write JSON that can stand in a script element: no character of it can begin markup.

    Examples
    --------
    >>> print(script_json({"name": "</script><b>&"}))
    {"name": "\u003c/script\u003e\u003cb\u003e\u0026"}
    """
    return dumps(value, indent=None).translate(_ESCAPES)
