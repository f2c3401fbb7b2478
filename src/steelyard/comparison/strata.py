"""Two systems on hard and on easy segments: whether the verdict depends on the mix of both.

Difficulty is measured by other systems than the two where there are any. By the two alone it is
weaker: what divides segments then is the sum of the very scores whose difference is looked at, and
of two systems the one whose scores vary more is better on easy segments and worse on hard ones
whatever it is good for, since the covariance of sum and difference is the difference of variances.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from steelyard.comparison.readings import Reading
from steelyard.comparison.scores import LEVEL
from steelyard.comparison.twosystems import TwoSystems
from steelyard.core.text import plural
from steelyard.data.evalset import EvalSet
from steelyard.stats.arrays import Floats
from steelyard.stats.resampling import bootstrap
from steelyard.stats.spread import EASY, HARD, STRATA, difficulty_strata, segment_ease

_FEWEST = 5  # segments of a stratum that are worth a line
_OWN = (
    "by the pair's own mean, for want of other systems, which makes the one whose scores vary more "
    "look better on easy segments"
)


@dataclass(frozen=True, slots=True)
class Stratum:
    """Segments that are about as hard: the difference of the two systems on them, and who wins."""

    name: str
    n_segments: int
    difference: Reading
    wins: int
    ties: int
    losses: int

    def to_dict(self) -> dict[str, Any]:
        """Give what ``--json`` prints."""
        return {
            "stratum": self.name,
            "n_segments": self.n_segments,
            "difference": self.difference.value,
            "ci": list(self.difference.ci),
            "wins": self.wins,
            "ties": self.ties,
            "losses": self.losses,
        }


@dataclass(frozen=True, slots=True)
class Strata:
    """Hard, middle and easy segments, and how the difference on hard ones is another.

    ``others`` are the systems by which difficulty was measured, 0 for the two alone. ``contrast``
    is the difference on hard segments less that on easy ones. ``turns_at`` is the share of hard
    segments among hard and easy ones at which the difference would vanish; NaN if none does.
    """

    strata: tuple[Stratum, ...]
    others: int
    contrast: Reading
    turns_at: float
    sentence: str

    @property
    def measured_by(self) -> str:
        """Say how difficulty was measured."""
        if not self.others:
            return _OWN
        return f"by the mean score of {plural(self.others, 'other system')}"

    def to_dict(self) -> dict[str, Any]:
        """Give what ``--json`` prints."""
        return {
            "measured_by": "others" if self.others else "pair",
            "n_others": self.others,
            "strata": [one.to_dict() for one in self.strata],
            "contrast": self.contrast.to_dict(),
            "turns_at": self.turns_at,
            "sentence": self.sentence or None,
        }


def stratify(es: EvalSet, two: TwoSystems, moved: Floats, counts: Floats) -> Strata | None:
    """Split the segments of two systems by difficulty; None where too few are hard or easy.

    ``moved`` are the differences of the first and the second by segment, more is better, and
    ``counts`` the resamples of the card.
    """
    ease, others = _ease(es, two)
    codes = difficulty_strata(ease)
    if min((codes == k).sum() for k in (HARD, EASY)) < _FEWEST:
        return None
    places = [np.flatnonzero(codes == k) for k in range(len(STRATA))]
    rows = np.stack([np.where(codes == k, moved, np.nan) for k in range(len(STRATA))])
    drawn = bootstrap.bootstrap_means(rows, counts)
    gap = np.subtract(*two.both)
    found = [
        Stratum(
            name,
            len(own),
            _reading(float(moved[own].mean()), drawn[:, k], two, own),
            *(int(side[own].sum()) for side in (gap > 0, gap == 0, gap < 0)),
        )
        for k, (name, own) in enumerate(zip(STRATA, places, strict=True))
        if len(own)
    ]
    hard, easy = (two.sign * found[k].difference.value for k in (0, -1))
    contrast = _reading(
        hard - easy, drawn[:, HARD] - drawn[:, EASY], two, places[HARD], places[EASY]
    )
    turns = easy / (easy - hard) if hard * easy < 0 else math.nan
    result = Strata(tuple(found), others, contrast, turns, "")
    return Strata(tuple(found), others, contrast, turns, _sentence(result, two))


def _ease(es: EvalSet, two: TwoSystems) -> tuple[Floats, int]:
    """Give how easy the segments of a pair are, and how many other systems say so."""
    others = np.delete(es[two.score].oriented, two.rows, axis=0)[:, two.known]
    others = others[~np.isnan(others).all(axis=1)]
    if not len(others):
        return np.asarray(two.both.mean(axis=0)), 0
    return segment_ease(others), len(others)


def _reading(value: float, drawn: Floats, two: TwoSystems, *parts: np.ndarray) -> Reading:
    """Give a difference with its interval over units, in the score's own numbers.

    ``parts`` are the segments that it is made of; the smallest part says how much the interval is
    widened for the number of units, also where these are segments.
    """
    low = high = math.nan
    level = np.max([two.units.level(LEVEL, part) for part in parts])  # NaN where any is
    if not np.isnan(level):
        low, high = (float(end[0]) for end in bootstrap.interval(drawn[:, None], float(level)))
    if two.sign < 0:
        value, low, high = 0.0 - value, 0.0 - high, 0.0 - low
    return Reading(value + 0.0, (low, high))


def _sentence(found: Strata, two: TwoSystems) -> str:
    """Say whether who is better depends on difficulty, as far as intervals tell."""
    hard, easy = found.strata[0], found.strata[-1]

    def ahead(value: float) -> str:
        return two.pair[0] if value * two.sign > 0 else two.pair[1]

    leads = [one.difference.value for one in (hard, easy)]
    weak = "" if found.others else " This is weak evidence: difficulty is the pair's own mean."
    if leads[0] * leads[1] < 0 and hard.difference.clear and easy.difference.clear:
        share = f"{100 * found.turns_at:.0f} %"
        return (
            f"Who is better depends on difficulty: {ahead(leads[0])} on hard segments, "
            f"{ahead(leads[1])} on easy ones; of hard and easy segments together, the mean "
            f"turns where {share} are hard.{weak}"
        )
    lead = float(np.subtract(*two.both.mean(axis=1)))
    wins = sum(one.wins - one.losses for one in found.strata)
    if lead * wins < 0 and any(one.difference.clear for one in found.strata):
        follows = [one.name for one in found.strata if one.difference.value * two.sign * lead > 0]
        counts = [one.name for one in found.strata if (one.wins - one.losses) * wins > 0]
        if follows and counts and set(follows) != set(counts):
            return (
                f"The mean follows the {' and '.join(follows)} segments, the wins the "
                f"{' and '.join(counts)} ones: the mix of both decides.{weak}"
            )
    if found.contrast.clear:
        more = ahead(found.contrast.value)
        return f"{more} gains on the other where segments are hard.{weak}"
    return ""
