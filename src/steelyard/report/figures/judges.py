"""Figures of judges: agreement beside people, gaps that count, confusion, bias, worth of labels."""

from __future__ import annotations

import numpy as np

from steelyard.core.errors import UsageError
from steelyard.judging.card import JudgeCard
from steelyard.judging.report import JudgeReport
from steelyard.report.figures import vega
from steelyard.report.figures.panels import Intervals, Matrix, interval_panel
from steelyard.report.figures.vega import Chart, Row, amount, finish, label, labels, mark, number
from steelyard.stats.estimate import Estimate
from steelyard.stats.prediction_powered.labels import worth_of_labels

_Z = 1.959964
_MOST = 6  # judges that have a panel of their own


def draw(name: str, report: JudgeReport) -> Chart:
    """Draw one of :data:`FIGURES`."""
    return vega.drawn(FIGURES, name, report)


def main_estimate(card: JudgeCard) -> Estimate:
    """Return what a judge is judged by: exact agreement of labels, or rho of scores."""
    return card.accuracy if card.agreement is not None else card.rho


def agreement(report: JudgeReport) -> Chart:
    """Draw how far judges agree with people, beside people with each other and trivial rules."""
    cards = sorted(
        (card for card in report.cards if main_estimate(card).known),
        key=lambda card: -main_estimate(card).value,
    )
    if not cards:
        raise UsageError("figure 'agreement': no judge has rows in common with people")
    names = labels(card.name for card in cards)
    values, low, high = (
        np.array([getattr(main_estimate(card), end) for card in cards])
        for end in ("value", "low", "high")
    )
    axis = "share of rows on which it says what people say"
    if all(card.agreement is None for card in cards):
        axis = "correlation with people over rows"
    chart = interval_panel(Intervals(names, values, (low, high)), axis=axis, width=380)
    ticks: list[Row] = []
    for name, card in zip(names, cards, strict=True):
        if card.ceiling is not None and card.ceiling.people.known:
            value = number(card.ceiling.people.value)
            ticks.append({"name": name, "value": value, "what": "people", "tick": vega.GREEN})
        if card.best_rule is not None and card.agreement is not None:
            value = number(card.best_rule.accuracy)
            ticks.append({"name": name, "value": value, "what": "trivial rule",
                          "tick": vega.GREY})  # fmt: skip
    if ticks:
        rows = [{**row, "tip": f"{row['name']}, {row['what']}: {row['value']}"} for row in ticks]
        look = {"thickness": 3, "size": 14}
        x, fill = amount("value", axis), vega.as_is("tick")
        chart["layer"].append(mark("tick", rows, tip=True, look=look, x=x, color=fill))
    subtitle = "lines: 95% intervals; green: how far annotators agree; grey: the best trivial rule"
    return finish(chart, "Judges beside people", [subtitle])


def gaps(report: JudgeReport) -> Chart:
    """Draw systems by people's mean and the judge's, and how wide a gap must be to count."""
    cards = [card for card in report.cards if card.systems.gap is not None][:_MOST]
    if not cards:
        raise UsageError("figure 'gaps': systems are not known")
    panels = []
    for card in cards:
        level = card.systems
        rows: list[Row] = []
        for i, name in enumerate(labels(level.systems)):
            judge, people = number(level.mean_judge[i]), number(level.mean_people[i])
            if judge is not None and people is not None:
                tip = f"{name}: the judge {judge}, people {people}"
                rows.append({"system": name, "judge": judge, "people": people, "tip": tip})
        x, y = amount("judge", "mean of the judge"), amount("people", "mean of people")
        dots = {"filled": True, "color": vega.BLUE, "opacity": 0.9}
        layers = [mark("point", tip=True, look=dots, x=x, y=y)]
        gap = level.gap.gap if level.gap is not None else None
        if gap is not None and gap.known and rows:
            low = min(row["judge"] for row in rows)
            bar: list[Row] = [{"from": low, "to": number(low + gap.value),
                               "at": min(row["people"] for row in rows)}]  # fmt: skip
            look = {"color": vega.RED, "strokeWidth": 4}
            ends: Chart = {
                "x": {**x, "field": "from"},
                "x2": {"field": "to"},
                "y": {**y, "field": "at"},
            }
            layers.append(mark("rule", bar, look=look, **ends))
        panels.append(vega.chart(rows, *layers, size=(230, 200), title=label(card.name)))
    chart = vega.grid(panels, columns=3, **vega.independent("x", "y"))
    text = "red: the smallest believable gap; nearer systems can't be ordered by this judge alone"
    return finish(chart, "Which gaps count", [text])


def confusion(report: JudgeReport) -> Chart:
    """Draw what judges say by what people say, as shares of what people say."""
    cards = [card for card in report.cards if card.agreement is not None][:_MOST]
    if not cards:
        raise UsageError("figure 'confusion': verdicts are scores, no labels")
    names = labels(report.verdicts.categories, longest=18)
    size = float(max(24, min(60, 260 / len(names))))
    panels = []
    for k, card in enumerate(cards):
        assert card.agreement is not None
        counts = card.agreement.counts
        total = counts.sum(axis=1, keepdims=True)
        shares = np.divide(counts, total, out=np.full_like(counts, np.nan), where=total > 0)
        texts = [[f"{100 * x:.0f}" if np.isfinite(x) else "" for x in row] for row in shares]
        matrix = Matrix(
            rows=names, columns=names, values=shares, size=size, numbers=size > 28, texts=texts,
            title=label(card.name), row_labels=k % 3 == 0,
            tip="people say {row}, the judge {column}: {percent}",
        )  # fmt: skip
        panels.append(matrix.chart())
    text = "rows: what people say; columns: what the judge says; per cent of each row"
    return finish(vega.grid(panels, columns=3), "What judges say where people say so", [text])


def bias(report: JudgeReport) -> Chart:
    """Draw what sways every judge: position, length, other covariates."""
    effects: list[tuple[str, Estimate]] = []
    for card in report.cards:
        if card.position is not None:
            effects.append((f"{card.name}: position", card.position.bias))
        effects += [(f"{card.name}: {e.name}", e.estimate) for e in card.effects[1:]]
    effects = [(name, estimate) for name, estimate in effects if estimate.known]
    if not effects:
        raise UsageError("figure 'bias': no covariate and no position to look at")
    values, low, high = (
        np.array([getattr(estimate, end) for _, estimate in effects])
        for end in ("value", "low", "high")
    )
    drawn = Intervals(labels((name for name, _ in effects), longest=48), values, (low, high))
    chart = interval_panel(drawn, axis="beyond people (0: none)", width=340, zero=True)
    text = "position: first minus second place; others: how the judge's errors move with them"
    return finish(chart, "What sways judges", [text])


def label_curve(report: JudgeReport) -> Chart:
    """Draw the half-width of a corrected mean by the number of labels, with and without judges."""
    people = report.verdicts.people().value
    known = people[~np.isnan(people)]
    total = len(report.verdicts)
    if len(known) < 3 or np.ptp(known) == 0 or total < 20:
        raise UsageError("figure 'labels': too few labels, or all the same")
    spread = float(known.std(ddof=1))
    sizes = np.unique(np.geomspace(15, max(total, 16), 24).astype(int))
    cards = [card for card in report.cards if card.rho.known][:_MOST]
    rows: list[Row] = []
    names = labels(["people alone", *(card.name for card in cards)])
    for name, rho in zip(names, [0.0, *(max(card.rho.value, 0.0) for card in cards)], strict=True):
        worth = [worth_of_labels(rho, float(n), float(max(total - n, 0))) for n in sizes]
        halves = [_Z * spread / np.sqrt(labels_worth) for labels_worth in worth]
        ends = (f"half-width {halves[k]:.4g} with {sizes[k]:,} labels" for k in (0, -1))
        tip = f"{name}: {', '.join(ends)}"  # a line is one mark
        rows += [{"judge": name, "labels": int(n), "half": number(half), "tip": tip}
                 for n, half in zip(sizes, halves, strict=True)]  # fmt: skip
    chart = vega.chart(
        rows,
        mark("line", tip=True),
        size=(380, 230),
        x=amount("labels", "labels of people", scale={"type": "log"}),
        y=amount("half", "half-width of the mean", scale={"zero": True}),
        color=vega.colour("judge", names, vega.PALETTE),
    )
    return finish(chart, "What labels buy", ["with the verdicts on all rows, corrected by labels"])


#: The figures of ``judge``; the first is drawn where none is named.
FIGURES = {
    "agreement": agreement, "gaps": gaps, "confusion": confusion, "bias": bias,
    "labels": label_curve,
}  # fmt: skip
