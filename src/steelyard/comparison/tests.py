"""Tests of all pairs of systems: which fits a ranking, what it tests, and the tiers that follow."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from steelyard.comparison.options import TIE_MODELS, CompareOptions, PairOptions
from steelyard.comparison.rankings import AGGREGATIONS, Sample, corpus_leads, means
from steelyard.comparison.results import CORPUS, MOST_SHOWN, SENTENCES, PairTest, Tiers
from steelyard.core.errors import UsageError
from steelyard.core.text import plural
from steelyard.data.units import FEWEST, SEGMENT, counted
from steelyard.stats import clusters
from steelyard.stats.arrays import Counts, Floats, row_means
from steelyard.stats.paired import tests as paired
from steelyard.stats.paired.corrections import adjust_pairs
from steelyard.stats.paired.tests import (
    FEW_UNITS,
    Ends,
    PairPValues,
    agreeing,
    few_units_p,
    flip_interval,
    proportions_interval,
    t_interval,
)
from steelyard.stats.paired.unpaired import cluster_means_test, share_few
from steelyard.stats.permutation.corpus import corpus_test
from steelyard.stats.permutation.pvalues import pair_index, sided
from steelyard.stats.resampling.bootstrap import row_medians
from steelyard.stats.resampling.cluster_df import unit_sizes, widened_p
from steelyard.stats.strength.bradleyterry import bradley_terry
from steelyard.stats.strength.clustered_errors import bt_by_block, bt_gap_test


@dataclass(frozen=True, slots=True)
class Question:
    """What tests are made of: scores with their resamples, options and chance."""

    data: Sample
    options: CompareOptions
    rng: np.random.Generator


def permutation(data: Sample, rng: np.random.Generator) -> PairPValues:
    """Test all pairs by permuting units between systems, also of a corpus score."""
    if data.statistics is None:
        return paired.permutation_test(data.scores, data.blocks)
    return PairPValues(corpus_test(data.statistics, blocks=data.blocks, rng=rng))


def _bootstrap(question: Question) -> PairPValues:
    scores, drawn = means(question.data)
    assert drawn is not None
    blocks = question.data.blocks
    sizes = np.ones(question.data.units.n) if blocks is None else unit_sizes(blocks)
    p = paired.bootstrap_test(scores, drawn, alternative="two-sided")
    return PairPValues(widened_p(p, sizes, two_sided=True))


def _bt_gap(question: Question) -> PairPValues:
    data, options = question.data, question.options
    errors = bt_by_block(
        data.scores,
        data.blocks,
        ties_as=options.ties,
        prior=options.prior,
        tolerance=options.tolerance,
    )
    return PairPValues(bt_gap_test(errors))


def _sign(question: Question) -> PairPValues:
    data, tolerance = question.data, question.options.tolerance
    if data.blocks is not None:
        return paired.sign_test(data.scores, data.blocks, tolerance=tolerance)
    counts = data.wins(tolerance)  # which rankings have counted
    return PairPValues(paired.sign_test_counts(counts.wins, counts.met > 0))


def _strengths(data: Sample) -> Floats:
    counts = data.wins(0.0)
    strength = bradley_terry(counts.wins, counts.ties).log_strength
    return np.nan_to_num(strength[:, None] - strength)


def _sums(data: Sample) -> Floats:
    return np.array([np.nansum(row - data.scores, axis=1) for row in data.scores])


def _medians(data: Sample) -> Floats:
    middle = row_medians(data.scores)
    return np.asarray(middle[:, None] - middle)


def _wins(data: Sample) -> Floats:
    wins = data.wins(0.0).wins
    return np.asarray(wins - wins.T)


def proportion_interval(gap: Floats, blocks: Counts | None) -> Ends:
    """Interval of mean differences of scores that are 0 or 1, which fits McNemar's test."""
    if blocks is not None:
        return flip_interval(gap, blocks)
    wins, losses, n = (cells.sum(axis=1) * 1.0 for cells in (gap > 0, gap < 0, ~np.isnan(gap)))
    return proportions_interval(wins, losses, n)


@dataclass(frozen=True, slots=True)
class PairwiseTest:
    """A test of all pairs: p-values with their numerical error, and who leads.

    ``of_corpus`` tests are of a corpus score itself, not of its sentence scores; ``binary`` tests
    of scores that are 0 or 1; ``exact`` ones hold for few units, too. ``of_pairs``: p-values of two
    systems rest on what these two have. ``interval`` is that of mean differences that inverts it,
    None where it is no test of means. ``single`` tests take segments to be independent.
    """

    p: Callable[[Question], PairPValues]
    lead: Callable[[Sample], Floats] = _sums
    of_corpus: bool = False
    binary: bool = False
    exact: bool = True
    of_pairs: bool = True
    single: bool = False
    interval: Callable[[Floats, Counts | None], Ends] | None = None

    def of(self, data: Sample) -> str | None:
        """Say what is tested, where a corpus score is compared."""
        if data.statistics is None:
            return None
        return CORPUS if self.of_corpus else SENTENCES

    def ahead(self, data: Sample) -> Floats:
        """Who is ahead of whom in the eyes of the test: the sign of what it tests, for pairs."""
        if self.of_corpus and data.statistics is not None:
            return np.sign(corpus_leads(data.statistics))
        return np.sign(self.lead(data))


TESTS = {
    "t": PairwiseTest(
        lambda q: paired.t_test(q.data.scores, q.data.blocks), exact=False, interval=t_interval
    ),
    "permutation": PairwiseTest(
        lambda q: permutation(q.data, q.rng), of_corpus=True, interval=flip_interval
    ),
    "bootstrap": PairwiseTest(_bootstrap, of_corpus=True, exact=False, interval=t_interval),
    "mood": PairwiseTest(lambda q: paired.mood_test(q.data.scores), _medians, single=True),
    "median": PairwiseTest(lambda q: paired.median_test(q.data.scores, q.data.blocks), _medians),
    "sign": PairwiseTest(_sign, _wins),
    "wilcoxon": PairwiseTest(lambda q: paired.wilcoxon_test(q.data.scores, q.data.blocks), _wins),
    "mcnemar": PairwiseTest(
        lambda q: paired.mcnemar_test(q.data.scores, q.data.blocks),
        binary=True,
        interval=proportion_interval,
    ),
    "bt-gap": PairwiseTest(_bt_gap, _strengths, exact=False, of_pairs=False),
}


def fitting_tests(names: Sequence[str], data: Sample) -> tuple[str, ...]:
    """Name the tests that fit some rankings; none where there are too many pairs."""
    if len(data.systems) > MOST_SHOWN:
        return ()
    chosen = []
    for by in names:
        aggregation, name = AGGREGATIONS[by], fitting(by, data)
        chosen.append(name)
        # Few answers of 0 or 1 have McNemar's test alone, and a corpus score has one test.
        enough = not data.units.few and (name == aggregation.test or data.units.n >= FEW_UNITS)
        if aggregation.beside is not None and data.statistics is None and enough:
            chosen.append(aggregation.beside)
    return tuple(dict.fromkeys(chosen))


def fitting(by: str, data: Sample) -> str:
    """Name the test that fits a ranking; of few units an exact one."""
    name = AGGREGATIONS[by].fitting(data)
    return name if TESTS[name].exact or not data.units.few else "permutation"


def refuse_unfit(name: str, question: Question) -> None:
    """Refuse a test that the data, or the other options, have no answer for."""
    options = question.options
    if TESTS[name].binary and not question.data.binary:
        score = question.data.name
        raise UsageError(f"mcnemar's test is of scores that are 0 or 1, which '{score}' is not")
    if question.data.units.few and not TESTS[name].exact:
        exact = ", ".join(test for test, other in TESTS.items() if other.exact)
        few = question.data.units.too_few()
        raise UsageError(f"{name}: {few} for it; exact tests are {exact}")
    if name == "bootstrap" and question.data.counts is None:
        raise UsageError("the bootstrap test needs resamples: choose intervals=...")
    if name == "bt-gap" and options.ties in TIE_MODELS:
        raise UsageError(f"bt-gap: there are no errors by unit for ties as {options.ties}")


def pair_test(name: str, question: Question) -> PairTest:
    """Test all pairs; where a corpus score is compared, some tests are of sentence scores.

    The t-test of pairs that share few segments is of the means of all their outputs. Pairs with too
    few units for a test that is not exact have no p-value, and fewer than six units decide nothing:
    five reach 1/16 by the signs of all, and no assumption about the shape of so few differences may
    claim more.
    """
    test, data, warnings = TESTS[name], question.data, list[str]()
    units, unit = data.units, data.units.name
    p, error = test.p(question)
    n_units, present = np.full(p.shape, units.n), ~np.isnan(data.scores)
    if not present.all():
        n_units = paired.shared_units(present, data.blocks)
        apart = np.zeros(p.shape, dtype=bool)
        if name in ("t", "permutation") and data.statistics is None:
            means = cluster_means_test(data.scores, data.blocks)
            apart = share_few(data.scores) & (means.freedom >= FEWEST - 1)
            p = np.where(apart, sided(means.p, "two-sided"), p)
            n_units = np.where(apart, np.maximum(n_units, means.freedom + 1), n_units)
        few = (n_units < FEWEST) & ~np.isnan(p)
        if few.any() and data.blocks is not None and not test.exact and test.of_pairs:
            count = int(np.triu(few, 1).sum())
            pairs = f"{plural(count, 'pair')} {'shares' if count == 1 else 'share'} fewer than"
            many = counted(FEWEST, unit)
            warnings.append(f"{name}: {pairs} {many}, too few for it: no p-value")
            p = np.where(few, np.nan, p)
        if apart.any():
            pairs = f"{plural(int(apart.sum()) // 2, 'pair')} with fewer than 80% of outputs on"
            warnings.append(f"{pairs} common segments: a cluster test of all outputs is used")
    if units.codes is not None and test.single:
        warnings.append(f"{name} takes segments to be independent; median is the test by {unit}")
        unit = SEGMENT
    result = corrected(p, question.options, of=test.of(data), error=error, unit=unit)
    adjusted = few_units_p(result.p_adjusted, n_units, two_sided=True)
    return replace(result, warnings=tuple(warnings), p_adjusted=adjusted)


def mean_gap_intervals(by: str, tests: Sequence[str], question: Question) -> Floats | None:
    """Intervals of mean differences, row less column, that say what the test of the means says.

    They invert the test that fits the ranking, or another of means that was asked for. None with
    50 units or more, where percentiles of resamples do.
    """
    data, n = question.data, len(question.data.systems)
    corpus = data.statistics if by == "mean" else None
    if question.data.counts is None or data.units.n >= FEW_UNITS or not 1 < n <= MOST_SHOWN:
        return None
    fits = fitting(by, data)
    of_means = [
        name
        for name in tests
        if TESTS[name].interval and (TESTS[name].of(data) == CORPUS) == (corpus is not None)
    ]
    name = fits if fits in of_means or not of_means else of_means[0]
    invert = TESTS[name].interval
    assert invert is not None
    if name == "permutation" and data.binary:
        invert = proportion_interval
    # Draws are those of the test itself, which takes its turn later.
    p = TESTS[name].p(replace(question, rng=copy.deepcopy(question.rng)))[0]
    i, j = pair_index(n)
    scores = data.scores if corpus is None else data.additive()
    gap = scores[i] - scores[j]
    low, high = invert(gap, data.blocks)
    value = row_means(gap)
    if corpus is not None:
        leads = corpus_leads(corpus)[i, j]
        low, high, value = low + leads - value, high + leads - value, leads
    low, high = agreeing(value, (low, high), p[i, j])
    ends = np.zeros((2, n, n))
    ends[:, i, j] = low, high
    ends[:, j, i] = 0.0 - high, 0.0 - low
    return ends


def corrected(p: Floats, options: PairOptions, **more: Any) -> PairTest:
    """Correct p-values for the number of pairs; ``more`` are further fields of the result."""
    adjusted = adjust_pairs(p, options.correction, symmetric=True)
    return PairTest(p, adjusted, options.correction, **more)


def tiers_by(
    by: str,
    ranks: Floats,
    systems: tuple[str, ...],
    name: str,
    test: PairTest,
    lead: Floats,
    alpha: float,
) -> Tiers | None:
    """Put systems into tiers by a test; warn where it contradicts the ranking.

    ``lead[i, j]`` is positive where i is ahead of j by the test. Systems of one rank share a tier:
    what separates one of them from those above separates all.
    """
    order = [i for i in np.lexsort((np.array(systems), ranks)).tolist() if not np.isnan(ranks[i])]
    if not order:
        return None
    index = np.ix_(order, order)
    p, ahead, rank_of = np.nan_to_num(test.p_adjusted[index], nan=1.0), lead[index], ranks[order]
    # Only a lead in the direction of the ranking separates; one against it is worth a warning.
    contrary = np.argwhere(np.triu((np.minimum(p, p.T) < alpha) & (ahead < 0), 1))
    against = tuple((systems[order[i]], systems[order[j]]) for i, j in contrary)
    warnings = []
    if against:
        a, b = against[0]
        more = f" (and {len(against) - 1} more pairs)" if len(against) > 1 else ""
        warnings.append(f"{by} ranks {a} above {b}, but by {name} {b} is better{more}")
    # Above the diagonal the row is ranked higher; both halves say the same.
    upper = np.triu(np.where(ahead >= 0, p, 1.0), 1)
    p = np.where(rank_of[:, None] == rank_of[None, :], 1.0, upper + upper.T)
    # Systems of one rank share the smallest p-value that any of them has.
    opens = np.flatnonzero(np.r_[True, rank_of[1:] != rank_of[:-1]])
    least = np.minimum.reduceat(p, opens, axis=1)
    p = np.repeat(least, np.diff(np.r_[opens, len(rank_of)]), axis=1)
    level = clusters.greedy_clusters(p, alpha)
    level = level + (rank_of[0] > 1)  # the first tier is that of systems without a rank
    cluster_of: list[int | None] = [None] * len(systems)
    for k, i in enumerate(order):
        cluster_of[i] = int(level[k])
    return Tiers(name, tuple(cluster_of), tuple(warnings), against)
