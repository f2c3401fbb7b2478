"""The section "Distributions": how the scores of each system are spread."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from steelyard.comparison.results import CORPUS, Comparison
from steelyard.core.errors import printable
from steelyard.core.table import Cell, Column, Table, decimals
from steelyard.core.text import plural
from steelyard.data.evalset import EvalSet
from steelyard.report.parts.strips import Scale, StripCell, Strips, histogram
from steelyard.stats.arrays import Floats

if TYPE_CHECKING:
    from markupsafe import Markup

    from steelyard.report.sections import Writer

MOST = 40  # systems that are shown, the best ones
_BINS = 48
_FEW = 24  # values up to which each has a bar of its own
_BEYOND = 0.005  # of many values: what is left out of the scale, on either side
_MASS = 0.1  # of all scores: one value that so many share is worth a sentence
_SHARES = (10, 25, 50, 75, 90)


def distribution_blocks(es: EvalSet, found: Comparison, writer: Writer) -> tuple[Markup, ...]:
    """Write the blocks of the section; none where there is nothing to see."""
    order = found.ranking(next(iter(found.aggregations)))[:MOST]
    rows = es[found.score].values[[es.systems.index(name) for name in order]] + 0.0  # no -0
    known = rows[~np.isnan(rows)]
    if known.size < 2:
        return ()
    corpus = any(own.of == CORPUS for own in found.aggregations.values())
    what = f"sentence scores of {found.score}" if corpus else found.score
    lines = [*sentences(rows, order, what, higher=found.higher_is_better)]
    if len(order) < len(found.systems):
        lines.append(f"The best {len(order)} of {len(found.systems)} systems are shown.")
    blocks = [writer.words(*lines), writer.made("strips", pictures(rows, order, what))]
    if len(np.unique(known)) > 2:
        table = quantiles(rows, order, what)
        inner = writer.table(table, "Quantiles of the scores of each system")
        blocks.append(writer.folded("The numbers: quantiles of each system", inner))
    return tuple(blocks)


def sentences(rows: Floats, systems: Sequence[str], score: str, *, higher: bool) -> list[str]:
    """Say where the scores lie, which value many share, and where the systems differ.

    Examples
    --------
    >>> rows = np.array([[1.0, 1.0, 0.0, 1.0], [0.0, 1.0, 0.0, 0.0]])
    >>> sentences(rows, ["A", "B"], "passed", higher=True)
    ['Every passed is 0 or 1; the share of 1 goes from 25.0% (B) to 75.0% (A).']
    """
    known = rows[~np.isnan(rows)]
    values, counts = np.unique(known, return_counts=True)
    some = [k for k, row in enumerate(rows) if not np.isnan(row).all()]
    if len(values) == 1:
        return [f"Every score is {values[0]:g}: nothing tells the systems apart."]

    def spread(shares: Floats) -> str:
        low, high = some[int(np.argmin(shares))], some[int(np.argmax(shares))]
        ends = f"{100 * shares.min():.1f}% ({systems[low]})"
        return f"from {ends} to {100 * shares.max():.1f}% ({systems[high]})"

    if len(values) == 2:
        share = np.array([np.nanmean(np.where(np.isnan(rows[k]), np.nan, rows[k] == values[1]))
                          for k in some])  # fmt: skip
        both = f"{values[0]:g} or {values[1]:g}"
        if share.min() == share.max():
            told = f"the share of {values[1]:g} is {100 * share[0]:.1f}% for every system"
            return [f"Every {score} is {both}; {told}."]
        return [f"Every {score} is {both}; the share of {values[1]:g} goes {spread(share)}."]
    low, middle, high = np.quantile(known, [0.05, 0.5, 0.95])
    nine = f"Nine of ten scores lie between {low:.4g} and {high:.4g}"
    lines = [f"{nine}; the middle one is {middle:.4g}."]
    place = {0: ", the lowest value there is", len(values) - 1: ", the highest value there is"}
    for top in np.argsort(-counts, kind="stable")[:2]:
        if counts[top] < _MASS * known.size:
            break
        share = np.array([(rows[k] == values[top]).sum() / (~np.isnan(rows[k])).sum()
                          for k in some])  # fmt: skip
        text = f"{100 * counts[top] / known.size:.0f}% of the scores are {values[top]:g}"
        lines.append(f"{text}{place.get(int(top), '')}: {spread(share)}.")
    return lines + _where(rows[some], higher=higher)


def _where(rows: Floats, *, higher: bool) -> list[str]:
    """Say whether systems differ more on their worst outputs or on their best."""
    if len(rows) < 2:
        return []
    tails = np.array([np.nanquantile(row, [0.1, 0.9]) for row in rows])
    worst, best = np.ptp(tails[:, 0 if higher else 1]), np.ptp(tails[:, 1 if higher else 0])
    if max(worst, best) == 0:
        return []
    one, other = ("worst", "best") if worst > best else ("best", "worst")
    more, less = max(worst, best), min(worst, best)
    if more < 1.5 * less:
        return []
    sides = {"worst": "below" if higher else "above", "best": "above" if higher else "below"}
    text = (
        f"Systems differ more on their {one} outputs than on their {other}: the score "
        f"{sides[one]} which a tenth of the outputs lie differs by up to {more:.3g} between "
        f"systems, the one {sides[other]} which a tenth lie by {less:.3g}."
    )
    return [text]


def _bins(known: Floats) -> tuple[Floats, Scale, Floats, float]:
    """Give edges between bars, the scale, where bars begin in the picture, and how wide they are.

    Few values have a bar each. Of many, one in two hundred on either side lies beyond the scale, so
    that outliers do not press all others into one bar; it is counted in the last bar.
    """
    values = np.unique(known)
    if len(values) <= _FEW:
        scale = Scale(float(values[0]), float(values[-1]))
        centres = np.array([scale.at(float(x)) for x in values], dtype=np.float64)
        width = min(8.0, max(0.8, 0.8 * float(np.diff(centres).min(initial=8.0))))
        edges = np.r_[-np.inf, (values[1:] + values[:-1]) / 2, np.inf]
        return edges, scale, centres - width / 2, width
    low, high = np.quantile(known, [_BEYOND, 1 - _BEYOND])
    if not high > low:
        low, high = values[0], values[-1]
    edges = np.linspace(low, high, _BINS + 1)
    lefts = np.linspace(2, 98, _BINS + 1)[:-1]
    inner = np.r_[-np.inf, edges[1:-1], np.inf]
    return inner, Scale(float(low), float(high)), lefts, 96 / _BINS


def pictures(rows: Floats, systems: Sequence[str], score: str) -> Strips:
    """Draw a histogram per system, all on one scale; of two values the share of the larger."""
    known = rows[~np.isnan(rows)]
    values = np.unique(known)
    if len(values) == 2:
        return _bars(rows, systems, score, float(values[1]))
    edges, scale, lefts, width = _bins(known)
    digits = decimals([float(x) for x in np.quantile(known, [0.05, 0.95])])
    counted = [np.histogram(row[~np.isnan(row)], edges)[0] for row in rows]
    tallest = max(float(own.max() / max(own.sum(), 1)) for own in counted)
    shown = []
    for name, row, counts in zip(systems, rows, counted, strict=True):
        own = row[~np.isnan(row)]
        if not own.size:
            shown.append((name, [StripCell("no scores"), *[StripCell("--", number=True)] * 3]))
            continue
        shares = counts / own.size
        low, middle, high = np.quantile(own, [0.25, 0.5, 0.75])
        tip = (
            f"{name}: {plural(own.size, 'score')} from {own.min():.4g} to {own.max():.4g}; half of "
            f"them between {low:.4g} and {high:.4g}, the middle one is {middle:.4g}"
        )
        picture = StripCell(
            "", printable(tip), scale.at(float(middle)), scale.at(float(low)),
            scale.at(float(high)), histogram(shares / tallest, lefts, width),
        )  # fmt: skip
        top = float((own == values[-1]).mean())
        numbers = (float(own.mean()), float(middle))
        cells = [picture, *(StripCell(f"{x:.{digits}f}", number=True) for x in numbers)]
        shown.append((name, [*cells, StripCell(f"{100 * top:.1f}%", number=True)]))
    beyond = scale.least > values[0] or scale.most < values[-1]
    ends = f"from {scale.least:.4g} (left) to {scale.most:.4g} (right)"
    caption = (
        f"Scores of each system by {score}, {ends}, one scale for all. Bars: how many outputs have "
        "such a score (heights are square roots of shares, so that few are seen, too). The upright "
        "line is the middle score, the flat one the middle half of the scores."
    )
    caption += " What lies beyond is in the last bar." if beyond else ""
    heads = ("system", "scores", "mean", "median", f"at {values[-1]:.4g}")
    return Strips.of("How the scores of each system are spread", caption, heads, shown)


def _bars(rows: Floats, systems: Sequence[str], score: str, value: float) -> Strips:
    """Draw the share of one of two values for each system."""
    shown = []
    for name, row in zip(systems, rows, strict=True):
        own = row[~np.isnan(row)]
        if not own.size:
            shown.append((name, [StripCell("no scores"), StripCell("--", number=True)]))
            continue
        share = 100 * float((own == value).mean())
        tip = f"{name}: {share:.1f}% of {plural(own.size, 'score')} are {value:g}"
        bar = StripCell("", printable(tip), share=round(share, 1))
        shown.append((name, [bar, StripCell(f"{share:.1f}%", number=True)]))
    caption = f"The share of outputs of each system with a {score} of {value:g}, from 0 to 100%."
    heads = ("system", "scores", f"share of {value:g}")
    return Strips.of("How the scores of each system are spread", caption, heads, shown)


def quantiles(rows: Floats, systems: Sequence[str], score: str) -> Table:
    """Give a row of quantiles per system."""
    digits = decimals([float(x) for x in np.nanquantile(rows, [0.05, 0.95])])
    columns = (Column("system"), Column("scores"),
               *(Column(name, digits=digits) for name in ("least", *(f"{q}%" for q in _SHARES),
                                                          "most")))  # fmt: skip
    found: list[tuple[Cell, ...]] = []
    for name, row in zip(systems, rows, strict=True):
        own = row[~np.isnan(row)]
        if own.size:
            cuts = np.percentile(own, [0, *_SHARES, 100])
            found.append((name, int(own.size), *(float(x) for x in cuts)))
        else:
            found.append((name, 0, *[None] * (2 + len(_SHARES))))
    note = f"{score}: so many per cent of a system's scores are at or below the number"
    return Table("", columns, tuple(found), (note,))
