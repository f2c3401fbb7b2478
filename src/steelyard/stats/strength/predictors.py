r"""Models that predict who wins: what each learns from battles, and the chances that it gives.

A family is a model with one or several sets of parameters. It learns from the battles of each fold
(:mod:`steelyard.stats.strength.splits`) and gives chances of a win, a loss and, as far as it knows
ties, of a tie. A model that knows none gives expected scores: a tie is half a win to it.

* ``half``: nobody is better; ties as often as before.
* ``mean``, ``median``: whoever has the higher average (in a log: share of battles won) scores
  :math:`q` against the other, one number for all pairs, learned from the battles.
* ``pairs``: what each pair did before, :math:`(w + t/2 + 1/2) / (m + 1)`, whatever others did.
* ``bt``, ``davidson``, ``rao-kupper``: strengths, by the prior. With
  :math:`\delta = \theta_i - \theta_j`, see :mod:`~steelyard.stats.strength.fits`.
* ``elo`` by K, ``trueskill`` by beta, tau and draw probability: ratings, as means over random
  orders of what was learned from, or in its own order. Systems that have not played are at the
  start.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from scipy.special import expit

from steelyard.stats.arrays import Counts, Floats
from steelyard.stats.strength.bradleyterry import Strengths, bradley_terry_pairs
from steelyard.stats.strength.elo import EloGrid, EloOptions
from steelyard.stats.strength.splits import Split
from steelyard.stats.strength.trueskill import TrueSkillGrid, TrueSkillOptions, trueskill_outcomes
from steelyard.stats.strength.wins import PairWins

_PLAYS = 150_000_000  # battles played of all variants and orders together
_FEWEST, MOST_ORDERS = 4, 20  # orders

Parameters = Mapping[str, float]


class Chances(NamedTuple):
    """Chances of pairs i, j: that i wins, that j wins, and of a tie: variants x pairs.

    A tie is NaN where the model knows none: the other two are expected scores.
    """

    win: Floats
    lose: Floats
    tie: Floats

    @classmethod
    def scores(cls, win: Floats, lose: Floats) -> Chances:
        """Make them of expected scores."""
        return cls(win, lose, np.full_like(win, np.nan))

    @property
    def first(self) -> Floats:
        """Expected score of i."""
        return np.asarray(self.win + np.where(np.isnan(self.tie), 0.0, self.tie) / 2)

    @property
    def second(self) -> Floats:
        """Expected score of j."""
        return np.asarray(self.lose + np.where(np.isnan(self.tie), 0.0, self.tie) / 2)


Predict = Callable[[Counts, Counts], Chances]


class Family(Protocol):
    """A model with several sets of parameters.

    ``fit`` gives, for every fold, what tells the chances of pairs; ``undefined`` says why a variant
    may give none (NaN).
    """

    @property
    def name(self) -> str: ...  # noqa: D102
    @property
    def undefined(self) -> str: ...  # noqa: D102
    @property
    def parameters(self) -> tuple[Parameters, ...]: ...  # noqa: D102
    def fit(self, split: Split, rng: np.random.Generator) -> list[Predict]: ...  # noqa: D102


def tie_share(pairs: PairWins) -> float:
    """Share of ties among battles, with half a tie and half a win of either side more."""
    return float((pairs.ties.sum() + 0.5) / (pairs.met.sum() + 1.5))


@dataclass(frozen=True, slots=True)
class Half:
    """Nobody is better than anybody."""

    name: str = "half"
    undefined: str = ""

    @property
    def parameters(self) -> tuple[Parameters, ...]:
        """There are none."""
        return ({},)

    def fit(self, split: Split, rng: np.random.Generator) -> list[Predict]:  # noqa: ARG002
        """Learn the share of ties."""

        def predict(tie: float) -> Predict:
            def chances(i: Counts, _j: Counts) -> Chances:
                win = np.full((1, len(i)), (1 - tie) / 2)
                return Chances(win, win, np.full((1, len(i)), tie))

            return chances

        return [predict(tie_share(split.train(f))) for f in range(split.folds.n)]


@dataclass(frozen=True, slots=True)
class Average:
    """Whoever has the higher average wins with one and the same chance."""

    name: str
    undefined: str = "a system has no average where it is predicted from"

    @property
    def parameters(self) -> tuple[Parameters, ...]:
        """There are none."""
        return ({},)

    def fit(self, split: Split, rng: np.random.Generator) -> list[Predict]:  # noqa: ARG002
        """Learn averages, and what the higher one is worth."""

        def predict(f: int) -> Predict:
            values, pairs = split.averages(f)[self.name], split.train(f)
            lead = np.sign(values[pairs.i] - values[pairs.j])
            ahead = np.where(lead > 0, pairs.wins_i, pairs.wins_j) + pairs.ties / 2
            some = np.abs(lead) == 1
            share = (ahead[some].sum() + 0.5) / (pairs.met[some].sum() + 1)

            def chances(i: Counts, j: Counts) -> Chances:
                first = 0.5 + (share - 0.5) * np.sign(values[i] - values[j])[None]
                return Chances.scores(first, 1 - first)

            return chances

        return [predict(f) for f in range(split.folds.n)]


@dataclass(frozen=True, slots=True)
class Pairs:
    """Each pair goes on as it did, whatever others do."""

    name: str = "pairs"
    undefined: str = ""

    @property
    def parameters(self) -> tuple[Parameters, ...]:
        """There are none."""
        return ({},)

    def fit(self, split: Split, rng: np.random.Generator) -> list[Predict]:  # noqa: ARG002
        """Learn the share of each pair."""

        def predict(pairs: PairWins) -> Predict:
            codes = pairs.codes  # sorted
            own = (pairs.wins_i + pairs.ties / 2 + 0.5) / (pairs.met + 1)

            def chances(i: Counts, j: Counts) -> Chances:
                wanted = np.minimum(i, j) * pairs.n + np.maximum(i, j)
                place = np.searchsorted(codes, wanted).clip(max=max(len(codes) - 1, 0))
                met = codes[place] == wanted if len(codes) else np.zeros(len(i), dtype=bool)
                share = np.where(met, own[place] if len(own) else 0.5, 0.5)
                first = np.where(i < j, share, 1 - share)[None]
                return Chances.scores(first, 1 - first)

            return chances

        return [predict(split.train(f)) for f in range(split.folds.n)]


@dataclass(frozen=True, slots=True)
class Strength:
    """Bradley-Terry (ties are half a win), or with ties of their own, by the prior."""

    name: str
    priors: tuple[float, ...]
    undefined: str = "without a prior, systems that comparisons do not connect have no strength"

    @property
    def parameters(self) -> tuple[Parameters, ...]:
        """Give the priors."""
        return tuple({"prior": prior} for prior in self.priors)

    @property
    def ties_as(self) -> str:
        """What ties are."""
        return "half" if self.name == "bt" else self.name

    def fit(self, split: Split, rng: np.random.Generator) -> list[Predict]:  # noqa: ARG002
        """Fit strengths to what each fold learns from."""

        def predict(pairs: PairWins) -> Predict:
            found = [
                bradley_terry_pairs(pairs, ties_as=self.ties_as, prior=prior)
                for prior in self.priors
            ]
            return lambda i, j: _strength_chances(self.name, found, i, j)

        return [predict(split.train(f)) for f in range(split.folds.n)]


def _strength_chances(name: str, found: list[Strengths], i: Counts, j: Counts) -> Chances:
    theta = np.stack([fit.log_strength for fit in found])
    gap = theta[:, i] - theta[:, j]
    if name == "bt":
        return Chances.scores(expit(gap), expit(-gap))
    parameter = np.array([fit.tie_parameter for fit in found])[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        if name == "davidson":
            # Odds of win, loss and tie, divided by the largest: nothing overflows.
            log = np.stack(np.broadcast_arrays(gap / 2, -gap / 2, np.log(parameter)))
            odds = np.where(np.isposinf(log), 1.0, np.exp(log - np.max(log, axis=0)))
            return Chances(*(odds / odds.sum(axis=0)))
        eta = np.log(parameter)
        win, lose = expit(gap - eta), expit(-gap - eta)
        # A tie is a win of either side times exp(2 eta) - 1.
        tie = np.where(np.isinf(eta), 1.0, win * lose * np.expm1(2 * eta))
    tie = np.where(np.isnan(gap), np.nan, tie)
    return Chances(win, lose, tie)


def _means(
    parts: list[tuple[Counts, Counts, Any]], read: Callable[[Any], tuple[Floats, ...]], shape: Any
) -> list[Floats]:
    """Average what orders gave: variants x folds x systems, for each kind of number."""
    totals: list[Floats] = []
    counts = np.zeros(shape[:2])
    for variant, fold, found in parts:
        numbers = read(found)
        if not totals:
            totals = [np.zeros(shape) for _ in numbers]
        for total, own in zip(totals, numbers, strict=True):
            np.add.at(total, (variant, fold), own)
        np.add.at(counts, (variant, fold), 1)
    return [total / counts[..., None] for total in totals]


def usual_orders(split: Split, n_variants: int) -> int:
    """Give how many random orders there is time for."""
    if split.folds.in_time:
        return 1
    plays = split.n_battles * split.folds.n * n_variants
    return int(np.clip(_PLAYS // max(plays, 1), _FEWEST, MOST_ORDERS))


@dataclass(frozen=True, slots=True)
class Elo:
    """Elo, by K; ``orders`` None is as many as there is time for."""

    ks: tuple[float, ...]
    orders: int | None = None
    name: str = "elo"
    undefined: str = ""

    @property
    def parameters(self) -> tuple[Parameters, ...]:
        """Give the Ks."""
        return tuple({"k": k} for k in self.ks)

    def fit(self, split: Split, rng: np.random.Generator) -> list[Predict]:
        """Rate what each fold learns from, with every K."""
        rules = [EloOptions(k=k) for k in self.ks]
        split.check(rules[0])
        orders = self.orders or usual_orders(split, len(rules))
        parts = split.rate(
            lambda variant, _fold: EloGrid(tuple(rules[v] for v in variant)),
            len(rules), orders, rng,
        )  # fmt: skip
        shape = (len(rules), split.folds.n, split.n)
        (ratings,) = _means(parts, lambda found: (found,), shape)
        ratings = np.where(np.isnan(ratings), rules[0].initial, ratings)

        def predict(own: Floats) -> Predict:
            def chances(i: Counts, j: Counts) -> Chances:
                lead = rules[0].slope * (own[:, i] - own[:, j])
                return Chances.scores(expit(lead), expit(-lead))

            return chances

        return [predict(ratings[:, f]) for f in range(split.folds.n)]


@dataclass(frozen=True, slots=True)
class TrueSkill:
    """TrueSkill, by beta, tau and draw probability; None is the share of ties learned from."""

    points: tuple[tuple[float, float, float | None], ...]
    orders: int | None = None
    name: str = "trueskill"
    undefined: str = ""

    @property
    def parameters(self) -> tuple[Parameters, ...]:
        """Give the constants; NaN is the share of ties."""
        return tuple(
            {"beta": beta, "tau": tau, "draw": np.nan if draw is None else draw}
            for beta, tau, draw in self.points
        )

    def fit(self, split: Split, rng: np.random.Generator) -> list[Predict]:
        """Rate what each fold learns from, with all constants."""
        shares = [tie_share(split.train(f)) for f in range(split.folds.n)]
        rules = [
            [
                TrueSkillOptions(
                    beta=beta, tau=tau, draw_probability=share if draw is None else draw
                )
                for share in shares
            ]
            for beta, tau, draw in self.points
        ]
        for own in {one for row in rules for one in row}:
            split.check(own)
        orders = self.orders or usual_orders(split, 3 * len(rules))  # each costs thrice an Elo
        parts = split.rate(
            lambda variant, fold: TrueSkillGrid(
                tuple(rules[v][f] for v, f in zip(variant, fold, strict=True))
            ),
            len(rules), orders, rng,
        )  # fmt: skip
        shape = (len(rules), split.folds.n, split.n)
        mu, sigma = _means(parts, lambda found: (found.mu, found.sigma), shape)
        start = TrueSkillOptions()
        mu = np.where(np.isnan(mu), start.mu, mu)
        sigma = np.where(np.isnan(sigma), start.sigma, sigma)

        def predict(f: int) -> Predict:
            def chances(i: Counts, j: Counts) -> Chances:
                own = [
                    trueskill_outcomes(m[i] - m[j], s[i], s[j], rules[v][f])
                    for v, (m, s) in enumerate(zip(mu[:, f], sigma[:, f], strict=True))
                ]
                return Chances(*(np.stack(kind) for kind in zip(*own, strict=True)))

            return chances

        return [predict(f) for f in range(split.folds.n)]
