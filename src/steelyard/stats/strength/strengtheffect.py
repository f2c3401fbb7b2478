r"""Design effect of a log of battles: what it changes that battles share a prompt.

A battle moves the gap of two strengths by what its outcome was beyond what was expected, times the
inverse information. The variance of the gap from sums of these moves by unit, over the variance
from single battles, is its design effect; the median over all pairs of systems is that of the log.
"""

from __future__ import annotations

import math

import numpy as np

from steelyard.core.options import check_fraction
from steelyard.stats.arrays import Floats, ratio
from steelyard.stats.permutation.pvalues import pair_index
from steelyard.stats.resampling.bootstrap import row_medians
from steelyard.stats.resampling.design_effect import DesignEffect, jackknife_reach, spaced
from steelyard.stats.strength.battlelog import UnitCounts
from steelyard.stats.strength.bradleyterry import MOST_DENSE, bradley_terry_pairs
from steelyard.stats.strength.sandwich import information_inverse, pull_weights

_CELLS = 4_000_000  # moves of pairs by unit held at a time
_ROUNDING = 1e-12  # a ratio below this is nothing but rounding
_TIES = "half"  # ties say something here, whatever the ranking makes of them


def strength_effect(units: UnitCounts, *, level: float = 0.95) -> DesignEffect:
    """Find the design effect of gaps between Bradley-Terry strengths.

    Parameters
    ----------
    units
        Wins and ties of the pairs that met in each unit.
    level
        Of the interval: a jackknife over units of the logarithm, with a t-distribution.

    Returns
    -------
    DesignEffect
        Of the units with a battle between connected systems. A battle of weight w counts as w
        battles, one that is won in part as so much of a win and of a loss. Undefined (NaN) where
        fewer than two systems are connected, for fewer than two units, and for thousands of
        systems.

    Examples
    --------
    >>> from steelyard.stats.strength.battlelog import Battles
    >>> ones, won = np.ones(6, dtype=np.int64), np.array([1.0, 1, 0, 0, 1, 1])
    >>> log = Battles(0 * ones, ones, won, n=2)
    >>> round(strength_effect(UnitCounts.of(log, np.array([0, 0, 1, 1, 2, 2]))).value, 9)
    2.5
    """
    check_fraction(level=level)
    size = float(units.cells.sum())
    none = DesignEffect(math.nan, math.nan, math.nan, units.n_units, round(size), 0)
    if units.n > MOST_DENSE or units.n_units < 2:
        return none
    table = units.pairs()
    fit = bradley_terry_pairs(table, ties_as=_TIES)
    main = np.array(fit.main, dtype=np.int64)
    if len(main) < 2:
        return none
    inverse = information_inverse(
        fit.log_strength[main], table.tables().within(fit.main), _TIES, 0.0
    )
    moves = inverse @ pull_weights(fit, units.i, units.j, _TIES)[main].toarray()
    i, j = pair_index(len(main))
    most = max(1, _CELLS // max(units.n_units, moves.shape[1]))
    i, j = spaced(i, most), spaced(j, most)
    gaps = moves[i] - moves[j]
    inside = np.tile(np.isin(units.i, main) & np.isin(units.j, main), 3)
    sizes: Floats = np.asarray(units.cells.T @ inside.astype(np.float64))
    cells, sizes = units.cells[:, sizes > 0].astype(np.float64), sizes[sizes > 0]
    g, size = len(sizes), float(sizes.sum())
    if g < 2 or size <= 1:
        return none
    whole: Floats = np.asarray(gaps @ cells) ** 2
    alone: Floats = np.asarray((gaps * gaps) @ cells)
    total = alone.sum(axis=1)
    moved = total > _ROUNDING * total.max(initial=0.0)  # gaps that no battle moves have no variance
    whole, alone = whole[moved], alone[moved]
    scale = (size - 1) / size * g / (g - 1)
    value = scale * ratio(whole.sum(axis=1), alone.sum(axis=1))
    value = value[value > _ROUNDING]
    if not value.size:
        return none
    rest = [total.sum(axis=1, keepdims=True) - total for total in (whole, alone)]
    with np.errstate(divide="ignore", invalid="ignore"):
        without = np.log(row_medians(np.where(rest[1] > 0, rest[0] / rest[1], np.nan).T))
    middle, reach = float(np.median(value)), jackknife_reach(without, sizes, level)
    ends = middle * math.exp(-reach), middle * math.exp(reach)
    return DesignEffect(middle, *ends, g, round(size), len(value))
