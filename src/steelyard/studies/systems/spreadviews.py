"""How scores spread, as tables: outliers, places, segments, and what the pairing is worth."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from steelyard.core.table import Cell, Column, Table
from steelyard.stats.arrays import Floats, row_means
from steelyard.stats.instances.scorespread import (
    Outliers,
    ScoreSpread,
    pairing_strength,
    score_spread,
)

_OF_SYSTEMS = (
    Column("system"),
    Column("ability", "higher"),
    Column("scores"),
    Column("low outliers"),
    Column("high outliers"),
    Column("%", digits=1),
    Column("spread of ranks", digits=2),
)
_SYSTEM_NOTES = (
    "ability: relative to the mean of the systems; outliers: of the system's own scores",
    "spread of ranks: deviation of its place over segments",
)


def spread_facts(systems: Sequence[str], scores: Floats) -> dict[str, Any]:
    """Give how scores spread, by name, for machines: ``diagnostics``."""
    found, pairing = score_spread(scores), pairing_strength(scores)
    correlation, gain = pairing.middle()
    return {
        "diagnostics": {
            "outliers": _counted(found.outliers),
            "outliers_by_system": dict(zip(systems, map(_counted, found.by_system), strict=True)),
            "mean_spread_across_systems": _within(found),
            "rank_spread": dict(zip(systems, found.ranks, strict=True)),
            "spread_of_segment_means": found.between,
            "pairing": {
                "correlation": correlation,
                "unpaired_needs": gain,
                "correlations": pairing.correlation,
            },
        }
    }


def _counted(found: Outliers) -> dict[str, Any]:
    return {"low": found.low, "high": found.high, "n": found.n, "share": found.share}


def _within(found: ScoreSpread) -> float:
    return float(row_means(found.within[None, :])[0])


def spread_tables(
    systems: Sequence[str], scores: Floats, ability: Floats, sign: float
) -> dict[str, Table]:
    """Give a table of all scores, and one with a row for each system, the most able first.

    ``scores`` are more is better; outliers are called low and high in the score's own numbers.
    """
    found, pairing = score_spread(sign * scores), pairing_strength(scores)
    correlation, gain = pairing.middle()
    rows: list[tuple[Cell, ...]] = [
        ("outliers, % of all scores", 100 * found.outliers.share),
        ("deviation of the systems on a segment", _within(found)),
        ("deviation of the segments' means", found.between),
        ("correlation of two systems over segments", correlation),
        ("segments that an unpaired test needs for one", gain),
    ]
    notes = (
        "outliers: more than 1.5 quartile ranges beyond the quartiles",
        "of two systems: the median of all pairs; an unpaired test ignores what segments share",
    )
    columns = (Column("all scores"), Column("value", mixed=True))
    whole = Table("Spread of scores", columns, tuple(rows), notes)
    by_system = [
        (name, ability[i], own.n, own.low, own.high, 100 * own.share, found.ranks[i])
        for i, (name, own) in enumerate(zip(systems, found.by_system, strict=True))
    ]
    order = np.argsort(-np.nan_to_num(ability, nan=-np.inf), kind="stable")
    cells = tuple(tuple(_plain(cell) for cell in by_system[i]) for i in order)
    return {"scores": whole, "systems": Table("Systems", _OF_SYSTEMS, cells, _SYSTEM_NOTES)}


def _plain(cell: Any) -> Cell:
    return float(cell) if isinstance(cell, np.floating) else cell
