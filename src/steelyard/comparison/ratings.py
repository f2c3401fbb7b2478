"""Ratings that depend on the order of battles: Elo and TrueSkill, as means over random orders."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from steelyard.comparison.options import RankOptions
from steelyard.comparison.scores import Sample
from steelyard.stats.arrays import Counts, Floats, row_means
from steelyard.stats.strength import elo, trueskill
from steelyard.stats.strength.battlelog import Battles, score_battles, sorted_battles
from steelyard.stats.strength.orders import (
    OrderRating,
    battles_in_orders,
    scores_in_orders,
    sequences,
)

_PLACES = 40_000_000  # places of orders held at a time
_RESAMPLES, _ORDERS = 400, 5  # of ratings that depend on the order: resamples, orders of each

Orders = NDArray[np.integer[Any]]


class Played(NamedTuple):
    """Ratings after all battles, of systems or orders x systems; deviations of TrueSkill."""

    scores: Floats
    sigma: Floats | None = None


class Rating(ABC):
    """A way to rate: what a log gives, or scores of segments in many orders; chances to win."""

    name: str
    rules: OrderRating[Any]
    parameters: Mapping[str, float]

    def of_log(self, battles: Battles, order: Orders) -> Played:
        """Rate in many orders of a log."""
        return self.played(battles_in_orders(self.rules, battles, order))

    def of_scores(
        self, sample: Sample, order: Orders, rng: np.random.Generator, **how: Any
    ) -> Played:
        """Rate in many orders of segments; ``how`` says what a tie is, and how precisely."""
        return self.played(scores_in_orders(self.rules, sample.scores, order, rng, **how))

    @abstractmethod
    def played(self, found: Any) -> Played:
        """Give what statistics found as ratings."""

    @abstractmethod
    def in_time(self, battles: Battles) -> Played:
        """Rate in the order of the log."""

    @abstractmethod
    def probability(self, found: Played) -> Floats:
        """Chances that row beats column."""

    @abstractmethod
    def chance(self, lead: Floats, i: int, found: Played) -> Floats:
        """Chances of system i that leads by so much in resamples."""


class _Elo(Rating):
    name = "elo"
    rules: elo.EloOptions

    def __init__(self, options: RankOptions) -> None:
        self.parameters = {"k": options.k}
        self.rules = elo.EloOptions(k=options.k)

    def played(self, found: Floats) -> Played:
        return Played(found)

    def in_time(self, battles: Battles) -> Played:
        return Played(elo.elo_ratings(battles, self.rules))

    def probability(self, found: Played) -> Floats:
        return elo.elo_probability(found.scores, self.rules)

    def chance(self, lead: Floats, i: int, found: Played) -> Floats:  # noqa: ARG002
        return elo.elo_chance(lead, self.rules)


class _TrueSkill(Rating):
    name = "trueskill"
    rules: trueskill.TrueSkillOptions

    def __init__(self, options: RankOptions) -> None:
        beta, tau, draw = options.trueskill_beta, options.trueskill_tau, options.trueskill_draw
        self.parameters = {"beta": beta, "tau": tau, "draw": draw}
        self.rules = trueskill.TrueSkillOptions(beta=beta, tau=tau, draw_probability=draw)

    def played(self, found: trueskill.Skills) -> Played:
        return Played(found.mu, found.sigma)

    def in_time(self, battles: Battles) -> Played:
        return self.played(trueskill.trueskill_ratings(battles, self.rules))

    def probability(self, found: Played) -> Floats:
        assert found.sigma is not None
        return trueskill.trueskill_probability(found.scores, found.sigma, self.rules)

    def chance(self, lead: Floats, i: int, found: Played) -> Floats:
        assert found.sigma is not None
        return trueskill.trueskill_chance(lead, found.sigma[i], found.sigma, self.rules)


RATINGS: Mapping[str, Callable[[RankOptions], Rating]] = {"elo": _Elo, "trueskill": _TrueSkill}


class Play(Protocol):
    """Rate systems in many orders."""

    def __call__(
        self, order: Orders, stream: np.random.Generator, /, *, single: bool = False
    ) -> Played:
        """Play."""


@dataclass(frozen=True, slots=True)
class Resampling:
    """What a rating that depends on the order is resampled by: how often, and in which blocks."""

    n: int
    blocks: Counts | None = None


@dataclass(frozen=True, slots=True)
class Rated:
    """Ratings of the systems, their spread over random orders, and what resamples give."""

    own: Played
    spread: Floats | None = None
    replicates: Floats | None = None


def rate_scores(
    rating: Rating, sample: Sample, options: RankOptions, rng: np.random.Generator
) -> Rated:
    """Rate by who has the higher score on a segment, in random orders or in that of the file."""

    def play(order: Orders, stream: np.random.Generator, *, single: bool = False) -> Played:
        tolerance = options.tolerance
        return rating.of_scores(sample, order, stream, tolerance=tolerance, single=single)

    counts, size = sample.counts, sample.scores.shape[1]
    resampling = None if counts is None else Resampling(len(counts), sample.blocks)
    if options.orders:
        return in_orders(size, options.orders, play, rng, resampling)
    own = rating.in_time(score_battles(sample.scores, tolerance=options.tolerance))
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

    def play(order: Orders, _rng: np.random.Generator, *, single: bool = False) -> Played:  # noqa: ARG001
        return rating.of_log(battles, order)

    if options.orders:
        return in_orders(len(battles), options.orders, play, rng, resampling)
    own = rating.in_time(battles)
    if resampling is None:
        return Rated(own)
    n, blocks = resampling.n, resampling.blocks
    drawn = sequences(len(battles), n, rng, blocks=blocks, resample=True)
    drawn.sort(axis=1)  # what is drawn keeps its order in time
    return Rated(own, replicates=rating.of_log(battles, drawn).scores)


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
    own = Played(mean, np.concatenate(sigmas).mean(axis=0) if sigmas else None)
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
        drawn_parts.append(play(order, pairs, single=True).scores.reshape(count, each, -1))
    found = np.concatenate(drawn_parts)
    replicates = found.mean(axis=1)  # NaN for systems that a resample does not have
    if each > 1:
        centre = row_means(replicates.T)
        whole = row_means(((replicates - centre) ** 2).T) * size / max(size - 1, 1)
        noise = row_means(found.var(axis=1, ddof=1).T) * (1 / each - 1 / n_orders)
        kept = np.sqrt(np.maximum(1 - noise / np.where(whole > 0, whole, 1.0), 0.05))
        replicates = mean + (replicates - centre) * kept
    return Rated(own, spread, replicates)
