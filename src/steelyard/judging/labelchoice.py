"""How rows were chosen for labelling, and the mean that fits it: the estimator matters less."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import stdtrit

from steelyard.core.errors import UsageError, hint
from steelyard.core.text import plural
from steelyard.data.judgements import Codes, encode
from steelyard.data.verdicts import Opinion, Verdicts
from steelyard.judging.options import ReadOptions
from steelyard.stats.arrays import Floats
from steelyard.stats.estimate import Estimate, undefined
from steelyard.stats.prediction_powered.jointly import (
    random_influence,
    stratified_influence,
    weighted_influence,
)
from steelyard.stats.prediction_powered.mean import (
    FEWEST,
    Corrected,
    corrected_mean,
    mean_verdict,
    with_every_verdict,
)
from steelyard.stats.prediction_powered.probabilities import weighted_mean
from steelyard.stats.prediction_powered.representative import Difference, unlike_the_rest
from steelyard.stats.prediction_powered.rogangladen import rogan_gladen
from steelyard.stats.prediction_powered.stratified import stratified_mean

RANDOM, UNKNOWN, BY, PROBABILITY, BY_HUMAN = "random", "unknown", "by", "probability", "by-human"
_MOST_STRATA = 50
VERDICT = "verdict"  # by:verdict is by what the judge said
_HOW = "random, by:COLUMN, by:verdict, probability:COLUMN, by-human or unknown"


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
        if kind not in (RANDOM, UNKNOWN, BY, PROBABILITY, BY_HUMAN) or with_column != bool(column):
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
        if self.kind == BY_HUMAN:
            return rogan_gladen_mean(human, judge, level)
        if self.stratum is not None:
            own = stratified_mean(human, judge, self.stratum[rows], names=self.strata, level=level)
            return own if unit is None else self._by_unit(own, human, judge, rows, unit, level)
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
        return Corrected(
            estimate=_moved(_of_few(found.estimate, level), off),
            people=_moved(found.people, off),
            judge=found.judge + off,
            weight=found.weight,
            rho=found.rho,
            n_labelled=found.n_labelled,
            n_judged=found.n_judged,
            note=found.note,
        )

    def _by_unit(
        self, own: Corrected, human: Floats, judge: Floats, rows: Any, unit: Codes, level: float
    ) -> Corrected:
        """Let rows that share a unit count as such, where that makes more noise."""
        if not own.estimate.bounded or len(np.unique(unit)) == len(unit):
            return own
        adds = self.influence(human, judge, rows, own.weight)
        _, code = np.unique(unit, return_inverse=True)
        sums = np.bincount(code, weights=adds)
        groups = len(sums)
        if groups < 2:
            why = "no interval: all rows share one unit"
            estimate = Estimate(own.estimate.value, n=own.estimate.n, why=why)
        else:
            se = float(np.sqrt(sums @ sums * groups / (groups - 1)))
            if se <= own.estimate.se:
                return own
            labelled = len(np.unique(code[~np.isnan(human)]))
            reach = se * float(stdtrit(max(labelled - 1, 1), 0.5 + level / 2))
            value = own.estimate.value
            estimate = Estimate(value, value - reach, value + reach, se, n=own.estimate.n)
        return Corrected(estimate, own.people, own.judge, own.weight, own.rho, own.n_labelled,
                         own.n_judged, own.note)  # fmt: skip

    def influence(self, human: Floats, judge: Floats, rows: Any, weight: float) -> Floats:
        """Give what each of these rows adds to their corrected mean."""
        if self.stratum is not None:
            return stratified_influence(human, judge, self.stratum[rows])
        if self.probability is not None:
            off = float(with_every_verdict(judge).mean())
            return weighted_influence(human - off, judge - off, self.probability[rows], weight)
        return random_influence(human, judge, weight)


def _of_few(own: Estimate, level: float) -> Estimate:
    """Widen an interval by what the weight, which was fitted to few labels, hides."""
    if not own.bounded:
        return own
    se = own.se * math.sqrt(own.n / (own.n - 2))
    reach = max(se * float(stdtrit(own.n - 2, 0.5 + level / 2)), (own.high - own.low) / 2)
    return Estimate(own.value, own.value - reach, own.value + reach, se, own.n, own.why)


def _moved(own: Estimate, by: float) -> Estimate:
    return Estimate(own.value + by, own.low + by, own.high + by, own.se, own.n, own.why)


def rogan_gladen_mean(human: Floats, judge: Floats, level: float) -> Corrected:
    """Correct a share of passes where labels were chosen by what people said.

    A missing verdict is no pass: the correction holds for any two kinds of verdict.
    """
    passed = np.nan_to_num(judge, nan=0.0)
    labelled = ~np.isnan(human)
    y, f = human[labelled], passed[labelled]
    if not (np.isin(y, (0.0, 1.0)).all() and np.isin(passed, (0.0, 1.0)).all()):
        raise UsageError(
            'labels="by-human" is for verdicts of two kinds (pass or fail), and these have more'
        )
    share = float(passed.mean()) if len(passed) else float("nan")
    good, bad = f[y == 1], f[y == 0]
    if not len(good) or not len(bad):
        found = undefined("people passed nothing, or failed nothing, of what is labelled", len(y))
    else:
        found = rogan_gladen(share, len(passed), float(1 - bad.mean()), len(bad),
                             float(good.mean()), len(good), level=level)  # fmt: skip
    people = undefined("labels were chosen by what they are: their mean means nothing", len(y))
    judged = int((~np.isnan(judge)).sum())
    return Corrected(found, people, mean_verdict(judge), 1.0, float("nan"), len(y), judged)


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


def unlike(verdicts: Verdicts, judges: Sequence[Opinion], labelled: Any) -> tuple[Difference, ...]:
    """Test whether labelled rows are like the others, in all that is known of both.

    Of several judges each by itself: their joint number comes from labels.
    """
    numbers = {one.name: one.value for one in judges} | dict(verdicts.covariates)
    words: dict[str, Sequence[str]] = dict(verdicts.slices)
    if verdicts.left is not None and verdicts.right is None and len(verdicts.systems) > 1:
        words["system"] = [verdicts.systems[code] for code in verdicts.left]
    for one in judges:
        if np.isnan(one.value).any():
            numbers[f"whether {one.name} gave a verdict"] = np.isnan(one.value).astype(np.float64)
    return unlike_the_rest(labelled, numbers, words)
