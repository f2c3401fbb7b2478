"""Whether fast p-values are right: against plain sums over the null, and against sampled ones."""

from __future__ import annotations

import math
from functools import cache

import numpy as np

from beds import Bed, Floats
from mtme import sampled_p

PAIRS = 6  # of systems, for each score that is looked at
TOLERANCE = 1e-6  # noise-free p-values may be this far from the exact ones


def how_exact(bed: Bed, method: str = "exact") -> str:
    """Compare p-values with plain sums: of people and of some metrics, one of whole numbers."""
    from steelyard.stats.permutation.pvalues import pairwise_pvalues

    worst = bound = 0.0
    for which, truth in true_p(bed).items():
        found = pairwise_pvalues(bed.human if which < 0 else bed.metrics[which], method=method)
        own = [found.p[pair] for pair in truth]
        worst = max(worst, float(np.abs(np.subtract(own, list(truth.values()))).max()))
        bound = max(bound, found.error)
    verdict = "error" if worst <= TOLERANCE else "error beyond 1e-6:"
    return f"{verdict} {worst:.0e}, stated {bound:.0e}"


@cache
def true_p(bed: Bed) -> dict[int, dict[tuple[int, int], float]]:
    """By metric (-1: people), the p-values of some pairs of systems; a sum takes about a second."""
    i, j = np.triu_indices(len(bed.human), 1)
    some = np.linspace(0, len(i) - 1, min(len(i), PAIRS)).astype(int)
    pairs = list(zip(i[some].tolist(), j[some].tolist(), strict=True))
    found = {}
    for which in (-1, 0, 1, min(3, len(bed.metrics) - 1)):
        scores = bed.human if which < 0 else bed.metrics[which]
        found[which] = {(a, b): slow_p(scores[a] - scores[b]) for a, b in pairs}
    return found


def stated(bed: Bed) -> str:
    """The largest error that p-values of a bed state."""
    from steelyard.stats.permutation.pvalues import pairwise_pvalues

    bound = max(pairwise_pvalues(scores).error for scores in (bed.human, *bed.metrics))
    return f"error of a p-value stated: {bound:.0e}"


def same_as_sampled(bed: Bed) -> str:
    """Compare with the toolkit's draws, of which there may be no other."""
    from steelyard.stats.permutation.pvalues import pairwise_pvalues

    for metric in bed.metrics:
        upper = np.triu_indices(len(metric), 1)
        found = pairwise_pvalues(metric, method="mtme").p[upper]
        np.testing.assert_array_equal(found, sampled_p(metric)[upper])
    return "p-values equal the peer's bit for bit"


def slow_p(gap: Floats) -> float:
    """Mid-p of one pair: by adding up the null step by step on tenths, else by its transform."""
    tenths = np.rint(gap * 10)
    t = gap.sum()
    deviation = math.sqrt((gap * gap).sum())
    if deviation == 0 or np.abs(tenths - gap * 10).max() < 1e-6:
        steps = np.abs(tenths).astype(int)
        reach = min(int(steps.sum()), math.ceil(85 * deviation))
        null = np.zeros(2 * reach + 1)
        null[reach] = 1
        for step in steps[steps > 0]:
            moved = np.zeros_like(null)
            moved[step:] = null[:-step]
            moved[:-step] += null[step:]
            null = moved / 2
        place = reach + int(tenths.sum())
        if not 0 <= place < len(null):
            return float(t < 0)
        return float(null[place + 1 :].sum() + null[place] / 2)
    half = math.pi / (abs(t) + 8.5 * deviation)
    odd = np.arange(1, 160, 2)
    products = np.prod(np.cos(np.outer(odd * half, gap)), axis=1)
    return float(0.5 - 2 / math.pi * (products * np.sin(odd * half * t) / odd).sum())
