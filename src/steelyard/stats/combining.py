"""Several metrics made into one score: averages, and weights that are learned from people.

Metrics are first brought to one scale by their own scores alone, as z-scores or as ranks among all
cells; people have no part in that. Their averages need no more. Weights that fit the human score by
least squares, none of them negative, are learned, and cross-validated over systems and segments at
once: the weights of a cell come from cells that share neither its system nor the document that its
segment is of. They add up to 1 in every fold, so that scores of different folds have one scale.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from steelyard.core.errors import DegenerateError, ShapeError
from steelyard.stats.arrays import Counts, Floats
from steelyard.stats.correlation import ranks

_RANK = 1e-10  # of the largest eigenvalue: smaller ones are rounding
_ZERO = 1e-12  # of the size of the scores: weights below are none

Bools = NDArray[np.bool_]


def z_scores(cube: Floats) -> Floats:
    """Give each metric (first axis) mean 0 and standard deviation 1 over its known cells.

    Examples
    --------
    >>> z_scores(np.array([[[1.0, 3.0], [np.nan, 5.0]]])).round(3).tolist()
    [[[-1.225, 0.0], [nan, 1.225]]]
    """
    flat = cube.reshape(len(cube), -1)
    varied = np.fmax.reduce(flat, axis=1) > np.fmin.reduce(flat, axis=1)
    if not varied.all():  # a standard deviation of equal numbers may be rounding
        where = int(np.flatnonzero(~varied)[0])
        raise DegenerateError(f"metric {where} is constant: it has no scale")
    spread = np.nanstd(flat, axis=1)
    found: Floats = ((flat - np.nanmean(flat, axis=1)[:, None]) / spread[:, None]).reshape(
        cube.shape
    )
    return found


def rank_scores(cube: Floats) -> Floats:
    """Give each metric its mid-ranks among its known cells, from 0 (worst) to 1.

    Examples
    --------
    >>> rank_scores(np.array([[[1.0, 3.0], [np.nan, 3.0]]])).tolist()
    [[[0.0, 0.75], [nan, 0.75]]]
    """
    found = np.full(cube.shape, np.nan)
    for own, place in zip(cube, found, strict=True):
        known = ~np.isnan(own)
        if known.sum() > 1:
            place[known] = (ranks(own[known][:, None])[:, 0] - 1) / (known.sum() - 1)
    return found


def balanced_folds(n: int, k: int, rng: np.random.Generator) -> Counts:
    """Put n things into k folds at random, as evenly as can be: the fold of each.

    Examples
    --------
    >>> np.bincount(balanced_folds(7, 3, np.random.default_rng(0))).tolist()
    [3, 2, 2]
    """
    folds: Counts = np.empty(n, dtype=np.int64)
    folds[rng.permutation(n)] = np.arange(n) % k
    return folds


@dataclass(frozen=True, slots=True, eq=False)
class Folds:
    """Folds of systems and of segments: what is held out together, at once."""

    systems: Counts
    segments: Counts

    @property
    def shape(self) -> tuple[int, int]:
        """How many folds of systems there are, and how many of segments."""
        return int(self.systems.max()) + 1, int(self.segments.max()) + 1

    def outside(self) -> Iterator[tuple[Bools, Bools]]:
        """Give the systems and the segments that each pair of folds learns from."""
        for i, j in np.ndindex(*self.shape):
            yield self.systems != i, self.segments != j


@dataclass(frozen=True, slots=True, eq=False)
class CrossWeights:
    """Weights of metrics, each set adding up to 1.

    ``folds`` are system folds x segment folds x metrics, ``every`` learned from all cells;
    ``empty`` counts the folds where no metric goes with people, so that all weigh alike.
    """

    folds: Floats
    every: Floats
    empty: int


def learn_weights(
    metrics: Floats, human: Floats, folds: Folds, *, differences: bool = False
) -> CrossWeights:
    """Fit people's scores by non-negative least squares, for each fold on cells outside it.

    Parameters
    ----------
    metrics
        Metrics x systems x segments on one scale, NaN where missing; higher is better.
    human
        Systems x segments, NaN where missing.
    folds
        What is held out together. The cells that a fold learns from are of other systems and of
        other segments than its own.
    differences
        Fit differences between systems on the same segment, all pairs of them, instead of scores
        (which have an intercept): what all systems share on a segment then does not count.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(2, 4, 20))
    >>> folds = Folds(np.arange(4) % 2, np.arange(20) % 2)
    >>> learn_weights(x, 3 * x[0] + x[1], folds).every.round(3).tolist()
    [0.75, 0.25]
    """
    if metrics.shape[1:] != human.shape:
        raise ShapeError(f"metrics {metrics.shape} do not fit a human score {human.shape}")
    known = ~(np.isnan(metrics).any(axis=0) | np.isnan(human))
    if known.any():
        human = human - np.median(human[known])
    shape = folds.shape
    found = np.empty((*shape, len(metrics)))
    empty = 0
    for i in range(shape[0]):
        rows = folds.systems != i
        parts = [
            _moments(metrics, human, known & rows[:, None] & (folds.segments == j), differences)
            for j in range(shape[1])
        ]
        whole = np.sum(parts, axis=0)
        for j in range(shape[1]):
            used = known & rows[:, None] & (folds.segments != j)
            found[i, j], none = _weights(
                whole - parts[j], differences=differences, flat=_flat(human, used, differences)
            )
            empty += none
    every, _ = _weights(
        _moments(metrics, human, known, differences),
        differences=differences,
        flat=_flat(human, known, differences),
    )
    return CrossWeights(found, every, empty)


def _flat(human: Floats, used: Bools, differences: bool) -> bool:  # noqa: FBT001
    """Whether people tell nothing apart, so that all there is to learn from is rounding."""
    low = np.where(used, human, np.inf).min(axis=0)
    high = np.where(used, human, -np.inf).max(axis=0)
    return bool((high <= low).all() if differences else high.max() <= low.min())


def _moments(metrics: Floats, human: Floats, used: Bools, differences: bool) -> Floats:  # noqa: FBT001
    """Sums of products of intercept, metrics and human score over cells.

    The squares of all differences of n numbers add up to n times those of their deviations from
    the mean, so differences between systems need no pairs.
    """
    both = np.concatenate([metrics, human[None]])
    if not differences:
        rows = np.concatenate([np.ones((1, int(used.sum()))), both[:, used]])
        return _products(rows)
    n = used.sum(axis=0)
    cells = np.where(used, both, 0.0)
    means = cells.sum(axis=1) / np.maximum(n, 1)
    off = np.where(used, both - means[:, None, :], 0.0) * np.sqrt(n)
    return _products(off.reshape(len(off), -1))


def _products(rows: Floats) -> Floats:
    found: Floats = rows @ rows.T
    return found


def _weights(moments: Floats, *, differences: bool, flat: bool) -> tuple[Floats, bool]:
    """Weights from sums of products, and whether there is none to learn."""
    if not differences:  # take the intercept out
        n = moments[0, 0]
        if n:
            moments = moments - np.outer(moments[:, 0], moments[0]) / n
        moments = moments[1:, 1:]
    weights = nonnegative(moments[:-1, :-1], moments[:-1, -1])
    total = weights.sum()
    size = np.sqrt(max(moments[-1, -1], 0.0) / max(float(np.trace(moments[:-1, :-1])), 1e-300))
    if flat or not total > _ZERO * size:
        return np.full(len(weights), 1 / len(weights)), True
    return weights / total, False


def nonnegative(gram: Floats, products: Floats) -> Floats:
    """Least squares without negative weights, from the sums of products of the metrics.

    Minimises w'Gw - 2w'c over w of at least 0, by turning both into a square problem of the same
    solution.

    Examples
    --------
    >>> nonnegative(np.array([[2.0, 0.0], [0.0, 1.0]]), np.array([4.0, -1.0])).round(9).tolist()
    [2.0, 0.0]
    """
    from scipy.optimize import nnls

    values, vectors = np.linalg.eigh(gram)
    kept = values > _RANK * max(float(values.max(initial=0.0)), 0.0)
    if not kept.any():
        return np.zeros(len(gram))
    roots = np.sqrt(values[kept])
    square = roots[:, None] * vectors[:, kept].T
    target = (vectors[:, kept].T @ products) / roots
    found: Floats = nnls(square, target)[0]
    return found


def combined(metrics: Floats, weights: Floats, folds: Folds) -> Floats:
    """Weigh each cell by the weights of its own folds: systems x segments, NaN where any lacks.

    Systems that no metric tells apart on a segment, as those with the same output, have the mean of
    their scores: they are no better guessed for being in different folds.

    Examples
    --------
    >>> x = np.array([[[1.0, 2.0]], [[3.0, np.nan]]])
    >>> combined(x, np.array([[[0.5, 0.5]]]), Folds(np.array([0]), np.array([0, 0]))).tolist()
    [[2.0, nan]]
    """
    own = weights[folds.systems[:, None], folds.segments[None, :]]
    found: Floats = np.einsum("mns,nsm->ns", metrics, own)
    for column, scores in zip(metrics.transpose(2, 1, 0), found.T, strict=True):
        known = np.flatnonzero(~np.isnan(scores))
        _, groups = np.unique(column[known], axis=0, return_inverse=True)
        groups = groups.ravel()
        sizes = np.bincount(groups)
        if (sizes > 1).any():
            scores[known] = (np.bincount(groups, scores[known]) / sizes)[groups]
    return found
