"""Raters: how they use the scale, who fails the quality control, and how far they agree.

Quality control is as WMT does it: damaged references, repeats, speed, flat scores.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from steelyard.core.table import Column, Table
from steelyard.data.judgements import Codes, Floats, Ratings
from steelyard.human.ranking import UNKNOWN, by_rater
from steelyard.stats import agreement
from steelyard.stats.arrays import Counts, group_sums, ratio
from steelyard.stats.paired.tests import wilcoxon_test

_DIGITS = {"mean": 1, "sd": 1, "low": 1, "high": 1, "bias": 2, "r": 2,
           "bad_ref_gap": 1, "bad_ref_p": 3, "repeat_gap": 1, "repeat_p": 3,
           "seconds": 1}  # fmt: skip
#: On a narrow screen whether a rater is to be believed stays, and why.
_IMPORTANCE = {"verdict": 8, "reason": 7, "n_shared": 2, "sd": 3}
_NOTE = "n_shared: outputs that others rated too; bias: mean difference to them; r: correlation"


@dataclass(frozen=True, slots=True)
class RaterScale:
    """How each rater uses the scale: number of rows with a score, mean, sample deviation, ends."""

    n: Counts
    mean: Floats
    sd: Floats
    low: Floats
    high: Floats

    @property
    def usable(self) -> NDArray[np.bool_]:
        """Who can be standardised: two scores or more, not all the same."""
        return (self.n > 1) & (self.high > self.low)


def rater_scale(ratings: Ratings) -> RaterScale:
    """Measure how each rater uses the scale, over all of the rater's rows, controls included.

    Attention tests are no ratings: passed or missed is not on the scale.
    """
    size = len(ratings.raters)
    rated = ~np.isnan(ratings.value) & ~ratings.is_item("attention")
    rater, value = ratings.rater[rated], ratings.value[rated]
    n = np.bincount(rater, minlength=size).astype(np.int64)
    mean = ratio(group_sums(rater, value, size), n)
    gap = value - mean[rater]
    # The sum of the gaps is 0 but for rounding, which this takes out. MQM files may hold values
    # that no scale has, and does not use them.
    with np.errstate(over="ignore", invalid="ignore"):
        squares = group_sums(rater, gap * gap, size) - ratio(group_sums(rater, gap, size) ** 2, n)
    low, high = np.full(size, np.inf), np.full(size, -np.inf)
    np.minimum.at(low, rater, value)
    np.maximum.at(high, rater, value)
    low[n == 0] = high[n == 0] = np.nan
    return RaterScale(n, mean, np.sqrt(np.maximum(ratio(squares, n - 1), 0)), low, high)


def standardise(ratings: Ratings, scale: RaterScale) -> Floats:
    """Return the z of each row: how many of the rater's deviations above the rater's mean it is.

    NaN where a rater has fewer than two scores, or gave the same one to everything.
    """
    sd = np.where(scale.usable, scale.sd, np.nan)
    z: Floats = (ratings.value - scale.mean[ratings.rater]) / sd[ratings.rater]
    return np.where(ratings.is_item("attention"), np.nan, z)


@dataclass(frozen=True, slots=True)
class Control:
    """What one kind of control item says of each rater: pairs, mean difference, p-value."""

    n: Counts
    gap: Floats
    p: Floats


@dataclass(frozen=True, slots=True)
class QualityControl:
    """The checks of every rater: what failed, and ``fails``, ``passes`` or ``untested``."""

    bad_reference: Control
    repeat: Control
    seconds: Floats
    reasons: tuple[tuple[str, ...], ...]
    verdicts: tuple[str, ...]

    @property
    def failed(self) -> list[int]:
        """The raters that fail, as codes."""
        return [code for code, reasons in enumerate(self.reasons) if reasons]


def quality_control(
    ratings: Ratings, scale: RaterScale, *, alpha: float = 0.05, min_seconds: float = 2.0
) -> QualityControl:
    """Check every rater; nobody is removed here.

    Damaged references must score below the real output (one-sided exact signed-rank test, where
    there are enough pairs), repeats must not differ from the first rating (two-sided), not every
    score may be the same, and the median time per rating must be ``min_seconds`` or more.
    """
    bad = _control(ratings, "bad-ref", "greater")
    repeat = _control(ratings, "repeat", "two-sided")
    times = np.full(len(ratings), np.nan) if ratings.seconds is None else ratings.seconds
    times = np.where(ratings.is_item("attention"), np.nan, times)
    seconds = _each_rater(len(ratings.raters), ratings.rater, times, np.median)
    reasons: list[tuple[str, ...]] = []
    verdicts: list[str] = []
    for code in range(len(ratings.raters)):
        failures = []
        enough = 0.5 ** bad.n[code] < alpha
        if enough and not bad.p[code] < alpha:
            failures.append(f"bad references are not rated lower (p = {bad.p[code]:.2g})")
        if repeat.p[code] < alpha:
            failures.append(f"repeats differ (p = {repeat.p[code]:.2g})")
        if scale.n[code] > 1 and not scale.high[code] > scale.low[code]:
            failures.append(f"gives {scale.low[code]:g} to everything")
        if seconds[code] < min_seconds:
            failures.append(f"takes {seconds[code]:.2g} s per rating")
        reasons.append(tuple(failures))
        tested = enough or repeat.n[code] > 0 or not np.isnan(seconds[code])
        verdicts.append("fails" if failures else "passes" if tested else "untested")
    return QualityControl(bad, repeat, seconds, tuple(reasons), tuple(verdicts))


def _control(ratings: Ratings, item: str, alternative: str) -> Control:
    size, key = len(ratings.raters), by_rater(ratings)
    rated = ~np.isnan(ratings.value)
    real = rated & ratings.is_item("system")
    keys, position, counts = np.unique(key[real], return_inverse=True, return_counts=True)
    means = group_sums(position, ratings.value[real], len(keys)) / counts
    rows = np.flatnonzero(rated & ratings.is_item(item))
    at = np.searchsorted(keys, key[rows])
    paired = np.zeros(len(rows), dtype=bool)
    if len(keys):
        paired = keys[np.minimum(at, len(keys) - 1)] == key[rows]
    gap = means[at[paired]] - ratings.value[rows[paired]]
    rater = ratings.rater[rows[paired]]
    n = np.bincount(rater, minlength=size).astype(np.int64)
    size_of = np.abs if alternative == "two-sided" else np.asarray
    mean = _each_rater(size, rater, gap, lambda gaps: size_of(gaps).mean())

    def signed_rank(gaps: Floats) -> float:
        both = np.stack([gaps, np.zeros_like(gaps)])
        return float(wilcoxon_test(both, alternative=alternative).p[0, 1])

    p = _each_rater(size, rater, gap, signed_rank)
    return Control(n, mean, p)


def _each_rater(n: int, rater: Codes, values: Floats, summary: Callable[[Floats], float]) -> Floats:
    result = np.full(n, np.nan)
    rated = np.flatnonzero(~np.isnan(values))
    rated = rated[np.argsort(rater[rated], kind="stable")]
    codes, starts = np.unique(rater[rated], return_index=True)
    if len(codes):
        result[codes] = [summary(part) for part in np.split(values[rated], starts[1:])]
    return result


@dataclass(frozen=True, slots=True)
class Opinions:
    """What each rater thinks of each output (``unit``), as the mean of ``n`` rows."""

    rater: Counts
    segment: Counts
    unit: Counts
    value: Floats
    n: Counts


def opinions(ratings: Ratings, value: Floats, rows: NDArray[np.bool_]) -> Opinions:
    """Average the rows of each rater on each output."""
    kept = np.flatnonzero(rows & ~np.isnan(value))
    keys, position, n = np.unique(by_rater(ratings)[kept], return_inverse=True, return_counts=True)
    unit, rater = np.divmod(keys, max(1, len(ratings.raters)))
    segment = unit % max(1, len(ratings.segments))
    mean = group_sums(position, value[kept], len(keys)) / n
    return Opinions(rater, segment, unit, mean, n.astype(np.int64))


class WithOthers(NamedTuple):
    """Each rater against the mean of the others on ``n`` shared outputs; bias below 0: severe."""

    n: Counts
    bias: Floats
    r: Floats


def with_others(views: Opinions, n_raters: int) -> WithOthers:
    """Compare each rater with the mean of the others, output by output."""
    _, unit = np.unique(views.unit, return_inverse=True)
    size = int(unit.max(initial=-1)) + 1
    total = group_sums(unit, views.value * views.n, size)[unit] - views.value * views.n
    count = group_sums(unit, views.n, size)[unit] - views.n
    shared = count > 0
    rater, value = views.rater[shared], views.value[shared]
    others = (total / np.maximum(count, 1))[shared]
    n = np.bincount(rater, minlength=n_raters).astype(np.int64)

    def mean(x: Floats) -> Floats:
        return ratio(group_sums(rater, x, n_raters), n)

    x, y = value - mean(value)[rater], others - mean(others)[rater]
    xx, yy = mean(x * x), mean(y * y)
    # What is left of a constant after its mean is taken off is rounding.
    xx = np.where(xx > 1e-20 * np.maximum(mean(value * value), 1e-300), xx, 0)
    yy = np.where(yy > 1e-20 * np.maximum(mean(others * others), 1e-300), yy, 0)
    r = np.clip(ratio(mean(x * y), np.sqrt(xx * yy)), -1, 1)
    return WithOthers(n, mean(value - others), r)


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
    columns: dict[str, Any] = {
        "rater": ratings.raters, "n_ratings": scale.n, "mean": scale.mean, "sd": scale.sd,
        "low": scale.low, "high": scale.high,
        "n_shared": others.n, "bias": others.bias, "r": alike.r,
    }  # fmt: skip
    notes = [_NOTE]
    tests = ratings.is_item("attention") & ~np.isnan(ratings.value)
    if tests.any():
        n = np.bincount(ratings.rater[tests], minlength=size)
        passed = np.bincount(ratings.rater[tests & (ratings.value > 0)], minlength=size)
        shares = [f"{k}/{of}" if of else None for k, of in zip(passed, n, strict=True)]
        columns |= {"attention_found": passed, "attention_n": n, "attention": shares}
        notes.append("attention: tests that were passed, of all")
    failed: Collection[int] = ()
    if checks is not None:
        failed = checks.failed
        for name, control in (("bad_ref", checks.bad_reference), ("repeat", checks.repeat)):
            columns |= {f"{name}_n": control.n, f"{name}_gap": control.gap, f"{name}_p": control.p}
        columns |= {
            "seconds": checks.seconds,
            "verdict": checks.verdicts,
            "reason": ["; ".join(reasons) or None for reasons in checks.reasons],
        }
    cells = list(zip(*(x.tolist() if isinstance(x, np.ndarray) else x for x in columns.values()),
                     strict=True))  # fmt: skip
    order = sorted(
        range(size),
        key=lambda i: (i not in failed, np.nan_to_num(alike.r[i], nan=2.0), ratings.raters[i]),
    )
    shown = tuple(
        Column(name, digits=_DIGITS.get(name), importance=_IMPORTANCE.get(name, 5))
        for name in columns
    )
    return Table("Raters", shown, tuple(cells[i] for i in order), tuple(notes))


def agreements(
    ratings: Ratings,
    scores: Mapping[str, Floats],
    *,
    n_resamples: int,
    rng: np.random.Generator,
) -> dict[str, Any]:
    """Agreement of raters on every kind of score; empty where raters are not known."""
    if ratings.raters == (UNKNOWN,):
        return {}
    result: dict[str, Any] = {}
    rows = ratings.is_item("system", "repeat")
    alpha = partial(agreement.krippendorff_alpha, n_resamples=n_resamples)
    for (name, value), stream in zip(scores.items(), rng.spawn(len(scores)), strict=True):
        streams = stream.spawn(4)
        views = opinions(ratings, value, rows)
        kept = np.flatnonzero(rows & ~np.isnan(value))
        again = alpha(by_rater(ratings)[kept], value[kept], rng=streams[3])
        result[name] = {
            "alpha_interval": alpha(views.unit, views.value, "interval", rng=streams[0]).to_dict(),
            "repeats_alpha_interval": again.to_dict(),
        }
    return result
