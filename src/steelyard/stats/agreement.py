"""Agreement of raters, and of a judge with raters, beyond chance.

Judgements of many raters come as columns: ``unit`` is a code of what was judged, ``value`` the
judgement, NaN where it is missing. Units with a single judgement are excluded. These coefficients
are ratios of sums over units, so an interval resamples units by counts.

Judgements of two come as a row each: what people said (a code, or a share of each category where
they are split) and what the other one said (a code). These coefficients have an influence of every
row, which gives the interval. Without units the error of kappa is that of Fleiss, Cohen and Everitt
(1969), that of AC1 is Gwet's (2008).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from steelyard.core.options import check_choice
from steelyard.stats.arrays import Counts, Floats, group_sums, pairs_within, ratio
from steelyard.stats.estimate import Codes, Estimate, from_influence, undefined
from steelyard.stats.resampling.bootstrap import interval, segment_counts

LEVELS = ("nominal", "ordinal", "interval")
WEIGHTS = ("plain", "linear", "quadratic")
_CHUNK = 8_000_000  # cells of resampling counts held at a time
_NO_ROW = "no row that both judged"
_ONE_CATEGORY = "people and judge both used one category only"


@dataclass(frozen=True, slots=True)
class Agreement:
    """A coefficient, its 95% interval (NaN without resamples), and what it rests on."""

    value: float = float("nan")  # NaN if nothing was judged twice, or nothing varies
    low: float = float("nan")
    high: float = float("nan")
    n_units: int = 0  # with two judgements or more
    n_values: int = 0  # judgements of these

    def to_dict(self) -> dict[str, object]:
        """Return what ``--json`` prints."""
        return {
            "value": self.value,
            "ci": None if np.isnan(self.low) else [self.low, self.high],
            "n_units": self.n_units,
            "n_values": self.n_values,
        }


Coefficient = Callable[[Floats], Floats]  # weights, resamples x units, to one value per resample


def krippendorff_alpha(
    unit: Codes,
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
    """
    check_choice(LEVELS, level=level)
    codes, values = _judged_twice(unit, value)
    if not len(codes):
        return Agreement()
    if level == "interval":
        alpha = _interval_alpha(codes, values)
    else:
        alpha = _counted_alpha(codes, values, level)
    return _resampled(alpha, int(codes.max()) + 1, len(values), n_resamples, rng)


def _judged_twice(unit: Codes, value: Floats) -> tuple[Counts, Floats]:
    """Keep units with two values or more, numbered from 0."""
    present = ~np.isnan(value)
    units, values = unit[present], value[present]
    _, codes, sizes = np.unique(units, return_inverse=True, return_counts=True)
    keep = sizes[codes] > 1
    return _coded(codes[keep]), values[keep]


def _resampled(
    coefficient: Coefficient,
    n_units: int,
    n_values: int,
    n_resamples: int,
    rng: np.random.Generator | None,
) -> Agreement:
    value = float(coefficient(np.ones((1, n_units)))[0])
    low = high = float("nan")
    if n_resamples and n_units > 1 and not np.isnan(value):
        stream = np.random.default_rng(0) if rng is None else rng
        step = max(1, _CHUNK // n_units)
        values = [
            coefficient(segment_counts(min(step, n_resamples - done), n_units, stream))
            for done in range(0, n_resamples, step)
        ]
        low, high = (float(end[0]) for end in interval(np.concatenate(values)[:, None]))
    return Agreement(value, low, high, n_units, n_values)


def _interval_alpha(codes: Counts, values: Floats) -> Coefficient:
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
    first, second = pairs_within(codes)
    pair_unit = codes[first]
    share = 2 / (np.bincount(codes)[pair_unit] - 1)
    first, second = value[first], value[second]
    differ = (first != second).astype(np.float64)

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
                distance = (middle[first] - middle[second]) ** 2
                expected = 2 * (n * (counts @ middle**2) - (counts @ middle) ** 2)
            observed = (n - 1) * ((weight[pair_unit] * share) @ distance)
            varies = np.count_nonzero(counts) > 1
            result[row] = 1 - observed / expected if varies else np.nan
        return result

    return alpha


def _beyond_chance(observed: Floats, expected: Floats) -> Floats:
    """(observed - expected) / (1 - expected); NaN where chance alone would always agree."""
    room = 1 - expected
    return ratio(observed - expected, np.where(room > 1e-12, room, 0))


@dataclass(frozen=True, slots=True)
class RankingAgreement:
    """How often two orderings of the same pair of outputs agree.

    ``kappa`` corrects for chance as WMT does: two random judges who tie as often as these raters
    do, and who prefer either side equally often.
    """

    share: Agreement
    kappa: Agreement

    def to_dict(self) -> dict[str, object]:
        """Return what ``--json`` prints."""
        return {"share": self.share.to_dict(), "kappa": self.kappa.to_dict()}


@dataclass(frozen=True, slots=True, eq=False)
class Orderings:
    """Comparisons of two outputs each, as columns."""

    rater: Codes
    unit: Codes  # the pair that was compared, always the same way round
    outcome: Floats  # positive if the first is better, 0 for a tie, negative if worse, or NaN
    block: Codes | None = None  # what is resampled, such as segments; by default the units


def ranking_agreement(
    orderings: Orderings,
    *,
    within: bool = False,
    n_resamples: int = 0,
    rng: np.random.Generator | None = None,
) -> RankingAgreement:
    """Compare orderings of the same pair of outputs: better, tied or worse.

    With ``within``, a rater's comparisons are compared with the same rater's other ones
    (intra-rater agreement), not with those of others.
    """
    present = ~np.isnan(orderings.outcome)
    sign = np.sign(orderings.outcome[present]).astype(np.int64)
    block = orderings.unit if orderings.block is None else orderings.block
    blocks, unit = _coded(block[present]), _coded(orderings.unit[present])
    n_raters = int(orderings.rater.max(initial=0)) + 1
    by_rater = _coded(unit * n_raters + orderings.rater[present])
    alike, pairs = _pairs_alike(unit, sign)
    same_rater = [
        group_sums(_first(by_rater, unit), counts, len(pairs))
        for counts in _pairs_alike(by_rater, sign)
    ]
    if within:
        alike, pairs = same_rater
    else:
        alike, pairs = alike - same_rater[0], pairs - same_rater[1]
    unit_block, n_blocks = _first(unit, blocks), int(blocks.max(initial=-1)) + 1
    counted = pairs[unit] > 0
    sums = np.stack([
        group_sums(unit_block, alike, n_blocks),
        group_sums(unit_block, pairs, n_blocks),
        group_sums(blocks[counted & (sign == 0)], None, n_blocks),
        group_sums(blocks[counted], None, n_blocks),
    ])  # fmt: skip
    alike, pairs, tied, judged = sums[:, sums[1] > 0]
    if not len(pairs):
        return RankingAgreement(Agreement(), Agreement())

    def share(weights: Floats) -> Floats:
        return ratio(weights @ alike, weights @ pairs)

    def chance_corrected(weights: Floats) -> Floats:
        tie = ratio(weights @ tied, weights @ judged)
        return _beyond_chance(share(weights), tie**2 + (1 - tie) ** 2 / 2)

    first, second = (None, None) if rng is None else rng.spawn(2)
    n_blocks, n_pairs = len(pairs), int(pairs.sum())
    return RankingAgreement(
        _resampled(share, n_blocks, n_pairs, n_resamples, first),
        _resampled(chance_corrected, n_blocks, n_pairs, n_resamples, second),
    )


def _coded(labels: Codes) -> Counts:
    codes: Counts = np.unique(labels, return_inverse=True)[1].astype(np.int64)
    return codes


def _first(group: Counts, label: Counts) -> Counts:
    """Return the label of each group, where all members of a group have the same one."""
    result = np.zeros(int(group.max(initial=-1)) + 1, dtype=np.int64)
    result[group] = label
    return result


def _pairs_alike(group: Counts, sign: Counts) -> tuple[Floats, Floats]:
    """Count, per group, the pairs of comparisons that are alike, and all pairs."""
    n_groups = int(group.max(initial=-1)) + 1
    counts = np.bincount(group * 3 + sign + 1, minlength=3 * n_groups).reshape(n_groups, 3)
    size = counts.sum(axis=1)
    alike = (counts * (counts - 1)).sum(axis=1) / 2
    return alike, size * (size - 1) / 2


def label_counts(labels: Sequence[Codes], n_categories: int) -> NDArray[np.int64]:
    """Count how many gave each label, categories x rows; codes below 0 are missing."""
    rows = np.arange(len(labels[0]))
    counts = np.zeros((n_categories, len(rows)), dtype=np.int64)
    for codes in labels:
        present = codes >= 0
        counts[codes[present], rows[present]] += 1
    return counts


def vote(counts: NDArray[np.integer]) -> NDArray[np.intp]:
    """Return the most frequent label of each row; -1 where several are as frequent."""
    most = counts.max(axis=0)
    clear = (most > 0) & ((counts == most).sum(axis=0) == 1)
    return np.where(clear, counts.argmax(axis=0), -1)


def label_shares(labels: Codes | Floats, n_categories: int) -> Floats:
    """Return labels as shares of categories, rows x categories; 0 where there is none."""
    if labels.ndim == 2:
        return np.asarray(labels, dtype=np.float64)
    shares = np.zeros((len(labels), n_categories))
    present = np.flatnonzero(labels >= 0)
    shares[present, labels[present].astype(np.int64)] = 1.0
    return shares


def kappa(
    human: Codes | Floats,
    judge: Codes,
    n_categories: int,
    *,
    weights: str = "plain",
    values: Floats | None = None,
    unit: Codes | None = None,
    level: float = 0.95,
) -> Estimate:
    """Cohen's kappa of two columns without gaps, plain or weighted by the distance of ``values``.

    Undefined where chance alone would always agree. A category whose value is NaN is as far from
    all others as the furthest two.
    """
    n = len(judge)
    if not n:
        return undefined(_NO_ROW)
    people = label_shares(human, n_categories)
    weight = np.eye(n_categories)
    if weights != "plain":
        weight = _closeness(np.arange(n_categories * 1.0) if values is None else values, weights)
    of_people, of_judge = people.mean(axis=0), np.bincount(judge, minlength=n_categories) / n
    chance = float(of_people @ weight @ of_judge)
    drawn = people @ (weight @ of_judge) + (of_people @ weight)[judge] - 2 * chance
    return _chance_corrected((people @ weight)[np.arange(n), judge], chance, drawn, unit, level)


def _closeness(values: Floats, weights: str) -> Floats:
    """Return linear or quadratic weights: 1 for the same value, 0 for the furthest two."""
    far = np.abs(values[:, None] - values)
    widest = float(np.nanmax(far, initial=0.0))
    far = np.nan_to_num(far / widest if widest else far, nan=1.0)
    np.fill_diagonal(far, 0.0)
    return 1 - far if weights == "linear" else 1 - far * far


def _chance_corrected(
    agree: Floats,
    chance: float,
    drawn: Floats,
    unit: Codes | None,
    level: float,
    *,
    scale: float = 1.0,
    noise: float = 1.0,
) -> Estimate:
    """Return 1 - scale (1 - agreement) / (1 - chance), with ``noise`` times its influences."""
    apart, room = 1 - float(agree.mean()), 1 - chance
    if room < 1e-12:
        return undefined(_ONE_CATEGORY, len(agree))
    influence = noise * scale * (agree - agree.mean() - apart / room * drawn) / room
    return from_influence(1 - scale * apart / room, influence, unit, level, (-1.0, 1.0))


def pooled_agreement(
    human: Codes | Floats,
    judge: Codes,
    n_categories: int,
    coefficient: str,
    *,
    unit: Codes | None = None,
    level: float = 0.95,
) -> Estimate:
    """Gwet's AC1 (``ac1``), or Krippendorff's nominal ``alpha``, of two columns without gaps.

    Both take chance from the mean shares of categories of both; AC1 from those that occur.
    """
    n = len(judge)
    if not n:
        return undefined(_NO_ROW)
    people = label_shares(human, n_categories)
    share = (people.mean(axis=0) + np.bincount(judge, minlength=n_categories) / n) / 2
    scale = noise = 1.0
    if coefficient == "alpha":
        by_chance, scale = share, (2 * n - 1) / (2 * n)
    else:
        by_chance = (1 - share) / (max(int((share > 0).sum()), 2) - 1)
        if unit is None and n > 1:
            noise = float(np.sqrt(n / (n - 1)))  # as Gwet divides
    chance = float(share @ by_chance)
    drawn = people @ by_chance + by_chance[judge] - 2 * chance
    agree = people[np.arange(n), judge]
    return _chance_corrected(agree, chance, drawn, unit, level, scale=scale, noise=noise)
