"""Whether a judge prefers what it is shown first.

With both orders of every pair, only pairs whose verdict flips say anything: a judge that prefers a
place flips to it, one that is merely unsure flips to either. With one order per pair, sides must be
random: then the share of left wins minus that of right wins is the bias, and the same of people on
the same pairs is taken off. Where a system always stands on one side, its strength and the bias of
the place can't be told apart.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtr, chdtrc, ndtri, stdtr, stdtrit

from steelyard.core.errors import ShapeError
from steelyard.stats.arrays import Floats, group_sums
from steelyard.stats.estimate import Estimate, undefined
from steelyard.stats.judged.proportions import TINY, noise_by_unit, without_noise

SWAPPED, RANDOM_SIDES, FIXED = "swapped", "random-sides", "fixed"
Codes = NDArray[np.integer]
_SIDES = (-1.0, 1.0)
_FIXED = 3e-5  # chance of sides so uneven, below which they are not random


@dataclass(frozen=True, slots=True)
class Position:
    """The bias of a place, and what it was measured by.

    Parameters
    ----------
    design
        ``swapped`` (both orders), ``random-sides`` (one order), or ``fixed``: not identified.
    bias
        Share of verdicts for the first place minus that for the second; between -1 and 1.
    p
        Two-sided. Exact where rows are independent: of flips in both orders, or of decided verdicts
        for either side. Where rows share units, of t with the error by unit.
    consistent
        Share of pairs with the same verdict in both orders; undefined with one order.
    first, second, half
        Pairs won by the first place in both orders, by the second, and those decided in one order
        only.
    people
        The same bias of people, with one order; it is taken off in ``beyond_people``.
    """

    design: str
    bias: Estimate
    p: float
    consistent: Estimate
    first: int = 0
    second: int = 0
    half: int = 0
    people: Estimate = undefined("no labels of people on these pairs")  # noqa: RUF009
    beyond_people: Estimate = undefined("no labels of people on these pairs")  # noqa: RUF009

    def to_dict(self) -> dict[str, Any]:
        """Give what ``--json`` prints."""
        bias = self.bias.to_dict()
        return {
            "design": self.design,
            "bias": bias["value"],
            "ci": bias["ci"],
            "se": bias["se"],
            "n": bias["n"],
            "why": bias["why"],
            "p": self.p,
            "consistent": self.consistent.value,
            "first_twice": self.first,
            "second_twice": self.second,
            "decided_once": self.half,
            "people": self.people.to_dict(),
            "beyond_people": self.beyond_people.to_dict(),
        }


def exact_sign_p(first: int, second: int) -> float:
    """Two-sided exact p of so many for either side, if both were as likely; 1 without any.

    Examples
    --------
    >>> exact_sign_p(5, 0), exact_sign_p(3, 3), exact_sign_p(0, 0)
    (0.0625, 1.0, 1.0)
    """
    n = first + second
    return min(1.0, 2 * float(bdtr(min(first, second), n, 0.5))) if n else 1.0


def bias_p(side: Floats, unit: Codes | None) -> float:
    """Two-sided p of a mean of sides (1, -1, 0 for neither) of 0; by unit where rows share one.

    Examples
    --------
    >>> side = np.array([1.0, 1, 1, 1, -1, -1])
    >>> round(bias_p(side, None), 4), round(bias_p(side, np.array([0, 0, 0, 0, 1, 1])), 4)
    (0.6875, 0.7716)
    """
    if unit is None or len(np.unique(unit)) == len(unit):
        return exact_sign_p(int((side > 0).sum()), int((side < 0).sum()))
    mean = float(side.mean())
    se, groups = noise_by_unit(side - mean, unit)
    if np.isnan(se):
        return float("nan")
    if se < TINY:  # every unit says the same: one sign each
        return exact_sign_p(groups, 0) if mean else 1.0
    return 2 * float(stdtr(groups - 1, -abs(mean) / se))


def swapped_position(
    first_order: Codes,
    second_order: Codes,
    *,
    unit: Codes | None = None,
    level: float = 0.95,
) -> Position:
    """Measure the bias from verdicts in both orders.

    Parameters
    ----------
    first_order, second_order
        Verdicts on the same pair (0 the right one, 1 a tie, 2 the left one, below 0 none), with the
        left one shown first, and with the right one shown first.
    unit
        What pairs share; None: pairs are independent.
    level
        Of the interval.

    Examples
    --------
    >>> found = swapped_position(np.array([2, 2, 0, 2]), np.array([2, 0, 0, 1]))
    >>> found.first, found.half, found.consistent.value, found.bias.value
    (1, 1, 0.5, 0.25)
    """
    if first_order.shape != second_order.shape:
        raise ShapeError(f"{first_order.shape} verdicts but {second_order.shape} of the swap")
    both = (first_order >= 0) & (second_order >= 0)
    a, b = first_order[both], second_order[both]
    if not len(a):
        nothing = undefined("no pair has a verdict in both orders")
        return Position(SWAPPED, nothing, float("nan"), nothing)
    to_first, to_second = (a == 2) & (b == 0), (a == 0) & (b == 2)
    first, second = int(to_first.sum()), int(to_second.sum())
    own = None if unit is None else unit[both]
    side = to_first.astype(np.float64) - to_second
    return Position(
        design=SWAPPED,
        bias=mean_by_unit(side, own, level, _SIDES),
        p=bias_p(side, own),
        consistent=mean_by_unit((a == b).astype(np.float64), own, level, (0.0, 1.0)),
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

    Parameters
    ----------
    judge, people
        Verdicts on pairs (0 the right one, 1 a tie, 2 the left one, below 0 none).
    left, right
        The systems shown, by which sides are told to be random or fixed; None: taken for random.
    unit, level
        As in :func:`swapped_position`.

    Examples
    --------
    >>> found = one_order_position(np.array([2, 2, 2, 0]))
    >>> found.design, found.bias.value, found.p
    ('random-sides', 0.5, 0.625)
    >>> found = one_order_position(np.full(40, 2), left=np.zeros(40, int), right=np.ones(40, int))
    >>> found.design, found.bias.known
    ('fixed', False)
    """
    known = judge >= 0
    nothing = undefined("pairs were shown in one order")
    if not known.any():
        return Position(RANDOM_SIDES, undefined("no verdicts"), float("nan"), nothing)
    if left is not None and right is not None and sides_are_fixed(left[known], right[known]):
        why = (
            "systems keep their side, so that a preference for a place can't be told from one for "
            "a system: judge some pairs in both orders"
        )
        return Position(FIXED, undefined(why, int(known.sum())), float("nan"), nothing)
    side = judge[known].astype(np.float64) - 1
    own = None if unit is None else unit[known]
    found = Position(
        design=RANDOM_SIDES,
        bias=mean_by_unit(side, own, level, _SIDES),
        p=bias_p(side, own),
        consistent=nothing,
    )
    both = known if people is None else known & (people >= 0)
    if people is None or not both.any():
        return found
    shared = None if unit is None else unit[both]
    theirs = people[both].astype(np.float64) - 1
    beyond = judge[both].astype(np.float64) - 1 - theirs
    return Position(
        design=found.design,
        bias=found.bias,
        p=found.p,
        consistent=nothing,
        people=mean_by_unit(theirs, shared, level, _SIDES),
        beyond_people=mean_by_unit(beyond, shared, level, (-2.0, 2.0)),
    )


def sides_are_fixed(left: Codes, right: Codes) -> bool:
    """Tell whether pairs of systems stand on the same sides far more often than chance allows.

    Of every pair of systems that met ten times or more, the larger share of one order is compared
    with what random sides would give: a chi-square test of all of them together, which random
    sides fail once in 30,000 sets.

    Examples
    --------
    >>> sides_are_fixed(np.zeros(40, int), np.ones(40, int))
    True
    >>> sides_are_fixed(np.tile([0, 1], 20), np.tile([1, 0], 20))
    False
    """
    n = int(max(left.max(), right.max())) + 1
    low, high = np.minimum(left, right), np.maximum(left, right)
    _, pair = np.unique(low * n + high, return_inverse=True)
    n_pairs = int(pair.max()) + 1
    met = group_sums(pair, None, n_pairs)
    forward = group_sums(pair, (left < right).astype(np.float64), n_pairs)
    often = met >= 10
    if not often.any():
        return False
    squares = (2 * forward[often] - met[often]) ** 2 / met[often]
    return bool(chdtrc(often.sum(), squares.sum()) < _FIXED)


def mean_by_unit(
    values: Floats,
    unit: Codes | None,
    level: float,
    within: tuple[float, float] | None = None,
) -> Estimate:
    """Give a mean with its interval: normal, or t by unit where rows share something.

    Where all values are the same, and ``within`` says between which bounds they are, the interval
    is that of rows that were not seen.

    Examples
    --------
    >>> found = mean_by_unit(np.array([1.0, 1, 0, 0]), None, 0.95)
    >>> found.value, round(found.se, 4)
    (0.5, 0.25)
    >>> round(mean_by_unit(np.array([1.0, 1, 0, 0]), np.array([0, 0, 1, 1]), 0.95).se, 4)
    0.5
    """
    n, mean = len(values), float(values.mean())
    se, groups = noise_by_unit(values - mean, unit)
    if np.isnan(se):
        return Estimate(mean, n=n, why="no interval: all rows share one unit")
    if se < TINY and within is not None:
        found = without_noise(mean, groups, level, *within)
        return Estimate(mean, found.low, found.high, 0.0, n=n)
    tail = 0.5 + level / 2
    reach = float(ndtri(tail) if unit is None else stdtrit(groups - 1, tail)) * se
    return Estimate(mean, mean - reach, mean + reach, se, n=n)
