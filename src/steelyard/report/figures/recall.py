"""Figures of entities: how many there are, recall by category, and metrics beside people."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from steelyard.core.errors import UsageError
from steelyard.report.figures import style
from steelyard.report.figures.panels import Matrix
from steelyard.report.figures.style import (
    Chart,
    alt,
    finish,
    label,
    labels,
    limited,
    number,
    plot,
    typed,
)
from steelyard.stats.correlation import pearson

_FEW = 5  # systems up to which categories are bars


def categories(source: Mapping[str, int], found: Mapping[str, Mapping[str, int]]) -> Chart:
    """Draw how many entities of each category the systems keep.

    Parameters
    ----------
    source
        Entities in the source, by category.
    found
        Those that each system has, too: system, then category.

    Up to five systems are bars beside the source; more are a matrix of shares.
    """
    if not source or not found:
        raise UsageError("figure 'categories' needs entities of the source and of a system")
    order = sorted(source, key=lambda name: (-source[name], name))[: style.MOST]
    return _bars(source, found, order) if len(found) <= _FEW else _shares(source, found, order)


def _share(kept: int, total: int) -> float:
    return kept / total if total else float("nan")


def _bars(
    source: Mapping[str, int], found: Mapping[str, Mapping[str, int]], order: list[str]
) -> Chart:
    sides = labels(["source", *found])
    names = labels(order)
    rows = []
    for side, counts in zip(sides, [source, *found.values()], strict=True):
        for name, category in zip(names, order, strict=True):
            n, total = int(counts.get(category, 0)), int(source[category])
            share = _share(n, total)
            text = str(n) if counts is source or np.isnan(share) else f"{n} ({100 * share:.0f}%)"
            rows.append({"category": name, "side": side, "n": n, "text": text})
    colours = [style.GREY, *style.PALETTE[:6]][: len(sides)]
    scale = alt.Scale(domain=sides, range=colours)
    base = plot(rows, width=420).encode(**typed(
        y=alt.Y("category:N", scale=alt.Scale(domain=names, paddingInner=0.25), title=None,
                axis=alt.Axis(labelOverlap=False)),
        yOffset=alt.YOffset("side:N", scale=alt.Scale(domain=sides)),
        x=alt.X("n:Q", title="entities",
                scale=alt.Scale(zero=True, domainMax=1.2 * max(source.values()))),
    )).properties(height=len(names) * (14 * len(sides) + 8))  # fmt: skip
    bars = base.mark_bar().encode(
        **typed(
            color=alt.Color("side:N", scale=scale, title=None),
            tooltip=["category:N", "side:N", "n:Q"],
        )
    )
    text = base.mark_text(align="left", dx=4, fontSize=10).encode(**typed(text="text:N"))
    return finish(
        alt.layer(bars, text),
        "Entities by category",
        ["in the source, and how many of them each system keeps", limited(len(source), "kinds")],
    )


def _shares(
    source: Mapping[str, int], found: Mapping[str, Mapping[str, int]], order: list[str]
) -> Chart:
    every = sum(source.values())
    kept = {system: sum(counts.values()) for system, counts in found.items()}
    systems = sorted(found, key=lambda system: (-_share(kept[system], every), system))[: style.MOST]
    values = np.array(
        [[_share(int(found[s].get(c, 0)), int(source[c])) for c in order] for s in systems]
    )
    texts = [["" if np.isnan(v) else f"{100 * v:.0f}" for v in row] for row in values]
    rows = labels(systems)
    columns = labels(f"{name} ({source[name]:,})" for name in order)
    low = float(np.floor(10 * np.nanmin(values, initial=1.0)) / 10)
    drawn = Matrix(
        rows=rows,
        columns=columns,
        values=values,
        texts=texts,
        ends=(low if low < 1 else 0.0, 1.0),
        size=30,
        legend="share kept",
        numbers=True,
    )
    return finish(
        drawn.chart(),
        "Entities kept by category, in percent",
        ["systems from best to worst; in brackets: entities in the source"],
    )


def beside_people(scores: Mapping[str, Mapping[str, float]], human: str) -> Chart:
    """Draw scores of systems side by side on one scale, systems ordered by the human score.

    ``scores`` holds a value per system for each score, all standardised; the
    correlation of each with the human one stands beside its name.
    """
    if human not in scores:
        raise UsageError(f"no score '{human}' among {', '.join(scores) or 'none'}")
    gold = scores[human]
    systems = sorted(gold, key=lambda system: (-gold[system], system))[: style.MOST]
    shown = labels(systems)
    names = labels(_named(name, own, gold, human) for name, own in scores.items())
    rows = [
        {"system": text, "score": name, "value": number(own[system])}
        for name, own in zip(names, scores.values(), strict=True)
        for text, system in zip(shown, systems, strict=True)
        if system in own
    ]
    people = list(scores).index(human)
    colours = [*style.PALETTE[1:6], style.GREY, *style.PALETTE[7:]]
    colours.insert(people, style.BLUE)
    shapes = ["square", "triangle-up", "diamond", "cross", "triangle-down"]
    shapes.insert(people, "circle")
    base = plot(rows, width=max(240, 34 * len(shown)), height=300).encode(**typed(
        x=alt.X("system:N", scale=alt.Scale(domain=shown), title=None,
                axis=alt.Axis(labelAngle=-50, labelOverlap=False)),
        y=alt.Y("value:Q", title="standard deviations from the mean", scale=alt.Scale(zero=False)),
        color=alt.Color("score:N", title=None,
                        scale=alt.Scale(domain=names, range=colours[: len(names)])),
    ))  # fmt: skip
    shape = alt.Shape(
        "score:N", title=None, scale=alt.Scale(domain=names, range=shapes[: len(names)])
    )
    points = base.mark_point(filled=True, size=65, opacity=1).encode(
        **typed(shape=shape, tooltip=["system:N", "score:N", "value:Q"])
    )
    return finish(
        alt.layer(base.mark_line(opacity=0.5), points),
        "Metrics beside people",
        ["systems from best to worst by the human score; r: correlation of the systems with it"],
    )


def _named(name: str, own: Mapping[str, float], gold: Mapping[str, float], human: str) -> str:
    if name == human:
        return label(name)
    both = [s for s in gold if s in own and np.isfinite(own[s]) and np.isfinite(gold[s])]
    pair = np.array([[own[s], gold[s]] for s in both]).reshape(-1, 2)
    r = float(pearson(pair[:, :1], pair[:, 1:])[0]) if len(both) > 1 else float("nan")
    return label(name) if np.isnan(r) else f"{label(name)} (r = {r:.3f})"
