"""What changed from one version of a judge to the next, on the same rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from steelyard.core.display import Part, Result, Statement, Summary, named, one_line
from steelyard.core.errors import UsageError
from steelyard.core.options import keywords
from steelyard.core.provenance import Provenance, origin
from steelyard.core.table import Cell, Column, Table
from steelyard.core.text import listed, plural
from steelyard.data.judgements import Codes
from steelyard.data.verdicts import MISSING, OF_PAIRS, Opinion, Verdicts
from steelyard.judging.cardwords import percent
from steelyard.judging.judgeversions import versions_of
from steelyard.judging.options import DriftOptions
from steelyard.judging.run import provenance_of, verdicts_of
from steelyard.stats.estimate import Estimate, mean_estimate
from steelyard.stats.judged.agreement import Drift, drift


@dataclass(frozen=True, slots=True)
class JudgeDrift:
    """One judge, before and after: labels compared with people's, and numbers with each other."""

    judge: str
    n: int
    n_labelled: int
    labels: Drift | None
    old_accuracy: Estimate
    new_accuracy: Estimate
    shift: Estimate  # of its numbers, new minus old

    def to_dict(self) -> dict[str, Any]:
        """Give what ``--json`` prints."""
        return {
            "judge": self.judge,
            "n": self.n,
            "n_labelled": self.n_labelled,
            "old_accuracy": self.old_accuracy.to_dict(),
            "new_accuracy": self.new_accuracy.to_dict(),
            **({} if self.labels is None else self.labels.to_dict()),
            "shift": self.shift.to_dict(),
        }


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class DriftReport(Result):
    """Judges before and after."""

    judges: tuple[JudgeDrift, ...]
    versions: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    provenance: Provenance | None = None

    def __repr__(self) -> str:
        judges = named([one.judge for one in self.judges])
        return one_line(self, f"of {plural(len(self.judges), 'judge')}: {judges}")

    def words(self) -> Summary:
        """Say whether judges got better or worse; what can't be seen stays open."""
        told: list[Statement] = []
        for one in self.judges:
            told += _told(one)
        told += [("sureness", text) for text in self.versions]
        return Summary.of(told or [("undecided", "There is no judge to compare.")])

    def summary(self) -> str:
        """Say it in words."""
        return "\n".join([*map(_said, self.judges), *self.versions])

    def table(self) -> Table:
        """Give a row per judge."""
        columns = (
            Column("judge"), Column("rows"), Column("labelled"), Column("old", "higher", 3),
            Column("new", "higher", 3), Column("difference", None, 3), Column("low", None, 3),
            Column("high", None, 3), Column("gained"), Column("lost"), Column("p", None, 4),
            Column("changed", None, 3), Column("shift", None, 3),
        )  # fmt: skip
        rows: list[tuple[Cell, ...]] = []
        for one in self.judges:
            own = one.labels
            found: tuple[Cell, ...] = (None,) * 7
            if own is not None:
                step = own.difference
                found = (step.value, step.low, step.high, own.gained, own.lost, own.p,
                         own.changed.value)  # fmt: skip
            rows.append((one.judge, one.n, one.n_labelled, one.old_accuracy.value,
                         one.new_accuracy.value, *found, one.shift.value))  # fmt: skip
        return Table("Drift", columns, tuple(rows))

    def to_dict(self) -> dict[str, Any]:
        """Give what ``--json`` prints."""
        return {
            "summary": self.summary().splitlines(),
            "judges": [one.to_dict() for one in self.judges],
            "versions": list(self.versions),
            "warnings": list(self.warnings),
            **origin(self.provenance),
        }


def _said(one: JudgeDrift) -> str:
    first, *rest = (text for _, text in _told(one))
    return " ".join([first, *(f"It {text.removeprefix(f'{one.judge} ')}" for text in rest)])


def _told(one: JudgeDrift) -> Iterator[Statement]:
    """Say whether a judge got better or worse, then what that rests on."""
    own = one.labels
    if own is None or not own.difference.known:
        shift = one.shift
        told = f"{one.judge}: its numbers moved by {shift.value:+.3g}" if shift.known else (
            f"{one.judge}: nothing to compare"
        )  # fmt: skip
        ends = f" [{shift.low:.3g}, {shift.high:.3g}]" if shift.bounded else ""
        why = "" if own is None else f" ({own.difference.why})"
        moved = shift.bounded and not shift.low <= 0 <= shift.high
        part: Part = "settled" if moved else "undecided"
        yield part, f"{told}{ends} over {plural(one.n, 'row')}{why}."
        return
    step = own.difference
    if own.p < 0.05 and (step.low > 0 or step.high < 0):
        word = "better" if step.value > 0 else "worse"
        yield "settled", f"{one.judge}: {word} than before."
    else:
        told = "no better and no worse than before, as far as can be seen"
        yield "undecided", f"{one.judge}: {told}."
    counts = f"{plural(own.gained, 'verdict')} became right and {own.lost:,} wrong"
    text = (
        f"{one.judge} agrees with people on {percent(one.new_accuracy.value)} of "
        f"{one.n_labelled:,} labelled rows, {percent(one.old_accuracy.value)} before (difference "
        f"{step.value:+.3f} [{step.low:+.3f}, {step.high:+.3f}]; {counts}, p = {own.p:.3g}); "
        f"{percent(own.changed.value)} of {one.n:,} verdicts changed."
    )
    yield "sureness", text


@keywords(DriftOptions)
def judge_drift(old: Any, new: Any, *labels: Any, options: DriftOptions) -> DriftReport:
    """Compare two versions of a judge on the same rows: whether it got better, by people.

    Parameters
    ----------
    old, new
        Files or frames of verdicts, as those of :func:`steelyard.judge`. Judges of the same name
        are compared; if each has but one, these two.
    labels
        Files with labels of people, where those do not have them.
    options
        See :class:`~steelyard.judging.options.DriftOptions`; given as keywords.

    Examples
    --------
    >>> import polars
    >>> truth = [0, 1] * 30
    >>> old = polars.DataFrame({"item": range(60), "expert": truth, "gpt": [0] * 60})
    >>> new = polars.DataFrame({"item": range(60), "expert": truth, "gpt": truth})
    >>> found = judge_drift(old, new, human=["expert"]).judges[0]
    >>> found.labels.gained, found.labels.lost, found.labels.difference.value
    (30, 0, 0.5)
    """
    versions = versions_of(old, new, options)
    one, other = (_read(source, labels, options) for source in (old, new))
    joined = _Joined(one, other)
    if not len(joined.old):
        raise UsageError(
            "no row of the new file is in the old one: items (and systems) must have the same names"
        )
    found = tuple(joined.compare(was, now, options.level) for was, now in _same(one, other))
    warnings = [*one.notes, *(text for text in other.notes if text not in one.notes)]
    left_out = len(one) + len(other) - 2 * len(joined.old)
    if left_out:
        warnings.append(f"{plural(left_out, 'row')} of one file alone are left out")
    warnings += joined.warnings
    return DriftReport(
        judges=found,
        versions=versions,
        warnings=tuple(warnings),
        provenance=provenance_of("judge drift", (old, new, *labels), options),
    )


def _read(source: Any, labels: Sequence[Any], options: DriftOptions) -> Verdicts:
    return verdicts_of(
        (source, *labels) if not isinstance(source, Verdicts) else (source,), options
    )


def _same(old: Verdicts, new: Verdicts) -> list[tuple[Opinion, Opinion]]:
    """Give the judges to compare: those of the same name, or the only ones."""
    before = {one.name: one for one in old.judges}
    both = [(before[one.name], one) for one in new.judges if one.name in before]
    if both:
        return both
    if len(old.judges) == len(new.judges) == 1:
        return [(old.judges[0], new.judges[0])]
    was, now = (listed([one.name for one in own.judges], 6) for own in (old, new))
    raise UsageError(f"no judge is in both: {was} in the old, {now} in the new (judges=[...])")


class _Joined:
    """Rows that are in both, and what people say of them."""

    def __init__(self, old: Verdicts, new: Verdicts) -> None:
        if old.kind != new.kind:
            raise UsageError(f"the old file has {old.kind}, the new one {new.kind}")
        rows = {key: (row, left) for row, (key, left) in enumerate(_keys(new))}
        self.old_rows: list[int] = []
        self.new_rows: list[int] = []
        turned: list[bool] = []
        for row, (key, left) in enumerate(_keys(old)):
            if key in rows:
                place, other = rows[key]
                self.old_rows.append(row)
                self.new_rows.append(place)
                turned.append(left != other)
        self.turned = np.array(turned, dtype=bool)
        self.old = old.take(np.array(self.old_rows, dtype=np.intp))
        self.new = new.take(np.array(self.new_rows, dtype=np.intp))
        self.categories = tuple(dict.fromkeys((*old.categories, *new.categories)))
        if old.kind == "pairs":
            self.categories = OF_PAIRS
        self.warnings: list[str] = []
        self.human = self._people()

    def _people(self) -> Codes:
        first, second = (
            self.codes(one.people(), one, turned=place == 1)
            for place, one in enumerate((self.old, self.new))
        )
        split = int(((self.old.labelled | self.new.labelled) & (first < 0) & (second < 0)).sum())
        if split and self.categories:
            self.warnings.append(f"raters are split on {plural(split, 'row')}, which are left out")
        both = (first >= 0) & (second >= 0)
        differ = int((first[both] != second[both]).sum())
        if differ:
            self.warnings.append(
                f"labels of people differ on {plural(differ, 'row')}: those of the old file count"
            )
        return np.where(first >= 0, first, second)

    def codes(self, own: Opinion, of: Verdicts, *, turned: bool) -> Codes:
        """Give labels in the categories of both files, told of the left and right of the old."""
        if own.label is None:
            return np.full(len(own), MISSING, dtype=np.int32)
        place = np.array([self.categories.index(name) for name in of.categories] or [0])
        found = np.where(own.label >= 0, place[np.maximum(own.label, 0)], own.label)
        if turned and of.kind == "pairs":
            found = np.where(self.turned & (found >= 0), 2 - found, found)
        return np.asarray(found, dtype=np.int32)

    def compare(self, was: Opinion, now: Opinion, level: float) -> JudgeDrift:
        """Compare a judge with its next version."""
        was, now = self.old.judge(was.name), self.new.judge(now.name)
        before = self.codes(was, self.old, turned=False)
        after = self.codes(now, self.new, turned=True)
        unit = self.old.unit
        found = None
        if was.categorical and now.categorical:
            found = drift(self.human, before, after, unit=unit, level=level)
        value = np.where(self.turned, 1 - now.value, now.value) if self.turned.any() else now.value
        step = value - was.value
        known = ~np.isnan(step)
        shift = Estimate(float("nan"), why="no numbers")
        if known.any():
            shift = mean_estimate(step[known], None if unit is None else unit[known], level)
        rows = (before != MISSING) & (after != MISSING) & (self.human >= 0)
        own = None if unit is None else unit[rows]
        right = [
            mean_estimate((codes[rows] == self.human[rows]).astype(np.float64), own, level)
            if rows.any() else Estimate(float("nan"), why="no row of both has a label")
            for codes in (before, after)
        ]  # fmt: skip
        n = int(((before != MISSING) & (after != MISSING)).sum()) if found is not None else (
            int(known.sum())
        )  # fmt: skip
        name = was.name if was.name == now.name else f"{was.name} -> {now.name}"
        return JudgeDrift(name, n, int(rows.sum()), found, right[0], right[1], shift)


def _keys(verdicts: Verdicts) -> list[tuple[tuple[str, ...], str]]:
    """Name what each row is about, whatever side systems stand on, and who stands left."""
    found = []
    for row, item in enumerate(verdicts.item):
        sides = [
            verdicts.systems[codes[row]]
            for codes in (verdicts.left, verdicts.right)
            if codes is not None
        ]
        found.append(((verdicts.items[item], *sorted(sides)), sides[0] if sides else ""))
    return found
