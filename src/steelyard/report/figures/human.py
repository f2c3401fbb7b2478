"""Figures of raw judgements: the ranking, how severe raters are, how far they agree."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from steelyard.core.errors import UsageError
from steelyard.human.results import HumanScores, defined_coefficients
from steelyard.report.figures import vega
from steelyard.report.figures.panels import Intervals, interval_panel
from steelyard.report.figures.vega import Chart, finish, label, labels, limited

_NORMAL = 1.959964  # standard errors to each side of a 95% interval


def draw(name: str, result: HumanScores) -> Chart:
    """Draw one of :data:`FIGURES`."""
    return vega.drawn(FIGURES, name, result)


def ranking(result: HumanScores) -> Chart:
    """Draw the score of every system, best first, with its interval by unit and its cluster.

    Intervals are normal: 1.96 standard errors of the mean over the segments of the system.
    """
    names = labels(row.system for row in result.systems)
    values = np.array([row.score for row in result.systems])
    error = result.errors
    span = None if error is None else (values - _NORMAL * error, values + _NORMAL * error)
    clusters = [row.cluster for row in result.systems]
    drawn = Intervals(names, values, span, clusters, "cluster")
    chart = interval_panel(drawn, axis=f"score ({label(result.score)})", width=380)
    by = "segment" if result.unit is None else result.unit.name
    what = [] if error is None else [f"lines: 95% intervals of means, by {by}"]
    what += ["numbers and colours: clusters"] if any(clusters) else []
    more = limited(len(names), "systems")
    return finish(chart, "Systems as people rank them", ["; ".join(what), more])


_TITLES = {
    "bias": ("severity", "mean difference to other raters"),
    "r": ("agreement", "correlation with other raters"),
    "agree": ("agreement", "pairs ordered as others do"),
}


def severity(result: HumanScores) -> Chart:
    """Draw how far each rater is above or below the others, and how well they agree."""
    if "raters" not in result.parts:
        raise UsageError("figure 'severity': raters are not known")
    return draw_raters(result.parts["raters"].to_columns())


def draw_raters(raters: Mapping[str, Sequence[Any]]) -> Chart:
    """Draw ``bias`` and ``r`` (or, of rankings, ``agree``) of each ``rater``, as columns."""
    columns = {
        name: np.array([np.nan if x is None else float(x) for x in raters[name]])
        for name in _TITLES
        if name in raters
    }
    columns = {name: values for name, values in columns.items() if np.isfinite(values).any()}
    if not columns:
        raise UsageError("figure 'severity': no rater judged what another one judged, too")
    names = labels(str(rater) for rater in raters["rater"])
    key = next(iter(columns.values()))
    order = [i for i in np.argsort(-key, kind="stable").tolist() if np.isfinite(key[i])]
    panels: list[Chart] = []
    for name, values in columns.items():
        title, axis = _TITLES[name]
        drawn = Intervals([names[i] for i in order], values[order])
        panels.append(
            interval_panel(drawn, title=title, axis=axis, first=not panels, zero=name == "bias")
        )
    text = "severe raters stand below" if "bias" in columns else ""
    return finish(vega.beside(*panels), "Raters", [text, limited(len(order), "raters")])


def agreement(coefficients: Mapping[str, Mapping[str, Any]]) -> Chart:
    """Draw the coefficients of agreement between raters with their 95% intervals."""
    defined = list(defined_coefficients(coefficients))
    if not defined:
        raise UsageError("figure 'agreement': nothing was judged twice")
    values = np.array([float(row["value"]) for _, row in defined])
    ends = [row["ci"] or (np.nan, np.nan) for _, row in defined]
    low, high = np.array(ends, dtype=np.float64).T
    names = labels((name for name, _ in defined), longest=56)
    chart = interval_panel(
        Intervals(names, values, (low, high)), axis="agreement (1 is perfect)", width=320
    )
    lines = "lines: 95% intervals" if np.isfinite(low).any() else ""
    return finish(chart, "Agreement of raters", [lines])


def rankings(result: HumanScores) -> Chart:
    """Draw the ranges of ranks of the organisers and ours, and which of their lines survive."""
    facts = result.more.get("preset", {})
    if not facts.get("our_ranges"):
        raise UsageError("figure 'rankings': expected preset=NAME, and pairs that are tested")
    names = labels(row.system for row in result.systems)
    official = [(row.range_from, row.range_to) for row in result.systems]
    bars = [
        {"system": name, "rule": rule, "from": span[0] - 0.35, "to": span[1] + 0.35}
        for rule, spans in ((facts["name"], official), ("ours", facts["our_ranges"]))
        for name, span in zip(names, spans, strict=True)
        if span[0] is not None
    ]
    shown = {row.system: name for row, name in zip(result.systems, names, strict=True)}
    lines = [
        {"system": shown[line["after"]], "line": "survives" if line["survives"] else "falls"}
        for line in facts.get("lines", ())
    ]
    y = {"field": "system", "type": "nominal", "sort": names, "title": None}
    x = {"field": "from", "type": "quantitative", "title": "ranks that the tests leave possible",
         "scale": {"domain": [0.5, len(names) + 0.5]}}  # fmt: skip
    rule = {"field": "rule", "type": "nominal", "sort": [facts["name"], "ours"], "title": None}
    dash = {"field": "line", "type": "nominal", "title": "official line",
            "scale": {"domain": ["survives", "falls"], "range": [[1, 0], [4, 3]]}}  # fmt: skip
    layers: list[Chart] = [
        {"data": {"values": bars}, "mark": {"type": "bar", "height": 6},
         "encoding": {"y": y, "yOffset": rule, "x": x, "x2": {"field": "to"}, "color": rule}},
        {"data": {"values": lines}, "mark": {"type": "rule", "size": 1.5},
         "encoding": {"y": {**y, "bandPosition": 1}, "strokeDash": dash}},
    ]  # fmt: skip
    chart: Chart = {"layer": layers[: 2 if lines else 1], "width": 380,
                    "height": {"step": 22, "for": "position"}}  # fmt: skip
    pairs = facts["pairs"]
    text = f"of {pairs['n']:,} pairs, {facts['name']} separates {pairs['official']:,}, "
    return finish(chart, "Two rankings of the same ratings", [f"{text}our tests {pairs['ours']:,}"])


#: The figures of ``human``; the first is drawn where none is named.
FIGURES: Mapping[str, Callable[[HumanScores], Chart]] = {
    "ranking": ranking,
    "severity": severity,
    "agreement": lambda result: agreement(result.agreement),
    "rankings": rankings,
}
