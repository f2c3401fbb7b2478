"""Corrected means of all systems, and of all differences of two of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from steelyard.core.errors import UsageError
from steelyard.data.judgements import Codes
from steelyard.data.verdicts import Verdicts
from steelyard.judging.corrected import CorrectedPair, CorrectedSystem, Parts
from steelyard.judging.labelchoice import BY, PROBABILITY, Choice
from steelyard.stats.arrays import Floats
from steelyard.stats.estimate import Estimate, symmetric, undefined
from steelyard.stats.prediction_powered.mean import (
    FEWEST,
    Corrected,
    joint_covariance,
    mean_verdict,
)

SAME_ITEMS, COVARIANCE, BATTLES = "the same items", "both means", "battles of the two"
_MOST_PAIRED = 60  # systems up to which every pair gets an estimate of its own


@dataclass(frozen=True, slots=True, eq=False)
class Own:
    """The rows of one system, from its side: what people and the judge gave it."""

    rows: Any
    human: Floats
    judge: Floats


@dataclass(frozen=True, slots=True, eq=False)
class Meaner:
    """Means of rows by people, as labels that were chosen somehow correct the judge's."""

    verdicts: Verdicts
    human: Floats
    judge: Floats
    choice: Choice
    level: float
    population: str

    def own(self, system: int) -> Own:
        """Take the rows of a system; of pairs those on either side."""
        v = self.verdicts
        assert v.left is not None
        left = np.flatnonzero(v.left == system)
        if v.right is None:
            return Own(left, self.human[left], self.judge[left])
        right = np.flatnonzero((v.right == system) & (v.left != system))
        return Own(
            np.concatenate([left, right]),
            np.concatenate([self.human[left], 1 - self.human[right]]),
            np.concatenate([self.judge[left], 1 - self.judge[right]]),
        )

    def unit(self, rows: Any) -> Codes | None:
        """Give what these rows share; None where each is alone."""
        own = None if self.verdicts.unit is None else self.verdicts.unit[rows]
        return None if own is None or len(np.unique(own)) == len(own) else own

    def mean(self, own: Own) -> Corrected:
        """Correct a mean."""
        return self.choice.mean(
            own.human, own.judge, own.rows, unit=self.unit(own.rows), level=self.level,
            population=self.population,
        )  # fmt: skip

    def overall(self) -> Corrected:
        """Correct the mean of all rows."""
        return self.mean(Own(np.arange(len(self.verdicts)), self.human, self.judge))

    def systems(self) -> Parts:
        """Correct the means of all systems and their differences."""
        names = self.verdicts.systems
        own = [self.own(place) for place in range(len(names))]
        found = [self._or_why_not(one) for one in own]
        systems = tuple(CorrectedSystem(n, one) for n, one in zip(names, found, strict=True))
        errors = np.array([one.estimate.se if one.estimate.se > 0 else np.nan for one in found])
        units = self.verdicts.unit
        codes = np.arange(len(self.verdicts)) if units is None else units
        covariance = joint_covariance(
            [one.influence for one in found],
            [codes[one.rows] for one in own],
            errors,
        )
        freedom = np.array([self._freedom(one, f) for one, f in zip(own, found, strict=True)])
        return self._with_pairs(systems, own, covariance, freedom)

    def _or_why_not(self, own: Own) -> Corrected:
        """Correct the mean of a system; undefined where it, or a stratum, has too few labels."""
        try:
            return self.mean(own)
        except UsageError as error:
            if self.choice.kind not in (BY, PROBABILITY):
                raise
            judged, labels = (int((~np.isnan(x)).sum()) for x in (own.judge, own.human))
            nothing = undefined(str(error), labels)
            return Corrected(nothing, nothing, mean_verdict(own.judge), 0.0, float("nan"), labels,
                             judged, influence=np.zeros(len(own.rows)))  # fmt: skip

    def _freedom(self, own: Own, found: Corrected) -> float:
        labelled = ~np.isnan(own.human)
        unit = self.unit(own.rows)
        n = found.n_labelled - 2 if unit is None else len(np.unique(unit[labelled])) - 1
        return float(max(n, 1))

    def _with_pairs(
        self, systems: tuple[CorrectedSystem, ...], own: list[Own], covariance: Floats,
        freedom: Floats,
    ) -> Parts:  # fmt: skip
        k = len(systems)
        apart, errors, loose = (np.full((k, k), np.nan) for _ in range(3))
        pairs = []
        for i in range(k):
            for j in range(i + 1, k):
                found = self._paired(own[i], own[j]) if k <= _MOST_PAIRED else None
                how = SAME_ITEMS
                df = float(min(freedom[i], freedom[j]))
                if found is None:
                    how = COVARIANCE
                    error = covariance[i, i] + covariance[j, j] - 2 * covariance[i, j]
                    found = apart_by_both(systems[i].found, systems[j].found, error, df, self.level)
                else:
                    df = float(max(found.n_labelled - 2, 1))
                pair = CorrectedPair(systems[i].system, systems[j].system, found, how)
                pairs.append(pair)
                estimate = found.estimate
                apart[i, j], apart[j, i] = estimate.value, -estimate.value
                errors[i, j] = errors[j, i] = estimate.se
                loose[i, j] = loose[j, i] = df
        np.fill_diagonal(apart, 0.0)
        return Parts(systems, tuple(pairs), covariance, apart, errors, loose)

    def _paired(self, one: Own, other: Own) -> Corrected | None:
        """Correct the mean of differences on the same items; None where few have both labels."""
        v = self.verdicts
        if v.right is not None or self.choice.probability is not None:
            return None
        _, a, b = np.intersect1d(v.item[one.rows], v.item[other.rows], return_indices=True)
        human, judge = one.human[a] - other.human[b], one.judge[a] - other.judge[b]
        both = int((~np.isnan(human)).sum())
        fewer = min(int((~np.isnan(own.human)).sum()) for own in (one, other))
        if both < FEWEST or 2 * both < fewer:
            return None
        choice, rows = self.choice, one.rows[a]
        if choice.kind == BY and choice.stratum is not None:
            # Labels are random among items whose two rows are of the same two strata.
            n = len(choice.strata)
            cells = choice.stratum[rows] * n + choice.stratum[other.rows[b]]
            names = tuple(f"{x} and {y}" for x in choice.strata for y in choice.strata)
            choice = Choice(BY, stratum=cells.astype(np.int32), strata=names)
            try:
                return choice.mean(human, judge, np.arange(len(human)), unit=self.unit(rows),
                                   level=self.level, population=self.population)  # fmt: skip
            except UsageError:
                return None
        return choice.mean(human, judge, rows, unit=self.unit(rows), level=self.level,
                           population=self.population)  # fmt: skip

    def battles(self, one: int, other: int) -> CorrectedPair:
        """Correct the mean of points that one wins beyond the other, in battles of the two."""
        v = self.verdicts
        assert v.left is not None
        assert v.right is not None
        rows = np.flatnonzero(
            ((v.left == one) & (v.right == other)) | ((v.left == other) & (v.right == one))
        )
        if not len(rows):
            nothing = undefined(f"{v.systems[one]} and {v.systems[other]} never met")
            none = Corrected(nothing, nothing, float("nan"), 0.0, float("nan"), 0, 0)
            return CorrectedPair(v.systems[one], v.systems[other], none, BATTLES)
        sign = np.where(v.left[rows] == one, 1.0, -1.0)
        human, judge = (sign * (2 * x[rows] - 1) for x in (self.human, self.judge))
        found = self.mean(Own(rows, human, judge))
        return CorrectedPair(v.systems[one], v.systems[other], found, BATTLES)


def apart_by_both(
    one: Corrected, other: Corrected, variance: float, freedom: float, level: float
) -> Corrected:
    """Give the difference of two corrected means whose covariance is known."""
    n = min(one.n_labelled, other.n_labelled)
    value = one.estimate.value - other.estimate.value
    if np.isnan(value):
        estimate = undefined(one.estimate.why or other.estimate.why, n)
    elif not variance > 0:
        estimate = Estimate(value, n=n, why="no interval: an error of the two is not known")
    else:
        estimate = symmetric(value, float(np.sqrt(variance)), n, level, freedom)
    people = undefined("labels of the two are on different items", n)
    if one.people.known and other.people.known:
        people = Estimate(one.people.value - other.people.value, n=n,
                          why="no interval: labels of the two are on different items")  # fmt: skip
    return Corrected(estimate, people, one.judge - other.judge,
                     (one.weight + other.weight) / 2, float("nan"), n,
                     min(one.n_judged, other.n_judged))  # fmt: skip
