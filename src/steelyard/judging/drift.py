"""Whether a new version of a judge is better than the old one, on the same rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from steelyard.core.decision import shown_p
from steelyard.core.display import Statement
from steelyard.core.errors import UsageError
from steelyard.core.options import keywords
from steelyard.core.table import Cell, Column, Table
from steelyard.core.text import listed, plural
from steelyard.data.judgements import Codes
from steelyard.data.verdicts import MISSING, OF_PAIRS, Opinion, Verdicts
from steelyard.judging.card import JudgeAnswers, percent, with_interval
from steelyard.judging.options import DriftOptions
from steelyard.stats.estimate import Estimate, mean_estimate, undefined
from steelyard.stats.judged.agreement import Drift, drift

_ALPHA = 0.05


@dataclass(frozen=True, slots=True)
class JudgeDrift:
    """A judge before and after: labels compared with those of annotators, and numbers."""

    judge: str
    n: int
    n_labelled: int
    labels: Drift | None
    old_accuracy: Estimate
    new_accuracy: Estimate
    shift: Estimate  # of its numbers, new minus old

    def to_dict(self) -> dict[str, Any]:
        """Return what ``--json`` prints."""
        return {
            "judge": self.judge,
            "n": self.n,
            "n_labelled": self.n_labelled,
            "old_accuracy": self.old_accuracy.to_dict(),
            "new_accuracy": self.new_accuracy.to_dict(),
            **({} if self.labels is None else self.labels.to_dict()),
            "shift": self.shift.to_dict(),
        }

    def statements(self) -> Iterator[Statement]:
        """Return whether the judge got better or worse, then what that rests on."""
        labels, shift = self.labels, self.shift
        if labels is None or not labels.difference.known:
            moved = shift.bounded and not shift.low <= 0 <= shift.high
            why = "" if labels is None else f" ({labels.difference.why})"
            text = f"{self.judge}: nothing to compare over {plural(self.n, 'row')}{why}."
            if shift.known:
                rows = f"over {plural(self.n, 'row')}{why}"
                text = f"{self.judge}: its numbers moved by {with_interval(shift)} {rows}."
            yield "settled" if moved else "undecided", text
            return
        step = labels.difference
        if labels.p < _ALPHA and (step.low > 0 or step.high < 0):
            word = "better" if step.value > 0 else "worse"
            yield "settled", f"{self.judge} is {word} than before."
        else:
            yield "undecided", f"{self.judge}: no change was detected."
        before, now = percent(self.old_accuracy.value), percent(self.new_accuracy.value)
        rows = f"{self.n_labelled:,} labelled rows"
        yield (
            "sureness",
            f"{self.judge} agrees with annotators on {now} of {rows} ({before} before).",
        )
        steps = f"{plural(labels.gained, 'verdict')} became right and {labels.lost:,} wrong"
        difference = f"The difference is {with_interval(step)}"
        yield "sureness", f"{difference}: {steps} ({shown_p(labels.p)})."


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class DriftReport(JudgeAnswers):
    """Judges before and after."""

    judges: tuple[JudgeDrift, ...]

    def table(self) -> Table:
        """Return a row per judge."""
        columns = (
            Column("judge"), Column("rows", importance=3), Column("labelled", importance=3),
            *(Column(name, "higher", 3) for name in ("old", "new")),
            *(Column(name, None, 3) for name in ("difference", "low", "high")),
            Column("gained", importance=4), Column("lost", importance=4),
            Column("p", p_value=True, importance=8), Column("changed", None, 3, importance=4),
            Column("shift", None, 3),
        )  # fmt: skip
        rows: list[tuple[Cell, ...]] = []
        for judge in self.judges:
            compared: tuple[Cell, ...] = (None,) * 7
            if judge.labels is not None:
                labels, step = judge.labels, judge.labels.difference
                compared = (step.value, step.low, step.high, labels.gained, labels.lost, labels.p,
                            labels.changed.value)  # fmt: skip
            rows.append((judge.judge, judge.n, judge.n_labelled, judge.old_accuracy.value,
                         judge.new_accuracy.value, *compared, judge.shift.value))  # fmt: skip
        return Table("", columns, tuple(rows))


@keywords(DriftOptions)
def judge_drift(old: Any, new: Any, *labels: Any, options: DriftOptions) -> DriftReport:
    """Compare two versions of a judge on the same rows, by the labels of annotators.

    Parameters
    ----------
    old, new
        Files or frames of verdicts, as those of :func:`steelyard.judge`. Judges of the same name
        are compared; if each has but one, these two.
    labels
        Files with labels of annotators, where those do not have them.
    options
        See :class:`~steelyard.judging.options.DriftOptions`; given as keywords.

    Examples
    --------
    >>> import polars
    >>> truth = [0, 1] * 30
    >>> old = polars.DataFrame({"item": range(60), "expert": truth, "gpt": [0] * 60})
    >>> new = polars.DataFrame({"item": range(60), "expert": truth, "gpt": truth})
    >>> drift = judge_drift(old, new, human=["expert"]).judges[0].labels
    >>> drift.gained, drift.lost, drift.difference.value
    (30, 0, 0.5)
    """
    before, after = (
        options.read((source,) if isinstance(source, Verdicts) else (source, *labels))
        for source in (old, new)
    )
    joined = _Joined(before, after)
    judges = tuple(
        joined.compare(was, now, options.level) for was, now in _same_judges(before, after)
    )
    warnings = list(dict.fromkeys((*before.notes, *after.notes)))
    left_out = len(before) + len(after) - 2 * len(joined.old)
    if left_out:
        warnings.append(f"{plural(left_out, 'row')} of one file alone are left out")
    provenance = options.provenance("judge drift", (old, new, *labels))
    return DriftReport(judges, (*warnings, *joined.warnings), provenance)


def _same_judges(old: Verdicts, new: Verdicts) -> Sequence[tuple[Opinion, Opinion]]:
    """Return the judges to compare: those of the same name, or the only ones."""
    before = {judge.name: judge for judge in old.judges}
    both = [(before[judge.name], judge) for judge in new.judges if judge.name in before]
    if not both and len(old.judges) == len(new.judges) == 1:
        both = [(old.judges[0], new.judges[0])]
    if not both:
        was, now = (listed([judge.name for judge in x.judges], 6) for x in (old, new))
        raise UsageError(f"no judge is in both: {was} in the old, {now} in the new (judges=[...])")
    return both


class _Joined:
    """Rows that are in both files, and what annotators say about them."""

    def __init__(self, old: Verdicts, new: Verdicts) -> None:
        if old.kind != new.kind:
            raise UsageError(f"the old file has {old.kind}, the new one {new.kind}")
        in_new = {key: (row, left) for row, (key, left) in enumerate(_keys(new))}
        matches = [
            (row, in_new[key][0], left != in_new[key][1])
            for row, (key, left) in enumerate(_keys(old))
            if key in in_new
        ]
        if not matches:
            raise UsageError(
                "no row of the new file is in the old one: items (and systems) must have the same "
                "names"
            )
        old_rows, new_rows, turned = zip(*matches, strict=True)
        self.turned = np.array(turned, dtype=bool)
        self.old = old.take(np.array(old_rows, dtype=np.intp))
        self.new = new.take(np.array(new_rows, dtype=np.intp))
        self.categories = tuple(dict.fromkeys((*old.categories, *new.categories)))
        if old.kind == "pairs":
            self.categories = OF_PAIRS
        self.warnings: list[str] = []
        self.human = self._people()

    def _people(self) -> Codes:
        first = self.codes(self.old.people(), self.old, turned=False)
        second = self.codes(self.new.people(), self.new, turned=True)
        split = int(((self.old.labelled | self.new.labelled) & (first < 0) & (second < 0)).sum())
        if split and self.categories:
            rows = plural(split, "row")
            self.warnings.append(f"annotators are split on {rows}, which are left out")
        both = (first >= 0) & (second >= 0)
        differ = int((first[both] != second[both]).sum())
        if differ:
            rows = plural(differ, "row")
            self.warnings.append(f"human labels differ on {rows}: those of the old file count")
        return np.where(first >= 0, first, second)

    def codes(self, opinion: Opinion, verdicts: Verdicts, *, turned: bool) -> Codes:
        """Return labels in the categories of both files, about the left and right of the old."""
        if opinion.label is None:
            return np.full(len(opinion), MISSING, dtype=np.int32)
        index = np.array([self.categories.index(name) for name in verdicts.categories] or [0])
        codes = np.where(opinion.label >= 0, index[np.maximum(opinion.label, 0)], opinion.label)
        if turned and verdicts.kind == "pairs":
            codes = np.where(self.turned & (codes >= 0), 2 - codes, codes)
        return np.asarray(codes, dtype=np.int32)

    def compare(self, was: Opinion, now: Opinion, level: float) -> JudgeDrift:
        """Compare a judge with its next version."""
        was, now = self.old.judge(was.name), self.new.judge(now.name)
        before = self.codes(was, self.old, turned=False)
        after = self.codes(now, self.new, turned=True)
        unit = self.old.unit
        step = np.where(self.turned, 1 - now.value, now.value) - was.value
        numbered = ~np.isnan(step)
        shift = undefined("no numbers")
        if numbered.any():
            shift = mean_estimate(step[numbered], None if unit is None else unit[numbered], level)
        judged = (before != MISSING) & (after != MISSING)
        rows = judged & (self.human >= 0)
        units = None if unit is None else unit[rows]
        right = [
            mean_estimate((codes[rows] == self.human[rows]).astype(np.float64), units, level)
            if rows.any() else undefined("no row of both has a label")
            for codes in (before, after)
        ]  # fmt: skip
        labels = None
        if was.categorical and now.categorical:
            labels = drift(self.human, before, after, unit=unit, level=level)
        n = int((numbered if labels is None else judged).sum())
        name = was.name if was.name == now.name else f"{was.name} -> {now.name}"
        return JudgeDrift(name, n, int(rows.sum()), labels, right[0], right[1], shift)


def _keys(verdicts: Verdicts) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield what each row is about, whatever side systems are on, and who is on the left."""
    codes = [side for side in (verdicts.left, verdicts.right) if side is not None]
    for row, item in enumerate(verdicts.item):
        sides = [verdicts.systems[side[row]] for side in codes]
        yield (verdicts.items[item], *sorted(sides)), sides[0] if sides else ""
