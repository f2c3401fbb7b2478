"""Correlations as meta-metrics: Pearson, Spearman, Kendall's tau-b and tau-c, and PDP."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from steelyard.core.errors import UsageError
from steelyard.stats import correlation
from steelyard.stats.arrays import Floats, ratio
from steelyard.stats.kendall.counting import count_columns, grouped
from steelyard.stats.metametrics.base import GroupValues, MetaMetric, TieRules, View
from steelyard.stats.metametrics.copies import Copies, Pairs, Products, Ranks, TauC
from steelyard.stats.metametrics.swapping import (
    MetricComparison,
    Null,
    Signs,
    Swaps,
    standardise,
)
from steelyard.stats.paired.corrections import williams
from steelyard.stats.permutation.pvalues import block_sums, pair_index


@dataclass(frozen=True)
class Spearman(MetaMetric):
    """Spearman's rho."""

    group_by: str = "none"

    def columns(self, human: Floats, metric: Floats, ties: TieRules) -> Floats:
        """Value of each column."""
        del ties
        return correlation.spearman(human, metric)

    def copies(self, ties: TieRules, epsilon: float | None = None) -> Copies:
        """Mid-ranks among the copies."""
        del ties, epsilon
        return Ranks()


@dataclass(frozen=True)
class KendallB(MetaMetric):
    """Kendall's tau-b."""

    def columns(self, human: Floats, metric: Floats, ties: TieRules) -> Floats:
        """Value of each column."""
        del ties
        return correlation.kendall_b(count_columns(human, metric))

    def copies(self, ties: TieRules, epsilon: float | None = None) -> Copies:
        """Counts of pairs."""
        del ties, epsilon
        return Pairs(value=correlation.kendall_b)


@dataclass(frozen=True)
class KendallC(MetaMetric):
    """Kendall's tau-c."""

    def columns(self, human: Floats, metric: Floats, ties: TieRules) -> Floats:
        """Value of each column."""
        del ties
        known = ~(np.isnan(human) | np.isnan(metric))
        h, m = np.where(known, human, np.nan), np.where(known, metric, np.nan)
        levels = np.minimum(correlation.distinct(h), correlation.distinct(m))
        return correlation.kendall_c(count_columns(human, metric), known.sum(axis=0), levels)

    def copies(self, ties: TieRules, epsilon: float | None = None) -> Copies:
        """Counts of pairs, and the levels that are present."""
        del ties, epsilon
        return TauC()


@dataclass(frozen=True)
class Pdp(MetaMetric):
    """Pearson's r of all pairwise differences within groups, pooled over groups."""

    levels: ClassVar[tuple[str, ...]] = ("seg",)
    by_mean: ClassVar[bool] = False

    def groups(self, human: Floats, metric: Floats, group_by: str, ties: TieRules) -> GroupValues:
        """One value, of all groups."""
        del ties
        value = correlation.pdp(grouped(human, group_by), grouped(metric, group_by))
        return GroupValues(np.array([value]), np.ones(1))

    def copies(self, ties: TieRules, epsilon: float | None = None) -> Copies:
        """Products of differences."""
        del ties, epsilon
        return Products(pooled=True)


@dataclass(frozen=True)
class Pearson(MetaMetric):
    """Pearson's r, with Williams' test of differences, and swaps of cells by six sums."""

    group_by: str = "none"

    def columns(self, human: Floats, metric: Floats, ties: TieRules) -> Floats:
        """Value of each column."""
        del ties
        return correlation.pearson(human, metric)

    def copies(self, ties: TieRules, epsilon: float | None = None) -> Copies:
        """Weighted products."""
        del ties, epsilon
        return Products()

    def exact(
        self, view: View, chosen: Sequence[int], scheme: str, alternative: str
    ) -> MetricComparison | None:
        """Williams' test of correlations of systems, or of all cells, where it is asked for."""
        if scheme != "williams":
            return super().exact(view, chosen, scheme, alternative)
        if view.group_by not in (None, "none"):
            return None
        scores, on_systems = view.scores, view.level == "sys"
        human = scores.human_systems if on_systems else scores.human.ravel()
        of = scores.systems if on_systems else scores.cube
        columns = [of[k].ravel()[:, None] for k in chosen]
        own = np.array([float(correlation.pearson(human[:, None], x)[0]) for x in columns])
        p = np.full((len(own), len(own)), np.nan)
        for a, b in zip(*pair_index(len(own)), strict=True):
            shared = ~np.isnan(human[:, None] + columns[a] + columns[b])[:, 0]
            h, x, y = (v[shared] for v in (human[:, None], columns[a], columns[b]))
            one, other, mutual = (
                float(correlation.pearson(*two)[0]) for two in ((h, x), (h, y), (x, y))
            )
            n = int(shared.sum())
            p[a, b] = williams(one, other, mutual, n, alternative=alternative)
            p[b, a] = williams(other, one, mutual, n, alternative=alternative)
        return MetricComparison(own, p, "williams", 0)

    def recomputed(self, view: View, scheme: str) -> bool:
        """Only within segments: other groups are functions of sums."""
        return view.group_by == "item" and super().recomputed(view, scheme)

    def splits(self, group_by: str | None) -> bool:
        """Sums are taken pair of metrics by pair."""
        return group_by != "item"

    def null(self, view: View, chosen: Sequence[int], swaps: Swaps) -> Null:
        """Draw the differences of metrics whose scores are swapped."""
        if view.group_by not in ("none", "system"):
            return super().null(view, chosen, swaps)
        cube = view.scores.cube[list(chosen)]
        return null_pearson(view.scores.human, cube, view.group_by, swaps)


def null_pearson(human: Floats, metrics: Floats, group_by: str, swaps: Swaps) -> Null:
    """Draw differences of Pearson's correlation of cells, over all of them or within each system.

    ``human`` is systems x segments, ``metrics`` metrics x systems x segments; cells that the human
    score or the metric lacks take no part, before and after swapping. A correlation is a function
    of six sums over cells, each linear in the signs.
    """
    if group_by not in ("none", "system"):
        raise UsageError(f"sums of cells know the groups none and system, not '{group_by}'")
    z = standardise(np.where(np.isnan(human), np.nan, metrics))
    known = ~np.isnan(z)
    h = np.where(np.isnan(human), 0.0, (human - np.nanmean(human)) / (np.nanstd(human) or 1.0))
    z = np.where(known, z, 0.0)
    terms = np.stack([known.astype(float), z, z * z, known * h, known * h * h, z * h])
    terms = block_sums(terms, swaps.blocks)

    def value(sums: Floats) -> Floats:
        """Mean correlation from sums (6 x ... x systems)."""
        if group_by == "none":
            sums = sums.sum(axis=-1, keepdims=True)
        n, m, mm, h, hh, mh = sums
        n = np.where(n > 0, n, np.nan)
        spread = (mm - m * m / n) * (hh - h * h / n)
        r = ratio(mh - m * h / n, np.sqrt(np.where(spread > 1e-18 * n * n, spread, np.nan)))
        defined = ~np.isnan(r)
        return ratio(np.where(defined, r, 0.0).sum(axis=-1), defined.sum(axis=-1))

    whole = terms.sum(axis=-1)
    batches = []
    n_systems, n_segments = terms.shape[-2:]
    for signs in swaps.signs(n_systems, n_segments):
        swapped = _signed_sums(terms, signs)
        null = []
        for i, j in swaps.pairs(len(metrics)):
            middle = (whole[:, None, i] + whole[:, None, j]) / 2
            shift = (swapped[:, :, i] - swapped[:, :, j]) / 2
            null.append(value(middle + shift) - value(middle - shift))
        batches.append(np.stack(null, axis=1))
    return Null(value(whole), np.concatenate(batches), swaps.scheme)


def _signed_sums(terms: Floats, signs: Signs) -> Floats:
    """Sum terms over segments with signs: terms x draws x metrics x systems."""
    columns, rows, cells = signs
    if cells is not None:
        sums = np.einsum("kis,tmis->tkmi", cells.astype(float), terms, optimize=True)
    elif columns is not None:
        sums = np.moveaxis(terms @ columns.T.astype(float), -1, 1)
    else:
        assert rows is not None
        sums = np.repeat(terms.sum(axis=-1)[:, None], len(rows), axis=1)
    result: Floats = sums if rows is None else sums * rows[None, :, None, :]
    return result
