"""Mean ratings of outputs, and systems in order by them: tests of pairs, places and clusters."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Mapping
from dataclasses import asdict, dataclass, replace
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from steelyard.core.provenance import InputFile
from steelyard.data.evalset import EvalSet, ScoreTable
from steelyard.data.judgements import Codes, Floats, Ratings
from steelyard.data.segments import Segments, Texts
from steelyard.stats import clusters
from steelyard.stats.arrays import Counts, group_sums, ratio
from steelyard.stats.paired.corrections import adjust_pairs
from steelyard.stats.ranks import ranks, whole

_T = TypeVar("_T", bound=np.generic)

MAX_SYSTEMS = 300  # above this, tests of all pairs take minutes and no one reads the result


@dataclass(frozen=True, slots=True)
class Averages:
    """Mean ratings of outputs, a row each (most cells of systems x segments may be empty).

    ``system`` and ``segment`` are codes into the names, ``n`` the number of ratings, ``values`` the
    mean of each kind of score (``da_z`` and ``da_raw``, ``mqm``, ...). ``documents``,
    ``domains`` and ``sources`` are those of the segments, None where none is known.
    """

    systems: tuple[str, ...]
    segments: tuple[str, ...]
    system: Codes
    segment: Codes
    n: Counts
    values: Mapping[str, Floats]
    documents: Texts | None = None
    domains: Texts | None = None
    sources: Texts | None = None

    def by_system(self, column: NDArray[_T]) -> list[NDArray[_T]]:
        """Split a column by the system of its rows, one array per system."""
        ends = np.searchsorted(self.system, np.arange(len(self.systems) + 1))
        return [column[a:b] for a, b in itertools.pairwise(ends)]

    def samples(self, name: str) -> list[Floats]:
        """Give the scores of each system, one array per system."""
        return self.by_system(self.values[name])

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

    def cells_of(self, ratings: Ratings) -> tuple[Counts, Counts]:
        """Give system and segment of each row as codes of these averages, -1 where it has none."""
        systems = {name: i for i, name in enumerate(self.systems)}
        segments = {name: i for i, name in enumerate(self.segments)}
        system = np.array([systems.get(name, -1) for name in ratings.systems], dtype=np.int64)
        segment = np.array([segments.get(name, -1) for name in ratings.segments], dtype=np.int64)
        return system[ratings.system], segment[ratings.segment]

    def select(self, systems: Collection[str]) -> Averages:
        """Keep the rows of these systems, and the segments that are left."""
        wanted = set(systems)
        keep = np.array([name in wanted for name in self.systems], dtype=bool)
        rows = keep[self.system]
        used, segment = np.unique(self.segment[rows], return_inverse=True)
        number = np.cumsum(keep) - 1

        def left(column: Texts | None) -> Texts | None:
            return None if column is None else tuple(column[code] for code in used)

        return replace(
            self,
            systems=tuple(name for name in self.systems if name in wanted),
            segments=tuple(self.segments[code] for code in used),
            documents=left(self.documents),
            domains=left(self.domains),
            sources=left(self.sources),
            system=number[self.system[rows]].astype(np.int32),
            segment=segment.astype(np.int32),
            n=self.n[rows],
            values={name: column[rows] for name, column in self.values.items()},
        )

    def evalset(self, inputs: tuple[InputFile, ...] = (), lp: str | None = None) -> EvalSet:
        """Give the scores as a set whose scores are human."""
        tables = {name: ScoreTable(self.matrix(name), "human") for name in self.values}
        segments = Segments(self.segments, self.documents, self.domains)
        return EvalSet(self.systems, segments, tables, language_pair=lp, inputs=inputs)


def outputs(ratings: Ratings) -> Counts:
    """Give the code of the output, system x segment, that each row is about."""
    codes: Counts = ratings.system.astype(np.int64) * len(ratings.segments) + ratings.segment
    return codes


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
    cell = outputs(ratings)[kept]
    cells, place, n = np.unique(cell, return_inverse=True, return_counts=True)
    system, segment = np.divmod(cells, max(1, len(ratings.segments)))
    return Averages(
        ratings.systems,
        ratings.segments,
        system.astype(np.int32),
        segment.astype(np.int32),
        n.astype(np.int64),
        {name: group_sums(place, column[kept], len(cells)) / n for name, column in columns.items()},
    )


@dataclass(frozen=True, slots=True)
class Ordering:
    """Systems best first (``order``: places in the input), and what the tests of pairs say.

    ``p[i, j]`` is the one-sided p-value (corrected, if so asked) that the i-th beats the j-th, None
    where nothing was tested. ``cluster`` and ``range`` hold first and last place. Some organisers
    publish the range as the rank (``rank_is_range``).
    """

    order: Counts
    rank: list[int | None]
    p: Floats | None = None
    wins: list[int] | None = None
    cluster: list[tuple[int, int]] | None = None
    range: list[tuple[int, int]] | None = None
    rank_is_range: bool = False

    def cluster_numbers(self) -> list[int] | None:
        """Give the number of the cluster of each system, from 1."""
        if self.cluster is None:
            return None
        starts = np.array([first for first, _ in self.cluster], dtype=np.int64)
        return [int(code) + 1 for code in np.unique(starts, return_inverse=True)[1]]


@dataclass(frozen=True, slots=True)
class Rule:
    """How systems are put into clusters: rule, test, level and correction."""

    clusters: str = "wmt"
    test: str = "rank-sum"
    alpha: float = 0.05
    correction: str = "none"

    def to_dict(self) -> dict[str, object]:
        """Give what ``--json`` prints."""
        found = asdict(self)
        return {"rule": found.pop("clusters"), **found}


def order(
    averages: Averages,
    name: str,
    rule: Rule,
    tested: Callable[[Averages, str, str, Counts], Floats],
) -> Ordering:
    """Order systems by the mean of a score, test all pairs, and cut the order into clusters.

    ``tested`` gives the one-sided p-values of all pairs of systems in an order, by the test of the
    rule. The correction counts every pair of systems once.
    """
    means = averages.means(name)
    places = ranks(means)
    # Equal means stand in the order of their names, which the systems are sorted by.
    best_first = np.argsort(places, kind="stable").astype(np.int64)
    rank = whole(places[best_first])
    if rule.clusters == "none" or not 1 < len(means) <= MAX_SYSTEMS:
        return Ordering(best_first, rank)
    p = adjusted(tested(averages, name, rule.test, best_first), rule)
    return Ordering(
        order=best_first,
        rank=rank,
        p=p,
        wins=clusters.wins(p, rule.alpha).tolist(),
        cluster=cut(p, rule),
        range=clusters.rank_ranges(p, rule.alpha),
    )


def adjusted(p: Floats, rule: Rule) -> Floats:
    """Correct p-values of all pairs for their number."""
    return adjust_pairs(p, rule.correction, symmetric=False)


def cut(p: Floats, rule: Rule) -> list[tuple[int, int]]:
    """Cut an order into clusters; gives the first and the last place of each system's."""
    if rule.clusters == "wmt":
        return clusters.wmt_clusters(p, rule.alpha)
    if rule.clusters == "strict":
        # Every system above beats every one below, by p < alpha as in the other rules.
        found = clusters.never_split_clusters(p, np.nextafter(rule.alpha, 0))
    else:
        found = clusters.neighbour_clusters(p, rule.alpha)
    return clusters.spans(found)
