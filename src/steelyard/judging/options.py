"""Options of :func:`steelyard.judge` and ``steelyard judge``, each told once."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from steelyard.core.options import Options, choice, fraction, names, text, unit

UNPARSED = ("auto", "wrong", "drop")


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
    level: float = fraction(0.95, "Of the intervals.")
    title: str | None = text(None)
