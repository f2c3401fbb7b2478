"""Invented judges of the demo's systems: pairs of outputs, three people, two language models.

Outputs are those of :mod:`make_demo.simulator`; whoever judges a pair sees the cost of their errors
through noise. One judge is careful and likes long answers a little, the other mostly picks what
stands left. People labelled a third of the pairs, chosen at random. Readers voted on other pairs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from make_demo.simulator import SimulatedSet
from make_demo.texts import Segment
from steelyard.core.table import delimited
from steelyard.formats import files

SEED = 20240609
VERDICTS_FILE = "verdicts.csv.gz"
BATTLES_FILE, BATTLES_SEED, N_BATTLES = "battles.csv.gz", 20240611, 900
N_SEGMENTS, _PER_SEGMENT = 150, 4
HEADER = ("item", "prompt", "left", "right", "ann", "bo", "cy", "careful-judge", "hasty-judge",
          "chars_left", "chars_right")  # fmt: skip
_LABELLED = 1 / 3


def verdicts(simulated: SimulatedSet, rng: np.random.Generator) -> Iterator[tuple[Any, ...]]:
    """Draw rows: four pairs of systems on each of the first segments that people judged."""
    cost = -simulated.scores["mqm"]
    columns = np.flatnonzero(~np.isnan(cost).any(axis=0))[:N_SEGMENTS]
    n_systems = len(simulated.systems)
    item = 0
    for column in columns:
        base = int(rng.integers(60, 240))
        for _ in range(_PER_SEGMENT):
            left, right = rng.choice(n_systems, 2, replace=False)
            quality = np.log1p(cost[right, column]) - np.log1p(cost[left, column])
            chars = np.maximum(20, base + rng.normal(0, 0.2 * base, 2)).astype(int)
            longer = (chars[0] - chars[1]) / chars.sum()
            people = ["", "", ""]
            if rng.random() < _LABELLED:
                people = [_said(quality + rng.normal(0, 0.45), 0.25) for _ in range(3)]
            careful = _said(quality + 1.2 * longer + rng.normal(0, 0.55), 0.15)
            hasty = _said(0.5 * quality + 1.0 + rng.normal(0, 0.9), 0.02)
            item += 1
            yield (item, simulated.segment_ids[column], simulated.systems[left],
                   simulated.systems[right], *people, careful, hasty, *chars.tolist())  # fmt: skip


def _said(advantage: float, tie: float) -> str:
    return "tie" if abs(advantage) < tie else "left" if advantage > 0 else "right"


def wishes(
    rows: Sequence[tuple[Any, ...]], simulated: SimulatedSet
) -> dict[tuple[int, int], float]:
    """Say which outputs shall be longer (above 0) or shorter than what they were compared with.

    Judges spoke before there were texts: what they liked for its length has to be long.
    """
    column = {name: k for k, name in enumerate(simulated.segment_ids)}
    found: dict[tuple[int, int], list[float]] = {}
    for row in rows:
        left, right = row[-2:]
        longer = (left - right) / (left + right)
        for name, wish in ((row[2], longer), (row[3], -longer)):
            place = (simulated.systems.index(name), column[row[1]])
            found.setdefault(place, []).append(wish)
    return {place: float(np.mean(own)) for place, own in found.items()}


def write(
    path: Path | str,
    rows: Sequence[tuple[Any, ...]],
    simulated: SimulatedSet,
    written: Sequence[Segment],
) -> Path:
    """Write the file to a folder, with the lengths that the outputs have; give its path."""
    column = {name: k for k, name in enumerate(simulated.segment_ids)}

    def length(name: str, segment: str) -> int:
        return len(written[column[segment]].outputs[simulated.systems.index(name)].text)

    table = Path(path) / VERDICTS_FILE
    told = ((*row[:-2], length(row[2], row[1]), length(row[3], row[1])) for row in rows)
    files.write_text(table, delimited(HEADER, told, ","))
    return table


def battles(simulated: SimulatedSet, rng: np.random.Generator) -> Iterator[tuple[Any, ...]]:
    """Draw votes of readers who saw two outputs of one segment: left, right, outcome, prompt."""
    cost = -simulated.scores["mqm"]
    judged = np.flatnonzero(~np.isnan(cost).any(axis=0))
    for column in np.sort(rng.choice(judged, N_BATTLES)).tolist():
        left, right = rng.choice(len(simulated.systems), 2, replace=False)
        quality = np.log1p(cost[right, column]) - np.log1p(cost[left, column])
        said = _said(float(quality + rng.normal(0, 0.7)), 0.2)
        yield (simulated.systems[left], simulated.systems[right], said,
               simulated.segment_ids[column])  # fmt: skip


def write_battles(path: Path | str, simulated: SimulatedSet) -> Path:
    """Write the battles to a folder, always with the same seed; give the path."""
    table = Path(path) / BATTLES_FILE
    rows = battles(simulated, np.random.default_rng(BATTLES_SEED))
    files.write_text(table, delimited(("left", "right", "outcome", "prompt"), rows, ","))
    return table
