"""Why rankings disagree on two systems, and what their pairing is worth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from steelyard.comparison.rankings import Sample
from steelyard.comparison.results import MOST_SHOWN, Ranked
from steelyard.core.warnings import TypedWarning, code_of
from steelyard.data.evalset import EvalSet
from steelyard.stats.arrays import Floats, median
from steelyard.stats.permutation.corpus import CorpusStatistics, pseudo_values
from steelyard.stats.spread import pairing_strength
from steelyard.stats.strength.wins import WinCounts

_NAMED = 5  # segments, or warnings of a kind, that are listed at most


def disagreements(
    es: EvalSet, data: Sample, rankings: Mapping[str, Ranked]
) -> list[dict[str, Any]]:
    """Explain the pairs that averages and Bradley-Terry order differently; of 300 systems at most.

    Each has the segments that sway the mean.
    """
    names = [name for name in ("mean", "sentence-mean", "median", "bt") if name in rankings]
    if not names or len(data.systems) > MOST_SHOWN:
        return []
    ahead = np.stack([_ahead(rankings[name]) for name in names])
    apart = np.triu((ahead > 0).any(axis=0) & (ahead < 0).any(axis=0), 1)
    return [
        _explain(es, data, (i, j), dict(zip(names, ahead[:, i, j].tolist(), strict=True)))
        for i, j in np.argwhere(apart).tolist()
    ]


def _ahead(ranking: Ranked) -> Floats:
    """1 where the row ranks above the column, -1 below, 0 where neither (or unknown)."""
    return np.nan_to_num(np.sign(ranking.ranks[None, :] - ranking.ranks[:, None]))


def _explain(
    es: EvalSet, data: Sample, pair: tuple[int, int], signs: dict[str, int]
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
    }


def swaying_segments(gap: Floats) -> list[int]:
    """Fewest segments whose removal turns the sign of the mean difference, largest first.

    Examples
    --------
    >>> swaying_segments(np.array([-1.0, -1.0, 5.0, -1.0]))
    [2]
    """
    present = np.flatnonzero(~np.isnan(gap))
    total = float(gap[present].sum())
    if total == 0:
        return []
    side = np.sign(total)
    leading = present[np.sign(gap[present]) == side]
    order = leading[np.argsort(-np.abs(gap[leading]), kind="stable")]
    left = total - np.cumsum(gap[order])
    turned = np.flatnonzero(np.sign(left) != side)
    return [int(k) for k in order[: int(turned[0]) + 1]] if turned.size else []


def swaying_corpus(stats: CorpusStatistics) -> list[int]:
    """Few segments whose removal turns which of two systems has the higher corpus score.

    Segments are left out one after the other, those that add most to the lead first.
    """
    shared = np.flatnonzero(stats.known.all(axis=0))
    both = stats.select(segments=shared)
    side = np.sign(np.subtract(*both.corpus_scores()))
    if not side:
        return []
    pull = side * np.subtract(*pseudo_values(both))
    order = np.argsort(-pull, kind="stable")[: max(0, len(shared) - 1)]
    sums = both.values.sum(axis=1, keepdims=True) - np.cumsum(both.values[:, order], axis=1)
    left = both.combine(sums)
    turned = np.flatnonzero(np.sign(left[0] - left[1]) == -side)
    return [int(shared[k]) for k in order[: int(turned[0]) + 1]] if turned.size else []


def pairing_note(scores: Floats) -> tuple[dict[str, Any] | None, list[str]]:
    """Measure what it is worth that systems share segments, and say it.

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
    text = f"pairing does not help here (r = {correlation:.2f})"
    if gain > 1:
        needs = f"tests without it would need {gain:.1f} times the segments"
        text = f"pairing: two systems correlate by {correlation:.2f} over segments; {needs}"
    return {"correlation": correlation, "unpaired_needs": gain}, [text]


def tie_note(counts: WinCounts, ties: str) -> str:
    """Return the share of ties, and what Bradley-Terry does with them."""
    share = counts.ties.sum() / max(counts.met.sum(), 1)
    return f"bt: {100 * share:.1f}% ties, treated as {ties}" if share else "bt: no ties"


def head_to_head(counts: WinCounts, systems: Sequence[str], ranks: Floats) -> list[str]:
    """Warn where the joint ranking by Bradley-Terry contradicts a pair alone."""
    half = counts.wins + counts.ties / 2
    joint = np.sign(ranks[None, :] - ranks[:, None])
    alone = np.sign(half - half.T)
    against = np.triu((joint * alone < 0) | ((joint == 0) & (alone != 0)), 1)
    warnings = []
    for i, j in np.argwhere(against):
        first, second = (i, j) if alone[i, j] > 0 else (j, i)
        won = f"{systems[first]} beats {systems[second]} head to head"
        below = "below" if joint[i, j] else "with"
        warnings.append(TypedWarning(f"{won}, but ranks {below} it among all", "head-to-head"))
    return first_few(warnings)


def first_few(warnings: Sequence[str]) -> list[str]:
    """Keep a list of like warnings short.

    >>> first_few(list("abcdefg"))
    ['a', 'b', 'c', 'd', 'e (and 2 more of this kind)']
    """
    more = len(warnings) - _NAMED
    if more <= 0:
        return list(warnings)
    last = warnings[_NAMED - 1]
    text = f"{last} (and {more:,} more of this kind)"
    return [*warnings[: _NAMED - 1], TypedWarning(text, code_of(last))]
