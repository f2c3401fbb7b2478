"""What is compared; rankings by mean, median, Bradley-Terry, Elo, TrueSkill; tests, and tiers.

Each ranking gives a score per system, the same for every resample of the segments, and what it says
of each pair: a difference for mean and median, the probability of winning for the other three. The
mean of a corpus score, such as BLEU, is its score of all segments together.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steelyard.comparison.options import CompareOptions, PairOptions, RankOptions
from steelyard.comparison.results import (
    CORPUS,
    LEVEL,
    MOST_SHOWN,
    SENTENCES,
    PairTest,
    Ranked,
    Tiers,
)
from steelyard.core.errors import UsageError
from steelyard.core.options import check_text
from steelyard.core.text import plural
from steelyard.core.warnings import TypedWarning, code_of
from steelyard.data.evalset import EvalSet, ScoreTable
from steelyard.data.overview import direction_warnings
from steelyard.data.selection import need_moments
from steelyard.data.units import FEWEST, SEGMENT, Units, counted, units_of
from steelyard.stats import clusters
from steelyard.stats.arrays import Counts, Floats, ratio, row_means, same_digits
from steelyard.stats.paired import tests as paired
from steelyard.stats.paired.corrections import adjust_pairs
from steelyard.stats.paired.unpaired import cluster_means_test, share_few
from steelyard.stats.permutation.corpus import (
    CorpusStatistics,
    bootstrap_scores,
    corpus_test,
    pseudo_values,
)
from steelyard.stats.permutation.pvalues import pair_index, sided
from steelyard.stats.ranks import FITTED, ranks, rounding
from steelyard.stats.resampling import bootstrap
from steelyard.stats.resampling.bootstrap import bootstrap_means, bootstrap_medians, row_medians
from steelyard.stats.resampling.cluster_df import unit_sizes, widened_p
from steelyard.stats.strength.bradleyterry import (
    Strengths,
    bradley_terry,
    bradley_terry_batch,
    win_probability,
)
from steelyard.stats.strength.sequential import (
    EloOptions,
    Ratings,
    SequentialRating,
    TrueSkillOptions,
    battles_in_orders,
    battles_in_time,
    scores_in_orders,
    sequences,
)
from steelyard.stats.strength.wins import (
    Battles,
    WinCounts,
    resampled_wins,
    score_battles,
    sorted_battles,
    win_counts,
)

_BLEU = re.compile(r"(sacre|[a-z]*[0-9]*sp)?bleu(-ref.*)?", re.IGNORECASE)  # no mean of segments
_CELLS = 4_000_000  # entries of resampled win tables held at a time
_DRAWN = 100  # systems up to which the share of resamples at each rank is kept, for a figure
_POSITIONS = 40_000_000  # positions of orders held at a time
# Resamples of ratings that depend on the order, and orders of each: every one plays all battles.
RATING_RESAMPLES, RATING_ORDERS = 160, 2

Rng = np.random.Generator
Orders = NDArray[np.integer[Any]]


@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    """One score of the systems that have it, and resamples of its segments.

    ``scores`` is systems x segments, and higher is better in it: where the score itself is better
    the lower it is, it has the other sign. ``statistics`` are those of a corpus score, such as
    BLEU, in its own numbers; ``units`` are what is independent.

    ``counts`` (resamples x segments) are None where no intervals are wanted. ``level`` is what to
    ask of an interval, so that it covers what it should: more than 95% where units are few, and for
    each system where they lack different ones.
    """

    scores: Floats
    systems: tuple[str, ...]
    name: str = ""
    higher_is_better: bool = True
    statistics: CorpusStatistics | None = None
    warnings: tuple[str, ...] = ()
    units: Units = field(default_factory=lambda: Units(SEGMENT, 0))
    n_segments: int = 0  # those that any system has
    counts: Floats | None = None
    level: float | Floats = LEVEL
    #: Wins and ties of all pairs by the tolerance of a tie; each is counted once.
    wins: Callable[[float], WinCounts] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(
            self, "wins", cache(lambda tolerance: win_counts(self.scores, tolerance=tolerance))
        )

    @property
    def binary(self) -> bool:
        """Whether segments are right or wrong: every score is 0 or 1."""
        return self.statistics is None and is_binary(self.scores, self.sign)

    @property
    def blocks(self) -> Counts | None:
        """The codes of units, None where each is a single segment."""
        return self.units.codes

    @property
    def sign(self) -> float:
        """1 where higher is better, else -1."""
        return 1.0 if self.higher_is_better else -1.0

    def additive(self) -> Floats:
        """Return segment scores whose means are the scores of systems (of a corpus: nearly)."""
        if self.statistics is None:
            return self.scores
        return self.sign * pseudo_values(self.statistics)


def the_score(es: EvalSet, score: str | None) -> str:
    """Return the score to compare by: the one named, or the only one there is."""
    if score is not None:
        check_text(score=score)
        es[score]  # an unknown name is an error that lists the names
    elif len(es.scores) != 1:
        names = ", ".join(es.scores) or "none"
        raise UsageError(f"name the score (score=NAME); there are: {names}")
    return score or next(iter(es.scores))


def check_scores(es: EvalSet, names: Sequence[str]) -> None:
    """Refuse scores that are all missing, or beyond what statistics can take."""
    need_moments(es, names)
    for name in names:
        official = es[name].system_scores
        if not es[name].has_segments and (official is None or np.isnan(official).all()):
            raise UsageError(f"'{name}' has no scores: every cell is missing")


def check_segments(es: EvalSet, score: str) -> None:
    """Refuse a score that no segment has, or that is beyond what statistics can take."""
    check_scores(es, [score])
    if not es[score].has_segments:
        raise UsageError(f"'{score}' has system scores only: comparing needs segment scores")


def mean_warnings(name: str, table: ScoreTable) -> list[str]:
    """Warn where means of segment scores stand in for the score of a corpus metric."""
    if table.statistics is not None:
        return []
    official, needed = table.system_scores, "corpus scores need the texts"
    if official is not None:
        means, needed = row_means(table.values), "official system scores differ"
        both = ~np.isnan(means) & ~np.isnan(official)
        if same_digits(official[both], means[both]):
            return []
    elif not _BLEU.fullmatch(name):
        return []
    return [f"{name}: means of segment scores are compared; its {needed}"]


def compared(es: EvalSet, name: str, unit: str) -> Sample:
    """Take one score of the systems that have it, with warnings on what is missing."""
    table = es[name]
    scores, systems, stats = table.oriented, es.systems, table.statistics
    present = ~np.isnan(scores)
    warnings = [*es.notes, *direction_warnings(name, table), *mean_warnings(name, table)]
    scored = np.asarray(present.any(axis=1))
    if not scored.any():
        raise UsageError(f"no system has a '{name}' score")
    if not scored.all():
        lacking = [system for system, has in zip(systems, scored, strict=True) if not has]
        text = f"{plural(len(lacking), 'system')} without '{name}' left out: {', '.join(lacking)}"
        warnings = [note for note in warnings if code_of(note) != "missing-systems"]
        warnings.append(TypedWarning(text, names=lacking))
        systems = tuple(system for system in systems if system not in lacking)
        scores, present = scores[scored], present[scored]
        stats = None if stats is None else stats.select(systems=np.flatnonzero(scored))
    used = np.asarray(present.any(axis=0))
    size = int(used.sum()) * len(present)
    missing = size - int(present.sum())
    if missing:
        shared = int(present.all(axis=0).sum())
        text = (
            f"{missing:,} of {size:,} scores are missing: each pair is compared on the "
            f"segments that both have ({shared:,} segments are complete)"
        )
        warnings.append(TypedWarning(text, "missing-scores"))
    if len(systems) == 1:
        warnings.append(f"one system ({systems[0]}): there is nothing to compare it with")
    units = units_of(es.segments, unit, used)
    return Sample(
        name=name,
        systems=systems,
        scores=scores,
        higher_is_better=table.higher_is_better,
        statistics=stats,
        warnings=(*warnings, *units.warnings),
        units=units,
        n_segments=int(used.sum()),
    )


def resampled(data: Sample, options: CompareOptions, rng: np.random.Generator) -> Sample:
    """Draw resamples of the segments, or of whole units, where intervals are wanted."""
    if options.intervals is None:
        return data
    if data.units.n < 2:
        text = f"{data.units.counted()}: there is nothing to resample, and no interval"
        return replace(data, warnings=(*data.warnings, text))
    n_segments = data.scores.shape[1]
    counts = bootstrap.segment_counts(
        options.n_bootstrap, n_segments, rng, data.blocks, compact=True
    )
    present = ~np.isnan(data.scores)
    used = np.asarray(present.any(axis=0))
    level: float | Floats = data.units.level(LEVEL, used)
    if not present[:, used].all():
        level = np.array([data.units.level(LEVEL, row) for row in present])
    return replace(data, counts=counts, level=level)


def is_binary(values: Floats, right: float = 1.0) -> bool:
    """Tell whether all values are 0, ``right`` or missing; zeros alone may be anything.

    >>> is_binary(np.array([0.0, 1.0, np.nan])), is_binary(np.array([0.0, 0.0]))
    (True, False)
    """
    ones = values == right
    return bool((ones | (values == 0) | np.isnan(values)).all() and ones.any())


# -- rankings


def _leads(
    present: NDArray[np.bool_], scores: Floats, of_two: Callable[[list[int], Counts], Floats]
) -> Floats:
    """Return leads of all pairs on the segments both have; ``of_two`` scores two systems there."""
    n = len(scores)
    if n > MOST_SHOWN:
        return np.empty((0, 0))
    if present.all():
        return np.asarray(scores[:, None] - scores[None, :])
    result = np.zeros((n, n))
    for i, j in zip(*pair_index(n), strict=True):
        first, second = of_two([i, j], np.flatnonzero(present[i] & present[j]))
        result[i, j], result[j, i] = first - second, second - first
    return result


def _average_leads(scores: Floats, average: Callable[[Floats], Floats]) -> Floats:
    return _leads(~np.isnan(scores), average(scores), lambda two, at: average(scores[two][:, at]))


def corpus_leads(stats: CorpusStatistics) -> Floats:
    """Return leads of all pairs by a corpus score; more is better."""
    sign = 1.0 if stats.higher_is_better else -1.0
    scores = sign * stats.corpus_scores()
    return _leads(stats.known, scores, lambda two, at: sign * stats.select(two, at).corpus_scores())


def lead(replicates: Floats, i: int) -> Floats:
    """Return the lead of one system over every other, in each resample."""
    return np.asarray(replicates[:, i : i + 1] - replicates)


def _chance(strengths: Floats, i: int) -> Floats:
    """Return the chance that one system beats every other by Bradley-Terry, in each resample."""
    return ratio(strengths[:, i : i + 1], strengths[:, i : i + 1] + strengths)


def means(sample: Sample) -> tuple[Floats, Floats | None]:
    """Return what ``mean`` ranks by, of the systems and in resamples: higher is better."""
    stats, counts = sample.statistics, sample.counts
    if stats is None:
        drawn = None if counts is None else bootstrap_means(sample.scores, counts)
        return row_means(sample.scores), drawn
    sign = 1.0 if stats.higher_is_better else -1.0
    drawn = None if counts is None else sign * bootstrap_scores(stats, counts)
    return sign * stats.corpus_scores(), drawn


def _mean(sample: Sample, _options: RankOptions, _rng: Rng) -> Ranked:
    scores, replicates = means(sample)
    stats = sample.statistics
    leads = corpus_leads(stats) if stats else _average_leads(sample.scores, row_means)
    floor = 0.0 if stats else rounding(sample.scores)

    def on_shared(_: Floats, i: int) -> Floats:
        """Return means of differences, on the segments that both systems of a pair have."""
        assert sample.counts is not None
        return bootstrap_means(sample.scores[i] - sample.scores, sample.counts)

    present = stats.known if stats else ~np.isnan(sample.scores)
    against = lead if present.all() else None if stats else on_shared
    order = ranks(scores, floor=floor)
    return Ranked(
        scores, order, leads, replicates=replicates, floor=floor, against=against, average=True
    )


def _median(sample: Sample, _options: RankOptions, _rng: Rng) -> Ranked:
    scores, counts = row_medians(sample.scores), sample.counts
    replicates = None if counts is None else bootstrap_medians(sample.scores, counts)
    against = None if np.isnan(sample.scores).any() else lead
    leads = _average_leads(sample.scores, row_medians)
    return Ranked(
        scores, ranks(scores), leads, replicates=replicates, against=against, average=True
    )


def _bt(sample: Sample, options: RankOptions, _rng: Rng) -> Ranked:
    counts, (n, size) = sample.counts, sample.scores.shape
    wins = sample.wins(options.tolerance)
    fit = bradley_terry(wins.wins, wins.ties, ties_as=options.ties, prior=options.prior)
    ranked = bt_ranked(fit, sample.systems)
    if counts is None:
        return ranked
    step = max(1, _CELLS // max(n * n, 1 if counts.dtype == np.uint8 else size // 4, 1))
    tables = (
        resampled_wins(sample.scores, counts[start : start + step], tolerance=options.tolerance)
        for start in range(0, len(counts), step)
    )
    return replace(ranked, replicates=bt_replicates(tables, fit, options))


def bt_replicates(tables: Iterable[WinCounts], fit: Strengths, options: RankOptions) -> Floats:
    """Return strengths in resamples, of the systems that the data connect."""
    inside = np.flatnonzero(~np.isnan(fit.strength))
    start, parts = fit.log_strength[inside], []
    for drawn in tables:
        strength = np.full((len(drawn.wins), len(fit.strength)), np.nan)
        if len(inside) > 1:
            part = drawn if len(inside) == len(fit.strength) else drawn.within(inside.tolist())
            strength[:, inside] = bradley_terry_batch(
                part, ties_as=options.ties, prior=options.prior, start=start
            ).strength
        parts.append(strength)
    return np.concatenate(parts)


def bt_ranked(fit: Strengths, names: tuple[str, ...]) -> Ranked:
    """Rank by a fit of Bradley-Terry, and name the systems that comparisons do not connect."""
    return Ranked(
        scores=fit.strength,
        ranks=fit.ranks,
        pairwise=win_probability(fit.strength),
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

    why = "no finite Bradley-Terry strength"
    odd = {"never lost": fit.unbeaten, "never won": fit.winless, "never compared": fit.unmet}
    texts = [f"{named(members)} {what}: {why}" for what, members in odd.items() if members]
    groups = f"groups that can't be compared: {' | '.join(map(named, fit.components))}"
    return tuple(texts or [groups])


# -- ratings that depend on the order of battles: means over random orders


RATINGS: Mapping[str, Callable[[RankOptions], SequentialRating]] = {
    "elo": lambda options: EloOptions(k=options.k),
    "trueskill": lambda _options: TrueSkillOptions(),
}


def rate_scores(name: str, sample: Sample, options: RankOptions, rng: Rng) -> Ranked:
    """Rate by who has the higher score on a segment, in random orders or in that of the file."""
    scored = ~np.isnan(sample.scores).all(axis=0)  # segments that nobody has would cost time
    scores, tolerance = sample.scores[:, scored], options.tolerance
    rules = RATINGS[name](options)

    def play(order: Orders, stream: Rng) -> Ratings:
        return scores_in_orders(rules, scores, order, stream, tolerance=tolerance)

    n_resamples = 0 if sample.counts is None else len(sample.counts)
    blocks = None if sample.blocks is None else sample.blocks[scored]
    items = (scores.shape[1], options.orders or 1)
    ratings, replicates = _in_orders(items, play, rng, n_resamples, blocks)
    if not options.orders:
        ratings = battles_in_time(rules, score_battles(scores, tolerance=tolerance))
    return _rated(rules, ratings, replicates)


def rate_log(
    name: str,
    battles: Battles,
    options: RankOptions,
    rng: Rng,
    *,
    n_resamples: int,
    blocks: Counts | None,
) -> Ranked:
    """Rate by a log of battles, in random orders or in that of time.

    Random orders are of sorted battles, so that the order of the rows of a file does not matter.
    """
    rules = RATINGS[name](options)

    def play(order: Orders, _rng: Rng) -> Ratings:
        return battles_in_orders(rules, battles, order)

    if options.orders:
        battles, blocks = sorted_battles(battles, blocks)
        items = (len(battles), options.orders)
        return _rated(rules, *_in_orders(items, play, rng, n_resamples, blocks))
    replicates = None
    if n_resamples:
        drawn = sequences(len(battles), n_resamples, rng, blocks=blocks, resample=True)
        drawn.sort(axis=1)  # what is drawn keeps its order in time
        replicates = play(drawn, rng).scores
    return _rated(rules, battles_in_time(rules, battles), replicates)


def _rated(rules: SequentialRating, ratings: Ratings, replicates: Floats | None) -> Ranked:
    scores = ratings.scores
    sigma = np.zeros_like(scores) if ratings.sigma is None else ratings.sigma
    return Ranked(
        scores=scores,
        ranks=ranks(scores),
        pairwise=rules.win_probability(ratings),
        replicates=replicates,
        in_order=True,
        against=lambda drawn, i: rules.chance(lead(drawn, i), sigma[i], sigma),
    )


def _in_orders(
    items: tuple[int, int],
    play: Callable[[Orders, Rng], Ratings],
    rng: Rng,
    n_resamples: int,
    blocks: Counts | None,
) -> tuple[Ratings, Floats | None]:
    """Return the mean over random orders of segments or battles, and resampled means.

    ``items`` are how many there are, and how many orders. A resample is played in several orders.
    What they leave of the variance between orders is known from how they differ, and is taken out,
    so that the interval is that of the mean over orders.
    """
    n_items, n_orders = items
    shuffle, draw, pairs = rng.spawn(3)
    step = max(1, _POSITIONS // max(1, n_items))
    played = [
        play(sequences(n_items, min(step, n_orders - start), shuffle), pairs)
        for start in range(0, n_orders, step)
    ]
    mean = np.concatenate([ratings.scores for ratings in played]).mean(axis=0)
    sigmas = [ratings.sigma for ratings in played if ratings.sigma is not None]
    averaged = Ratings(mean, np.concatenate(sigmas).mean(axis=0) if sigmas else None)
    if not n_resamples:
        return averaged, None
    each, size = 1, n_resamples
    if n_orders > 1:
        each, size = RATING_ORDERS, min(n_resamples, RATING_RESAMPLES)
    parts, step = [], max(1, step // each)
    for start in range(0, size, step):
        drawn = sequences(n_items, min(step, size - start), draw, blocks=blocks, resample=True)
        order = np.repeat(drawn, each, axis=0)
        if each > 1:  # the same items, shuffled: padding (-1) means nothing wherever it is
            order = draw.permuted(order, axis=1)
        parts.append(play(order, pairs).scores.reshape(len(drawn), each, -1))
    resampled = np.concatenate(parts)
    replicates = resampled.mean(axis=1)  # NaN for systems that a resample does not have
    if each > 1:
        centre = row_means(replicates.T)
        variance = row_means(((replicates - centre) ** 2).T) * size / max(size - 1, 1)
        noise = row_means(resampled.var(axis=1, ddof=1).T) * (1 / each - 1 / n_orders)
        kept = np.sqrt(np.maximum(1 - noise / np.where(variance > 0, variance, 1.0), 0.05))
        replicates = mean + (replicates - centre) * kept
    return averaged, replicates


# -- the registry


#: The rankings by name; what is random is drawn in their order.
AGGREGATIONS: Mapping[str, Callable[[Sample, RankOptions, Rng], Ranked]] = {
    "mean": _mean,
    "median": _median,
    "bt": _bt,
    "elo": partial(rate_scores, "elo"),
    "trueskill": partial(rate_scores, "trueskill"),
}
#: What ranks by numbers of the score's own scale.
AVERAGES: Mapping[str, Callable[[Sample], Floats]] = {
    "mean": lambda data: means(data)[0],
    "median": lambda data: row_medians(data.scores),
}


# -- intervals


def with_intervals(ranked: Ranked, level: float | Floats) -> Ranked:
    """Add intervals of scores, ranks and gaps to a ranking; its replicates go.

    ``level`` is what is asked of them. It may differ between systems; a pair has the higher one.
    """
    replicates, against = ranked.replicates, ranked.against
    ranked = replace(ranked, replicates=None, against=None)
    if replicates is None:
        return ranked
    level = np.broadcast_to(level, ranked.scores.shape)
    if ranked.in_order:
        level = _of_few(level, len(replicates))
    undefined = np.isnan(ranked.scores)
    drawn_ranks = ranks(replicates, close=ranked.close, floor=ranked.floor)
    if not undefined.all():  # systems without a score can still rank above those with one
        drawn_ranks += ranked.ranks[~undefined].min() - 1
    best, worst = _interval(drawn_ranks, level)
    n = len(ranked.scores)
    gaps = pairs = None
    if n <= MOST_SHOWN:
        gaps = _pair_intervals(lead, replicates, level)
        if ranked.pairwise.size and against is not None:
            # Of averages, what is said of a pair is the gap itself.
            pairs = gaps if against is lead else _pair_intervals(against, replicates, level)
    return replace(
        ranked,
        ci=np.where(undefined, np.nan, _interval(replicates, level)),
        rank_ci=np.stack([np.floor(best), np.ceil(worst)]),
        gap_ci=gaps,
        pairwise_ci=pairs,
        rank_shares=bootstrap.rank_shares(drawn_ranks) if n <= _DRAWN else None,
    )


def _of_few(level: Floats, n: int) -> Floats:
    """Return the level to ask of n resamples: the ends between (n + 1) p, not (n - 1) p + 1, of n.

    Quantiles between the smallest and the largest of few draws lie too far inside.
    """
    tail = ((n + 1) * (1 - level) / 2 - 1) / max(n - 1, 1)
    return np.asarray(1 - 2 * np.maximum(tail, 0.0))


def _interval(replicates: Floats, level: Floats) -> Floats:
    """Return low and high ends, each at its level."""
    ends = np.full((2, replicates.shape[1]), np.nan)
    for asked in np.unique(level[~np.isnan(level)]):
        columns = np.flatnonzero(level == asked)
        ends[:, columns] = bootstrap.interval(replicates[:, columns], float(asked))
    return ends


def _pair_intervals(
    against: Callable[[Floats, int], Floats], replicates: Floats, level: Floats
) -> Floats:
    rows = range(replicates.shape[1])
    return np.stack(
        [_interval(against(replicates, i), np.maximum(level[i], level)) for i in rows], axis=1
    )


# -- tests of all pairs: which fits a ranking, what it tests, and the tiers that follow


@dataclass(frozen=True, slots=True)
class Question:
    """What tests are made of: scores with their resamples, options and chance."""

    data: Sample
    options: CompareOptions
    rng: np.random.Generator


def permutation(data: Sample, rng: np.random.Generator) -> paired.PairPValues:
    """Test all pairs by permuting units between systems, also of a corpus score."""
    if data.statistics is None:
        return paired.permutation_test(data.scores, data.blocks)
    return paired.PairPValues(corpus_test(data.statistics, blocks=data.blocks, rng=rng))


def _bootstrap(question: Question) -> paired.PairPValues:
    scores, drawn = means(question.data)
    assert drawn is not None
    blocks = question.data.blocks
    sizes = np.ones(question.data.units.n) if blocks is None else unit_sizes(blocks)
    p = paired.bootstrap_test(scores, drawn, alternative="two-sided")
    return paired.PairPValues(widened_p(p, sizes, two_sided=True))


def _sign(question: Question) -> paired.PairPValues:
    data, tolerance = question.data, question.options.tolerance
    if data.blocks is not None:
        return paired.sign_test(data.scores, data.blocks, tolerance=tolerance)
    counts = data.wins(tolerance)  # which rankings have counted
    return paired.PairPValues(paired.sign_test_counts(counts.wins, counts.met > 0))


def _sums(data: Sample) -> Floats:
    return np.array([np.nansum(row - data.scores, axis=1) for row in data.scores])


def _medians(data: Sample) -> Floats:
    middle = row_medians(data.scores)
    return np.asarray(middle[:, None] - middle)


def _wins(data: Sample) -> Floats:
    wins = data.wins(0.0).wins
    return np.asarray(wins - wins.T)


def proportion_interval(gap: Floats, blocks: Counts | None) -> paired.Ends:
    """Interval of mean differences of scores that are 0 or 1, which fits McNemar's test."""
    if blocks is not None:
        return paired.flip_interval(gap, blocks)
    wins, losses, n = (cells.sum(axis=1) * 1.0 for cells in (gap > 0, gap < 0, ~np.isnan(gap)))
    return paired.proportions_interval(wins, losses, n)


@dataclass(frozen=True, slots=True)
class PairwiseTest:
    """A test of all pairs: p-values with their numerical error, and who leads.

    ``of_corpus`` tests are of a corpus score itself, not of its sentence scores; ``exact`` ones
    hold for few units, too. ``interval`` is that of mean differences that inverts it, None where it
    is no test of means.
    """

    p: Callable[[Question], paired.PairPValues]
    lead: Callable[[Sample], Floats] = _sums
    of_corpus: bool = False
    exact: bool = True
    interval: Callable[[Floats, Counts | None], paired.Ends] | None = None

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
        lambda q: paired.t_test(q.data.scores, q.data.blocks),
        exact=False,
        interval=paired.t_interval,
    ),
    "permutation": PairwiseTest(
        lambda q: permutation(q.data, q.rng), of_corpus=True, interval=paired.flip_interval
    ),
    "bootstrap": PairwiseTest(_bootstrap, of_corpus=True, exact=False, interval=paired.t_interval),
    "mood": PairwiseTest(lambda q: paired.mood_test(q.data.scores), _medians),
    "median": PairwiseTest(lambda q: paired.median_test(q.data.scores, q.data.blocks), _medians),
    "sign": PairwiseTest(_sign, _wins),
    "wilcoxon": PairwiseTest(lambda q: paired.wilcoxon_test(q.data.scores, q.data.blocks), _wins),
    "mcnemar": PairwiseTest(
        lambda q: paired.mcnemar_test(q.data.scores, q.data.blocks), interval=proportion_interval
    ),
}


def fitting_tests(names: Sequence[str], data: Sample) -> tuple[str, ...]:
    """Name the tests that fit some rankings; none where there are too many pairs."""
    if len(data.systems) > MOST_SHOWN:
        return ()
    chosen = []
    for by in names:
        chosen.append(fitting(by, data))
        # Few answers of 0 or 1 have McNemar's test alone, and a corpus score has one test.
        enough = not data.units.few and (not data.binary or data.units.n >= paired.FEW_UNITS)
        if by == "mean" and data.statistics is None and enough:
            chosen.append("t")  # which is shown, too, and decides nothing
    return tuple(dict.fromkeys(chosen))


def fitting(by: str, data: Sample) -> str:
    """Name the test that asks what a ranking answers."""
    if by == "mean":
        return "mcnemar" if data.binary else "permutation"
    if by == "median":
        return "mood" if data.blocks is None else "median"
    return "sign"


def refuse_unfit(name: str, question: Question) -> None:
    """Refuse a test that the data, or the other options, have no answer for."""
    if name == "mcnemar" and not question.data.binary:
        score = question.data.name
        raise UsageError(f"mcnemar's test is of scores that are 0 or 1, which '{score}' is not")
    if question.data.units.few and not TESTS[name].exact:
        exact = ", ".join(test for test, other in TESTS.items() if other.exact)
        few = question.data.units.too_few()
        raise UsageError(f"{name}: {few} for it; exact tests are {exact}")
    if name == "bootstrap" and question.data.counts is None:
        raise UsageError("the bootstrap test needs resamples: choose intervals=...")


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
        if few.any() and data.blocks is not None and not test.exact:
            count = int(np.triu(few, 1).sum())
            pairs = f"{plural(count, 'pair')} {'shares' if count == 1 else 'share'} fewer than"
            many = counted(FEWEST, unit)
            warnings.append(f"{name}: {pairs} {many}, too few for it: no p-value")
            p = np.where(few, np.nan, p)
        if apart.any():
            pairs = f"{plural(int(apart.sum()) // 2, 'pair')} with fewer than 80% of outputs on"
            warnings.append(f"{pairs} common segments: a cluster test of all outputs is used")
    if units.codes is not None and name == "mood":
        warnings.append(f"{name} takes segments to be independent; median is the test by {unit}")
        unit = SEGMENT
    result = corrected(p, question.options, of=test.of(data), error=error, unit=unit)
    adjusted = paired.few_units_p(result.p_adjusted, n_units, two_sided=True)
    return replace(result, warnings=tuple(warnings), p_adjusted=adjusted)


def mean_gap_intervals(tests: Sequence[str], question: Question) -> Floats | None:
    """Intervals of mean differences, row less column, that say what the test of the means says.

    They invert the test that fits ``mean``, or another of means that was asked for. None with 50
    units or more, where percentiles of resamples do.
    """
    data, n = question.data, len(question.data.systems)
    if question.data.counts is None or data.units.n >= paired.FEW_UNITS or not 1 < n <= MOST_SHOWN:
        return None
    corpus, fits = data.statistics, fitting("mean", data)
    of_means = [n for n in tests if TESTS[n].interval and TESTS[n].of(data) != SENTENCES]
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
    low, high = paired.agreeing(value, (low, high), p[i, j])
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
