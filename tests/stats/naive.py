"""Naive twins: each statistic once, as its definition reads, for tests of all that compute it."""

from __future__ import annotations

import math
from functools import cache
from itertools import combinations, product

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

NAN = float("nan")
SEEDS = st.integers(0, 10**6)
KINDS = ("concordant", "discordant", "human_ties", "metric_ties", "both_ties")


# ---------------------------------------------------------------- permutations


@cache
def all_signs(n):
    return np.array(list(product((-1, 1), repeat=n))).reshape(2**n, n)


def sign_tails(x):
    """P(T > t) and P(T = t) over all sign vectors; exact where the numbers are."""
    null = all_signs(len(x)) @ x
    return np.mean(null > x.sum()), np.mean(null == x.sum())


def pvalues(scores, tail="mid", tails=sign_tails):
    """p-values of all pairs of systems on the segments that both have."""
    p = np.full((len(scores), len(scores)), 0.5 if tail == "mid" else 1.0)
    for i, j in product(range(len(scores)), repeat=2):
        gap = scores[i] - scores[j]
        gap = gap[~np.isnan(gap)]
        above, at = tails(gap) if len(gap) else (NAN, NAN)
        if i != j:
            p[i, j] = above + at * (0.5 if tail == "mid" else 1)
    return p


def sided(upper, lower, alternative):
    """One of three p-values from P(T >= t) and P(T <= t)."""
    two = min(1.0, 2 * min(upper, lower))
    return {"greater": upper, "less": lower, "two-sided": two}[alternative]


# ---------------------------------------------------------------- units


def working_models(sizes):
    """Covariances of sums by unit measured from the mean: nothing in common, and everything."""
    m = np.array([size for size in sizes if size], dtype=float)
    p, n, same = m / m.sum(), m.sum(), np.eye(len(m))
    mean = same - np.outer(m, np.ones(len(m))) / n  # of sums: what is left of the mean
    apart = mean @ np.diag(m) @ mean.T
    alike = mean @ np.diag(m**2) @ mean.T
    weight = np.diag(1 / np.sqrt(1 - p))
    return [(weight @ model @ weight, model) for model in (apart, alike)]


def freedoms(sizes):
    """Trace squared over the squared entries of the matrix of either model, units x units."""
    return [np.trace(b) ** 2 / (b * b).sum() for b, _ in working_models(sizes)]


# ---------------------------------------------------------------- pairs


def pair_kind(h, m, epsilon=0.0, threshold=0.0):
    """Position in KINDS of a pair with these differences, None where one is missing."""
    if math.isnan(h) or math.isnan(m):
        return None
    human_tie, metric_tie = h == 0 or abs(h) < threshold, abs(m) <= epsilon
    if human_tie or metric_tie:
        return 4 if human_tie and metric_tie else 2 if human_tie else 3
    return 0 if (h > 0) == (m > 0) else 1


def pair_kinds(human, metric, epsilon=0.0, threshold=0.0):
    """The kind of every pair of one group that has both scores."""
    pairs = combinations(zip(human, metric, strict=True), 2)
    kinds = [pair_kind(a - c, b - d, epsilon, threshold) for (a, b), (c, d) in pairs]
    return [kind for kind in kinds if kind is not None]


def count_kinds(kinds):
    return [kinds.count(k) for k in range(5)]


def known(*rows):
    """What all of some rows have."""
    both = ~np.isnan(np.sum(rows, axis=0))
    return tuple(row[both] for row in rows)


def system_pairs(scores):
    """Each pair i < j with the scores that both have."""
    for i, j in combinations(range(len(scores)), 2):
        yield i, j, *known(scores[i], scores[j])


def copies(x, counts):
    """Segments as often as counts say."""
    return np.repeat(x, np.asarray(counts).astype(int), axis=-1)


# ---------------------------------------------------------------- data


def with_gaps(whole, absent):
    """Scores without those that are absent (flags of a larger matrix)."""
    return np.where(absent[tuple(map(slice, whole.shape))], NAN, whole.astype(float))


def absences(*shape):
    """Flags of a matrix, of which about a quarter is set."""
    return hnp.arrays(bool, shape, elements=st.integers(0, 3).map(lambda k: k == 0))


def matrices(cells, *, least=0, most=7, n=2):
    """Matrices of one shape."""
    return hnp.array_shapes(min_dims=2, max_dims=2, min_side=least, max_side=most).flatmap(
        lambda shape: st.tuples(*(hnp.arrays(np.float64, shape, elements=cells) for _ in range(n)))
    )


def quality(n=6, s=40, m=3, seed=0, missing=0.0):
    """Human scores and those of metrics that are the noisier, the later they come."""
    rng = np.random.default_rng(seed)
    shared = rng.normal(0, 0.3, n)[:, None] + rng.normal(size=(n, s))
    human = np.round(shared + rng.normal(0, 0.5, (n, s)), 1)
    metrics = np.stack([shared + rng.normal(0, 1 + k, (n, s)) for k in range(m)])
    metrics[rng.random(metrics.shape) < missing] = NAN
    human[rng.random(human.shape) < missing] = NAN
    return human, metrics


#: The toy of the notes on mt-metrics-eval: systems A, B, C on ten segments, by people and a metric.
GOLD = np.array(
    [
        [0.0, -1, -2, -5, 0, 0, -1, 0, -5, -1],
        [0.0, -5, -1, -5, -1, 0, 0, -1, -5, -1],
        [-1.0, 0, -1, -6, 0, -5, -1, -5, -5, -10],
    ]
)
METRIC = np.array(
    [
        [0.9, 0.5, 0.4, 0.1, 0.8, 0.9, 0.6, 0.7, 0.2, 0.5],
        [0.8, 0.2, 0.4, 0.15, 0.6, 0.9, 0.8, 0.6, 0.2, 0.6],
        [0.7, 0.6, 0.3, 0.2, 0.8, 0.3, 0.6, 0.2, 0.1, 0.0],
    ]
)
#: Of five of these segments, with gaps.
GOLD_5 = np.array([[0.0, -1, NAN, -5, 0], [0.0, -5, -1, -5, -1], [-1.0, 0, -1, NAN, 0]])
METRIC_5 = METRIC[:, :5]
