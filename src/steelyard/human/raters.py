"""Raters compared with each other: who disagrees, who is severe, how far all of them agree."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steelyard.core.table import Cell, Column, Table
from steelyard.data.judgements import Floats, Ratings
from steelyard.human.da import QualityControl, RaterScale
from steelyard.stats import agreement
from steelyard.stats.arrays import Counts, group_sums, pairs_within, ratio

UNKNOWN = "unknown"  # what readers call a rater that the file does not name
_MOST_PAIRS = 20_000_000  # comparisons of systems by one rater above which none are listed
#: Columns of the table of raters, and their digits: what all have, and what the checks say.
_COLUMNS = {"rater": None, "n_ratings": None, "mean": 1, "sd": 1, "low": 1, "high": 1,
            "range_use": 2, "n_shared": None, "bias": 2, "r": 2}  # fmt: skip
_CHECKS = {"bad_ref_n": None, "bad_ref_gap": 1, "bad_ref_p": 3, "repeat_n": None, "repeat_gap": 1,
           "repeat_p": 3, "seconds": 1, "verdict": None, "reason": None}  # fmt: skip
_NOTES = (
    "n_shared: outputs that others rated too; bias: mean difference to them; r: correlation",
    "range_use: width of the middle 90 % of the ratings, to that of all raters together",
)


@dataclass(frozen=True, slots=True)
class Opinions:
    """What each rater thinks of each output: repeats averaged, control items left out.

    ``unit`` is the output (a code), ``n`` how many rows stand behind the value.
    """

    rater: Counts
    system: Counts
    segment: Counts
    unit: Counts
    value: Floats
    n: Counts


def opinions(ratings: Ratings, value: Floats, rows: NDArray[np.bool_]) -> Opinions:
    """Average the rows of each rater on each output."""
    kept = np.flatnonzero(rows & ~np.isnan(value))
    what = ratings.system[kept].astype(np.int64) * len(ratings.segments) + ratings.segment[kept]
    key = what * len(ratings.raters) + ratings.rater[kept]
    keys, place, n = np.unique(key, return_inverse=True, return_counts=True)
    cell = keys // max(1, len(ratings.raters))
    return Opinions(
        keys % max(1, len(ratings.raters)),
        cell // max(1, len(ratings.segments)),
        cell % max(1, len(ratings.segments)),
        cell,
        group_sums(place, value[kept], len(keys)) / n,
        n.astype(np.int64),
    )


@dataclass(frozen=True, slots=True)
class WithOthers:
    """Each rater against the mean of the others on the same outputs.

    ``n`` outputs are shared; ``bias`` is the mean difference (below 0: severe), ``r`` Pearson's
    correlation.
    """

    n: Counts
    bias: Floats
    r: Floats


def with_others(found: Opinions, n_raters: int) -> WithOthers:
    """Compare each rater with the mean of the others, output by output."""
    _, unit = np.unique(found.unit, return_inverse=True)
    size = int(unit.max(initial=-1)) + 1
    total = group_sums(unit, found.value * found.n, size)[unit] - found.value * found.n
    count = group_sums(unit, found.n, size)[unit] - found.n
    shared = count > 0
    rater, own, others = found.rater[shared], found.value[shared], (total / np.maximum(count, 1))
    others = others[shared]
    n = np.bincount(rater, minlength=n_raters).astype(np.int64)

    def mean(x: Floats) -> Floats:
        return ratio(group_sums(rater, x, n_raters), n)

    x, y = own - mean(own)[rater], others - mean(others)[rater]
    xx, yy = mean(x * x), mean(y * y)
    # What is left of a constant after its mean is taken off is rounding.
    xx = np.where(xx > 1e-20 * np.maximum(mean(own * own), 1e-300), xx, 0)
    yy = np.where(yy > 1e-20 * np.maximum(mean(others * others), 1e-300), yy, 0)
    return WithOthers(n, mean(own - others), np.clip(ratio(mean(x * y), np.sqrt(xx * yy)), -1, 1))


def range_use(ratings: Ratings, rows: NDArray[np.bool_]) -> Floats:
    """How much of the scale each rater uses: the middle 90 % of the ratings, to that of all."""
    kept = np.flatnonzero(rows & ~np.isnan(ratings.value))
    result = np.full(len(ratings.raters), np.nan)
    if not len(kept):
        return result
    low, high = np.quantile(ratings.value[kept], [0.05, 0.95])
    kept = kept[np.argsort(ratings.rater[kept], kind="stable")]
    codes, starts = np.unique(ratings.rater[kept], return_index=True)
    for code, own in zip(codes, np.split(ratings.value[kept], starts[1:]), strict=True):
        ends = np.quantile(own, [0.05, 0.95])
        result[code] = (ends[1] - ends[0]) / (high - low) if high > low else np.nan
    return result


def repeated(
    ratings: Ratings, value: Floats, rows: NDArray[np.bool_]
) -> tuple[Counts, Floats, float]:
    """Give unit and value of what a rater judged more than once, and the mean difference.

    The difference is between two ratings of one output by one rater, without its sign.
    """
    kept = np.flatnonzero(rows & ~np.isnan(value))
    what = ratings.system[kept].astype(np.int64) * len(ratings.segments) + ratings.segment[kept]
    unit = what * len(ratings.raters) + ratings.rater[kept]
    first, second = pairs_within(unit)
    gap = np.abs(value[kept][first] - value[kept][second])
    return unit, value[kept], float(gap.mean()) if len(gap) else float("nan")


def comparisons(found: Opinions, n_systems: int) -> dict[str, Any] | None:
    """List which of two systems each rater puts first on each segment.

    Only segments that two raters or more judged are listed; None if there are too many.
    """
    people = np.unique(found.segment * (found.rater.max(initial=0) + 1) + found.rater)
    judges = np.bincount(people // (found.rater.max(initial=0) + 1))
    rows = np.flatnonzero(judges[found.segment] > 1) if len(judges) else np.empty(0, np.int64)
    group = found.segment[rows] * (found.rater.max(initial=0) + 1) + found.rater[rows]
    sizes = np.unique(group, return_counts=True)[1]
    if (sizes * (sizes - 1)).sum() / 2 > _MOST_PAIRS:
        return None
    left, right = (rows[side] for side in pairs_within(group))
    one, other = found.system[left], found.system[right]
    swap = one > other
    gap = found.value[left] - found.value[right]
    pair = np.minimum(one, other) * n_systems + np.maximum(one, other)
    return {
        "rater": found.rater[left],
        "unit": found.segment[left] * n_systems**2 + pair,
        "outcome": np.where(swap, -gap, gap),
        "block": found.segment[left],
    }


def rater_table(
    ratings: Ratings, scale: RaterScale, comparable: Floats, checks: QualityControl | None
) -> Table:
    """Make a row per rater, those to look at first on top: failed, then least in agreement.

    ``comparable`` is the score that a rater's correlation with others is computed from.
    """
    size = len(ratings.raters)
    rows = ratings.is_item("system", "repeat")
    others = with_others(opinions(ratings, ratings.value, rows), size)
    alike = with_others(opinions(ratings, comparable, rows), size)
    used = range_use(ratings, rows)
    found: list[tuple[Cell, ...]] = []
    for code, name in enumerate(ratings.raters):
        row: list[Cell] = [name, int(scale.n[code])]
        row += [float(x[code]) for x in (scale.mean, scale.sd, scale.low, scale.high, used)]
        row += [int(others.n[code]), float(others.bias[code]), float(alike.r[code])]
        if checks is not None:
            for control in (checks.bad_reference, checks.repeat):
                row += [int(control.n[code]), float(control.gap[code]), float(control.p[code])]
            row += [float(checks.seconds[code]), checks.verdict(code)]
            row.append("; ".join(checks.reasons[code]) or None)
        found.append(tuple(row))
    failed = set() if checks is None else set(checks.failed)
    order = sorted(
        range(size),
        key=lambda i: (i not in failed, np.nan_to_num(alike.r[i], nan=2.0), ratings.raters[i]),
    )
    digits = _COLUMNS if checks is None else _COLUMNS | _CHECKS
    columns = tuple(Column(name, digits=n) for name, n in digits.items())
    return Table("Raters", columns, tuple(found[i] for i in order), _NOTES)


def agreements(
    ratings: Ratings,
    scores: dict[str, Floats],
    rows: NDArray[np.bool_],
    *,
    n_resamples: int,
    rng: np.random.Generator,
) -> dict[str, Any]:
    """Agreement of raters on every kind of score; empty where raters are not known.

    For each: Krippendorff's alpha of values (``interval``) and of their order (``ordinal``), the
    agreement of orderings of two systems (``ranking``), and a rater's with the own repeats.
    """
    if ratings.raters == (UNKNOWN,):
        return {}
    result: dict[str, Any] = {}
    for (name, value), stream in zip(scores.items(), rng.spawn(len(scores)), strict=True):
        streams = stream.spawn(4)
        found = opinions(ratings, value, rows)
        entry: dict[str, Any] = {}
        for level, own in zip(("interval", "ordinal"), streams, strict=False):
            entry[f"alpha_{level}"] = agreement.krippendorff_alpha(
                found.unit, found.value, level, n_resamples=n_resamples, rng=own
            ).to_dict()
        pairs = comparisons(found, len(ratings.systems))
        if pairs is not None:
            entry["ranking"] = agreement.ranking_agreement(
                agreement.Orderings(**pairs), n_resamples=n_resamples, rng=streams[2]
            ).to_dict()
        unit, own_value, gap = repeated(ratings, value, rows)
        entry["repeats_alpha_interval"] = agreement.krippendorff_alpha(
            unit, own_value, n_resamples=n_resamples, rng=streams[3]
        ).to_dict()
        entry["repeats_mean_difference"] = gap
        result[name] = entry
    return result


def two_raters(found: Opinions) -> tuple[Floats, Floats]:
    """Give the values of the first and the second rater on every output, NaN where one has none."""
    units, place = np.unique(found.unit, return_inverse=True)
    both = np.full((2, len(units)), np.nan)
    both[found.rater, place] = found.value
    return both[0], both[1]
