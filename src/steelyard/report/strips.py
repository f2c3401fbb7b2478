"""Rows with a small picture: a value with its interval, or shares of a whole, all on one scale.

Pictures are SVG whose places are per cent of the width, so they fit any screen and need no
plotting library. What a picture shows is also written in its row; a screen reader reads the text.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from steelyard.core.errors import printable
from steelyard.core.table import interval_decimals, missing, shown_number

_COLOURS = 7  # of tiers, in turn


@dataclass(frozen=True, slots=True)
class Estimate:
    """A row: a name, a value with its interval, its tier or rank, and a remark beside the name."""

    name: str
    value: float
    ci: tuple[float, float] = (math.nan, math.nan)
    tier: int | None = None
    remark: str = ""
    more: tuple[str, ...] = ()  # further cells


@dataclass(frozen=True, slots=True)
class Share:
    """A bar of a stacked row: where it starts and ends in per cent, and what it stands for."""

    start: float
    end: float
    kind: str
    text: str


@dataclass(frozen=True, slots=True)
class Strip:
    """A finished row; places are per cent of the width of its picture."""

    name: str
    remark: str = ""
    tip: str = ""
    dot: float | None = None
    line: tuple[float, float] | None = None
    colour: int = 1
    bars: tuple[Share, ...] = ()
    cells: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Strips:
    """Named rows of pictures with their headings, a scale, and a line at 0 where that is in it."""

    id: str
    label: str
    heads: tuple[str, ...]
    rows: tuple[Strip, ...]
    ticks: tuple[tuple[float, str], ...] = ()
    zero: float | None = None
    notes: tuple[str, ...] = ()


def ticks(low: float, high: float, most: int = 5) -> list[float]:
    """Return round numbers from ``low`` to ``high``.

    Examples
    --------
    >>> ticks(0.13, 0.58)
    [0.2, 0.3, 0.4, 0.5]
    """
    step = 10.0 ** math.floor(math.log10((high - low) / most))
    step = next(step * k for k in (1, 2, 5, 10, 20) if (high - low) / (step * k) <= most)
    first, last = math.ceil(low / step), math.floor(high / step)
    return [round(k * step, 12) for k in range(first, last + 1)]


def forest(
    id_: str,
    label: str,
    rows: Sequence[Estimate],
    heads: Sequence[str],
    *,
    called: str = "tier",
    zero: bool = False,
    notes: Sequence[str] = (),
) -> Strips:
    """Draw values with their intervals; ``heads`` are those of the name, the value, and the rest.

    ``called`` is what a tier is called, and ``zero`` says that the scale holds 0.
    """
    values = np.array([row.value for row in rows], float)
    low, high = np.array([row.ci for row in rows], float).reshape(-1, 2).T
    digits = interval_decimals(values, low, high)
    every = np.concatenate([values, low, high, np.zeros(int(zero))])
    known = every[np.isfinite(every)]
    least, most = (float(known.min()), float(known.max())) if known.size else (0.0, 0.0)
    if least == most:
        least, most = least - 0.5, most + 0.5

    def place(value: float) -> float:
        return round(3 + 94 * (value - least) / (most - least), 2)

    tiered = any(row.tier is not None for row in rows)
    strips = []
    for row in rows:
        name, value = printable(row.name), shown_number(row.value, digits)
        has_ends = not any(map(missing, row.ci))
        ends = " to ".join(shown_number(end, digits) for end in row.ci)
        tip = f"{name}: {value}" + (f" (95% CI {ends})" if has_ends else "")
        tip += "" if row.tier is None else f", {called} {row.tier}"
        cells = [value, ends if has_ends else ""]
        cells += ["" if row.tier is None else str(row.tier)] if tiered else []
        strips.append(
            Strip(
                name,
                row.remark,
                tip,
                None if missing(row.value) else place(row.value),
                (place(row.ci[0]), place(row.ci[1])) if has_ends else None,
                1 if row.tier is None else (row.tier - 1) % _COLOURS + 1,
                cells=(*cells, *map(printable, row.more)),
            )
        )
    first, value_head, *rest = heads
    heads = (first, "", value_head, "95% CI", *([called] if tiered else []), *rest)
    scale = tuple((place(x), f"{x:g}") for x in ticks(least, most))
    at_zero = place(0.0) if least < 0 < most or zero else None
    return Strips(id_, printable(label), tuple(map(printable, heads)), tuple(strips), scale,
                  at_zero, tuple(map(printable, notes)))  # fmt: skip


def stacked(
    id_: str, label: str, rows: Sequence[tuple[str, dict[str, tuple[int, float]]]], head: str
) -> Strips:
    """Draw shares of a whole: of each row the count and the share of every kind."""
    strips = []
    for name, shares in rows:
        bars, start = [], 0.0
        for kind, (_, share) in shares.items():
            end = start + 100 * share
            text = f"{100 * share:.0f}" if share >= 0.1 else ""
            bars.append(Share(round(start, 2), round(end, 2), kind, text))
            start = end
        counts = ", ".join(f"{n:,} {kind}" for kind, (n, _) in shares.items())
        cells = (", ".join(f"{n:,}" for n, _ in shares.values()),)
        clean = printable(name)
        strips.append(Strip(clean, tip=f"{clean}: {counts}", bars=tuple(bars), cells=cells))
    kinds = ", ".join(rows[0][1]) if rows else ""
    heads = (printable(head), "", kinds)
    return Strips(id_, printable(label), heads, tuple(strips))
