"""Invented judges of the demo's systems: pairs of outputs, three people, two language models.

Outputs are those of :mod:`make_demo.simulator`; whoever judges a pair sees the cost of their errors
through noise. One judge is careful and likes long answers a little, the other mostly picks what
stands left. People labelled a third of the pairs, chosen at random.

Run ``PYTHONPATH=tools python -m make_demo.judges`` to write the shipped file anew.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from make_demo import simulator
from make_demo.simulator import SimulatedSet
from steelyard.core.table import delimited
from steelyard.demo import embedded
from steelyard.formats import files

SEED = 20240609
VERDICTS_FILE = "verdicts.csv.gz"
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


def write(path: Path | str) -> Path:
    """Write the file to a folder, always with the same seed; give its path."""
    simulated = simulator.simulate(np.random.default_rng(simulator.SEED))
    rows = verdicts(simulated, np.random.default_rng(SEED))
    table = Path(path) / VERDICTS_FILE
    files.write_text(table, delimited(HEADER, rows, ","))
    return table


if __name__ == "__main__":
    file = write(sys.argv[1] if len(sys.argv) > 1 else embedded.FOLDER)
    sys.stdout.write(f"{file}: {file.stat().st_size} bytes\n")
