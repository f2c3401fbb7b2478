"""What can be asked of a comparison: rankings, tests and intervals, of scores or of a log."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from steelyard.core.errors import UsageError, hint
from steelyard.core.options import (
    Options,
    as_tuple,
    bootstraps,
    choice,
    fraction,
    names,
    number,
    source,
    text,
    unit,
    whole,
)

#: Rankings of scores; what is random is drawn in this order.
RANKINGS = ("mean", "median", "bt", "elo", "trueskill", "sentence-mean")
AUTORANK = "autorank"  #: a ranking by several scores together
AUTORANK_FORMS = ("wmt25", "wmt24")
#: Rankings of a log of battles, likewise.
LOG_RANKINGS = ("mean", "bt", "elo", "trueskill")
TESTS = (
    "t", "permutation", "bootstrap", "mood", "median", "sign", "wilcoxon", "mcnemar", "bt-gap",
)  # fmt: skip
TIES = ("half", "drop", "davidson", "rao-kupper", "second")
TIE_MODELS = ("davidson", "rao-kupper")
SCALES = ("strength", "elo")  #: of Bradley-Terry, in battles
FITS = ("newton", "mm")
ALTERNATIVES = ("two-sided", "greater", "less")
CORRECTIONS = ("holm", "benjamini-hochberg", "bonferroni", "none")
_MOST = 1e6  # of a parameter, far above where ratings mean anything
RESAMPLED = "unit"  # what intervals resample
_UNITS = ("segment", "document", "battle")  # which intervals=... may name, too
#: Other names that people have for rankings, and for tests (as core.errors.plain_word gives them).
OTHER_RANKINGS = {
    **dict.fromkeys(("average", "avg", "macro-average", "mean-score", "win-rate"), "mean"),
    **dict.fromkeys(("med", "median-score"), "median"),
    **dict.fromkeys(
        ("bradley-terry", "bradleyterry", "bradley-terry-luce", "btl", "bt-model", "plackett-luce",
         "arena", "mean-rank", "average-rank", "mean-ranks", "borda", "pairwise", "wins"),
        "bt",
    ),
    **dict.fromkeys(("elo-rating", "elo-ratings", "online-elo"), "elo"),
    **dict.fromkeys(("true-skill", "ts"), "trueskill"),
    **dict.fromkeys(("auto-rank", "wmt", "wmt24", "wmt25"), "autorank"),
    **dict.fromkeys(("sentence", "mean-of-sentences", "sentence-level"), "sentence-mean"),
}  # fmt: skip
OTHER_TESTS = {
    **dict.fromkeys(
        ("t-test", "ttest", "paired-t", "paired-t-test", "student", "students-t", "welch"), "t"
    ),
    **dict.fromkeys(
        ("perm", "permutation-test", "randomization", "randomisation", "paired-ar",
         "approximate-randomization", "approximate-randomisation", "ar"),
        "permutation",
    ),
    **dict.fromkeys(
        ("bs", "boot", "paired-bs", "paired-bootstrap", "bootstrap-resampling"), "bootstrap"
    ),
    **dict.fromkeys(("moods", "mood-test"), "mood"),
    **dict.fromkeys(("median-test", "medians"), "median"),
    **dict.fromkeys(("sign-test", "binomial", "binomial-test", "wins"), "sign"),
    **dict.fromkeys(("signed-rank", "wilcoxon-signed-rank", "rank-sum"), "wilcoxon"),
    **dict.fromkeys(("mcnemars", "mc-nemar", "mcnemar's", "chi-squared"), "mcnemar"),
    **dict.fromkeys(("bt", "bradley-terry", "wald"), "bt-gap"),
}  # fmt: skip
_OTHERS = {
    "ranking": OTHER_RANKINGS,
    "test": OTHER_TESTS,
    "power of test": OTHER_TESTS,
}


def known(what: str, asked: Sequence[str], all_of: Sequence[str]) -> None:
    """Refuse names that nobody knows."""
    for name in asked:
        if name not in all_of:
            raise UsageError(f"no {what} '{name}'; {hint(name, all_of, _OTHERS.get(what))}")


@dataclass(frozen=True, kw_only=True)
class RankOptions(Options):
    """What the definitions of rankings leave open.

    ``orders`` is the number of random orders of segments for Elo and TrueSkill, 0 for the order of
    the file; ``k`` and what begins with ``trueskill`` are their parameters; the others but
    ``tolerance`` concern Bradley-Terry.
    """

    ties: str = choice("half", TIES, "What ties are to Bradley-Terry.")
    tolerance: float = number(0.0, "Differences of at most this are ties.", least=0)
    prior: float = number(
        0.0, "Wins and losses against an imaginary opponent, for Bradley-Terry.", least=0
    )
    method: str = choice("newton", FITS, "How Bradley-Terry is fitted.", flag="--fit")
    orders: int | None = whole(
        100,
        "Random orders that Elo and TrueSkill are averaged over; 0: as in the file.",
        least=0,
        metavar="N",
    )
    k: float = number(
        20.0, "K of Elo.", least=0, most=_MOST, strict=True, flag="--elo-k", metavar="K"
    )
    trueskill_beta: float = number(
        25 / 6, "TrueSkill: deviation of a performance, where skills start at 25 with a deviation "
        "of 25/3.", least=0, most=_MOST, strict=True, metavar="X",
    )  # fmt: skip
    trueskill_tau: float = number(
        25 / 300, "TrueSkill: how far a skill may drift before each battle.",
        least=0, most=_MOST, metavar="X",
    )  # fmt: skip
    trueskill_draw: float = number(
        0.1, "TrueSkill: chance that equals tie.", least=0, most=1 - 1e-9, strict=True, metavar="X"
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.ties in TIE_MODELS and self.method != "newton":
            raise UsageError(f"ties as {self.ties} are fitted by newton, not by {self.method}")


@dataclass(frozen=True, kw_only=True)
class PairOptions(Options):
    """How pairs are tested, and what is independent: whole units are tested and resampled."""

    alternative: str = choice(
        "two-sided", ALTERNATIVES, "Test for any difference, or for the first of a pair being "
        "better (greater) or worse (less).",
    )  # fmt: skip
    correction: str = choice("holm", CORRECTIONS, "Correct p-values for the number of pairs.")
    alpha: float = fraction(0.05, "Level of tests and tiers.")
    unit: str = unit("auto")
    intervals: str | None = choice(
        RESAMPLED, (RESAMPLED, *_UNITS), "Resample units for intervals, or not (the other words "
        "set the unit, too).", none="none",
    )  # fmt: skip
    n_bootstrap: int = bootstraps()

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.intervals in _UNITS:  # a unit of intervals is the unit of all
            if self.unit not in ("auto", self.intervals):
                raise UsageError(
                    f'intervals="{self.intervals}", unit="{self.unit}": tests and intervals have '
                    "one unit"
                )
            object.__setattr__(self, "unit", self.intervals)
            object.__setattr__(self, "intervals", RESAMPLED)


@dataclass(frozen=True, kw_only=True)
class _Both(RankOptions, PairOptions):
    def settings(self, by: Sequence[str], tests: Sequence[str]) -> dict[str, Any]:
        """Give what the provenance shows of every comparison."""
        return {
            "by": ",".join(by),
            "tests": ",".join(tests),
            "ties": self.ties,
            "alternative": self.alternative,
            "correction": self.correction,
        }


@dataclass(frozen=True, kw_only=True)
class CompareOptions(_Both):
    """What :func:`steelyard.compare` is asked; a single ranking or test may be a plain name."""

    by: tuple[str, ...] | None = names(
        None,
        "Rankings: mean median bt elo trueskill, and, of corpus metrics, sentence-mean; by default "
        "mean,median,bt (mean,bt of scores that are 0 or 1). autorank is one by several scores.",
        choices=(*RANKINGS, AUTORANK),
    )
    autorank: str = choice("wmt25", AUTORANK_FORMS, "Form of AutoRank.")
    tests: tuple[str, ...] | None = names(
        None,
        "Tests of all pairs: t permutation bootstrap mood median sign wilcoxon mcnemar bt-gap, or "
        "all; by default those that fit the rankings (none of more than 300 systems).",
        choices=(*TESTS, "all"),
    )

    def __post_init__(self) -> None:
        if self.by is not None:
            object.__setattr__(self, "by", as_tuple(by=self.by))
            known("ranking", self.by, (*RANKINGS, AUTORANK))
            if AUTORANK in self.by and len(self.by) > 1:
                raise UsageError('by="autorank" is a ranking by several scores, and stands alone')
        if self.tests is not None:
            asked = tuple(dict.fromkeys(as_tuple(tests=self.tests)))
            object.__setattr__(self, "tests", asked)
            known("test", asked, TESTS)
        super().__post_init__()


@dataclass(frozen=True, kw_only=True)
class LogOptions(Options):
    """How a log is read: names of its columns, rows to keep, columns to skip, and the format."""

    left: str | None = text(None, "Column of the first system in a log.", metavar="COL")
    right: str | None = text(None, "Column of the second system in a log.", metavar="COL")
    outcome: str | None = text(None, "Column of who won in a log.", metavar="COL")
    words: Sequence[str] = names(
        (), "Words for left, right and tie in outcomes, such as 1,2,0; names: they name systems.",
        metavar="LEFT,RIGHT,TIE",
    )  # fmt: skip
    swapped: str | None = choice(
        None, ("place", "column"), "What A means where the right output was shown first: the one "
        "shown first (place), or the left column.",
    )  # fmt: skip
    where: tuple[tuple[str, str], ...] = ()
    ignore: Sequence[str] = names(())
    format: str | None = text(None)


@dataclass(frozen=True, kw_only=True)
class BattleOptions(_Both, LogOptions):
    """What :func:`steelyard.compare_battles` is asked; None is the usual number of orders.

    Some options name columns of a log, rows to keep, columns to skip, and the format. The unit is
    what battles share: a prompt or a segment as far as the log names it, ``battle``, or a column.
    """

    by: tuple[str, ...] = names(("bt", "mean"))
    orders: int | None = whole(None, least=0)
    scale: str = choice(
        "strength",
        SCALES,
        "What bt shows of a log: strengths that add up to 1, or the same as ratings (elo: 1000 on "
        "average, 400 more is ten times the strength).",
    )

    def __post_init__(self) -> None:
        object.__setattr__(self, "by", tuple(dict.fromkeys(as_tuple(by=self.by))))
        if "median" in self.by:
            raise UsageError(
                "median: the outcomes of battles have no median worth ranking by; "
                f"known: {', '.join(LOG_RANKINGS)}"
            )
        known("ranking", self.by, LOG_RANKINGS)
        super().__post_init__()
        if self.unit.isdecimal():
            raise UsageError(f'unit="{self.unit}": the battles of a log have no order to cut')


@dataclass(frozen=True, kw_only=True)
class CardOptions(Options):
    """What the decision card of two systems is asked; ``human`` is shown beside the score."""

    human: str | None = text(None)
    alpha: float = fraction(0.05)
    power: float = fraction(0.8, "Power at which the card counts the segments needed.")
    worth: Any = source(  # noqa: RUF009
        None, "What differences are worth, for the card: a JSON file of study worth.",
        metavar="FILE.json",
    )  # fmt: skip
    unit: str = unit("auto")
    n_bootstrap: int = whole(10_000, least=10)
