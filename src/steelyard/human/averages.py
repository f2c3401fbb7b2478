"""Ratings averaged per output: one value per (system, segment) that anybody rated."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from steelyard.core.provenance import InputFile
from steelyard.data.evalset import EvalSet, ScoreTable
from steelyard.data.judgements import Codes, Floats, Ratings
from steelyard.data.segments import Segments
from steelyard.stats.arrays import Counts, group_sums, ratio


@dataclass(frozen=True, slots=True)
class Averages:
    """Mean ratings of outputs, a row each (most cells of systems x segments may be empty).

    ``system`` and ``segment`` are codes into the names, ``n`` the number of ratings, ``values`` the
    mean of each kind of score (``da_z`` and ``da_raw``, ``mqm``, ...).
    """

    systems: tuple[str, ...]
    segments: tuple[str, ...]
    system: Codes
    segment: Codes
    n: Counts
    values: Mapping[str, Floats]

    def samples(self, name: str) -> list[Floats]:
        """Give the scores of each system, one array per system."""
        ends = np.searchsorted(self.system, np.arange(len(self.systems) + 1))
        column = self.values[name]
        return [column[a:b] for a, b in itertools.pairwise(ends)]

    def means(self, name: str) -> Floats:
        """Give the mean over segments of each system, NaN where it has none."""
        column = self.values[name]
        known = ~np.isnan(column)
        size = len(self.systems)
        sums = group_sums(self.system[known], column[known], size)
        return ratio(sums, np.bincount(self.system[known], minlength=size))

    def counts(self) -> tuple[Counts, Counts]:
        """Give the number of segments, and of ratings, of each system."""
        size = len(self.systems)
        ratings = group_sums(self.system, self.n, size).astype(np.int64)
        return np.bincount(self.system, minlength=size).astype(np.int64), ratings

    def matrix(self, name: str) -> Floats:
        """Give systems x segments, NaN where nobody rated."""
        full = np.full((len(self.systems), len(self.segments)), np.nan)
        full[self.system, self.segment] = self.values[name]
        return full

    def select(self, systems: Collection[str]) -> Averages:
        """Keep the rows of these systems, and the segments that are left."""
        wanted = set(systems)
        keep = np.array([name in wanted for name in self.systems], dtype=bool)
        rows = keep[self.system]
        used, segment = np.unique(self.segment[rows], return_inverse=True)
        number = np.cumsum(keep) - 1
        return replace(
            self,
            systems=tuple(name for name in self.systems if name in wanted),
            segments=tuple(self.segments[code] for code in used),
            system=number[self.system[rows]].astype(np.int32),
            segment=segment.astype(np.int32),
            n=self.n[rows],
            values={name: column[rows] for name, column in self.values.items()},
        )

    def evalset(self, inputs: tuple[InputFile, ...] = (), lp: str | None = None) -> EvalSet:
        """Give the scores as a set whose scores are human."""
        tables = {name: ScoreTable(self.matrix(name), "human") for name in self.values}
        segments = Segments(self.segments)
        return EvalSet(self.systems, segments, tables, language_pair=lp, inputs=inputs)


def average(
    ratings: Ratings, columns: Mapping[str, Floats], rows: NDArray[np.bool_] | None = None
) -> Averages:
    """Average columns of per-row scores over all ratings of the same output.

    Examples
    --------
    >>> ratings = Ratings.from_labels(["A", "A"], ["1", "1"], ["r", "s"], np.array([50.0, 60.0]))
    >>> average(ratings, {"raw": ratings.value}).values["raw"].tolist()
    [55.0]
    """
    kept = np.arange(len(ratings)) if rows is None else np.flatnonzero(rows)
    cell = ratings.system[kept].astype(np.int64) * len(ratings.segments) + ratings.segment[kept]
    cells, place, n = np.unique(cell, return_inverse=True, return_counts=True)
    return Averages(
        ratings.systems,
        ratings.segments,
        (cells // max(1, len(ratings.segments))).astype(np.int32),
        (cells % max(1, len(ratings.segments))).astype(np.int32),
        n.astype(np.int64),
        {name: group_sums(place, column[kept], len(cells)) / n for name, column in columns.items()},
    )
