"""Systems that are far from all others by their human score (:mod:`steelyard.stats.spread`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from steelyard.core.display import Record, keys
from steelyard.core.text import listed, plural
from steelyard.stats.arrays import Floats
from steelyard.stats.spread import robust_deviations

_LISTED = 5  # names that a sentence lists


@dataclass(frozen=True, slots=True)
class Outliers(Record):
    """Who is outlying by the human score, and what became of them.

    ``deviations`` are distances from the median in robust standard deviations, of the outliers,
    furthest first; ``undefined`` says why the rule has no answer.
    """

    json_keys = keys("systems deviations handling cutoff median scale undefined")
    human: str
    n_systems: int  # that were looked at
    cutoff: float
    handling: str
    median: float
    scale: float
    deviations: dict[str, float]
    undefined: str | None = None

    @property
    def systems(self) -> tuple[str, ...]:
        """Names of the outliers, furthest first."""
        return tuple(self.deviations)

    def sentence(self) -> str:
        """Name the outliers."""
        shown = listed([f"{name} {far:+.1f}" for name, far in self.deviations.items()], _LISTED)
        few = len(self.systems) == 1
        what = "is an outlier" if few else "are outliers"
        return (
            f"{len(self.systems)} of {plural(self.n_systems, 'system')} {what} by {self.human} "
            f"({shown}; robust deviations from the median, beyond {self.cutoff:g})"
        )


@dataclass(frozen=True, slots=True)
class Without(Record):
    """What a metric has without the outlying systems; places are by value, among all metrics."""

    value: float
    rank: int | None
    rank_with: int | None  # its place by value with all systems, to compare with
    n_systems: int | None


def find_outliers(
    human: str, systems: Sequence[str], scores: Floats, *, cutoff: float, handling: str
) -> Outliers:
    """Find the outlying systems among those that take part, by their human scores.

    Examples
    --------
    >>> import numpy as np
    >>> scores = np.array([70.0, 72.0, 71.0, 69.0, 73.0, 20.0])
    >>> found = find_outliers("da", "ABCDEF", scores, cutoff=2.5, handling="both")
    >>> found.sentence()
    '1 of 6 systems is an outlier by da (F -22.7; robust deviations from the median, beyond 2.5)'
    """
    found = robust_deviations(scores, cutoff)
    flags = found.flags
    far = {name: float(found.deviations[i]) for i, name in enumerate(systems) if flags[i]}
    ordered = sorted(far, key=lambda name: (-abs(far[name]), name))
    return Outliers(
        human=human,
        n_systems=len(systems),
        cutoff=cutoff,
        handling=handling,
        median=found.median,
        scale=found.scale,
        deviations={name: far[name] for name in ordered},
        undefined=found.undefined,
    )
