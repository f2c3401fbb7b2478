"""Figures of a comparison of systems: rankings, pairs, ranks under resampling, disagreement."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from steelyard.comparison.results import CORPUS, Comparison
from steelyard.core.errors import UsageError, hint, printable
from steelyard.core.text import listed
from steelyard.data.evalset import EvalSet
from steelyard.report.figures import vega
from steelyard.report.figures.pair import draw_pair, segment_label, wins
from steelyard.report.figures.panels import Intervals, Matrix, cell_size, interval_panels
from steelyard.report.figures.vega import Chart, Row, finish, labels, limited, mark, number, shown
from steelyard.stats.arrays import Floats

_JOINT = "one fit of all systems, of which a pair is a part (pairwise-alone: each pair by itself)"
_ALONE = "share of comparisons that the row wins, ties as half, each pair by itself"
_NUMBERS = 24  # systems up to which numbers can be read


def scores_of(es: EvalSet, result: Comparison) -> Floats:
    """Give the scores behind a comparison, its systems x segments, in their own numbers."""
    rows = [es.systems.index(system) for system in result.systems]
    return np.asarray(es[result.score].values[rows])


def draw(
    name: str,
    result: Comparison,
    scores: Floats | None = None,
    pair: tuple[str, str] | None = None,
) -> Chart:
    """Draw one of :data:`FIGURES`.

    ``scores`` (see :func:`scores_of`) are needed by ``density``, ``differences`` and ``wins``;
    ``pair`` are the two systems of the first two, by default the best two.
    """
    vega.chosen([name], FIGURES)
    make = FIGURES[name]
    if make is not None:
        return make(result)
    if scores is None:
        raise UsageError(f"figure '{name}' needs scores of segments")
    order = result.ranking(next(iter(result.aggregations)))
    if name == "wins":
        better = 1.0 if result.higher_is_better else -1.0
        return wins(order, better * _rows(result, scores, order))
    two = pair or tuple(order[:2])
    corpus = any(ranked.of == CORPUS for ranked in result.aggregations.values())
    return draw_pair(
        name,
        _rows(result, scores, two),
        two,
        segment_label(result.score, corpus=corpus),
        higher_is_better=result.higher_is_better,
    )


def _rows(result: Comparison, scores: Floats, names: Sequence[str]) -> Floats:
    for name in names:
        if name not in result.systems:
            raise UsageError(f"no system '{name}'; {hint(name, result.systems)}")
    return np.asarray(scores[[result.systems.index(name) for name in names]])


def _ordered(result: Comparison) -> tuple[list[str], list[int]]:
    """Return the systems by the first ranking, and where they stand in the arrays."""
    order = result.ranking(next(iter(result.aggregations)))
    return order, [result.systems.index(system) for system in order]


def _size(result: Comparison) -> str:
    return printable(result.size)


def forest(result: Comparison) -> Chart:
    """Draw every ranking with its intervals, systems in the order of the first one."""
    order, index = _ordered(result)
    names = labels(order)
    columns = []
    for by, ranked in result.aggregations.items():
        tiers = result.tiers.get(by)
        span = None
        if ranked.ci is not None:
            span = ranked.ci[0][index], ranked.ci[1][index]
        groups = None if tiers is None else [tiers.clusters[i] for i in index]
        title = result.shown(by) + ("" if ranked.higher_is_better else " ↓")
        axis = "score" if ranked.average else "strength"
        columns.append((title, axis, Intervals(names, ranked.scores[index], span, groups)))
    what = "points: scores"
    if any(ranked.ci is not None for ranked in result.aggregations.values()):
        what += "; lines: 95% intervals"
    what += f"; numbers and colours: tiers at {result.alpha:g}" if result.tiers else ""
    more = limited(len(order), "systems")
    return finish(interval_panels(columns), "Systems, best first", [_size(result), what, more])


def ranks(result: Comparison, *, first_only: bool = False) -> Chart:
    """Draw how often each system takes each place when segments are drawn anew."""
    order, index = _ordered(result)
    names = labels(order)
    panels: list[Chart] = []
    for by, ranked in result.aggregations.items():
        if ranked.rank_shares is None or (first_only and panels):
            continue
        shares = ranked.rank_shares[index]
        drawn = Matrix(
            rows=names,
            columns=[str(k + 1) for k in range(shares.shape[1])],
            values=np.where(shares > 0, shares, np.nan),
            texts=[[f"{100 * v:.0f}" if v >= 0.005 else "" for v in row] for row in shares],
            size=cell_size(len(names), most=23, least=12, whole=420),
            title=result.shown(by),
            row_labels=not panels,
            angle=0,
            tip="{row} takes place {column} in {percent} of the resampled sets",
            numbers=len(names) <= 20,
        )
        panels.append(drawn.chart())
    if not panels:
        raise UsageError(
            "figure 'ranks' needs resamples: choose intervals=... (and at most 100 systems)"
        )
    return finish(
        vega.beside(*panels, spacing=22),
        "Places under resampling, in percent",
        [
            _size(result),
            "row: system; column: the place it takes; stronger colour is more often",
        ],
    )


def disagreement(result: Comparison) -> Chart:
    """Draw the places of each system by mean, median and Bradley-Terry, and where they cross."""
    rankings = [name for name in ("mean", "median", "bt") if name in result.aggregations]
    if len(rankings) < 2:
        raise UsageError("figure 'disagreement' needs two rankings of mean, median and bt (by=...)")
    order = result.ranking(rankings[0])[: vega.MOST]
    index = [result.systems.index(system) for system in order]
    places = {result.shown(by): result.aggregations[by].ranks[index] for by in rankings}
    by, names = list(places), labels(order)
    odd = odd_pairs(places.values(), names)
    moved = {name for pair in odd for name in pair}
    rows: list[Row] = [
        {"by": ranking, "place": number(places[ranking][i]), "i": i, "system": name,
         "colour": vega.RED if name in moved else "#BBBBBB",
         "tip": f"{name}: place {shown(number(places[ranking][i]))} by {ranking}"}
        for i, name in enumerate(names)
        for ranking in by
        if np.isfinite(places[ranking][i])
    ]  # fmt: skip
    last = [row for row in rows if row["by"] == by[-1]]
    spread = np.argsort(np.argsort([float(row["place"] or 0) for row in last], kind="stable"))
    # Names of systems that share a place stand below each other.
    ends = [{**row, "at": int(k) + 1} for row, k in zip(last, spread, strict=True)]
    step = 1 + len(names) // 25
    ticks = {"grid": False, "values": list(range(1, len(names) + 1, step)), "format": "d"}
    y = vega.amount("place", "place", domain=(len(names) + 0.5, 0.5), axis=ticks)
    x = vega.category("by", by, orient="top", labelAngle=0, domain=False, ticks=False)
    x["scale"]["padding"] = 0.1
    of: Chart = {"color": vega.as_is("colour"), "y": y}
    dots = {"filled": True, "size": 40, "opacity": 1}
    text = {"align": "left", "dx": 10, "fontSize": 11, "color": vega.INK}
    height = cell_size(len(names), most=24, least=13, whole=640) * len(names)
    slopes = vega.chart(
        rows,
        mark("line", look={"strokeWidth": 1.6}, detail={"field": "i", "type": "ordinal"}, **of),
        mark("point", tip=True, look=dots, **of),
        mark("text", ends, look=text, y={**y, "field": "at"}, text={"field": "system"}),
        size=(110 * len(by), height),
        x=x,
    )
    pairs = len(names) * (len(names) - 1) // 2
    crossed = f"{len(odd):,} of {pairs:,} pairs are ordered differently; red: systems among them"
    title = f"Where {listed(by, len(by), last=' and ')} disagree"
    return finish(slopes, title, [_size(result), crossed])


def odd_pairs(places: Iterable[Floats], names: Sequence[str]) -> list[tuple[str, str]]:
    """Return the pairs that rankings order differently; ties take no side."""
    order = np.array(list(places))
    gaps = [(i, j, order[:, j] - order[:, i]) for i, j in combinations(range(len(names)), 2)]
    return [(names[i], names[j]) for i, j, gap in gaps if (gap > 0).any() and (gap < 0).any()]


# -- all pairs of systems


def pairwise(result: Comparison, by: str | None = None) -> Chart:
    """Draw what one ranking says of every pair: row against column, ``*`` where significant.

    Bradley-Terry, Elo and TrueSkill give the probability that the row wins by their fit of all
    systems, mean and median the difference.
    """
    by = by or ("bt" if "bt" in result.aggregations else next(iter(result.aggregations)))
    order = result.ranking(by)
    ranked = result.aggregations[by]
    if not ranked.pairwise.size:
        raise UsageError("too many systems: what each pair says is not kept")
    what = "row minus column" if ranked.average else "probability that the row beats the column"
    what += "" if ranked.higher_is_better else " (lower is better)"
    matrix = _matrix(result, ranked.pairwise, by, order, chance=not ranked.average)
    lines = [_size(result), "" if ranked.average else _JOINT, _stars(result, by)]
    more = limited(len(result.systems), "systems")
    return finish(matrix, f"Pairs by {result.shown(by)}: {what}", [*lines, more])


def pairwise_alone(result: Comparison) -> Chart:
    """Draw how often the row beats the column, each pair alone, ``*`` where significant."""
    alone = {by: r.alone for by, r in result.aggregations.items() if r.alone is not None}
    if not alone:
        raise UsageError("figure 'pairwise-alone' needs a ranking by bt, elo or trueskill (by=...)")
    by = "bt" if "bt" in alone else next(iter(alone))
    matrix = _matrix(result, alone[by], by, result.ranking(by), chance=True)
    lines = [
        _size(result),
        _ALONE,
        _stars(result, by),
        limited(len(result.systems), "systems"),
    ]
    return finish(matrix, "Pairs alone: how often the row beats the column", lines)


def _matrix(
    result: Comparison, of_pairs: Floats, by: str, order: list[str], *, chance: bool
) -> Chart:
    """Draw a number for every pair, in the middle of colours where neither is ahead."""
    order = order[: vega.MOST]
    index = [result.systems.index(system) for system in order]
    values = of_pairs[np.ix_(index, index)].copy()
    np.fill_diagonal(values, np.nan)
    reach = float(np.nanmax(np.abs(values), initial=0.0)) or 1.0
    sure = _significant(result, by, index)
    names = labels(order)
    digits = "" if len(names) > _NUMBERS else ".2f" if chance else "+.2g"
    texts = [
        [(format(v, digits) if digits else "") + ("*" if s else "")
         for v, s in zip(*row, strict=True)]
        for row in zip(values, sure, strict=True)
    ]  # fmt: skip
    return Matrix(
        rows=names,
        columns=names,
        values=values,
        texts=texts,
        ends=(0.0, 1.0) if chance else (-reach, reach),
        diverging=True,
        size=cell_size(len(names), most=42, least=13),
        legend="row wins" if chance else "difference",
        numbers=True,
    ).chart()


def _stars(result: Comparison, by: str) -> str:
    tiers = result.tiers.get(by)
    return "" if tiers is None else f"*: p < {result.alpha:g} by {tiers.test}, corrected"


def _significant(result: Comparison, by: str, index: list[int]) -> NDArray[np.bool_]:
    tiers = result.tiers.get(by)
    if tiers is None or tiers.test not in result.tests:
        return np.zeros((len(index), len(index)), dtype=bool)
    p = result.tests[tiers.test].p_adjusted[np.ix_(index, index)]
    with np.errstate(invalid="ignore"):
        return np.asarray(p < result.alpha)


# -- entities


def categories(source: Mapping[str, int], kept: Mapping[str, Mapping[str, int]]) -> Chart:
    """Draw the share of the entities of each category that each system keeps, best system first.

    ``source`` counts entities by category, ``kept`` those that each system has, too.
    """
    if not source or not kept:
        raise UsageError("figure 'categories' needs entities of the source and of a system")
    order = sorted(source, key=lambda name: (-source[name], name))[: vega.MOST]
    totals = {system: sum(counts.values()) for system, counts in kept.items()}
    systems = sorted(kept, key=lambda system: (-totals[system], system))[: vega.MOST]
    counts = np.array([[kept[system].get(name, 0) for name in order] for system in systems], float)
    in_source = np.array([source[name] for name in order], float)
    shares = np.divide(counts, in_source, out=np.full_like(counts, np.nan), where=in_source > 0)
    texts = [["" if np.isnan(v) else f"{100 * v:.0f}" for v in row] for row in shares]
    low = float(np.floor(10 * np.nanmin(shares, initial=1.0)) / 10)
    drawn = Matrix(
        rows=labels(systems),
        columns=labels(f"{name} ({source[name]:,})" for name in order),
        values=shares,
        texts=texts,
        ends=(low if low < 1 else 0.0, 1.0),
        size=30,
        legend="share kept",
        numbers=True,
        tip="{row} keeps {percent} of {column}",
    )
    return finish(
        drawn.chart(),
        "Entities kept by category, in percent",
        ["systems from best to worst; in brackets: entities in the source"],
    )


#: The figures of ``compare``, the first of which is drawn where none is named; None: of segments.
FIGURES: Mapping[str, Callable[[Comparison], Chart] | None] = {
    "forest": forest, "pairwise": pairwise, "pairwise-alone": pairwise_alone, "density": None,
    "differences": None, "wins": None, "ranks": ranks, "disagreement": disagreement,
}  # fmt: skip
