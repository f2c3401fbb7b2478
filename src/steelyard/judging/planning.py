"""How many labels are needed, and which rows to label next."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from steelyard.core.display import Result, Statement, Summary, one_line
from steelyard.core.errors import UsageError
from steelyard.core.options import keywords
from steelyard.core.provenance import Provenance, origin
from steelyard.core.rng import Rng, generator
from steelyard.core.table import Cell, Column, Frame, Table
from steelyard.core.text import plural
from steelyard.data.verdicts import Opinion, Verdicts
from steelyard.judging.cardwords import percent
from steelyard.judging.correctedmeans import Meaner
from steelyard.judging.correction import the_judge
from steelyard.judging.labelchoice import RANDOM, Choice
from steelyard.judging.labelrows import NEXT, PROBABILITY, STATE, rows_to_label
from steelyard.judging.options import PlanOptions
from steelyard.judging.run import provenance_of, verdicts_of
from steelyard.stats.arrays import Floats
from steelyard.stats.correlation import cell_pearson
from steelyard.stats.estimate import critical
from steelyard.stats.judged.agreement import label_agreement
from steelyard.stats.prediction_powered.labels import (
    labels_for_half_width,
    labels_for_kappa,
    labels_to_pass,
    labels_to_separate,
)
from steelyard.stats.prediction_powered.mean import FEWEST, with_every_verdict

_USUAL = 0.05  # half-width that is planned for where nothing is asked
_CURVE = 40  # points of the curve of half-widths


@dataclass(frozen=True, slots=True)
class Need:
    """How many labels a question needs: with the judge, and with people alone.

    None is more than there are rows (or, of an accuracy, no number at all); ``why`` says so.
    ``have`` is how many labels of this kind there are.
    """

    question: str
    labels: int | None
    people_alone: int | None
    why: str = ""
    have: int = 0

    @property
    def more(self) -> int | None:
        """How many more labels it takes."""
        return None if self.labels is None else max(0, self.labels - self.have)

    def told(self) -> str:
        """Say it in words."""
        if self.labels is None:
            return f"{self.question}: {self.why}."
        more = self.more or 0
        beside = ""
        if self.people_alone not in (None, self.labels):
            beside = f" ({self.people_alone:,} without the judge)"
        to_go = f"; {more:,} more than there are" if more and self.have else ""
        done = " You have them." if not more else ""
        return f"{self.question}: {plural(self.labels, 'label')}{beside}{to_go}.{done}"

    def to_dict(self) -> dict[str, Any]:
        """Give what ``--json`` prints."""
        return {
            "question": self.question,
            "labels": self.labels,
            "people_alone": self.people_alone,
            "have": self.have,
            "why": self.why or None,
        }


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class LabelPlan(Result):
    """What labels are needed for, and which rows come next.

    Parameters
    ----------
    judge
        Whose verdicts there are.
    rho, spread
        Correlation with people, and the spread of what people say; of labels so far, or assumed.
    needs
        What was asked, with the labels that it needs.
    curve
        Labels, half-width with the judge, and half-width with people alone.
    rows
        All rows that the judge judged, with probabilities; None without a budget.
    """

    judge: str
    n_judged: int
    n_rows: int
    n_labelled: int
    rho: float
    spread: float
    needs: tuple[Need, ...]
    curve: tuple[tuple[int, float, float], ...]
    rows: Table | None = None
    n_next: int = 0
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    provenance: Provenance | None = None

    def __repr__(self) -> str:
        rows = f"{plural(self.n_rows, 'row')}, {self.n_labelled:,} labelled"
        return one_line(self, f"of {rows}, by '{self.judge}'")

    def words(self) -> Summary:
        """Say how many labels are needed, what can't be reached, and what the judge saves."""
        told: list[Statement] = [
            ("undecided" if need.labels is None else "settled", need.told()) for need in self.needs
        ]
        told += [("settled", text) for text in self._next()]
        return Summary.of([*told, ("sureness", self._saved())])

    def summary(self) -> str:
        """Say it in words."""
        return "\n".join([self._saved(), *(need.told() for need in self.needs), *self._next()])

    def _next(self) -> list[str]:
        if self.rows is None:
            return []
        rows = (
            f"{plural(self.n_next, 'row')} to label next: more where the judge was wrong more often"
        )
        fill = f"Fill in the labels, and correct by them (probability:{PROBABILITY})"
        return [f"{rows}. {fill}."]

    def _saved(self) -> str:
        if math.isnan(self.rho):
            return (
                f"{plural(self.n_labelled, 'label')} so far: too few to know what {self.judge} is "
                "worth, so that it is counted for nothing."
            )
        saved = max(self.rho, 0.0) ** 2
        return (
            f"{self.judge} correlates with people at {self.rho:.2f} over {self.n_labelled:,} "
            f"labels: it saves {percent(saved)} of labels at most, however many verdicts there are."
        )

    def table(self) -> Table:
        """Give what is needed, a row per question."""
        columns = (Column("question"), Column("labels"), Column("without the judge"),
                   Column("more"))  # fmt: skip
        rows: list[tuple[Cell, ...]] = [
            (need.question, need.labels, need.people_alone, need.more) for need in self.needs
        ]
        return Table("Labels needed", columns, tuple(rows), self.notes)

    def to_frame(self, backend: str | None = None) -> Frame:
        """Give the rows to label as a frame; without a budget what is needed."""
        return (self.rows or self.table()).to_frame(backend)

    def to_dict(self) -> dict[str, Any]:
        """Give what ``--json`` prints."""
        return {
            "summary": self.summary().splitlines(),
            "judge": self.judge,
            "n_judged": self.n_judged,
            "n_rows": self.n_rows,
            "n_labelled": self.n_labelled,
            "rho": self.rho,
            "spread": self.spread,
            "needs": [need.to_dict() for need in self.needs],
            "curve": [
                {"labels": n, "half_width": with_judge, "people_alone": without}
                for n, with_judge, without in self.curve
            ],
            "n_next": self.n_next,
            "next": None if self.rows is None else [
                dict(zip((column.name for column in self.rows.columns), row, strict=True))
                for row in self.rows.rows
                if row[_place(self.rows, STATE)] == NEXT
            ],
            "notes": list(self.notes),
            "warnings": list(self.warnings),
            **origin(self.provenance),
        }  # fmt: skip


def _place(table: Table, name: str) -> int:
    return [column.name for column in table.columns].index(name)


@keywords(PlanOptions)
def plan_labels(*sources: Any, options: PlanOptions, rng: Rng = 0) -> LabelPlan:
    """Say how many labels are needed, and which rows to label next.

    Parameters
    ----------
    sources
        As those of :func:`steelyard.judge`; what is labelled so far is the pilot.
    options
        See :class:`~steelyard.judging.options.PlanOptions`; given as keywords.
    rng
        Draws the rows that come next.

    Examples
    --------
    >>> import polars
    >>> rng = np.random.default_rng(0)
    >>> truth = rng.random(1000) < 0.6
    >>> said = np.where(rng.random(1000) < 0.85, truth, True).astype(int)
    >>> labels = [int(x) if i < 100 else None for i, x in enumerate(truth)]
    >>> frame = polars.DataFrame({"item": range(1000), "expert": labels, "gpt": said})
    >>> found = plan_labels(frame, human=["expert"], judge="gpt", half_width=0.05, budget=50)
    >>> found.needs[0].labels < found.needs[0].people_alone, found.n_next
    (True, 50)
    """
    stream = generator(rng)
    verdicts = verdicts_of(sources, options)
    judge = the_judge(verdicts, options.judge)
    human = verdicts.people().value
    judged = ~np.isnan(judge.value)
    n_judged, total = int(judged.sum()), len(human)
    if n_judged < 2:
        raise UsageError(f"{judge.name} judged {plural(n_judged, 'row')}, expected two or more")
    # A correction uses labels of rows without a verdict too, so the plan counts these rows.
    predicted = replace(judge, value=with_every_verdict(judge.value))
    known = ~np.isnan(human)
    y, f = human[known], predicted.value[known]
    notes: list[str] = []
    if n_judged < total:
        lacking = plural(total - n_judged, "row")
        notes.append(f"{lacking} without a verdict count: they can be labelled like all others")
    rho = _rho(y, f)
    spread = _spread(y, judge.value[judged], notes)
    needs = tuple(_needs(verdicts, predicted, human, rho, spread, total, options))
    rows, n_next = None, 0
    if options.budget is not None:
        rows, n_next = rows_to_label(verdicts, judge, human, options.budget, stream)
        notes.append(
            f"rows are drawn with the probabilities of the column '{PROBABILITY}', exactly as many "
            "as asked for (systematic sampling in random order); 1 for rows that have a label"
        )
    return LabelPlan(
        judge=judge.name,
        n_judged=n_judged,
        n_rows=total,
        n_labelled=int(known.sum()),
        rho=rho,
        spread=spread,
        needs=needs,
        curve=tuple(_curve(spread, rho, total, options.level)),
        rows=rows,
        n_next=n_next,
        notes=tuple(notes),
        warnings=verdicts.notes,
        provenance=provenance_of("judge plan", sources, options, rng),
    )


def _rho(y: Floats, f: Floats) -> float:
    return cell_pearson(y, f)[0] if len(y) >= FEWEST else float("nan")


def _spread(y: Floats, judged: Floats, notes: list[str]) -> float:
    """Give the spread of labels; where these are few, or all alike, that of the verdicts."""
    if len(y) >= FEWEST and np.ptp(y) > 0:
        return float(y.std(ddof=1))
    notes.append("the spread of labels is not known yet: that of the judge's verdicts is taken")
    own = float(judged.std(ddof=1)) if len(judged) > 1 else 0.0
    return own if own > 0 else 0.5


def _needs(
    verdicts: Verdicts,
    judge: Opinion,
    human: Floats,
    rho: float,
    spread: float,
    total: int,
    options: PlanOptions,
) -> list[Need]:
    found = []
    asked = (options.kappa, options.accuracy, options.pair, options.budget)
    half = options.half_width
    if half is None and all(one is None for one in asked):
        half = _USUAL
    helped = 0.0 if math.isnan(rho) else max(rho, 0.0)
    beyond = f"not even with all {total:,} rows labelled"
    have = int((~np.isnan(human)).sum())
    if half is not None:
        with_judge, without = (
            labels_for_half_width(spread, own, half, total, level=options.level)
            for own in (helped, 0.0)
        )
        found.append(Need(f"A mean within {half:g}", with_judge, without,
                          "" if with_judge else beyond, have))  # fmt: skip
    if options.kappa is not None:
        found.append(_kappa(verdicts, judge, options.kappa, options.level))
    if options.accuracy is not None:
        found.append(_accuracy(verdicts, judge, options))
    if options.pair is not None:
        found.append(_separated(verdicts, judge, human, options))
    return found


def _kappa(verdicts: Verdicts, judge: Opinion, half: float, level: float) -> Need:
    people = verdicts.people()
    question = f"Kappa within {half:g}"
    if people.label is None or judge.label is None or not judge.categorical:
        return Need(question, None, None, "verdicts are scores, no labels")
    found = label_agreement(verdicts.people_shares(), judge.label, len(verdicts.categories),
                            unit=verdicts.unit, level=level)  # fmt: skip
    kappa = found.kappa
    if not kappa.se > 0:
        return Need(question, None, None, f"no pilot: {kappa.why or 'kappa has no error yet'}")
    needed = labels_for_kappa(kappa.se, found.n, half, level=level)
    return Need(question, needed, None, have=found.n)


def _accuracy(verdicts: Verdicts, judge: Opinion, options: PlanOptions) -> Need:
    people = verdicts.people()
    assert options.accuracy is not None
    question = f"To show an accuracy above {options.accuracy:g}"
    if people.label is None or judge.label is None or not judge.categorical:
        return Need(question, None, None, "verdicts are scores, no labels")
    found = label_agreement(verdicts.people_shares(), judge.label, len(verdicts.categories),
                            unit=verdicts.unit, level=options.level)  # fmt: skip
    own = found.accuracy
    if not own.known or not 0 < own.value < 1:
        return Need(question, None, None, f"no pilot: {own.why or 'labels do not differ yet'}")
    if own.value <= options.accuracy:
        said = f"it agrees in {percent(own.value)} so far, which no number of labels makes more"
        return Need(question, None, None, said)
    needed = labels_to_pass(own.value, options.accuracy, power=options.power, level=options.level)
    return Need(question, needed, None, "" if needed else "more than 20,000 labels", found.n)


def _separated(verdicts: Verdicts, judge: Opinion, human: Floats, options: PlanOptions) -> Need:
    """Give the labels that tell two systems apart, from their differences on the same items."""
    names = tuple(options.pair or ())
    if len(names) != 2 or names[0] == names[1]:
        raise UsageError("pair: expected two systems")
    for name in names:
        if name not in verdicts.systems:
            raise UsageError(f"pair: no system '{name}'; known: {', '.join(verdicts.systems)}")
    y, f = differences(verdicts, human, judge.value, names)
    question = f"To tell {names[0]} from {names[1]}"
    known = ~(np.isnan(y) | np.isnan(f))
    total = int((~np.isnan(f)).sum())
    if total < 2:
        return Need(question, None, None, "the judge saw them on fewer than two of the same items")
    notes: list[str] = []
    rho = _rho(y[known], f[known])
    spread = _spread(y[known], f[~np.isnan(f)], notes)
    apart = options.difference
    if apart is None and known.sum() < FEWEST:
        why = f"{plural(int(known.sum()), 'label')} of both: how far they are apart is not known"
        return Need(question, None, None, f"{why} (difference=D)")
    apart = float(y[known].mean()) if apart is None else apart
    if apart == 0:
        return Need(question, None, None, "labels so far see no difference at all")
    helped = 0.0 if math.isnan(rho) else max(rho, 0.0)
    with_judge, without = (
        labels_to_separate(apart, spread, own, total, power=options.power, level=options.level)
        for own in (helped, 0.0)
    )
    what = "items with labels of both" if verdicts.kind == "points" else "battles of the two"
    told = f"{question}, {abs(apart):.2g} apart ({what})"
    beyond = f"not even with all {total:,} labelled"
    return Need(told, with_judge, without, "" if with_judge else beyond, int(known.sum()))


def differences(
    verdicts: Verdicts, human: Floats, judge: Floats, names: Sequence[str]
) -> tuple[Floats, Floats]:
    """Give what people, and the judge, see between two systems: on the same items, or in battles.

    A number per item of both, or per battle of the two.
    """
    one, other = (verdicts.systems.index(name) for name in names)
    assert verdicts.left is not None
    if verdicts.right is None:
        meaner = Meaner(verdicts, human, judge, Choice(RANDOM), 0.95, "any")
        a, b = meaner.own(one), meaner.own(other)
        _, i, j = np.intersect1d(verdicts.item[a.rows], verdicts.item[b.rows], return_indices=True)
        return a.human[i] - b.human[j], a.judge[i] - b.judge[j]
    left, right = verdicts.left, verdicts.right
    rows = ((left == one) & (right == other)) | ((left == other) & (right == one))
    sign = np.where(left[rows] == one, 1.0, -1.0)
    return sign * (2 * human[rows] - 1), sign * (2 * judge[rows] - 1)


def _curve(spread: float, rho: float, total: int, level: float) -> list[tuple[int, float, float]]:
    """Give half-widths by the number of labels, with the judge and without it."""
    z = critical(level)
    helped = 0.0 if math.isnan(rho) else max(rho, 0.0)
    steps = np.unique(np.geomspace(min(10, total), total, _CURVE).round().astype(int))
    return [
        (
            int(n),
            z * spread * math.sqrt((1 - helped**2 * (total - n) / total) / n),
            z * spread / math.sqrt(n),
        )
        for n in steps
    ]
