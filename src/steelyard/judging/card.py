"""The card of a judge: every number that compares it with annotators; and words for results."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steelyard.core.decision import shown_interval
from steelyard.core.display import Record, Result, Statement, Summary, keys, named, one_line
from steelyard.core.errors import UsageError
from steelyard.core.provenance import Provenance
from steelyard.core.table import plain
from steelyard.core.text import plural
from steelyard.data.judgements import Codes
from steelyard.data.verdicts import MISSING, OF_PAIRS, UNPARSED, Opinion, Verdicts
from steelyard.formats.verdicts.read import LENGTH
from steelyard.judging.options import JudgeOptions
from steelyard.stats.arrays import Floats
from steelyard.stats.correlation import cell_pearson
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
from steelyard.stats.judged.bias import (
    Effect,
    Position,
    one_order_position,
    regress_errors,
    swapped_position,
)
from steelyard.stats.judged.gap import Gap, believable_gap, system_means
from steelyard.stats.metametrics.accuracy import pairwise_accuracy, spa
from steelyard.stats.prediction_powered.labels import worth_of_labels
from steelyard.stats.prediction_powered.mean import mean_verdict
from steelyard.stats.prediction_powered.strengths import plain_strengths

EXAGGERATION, OWN_FAMILY = "exaggeration", "own family"
_LABELS, _MORE = 100, 900  # the worth of a judge is that of 100 labels beside 900 more verdicts
_NO_LABELS = "verdicts are scores, no labels"
_WEIGHTED = ("kappa_linear", "kappa_quadratic", "ac1", "alpha")


# ------------------------------------------------------------------------------------------ words


class Answer(Result):
    """A result about judges whose sentences come from :meth:`statements`."""

    __slots__ = ()

    @abstractmethod
    def statements(self) -> Iterator[Statement]:
        """Yield all sentences, each with the part of a summary that it belongs to."""

    @property
    def sentences(self) -> list[str]:
        """All sentences."""
        return [text for _, text in self.statements()]

    def words(self) -> Summary:
        """Return all sentences by part."""
        return Summary.of(self.statements())

    def summary(self) -> str:
        """Return all sentences, a line each."""
        return "\n".join(self.sentences)

    def __repr__(self) -> str:
        judges = [judge.judge for judge in getattr(self, "judges", ())]
        return one_line(self, f"of {plural(len(judges), 'judge')}: {named(judges)}")

    def answer(self) -> tuple[str, ...]:
        """Return the first three sentences."""
        return tuple(self.sentences[:3])


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class JudgeAnswers(Answer):
    """An answer on each of several judges, whose sentences these yield."""

    json_keys = keys("summary=sentences judges warnings provenance")
    judges: tuple[Any, ...]
    warnings: tuple[str, ...] = ()
    provenance: Provenance | None = None

    def statements(self) -> Iterator[Statement]:
        """Yield the sentences on each judge."""
        for judge in self.judges:
            yield from judge.statements()
        if not self.judges:
            yield "undecided", "There is no judge to compare."

    def answer(self) -> tuple[str, ...]:
        """Return three sentences: the first on each judge, then the second, in their order."""
        ranked = [
            (rank, number, text)
            for number, judge in enumerate(self.judges)
            for rank, (_, text) in enumerate(judge.statements())
        ]
        first = sorted(sorted(ranked)[:3], key=lambda row: (row[1], row[0]))
        return tuple(text for _, _, text in first) or Answer.answer(self)


def percent(share: float) -> str:
    """Return a share in hundredths: ``86%``."""
    return f"{100 * share:.0f}%"


def with_interval(estimate: Estimate) -> str:
    """Return an estimate with its interval: ``0.43 (95% CI 0.32 to 0.54)``."""
    if not estimate.bounded:
        return f"{estimate.value:.2f}"
    value, interval = shown_interval(estimate.value, estimate.low, estimate.high)
    return f"{value} ({interval})"


# ---------------------------------------------------------------------------------- trivial rules


@dataclass(frozen=True, slots=True)
class TrivialRule(Record):
    """How often a rule that reads nothing agrees with annotators; ``what`` says what it does."""

    name: str
    accuracy: float
    what: str


def trivial_rules(verdicts: Verdicts, labels: Codes | None) -> tuple[TrivialRule, ...]:
    """Measure trivial rules on the labelled rows, the best first.

    ``labels`` are those of the judge, whose random order is a rule, too; None where it gives
    scores.
    """
    shares_by_row = verdicts.people_shares()
    labelled = shares_by_row.sum(axis=1) > 0
    if not labelled.any():
        return ()
    shares = shares_by_row[labelled].mean(axis=0)
    most = int(shares.argmax())
    label = verdicts.categories[most]
    rules = [TrivialRule("constant", float(shares[most]), f"always saying '{label}'")]
    if labels is not None:
        judged = labels[labelled & (labels != MISSING)]
        if len(judged):
            by_judge = np.bincount(judged[judged >= 0], minlength=len(shares)) / len(judged)
            chance = float(shares @ by_judge)
            rules.append(TrivialRule("random", chance, "shuffling its own verdicts"))
    if verdicts.kind == "pairs":
        right, tie, left = (OF_PAIRS.index(side) for side in ("right", "tie", "left"))
        rules.append(TrivialRule("first", float(shares[left]), "always picking the left answer"))
        length = verdicts.covariates.get(LENGTH)
        if length is not None:
            rows = np.flatnonzero(labelled & ~np.isnan(length))
            longer = np.where(length[rows] > 0, left, np.where(length[rows] == 0, tie, right))
            accuracy = float(shares_by_row[rows, longer].mean()) if len(rows) else np.nan
            rules.append(TrivialRule("length", accuracy, "always picking the longer answer"))
    defined = [rule for rule in rules if not np.isnan(rule.accuracy)]
    return tuple(sorted(defined, key=lambda rule: (-rule.accuracy, rule.name)))


# ---------------------------------------------------------------------------------------- systems


@dataclass(frozen=True, slots=True, eq=False)
class SystemLevel:
    """How a judge orders systems, beside annotators.

    ``people`` and ``judge`` are means, of pairs log-strengths (NaN where undefined), by system;
    ``mean_judge`` are means of points, which the gap is about. ``alike`` is the share of system
    pairs in the same order. ``why`` says what is missing where nothing is defined.
    """

    systems: tuple[str, ...]
    people: Floats
    judge: Floats
    mean_people: Floats
    mean_judge: Floats
    alike: float = np.nan
    n_pairs: int = 0
    spa: float = np.nan
    correlation: float = np.nan
    gap: Gap | None = None
    why: str | None = None

    @property
    def median_gap(self) -> float:
        """The median distance of two systems in the judge's score."""
        means = self.mean_judge[~np.isnan(self.mean_judge)]
        first, second = np.triu_indices(len(means), 1)
        return float(np.median(np.abs(means[first] - means[second]))) if len(first) else np.nan

    def to_dict(self) -> dict[str, Any]:
        """Return what ``--json`` prints."""
        gap = undefined("no gap") if self.gap is None else self.gap.gap
        return {
            "n": len(self.systems), "spa": self.spa, "pa": self.alike, "n_pairs": self.n_pairs,
            "pearson": self.correlation, "tau": np.nan if self.gap is None else self.gap.tau,
            "gap": gap.value, "gap_ci": gap.to_dict()["ci"], "gap_details": plain(self.gap),
            "median_gap": self.median_gap, "why": self.why,
        }  # fmt: skip


def system_level(verdicts: Verdicts, people: Opinion, judge: Opinion) -> SystemLevel:
    """Compare how a judge and annotators order the systems, on rows that both judged."""
    systems = verdicts.systems
    both = ~(np.isnan(people.value) | np.isnan(judge.value))
    why = ""
    if verdicts.left is None or not systems:
        why = "no column says whose outputs were judged"
    elif len(systems) < 2:
        why = "one system: nothing to order"
    elif not both.any():
        why = "no row has a number of annotators and of the judge"
    if why or verdicts.left is None:
        empty = np.full(len(systems), np.nan)
        return SystemLevel(systems, empty, empty, empty, empty, why=why)
    pairs = verdicts.kind == "pairs" and verdicts.right is not None
    code, of_people, of_judge = verdicts.left, people.value, judge.value
    unit = verdicts.unit
    if pairs:
        code = np.concatenate([verdicts.left, verdicts.right])
        of_people, of_judge = (np.concatenate([x, 1 - x]) for x in (of_people, of_judge))
        unit = None if unit is None else np.tile(unit, 2)
    means = system_means(code, of_people, of_judge, len(systems), unit)
    order_people, order_judge, soft = means.human, means.judge, np.nan
    if pairs:
        order_people, order_judge = (
            _strengths(verdicts, x, both) for x in (people.value, judge.value)
        )
    else:
        soft = _soft_accuracy(verdicts, people.value, judge.value)
    defined = ~(np.isnan(order_people) | np.isnan(order_judge))
    accuracy = pairwise_accuracy(order_people[defined], order_judge[defined])
    return SystemLevel(
        systems=systems,
        people=order_people,
        judge=order_judge,
        mean_people=means.human,
        mean_judge=means.judge,
        alike=accuracy.value,
        n_pairs=accuracy.n_pairs,
        spa=soft,
        correlation=cell_pearson(order_people, order_judge)[0] if defined.sum() > 2 else np.nan,
        gap=believable_gap(means),
    )


def _strengths(verdicts: Verdicts, points: Floats, both: NDArray[np.bool_]) -> Floats:
    assert verdicts.left is not None
    assert verdicts.right is not None
    k = len(verdicts.systems)
    left, right, points = verdicts.left[both], verdicts.right[both], points[both]
    met = np.isin(np.arange(k), np.concatenate([left, right]))
    index = np.cumsum(met) - 1
    try:
        fit = plain_strengths(index[left], index[right], points, int(met.sum()))
    except UsageError:
        either_side = np.concatenate([points, 1 - points])
        return system_means(np.concatenate([left, right]), either_side, either_side, k).human
    strengths = np.full(k, np.nan)
    strengths[met] = fit.log_strength
    return strengths


def _soft_accuracy(verdicts: Verdicts, human: Floats, judge: Floats) -> float:
    """Return soft pairwise accuracy over the items on which all systems have both numbers."""
    shape = (len(verdicts.systems), len(verdicts.items))
    tables = np.full((2, *shape), np.nan)
    tables[0][verdicts.left, verdicts.item] = human
    tables[1][verdicts.left, verdicts.item] = judge
    complete = ~np.isnan(tables).any(axis=(0, 1))
    if complete.sum() < 2:
        return np.nan
    return float(spa(tables[0][:, complete], tables[1][:, complete]))


# ----------------------------------------------------------------------------------------- biases


def bias_columns(
    verdicts: Verdicts,
    people: Opinion,
    judge: Opinion,
    families: Mapping[str, str],
    systems: SystemLevel | None = None,
) -> dict[str, Floats]:
    """Return what a judge's errors are regressed on: covariates, exaggeration, its own family.

    ``families`` are patterns of systems by judge; ``systems`` is how it orders them, if that is
    computed already.
    """
    columns: dict[str, Floats] = dict(verdicts.covariates)
    if verdicts.left is None:
        return columns
    level = (systems or system_level(verdicts, people, judge)).people
    mean = 0.0 if np.isnan(level).all() else float(np.nanmean(level))
    patterns = families[judge.name].split("|") if judge.name in families else []
    family = np.array([any(fnmatchcase(x, p) for p in patterns) for x in verdicts.systems])
    has_family = bool(family.any() and not family.all())

    def by_row(by_system: Floats) -> Floats:
        right = 0.0 if verdicts.right is None else by_system[verdicts.right]
        return np.asarray(by_system[verdicts.left] - right)

    if verdicts.right is not None or has_family:
        columns[EXAGGERATION] = by_row(np.nan_to_num(level, nan=mean))
    if has_family:
        columns[OWN_FAMILY] = by_row(family.astype(np.float64))
    return columns


def bias_effects(
    errors: Floats,
    columns: Mapping[str, Floats],
    verdicts: Verdicts,
    level: float,
    required: frozenset[str] = frozenset(),
) -> tuple[tuple[Effect, ...], list[str]]:
    """Regress errors on the columns that vary; no effects, and why, where that is impossible.

    Columns in ``required`` must vary, and a regression on them must be possible.
    """
    labelled = ~np.isnan(errors)
    varying = {
        name: column
        for name, column in columns.items()
        if len(np.unique(column[labelled & ~np.isnan(column)])) > 1
    }
    for name in required & (set(columns) - set(varying)):
        raise UsageError(f"covariate '{name}' is the same in all labelled rows")
    try:
        return regress_errors(errors, varying, unit=verdicts.unit, level=level), []
    except UsageError as error:
        if required:
            raise
        return (), [f"no regression of its errors: {error}"]


def position_bias(
    verdicts: Verdicts, people: Opinion, judge: Opinion, level: float, unparsed: str = "auto"
) -> Position | None:
    """Return whether a judge prefers a position; None for points."""
    if verdicts.kind != "pairs":
        return None
    labels = _counted_labels(judge, unparsed)
    if judge.other_order is not None:
        return swapped_position(labels, judge.other_order, unit=verdicts.unit, level=level)
    return one_order_position(
        labels, people.label, left=verdicts.left, right=verdicts.right, unit=verdicts.unit,
        level=level,
    )  # fmt: skip


# ------------------------------------------------------------------------------------------- card


@dataclass(frozen=True, slots=True, eq=False)
class JudgeCard:
    """The numbers of a judge against annotators.

    ``agreement`` is None where verdicts are scores alone, ``position`` for points, ``ceiling`` and
    ``alt_test`` with fewer than two annotators. ``abstained`` is the share of labelled rows without
    a verdict that can be read, ``empty`` that of empty cells that were left out by default.
    ``graded`` says that verdicts are ordered grades, such as 1 to 5.
    """

    name: str
    n: int
    agreement: LabelAgreement | None
    scores: ScoreAgreement
    ceiling: Ceiling | None
    rules: tuple[TrivialRule, ...]
    systems: SystemLevel
    position: Position | None
    effects: tuple[Effect, ...]
    alt_test: AltTest | None
    repeats: Estimate
    abstained: Estimate
    empty: float
    categories: tuple[str, ...]
    graded: bool
    notes: tuple[str, ...] = ()

    def _of_labels(self, name: str) -> Estimate:
        return undefined(_NO_LABELS) if self.agreement is None else getattr(self.agreement, name)

    @property
    def accuracy(self) -> Estimate:
        """Share of rows on which it says what annotators say."""
        return self._of_labels("accuracy")

    @property
    def kappa(self) -> Estimate:
        """Agreement beyond chance."""
        return self._of_labels("kappa")

    @property
    def weighted_kappa(self) -> Estimate:
        """Agreement of ordered grades beyond chance, with quadratic weights."""
        return self._of_labels("kappa_quadratic")

    @property
    def rho(self) -> Estimate:
        """Correlation with annotators over rows."""
        return self.scores.rho

    @property
    def measure(self) -> str:
        """What the judge is summed up by: agreement, weighted kappa of grades, or correlation."""
        graded = "weighted kappa" if self.graded and self.weighted_kappa.known else "agreement"
        return "correlation" if self.agreement is None else graded

    @property
    def headline(self) -> Estimate:
        """The estimate of :attr:`measure`."""
        measures = {"agreement": self.accuracy, "weighted kappa": self.weighted_kappa}
        return measures.get(self.measure, self.rho)

    @property
    def worth(self) -> float:
        """How many labels 100 labels, with 900 more verdicts, are worth.

        Empty cells count as the mean verdict, as in a correction, which lessens the correlation.
        """
        rho = self.rho.value * np.sqrt(1 - self.empty)
        return np.nan if np.isnan(rho) else worth_of_labels(max(rho, 0.0), _LABELS, _MORE)

    @property
    def best_rule(self) -> TrivialRule | None:
        """The trivial rule that agrees most."""
        return self.rules[0] if self.rules else None

    def to_dict(self) -> dict[str, Any]:
        """Return what ``--json`` prints of a judge."""
        abstained = self.abstained.to_dict()
        values: dict[str, Any] = {
            "judge": self.name, "n": self.n, "abstained": abstained["value"],
            "abstained_ci": abstained["ci"], "accuracy": self.accuracy.to_dict(),
            "kappa": self.kappa.to_dict(),
            **{name: self._of_labels(name).to_dict() for name in _WEIGHTED},
        }  # fmt: skip
        if self.agreement is not None:
            labels = self.agreement.to_dict()
            values |= {name: labels[name] for name in ("unparsed", "majority")}
            values["confusion"] = {
                "labels": list(self.categories), "counts": self.agreement.counts.tolist(),
                "recall": labels["recall"], "precision": labels["precision"],
            }  # fmt: skip
        return values | {
            "rho": self.rho.value,
            "scores": self.scores.to_dict(),
            "ceiling": plain(self.ceiling),
            "sentinels": {rule.name: rule.to_dict() for rule in self.rules},
            "systems": self.systems.to_dict(),
            "position": plain(self.position),
            "effects": plain(self.effects),
            "alt_test": plain(self.alt_test),
            "repeats": self.repeats.to_dict(),
            "worth_of_100": self.worth,
            "notes": list(self.notes),
        }


def judge_card(
    verdicts: Verdicts, judge: Opinion, options: JudgeOptions, families: Mapping[str, str]
) -> JudgeCard:
    """Compare a judge with annotators.

    Verdicts that can't be read are wrong or left out, as ``options.unparsed`` says; ``auto`` takes
    words for wrong and leaves empty cells out. What is wrong is a verdict of its own in all
    coefficients. Where a number is needed (rho, systems) it is the mean verdict, a tie of pairs, as
    in a correction; ``offset`` and ``rmse`` are of verdicts that can be read.
    """
    unparsed, level = options.unparsed, options.level
    people = verdicts.people()
    labels = _counted_labels(judge, unparsed)
    numbered = _with_numbers(verdicts, judge, labels)
    scores = replace(
        score_agreement(people.value, judge.value, unit=verdicts.unit, level=level),
        rho=score_agreement(people.value, numbered.value, unit=verdicts.unit, level=level).rho,
    )
    agreement, notes = None, []
    if people.categorical and people.label is not None and judge.categorical:
        agreement = _agreement(verdicts, labels, judge, unparsed, level)
    elif people.categorical:
        notes.append("its scores are no categories of annotators: correlation alone")
    systems = system_level(verdicts, people, numbered)
    columns = bias_columns(verdicts, people, judge, families, systems)
    effects, problems = bias_effects(judge.value - people.value, columns, verdicts, level)
    if len(effects) < 2:  # a constant alone says nothing about biases
        effects = ()
    both = people.answered & ~np.isnan(numbered.value)
    left_out = (labels == MISSING) & ~judge.answered
    default = unparsed == "auto" and verdicts.labelled.any()
    return JudgeCard(
        name=judge.name,
        n=agreement.n if agreement is not None else int(both.sum()),
        agreement=agreement,
        scores=scores,
        ceiling=_ceiling(verdicts, numbered, labels, level),
        rules=trivial_rules(verdicts, labels if judge.categorical else None),
        systems=systems,
        position=position_bias(verdicts, people, judge, level, unparsed),
        effects=effects,
        alt_test=_alternative_annotator(verdicts, numbered, labels, options),
        repeats=_repeats(verdicts, judge, level),
        abstained=_abstained(verdicts, judge, level),
        empty=float(left_out[verdicts.labelled].mean()) if default else 0.0,
        categories=verdicts.categories,
        graded=verdicts.kind == "points" and verdicts.ordered and len(verdicts.categories) > 2,
        notes=(*notes, *problems),
    )


def _counted_labels(judge: Opinion, unparsed: str) -> Codes:
    """Return labels in which -2 is wrong and -1 does not count."""
    if judge.label is None:
        wrong = np.isnan(judge.value) & (unparsed == "wrong")
        return np.where(wrong, UNPARSED, MISSING).astype(np.int32)
    if unparsed == "auto":
        return judge.label
    silent = UNPARSED if unparsed == "wrong" else MISSING
    return np.where(judge.label < 0, silent, judge.label).astype(np.int32)


def _with_numbers(verdicts: Verdicts, judge: Opinion, labels: Codes) -> Opinion:
    """Give verdicts that are wrong because they can't be read a number that says nothing."""
    unread = (labels == UNPARSED) & ~judge.answered
    neutral = 0.5 if verdicts.kind == "pairs" else mean_verdict(judge.value)
    return replace(judge, value=np.where(unread, neutral, judge.value))


def _both_orders(
    verdicts: Verdicts, judge: Opinion, first: NDArray[Any], second: NDArray[Any]
) -> tuple[NDArray[Any], Codes | None]:
    """Stack the verdicts of both orders of a pair, which are two rows of one unit."""
    if judge.other_order is None:
        return first, verdicts.unit
    unit = np.arange(len(verdicts)) if verdicts.unit is None else verdicts.unit
    return np.concatenate([first, second]), np.tile(unit, 2)


def _abstained(verdicts: Verdicts, judge: Opinion, level: float) -> Estimate:
    labelled = verdicts.labelled
    if not judge.categorical or judge.label is None:
        unit = None if verdicts.unit is None else verdicts.unit[labelled]
        return share_estimate(np.isnan(judge.value[labelled]).astype(np.float64), unit, level)
    second = judge.label if judge.other_order is None else judge.other_order
    missing, unit = _both_orders(verdicts, judge, judge.label < 0, second < 0)
    rows = labelled if judge.other_order is None else np.tile(labelled, 2)
    units = None if unit is None else unit[rows]
    return share_estimate(missing[rows].astype(np.float64), units, level)


def _agreement(
    verdicts: Verdicts, labels: Codes, judge: Opinion, unparsed: str, level: float
) -> LabelAgreement:
    """Compare labels; both orders of a pair are two verdicts on one row."""
    shares, second = verdicts.people_shares(), labels
    if judge.other_order is not None:
        second = _counted_labels(replace(judge, label=judge.other_order), unparsed)
        shares = np.tile(shares, (2, 1))
    labels, unit = _both_orders(verdicts, judge, labels, second)
    try:
        grades: Floats | None = np.array([float(name) for name in verdicts.categories])
    except ValueError:
        grades = None
    return label_agreement(
        shares,
        labels,
        len(verdicts.categories),
        unit=unit,
        ordered=verdicts.ordered,
        values=grades,
        unparsed=DROP if unparsed == "drop" else WRONG,
        level=level,
    )


def _ceiling(verdicts: Verdicts, judge: Opinion, labels: Codes, level: float) -> Ceiling | None:
    if len(verdicts.raters) < 2:
        return None
    raters = [rater.label for rater in verdicts.raters if rater.label is not None]
    if judge.categorical and len(raters) == len(verdicts.raters) and verdicts.categories:
        k = len(verdicts.categories)
        return label_ceiling(np.stack(raters), labels, k, unit=verdicts.unit, level=level)
    values = np.stack([rater.value for rater in verdicts.raters])
    return score_ceiling(values, judge.value, unit=verdicts.unit, level=level)


def annotators_as_numbers(verdicts: Verdicts) -> tuple[Floats, str]:
    """Return annotators x rows as numbers, and how the alternative annotator test scores them.

    Grades of more than three levels are scored by distance; pairs and labels by equality.
    """
    many_levels = len(verdicts.categories) > 3 or not verdicts.categories
    if verdicts.kind == "points" and verdicts.ordered and many_levels:
        return np.stack([rater.value for rater in verdicts.raters]), "neg_rmse"
    numbers = np.full((len(verdicts.raters), len(verdicts)), np.nan)
    for row, rater in zip(numbers, verdicts.raters, strict=True):
        if rater.label is not None:
            row[:] = np.where(rater.label >= 0, rater.label, np.nan)
    return numbers, "accuracy"


def _alternative_annotator(
    verdicts: Verdicts, judge: Opinion, labels: Codes, options: JudgeOptions
) -> AltTest | None:
    """Run the alternative annotator test; a verdict that can't be read is one that nobody gave."""
    if len(verdicts.raters) < 2:
        return None
    raters, scoring = annotators_as_numbers(verdicts)
    judged = judge.value
    if scoring == "accuracy":
        unread = np.where(labels == UNPARSED, float(len(verdicts.categories)), np.nan)
        judged = np.where(labels >= 0, labels, unread)
    return alternative_annotator(
        raters, judged, scoring=scoring, epsilon=options.alt_epsilon, unit=verdicts.unit,
        level=options.level,
    )  # fmt: skip


def _repeats(verdicts: Verdicts, judge: Opinion, level: float) -> Estimate:
    if judge.runs is None:
        return undefined("every row was judged once")
    return self_agreement(judge.runs, unit=verdicts.unit, level=level)
