"""How far a judge agrees with people in parts of the data: domains, languages, kinds of task."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from steelyard.data.judgements import Codes, encode
from steelyard.data.verdicts import MISSING, UNPARSED, Opinion, Verdicts
from steelyard.stats.arrays import Floats, group_sums
from steelyard.stats.distributions import stdtr
from steelyard.stats.estimate import Estimate, mean_estimate, share_estimate, symmetric, undefined
from steelyard.stats.paired.corrections import adjust

FEWEST = 10  # rows of a slice below which nothing is said
_FEWEST_UNITS = 5  # of rows that are independent, in a slice and outside, below which no test is


@dataclass(frozen=True, slots=True)
class SliceAgreement:
    """How far a judge agrees in a slice, and how much further than in the rest.

    Agreement is the share of equal labels; of scores without labels minus the mean distance.
    """

    name: str
    value: str
    agreement: Estimate
    beyond: Estimate
    p: float
    p_adjusted: float

    def to_dict(self) -> dict[str, Any]:
        """Give what ``--json`` prints."""
        return {
            "name": self.name,
            "value": self.value,
            "agreement": self.agreement.to_dict(),
            "beyond_the_rest": self.beyond.to_dict(),
            "p": self.p,
            "p_adjusted": self.p_adjusted,
        }


def agreement_by_slice(
    verdicts: Verdicts,
    people: Opinion,
    judge: Opinion,
    slices: Mapping[str, tuple[str, ...]],
    level: float,
) -> tuple[SliceAgreement, ...]:
    """Measure agreement in every slice, and test it against the rest; p by Holm over all slices."""
    score = alike(people, judge, verdicts.people_shares())
    known = ~np.isnan(score)
    binary = bool(np.isin(score[known], (0.0, 1.0)).all())
    found: list[tuple[str, str, Estimate, Estimate, float]] = []
    for name, words in slices.items():
        values, code = encode(words)
        for place, value in enumerate(values):
            inside = known & (code == place)
            if inside.sum() < FEWEST:
                continue
            unit = None if verdicts.unit is None else verdicts.unit[inside]
            own = (share_estimate(score[inside], unit, level) if binary
                   else mean_estimate(score[inside], unit, level))  # fmt: skip
            beyond, p = _against_rest(score, inside, known, verdicts.unit, level)
            found.append((name, value, own, beyond, p))
    tested = np.array([p for *_, p in found])
    some = ~np.isnan(tested)
    adjusted = np.full(len(tested), np.nan)
    if some.any():
        adjusted[some] = adjust(tested[some])
    return tuple(
        SliceAgreement(name, value, own, beyond, p, float(both))
        for (name, value, own, beyond, p), both in zip(found, adjusted, strict=True)
    )


def alike(people: Opinion, judge: Opinion, shares: Floats) -> Floats:
    """Give how far a judge agrees on each row: 1 or 0 of labels, minus the distance of scores.

    ``shares`` are people's labels: where raters are split, a label of theirs is right in part. What
    can't be understood is wrong; NaN where either says nothing.

    Examples
    --------
    >>> one = Opinion("people", np.array([0.0, 1, 1]), np.array([0, 1, 1], np.int32))
    >>> other = Opinion("gpt", np.array([0.0, 0, np.nan]), np.array([0, 0, -2], np.int32))
    >>> alike(one, other, np.array([[1.0, 0], [0, 1], [0, 1]])).tolist()
    [1.0, 0.0, 0.0]
    """
    labelled = shares.sum(axis=1) > 0
    if judge.label is None or not (labelled.any() and judge.categorical):
        return -np.abs(judge.value - people.value)
    same = shares[np.arange(len(shares)), np.maximum(judge.label, 0)]
    return np.where(~labelled | (judge.label == MISSING), np.nan,
                    np.where(judge.label == UNPARSED, 0.0, same))  # fmt: skip


def _against_rest(
    score: Floats, inside: Any, known: Any, unit: Codes | None, level: float
) -> tuple[Estimate, float]:
    """Give agreement inside minus outside, with errors by unit, and the two-sided p.

    Errors are those of rows that agree as all do: a slice in which all verdicts are right has none
    of its own.
    """
    rest = known & ~inside
    n, others = int(inside.sum()), int(rest.sum())
    if others < FEWEST:
        return undefined("no rest to compare with", n), float("nan")
    value = float(score[inside].mean() - score[rest].mean())
    off = score - score[known].mean()
    adds = np.where(inside, off / n, np.where(rest, -off / others, 0.0))[known]
    codes = np.arange(len(adds)) if unit is None else np.unique(unit[known], return_inverse=True)[1]
    groups = int(codes.max()) + 1
    sums = group_sums(codes, adds, groups)
    fewest = min(len(np.unique(codes[inside[known]])), len(np.unique(codes[rest[known]])))
    se = float(np.sqrt(sums @ sums * groups / max(groups - 1, 1)))
    if fewest < _FEWEST_UNITS:
        return Estimate(value, n=n, why=f"{fewest} units: too few for a test"), float("nan")
    if not se > 0:
        return Estimate(value, n=n, why="no interval: nothing varies"), float("nan")
    p = 2 * float(stdtr(fewest - 1, -abs(value) / se))
    return symmetric(value, se, n, level, fewest - 1), p
