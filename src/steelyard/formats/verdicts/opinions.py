"""What one judge, or one person, said of every row: words and numbers of cells become an opinion.

Whoever was asked several times (a column ``run``) has the mean of its runs, and their most frequent
label. Whatever is said twice without one is an error with both lines.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from steelyard.core.text import plural
from steelyard.data.judgements import Codes, Floats
from steelyard.data.verdicts import MISSING, Opinion
from steelyard.formats.verdicts.sayings import PairColumn, Scale, pair_labels
from steelyard.formats.verdicts.sheets import Gathered, Indices, Said

Who = tuple[bool, str]  # whether it is a judge, and its name


def _distinct(gathered: Gathered, who: Who, said: Said, meaning: Sequence[Any]) -> Indices:
    """Give the words that count, by row: refuse what is said twice, unless runs are told apart.

    In a column that repeats what it says, the same again does not count.
    """
    n = len(gathered)
    key = said.order * n + said.row
    order = np.argsort(key, kind="stable")
    same = np.flatnonzero(np.diff(key[order]) == 0) + 1
    kept = np.ones(len(key), dtype=bool)
    for place in same.tolist():
        first, again = int(order[place - 1]), int(order[place])
        sheets = {int(said.sheet[first]), int(said.sheet[again])}
        has_runs = all(gathered.sheets[sheet].keys.run is not None for sheet in sheets)
        alike = meaning[first] == meaning[again] or (
            meaning[first] != meaning[first] and said.cells[first] == said.cells[again]
        )  # NaN: not understood, twice the same
        if said.repeated[again] and alike:
            kept[again] = False
        elif not (who[0] and has_runs):
            gathered.refuse_again(who[1], said.place(first), said.place(again))
    return order[kept[order]]


def _judges_first(gathered: Gathered) -> list[Who]:
    """Give who speaks: where rows are there twice, it is the judge that was asked again."""
    return sorted(gathered.said, key=lambda who: (not who[0], who[1]))


def of_pairs(gathered: Gathered, notes: list[str]) -> dict[Who, Opinion]:
    """Read what everybody said of pairs."""
    own = {who: PairColumn.of(said.cells) for who, said in gathered.said.items()}
    others = [own[who] for who in sorted(own)]  # people first
    return {who: _of_pairs(gathered, who, own[who].settled(others), notes) for who in gathered.said}


def _of_pairs(gathered: Gathered, who: Who, how: PairColumn, notes: list[str]) -> Opinion:
    said, n = gathered.said[who], len(gathered)
    shown = [gathered.sides[row] for row in said.row.tolist()]
    turned = said.flipped.tolist()
    left = [side[flip] for side, flip in zip(shown, turned, strict=True)]
    right = [side[not flip] for side, flip in zip(shown, turned, strict=True)]
    points = how.points(said.cells, left, right)
    points = np.where(said.flipped, 1 - points, points)
    words = _distinct(gathered, who, said, points.tolist())
    in_order = [words[said.order[words] == order] for order in (0, 1)]
    (value, runs), (other, _) = (_averaged(said.row[own], points[own], n) for own in in_order)
    label, swapped = (
        pair_labels(mean, _unread(said.row[own], points[own], n) & np.isnan(mean))
        for mean, own in zip((value, other), in_order, strict=True)
    )
    if runs is not None:
        notes.append(f"{who[1]}: several runs are averaged")
    if not len(in_order[1]):
        return Opinion(who[1], value, label, None, runs)
    both = np.where(np.isnan(value), other, np.where(np.isnan(other), value, (value + other) / 2))
    return Opinion(who[1], both, label, swapped, runs)


def _unread(row: Indices, points: Floats, n: int) -> Any:
    found = np.zeros(n, dtype=bool)
    found[row[np.isnan(points)]] = True
    return found


def _averaged(row: Indices, values: Floats, n: int) -> tuple[Floats, Floats | None]:
    """Give the mean of each row, and all runs, runs x rows, where some row has several.

    Words come by row. Runs are sorted by what they say, so that their order changes nothing.
    """
    known = ~np.isnan(values)
    row, values = row[known], values[known]
    counts = np.bincount(row, minlength=n)
    most = int(counts.max(initial=0))
    mean = np.full(n, np.nan)
    if most <= 1:
        mean[row] = values
        return mean, None
    order = np.lexsort((values, row))
    row, values = row[order], values[order]
    starts = np.concatenate([[0], np.cumsum(counts)[:-1]])
    runs = np.full((most, n), np.nan)
    runs[np.arange(len(row)) - starts[row], row] = values
    np.divide(np.nansum(runs, axis=0), counts, out=mean, where=counts > 0)
    return mean, runs


def of_points(gathered: Gathered, notes: list[str]) -> tuple[dict[Who, Opinion], Scale]:
    """Read what everybody said of single outputs, and find the scale of it."""
    cells: Mapping[Who, list[Any]] = {who: said.cells for who, said in gathered.said.items()}
    scale = Scale.of(
        [own for who, own in cells.items() if not who[0]],
        [own for who, own in cells.items() if who[0]],
    )
    made = {who: _of_points(gathered, who, scale, notes) for who in _judges_first(gathered)}
    return made, scale


def _of_points(gathered: Gathered, who: Who, scale: Scale, notes: list[str]) -> Opinion:
    said, n = gathered.said[who], len(gathered)
    values, labels = scale.read(said.cells)
    meaning = labels if np.isnan(values).all() else values
    words = _distinct(gathered, who, said, meaning.tolist())
    row, values, labels = said.row[words], values[words], labels[words]
    value, runs = _averaged(row, values, n)
    label = _most_frequent(row, labels, n, len(scale.categories))
    if np.isnan(values).all():  # labels that stand for no number
        _, runs = _averaged(row, np.where(labels >= 0, labels, np.nan), n)
    if runs is not None:
        notes.append(f"{who[1]}: several runs are averaged")
    return Opinion(who[1], value, label, None, runs)


def _most_frequent(row: Indices, labels: Codes, n: int, k: int) -> Codes:
    """Give the label that is said most of each row, of several the lowest."""
    found = np.full(n, MISSING, dtype=np.int32)
    unknown = labels < 0
    found[row[unknown]] = labels[unknown]
    counts = np.bincount(row[~unknown] * max(k, 1) + labels[~unknown], minlength=n * max(k, 1))
    counts = counts.reshape(n, max(k, 1))
    said = counts.max(axis=1) > 0
    found[said] = counts.argmax(axis=1)[said]
    return found


def told(opinions: Sequence[Opinion], n: int, *, judges: bool) -> list[str]:
    """Say how much was not understood, and on how many rows nothing was said."""
    notes = []
    for own in opinions:
        silent = int((~own.answered & ~own.unparsed).sum())
        odd = int(own.unparsed.sum())
        if own.other_order is not None:
            odd += int((own.other_order < MISSING).sum())
        if odd:
            left_out = "" if judges else ": left out"
            notes.append(f"{own.name}: {plural(odd, 'verdict')} could not be understood{left_out}")
        if silent and judges:
            notes.append(f"{own.name}: no verdict on {silent:,} of {n:,} rows")
    return notes
