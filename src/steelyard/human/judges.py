"""Judges of rankings: how far they agree with each other and with themselves."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from steelyard.core.table import Cell, Column, Table
from steelyard.data.judgements import Floats, Rankings
from steelyard.human.duels import Duels
from steelyard.stats import agreement
from steelyard.stats.arrays import group_sums, ratio


def _units(found: Duels) -> dict[str, NDArray[Any]]:
    size = len(found.systems)
    pair = found.left.astype(np.int64) * size + found.right
    return {
        "rater": found.rater.astype(np.int64),
        "unit": found.segment.astype(np.int64) * size * size + pair,
        "outcome": np.asarray(found.outcome * 2 - 1),
        "block": found.segment.astype(np.int64),
    }


def judge_agreement(found: Duels, n_resamples: int, rng: np.random.Generator) -> dict[str, Any]:
    """Agreement of orderings: between judges, and of each judge with the own repeats."""
    columns: dict[str, Any] = dict(_units(found))
    one, other = rng.spawn(2)
    between = agreement.ranking_agreement(**columns, n_resamples=n_resamples, rng=one)
    within = agreement.ranking_agreement(**columns, within=True, n_resamples=n_resamples, rng=other)
    return {
        "rankings": {
            "ranking": between.to_dict(),
            "kappa": between.kappa.to_dict(),
            "repeats_ranking": within.to_dict(),
            "repeats_kappa": within.kappa.to_dict(),
        }
    }


def judge_table(found: Duels, rankings: Rankings) -> Table:
    """Make a row per judge, the one who agrees least with others first."""
    size = len(found.raters)
    columns = _units(found)
    sign = columns["outcome"].astype(np.int64) + 1
    _, unit = np.unique(columns["unit"], return_inverse=True)
    alike, met = _with_others(unit * 3 + sign, found.rater), _with_others(unit, found.rater)
    _, own = np.unique(unit * size + found.rater, return_inverse=True)
    own_alike, own_met = (np.bincount(x)[x] - 1 for x in (own * 3 + sign, own))
    n_rankings = np.bincount(rankings.rater, minlength=size)
    n_pairs = np.bincount(found.rater, minlength=size)

    def share(top: NDArray[Any], bottom: NDArray[Any]) -> Floats:
        return ratio(group_sums(found.rater, top, size), group_sums(found.rater, bottom, size))

    ones = np.ones(len(found))
    agree, agree_self = share(alike, met), share(own_alike, own_met)
    ties = share(found.outcome == 0.5, ones)
    shared = group_sums(found.rater, met > 0, size)
    rows: list[tuple[Cell, ...]] = [
        (
            found.raters[i],
            int(n_rankings[i]),
            int(n_pairs[i]),
            float(ties[i]),
            int(shared[i]),
            float(agree[i]),
            float(agree_self[i]),
        )
        for i in range(size)
    ]
    order = sorted(range(size), key=lambda i: (np.nan_to_num(agree[i], nan=2.0), rows[i][0]))
    names = ("rater", "n_rankings", "n_pairs", "ties", "n_shared", "agree", "agree_self")
    digits = {"ties": 3, "agree": 3, "agree_self": 3}
    notes = (
        "agree: share of pairs ordered as others did; n_shared: pairs that others ordered too",
        "agree_self: share of pairs ordered as the same judge did another time",
    )
    return Table(
        "Raters",
        tuple(Column(n, digits=digits.get(n)) for n in names),
        tuple(rows[i] for i in order),
        notes,
    )


def _with_others(group: NDArray[Any], rater: NDArray[Any]) -> NDArray[Any]:
    """Count for each row the rows of its group that are not by its own rater."""
    _, whole = np.unique(group, return_inverse=True)
    _, own = np.unique(group * (int(rater.max()) + 1) + rater, return_inverse=True)
    return np.asarray(np.bincount(whole)[whole] - np.bincount(own)[own])
