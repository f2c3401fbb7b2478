"""Ways to turn scores into a ranking of systems: mean, median, Bradley-Terry, Elo, TrueSkill.

Each gives a score per system, the same for every resample of the segments, and what it says of each
pair: a difference for mean and median, the probability of winning for the other three. The mean of
a corpus score, such as BLEU, is its score of all segments together; the mean of its sentence scores
has a name of its own, ``sentence-mean``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from steelyard.comparison.options import RankOptions
from steelyard.comparison.ranked import MOST_SHOWN, Ranked
from steelyard.comparison.ratings import RATINGS, Rated, Rating, rate_scores
from steelyard.comparison.scores import LEVEL, Compared, Sample
from steelyard.stats.arrays import SAME, Counts, Floats, ratio, row_means
from steelyard.stats.permutation.corpus import CorpusStatistics, bootstrap_scores
from steelyard.stats.permutation.pvalues import pair_index
from steelyard.stats.ranks import FITTED, ranks, rounding
from steelyard.stats.resampling import bootstrap
from steelyard.stats.resampling.bootstrap import bootstrap_means, bootstrap_medians, row_medians
from steelyard.stats.strength.bradleyterry import (
    Strengths,
    bradley_terry,
    bradley_terry_batch,
    win_probability,
)
from steelyard.stats.strength.wins import resampled_wins

NO_PAIRS: Floats = np.empty((0, 0))  # where differences of pairs are not wanted
_CELLS = 4_000_000  # entries of resampled win tables held at a time
_DRAWN = 100  # systems up to which the share of resamples at each place is kept, for a figure

Rng = np.random.Generator


@dataclass(frozen=True, slots=True)
class Aggregate:
    """One ranking: ``pairwise[i, j]`` compares i with j, ``spread`` is over random orders.

    ``close`` and ``floor`` say what a tie is, in resamples too: see :mod:`steelyard.stats.ranks`.
    ``against`` gives row i of ``pairwise`` in each resample, from the replicates; None where they
    do not have it. ``parameters`` are those of a rating.
    """

    scores: Floats
    ranks: Floats
    pairwise: Floats
    replicates: Floats | None = None
    spread: Floats | None = None
    warnings: tuple[str, ...] = ()
    strengths: Strengths | None = None
    close: float = SAME
    floor: float = 0.0
    against: Callable[[Floats, int], Floats] | None = None
    parameters: Mapping[str, float] | None = None


def _gaps(
    known: NDArray[np.bool_], own: Floats, of_two: Callable[[list[int], Counts], Floats]
) -> Floats:
    """Leads of all pairs over the segments that both have; ``of_two`` scores two systems there."""
    if known.all():
        return np.asarray(own[:, None] - own[None, :])
    result = np.zeros((len(own), len(own)))
    for i, j in zip(*pair_index(len(own)), strict=True):
        one, two = of_two([i, j], np.flatnonzero(known[i] & known[j]))
        result[i, j], result[j, i] = one - two, two - one
    return result


def average_gaps(sample: Sample, middle: Callable[[Floats], Floats]) -> Floats:
    """Leads of all pairs by an average of segment scores."""
    scores = sample.scores
    if not sample.pairs:
        return NO_PAIRS
    return _gaps(~np.isnan(scores), middle(scores), lambda two, at: middle(scores[two][:, at]))


def lead(replicates: Floats, i: int) -> Floats:
    """Lead of one system over every other, in each resample."""
    return np.asarray(replicates[:, i : i + 1] - replicates)


def _chance(strengths: Floats, i: int) -> Floats:
    """Chance that one system beats every other by Bradley-Terry, in each resample."""
    return ratio(strengths[:, i : i + 1], strengths[:, i : i + 1] + strengths)


def corpus_gaps(stats: CorpusStatistics) -> Floats:
    """Leads of all pairs by a corpus score; more is better."""
    sign = 1.0 if stats.higher_is_better else -1.0
    own = sign * stats.corpus_scores()
    return _gaps(stats.known, own, lambda two, at: sign * stats.select(two, at).corpus_scores())


def means(sample: Sample) -> tuple[Floats, Floats | None]:
    """What ``mean`` ranks by, of the systems and in resamples: higher is better."""
    stats, counts = sample.statistics, sample.counts
    if stats is None:
        drawn = None if counts is None else bootstrap_means(sample.scores, counts)
        return row_means(sample.scores), drawn
    sign = 1.0 if stats.higher_is_better else -1.0
    drawn = None if counts is None else sign * bootstrap_scores(stats, counts)
    return sign * stats.corpus_scores(), drawn


def _mean(sample: Sample, _o: RankOptions, _r: Rng) -> Aggregate:
    scores, replicates = means(sample)
    stats = sample.statistics
    gaps = corpus_gaps(stats) if stats and sample.pairs else average_gaps(sample, row_means)
    floor = 0.0 if stats else rounding(sample.scores)
    places = ranks(scores, floor=floor)

    def common(_: Floats, i: int) -> Floats:
        """Means of differences, on the segments that both systems of a pair have."""
        assert sample.counts is not None
        return bootstrap_means(sample.scores[i] - sample.scores, sample.counts)

    known = stats.known if stats else ~np.isnan(sample.scores)
    against = lead if known.all() else None if stats else common
    return Aggregate(scores, places, gaps, replicates, floor=floor, against=against)


def _sentence_mean(sample: Sample, options: RankOptions, rng: Rng) -> Aggregate:
    return _mean(replace(sample, statistics=None), options, rng)


def _median(sample: Sample, _o: RankOptions, _r: Rng) -> Aggregate:
    scores = row_medians(sample.scores)
    counts = sample.counts
    replicates = None if counts is None else bootstrap_medians(sample.scores, counts)
    gaps = average_gaps(sample, row_medians)
    against = None if np.isnan(sample.scores).any() else lead
    return Aggregate(scores, ranks(scores), gaps, replicates, against=against)


def _bt(sample: Sample, options: RankOptions, _r: Rng) -> Aggregate:
    counts = sample.win_counts(options.tolerance)
    fit = bradley_terry(
        counts.wins,
        counts.ties,
        ties_as=options.ties,
        method=options.method,
        prior=options.prior,
    )
    found = bt_aggregate(fit, sample.names, pairs=sample.pairs)
    if sample.counts is None:
        return found
    # Systems outside the main component have no strength, and would not have one in resamples.
    inside = np.flatnonzero(~np.isnan(found.scores))
    replicates = np.full((len(sample.counts), len(found.scores)), np.nan)
    if len(inside) > 1:
        part = replace(sample, scores=sample.scores[inside])
        replicates[:, inside] = _bt_replicates(part, options, fit.log_strength[inside])
    return replace(found, replicates=replicates)


def bt_aggregate(fit: Strengths, names: tuple[str, ...], *, pairs: bool = True) -> Aggregate:
    """Rank by a fit of Bradley-Terry, and name the systems that comparisons do not connect."""
    return Aggregate(
        scores=fit.strength,
        ranks=fit.ranks,
        pairwise=win_probability(fit.strength) if pairs else NO_PAIRS,
        warnings=connection_warnings(fit, names),
        strengths=fit,
        close=FITTED,
        against=_chance,
    )


def connection_warnings(fit: Strengths, names: tuple[str, ...]) -> tuple[str, ...]:
    """Name unbeaten, winless and unmet systems, or else groups that never met."""
    if fit.connected:
        return ()

    def named(members: Sequence[int]) -> str:
        return ", ".join(names[i] for i in members)

    odd = {"unbeaten": fit.unbeaten, "winless": fit.winless, "never compared": fit.unmet}
    found = [f"{what}: {named(members)}" for what, members in odd.items() if members]
    if not found:
        found = [f"groups that can't be compared: {' | '.join(map(named, fit.components))}"]
    return tuple(f"{text} (comparison graph not strongly connected)" for text in found)


def _bt_replicates(sample: Sample, options: RankOptions, start: Floats) -> Floats:
    assert sample.counts is not None
    step = max(1, _CELLS // max(len(sample.scores) ** 2, sample.scores.shape[1] // 4, 1))
    parts = []
    for first in range(0, len(sample.counts), step):
        counts = sample.counts[first : first + step].astype(np.float64, copy=False)
        tables = resampled_wins(sample.scores, counts, tolerance=options.tolerance)
        fits = bradley_terry_batch(tables, ties_as=options.ties, prior=options.prior, start=start)
        parts.append(fits.strength)
    return np.concatenate(parts)


def rated_aggregate(rating: Rating, found: Rated, *, pairs: bool = True) -> Aggregate:
    """Rank by Elo or TrueSkill."""
    own = found.own
    sigma = np.zeros_like(own.scores) if own.sigma is None else own.sigma
    return Aggregate(
        scores=own.scores,
        ranks=ranks(own.scores),
        pairwise=rating.rules.win_probability(own) if pairs else NO_PAIRS,
        replicates=found.replicates,
        spread=found.spread,
        parameters=rating.parameters,
        against=lambda drawn, i: rating.rules.chance(lead(drawn, i), sigma[i], sigma),
    )


def _rated(name: str) -> Callable[[Sample, RankOptions, Rng], Aggregate]:
    def rank(sample: Sample, options: RankOptions, rng: Rng) -> Aggregate:
        rating = RATINGS[name](options)
        found = rate_scores(rating, sample, options, rng)
        return rated_aggregate(rating, found, pairs=sample.pairs)

    return rank


@dataclass(frozen=True, slots=True)
class Aggregation:
    """A way to rank, and the test that asks what it answers.

    Of scores that are 0 or 1, of corpus scores, and by unit, that may be another test. ``average``
    says whether its numbers are of the score's own scale, ``in_order`` whether they depend on the
    order.
    """

    rank: Callable[[Sample, RankOptions, Rng], Aggregate]
    test: str
    test_of_binary: str | None = None
    test_of_corpus: str | None = None
    test_by_unit: str | None = None
    average: bool = False
    in_order: bool = False

    def fitting(self, data: Compared) -> str:
        """Name the test that fits the ranking of some scores."""
        if self.test_of_corpus and data.statistics is not None:
            return self.test_of_corpus
        if self.test_by_unit and data.blocks is not None:
            return self.test_by_unit
        return self.test_of_binary if self.test_of_binary and data.binary else self.test


#: The rankings by name; what is random is drawn in their order.
AGGREGATIONS = {
    "mean": Aggregation(_mean, "t", "mcnemar", "permutation", average=True),
    "median": Aggregation(_median, "mood", test_by_unit="median", average=True),
    "bt": Aggregation(_bt, "sign"),
    "elo": Aggregation(_rated("elo"), "sign", in_order=True),
    "trueskill": Aggregation(_rated("trueskill"), "sign", in_order=True),
    "sentence-mean": Aggregation(_sentence_mean, "t", "mcnemar", average=True),
}


def mean_scores(data: Compared) -> Floats:
    """Return the mean, or the corpus score, of each system over what it has: higher is better."""
    if data.statistics is None:
        return row_means(data.scores)
    return data.sign * data.statistics.corpus_scores()


#: The averages by name: scores of systems over what each has.
AVERAGES: dict[str, Callable[[Compared], Floats]] = {
    "mean": mean_scores,
    "median": lambda data: row_medians(data.scores),
    "sentence-mean": lambda data: row_means(data.scores),
}


def ranked(by: str, found: Aggregate, level: float | Floats = LEVEL) -> Ranked:
    """Add intervals of scores, ranks and gaps to a ranking of this name."""
    return with_intervals(found, level, average=AGGREGATIONS[by].average)


def with_intervals(found: Aggregate, level: float | Floats, *, average: bool) -> Ranked:
    """Add intervals of scores, ranks and gaps to a ranking; ``level`` is what is asked of them.

    That may differ between systems; a pair has the higher one.
    """
    own = Ranked(
        scores=found.scores,
        ranks=found.ranks,
        pairwise=found.pairwise,
        spread=found.spread,
        average=average,
        parameters=found.parameters,
    )
    if found.replicates is None:
        return own
    replicates = found.replicates
    low, high = _interval(replicates, level)
    undefined = np.isnan(found.scores)
    places = ranks(replicates, close=found.close, floor=found.floor)
    if not undefined.all():  # systems without a score can still rank above those with one
        places += found.ranks[~undefined].min() - 1
    best, worst = _interval(places, level)
    n = len(found.scores)
    gap_low = gap_high = pair_low = pair_high = None
    if n <= MOST_SHOWN:
        gap_low, gap_high = _pair_intervals(lead, replicates, level)
        if found.against is lead:  # what is said of a pair is the gap itself
            pair_low, pair_high = (gap_low, gap_high) if found.pairwise.size else (None, None)
        elif found.against is not None and found.pairwise.size:
            pair_low, pair_high = _pair_intervals(found.against, replicates, level)
    return replace(
        own,
        low=np.where(undefined, np.nan, low),
        high=np.where(undefined, np.nan, high),
        best_rank=np.floor(best),
        worst_rank=np.ceil(worst),
        gap_low=gap_low,
        gap_high=gap_high,
        rank_shares=bootstrap.rank_shares(places) if n <= _DRAWN else None,
        pairwise_low=pair_low,
        pairwise_high=pair_high,
    )


def _interval(replicates: Floats, level: float | Floats) -> tuple[Floats, Floats]:
    """Percentile interval of each column, at one level or at one for each; NaN where that is."""
    if isinstance(level, float):
        return bootstrap.interval(replicates, level)
    low, high = np.full((2, replicates.shape[1]), np.nan)
    for own in np.unique(level[~np.isnan(level)]):
        columns = np.flatnonzero(level == own)
        low[columns], high[columns] = bootstrap.interval(replicates[:, columns], float(own))
    return low, high


def _pair_intervals(
    against: Callable[[Floats, int], Floats], replicates: Floats, level: float | Floats
) -> tuple[Floats, Floats]:
    """Intervals of what resamples say of every pair: row against column."""
    n = replicates.shape[1]
    levels = [level if isinstance(level, float) else np.maximum(level[i], level) for i in range(n)]
    found = [_interval(against(replicates, i), levels[i]) for i in range(n)]
    low, high = (np.array([row[end] for row in found]).reshape(n, n) for end in (0, 1))
    return low, high
