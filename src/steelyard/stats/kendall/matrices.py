"""Kendall's family: what a tie is worth, as a matrix.

Each variant says what every combination of human and metric order counts: 1 agrees, -1 disagrees, 0
counts in the denominator only, None leaves the pair out. The value is their sum over their number.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from steelyard.core import bounds
from steelyard.core.errors import UsageError, hint
from steelyard.stats.arrays import Floats, ratio
from steelyard.stats.kendall.counting import PairCounts

Worth = float | None


@dataclass(frozen=True, slots=True)
class TieMatrix:
    """What pairs are worth: both orders clear (same or opposite), or tied by one side or both."""

    same: Worth = 1
    opposite: Worth = -1
    metric_tie: Worth = None
    human_tie: Worth = None
    both_tie: Worth = None

    def __post_init__(self) -> None:
        bounds.number(optional=True, same=self.same, opposite=self.opposite,
                      metric_tie=self.metric_tie, human_tie=self.human_tie,
                      both_tie=self.both_tie)  # fmt: skip

    def value(self, counts: PairCounts) -> Floats:
        """Evaluate every group; NaN where no pair takes part.

        Examples
        --------
        >>> import numpy as np
        >>> one = lambda n: np.array([n])
        >>> counts = PairCounts(one(80), one(0), one(0), one(20), one(0))
        >>> KENDALL["kendall-soft"].value(counts).tolist()
        [0.8]
        """
        parts = (
            (self.same, counts.concordant),
            (self.opposite, counts.discordant),
            (self.metric_tie, counts.metric_ties),
            (self.human_tie, counts.human_ties),
            (self.both_tie, counts.both_ties),
        )
        top = sum((w * n for w, n in parts if w is not None), start=np.zeros(()))
        pairs = sum((n for w, n in parts if w is not None), start=np.zeros((), dtype=np.int64))
        return ratio(top, pairs)


#: The variants that the WMT tasks used or that were proposed for them, by the names of the options.
KENDALL: Mapping[str, TieMatrix] = {
    "kendall-no-tie-penalty": TieMatrix(),
    "kendall-soft": TieMatrix(metric_tie=0),
    "kendall-hard": TieMatrix(metric_tie=-1),
    "kendall-human-ties": TieMatrix(metric_tie=0, human_tie=0, both_tie=1),
    "kendall-human-ties-error": TieMatrix(metric_tie=0, human_tie=0, both_tie=-1),
    "kendall-10": TieMatrix(metric_tie=-1),
    "kendall-13": TieMatrix(),
    "kendall-14": TieMatrix(metric_tie=0),
    "tau-eq": TieMatrix(metric_tie=-1, human_tie=-1, both_tie=1),
    "acc-eq": TieMatrix(opposite=0, metric_tie=0, human_tie=0, both_tie=1),
}


def matrix(name: str) -> TieMatrix:
    """Give a variant by name."""
    bounds.text(name=name)
    if name not in KENDALL:
        raise UsageError(f"no Kendall variant '{name}'; {hint(name, KENDALL)}")
    return KENDALL[name]
