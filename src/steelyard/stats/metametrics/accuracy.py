"""Pairwise accuracy, hard and soft: whether a metric orders systems as people do.

Hard accuracy counts the pairs of systems in the same order. Soft pairwise accuracy (Thompson et
al., 2024) asks whether a metric is as sure of the order as people are: 1 minus the mean distance of
what paired permutation tests say of each pair of systems by the human score and by the metric.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from steelyard.core.errors import ShapeError, UsageError
from steelyard.core.options import check_choice
from steelyard.stats.arrays import Counts, Floats, ratio, real_array
from steelyard.stats.kendall.counting import TieMatrix
from steelyard.stats.metametrics.base import (
    PA_TIES,
    MetaMetric,
    Resamples,
    TieRules,
    Value,
    View,
)
from steelyard.stats.metametrics.copies import Copies, Pairs
from steelyard.stats.metametrics.swappedspa import null_spa
from steelyard.stats.metametrics.swapping import Null, Swaps
from steelyard.stats.paired.unpaired import unpaired_means_test
from steelyard.stats.permutation.corpus import corpus_pvalues
from steelyard.stats.permutation.pvalues import (
    SignFlips,
    block_sums,
    pair_index,
    pairwise_pvalues,
    stacked_pvalues,
)
from steelyard.stats.permutation.tails import quick_p
from steelyard.stats.resampling import bootstrap

Bools = NDArray[np.bool_]
_HUMAN = "the human score"


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
    check_choice(PA_TIES, ties=ties)
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
        human, metrics, has = self._stacks(view)
        terms = 1 - np.abs(human - metrics)
        known = ~np.isnan(terms)
        n_pairs = known.sum(axis=1)
        means = terms.mean(axis=1) if terms.shape[1] else n_pairs
        found = []
        for k, (own, n) in enumerate(zip(terms, n_pairs.tolist(), strict=True)):
            if not has[k]:
                found.append(Value(float("nan"), note=self.nothing(view, k)))
            elif not n:
                found.append(Value(float("nan"), note="fewer than two systems"))
            else:
                found.append(Value(float(means[k] if n == len(own) else own[known[k]].mean())))
        return found

    def _stacks(self, view: View) -> tuple[Floats, Floats, Bools]:
        """p-values of all pairs i < j, metrics x pairs, and which metrics have scores to weigh."""
        if "stacks" in view.kept:
            found: tuple[Floats, Floats, Bools] = view.kept["stacks"]
            return found
        if view.whole is not None and view.method != "mtme" and all(self._stacks(view.whole[0])[2]):
            whole, rows = view.whole
            human, metrics, has = self._stacks(whole)
            here = np.full((len(whole.scores.human),) * 2, -1)
            here[pair_index(len(here))] = np.arange(human.shape[1])
            chosen = here[np.ix_(rows, rows)][pair_index(len(rows))]
            human, metrics = human[:, chosen], metrics[:, chosen]
            has = np.asarray((~np.isnan(view.scores.systems)).any(axis=1))
        else:
            i, j = pair_index(len(view.scores.human))
            has = np.array(view.scores.n_cells) > 0
            human, metrics = np.full((2, len(has), len(i)), np.nan)
            for k in np.flatnonzero(has).tolist():
                pair = self.pair_pvalues(view, k)
                human[k], metrics[k] = pair[0][i, j], pair[1][i, j]
        view.kept["stacks"] = human, metrics, has
        return human, metrics, has

    def pair_pvalues(self, view: View, k: int) -> tuple[Floats, Floats]:
        """p-values of all pairs of systems by the human score and by a metric, on what both have.

        ``p[i, j]`` is small where i beats j.
        """
        stats = view.scores.sources[k].statistics
        if stats is not None and view.method in ("exact", "analytic"):
            own = corpus_pvalues(stats, blocks=view.blocks).p
            return self._human_p(view, stats.known), own
        scores = view.scores
        if "metrics" not in view.kept:  # those of all metrics are computed at once
            has = [k for k, n_cells in enumerate(scores.n_cells) if n_cells]
            columns = _columns(view)
            of = scores.cube if view.method == "mtme" else scores.matrices
            wanted = {"metrics": [of[k] for k in has]}
            if view.raters is None:
                wanted[_HUMAN] = [scores.human[:, columns]]
            found = _pvalues(view, wanted, columns)
            view.kept["metrics"] = dict(zip(has, found["metrics"], strict=True))
            if view.raters is None:
                view.kept[None] = found[_HUMAN][0]
        human = self._human_p(view, None if scores.complete[k] else ~np.isnan(scores.cube[k]))
        return human, view.kept["metrics"][k]

    def _human_p(self, view: View, known: NDArray[np.bool_] | None) -> Floats:
        """p-values of the human score on the cells that a metric has (None: all), computed once."""
        key = None if known is None else np.packbits(known).tobytes()
        if key not in view.kept:
            columns = _columns(view) if known is None else slice(None)
            scores = view.scores.human
            scores = scores if known is None else np.where(known, scores, np.nan)
            by_rater = view.raters is not None
            view.kept[key] = (
                _by_rater(view, scores)
                if by_rater
                else _pvalues(view, {_HUMAN: [scores[:, columns]]}, columns)[_HUMAN][0]
            )
        found: Floats = view.kept[key]
        return found

    def notes(self, view: View) -> list[str]:
        """Say how good exact p-values are, where it is not to six digits."""
        why = "scores are nearly on a lattice, or a few differences outweigh all others"
        return [
            f"{self.name}: p-values of {whose} are good to {error:.1g} ({why})"
            for whose, error in view.kept.get("errors", {}).items()
        ]

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

    def rejudged(self, view: View, chosen: Sequence[int], humans: Iterable[Floats]) -> Floats:
        """Values with other human scores: people's p-values anew, those of metrics as they are.

        People's are normal with the first Edgeworth term, as in other resamples.
        """
        i, j = pair_index(len(view.scores.human))
        metrics = np.stack([self.pair_pvalues(view, k)[1][i, j] for k in chosen])
        found = []
        for human in humans:
            gap = human[i] - human[j]
            known = ~np.isnan(gap).all(axis=1) & ~np.isnan(metrics)
            x = block_sums(np.nan_to_num(gap, nan=0.0), view.blocks)
            square = x * x
            sums = x.sum(axis=1), square.sum(axis=1), (square * square).sum(axis=1)
            p = quick_p(*(part.astype(np.float32) for part in sums)).astype(np.float64)
            agree = np.where(known, 1 - np.abs(p - metrics), 0.0)
            found.append(ratio(agree.sum(axis=1), known.sum(axis=1)))
        return np.array(found)

    def null(self, view: View, chosen: Sequence[int], swaps: Swaps) -> Null:
        """Draw the differences of metrics whose scores are swapped."""
        human = self._human_p(view, None)
        return null_spa(human, view.scores.additive[list(chosen)], swaps)


def _columns(view: View) -> Counts | slice:
    """Places of the segments that p-values are made of.

    The WMT toolkit adds up floats as they lie in memory: it is given all.
    """
    return slice(None) if view.method == "mtme" else view.scores.columns


def _pvalues(
    view: View, scores: dict[str, list[Floats]], columns: Counts | slice
) -> dict[str, list[Floats]]:
    """p-values of pairs of systems; keep the error of exact ones where it is not small."""
    blocks = None if view.blocks is None else view.blocks[columns]
    every = [x for own in scores.values() for x in own]
    found = iter(stacked_pvalues(every, SignFlips(method=view.method), blocks=blocks))
    result = {}
    for whose, matrices in scores.items():
        own = list(islice(found, len(matrices)))
        error = max((one.error for one in own), default=0.0)
        if view.method == "exact" and error > 1e-6:
            view.kept.setdefault("errors", {}).setdefault(whose, error)
        result[whose] = [one.p for one in own]
    return result


def _by_rater(view: View, scores: Floats) -> Floats:
    """p-values of means whose noise is that of raters, and of segments or their blocks beside."""
    assert view.raters is not None
    known = [~np.isnan(own) for own in scores]
    segments = np.arange(scores.shape[1]) if view.blocks is None else view.blocks

    def split(codes: list[Counts]) -> list[Counts]:
        return [own[has] for own, has in zip(codes, known, strict=True)]

    values = [own[has] for own, has in zip(scores, known, strict=True)]
    raters = split(list(view.raters))
    units = [split([segments] * len(scores)), raters] if view.crossed else [raters]
    p = unpaired_means_test(values, *units)
    np.fill_diagonal(p, 0.5)
    return p
