"""What a judge says of systems: whether it orders them as people do, and which gaps count."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from steelyard.core.errors import UsageError
from steelyard.data.verdicts import Opinion, Verdicts
from steelyard.stats.arrays import Floats
from steelyard.stats.correlation import cell_pearson
from steelyard.stats.judged.gap import Gap, believable_gap, system_means
from steelyard.stats.metametrics.accuracy import pairwise_accuracy, spa
from steelyard.stats.prediction_powered.strengths import styled_strengths

_LEAST_ITEMS = 2


@dataclass(frozen=True, slots=True, eq=False)
class SystemLevel:
    """How a judge orders systems, beside people.

    ``people`` and ``judge`` are means, or of pairs log-strengths (NaN where not to be had), by
    system; ``mean_people`` and ``mean_judge`` means of points, which the gap is about. ``alike`` is
    the share of pairs of systems in the same order. ``why`` says what is missing, if all is.
    """

    systems: tuple[str, ...]
    people: Floats
    judge: Floats
    mean_people: Floats
    mean_judge: Floats
    alike: float
    n_pairs: int
    spa: float
    correlation: float
    gap: Gap | None
    why: str = ""

    @property
    def median_gap(self) -> float:
        """The median distance of two systems in the judge's score."""
        known = self.mean_judge[~np.isnan(self.mean_judge)]
        one, other = np.triu_indices(len(known), 1)
        return float(np.median(np.abs(known[one] - known[other]))) if len(one) else float("nan")

    def to_dict(self) -> dict[str, Any]:
        """Give what ``--json`` prints."""
        gap = None if self.gap is None else self.gap.gap
        return {
            "n": len(self.systems),
            "spa": self.spa,
            "pa": self.alike,
            "n_pairs": self.n_pairs,
            "pearson": self.correlation,
            "tau": float("nan") if self.gap is None else self.gap.tau,
            "gap": float("nan") if gap is None else gap.value,
            "gap_ci": [gap.low, gap.high] if gap is not None and gap.bounded else None,
            "gap_details": None if self.gap is None else self.gap.to_dict(),
            "median_gap": self.median_gap,
            "why": self.why or None,
        }


def _nothing(systems: tuple[str, ...], why: str) -> SystemLevel:
    nan, none = float("nan"), np.full(len(systems), np.nan)
    return SystemLevel(systems, none, none, none, none, nan, 0, nan, nan, None, why)


def system_level(verdicts: Verdicts, people: Opinion, judge: Opinion) -> SystemLevel:
    """Compare how a judge and people order the systems, on rows that both judged."""
    systems = verdicts.systems
    if verdicts.left is None or not systems:
        return _nothing(systems, "no column says whose outputs were judged")
    if len(systems) < 2:
        return _nothing(systems, "one system: nothing to order")
    both = ~(np.isnan(people.value) | np.isnan(judge.value))
    if not both.any():
        return _nothing(systems, "no row with a number of people and of the judge")
    k = len(systems)
    if verdicts.kind == "pairs" and verdicts.right is not None:
        code = np.concatenate([verdicts.left, verdicts.right])
        human, own = (np.concatenate([x, 1 - x]) for x in (people.value, judge.value))
        unit = None if verdicts.unit is None else np.tile(verdicts.unit, 2)
    else:
        code, human, own, unit = verdicts.left, people.value, judge.value, verdicts.unit
    means = system_means(code, human, own, k, unit)
    theirs, ours = means.human, means.judge
    soft = float("nan")
    if verdicts.kind == "pairs" and verdicts.right is not None:
        theirs, ours = (_strengths(verdicts, x, both) for x in (people.value, judge.value))
    else:
        soft = _soft(verdicts, people.value, judge.value)
    known = ~(np.isnan(theirs) | np.isnan(ours))
    agreed = pairwise_accuracy(theirs[known], ours[known])
    return SystemLevel(
        systems=systems,
        people=theirs,
        judge=ours,
        mean_people=means.human,
        mean_judge=means.judge,
        alike=agreed.value,
        n_pairs=agreed.n_pairs,
        spa=soft,
        correlation=cell_pearson(theirs, ours)[0] if known.sum() > 2 else float("nan"),
        gap=believable_gap(means),
    )


def _strengths(verdicts: Verdicts, points: Floats, both: Any) -> Floats:
    """Give log-strengths; means of points where somebody won, or lost, everything."""
    assert verdicts.left is not None
    assert verdicts.right is not None
    k = len(verdicts.systems)
    left, right, own = verdicts.left[both], verdicts.right[both], points[both]
    met = np.isin(np.arange(k), np.concatenate([left, right]))
    place = np.cumsum(met) - 1
    result = np.full(k, np.nan)
    try:
        found = styled_strengths(place[left], place[right], own, int(met.sum()))
    except UsageError:
        return system_means(np.concatenate([left, right]), *(np.concatenate([own, 1 - own]),) * 2,
                            k).human  # fmt: skip
    result[met] = found.log_strength
    return result


def _soft(verdicts: Verdicts, human: Floats, judge: Floats) -> float:
    """Soft pairwise accuracy over the items on which all systems have both numbers."""
    assert verdicts.left is not None
    shape = (len(verdicts.systems), len(verdicts.items))
    tables = np.full((2, *shape), np.nan)
    tables[0][verdicts.left, verdicts.item] = human
    tables[1][verdicts.left, verdicts.item] = judge
    whole = ~np.isnan(tables).any(axis=(0, 1))
    if whole.sum() < _LEAST_ITEMS or shape[0] < 2:
        return float("nan")
    return float(spa(tables[0][:, whole], tables[1][:, whole]))
