"""Real verdicts as arrays, for tests of statistics that know nothing of files."""

from __future__ import annotations

import csv
import gzip
from collections import Counter
from pathlib import Path

import numpy as np

POINTS = {"left": 1.0, "right": 0.0, "tie": 0.5, "bothbad": 0.5, "": np.nan}


def rows(path: Path) -> list[dict[str, str]]:
    """Read a table, compressed or not."""
    csv.field_size_limit(10**8)
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rt", encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


class Pairs:
    """A battle log: codes of systems, points of the left one by column."""

    def __init__(self, path: Path) -> None:
        self.rows = rows(path)
        self.systems = sorted({row[side] for row in self.rows for side in ("left", "right")})
        code = {system: place for place, system in enumerate(self.systems)}
        self.left = np.array([code[row["left"]] for row in self.rows])
        self.right = np.array([code[row["right"]] for row in self.rows])

    def points(self, column: str) -> np.ndarray:
        """What the left one got, NaN where nothing was understood."""
        return np.array([POINTS[row[column]] for row in self.rows])

    def numbers(self, column: str) -> np.ndarray:
        """A column of numbers."""
        return np.array([float(row[column]) for row in self.rows])


def arena(data: Path) -> Pairs:
    """26,919 battles of 20 systems, by people and three judges."""
    return Pairs(data / "judges/arena-judges/battles.csv.gz")


def pandalm(data: Path) -> Pairs:
    """999 pairs of five systems, by three people and two judges."""
    return Pairs(data / "judges/pandalm/verdicts.csv.gz")


def majority(pairs: Pairs) -> np.ndarray:
    """The verdict of most of PandaLM's three people."""
    said = [[row[f"annotator{k}"] for k in (1, 2, 3)] for row in pairs.rows]
    return np.array([POINTS[Counter(own).most_common(1)[0][0]] for own in said])
