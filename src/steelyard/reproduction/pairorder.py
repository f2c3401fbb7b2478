"""Elo and TrueSkill pair after pair: the order of the paired-evaluation paper's code.

Pairs come as (0, 1), (0, 2), ..., (1, 2), ..., each with all its segments before the next pair.
The ratings of i and j at their turn depend on the pairs (i, j - 1) and (i - 1, j) only, so that all
pairs with the same i + j, which share no system, can be played at the same time; so can many tables
of scores. The result is that of playing one battle after the other.

The last pairs weigh most, and which pairs are last depends on the order of the systems: this is for
reproducing published figures. To rank systems, average over random orders
(:mod:`steelyard.stats.strength.orders`).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from steelyard.core.errors import ShapeError, UsageError, hint
from steelyard.stats.arrays import Floats
from steelyard.stats.strength import elo, trueskill
from steelyard.stats.strength.battlelog import score_results
from steelyard.stats.strength.elo import EloOptions
from steelyard.stats.strength.orders import Update
from steelyard.stats.strength.trueskill import Skills, TrueSkillOptions

TIES = ("half", "second")


def elo_by_pairs(
    scores: Floats, *, ties_as: str = "half", options: EloOptions | None = None
) -> Floats:
    """Rate systems by Elo, pair after pair.

    Parameters
    ----------
    scores
        Tables x systems x segments, higher is better, NaN where missing.
    ties_as
        ``half``, or ``second``: a win of the later system, as in the paper's code.

    Returns
    -------
    Floats
        Tables x systems; NaN for systems that met nobody.

    Examples
    --------
    >>> scores = np.array([[[2.0, 2.0], [1.0, 2.0], [0.0, 0.0]]])
    >>> elo_by_pairs(scores, ties_as="second").round(1).tolist()
    [[1518.9, 1518.9, 1462.2]]
    """
    if ties_as not in TIES:
        raise UsageError(f"unknown treatment of ties '{ties_as}'; {hint(ties_as, TIES)}")
    chosen = options or EloOptions()
    state = np.zeros((1, *_sizes(scores)))
    played = _play(elo._update(chosen), state, scores, second=ties_as == "second")
    return elo._ratings(state, played, chosen)


def trueskill_by_pairs(scores: Floats, *, options: TrueSkillOptions | None = None) -> Skills:
    """Rate systems by TrueSkill, pair after pair; ties are ties.

    Takes tables x systems x segments; ``mu`` and ``sigma`` are tables x systems.

    Examples
    --------
    >>> skills = trueskill_by_pairs(np.array([[[2.0, 2.0], [1.0, 2.0]]]))
    >>> skills.mu.round(3).tolist()
    [[26.114, 23.886]]
    """
    chosen = options or TrueSkillOptions()
    state = trueskill._start(*_sizes(scores), chosen)
    played = _play(trueskill._update(chosen), state, scores, second=False)
    return trueskill._skills(state, played, chosen)


def _sizes(scores: Floats) -> tuple[int, int]:
    if scores.ndim != 3:
        raise ShapeError(f"expected scores as tables x systems x segments, got {scores.shape}")
    return scores.shape[1], scores.shape[0]


def _play(update: Update, state: Floats, scores: Floats, *, second: bool) -> NDArray[np.bool_]:
    """Play all pairs; changes ``state`` and tells who played: systems x tables."""
    x = np.ascontiguousarray(np.moveaxis(scores, 0, 2))  # systems x segments x tables
    n, width, _ = x.shape
    played = np.zeros((n, x.shape[2]), dtype=bool)
    for total in range(1, 2 * n - 2):
        i = np.arange(max(0, total - n + 1), (total + 1) // 2)
        j = total - i
        result = score_results(x[i], x[j], 0.0)
        present = ~np.isnan(result)
        if second:
            result[result == 0] = -1
        ties = ((result == 0) & present).any(axis=(0, 2)).tolist()
        weight = None if present.all() else present.astype(np.float64)
        result[~present] = 0
        both = np.stack([i, j])
        own = state[:, both]  # numbers x 2 x pairs x tables
        for s in range(width):
            update(own, result[:, s], None if weight is None else weight[:, s], ties[s])
        state[:, both] = own
        met = present.any(axis=1)
        played[i] |= met
        played[j] |= met
    return played
