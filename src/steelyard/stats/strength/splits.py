"""Battles split into folds, for predictions of what a model has not seen.

What is independent, a document or a prompt, is not cut: whole units are held out (or, in the order
of time, what came later). Scores are battles of all pairs on each segment, but are kept as scores:
wins are counted, and ratings played, far faster from them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from steelyard.core.errors import ShapeError, UsageError
from steelyard.stats.arrays import Counts, Floats, ratio, row_means
from steelyard.stats.resampling.bootstrap import row_medians
from steelyard.stats.strength.battlelog import Battles, UnitCounts, battle_pairs, score_battles
from steelyard.stats.strength.orders import (
    OrderRating,
    battles_in_orders,
    scores_in_orders,
    sequences,
)
from steelyard.stats.strength.wins import PairWins, pair_wins, resampled_wins, win_counts

Bools = NDArray[np.bool_]
MOST_UNITS = 20_000  # units above this are put together at random
_BATTLES = 2_000_000  # battles of scores unfolded at a time
_PLACES = 20_000_000  # places of orders held at a time
_TOGETHER = 64_000  # ratings of scores that are played at a time


@dataclass(frozen=True, slots=True, eq=False)
class Folds:
    """The fold of each item (a segment, a battle), and how many are predicted.

    In the order of time, fold 0 is only learned from: f is predicted from those before it.
    Otherwise f is predicted from all others.
    """

    code: Counts
    n: int
    in_time: bool = False

    def held(self, f: int) -> Bools:
        """Tell which items are predicted."""
        return np.asarray(self.code == f + self.in_time)

    def train(self, f: int) -> Bools:
        """Tell which items they are predicted from."""
        return np.asarray(self.code <= f) if self.in_time else ~self.held(f)


def random_folds(units: Counts, n_folds: int, rng: np.random.Generator) -> tuple[Folds, Counts]:
    """Put whole units into folds at random; and give the unit of each item.

    Units are numbered from 0 in the order of their codes, and put together at random where there
    are very many: independent ones stay independent.

    Examples
    --------
    >>> folds, units = random_folds(np.array([7, 7, 3, 5]), 3, np.random.default_rng(0))
    >>> units.tolist(), bool(folds.code[0] == folds.code[1]), sorted(set(folds.code.tolist()))
    ([2, 2, 0, 1], True, [0, 1, 2])
    """
    _, own = np.unique(units, return_inverse=True)
    n = int(own.max(initial=-1)) + 1
    if n < 2:
        raise UsageError("one unit: nothing is left to learn from")
    n_folds = min(n_folds, n)
    place = np.empty(n, dtype=np.int64)
    place[rng.permutation(n)] = np.arange(n)
    folds = Folds(place[own] % n_folds, n_folds)
    most = MOST_UNITS - MOST_UNITS % n_folds  # so that those put together are of one fold
    return folds, place[own] % most if n > most else own.astype(np.int64)


def time_folds(units: Counts, n_folds: int) -> Folds:
    """Cut items into parts of about the same size, in their order, never through a run of one unit.

    Examples
    --------
    >>> time_folds(np.array([4, 4, 4, 1, 1, 1, 1, 2, 2, 2]), 2).code.tolist()
    [0, 0, 0, 1, 1, 1, 1, 2, 2, 2]
    """
    starts = np.flatnonzero(np.r_[True, units[1:] != units[:-1]])[: len(units)]
    if len(starts) < 2:
        raise UsageError("one unit: nothing is left to learn from")
    n_folds = min(n_folds, len(starts) - 1)
    wanted = np.arange(1, n_folds + 1) * len(units) / (n_folds + 1)
    # The nearest start of a run, and at least one run for every part.
    cuts = np.abs(starts[:, None] - wanted).argmin(axis=0)
    least, room = np.arange(1, n_folds + 1), len(starts) - n_folds - 1
    cuts = np.maximum.accumulate(np.clip(cuts - least, 0, room)) + least
    return Folds(np.searchsorted(starts[cuts], np.arange(len(units)), side="right"), n_folds, True)


class Split(Protocol):
    """Battles in folds, which models learn from and predict."""

    @property
    def folds(self) -> Folds: ...  # noqa: D102
    @property
    def n_units(self) -> int: ...  # noqa: D102
    @property
    def n(self) -> int: ...  # noqa: D102
    @property
    def n_battles(self) -> int: ...  # noqa: D102
    def whole(self) -> PairWins: ...  # noqa: D102
    def train(self, f: int) -> PairWins: ...  # noqa: D102
    def averages(self, f: int) -> Mapping[str, Floats]: ...  # noqa: D102
    def held(self, f: int) -> Iterator[tuple[UnitCounts, Counts]]: ...  # noqa: D102
    def check(self, rules: OrderRating[Any]) -> None: ...  # noqa: D102
    def rate(  # noqa: D102
        self, rules: Callable[[Counts, Counts], OrderRating[Any]], n_variants: int, n_orders: int,
        rng: np.random.Generator,
    ) -> list[tuple[Counts, Counts, Any]]: ...  # fmt: skip


def _orders(folds: Folds, n_orders: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Draw orders of what each fold learns from: folds x orders of each; -1 where one has ended."""
    items = [np.flatnonzero(folds.train(f)) for f in range(folds.n)]
    result = np.full((folds.n, n_orders, max(map(len, items))), -1)
    for own, some in zip(result, items, strict=True):
        if folds.in_time:
            own[:, : len(some)] = some
        else:
            own[:, : len(some)] = some[sequences(len(some), n_orders, rng)]
    return result.reshape(-1, result.shape[2])


def _columns(
    folds: Folds, n_variants: int, n_orders: int, most: int
) -> Iterator[tuple[Counts, Counts, Counts]]:
    """Cut all combinations of variants, folds and orders into parts: variant, fold, order each."""
    total = n_variants * folds.n * n_orders
    for start in range(0, total, most):
        at = np.arange(start, min(start + most, total))
        variant, row = np.divmod(at, folds.n * n_orders)
        yield variant, row // n_orders, row


@dataclass(frozen=True, slots=True, eq=False)
class SplitScores:
    """Scores, systems x segments, higher is better; the unit of each segment, and its fold."""

    scores: Floats
    unit: Counts
    folds: Folds
    tolerance: float = 0.0

    def __post_init__(self) -> None:
        width = self.scores.shape[1:]
        if self.scores.ndim != 2 or self.unit.shape != width or self.folds.code.shape != width:
            raise ShapeError("scores as systems x segments, and a unit and a fold of each segment")

    @property
    def n(self) -> int:
        """The number of systems."""
        return len(self.scores)

    @property
    def n_units(self) -> int:
        """The number of units."""
        return int(self.unit.max(initial=-1)) + 1

    @property
    def n_battles(self) -> int:
        """How many battles there are."""
        known = (~np.isnan(self.scores)).sum(axis=0)
        return int((known * (known - 1) // 2).sum())

    def whole(self) -> PairWins:
        """Count all wins and ties."""
        found = win_counts(self.scores, tolerance=self.tolerance)
        return pair_wins(found.wins, found.ties)

    def train(self, f: int) -> PairWins:
        """Count wins and ties of what a fold learns from."""
        drawn = self.folds.train(f)[None].astype(np.float64)
        found = resampled_wins(self.scores, drawn, tolerance=self.tolerance)
        return pair_wins(found.wins[0], found.ties[0])

    def averages(self, f: int) -> Mapping[str, Floats]:
        """Give means and medians of what a fold learns from."""
        some = self.scores[:, self.folds.train(f)]
        return {"mean": row_means(some), "median": row_medians(some)}

    def held(self, f: int) -> Iterator[tuple[UnitCounts, Counts]]:
        """Give what a fold holds out, by unit, in parts: counts, and the units that they are of."""
        places = np.flatnonzero(self.folds.held(f))
        step = max(1, _BATTLES // max(1, self.n * (self.n - 1) // 2))
        for start in range(0, len(places), step):
            part = self.scores[:, places[start : start + step]]
            battles = score_battles(part, tolerance=self.tolerance)
            i, j = np.triu_indices(self.n, 1)
            known = ~np.isnan(part)
            segment = np.nonzero((known[i] & known[j]).T)[0]
            units, code = np.unique(
                self.unit[places[start : start + step]][segment], return_inverse=True
            )
            if len(units):
                yield UnitCounts.of(battles, code), units

    def check(self, rules: OrderRating[Any]) -> None:
        """Refuse a rating that scores are not for."""
        rules.check(None)

    def rate(
        self,
        rules: Callable[[Counts, Counts], OrderRating[Any]],
        n_variants: int,
        n_orders: int,
        rng: np.random.Generator,
    ) -> list[tuple[Counts, Counts, Any]]:
        """Rate in random orders of what each fold learns from, for every variant of a rating.

        ``rules`` makes the rating of many columns from their variants and folds. Gives parts:
        variants, folds, and what is found of them.
        """
        draw, seats = rng.spawn(2)
        order = _orders(self.folds, n_orders, draw)
        room = _TOGETHER // (self.n + self.n % 2)
        most = max(1, min(room, _PLACES // max(1, order.shape[1])))
        found = []
        for variant, fold, row in _columns(self.folds, n_variants, n_orders, most):
            played = scores_in_orders(
                rules(variant, fold), self.scores, order[row], seats, tolerance=self.tolerance,
                single=True,
            )  # fmt: skip
            found.append((variant, fold, played))
        return found


def canonical(battles: Battles, unit: Counts | None) -> tuple[Battles, Counts]:
    """Sort battles by unit, then by what they are, so that the order of a file does not matter.

    Each battle is a unit of its own where ``unit`` is None.

    Examples
    --------
    >>> log = Battles(np.array([1, 0]), np.array([0, 1]), np.array([1.0, 1.0]), n=2)
    >>> found, unit = canonical(log, None)
    >>> found.left.tolist(), found.outcome.tolist(), unit.tolist()
    ([0, 0], [0.0, 1.0], [0, 1])
    """
    swapped = battles.left > battles.right
    left, right = np.where(swapped, (battles.right, battles.left), (battles.left, battles.right))
    outcome = np.where(swapped, 1 - battles.outcome, battles.outcome)
    weight = np.ones(len(battles)) if battles.weight is None else battles.weight
    code = np.zeros(len(battles), dtype=np.int64) if unit is None else unit.astype(np.int64)
    order = np.lexsort((weight, outcome, right, left, code))
    kept = None if battles.weight is None else weight[order]
    found = Battles(left[order], right[order], outcome[order], battles.n, kept)
    return found, np.arange(len(battles)) if unit is None else code[order]


@dataclass(frozen=True, slots=True, eq=False)
class SplitLog:
    """A log of battles; the unit of each battle, and its fold."""

    battles: Battles
    unit: Counts
    folds: Folds

    def __post_init__(self) -> None:
        size = self.battles.outcome.shape
        if self.unit.shape != size or self.folds.code.shape != size:
            raise ShapeError("a unit and a fold of every battle")

    @property
    def n(self) -> int:
        """The number of systems."""
        return self.battles.n

    @property
    def n_units(self) -> int:
        """The number of units."""
        return int(self.unit.max(initial=-1)) + 1

    @property
    def n_battles(self) -> int:
        """How many battles there are."""
        return len(self.battles)

    def whole(self) -> PairWins:
        """Count all wins and ties."""
        return battle_pairs(self.battles)

    def train(self, f: int) -> PairWins:
        """Count wins and ties of what a fold learns from."""
        return battle_pairs(self.battles.take(np.flatnonzero(self.folds.train(f))))

    def averages(self, f: int) -> Mapping[str, Floats]:
        """Give the share of battles won, ties as half, in what a fold learns from."""
        pairs = self.train(f)
        half = pairs.ties / 2
        won = np.bincount(pairs.i, pairs.wins_i + half, self.n)
        won += np.bincount(pairs.j, pairs.wins_j + half, self.n)
        met = np.bincount(pairs.i, pairs.met, self.n) + np.bincount(pairs.j, pairs.met, self.n)
        return {"mean": ratio(won, met)}

    def held(self, f: int) -> Iterator[tuple[UnitCounts, Counts]]:
        """Give what a fold holds out, by unit: counts, and the units that they are of."""
        places = np.flatnonzero(self.folds.held(f))
        units, code = np.unique(self.unit[places], return_inverse=True)
        if len(units):
            yield UnitCounts.of(self.battles.take(places), code), units

    def check(self, rules: OrderRating[Any]) -> None:
        """Refuse a rating that does not know such battles."""
        rules.check(self.battles)

    def rate(
        self,
        rules: Callable[[Counts, Counts], OrderRating[Any]],
        n_variants: int,
        n_orders: int,
        rng: np.random.Generator,
    ) -> list[tuple[Counts, Counts, Any]]:
        """Rate as :meth:`SplitScores.rate` does, in random orders of battles, or in theirs."""
        order = _orders(self.folds, 1 if self.folds.in_time else n_orders, rng)
        each = len(order) // self.folds.n
        most = max(1, _PLACES // max(1, order.shape[1]))
        return [
            (variant, fold, battles_in_orders(rules(variant, fold), self.battles, order[row]))
            for variant, fold, row in _columns(self.folds, n_variants, each, most)
        ]
