"""Matrices of p-values for the page: who beats whom, in words, colours and signs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from steelyard.comparison.results import Comparison
from steelyard.core.errors import printable
from steelyard.metaevaluation.results import MetaEvaluation
from steelyard.stats.arrays import Floats

MOST = 60  # rows beyond which a matrix is a blur
_NONE = "\u2013"  # a pair without a test
_SMALL = 20  # rows beyond which cells hold signs instead of numbers


@dataclass(frozen=True, slots=True)
class MatrixCell:
    """One cell: the class of its colour, what it shows, its p-value, and the pair it stands for."""

    kind: str
    text: str = ""
    p: str = ""
    pair: str = ""


@dataclass(frozen=True, slots=True)
class Grid:
    """A square of cells with names on both sides."""

    title: str
    caption: str
    names: tuple[str, ...]
    rows: tuple[tuple[str, tuple[MatrixCell, ...]], ...]
    alpha: str
    small: bool
    marks: tuple[str, str, str]


def shown_p(p: float) -> str:
    """Write a p-value as people read it.

    Examples
    --------
    >>> shown_p(0.00004), shown_p(0.0312), shown_p(1.0)
    ('<.001', '.031', '1.000')
    """
    return "<.001" if p < 0.001 else f"{p:.3f}".removeprefix("0")


def _grid(
    title: str,
    caption: str,
    names: Sequence[str],
    win: Floats,
    alpha: float,
    pairs: Sequence[int] | None,
) -> Grid:
    """Make a grid of ``win``: p that the row beats the column, NaN where nothing is known.

    A cell is a loss where the cell across the diagonal is a win.
    """
    small = len(names) > _SMALL
    shown = tuple(printable(name) for name in names)
    rows = []
    for i, name in enumerate(shown):
        cells = []
        for j in range(len(shown)):
            p, back = float(win[i, j]), float(win[j, i])
            pair = "" if pairs is None else f"{pairs[i]} {pairs[j]}"
            if i == j:
                cells.append(MatrixCell("s"))
            elif np.isnan(p) and np.isnan(back):
                cells.append(MatrixCell("u", _NONE, "", pair))
            elif p < alpha:
                cells.append(_cell(f"w{_step(p)}", "▲", p, pair, small=small))
            elif back < alpha:
                cells.append(_cell(f"l{_step(back)}", "▽", back, pair, small=small))
            else:
                cells.append(_cell("u", "·", float(np.nanmin([p, back])), pair, small=small))
        rows.append((name, tuple(cells)))
    marks = ("▲", "·", "▽") if small else ("", "", "")
    return Grid(title, caption, shown, tuple(rows), f"{alpha:g}", small, marks)


def _cell(kind: str, sign: str, p: float, pair: str, *, small: bool) -> MatrixCell:
    """A small cell shows a sign and keeps its p-value for the reader who asks."""
    return (
        MatrixCell(kind, sign, shown_p(p), pair)
        if small
        else MatrixCell(kind, shown_p(p), "", pair)
    )


def _step(p: float) -> int:
    return 3 if p < 0.001 else 2 if p < 0.01 else 1


def system_grids(found: Comparison, systems: Sequence[str]) -> list[Grid]:
    """Give a grid per test of a comparison, best systems first.

    ``systems`` is the order in which the explorer counts them.
    """
    place = {name: i for i, name in enumerate(systems)}
    grids = []
    by_test = {tiers.test: by for by, tiers in found.tiers.items()}
    for name, test in found.tests.items():
        by = by_test.get(name, next(iter(found.aggregations)))
        order = found.ranking(by)[:MOST]
        index = [found.systems.index(s) for s in order]
        p = test.p_adjusted[np.ix_(index, index)]
        if test.alternative == "two-sided":
            ranks = found.aggregations[by].ranks[index]
            ahead = ranks[:, None] < ranks[None, :]
            win = np.where(ahead, p, np.where(np.isnan(p), np.nan, np.maximum(p, found.alpha)))
        else:
            win = p
        caption = f"p-values ({test.alternative}, {test.correction}); {test.reason}."
        pairs = [place[s] for s in order]
        grids.append(
            _grid(f"By {found.shown(by)}: {name} test", caption, order, win, found.alpha, pairs)
        )
    return grids


def metric_grids(meta: MetaEvaluation, alpha: float) -> list[Grid]:
    """Give a grid per tested meta-metric, best metrics first."""
    grids = []
    for by, test in meta.significance.items():
        values = meta.values(by)
        order = sorted(test.metrics, key=lambda m: (-np.nan_to_num(values[m], nan=-9), m))[:MOST]
        index = [test.metrics.index(m) for m in order]
        p = (test.p if test.p_adjusted is None else test.p_adjusted)[np.ix_(index, index)]
        win = p
        if test.alternative == "two-sided":
            own = np.array([values[m] for m in order])
            ahead = own[:, None] > own[None, :]
            win = np.where(ahead, p, np.where(np.isnan(p), np.nan, np.maximum(p, alpha)))
        caption = f"p-values of pairs of metrics by {by} (scheme {test.scheme}, {test.correction})."
        grids.append(_grid(f"Metrics by {by}", caption, order, win, alpha, None))
    return grids
