"""Several judges as one: a vote, a model of their errors, or weights learnt from labels.

A jury can be worse than its best member: judges share errors, and a vote of judges who are all
fooled is fooled. Dawid and Skene's model takes errors for independent, so its answer always stands
beside its accuracy on labelled rows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from steelyard.core.errors import ShapeError, UsageError
from steelyard.core.options import check_whole
from steelyard.stats.arrays import Floats

Codes = NDArray[np.integer]
_ITERATIONS, _TOLERANCE = 100, 1e-5


def vote(labels: Codes, n_categories: int) -> Codes:
    """Give the label that most judges gave each row; -1 where several are as frequent.

    Examples
    --------
    >>> vote(np.array([[0, 1, 1], [0, 1, 0], [1, 1, -1]]), 2).tolist()
    [0, 1, -1]
    """
    counts = _counts(labels, n_categories)
    most = counts.max(axis=1)
    clear = (most > 0) & ((counts == most[:, None]).sum(axis=1) == 1)
    return np.where(clear, counts.argmax(axis=1), -1)


def _counts(labels: Codes, n_categories: int) -> Floats:
    if labels.ndim != 2:
        raise ShapeError(f"labels are judges x rows, got {labels.shape}")
    counts = np.zeros((labels.shape[1], n_categories))
    rows = np.arange(labels.shape[1])
    for own in labels:
        known = own >= 0
        counts[rows[known], own[known]] += 1
    return counts


@dataclass(frozen=True, slots=True, eq=False)
class ErrorModel:
    """What Dawid and Skene's model believes: of rows, of judges, and of categories.

    ``posterior`` is rows x categories, ``confusion`` judges x truth x said, ``prior`` by category.
    """

    posterior: Floats
    confusion: Floats
    prior: Floats

    @property
    def labels(self) -> Codes:
        """The most probable category of each row; -1 where nobody said anything."""
        return np.where(np.isnan(self.posterior[:, 0]), -1, self.posterior.argmax(axis=1))


def dawid_skene(labels: Codes, n_categories: int, *, iterations: int = _ITERATIONS) -> ErrorModel:
    """Fit every judge's confusion matrix and the truth together, from the vote on.

    Rows of which all judges say the same are alike: they are counted, and fitted once.

    Examples
    --------
    >>> found = dawid_skene(np.array([[0, 1, 1, 0], [0, 1, 1, 0], [0, 1, 0, 0]]), 2)
    >>> found.labels.tolist()
    [0, 1, 1, 0]
    """
    check_whole(1, iterations=iterations)
    counts = _counts(labels, n_categories)
    said = counts.sum(axis=1)
    some = said > 0
    if not some.any():
        even = np.full(n_categories, 1 / n_categories)
        nothing = np.full((labels.shape[1], n_categories), np.nan)
        return ErrorModel(nothing, np.tile(even, (len(labels), n_categories, 1)), even)
    own, place, times = np.unique(
        np.maximum(labels[:, some], -1), axis=1, return_inverse=True, return_counts=True
    )
    first = _counts(own, n_categories)
    truth = first / first.sum(axis=1, keepdims=True)
    weight = times.astype(np.float64)
    last = -np.inf
    for _ in range(iterations):
        prior = weight @ truth / weight.sum()
        confusion = np.stack([_confusion(one, truth * weight[:, None]) for one in own])
        log = np.tile(np.log(np.maximum(prior, 1e-300)), (len(truth), 1))
        for judge, one in enumerate(own):
            known = one >= 0
            log[known] += np.log(np.maximum(confusion[judge][:, one[known]].T, 1e-10))
        most = log.max(axis=1, keepdims=True)
        truth = np.exp(log - most)
        total = truth.sum(axis=1, keepdims=True)
        truth /= total
        likelihood = float(weight @ (most + np.log(total))[:, 0])
        if likelihood - last < _TOLERANCE:
            break
        last = likelihood
    posterior = np.full((labels.shape[1], n_categories), np.nan)
    posterior[some] = truth[place.ravel()]
    return ErrorModel(posterior, confusion, prior)


def _confusion(said: Codes, truth: Floats) -> Floats:
    """Give what a judge says by (weighted) truth; even shares where a category is never true."""
    k = truth.shape[1]
    found = np.zeros((k, k))
    known = said >= 0
    np.add.at(found.T, said[known], truth[known])
    total = found.sum(axis=1, keepdims=True)
    shares: Floats = np.divide(found, total, out=np.full((k, k), 1 / k), where=total > 0)
    return shares


def stacked(judges: Floats, human: Floats, rng: np.random.Generator, *, folds: int = 5) -> Floats:
    """Weigh judges by least squares of people on them, and give the number of each row.

    Labelled rows get theirs from a fit without them (by folds), the others from a fit to all
    labels; so that the result can be corrected by the same labels.

    Parameters
    ----------
    judges
        Judges x rows, no gaps.
    human
        A number per row, NaN where there is no label.
    rng
        Draws the folds.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> truth = rng.normal(size=300)
    >>> judges = truth + rng.normal(size=(3, 300))
    >>> labels = np.where(np.arange(300) < 100, truth, np.nan)
    >>> found = stacked(judges, labels, rng)
    >>> each = [np.corrcoef(one[100:], truth[100:])[0, 1] for one in judges]
    >>> bool(np.corrcoef(found[100:], truth[100:])[0, 1] > max(each))
    True
    """
    check_whole(2, folds=folds)
    if judges.ndim != 2 or human.shape != judges.shape[1:]:
        raise ShapeError(f"{judges.shape} judges x rows but {human.shape} labels")
    if np.isnan(judges).any():
        raise UsageError("judges: expected a number for every row")
    labelled = np.flatnonzero(~np.isnan(human))
    least = folds * (len(judges) + 2)
    if len(labelled) < least:
        raise UsageError(
            f"{len(labelled)} labels, expected {least} or more to weigh {len(judges)} judges"
        )
    design = np.vstack([np.ones(judges.shape[1]), judges]).T
    result = design @ _weights(design[labelled], human[labelled])
    fold = rng.permutation(len(labelled)) % folds
    for one in range(folds):
        inside, outside = labelled[fold == one], labelled[fold != one]
        result[inside] = design[inside] @ _weights(design[outside], human[outside])
    return result


def _weights(design: Floats, human: Floats) -> Floats:
    return np.asarray(np.linalg.lstsq(design, human, rcond=None)[0], dtype=np.float64)
