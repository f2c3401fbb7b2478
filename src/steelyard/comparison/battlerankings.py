"""Rankings of a battle log: share of wins, Bradley-Terry, Elo and TrueSkill, with resamples."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from steelyard.comparison.options import LOG_RANKINGS, BattleOptions
from steelyard.comparison.rankings import NO_PAIRS, Aggregate, bt_aggregate, rated_aggregate
from steelyard.comparison.ratings import (
    RATINGS,
    Orders,
    Played,
    Rated,
    Rating,
    Resampling,
    in_orders,
)
from steelyard.formats.judged.logcounts import CountedLog, UnitParts
from steelyard.stats.arrays import Floats, ratio
from steelyard.stats.ranks import ranks
from steelyard.stats.resampling.bootstrap import segment_counts
from steelyard.stats.strength.battlelog import Battles, resampled_battles
from steelyard.stats.strength.bradleyterry import (
    MOST_DENSE,
    bradley_terry_batch,
    bradley_terry_pairs,
)
from steelyard.stats.strength.orders import sequences
from steelyard.stats.strength.wins import PairWins, WinCounts, win_share

ORDERS = 100  # random orders, unless the log is long
_PLAYS = 20_000_000  # battles played in all orders together
_FEWEST = 4  # orders of the longest log
_MOST_PLAYED = 50_000  # battles up to which ratings that depend on the order get intervals
_ONE_BY_ONE = 16  # orders up to which each is played by itself
_CELLS = 8_000_000  # entries of resampled tables held at a time
_DRAWN = 20_000_000  # and of the units drawn for them


@dataclass(frozen=True, slots=True)
class LogSample:
    """A log, and how often it shall be resampled for intervals (0: not at all)."""

    log: CountedLog
    asked: int = 0

    @property
    def n_resamples(self) -> int:
        """How often it is: one unit has no spread."""
        return 0 if self.log.n_units == 1 else self.asked

    @property
    def n(self) -> int:
        """The number of systems."""
        return len(self.log.systems)

    @property
    def dense(self) -> bool:
        """Whether there is room for tables of all pairs."""
        return self.n <= MOST_DENSE

    def tables(self, rng: np.random.Generator) -> Iterator[WinCounts]:
        """Draw resamples of the units, or else of the battles: wins and ties, some at a time."""
        units = self.log.units
        step = max(1, _CELLS // max(1, self.n * self.n))
        if isinstance(units, UnitParts):
            yield from units.tables(self.n_resamples, step, rng)
            return
        if units is not None:
            step = max(1, min(step, _DRAWN // max(1, units.n_units)))
        whole = None if units is not None else self.log.pairs.tables()
        for start in range(0, self.n_resamples, step):
            size = min(step, self.n_resamples - start)
            if units is not None:
                yield units.resampled(segment_counts(size, units.n_units, rng))
            elif whole is not None:
                yield resampled_battles(whole, size, rng)


def n_orders(asked: int | None, n_battles: int) -> int:
    """Give the number of random orders: as asked, or fewer the longer the log is.

    Examples
    --------
    >>> n_orders(None, 8_931), n_orders(None, 1_000_000), n_orders(50, 1_000_000)
    (100, 20, 50)
    """
    if asked is not None:
        return asked
    return int(np.clip(_PLAYS // max(n_battles, 1), _FEWEST, ORDERS))


def rank_log(
    sample: LogSample, options: BattleOptions, rng: np.random.Generator
) -> dict[str, Aggregate]:
    """Rank the systems of a log in several ways; ``mean`` is the share of battles won."""
    draw, *streams = rng.spawn(1 + len(LOG_RANKINGS))
    chance = dict(zip(LOG_RANKINGS, streams, strict=True))
    found: dict[str, Aggregate] = {}
    if "mean" in options.by:
        found["mean"] = _share(sample.log.pairs, dense=sample.dense)
    if "bt" in options.by:
        fit = bradley_terry_pairs(
            sample.log.pairs, ties_as=options.ties, method=options.method, prior=options.prior
        )
        found["bt"] = bt_aggregate(fit, sample.log.systems, pairs=sample.dense)
    if found and sample.n_resamples and sample.dense:
        replicates = _replicates(found, sample, options, draw)
        found = {name: replace(own, replicates=replicates[name]) for name, own in found.items()}
    for name, make in RATINGS.items():
        if name in options.by:
            found[name] = _rated(make(options), sample, options, chance[name])
    return {name: found[name] for name in options.by}


def _shares(wins: Floats, ties: Floats) -> Floats:
    won = wins.sum(axis=-1) + ties.sum(axis=-1) / 2
    return ratio(won, (wins + np.swapaxes(wins, -1, -2) + ties).sum(axis=-1))


def _share(pairs: PairWins, *, dense: bool) -> Aggregate:
    """Share of the battles that each system won, ties as half; of pairs, the difference of both."""
    n = pairs.n
    half = pairs.ties / 2
    won = np.bincount(pairs.i, pairs.wins_i + half, n) + np.bincount(
        pairs.j, pairs.wins_j + half, n
    )
    met = np.bincount(pairs.i, pairs.met, n) + np.bincount(pairs.j, pairs.met, n)
    scores = ratio(won, met)
    pairwise = NO_PAIRS
    if dense:
        share = win_share(pairs.tables())
        pairwise = share - share.T
        np.fill_diagonal(pairwise, 0.0)
    return Aggregate(scores, ranks(scores), pairwise)


def _replicates(
    found: dict[str, Aggregate], sample: LogSample, options: BattleOptions, rng: np.random.Generator
) -> dict[str, Floats]:
    """Share and strength in the same resamples; strengths of what is connected in the log only."""
    parts: dict[str, list[Floats]] = {name: [] for name in found}
    inside, start = np.arange(0), None
    if "bt" in found:
        fit = found["bt"].strengths
        assert fit is not None
        inside = np.flatnonzero(~np.isnan(fit.strength))
        start = fit.log_strength[inside]
    for tables in sample.tables(rng):
        if "mean" in found:
            parts["mean"].append(_shares(tables.wins, tables.ties))
        if "bt" in found:
            strength = np.full((len(tables.wins), sample.n), np.nan)
            if len(inside) > 1:
                own = tables if len(inside) == sample.n else tables.within(inside.tolist())
                fits = bradley_terry_batch(
                    own, ties_as=options.ties, prior=options.prior, start=start
                )
                strength[:, inside] = fits.strength
            parts["bt"].append(strength)
    return {name: np.concatenate(own) for name, own in parts.items()}


def _rated(
    rating: Rating, sample: LogSample, options: BattleOptions, rng: np.random.Generator
) -> Aggregate:
    """Rate in the order of time or in random orders."""
    battles = sample.log.played
    assert battles is not None
    warnings: tuple[str, ...] = ()
    resampling = None
    if sample.n_resamples and len(battles) <= _MOST_PLAYED:
        unit = sample.log.unit
        blocks = None if unit is None else unit.astype(np.int64)
        resampling = Resampling(sample.n_resamples, blocks)
    elif sample.n_resamples:
        none = f"no intervals for more than {_MOST_PLAYED:,} battles; bt has them"
        warnings = (f"{rating.name}: {none}",)

    def play(order: Orders, _rng: np.random.Generator, *, single: bool = False) -> Played:  # noqa: ARG001
        if len(order) > _ONE_BY_ONE or (order < 0).any():
            return rating.of_log(battles, order)
        played = [rating.in_time(_taken(battles, row)) for row in order]
        sigmas = [one.sigma for one in played if one.sigma is not None]
        return Played(
            np.array([one.scores for one in played]), np.array(sigmas) if sigmas else None
        )

    if options.orders:
        found = in_orders(len(battles), options.orders, play, rng, resampling)
    else:
        found = Rated(rating.in_time(battles))
        if resampling is not None:
            n, blocks = resampling.n, resampling.blocks
            drawn = sequences(len(battles), n, rng, blocks=blocks, resample=True)
            drawn.sort(axis=1)  # what is drawn keeps its order in time
            found = replace(found, replicates=rating.of_log(battles, drawn).scores)
    return rated_aggregate(rating, found, pairs=sample.dense, warnings=warnings)


def _taken(battles: Battles, rows: np.ndarray) -> Battles:
    weight = None if battles.weight is None else battles.weight[rows]
    return Battles(
        battles.left[rows], battles.right[rows], battles.outcome[rows], battles.n, weight
    )
