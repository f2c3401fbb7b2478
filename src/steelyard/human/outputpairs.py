"""Pairs of outputs of one source that people compared, and those of them that are the same text.

Every two systems that people scored on the same segment are a pair; so is what a list of pairs
says. Two identical texts that people scored differently, or of which one was "better", are what no
metric can tell apart.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from steelyard.core.table import Cell, Column, Table
from steelyard.core.text import plural
from steelyard.data.evalset import EvalSet
from steelyard.data.judgements import BattleLog, Codes, Floats
from steelyard.data.segments import Segments
from steelyard.data.selection import need_moments

Bools = NDArray[np.bool_]
SHOWN_PAIRS = 3  # examples that people are shown; files and JSON have them all


@dataclass(frozen=True, slots=True)
class Pairs:
    """All pairs of outputs of the same source that people compared.

    ``gap`` is the human score of ``left`` minus that of ``right``; ``decided`` says that there are
    only better and worse, without a score (an official list of pairs). ``identical`` is None where
    texts are not known, and ``same`` holds the text of those that are. ``metric_gap`` holds the
    same difference for every metric, ``given`` the human scores of both sides as they are, and
    ``about`` what is known of the segments.
    """

    name: str
    systems: tuple[str, ...]
    segments: tuple[str, ...]
    left: Codes
    right: Codes
    segment: Codes
    gap: Floats
    identical: Bools | None = None
    metric_gap: Mapping[str, Floats] = field(default_factory=dict)
    decided: bool = False
    same: Mapping[int, str] = field(default_factory=dict)
    given: Floats | None = None  # 2 x pairs
    about: Segments | None = None

    def __len__(self) -> int:
        return len(self.gap)

    def at_least(self, threshold: float) -> Bools:
        """Tell which pairs differ by the threshold or more."""
        if self.decided:
            return np.ones(len(self), dtype=bool)
        # Scores are means of whole numbers: what rounding took from a difference is given back.
        found: Bools = (np.abs(self.gap) >= threshold - 1e-9) & (self.gap != 0)
        return found


def pairs_of_scores(
    es: EvalSet, human: str, metrics: Sequence[str] = (), name: str = "all"
) -> Pairs:
    """List all pairs of systems on the segments that people scored for both."""
    need_moments(es, (human, *metrics))
    values = es[human].oriented
    first, second = np.triu_indices(len(values), 1)
    sides = []
    for i, j in zip(first.tolist(), second.tolist(), strict=True):
        shared = np.flatnonzero(~np.isnan(values[i] - values[j]))
        sides.append(np.stack([np.full(len(shared), i), np.full(len(shared), j), shared]))
    sides.append(np.empty((3, 0), np.int64))
    left, right, segment = np.concatenate(sides, axis=1).astype(np.int32)
    identical = _identical(es, left, right, segment)
    return Pairs(
        name=name,
        systems=es.systems,
        segments=es.segments.ids,
        left=left,
        right=right,
        segment=segment,
        gap=_gap(values, left, right, segment),
        identical=identical,
        metric_gap={m: _gap(es[m].oriented, left, right, segment) for m in metrics},
        same=_texts(es, left, segment, identical),
        given=np.stack([es[human].values[side, segment] for side in (left, right)]),
        about=es.segments,
    )


def pairs_of_battles(
    log: BattleLog, es: EvalSet | None, metrics: Sequence[str] = (), name: str = "all"
) -> Pairs:
    """Take a list of pairs as it stands; texts and metrics come from a set, by name of segment."""
    segments = log.units or ("",)
    unit = np.zeros(len(log), dtype=np.int32) if log.unit is None else log.unit
    identical: Bools | None = None
    gaps: dict[str, Floats] = {}
    same: dict[int, str] = {}
    about: Segments | None = None
    if es is not None:
        place = {system: i for i, system in enumerate(es.systems)}
        column = {segment: i for i, segment in enumerate(es.segments.ids)}
        to_system = np.array([place.get(s, -1) for s in log.systems], dtype=np.int32)
        to_segment = np.array([column.get(s, -1) for s in segments], dtype=np.int32)
        left, right, segment = to_system[log.left], to_system[log.right], to_segment[unit]
        known = (left >= 0) & (right >= 0) & (segment >= 0)
        if es.outputs:
            identical = np.zeros(len(log), dtype=bool)
            found = _identical(es, left[known], right[known], segment[known])
            identical[known] = False if found is None else found
            same = _texts(es, left, segment, identical)
        for metric in metrics:
            gaps[metric] = np.full(len(log), np.nan)
            values = es[metric].oriented
            gaps[metric][known] = _gap(values, left[known], right[known], segment[known])
        about = _described(segments, to_segment, es.segments)
    return Pairs(
        name=name,
        systems=log.systems,
        segments=segments,
        left=log.left,
        right=log.right,
        segment=unit,
        gap=np.asarray(log.outcome) * 2 - 1,
        identical=identical,
        metric_gap=gaps,
        decided=True,
        same=same,
        about=about,
    )


def _gap(values: Floats, left: Codes, right: Codes, segment: Codes) -> Floats:
    gap: Floats = values[left, segment] - values[right, segment]
    return gap


def _identical(es: EvalSet, left: Codes, right: Codes, segment: Codes) -> Bools | None:
    """Compare the texts of every pair; a text that is missing is like no other."""
    if not es.outputs:
        return None
    code: dict[str, int] = {}
    blank = (None,) * es.n_segments
    rows = [es.outputs.get(name, blank) for name in es.systems]
    codes = [[-1 if t is None else code.setdefault(t, len(code)) for t in row] for row in rows]
    texts = np.array(codes, dtype=np.int64)
    one, other = texts[left, segment], texts[right, segment]
    same: Bools = (one == other) & (one >= 0)
    return same


def _texts(es: EvalSet, left: Codes, segment: Codes, identical: Bools | None) -> dict[int, str]:
    """Give the text of every pair of identical ones."""
    rows = () if identical is None else np.flatnonzero(identical).tolist()
    return {k: str(es.outputs[es.systems[left[k]]][segment[k]]) for k in rows}


def _described(names: Sequence[str], place: Codes, known: Segments) -> Segments:
    """Give what a set knows of the segments of a list of pairs."""

    def column(own: Sequence[str | None] | None) -> tuple[str | None, ...] | None:
        return None if own is None else tuple(own[k] if k >= 0 else None for k in place)

    return Segments(
        tuple(names),
        column(known.documents),
        column(known.domains),
        column(known.sources),
        document_column=known.document_column,
    )


def identical_table(sets: Sequence[Pairs], threshold: float) -> Table | None:
    """List the pairs of identical texts of which people said that one is better.

    None where texts are not known. Pairs that differ most stand first.
    """
    if all(pairs.identical is None for pairs in sets):
        return None
    several = len(sets) > 1
    rows: list[tuple[float, tuple[Cell, ...]]] = []
    for pairs in sets:
        keep = pairs.at_least(threshold) & (pairs.gap != 0)
        for k, text in pairs.same.items():
            if keep[k]:
                order = (0, 1) if pairs.gap[k] > 0 else (1, 0)
                sides = [pairs.systems[side[k]] for side in (pairs.left, pairs.right)]
                row: list[Cell] = [pairs.name] if several else []
                row += [pairs.segments[pairs.segment[k]], *(sides[i] for i in order)]
                given = pairs.given
                row += [None if given is None else float(given[i, k]) for i in order]
                rows.append((-abs(float(pairs.gap[k])), (*row, text)))
    rows.sort(key=lambda row: (row[0], [str(cell) for cell in row[1]]))
    names = ["set"] if several else []
    names += ["segment", "better", "worse", "score_better", "score_worse", "text"]
    n = sum(len(pairs.same) for pairs in sets)
    title = f"Identical outputs of which people decided: {len(rows):,} of {plural(n, 'pair')}"
    columns = tuple(Column(name, mixed=name.startswith("score")) for name in names)
    return Table(title, columns, tuple(row for _, row in rows))


def ordered_alike(rows: Sequence[tuple[Cell, ...]], n: int) -> Table:
    """List identical outputs of which a judge put one before the other, of n pairs of them."""
    names = ("segment", "rater", "better", "worse", "rank_better", "rank_worse", "text")
    title = f"Identical outputs that a judge put in order: {len(rows):,} of {plural(n, 'pair')}"
    return Table(title, tuple(Column(name, mixed=True) for name in names), tuple(rows))


def brief_pairs(table: Table, every: str) -> Table:
    """Show a few examples of a list of pairs, each of another text; say where the others are."""
    at = [column.name for column in table.columns].index("text")
    first: dict[Cell, tuple[Cell, ...]] = {}
    for row in table.rows:
        first.setdefault(row[at], row)
    rows = tuple(first.values())[:SHOWN_PAIRS]
    left = len(table.rows) - len(rows)
    if not left:
        return table
    told = f"and {left:,} more: {every} lists them all"
    return replace(table, rows=rows, notes=(*table.notes, told))
