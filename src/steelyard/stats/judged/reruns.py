"""The same row judged again: by the same judge, or by its next version."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from steelyard.stats.arrays import Floats
from steelyard.stats.estimate import Codes, Estimate, mean_estimate, undefined
from steelyard.stats.judged.bias import side_p


def self_agreement(runs: Floats, *, unit: Codes | None = None, level: float = 0.95) -> Estimate:
    """Return how often two runs of a judge on a row say the same, from runs x rows.

    The mean over rows judged twice or more of the share of equal pairs; NaN is a missing run.
    """
    n_runs = (~np.isnan(runs)).sum(axis=0)
    repeated = n_runs > 1
    if not repeated.any():
        return undefined("no row was judged twice")
    runs, n_runs = runs[:, repeated], n_runs[repeated]
    first, second = np.triu_indices(len(runs), 1)
    alike = (runs[first] == runs[second]).sum(axis=0)
    units = None if unit is None else unit[repeated]
    return mean_estimate(alike / (n_runs * (n_runs - 1) / 2), units, level, (0.0, 1.0))


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
        """Return what ``--json`` prints."""
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

    Where rows share units, the p-value is of t with the error by unit instead. Labels are codes, -1
    where there is none; -2, not understood, is wrong. Verdicts that differ are counted on all rows
    that both judged, right ones on those with a label.
    """
    both = (old != -1) & (new != -1)
    if not both.any():
        nothing = undefined("no row that both judged")
        return Drift(0, 0, float("nan"), nothing, nothing)
    differ = (old[both] != new[both]).astype(np.float64)
    changed = mean_estimate(differ, None if unit is None else unit[both], level, (0.0, 1.0))
    rows = both & (human >= 0)
    if not rows.any():
        return Drift(0, 0, float("nan"), undefined("no row of both has a label"), changed)
    step = (new[rows] == human[rows]).astype(np.float64) - (old[rows] == human[rows])
    units = None if unit is None else unit[rows]
    return Drift(
        gained=int((step > 0).sum()),
        lost=int((step < 0).sum()),
        p=side_p(step, units),
        difference=mean_estimate(step, units, level),
        changed=changed,
    )
