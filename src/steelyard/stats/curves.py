"""Agreement curves: how often human raters agree with a metric's difference, by its size.

The **agreement** of a pair of systems is 1 if metric and human score order it alike, 0 if they
order it differently, and 1/2 if either ties it.

* The **monotone curve** is the isotonic regression of agreement on the size of the difference.
* The **smooth curve** is ``1/2 + (Phi(a log(1 + x / s)) - 1/2) / (1 + r x)``. It has no intercept:
  which system comes first is arbitrary. For large s and r = 0 it is ``Phi(b x)``, the truth if both
  scores err normally. A finite s slows the rise (COMET). With r > 0 the curve falls again at the
  largest differences, often between systems of different kinds (BLEU, chrF). The likelihood chooses
  both; a constant ceiling instead of r fits campaigns left out worse (log-likelihood lower by 67).

Where raters agree, their difference is *significant* with chance ``Phi(c + a log(1 + x / s))``;
times the chance of agreement, that is the chance that they agree significantly.

Pairs share systems and are not independent. The band therefore resamples what is: whole sets
(campaigns), or the systems of one set, a pair counting as often as both systems were drawn. Every
fit gets one undecided pair at the median difference, so that it exists where raters always agree.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from steelyard.core.text import plural
from steelyard.stats.arrays import Counts, Floats
from steelyard.stats.resampling.bootstrap import interval
from steelyard.stats.resampling.cluster_df import expanded_level

CELLS = 64  #: groups of pairs of similar difference that curves are fitted to, at most
LEVEL = 0.95  #: of bands
TARGETS = (0.6, 0.7, 0.8, 0.9, 0.95)  #: chances whose difference is reported
LEAST_SYSTEMS, LEAST_PAIRS = 8, 20  #: below these a band says nothing
LEAST_SETS = 20  #: from this many sets on, whole sets are resampled
#: The curves of an :class:`AgreementCurve`.
CURVES = ("agree", "low", "high", "monotone", "significant", "significant_low", "significant_high")
_SCALES = 2.0 ** np.arange(-6, 7)  # of s, in medians of differences
_FADES = 1 / np.array([8.0, 12.0, 16.0, 24.0, 32.0, 64.0, 128.0])  # of r, besides 0
_FADE_SCALES = (1.0, 4.0, 64.0)  # of s where r > 0: both bend a curve, so few will do
_INVERSE_STEPS = 512  # between which an inverse is interpolated
_MAX_STEPS = 50  # of Fisher scoring
_TOLERANCE = 1e-4  # of the last step
_MAX_STEP = 2.0  # the first ones may lead to where the likelihood is flat
_FREE_STEPS, _SHRINK = 10, 0.8  # later steps shrink, because a fit may swing
_HOPELESS = 10.0  # shapes whose joint log-likelihood is this far below the best are not tried
_FAR = 7.0  # standard deviations beyond which a chance is 0 or 1
_RIDGE = 1e-9  # keeps a step finite where all differences are alike
_NULL_DRAWS = 200
_CHUNK = 64  # resamples at a time, as many as the cache holds
_ROUND_STEPS = (1.0, 1.5, 2.0, 3.0, 5.0, 7.0)  # of reported differences, per decade
_REPORTED = 15  # differences, at most


def agreements(metric: ArrayLike, human: ArrayLike) -> Floats:
    """Return 1 where both differences have the same sign, 0 where not, 1/2 for ties, or NaN."""
    return np.asarray(0.5 + 0.5 * np.sign(metric) * np.sign(human))


def monotone(trials: Floats, hits: Floats) -> Floats:
    """Fit shares that never fall to hits of trials (one or more per cell) by least squares."""
    blocks: list[tuple[float, float, int]] = []  # hits, trials, cells: pooled while they fall
    for hit, n in zip(hits.tolist(), trials.tolist(), strict=True):
        block = hit, n, 1
        while blocks and blocks[-1][0] * block[1] >= block[0] * blocks[-1][1]:
            last = blocks.pop()
            block = last[0] + block[0], last[1] + block[1], last[2] + block[2]
        blocks.append(block)
    return np.repeat([hit / n for hit, n, _ in blocks], [cells for *_, cells in blocks])


@dataclass(frozen=True, slots=True)
class Smooth:
    """Curves ``1/2 + (Phi(c + a log(1 + x / s)) - 1/2) / (1 + r x)``, one per row of parameters."""

    a: Floats
    s: Floats
    c: Floats
    fade: Floats  # r

    def at(self, x: ArrayLike) -> Floats:
        """Return the chance at each difference: rows x differences."""
        from scipy.special import ndtr  # not at the start: its import takes 0.1 s

        size = np.abs(np.asarray(x, dtype=np.float64))
        steady = ndtr(self.c[:, None] + self.a[:, None] * np.log1p(size / self.s[:, None]))
        return 0.5 + (steady - 0.5) / (1 + self.fade[:, None] * size)

    def inverse(self, chances: Sequence[float], largest: float) -> Floats:
        """Return the first difference with each chance, inf for none: rows x chances."""
        x = largest * np.r_[0.0, np.geomspace(1e-6, 1.0, _INVERSE_STEPS)]
        highest = np.maximum.accumulate(self.at(x), axis=1)
        return np.stack([np.interp(chances, row, x, left=0.0, right=np.inf) for row in highest])


@dataclass(frozen=True)
class Cells:
    """Pairs in groups of similar difference, each at the mean of its pairs."""

    x: Floats  # rising
    code: Counts  # of each pair

    @classmethod
    def of(cls, sizes: Floats, most: int = CELLS) -> Cells:
        """Group pairs by size, equal sizes together, about as many in each group."""
        levels, code = np.unique(sizes, return_inverse=True)
        if len(levels) > most:
            counts = np.bincount(code)
            middle = np.cumsum(counts) - counts / 2
            group = np.minimum((middle * most / len(sizes)).astype(np.int64), most - 1)
            code = np.unique(group, return_inverse=True)[1][code]
        return cls(np.bincount(code, sizes) / np.bincount(code), code)

    def sums(self, weights: Floats, values: Floats) -> tuple[Floats, Floats]:
        """Sum the weights of pairs, and weights times values, by cell: rows x cells."""
        order = np.argsort(self.code, kind="stable")
        starts = np.flatnonzero(np.r_[True, np.diff(self.code[order]) > 0])
        w = weights[:, order]
        both = (w, w * values[order])
        trials, hits = (np.add.reduceat(column, starts, axis=1) for column in both)
        return trials, hits


def fit_smooth(x: Floats, trials: Floats, hits: Floats, *, intercept: bool = False) -> Smooth:
    """Fit smooth curves by maximum likelihood to rows (resamples) x cells of trials and hits."""
    total = np.cumsum(np.where(x > 0, trials.sum(axis=0), 0.0))
    middle = float(x[np.searchsorted(total, total[-1] / 2)]) if total[-1] else 0.0
    extra = np.ones((len(trials), 1))
    x, trials, hits = np.r_[x, middle], np.hstack([trials, extra]), np.hstack([hits, 0.5 * extra])
    shapes = [(scale, 0.0) for scale in _SCALES]
    if not intercept:
        shapes += [(scale, fade) for fade in _FADES for scale in _FADE_SCALES]
    scales, fades = np.array(shapes if middle > 0 else [(1.0, 0.0)]).T
    scales, fades = scales * (middle or 1.0), fades / (middle or 1.0)
    lapses = 0.5 - 0.5 / (1 + fades[:, None] * x)  # shapes x cells
    z = np.log1p(x / scales[:, None])  # shapes x cells
    joint = trials.mean(axis=0, keepdims=True), hits.mean(axis=0, keepdims=True)
    # Standardised, so that steps suffice however steep a curve is.
    share = joint[0][0] / joint[0][0].sum()
    centre = z @ share if intercept else np.zeros(len(z))
    unit = np.sqrt((z - centre[:, None]) ** 2 @ share)
    varies = unit > _RIDGE * z.max(axis=1)
    centre, unit = np.where(varies, centre, 0.0), np.where(varies, unit, 1.0)
    z = (z - centre[:, None]) / unit[:, None]
    zero = np.zeros((1, len(z)))
    # Every row starts from what suits all rows together.
    a, c, likelihood = _fisher_scoring(z, lapses, *joint, (zero, zero), intercept=intercept)
    tried = np.flatnonzero(likelihood[0] >= likelihood.max() - _HOPELESS)
    columns = z, scales, fades, lapses, centre, unit
    z, scales, fades, lapses, centre, unit = (v[tried] for v in columns)
    start = a[:, tried], c[:, tried]
    parts = [
        _fisher_scoring(z, lapses, trials[rows], hits[rows], start, intercept=intercept)
        for rows in (slice(k, k + _CHUNK) for k in range(0, len(trials), _CHUNK))
    ]
    a, c, likelihood = (np.concatenate(column) for column in zip(*parts, strict=True))
    a = a / unit
    c = c - a * centre
    best = likelihood.argmax(axis=1)
    rows = np.arange(len(best))
    return Smooth(a[rows, best], scales[best], c[rows, best], fades[best])


def _fisher_scoring(
    z: Floats,
    lapses: Floats,
    trials: Floats,
    hits: Floats,
    start: tuple[Floats, Floats],
    *,
    intercept: bool,
) -> tuple[Floats, Floats, Floats]:
    """Fit ``l + (1 - 2 l) Phi(c + a z)`` for rows x shapes: a, c and the log-likelihood."""
    shape = len(trials), len(z)
    a, c = (np.broadcast_to(values, shape).reshape(-1).copy() for values in start)
    row, column = np.divmod(np.arange(a.size), shape[1])
    active = np.arange(a.size)
    for k in range(_MAX_STEPS):
        fits = column[active], row[active]
        steps = _fisher_step(
            z[fits[0]], lapses[fits[0]], trials[fits[1]], hits[fits[1]],
            a[active], c[active], intercept=intercept,
        )  # fmt: skip
        longest = _MAX_STEP * _SHRINK ** max(0, k - _FREE_STEPS)
        step_a, step_c = (np.clip(step, -longest, longest) for step in steps)
        a[active] += step_a
        c[active] += step_c
        active = active[np.maximum(np.abs(step_a), np.abs(step_c)) >= _TOLERANCE]
        if not active.size:
            break
    a, c = a.reshape(shape), c.reshape(shape)
    steady = c[..., None] + a[..., None] * z
    log_p, log_q = (_log_chance(side, lapses) for side in (steady, -steady))
    n, h = trials[:, None, :], hits[:, None, :]
    return a, c, (h * log_p + (n - h) * log_q).sum(axis=-1)


def _log_chance(steady: Floats, lapse: Floats) -> Floats:
    """Return the logarithm of ``l + (1 - 2 l) Phi(steady)``, exact in the tail where l is 0."""
    from scipy.special import log_ndtr

    with np.errstate(divide="ignore"):
        return np.logaddexp(np.log(lapse), np.log1p(-2 * lapse) + log_ndtr(steady))


def _fisher_step(
    z: Floats, lapse: Floats, n: Floats, h: Floats, a: Floats, c: Floats, *, intercept: bool
) -> tuple[Floats, Floats]:
    """Return the next steps of a and c for fits x cells of differences, trials and hits."""
    from scipy.special import ndtr

    at = np.clip(c[:, None] + a[:, None] * z, -_FAR, _FAR)
    p = lapse + (1 - 2 * lapse) * ndtr(at)
    density = (1 - 2 * lapse) * np.exp(-0.5 * at * at) / np.sqrt(2 * np.pi)
    variance = p * (1 - p)
    score, weight = density * (h - n * p) / variance, n * density * density / variance
    slope_a, info_a = (score * z).sum(axis=-1), (weight * z * z).sum(axis=-1) + _RIDGE
    if not intercept:
        return slope_a / info_a, np.zeros_like(slope_a)
    slope_c, info_c = score.sum(axis=-1), weight.sum(axis=-1) + _RIDGE
    cross = (weight * z).sum(axis=-1)
    det = info_a * info_c - cross * cross
    step_a = (info_c * slope_a - cross * slope_c) / det
    return step_a, (info_a * slope_c - cross * slope_a) / det


def resampled_pairs(
    sets: Counts, first: Counts, second: Counts, *, by: str, draws: int, rng: np.random.Generator
) -> Floats:
    """Weigh pairs by resamples of ``sets`` or of the ``systems`` of each set: draws x pairs."""
    if by == "sets":
        n = int(sets.max()) + 1
        return rng.multinomial(n, np.full(n, 1 / n), size=draws)[:, sets].astype(np.float64)
    set_of_system = np.full(int(max(first.max(), second.max())) + 1, -1)
    set_of_system[first], set_of_system[second] = sets, sets
    counts = np.zeros((draws, len(set_of_system)))
    for k in np.unique(sets):
        members = np.flatnonzero(set_of_system == k)
        share = np.full(len(members), 1 / len(members))
        counts[:, members] = rng.multinomial(len(members), share, size=draws)
    return counts[:, first] * counts[:, second]


@dataclass(frozen=True, slots=True)
class Calibration:
    """Predicted chances and observed shares in bins of about as many pairs."""

    predicted: Floats
    observed: Floats
    n: Counts
    error: float  # expected calibration error
    by_chance: float  # its mean if the chances were right and pairs independent


def calibration(
    chance: Floats, outcome: Floats, rng: np.random.Generator, *, bins: int = 10
) -> Calibration:
    """Compare chances with outcomes (0, 1 or 1/2) on pairs that they were not fitted to."""
    cells = Cells.of(chance, bins)
    n = np.bincount(cells.code)
    drawn = (rng.random((_NULL_DRAWS, len(chance))) < chance).astype(np.float64)
    rows = np.vstack([np.asarray(outcome, dtype=np.float64), drawn])
    hits = np.stack([np.bincount(cells.code, row, len(n)) for row in rows])
    errors = np.abs(hits - cells.x * n).sum(axis=1) / n.sum()
    return Calibration(cells.x, hits[0] / n, n, float(errors[0]), float(errors[1:].mean()))


@dataclass(frozen=True)
class SystemPairs:
    """Pairs of systems of the same set, with differences by human score and metrics, or NaN."""

    sets: Counts
    first: Counts  # numbers of systems, over all sets
    second: Counts
    human: Floats  # first less second; more is better, by metrics too
    p: Floats  # of the human difference
    metrics: Mapping[str, Floats]

    def where(self, keep: NDArray[np.bool_]) -> SystemPairs:
        """Keep some pairs."""
        columns = {f.name: getattr(self, f.name)[keep] for f in fields(self)[:-1]}
        return SystemPairs(**columns, metrics={name: x[keep] for name, x in self.metrics.items()})

    def with_difference(self, metric: str) -> SystemPairs:
        """Keep the pairs whose differences by metric and human score are both known."""
        return self.where(~np.isnan(self.metrics[metric] + self.human))

    @property
    def n_systems(self) -> int:
        """How many systems the pairs are made of."""
        return len(np.unique(np.r_[self.first, self.second]))

    @classmethod
    def joined(cls, parts: Sequence[SystemPairs]) -> SystemPairs:
        """Put the pairs of several sets together; metrics that a set lacks are missing there."""
        names = dict.fromkeys(name for part in parts for name in part.metrics)
        n_sets, n_systems, rows = 0, 0, []
        for part in parts:
            missing = np.full(len(part.human), np.nan)
            metrics = [part.metrics.get(name, missing) for name in names]
            codes = part.sets + n_sets, part.first + n_systems, part.second + n_systems
            rows.append((*codes, part.human, part.p, *metrics))
            n_sets += int(part.sets.max(initial=-1)) + 1
            n_systems += int(np.r_[part.first, part.second].max(initial=-1)) + 1
        columns = (np.concatenate(column) for column in zip(*rows, strict=True))
        sets, first, second, human, p, *by_metric = columns
        return cls(sets, first, second, human, p, dict(zip(names, by_metric, strict=True)))

    def why_too_few(self, metric: str) -> str | None:
        """Say why no curve can be fitted to these pairs, None if one can."""
        pairs = self.with_difference(metric)
        n = len(pairs.human)
        if pairs.n_systems < LEAST_SYSTEMS or n < LEAST_PAIRS:
            least = f"it takes {LEAST_SYSTEMS} systems and {LEAST_PAIRS} pairs"
            return f"{plural(n, 'pair')} of {plural(pairs.n_systems, 'system')}: {least}"
        if not pairs.human.any():
            return "people tie all pairs of systems"
        return None if pairs.metrics[metric].any() else "it ties all pairs of systems"


@dataclass(frozen=True)
class AgreementCurve:
    """Chances that raters agree with differences of a metric, and that they do significantly."""

    metric: str
    x: Floats  # rising differences from 0 on, of which the curves have the chances
    agree: Floats
    low: Floats
    high: Floats
    monotone: Floats
    significant: Floats
    significant_low: Floats
    significant_high: Floats
    #: By chance of agreement: the difference that reaches it, with a band (NaN: none seen does).
    needed: Mapping[float, tuple[float, float, float]]
    n_pairs: int
    n_systems: int
    n_sets: int
    accuracy: float  # share of all pairs with agreement
    alpha: float = 0.05
    origin: str = ""  # where it was measured, if not on the data at hand

    def to_dict(self) -> dict[str, Any]:
        """Return what ``--json`` prints."""
        columns = {f.name: getattr(self, f.name) for f in fields(self) if f.name != "needed"}
        keys = ("agree", "difference", "low", "high")
        needed = [dict(zip(keys, (t, *ends), strict=True)) for t, ends in self.needed.items()]
        return columns | {"needed": needed}

    def at(self, difference: float) -> dict[str, float]:
        """Return the chances at a difference, interpolated; beyond the last, those of the last."""
        return {
            name: float(np.interp(abs(difference), self.x, getattr(self, name)))
            for name in CURVES
            if name != "monotone"
        }

    def sentence(self, difference: float) -> str:
        """Say how often raters agree with a difference."""
        at, last = self.at(difference), float(self.x[-1])
        what = f"a difference of {abs(difference):.3g} {self.metric}"
        if abs(difference) > last:
            what = f"differences of {last:.3g} {self.metric} and more"
        agree, low, high, *significant = (f"{100 * chance:.0f}" for chance in at.values())
        text = f"people agree with {what} in {agree}% of such pairs ({low} to {high})"
        if not np.isnan(at["significant"]):
            text += ", and significantly so in {}% ({} to {})".format(*significant)
        return f"{text}: {self.basis()}"

    def needed_sentence(self) -> str:
        """Say which difference finds agreement in 80% of pairs, or how often the largest does."""
        value, low, high = self.needed.get(0.8, (np.nan,) * 3)
        if np.isnan(value):
            return self.sentence(float(self.x[-1]))
        ends = " to ".join("beyond all" if np.isnan(x) else f"{x:.3g}" for x in (low, high))
        what = f"people agree with {value:.3g} {self.metric} in 80% of pairs"
        return f"{what} ({ends} for that): {self.basis()}"

    def basis(self) -> str:
        """Say what the curve rests on."""
        sets = "" if self.n_sets == 1 else f" in {plural(self.n_sets, 'set')}"
        pairs = f"{plural(self.n_pairs, 'pair')} of {plural(self.n_systems, 'system')}{sets}"
        return f"{pairs}, {self.origin}" if self.origin else f"{pairs} in these data"


def agreement_curve(
    pairs: SystemPairs,
    metric: str,
    rng: np.random.Generator,
    *,
    draws: int = 500,
    alpha: float = 0.05,
    at: Sequence[float] | None = None,
) -> AgreementCurve:
    """Measure how often raters agree with differences of a metric (``why_too_few`` is None)."""
    pairs = pairs.with_difference(metric)
    sizes, y = np.abs(pairs.metrics[metric]), agreements(pairs.metrics[metric], pairs.human)
    cells = Cells.of(sizes)
    sets = np.unique(pairs.sets, return_inverse=True)[1]
    n_sets = int(sets.max()) + 1
    by = "sets" if n_sets >= LEAST_SETS else "systems"
    weights = resampled_pairs(sets, pairs.first, pairs.second, by=by, draws=draws, rng=rng)
    level = expanded_level(LEVEL, np.bincount(sets) if by == "sets" else np.ones(pairs.n_systems))
    x = np.array(sorted({0.0, *map(float, at)})) if at is not None else _round_sizes(sizes)
    x = x[x <= sizes.max()]  # nothing is said of what was not seen
    equal = np.ones((1, len(y)))
    smooth, drawn = (fit_smooth(cells.x, *cells.sums(w, y)) for w in (equal, weights))
    significant = np.full((3, len(x)), np.nan)
    tested = ~np.isnan(pairs.p) & (y == 1)
    if tested.any():
        hits = (pairs.p <= alpha).astype(np.float64)
        point, resampled = (
            curve.at(x) * fit_smooth(cells.x, *cells.sums(w * tested, hits), intercept=True).at(x)
            for curve, w in ((smooth, equal), (drawn, weights))
        )
        significant = np.stack([point[0], *interval(resampled, level)])
    rising = np.interp(x, cells.x, monotone(*np.concatenate(cells.sums(equal, y))))
    agree = smooth.at(x)[0], *interval(drawn.at(x), level)
    curves: dict[str, Any] = dict(zip(CURVES, (*agree, rising, *significant), strict=True))
    return AgreementCurve(
        metric=metric,
        x=x,
        **curves,
        needed=_needed(smooth, drawn, float(sizes.max()), level),
        n_pairs=len(y),
        n_systems=pairs.n_systems,
        n_sets=n_sets,
        accuracy=float(y.mean()),
        alpha=alpha,
    )


def _needed(
    smooth: Smooth, drawn: Smooth, largest: float, level: float
) -> dict[float, tuple[float, float, float]]:
    """Return the difference that reaches each target, with a band, up to the largest seen."""
    tails = [(1 - level) / 2, (1 + level) / 2]
    # Some inverses are infinite: an order statistic has no arithmetic with them.
    ends = np.quantile(drawn.inverse(TARGETS, largest), tails, axis=0, method="nearest")
    rows = np.vstack([smooth.inverse(TARGETS, largest), ends])
    rows = np.where(np.isinf(rows), np.nan, rows)
    return {t: (float(v), float(a), float(b)) for t, (v, a, b) in zip(TARGETS, rows.T, strict=True)}


def _round_sizes(sizes: Floats) -> Floats:
    """Choose round differences to report: 0, then from few to nearly all pairs."""
    positive = sizes[sizes > 0]
    low, high = (float(q) for q in np.quantile(positive, [0.02, 0.98]))
    decades = range(int(np.floor(np.log10(low))), int(np.ceil(np.log10(high))) + 1)
    steps = [float(f"{step}e{decade}") for decade in decades for step in _ROUND_STEPS]
    steps = [step for step in steps if low <= step]
    last = next((k for k, step in enumerate(steps) if step >= high), len(steps) - 1)
    return np.array([0.0, *steps[: last + 1][-_REPORTED:]])
