r"""Raters with raters: how far people who judged the same things agree, beyond chance.

Judgements come as columns: ``unit`` says what was judged (a code), ``value`` what was said. Units
with a single judgement have nothing to agree with and take no part; NaN is missing. Every
coefficient is a ratio of sums over units, so an interval resamples units by counts
(:func:`bootstrap <steelyard.stats.resampling.bootstrap.segment_counts>`) instead of copying
judgements.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from steelyard.core.errors import ShapeError
from steelyard.core.options import check_choice, check_whole
from steelyard.stats.arrays import Counts, Floats, group_sums, pairs_within, ratio
from steelyard.stats.resampling.bootstrap import interval, segment_counts

LEVELS = ("nominal", "ordinal", "interval")
_CHUNK = 8_000_000  # cells of resampling counts held at a time


@dataclass(frozen=True, slots=True)
class Agreement:
    """A coefficient, its 95 % interval (NaN without resamples), and what it rests on.

    ``n_units`` counts the units with two judgements or more, ``n_values`` their judgements. A
    coefficient that is undefined (nothing judged twice, or nothing varies) is NaN.
    """

    value: float
    low: float
    high: float
    n_units: int
    n_values: int

    def to_dict(self) -> dict[str, object]:
        """Give what ``--json`` prints."""
        return {
            "value": self.value,
            "ci": None if np.isnan(self.low) else [self.low, self.high],
            "n_units": self.n_units,
            "n_values": self.n_values,
        }


_NOTHING = Agreement(float("nan"), float("nan"), float("nan"), n_units=0, n_values=0)


def krippendorff_alpha(
    unit: NDArray[np.integer],
    value: Floats,
    level: str = "interval",
    *,
    n_resamples: int = 0,
    rng: np.random.Generator | None = None,
) -> Agreement:
    r"""Krippendorff's alpha: 1 - observed disagreement / disagreement expected by chance.

    With :math:`m_u` values in unit u and n in all units together, the coincidences are
    :math:`o_{ck} = \sum_u n_{uc} (n_{uk} - [c = k]) / (m_u - 1)`, and

    .. math:: \alpha = 1 - (n - 1) \frac{\sum_{ck} o_{ck} \delta^2_{ck}}
              {\sum_{ck} n_c n_k \delta^2_{ck}}

    where :math:`\delta^2` is 0 or 1 (``nominal``), the squared difference (``interval``), or the
    squared number of values ranked between c and k, with half of each (``ordinal``).

    Parameters
    ----------
    unit
        What was judged: a code per judgement.
    value
        The judgement; NaN is missing.
    level
        ``nominal``, ``ordinal`` or ``interval``.
    n_resamples, rng
        Resamples of units for the interval.

    Examples
    --------
    >>> krippendorff_alpha(np.array([0, 0, 1, 1, 2, 2]), np.array([1.0, 1, 2, 2, 3, 3])).value
    1.0
    """
    check_choice(LEVELS, level=level)
    codes, values = _shared(unit, value)
    n_units = int(codes.max(initial=-1)) + 1
    if not n_units:
        return _NOTHING
    alpha = (_interval_alpha if level == "interval" else _counted_alpha)(codes, values, level)
    return _with_interval(alpha, n_units, len(values), n_resamples, rng)


Coefficient = Callable[[Floats], Floats]  # weights, resamples x units, to one value per resample


def _with_interval(
    coefficient: Coefficient,
    n_units: int,
    n_values: int,
    n_resamples: int,
    rng: np.random.Generator | None,
) -> Agreement:
    check_whole(n_resamples=n_resamples)
    value = float(coefficient(np.ones((1, n_units)))[0])
    low = high = float("nan")
    if n_resamples and n_units > 1 and not np.isnan(value):
        stream = np.random.default_rng(0) if rng is None else rng
        step = max(1, _CHUNK // n_units)
        parts = [
            coefficient(segment_counts(min(step, n_resamples - done), n_units, stream))
            for done in range(0, n_resamples, step)
        ]
        ends = interval(np.concatenate(parts)[:, None])
        low, high = (float(end[0]) for end in ends)
    return Agreement(value=value, low=low, high=high, n_units=n_units, n_values=n_values)


def _shared(unit: NDArray[np.integer], value: Floats) -> tuple[Counts, Floats]:
    """Keep units with two known values or more, numbered from 0."""
    units, values = np.asarray(unit), np.asarray(value, dtype=np.float64)
    if units.shape != values.shape or units.ndim != 1:
        raise ShapeError(f"{units.shape} units but {values.shape} values")
    known = ~np.isnan(values)
    units, values = units[known], values[known]
    _, codes, sizes = np.unique(units, return_inverse=True, return_counts=True)
    keep = sizes[codes] > 1
    _, codes = np.unique(codes[keep], return_inverse=True)
    return codes.astype(np.int64), values[keep]


def _interval_alpha(codes: Counts, values: Floats, _level: str) -> Coefficient:
    x = values - values.mean()  # differences do not change, and squares do not cancel
    size = np.bincount(codes).astype(np.float64)
    total = np.bincount(codes, weights=x)
    inside = x - (total / size)[codes]
    within = np.bincount(codes, weights=inside * inside)
    square = np.bincount(codes, weights=x * x)

    def alpha(weights: Floats) -> Floats:
        n = weights @ size
        observed = 2 * (weights @ (size * within / (size - 1)))
        sums, squares = weights @ total, weights @ square
        expected = 2 * (n * squares - sums * sums)
        varies = expected > 1e-12 * np.maximum(n * squares, 1e-300)
        return 1 - ratio((n - 1) * observed, np.where(varies, expected, 0))

    return alpha


def _counted_alpha(codes: Counts, values: Floats, level: str) -> Coefficient:
    """Alpha of classes or ranks: a class is as far from another as its position says."""
    labels, value = np.unique(values, return_inverse=True)
    one, other = pairs_within(codes)
    owner = codes[one]
    share = 2 / (np.bincount(codes)[owner] - 1)
    one, other = value[one], value[other]
    differ = (one != other).astype(np.float64)

    def alpha(weights: Floats) -> Floats:
        result = np.empty(len(weights))
        for row, weight in enumerate(weights):
            counts = group_sums(value, weight[codes], len(labels))
            n = counts.sum()
            if level == "nominal":
                distance, expected = differ, n * n - counts @ counts
            else:
                # The values ranked from one to the other, both ends by half.
                middle = np.cumsum(counts) - counts / 2
                middle -= n / 2
                distance = (middle[one] - middle[other]) ** 2
                expected = 2 * (n * (counts @ middle**2) - (counts @ middle) ** 2)
            observed = (n - 1) * ((weight[owner] * share) @ distance)
            varies = np.count_nonzero(counts) > 1
            result[row] = 1 - observed / expected if varies else np.nan
        return result

    return alpha


def cohen_kappa(
    first: Floats,
    second: Floats,
    *,
    n_resamples: int = 0,
    rng: np.random.Generator | None = None,
) -> Agreement:
    """Cohen's kappa of two raters who put the same units into classes.

    (observed - expected) / (1 - expected), where chance is what independent raters with these
    shares of classes would agree in. Units that either left out take no part.

    Examples
    --------
    >>> round(cohen_kappa(np.array([0.0, 0, 1, 1]), np.array([0.0, 1, 1, np.nan])).value, 4)
    0.4
    """
    a, b = (np.asarray(x, dtype=np.float64) for x in (first, second))
    if a.shape != b.shape or a.ndim != 1:
        raise ShapeError(f"one class per unit and rater, got shapes {a.shape} and {b.shape}")
    both = ~(np.isnan(a) | np.isnan(b))
    labels, codes = np.unique(np.concatenate([a[both], b[both]]), return_inverse=True)
    n = int(both.sum())
    if not n:
        return _NOTHING
    one, other = (np.eye(len(labels))[half] for half in (codes[:n], codes[n:]))
    same = (codes[:n] == codes[n:]).astype(np.float64)

    def kappa(weights: Floats) -> Floats:
        total = weights.sum(axis=1)
        chance = ((weights @ one) * (weights @ other)).sum(axis=1) / total**2
        return _beyond_chance(weights @ same / total, chance)

    return _with_interval(kappa, n, 2 * n, n_resamples, rng)


def _beyond_chance(observed: Floats, expected: Floats) -> Floats:
    """(observed - expected) / (1 - expected); NaN where chance alone would always agree."""
    room = 1 - expected
    return ratio(observed - expected, np.where(room > 1e-12, room, 0))


def fleiss_kappa(
    unit: NDArray[np.integer],
    value: Floats,
    *,
    n_resamples: int = 0,
    rng: np.random.Generator | None = None,
) -> Agreement:
    """Fleiss' kappa: any number of raters put units into classes; units may differ in raters.

    The observed agreement is the mean over units of the share of pairs of judgements that are
    alike; chance is the sum of the squared shares of the classes.

    Examples
    --------
    >>> unit = np.array([0, 0, 0, 1, 1, 1])
    >>> round(fleiss_kappa(unit, np.array([1.0, 1, 2, 2, 2, 2])).value, 4)
    0.25
    """
    codes, values = _shared(unit, value)
    n_units = int(codes.max(initial=-1)) + 1
    if not n_units:
        return _NOTHING
    labels, classes = np.unique(values, return_inverse=True)
    counts = np.zeros((n_units, len(labels)))
    np.add.at(counts, (codes, classes), 1)
    size = counts.sum(axis=1)
    alike = ((counts * counts).sum(axis=1) - size) / (size * (size - 1))

    def kappa(weights: Floats) -> Floats:
        share = ratio(weights @ counts, (weights @ size)[:, None])
        return _beyond_chance(weights @ alike / weights.sum(axis=1), (share * share).sum(axis=1))

    return _with_interval(kappa, n_units, len(values), n_resamples, rng)


@dataclass(frozen=True, slots=True)
class RankingAgreement:
    """How often two orderings of the same pair of outputs agree.

    ``n_units`` counts what is resampled, ``n_values`` the pairs of orderings. ``kappa`` corrects
    for chance as WMT does: two random judges who tie as often as these people do, and who prefer
    either side equally often.
    """

    share: Agreement
    kappa: Agreement

    def to_dict(self) -> dict[str, object]:
        """Give what ``--json`` prints."""
        return {"share": self.share.to_dict(), "kappa": self.kappa.to_dict()}


@dataclass(frozen=True, slots=True, eq=False)
class Orderings:
    """Comparisons of two outputs each, as columns.

    Attributes
    ----------
    rater
        Who ordered: a code per comparison.
    unit
        What was compared: a code per pair of outputs of one segment, always the same way round.
    outcome
        1 if the first output is better, 0 for a tie, -1 if it is worse; NaN is missing.
    block
        What is resampled, a code per comparison (a segment's comparisons belong together); by
        default the units.
    """

    rater: NDArray[np.integer]
    unit: NDArray[np.integer]
    outcome: Floats
    block: NDArray[np.integer] | None = None


def ranking_agreement(
    given: Orderings,
    *,
    within: bool = False,
    n_resamples: int = 0,
    rng: np.random.Generator | None = None,
) -> RankingAgreement:
    """Compare orderings of the same pair of outputs: better, tied or worse.

    With ``within``, a rater's comparisons are compared with the same rater's other ones
    (intra-rater agreement), not with those of others.

    Examples
    --------
    >>> rater, unit = np.array([0, 1, 0, 1]), np.array([0, 0, 1, 1])
    >>> ranking_agreement(Orderings(rater, unit, np.array([1.0, 1, 1, -1]))).share.value
    0.5
    """
    known = ~np.isnan(given.outcome)
    sign = np.sign(given.outcome[known]).astype(np.int64)
    blocks = _coded((given.unit if given.block is None else given.block)[known])
    what = _coded(given.unit[known])
    own = _coded(what * (int(given.rater.max(initial=0)) + 1) + given.rater[known])
    alike, pairs = _pairs_alike(what, sign)
    own_alike, own_pairs = _pairs_alike(own, sign)
    unit_of = _first(own, what)
    own_alike = group_sums(unit_of, own_alike, len(pairs))
    own_pairs = group_sums(unit_of, own_pairs, len(pairs))
    alike = own_alike if within else alike - own_alike
    pairs = own_pairs if within else pairs - own_pairs
    owner = _first(what, blocks)
    n_blocks = int(blocks.max(initial=-1)) + 1
    same, met = (group_sums(owner, x, n_blocks) for x in (alike, pairs))
    counted = pairs[what] > 0
    tied = np.bincount(blocks[counted & (sign == 0)], minlength=n_blocks)
    judged = np.bincount(blocks[counted], minlength=n_blocks)
    sums = np.array([same, met, tied, judged], dtype=np.float64)
    same, met, tied, judged = sums[:, met > 0]
    if not len(met):
        return RankingAgreement(_NOTHING, _NOTHING)

    def share(weights: Floats) -> Floats:
        return ratio(weights @ same, weights @ met)

    def kappa(weights: Floats) -> Floats:
        tie = ratio(weights @ tied, weights @ judged)
        return _beyond_chance(share(weights), tie**2 + (1 - tie) ** 2 / 2)

    streams = (None, None) if rng is None else rng.spawn(2)
    return RankingAgreement(
        *(
            _with_interval(coefficient, len(met), int(met.sum()), n_resamples, stream)
            for coefficient, stream in zip((share, kappa), streams, strict=True)
        )
    )


def _coded(labels: NDArray[np.integer]) -> Counts:
    codes: Counts = np.unique(labels, return_inverse=True)[1].astype(np.int64)
    return codes


def _first(group: Counts, label: Counts) -> Counts:
    """Give the label of each group, where all members of a group have the same one."""
    result = np.zeros(int(group.max(initial=-1)) + 1, dtype=np.int64)
    result[group] = label
    return result


def _pairs_alike(group: Counts, sign: Counts) -> tuple[Floats, Floats]:
    """Per group, how many pairs of comparisons are alike, and how many pairs there are."""
    n_groups = int(group.max(initial=-1)) + 1
    counts = np.bincount(group * 3 + sign + 1, minlength=3 * n_groups).reshape(n_groups, 3)
    size = counts.sum(axis=1)
    alike = (counts * (counts - 1)).sum(axis=1) / 2
    return alike, size * (size - 1) / 2
