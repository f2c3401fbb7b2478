"""The peer of meta-evaluation: the WMT toolkit (mt-metrics-eval), or what it does, written plainly.

The toolkit is on no package index (the package of that name is another's, and empty). Where its
path is given it is timed itself; else plain implementations of its algorithms, which take about as
long (tau-b: half of its time). What takes hours is timed for a few draws.
"""

from __future__ import annotations

import importlib
import importlib.util
import math
import sys
import types
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from beds import Bed, Floats

Task = Callable[[], Any]
DRAWS, SIGNS = 1000, 1000  # of its tests, and of its p-values
ONE_BEST = 2  # a metric of the test bed that has one best threshold; metric 1 has several
FEW = 10  # draws of a test that are timed


def sampled_p(scores: Floats) -> Floats:
    """p-values of all pairs of systems from 1,000 random sign vectors, drawn anew at every call."""
    x = scores.astype(np.float32)
    uniform = np.random.default_rng(4).random(size=(SIGNS, x.shape[1]), dtype=np.float32)
    null = (np.rint(uniform) * 2 - 1) @ x.T
    total = x.sum(axis=1)
    p = np.ones((len(x), len(x)))
    for i in range(len(x)):
        for j in range(i + 1, len(x)):
            p[i, j] = np.count_nonzero(null[:, i] - null[:, j] >= total[i] - total[j]) / SIGNS
    return p


def sampled_spa(human: Floats, metric: Floats) -> float:
    """Soft pairwise accuracy; the human p-values are computed again for every metric."""
    upper = np.triu_indices(len(human), 1)
    return float(1 - np.abs(sampled_p(human) - sampled_p(metric))[upper].mean())


def spa_table(bed: Bed) -> list[float]:
    return [sampled_spa(bed.human, metric) for metric in bed.metrics]


def swap_once(
    statistic: Callable[[Floats, Floats], float], human: Floats, one: Floats, other: Floats
) -> float:
    """One draw of a test: swap cells of two standardised metrics at random, evaluate both."""
    a, b = ((x - x.mean()) / x.std() for x in (one, other))
    swap = np.random.default_rng().random(a.shape) < 0.5
    return statistic(human, np.where(swap, b, a)) - statistic(human, np.where(swap, a, b))


def plain_tau(human: Floats, metric: Floats) -> float:
    """Kendall's tau-b of the systems on each segment: sorted, then counted in a Fenwick tree."""
    values = []
    for h, m in zip(human.T, metric.T, strict=True):
        own, other = (np.unique(x, return_inverse=True)[1] + 1 for x in (h, m))
        ranks = own[np.lexsort((own, other))]
        tree = np.zeros(len(h) + 1, dtype=int)
        against = 0
        for seen, rank in enumerate(ranks):
            place = rank
            against += seen
            while place:
                against -= tree[place]
                place &= place - 1
            place = rank
            while place < len(tree):
                tree[place] += 1
                place += place & -place
        pairs = math.comb(len(h), 2)
        tied_h, tied_m, both = map(tied_pairs, (own, other, own * len(tree) + other))
        room = (pairs - tied_h) * (pairs - tied_m)
        if room:
            score = pairs - tied_h - tied_m + both - 2 * against
            values.append(score / math.sqrt(room))
    return float(np.mean(values))


def tied_pairs(codes: NDArray[np.int64]) -> int:
    counts = np.bincount(codes)
    return int((counts * (counts - 1) // 2).sum())


class Tally:
    """How many pairs are in order, against it, tied by people, by the metric, or by both."""

    def __init__(self, kind: int | None = None) -> None:
        self.counts = [int(kind == i) for i in range(5)]

    def move(self, other: Tally, sign: int) -> None:
        for i, count in enumerate(other.counts):
            self.counts[i] += sign * count

    def accuracy(self) -> float:
        return (self.counts[0] + self.counts[4]) / sum(self.counts)


class Pair:
    """A pair of systems on a segment: what it counts as, and as what if the metric ties it."""

    def __init__(self, group: int, h: float, m: float) -> None:
        self.group, self.size = group, abs(m)
        self.now = Tally(4 if h == m == 0 else 2 if h == 0 else 3 if m == 0 else int(h * m < 0))
        self.tied = Tally(4 if h == 0 else 3)


def plain_calibration(human: Floats, metric: Floats) -> float:
    """Accuracy with the best tie threshold: an object per pair, sorted, then one running mean."""
    pairs, groups = [], []
    for group, (h, m) in enumerate(zip(human.T.tolist(), metric.T.tolist(), strict=True)):
        groups.append(Tally())
        for i in range(len(h)):
            for j in range(i + 1, len(h)):
                pairs.append(Pair(group, h[i] - h[j], m[i] - m[j]))
                groups[group].move(pairs[-1].now, 1)
    pairs.sort(key=lambda pair: pair.size)
    total = sum(group.accuracy() for group in groups)
    curve = {0.0: total}
    for pair in pairs:
        own = groups[pair.group]
        total -= own.accuracy()
        own.move(pair.now, -1)
        own.move(pair.tied, 1)
        total += own.accuracy()
        curve[pair.size] = total
    return max(curve.values()) / len(groups)


def bootstrap_once(bed: Bed) -> list[float]:
    """One replicate: draw segments, compute all p-values again (those of people once)."""
    chosen = np.random.default_rng().integers(0, bed.shape[2], bed.shape[2])
    upper = np.triu_indices(bed.shape[1], 1)
    human = sampled_p(bed.human[:, chosen])[upper]
    return [float(1 - np.abs(sampled_p(m[:, chosen])[upper] - human).mean()) for m in bed.metrics]


# ------------------------------------------------------------------------------- as rows take it


def peer(path: Path | None, bed: Bed) -> tuple[str, dict[str, tuple[Task, int]]]:
    """Name the peer, and give what it does with a bed, by row: a task, and how many draws it is."""
    if path is None:
        return "MTME's algorithm", plain_tasks(bed)
    return "MTME", toolkit_tasks(path, bed)


def plain_tasks(bed: Bed) -> dict[str, tuple[Task, int]]:
    """What is written above."""
    h, m = bed.human, bed.metrics
    return {
        "spa": (partial(spa_table, bed), 1),
        "test-spa": (partial(swap_once, sampled_spa, h, m[0], m[1]), 1),
        "tau": (partial(plain_tau, h, m[1]), 1),
        "calibration": (partial(plain_calibration, h, m[ONE_BEST]), 1),
        "calibration-several": (partial(plain_calibration, h, m[1]), 1),
        "bootstrap": (partial(bootstrap_once, bed), 1),
    }


def toolkit_tasks(path: Path, bed: Bed) -> dict[str, tuple[Task, int]]:
    """What the toolkit itself does, from a checkout."""
    if not (path / "mt_metrics_eval").is_dir():
        raise SystemExit(f"error: {path}: no checkout of mt-metrics-eval")
    sys.path.insert(0, str(path))
    if importlib.util.find_spec("apache_beam") is None:
        sys.modules["apache_beam"] = types.ModuleType("apache_beam")  # wanted by one option only
    stats = importlib.import_module("mt_metrics_eval.stats")
    signs = importlib.import_module("mt_metrics_eval.pce").compute_pairwise_p_values
    n = bed.shape[1]
    human = bed.human.reshape(-1).tolist()
    lists = [metric.reshape(-1).tolist() for metric in bed.metrics[:3]]
    segments = [stats.Correlation(n, human, own) for own in lists[:2]]
    never = stats.PermutationSigDiffParams(block_size=10**9)
    own_spa = partial(stats.PairwiseConfidenceError, num_sys=n)

    def table() -> None:
        for metric in bed.metrics:
            signs(bed.human, num_permutations=SIGNS)
            signs(metric, num_permutations=SIGNS)

    def replicate() -> None:
        chosen = np.random.default_rng().integers(0, bed.shape[2], bed.shape[2])
        for scores in (bed.human, *bed.metrics):
            signs(scores[:, chosen], num_permutations=SIGNS)

    ties = stats.KendallWithTiesOpt
    return {
        "spa": (table, 1),
        "test-spa": (
            partial(stats.PermutationSigDiff, *segments, own_spa, "none", FEW, never),
            FEW,
        ),
        "tau": (partial(segments[1].KendallVariants, "item", "b"), 1),
        "calibration": (partial(ties, human, lists[ONE_BEST], "acc23", n, "item", 1.0), 1),
        "calibration-several": (partial(ties, human, lists[1], "acc23", n, "item", 1.0), 1),
        "bootstrap": (replicate, 1),
    }
