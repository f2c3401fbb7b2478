"""Figures of a comparison of systems: rankings, pairs, ranks under resampling, disagreement.

Each takes a :class:`~steelyard.comparison.results.Comparison`, or the scores of two systems.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from steelyard.comparison.results import CORPUS, Comparison, Ranked, RankedSystems
from steelyard.core.errors import UsageError, hint
from steelyard.core.text import listed
from steelyard.data.evalset import EvalSet
from steelyard.report.figures import style
from steelyard.report.figures.pairmatrices import (
    pairwise,
    pairwise_all,
    pairwise_alone,
    size_of,
)
from steelyard.report.figures.panels import Intervals, Matrix, cell_size, interval_panel, name_axes
from steelyard.report.figures.speaking import shown
from steelyard.report.figures.style import Chart, alt, finish, labels, limited, number, plot, typed
from steelyard.report.figures.versus import draw_pair, segment_label, wins
from steelyard.stats.arrays import Floats

#: Names of the figures of ``compare``; the first is drawn where none is named.
FIGURES = (
    "forest", "pairwise", "pairwise-alone", "pairwise-all", "density", "differences", "wins",
    "ranks", "disagreement",
)  # fmt: skip


def scores_of(es: EvalSet, found: Comparison) -> Floats:
    """Give the scores behind a comparison, its systems x segments, in their own numbers."""
    rows = [es.systems.index(system) for system in found.systems]
    return np.asarray(es[found.score].values[rows])


def draw(
    name: str,
    found: RankedSystems,
    scores: Floats | None = None,
    pair: tuple[str, str] | None = None,
) -> Chart:
    """Draw one of :data:`FIGURES`.

    ``scores`` (see :func:`scores_of`) are needed by ``density``, ``differences`` and ``wins``;
    ``pair`` are the two systems of the first two, by default the best two.
    """
    style.chosen([name], FIGURES)
    own = {
        "forest": forest,
        "pairwise": pairwise,
        "pairwise-alone": pairwise_alone,
        "pairwise-all": pairwise_all,
        "ranks": ranks,
        "disagreement": disagreement,
    }
    if name in own:
        return own[name](found)
    if scores is None or not isinstance(found, Comparison):
        raise UsageError(f"figure '{name}' needs scores of segments")
    order = found.ranking(_first(found))
    if name == "wins":
        better = 1.0 if found.higher_is_better else -1.0
        return wins(order, better * _rows(found, scores, order))
    two = pair or tuple(order[:2])
    return draw_pair(
        name,
        _rows(found, scores, two),
        two,
        segment_label(found.score, corpus=any(own.of == CORPUS for own in _all(found))),
        higher_is_better=found.higher_is_better,
    )


def _first(found: RankedSystems) -> str:
    return next(iter(found.aggregations))


def _rows(found: RankedSystems, scores: Floats, names: Sequence[str]) -> Floats:
    for name in names:
        if name not in found.systems:
            raise UsageError(f"no system '{name}'; {hint(name, found.systems)}")
    return np.asarray(scores[[found.systems.index(name) for name in names]])


def forest(found: RankedSystems) -> Chart:
    """Draw every ranking with its intervals, systems in the order of the first one."""
    order = found.ranking(_first(found))
    index = [found.systems.index(system) for system in order]
    names = labels(order)
    panels = []
    for k, (by, own) in enumerate(found.aggregations.items()):
        tiers = found.tiers.get(by)
        span = None
        if own.low is not None and own.high is not None:
            span = own.low[index], own.high[index]
        groups = None if tiers is None else [tiers.clusters[i] for i in index]
        drawn = Intervals(names, own.scores[index], span, groups)
        panels.append(
            interval_panel(
                drawn,
                title=found.shown(by) + ("" if own.higher_is_better else " ↓"),
                axis="score" if own.average else "strength",
                first=k == 0,
                width=250 if len(found.aggregations) <= 2 else 190,
            )
        )
    what = "points: scores"
    what += "; lines: 95% intervals" if any(r.low is not None for r in _all(found)) else ""
    what += f"; numbers and colours: tiers at {found.alpha:g}" if found.tiers else ""
    return finish(
        alt.hconcat(*panels, spacing=28),
        "Systems, best first",
        [size_of(found), what, limited(len(order), "systems")],
    )


def _all(found: RankedSystems) -> list[Ranked]:
    return list(found.aggregations.values())


def ranks(found: RankedSystems) -> Chart:
    """Draw how often each system takes each place when segments are drawn anew."""
    order = found.ranking(_first(found))
    index = [found.systems.index(system) for system in order]
    names = labels(order)
    panels: list[Chart] = []
    for by, own in found.aggregations.items():
        if own.rank_shares is None:
            continue
        shares = own.rank_shares[index]
        places = [str(k + 1) for k in range(shares.shape[1])]
        texts = [[f"{100 * v:.0f}" if v >= 0.005 else "" for v in row] for row in shares]
        drawn = Matrix(
            rows=names,
            columns=places,
            values=np.where(shares > 0, shares, np.nan),
            texts=texts,
            size=cell_size(len(names), most=23, least=12, whole=420),
            title=found.shown(by),
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
        alt.hconcat(*panels, spacing=22),
        "Places under resampling, in percent",
        [size_of(found), "row: system; column: the place it takes; stronger colour is more often"],
    )


def disagreement(found: RankedSystems) -> Chart:
    """Draw where mean, median and Bradley-Terry disagree: places side by side, and the pairs."""
    by = [name for name in ("mean", "median", "bt") if name in found.aggregations]
    if len(by) < 2:
        raise UsageError("figure 'disagreement' needs two rankings of mean, median and bt (by=...)")
    order = found.ranking(by[0])[: style.MOST]
    index = [found.systems.index(system) for system in order]
    places = {found.shown(name): found.aggregations[name].ranks[index] for name in by}
    by = list(places)
    names = labels(order)
    odd = _odd_ones(by, places, names)
    height = cell_size(len(names), most=24, least=13, whole=640) * len(names)
    chart = alt.hconcat(
        _slopes(by, places, names, {n for row in odd for n in (row["row"], row["column"])}, height),
        _odd_matrix(names, odd, by, height),
        spacing=40,
    )
    pairs = len(names) * (len(names) - 1) // 2
    what = "left: places by each ranking; right: who disagrees about the pair"
    return finish(
        chart,
        f"Where {listed(by, len(by), last=' and ')} disagree",
        [size_of(found), f"{len(odd):,} of {pairs:,} pairs are ordered differently; {what}"],
    )


def _odd_ones(
    by: Sequence[str], places: dict[str, Floats], names: Sequence[str]
) -> list[dict[str, str]]:
    """List the pairs that rankings order differently, and the ranking that stands alone."""
    found = []
    for i, j in combinations(range(len(names)), 2):
        gaps = {name: places[name][j] - places[name][i] for name in by}
        signs = {name: int(np.sign(gap)) for name, gap in gaps.items() if np.isfinite(gap)}
        used = {name: sign for name, sign in signs.items() if sign}
        if len(set(used.values())) < 2:
            continue
        alone = [n for n in used if list(used.values()).count(used[n]) == 1]
        who = alone[0] if len(alone) == 1 else " against ".join(used)  # the third sees a tie
        found.append({"row": names[i], "column": names[j], "alone": who})
    return found


def _slopes(
    by: Sequence[str],
    places: dict[str, Floats],
    names: Sequence[str],
    moved: set[str],
    height: float,
) -> Chart:
    """Draw the places of each system as a line through the rankings."""
    rows = [
        {"by": one, "place": number(places[one][i]), "i": i, "system": name, "moved": name in moved,
         "tip": f"{name}: place {shown(number(places[one][i]))} by {one}"}
        for i, name in enumerate(names)
        for one in by
        if np.isfinite(places[one][i])
    ]  # fmt: skip
    top = alt.Axis(orient="top", labelAngle=0, domain=False, ticks=False)
    x = alt.X("by:N", scale=alt.Scale(domain=list(by), padding=0.1), title=None, axis=top)
    step = 1 + len(names) // 25
    how = {
        "title": "place",
        "axis": alt.Axis(grid=False, values=list(range(1, len(names) + 1, step)), format="d"),
        "scale": alt.Scale(domain=[len(names) + 0.5, 0.5], nice=False, zero=False),
    }
    y = alt.Y("place:Q", **how)
    colour = alt.condition("datum.moved", alt.value(style.RED), alt.value("#BBBBBB"))
    base = plot(rows, width=90 * len(by), height=height)
    lines = base.mark_line(strokeWidth=1.6).encode(**typed(x=x, y=y, detail="i:O", color=colour))
    points = base.mark_point(filled=True, size=40, opacity=1).encode(
        **typed(x=x, y=y, color=colour, tooltip=["system:N", "by:N", "place:Q"])
    )
    last = [row for row in rows if row["by"] == by[-1]]
    spread = np.argsort(np.argsort([float(row["place"] or 0) for row in last], kind="stable"))
    for row, k in zip(last, spread, strict=True):
        row["at"] = int(k) + 1  # names of systems that share a place stand below each other
    text = (
        plot(last)
        .mark_text(align="left", dx=10, fontSize=11, color=style.INK)
        .encode(**typed(x=x, y=alt.Y("at:Q", **how), text="system:N"))
    )
    return alt.layer(lines, points, text)


def _odd_matrix(
    names: Sequence[str], odd: list[dict[str, str]], by: Sequence[str], height: float
) -> Chart:
    more = sorted({row["alone"] for row in odd} - set(by))
    kinds = [*(by if len(by) > 2 else ()), *more]
    colours = [style.SKY, style.GREEN, style.RED, style.PINK, style.ORANGE, style.GREY][
        : len(kinds)
    ]
    told = (
        "{row} and {column}: {alone} stands alone" if len(by) > 2 else "{row} and {column}: {alone}"
    )
    odd = [{**r, "tip": told.format(**r)} for r in odd]
    both = [*odd, *({**r, "row": r["column"], "column": r["row"]} for r in odd)]
    blank = [{"row": a, "column": b, "alone": None} for a in names for b in names if a != b]
    x, y = name_axes(names, names)
    base = plot(blank, width=height, height=height)
    ground = base.mark_rect(color=style.PALE, stroke="white").encode(**typed(x=x, y=y))
    boxes = (
        plot(both)
        .mark_rect(stroke="white")
        .encode(
            **typed(
                x=x,
                y=y,
                color=alt.Color(
                    "alone:N",
                    title="stands alone" if len(by) > 2 else "disagree",
                    scale=alt.Scale(domain=kinds, range=colours),
                ),
                tooltip=["row:N", "column:N", "alone:N"],
            )
        )
    )
    return style.titled(alt.layer(ground, boxes), "pairs of systems")
