"""What becomes of ties where strengths are fitted: a choice, and a named one.

* ``half``: half a win for either side;
* ``drop``: left out;
* ``davidson``, ``rao-kupper``: outcomes of their own (:mod:`steelyard.stats.strength.tiemodels`);
* ``second``: wins of the later system, as the code of the paired-evaluation paper has it. The order
  of the systems then matters; it is here to reproduce that paper.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from steelyard.stats.arrays import Floats
from steelyard.stats.strength.wins import PairWins

TIES = ("half", "drop", "davidson", "rao-kupper", "second")
TIE_MODELS = ("davidson", "rao-kupper")


def effective_wins(pairs: PairWins, ties_as: str) -> PairWins:
    """Apply a treatment of ties; the models of ties are the only ones that leave any."""
    none = np.zeros_like(pairs.ties)
    if ties_as == "half":
        wins_i, wins_j = pairs.wins_i + pairs.ties / 2, pairs.wins_j + pairs.ties / 2
    elif ties_as == "second":
        wins_i, wins_j = pairs.wins_i, pairs.wins_j + pairs.ties
    else:
        wins_i, wins_j = pairs.wins_i, pairs.wins_j
    return replace(
        pairs, wins_i=wins_i, wins_j=wins_j, ties=pairs.ties if ties_as in TIE_MODELS else none
    )


def effective_tables(wins: Floats, ties: Floats, ties_as: str) -> tuple[Floats, Floats]:
    """Apply a treatment of ties to tables of systems x systems, as :func:`effective_wins` does."""
    if ties_as in TIE_MODELS:
        return wins, ties
    bonus = {"half": ties / 2, "second": np.tril(ties)}.get(ties_as, 0.0)
    return wins + bonus, np.zeros_like(ties)
