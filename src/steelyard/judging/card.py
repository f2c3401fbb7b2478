"""The card of one judge: all that is known of it, against people."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from steelyard.data.judgements import Codes
from steelyard.data.verdicts import MISSING, UNPARSED, Opinion, Verdicts
from steelyard.judging.sentinels import Sentinel, sentinels
from steelyard.judging.swaying import effects_of
from steelyard.judging.systemlevel import SystemLevel, system_level
from steelyard.stats.arrays import Floats
from steelyard.stats.estimate import Estimate, share_estimate, undefined
from steelyard.stats.judged.agreement import (
    DROP,
    WRONG,
    Ceiling,
    LabelAgreement,
    ScoreAgreement,
    label_agreement,
    label_ceiling,
    score_agreement,
    score_ceiling,
    self_agreement,
)
from steelyard.stats.judged.alt_test import AltTest, alternative_annotator
from steelyard.stats.judged.bias import Effect, Position, one_order_position, swapped_position
from steelyard.stats.prediction_powered.labels import worth_of_labels
from steelyard.stats.prediction_powered.mean import mean_verdict

_LABELS, _MORE = 100, 900  # what labels are worth is told for so many, and so many more verdicts


@dataclass(frozen=True, slots=True, eq=False)
class JudgeCard:
    """What is known of a judge.

    Parameters
    ----------
    name
        The judge.
    agreement
        Labels with people; None where verdicts are scores alone.
    scores
        Numbers with people: correlation, and how far off.
    ceiling
        How well people do against the same target.
    sentinels
        What judges that know nothing reach, best first.
    systems
        How it orders systems.
    position
        Of pairs; None for points.
    effects
        What sways it beyond people: covariates, exaggeration, its own family.
    alt_test
        The alternative annotator test; None with fewer than two raters.
    repeats
        How often two runs say the same.
    abstained
        Share of labelled rows without a verdict that can be read.
    empty
        Share of labelled rows whose empty cells were left out without being asked to.
    worth
        How many labels 100 labels are worth with it.
    notes
        What was guessed or could not be done.
    """

    name: str
    n: int
    agreement: LabelAgreement | None
    scores: ScoreAgreement
    ceiling: Ceiling | None
    sentinels: tuple[Sentinel, ...]
    systems: SystemLevel
    position: Position | None
    effects: tuple[Effect, ...]
    alt_test: AltTest | None
    repeats: Estimate
    abstained: Estimate
    empty: float
    categories: tuple[str, ...]
    notes: tuple[str, ...] = ()

    @property
    def accuracy(self) -> Estimate:
        """Share of rows on which it says what people say."""
        return undefined("verdicts are scores, no labels") if self.agreement is None else (
            self.agreement.accuracy
        )  # fmt: skip

    @property
    def kappa(self) -> Estimate:
        """Agreement beyond chance."""
        return undefined("verdicts are scores, no labels") if self.agreement is None else (
            self.agreement.kappa
        )  # fmt: skip

    @property
    def rho(self) -> Estimate:
        """Correlation with people over rows."""
        return self.scores.rho

    @property
    def worth(self) -> float:
        """How many labels 100 labels, with 900 more verdicts, are worth.

        Empty cells count as the mean verdict, as in a correction, which lessens the correlation.
        """
        rho = self.rho.value * np.sqrt(1 - self.empty)
        return float("nan") if np.isnan(rho) else worth_of_labels(max(rho, 0.0), _LABELS, _MORE)

    @property
    def best_sentinel(self) -> Sentinel | None:
        """The sentinel that agrees most."""
        return self.sentinels[0] if self.sentinels else None

    def to_dict(self) -> dict[str, Any]:
        """Give what ``--json`` prints of a judge."""
        own: dict[str, Any] = {"judge": self.name, "n": self.n}
        abstained = self.abstained.to_dict()
        own |= {"abstained": abstained["value"], "abstained_ci": abstained["ci"]}
        own |= {"accuracy": self.accuracy.to_dict(), "kappa": self.kappa.to_dict()}
        names = ("kappa_linear", "kappa_quadratic", "ac1", "alpha")
        if self.agreement is None:
            own |= {name: self.kappa.to_dict() for name in names}
        else:
            told = self.agreement.to_dict()
            own |= {name: told[name] for name in (*names, "unparsed", "majority")}
            own["confusion"] = {
                "labels": list(self.categories), "counts": self.agreement.counts.tolist(),
                "recall": told["recall"], "precision": told["precision"],
            }  # fmt: skip
        return own | {
            "rho": self.rho.value,
            "scores": self.scores.to_dict(),
            "ceiling": None if self.ceiling is None else self.ceiling.to_dict(),
            "sentinels": {own.name: own.to_dict() for own in self.sentinels},
            "systems": self.systems.to_dict(),
            "position": None if self.position is None else self.position.to_dict(),
            "effects": [effect.to_dict() for effect in self.effects],
            "alt_test": None if self.alt_test is None else self.alt_test.to_dict(),
            "repeats": self.repeats.to_dict(),
            "worth_of_100": self.worth,
            "notes": list(self.notes),
        }


def weigh(
    verdicts: Verdicts,
    judge: Opinion,
    *,
    unparsed: str = "auto",
    epsilon: float = 0.2,
    level: float = 0.95,
    own: Mapping[str, str] | None = None,
) -> JudgeCard:
    """Weigh one judge against people.

    ``unparsed``: ``wrong`` and ``drop`` are for all rows without a verdict that can be understood;
    ``auto`` takes words for wrong and leaves empty cells out. What is wrong is a verdict of its own
    in all coefficients. Where they need a number (rho, systems) it is the mean verdict, a tie of
    pairs, as in a correction; ``offset`` and ``rmse`` are of verdicts that can be read. ``own`` are
    patterns of systems that are of a judge's family.
    """
    people = verdicts.people()
    notes: list[str] = []
    labels = _told(judge, unparsed)
    read = _with_numbers(verdicts, judge, labels)
    scores = replace(
        score_agreement(people.value, judge.value, unit=verdicts.unit, level=level),
        rho=score_agreement(people.value, read.value, unit=verdicts.unit, level=level).rho,
    )
    agreement = None
    if people.categorical and people.label is not None and judge.categorical:
        agreement = _agreement(verdicts, labels, judge, unparsed, level)
    elif people.categorical:
        notes.append("its scores are no categories of people: correlation alone")
    position = position_of(verdicts, people, judge, level, unparsed)
    systems = system_level(verdicts, people, read)
    effects, said = effects_of(verdicts, people, judge, own or {}, systems, level)
    said_by_both = people.answered & ~np.isnan(read.value)
    left_out = (labels == MISSING) & ~judge.answered
    return JudgeCard(
        name=judge.name,
        n=agreement.accuracy.n if agreement is not None else int(said_by_both.sum()),
        agreement=agreement,
        scores=scores,
        ceiling=_ceiling(verdicts, read, labels, level),
        sentinels=sentinels(verdicts, labels if judge.categorical else None),
        systems=systems,
        position=position,
        effects=effects,
        alt_test=alt_test(verdicts, read, labels, epsilon, level),
        repeats=_repeats(verdicts, judge, level),
        abstained=_abstained(verdicts, judge, level),
        empty=float(left_out[verdicts.labelled].mean())
        if unparsed == "auto" and verdicts.labelled.any()
        else 0.0,
        categories=verdicts.categories,
        notes=(*notes, *said),
    )


def _told(judge: Opinion, unparsed: str) -> Codes:
    """Give labels in which -2 is wrong and -1 does not count."""
    if judge.label is None:
        wrong = np.isnan(judge.value) & (unparsed == "wrong")
        return np.where(wrong, UNPARSED, MISSING).astype(np.int32)
    if unparsed == "wrong":
        return np.where(judge.label < 0, UNPARSED, judge.label).astype(np.int32)
    if unparsed == "drop":
        return np.where(judge.label < 0, MISSING, judge.label).astype(np.int32)
    return judge.label


def _with_numbers(verdicts: Verdicts, judge: Opinion, labels: Codes) -> Opinion:
    """Give verdicts that are wrong because they can't be read a number that says nothing."""
    unread = (labels == UNPARSED) & ~judge.answered
    neutral = 0.5 if verdicts.kind == "pairs" else mean_verdict(judge.value)
    return replace(judge, value=np.where(unread, neutral, judge.value))


def _abstained(verdicts: Verdicts, judge: Opinion, level: float) -> Estimate:
    """Give the share of labelled rows without a verdict; both orders of a pair are two rows."""
    labelled = verdicts.labelled
    unit = None if verdicts.unit is None else verdicts.unit[labelled]
    if not judge.categorical or judge.label is None:
        return share_estimate(np.isnan(judge.value[labelled]).astype(np.float64), unit, level)
    missing = (judge.label[labelled] < 0).astype(np.float64)
    if judge.other_order is not None:
        rows = np.arange(len(missing)) if unit is None else unit
        missing = np.concatenate([missing, judge.other_order[labelled] < 0])
        unit = np.tile(rows, 2)
    return share_estimate(missing, unit, level)


def grade_values(verdicts: Verdicts) -> Floats | None:
    """Give the numbers that categories stand for; None where they are words."""
    try:
        return np.array([float(name) for name in verdicts.categories])
    except ValueError:
        return None


def _agreement(
    verdicts: Verdicts, labels: Codes, judge: Opinion, unparsed: str, level: float
) -> LabelAgreement:
    """Compare labels; both orders of a pair are two verdicts on one row."""
    unit, human = verdicts.unit, verdicts.people_shares()
    if judge.other_order is not None:
        swapped = _told(Opinion(judge.name, judge.value, judge.other_order), unparsed)
        rows = np.arange(len(human)) if unit is None else unit
        human, labels = np.tile(human, (2, 1)), np.concatenate([labels, swapped])
        unit = np.tile(rows, 2)
    return label_agreement(
        human,
        labels,
        len(verdicts.categories),
        unit=unit,
        ordered=verdicts.ordered,
        values=grade_values(verdicts),
        unparsed=DROP if unparsed == "drop" else WRONG,
        level=level,
    )


def position_of(
    verdicts: Verdicts, people: Opinion, judge: Opinion, level: float, unparsed: str = "auto"
) -> Position | None:
    """Tell whether a judge prefers a place; None for points."""
    if verdicts.kind != "pairs":
        return None
    labels = _told(judge, unparsed)
    if judge.other_order is not None:
        return swapped_position(labels, judge.other_order, unit=verdicts.unit, level=level)
    return one_order_position(
        labels, people.label, left=verdicts.left, right=verdicts.right, unit=verdicts.unit,
        level=level,
    )  # fmt: skip


def _ceiling(verdicts: Verdicts, judge: Opinion, labels: Codes, level: float) -> Ceiling | None:
    if len(verdicts.raters) < 2:
        return None
    own = [rater.label for rater in verdicts.raters if rater.label is not None]
    if judge.categorical and len(own) == len(verdicts.raters) and verdicts.categories:
        raters = np.stack(own)
        return label_ceiling(
            raters, labels, len(verdicts.categories), unit=verdicts.unit, level=level
        )
    values = np.stack([rater.value for rater in verdicts.raters])
    return score_ceiling(values, judge.value, unit=verdicts.unit, level=level)


def raters_as_numbers(verdicts: Verdicts) -> tuple[Floats, str]:
    """Give raters x rows as numbers, and how the alternative annotator test scores them.

    Grades of more than three levels by how near they are; pairs and labels by equality.
    """
    graded = (
        verdicts.kind == "points"
        and verdicts.ordered
        and (len(verdicts.categories) > 3 or not verdicts.categories)
    )
    if graded:
        return np.stack([rater.value for rater in verdicts.raters]), "neg_rmse"
    return np.stack([as_numbers(rater) for rater in verdicts.raters]), "accuracy"


def as_numbers(opinion: Opinion) -> Floats:
    """Give labels as numbers, NaN where there is none."""
    if opinion.label is None:
        return np.full(len(opinion), np.nan)
    found: Floats = np.where(opinion.label >= 0, opinion.label, np.nan).astype(np.float64)
    return found


def alt_test(
    verdicts: Verdicts, judge: Opinion, labels: Codes, epsilon: float, level: float
) -> AltTest | None:
    """Run the alternative annotator test; None with fewer than two raters.

    A verdict that can't be read is one that no rater gave.
    """
    if len(verdicts.raters) < 2:
        return None
    raters, scoring = raters_as_numbers(verdicts)
    own = judge.value
    if scoring == "accuracy":
        unread = np.where(labels == UNPARSED, float(len(verdicts.categories)), np.nan)
        own = np.where(labels >= 0, labels, unread)
    return alternative_annotator(
        raters, own, scoring=scoring, epsilon=epsilon, unit=verdicts.unit, level=level
    )


def _repeats(verdicts: Verdicts, judge: Opinion, level: float) -> Estimate:
    if judge.runs is None:
        return undefined("every row was judged once")
    return self_agreement(judge.runs, unit=verdicts.unit, level=level)
