"""Options of :func:`steelyard.judge` and ``steelyard judge``, each told once."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from steelyard.core.options import (
    Options,
    choice,
    flag,
    fraction,
    names,
    number,
    text,
    unit,
    whole,
)

SWAPPED = ("place", "column")
UNPARSED = ("auto", "wrong", "drop")
AUTO, MEAN, BT = "auto", "mean", "bt"
_LEVEL = "Of the intervals."


@dataclass(frozen=True, kw_only=True)
class ReadOptions(Options):
    """What is read from files of verdicts: who is a person, who a judge, what rows share."""

    human: Collection[str] = names(
        (), "Columns with labels of people (patterns such as 'rater*'), or names in a column rater."
    )
    judges: Collection[str] | None = names(
        None, "Columns with verdicts of judges; by default all others that hold verdicts."
    )
    unit: str = unit("auto", "What rows share: prompt or document columns, or items of several "
                     "rows; row: nothing.", metavar="auto|item|row|COLUMN")  # fmt: skip
    covariates: Collection[str] | None = names(
        None, "What could sway a judge: columns of numbers, of pairs named without their side."
    )
    words: Collection[str] = names(
        (), "Words for left, right and tie in verdicts on pairs, such as 1,2,0; names: verdicts "
        "name systems.", metavar="LEFT,RIGHT,TIE",
    )  # fmt: skip
    swapped: str | None = choice(
        None, SWAPPED, "What A means where the right output was shown first: the one shown first "
        "(place), or the left column; by default place, unless the data contradict it.",
    )  # fmt: skip
    where: Any = ()
    columns: Any = ()
    ignore: Collection[str] = names((), "Skip these columns.")


@dataclass(frozen=True, kw_only=True)
class JudgeOptions(ReadOptions):
    """How judges are weighed against people."""

    unparsed: str = choice(
        "auto", UNPARSED,
        "Verdicts that can't be understood: wrong, or left out (drop); auto: empty cells are left "
        "out, words are wrong.",
    )  # fmt: skip
    alt_epsilon: float = fraction(
        0.2, "What a person costs, in the alternative annotator test: 0.2 for experts, 0.15 for "
        "skilled raters, 0.1 for a crowd.", metavar="E",
    )  # fmt: skip
    own: Any = ()
    level: float = fraction(0.95, _LEVEL)
    title: str | None = text(None)


@dataclass(frozen=True, kw_only=True)
class CorrectOptions(ReadOptions):
    """What people would say of all rows, from their labels and the verdicts of a judge."""

    judge: str | None = text(None, "The judge.", metavar="NAME")
    labels: str = text(
        "random", "How rows were chosen for labelling: random, by:COLUMN (or by:verdict), "
        "probability:COLUMN, or unknown.", metavar="HOW",
    )  # fmt: skip
    by: str = choice(
        AUTO, (AUTO, MEAN, BT), "Means, or Bradley-Terry strengths of pairs (auto: of pairs)."
    )
    pair: Collection[str] | None = names(None, "Two systems: the first minus the second.")
    population: str = choice(
        "any", ("any", "fixed"), "Rows are a sample of what could be asked, or (fixed) all of it."
    )
    level: float = fraction(0.95, _LEVEL)
    draws: int = whole(2000, "Draws behind places and tests of all pairs.", least=100, metavar="K")


@dataclass(frozen=True, kw_only=True)
class PlanOptions(ReadOptions):
    """How many labels are needed, and which rows to label next."""

    judge: str | None = text(None, "The judge.", metavar="NAME")
    half_width: float | None = number(
        None, "Half-width of the interval of the mean that is wanted.", least=0, strict=True,
        metavar="H",
    )  # fmt: skip
    kappa: float | None = number(
        None, "Half-width of the interval of kappa that is wanted.", least=0, strict=True,
        metavar="H",
    )  # fmt: skip
    accuracy: float | None = fraction(
        None, "Accuracy that the judge shall be shown to be above.", metavar="A"
    )
    pair: Collection[str] | None = names(None, "Two systems to tell apart.")
    difference: float | None = number(
        None, "How far they are apart; by default as far as labels say so far.", metavar="D"
    )
    budget: int | None = whole(None, "How many rows to label next.", least=1, metavar="N")
    power: float = fraction(0.8, "With which probability a difference shall be found.")
    level: float = fraction(0.95, _LEVEL)


@dataclass(frozen=True, kw_only=True)
class DriftOptions(ReadOptions):
    """What changed from one version of a judge to the next."""

    changed_rubric: bool = flag("The rubric differs on purpose: compare all the same.")
    level: float = fraction(0.95, _LEVEL)


@dataclass(frozen=True, kw_only=True)
class BiasOptions(ReadOptions):
    """What sways judges beyond people."""

    by: Collection[str] | None = names(
        None, "Columns of words by which agreement is split; by default all that are found."
    )
    own: Any = ()
    level: float = fraction(0.95, _LEVEL)
