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
    known = people.label >= 0
    human, unit = people.label[known], None if verdicts.unit is None else verdicts.unit[known]
    own = [_right(judge, known, people.label) for judge in members]
    shares = [float(x.mean()) for x in own]
    best = int(np.argmax(shares))
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


def _right(judge: Opinion, known: Any, human: Codes) -> Floats:
    """Give how right a member is on each labelled row: the mean of both orders."""
    assert judge.label is not None
    found: Floats = (judge.label[known] == human[known]).astype(np.float64)
    if judge.other_order is not None:
        found = (found + (judge.other_order[known] == human[known])) / 2
    return found


def _half_right(said: Any, human: Codes) -> Floats:
    found: Floats = np.where(said < 0, 0.5, said == human).astype(np.float64)
    return found


def _mean(values: Floats, unit: Any, level: float) -> Estimate:
    if not len(values):
        return undefined("no labelled row")
    if np.isin(values, (0.0, 1.0)).all():
        return share_by_unit(values, unit, level)
    mean = float(values.mean())
    return with_noise(mean, values - mean, unit, level, least=0.0, most=1.0)
