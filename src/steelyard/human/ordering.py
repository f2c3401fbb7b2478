"""Systems in order: tests of all pairs, and the places and clusters that follow from them."""

from __future__ import annotations

from dataclasses import asdict, dataclass

import numpy as np

from steelyard.human.da import Averages
from steelyard.stats import clusters
from steelyard.stats.arrays import Counts, Floats
from steelyard.stats.paired.corrections import adjust_pairs
from steelyard.stats.paired.ranktests import rank_sum_matrix
from steelyard.stats.permutation.pvalues import pairwise_pvalues
from steelyard.stats.ranks import ranks, whole

MAX_SYSTEMS = 300  # above this, tests of all pairs take minutes and no one reads the result


@dataclass(frozen=True, slots=True)
class Ordering:
    """Systems best first (``order``: places in the input), and what the tests of pairs say.

    ``p[i, j]`` is the one-sided p-value (corrected, if so asked) that the i-th beats the j-th, None
    where nothing was tested. ``cluster`` and ``range`` hold first and last place.
    """

    order: Counts
    rank: list[int | None]
    p: Floats | None = None
    wins: list[int] | None = None
    cluster: list[tuple[int, int]] | None = None
    range: list[tuple[int, int]] | None = None


@dataclass(frozen=True, slots=True)
class Rule:
    """How systems are put into clusters: rule, test, level and correction."""

    clusters: str = "wmt"
    test: str = "rank-sum"
    alpha: float = 0.05
    correction: str = "none"

    def to_dict(self) -> dict[str, object]:
        """Give what ``--json`` prints."""
        found = asdict(self)
        return {"rule": found.pop("clusters"), **found}


def order(averages: Averages, name: str, rule: Rule) -> Ordering:
    """Order systems by the mean of a score, test all pairs, and cut the order into clusters.

    The correction counts every pair of systems once.
    """
    means = averages.means(name)
    places = ranks(means)
    # Equal means stand in the order of their names, which the systems are sorted by.
    best_first = np.argsort(places, kind="stable").astype(np.int64)
    rank = whole(places[best_first])
    if rule.clusters == "none" or not 1 < len(means) <= MAX_SYSTEMS:
        return Ordering(best_first, rank)
    if rule.test == "rank-sum":
        samples = averages.samples(name)
        p = rank_sum_matrix([samples[i] for i in best_first])
    else:
        p = pairwise_pvalues(averages.matrix(name)[best_first]).p
        np.fill_diagonal(p, np.nan)
    p = adjusted(p, rule)
    return Ordering(
        order=best_first,
        rank=rank,
        p=p,
        wins=clusters.wins(p, rule.alpha).tolist(),
        cluster=cut(p, rule),
        range=clusters.rank_ranges(p, rule.alpha),
    )


def adjusted(p: Floats, rule: Rule) -> Floats:
    """Correct p-values of all pairs for their number."""
    return adjust_pairs(p, rule.correction, symmetric=False)


def cut(p: Floats, rule: Rule) -> list[tuple[int, int]]:
    """Cut an order into clusters; gives the first and the last place of each system's."""
    if rule.clusters == "wmt":
        return clusters.wmt_clusters(p, rule.alpha)
    if rule.clusters == "strict":
        # Every system above beats every one below, by p < alpha as in the other rules.
        found = clusters.never_split_clusters(p, np.nextafter(rule.alpha, 0))
    else:
        found = clusters.neighbour_clusters(p, rule.alpha)
    return clusters.spans(found)
