"""Corrected Bradley-Terry strengths of all systems, and of all differences of two of them."""

from __future__ import annotations

import numpy as np

from steelyard.core.errors import UsageError
from steelyard.core.text import listed
from steelyard.data.verdicts import Verdicts
from steelyard.judging.corrected import CorrectedPair, CorrectedSystem, Parts
from steelyard.stats.arrays import Floats
from steelyard.stats.estimate import Estimate, symmetric, undefined
from steelyard.stats.prediction_powered.mean import Corrected
from steelyard.stats.prediction_powered.strengths import (
    Strengths,
    powered_strengths,
    styled_strengths,
)

STRENGTHS = "strengths"


def corrected_strengths(
    verdicts: Verdicts, human: Floats, judge: Floats, level: float
) -> tuple[Parts, float]:
    """Give systems and pairs by strengths, and the weight of the judge.

    Systems that meet nobody take no part.
    """
    assert verdicts.left is not None
    assert verdicts.right is not None
    usable = verdicts.left != verdicts.right
    met = np.unique(np.concatenate([verdicts.left[usable], verdicts.right[usable]]))
    if len(met) < 2:
        raise UsageError("strengths need battles of two or more systems")
    place = np.full(len(verdicts.systems), -1)
    place[met] = np.arange(len(met))
    left, right = place[verdicts.left[usable]], place[verdicts.right[usable]]
    y, f = human[usable], judge[usable]
    unit = None if verdicts.unit is None else verdicts.unit[usable]
    k = len(met)
    names = tuple(verdicts.systems[code] for code in met)
    found = powered_strengths(left, right, y, f, k, unit=unit)
    freedom = float(max(found.n_units - k, 1))
    people: Strengths | None = None
    why = ""
    try:
        people = powered_strengths(left, right, y, f, k, unit=unit, weight=0.0)
    except UsageError as error:
        why = str(error)
    read, labelled = ~np.isnan(f), ~np.isnan(y)
    alone = _judge_alone(left[read], right[read], f[read], k)
    own = np.bincount(np.concatenate([left[labelled], right[labelled]]), minlength=k)
    judged = np.bincount(np.concatenate([left[read], right[read]]), minlength=k)

    def estimate(of: Strengths | None, axis: Floats, n: int) -> Estimate:
        if of is None:
            return undefined(why, n)
        value, se = float(axis @ of.log_strength), float(np.sqrt(axis @ of.covariance @ axis))
        return symmetric(value, se, n, level, freedom)

    def both(axis: Floats, n: int, n_judged: int) -> Corrected:
        return Corrected(
            estimate(found, axis, n), estimate(people, axis, n), float(axis @ alone),
            found.weight, float("nan"), n, n_judged,
        )  # fmt: skip

    unity = np.eye(k)
    systems = tuple(
        CorrectedSystem(name, both(unity[i], int(own[i]), int(judged[i])))
        for i, name in enumerate(names)
    )
    pairs = tuple(
        CorrectedPair(names[i], names[j], both(unity[i] - unity[j], int(min(own[i], own[j])),
                                               int(min(judged[i], judged[j]))), STRENGTHS)
        for i in range(k) for j in range(i + 1, k)
    )  # fmt: skip
    strength = found.log_strength
    spread = np.diagonal(found.covariance)
    errors = np.sqrt(np.maximum(spread[:, None] + spread - 2 * found.covariance, 0.0))
    unlabelled = [names[i] for i in range(k) if not own[i]]
    notes: tuple[str, ...] = ()
    if unlabelled:
        notes = (f"no labelled battle of {listed(unlabelled)}: its strength is the judge's",)
    parts = Parts(systems, pairs, found.covariance, strength[:, None] - strength,
                  errors, np.full((k, k), freedom), notes)  # fmt: skip
    return parts, found.weight


def _judge_alone(left: Floats, right: Floats, judge: Floats, k: int) -> Floats:
    """Give the strengths by the judge; NaN where somebody wins, or loses, everything."""
    try:
        return styled_strengths(left.astype(int), right.astype(int), judge, k).log_strength
    except UsageError:
        return np.full(k, np.nan)
