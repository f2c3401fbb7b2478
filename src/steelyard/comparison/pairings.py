"""The scores of two systems, paired in other ways: why distributions alone do not tell who wins."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from steelyard.comparison.twosystems import TwoSystems
from steelyard.stats.paired.arrangements import Arrangement, rearranged, win_range

_DIFFERENCES = ("difference_of_means", "difference_of_medians", "median_of_differences")


@dataclass(frozen=True, slots=True)
class Pairings:
    """What the same two distributions of scores would say if they were paired in other ways.

    Differences are in the numbers of the score itself; ``wins`` are the fewest and the most
    segments that the first system could win with these scores.
    """

    ways: tuple[Arrangement, ...]
    wins: tuple[int, int]

    def to_dict(self) -> dict[str, Any]:
        """Give what ``--json`` prints."""
        return {"ways": [asdict(way) for way in self.ways], "possible_wins": list(self.wins)}


def pair_otherwise(two: TwoSystems, rng: np.random.Generator) -> Pairings:
    """Pair the scores of two systems as they are, independently, sorted and reversed."""
    found = []
    a, b = two.both
    for way in rearranged(a, b, rng):
        own = asdict(way)
        own |= {name: two.sign * own[name] + 0.0 for name in _DIFFERENCES}
        found.append(Arrangement(**own))
    return Pairings(tuple(found), win_range(a, b))
