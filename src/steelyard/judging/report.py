"""Which judges can be trusted: the class of each judge, the sentences, the table, the verb.

Every judge gets one of four classes, from the numbers of its card. The first that applies counts:

*usable as is*
    Not below annotators, measured like one of them; above every trivial rule; nearer to annotators
    than any constant verdict (alternative annotator test); verdicts on 95% of labelled rows. With
    five systems or more, gaps of its scores must mean something: the believable gap is below the
    median distance of two systems. With one annotator, kappa (weighted, of grades; or the
    correlation) is 0.8 or more at its lower end, about what careful annotators reach.
*usable with labels*
    Above every trivial rule, and correlated with annotators at 0.3 or more, which is where labels
    begin to be worth more with the judge than without. Or it orders systems as annotators do: five
    or more, nine of ten pairs alike, and nineteen of twenty beyond the believable gap.
*unusable*
    Below the best trivial rule.
*not better than a trivial rule*
    All others: its interval reaches the best trivial rule, or it is too little above it.

"Above" and "below" are about the whole interval: of agreement against the best trivial rule; of
weighted kappa (ordered grades) and of the correlation (scores) against 0, where constant verdicts
are. There is no class, but *too little data to say*, where agreement is undefined, all labels are
the same, fewer than thirty rows have labels, or the interval reaches further than 0.15 to either
side, unless the judge is below a trivial rule all the same.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from steelyard.comparison.options import FAILS, HOLDS, UNDECIDED, Checked, check, parse
from steelyard.core.display import Statement, named, one_line
from steelyard.core.options import check_names, keywords
from steelyard.core.provenance import Provenance, origin
from steelyard.core.table import Cell, Column, Table
from steelyard.core.text import all_of, listed, plural, sentence
from steelyard.data.verdicts import Opinion, Verdicts
from steelyard.judging.bias import effect_phrases, position_phrases
from steelyard.judging.card import (
    Answer,
    JudgeCard,
    annotators_as_numbers,
    judge_card,
    percent,
    with_interval,
)
from steelyard.judging.options import JudgeOptions
from steelyard.stats.judged.agreement import CONSTANT_JUDGE
from steelyard.stats.judged.alt_test import AltTest, best_constant
from steelyard.stats.judged.bias import FIXED, SWAPPED
from steelyard.stats.prediction_powered.labels import labels_for_kappa

EXIT_FAILS, EXIT_UNDECIDED = 3, 4
AS_IS = "usable as is"
WITH_LABELS = "usable with labels"
TRIVIAL = "not better than a trivial rule"
UNUSABLE = "unusable"
TOO_LITTLE = "too little data to say"
CLASSES = (AS_IS, WITH_LABELS, TRIVIAL, UNUSABLE)

_LEAST_ROWS = 30
_WIDEST = 0.15  # half-width of agreement beyond which no class is given
_LEAST_RHO = 0.3
_LEAST_ALIKE = 0.9  # share of system pairs in the annotators' order
_LEAST_ABOVE = 0.95  # of those beyond the believable gap
_LEAST_SYSTEMS = 5
_ALONE = 0.8  # kappa, or correlation, that stands for a ceiling where there is one annotator
_MOST_EMPTY = 0.05  # share of labelled rows with an empty cell beyond which no judge is as is
_PLAIN_BIAS = 0.1  # a preference for a position that deserves a sentence
_FEW_LABELS = 50
_WORST = 20  # disagreements that are listed
_BIASES = 3  # judges whose largest bias is shown


# ---------------------------------------------------------------------------------------- classes


@dataclass(frozen=True, slots=True)
class Verdict:
    """The class of a judge, why, and how many labels would say more (None: not the question)."""

    word: str
    reasons: tuple[str, ...] = ()
    labels_needed: int | None = None


def classify(card: JudgeCard, constant: AltTest | None = None) -> Verdict:
    """Return the class of a judge; ``constant`` is the best constant in the alternative test."""
    undecided = _too_little(card)
    if undecided is not None:
        return undecided
    side = against_rules(card)
    ranks, gaps_count = _system_order(card)
    answers = card.empty <= _MOST_EMPTY
    good = _like_annotators(card) and _nearer_than_constant(card, constant)
    if side > 0 and good and gaps_count and answers:
        return Verdict(AS_IS)
    if (ranks and answers) or (side > 0 and card.rho.value >= _LEAST_RHO):
        return Verdict(WITH_LABELS)
    return Verdict(UNUSABLE if side < 0 else TRIVIAL)


def _too_little(card: JudgeCard) -> Verdict | None:
    """Return that nothing can be said of a judge; None where something can be."""
    main = card.accuracy if card.agreement is not None else card.rho
    if not main.known:
        if main.why == CONSTANT_JUDGE and card.n >= _LEAST_ROWS:
            return Verdict(TRIVIAL)
        needed = _LEAST_ROWS if card.n < _LEAST_ROWS else None
        return Verdict(TOO_LITTLE, (f"agreement is undefined ({main.why})",), needed)
    if card.agreement is not None and card.agreement.majority == 1:
        return Verdict(TOO_LITTLE, ("all labels are the same, so a constant judge would be right",))
    narrow = main.bounded and (main.high - main.low) / 2 <= _WIDEST
    if card.n >= _LEAST_ROWS and (narrow or against_rules(card) < 0):
        return None
    needed = _LEAST_ROWS
    if main.se > 0 and card.n > 1:
        needed = max(needed, labels_for_kappa(main.se, card.n, _WIDEST))
    measure = "agreement" if card.agreement is not None else "the correlation"
    why = f"{measure} is {with_interval(main)} on {plural(card.n, 'labelled row')}"
    return Verdict(TOO_LITTLE, (why,), needed)


def against_rules(card: JudgeCard) -> int:
    """Return whether a judge is above (1), near (0) or below (-1) the best trivial rule.

    Exact agreement does not measure ordered grades, nor scores: constant verdicts have a weighted
    kappa and a correlation of 0.
    """
    limit = 0.0
    if card.measure == "agreement":
        if card.best_rule is None:
            return 0
        limit = card.best_rule.accuracy
    return 1 if card.headline.low > limit else -1 if card.headline.high < limit else 0


def _nearer_than_constant(card: JudgeCard, constant: AltTest | None) -> bool:
    """Return whether a judge is nearer to annotators than the best constant verdict."""
    if constant is None or card.alt_test is None or not card.alt_test.advantage.known:
        return True
    return not constant.advantage.value >= card.alt_test.advantage.value


def _system_order(card: JudgeCard) -> tuple[bool, bool]:
    """Return whether a judge orders systems as annotators do, and whether its gaps mean something.

    With fewer than five systems it does not show that it does; its gaps are not held against it.
    """
    level, gap = card.systems, card.systems.gap
    if math.isnan(level.alike) or len(level.systems) < _LEAST_SYSTEMS:
        return False, True
    if gap is None or not gap.gap.known:
        return False, False
    ranks = level.alike >= _LEAST_ALIKE and gap.right_above >= _LEAST_ABOVE
    return ranks, gap.gap.value < level.median_gap


def _like_annotators(card: JudgeCard) -> bool:
    """Return whether a judge is not below annotators, as far as can be seen."""
    if card.ceiling is not None and card.ceiling.difference.known:
        return not card.ceiling.difference.high < 0
    estimate = card.kappa if card.measure == "agreement" else card.headline
    return estimate.bounded and estimate.low >= _ALONE


# -------------------------------------------------------------------------------------- sentences


@dataclass(frozen=True, slots=True)
class _Words:
    """The sentences about one judge."""

    card: JudgeCard
    verdict: Verdict
    verdicts: Verdicts

    def lines(self) -> list[str]:
        """Return all of them but the class: agreement, missing verdicts, rules, order, biases."""
        card, name = self.card, self.card.name
        lines = [*self.evidence(), *self.missing()]
        if self.verdict.word not in (TRIVIAL, UNUSABLE):
            lines += [f"{rule}." for rule in self.rule()]
        elif against_rules(card) > 0:
            rho = f"{name} correlates with annotators at {card.rho.value:.2f}"
            lines.append(f"{rho}, too little for labels to gain from it.")
        elif not card.headline.known:
            lines.append(f"{name}: {card.headline.why}.")
        position = card.position
        if position is not None and position.design == FIXED and position.bias.why:
            lines.append(sentence(position.bias.why))
        if position is not None and position.design == SWAPPED and position.consistent.known:
            same = percent(position.consistent.value)
            lines.append(f"{name} says the same in both orders of {same} of pairs.")
        effects = effect_phrases(card.effects, pairs=self.verdicts.kind == "pairs")
        return [*lines, *self.position(), *self.order(), *(f"{name} {x}." for x in effects)]

    def undecided(self) -> str:
        """Return why there is no class."""
        labels = self.verdict.labels_needed
        more = "" if labels is None else f" About {plural(labels, 'label')} would do."
        return f"{self.card.name}: {TOO_LITTLE}: {self.verdict.reasons[0]}.{more}"

    def evidence(self) -> list[str]:
        """Return how far the judge agrees with annotators, then how far annotators do."""
        card = self.card
        if not card.headline.known:
            return []
        whom = "the majority of annotators" if len(self.verdicts.raters) > 1 else "the annotator"
        rows = plural(card.n, "battle" if self.verdicts.kind == "pairs" else "output")
        if self.verdicts.judge(card.name).other_order is not None:
            rows = f"{card.n:,} verdicts, in both orders"
        if card.measure == "correlation":
            text = f"correlates with annotators at {with_interval(card.rho)} over {rows}"
        elif card.measure == "weighted kappa":
            text = f"has a weighted kappa of {with_interval(card.headline)} with annotators"
            text += f" on {rows}; its correlation is {card.rho.value:.2f}" if card.rho.known else ""
        else:
            text = f"agrees with {whom} on {percent(card.accuracy.value)} of {rows}"
            kappa = f"kappa {with_interval(card.kappa)}"
            rest = [f"; {kappa}" if card.kappa.known else f" (no kappa: {card.kappa.why})"]
            if self.verdict.word in (TRIVIAL, UNUSABLE):
                rest = [f"; {rule[0].lower()}{rule[1:]}" for rule in self.rule()] or rest
            text += rest[0]
        lines = [f"{card.name} {text}."]
        ceiling = card.ceiling
        if ceiling is not None and ceiling.difference.known:
            judge, people = (
                f"{x.value:.2f}" if ceiling.measure == "correlation" else percent(x.value)
                for x in (ceiling.judge, ceiling.people)
            )
            measured = f"Measured like an annotator, against the others, {card.name} reaches"
            lines.append(f"{measured} {judge}; annotators reach {people}.")
        return lines

    def rule(self) -> list[str]:
        """Return the trivial rule that agrees most, without a full stop."""
        rule = self.card.best_rule
        if rule is None or self.card.measure != "agreement":
            return []
        what = rule.what[0].upper() + rule.what[1:]
        return [f"{what} agrees on {percent(rule.accuracy)}"]

    def missing(self) -> list[str]:
        """Return on how many labelled rows there is no verdict, and how they count."""
        share = self.card.abstained
        if not share.known or not share.value > 0:
            return []
        labelled = int(self.verdicts.labelled.sum())
        shown = percent(share.value) if share.value >= 0.005 else "under 1%"
        wrong = ", which count as wrong" if self.card.n >= labelled else ""
        rows = f"{shown} of {labelled:,} labelled rows"
        return [f"{self.card.name} has no verdict that can be read on {rows}{wrong}."]

    def position(self) -> list[str]:
        """Return which position the judge prefers, if it plainly does."""
        position = self.card.position
        if position is None or not abs(position.bias.value) >= _PLAIN_BIAS:
            return []
        return [f"{self.card.name} {phrase}." for phrase in position_phrases(position)]

    def order(self) -> list[str]:
        """Return how the judge orders systems."""
        level, gap = self.card.systems, self.card.systems.gap
        if math.isnan(level.alike):
            return []
        text = f"orders {percent(level.alike)} of {level.n_pairs} system pairs as annotators do"
        rest = "" if gap is None else f"; no gap can be measured: {gap.gap.why}"
        if gap is not None and gap.gap.known:
            rest = f"; gaps under {gap.gap.value:.2g} of its points mean nothing"
        return [f"{self.card.name} {text}{rest}."]

    def largest_bias(self) -> list[str]:
        """Return the bias that matters most: of position, else the surest effect."""
        surest = sorted(self.card.effects[1:], key=lambda effect: effect.p_adjusted)[:1]
        effects = effect_phrases(surest, pairs=self.verdicts.kind == "pairs")
        return [*self.position(), *(f"{self.card.name} {phrase}." for phrase in effects)][:1]


# ----------------------------------------------------------------------------------------- result


_COLUMNS = (
    Column("judge"), Column("n", importance=6), Column("agreement", "higher", 3, importance=9),
    Column("low", None, 3, importance=4), Column("high", None, 3, importance=4),
    Column("kappa", "higher", 3, importance=8), Column("weighted kappa", "higher", 3, importance=8),
    Column("abstained", "lower", 3, importance=7),
    Column("like an annotator", "higher", 3, importance=6),
    Column("annotators", None, 3, importance=7), Column("trivial rule", None, 3, importance=7),
    Column("rho", "higher", 3, importance=2), Column("systems alike", "higher", 3),
    Column("gap", "lower", mixed=True, importance=3), Column("position", None, 3, importance=4),
    Column("100 labels are worth", "higher", 0, importance=4), Column("class", importance=9),
)  # fmt: skip
#: Columns that the class rests on, by what a judge is summed up by.
_SHORT = {
    "agreement": {"agreement", "kappa", "trivial rule"},
    "weighted kappa": {"weighted kappa", "rho"},
    "correlation": {"rho"},
}


def _cells(card: JudgeCard, word: str) -> tuple[Cell, ...]:
    main = card.accuracy if card.agreement is not None else card.rho
    ceiling, rule, gap, position = card.ceiling, card.best_rule, card.systems.gap, card.position
    cells: tuple[Any, ...] = (
        card.name, card.n, main.value, main.low, main.high, card.kappa.value,
        card.weighted_kappa.value if card.graded else None, card.abstained.value or None,
        ceiling and ceiling.judge.value, ceiling and ceiling.people.value, rule and rule.accuracy,
        card.rho.value, card.systems.alike, gap and gap.gap.value,
        position and position.bias.value, card.worth, word,
    )  # fmt: skip
    return tuple(None if isinstance(x, float) and math.isnan(x) else x for x in cells)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class JudgeReport(Answer):
    """Judges against annotators: the numbers and the class of each, in the order of their names.

    ``constant`` is the verdict that would do best in the alternative annotator test if it were
    always given, and how well; None without several annotators. ``requirements`` are what was
    asked of the judges, and whether it holds.
    """

    verdicts: Verdicts
    cards: tuple[JudgeCard, ...]
    decisions: tuple[Verdict, ...]
    constant: tuple[str, AltTest] | None = None
    requirements: tuple[Checked, ...] = ()
    warnings: tuple[str, ...] = ()
    provenance: Provenance | None = None

    def __repr__(self) -> str:
        pairs = zip(self.cards, self.decisions, strict=True)
        judges = listed([f"{named([card.name])}: {verdict.word}" for card, verdict in pairs], 3)
        rows = plural(len(self.verdicts), "row")
        labelled = int(self.verdicts.labelled.sum())
        return one_line(self, f"of {rows}, {labelled:,} labelled; {judges}")

    def _judges(self) -> list[_Words]:
        order = (*CLASSES, TOO_LITTLE)
        judges = [
            _Words(card, verdict, self.verdicts)
            for card, verdict in zip(self.cards, self.decisions, strict=True)
        ]
        return sorted(judges, key=lambda judge: order.index(judge.verdict.word))

    def headline(self) -> list[str]:
        """Return the class of every judge in one sentence."""
        parts = []
        for word in CLASSES:
            names = [judge.card.name for judge in self._judges() if judge.verdict.word == word]
            if names:
                parts.append(f"{all_of(names)} {'is' if len(names) == 1 else 'are'} {word}")
        return [f"{'; '.join(parts)}."] if parts else []

    def answer(self) -> tuple[str, ...]:
        """Return the answer in at most three sentences."""
        judges = self._judges()
        classed = [judge for judge in judges if judge.verdict.word != TOO_LITTLE]
        lines = self.headline()
        lines += [judge.undecided() for judge in judges if judge not in classed][:1]
        if len(classed) == 1:
            lines += classed[0].evidence()
        elif classed:
            lines += [*classed[0].evidence()[:1], *classed[-1].evidence()[:1]]
        return tuple(lines[:3]) or Answer.answer(self)

    def statements(self) -> Iterator[Statement]:
        """Yield all sentences by part: classes, what is open, then each judge."""
        judges = self._judges()
        yield from (("settled", line) for line in self.headline())
        for judge in judges:
            if judge.verdict.word == TOO_LITTLE:
                yield "undecided", judge.undecided()
        if not judges:
            yield "undecided", "There is no judge to compare."
        # A rule that several judges are held against is told once.
        lines = dict.fromkeys(line for judge in judges for line in judge.lines())
        yield from (("sureness", line) for line in lines)
        yield from (("sureness", line) for line in self._worth_line())

    def best_with_labels(self) -> JudgeCard | None:
        """Return the judge with which labels are worth most, of those usable with labels."""
        cards = [
            card for card, verdict in zip(self.cards, self.decisions, strict=True)
            if verdict.word == WITH_LABELS and not math.isnan(card.worth)
        ]  # fmt: skip
        return max(cards, key=lambda card: (card.worth, card.name)) if cards else None

    def _worth_line(self) -> list[str]:
        best = self.best_with_labels()
        if best is None:
            return []
        return [f"100 labels and {best.name}'s verdicts are as precise as {best.worth:.0f} labels."]

    def table(self, *, short: bool = False) -> Table:
        """Return a row per judge, with every number or those that the class rests on."""
        wanted = {column.name for column in _COLUMNS}
        if short:
            wanted = {"judge", "like an annotator", "annotators", "class"}
            for card in self.cards:
                wanted |= _SHORT[card.measure]
            if any(card.ceiling is not None for card in self.cards):
                wanted.discard("kappa")  # the window is too narrow for both
        rows = [_cells(card, verdict.word)
                for card, verdict in zip(self.cards, self.decisions, strict=True)]  # fmt: skip
        kept = [i for i, column in enumerate(_COLUMNS)
                if column.name in wanted and any(row[i] is not None for row in rows)]  # fmt: skip
        body = tuple(tuple(row[i] for i in kept) for row in rows)
        return Table("", tuple(_COLUMNS[i] for i in kept), body)

    def pieces(self, *, details: bool = False) -> list[Table | str]:
        """Return the table, the largest biases, and which requirements hold."""
        checked = "\n".join(
            f"{item.result}: {item.judge} {item.requirement}: {item.found}"
            for item in self.requirements
        )
        if details:
            return [self.table(), "\n".join(self.sentences), checked]
        shown = [line for judge in self._judges() for line in judge.largest_bias()][:_BIASES]
        return [self.table(short=True), "\n".join(shown), checked]

    @property
    def exit_code(self) -> int:
        """0 if all requirements hold, 3 if one fails, 4 if one is undecided."""
        results = {item.result for item in self.requirements}
        return EXIT_FAILS if FAILS in results else EXIT_UNDECIDED if UNDECIDED in results else 0

    def to_dict(self) -> dict[str, Any]:
        """Return what ``--json`` prints."""
        judges = [
            card.to_dict() | {"verdict": verdict.word, "reasons": list(verdict.reasons),
                              "labels_needed": verdict.labels_needed}
            for card, verdict in zip(self.cards, self.decisions, strict=True)
        ]  # fmt: skip
        constant = None
        if self.constant is not None:
            constant = {"label": self.constant[0], **self.constant[1].to_dict()}
        ceilings = [card.ceiling.people for card in self.cards if card.ceiling is not None]
        ceiling = max((x for x in ceilings if x.known), key=lambda x: x.n, default=None)
        verdicts = self.verdicts
        return {
            "summary": self.summary().splitlines(),
            "kind": verdicts.kind,
            "n_items": len(verdicts),
            "n_labelled": int(verdicts.labelled.sum()),
            "labels": "random",  # the worth of labels takes them for a random sample
            "unit": {
                "name": verdicts.unit_name,
                "n": len(verdicts.units) or len(verdicts),
                "design_effect": self._design_effect(),
            },
            "human": {
                "raters": [rater.name for rater in verdicts.raters],
                "ceiling": None if ceiling is None else ceiling.to_dict(),
                "best_constant": constant,
            },
            "judges": judges,
            "requirements": [item.to_dict() for item in self.requirements],
            "warnings": list(self.warnings),
            **origin(self.provenance),
        }

    def _design_effect(self) -> float:
        accuracies = [card.accuracy for card in self.cards if card.accuracy.se > 0]
        if not accuracies:
            return math.nan
        most = max(accuracies, key=lambda accuracy: accuracy.n)
        return most.se**2 * most.n / (most.value * (1 - most.value))


# ------------------------------------------------------------------------------------------- verb


@keywords(JudgeOptions)
def judge(*sources: Any, options: JudgeOptions, require: Sequence[str] = ()) -> JudgeReport:
    """Compare judges with annotators: which can be trusted, where they err, what to do.

    Parameters
    ----------
    sources
        Files or frames of verdicts, or :class:`~steelyard.data.verdicts.Verdicts`: points (columns
        system and item) or pairs (left and right), a column for each judge and each annotator, or a
        row for each with a column judge or rater. Labels may be in a table of their own.
    options
        See :class:`~steelyard.judging.options.JudgeOptions`; given as keywords.
    require
        Requirements, as ``"kappa.low>=0.4"``.

    Examples
    --------
    >>> import polars
    >>> rng = np.random.default_rng(0)
    >>> truth = rng.choice(["pass", "fail"], 200)
    >>> verdicts = np.where(rng.random(200) < 0.9, truth, "fail")
    >>> frame = polars.DataFrame({"item": range(200), "expert": truth, "gpt": verdicts})
    >>> report = judge(frame, human=["expert"])
    >>> report.cards[0].accuracy.value, report.decisions[0].word
    (0.945, 'usable as is')
    """
    check_names(require=require)
    requirements = [parse(text) for text in require]
    verdicts = options.read(sources)
    families = options.families(verdicts)
    cards = tuple(judge_card(verdicts, judge, options, families) for judge in verdicts.judges)
    constant = _best_constant(verdicts, options)
    decisions = []
    for card in cards:
        verdict = classify(card, None if constant is None else constant[1])
        why = verdict.reasons or tuple(_Words(card, verdict, verdicts).lines())
        decisions.append(replace(verdict, reasons=why))
    checked = [
        _unless_empty(check(item, numbers), card)
        for card, numbers in ((card, card.to_dict()) for card in cards if requirements)
        for item in requirements
    ]
    return JudgeReport(
        verdicts=verdicts,
        cards=cards,
        decisions=tuple(decisions),
        constant=constant,
        requirements=tuple(checked),
        warnings=(*verdicts.notes, *_warnings(verdicts, cards)),
        provenance=options.provenance("judge", sources, unit=verdicts.unit_name),
    )


def _unless_empty(checked: Checked, card: JudgeCard) -> Checked:
    """Leave a requirement open that holds only for the rows on which the judge said something."""
    if checked.result != HOLDS or card.empty <= _MOST_EMPTY or "abstained" in checked.requirement:
        return checked
    rows = f"without the {percent(card.empty)} of labelled rows that have no verdict"
    return replace(checked, result=UNDECIDED, found=f"{checked.found} {rows}")


def _best_constant(verdicts: Verdicts, options: JudgeOptions) -> tuple[str, AltTest] | None:
    if len(verdicts.raters) < 2:
        return None
    raters, scoring = annotators_as_numbers(verdicts)
    if np.isnan(raters).all():
        return None
    value, test = best_constant(raters, scoring=scoring, epsilon=options.alt_epsilon,
                                unit=verdicts.unit, level=options.level)  # fmt: skip
    return (verdicts.categories[int(value)] if scoring == "accuracy" else f"{value:g}"), test


def _warnings(verdicts: Verdicts, cards: Sequence[JudgeCard]) -> Iterator[str]:
    if (n := int(verdicts.labelled.sum())) < _FEW_LABELS:
        yield f"{plural(n, 'labelled row')}: intervals are wide"
    if len(verdicts.raters) == 1:
        yield "one annotator: how far annotators agree with each other is not known"
    top = float(np.nanmax(verdicts.people().value, initial=0.0))
    for judge in verdicts.judges if verdicts.ordered and verdicts.kind == "points" else ():
        highest = float(np.nanmax(judge.value, initial=0.0))
        if not top <= 1.5 * highest <= 2.25 * top:
            scales = f"up to {highest:g}, annotators up to {top:g}"
            yield f"{judge.name} grades {scales}: kappa takes grades as they are"
    silent = [card.name for card in cards if card.empty > _MOST_EMPTY]
    if silent:
        yield (
            f"{listed(silent, 4)}: rows without a verdict are left out: "
            'unparsed="wrong" if the judge failed there, unparsed="drop" if it was not asked'
        )


# ---------------------------------------------------------------------------------- disagreements


def worst_disagreements(verdicts: Verdicts, judge: Opinion, most: int = _WORST) -> Table:
    """Return the labelled rows on which a judge is furthest from annotators, the furthest first.

    By numbers where there are any, else rows with other labels, in the order of items. Rows that
    annotators agree on come before those on which they are split.
    """
    people = verdicts.people()
    far = np.abs(judge.value - people.value)
    if np.isnan(far).all() and judge.label is not None and people.label is not None:
        both = (judge.label >= 0) & (people.label >= 0)
        far = np.where(both, (judge.label != people.label).astype(np.float64), np.nan)
    values = np.stack([rater.value for rater in verdicts.raters])
    present = ~np.isnan(values)
    highest = np.where(present, values, -np.inf).max(axis=0)
    lowest = np.where(present, values, np.inf).min(axis=0)
    split = np.where(present.sum(axis=0) > 1, highest - lowest, 0.0)
    rows = np.flatnonzero(far > 0)
    order = rows[np.lexsort((rows, split[rows], -far[rows]))][:most]
    sides = [codes for codes in (verdicts.left, verdicts.right) if codes is not None]
    headings = ("left", "right") if len(sides) == 2 else ("system",) if sides else ()
    columns = (
        Column("item"), *map(Column, headings), Column("annotators"),
        Column(judge.name, key="judge"),
    )  # fmt: skip
    cells = [
        (verdicts.items[verdicts.item[row]], *(verdicts.systems[codes[row]] for codes in sides),
         *(_cell(verdicts, opinion, int(row)) for opinion in (people, judge)))
        for row in order
    ]  # fmt: skip
    return Table(f"Worst disagreements of {judge.name}", columns, tuple(cells))


def _cell(verdicts: Verdicts, opinion: Opinion, row: int) -> Cell:
    if opinion.label is not None and opinion.label[row] >= 0:
        return verdicts.categories[int(opinion.label[row])]
    value = float(opinion.value[row])
    return None if np.isnan(value) else round(value, 3)
