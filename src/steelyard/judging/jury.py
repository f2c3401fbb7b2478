"""All judges as one: whether their vote, or a model of their errors, beats the best of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from steelyard.data.judgements import Codes
from steelyard.data.verdicts import MISSING, Opinion, Verdicts
from steelyard.stats.arrays import Floats
from steelyard.stats.estimate import Estimate, undefined
from steelyard.stats.judged.juries import dawid_skene, vote
from steelyard.stats.judged.proportions import share_by_unit, with_noise

FEWEST = 3  # judges


@dataclass(frozen=True, slots=True)
class Jury:
    """How often the majority of judges, and a model of their errors, are right.

    A split jury is half right. ``difference`` is the vote minus the best member, whose name is
    ``best``: chosen on the same labels, so that it looks a little better than it is.
    """

    judges: tuple[str, ...]
    vote: Estimate
    model: Estimate
    best: str
    best_accuracy: Estimate
    difference: Estimate

    def to_dict(self) -> dict[str, Any]:
        """Give what ``--json`` prints."""
        return {
            "judges": list(self.judges),
            "vote": self.vote.to_dict(),
            "dawid_skene": self.model.to_dict(),
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
    labels = np.stack([settled_labels(judge) for judge in members])
    k = len(verdicts.categories)
    shares = verdicts.people_shares()
    known = shares.sum(axis=1) > 0
    human, unit = shares[known], None if verdicts.unit is None else verdicts.unit[known]
    own = [_right(judge, known, human) for judge in members]
    best = int(np.argmax([float(x.mean()) for x in own]))
    voted = _half_right(vote(labels, k)[known], human)
    modelled = _half_right(dawid_skene(labels, k).labels[known], human)
    step = voted - own[best]
    return Jury(
        judges=tuple(judge.name for judge in members),
        vote=_mean(voted, unit, level),
        model=_mean(modelled, unit, level),
        best=members[best].name,
        best_accuracy=_mean(own[best], unit, level),
        difference=with_noise(float(step.mean()), step - step.mean(), unit, level),
    )


def _right(judge: Opinion, known: Any, human: Floats) -> Floats:
    """Give how right a member is on each labelled row: the mean of both orders."""
    assert judge.label is not None
    right = _share_right(judge.label[known], human, 0.0)
    if judge.other_order is not None:
        right = (right + _share_right(judge.other_order[known], human, 0.0)) / 2
    return right


def _half_right(said: Any, human: Floats) -> Floats:
    return _share_right(said, human, 0.5)


def _share_right(said: Any, human: Floats, silent: float) -> Floats:
    """Give the share of people's label that a verdict has, of rows without a verdict ``silent``."""
    rows = np.arange(len(human))
    return np.where(said < 0, silent, human[rows, np.maximum(said, 0)])


def _mean(values: Floats, unit: Any, level: float) -> Estimate:
    if not len(values):
        return undefined("no labelled row")
    if np.isin(values, (0.0, 1.0)).all():
        return share_by_unit(values, unit, level)
    mean = float(values.mean())
    return with_noise(mean, values - mean, unit, level, least=0.0, most=1.0)
