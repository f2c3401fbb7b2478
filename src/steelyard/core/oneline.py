"""A result in one line: what an interactive session shows where nobody asked for a table."""

from __future__ import annotations

from collections.abc import Sequence

from steelyard.core.errors import printable
from steelyard.core.text import listed

_MOST = 199  # characters of a line
_NAME = 24  # characters of a name in it


def one_line(result: object, text: str) -> str:
    """Give the line of a result: its class, and what it holds, cut where it is too long.

    Examples
    --------
    >>> one_line((), "of nothing")
    '<tuple of nothing>'
    >>> len(one_line((), "x" * 1000))
    199
    """
    line = printable(f"<{type(result).__name__} {text}>")
    return line if len(line) <= _MOST else f"{line[: _MOST - 2]}…>"


def named(names: Sequence[str], most: int = 3) -> str:
    """Name the first few, long names shortened in the middle, and count the rest.

    Examples
    --------
    >>> named(["a", "a-system-with-quite-a-long-name", "c", "d"])
    'a, a-system-wit…a-long-name, c and 1 more'
    """
    half = _NAME // 2
    return listed(
        [n if len(n) <= _NAME else f"{n[:half]}…{n[len(n) - half + 1 :]}" for n in names], most
    )
