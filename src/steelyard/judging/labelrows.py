"""Which rows to label next, drawn with probabilities that a correction can use."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from steelyard.core.table import Cell, Column, Table
from steelyard.data.verdicts import Opinion, Verdicts
from steelyard.stats.arrays import Floats
from steelyard.stats.prediction_powered.labels import next_probabilities
from steelyard.stats.prediction_powered.mean import with_every_verdict

NEXT, DONE, LATER = "next", "done", "later"
PROBABILITY, STATE = "probability", "to_label"


def rows_to_label(
    verdicts: Verdicts, judge: Opinion, human: Floats, budget: int, rng: np.random.Generator
) -> tuple[Table, int]:
    """Draw rows to label, and list all rows that can be: with probabilities, and what they have."""
    wanted = next_probabilities(with_every_verdict(judge.value), human, budget)
    done = ~np.isnan(human)
    probability = np.where(done, 1.0, wanted)
    chosen = drawn(wanted, rng)
    state = [DONE if own else LATER for own in done]
    for row in chosen:
        state[row] = NEXT
    order = (NEXT, DONE, LATER)
    rows = sorted(range(len(human)), key=lambda row: (order.index(state[row]), row))
    pairs = verdicts.right is not None
    sides = ("left", "right") if pairs else ("system",)
    known = sides if verdicts.left is not None else ()
    columns = (
        Column("item"), *(Column(name) for name in known),
        *(() if verdicts.unit is None else (Column(_unit_column(verdicts)),)),
        Column(judge.name), Column(PROBABILITY), Column(STATE),
        *(Column(rater.name) for rater in verdicts.raters),
    )  # fmt: skip
    body: list[tuple[Cell, ...]] = []
    for row in rows:
        own: list[Cell] = [verdicts.items[verdicts.item[row]]]
        for name in known:
            codes = verdicts.right if name == "right" else verdicts.left
            assert codes is not None
            own.append(verdicts.systems[codes[row]])
        if verdicts.unit is not None:
            own.append(verdicts.units[verdicts.unit[row]])
        own += [_said(verdicts, judge, row), float(probability[row]), state[row]]
        own += [_said(verdicts, rater, row) for rater in verdicts.raters]
        body.append(tuple(own))
    return Table("Rows to label", columns, tuple(body)), len(chosen)


def _unit_column(verdicts: Verdicts) -> str:
    taken = {"item", "system", "left", "right"}
    return verdicts.unit_name if verdicts.unit_name not in taken else "unit"


def _said(verdicts: Verdicts, who: Opinion, row: int) -> Cell:
    """Give what somebody said of a row as a file has it: a label, or a number.

    Runs, and both orders of a pair, have become one number.
    """
    single = who.runs is None and who.other_order is None
    if single and who.label is not None and who.label[row] >= 0:
        name: str = verdicts.categories[int(who.label[row])]
        return name
    value = float(who.value[row])
    return None if math.isnan(value) else value


def drawn(probability: Floats, rng: np.random.Generator) -> Any:
    """Draw rows with exactly these probabilities, as many as they sum to.

    Systematic sampling in random order: probabilities are laid end to end, and every row is taken
    in which one of the points u, u + 1, u + 2, ... falls.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> counts = np.zeros(4)
    >>> for _ in range(4000):
    ...     counts[drawn(np.array([1.0, 0.5, 0.3, 0.2]), rng)] += 1
    >>> (counts / 4000).round(1).tolist()
    [1.0, 0.5, 0.3, 0.2]
    """
    order = rng.permutation(len(probability))
    ends = np.cumsum(probability[order])
    total = round(float(ends[-1])) if len(ends) else 0
    start = float(rng.random())
    taken = np.searchsorted(ends, start + np.arange(total), side="right")
    last = np.flatnonzero(probability[order] > 0)
    if len(last):
        taken = np.minimum(taken, last[-1])  # rounding of the sum must not fall off the end
    return np.unique(order[taken])
