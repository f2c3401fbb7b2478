"""Why rankings disagree: segments that sway the mean, kinds of segments, and their imbalance.

And what would change the order by Bradley-Terry: other treatments of ties, a system left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from steelyard.comparison.aggregations import Aggregate
from steelyard.comparison.options import TIES, RankOptions
from steelyard.comparison.ranked import MOST_SHOWN
from steelyard.comparison.scores import FEW, Compared, first_few
from steelyard.core.warnings import TypedWarning
from steelyard.data.evalset import EvalSet
from steelyard.stats.arrays import Floats, median
from steelyard.stats.permutation.corpus import CorpusStatistics, pseudo_values
from steelyard.stats.spread import pairing_strength
from steelyard.stats.strength.bradleyterry import Strengths, bradley_terry
from steelyard.stats.strength.wins import WinCounts

_NAMED = 5  # segments, or pairs, that are named at most
_GRID = 256
_ALIKE = ("half", "davidson")  # treatments of ties that may know a system by its points
_MOST = 60  # systems up to which every one is left out in turn


def diagnose(es: EvalSet, data: Compared, ranks: Mapping[str, Aggregate]) -> dict[str, Any]:
    """Explain the pairs that rankings order differently.

    Gives ``disagreements`` (the pairs, with the segments that sway the mean, the modes of their
    differences and the domains that go the other way; none for more than 300 systems), ``best``
    (the winners by each ranking) and ``warnings``. Winners that tie are all best.
    """
    systems = data.systems
    names = [name for name in ("mean", "sentence-mean", "median", "bt") if name in ranks]
    best = {
        name: [s for s, rank in zip(systems, found.ranks, strict=True) if rank == 1]
        for name, found in ranks.items()
    }
    warnings = []
    known = [set(own) for own in best.values() if own]
    if known and not set.intersection(*known):
        shown = "; ".join(f"{name}: {', '.join(own)}" for name, own in best.items() if own)
        warnings.append(f"rankings disagree on the best system ({shown})")
    found = []
    if names and len(systems) <= MOST_SHOWN:
        ahead = np.stack([_ahead(ranks[name]) for name in names])
        apart = np.triu((ahead > 0).any(axis=0) & (ahead < 0).any(axis=0), 1)
        for i, j in np.argwhere(apart).tolist():
            signs = dict(zip(names, ahead[:, i, j].tolist(), strict=True))
            found.append(_explain(es, data, (i, j), signs))
    return {"best": best, "disagreements": found, "warnings": warnings}


def _ahead(found: Aggregate) -> Floats:
    """1 where the row ranks above the column, -1 below, 0 where neither (or unknown)."""
    return np.nan_to_num(np.sign(found.ranks[None, :] - found.ranks[:, None]))


def _explain(
    es: EvalSet, data: Compared, pair: tuple[int, int], signs: dict[str, int]
) -> dict[str, Any]:
    i, j = pair
    systems, gap = data.systems, data.scores[i] - data.scores[j]
    ahead = {
        name: systems[i] if sign > 0 else systems[j] if sign < 0 else None
        for name, sign in signs.items()
    }
    two = None if data.statistics is None else data.statistics.select(systems=pair)
    swaying = swaying_segments(gap) if two is None else swaying_corpus(two)
    return {
        "pair": [systems[i], systems[j]],
        "ahead": ahead,
        "wins": int((gap > 0).sum()),
        "losses": int((gap < 0).sum()),
        "ties": int((gap == 0).sum()),
        "swaying_segments": [es.segments.ids[k] for k in swaying[:_NAMED]],
        "n_swaying": len(swaying),
        "modes": modes(gap[~np.isnan(gap)]),
        "domains": _domains(es, data.sign * gap, two),
    }


def swaying_segments(gap: Floats) -> list[int]:
    """Fewest segments whose removal turns the sign of the mean difference, largest first.

    Examples
    --------
    >>> swaying_segments(np.array([-1.0, -1.0, 5.0, -1.0]))
    [2]
    """
    known = np.flatnonzero(~np.isnan(gap))
    total = float(gap[known].sum())
    if total == 0:
        return []
    side = np.sign(total)
    own = known[np.sign(gap[known]) == side]
    order = own[np.argsort(-np.abs(gap[own]), kind="stable")]
    left = total - np.cumsum(gap[order])
    turned = np.flatnonzero(np.sign(left) != side)
    return [int(k) for k in order[: int(turned[0]) + 1]] if turned.size else []


def swaying_corpus(stats: CorpusStatistics) -> list[int]:
    """Few segments whose removal turns which of two systems has the higher corpus score.

    Segments are left out one after the other, those that add most to the lead first.
    """
    known = np.flatnonzero(stats.known.all(axis=0))
    both = stats.select(segments=known)
    one, two = both.corpus_scores()
    side = np.sign(one - two)
    if not side:
        return []
    pull = side * np.subtract(*pseudo_values(both))
    order = np.argsort(-pull, kind="stable")[: max(0, len(known) - 1)]
    sums = both.values.sum(axis=1, keepdims=True) - np.cumsum(both.values[:, order], axis=1)
    left = both.combine(sums)
    turned = np.flatnonzero(np.sign(left[0] - left[1]) == -side)
    return [int(known[k]) for k in order[: int(turned[0]) + 1]] if turned.size else []


def modes(values: Floats) -> int:
    """Peaks of the smoothed density that a valley of at least a fifth of the lower one separates.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> modes(rng.normal(size=300)), modes(np.r_[rng.normal(-4, 1, 300), rng.normal(4, 1, 300)])
    (1, 2)
    """
    if len(values) < 10 or np.ptp(values) == 0:
        return 1
    quartiles = float(np.subtract(*np.percentile(values, [75, 25])))
    width = 0.9 * (min(values.std(), quartiles / 1.34) or values.std()) * len(values) ** -0.2
    grid = np.linspace(values.min() - 3 * width, values.max() + 3 * width, _GRID)
    edges = np.r_[grid - (grid[1] - grid[0]) / 2, grid[-1] + (grid[1] - grid[0]) / 2]
    counts = np.histogram(values, bins=edges)[0]
    density = np.exp(-0.5 * ((grid[:, None] - grid[None, :]) / width) ** 2) @ counts
    up = np.r_[True, density[1:] > density[:-1]]
    down = np.r_[density[1:] < density[:-1], True]
    peaks = np.flatnonzero(up & down & (density > 0.05 * density.max()))
    count, last = 1, next(iter(peaks), 0)  # a peak of two equal heights is none
    for peak in peaks[1:]:
        lower = min(density[last], density[peak])
        if density[last : peak + 1].min() < 0.8 * lower:
            count, last = count + 1, peak
        elif density[peak] > density[last]:
            last = peak
    return count


def _domains(es: EvalSet, gap: Floats, two: CorpusStatistics | None) -> dict[str, Any] | None:
    """Difference of the scores and share of segments in each domain, if there are several."""
    names = es.segments.domains
    if names is None or len(es.domains) < 2:
        return None
    labels = np.array([name or "" for name in names], dtype=object)
    known = ~np.isnan(gap)
    result = {}
    for domain in es.domains:
        here = known & (labels == domain)
        if not here.any():
            continue
        difference = float(gap[here].mean())
        if two is not None:
            one, other = two.select(segments=np.flatnonzero(here)).corpus_scores()
            difference = float(one - other)
        share = float(here.sum() / known.sum())
        result[domain] = {"difference": difference, "share": share}
    return result


def _fit(counts: WinCounts, options: RankOptions, ties: str | None = None) -> Strengths:
    ties = options.ties if ties is None else ties
    return bradley_terry(counts.wins, counts.ties, ties_as=ties, prior=options.prior)


def _order(fit: Strengths, systems: Sequence[str]) -> list[tuple[float, str]]:
    return sorted((float(r), s) for r, s in zip(fit.ranks, systems, strict=True) if not np.isnan(r))


def pairing_note(scores: Floats) -> tuple[dict[str, Any] | None, list[str]]:
    """Measure what it is worth that systems share segments , and say it.

    Medians over all pairs of systems; None for one system, for more than 300, and where scores do
    not vary.

    Examples
    --------
    >>> pairing_note(np.array([[1.0, 2.0, 3.0, 4.0], [1.0, 3.0, 2.0, 4.0]]))[1]
    ['pairing: two systems correlate by 0.80 over segments; tests without it would need 5.0 times...
    """
    if not 1 < len(scores) <= MOST_SHOWN:
        return None, []
    correlation, gain = (median(values) for values in pairing_strength(scores))
    if not np.isfinite(correlation + gain):
        return None, []
    needs = f"tests without it would need {gain:.1f} times the segments"
    told = f"pairing: two systems correlate by {correlation:.2f} over segments; {needs}"
    return {"correlation": correlation, "unpaired_needs": gain}, [told]


def _by_points(counts: WinCounts, options: RankOptions) -> bool:
    """Tell whether two treatments of ties order systems by their points, hence alike.

    Where all pairs met equally often, wins and half of the ties are all that Davidson's likelihood
    knows of a system, as with ties as half a win; and who has more of them is stronger. There is a
    finite fit of both where every system has beaten every other.
    """
    off = ~np.eye(len(counts.wins), dtype=bool)
    met = counts.met[off]
    return not options.prior and bool((met == met[:1]).all() and (counts.wins[off] > 0).all())


def tie_note(
    counts: WinCounts,
    systems: Sequence[str],
    options: RankOptions,
    fit: Strengths | None = None,
) -> list[str]:
    """Say whether the order changes under other treatments of ties.

    ``fit`` is that of the options, where it was made before.
    """
    share = counts.ties.sum() / max(counts.met.sum(), 1)
    if not share:
        return ["bt: no ties"]
    own = _order(_fit(counts, options) if fit is None else fit, systems)
    moved = []
    alike = _ALIKE if options.ties in _ALIKE and _by_points(counts, options) else (options.ties,)
    for policy in TIES:
        if policy in (*alike, "second"):
            continue
        other = _order(_fit(counts, options, policy), systems)
        if [s for _, s in other] != [s for _, s in own]:
            place = {s: r for r, s in own}
            names = [s for r, s in other if place.get(s) != r]
            if not other:
                moved.append(f"{policy} leaves nothing to rank by")
            elif names:
                moved.append(f"{policy} moves {', '.join(names[:4])}")
            else:
                lost = place.keys() - {s for _, s in other}
                moved.append(f"{policy} leaves {', '.join(sorted(lost)[:4])} without a rank")
    shown = f"bt: {100 * share:.1f} % ties, treated as {options.ties}"
    if not moved:
        return [f"{shown}; the order is the same under the other treatments"]
    return [f"{shown}; the order differs: {'; '.join(moved)}"]


def order_flips(
    counts: WinCounts,
    systems: Sequence[str],
    options: RankOptions,
    fit: Strengths | None = None,
) -> list[str]:
    """Warn where the joint ranking contradicts a pair alone, or leaving a system out flips one."""
    fit = _fit(counts, options) if fit is None else fit
    half = counts.wins + counts.ties / 2
    joint = np.sign(fit.ranks[None, :] - fit.ranks[:, None])
    alone = np.sign(half - half.T)
    against = np.triu((joint * alone < 0) | ((joint == 0) & (alone != 0)), 1)
    pairs = np.argwhere(against)
    found: list[str] = []
    for i, j in pairs[: FEW + 1]:
        first, second = (i, j) if alone[i, j] > 0 else (j, i)
        won = f"{systems[first]} beats {systems[second]} head to head"
        below = "below" if joint[i, j] else "with"
        found.append(TypedWarning(f"{won}, but ranks {below} it among all", "head-to-head"))
    found = first_few(found, len(pairs))
    if not 2 < len(systems) <= _MOST:
        return found
    flips: list[str] = []
    for out in range(len(systems)):
        rest = [i for i in range(len(systems)) if i != out]
        less = _fit(counts.within(rest), options)
        before = np.sign(fit.ranks[rest][None, :] - fit.ranks[rest][:, None])
        after = np.sign(less.ranks[None, :] - less.ranks[:, None])
        for a, b in np.argwhere(np.triu(before * after < 0, 1)):
            pair = f"{systems[rest[a]]} and {systems[rest[b]]}"
            text = f"bt: without {systems[out]}, {pair} change places"
            flips.append(TypedWarning(text, "bt-order"))
    return found + first_few(flips)
