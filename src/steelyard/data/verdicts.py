"""Verdicts of judges on outputs, or on pairs of outputs, beside human labels for the same ones.

Points are outputs judged one by one (a grade, pass or fail); pairs are outputs judged against each
other. A judge is a column for every row; human raters are columns that may be mostly empty.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from steelyard.core.display import named, one_line
from steelyard.core.errors import ShapeError, UsageError, hint
from steelyard.core.text import plural
from steelyard.data.judgements import Codes, checked_codes
from steelyard.data.segments import checked_texts, set_fields
from steelyard.stats.agreement import label_counts, vote
from steelyard.stats.arrays import Floats, own_floats, row_means

Bools = NDArray[np.bool_]

MISSING, UNPARSED = -1, -2  # codes of labels: no verdict; a verdict that was not understood
#: The labels of a pair, from a win of the right one on; their values are points of the left one.
OF_PAIRS = ("right", "tie", "left")
POINTS_OF_LEFT = (0.0, 0.5, 1.0)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Opinion:
    """The verdicts of one judge or rater, one per row.

    ``runs`` (runs x rows) are the verdicts of each run; ``value`` is then the mean, ``label`` the
    most frequent one (of several the lowest).
    """

    name: str
    value: Floats  # of a pair the points of the left one; NaN where there is no number
    label: Codes | None = None  # of `Verdicts.categories`, MISSING or UNPARSED; None for scores
    other_order: Codes | None = None  # labels of pairs also shown with the right one first
    runs: Floats | None = None

    def __repr__(self) -> str:
        rows = f"{int(self.answered.sum()):,} of {plural(len(self), 'row')}"
        return one_line(self, f"of {named([self.name])} on {rows}")

    def __len__(self) -> int:
        return len(self.value)

    @property
    def answered(self) -> Bools:
        """Which rows have a verdict that was understood."""
        numeric = ~np.isnan(self.value)
        return numeric if self.label is None else numeric | (self.label >= 0)

    @property
    def categorical(self) -> bool:
        """Whether verdicts are labels, and not scores alone."""
        return self.label is not None and bool((self.label >= 0).any())

    @property
    def unparsed(self) -> Bools:
        """Which rows have a verdict that was not understood."""
        nowhere = np.zeros(len(self), dtype=bool)
        return nowhere if self.label is None else self.label == UNPARSED

    def take(self, rows: NDArray[Any]) -> Opinion:
        """Keep these rows (indices or a mask)."""
        picked: dict[str, Any] = {}
        for name in ("value", "label", "other_order", "runs"):
            column = getattr(self, name)
            picked[name] = None if column is None else column[..., rows]
        return replace(self, **picked)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Verdicts:
    """Judges and human raters on the same rows; a row is an output, or a pair of outputs.

    A row is labelled where a rater has a verdict. ``left`` and ``right`` are codes of systems:
    ``right`` is None for points, both where the system of an output is unknown. ``unit`` is what
    rows share (prompts, documents), None where unknown.
    """

    kind: Literal["points", "pairs"]
    items: tuple[str, ...]  # what was judged: segments, questions, battles
    item: Codes
    judges: tuple[Opinion, ...]
    raters: tuple[Opinion, ...]
    categories: tuple[str, ...] = ()  # labels in their order; empty for scores
    ordered: bool = False  # the order of categories means something, so that kappa may weigh
    systems: tuple[str, ...] = ()
    left: Codes | None = None
    right: Codes | None = None
    units: tuple[str, ...] = ()
    unit: Codes | None = None
    unit_name: str = "prompt"
    #: Numbers that could sway a judge; of pairs the difference of left and right.
    covariates: Mapping[str, Floats] = field(default_factory=dict)
    slices: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # words, as domains
    probability: Floats | None = None  # of being chosen for labelling
    notes: tuple[str, ...] = ()  # how the input was read

    def __post_init__(self) -> None:
        for name in ("items", "systems", "units", "categories"):
            set_fields(self, **{name: checked_texts(getattr(self, name), name, distinct=True)})
        codes = {"item": "items", "left": "systems", "right": "systems", "unit": "units"}
        for name, names in codes.items():
            if (column := getattr(self, name)) is not None:
                set_fields(self, **{name: checked_codes(column, name, len(getattr(self, names)))})
        if self.probability is not None:
            set_fields(self, probability=own_floats(self.probability, "probability", 1))
        opinions = [*self.judges, *self.raters]
        columns: dict[str, Any] = {name: getattr(self, name) for name in (*codes, "probability")}
        columns |= {**self.covariates, **self.slices, **{o.name: o.value for o in opinions}}
        for name, column in columns.items():
            if column is not None and len(column) != len(self):
                raise ShapeError(f"'{name}' has {len(column)} rows, expected {len(self)}")
        if len({opinion.name for opinion in opinions}) < len(opinions):
            raise UsageError("judges and raters: expected different names")

    def __repr__(self) -> str:
        rows = f"{len(self):,} {self.kind}, {int(self.labelled.sum()):,} labelled"
        judges, raters = (named([o.name for o in group]) for group in (self.judges, self.raters))
        return one_line(self, f"on {rows}; judges {judges}; raters {raters}")

    def __len__(self) -> int:
        return len(self.item)

    @property
    def labelled(self) -> Bools:
        """Which rows have a human verdict."""
        rows = [np.zeros(len(self), dtype=bool), *(rater.answered for rater in self.raters)]
        return np.asarray(np.any(rows, axis=0))

    def judge(self, name: str) -> Opinion:
        """Return the judge of that name."""
        return _called(name, self.judges, "judge")

    def rater(self, name: str) -> Opinion:
        """Return the rater of that name."""
        return _called(name, self.raters, "rater")

    def people(self) -> Opinion:
        """Join all raters: the mean of their numbers, the most frequent label or ``MISSING``."""
        return joined("people", self.raters, len(self), len(self.categories))

    def people_shares(self) -> Floats:
        """Return the label that most raters gave, as shares (rows x categories); 0 for none."""
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
        picked: dict[str, Any] = {}
        for name in ("item", "left", "right", "unit", "probability"):
            column = getattr(self, name)
            picked[name] = None if column is None else column[rows]
        return replace(
            self,
            **picked,
            judges=tuple(judge.take(rows) for judge in self.judges),
            raters=tuple(rater.take(rows) for rater in self.raters),
            covariates={name: column[rows] for name, column in self.covariates.items()},
            slices={name: tuple(words[row] for row in rows) for name, words in self.slices.items()},
        )


def _called(name: str, opinions: Sequence[Opinion], what: str) -> Opinion:
    for opinion in opinions:
        if opinion.name == name:
            return opinion
    raise UsageError(f"no {what} '{name}'; {hint(name, [opinion.name for opinion in opinions])}")


def joined(name: str, opinions: Sequence[Opinion], n_rows: int, n_categories: int) -> Opinion:
    """Join several opinions: means of numbers, most frequent labels, ``MISSING`` where tied."""
    value = row_means(np.array([o.value for o in opinions]).reshape(len(opinions), n_rows).T)
    labels = [opinion.label for opinion in opinions if opinion.label is not None]
    if not labels or not n_categories:
        return Opinion(name, value)
    return Opinion(name, value, vote(label_counts(labels, n_categories)).astype(np.int32))
