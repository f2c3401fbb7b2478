"""Ratings of single outputs: means per output, how raters use the scale, and their control.

Direct assessment gives 0 to 100, standardised by rater; quality control is as WMT does it: damaged
references, repeats, speed, flat scores.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from steelyard.core.provenance import InputFile
from steelyard.core.words import listed, plural
from steelyard.data.evalset import EvalSet, ScoreTable
from steelyard.data.judgements import Codes, Floats, Ratings
from steelyard.data.segments import Segments
from steelyard.stats.arrays import Counts, group_sums, ratio
from steelyard.stats.paired.ranktests import signed_rank


@dataclass(frozen=True, slots=True)
class Averages:
    """Mean ratings of outputs, a row each (most cells of systems x segments may be empty).

    ``system`` and ``segment`` are codes into the names, ``n`` the number of ratings, ``values`` the
    mean of each kind of score (``da_z`` and ``da_raw``, ``mqm``, ...).
    """

    systems: tuple[str, ...]
    segments: tuple[str, ...]
    system: Codes
    segment: Codes
    n: Counts
    values: Mapping[str, Floats]

    def samples(self, name: str) -> list[Floats]:
        """Give the scores of each system, one array per system."""
        ends = np.searchsorted(self.system, np.arange(len(self.systems) + 1))
        column = self.values[name]
        return [column[a:b] for a, b in itertools.pairwise(ends)]

    def means(self, name: str) -> Floats:
        """Give the mean over segments of each system, NaN where it has none."""
        column = self.values[name]
        known = ~np.isnan(column)
        size = len(self.systems)
        sums = group_sums(self.system[known], column[known], size)
        return ratio(sums, np.bincount(self.system[known], minlength=size))

    def counts(self) -> tuple[Counts, Counts]:
        """Give the number of segments, and of ratings, of each system."""
        size = len(self.systems)
        ratings = group_sums(self.system, self.n, size).astype(np.int64)
        return np.bincount(self.system, minlength=size).astype(np.int64), ratings

    def matrix(self, name: str) -> Floats:
        """Give systems x segments, NaN where nobody rated."""
        full = np.full((len(self.systems), len(self.segments)), np.nan)
        full[self.system, self.segment] = self.values[name]
        return full

    def select(self, systems: Collection[str]) -> Averages:
        """Keep the rows of these systems, and the segments that are left."""
        wanted = set(systems)
        keep = np.array([name in wanted for name in self.systems], dtype=bool)
        rows = keep[self.system]
        used, segment = np.unique(self.segment[rows], return_inverse=True)
        number = np.cumsum(keep) - 1
        return replace(
            self,
            systems=tuple(name for name in self.systems if name in wanted),
            segments=tuple(self.segments[code] for code in used),
            system=number[self.system[rows]].astype(np.int32),
            segment=segment.astype(np.int32),
            n=self.n[rows],
            values={name: column[rows] for name, column in self.values.items()},
        )

    def evalset(self, inputs: tuple[InputFile, ...] = (), lp: str | None = None) -> EvalSet:
        """Give the scores as a set whose scores are human."""
        tables = {name: ScoreTable(self.matrix(name), "human") for name in self.values}
        segments = Segments(self.segments)
        return EvalSet(self.systems, segments, tables, language_pair=lp, inputs=inputs)


def average(
    ratings: Ratings, columns: Mapping[str, Floats], rows: NDArray[np.bool_] | None = None
) -> Averages:
    """Average columns of per-row scores over all ratings of the same output.

    Examples
    --------
    >>> ratings = Ratings.from_labels(["A", "A"], ["1", "1"], ["r", "s"], np.array([50.0, 60.0]))
    >>> average(ratings, {"raw": ratings.value}).values["raw"].tolist()
    [55.0]
    """
    kept = np.arange(len(ratings)) if rows is None else np.flatnonzero(rows)
    cell = ratings.system[kept].astype(np.int64) * len(ratings.segments) + ratings.segment[kept]
    cells, place, n = np.unique(cell, return_inverse=True, return_counts=True)
    return Averages(
        ratings.systems,
        ratings.segments,
        (cells // max(1, len(ratings.segments))).astype(np.int32),
        (cells % max(1, len(ratings.segments))).astype(np.int32),
        n.astype(np.int64),
        {name: group_sums(place, column[kept], len(cells)) / n for name, column in columns.items()},
    )


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
    """Measure how each rater uses the scale, over all of the rater's rows, controls included."""
    size = len(ratings.raters)
    known = ~np.isnan(ratings.value)
    rater, value = ratings.rater[known], ratings.value[known]
    n = np.bincount(rater, minlength=size).astype(np.int64)
    mean = ratio(group_sums(rater, value, size), n)
    gap = value - mean[rater]
    # The sum of the gaps is 0 but for rounding, which this takes out.
    squares = group_sums(rater, gap * gap, size) - ratio(group_sums(rater, gap, size) ** 2, n)
    low, high = np.full(size, np.inf), np.full(size, -np.inf)
    np.minimum.at(low, rater, value)
    np.maximum.at(high, rater, value)
    low[n == 0] = high[n == 0] = np.nan
    return RaterScale(n, mean, np.sqrt(np.maximum(ratio(squares, n - 1), 0)), low, high)


def standardise(ratings: Ratings, scale: RaterScale | None = None) -> Floats:
    """Give the z of each row: how many of the rater's deviations above the rater's mean it is.

    Mean and sample deviation are over all of the rater's rows, controls included. NaN where a
    rater has fewer than two scores, or gave the same one to everything.

    Examples
    --------
    >>> ratings = Ratings.from_labels(
    ...     ["A", "B", "A"], ["1", "1", "1"], ["r", "r", "s"], np.array([70.0, 50.0, 90.0])
    ... )
    >>> standardise(ratings).round(4).tolist()
    [0.7071, nan, -0.7071]
    """
    found = rater_scale(ratings) if scale is None else scale
    sd = np.where(found.usable, found.sd, np.nan)
    result: Floats = (ratings.value - found.mean[ratings.rater]) / sd[ratings.rater]
    return result


@dataclass(frozen=True, slots=True)
class Control:
    """What one kind of control item says of each rater.

    ``n`` counts the pairs, ``gap`` is the mean difference (for repeats without sign), ``p`` the
    p-value of the test, NaN where a rater has no pair. ``n_alone`` counts items without a partner.
    """

    n: Counts
    gap: Floats
    p: Floats
    n_alone: int


@dataclass(frozen=True, slots=True)
class QualityControl:
    """The checks of every rater, in the order of ``Ratings.raters``.

    ``reasons`` says for each rater what failed; ``tested`` whether there was anything to test.
    """

    bad_reference: Control
    repeat: Control
    seconds: Floats
    reasons: tuple[tuple[str, ...], ...]
    tested: tuple[bool, ...]

    @property
    def failed(self) -> list[int]:
        """The raters that fail, as codes."""
        return [code for code, reasons in enumerate(self.reasons) if reasons]

    def verdict(self, rater: int) -> str:
        """``fails``, ``passes``, or ``untested`` where there is nothing to judge a rater by."""
        if self.reasons[rater]:
            return "fails"
        return "passes" if self.tested[rater] else "untested"


def quality_control(
    ratings: Ratings, scale: RaterScale, *, alpha: float = 0.05, min_seconds: float = 2.0
) -> QualityControl:
    """Check every rater; nobody is removed here.

    1. Damaged references must score below the real output of the same rater, system and segment:
       one-sided exact signed-rank test, p < alpha. Fewer pairs than could ever reach that level
       test nothing.
    2. Repeats must agree with the first rating of the same output: a two-sided exact signed-rank
       test must not find a difference (p < alpha).
    3. Not every score may be the same.
    4. The median time per rating, where times are known, must be ``min_seconds`` or more.
    """
    bad = _control(ratings, "bad-ref", "greater")
    repeat = _control(ratings, "repeat", "two-sided")
    seconds = _median_seconds(ratings)
    reasons: list[tuple[str, ...]] = []
    tested = []
    for code in range(len(ratings.raters)):
        found = []
        enough = 0.5 ** bad.n[code] < alpha
        if enough and not bad.p[code] < alpha:
            found.append(f"bad references are not rated lower (p = {bad.p[code]:.2g})")
        if repeat.p[code] < alpha:
            found.append(f"repeats differ (p = {repeat.p[code]:.2g})")
        if scale.n[code] > 1 and not scale.high[code] > scale.low[code]:
            found.append(f"gives {scale.low[code]:g} to everything")
        if seconds[code] < min_seconds:
            found.append(f"takes {seconds[code]:.2g} s per rating")
        reasons.append(tuple(found))
        tested.append(bool(enough or repeat.n[code] > 0 or not np.isnan(seconds[code])))
    return QualityControl(bad, repeat, seconds, tuple(reasons), tuple(tested))


def _control(ratings: Ratings, item: str, alternative: str) -> Control:
    """Pair control items with the real rows of the same rater, system and segment; test each."""
    size = len(ratings.raters)
    known = ~np.isnan(ratings.value)
    what = ratings.system.astype(np.int64) * len(ratings.segments) + ratings.segment
    key = what * size + ratings.rater
    real = known & ratings.is_item("system")
    keys, place, counts = np.unique(key[real], return_inverse=True, return_counts=True)
    means = group_sums(place, ratings.value[real], len(keys)) / counts
    rows = np.flatnonzero(known & ratings.is_item(item))
    at = np.searchsorted(keys, key[rows])
    paired = np.zeros(len(rows), dtype=bool)
    if len(keys):
        paired = keys[np.minimum(at, len(keys) - 1)] == key[rows]
    gap = means[at[paired]] - ratings.value[rows[paired]]
    rater = ratings.rater[rows[paired]]
    n = np.bincount(rater, minlength=size).astype(np.int64)
    two_sided = alternative == "two-sided"
    mean, p = np.full(size, np.nan), np.full(size, np.nan)
    by_rater = np.argsort(rater, kind="stable")
    for code, gaps in enumerate(np.split(gap[by_rater], np.cumsum(n)[:-1])):
        if len(gaps):
            mean[code] = (np.abs(gaps) if two_sided else gaps).mean()
            p[code] = signed_rank(gaps, alternative=alternative)
    return Control(n, mean, p, int((~paired).sum()))


def _median_seconds(ratings: Ratings) -> Floats:
    result = np.full(len(ratings.raters), np.nan)
    if ratings.seconds is None:
        return result
    known = np.flatnonzero(~np.isnan(ratings.seconds))
    known = known[np.argsort(ratings.rater[known], kind="stable")]
    codes, starts = np.unique(ratings.rater[known], return_index=True)
    for code, own in zip(codes, np.split(ratings.seconds[known], starts[1:]), strict=True):
        result[code] = np.median(own)
    return result


def notes(control: QualityControl, raters: Sequence[str]) -> list[str]:
    """Say what the checks could not use, and who fails them."""
    found = []
    for kind, what in ((control.bad_reference, "bad reference"), (control.repeat, "repeat")):
        if kind.n_alone:
            owner = "without a rating of the real output by the same rater"
            found.append(f"{plural(kind.n_alone, what)} {owner}: not used in the quality control")
    failed = control.failed
    if failed:
        verb = "fails" if len(failed) == 1 else "fail"
        names = listed([raters[code] for code in failed], 5)
        found.append(f"{plural(len(failed), 'rater')} {verb} the quality control: {names}")
    return found
