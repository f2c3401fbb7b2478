r"""What sways a judge beyond people: the place of an answer, its length, any other covariate.

*Position.* With both orders of every pair, only pairs whose verdict flips count: a judge that
prefers a place flips to it, an unsure one flips to either. With one order per pair, sides must be
random: then the share of left wins minus that of right wins is the bias, and the same of people on
the same pairs is taken off. Where a system always stands on one side, its strength and the bias of
the place can't be told apart.

*Covariates.* People may prefer longer answers, too; only what a judge adds to that is bias. With
:math:`e_i = f_i - y_i` (judge minus people) on labelled rows and covariates x,
:math:`e = a + x' b`; errors of the coefficients are HC3: how far each unit (a row, or all rows of a
prompt) would pull a fit without it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from steelyard.core.errors import UsageError
from steelyard.stats.arrays import Floats, group_sums
from steelyard.stats.distributions import chdtrc, stdtr
from steelyard.stats.estimate import (
    Codes,
    Estimate,
    mean_estimate,
    side_p,
    symmetric,
    undefined,
)
from steelyard.stats.paired.corrections import adjust

SWAPPED, RANDOM_SIDES, FIXED = "swapped", "random-sides", "fixed"
CONSTANT = "constant"
_SIDES = (-1.0, 1.0)
_NO_LABELS = undefined("no labels of people on these pairs")
_FIXED = 3e-5  # p of sides below which they are not random: one in 30,000 random sets


@dataclass(frozen=True, slots=True)
class Position:
    """The bias of a place, and what it was measured by."""

    design: str  # swapped (both orders), random-sides (one order), or fixed: no bias identified
    bias: Estimate  # share of verdicts for the first place minus that for the second
    p: float  # two-sided
    consistent: Estimate  # share of pairs with the same verdict in both orders
    first: int = 0  # pairs won by the first place in both orders
    second: int = 0  # and by the second
    half: int = 0  # pairs decided in one order only
    people: Estimate = _NO_LABELS
    beyond_people: Estimate = _NO_LABELS  # the bias less that of people

    def to_dict(self) -> dict[str, Any]:
        """Return what ``--json`` prints."""
        bias = self.bias.to_dict()
        return {
            "design": self.design,
            "bias": bias.pop("value"),
            **bias,
            "p": self.p,
            "consistent": self.consistent.value,
            "first_twice": self.first,
            "second_twice": self.second,
            "decided_once": self.half,
            "people": self.people.to_dict(),
            "beyond_people": self.beyond_people.to_dict(),
        }


def swapped_position(
    first_order: Codes, second_order: Codes, *, unit: Codes | None = None, level: float = 0.95
) -> Position:
    """Measure the bias from verdicts in both orders.

    Verdicts on a pair are 0 (the right one), 1 (a tie), 2 (the left one), below 0 where missing;
    first with the left one shown first, then with the right one shown first.
    """
    both = (first_order >= 0) & (second_order >= 0)
    if not both.any():
        nothing = undefined("no pair has a verdict in both orders")
        return Position(SWAPPED, nothing, float("nan"), nothing)
    a, b = first_order[both], second_order[both]
    side = ((a == 2) & (b == 0)).astype(np.float64) - ((a == 0) & (b == 2))
    first, second = int((side > 0).sum()), int((side < 0).sum())
    units = None if unit is None else unit[both]
    return Position(
        design=SWAPPED,
        bias=mean_estimate(side, units, level, _SIDES),
        p=side_p(side, units),
        consistent=mean_estimate((a == b).astype(np.float64), units, level, (0.0, 1.0)),
        first=first,
        second=second,
        half=int((a != b).sum()) - first - second,
    )


def one_order_position(
    judge: Codes,
    people: Codes | None = None,
    *,
    left: Codes | None = None,
    right: Codes | None = None,
    unit: Codes | None = None,
    level: float = 0.95,
) -> Position:
    """Measure the bias from verdicts in one order, where sides are random.

    ``left`` and ``right`` are the systems shown, which tell whether sides are random or fixed;
    without them they are taken for random.
    """
    judged = judge >= 0
    one_order = undefined("pairs were shown in one order")
    if not judged.any():
        return Position(RANDOM_SIDES, undefined("no verdicts"), float("nan"), one_order)
    if left is not None and right is not None and sides_are_fixed(left[judged], right[judged]):
        why = (
            "systems keep their side, so that a preference for a place can't be told from one for "
            "a system: judge some pairs in both orders"
        )
        return Position(FIXED, undefined(why, int(judged.sum())), float("nan"), one_order)
    side = judge.astype(np.float64) - 1
    units = None if unit is None else unit[judged]
    bias, p = mean_estimate(side[judged], units, level, _SIDES), side_p(side[judged], units)
    if people is None or not (both := judged & (people >= 0)).any():
        return Position(RANDOM_SIDES, bias, p, one_order)
    units = None if unit is None else unit[both]
    of_people = people[both].astype(np.float64) - 1
    return Position(
        design=RANDOM_SIDES,
        bias=bias,
        p=p,
        consistent=one_order,
        people=mean_estimate(of_people, units, level, _SIDES),
        beyond_people=mean_estimate(side[both] - of_people, units, level, (-2.0, 2.0)),
    )


def sides_are_fixed(left: Codes, right: Codes) -> bool:
    """Return whether pairs of systems stand on the same sides far more often than chance allows.

    A chi-square test of all pairs of systems that met ten times or more.
    """
    n = int(max(left.max(), right.max())) + 1
    _, pair = np.unique(np.minimum(left, right) * n + np.maximum(left, right), return_inverse=True)
    n_pairs = int(pair.max()) + 1
    met = group_sums(pair, None, n_pairs)
    forward = group_sums(pair, (left < right).astype(np.float64), n_pairs)
    often = met >= 10
    if not often.any():
        return False
    squares = (2 * forward[often] - met[often]) ** 2 / met[often]
    return bool(chdtrc(often.sum(), squares.sum()) < _FIXED)


@dataclass(frozen=True, slots=True)
class Effect:
    """One coefficient: its value, interval and t test, before and after Holm's correction."""

    name: str
    estimate: Estimate
    p: float
    p_adjusted: float

    def to_dict(self) -> dict[str, Any]:
        """Return what ``--json`` prints."""
        return {
            "name": self.name,
            **self.estimate.to_dict(),
            "p": self.p,
            "p_adjusted": self.p_adjusted,
        }


def regress_errors(
    errors: Floats,
    covariates: Mapping[str, Floats],
    *,
    unit: Codes | None = None,
    level: float = 0.95,
) -> tuple[Effect, ...]:
    """Regress errors (judge minus people) on covariates; the first effect is the constant.

    Rows with a NaN are excluded. A covariate that a single unit decides has no interval.
    """
    names = [CONSTANT, *covariates]
    design = np.stack([np.ones(len(errors)), *covariates.values()], axis=1)
    keep = ~(np.isnan(errors) | np.isnan(design).any(axis=1))
    y, x = errors[keep], design[keep]
    n, width = x.shape
    if n <= width:
        raise UsageError(
            f"{n} labelled rows with all covariates, expected more than {width} to regress on "
            f"{', '.join(covariates) or 'a constant'}"
        )
    _refuse_dependent(x, names)
    codes = np.arange(n) if unit is None else np.unique(unit[keep], return_inverse=True)[1]
    n_units = int(codes.max()) + 1
    if n_units <= width:
        raise UsageError(f"{n_units} units, expected more than the {width} coefficients")
    q, r = np.linalg.qr(x)
    inverse = np.linalg.inv(r)
    values = inverse @ (q.T @ y)
    pulls, undecided = _pulls_without(codes, q, y - x @ values, n_units)
    pulls = pulls @ inverse.T
    # What a single unit decides has no finite error.
    alone = (np.abs(undecided @ inverse.T) > 1e-8 * np.abs(inverse).max(axis=1)).any(axis=0)
    se = np.where(alone, np.inf, np.sqrt(np.diagonal(pulls.T @ pulls)))
    freedom = n_units - (width if unit is None else 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.where(values == 0, 0.0, np.abs(values) / se)
    p = 2 * np.asarray(stdtr(freedom, -t), dtype=np.float64)
    adjusted = np.concatenate([p[:1], adjust(p[1:])])  # the constant is no covariate
    return tuple(
        Effect(
            name,
            Estimate(float(values[i]), n=n, why="no interval: a single unit decides it")
            if alone[i]
            else symmetric(float(values[i]), float(se[i]), n, level, freedom),
            float(p[i]),
            float(adjusted[i]),
        )
        for i, name in enumerate(names)
    )


def _pulls_without(
    codes: Codes, q: Floats, residuals: Floats, n_units: int
) -> tuple[Floats, Floats]:
    """Return how far units pull a fit without them: (I - Q'Q of the unit)^-1 Q' residuals."""
    width = q.shape[1]

    def by_unit(rows: Floats) -> Floats:
        return np.stack([group_sums(codes, column, n_units) for column in rows.T], axis=1)

    pulls = by_unit(q * residuals[:, None])
    products = by_unit((q[:, :, None] * q[:, None, :]).reshape(len(q), width * width))
    values, vectors = np.linalg.eigh(np.eye(width) - products.reshape(n_units, width, width))
    lost = values < 1e-10
    scale = np.divide(1.0, values, out=np.zeros_like(values), where=~lost)
    turned = (vectors.transpose(0, 2, 1) @ pulls[:, :, None])[:, :, 0] * scale
    return (vectors @ turned[:, :, None])[:, :, 0], vectors.transpose(0, 2, 1)[lost]


def _refuse_dependent(x: Floats, names: list[str]) -> None:
    """Refuse a column that is constant, or follows from those before it."""
    scaled = x / np.linalg.norm(x, axis=0)
    for column in range(1, x.shape[1]):
        if np.ptp(x[:, column]) == 0:
            raise UsageError(f"covariate '{names[column]}' is the same in all labelled rows")
    for column in range(1, x.shape[1]):
        before = scaled[:, :column]
        fitted = before @ np.linalg.lstsq(before, scaled[:, column], rcond=None)[0]
        if np.linalg.norm(scaled[:, column] - fitted) < 1e-7:
            others = ", ".join(f"'{name}'" for name in names[1:column]) or "the constant"
            raise UsageError(f"covariate '{names[column]}' follows from {others}: leave one out")
