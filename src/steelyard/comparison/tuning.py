"""Parameters of Elo and TrueSkill, chosen by how well ratings with them predict what is held out.

Units are put into five folds; each is predicted from the others (or, where ratings follow the order
of the file, what comes later from what came before), and the parameters with the lowest mean
log-loss win. :func:`steelyard.studies.systems.rankingmodels.weigh_models` shows all of them, and
other models.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from steelyard.comparison.options import BETAS, ELO_KS, TAUS, RankOptions
from steelyard.comparison.scores import Sample
from steelyard.core.errors import UsageError
from steelyard.stats.arrays import Counts, Floats
from steelyard.stats.strength.battlelog import Battles
from steelyard.stats.strength.heldout import validate
from steelyard.stats.strength.predictors import (
    MOST_ORDERS,
    Elo,
    Family,
    Parameters,
    TrueSkill,
    tie_share,
)
from steelyard.stats.strength.splits import (
    Split,
    SplitLog,
    SplitScores,
    canonical,
    random_folds,
    time_folds,
)

FOLDS = 5
LOSS = "log-loss"
_ALIKE = 1e-12  # losses that differ by no more are the same
_APART = 3  # streams that a rating draws by itself


@dataclass(frozen=True, slots=True)
class Tuned:
    """Options in which every parameter of a rating is a number, and what is said of the choice."""

    options: RankOptions
    parameters: Parameters
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Choice:
    """The parameters of a rating: their names in the options, and a family of what may be."""

    fields: Mapping[str, str]
    family: Callable[[RankOptions], Family]


def _orders(options: RankOptions) -> int | None:
    """Give the number of orders: as asked, as far as there is time for."""
    return options.orders if 0 < (options.orders or 0) <= MOST_ORDERS else None


def _elo(options: RankOptions) -> Family:
    return Elo(ELO_KS if options.k is None else (options.k,), _orders(options))


def _trueskill(options: RankOptions) -> Family:
    betas = BETAS if options.trueskill_beta is None else (options.trueskill_beta,)
    taus = TAUS if options.trueskill_tau is None else (options.trueskill_tau,)
    points = tuple((beta, tau, options.trueskill_draw) for beta in betas for tau in taus)
    return TrueSkill(points, _orders(options))


_CHOICES = {
    "elo": _Choice({"k": "k"}, _elo),
    "trueskill": _Choice(
        {"beta": "trueskill_beta", "tau": "trueskill_tau", "draw": "trueskill_draw"}, _trueskill
    ),
}


def tune_scores(name: str, options: RankOptions, sample: Sample, rng: np.random.Generator) -> Tuned:
    """Choose the parameters of a rating that are left open, by scores."""

    def split(stream: np.random.Generator) -> Split:
        width = sample.scores.shape[1]
        unit = np.arange(width) if sample.blocks is None else sample.blocks
        if options.orders:
            folds, units = random_folds(unit, FOLDS, stream)
        else:
            folds, units = time_folds(unit, FOLDS), np.unique(unit, return_inverse=True)[1]
        return SplitScores(sample.scores, units, folds, options.tolerance)

    return _tuned(name, options, split, rng)


def tune_log(
    name: str,
    options: RankOptions,
    battles: Battles,
    unit: Counts | None,
    rng: np.random.Generator,
) -> Tuned:
    """Choose the parameters of a rating that are left open, by battles in the order of time."""

    def split(stream: np.random.Generator) -> Split:
        if not options.orders:
            each = np.arange(len(battles))
            return SplitLog(battles, each, time_folds(each, FOLDS))
        sorted_battles, own = canonical(battles, unit)
        folds, units = random_folds(own, FOLDS, stream)
        return SplitLog(sorted_battles, units, folds)

    return _tuned(name, options, split, rng)


def _tuned(
    name: str,
    options: RankOptions,
    make: Callable[[np.random.Generator], Split],
    rng: np.random.Generator,
) -> Tuned:
    asked = _CHOICES[name]
    given = {key: getattr(options, field) for key, field in asked.fields.items()}
    if None not in given.values():
        return Tuned(options, {key: float(value) for key, value in given.items()})
    # A stream of its own: with the parameters that are chosen, ratings are what they are without
    # the choice.
    own = deepcopy(rng).spawn(_APART + 1)[_APART]

    def untuned(why: object) -> Tuned:
        usual = RankOptions()
        filled = {
            key: getattr(usual, field) if given[key] is None else given[key]
            for key, field in asked.fields.items()
        }
        told = f"{name}: {why}: usual parameters ({_shown(filled)})"
        return Tuned(_with(options, asked, filled), filled, warnings=(told,))

    try:
        split = make(own)
    except UsageError as error:  # one unit
        return untuned(error)
    family = asked.family(options)
    chosen: dict[str, float] = dict(family.parameters[0])
    notes = []
    if len(family.parameters) > 1:
        losses = validate(split, [family], own).means(LOSS)
        if np.isnan(losses).all():
            return untuned("no two systems meet in what is held out")
        if np.nanmax(losses) - np.nanmin(losses) <= _ALIKE:
            return untuned("all parameters predict held-out units alike")
        chosen = dict(family.parameters[int(np.nanargmin(losses))])
        open_ = [key for key, value in given.items() if value is None and key != "draw"]
        notes.append(_told(name, family, {key: chosen[key] for key in open_}, losses))
    if given.get("draw", 0.0) is None:
        chosen["draw"] = tie_share(split.whole())
        share = f"{_shown({'draw': chosen['draw']})}, the share of ties with half a tie and a win"
        notes.append(f"{name}: {share} added")
    return Tuned(_with(options, asked, chosen), chosen, tuple(notes))


def _told(name: str, family: Family, chosen: Parameters, losses: Floats) -> str:
    """Say what was chosen, and among what."""
    tried = []
    for key in chosen:
        values = sorted({own[key] for own in family.parameters})
        tried.append(f"{_name(key)} of {', '.join(map(_digits, values))}")
    best, worst = np.nanmin(losses), np.nanmax(losses)
    told = f"{name} with {_shown(chosen)} predicts held-out units best"
    return f"{told} ({'; '.join(tried)}): log-loss {best:.4f}, worst {worst:.4f}"


def _with(options: RankOptions, asked: _Choice, chosen: Parameters) -> RankOptions:
    filled: dict[str, Any] = {field: chosen[key] for key, field in asked.fields.items()}
    return replace(options, **filled)


def _name(key: str) -> str:
    return "K" if key == "k" else key


def _digits(value: float) -> str:
    return f"{value:.3g}"


def _shown(parameters: Parameters) -> str:
    return ", ".join(f"{_name(key)} {_digits(value)}" for key, value in parameters.items())
