"""Small pictures in the cells of a table: a mean with its interval, or how scores are spread.

They are SVG of a few bytes each, written without a plotting library. What a picture shows is also
written in its cell, and in full where a reader points at it; a screen reader reads the text.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from steelyard.core.errors import printable
from steelyard.stats.arrays import Floats

WIDTH, HEIGHT = 100, 24  # of a picture
_DEEP = 22  # of its tallest bar


@dataclass(frozen=True, slots=True)
class StripCell:
    """A cell: its text, what is said of it in full, and the picture, as places from 0 to 100.

    ``bars`` is the path of a histogram; ``low`` and ``high`` are the ends of a line, ``place`` is
    a dot on it, or a tick where there are bars. None is not drawn. A ``share`` is a bar from 0.
    """

    text: str
    tip: str = ""
    place: float | None = None
    low: float | None = None
    high: float | None = None
    bars: str = ""
    share: float | None = None
    strong: bool = False
    number: bool = False

    @property
    def drawn(self) -> bool:
        """Whether there is a picture."""
        return bool(self.bars) or any(x is not None for x in (self.place, self.low, self.share))


@dataclass(frozen=True, slots=True)
class Strips:
    """A table of such cells: a caption, the heads of columns, and named rows."""

    label: str
    caption: str
    heads: tuple[str, ...]
    rows: tuple[tuple[str, tuple[StripCell, ...]], ...]
    notes: tuple[str, ...] = field(default=())

    @classmethod
    def of(
        cls,
        label: str,
        caption: str,
        heads: Sequence[str],
        rows: Sequence[tuple[str, Sequence[StripCell]]],
        notes: Sequence[str] = (),
    ) -> Strips:
        """Make names harmless to the words around them."""
        return cls(
            printable(label),
            printable(caption),
            tuple(printable(head) for head in heads),
            tuple((printable(name), tuple(cells)) for name, cells in rows),
            tuple(printable(note) for note in notes),
        )


@dataclass(frozen=True, slots=True)
class Scale:
    """A scale from the least to the most of some numbers, as places from 2 to 98.

    Examples
    --------
    >>> Scale.over(np.array([1.0, 3.0, np.nan])).at(2.0)
    50.0
    """

    least: float
    most: float

    @classmethod
    def over(cls, *numbers: Floats) -> Scale:
        """Take in all known numbers."""
        every = np.concatenate([np.ravel(x) for x in numbers])
        known = every[np.isfinite(every)]
        if not known.size:
            return cls(0.0, 0.0)
        return cls(float(known.min()), float(known.max()))

    def at(self, value: float) -> float | None:
        """Give the place of a number, None where it has none."""
        if not np.isfinite(value):
            return None
        span = self.most - self.least
        share = (value - self.least) / span if span > 0 else 0.5
        return round(2 + 96 * min(1.0, max(0.0, share)), 1)


def histogram(shares: Floats, lefts: Floats, width: float) -> str:
    """Give the path of bars that begin at ``lefts``; heights are square roots, so that few show.

    Examples
    --------
    >>> histogram(np.array([0.25, 0.0, 1.0]), np.array([0.0, 10.0, 20.0]), 8)
    'M0 24V13h8V24ZM20 24V2h8V24Z'
    """
    heights = _DEEP * np.sqrt(np.clip(shares, 0.0, 1.0))
    parts = []
    for height, left in zip(heights, lefts, strict=True):
        if height > 0:
            top = round(HEIGHT - max(height, 0.7), 1)
            parts.append(f"M{round(left, 1):g} {HEIGHT}V{top:g}h{round(width, 1):g}V{HEIGHT}Z")
    return "".join(parts)
