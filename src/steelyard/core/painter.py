"""Who draws results: results are made below the room that draws, and must not know it.

The package fills the place when it is imported; what draws loads when the first figure is asked
for.
"""

from __future__ import annotations

from typing import Any, Protocol


class Painter(Protocol):
    """What draws results."""

    def draw(self, result: Any, kind: str | None) -> Any:
        """Give the chart of a kind; None stands for the usual one."""

    def picture(self, result: Any) -> str:
        """Give the usual figure as an SVG element, nothing if there is none."""


_painters: list[Painter] = []


def painted_by(painter: Painter) -> None:
    """Have results drawn by this painter."""
    _painters[:] = [painter]


def the_painter() -> Painter:
    """Give what draws results."""
    if not _painters:
        raise RuntimeError("nothing draws results: import steelyard first")
    return _painters[0]
