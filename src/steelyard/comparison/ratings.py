"""Ratings that depend on the order of battles: Elo and TrueSkill, as means over random orders."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steelyard.comparison.options import RankOptions
from steelyard.comparison.scores import Sample
from steelyard.stats.arrays import Counts, Floats, row_means
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
from steelyard.stats.strength.wins import Battles, score_battles, sorted_battles

_PLACES = 40_000_000  # places of orders held at a time
_RESAMPLES, _ORDERS = 400, 5  # of ratings that depend on the order: resamples, orders of each

Orders = NDArray[np.integer[Any]]
Play = Callable[[Orders, np.random.Generator], Ratings]


@dataclass(frozen=True, slots=True)
class Rating:
    """A way to rate, and the parameters that results show."""

    rules: SequentialRating
    parameters: Mapping[str, float]


def _elo(options: RankOptions) -> Rating:
    return Rating(EloOptions(k=options.k), {"k": options.k})


def _trueskill(options: RankOptions) -> Rating:
    beta, tau, draw = options.trueskill_beta, options.trueskill_tau, options.trueskill_draw
    rules = TrueSkillOptions(beta=beta, tau=tau, draw_probability=draw)
    return Rating(rules, {"beta": beta, "tau": tau, "draw": draw})


RATINGS: Mapping[str, Callable[[RankOptions], Rating]] = {"elo": _elo, "trueskill": _trueskill}


@dataclass(frozen=True, slots=True)
class Resampling:
    """What a rating that depends on the order is resampled by: how often, and in which blocks."""

    n: int
    blocks: Counts | None = None


@dataclass(frozen=True, slots=True)
class Rated:
    """Ratings of the systems, their spread over random orders, and what resamples give."""

    own: Ratings
    spread: Floats | None = None
    replicates: Floats | None = None


def rate_scores(
    rating: Rating, sample: Sample, options: RankOptions, rng: np.random.Generator
) -> Rated:
    """Rate by who has the higher score on a segment, in random orders or in that of the file."""

    def play(order: Orders, stream: np.random.Generator) -> Ratings:
        tolerance = options.tolerance
        return scores_in_orders(rating.rules, sample.scores, order, stream, tolerance=tolerance)

    counts, size = sample.counts, sample.scores.shape[1]
    resampling = None if counts is None else Resampling(len(counts), sample.blocks)
    if options.orders:
        return in_orders(size, options.orders, play, rng, resampling)
    log = score_battles(sample.scores, tolerance=options.tolerance)
    own = battles_in_time(rating.rules, log)
    return Rated(own, replicates=in_orders(size, 1, play, rng, resampling).replicates)


def rate_log(
    rating: Rating,
    battles: Battles,
    options: RankOptions,
    rng: np.random.Generator,
    resampling: Resampling | None,
) -> Rated:
    """Rate by a log of battles, in random orders or in that of time.

    Random orders are of sorted battles, so that the order of the rows of a file does not matter.
    """
    if options.orders:
        units = None if resampling is None else resampling.blocks
        battles, sorted_units = sorted_battles(battles, units)
        if resampling is not None and units is not None:
            resampling = replace(resampling, blocks=sorted_units)

    def play(order: Orders, _rng: np.random.Generator) -> Ratings:
        return battles_in_orders(rating.rules, battles, order)

    if options.orders:
        return in_orders(len(battles), options.orders, play, rng, resampling)
    own = battles_in_time(rating.rules, battles)
    if resampling is None:
        return Rated(own)
    n, blocks = resampling.n, resampling.blocks
    drawn = sequences(len(battles), n, rng, blocks=blocks, resample=True)
    drawn.sort(axis=1)  # what is drawn keeps its order in time
    return Rated(own, replicates=battles_in_orders(rating.rules, battles, drawn).scores)


def in_orders(
    n_items: int,
    n_orders: int,
    play: Play,
    rng: np.random.Generator,
    resampling: Resampling | None = None,
) -> Rated:
    """Mean and spread over random orders of segments or battles, and the mean in resamples of them.

    A resample is played in several orders. What they leave of the variance between orders is known
    from how they differ, and is taken out, so that the interval is that of the mean over orders.
    """
    shuffle, draw, pairs = rng.spawn(3)
    step = max(1, _PLACES // max(1, n_items))
    parts = [min(step, n_orders - k) for k in range(0, n_orders, step)]
    played = [play(sequences(n_items, k, shuffle), pairs) for k in parts]
    orders = np.concatenate([one.scores for one in played])
    mean, spread = orders.mean(axis=0), orders.std(axis=0, ddof=1) if n_orders > 1 else None
    sigmas = [one.sigma for one in played if one.sigma is not None]
    own = Ratings(mean, np.concatenate(sigmas).mean(axis=0) if sigmas else None)
    if resampling is None:
        return Rated(own, spread)
    each = _ORDERS if n_orders > 1 else 1
    size = min(resampling.n, _RESAMPLES) if n_orders > 1 else resampling.n
    drawn_parts = []
    step = max(1, step // each)
    for start in range(0, size, step):
        count = min(step, size - start)
        drawn = sequences(n_items, count, draw, blocks=resampling.blocks, resample=True)
        order = np.repeat(drawn, each, axis=0)
        if each > 1:  # the same items, shuffled: padding (-1) says nothing wherever it stands
            order = draw.permuted(order, axis=1)
        drawn_parts.append(play(order, pairs).scores.reshape(count, each, -1))
    found = np.concatenate(drawn_parts)
    replicates = found.mean(axis=1)  # NaN for systems that a resample does not have
    if each > 1:
        centre = row_means(replicates.T)
        whole = row_means(((replicates - centre) ** 2).T) * size / max(size - 1, 1)
        noise = row_means(found.var(axis=1, ddof=1).T) * (1 / each - 1 / n_orders)
        kept = np.sqrt(np.maximum(1 - noise / np.where(whole > 0, whole, 1.0), 0.05))
        replicates = mean + (replicates - centre) * kept
    return Rated(own, spread, replicates)
