"""How rows were chosen for labelling, and the mean that fits it: the estimator matters less."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from steelyard.core.errors import UsageError, hint
from steelyard.core.text import plural
from steelyard.data.judgements import Codes, encode
from steelyard.data.verdicts import Opinion, Verdicts
from steelyard.judging.options import ReadOptions
from steelyard.stats.arrays import Floats
from steelyard.stats.estimate import Estimate, critical
from steelyard.stats.prediction_powered.mean import (
    FEWEST,
    Corrected,
    corrected_mean,
    stratified_mean,
    weighted_mean,
    with_every_verdict,
)

RANDOM, UNKNOWN, BY, PROBABILITY = "random", "unknown", "by", "probability"
_MOST_STRATA = 50
VERDICT = "verdict"  # by:verdict is by what the judge said
_HOW = "random, by:COLUMN, by:verdict, probability:COLUMN or unknown"


@dataclass(frozen=True, slots=True)
class Asked:
    """What was said of labels: how they were chosen, and by which column."""

    kind: str
    column: str | None = None

    @classmethod
    def parse(cls, text: str) -> Asked:
        """Read ``random``, ``by:COLUMN`` and so on.

        Examples
        --------
        >>> Asked.parse("by:domain"), Asked.parse("unknown").column
        (Asked(kind='by', column='domain'), None)
        >>> Asked.parse("by")
        Traceback (most recent call last):
        steelyard.core.errors.UsageError: labels 'by': expected random, by:COLUMN, by:verdict, ...
        """
        kind, colon, column = text.partition(":")
        with_column = kind in (BY, PROBABILITY)
        if kind not in (RANDOM, UNKNOWN, BY, PROBABILITY) or with_column != bool(column):
            raise UsageError(f"labels '{text}': expected {_HOW}")
        if colon and not with_column:
            raise UsageError(f"labels '{text}': '{kind}' has no column")
        return cls(kind, column or None)


@dataclass(frozen=True, slots=True, eq=False)
class Choice:
    """How rows were chosen: strata, or probabilities, where these are told; a value per row."""

    kind: str
    stratum: Codes | None = None
    strata: tuple[str, ...] = ()
    probability: Floats | None = None

    @property
    def at_random(self) -> bool:
        """Whether labels are taken for a random sample of all rows."""
        return self.kind in (RANDOM, UNKNOWN)

    def mean(
        self,
        human: Floats,
        judge: Floats,
        rows: Any,
        *,
        unit: Codes | None,
        level: float,
        population: str,
    ) -> Corrected:
        """Correct the mean of some rows: numbers of people and of the judge are of these rows."""
        if self.stratum is not None:
            return stratified_mean(
                human, judge, self.stratum[rows], names=self.strata, unit=unit, level=level
            )
        if self.probability is not None:
            return self._weighted(human, judge, rows, unit, level)
        return corrected_mean(human, judge, unit=unit, level=level, population=population)

    def _weighted(
        self, human: Floats, judge: Floats, rows: Any, unit: Codes | None, level: float
    ) -> Corrected:
        """Weigh by probabilities, after the judge's mean was taken off both.

        The mean of the judge knows no labels, so that this changes nothing but the noise: sums over
        probabilities have that of all that stands far from nought.
        """
        assert self.probability is not None
        n = int((~np.isnan(human)).sum())
        if n < FEWEST:
            # With fewer, the weight fits the labels so well that no spread is left for an interval.
            raise UsageError(
                f"{plural(n, 'label')} chosen with known probabilities, expected {FEWEST} or more"
            )
        off = float(with_every_verdict(judge).mean())
        found = weighted_mean(
            human - off, judge - off, self.probability[rows], unit=unit, level=level
        )
        return replace(
            found,
            estimate=_moved(_of_few(found.estimate, level), off),
            people=_moved(found.people, off),
            judge=found.judge + off,
        )


def _of_few(own: Estimate, level: float) -> Estimate:
    """Widen an interval by what the weight, which was fitted to few labels, hides."""
    if not own.bounded:
        return own
    se = own.se * math.sqrt(own.n / (own.n - 2))
    reach = max(se * critical(level, own.n - 2), (own.high - own.low) / 2)
    return Estimate(own.value, own.value - reach, own.value + reach, se, own.n, own.why)


def _moved(own: Estimate, by: float) -> Estimate:
    return Estimate(own.value + by, own.low + by, own.high + by, own.se, own.n, own.why)


def choice_of(
    asked: Asked, verdicts: Verdicts, judge: Opinion, strata: Sequence[str] | None = None
) -> Choice:
    """Find strata, or probabilities, of the rows; ``strata`` are words by row that were read."""
    if asked.kind == PROBABILITY:
        if verdicts.probability is None:
            raise UsageError(f"labels: no column '{asked.column}' of probabilities")
        return Choice(asked.kind, probability=verdicts.probability)
    if asked.kind != BY:
        return Choice(asked.kind)
    words = strata or words_of(asked.column or "", verdicts, judge)
    if words is None:
        known = [VERDICT, *verdicts.slices, *verdicts.covariates]
        raise UsageError(f"labels: no column '{asked.column}'; {hint(asked.column or '', known)}")
    names, codes = encode([str(word) for word in words])
    if len(names) > _MOST_STRATA:
        raise UsageError(
            f"labels: '{asked.column}' has {len(names):,} values, too many to be strata (at most "
            f"{_MOST_STRATA}): a column that says how rows were grouped is needed"
        )
    return Choice(asked.kind, stratum=codes, strata=names)


def words_of(column: str, verdicts: Verdicts, judge: Opinion) -> Sequence[str] | None:
    """Give a column as words, by which rows can be told apart; None where there is none."""
    if column in verdicts.slices:
        return verdicts.slices[column]
    named = {one.name: one for one in verdicts.judges} | {VERDICT: judge, judge.name: judge}
    if column in named:
        return _verdicts_as_words(named[column], verdicts)
    if column in verdicts.covariates:
        return [f"{x:g}" for x in verdicts.covariates[column]]
    if column == "system" and verdicts.left is not None and verdicts.right is None:
        return [verdicts.systems[code] for code in verdicts.left]
    return None


def _verdicts_as_words(own: Opinion, verdicts: Verdicts) -> list[str]:
    if own.label is not None and own.categorical:
        return [verdicts.categories[c] if c >= 0 else "none" for c in own.label]
    return [f"{x:g}" for x in own.value]


def needs_column(asked: Asked, verdicts: Verdicts, judge: Opinion, options: ReadOptions) -> bool:
    """Tell whether a column of strata was not read: of numbers, only those that are named are."""
    if asked.kind != BY or asked.column is None:
        return False
    known = words_of(asked.column, verdicts, judge) is not None
    return not known and asked.column not in (options.covariates or ())
