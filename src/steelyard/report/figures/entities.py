"""Figures of entities: recall by category, and metrics beside people."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from steelyard.core.errors import UsageError
from steelyard.report.figures import vega
from steelyard.report.figures.panels import Matrix
from steelyard.report.figures.vega import Chart, amount, finish, label, labels, mark, number, shown
from steelyard.stats.correlation import pearson

Counts = Mapping[str, int]


def categories(source: Counts, kept: Mapping[str, Counts]) -> Chart:
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


def beside_people(scores: Mapping[str, Mapping[str, float]], human: str) -> Chart:
    """Draw scores of systems side by side on one scale, systems ordered by the human score.

    ``scores`` holds a value per system for each score, all standardised; the
    correlation of each with the human one stands beside its name.
    """
    if human not in scores:
        raise UsageError(f"no score '{human}' among {', '.join(scores) or 'none'}")
    gold = scores[human]
    systems = sorted(gold, key=lambda system: (-gold[system], system))[: vega.MOST]
    columns = labels(systems)
    names = labels(_named(name, values, gold, human) for name, values in scores.items())
    rows = [
        {"system": column, "score": name, "value": number(values[system]),
         "tip": f"{column}, {name}: {shown(number(values[system]))}"}
        for name, values in zip(names, scores.values(), strict=True)
        for column, system in zip(columns, systems, strict=True)
        if system in values
    ]  # fmt: skip
    drawn = vega.chart(
        rows,
        mark("line", look={"opacity": 0.5}),
        mark("point", tip=True, look={"filled": True, "size": 65, "opacity": 1}),
        size=(max(240, 34 * len(columns)), 300),
        x=vega.category("system", columns, labelAngle=-50),
        y=amount("value", "standard deviations from the mean"),
        color=vega.colour("score", names, vega.PALETTE),
    )
    return finish(
        drawn,
        "Metrics beside people",
        ["systems from best to worst by the human score; r: correlation of the systems with it"],
    )


def _named(name: str, values: Mapping[str, float], gold: Mapping[str, float], human: str) -> str:
    if name == human:
        return label(name)
    both = [s for s in gold if s in values and np.isfinite(values[s]) and np.isfinite(gold[s])]
    pair = np.array([[values[s], gold[s]] for s in both]).reshape(-1, 2)
    r = float(pearson(pair[:, :1], pair[:, 1:])[0]) if len(both) > 1 else float("nan")
    return label(name) if np.isnan(r) else f"{label(name)} (r = {r:.3f})"
