"""Rankings unfolded: every two outputs that one judge put in order are a duel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steelyard.core.errors import UsageError
from steelyard.data.evalset import EvalSet
from steelyard.data.judgements import BattleLog, Codes, Floats, Rankings
from steelyard.stats.arrays import Counts, pairs_within
from steelyard.stats.strength.battlelog import Battles


@dataclass(frozen=True, slots=True)
class Duels:
    """Pairs of outputs that one judge put in order, the one with the lower code on the left.

    ``outcome`` is 1 (left is better), 0.5 or 0; ``row`` the ranking that a duel comes from.
    """

    systems: tuple[str, ...]
    segments: tuple[str, ...]
    raters: tuple[str, ...]
    left: Codes
    right: Codes
    outcome: Floats
    segment: Codes
    rater: Codes
    row: Counts
    n_identical: int = 0

    def __len__(self) -> int:
        return len(self.outcome)

    def battles(self) -> Battles:
        """Give the duels as statistics read them."""
        return Battles(self.left, self.right, self.outcome, len(self.systems))

    def log(self) -> BattleLog:
        """Give the duels as a battle log."""
        return BattleLog(
            self.systems,
            self.left,
            self.right,
            self.outcome,
            units=self.segments,
            unit=self.segment,
        )


def duels(rankings: Rankings, es: EvalSet | None = None) -> Duels:
    """Unfold rankings into duels of two outputs each.

    Identical outputs were one output to the judge: a system named ``A+B`` stands for both (where A
    and B occur on their own, too), and where texts are given, two systems with the same text on a
    segment do not meet there. Either of them still meets the others.
    """
    n_rows, width = rankings.system.shape
    row = np.repeat(np.arange(n_rows), width)
    code, rank = rankings.system.ravel(), rankings.rank.ravel()
    known = (code >= 0) & ~np.isnan(rank)
    row, code, rank = row[known], code[known], rank[known]
    slot = np.arange(len(row))
    names, row, code, rank, slot = _split_joined(rankings.systems, row, code, rank, slot)
    one, other = pairs_within(row)
    same = slot[one] == slot[other]
    if es is not None:
        segment = rankings.segment[row]
        same |= _same_text(es, names, rankings.segments, code[one], code[other], segment[one])
    n_identical = int(same.sum())
    one, other = one[~same], other[~same]
    again = code[one] == code[other]
    if again.any():
        raise UsageError(f"system '{names[code[one][again][0]]}' stands twice in one ranking")
    swap = code[one] > code[other]
    left, right = np.where(swap, other, one), np.where(swap, one, other)
    gap = rank[right] - rank[left]
    return Duels(
        names,
        rankings.segments,
        rankings.raters,
        code[left].astype(np.int32),
        code[right].astype(np.int32),
        0.5 + np.sign(gap) / 2,
        rankings.segment[row[left]],
        rankings.rater[row[left]],
        row[left],
        n_identical,
    )


def _split_joined(
    names: tuple[str, ...], row: Counts, code: Codes, rank: Floats, slot: Counts
) -> tuple[tuple[str, ...], Counts, NDArray[Any], Floats, Counts]:
    """Let a row of ``A+B`` be a row of A and one of B."""
    single = [n for n in names if not ("+" in n and all(p in names for p in n.split("+")))]
    if len(single) == len(names):
        return names, row, code, rank, slot
    place = {name: i for i, name in enumerate(single)}
    parts = [
        [place[name]] if name in place else [place[p] for p in name.split("+")] for name in names
    ]
    size = np.array([len(own) for own in parts])[code]
    flat = np.array([p for c in code.tolist() for p in parts[c]], dtype=np.int32)
    return (
        tuple(single),
        np.repeat(row, size),
        flat,
        np.repeat(rank, size),
        np.repeat(slot, size),
    )


def _same_text(
    es: EvalSet,
    systems: Sequence[str],
    segments: Sequence[str],
    one: NDArray[Any],
    other: NDArray[Any],
    segment: NDArray[Any],
) -> NDArray[np.bool_]:
    column = {name: i for i, name in enumerate(es.segments.ids)}
    places = [column.get(name) for name in segments]
    texts = [es.outputs.get(name) for name in systems]

    def text(system: int, place: int | None) -> str | None:
        own = texts[system]
        return None if own is None or place is None else own[place]

    rows = zip(one.tolist(), other.tolist(), segment.tolist(), strict=True)
    return np.array(
        [
            (first := text(a, places[s])) is not None and first == text(b, places[s])
            for a, b, s in rows
        ],
        dtype=bool,
    )
