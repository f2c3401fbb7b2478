"""Judges that know nothing: whoever does not beat them has shown nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from steelyard.data.judgements import Codes
from steelyard.data.verdicts import MISSING, OF_PAIRS, Verdicts
from steelyard.formats.verdicts.read import LENGTH
from steelyard.stats.arrays import Floats

CONSTANT, RANDOM, LONGER, FIRST = "constant", "random", "length", "first"


@dataclass(frozen=True, slots=True)
class Sentinel:
    """How often a judge that knows nothing agrees with people; ``what`` says what it does."""

    name: str
    accuracy: float
    what: str

    def to_dict(self) -> dict[str, Any]:
        """Give what ``--json`` prints."""
        return {"name": self.name, "accuracy": self.accuracy, "what": self.what}


def sentinels(verdicts: Verdicts, labels: Codes | None) -> tuple[Sentinel, ...]:
    """Measure what sentinels would reach on the rows that people labelled, best first.

    ``labels`` are those of the judge, -2 where they are wrong; None where it gives scores.
    """
    people = verdicts.people_shares()
    labelled = people.sum(axis=1) > 0
    if not labelled.any():
        return ()
    k = len(verdicts.categories)
    shares = people[labelled].mean(axis=0)
    most = int(shares.argmax())
    found = [
        Sentinel(
            CONSTANT, float(shares[most]), f"a judge that always says '{verdicts.categories[most]}'"
        )
    ]
    if labels is not None:
        own = labels[labelled & (labels != MISSING)]
        if len(own):
            theirs = np.bincount(own[own >= 0], minlength=k) / len(own)
            what = "its own verdicts in random order"
            found.append(Sentinel(RANDOM, float(shares @ theirs), what))
    if verdicts.kind == "pairs":
        left = float(shares[OF_PAIRS.index("left")])
        found.append(Sentinel(FIRST, left, "a judge that always picks the left one"))
        longer = by_length(verdicts)
        if longer is not None:
            right = _accuracy(people, longer)
            found.append(Sentinel(LONGER, right, "a judge that always picks the longer one"))
    known = [own for own in found if not np.isnan(own.accuracy)]
    return tuple(sorted(known, key=lambda own: (-own.accuracy, own.name)))


def by_length(verdicts: Verdicts) -> Codes | None:
    """Give the verdicts of a judge that prefers what is longer; None where lengths are unknown."""
    length: Floats | None = verdicts.covariates.get(LENGTH)
    if length is None or verdicts.kind != "pairs":
        return None
    side = np.where(length > 0, OF_PAIRS.index("left"), OF_PAIRS.index("right"))
    found = np.where(length == 0, OF_PAIRS.index("tie"), side)
    return np.where(np.isnan(length), MISSING, found).astype(np.int32)


def _accuracy(people: Floats, said: Codes) -> float:
    both = np.flatnonzero((people.sum(axis=1) > 0) & (said >= 0))
    return float(people[both, said[both]].mean()) if len(both) else float("nan")
