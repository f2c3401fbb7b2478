"""Pairwise accuracy, hard and soft: whether a metric orders systems as people do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from steelyard.core import bounds
from steelyard.core.errors import ShapeError
from steelyard.stats.arrays import Floats, real_array
from steelyard.stats.kendall.matrices import TieMatrix
from steelyard.stats.metametrics.base import PA_TIES, MetaMetric, TieRules
from steelyard.stats.metametrics.copies import Copies, Pairs
from steelyard.stats.permutation.pvalues import pair_index, pairwise_pvalues


@dataclass(frozen=True, slots=True)
class Agreement:
    """A mean over pairs of systems, and how many took part; NaN without a pair."""

    value: float
    n_pairs: int


def soft_agreement(p_human: Floats, p_metric: Floats) -> Agreement:
    """Soft pairwise accuracy from p-values: the mean of 1 - abs(p_human - p_metric) over i < j.

    Examples
    --------
    >>> import numpy as np
    >>> human, metric = np.array([[0.5, 0.0], [1.0, 0.5]]), np.array([[0.5, 0.25], [0.75, 0.5]])
    >>> soft_agreement(human, metric)
    Agreement(value=0.75, n_pairs=1)
    """
    if p_human.shape != p_metric.shape:
        raise ShapeError(f"p-values of shapes {p_human.shape} and {p_metric.shape}")
    i, j = pair_index(len(p_human))
    return _mean(1 - np.abs(p_human[i, j] - p_metric[i, j]))


def binarised_agreement(p_human: Floats, p_metric: Floats) -> Agreement:
    """Pairwise accuracy from p-values: each rounded to 0 or 1 (a half counts as 1)."""

    def rounded(p: Floats) -> Floats:
        return np.where(np.isnan(p), np.nan, (p >= 0.5).astype(np.float64))

    return soft_agreement(rounded(p_human), rounded(p_metric))


def pairwise_accuracy(human: Floats, metric: Floats, *, ties: str = "strict") -> Agreement:
    """Share of pairs of systems that human and metric scores order alike.

    Both tied is agreement, one tied is not; with ``ties="drop-human"`` pairs that the human scores
    tie take no part. Systems without either score take no part.

    Examples
    --------
    >>> import numpy as np
    >>> pairwise_accuracy(np.array([1.0, 2, 2]), np.array([0.1, 0.3, 0.2]))
    Agreement(value=0.6666666666666666, n_pairs=3)
    """
    bounds.choice(PA_TIES, ties=ties)
    if human.shape != metric.shape or human.ndim != 1:
        raise ShapeError(f"expected two vectors of one length, got {human.shape}, {metric.shape}")
    i, j = pair_index(len(human))
    h, m = human[i] - human[j], metric[i] - metric[j]
    agree = np.where(np.isnan(h) | np.isnan(m), np.nan, np.sign(h) == np.sign(m))
    return _mean(agree[h != 0] if ties == "drop-human" else agree)


def _mean(terms: Floats) -> Agreement:
    known = terms[~np.isnan(terms)]
    return Agreement(float(known.mean()) if known.size else float("nan"), int(known.size))


def spa(human: Floats, metric: Floats, **options: Any) -> float:
    """Soft pairwise accuracy of a metric: systems x segments in, one number out.

    Only cells that both scores have take part. ``options`` go to
    :func:`~steelyard.stats.permutation.pvalues.pairwise_pvalues` (``method``, ``blocks``, ...).

    Examples
    --------
    >>> import numpy as np
    >>> human = np.array([[0.0, -1, -5, 0], [-1.0, -5, -5, -10], [0.0, 0, -1, 0]])
    >>> spa(human, human)
    1.0
    """
    h, m = real_array("human", human), real_array("metric", metric)
    if h.shape != m.shape or h.ndim != 2:
        raise ShapeError(f"expected two matrices of one shape, got {h.shape} and {m.shape}")
    known = ~(np.isnan(h) | np.isnan(m))
    h, m = np.where(known, h, np.nan), np.where(known, m, np.nan)
    return soft_agreement(pairwise_pvalues(h, **options).p, pairwise_pvalues(m, **options).p).value


@dataclass(frozen=True)
class Accuracy(MetaMetric):
    """Pairwise accuracy (``pa``): the share of pairs of systems that are ordered as by people."""

    lowest: float = 0.0
    levels: ClassVar[tuple[str, ...]] = ("sys",)
    pools: ClassVar[bool] = True
    caveat: ClassVar[str | None] = (
        "few values are possible, so the test rejects fewer true nulls than it may"
    )

    def columns(self, human: Floats, metric: Floats, ties: TieRules) -> Floats:
        """Value of each column."""
        rule = ties.pa_ties
        pairs = zip(human.T, metric.T, strict=True)
        return np.array([pairwise_accuracy(h, m, ties=rule).value for h, m in pairs])

    def copies(self, ties: TieRules, epsilon: float | None = None) -> Copies:
        """Counts of pairs, both tied being agreement."""
        del epsilon
        human_tie, both_tie = (0, 1) if ties.pa_ties == "strict" else (None, None)
        worth = TieMatrix(opposite=0, metric_tie=0, human_tie=human_tie, both_tie=both_tie)
        return Pairs(value=worth.value)
