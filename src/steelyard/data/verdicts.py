"""What judges said of outputs, or of pairs of outputs, beside what people said of the same ones.

Points are outputs judged one by one (a grade, pass or fail); pairs are outputs judged against each
other. A judge is a column that stands for every row; people are columns that may be mostly empty.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from steelyard.core.errors import ShapeError, UsageError, hint
from steelyard.core.oneline import named, one_line
from steelyard.core.words import plural
from steelyard.data.judgements import Codes, Floats
from steelyard.stats.agreement import label_counts, vote
from steelyard.stats.arrays import own_codes, own_floats, own_texts

Bools = NDArray[np.bool_]

MISSING, UNPARSED = -1, -2  # codes of labels: nothing was said; something was, but not what
#: The labels of a pair, from a win of the right one on; their values are points of the left one.
OF_PAIRS = ("right", "tie", "left")
POINTS_OF_LEFT = (0.0, 0.5, 1.0)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Opinion:
    """What one judge, or one rater, said: a column of verdicts, one per row.

    Parameters
    ----------
    name
        Who said it.
    value
        Verdicts as numbers: of a pair the points of the left one (1, 0.5, 0, or a probability
        between); NaN where there is no verdict, it was not understood, or it is a word that stands
        for no number.
    label
        Codes into :attr:`Verdicts.categories`, ``MISSING`` or ``UNPARSED`` where there is none, as
        everywhere if verdicts are scores without categories; None is as good as ``MISSING``.
    other_order
        Of pairs that were shown in both orders: the codes of the verdict with the right one shown
        first, told of the same left and right. None where there is one order.
    runs
        What the judge said each time, runs x rows, where it was asked several times; ``value`` is
        then the mean, ``label`` the most frequent one (of several the lowest).
    """

    name: str
    value: Floats
    label: Codes | None = None
    other_order: Codes | None = None
    runs: Floats | None = None

    def __repr__(self) -> str:
        rows = f"{int(self.said.sum()):,} of {plural(len(self), 'row')}"
        return one_line(self, f"of {named([self.name])} on {rows}")

    def __len__(self) -> int:
        return len(self.value)

    @property
    def said(self) -> Bools:
        """Whether there is a verdict that can be understood."""
        known = ~np.isnan(self.value)
        return known if self.label is None else known | (self.label >= 0)

    @property
    def categorical(self) -> bool:
        """Whether verdicts are labels, and not scores alone."""
        return self.label is not None and bool((self.label >= 0).any())

    @property
    def unparsed(self) -> Bools:
        """Whether something was said that can't be understood."""
        nowhere = np.zeros(len(self), dtype=bool)
        return nowhere if self.label is None else self.label == UNPARSED

    def take(self, rows: NDArray[Any]) -> Opinion:
        """Keep these rows (indices or a mask)."""
        return replace(
            self,
            value=self.value[rows],
            label=None if self.label is None else self.label[rows],
            other_order=None if self.other_order is None else self.other_order[rows],
            runs=None if self.runs is None else self.runs[:, rows],
        )


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Verdicts:
    """Judges and people on the same rows; a row is an output, or a pair of outputs.

    Parameters
    ----------
    kind
        ``points`` or ``pairs``.
    items
        The names behind ``item``: what was judged (a segment, a question, a battle).
    item
        A code per row.
    judges, raters
        What they said. People are often silent: a row is labelled where one of them is not.
    categories
        The labels that verdicts have, in their order; empty where no verdict has one.
    ordered
        Whether the order of categories means anything (grades, pairs), so that kappa may weigh.
    systems
        The names behind ``left`` and ``right``; empty where nobody told which output is whose.
    left, right
        The system of each row; ``right`` is None for points, both where systems are unknown.
    units, unit
        What rows share (prompts, documents): names and a code per row; None where nothing is known.
    unit_name
        What a unit is: ``prompt``, ``document``, or the column's name.
    covariates
        Numbers that could sway a judge, by name; of pairs the difference of left and right.
    slices
        Words by which rows can be told apart (domain, language), by name.
    probability
        With which probability each row was chosen for labelling; None where it is not told.
    notes
        What was read how, left out or joined, in words.
    """

    kind: Literal["points", "pairs"]
    items: tuple[str, ...]
    item: Codes
    judges: tuple[Opinion, ...]
    raters: tuple[Opinion, ...]
    categories: tuple[str, ...] = ()
    ordered: bool = False
    systems: tuple[str, ...] = ()
    left: Codes | None = None
    right: Codes | None = None
    units: tuple[str, ...] = ()
    unit: Codes | None = None
    unit_name: str = "prompt"
    covariates: Mapping[str, Floats] = field(default_factory=dict)
    slices: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    probability: Floats | None = None
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        n = len(self.item)
        for name in ("items", "systems", "units", "categories"):
            object.__setattr__(self, name, own_texts(getattr(self, name), name, distinct=True))
        for name, names in (("item", "items"), ("left", "systems"), ("right", "systems"),
                            ("unit", "units")):  # fmt: skip
            if getattr(self, name) is not None:
                codes = own_codes(getattr(self, name), name, len(getattr(self, names)))
                object.__setattr__(self, name, codes)
        if self.probability is not None:
            object.__setattr__(self, "probability", own_floats(self.probability, "probability", 1))
        columns: dict[str, Any] = {
            "left": self.left, "right": self.right, "unit": self.unit,
            "probability": self.probability, **self.covariates, **self.slices,
        }  # fmt: skip
        columns |= {one.name: one.value for one in (*self.judges, *self.raters)}
        for name, column in columns.items():
            if column is not None and len(column) != n:
                raise ShapeError(f"'{name}' has {len(column)} rows, expected {n}")
        names_of = [one.name for one in (*self.judges, *self.raters)]
        if len(set(names_of)) < len(names_of):
            raise UsageError("judges and raters: expected different names")

    def __repr__(self) -> str:
        rows = f"{len(self):,} {self.kind}, {int(self.labelled.sum()):,} labelled"
        judges, raters = (named([o.name for o in own]) for own in (self.judges, self.raters))
        return one_line(self, f"on {rows}; judges {judges}; raters {raters}")

    def __len__(self) -> int:
        return len(self.item)

    @property
    def labelled(self) -> Bools:
        """Whether a person said something of a row."""
        found = np.zeros(len(self), dtype=bool)
        for rater in self.raters:
            found |= rater.said
        return found

    def judge(self, name: str) -> Opinion:
        """Give the judge of that name."""
        return _called(name, self.judges, "judge")

    def rater(self, name: str) -> Opinion:
        """Give the rater of that name."""
        return _called(name, self.raters, "rater")

    def people(self) -> Opinion:
        """Join all raters: the mean of their numbers, and the label that most of them gave.

        Where several labels are as frequent, there is none (``MISSING``); the mean stays.
        """
        return joined("people", self.raters, len(self), len(self.categories))

    def people_shares(self) -> Floats:
        """Give the label that most raters gave, as shares of categories (rows x categories).

        Where several labels are as frequent, each has an equal share; 0 where nobody gave one.
        """
        labels = [rater.label for rater in self.raters if rater.label is not None]
        if not labels or not self.categories:
            return np.zeros((len(self), len(self.categories)))
        counts = label_counts(labels, len(self.categories)).T
        most = counts.max(axis=1, keepdims=True)
        tied = (counts == most) & (most > 0)
        return np.asarray(tied / np.maximum(tied.sum(axis=1, keepdims=True), 1))

    def take(self, rows: NDArray[Any]) -> Verdicts:
        """Keep these rows (indices or a mask); names of what is gone stay known."""
        rows = np.flatnonzero(rows) if rows.dtype == bool else rows
        return replace(
            self,
            item=self.item[rows],
            left=None if self.left is None else self.left[rows],
            right=None if self.right is None else self.right[rows],
            unit=None if self.unit is None else self.unit[rows],
            judges=tuple(one.take(rows) for one in self.judges),
            raters=tuple(one.take(rows) for one in self.raters),
            covariates={name: own[rows] for name, own in self.covariates.items()},
            slices={name: tuple(own[row] for row in rows) for name, own in self.slices.items()},
            probability=None if self.probability is None else self.probability[rows],
        )


def _called(name: str, known: Sequence[Opinion], what: str) -> Opinion:
    for one in known:
        if one.name == name:
            return one
    raise UsageError(f"no {what} '{name}'; {hint(name, [one.name for one in known])}")


def joined(name: str, opinions: Sequence[Opinion], n_rows: int, n_categories: int) -> Opinion:
    """Join several opinions: means of numbers, most frequent labels, ``MISSING`` where tied.

    Examples
    --------
    >>> one = Opinion("a", np.array([1.0, 0.0]), np.array([1, 0], np.int32))
    >>> two = Opinion("b", np.array([0.0, np.nan]), np.array([0, MISSING], np.int32))
    >>> both = joined("people", [one, two], 2, 2)
    >>> both.value.tolist(), both.label.tolist()
    ([0.5, 0.0], [-1, 0])
    """
    values = np.full((len(opinions), n_rows), np.nan)
    for row, one in enumerate(opinions):
        values[row] = one.value
    given = ~np.isnan(values)
    n_given = given.sum(axis=0)
    total = np.where(given, values, 0.0).sum(axis=0)
    value = np.divide(total, n_given, out=np.full(n_rows, np.nan), where=n_given > 0)
    labels = [one.label for one in opinions if one.label is not None]
    if not labels or not n_categories:
        return Opinion(name, value)
    return Opinion(name, value, vote(label_counts(labels, n_categories)).astype(np.int32))
