"""Three readings of one difference: of means, of medians, and the median of differences.

Proposition 1 of Peyrard et al. (2021): of two systems, the mean prefers the one with the larger
mean, the median the one with the larger median, and Bradley-Terry the one for which the median of
the differences is positive. None of the three implies another. The last equivalence is for scores
without ties: Bradley-Terry asks for more wins than losses, the median of differences for wins on
more than half of all segments, so that it is 0 where ties and losses make up half.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from steelyard.core.text import listed
from steelyard.stats.arrays import Floats, beyond_rounding
from steelyard.stats.resampling import bootstrap
from steelyard.stats.resampling.bootstrap import bootstrap_medians

_CELLS = 4_000_000  # resampled segments held at a time
_DRAWS = 2_000  # resamples that suffice for the intervals of medians

NAMES = ("difference_of_means", "difference_of_medians", "median_of_differences")
_SHOWN = ("means", "medians", "the median of differences")


@dataclass(frozen=True, slots=True)
class Reading:
    """A difference with its interval, NaN where there is none."""

    value: float
    ci: tuple[float, float]

    @property
    def clear(self) -> bool:
        """Whether the interval leaves 0 out."""
        return self.ci[0] > 0 or self.ci[1] < 0

    def to_dict(self) -> dict[str, Any]:
        """Give what ``--json`` prints."""
        return {"value": self.value, "ci": list(self.ci)}


@dataclass(frozen=True, slots=True)
class Readings:
    """The readings in the order of :data:`NAMES`, and what is said where they disagree."""

    of: tuple[Reading, Reading, Reading]
    sentence: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Give what ``--json`` prints."""
        found = {name: one.to_dict() for name, one in zip(NAMES, self.of, strict=True)}
        return {**found, "disagree": bool(self.sentence)}


def read_difference(
    both: Floats, means: Reading, counts: Floats, level: float, sign: float
) -> Readings:
    """Take the medians beside the difference of means, which is known already.

    Parameters
    ----------
    both
        Two systems x segments, none missing, more is better.
    means
        The difference of the means, in the score's own numbers.
    counts
        How often each segment occurs in each resample; the first 2,000 resamples are used.
    level
        What to ask of the intervals; NaN where there are none.
    sign
        -1 where less is better: differences are turned back.
    """
    rows = np.stack([both[0], both[1], both[0] - both[1]])
    middle = bootstrap.row_medians(rows)
    apart = np.array([middle[0] - middle[1], middle[2]])
    values = beyond_rounding(apart, float(np.abs(both).max()))  # rounding prefers nobody
    ends = np.full((2, 2), np.nan)
    if not np.isnan(level):
        drawn = _medians(rows, counts[:_DRAWS])
        replicates = np.stack([drawn[:, 0] - drawn[:, 1], drawn[:, 2]], axis=1)
        ends = np.stack(bootstrap.interval(replicates, level))
    if sign < 0:
        values, ends = 0.0 - values, 0.0 - ends[::-1]
    found = [
        Reading(float(v) + 0.0, (float(low), float(high)))
        for v, low, high in zip(values, *ends, strict=True)
    ]
    return Readings((means, found[0], found[1]))


def _medians(rows: Floats, counts: Floats) -> Floats:
    step = max(1, _CELLS // rows.shape[1])
    parts = range(0, len(counts), step)
    return np.concatenate([bootstrap_medians(rows, counts[k : k + step]) for k in parts])


def where_readings_disagree(
    readings: Sequence[Reading], pair: tuple[str, str], *, higher_is_better: bool
) -> str:
    """Say which reading prefers which system, if two of them prefer different ones.

    Examples
    --------
    >>> one, two = Reading(0.5, (0.1, 0.9)), Reading(-0.2, (-0.5, 0.1))
    >>> where_readings_disagree([one, two, two], ("A", "B"), higher_is_better=True)
    'Means prefer A; medians and the median of differences prefer B (clear of 0: means).'
    >>> where_readings_disagree([one, one, Reading(0, (0, 0))], ("A", "B"), higher_is_better=True)
    ''
    """
    sides: dict[str, list[str]] = {name: [] for name in pair}
    for what, one in zip(_SHOWN, readings, strict=True):
        if one.value > 0 or one.value < 0:
            sides[pair[0] if (one.value > 0) == higher_is_better else pair[1]].append(what)
    if not all(sides.values()):
        return ""
    told = [
        f"{listed(own, last=' and ')} prefer{'s' if own == [_SHOWN[2]] else ''} {name}"
        for name, own in sorted(sides.items(), key=lambda side: _SHOWN.index(side[1][0]))
    ]
    sure = [what for what, one in zip(_SHOWN, readings, strict=True) if one.clear]
    clear = f"clear of 0: {', '.join(sure)}" if sure else "none is clear of 0"
    text = "; ".join(told)
    return f"{text[0].upper()}{text[1:]} ({clear})."
