"""What can be asked of a comparison: rankings, tests and intervals, of scores or of a log.

Nothing here imports NumPy, because ``--help`` reads it.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from steelyard.core.display import Record
from steelyard.core.errors import UsageError, hint
from steelyard.core.options import (
    Options,
    as_tuple,
    bootstraps,
    choice,
    fraction,
    names,
    number,
    text,
    unit,
    whole,
)

Correction = Literal["holm", "benjamini-hochberg", "bonferroni", "none"]
TestName = Literal["t", "permutation", "bootstrap", "mood", "median", "sign", "wilcoxon", "mcnemar"]
Ties = Literal["half", "drop", "davidson", "rao-kupper", "second"]

AUTORANK = "autorank"  #: a ranking by several scores together
#: Rankings of scores; what is random is drawn in this order.
RANKINGS = ("mean", "median", "bt", "elo", "trueskill")
#: Rankings of a log of battles, likewise.
LOG_RANKINGS = ("mean", "bt", "elo", "trueskill")
TESTS: tuple[str, ...] = get_args(TestName)
TIES: tuple[str, ...] = get_args(Ties)
_LARGEST = 1e6  # K of Elo, far above where ratings mean anything
#: Other names of rankings and tests, which errors answer (as core.errors.plain_word gives them).
OTHER_RANKINGS = {
    "average": "mean", "win-rate": "mean", "bradley-terry": "bt", "btl": "bt", "arena": "bt",
    "borda": "bt", "mean-rank": "bt", "elo-rating": "elo", "true-skill": "trueskill",
    "auto-rank": AUTORANK,
}  # fmt: skip
OTHER_TESTS = {
    "t-test": "t", "ttest": "t", "paired-t": "t", "randomization": "permutation",
    "paired-ar": "permutation", "paired-bs": "bootstrap", "binomial": "sign",
    "signed-rank": "wilcoxon",
}  # fmt: skip
_OTHER_NAMES = {"ranking": OTHER_RANKINGS, "test": OTHER_TESTS, "power of test": OTHER_TESTS}


def check_named(noun: str, asked: Sequence[str], choices: Sequence[str]) -> None:
    """Refuse names that are not among the choices."""
    for name in asked:
        if name not in choices:
            raise UsageError(f"no {noun} '{name}'; {hint(name, choices, _OTHER_NAMES.get(noun))}")


@dataclass(frozen=True, slots=True)
class Ranking:
    """A ranking with its options, for ``by=``: what :func:`bt`, :func:`elo`, ... return."""

    name: str
    settings: Mapping[str, str | float | None] = field(default_factory=dict)


def bt(*, ties: Ties = "half", prior: float = 0.0) -> Ranking:
    """Rank by Bradley-Terry strength: ``by=sy.bt(ties="davidson")``.

    Parameters
    ----------
    ties
        Half a win, dropped, a tie model (``davidson``, ``rao-kupper``), or a win of the second.
    prior
        Wins and losses against an imaginary opponent.

    Returns
    -------
    Ranking
        An element of ``by=``.
    """
    return _checked("bt", ties=ties, prior=prior)


def elo(*, k: float = 20.0, orders: int | None = None) -> Ranking:
    """Rank by Elo rating: ``by=sy.elo(k=20)``.

    Parameters
    ----------
    k
        How far one battle moves a rating.
    orders
        Random orders that are averaged; 0 is the order of the file. None is 100, or fewer where a
        log is long.

    Returns
    -------
    Ranking
        An element of ``by=``.
    """
    return _checked("elo", k=k, orders=orders)


def trueskill(*, orders: int | None = None) -> Ranking:
    """Rank by TrueSkill, whose skills start at 25 with a deviation of 25/3.

    Parameters
    ----------
    orders
        As in :func:`elo`.

    Returns
    -------
    Ranking
        An element of ``by=``.
    """
    return _checked("trueskill", orders=orders)


def _checked(name: str, **settings: Any) -> Ranking:
    # The usual number of orders differs between scores and logs.
    asked = {name: x for name, x in settings.items() if name != "orders" or x is not None}
    BattleOptions(**asked)
    return Ranking(name, asked)


By = str | Ranking | Sequence[str | Ranking]


@dataclass(frozen=True, kw_only=True)
class RankOptions(Options):
    """What the definitions of rankings leave open."""

    ties: str = choice("half", TIES, "What ties are to Bradley-Terry.")
    tolerance: float = number(0.0, "Differences of at most this are ties.", least=0)
    prior: float = number(
        0.0, "Wins and losses against an imaginary opponent, for Bradley-Terry.", least=0
    )
    orders: int | None = whole(
        100,
        "Random orders that Elo and TrueSkill are averaged over; 0: as in the file.",
        least=0,
        metavar="N",
    )
    k: float = number(
        20.0, "K of Elo.", least=0, most=_LARGEST, strict=True, flag="--elo-k", metavar="K"
    )

    def _take_rankings(self, by: object) -> tuple[str, ...]:
        """Return the names of some rankings, and take over the options that they bring."""
        settings: dict[str, Any] = {}
        chosen: list[str] = []
        for ranking in as_tuple((str, Ranking), by=by):
            named = Ranking(ranking) if isinstance(ranking, str) else ranking
            chosen.append(named.name)
            for name, value in named.settings.items():
                if settings.setdefault(name, value) != value:
                    raise UsageError(f"by: {name} is {settings[name]} and {value}: expected one")
                object.__setattr__(self, name, value)
        return tuple(dict.fromkeys(chosen))


#: Options that a ranking brings with it: ``by=sy.elo(k=20)``.
RANKED = frozenset(RankOptions.declared()) - {"tolerance"}


@dataclass(frozen=True, kw_only=True)
class PairOptions(RankOptions):
    """Rankings, how pairs are tested, and what is independent: units are tested and resampled."""

    correction: str = choice(
        "holm", get_args(Correction), "Correct p-values for the number of pairs."
    )
    alpha: float = fraction(0.05, "Level of tests and tiers.")
    unit: str = unit("auto")
    intervals: str | None = choice(
        "unit", ("unit",), "Resample units for intervals, or not.", none="none"
    )
    n_bootstrap: int = bootstraps()

    def settings(
        self, by: Sequence[str], tests: Sequence[str], unit: str, order: str | None
    ) -> dict[str, Any]:
        """Return what the provenance shows; ``order`` is that of battles, where it matters."""
        return {
            "by": ",".join(by),
            "tests": ",".join(tests),
            "ties": self.ties,
            "correction": self.correction,
            "unit": unit,
            **({"bootstrap": self.n_bootstrap} if self.intervals else {}),
            **({} if order is None else {"orders": self.orders or order}),
        }


@dataclass(frozen=True, kw_only=True)
class CompareOptions(PairOptions):
    """What :func:`steelyard.compare` is asked; a single ranking or test may be a plain name."""

    by: tuple[str, ...] | None = names(
        None,
        "Rankings: mean median bt elo trueskill; by default mean,median,bt (mean,bt of scores that "
        "are 0 or 1). autorank is one by several scores.",
        choices=(*RANKINGS, AUTORANK),
    )
    autorank: str = choice("wmt25", ("wmt25", "wmt24"), "Form of AutoRank.")
    tests: tuple[str, ...] | None = names(
        None,
        "Tests of all pairs: t permutation bootstrap mood median sign wilcoxon mcnemar, or all; by "
        "default those that fit the rankings (none of more than 300 systems).",
        choices=(*TESTS, "all"),
    )

    slices: tuple[str, ...] = names(
        (),
        "Compare also by each value of these columns, and warn where one reverses the whole.",
        flag="--slice",
        metavar="COL,...",
    )

    def __post_init__(self) -> None:
        if self.by is not None:
            object.__setattr__(self, "by", self._take_rankings(self.by))
            check_named("ranking", self.by, (*RANKINGS, AUTORANK))
            if AUTORANK in self.by and len(self.by) > 1:
                raise UsageError('by="autorank" is a ranking by several scores, and stands alone')
        if self.tests is not None:
            asked = tuple(dict.fromkeys(as_tuple(tests=self.tests)))
            object.__setattr__(self, "tests", asked)
            check_named("test", asked, TESTS)
        super().__post_init__()


@dataclass(frozen=True, kw_only=True)
class BattleOptions(PairOptions):
    """What :func:`steelyard.compare_battles` is asked; None is the usual number of orders."""

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
    by: tuple[str, ...] = names(("bt", "mean"))
    orders: int | None = whole(None, least=0)

    def __post_init__(self) -> None:
        object.__setattr__(self, "by", self._take_rankings(self.by))
        check_named("ranking", self.by, LOG_RANKINGS)
        super().__post_init__()
        if self.unit.isdecimal():
            raise UsageError(f'unit="{self.unit}": the battles of a log have no order to cut')


@dataclass(frozen=True, kw_only=True)
class CardOptions(Options):
    """What the decision card of two systems is asked; ``human`` is shown beside the score."""

    human: str | None = text(None)
    alpha: float = fraction(0.05)
    unit: str = unit("auto")
    slices: tuple[str, ...] = names(())
    n_bootstrap: int = whole(10_000, least=10)


# -- requirements that a gate, or a judge, must meet: ``kappa.low>=0.4``

HOLDS, FAILS, UNDECIDED = "holds", "fails", "undecided"
_FORM = re.compile(
    r"\s*(abs\()?\s*([^<>=()\s][^<>=()]*?)\s*(\))?"  # what it is about
    r"\s*(>=|<=|>|<)\s*([-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e-?[0-9]+)?)\s*"
)
_SHORT = {"gap": "systems.gap", "rho": "scores.rho", "offset": "scores.offset"}
_SIGNS = {">=": operator.ge, ">": operator.gt, "<=": operator.le, "<": operator.lt}
_NAMED = ("name", "task", "slice")  # what an element of a list goes by
_Interval = tuple[float, float, float]  # a value and the ends of its interval


@dataclass(frozen=True, slots=True)
class Requirement:
    """A bound on something that has an interval; ``absolute`` bounds its size alone."""

    text: str
    name: str
    absolute: bool
    sign: str
    limit: float


@dataclass(frozen=True, slots=True)
class Checked(Record):
    """Whether a requirement holds for a judge; ``found`` is the value with its interval."""

    judge: str
    requirement: str
    result: str
    found: str


def parse(text: str) -> Requirement:
    """Read a requirement; a bare point is refused with what to ask instead.

    Examples
    --------
    >>> requirement = parse("kappa.low >= 0.4")
    >>> requirement.name, requirement.sign, requirement.limit
    ('kappa', '>=', 0.4)
    >>> parse("kappa>=0.4")
    Traceback (most recent call last):
    steelyard.core.errors.UsageError: requirement 'kappa>=0.4' is about a point; ask for an end of
    its interval: kappa.low>=0.4
    """
    match = _FORM.fullmatch(text)
    if match is None or bool(match[1]) != bool(match[3]):
        forms = "NAME.low>=X, NAME.high<=X or abs(NAME)<=X, such as kappa.low>=0.4"
        raise UsageError(f"requirement '{text}': expected {forms}")
    absolute, name, sign, limit = match[1] is not None, match[2].strip(), match[4], float(match[5])
    base = name.removesuffix(".low").removesuffix(".high")
    wanted = "low" if sign.startswith(">") else "high"
    problem = ""
    if absolute and wanted == "low":
        problem = ": abs() is bounded from above, as abs(NAME)<=X"
    elif not absolute and name == base:
        ask = f"{base}.{wanted}{sign}{match[5]}"
        problem = f" is about a point; ask for an end of its interval: {ask}"
    elif not absolute and name != f"{base}.{wanted}":
        problem = f" asks for the end that proves nothing: {base}.{wanted}"
    if problem:
        raise UsageError(f"requirement '{text}'{problem}")
    return Requirement(text, base, absolute, sign, limit)


def check(requirement: Requirement, judge: Mapping[str, Any]) -> Checked:
    """Check a requirement against the JSON of a judge, or of a gate.

    It holds if the whole interval does, fails if none of it does, and is undecided between, or
    where the value is undefined.
    """
    name = str(judge.get("judge", "gate"))
    interval = _interval(requirement, judge)
    if interval is None:
        return Checked(name, requirement.text, UNDECIDED, "undefined")
    value, low, high = interval
    if requirement.absolute:
        nearest = 0.0 if low <= 0 <= high else min(abs(low), abs(high))
        low, high = nearest, max(abs(low), abs(high))
    meets = _SIGNS[requirement.sign]
    worst, best = (low, high) if requirement.sign.startswith(">") else (high, low)
    result = UNDECIDED if meets(best, requirement.limit) else FAILS
    result = HOLDS if meets(worst, requirement.limit) else result
    return Checked(name, requirement.text, result, f"{value:.4g} [{low:.4g}, {high:.4g}]")


def _interval(requirement: Requirement, judge: Mapping[str, Any]) -> _Interval | None:
    """Find a value and its interval by name, effects by theirs; None where it is undefined."""
    node: Any = judge
    for part in _SHORT.get(requirement.name, requirement.name).split("."):
        if isinstance(node, list):
            if not node:
                return None
            node = {next((item[k] for k in _NAMED if k in item), None): item for item in node}
        if not isinstance(node, Mapping) or part not in node:
            keys = [str(key) for key in node] if isinstance(node, Mapping) else []
            raise UsageError(f"requirement '{requirement.text}': no '{part}'; {hint(part, keys)}")
        beside = "ci" if part in ("bias", "difference") else f"{part}_ci"  # of a bare number
        if not isinstance(node[part], (Mapping, list)) and beside in node:
            return _ends(node[part], node[beside])
        node = node[part]
        if node is None:
            return None
    if isinstance(node, Mapping) and "value" in node:
        return _ends(node["value"], node.get("ci"))
    no_interval = f"{requirement.name} has no interval to ask about"
    raise UsageError(f"requirement '{requirement.text}': {no_interval}")


def _ends(value: float | None, ci: Any) -> _Interval | None:
    if value is None or ci is None or math.isnan(value) or None in ci:
        return None
    return float(value), float(ci[0]), float(ci[1])
