"""DARR: relative rankings out of direct assessment, and what is lost on the way.

Every two systems that people scored on the same segment are a pair. A pair whose scores differ by
less than a threshold is a tie of the people; a pair of identical texts is a tie whatever they said.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from steelyard.core import bounds
from steelyard.core.table import Cell, Column, Table
from steelyard.data.evalset import EvalSet
from steelyard.data.judgements import BattleLog, Codes, Floats

Bools = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Pairs:
    """All pairs of outputs of the same source that people compared.

    ``gap`` is the human score of ``left`` minus that of ``right``; ``decided`` says that there are
    only better and worse, without a score (an official list of pairs). ``identical`` is None where
    texts are not known. ``metric_gap`` holds the same difference for every metric.
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
    values = es[human].oriented
    first, second = np.triu_indices(len(values), 1)
    sides = []
    for i, j in zip(first.tolist(), second.tolist(), strict=True):
        shared = np.flatnonzero(~np.isnan(values[i] - values[j]))
        sides.append(np.stack([np.full(len(shared), i), np.full(len(shared), j), shared]))
    left, right, segment = np.concatenate([*sides, np.empty((3, 0), np.int64)], axis=1).astype(
        np.int32
    )
    return Pairs(
        name,
        es.systems,
        es.segments.ids,
        left,
        right,
        segment,
        values[left, segment] - values[right, segment],
        _identical(es, left, right, segment),
        {m: _gap(es[m].oriented, left, right, segment) for m in metrics},
    )


def pairs_of_battles(
    log: BattleLog, es: EvalSet | None, metrics: Sequence[str] = (), name: str = "all"
) -> Pairs:
    """Take a list of pairs as it stands; texts and metrics come from a set, by name of segment."""
    segments = log.units or ("",)
    unit = np.zeros(len(log), dtype=np.int32) if log.unit is None else log.unit
    identical: Bools | None = None
    gaps: dict[str, Floats] = {}
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
        for metric in metrics:
            gaps[metric] = np.full(len(log), np.nan)
            values = es[metric].oriented
            gaps[metric][known] = _gap(values, left[known], right[known], segment[known])
    gap = np.asarray(log.outcome) * 2 - 1
    return Pairs(
        name, log.systems, segments, log.left, log.right, unit, gap, identical, gaps, decided=True
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
    texts = np.array(
        [
            [-1 if t is None else code.setdefault(t, len(code)) for t in es.outputs.get(s, blank)]
            for s in es.systems
        ],
        dtype=np.int64,
    )
    one, other = texts[left, segment], texts[right, segment]
    same: Bools = (one == other) & (one >= 0)
    return same


@dataclass(frozen=True, slots=True)
class Rules:
    """What counts as a tie, and whether ties are kept."""

    threshold: float = 25.0
    identical_ties: bool = False
    keep_ties: bool = False

    def __post_init__(self) -> None:
        bounds.number(0, threshold=self.threshold)
        bounds.flag(identical_ties=self.identical_ties, keep_ties=self.keep_ties)

    def outcome(self, pairs: Pairs) -> Floats:
        """Give 1 (left is better), 0 (right is), 0.5 (a tie) or NaN (left out) for each pair."""
        tie = ~pairs.at_least(self.threshold)
        if self.identical_ties and pairs.identical is not None:
            tie |= pairs.identical
        return np.where(tie, 0.5 if self.keep_ties else np.nan, (pairs.gap > 0).astype(np.float64))


def battle_log(pairs: Pairs, rules: Rules) -> BattleLog:
    """Give the pairs that the rules keep, the better output on the left."""
    outcome = rules.outcome(pairs)
    kept = np.flatnonzero(~np.isnan(outcome))
    swap = outcome[kept] == 0
    left, right = pairs.left[kept], pairs.right[kept]
    return BattleLog(
        pairs.systems,
        np.where(swap, right, left).astype(np.int32),
        np.where(swap, left, right).astype(np.int32),
        np.where(swap, 1.0, outcome[kept]),
        units=pairs.segments,
        unit=pairs.segment[kept],
    )


def count_table(sets: Sequence[Pairs], rules: Rules) -> Table:
    """Count for each set what the rules keep, and the ties of texts, people and metrics.

    Metric ties are counted among the pairs at or above the threshold.
    """
    metrics = list(dict.fromkeys(m for pairs in sets for m in pairs.metric_gap))
    texts = any(pairs.identical is not None for pairs in sets)
    names = ["set", "pairs", "human_ties", "below_threshold", "decided"]
    names += ["identical", "identical_decided", "decided_not_identical"] if texts else []
    names += ["kept", "kept_ties", *(f"ties:{metric}" for metric in metrics)]
    rows: list[tuple[Cell, ...]] = []
    for pairs in sets:
        decided = pairs.at_least(rules.threshold)
        outcome = rules.outcome(pairs)
        row: list[Cell] = [pairs.name, len(pairs), int((pairs.gap == 0).sum())]
        row += [int((~decided).sum()), int(decided.sum())]
        if texts:
            same = pairs.identical
            counts = None if same is None else (same, same & decided, decided & ~same)
            row += [None] * 3 if counts is None else [int(count.sum()) for count in counts]
        row += [int((~np.isnan(outcome)).sum()), int((outcome == 0.5).sum())]
        for metric in metrics:
            gap = pairs.metric_gap.get(metric)
            row.append(None if gap is None else int((gap[decided] == 0).sum()))
        rows.append(tuple(row))
    notes = [f"decided: human scores differ by {rules.threshold:g} or more; human_ties: by nothing"]
    notes += ["identical: both outputs are the same text"] if texts else []
    notes += ["ties:METRIC: decided pairs that the metric scores alike"] if metrics else []
    return Table("Pairs", tuple(Column(name) for name in names), tuple(rows), tuple(notes))


def threshold_table(sets: Sequence[Pairs], thresholds: Sequence[float]) -> Table:
    """Count the pairs that differ by each threshold or more, and their mean over sets."""
    several = len(sets) > 1
    columns = [Column("threshold", mixed=True)]
    columns += [Column(pairs.name) for pairs in sets]
    columns += [Column("mean", digits=1)] if several else []
    columns.append(Column("share", digits=3))
    rows: list[tuple[Cell, ...]] = []
    total = sum(len(pairs) for pairs in sets)
    for threshold in thresholds:
        kept = [int(pairs.at_least(threshold).sum()) for pairs in sets]
        mean: list[Cell] = [sum(kept) / len(sets)] if several else []
        share = sum(kept) / total if total else float("nan")
        rows.append((float(threshold), *kept, *mean, share))
    notes = ("pairs whose human scores differ by the threshold or more",)
    return Table("Pairs kept by threshold", tuple(columns), tuple(rows), notes)
