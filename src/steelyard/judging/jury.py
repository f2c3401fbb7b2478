"""All judges as one: whether their vote beats the best of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from steelyard.data.judgements import Codes
from steelyard.data.verdicts import MISSING, Opinion, Verdicts
from steelyard.stats.agreement import label_counts, vote
from steelyard.stats.arrays import Floats
from steelyard.stats.estimate import Estimate, mean_estimate, share_estimate

FEWEST = 3  # judges


@dataclass(frozen=True, slots=True)
class Jury:
    """How often the majority of judges is right.

    A split jury is half right. ``difference`` is the vote minus the best member, whose name is
    ``best``: chosen on the same labels, so that it looks a little better than it is.
    """

    judges: tuple[str, ...]
    vote: Estimate
    best: str
    best_accuracy: Estimate
    difference: Estimate

    def to_dict(self) -> dict[str, Any]:
        """Give what ``--json`` prints."""
        return {
            "judges": list(self.judges),
            "vote": self.vote.to_dict(),
            "best": self.best,
            "best_accuracy": self.best_accuracy.to_dict(),
            "difference": self.difference.to_dict(),
        }


def settled_labels(judge: Opinion) -> Codes:
    """Give labels; of pairs in both orders those that are the same in both."""
    label = judge.label
    if label is None:
        return np.full(len(judge), MISSING, dtype=np.int32)
    if judge.other_order is None:
        return label
    return np.where(label == judge.other_order, label, MISSING).astype(np.int32)


def jury(verdicts: Verdicts, level: float) -> Jury | None:
    """Measure the jury on labelled rows; None with fewer than three judges that give labels."""
    people = verdicts.people()
    members = [judge for judge in verdicts.judges if judge.categorical]
    if len(members) < FEWEST or people.label is None or not people.categorical:
        return None
    votes = vote(label_counts([settled_labels(j) for j in members], len(verdicts.categories)))
    shares = verdicts.people_shares()
    known = shares.sum(axis=1) > 0
    human, unit = shares[known], None if verdicts.unit is None else verdicts.unit[known]
    own = [_right(judge, known, human) for judge in members]
    best = int(np.argmax([float(x.mean()) for x in own]))
    voted = _share_right(votes[known], human, 0.5)
    return Jury(
        judges=tuple(judge.name for judge in members),
        vote=share_estimate(voted, unit, level),
        best=members[best].name,
        best_accuracy=share_estimate(own[best], unit, level),
        difference=mean_estimate(voted - own[best], unit, level),
    )


def _right(judge: Opinion, known: Any, human: Floats) -> Floats:
    """Give how right a member is on each labelled row: the mean of both orders."""
    assert judge.label is not None
    right = _share_right(judge.label[known], human, 0.0)
    if judge.other_order is not None:
        right = (right + _share_right(judge.other_order[known], human, 0.0)) / 2
    return right


def _share_right(said: Any, human: Floats, silent: float) -> Floats:
    """Give the share of people's label that a verdict has, of rows without a verdict ``silent``."""
    rows = np.arange(len(human))
    return np.where(said < 0, silent, human[rows, np.maximum(said, 0)])
