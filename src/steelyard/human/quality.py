"""Quality control of raters, as WMT does it: damaged references, repeats, speed, flat scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from steelyard.core.words import plural
from steelyard.data.judgements import Floats, Ratings
from steelyard.human.da import RaterScale
from steelyard.stats.arrays import Counts, group_sums
from steelyard.stats.paired.ranktests import signed_rank

MIN_SECONDS = 2.0


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
    ratings: Ratings, scale: RaterScale, *, alpha: float = 0.05, min_seconds: float = MIN_SECONDS
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
        listed = ", ".join(raters[code] for code in failed[:5])
        more = f" and {len(failed) - 5} more" if len(failed) > 5 else ""
        verb = "fails" if len(failed) == 1 else "fail"
        found.append(f"{plural(len(failed), 'rater')} {verb} the quality control: {listed}{more}")
    return found
