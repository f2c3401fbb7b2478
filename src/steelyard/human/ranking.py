"""From mean ratings of outputs to a ranking: units, tests of pairs, clusters, official rules.

Documents are units of segments, the same for all systems. Raters are units of outputs: two systems
on one segment have two of them, which no pairing undoes; ``document+rater`` takes both at once.
"""

from __future__ import annotations

import itertools
import warnings as python_warnings
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from steelyard.core.decision import Decision
from steelyard.core.errors import UsageError
from steelyard.core.provenance import InputFile
from steelyard.core.table import Cell, Column, Table
from steelyard.core.text import listed, plural
from steelyard.core.warnings import TypedWarning
from steelyard.data.evalset import EvalSet, ScoreTable
from steelyard.data.judgements import Codes, Floats, Ratings
from steelyard.data.segments import Segments, Texts
from steelyard.data.units import (
    DOCUMENT,
    RATER,
    SEGMENT,
    UnitEffect,
    Units,
    column_of,
    rater_groups,
    too_few_groups,
    units_of,
)
from steelyard.human.options import PRESETS, HumanOptions, Preset
from steelyard.stats import clusters
from steelyard.stats.arrays import Counts, group_sums, ratio, row_errors, row_means
from steelyard.stats.distributions import stdtrit
from steelyard.stats.paired import unpaired
from steelyard.stats.paired.corrections import adjust_pairs, directed_stouffer, stouffer
from steelyard.stats.paired.tests import (
    agreeing,
    few_units_p,
    flip_interval,
    mean_error,
    t_interval,
    two_way_mean_error,
)
from steelyard.stats.permutation.pvalues import pair_index, pairwise_pvalues
from steelyard.stats.ranks import ranks, whole

T = TypeVar("T", bound=np.generic)
UNKNOWN = "unknown"  # what readers call a rater that the file does not name
MAX_SYSTEMS = 300  # above this, tests of all pairs take minutes and no one reads the result
BOTH = "document+rater"
EXACT = "permutation"  # the test that holds for few units, too
_INVERTED = 50  # units up to which an interval inverts the permutation test
_CELLS = 4_000_000  # differences of pairs that are held at a time
_BY_ROW = 50  # differences up to which SciPy chooses a way to the p-value by ties and zeros


class Remark(TypedWarning):
    """A warning that calls for no action: JSON has it, and the command prints it with --details."""

    __slots__ = ()


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

    def by_system(self, column: NDArray[T]) -> list[NDArray[T]]:
        """Split a column by the system of its rows, one array per system."""
        ends = np.searchsorted(self.system, np.arange(len(self.systems) + 1))
        return [column[a:b] for a, b in itertools.pairwise(ends)]

    def means(self, name: str) -> Floats:
        """Return the mean over segments of each system, NaN where it has none."""
        column = self.values[name]
        known = ~np.isnan(column)
        size = len(self.systems)
        sums = group_sums(self.system[known], column[known], size)
        return ratio(sums, np.bincount(self.system[known], minlength=size))

    def counts(self) -> tuple[Counts, Counts]:
        """Return the number of segments, and of ratings, of each system."""
        size = len(self.systems)
        ratings = group_sums(self.system, self.n, size).astype(np.int64)
        return np.bincount(self.system, minlength=size).astype(np.int64), ratings

    def matrix(self, name: str) -> Floats:
        """Return systems x segments, NaN where nobody rated."""
        full = np.full((len(self.systems), len(self.segments)), np.nan)
        full[self.system, self.segment] = self.values[name]
        return full

    def cells_of(self, ratings: Ratings) -> tuple[Counts, Counts]:
        """Return system and segment of each rating as codes of these averages, -1 for others."""
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
        """Return the scores as a set whose scores are human."""
        tables = {name: ScoreTable(self.matrix(name), "human") for name in self.values}
        segments = Segments(self.segments, self.documents, self.domains)
        return EvalSet(self.systems, segments, tables, language_pair=lp, inputs=inputs)


def outputs(ratings: Ratings) -> Counts:
    """Return the code of the output, system x segment, that each row is about."""
    codes: Counts = ratings.system.astype(np.int64) * len(ratings.segments) + ratings.segment
    return codes


def average(
    ratings: Ratings, columns: Mapping[str, Floats], rows: NDArray[np.bool_] | None = None
) -> Averages:
    """Average columns of per-row scores over all ratings of the same output.

    >>> ratings = Ratings.from_labels(["A", "A"], ["1", "1"], ["r", "s"], np.array([50.0, 60.0]))
    >>> average(ratings, {"raw": ratings.value}).values["raw"].tolist()
    [55.0]
    """
    kept = np.arange(len(ratings)) if rows is None else np.flatnonzero(rows)
    cells, cell, n = np.unique(outputs(ratings)[kept], return_inverse=True, return_counts=True)
    system, segment = np.divmod(cells, max(1, len(ratings.segments)))
    return Averages(
        ratings.systems,
        ratings.segments,
        system.astype(np.int32),
        segment.astype(np.int32),
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

    def adjusted(self, p: Floats) -> Floats:
        """Correct p-values of all pairs for their number."""
        return adjust_pairs(p, self.correction, symmetric=False)

    def cut(self, p: Floats) -> list[tuple[int, int]]:
        """Cut an order into clusters; returns the first and the last rank of each system's."""
        if self.clusters == "wmt":
            return clusters.wmt_clusters(p, self.alpha)
        if self.clusters == "strict":
            # Every system above beats every one below, by p < alpha as in the other rules.
            return clusters.spans(clusters.never_split_clusters(p, np.nextafter(self.alpha, 0)))
        return clusters.spans(clusters.neighbour_clusters(p, self.alpha))


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
    places = ranks(scores)
    order = np.argsort(places, kind="stable").astype(np.int64)
    return Ordering(order, whole(places[order]), rank_is_range=rank_is_range)


@dataclass(frozen=True, slots=True, eq=False)
class Independent:
    """What is independent among the outputs that were judged.

    ``units`` are those of segments; ``rater`` holds a code for each output, where raters count.
    """

    name: str
    units: Units
    rater: Counts | None = None

    @property
    def usual_test(self) -> str | None:
        """The test to take where nobody asks for one; None leaves it to the protocol."""
        return "t" if self.rater is not None else EXACT if self.units.few else None

    def check(self, test: str) -> None:
        """Refuse a test that does not hold for these units."""
        if test == EXACT and self.rater is not None:
            raise UsageError(
                f'test="{test}", unit="{self.name}": two systems on one segment have two raters, '
                'so there is nothing to swap; test="t" has errors by rater'
            )
        if test == "rank-sum" and self.name == BOTH:
            raise UsageError(f'test="{test}": units of two kinds are for test="t"')
        if self.rater is not None and self.units.few:
            raise UsageError(f'unit="{self.name}": {self.units.too_few()} for a test by both')
        if test != EXACT and self.units.few:
            few = self.units.too_few()
            raise UsageError(f'test="{test}": {few} for it; test="{EXACT}" is exact')

    def p_values(self, averages: Averages, name: str, test: str, order: Counts) -> Floats:
        """Test all pairs of systems, in this order: ``p[i, j]`` is small where i beats j."""
        blocks = self.units.codes
        if test == EXACT:
            # Sums that tie with the observation count in full, as in a comparison of systems.
            flips = pairwise_pvalues(averages.matrix(name)[order], blocks=blocks, tail="ge")
            np.fill_diagonal(flips.p, np.nan)
            return few_units_p(flips.p, flips.n, two_sided=False)

        def split(column: NDArray[T]) -> list[NDArray[T]]:
            parts = averages.by_system(column)
            return [parts[i] for i in order]

        samples = split(averages.values[name])
        units = [split(codes) for codes in self._codes(averages)]
        if test == "rank-sum" and self.rater is None and blocks is None:
            p = unpaired.rank_sum_test(samples)
        elif test == "rank-sum":
            p = unpaired.rank_sum_test_by_unit(samples, units[0])
        else:
            p = unpaired.unpaired_means_test(samples, *units)
        # Of unpaired outputs, the smaller of two samples counts, and the fewer of two kinds.
        counts = np.array([[len(np.unique(codes)) for codes in kind] for kind in units]).min(axis=0)
        return few_units_p(p, np.minimum(counts[:, None], counts), two_sided=False)

    def _codes(self, averages: Averages) -> list[Counts]:
        """Return the codes of the units of each output; raters beside documents last."""
        blocks = self.units.codes
        rows = np.arange(len(averages.segments)) if blocks is None else blocks
        if self.rater is None:
            return [rows[averages.segment]]
        return [self.rater] if self.name == RATER else [rows[averages.segment], self.rater]

    def errors(self, averages: Averages, name: str) -> Floats:
        """Return the standard error of each system's mean, by unit."""
        samples = averages.by_system(averages.values[name])
        codes = [averages.by_system(kind) for kind in self._codes(averages)]
        errors = []
        for sample, *kinds in zip(samples, *codes, strict=True):
            rows, units = sample[None, :], [kind.astype(np.int64) for kind in kinds]
            if self.rater is None and self.units.codes is None:
                error = row_errors(rows)[0]
            elif len(units) > 1:
                error = two_way_mean_error(rows, *units).error[0]
            else:
                error = mean_error(rows, *units).error[0]
            errors.append(float(error))
        return np.array(errors)

    def effect(self, averages: Averages, name: str) -> UnitEffect:
        """Measure what it changes that judgements of a unit are alike."""
        if self.rater is None:
            effect = self.units.effect(averages.matrix(name))
            if self.units.codes is None or not np.isnan(effect.design_effect):
                return effect
        else:
            n = self.units.n if self.name == BOTH else len(np.unique(self.rater))
            effect = UnitEffect(self.name, n, float("nan"))
        # Systems share no segment, or no rater, so that differences do not tell: means do.
        alone = Independent(SEGMENT, Units(SEGMENT, len(averages.segments)))
        both = self.errors(averages, name), alone.errors(averages, name)
        ratios = ratio(both[0] ** 2, both[1] ** 2)
        known = ratios[~np.isnan(ratios)]
        middle = float(np.median(known)) if known.size else float("nan")
        return replace(effect, design_effect=middle)


def named_column(unit: str) -> str | None:
    """Return the column that a unit of judgements is named after."""
    return None if unit in (RATER, BOTH) else column_of(unit)


def independent(averages: Averages, ratings: Ratings, unit: str) -> tuple[Independent, list[str]]:
    """Find what is independent among the outputs, with warnings."""
    segments = Segments(
        averages.segments,
        averages.documents,
        averages.domains,
        averages.sources,
        document_column=named_column(unit),
    )
    used = np.zeros(len(segments), dtype=bool)
    used[averages.segment] = True
    asked = {RATER: SEGMENT, BOTH: DOCUMENT}.get(unit, unit)
    units = units_of(segments, asked, used)
    if unit not in (RATER, BOTH):
        return Independent(units.name, units), list(units.warnings)
    groups = rater_groups(ratings, averages.systems, averages.segments)
    rater = groups[averages.system, averages.segment]
    few = too_few_groups(rater, ratings)
    if few is not None:
        raise UsageError(f'unit="{unit}": {few}')
    codes = np.unique(rater, return_inverse=True)[1].astype(np.int64)
    return Independent(unit, units, codes), list(units.warnings) if unit == BOTH else []


def order_systems(averages: Averages, name: str, rule: Rule, units: Independent) -> Ordering:
    """Order systems by the mean of a score, test all pairs, and cut the order into clusters."""
    base = best_first(averages.means(name))
    if rule.clusters == "none" or not 1 < len(averages.systems) <= MAX_SYSTEMS:
        return base
    alone = units.p_values(averages, name, rule.test, base.order)
    p = rule.adjusted(alone)
    return replace(
        base,
        p=p,
        two_sided=np.minimum(1.0, 2 * alone),
        wins=clusters.wins(p, rule.alpha).tolist(),
        cluster=rule.cut(p),
        range=clusters.rank_ranges(p, rule.alpha),
    )


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    """Systems in order, by which rule, what was independent, and the verdicts on the first one.

    ``overall`` are the scores that systems are ordered by; ``rule`` is None where nothing was
    tested, and ``errors`` are standard errors of means over segments by unit, best system first.
    """

    ordering: Ordering
    overall: Floats
    rule: Rule | None
    unit: UnitEffect | None
    errors: Floats | None
    decisions: tuple[Decision, ...] = ()
    by_document: Decision | None = None
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    tables: Mapping[str, Table] = field(default_factory=dict)
    more: Mapping[str, Any] = field(default_factory=dict)


def place(
    ratings: Ratings, averages: Averages, name: str, rule: Rule, options: HumanOptions
) -> Placement:
    """Rank systems by the mean of a score; a preset has rules of its own."""
    units, warnings = independent(averages, ratings, options.unit)
    rule = replace(rule, test=options.test or units.usual_test or rule.test)
    units.check(rule.test)
    plain = order_systems(averages, name, rule, units)
    few = len(averages.systems) <= MAX_SYSTEMS
    if not few and rule.clusters != "none":
        most = f"more than {MAX_SYSTEMS} systems"
        warnings.append(f"{most}: pairs are not tested, and there are no clusters")
    used = None if plain.p is None else rule
    if options.preset is not None:
        beside = f"{rule.test} test by {units.name}"
        beside += "" if averages.documents else " (documents are not known)"
        official = rank_officially(ratings, averages, name, PRESETS[options.preset])
        return official.placement(ratings, averages, name, plain, beside)
    overall, errors = averages.means(name), units.errors(averages, name)
    effect = units.effect(averages, name) if few else None
    decisions: tuple[Decision, ...] = ()
    if used is not None and effect is not None:
        scores, n_units = averages.matrix(name), effect.n

        def half_widths(first: int, other: int) -> tuple[float, float]:
            if rule.test == EXACT:
                gap = scores[first] - scores[other]
                return paired_half_widths(gap, units.units.codes, 1 - rule.alpha)
            quantile = float(stdtrit(max(n_units - 1, 1), 1 - rule.alpha / 2))
            return (quantile * float(np.hypot(errors[first], errors[other])),) * 2

        decisions = decide_first(averages.systems, overall, plain, effect, rule, half_widths)
    return Placement(
        ordering=plain,
        overall=overall,
        rule=used,
        unit=effect,
        errors=errors[plain.order],
        decisions=decisions,
        notes=() if used is None else _rule_notes(used),
        warnings=tuple(warnings),
    )


def _rule_notes(rule: Rule) -> tuple[str, ...]:
    corrected = "" if rule.correction == "none" else f", {rule.correction}"
    test = f"one-sided {rule.test} test, p < {rule.alpha:g}{corrected}"
    return (
        f"rank: ranks of the cluster (rule {rule.clusters}: {test})",
        "range: ranks that the tests leave possible",
    )


def counted(ratings: Ratings, preset: Preset) -> tuple[Ratings, list[str]]:
    """Keep the rows that count for the organisers: their kinds of items, the latest of a login."""
    remarks: list[str] = []
    again = ratings.is_item("repeat") & ("repeat" not in preset.kinds)
    if again.any():
        text = f"{plural(int(again.sum()), 'repeat')} excluded, as the organisers do"
        remarks.append(Remark(text))
    keep = ~again
    if preset.latest and ratings.raters != (UNKNOWN,):
        rows = np.flatnonzero(keep & ratings.is_item(*preset.kinds))
        key = outputs(ratings)[rows] * len(ratings.raters) + ratings.rater[rows]
        if ratings.wave is not None:  # who rates in two waves is asked twice
            waves = np.array(ratings.wave, dtype=np.int64)
            key = key * (waves.max(initial=0) + 1) + waves[rows]
        # Rows stand in the order of the file within a key, so that the last one is the latest.
        last = len(rows) - 1 - np.unique(key[::-1], return_index=True)[1]
        older = np.delete(rows, last)
        if len(older):
            keep[older] = False
            excluded = f"{plural(len(older), 'row')} that the same rater judged again excluded"
            remarks.append(Remark(f"{excluded}: the latest counts"))
    return (ratings if keep.all() else ratings.take(keep)), remarks


def _each_rating(ratings: Ratings, averages: Averages, kinds: Sequence[str]) -> Floats:
    """Return systems x (segments x k): the rating of an output in the k-th wave.

    Where waves are unknown, it is the k-th rating by the names of raters.
    """
    i, j = averages.cells_of(ratings)
    rows = ratings.is_item(*kinds) & ~np.isnan(ratings.value) & (i >= 0) & (j >= 0)
    i, j, shape = i[rows], j[rows], (len(averages.systems), len(averages.segments))
    waves = np.zeros(len(i), np.int64) if ratings.wave is None else np.array(ratings.wave)[rows]
    cell = (i * shape[1] + j) * (waves.max(initial=0) + 1) + waves
    order = np.argsort(cell, kind="stable")
    first = np.searchsorted(cell[order], cell[order])  # of the rows of one output and wave
    again = np.empty(len(cell), np.int64)
    again[order] = np.arange(len(cell)) - first
    k = np.unique(waves * (again.max(initial=0) + 1) + again, return_inverse=True)[1]
    scores = np.full((*shape, int(k.max(initial=0)) + 1), np.nan)
    scores[i, j, k] = ratings.value[rows]
    return scores.reshape(shape[0], -1)


@dataclass(frozen=True, slots=True)
class Official:
    """Systems as organisers rank them.

    ``parts`` are the scores, systems x items, one part per domain. ``overall`` and ``domain_means``
    (systems x domains) are in the order of the input, p-values best first. ``directed`` is the
    ranking whose combined p-values keep the signs of domains, with p-values that row beats column;
    None where nothing is combined.
    """

    preset: Preset
    parts: Sequence[Floats]
    overall: Floats
    placed: Ordering
    domains: tuple[str, ...] = ()
    n_segments: tuple[int, ...] = ()
    domain_means: Floats | None = None
    directed: Ordering | None = None
    warnings: tuple[str, ...] = ()

    @property
    def errors(self) -> Floats:
        """The standard errors of the overall scores, by segment."""
        squares = [row_errors(part) ** 2 for part in self.parts]
        return np.asarray(np.sqrt(np.sum(squares, axis=0)) / len(self.parts))

    def _half_widths(self, first: int, other: int) -> tuple[float, float]:
        """Return how far the interval of a difference reaches; domains count alike."""
        level = 1 - self.preset.alpha
        if self.preset.paired and len(self.parts) == 1:
            return paired_half_widths(self.parts[0][first] - self.parts[0][other], None, level)
        if self.preset.paired:
            gaps = [mean_error((part[first] - part[other])[None, :]) for part in self.parts]
            error = np.sqrt(np.sum([gap.error[0] ** 2 for gap in gaps])) / len(gaps)
            freedom = min(gap.freedom[0] for gap in gaps)
        else:
            error = np.hypot(self.errors[first], self.errors[other])
            freedom = self.parts[0].shape[1] - 1.0
        half = float(stdtrit(freedom, (1 + level) / 2) * error)
        return half, half

    def placement(
        self, ratings: Ratings, averages: Averages, name: str, plain: Ordering, test: str
    ) -> Placement:
        """Return the ranking with tables of what stands beside it.

        ``plain`` is the ranking without the preset, by a test of this name.
        """
        systems, preset, order = averages.systems, self.preset, self.placed.order
        rule = Rule(preset.name, preset.test, preset.alpha) if plain.p is not None else None
        segments = independent(averages, ratings, SEGMENT)[0]  # the unit of the organisers
        few = len(systems) <= MAX_SYSTEMS
        unit = segments.effect(averages, name) if few else None
        decisions: tuple[Decision, ...] = ()
        if rule is not None and unit is not None:
            decisions = decide_first(
                systems, self.overall, self.placed, unit, rule, self._half_widths
            )
        tables, facts = self._beside(systems, test, plain)
        return Placement(
            ordering=self.placed,
            overall=self.overall,
            rule=rule,
            unit=unit,
            errors=self.errors[order],
            decisions=decisions,
            by_document=_by_document(averages, name, order) if decisions else None,
            notes=_official_notes(preset),
            warnings=self.warnings,
            tables=tables,
            more={"preset": facts},
        )

    def _beside(
        self, systems: Sequence[str], test: str, plain: Ordering
    ) -> tuple[dict[str, Table], dict[str, Any]]:
        """Return the means of domains and the ranking under other rules, and the facts for JSON."""
        tables: dict[str, Table] = {}
        facts: dict[str, Any] = self.preset.to_dict()
        facts["domains"] = dict(zip(self.domains, self.n_segments, strict=True))
        facts["p"] = self.placed.p
        if self.directed is not None:
            facts["directed"] = {"p": self.directed.p}
        if self.domain_means is not None:
            tables["domains"] = _domain_table(self, systems)
        if self.placed.range is not None:
            others = []
            if self.directed is not None:
                how = "one-sided tests of domains combined with their signs"
                others.append(("directed", how, self.directed))
            others.append(("default", f"plain means, {test}, no preset", plain))
            tables["variants"], facts["differences"] = _variants(self, systems, others)
        return tables, facts


def _by_document(averages: Averages, name: str, order: Counts) -> Decision | None:
    """Return the verdict on the first and the second system by document, None without documents."""
    if averages.documents is None or None in averages.documents:
        return None
    first, second = averages.matrix(name)[order[:2]]
    codes = np.unique(np.array(averages.documents), return_inverse=True)[1].astype(np.int64)
    shared = ~np.isnan(first - second)
    gap, blocks = (first - second)[shared][None, :], codes[shared]
    n = len(np.unique(blocks))
    if not n or n == shared.sum() or gap.mean() < 0:
        return None
    both = np.stack([gap[0], np.zeros(gap.shape[1])])
    flips = pairwise_pvalues(both, blocks=blocks, tail="ge")
    upper = few_units_p(flips.p, np.full((2, 2), n), two_sided=False)
    p = np.minimum(1.0, 2 * upper[:1, 1])
    ends = (flip_interval if n <= _INVERTED else t_interval)(gap, blocks)
    low, high = agreeing(gap.mean(axis=1), ends, p)
    leader, other = (averages.systems[i] for i in order[:2])
    return Decision(leader, other, float(gap.mean()), float(low[0]), float(high[0]), float(p[0]),
                    float(p[0]), test="paired permutation test", unit=DOCUMENT,
                    n_units=n)  # fmt: skip


def _official_notes(preset: Preset) -> tuple[str, ...]:
    return (
        f"rank: range of preset {preset.name} ({preset.test}, p < {preset.alpha:g})",
        f"score: {preset.overall}; raw: mean over segments",
    )


def rank_officially(ratings: Ratings, averages: Averages, name: str, preset: Preset) -> Official:
    """Rank systems as a preset says; ``name`` is the score of outputs that counts."""
    scores = averages.matrix(name)
    warnings: list[str] = []
    if preset.each_rating:
        items = _each_rating(ratings, averages, preset.kinds)
        if items.shape[1] > scores.shape[1] and not (ratings.wave and all(ratings.wave)):
            text = "waves are not known: the k-th rating of an output, by the names of raters, is "
            warnings.append(Remark(f"{text}paired with the k-th of another system"))
        scores = items
    elif preset.paired and (averages.n > 1).any():
        several = plural(int((averages.n > 1).sum()), "output")
        warnings.append(Remark(f"{several} with several ratings: their mean counts"))
    domains, codes, sizes = _domains(averages, preset)
    parts = [scores[:, codes == k] for k in range(len(domains))] or [scores]
    means = np.stack([row_means(part) for part in parts], axis=1)
    overall = means.mean(axis=1)  # NaN where a system lacks a domain
    warnings += _lacking(averages, means, overall, domains)
    total = int(averages.n.sum())
    if total < preset.fewest:
        warnings.append(
            f"{plural(total, 'annotation')}: the organisers of {preset.name} publish no ranking of "
            f"fewer than {preset.fewest}"
        )
    base = best_first(overall, rank_is_range=preset.ranges != "cluster")
    official = Official(preset, parts, overall, base, domains, sizes, means if domains else None)
    if not 1 < len(overall) <= MAX_SYSTEMS:
        return replace(official, warnings=tuple(warnings))
    order = base.order
    p, directed = _tested([part[order] for part in parts], preset)
    places = ranks(overall)[order]
    lead = places[:, None] < places
    if np.isnan(p[~np.eye(len(p), dtype=bool)]).any():
        i, j = np.argwhere(np.isnan(np.triu(p, 1)))[0]
        pair = " and ".join(averages.systems[order[k]] for k in (i, j))
        count = int(np.isnan(np.triu(p, 1)).sum())
        warnings.append(
            f"{plural(count, 'pair')} without a p-value (first: {pair}): all differences are 0, "
            "or there are none, in all or in one domain; taken as not different"
        )
    other = None if directed is None else _placed(base, directed, lead, preset)
    placed = _placed(base, p, lead, preset)
    return replace(official, placed=placed, directed=other, warnings=tuple(warnings))


def _domains(averages: Averages, preset: Preset) -> tuple[tuple[str, ...], Counts, tuple[int, ...]]:
    """Return the domains, that of each segment as a code, and how many segments each has."""
    if not preset.by_domain:
        return (), np.empty(0, dtype=np.int64), ()
    known = averages.domains or (None,) * len(averages.segments)
    blank = [name for name, domain in zip(averages.segments, known, strict=True) if domain is None]
    if blank:
        which = "" if len(blank) == len(known) else f" of {listed(blank, 3)}"
        raise UsageError(
            f'preset="{preset.name}" averages over domains, and those of the segments{which} are '
            "not known: add a text file, or any table with segment and domain, to the inputs "
            f'(preset="{preset.name}-micro" needs no domains)'
        )
    names, codes = np.unique(np.array(known, dtype=object), return_inverse=True)
    sizes = np.bincount(codes, minlength=len(names))
    return tuple(names.tolist()), codes.astype(np.int64), tuple(sizes.tolist())


def _lacking(
    averages: Averages, means: Floats, overall: Floats, domains: Sequence[str]
) -> list[str]:
    """Name the systems that nobody judged in a domain."""
    lacking = [averages.systems[i] for i in np.flatnonzero(np.isnan(overall))]
    if not lacking:
        return []
    without = [domains[k] for k in np.flatnonzero(np.isnan(means).any(axis=0)).tolist()]
    where = f"{plural(len(lacking), 'system')} without a score in every domain"
    return [f"{where} ({listed(without, 4)}), hence without a rank: {listed(lacking, 8)}"]


def _tested(parts: Sequence[Floats], preset: Preset) -> tuple[Floats, Floats | None]:
    """Test all pairs: the organisers' p-values, and where they combine domains those with signs.

    Two-sided p-values are the same for both directions; one-sided ones are that row beats column.
    """
    n = len(parts[0])
    if not preset.paired:
        return unpaired.rank_sum_test(list(parts[0])), None
    i, j = pair_index(n)
    p, signed = (np.full((n, n), np.nan) for _ in range(2))
    step = max(1, _CELLS // max(1, sum(part.shape[1] for part in parts)))
    for start in range(0, len(i), step):
        a, b = i[start : start + step], j[start : start + step]
        greater, less = np.stack([_wilcoxon(part[a] - part[b]) for part in parts], axis=1)
        if preset.alternative == "greater":
            p[a, b], p[b, a] = greater[0], less[0]
            continue
        two_sided = np.minimum(1.0, 2 * np.minimum(greater, less))
        p[a, b] = p[b, a] = stouffer(two_sided) if preset.by_domain else two_sided[0]
        # Zeros alone lean neither way; where nothing is shared, nothing leans.
        none = np.stack([np.isnan(part[a] - part[b]).all(axis=1) for part in parts])
        sign = np.where(none, np.nan, np.nan_to_num(np.sign(less - greater)))
        signed[a, b] = directed_stouffer(two_sided, sign)
        signed[b, a] = directed_stouffer(two_sided, -sign)
    return p, (signed if preset.by_domain else None)


def _wilcoxon(gap: Floats) -> tuple[Floats, Floats]:
    """Test rows of differences above and below 0 by SciPy, with whose defaults rankings were made.

    Few differences are tested exactly or not, by whether any of them tie: by row.
    """
    from scipy.stats import wilcoxon

    rows = [gap] if gap.shape[1] > _BY_ROW else np.split(gap, len(gap))
    with np.errstate(all="ignore"), python_warnings.catch_warnings():
        python_warnings.simplefilter("ignore")  # of rows without a difference, which are NaN
        greater, less = (
            np.concatenate(
                [wilcoxon(x, axis=1, nan_policy="omit", alternative=side).pvalue for x in rows]
            )
            for side in ("greater", "less")
        )
    return greater, less


def _placed(base: Ordering, p: Floats, lead: NDArray[np.bool_], preset: Preset) -> Ordering:
    """Apply the rules of ranges and clusters to p-values, best system first."""
    won = np.where(lead, p, np.nan) if preset.paired else p
    if preset.ranges == "walk":
        spans = clusters.walked_ranges(p, preset.alpha)
    else:
        spans = clusters.rank_ranges(won, preset.alpha)
    if preset.clusters == "wins":
        cut = clusters.wmt_clusters(p, preset.alpha)
    elif preset.clusters == "ranges":
        cut = clusters.spans(clusters.range_clusters(spans))
    else:
        cut = clusters.spans(clusters.never_split_clusters(p, preset.alpha))
    wins = clusters.wins(won, preset.alpha).tolist()
    alone = p if preset.alternative == "two-sided" else np.minimum(1.0, 2 * p)
    return replace(base, p=p, two_sided=alone, wins=wins, cluster=cut, range=spans)


def _domain_table(official: Official, systems: Sequence[str]) -> Table:
    """Return the mean of every system in every domain, best first."""
    assert official.domain_means is not None
    rows: list[tuple[Cell, ...]] = [
        (systems[i], *official.domain_means[i].tolist()) for i in official.placed.order.tolist()
    ]
    columns = (Column("system"), *(Column(name, digits=2) for name in official.domains))
    counts = zip(official.domains, official.n_segments, strict=True)
    sizes = ", ".join(f"{name} {plural(n, 'segment')}" for name, n in counts)
    return Table("Means by domain", columns, tuple(rows), (sizes,))


def _variants(
    official: Official, systems: Sequence[str], others: Sequence[tuple[str, str, Ordering]]
) -> tuple[Table, list[str]]:
    """Set the ranking beside others, each a name, what it is, and an order; say what differs."""
    ranges = _ranges(official.placed, systems)
    variants = [(name, how, _ranges(other, systems)) for name, how, other in others]
    columns = [Column("system")]
    for name in (official.preset.name, *(name for name, _, _ in variants)):
        columns += [Column(name, key=f"{name} range"), Column("cluster", key=f"{name} cluster")]
    rows: list[tuple[Cell, ...]] = []
    for i in official.placed.order.tolist():
        cells = (ranges[systems[i]], *(other[systems[i]] for _, _, other in variants))
        rows.append((systems[i], *(cell for pair in cells for cell in pair)))
    lines = [f"{name}: {how}: {_differs(ranges, other)}" for name, how, other in variants]
    title = "Ranges and clusters under other rules"
    return Table(title, tuple(columns), tuple(rows), tuple(lines)), lines


RangeAndCluster = tuple[str | None, int | None]


def shown_range(first: int | None, last: int | None) -> str | None:
    """Write a range of ranks: ``1-3``, ``4``."""
    return f"{first}-{last}" if first != last else None if first is None else str(first)


def _ranges(ordering: Ordering, systems: Sequence[str]) -> dict[str, RangeAndCluster]:
    numbers = ordering.cluster_numbers()
    ranges: dict[str, RangeAndCluster] = {}
    for k, i in enumerate(ordering.order.tolist()):
        span = None if ordering.range is None else shown_range(*ordering.range[k])
        ranges[systems[i]] = span, None if numbers is None else numbers[k]
    return ranges


def _differs(ranges: dict[str, RangeAndCluster], other: dict[str, RangeAndCluster]) -> str:
    """Say in a line whose range differs, and how many clusters there are."""
    moved = [
        f"{name} {other[name][0]} (not {ranges[name][0]})"
        for name in ranges
        if ranges[name][0] != other[name][0]
    ]
    counts = [max((n or 0 for _, n in some.values()), default=0) for some in (ranges, other)]
    text = "the same ranges"
    if moved:
        verb = "has" if len(moved) == 1 else "have"
        text = f"{len(moved)} of {plural(len(ranges), 'system')} {verb} another range: "
        text += listed(moved, 4)
    n_clusters = plural(counts[1], "cluster")
    return f"{text}; {n_clusters}" + ("" if counts[0] == counts[1] else f" (not {counts[0]})")
