"""Pairwise accuracy, hard and soft: whether a metric orders systems as people do.

Hard accuracy counts the pairs of systems in the same order. Soft pairwise accuracy (Thompson et
al., 2024) asks whether a metric is as sure of the order as people are: 1 minus the mean distance
between the p-values of paired permutation tests by the human score and by the metric.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from steelyard.core.errors import ShapeError, UsageError
from steelyard.stats.arrays import Counts, Floats, ratio, real_array
from steelyard.stats.kendall.counting import KENDALL
from steelyard.stats.metametrics.base import (
    MetaMetric,
    Resamples,
    TieRules,
    Value,
    View,
)
from steelyard.stats.metametrics.swap_tests import Null, Swaps, null_spa
from steelyard.stats.metametrics.weighted import Weighted, WeightedPairs
from steelyard.stats.permutation.corpus import corpus_pvalues
from steelyard.stats.permutation.pvalues import (
    SignFlips,
    pair_index,
    pairwise_pvalues,
    stacked_pvalues,
)
from steelyard.stats.resampling import bootstrap

Bools = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Agreement:
    """A mean over pairs of systems, and their number; NaN without a pair."""

    value: float
    n_pairs: int


def soft_agreement(p_human: Floats, p_metric: Floats) -> Agreement:
    """Soft pairwise accuracy from p-values: the mean of 1 - abs(p_human - p_metric) over i < j."""
    i, j = pair_index(len(p_human))
    return _mean(1 - np.abs(p_human[i, j] - p_metric[i, j]))


def binarised_agreement(p_human: Floats, p_metric: Floats) -> Agreement:
    """Pairwise accuracy from p-values: each rounded to 0 or 1 (a half counts as 1)."""
    return soft_agreement(*(np.where(np.isnan(p), p, p >= 0.5) for p in (p_human, p_metric)))


def pairwise_accuracy(human: Floats, metric: Floats) -> Agreement:
    """Share of pairs of systems that human and metric scores order alike.

    Both tied is agreement, one tied is not. Systems without either score are excluded.
    """
    i, j = pair_index(len(human))
    h, m = human[i] - human[j], metric[i] - metric[j]
    return _mean(np.where(np.isnan(h) | np.isnan(m), np.nan, np.sign(h) == np.sign(m)))


def _mean(terms: Floats) -> Agreement:
    known = terms[~np.isnan(terms)]
    return Agreement(float(known.mean()) if known.size else float("nan"), int(known.size))


def spa(human: Floats, metric: Floats, **options: Any) -> float:
    """Soft pairwise accuracy of a metric.

    Parameters
    ----------
    human, metric
        Scores, systems x segments; cells that either lacks (NaN) are excluded.
    **options
        Passed to :func:`~steelyard.stats.permutation.pvalues.pairwise_pvalues` (``method``,
        ``blocks``, ...).

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
        del ties
        pairs = zip(human.T, metric.T, strict=True)
        return np.array([pairwise_accuracy(h, m).value for h, m in pairs])

    def weighted(self, ties: TieRules, epsilon: float | None = None) -> Weighted:
        """Counts of pairs, both tied being agreement."""
        del ties, epsilon
        return WeightedPairs(value=KENDALL["acc-eq"].value)


@dataclass(frozen=True)
class Spa(MetaMetric):
    """Soft pairwise accuracy (``spa``)."""

    lowest: float = 0.0
    levels: ClassVar[tuple[str, ...]] = ("sys",)
    on_cells: ClassVar[bool] = True

    def values(self, view: View) -> list[Value]:
        """Values of all metrics."""
        if np.isnan(view.scores.human).all():
            what = f"{self.name} needs segment scores: the human score has system scores only"
            raise UsageError(what)
        human, metrics, scored = self._pair_stacks(view)
        terms = 1 - np.abs(human - metrics)
        n_pairs = (~np.isnan(terms)).sum(axis=1)
        means = ratio(np.nansum(terms, axis=1), n_pairs)
        values = []
        for k, value in enumerate(means.tolist()):
            note = None
            if not n_pairs[k]:
                note = "fewer than two systems" if scored[k] else self.why_undefined(view, k)
            values.append(Value(value, note=note))
        return values

    def _pair_stacks(self, view: View) -> tuple[Floats, Floats, Bools]:
        """p-values of all pairs i < j, metrics x pairs, and which metrics have any score."""
        if "stacks" not in view.kept:
            view.kept["stacks"] = self._part_of_whole(view) or self._computed(view)
        stacks: tuple[Floats, Floats, Bools] = view.kept["stacks"]
        return stacks

    def _part_of_whole(self, view: View) -> tuple[Floats, Floats, Bools] | None:
        """Take the p-values of some systems from those of all; the WMT toolkit's depend on all."""
        if view.whole is None or view.method == "mtme":
            return None
        whole, rows = view.whole
        human, metrics, scored = self._pair_stacks(whole)
        if not scored.all():
            return None
        position = np.full((len(whole.scores.human),) * 2, -1)
        position[pair_index(len(position))] = np.arange(human.shape[1])
        chosen = position[np.ix_(rows, rows)][pair_index(len(rows))]
        scored = np.asarray((~np.isnan(view.scores.systems)).any(axis=1))
        return human[:, chosen], metrics[:, chosen], scored

    def _computed(self, view: View) -> tuple[Floats, Floats, Bools]:
        i, j = pair_index(len(view.scores.human))
        scored = np.array(view.scores.n_cells) > 0
        human, metrics = np.full((2, len(scored), len(i)), np.nan)
        for k in np.flatnonzero(scored).tolist():
            p_human, p_metric = self.pair_pvalues(view, k)
            human[k], metrics[k] = p_human[i, j], p_metric[i, j]
        return human, metrics, scored

    def pair_pvalues(self, view: View, k: int) -> tuple[Floats, Floats]:
        """p-values of all pairs of systems by the human score and by a metric, on what both have.

        ``p[i, j]`` is small where i beats j.
        """
        scores = view.scores
        statistics = scores.sources[k].statistics
        if statistics is not None and view.method != "mtme":
            p_metric = corpus_pvalues(statistics, blocks=view.blocks).p
            return self._human_p(view, statistics.known), p_metric
        if "metrics" not in view.kept:  # those of all metrics are computed at once
            scored = [k for k, n_cells in enumerate(scores.n_cells) if n_cells]
            # The WMT toolkit adds up floats as they lie in memory: it gets all segments.
            cells = scores.cube if view.method == "mtme" else scores.matrices
            p = _pvalues(view, [cells[k] for k in scored], _columns(view))
            view.kept["metrics"] = dict(zip(scored, p, strict=True))
        human = self._human_p(view, None if scores.complete[k] else ~np.isnan(scores.cube[k]))
        return human, view.kept["metrics"][k]

    def _human_p(self, view: View, known: Bools | None) -> Floats:
        """p-values of the human score on the cells that a metric has (None: all), computed once."""
        key = None if known is None else np.packbits(known).tobytes()
        if key not in view.kept:
            human = view.scores.human
            human = human if known is None else np.where(known, human, np.nan)
            columns = _columns(view) if known is None else slice(None)
            view.kept[key] = _pvalues(view, [human[:, columns]], columns)[0]
        p: Floats = view.kept[key]
        return p

    def obstacle(self, view: View, k: int, resamples: Resamples) -> str | None:
        """Nothing stands in the way: it is made of segment scores, for any systems."""
        del view, k, resamples
        return None

    def replicates(self, view: View, chosen: Sequence[int], resamples: Resamples) -> Floats:
        """Values in each resample: resamples x metrics."""
        w = resamples.systems
        return bootstrap.bootstrap_spa(
            view.scores.human,
            view.scores.additive[list(chosen)],
            segments=resamples.segments,
            pairs=None if w is None else bootstrap.pair_weights(w),
            blocks=view.blocks,
        )

    def recomputed(self, view: View, scheme: str) -> bool:
        """Only swapped inputs leave sums of powers linear in the signs."""
        del view
        return scheme != "inputs"

    def null(self, view: View, chosen: Sequence[int], swaps: Swaps) -> Null:
        """Draw the differences of metrics whose scores are swapped."""
        human = self._human_p(view, None)
        return null_spa(human, view.scores.additive[list(chosen)], swaps)


def _columns(view: View) -> Counts | slice:
    """Positions of the segments that p-values are made of."""
    return slice(None) if view.method == "mtme" else view.scores.columns


def _pvalues(view: View, matrices: list[Floats], columns: Counts | slice) -> list[Floats]:
    """p-values of pairs of systems; the largest error of exact ones is kept."""
    blocks = None if view.blocks is None else view.blocks[columns]
    results = list(stacked_pvalues(matrices, SignFlips(method=view.method), blocks=blocks))
    if view.method == "exact":
        errors = (result.error for result in results)
        view.kept["p_error"] = max(view.kept.get("p_error", 0.0), *errors, 0.0)
    return [result.p for result in results]
