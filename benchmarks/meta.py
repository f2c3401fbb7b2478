"""How fast metrics are weighed: CPU time against the WMT toolkit's algorithms, in the same run.

    python benchmarks/meta.py [--quick] [--json] [--only spa,tau] [--peer CHECKOUT]

The test bed is made here, in the shape of WMT22 en-de: 14 systems x 1,315 segments, a human score
like MQM and 21 metrics. Baselines are plain implementations of what the toolkit does; where one
takes hours, a few draws of it are timed and multiplied. With ``--peer`` the toolkit itself (a
checkout of google-research/mt-metrics-eval) is timed as well. One BLAS thread, best of several.
"""
# ruff: noqa: E402 - BLAS looks for its number of threads when numpy is imported

from __future__ import annotations

import os

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_name] = "1"

import argparse
import cProfile
import importlib
import importlib.util
import json
import math
import pstats
import sys
import time
import tracemalloc
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import steelyard as sy
from steelyard.core.table import Column, Table
from steelyard.stats.kendall.calibration import Calibration, calibrate
from steelyard.stats.kendall.counting import count_pairs
from steelyard.stats.metametrics.accuracy import null_spa, soft_agreement
from steelyard.stats.metametrics.base import TieRules
from steelyard.stats.metametrics.catalogue import metametric
from steelyard.stats.metametrics.swapping import Swaps, compare_verdicts
from steelyard.stats.permutation.pvalues import SignFlips, pairwise_pvalues, stacked_pvalues
from steelyard.stats.resampling import bootstrap

Floats = NDArray[np.float64]
Task = Callable[[], Any]
SYSTEMS, SEGMENTS, METRICS, DRAWS, SIGNS = 14, 1315, 21, 1000, 1000
TOLERANCE = 1e-6  # noise-free p-values may be this far from the exact ones


# ---------------------------------------------------------------------------------- the test bed


@dataclass(frozen=True)
class Bed:
    """A simulated test set: human scores and metrics x systems x segments."""

    human: Floats
    metrics: Floats

    @property
    def shape(self) -> tuple[int, int, int]:
        return self.metrics.shape  # type: ignore[return-value]

    @property
    def n_pairs(self) -> int:
        """Pairs of metrics."""
        return math.comb(len(self.metrics), 2)

    @cached_property
    def p_human(self) -> Floats:
        return pairwise_pvalues(self.human).p

    @cached_property
    def truth(self) -> list[tuple[Floats, Floats]]:
        """The human score and some metrics (one of them whole numbers), with their p-values."""
        found = []
        for scores in (self.human, *self.metrics[[0, 1, min(3, len(self.metrics) - 1)]]):
            p = np.full((len(scores), len(scores)), 0.5)
            for i, j in zip(*np.triu_indices(len(scores), 1), strict=True):
                p[i, j] = slow_p(scores[i] - scores[j])
                p[j, i] = 1 - p[i, j]
            found.append((scores, p))
        return found

    @cached_property
    def evalset(self) -> sy.EvalSet:
        _, systems, segments = self.shape
        scores = {f"m{i:02d}": sy.ScoreTable(x) for i, x in enumerate(self.metrics)}
        scores["mqm"] = sy.ScoreTable(self.human, kind="human")
        names = tuple(f"s{i:02d}" for i in range(systems))
        return sy.EvalSet(names, sy.Segments(tuple(str(i) for i in range(segments))), scores)


def make_bed(systems: int, segments: int, metrics: int) -> Bed:
    """Make scores like MQM (61 % zeros, tenths, at least -25) and metrics that see through noise.

    Every seventh metric gives whole numbers from 0 to 100, as an LLM judge does.
    """
    rng = np.random.default_rng(0)
    hard = rng.normal(size=segments)
    flaw = 0.9 * hard + rng.normal(0, 0.22, (systems, 1)) + rng.normal(0, 0.9, (systems, segments))
    minor, major = (rng.poisson(np.exp(a + b * flaw)) for a, b in ((-1.3, 0.85), (-2.7, 1.05)))
    marks = rng.poisson(0.06, flaw.shape)
    human = np.round(np.maximum(-(minor + 5.0 * major + 0.1 * marks), -25), 1) + 0.0
    views = []
    for i, sight in enumerate(np.linspace(0.25, 0.85, metrics)):
        noise = math.sqrt(1 - sight**2) * rng.normal(size=flaw.shape)
        view = noise - sight * flaw - 0.3 * hard + rng.normal(0, 0.1, (systems, 1))
        share = 1 / (1 + np.exp(-view))
        views.append(np.round(100 * share) if i % 7 == 3 else view if i % 3 else share)
    return Bed(human, np.stack(views))


# --------------------------------------------- baselines: what the toolkit does, written plainly


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


def plain_accuracy(human: Floats, metric: Floats) -> float:
    agree = total = 0
    for i in range(len(human)):
        for j in range(i + 1, len(human)):
            agree += np.sign(human[i] - human[j]) == np.sign(metric[i] - metric[j])
            total += 1
    return agree / total


def library_pearson(human: Floats, metric: Floats) -> float:
    from scipy.stats import pearsonr

    return float(pearsonr(human, metric).statistic)


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


def pair_swap_once(human: Floats, one: Floats, other: Floats, epsilons: Floats) -> int:
    """One draw of the test that swaps verdicts on pairs, one segment after the other."""
    rng = np.random.default_rng()
    difference = 0
    for h, a, b in zip(human.T, one.T, other.T, strict=True):
        order = np.sign(np.subtract.outer(h, h))
        first, second = (np.subtract.outer(x, x) for x in (a, b))
        first[np.abs(first) <= epsilons[0]] = 0
        second[np.abs(second) <= epsilons[1]] = 0
        swap = np.triu(rng.random(order.shape) < 0.5, 1)
        swap |= swap.T
        upper = np.triu_indices(len(h), 1)
        mine = np.sign(np.where(swap, second, first)) == order
        theirs = np.sign(np.where(swap, first, second)) == order
        difference += np.count_nonzero(mine[upper]) - np.count_nonzero(theirs[upper])
    return difference


def bootstrap_once(bed: Bed) -> list[float]:
    """One replicate: draw segments, compute all p-values again (those of people once)."""
    chosen = np.random.default_rng().integers(0, bed.shape[2], bed.shape[2])
    upper = np.triu_indices(bed.shape[1], 1)
    human = sampled_p(bed.human[:, chosen])[upper]
    return [float(1 - np.abs(sampled_p(m[:, chosen])[upper] - human).mean()) for m in bed.metrics]


# -------------------------------------------------------------------------------- what is timed


@dataclass(frozen=True)
class Case:
    """A task, its baseline (timed once, counted ``times`` times) and ours; and what is wanted."""

    key: str
    task: str
    baseline: Task
    ours: Task
    times: int = 1  # how often the baseline is repeated in the whole task
    target: float | None = None  # least ratio
    limit: float | None = None  # most CPU seconds
    megabytes: float | None = None  # most memory
    check: Task | None = None  # a remark on the answer; raises if it is wrong


def our_spa(bed: Bed, method: str) -> list[float]:
    human, *metrics = stacked_pvalues([bed.human, *bed.metrics], SignFlips(method=method))
    return [soft_agreement(human.p, metric.p).value for metric in metrics]


def how_exact(bed: Bed, method: str) -> str:
    """Compare p-values with plain sums over the null: how far off they are, and how they came."""
    worst, bound, ways = 0.0, 0.0, set()
    for scores, truth in bed.truth:
        found = pairwise_pvalues(scores, method=method)
        worst = max(worst, float(np.abs(found.p - truth).max()))
        bound = max(bound, found.error)
        ways.add(found.how)
    verdict = "noise-free to 1e-6" if worst <= TOLERANCE else "noise-free, but not to 1e-6"
    return f"{verdict}: largest error {worst:.1e}, stated {bound:.1e} ({', '.join(sorted(ways))})"


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


def same_as_sampled(bed: Bed) -> str:
    for metric in bed.metrics:
        upper = np.triu_indices(len(metric), 1)
        found = pairwise_pvalues(metric, method="mtme").p[upper]
        np.testing.assert_array_equal(found, sampled_p(metric)[upper])
    return "p-values equal the baseline's bit for bit"


def our_test(bed: Bed, by: str) -> Any:
    """What ``steelyard meta --significance`` does: values, tests, clusters."""
    options = {"level": "sys", "n_resamples": DRAWS, "intervals": None}
    return sy.meta_evaluate(bed.evalset, "mqm", by=by, significance=True, **options)


def our_tau(bed: Bed) -> float:
    tau = metametric("kendall-b")
    return tau.groups(bed.human, bed.metrics[1], "item", TieRules()).mean


def our_bootstrap(bed: Bed) -> Floats:
    counts = bootstrap.segment_counts(DRAWS, bed.shape[2], np.random.default_rng(0))
    return bootstrap.bootstrap_spa(bed.human, bed.metrics, segments=counts)


def close(ours: float, baseline: float, tolerance: float = 1e-9) -> str | None:
    if not math.isclose(ours, baseline, abs_tol=tolerance):
        raise SystemExit(f"ours gives {ours}, the baseline {baseline}")
    return None


def cases(bed: Bed) -> Iterator[Case]:
    """All tasks that there is something to time for."""
    h, m = bed.human, bed.metrics
    n_metrics = len(m)
    # Edgeworth's expansion is what the target is about; exact lattices cost more.
    for method, target in (("exact", 15), ("analytic", 40)):
        yield Case(
            "spa",
            f"SPA of {n_metrics} metrics, {method}",
            partial(spa_table, bed),
            partial(our_spa, bed, method),
            target=target,
            check=partial(how_exact, bed, method),
        )
    yield Case(
        "spa-mtme",
        f"SPA of {n_metrics} metrics, mtme",
        partial(spa_table, bed),
        partial(our_spa, bed, "mtme"),
        target=12,
        check=partial(same_as_sampled, bed),
    )
    for scheme, target, limit in (("inputs", 8000, 1.5), ("cells", 1500, 5.0)):
        yield Case(
            f"test-spa-{scheme}",
            f"SPA significance, {bed.n_pairs} pairs, {scheme}",
            partial(swap_once, sampled_spa, h, m[0], m[1]),
            partial(
                lambda scheme: null_spa(
                    bed.p_human, m, Swaps(scheme=scheme, n=DRAWS, rng=np.random.default_rng(0))
                ).compare(),
                scheme,
            ),
            times=bed.n_pairs * DRAWS,
            target=target,
            limit=limit,
        )
    for by, statistic in (("pa", plain_accuracy), ("pearson", library_pearson)):
        yield Case(
            f"test-{by}",
            f"{by} significance, {bed.n_pairs} pairs, inputs",
            partial(swap_once, statistic, h.mean(axis=1), m[0].mean(axis=1), m[1].mean(axis=1)),
            partial(our_test, bed, by),
            times=bed.n_pairs * DRAWS,
        )
    yield Case(
        "tau",
        "tau-b by item, one metric",
        partial(plain_tau, h, m[1]),
        partial(our_tau, bed),
        target=250,
        check=lambda: close(our_tau(bed), plain_tau(h, m[1])),
    )
    yield from calibration_cases(bed)
    epsilons = np.array([calibrate(h, x).epsilon for x in m])
    right = verdicts(bed, epsilons)
    yield Case(
        "test-pairs",
        f"acc-eq significance, {bed.n_pairs} pairs, verdicts",
        partial(pair_swap_once, h, m[0], m[1], epsilons),
        partial(compare_verdicts, right),
        times=bed.n_pairs * DRAWS,
        target=1e6,
    )
    yield Case(
        "bootstrap",
        f"SPA of {n_metrics} metrics, bootstrap of segments",
        partial(bootstrap_once, bed),
        partial(our_bootstrap, bed),
        times=DRAWS,
        target=400,
    )
    yield from front_door_cases(bed)


def ask(es: sy.EvalSet, by: str, **options: Any) -> Any:
    """What a user calls."""
    return sy.meta_evaluate(es, "mqm", by=by, **{"intervals": None, **options})


def dominated(task: Task, most: int = 3) -> str:
    """Say which functions take most of a task, by themselves."""
    profile = cProfile.Profile(time.process_time)
    profile.runcall(task)
    found = [
        (own[2], f"{Path(file).stem}.{name}")
        for (file, _, name), own in pstats.Stats(profile).stats.items()  # type: ignore[attr-defined]
        if "steelyard" in file
    ]
    whole = sum(own[2] for own in pstats.Stats(profile).stats.values()) or 1.0  # type: ignore[attr-defined]
    shown = [
        f"{name} {100 * spent / whole:.0f} %" for spent, name in sorted(found)[: -most - 1 : -1]
    ]
    return f"dominated by {', '.join(shown)}"


def front_door_cases(bed: Bed) -> Iterator[Case]:
    """The same through ``sy.meta_evaluate``: what is looked at and noted on the way counts, too."""
    h, m = bed.human, bed.metrics
    single = next((k for k, own in enumerate(m) if _one_best(calibrate(h, own))), 0)
    chosen = {"metrics": [f"m{single:02d}"]}
    by_item = {"level": "seg", "group_by": "item", **chosen}
    drawn = {"intervals": "unit", "n_bootstrap": DRAWS}
    rows: tuple[tuple[str, Task, str, dict[str, Any], int, float], ...] = (
        ("spa", partial(spa_table, bed), "spa", {}, 1, 40),
        ("tau", partial(plain_tau, h, m[single]), "kendall-b", by_item, 1, 200),
        ("calibration", partial(plain_calibration, h, m[single]), "acc-eq", chosen, 1, 200),
        ("bootstrap", partial(bootstrap_once, bed), "spa", drawn, DRAWS, 500),
    )
    for key, baseline, by, options, times, target in rows:
        ours = partial(ask, bed.evalset, by, **options)
        task = f"meta_evaluate, {key}"
        yield Case(
            f"api-{key}", task, baseline, ours, times, target, check=partial(dominated, ours)
        )
    real = real_set()
    if real is not None:
        es, own = real
        ours = partial(ask, es, "spa", metrics=["*-refA", "*-src"])
        yield Case(
            "api-real",
            f"meta_evaluate, WMT23 zh-en, {len(own.metrics)} metrics",
            partial(spa_table, own),
            ours,
            target=10,
            check=lambda: f"error at most {real_error(own):.0e}; {dominated(ours)}",
        )


def real_set() -> tuple[sy.EvalSet, Bed] | None:
    """WMT23 zh-en, where it is at hand: the set, and the arrays that the toolkit would see."""
    folder = Path(os.environ.get("STEELYARD_SHARED", "../shared")) / "data" / "wmt23-metrics"
    files = [folder / f"zh-en.{name}.csv.gz" for name in ("human", "metrics.seg")]
    if not all(file.exists() for file in files):
        return None
    es = sy.load(*files)
    kept = es.drop(systems=["refA", "synthetic_ref"])
    judged = ~np.isnan(kept["mqm"].values).any(axis=0)
    names = [name for name in kept.metrics if name.endswith(("-refA", "-src"))]
    cube = np.stack([np.ascontiguousarray(kept[name].values[:, judged]) for name in names])
    return es, Bed(np.ascontiguousarray(kept["mqm"].values[:, judged]), cube)


def real_error(bed: Bed) -> float:
    """The largest error that is stated of any p-value."""
    return max(own.error for own in stacked_pvalues([bed.human, *bed.metrics]))


def _one_best(found: Calibration) -> bool:
    return int((found.values == found.value).sum()) == 1


def _same_value(human: Floats, metric: Floats) -> str | None:
    return close(calibrate(human, metric).value, plain_calibration(human, metric))


def calibration_cases(bed: Bed) -> Iterator[Case]:
    h = bed.human
    # Among equally good thresholds the toolkit's rounding decides; replaying it costs more than
    # all the rest.
    for alone, label in ((True, "one best threshold"), (False, "several: the toolkit's choice")):
        found = [m for m in bed.metrics if _one_best(calibrate(h, m)) is alone]
        if found:
            yield Case(
                "calibration" if alone else "calibration-several",
                f"acc-eq with calibration by item, {label}",
                partial(plain_calibration, h, found[0]),
                partial(calibrate, h, found[0]),
                target=200 if alone else None,
                check=partial(_same_value, h, found[0]),
            )
    flat, own = h.reshape(-1, 1), bed.metrics[1].reshape(-1, 1)
    few = min(len(flat), 1000)
    some = np.linspace(0, len(flat) - 1, few).astype(int)
    yield Case(
        "calibration-none",
        f"acc-eq with calibration, {len(flat)} cells",
        partial(plain_calibration, flat[some], own[some]),
        partial(calibrate, flat, own),
        times=math.comb(len(flat), 2) // math.comb(few, 2),
        limit=3.0,
        megabytes=500,
    )


def verdicts(bed: Bed, epsilons: Floats) -> NDArray[np.bool_]:
    """Tell which pairs of systems on which segments each metric gets right."""
    i, j = np.triu_indices(bed.shape[1], 1)
    order = np.sign(bed.human[i] - bed.human[j])
    found = []
    for metric, epsilon in zip(bed.metrics, epsilons, strict=True):
        gap = metric[i] - metric[j]
        found.append(np.where(np.abs(gap) <= epsilon, 0, np.sign(gap)) == order)
        counts = count_pairs(bed.human, metric, epsilon=float(epsilon))
        assert int(found[-1].sum()) == int((counts.concordant + counts.both_ties).sum())
    return np.stack(found).reshape(len(bed.metrics), -1)


# ---------------------------------------------------------------------------------- the toolkit


def peer_tasks(path: Path, bed: Bed) -> dict[str, tuple[Task, int]]:
    """What the toolkit itself does, and how many draws that is, from a checkout."""
    sys.path.insert(0, str(path))
    if importlib.util.find_spec("mt_metrics_eval") is None:
        sys.path.remove(str(path))
        raise SystemExit(f"error: {path}: no checkout of mt-metrics-eval")
    if importlib.util.find_spec("apache_beam") is None:
        sys.modules["apache_beam"] = types.ModuleType("apache_beam")  # wanted by one option only
    stats = importlib.import_module("mt_metrics_eval.stats")
    signs = importlib.import_module("mt_metrics_eval.pce").compute_pairwise_p_values
    from scipy.stats import pearsonr

    n, few = bed.shape[1], 10
    human = bed.human.reshape(-1).tolist()
    lists = [metric.reshape(-1).tolist() for metric in bed.metrics[:2]]
    segments = [stats.Correlation(n, human, own) for own in lists]
    means = [x.mean(axis=1).tolist() for x in (bed.human, *bed.metrics[:2])]
    systems = [stats.Correlation(n, means[0], own) for own in means[1:]]
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

    swap, swap_pairs = stats.PermutationSigDiff, stats.PairwisePermutationSigDiff
    test = partial(swap, *segments, own_spa, "none", few, never)
    return {
        "spa": (table, 1),
        "spa-mtme": (table, 1),
        "test-spa-inputs": (test, few),
        "test-spa-cells": (test, few),
        "test-pearson": (partial(swap, *systems, pearsonr, "none", few, never), few),
        "tau": (partial(segments[1].KendallVariants, "item", "b"), 1),
        "calibration": (
            partial(stats.KendallWithTiesOpt, human, lists[1], "acc23", n, "item", 1.0),
            1,
        ),
        "test-pairs": (
            partial(swap_pairs, *segments, "acc23", "item", few, never, 0.1, 0.1),
            few,
        ),
        "bootstrap": (replicate, 1),
    }


# --------------------------------------------------------------------------------------- timing


def cpu(task: Task) -> float:
    start = time.process_time()
    task()
    return time.process_time() - start


def race(slow: Task, fast: Task, rounds: int) -> tuple[float, float]:
    """Best CPU seconds of both, in turns, so that both see the same machine."""
    fast()  # imports and caches
    slows, fasts = [], []
    for _ in range(rounds):
        slows.append(cpu(slow))
        spent = 0.0
        while spent < min(0.1, slows[-1]) or not spent:
            fasts.append(cpu(fast))
            spent += fasts[-1]
    return min(slows), min(fasts)


def peak_megabytes(task: Task) -> float:
    tracemalloc.start()
    task()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / 1e6


def measure(
    case: Case, rounds: int, peer: tuple[Task, int] | None, *, full: bool
) -> dict[str, Any]:
    """Time a case; its targets hold for the full test bed only."""
    slow, fast = race(case.baseline, case.ours, rounds)
    memory = peak_megabytes(case.ours) if case.megabytes else None
    theirs = None
    if peer is not None:
        theirs = min(cpu(peer[0]) for _ in range(rounds)) * case.times / peer[1]
    ratio = slow * case.times / fast
    goals = {}
    if case.target:
        goals[f">= {case.target:,.0f}x"] = ratio >= case.target
    if case.limit:
        goals[f"< {case.limit:g} s"] = fast < case.limit
    if case.megabytes:
        goals[f"< {case.megabytes:g} MB"] = memory is not None and memory < case.megabytes
    return {
        "task": case.task,
        "baseline": slow * case.times,
        "extrapolated_from_one_of": case.times if case.times > 1 else None,
        "ours": fast,
        "ratio": ratio,
        "peer": theirs,
        "peer_ratio": None if theirs is None else theirs / fast,
        "target": ", ".join(goals) if full and goals else None,
        "met": all(goals.values()) if full and goals else None,
        "megabytes": memory,
        "remark": case.check() if case.check else None,
    }


def show(rows: list[dict[str, Any]], bed: Bed, peer: Path | None) -> str:
    metrics, systems, segments = bed.shape
    columns = [Column("task"), Column("baseline s", mixed=True), Column("ours s", mixed=True)]
    columns += [Column("ratio", mixed=True), Column("target"), Column("met")]
    if peer is not None:
        columns += [Column("peer s", mixed=True), Column("peer ratio", mixed=True)]
    body, notes = [], [f"peer: {'not given' if peer is None else peer}"]
    for row in rows:
        times = row["extrapolated_from_one_of"]
        name = row["task"] + (" (extrapolated)" if times else "")
        met = None if row["met"] is None else "yes" if row["met"] else "no"
        cells = (name, row["baseline"], row["ours"], row["ratio"], row["target"], met)
        body.append((*cells, row["peer"], row["peer_ratio"])[: len(columns)])
        if times:
            notes.append(f"{row['task']}: one draw of {times:,} of the baseline was timed")
        if row["megabytes"] is not None:
            notes.append(f"{row['task']}: {row['megabytes']:.0f} MB at most")
        if row["remark"]:
            notes.append(f"{row['task']}: {row['remark']}")
    title = f"CPU seconds, {systems} systems x {segments} segments, {metrics} metrics"
    return Table(title, tuple(columns), tuple(body), tuple(notes)).text()


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--systems", type=int, default=SYSTEMS)
    parser.add_argument("--segments", type=int, default=SEGMENTS)
    parser.add_argument("--metrics", type=int, default=METRICS)
    parser.add_argument("--only", default="", help="comma-separated beginnings of tasks' keys")
    parser.add_argument("--quick", action="store_true", help="one round instead of seven")
    parser.add_argument("--peer", type=Path, help="a checkout of google-research/mt-metrics-eval")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    if min(options.systems, options.metrics) < 2 or options.segments < 1:
        parser.error("needs two systems, two metrics and a segment at least")
    bed = make_bed(options.systems, options.segments, options.metrics)
    full = bed.shape == (METRICS, SYSTEMS, SEGMENTS)
    peers = {} if options.peer is None else peer_tasks(options.peer, bed)
    wanted = tuple(options.only.split(","))
    rows = [
        measure(case, 1 if options.quick else 7, peers.get(case.key), full=full)
        for case in cases(bed)
        if case.key.startswith(wanted)
    ]
    if options.json:
        peer = None if options.peer is None else str(options.peer)
        print(json.dumps({"shape": bed.shape, "peer": peer, "rows": rows}))
    else:
        print(show(rows, bed, options.peer))


if __name__ == "__main__":
    main()
