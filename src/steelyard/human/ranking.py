"""From mean ratings of outputs to a ranking: units, tests of pairs, clusters, verdicts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steelyard.core.decision import Decision
from steelyard.core.errors import UsageError
from steelyard.core.provenance import InputFile
from steelyard.core.table import Table
from steelyard.core.warnings import TypedWarning
from steelyard.data.evalset import EvalSet, ScoreTable
from steelyard.data.judgements import Codes, Floats, Ratings
from steelyard.data.segments import Segments
from steelyard.data.units import UnitEffect, Units, column_of, units_of
from steelyard.stats import clusters
from steelyard.stats.arrays import Counts, group_sums, ratio
from steelyard.stats.distributions import stdtrit
from steelyard.stats.paired import unpaired
from steelyard.stats.paired.corrections import adjust_pairs
from steelyard.stats.paired.tests import (
    agreeing,
    few_units_p,
    flip_interval,
    mean_error,
    t_interval,
)
from steelyard.stats.permutation.pvalues import pair_index, pairwise_pvalues
from steelyard.stats.ranks import ranks, whole

UNKNOWN = "unknown"  # what readers call a rater that the file does not name
EXACT = "permutation"  # the test that holds for few units, too
CLUSTER = "cluster-t"  # of means of all outputs, for systems that share few segments
MIXED = f"{EXACT} or {CLUSTER}"  # each pair by that which fits
_INVERTED = 50  # units up to which an interval inverts the permutation test


class Remark(TypedWarning):
    """A warning that calls for no action: JSON has it, and the command prints it with --details."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Averages:
    """Mean ratings of outputs, a row each (most cells of systems x segments may be empty).

    ``system`` and ``segment`` are codes into the names, ``n`` the number of ratings, ``values`` the
    mean of each kind of score (``da_z`` and ``da_raw``, ``mqm``, ...).
    """

    systems: tuple[str, ...]
    segments: Segments
    system: Codes
    segment: Codes
    n: Counts
    values: Mapping[str, Floats]

    def means(self, name: str) -> Floats:
        """Return the mean over segments of each system, NaN where it has none."""
        scored = ~np.isnan(self.values[name])
        system, size = self.system[scored], len(self.systems)
        sums = group_sums(system, self.values[name][scored], size)
        return ratio(sums, np.bincount(system, minlength=size))

    def matrix(self, name: str) -> Floats:
        """Return systems x segments, NaN where nobody rated."""
        full = np.full((len(self.systems), len(self.segments)), np.nan)
        full[self.system, self.segment] = self.values[name]
        return full

    def evalset(self, inputs: tuple[InputFile, ...] = (), lp: str | None = None) -> EvalSet:
        """Return the scores as a set whose scores are human."""
        tables = {name: ScoreTable(self.matrix(name), "human") for name in self.values}
        segments = replace(self.segments, sources=None)
        return EvalSet(self.systems, segments, tables, language_pair=lp, inputs=inputs)


def outputs(ratings: Ratings) -> Counts:
    """Return the code of the output, system x segment, that each row is about."""
    codes: Counts = ratings.system.astype(np.int64) * len(ratings.segments) + ratings.segment
    return codes


def by_rater(ratings: Ratings) -> Counts:
    """Return the code of output and rater of each row."""
    codes: Counts = outputs(ratings) * len(ratings.raters) + ratings.rater
    return codes


def average(
    ratings: Ratings, columns: Mapping[str, Floats], rows: NDArray[np.bool_] | None = None
) -> Averages:
    """Average columns of per-row scores over all ratings of the same output."""
    kept = np.arange(len(ratings)) if rows is None else np.flatnonzero(rows)
    systems, system = np.unique(ratings.system[kept], return_inverse=True)
    segments, segment = np.unique(ratings.segment[kept], return_inverse=True)
    width = max(1, len(segments))
    cells, cell, n = np.unique(system * width + segment, return_inverse=True, return_counts=True)
    return Averages(
        tuple(ratings.systems[code] for code in systems),
        Segments(tuple(ratings.segments[code] for code in segments)),
        (cells // width).astype(np.int32),
        (cells % width).astype(np.int32),
        n.astype(np.int64),
        {name: group_sums(cell, column[kept], len(cells)) / n for name, column in columns.items()},
    )


@dataclass(frozen=True, slots=True)
class Rule:
    """How systems are put into clusters: rule, test, level and correction."""

    clusters: str = "wmt"
    test: str = "rank-sum"
    alpha: float = 0.05
    correction: str = "none"

    def to_dict(self) -> dict[str, object]:
        """Return what ``--json`` prints."""
        values = asdict(self)
        return {"rule": values.pop("clusters"), **values}


@dataclass(frozen=True, slots=True)
class Ordering:
    """Systems best first (``order``: positions in the input), and what the tests of pairs say.

    ``p[i, j]`` is the one-sided p-value (corrected, if so asked) that the i-th beats the j-th, None
    where nothing was tested; ``two_sided`` those of pairs alone. ``cluster`` and ``range`` hold the
    first and the last rank. Some organisers publish the range as the rank (``rank_is_range``).
    """

    order: Counts
    rank: list[int | None]
    p: Floats | None = None
    two_sided: Floats | None = None
    wins: list[int] | None = None
    cluster: list[tuple[int, int]] | None = None
    range: list[tuple[int, int]] | None = None
    rank_is_range: bool = False

    def cluster_numbers(self) -> list[int] | None:
        """Return the number of the cluster of each system, from 1."""
        if self.cluster is None:
            return None
        starts = np.array([first for first, _ in self.cluster], dtype=np.int64)
        return [int(code) + 1 for code in np.unique(starts, return_inverse=True)[1]]


def best_first(scores: Floats, *, rank_is_range: bool = False) -> Ordering:
    """Order systems by their scores; equal ones stay in the order of their names."""
    rank = ranks(scores)
    order = np.argsort(rank, kind="stable").astype(np.int64)
    return Ordering(order, whole(rank[order]), rank_is_range=rank_is_range)


def choose_test(units: Units, asked: str | None, usual: str) -> str:
    """Return the test to use, one that holds for these units."""
    if units.few and asked not in (None, EXACT):
        raise UsageError(f'test="{asked}": {units.too_few()} for it; test="{EXACT}" is exact')
    return asked or (EXACT if units.few else usual)


def fitting_test(averages: Averages, name: str) -> str:
    """Return the test that fits how many segments systems share, pair by pair."""
    apart = unpaired.share_few(averages.matrix(name))[pair_index(len(averages.systems))]
    return EXACT if not apart.any() else CLUSTER if apart.all() else MIXED


def matrix_pvalues(scores: Floats, blocks: Counts | None, test: str = MIXED) -> Floats:
    """Test all pairs of rows: ``p[i, j]`` is small where i beats j; blocks are whole units."""
    apart, p = unpaired.share_few(scores), np.full((len(scores), len(scores)), np.nan)
    if test == EXACT or not apart[pair_index(len(p))].all():
        # Sums that tie with the observation count in full, as in a comparison of systems.
        flips = pairwise_pvalues(scores, blocks=blocks, tail="ge")
        np.fill_diagonal(flips.p, np.nan)
        p = few_units_p(flips.p, flips.n, two_sided=False)
    if test == EXACT:
        return p
    means = unpaired.cluster_means_test(scores, blocks)
    return np.where(apart, few_units_p(means.p, means.freedom + 1, two_sided=False), p)


def pair_pvalues(averages: Averages, name: str, units: Units, test: str, order: Counts) -> Floats:
    """Test all pairs of systems, in this order: ``p[i, j]`` is small where i beats j."""
    scores = averages.matrix(name)[order]
    if test in (EXACT, CLUSTER, MIXED):
        return matrix_pvalues(scores, units.codes, test)
    codes = np.arange(scores.shape[1]) if units.codes is None else units.codes
    blocks = [codes] * len(scores)
    if test != "rank-sum":
        p = unpaired.unpaired_means_test(list(scores), blocks)
    elif units.codes is None:
        p = unpaired.rank_sum_test(list(scores))
    else:
        p = unpaired.rank_sum_test_by_unit(list(scores), blocks)
    # The smaller of two samples counts.
    counts = np.array([len(np.unique(codes[~np.isnan(row)])) for row in scores])
    return few_units_p(p, np.minimum(counts[:, None], counts), two_sided=False)


def independent(averages: Averages, unit: str) -> Units:
    """Find what is independent among the outputs."""
    segments = replace(averages.segments, document_column=column_of(unit))
    used = np.zeros(len(segments), dtype=bool)
    used[averages.segment] = True
    return units_of(segments, unit, used)


def order_systems(averages: Averages, name: str, rule: Rule, units: Units) -> Ordering:
    """Order systems by the mean of a score, test all pairs, and cut the order into clusters."""
    base = best_first(averages.means(name))
    if rule.clusters == "none" or len(averages.systems) < 2:
        return base
    alone = pair_pvalues(averages, name, units, rule.test, base.order)
    p = adjust_pairs(alone, rule.correction, symmetric=False)
    return replace(
        base,
        p=p,
        two_sided=np.minimum(1.0, 2 * np.minimum(alone, alone.T)),
        wins=clusters.wins(p, rule.alpha).tolist(),
        cluster=clusters.wmt_clusters(p, rule.alpha),
        range=clusters.rank_ranges(p, rule.alpha),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    """Systems in order, by which rule, what was independent, and the verdicts on the first one.

    ``overall`` are the scores that systems are ordered by; ``rule`` is None where nothing was
    tested, and ``errors`` are standard errors of means over segments by unit, best system first.
    """

    ordering: Ordering
    overall: Floats
    rule: Rule | None
    unit: UnitEffect
    errors: Floats
    decisions: tuple[Decision, ...] = ()
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    tables: Mapping[str, Table] = field(default_factory=dict)
    more: Mapping[str, Any] = field(default_factory=dict)


def rank_systems(averages: Averages, name: str, rule: Rule, units: Units) -> Placement:
    """Rank systems by the mean of a score, with the verdicts on the first one."""
    ordering = order_systems(averages, name, rule, units)
    overall, scores = averages.means(name), averages.matrix(name)
    unit, errors = units.effect(scores), mean_error(scores, units.codes).error
    placement = Placement(
        ordering=ordering, overall=overall, rule=None, unit=unit, errors=errors[ordering.order]
    )
    if ordering.p is None:
        return placement
    freedom = max(unit.n - 1, 1)
    apart = unpaired.share_few(scores) & (rule.test in (CLUSTER, MIXED))
    means = unpaired.cluster_means_test(scores, units.codes) if apart.any() else None

    def half_widths(first: int, other: int) -> tuple[float, float]:
        if means is not None and apart[first, other]:
            quantile = float(stdtrit(means.freedom[first, other], 1 - rule.alpha / 2))
            return (quantile * float(means.error[first, other]),) * 2
        if rule.test in (EXACT, MIXED):
            gap = scores[first] - scores[other]
            return paired_half_widths(gap, units.codes, 1 - rule.alpha)
        quantile = float(stdtrit(freedom, 1 - rule.alpha / 2))
        return (quantile * float(np.hypot(errors[first], errors[other])),) * 2

    corrected = "" if rule.correction == "none" else f", {rule.correction}"
    test = f"one-sided {rule.test} test, p < {rule.alpha:g}{corrected}"
    notes = (
        f"rank: ranks of the cluster (rule {rule.clusters}: {test})",
        "range: ranks that the tests leave possible",
    )
    decisions = decide_first(averages.systems, overall, ordering, unit, rule, half_widths)
    if rule.test == MIXED:
        row = [averages.systems.index(d.other) for d in decisions]
        tests = np.where(apart[ordering.order[0], row], CLUSTER, EXACT).tolist()
        decisions = tuple(replace(d, test=t) for d, t in zip(decisions, tests, strict=True))
    return replace(placement, rule=rule, decisions=decisions, notes=notes)


def decide_first(
    systems: Sequence[str],
    overall: Floats,
    ordering: Ordering,
    unit: UnitEffect,
    rule: Rule,
    half_widths: Callable[[int, int], tuple[float, float]],
) -> tuple[Decision, ...]:
    """Return the verdict on the first system against the second and all that are not separated.

    A system is separated if its p-value is significant after Holm's correction for all pairs.
    ``half_widths`` returns how far an interval of two systems reaches below and above their
    difference.
    """
    if ordering.two_sided is None or ordering.rank[0] is None:
        return ()
    alone = np.triu(ordering.two_sided, 1) + np.triu(ordering.two_sided, 1).T
    np.fill_diagonal(alone, np.nan)
    adjusted = adjust_pairs(alone, "holm", symmetric=True)
    n_pairs = int(np.isfinite(alone).sum()) // 2
    first = int(ordering.order[0])
    verdicts = []
    for k, other in enumerate(ordering.order.tolist()[1:], start=1):
        if ordering.rank[k] is None or (k > 1 and adjusted[0, k] <= rule.alpha):
            continue
        difference = np.array([overall[first] - overall[other]])
        below, above = half_widths(first, other)
        ends = difference - below, difference + above
        low, high = agreeing(difference, ends, alone[0, k : k + 1], 1 - rule.alpha)
        verdicts.append(
            Decision(
                leader=systems[first],
                other=systems[other],
                difference=float(difference[0]),
                low=float(low[0]),
                high=float(high[0]),
                p=float(alone[0, k]),
                p_adjusted=float(adjusted[0, k]),
                n_pairs=n_pairs,
                test=rule.test,
                unit=unit.name,
                n_units=unit.n,
                level=1 - rule.alpha,
                alpha=rule.alpha,
            )
        )
    return tuple(verdicts)


def paired_half_widths(gap: Floats, blocks: Counts | None, level: float) -> tuple[float, float]:
    """Return how far the interval of a mean difference reaches; of few units, by sign flips."""
    mean, _, _, n_units = mean_error(gap[None, :], blocks)
    interval = flip_interval if n_units[0] <= _INVERTED else t_interval
    low, high = interval(gap[None, :], blocks, level)
    return float(mean[0] - low[0]), float(high[0] - mean[0])


def shown_range(first: int | None, last: int | None) -> str | None:
    """Write a range of ranks: ``1-3``, ``4``."""
    return f"{first}-{last}" if first != last else None if first is None else str(first)
