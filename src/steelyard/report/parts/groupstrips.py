"""Pictures of metrics on groups of segments: a column per group."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from steelyard.core.errors import printable
from steelyard.core.text import plural
from steelyard.metaevaluation.run import Agreements
from steelyard.report.parts.strips import Scale, StripCell, Strips
from steelyard.stats.arrays import Floats


def metric_strips(found: Agreements, label: str, caption: str) -> Strips:
    """Draw the agreement of metrics in each group, and on all segments."""
    cells = _cells(found.metrics, found.names, found.ranks, (found.value, found.low, found.high),
                   3, found.by)  # fmt: skip
    rows = [
        (name, [StripCell(f"{value:.3f}", number=True), *own])
        for (name, own), value in zip(cells, found.every, strict=True)
    ]
    heads = ("metric", "all segments", *_heads(found.names, found.sizes))
    return Strips.of(label, caption, heads, rows)


def _heads(names: Sequence[str], sizes: Sequence[int]) -> list[str]:
    return [f"{name} ({plural(n, 'segment')})" for name, n in zip(names, sizes, strict=True)]


def _cells(
    rows: Sequence[str],
    groups: Sequence[str],
    ranks: Floats,
    numbers: tuple[Floats, Floats, Floats],
    digits: int,
    what: str,
) -> list[tuple[str, list[StripCell]]]:
    value, low, high = numbers
    scales = [Scale.over(value[:, g], low[:, g], high[:, g]) for g in range(len(groups))]

    def cell(i: int, g: int) -> StripCell:
        if np.isnan(value[i, g]):
            return StripCell("--", printable(f"{groups[g]}, {rows[i]}: no scores"))
        rank, shown = int(ranks[i, g]), f"{value[i, g]:.{digits}f}"
        tip = f"{groups[g]}, {rows[i]}: rank {rank} of {len(rows)}, {what} {shown}"
        start, end = (scales[g].at(float(x)) for x in (low[i, g], high[i, g]))
        if start is not None and end is not None:
            tip += f" (95 % interval {low[i, g]:.{digits}f} to {high[i, g]:.{digits}f})"
        else:
            start = end = None
        place = scales[g].at(float(value[i, g]))
        text = f"{rank}. {shown}"
        return StripCell(text, printable(tip), place, start, end, strong=rank == 1)

    columns = range(len(groups))
    return [(name, [cell(i, g) for g in columns]) for i, name in enumerate(rows)]
