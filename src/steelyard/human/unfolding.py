"""Rankings unfolded: every two outputs that one judge put in order are a duel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steelyard.core.errors import UsageError
from steelyard.core.table import Cell
from steelyard.data.evalset import EvalSet
from steelyard.data.judgements import BattleLog, Codes, Floats, Rankings
from steelyard.stats.arrays import Counts, pairs_within
from steelyard.stats.strength.wins import Battles


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
    alike: tuple[tuple[Cell, ...], ...] = ()  # identical texts that a judge put in order

    def __len__(self) -> int:
        return len(self.outcome)

    def battles(self) -> Battles:
        """Give the duels as statistics read them."""
        return Battles(self.left, self.right, self.outcome, len(self.systems))

    def log(self) -> BattleLog:
        """Give the duels as a battle log."""
        sides = self.systems, self.left, self.right, self.outcome
        return BattleLog(*sides, units=self.segments, unit=self.segment)


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
        column = {name: i for i, name in enumerate(es.segments.ids)}
        places = [column.get(name) for name in rankings.segments]
        texts = [es.outputs.get(name) for name in names]
        met = zip(code[one].tolist(), code[other].tolist(), segment[one].tolist(), strict=True)
        same |= np.fromiter((_alike(texts[a], texts[b], places[s]) for a, b, s in met), bool)
    n_identical = int(same.sum())
    alike = []
    for a, b in zip(one[same].tolist(), other[same].tolist(), strict=True):
        if rank[a] != rank[b] and es is not None:
            better, worse = (a, b) if rank[a] < rank[b] else (b, a)
            place = places[segment[a]]
            assert place is not None  # or nobody would know that they are alike
            who = rankings.segments[segment[a]], rankings.raters[rankings.rater[row[a]]]
            order = names[code[better]], names[code[worse]], rank[better].item(), rank[worse].item()
            alike.append((*who, *order, es.outputs[order[0]][place]))
    one, other = one[~same], other[~same]
    again = code[one] == code[other]
    if again.any():
        raise UsageError(f"system '{names[code[one][again][0]]}' stands twice in one ranking")
    swap = code[one] > code[other]
    left, right = np.where(swap, other, one), np.where(swap, one, other)
    gap = rank[right] - rank[left]
    return Duels(
        systems=names,
        segments=rankings.segments,
        raters=rankings.raters,
        left=code[left].astype(np.int32),
        right=code[right].astype(np.int32),
        outcome=0.5 + np.sign(gap) / 2,
        segment=rankings.segment[row[left]],
        rater=rankings.rater[row[left]],
        row=row[left],
        n_identical=n_identical,
        alike=tuple(sorted(alike)),
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
    row, slot = np.repeat(row, size), np.repeat(slot, size)
    return tuple(single), row, flat, np.repeat(rank, size), slot


def _alike(
    one: Sequence[str | None] | None, other: Sequence[str | None] | None, place: int | None
) -> bool:
    """Tell whether two systems wrote the same; a text that is missing is like no other."""
    if one is None or other is None or place is None:
        return False
    return one[place] is not None and one[place] == other[place]
