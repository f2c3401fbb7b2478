"""What differences of a metric are worth to people, measured on pairs of systems.

:mod:`steelyard.stats.worthcurve` says how; here pairs are made of sets, and what was found is told
in a sentence. A :class:`Worth` is a short table, so that it can be written, shipped and read again;
between its differences, chances are interpolated.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from steelyard.core.text import plural
from steelyard.data.evalset import EvalSet
from steelyard.data.independence import SEGMENT, units_of
from steelyard.stats.arrays import Counts, Floats, beyond_rounding, pairs_within, row_means
from steelyard.stats.paired.tests import permutation_test
from steelyard.stats.resampling.bootstrap import interval
from steelyard.stats.resampling.cluster_df import expanded_level
from steelyard.stats.worthcurve import (
    Cells,
    Smooth,
    agreements,
    fit_smooth,
    monotone,
    resampled_pairs,
)

LEVEL = 0.95  # of bands
#: Curves of a worth, beside its differences.
CURVES = ("agree", "low", "high", "monotone", "significant", "significant_low", "significant_high")
TARGETS = (0.6, 0.7, 0.8, 0.9, 0.95)  # chances whose difference is told
LEAST_SYSTEMS = 8  # in all, and
LEAST_PAIRS = 20  # pairs, below which a band says nothing
MOST_SYSTEMS = 60  # of a set that is looked at in passing
LEAST_SETS = 20  # sets from which on whole sets are resampled, and not the systems of each
_STEPS = (1.0, 1.5, 2.0, 3.0, 5.0, 7.0)  # of differences at which a chance is told, by decade
_POINTS = 15  # differences that are told, about


@dataclass(frozen=True)
class Pairs:
    """Pairs of systems of the same set: differences by people and by metrics, first less second.

    More is better throughout; NaN where a score, or a p-value of people's difference, is missing.
    """

    sets: Counts
    first: Counts  # numbers of systems, over all sets
    second: Counts
    human: Floats
    p: Floats
    metrics: Mapping[str, Floats]

    def where(self, keep: np.ndarray) -> Pairs:
        """Keep some pairs."""
        own = {one.name: getattr(self, one.name)[keep] for one in fields(self)[:-1]}
        return Pairs(**own, metrics={name: x[keep] for name, x in self.metrics.items()})

    @classmethod
    def joined(cls, parts: Sequence[Pairs]) -> Pairs:
        """Put the pairs of several sets together; metrics that a set lacks are missing there."""
        names = dict.fromkeys(name for part in parts for name in part.metrics)
        sets, systems, shifted = 0, 0, []
        for part in parts:
            own = replace(part, sets=part.sets + sets, first=part.first + systems,
                          second=part.second + systems)  # fmt: skip
            shifted.append(own)
            sets += int(part.sets.max(initial=-1)) + 1
            systems += int(max(part.first.max(initial=-1), part.second.max(initial=-1))) + 1
        columns = {
            one.name: np.concatenate([getattr(part, one.name) for part in shifted])
            for one in fields(cls)[:-1]
        }
        nothing = [np.full(len(part.human), np.nan) for part in parts]
        metrics = {
            name: np.concatenate(
                [part.metrics.get(name, gap) for part, gap in zip(parts, nothing, strict=True)]
            )
            for name in names
        }
        return cls(**columns, metrics=metrics)


def pairs_of(
    es: EvalSet,
    human: str,
    metrics: Sequence[str],
    *,
    groups: Mapping[str, str] | None = None,
    unit: str = SEGMENT,
) -> Pairs:
    """List the pairs of systems of a set, or of each group of its systems that was judged together.

    Systems are compared by their official scores, else by what people scored of them. p-values of
    people's differences are those of the permutation test, two-sided, by ``unit``. A system that a
    metric uses as its reference has no difference by it.
    """
    gold = es[human]
    means = gold.system_means() * (1 if gold.higher_is_better else -1)
    named = [groups.get(name, "") if groups is not None else "" for name in es.systems]
    code = np.unique(named, return_inverse=True)[1]
    first, second = pairs_within(code)
    known = ~np.isnan(means[first] - means[second])
    first, second = first[known], second[known]
    sets = code[first]
    p = np.full(len(first), np.nan)
    if gold.has_segments:
        for one in np.unique(sets):
            own = sets == one
            p[own] = _pvalues(es, human, first[own], second[own], unit)
    found = {}
    for name in metrics:
        scores = system_scores(es, human, name)
        found[name] = _apart(scores, first, second)
    return Pairs(sets, first, second, _apart(means, first, second), p, found)


def _apart(scores: Floats, first: Counts, second: Counts) -> Floats:
    """Give differences of systems; what is rounding alone is none."""
    a, b = scores[first], scores[second]
    return beyond_rounding(a - b, np.maximum(np.abs(a), np.abs(b)))


def _pvalues(es: EvalSet, human: str, first: Counts, second: Counts, unit: str) -> Floats:
    """Test people's differences of systems that were judged together."""
    rows, place = np.unique(np.r_[first, second], return_inverse=True)
    values = es[human].oriented[rows]
    used = np.asarray((~np.isnan(values)).any(axis=0))
    blocks = units_of(es.segments, unit, used).of(used).codes
    p = permutation_test(values[:, used], blocks).p
    found: Floats = p[place[: len(first)], place[len(first) :]]
    return found


def system_scores(es: EvalSet, human: str, metric: str) -> Floats:
    """Give the scores of systems by a metric: official, else of what people scored; oriented."""
    table, judged = es[metric], ~np.isnan(es[human].values)
    if table.system_scores is not None or not es[human].has_segments:
        found = table.system_means()
    elif table.statistics is not None:
        found = table.statistics.masked(judged).corpus_scores()
    else:
        found = row_means(np.where(judged, table.values, np.nan))
    found = np.where([name in table.uses for name in es.systems], np.nan, found)
    return found * (1 if table.higher_is_better else -1)


@dataclass(frozen=True)
class Worth:
    """Chances that people agree with differences of a metric, and that theirs is significant.

    Arrays stand beside ``x``, rising differences from 0 on; ``needed`` are the differences, with a
    band, at which people agree in 60 to 95 % of pairs (NaN: no difference that was seen does).
    """

    metric: str
    x: Floats
    agree: Floats
    low: Floats
    high: Floats
    monotone: Floats
    significant: Floats
    significant_low: Floats
    significant_high: Floats
    needed: Mapping[float, tuple[float, float, float]]
    n_pairs: int
    n_systems: int
    n_sets: int
    accuracy: float  # share of all pairs that people agree with
    alpha: float = 0.05
    origin: str = ""  # where it was measured, if not on the data at hand

    def to_dict(self) -> dict[str, Any]:
        """Give what ``--json`` prints; :mod:`steelyard.formats.worthfiles` reads it."""
        own = {one.name: getattr(self, one.name) for one in fields(self) if one.name != "needed"}
        needed = [dict(zip(("agree", "difference", "low", "high"), (t, *ends), strict=True))
                  for t, ends in self.needed.items()]  # fmt: skip
        return own | {"needed": needed}

    def at(self, difference: float) -> dict[str, float]:
        """Give the chances at a difference, interpolated; beyond the last, those of the last."""
        names = ("agree", "low", "high", "significant", "significant_low", "significant_high")
        size = abs(difference)
        return {name: float(np.interp(size, self.x, getattr(self, name))) for name in names}

    def told(self, difference: float) -> dict[str, Any]:
        """Give what the JSON output says of a difference."""
        return {
            "metric": self.metric,
            "difference": abs(difference),
            **self.at(difference),
            "alpha": self.alpha,
            "beyond": bool(abs(difference) > self.x[-1]),
            "n_pairs": self.n_pairs,
            "n_systems": self.n_systems,
            "n_sets": self.n_sets,
            "origin": self.origin or None,
            "sentence": self.sentence(difference),
        }

    def sentence(self, difference: float) -> str:
        """Say what a difference is worth."""
        size, at = abs(difference), self.at(difference)
        beyond = size > self.x[-1]
        shown = f"{min(size, float(self.x[-1])):.3g} {self.metric}"
        what = f"differences of {shown} and more" if beyond else f"a difference of {shown}"
        share = f"{100 * at['agree']:.0f} % of such pairs"
        text = f"people agree with {what} in {share} ({_band(at['low'], at['high'])})"
        if not np.isnan(at["significant"]):
            band = _band(at["significant_low"], at["significant_high"])
            text += f", and significantly so in {100 * at['significant']:.0f} % ({band})"
        return f"{text}: {self.basis()}"

    def in_short(self, chance: float = 0.8) -> str:
        """Say which difference people agree with in so many pairs, or what the largest is worth."""
        value, low, high = self.needed.get(chance, (np.nan,) * 3)
        if np.isnan(value):
            return self.sentence(float(self.x[-1]))
        ends = " to ".join("beyond all" if np.isnan(x) else f"{x:.3g}" for x in (low, high))
        what = f"people agree with {value:.3g} {self.metric} in {100 * chance:.0f} % of pairs"
        return f"{what} ({ends} for that): {self.basis()}"

    def basis(self) -> str:
        """Say what it rests on."""
        sets = "" if self.n_sets == 1 else f" in {plural(self.n_sets, 'set')}"
        own = f"{plural(self.n_pairs, 'pair')} of {plural(self.n_systems, 'system')}{sets}"
        return f"{own}, {self.origin}" if self.origin else f"{own} in these data"


def _band(low: float, high: float) -> str:
    return f"{100 * low:.0f} to {100 * high:.0f}"


def enough(pairs: Pairs, metric: str) -> str | None:
    """Say why worth can't be measured on pairs, None if it can."""
    known = ~np.isnan(pairs.metrics[metric] + pairs.human)
    systems = len(np.unique(np.r_[pairs.first[known], pairs.second[known]]))
    if systems >= LEAST_SYSTEMS and known.sum() >= LEAST_PAIRS:
        if not pairs.human[known].any():
            return "people tie all pairs of systems"
        return None if pairs.metrics[metric][known].any() else "it ties all pairs of systems"
    least = f"it takes {LEAST_SYSTEMS} systems and {LEAST_PAIRS} pairs"
    return f"{plural(int(known.sum()), 'pair')} of {plural(systems, 'system')}: {least}"


def measured_here(
    es: EvalSet, human: str, metric: str, rng: np.random.Generator, *, unit: str = SEGMENT
) -> Worth | None:
    """Measure worth on a set, None if it has too few systems, or so many that it takes a study."""
    if not LEAST_SYSTEMS <= es.n_systems <= MOST_SYSTEMS:
        return None
    pairs = pairs_of(es, human, [metric], unit=unit)
    return measure(pairs, metric, rng) if enough(pairs, metric) is None else None


def measure(
    pairs: Pairs,
    metric: str,
    rng: np.random.Generator,
    *,
    draws: int = 500,
    alpha: float = 0.05,
    at: Sequence[float] | None = None,
) -> Worth:
    """Measure what differences of a metric are worth; see :func:`enough`.

    Examples
    --------
    >>> import steelyard as sy
    >>> pairs = pairs_of(sy.demo_set(), "mqm", ["learned-refA"])
    >>> found = measure(pairs, "learned-refA", np.random.default_rng(0), draws=50)
    >>> found.n_pairs, float(found.agree[0]), bool((np.diff(found.agree) > 0).all())
    (66, 0.5, True)
    """
    known = ~np.isnan(pairs.metrics[metric] + pairs.human)
    own = pairs.where(known)
    sizes, y = np.abs(own.metrics[metric]), agreements(own.metrics[metric], own.human)
    cells = Cells.of(sizes)
    sets = np.unique(own.sets, return_inverse=True)[1]
    by_set = int(sets.max()) + 1 >= LEAST_SETS
    weights = resampled_pairs(
        sets, own.first, own.second, by="sets" if by_set else "systems", draws=draws, rng=rng
    )
    systems = len(np.unique(np.r_[own.first, own.second]))
    level = expanded_level(LEVEL, np.bincount(sets) if by_set else np.ones(systems))
    x = np.array(sorted({0.0, *map(float, at)})) if at is not None else told_at(sizes)
    x = x[x <= sizes.max()]  # nothing is said of what was not seen
    whole = np.ones((1, len(y)))
    smooth = fit_smooth(cells.x, *cells.sums(whole, y))
    drawn = fit_smooth(cells.x, *cells.sums(weights, y))
    low, high = interval(drawn.at(x), level)
    rising = np.interp(x, cells.x, monotone(*cells.sums(whole, y))[0])
    if_agreed = _significant(own, cells, y, weights, alpha)
    sure = np.full((3, len(x)), np.nan)
    if if_agreed is not None:
        one, many = (curve.at(x) * given.at(x) for curve, given in
                     zip((smooth, drawn), if_agreed, strict=True))  # fmt: skip
        sure = np.stack([one[0], *interval(many, level)])
    return Worth(
        metric=metric,
        x=x,
        agree=smooth.at(x)[0],
        low=low,
        high=high,
        monotone=rising,
        significant=sure[0],
        significant_low=sure[1],
        significant_high=sure[2],
        needed=_needed(smooth, drawn, float(sizes.max()), level),
        n_pairs=len(y),
        n_systems=systems,
        n_sets=int(sets.max()) + 1,
        accuracy=float(y.mean()),
        alpha=alpha,
    )


def _significant(
    own: Pairs, cells: Cells, y: Floats, weights: Floats, alpha: float
) -> tuple[Smooth, Smooth] | None:
    """Fit the chance that people's difference is significant, of pairs on which they agree.

    Of all pairs, and of resamples; None if no p-value is known.
    """
    known = ~np.isnan(own.p) & (y == 1)
    if not known.any():
        return None
    hits = (own.p <= alpha).astype(np.float64)
    sums = (cells.sums(w * known, hits) for w in (np.ones((1, len(y))), weights))
    one, many = (fit_smooth(cells.x, *both, intercept=True) for both in sums)
    return one, many


def _needed(
    smooth: Smooth, drawn: Smooth, most: float, level: float
) -> dict[float, tuple[float, float, float]]:
    """Differences at which people agree in so many pairs, with a band, up to the largest seen."""
    value = smooth.inverse(TARGETS)[0]
    low, high = np.quantile(drawn.inverse(TARGETS), [(1 - level) / 2, (1 + level) / 2], axis=0,
                            method="nearest")  # fmt: skip
    ends = np.stack([value, low, high])
    ends = np.where(ends > most, np.nan, ends)
    return {t: (float(a), float(b), float(c)) for t, (a, b, c) in zip(TARGETS, ends.T, strict=True)}


def told_at(sizes: Floats) -> Floats:
    """Choose round differences at which chances are told: 0, then from few to nearly all pairs.

    Examples
    --------
    >>> told_at(np.linspace(0.0, 10.0, 100)).tolist()
    [0.0, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0, 5.0, 7.0, 10.0]
    """
    some = sizes[sizes > 0]
    if not some.size:
        return np.zeros(1)
    low, high = (float(q) for q in np.quantile(some, [0.02, 0.98]))
    decades = range(int(np.floor(np.log10(low))), int(np.ceil(np.log10(high))) + 1)
    steps = [float(f"{step}e{decade}") for decade in decades for step in _STEPS]
    kept = [step for step in steps if low <= step]
    above = next((k for k, step in enumerate(kept) if step >= high), len(kept) - 1)
    kept = kept[: above + 1]
    return np.array([0.0, *kept[-_POINTS:]])
