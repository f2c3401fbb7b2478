"""Matrices of p-values, which only the report shows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from steelyard.comparison.results import RANKINGS, TESTS, Comparison
from steelyard.core.errors import printable
from steelyard.core.table import Cell, Column, Table
from steelyard.metaevaluation.results import MetaEvaluation
from steelyard.report.glossary import CORRECTIONS, SCHEMES
from steelyard.stats.arrays import Floats

MOST = 60  # rows beyond which a matrix is a blur
_NONE = "\u2013"  # a pair without a test
_SMALL = 20  # rows beyond which cells hold signs instead of numbers


@dataclass(frozen=True, slots=True)
class MatrixCell:
    """One cell: the class of its colour, what it shows, its p-value, and the pair it stands for.

    ``exact`` is the p-value as it was computed.
    """

    kind: str
    text: str = ""
    p: str = ""
    pair: str = ""
    exact: float = float("nan")


@dataclass(frozen=True, slots=True)
class Grid:
    """A square of cells with names on both sides."""

    title: str
    caption: str
    rows: tuple[tuple[str, tuple[MatrixCell, ...]], ...]
    alpha: str

    @property
    def names(self) -> tuple[str, ...]:
        """The names, which head rows and columns."""
        return tuple(name for name, _ in self.rows)

    @property
    def small(self) -> bool:
        """Whether cells hold signs."""
        return len(self.rows) > _SMALL

    @property
    def marks(self) -> tuple[str, str, str]:
        """The signs of a win, of an open case and of a loss, where cells hold signs."""
        return ("▲", "·", "▽") if self.small else ("", "", "")

    def table(self) -> Table:
        """List all pairs, each once, with who is better and the exact p-value."""
        words = {"w": "first is better", "l": "second is better", "u": "not decided"}
        rows: list[tuple[Cell, ...]] = []
        for i, (name, cells) in enumerate(self.rows):
            for other, cell in list(zip(self.names, cells, strict=True))[i + 1 :]:
                verdict = "no test" if np.isnan(cell.exact) else words[cell.kind[0]]
                rows.append((name, other, verdict, cell.exact))
        columns = tuple(map(Column, ("first", "second", "verdict", "p")))
        return Table(self.title, columns, tuple(rows))


def shown_p(p: float) -> str:
    """Write a p-value as people read it.

    Examples
    --------
    >>> shown_p(0.00004), shown_p(0.0312), shown_p(1.0)
    ('<.001', '.031', '1.000')
    """
    return "<.001" if p < 0.001 else f"{p:.3f}".removeprefix("0")


def _rows(
    names: Sequence[str], win: Floats, alpha: float, pairs: Sequence[int] | None = None
) -> tuple[tuple[str, tuple[MatrixCell, ...]], ...]:
    """Make cells of ``win``: p that the row beats the column, NaN where nothing is known.

    A cell is a loss where the cell across the diagonal is a win. Beyond a few rows, a cell shows a
    sign and keeps its p-value for the reader who asks.
    """
    small = len(names) > _SMALL

    def cell(i: int, j: int) -> MatrixCell:
        p, back = float(win[i, j]), float(win[j, i])
        pair = "" if pairs is None else f"{pairs[i]} {pairs[j]}"
        if i == j:
            return MatrixCell("s")
        if np.isnan(p) and np.isnan(back):
            return MatrixCell("u", _NONE, "", pair)
        if p < alpha:
            kind, sign, shown = f"w{_step(p)}", "▲", p
        elif back < alpha:
            kind, sign, shown = f"l{_step(back)}", "▽", back
        else:
            kind, sign, shown = "u", "·", float(np.nanmin([p, back]))
        words = (sign, shown_p(shown)) if small else (shown_p(shown), "")
        return MatrixCell(kind, *words, pair, shown)

    places = range(len(names))
    return tuple((name, tuple(cell(i, j) for j in places)) for i, name in enumerate(names))


def _ahead(p: Floats, ahead: Any, alpha: float) -> Floats:
    """Give p-values of two-sided tests to those who are ahead; the others do not win."""
    return np.where(ahead, p, np.where(np.isnan(p), np.nan, np.maximum(p, alpha)))


def _step(p: float) -> int:
    return 3 if p < 0.001 else 2 if p < 0.01 else 1


def system_grids(result: Comparison, systems: Sequence[str]) -> list[Grid]:
    """Give a grid per test of a comparison, best systems first.

    ``systems`` is the order in which the explorer counts them.
    """
    place = {name: i for i, name in enumerate(systems)}
    grids = []
    by_test = {tiers.test: by for by, tiers in result.tiers.items()}
    for name, test in result.tests.items():
        by = by_test.get(name, next(iter(result.aggregations)))
        order = result.ranking(by)[:MOST]
        index = [result.systems.index(s) for s in order]
        p = test.p_adjusted[np.ix_(index, index)]
        ranks = result.aggregations[by].ranks[index]
        p = _ahead(p, ranks[:, None] < ranks[None, :], result.alpha)
        names = [printable(system) for system in order]
        rows = _rows(names, p, result.alpha, [place[s] for s in order])
        correction = CORRECTIONS.get(test.correction, test.correction)
        caption = f"p-values of a difference either way, {correction}."
        shown_by = RANKINGS.get(result.shown(by), result.shown(by))
        title = f"Systems by {shown_by} ({TESTS.get(name, name)})"
        grids.append(Grid(title, caption, rows, f"{result.alpha:g}"))
    return grids


def metric_grid(meta: MetaEvaluation, alpha: float) -> Grid | None:
    """Give the grid of the first tested meta-metric, best metrics first; None without a test."""
    if not meta.significance:
        return None
    by, test = next(iter(meta.significance.items()))
    values = meta.values(by)
    order = sorted(test.metrics, key=lambda m: (-np.nan_to_num(values[m], nan=-9), m))[:MOST]
    index = [test.metrics.index(m) for m in order]
    p = (test.p if test.p_adjusted is None else test.p_adjusted)[np.ix_(index, index)]
    if test.alternative == "two-sided":
        of_order = np.array([values[m] for m in order])
        p = _ahead(p, of_order[:, None] > of_order[None, :], alpha)
    rows = _rows([printable(metric) for metric in order], p, alpha)
    how = (CORRECTIONS.get(test.correction, test.correction), SCHEMES.get(test.scheme, test.scheme))
    caption = f"p-values of a difference in agreement with people by {by}, {'; '.join(how)}."
    return Grid(f"Metrics by {by}: which agree more with people", caption, rows, f"{alpha:g}")
