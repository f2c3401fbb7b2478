"""Figures of raw judgements: the ranking, how severe raters are, how far they agree."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from steelyard.core.errors import UsageError
from steelyard.human.results import HumanScores, defined_coefficients
from steelyard.report.figures import style
from steelyard.report.figures.panels import Intervals, interval_panel
from steelyard.report.figures.style import Chart, alt, finish, label, labels, limited, plot, typed

#: Names of the figures of ``human``; the first is drawn where none is named.
FIGURES = ("ranking", "severity", "agreement", "rankings")
_NORMAL = 1.959964  # standard errors to each side of a 95% interval


def draw(name: str, found: HumanScores) -> Chart:
    """Draw one of :data:`FIGURES`."""
    style.chosen([name], FIGURES)
    if name == "severity" and "raters" not in found.parts:
        raise UsageError("figure 'severity': raters are not known")
    made: dict[str, Callable[[], Chart]] = {
        "ranking": lambda: ranking(found),
        "severity": lambda: severity(found.parts["raters"].to_columns()),
        "agreement": lambda: agreement(found.agreement),
        "rankings": lambda: rankings(found),
    }
    return made[name]()


def ranking(found: HumanScores) -> Chart:
    """Draw the score of every system, best first, with its interval by unit and its cluster.

    Intervals are normal: 1.96 standard errors of the mean over the segments of the system.
    """
    names = labels(one.system for one in found.systems)
    values = np.array([one.score for one in found.systems])
    error = found.errors
    span = None if error is None else (values - _NORMAL * error, values + _NORMAL * error)
    clusters = [one.cluster for one in found.systems]
    drawn = Intervals(names, values, span, clusters)
    chart = interval_panel(drawn, axis=f"score ({label(found.score)})", width=380)
    by = "segment" if found.unit is None else found.unit.name
    what = [] if error is None else [f"lines: 95% intervals of means, by {by}"]
    what += ["numbers and colours: clusters"] if any(clusters) else []
    more = limited(len(names), "systems")
    return finish(chart, "Systems as people rank them", ["; ".join(what), more])


def severity(raters: Mapping[str, Sequence[Any]]) -> Chart:
    """Draw how far each rater is above or below the others, and how well they agree.

    ``raters`` are columns: ``rater``, ``bias`` (mean difference to the others on the same outputs)
    and ``r`` (correlation with them); or, of rankings, ``agree`` and ``agree_self``.
    """
    shown = [name for name in ("bias", "r", "agree", "agree_self") if name in raters]
    names = labels(str(rater) for rater in raters["rater"])
    columns = {
        name: np.array([np.nan if x is None else float(x) for x in raters[name]]) for name in shown
    }
    shown = [name for name in shown if np.isfinite(columns[name]).any()]
    if not shown:
        raise UsageError("figure 'severity': no rater judged what another one judged, too")
    key = columns[shown[0]]
    order = [i for i in np.argsort(-key, kind="stable").tolist() if np.isfinite(key[i])][
        : style.MOST
    ]
    titles = {
        "bias": ("severity", "mean difference to other raters"),
        "r": ("agreement", "correlation with other raters"),
        "agree": ("agreement", "pairs ordered as others do"),
        "agree_self": ("own repeats", "pairs ordered as before"),
    }
    panels = []
    for k, name in enumerate(shown):
        drawn = Intervals([names[i] for i in order], columns[name][order])
        title, axis = titles[name]
        panel = interval_panel(drawn, title=title, axis=axis, first=k == 0)
        if name == "bias":
            zero = plot([{"at": 0}]).mark_rule(strokeDash=[4, 3])
            panel = alt.layer(zero.encode(**typed(x="at:Q")), panel)
        panels.append(panel)
    most = limited(len([x for x in key if np.isfinite(x)]), "raters")
    text = "severe raters stand below" if shown[0] == "bias" else ""
    return finish(alt.hconcat(*panels, spacing=28), "Raters", [text, most])


def agreement(found: Mapping[str, Mapping[str, Any]]) -> Chart:
    """Draw the coefficients of agreement between raters with their 95% intervals."""
    names, values, ends = [], [], []
    for name, one in defined_coefficients(found):
        names.append(name)
        values.append(float(one["value"]))
        ends.append(one["ci"] or (np.nan, np.nan))
    if not names:
        raise UsageError("figure 'agreement': nothing was judged twice")
    low, high = np.array(ends, dtype=np.float64).T
    drawn = bool(np.isfinite(low).any())
    span = (low, high) if drawn else None
    shown = Intervals(labels(names, longest=56), np.array(values), span)
    chart = interval_panel(shown, axis="agreement (1 is perfect)", width=320)
    return finish(chart, "Agreement of raters", ["lines: 95% intervals" if drawn else ""])


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
    layers: list[dict[str, Any]] = [
        {"data": {"values": bars}, "mark": {"type": "bar", "height": 6},
         "encoding": {"y": y, "yOffset": rule, "x": x, "x2": {"field": "to"}, "color": rule}},
        {"data": {"values": lines}, "mark": {"type": "rule", "size": 1.5},
         "encoding": {"y": {**y, "bandPosition": 1}, "strokeDash": dash}},
    ]  # fmt: skip
    chart = alt.LayerChart.from_dict({"layer": layers[: 2 if lines else 1], "width": 380,
                                      "height": {"step": 22, "for": "position"}})  # fmt: skip
    pairs = facts["pairs"]
    text = f"of {pairs['n']:,} pairs, {facts['name']} separates {pairs['official']:,}, "
    return finish(chart, "Two rankings of the same ratings", [f"{text}our tests {pairs['ours']:,}"])
