"""How many labels are needed, and which rows to label next."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steelyard.core.display import Record, Statement, keys, one_line
from steelyard.core.errors import UsageError
from steelyard.core.options import keywords
from steelyard.core.provenance import Provenance
from steelyard.core.rng import Rng, generator
from steelyard.core.table import Cell, Column, Frame, Table
from steelyard.core.text import plural
from steelyard.data.verdicts import Opinion, Verdicts
from steelyard.judging.card import Answer, percent
from steelyard.judging.options import PlanOptions
from steelyard.stats.arrays import Floats
from steelyard.stats.correlation import cell_pearson
from steelyard.stats.judged.agreement import label_agreement
from steelyard.stats.prediction_powered.labels import (
    labels_for_half_width,
    labels_for_kappa,
    next_probabilities,
)
from steelyard.stats.prediction_powered.mean import FEWEST, with_every_verdict

NEXT, DONE, LATER = "next", "done", "later"
PROBABILITY, STATE = "probability", "to_label"
_USUAL = 0.05  # half-width that is planned for where nothing is asked


@dataclass(frozen=True, slots=True)
class Need(Record):
    """How many labels a question needs: with the judge, and with annotators alone.

    None is more than there are rows; ``why`` says so.
    ``have`` is how many labels of this kind there are.
    """

    question: str
    labels: int | None
    people_alone: int | None
    have: int = 0
    why: str | None = None

    @property
    def more(self) -> int | None:
        """How many more labels it takes."""
        return None if self.labels is None else max(0, self.labels - self.have)

    def sentence(self) -> str:
        """Return the answer in words."""
        if self.labels is None:
            return f"{self.question}: {self.why}."
        text = f"{self.question}: {plural(self.labels, 'label')}"
        if self.people_alone not in (None, self.labels):
            text += f" ({self.people_alone:,} without the judge)"
        if not self.more:
            return f"{text}. You have them."
        return f"{text}; {self.more:,} more than there are." if self.have else f"{text}."


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class LabelPlan(Answer):
    """How many labels are needed, and which rows come next.

    ``rho`` and ``spread`` are the correlation with annotators and the spread of what they say, from
    the labels so far. ``rows`` are all rows with their probabilities; None without a budget.
    """

    json_keys = keys(
        "summary=sentences judge n_judged n_rows n_labelled rho spread needs n_next "
        "next=next_rows notes warnings provenance"
    )
    judge: str
    n_judged: int
    n_rows: int
    n_labelled: int
    rho: float
    spread: float
    needs: tuple[Need, ...]
    rows: Table | None = None
    n_next: int = 0
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    provenance: Provenance | None = None

    def __repr__(self) -> str:
        rows = f"{plural(self.n_rows, 'row')}, {self.n_labelled:,} labelled"
        return one_line(self, f"of {rows}, by '{self.judge}'")

    def statements(self) -> Iterator[Statement]:
        """Yield the sentences by part: labels needed, rows to label, what the judge saves."""
        if self.rows is not None:
            rows = plural(self.n_next, "row")
            yield "settled", f"Label {rows} next: more where the judge was wrong more often."
            yield "sureness", f"Then correct by these labels (probability:{PROBABILITY})."
        for need in self.needs:
            yield "undecided" if need.labels is None else "settled", need.sentence()
        labels = plural(self.n_labelled, "label")
        saved = f"{self.judge} correlates with annotators at {self.rho:.2f} over {labels}: "
        saved += f"it saves at most {percent(_helpful(self.rho) ** 2)} of labels."
        if math.isnan(self.rho):
            saved = f"{labels} so far: too few to know what {self.judge} is worth."
        yield "sureness", saved

    def table(self) -> Table:
        """Return what is needed, a row per question."""
        columns = (Column("question"), Column("labels"), Column("without the judge"),
                   Column("more"))  # fmt: skip
        rows = [(need.question, need.labels, need.people_alone, need.more) for need in self.needs]
        return Table("", columns, tuple(rows), self.notes)

    def to_frame(self, backend: str | None = None) -> Frame:
        """Return the rows to label as a frame; without a budget what is needed."""
        return (self.rows or self.table()).to_frame(backend)

    @property
    def next_rows(self) -> list[dict[str, Cell]] | None:
        """The rows to label next; None without a budget."""
        if self.rows is None:
            return None
        names = [column.name for column in self.rows.columns]
        rows = [dict(zip(names, row, strict=True)) for row in self.rows.rows]
        return [row for row in rows if row[STATE] == NEXT]


@keywords(PlanOptions)
def plan_labels(*sources: Any, options: PlanOptions, rng: Rng = 0) -> LabelPlan:
    """Return how many labels are needed, and which rows to label next.

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
    >>> verdicts = np.where(rng.random(1000) < 0.85, truth, True).astype(int)
    >>> labels = [int(x) if i < 100 else None for i, x in enumerate(truth)]
    >>> frame = polars.DataFrame({"item": range(1000), "expert": labels, "gpt": verdicts})
    >>> plan = plan_labels(frame, human=["expert"], judge="gpt", half_width=0.05, budget=50)
    >>> plan.needs[0].labels < plan.needs[0].people_alone, plan.n_next
    (True, 50)
    """
    stream = generator(rng)
    verdicts = options.read(sources)
    judge = options.pick(verdicts)
    human = verdicts.people().value
    judged = ~np.isnan(judge.value)
    n_judged, total = int(judged.sum()), len(human)
    if n_judged < 2:
        raise UsageError(f"{judge.name} judged {plural(n_judged, 'row')}, expected two or more")
    notes: list[str] = []
    if n_judged < total:
        missing = plural(total - n_judged, "row")
        notes.append(f"{missing} without a verdict count: they can be labelled like all others")
    labelled = ~np.isnan(human)
    # A correction uses labels of rows without a verdict too, so the plan counts these rows.
    rho = math.nan
    if labelled.sum() >= FEWEST:
        rho = cell_pearson(human[labelled], with_every_verdict(judge.value)[labelled])[0]
    spread = _spread(human[labelled], judge.value[judged], notes)
    half, needs = options.half_width, []
    if half is None and options.kappa is None and options.budget is None:
        half = _USUAL
    if half is not None:
        needs.append(_mean_within(half, spread, rho, human, options.level))
    if options.kappa is not None:
        needs.append(_kappa_within(options.kappa, verdicts, judge, options.level))
    rows, n_next = None, 0
    if options.budget is not None:
        rows, n_next = rows_to_label(verdicts, judge, human, options.budget, stream)
        notes.append(
            f"rows are drawn with the probabilities of the column '{PROBABILITY}'; rows that have "
            "a label have 1"
        )
    return LabelPlan(
        judge=judge.name,
        n_judged=n_judged,
        n_rows=total,
        n_labelled=int(labelled.sum()),
        rho=rho,
        spread=spread,
        needs=tuple(needs),
        rows=rows,
        n_next=n_next,
        notes=tuple(notes),
        warnings=verdicts.notes,
        provenance=options.provenance("judge plan", sources, rng),
    )


def _spread(y: Floats, judged: Floats, notes: list[str]) -> float:
    """Return the spread of labels; where these are few, or all alike, that of the verdicts."""
    if len(y) >= FEWEST and np.ptp(y) > 0:
        return float(y.std(ddof=1))
    notes.append("the spread of labels is not known yet: that of the judge's verdicts is taken")
    spread = float(judged.std(ddof=1)) if len(judged) > 1 else 0.0
    return spread if spread > 0 else 0.5


def _helpful(rho: float) -> float:
    return 0.0 if math.isnan(rho) else max(rho, 0.0)


def _mean_within(half: float, spread: float, rho: float, human: Floats, level: float) -> Need:
    with_judge, alone = (
        labels_for_half_width(spread, x, half, len(human), level=level)
        for x in (_helpful(rho), 0.0)
    )
    why = None if with_judge else f"not even with all {len(human):,} rows labelled"
    have = int((~np.isnan(human)).sum())
    return Need(f"A mean within {half:g}", with_judge, alone, have, why)


def _kappa_within(half: float, verdicts: Verdicts, judge: Opinion, level: float) -> Need:
    question = f"Kappa within {half:g}"
    if verdicts.people().label is None or judge.label is None or not judge.categorical:
        return Need(question, None, None, why="verdicts are scores, no labels")
    pilot = label_agreement(verdicts.people_shares(), judge.label, len(verdicts.categories),
                            unit=verdicts.unit, level=level)  # fmt: skip
    if not pilot.kappa.se > 0:
        why = f"no pilot: {pilot.kappa.why or 'kappa has no error yet'}"
        return Need(question, None, None, why=why)
    needed = labels_for_kappa(pilot.kappa.se, pilot.n, half, level=level)
    return Need(question, needed, None, pilot.n)


def rows_to_label(
    verdicts: Verdicts, judge: Opinion, human: Floats, budget: int, rng: np.random.Generator
) -> tuple[Table, int]:
    """Draw rows to label, and list all rows with their probabilities and what they have."""
    wanted = next_probabilities(with_every_verdict(judge.value), human, budget)
    done = ~np.isnan(human)
    chosen = systematic_sample(wanted, rng)
    state = np.where(done, DONE, LATER).astype(object)
    state[chosen] = NEXT
    order = (NEXT, DONE, LATER)
    rows = sorted(range(len(human)), key=lambda row: (order.index(state[row]), row))
    columns: dict[str, list[Cell]] = {"item": [verdicts.items[verdicts.item[row]] for row in rows]}
    sides = ("system",) if verdicts.right is None else ("left", "right")
    for heading, codes in zip(sides, (verdicts.left, verdicts.right), strict=False):
        if codes is not None:
            columns[heading] = [verdicts.systems[codes[row]] for row in rows]
    if verdicts.unit is not None:
        heading = "unit" if verdicts.unit_name in (*sides, "item") else verdicts.unit_name
        columns[heading] = [verdicts.units[verdicts.unit[row]] for row in rows]
    columns[judge.name] = [_verdict(verdicts, judge, row) for row in rows]
    columns[PROBABILITY] = [1.0 if done[row] else float(wanted[row]) for row in rows]
    columns[STATE] = [state[row] for row in rows]
    for rater in verdicts.raters:
        columns[rater.name] = [_verdict(verdicts, rater, row) for row in rows]
    body = tuple(zip(*columns.values(), strict=True))
    return Table("Rows to label", tuple(map(Column, columns)), body), len(chosen)


def _verdict(verdicts: Verdicts, opinion: Opinion, row: int) -> Cell:
    """Return a verdict as a file has it: a label, or a number (of runs, and of both orders)."""
    single = opinion.runs is None and opinion.other_order is None
    if single and opinion.label is not None and opinion.label[row] >= 0:
        return verdicts.categories[int(opinion.label[row])]
    value = float(opinion.value[row])
    return None if math.isnan(value) else value


def systematic_sample(probability: Floats, rng: np.random.Generator) -> NDArray[np.intp]:
    """Draw rows with exactly these probabilities, as many as they sum to.

    Probabilities are laid end to end in random order, and every row is taken in which one of the
    points u, u + 1, u + 2, ... falls.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> counts = np.zeros(4)
    >>> for _ in range(4000):
    ...     counts[systematic_sample(np.array([1.0, 0.5, 0.3, 0.2]), rng)] += 1
    >>> (counts / 4000).round(1).tolist()
    [1.0, 0.5, 0.3, 0.2]
    """
    order = rng.permutation(len(probability))
    ends = np.cumsum(probability[order])
    total = round(float(ends[-1])) if len(ends) else 0
    taken = np.searchsorted(ends, float(rng.random()) + np.arange(total), side="right")
    last = np.flatnonzero(probability[order] > 0)
    if len(last):
        taken = np.minimum(taken, last[-1])  # rounding of the sum must not fall off the end
    return np.unique(order[taken])
