"""Five ways to turn scores into a ranking of systems: mean, median, Bradley-Terry, Elo, TrueSkill.

Each gives a score per system, the same for every resample of the segments, and what it says of each
pair: a difference for mean and median, the probability of winning for the other three. The mean of
a corpus score, such as BLEU, is its score of all segments together; the mean of its sentence scores
has a name of its own, ``sentence-mean``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from steelyard.core import bounds
from steelyard.core.errors import UsageError, hint
from steelyard.stats.arrays import Counts, Floats, ratio, row_means
from steelyard.stats.permutation.corpus import CorpusStatistics, bootstrap_scores
from steelyard.stats.permutation.pvalues import pair_index
from steelyard.stats.ranks import FITTED, SAME, ranks, rounding
from steelyard.stats.resampling.bootstrap import bootstrap_means, bootstrap_medians, row_medians
from steelyard.stats.strength.battlelog import score_battles
from steelyard.stats.strength.bradleyterry import (
    Strengths,
    bradley_terry,
    bradley_terry_batch,
    check_options,
    win_probability,
)
from steelyard.stats.strength.elo import (
    EloOptions,
    elo_chance,
    elo_probability,
    elo_ratings,
    elo_score_orders,
)
from steelyard.stats.strength.orders import sequences
from steelyard.stats.strength.trueskill import (
    TrueSkillOptions,
    trueskill_chance,
    trueskill_probability,
    trueskill_ratings,
    trueskill_score_orders,
)
from steelyard.stats.strength.wins import WinCounts, resampled_wins, win_counts

_CELLS = 4_000_000  # entries of resampled win tables held at a time
_PLACES = 40_000_000  # places of orders held at a time
_RESAMPLES, _ORDERS = 400, 5  # of ratings that depend on the order: resamples, orders of each

NO_PAIRS: Floats = np.empty((0, 0))  # where differences of pairs are not wanted

Orders = NDArray[np.int64]


class Play(Protocol):
    """Rate systems in many orders: orders x systems, in single precision where that will do."""

    def __call__(
        self, order: Orders, stream: np.random.Generator, /, *, single: bool = False
    ) -> Floats:
        """Play."""


@dataclass(frozen=True, slots=True)
class RankOptions:
    """What the definitions leave open.

    ``orders`` is the number of random orders of segments for Elo and TrueSkill, 0 for the order of
    the file; ``prior`` and ``ties`` concern Bradley-Terry; differences within ``tolerance`` tie.
    """

    ties: str = "half"
    tolerance: float = 0.0
    prior: float = 0.0
    method: str = "newton"
    orders: int = 100
    elo: EloOptions = field(default_factory=EloOptions)
    trueskill: TrueSkillOptions = field(default_factory=TrueSkillOptions)

    def __post_init__(self) -> None:
        check_options(self.ties, self.method, self.prior)
        bounds.number(0, tolerance=self.tolerance)
        bounds.whole(orders=self.orders)
        bounds.instance(EloOptions, "EloOptions", elo=self.elo)
        bounds.instance(TrueSkillOptions, "TrueSkillOptions", trueskill=self.trueskill)


@dataclass(frozen=True, slots=True)
class Aggregate:
    """One ranking: ``pairwise[i, j]`` compares i with j, ``spread`` is over random orders.

    ``close`` and ``floor`` say what a tie is, in resamples too: see :mod:`steelyard.stats.ranks`.
    ``against`` gives row i of ``pairwise`` in each resample, from the replicates; None where they
    do not have it.
    """

    name: str
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


@dataclass(frozen=True, slots=True)
class Sample:
    """What is ranked: systems x segments, names for warnings, and resamples of the segments.

    ``counts`` (resamples x segments) are None where no intervals are wanted; ``blocks`` are the
    codes of documents where these are resampled; ``statistics`` are those of a corpus score;
    ``pairs`` says whether differences of all pairs are wanted.
    """

    scores: Floats
    names: tuple[str, ...]
    counts: Floats | None = None
    blocks: Counts | None = None
    statistics: CorpusStatistics | None = None
    pairs: bool = True


def _gaps(sample: Sample, middle: Callable[[Floats], Floats]) -> Floats:
    """Differences of an average between all pairs, over the segments that both have."""
    if not sample.pairs:
        return NO_PAIRS
    scores = sample.scores
    n = len(scores)
    result = np.zeros((n, n))
    known = ~np.isnan(scores)
    if known.all():
        own = middle(scores)
        return np.asarray(own[:, None] - own[None, :])
    for i, j in zip(*pair_index(n), strict=True):
        both = known[i] & known[j]
        one, two = middle(scores[[i, j]][:, both]) if both.any() else (np.nan, np.nan)
        result[i, j], result[j, i] = one - two, two - one
    return result


def lead(replicates: Floats, i: int) -> Floats:
    """Lead of one system over every other, in each resample."""
    return np.asarray(replicates[:, i : i + 1] - replicates)


def chance(strengths: Floats, i: int) -> Floats:
    """Chance that one system beats every other by Bradley-Terry, in each resample."""
    return ratio(strengths[:, i : i + 1], strengths[:, i : i + 1] + strengths)


def corpus_gaps(stats: CorpusStatistics) -> Floats:
    """Leads of all pairs by a corpus score, over the segments that both have; more is better."""
    n, known = len(stats.values), stats.known
    sign = 1.0 if stats.higher_is_better else -1.0
    if known.all():
        own = sign * stats.corpus_scores()
        return np.asarray(own[:, None] - own[None, :])
    result = np.zeros((n, n))
    for i, j in zip(*pair_index(n), strict=True):
        both = np.flatnonzero(known[i] & known[j])
        one, two = sign * stats.select((i, j), both).corpus_scores()
        result[i, j], result[j, i] = one - two, two - one
    return result


def means(sample: Sample) -> tuple[Floats, Floats | None]:
    """What ``mean`` ranks by, of the systems and in resamples: higher is better."""
    stats, counts = sample.statistics, sample.counts
    if stats is None:
        drawn = None if counts is None else bootstrap_means(sample.scores, counts)
        return row_means(sample.scores), drawn
    sign = 1.0 if stats.higher_is_better else -1.0
    drawn = None if counts is None else sign * bootstrap_scores(stats, counts)
    return sign * stats.corpus_scores(), drawn


def _mean(sample: Sample, _o: RankOptions, _r: np.random.Generator) -> Aggregate:
    scores, replicates = means(sample)
    stats = sample.statistics
    gaps = corpus_gaps(stats) if stats and sample.pairs else _gaps(sample, row_means)
    floor = 0.0 if stats else rounding(sample.scores)
    places = ranks(scores, floor=floor)

    def common(_: Floats, i: int) -> Floats:
        """Means of differences, on the segments that both systems of a pair have."""
        assert sample.counts is not None
        return bootstrap_means(sample.scores[i] - sample.scores, sample.counts)

    known = stats.known if stats else ~np.isnan(sample.scores)
    against = lead if known.all() else None if stats else common
    return Aggregate("mean", scores, places, gaps, replicates, floor=floor, against=against)


def _sentence_mean(sample: Sample, options: RankOptions, rng: np.random.Generator) -> Aggregate:
    found = _mean(replace(sample, statistics=None), options, rng)
    return replace(found, name="sentence-mean")


def _median(sample: Sample, _o: RankOptions, _r: np.random.Generator) -> Aggregate:
    scores = row_medians(sample.scores)
    replicates = None
    if sample.counts is not None:
        replicates = bootstrap_medians(sample.scores, sample.counts)
    gaps = _gaps(sample, row_medians)
    against = None if np.isnan(sample.scores).any() else lead
    return Aggregate("median", scores, ranks(scores), gaps, replicates, against=against)


def _bt(sample: Sample, options: RankOptions, _r: np.random.Generator) -> Aggregate:
    counts = win_counts(sample.scores, tolerance=options.tolerance)
    found = bt_aggregate(counts, sample.names, options)
    if sample.counts is None:
        return found
    # Systems outside the main component have no strength, and would not have one in resamples.
    inside = np.flatnonzero(~np.isnan(found.scores))
    replicates = np.full((len(sample.counts), len(found.scores)), np.nan)
    if len(inside) > 1:
        part = replace(sample, scores=sample.scores[inside])
        replicates[:, inside] = _bt_replicates(part, options)
    return replace(found, replicates=replicates)


def bt_aggregate(counts: WinCounts, names: tuple[str, ...], options: RankOptions) -> Aggregate:
    """Fit Bradley-Terry, and name the systems that the comparisons do not connect."""
    fit = bradley_terry(
        counts.wins, counts.ties, ties_as=options.ties, method=options.method, prior=options.prior
    )
    return Aggregate(
        "bt",
        fit.strength,
        fit.ranks,
        win_probability(fit.strength),
        warnings=connection_warnings(fit, names),
        strengths=fit,
        close=FITTED,
        against=chance,
    )


def connection_warnings(fit: Strengths, names: tuple[str, ...]) -> tuple[str, ...]:
    """Name unbeaten, winless and unmet systems, and groups that never met."""
    found = []
    why = "comparison graph not strongly connected"
    for what, members in (
        ("unbeaten", fit.unbeaten), ("winless", fit.winless), ("never compared", fit.unmet),
    ):  # fmt: skip
        if members and not fit.connected:
            found.append(f"{what}: {', '.join(names[i] for i in members)} ({why})")
    if not fit.connected and not found:
        groups = " | ".join(", ".join(names[i] for i in group) for group in fit.components)
        found.append(f"groups that can't be compared: {groups} ({why})")
    return tuple(found)


def _bt_replicates(sample: Sample, options: RankOptions) -> Floats:
    assert sample.counts is not None
    n = len(sample.scores)
    step = max(1, _CELLS // max(n * n, 1))
    parts = []
    for start in range(0, len(sample.counts), step):
        tables = resampled_wins(
            sample.scores, sample.counts[start : start + step], tolerance=options.tolerance
        )
        fits = bradley_terry_batch(tables, ties_as=options.ties, prior=options.prior)
        parts.append(fits.strength)
    return np.concatenate(parts)


def _elo(sample: Sample, options: RankOptions, rng: np.random.Generator) -> Aggregate:
    def play(order: Orders, stream: np.random.Generator, *, single: bool = False) -> Floats:
        return elo_score_orders(
            sample.scores,
            order,
            stream,
            tolerance=options.tolerance,
            options=options.elo,
            single=single,
        )

    if options.orders:
        scores, spread, replicates = _in_orders(sample, options.orders, play, rng)
    else:
        battles = score_battles(sample.scores, tolerance=options.tolerance)
        scores, spread = elo_ratings(battles, options.elo), None
        replicates = _in_orders(sample, 1, play, rng)[2]
    return Aggregate(
        "elo",
        scores,
        ranks(scores),
        elo_probability(scores, options.elo),
        replicates,
        spread,
        against=lambda drawn, i: elo_chance(lead(drawn, i), options.elo),
    )


def _trueskill(sample: Sample, options: RankOptions, rng: np.random.Generator) -> Aggregate:
    sigmas = []

    def play(order: Orders, stream: np.random.Generator, *, single: bool = False) -> Floats:
        found = trueskill_score_orders(
            sample.scores,
            order,
            stream,
            tolerance=options.tolerance,
            options=options.trueskill,
            single=single,
        )
        sigmas.append(found.sigma)
        return found.mu

    if options.orders:
        scores, spread, replicates = _in_orders(sample, options.orders, play, rng)
        sigma = np.concatenate(sigmas)[: options.orders].mean(axis=0)
    else:
        battles = score_battles(sample.scores, tolerance=options.tolerance)
        skills = trueskill_ratings(battles, options.trueskill)
        scores, spread, sigma = skills.mu, None, skills.sigma
        replicates = _in_orders(sample, 1, play, rng)[2]
    return Aggregate(
        "trueskill",
        scores,
        ranks(scores),
        trueskill_probability(scores, sigma, options.trueskill),
        replicates,
        spread,
        against=lambda drawn, i: trueskill_chance(
            lead(drawn, i), sigma[i], sigma, options.trueskill
        ),
    )


@dataclass(frozen=True, slots=True)
class Resampling:
    """What a rating that depends on the order is resampled by: how often, and in which blocks."""

    n: int
    blocks: Counts | None = None


def in_orders(
    n_items: int,
    n_orders: int,
    play: Play,
    rng: np.random.Generator,
    resampling: Resampling | None = None,
) -> tuple[Floats, Floats | None, Floats | None]:
    """Mean and spread over random orders of segments or battles, and the mean in resamples of them.

    A resample is played in several orders. What they leave of the variance between orders is known
    from how they differ, and is taken out, so that the interval is that of the mean over orders.
    """
    shuffle, draw, pairs = rng.spawn(3)
    step = max(1, _PLACES // max(1, n_items))
    parts = [min(step, n_orders - k) for k in range(0, n_orders, step)]
    orders = np.concatenate([play(sequences(n_items, k, shuffle), pairs) for k in parts])
    mean, spread = orders.mean(axis=0), orders.std(axis=0, ddof=1) if n_orders > 1 else None
    if resampling is None:
        return mean, spread, None
    each = _ORDERS if n_orders > 1 else 1
    size = min(resampling.n, _RESAMPLES) if n_orders > 1 else resampling.n
    played = []
    step = max(1, step // each)
    for start in range(0, size, step):
        count = min(step, size - start)
        drawn = sequences(n_items, count, draw, blocks=resampling.blocks, resample=True)
        order = np.repeat(drawn, each, axis=0)
        if each > 1:  # the same items, shuffled: padding (-1) says nothing wherever it stands
            order = draw.permuted(order, axis=1)
        played.append(play(order, pairs, single=True).reshape(count, each, -1))
    found = np.concatenate(played)
    replicates = found.mean(axis=1)  # NaN for systems that a resample does not have
    if each > 1:
        centre = row_means(replicates.T)
        whole = row_means(((replicates - centre) ** 2).T) * size / max(size - 1, 1)
        noise = row_means(found.var(axis=1, ddof=1).T) * (1 / each - 1 / n_orders)
        kept = np.sqrt(np.maximum(1 - noise / np.where(whole > 0, whole, 1.0), 0.05))
        replicates = mean + (replicates - centre) * kept
    return mean, spread, replicates


def _in_orders(
    sample: Sample,
    n_orders: int,
    play: Play,
    rng: np.random.Generator,
) -> tuple[Floats, Floats | None, Floats | None]:
    counts = sample.counts
    resampling = None if counts is None else Resampling(len(counts), sample.blocks)
    return in_orders(sample.scores.shape[1], n_orders, play, rng, resampling)


AGGREGATIONS: dict[str, Callable[[Sample, RankOptions, np.random.Generator], Aggregate]] = {
    "mean": _mean,
    "median": _median,
    "bt": _bt,
    "elo": _elo,
    "trueskill": _trueskill,
    "sentence-mean": _sentence_mean,
}


def aggregate(
    name: str, sample: Sample, options: RankOptions | None = None, *, rng: np.random.Generator
) -> Aggregate:
    """Rank systems in one of the ways.

    Examples
    --------
    >>> scores = np.array([[1.0, 5, 11, 12, 17], [2.0, 6, 7, 13, 18]])
    >>> rng = np.random.default_rng(0)
    >>> aggregate("bt", Sample(scores, ("A", "B")), rng=rng).scores.tolist()
    [0.2, 0.8]
    """
    if name not in AGGREGATIONS:
        raise UsageError(f"no aggregation '{name}'; {hint(name, AGGREGATIONS)}")
    found = AGGREGATIONS[name](sample, options or RankOptions(), rng)
    return found if sample.pairs else replace(found, pairwise=NO_PAIRS)
