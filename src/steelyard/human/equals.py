"""What people give to outputs that are known to be equal, and how wide a tie of people is hence.

Three things are equal for sure: an output that a rater judged twice, an output that two raters
judged, and two outputs with the same text. The threshold of a tie is the difference that at most 5
% of them reach.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from steelyard.core.errors import UsageError
from steelyard.core.text import plural
from steelyard.data.judgements import Floats, Ratings
from steelyard.human.ordering import outputs
from steelyard.human.outputpairs import Pairs
from steelyard.human.raters import UNKNOWN, opinions
from steelyard.stats.arrays import Counts, pairs_within
from steelyard.stats.spread import SizeCounts

SHARE = 0.05  # of what is equal, that a threshold may call different
FEWEST_PAIRS = 30  # below which no threshold is taken from them
CUSTOMARY = 25.0  # points between 0 and 100, as shared tasks had it
#: What is equal, by what it is called: most like a comparison of two outputs first.
KINDS = {
    "identical": "two systems' outputs with the same text",
    "raters": "one output by two raters",
    "repeats": "one output twice by the same rater",
}


@dataclass(frozen=True, slots=True, eq=False)
class Equals:
    """Differences between numbers that people gave to the same thing, and where each is from.

    ``segment``, ``rater`` and, where two raters differ, ``other`` are codes of the ratings or the
    set that they are from.
    """

    kind: str
    difference: Floats
    segment: Counts
    rater: Counts | None = None
    other: Counts | None = None

    def __len__(self) -> int:
        return len(self.difference)

    @property
    def threshold(self) -> float:
        """The smallest difference that at most 5 % of these reach; NaN where that can't be told."""
        if len(self) < FEWEST_PAIRS:
            return float("nan")
        sizes = SizeCounts.of(self.difference, np.zeros(len(self), dtype=np.int64), 1)
        return float(sizes.thresholds(np.ones((1, 1)), SHARE)[0])


def of_ratings(ratings: Ratings, value: Floats, rows: NDArray[np.bool_]) -> list[Equals]:
    """List what one rater gave to an output twice, and what two raters gave to it."""
    if ratings.raters == (UNKNOWN,):
        kept = np.flatnonzero(rows & ~np.isnan(value))
        one, other = (kept[side] for side in pairs_within(outputs(ratings)[kept]))
        segment = ratings.segment[one].astype(np.int64)
        return [Equals("raters", value[one] - value[other], segment)]
    kept = np.flatnonzero(rows & ~np.isnan(value))
    own = (outputs(ratings) * len(ratings.raters) + ratings.rater)[kept]
    one, other = (kept[side] for side in pairs_within(own))
    repeats = Equals(
        "repeats",
        value[one] - value[other],
        ratings.segment[one].astype(np.int64),
        ratings.rater[one].astype(np.int64),
    )
    found = opinions(ratings, value, rows)
    one, other = pairs_within(found.unit)
    gap = found.value[one] - found.value[other]
    two = Equals("raters", gap, found.segment[one], found.rater[one], found.rater[other])
    return [two, repeats]


def of_pairs(pairs: Pairs) -> list[Equals]:
    """List the differences of identical outputs, as pairs of scores have them."""
    if pairs.identical is None or pairs.decided:
        return []
    same = np.flatnonzero(pairs.identical)
    return [Equals("identical", pairs.gap[same], pairs.segment[same].astype(np.int64))]


def together(parts: Sequence[Equals]) -> list[Equals]:
    """Put differences of several sets together, by kind, in the order of kinds."""
    found = []
    for kind in KINDS:
        own = [part for part in parts if part.kind == kind and len(part)]
        if own:
            gap = np.concatenate([part.difference for part in own])
            found.append(Equals(kind, gap, np.zeros(len(gap), dtype=np.int64)))
    return found


def tie_threshold(parts: Sequence[Equals]) -> tuple[float, str]:
    """Give the width of a tie of people, from what is most like a comparison; and say whence.

    Refused where nothing is known to be equal.
    """
    known = together(parts)
    for one in known:
        if not np.isnan(one.threshold):
            what = f"{plural(len(one), 'pair')} of {KINDS[one.kind]}"
            far = "by so much" if one.threshold > 0 else "at all, so that any difference decides"
            share = f"at most {100 * SHARE:g} % of {what} differ {far}"
            return one.threshold, f"threshold {one.threshold:.4g}: {share}"
    found = ", ".join(f"{len(one):,} of {KINDS[one.kind]}" for one in known) or "none"
    raise UsageError(
        'threshold="auto" is taken from what is known to be equal (identical texts, outputs with '
        f"two raters, repeats): expected at least {FEWEST_PAIRS} pairs that do not all differ "
        f"most, found {found}"
    )
