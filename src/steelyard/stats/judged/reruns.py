"""The same row judged again: by the same judge, or by its next version."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steelyard.core.errors import ShapeError
from steelyard.stats.arrays import Floats
from steelyard.stats.estimate import Estimate, undefined
from steelyard.stats.judged.position import bias_p
from steelyard.stats.judged.proportions import with_noise

Codes = NDArray[np.integer]


def self_agreement(runs: Floats, *, unit: Codes | None = None, level: float = 0.95) -> Estimate:
    """Give how often two runs of a judge on a row say the same.

    Of a row judged r times, n of them alike, the share of equal pairs is sum n (n - 1) / r (r - 1);
    the result is the mean over rows judged twice or more.

    Parameters
    ----------
    runs
        Runs x rows: numbers, or codes as numbers; NaN where a run has none.

    Examples
    --------
    >>> self_agreement(np.array([[1.0, 2, 3], [1.0, 2, 4], [1.0, 3, np.nan]])).value
    0.4444444444444444
    """
    if runs.ndim != 2:
        raise ShapeError(f"runs x rows, got {runs.shape}")
    r = (~np.isnan(runs)).sum(axis=0)
    again = r > 1
    if not again.any():
        return undefined("no row was judged twice")
    own = np.sort(runs[:, again], axis=0)  # NaN last
    alike = np.zeros(own.shape[1])
    for first in range(len(own)):
        for second in range(first + 1, len(own)):
            alike += own[first] == own[second]
    n = r[again]
    share = alike / (n * (n - 1) / 2)
    value = float(share.mean())
    own_unit = None if unit is None else unit[again]
    return with_noise(value, share - value, own_unit, level, least=0.0, most=1.0)


@dataclass(frozen=True, slots=True)
class Drift:
    """What changed from one judge to the next on the same rows.

    ``gained`` rows are right now and were wrong, ``lost`` the other way; ``difference`` is that of
    the shares of right verdicts, new minus old; ``changed`` the share of verdicts that differ.
    """

    gained: int
    lost: int
    p: float
    difference: Estimate
    changed: Estimate

    def to_dict(self) -> dict[str, Any]:
        """Give what ``--json`` prints."""
        return {
            "gained": self.gained,
            "lost": self.lost,
            "p": self.p,
            "difference": self.difference.to_dict(),
            "changed": self.changed.to_dict(),
        }


def drift(
    human: Codes, old: Codes, new: Codes, *, unit: Codes | None = None, level: float = 0.95
) -> Drift:
    """Compare two judges with people on the same rows: exact McNemar, and the paired difference.

    Where rows share units, the p-value is of t with the error by unit instead.
    Labels are codes, -1 where nothing was said; -2, not understood, is wrong. Verdicts that differ
    are counted on all rows that both judged, right ones on those with a label.

    Examples
    --------
    >>> found = drift(np.array([0, 0, 1, 1, -1]), np.array([0, 1, 0, 1, 0]),
    ...               np.array([0, 0, 1, 1, 1]))
    >>> found.gained, found.lost, found.difference.value, found.changed.value
    (2, 0, 0.5, 0.6)
    """
    if not human.shape == old.shape == new.shape:
        raise ShapeError(f"shapes {human.shape}, {old.shape} and {new.shape} differ")
    both = (old != -1) & (new != -1)
    if not both.any():
        nothing = undefined("no row that both judged")
        return Drift(0, 0, float("nan"), nothing, nothing)
    differ = (old[both] != new[both]).astype(np.float64)
    changed = with_noise(
        float(differ.mean()),
        differ - differ.mean(),
        None if unit is None else unit[both],
        level,
        least=0.0,
        most=1.0,
    )
    rows = both & (human >= 0)
    if not rows.any():
        return Drift(0, 0, float("nan"), undefined("no row of both has a label"), changed)
    was, now = (x[rows] == human[rows] for x in (old, new))
    step = now.astype(np.float64) - was
    gained, lost = int((step > 0).sum()), int((step < 0).sum())
    own = None if unit is None else unit[rows]
    difference = with_noise(float(step.mean()), step - step.mean(), own, level)
    return Drift(gained, lost, bias_p(step, own), difference, changed)
