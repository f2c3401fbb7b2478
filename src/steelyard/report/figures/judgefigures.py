"""Figures of judges: agreement beside people, gaps that count, confusion, bias, worth of labels."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from steelyard.core.errors import UsageError
from steelyard.judging.card import JudgeCard
from steelyard.judging.report import JudgeReport
from steelyard.report.figures import style
from steelyard.report.figures.panels import Intervals, Matrix, interval_panel
from steelyard.report.figures.speaking import shown
from steelyard.report.figures.style import Chart, alt, finish, label, labels, number, plot, typed
from steelyard.stats.estimate import Estimate
from steelyard.stats.prediction_powered.labels import worth_of_labels

#: Names of the figures of ``judge``; the first is drawn where none is named.
FIGURES = ("agreement", "gaps", "confusion", "bias", "labels")
_Z = 1.959964
_MOST = 6  # judges that have a panel of their own


def draw(name: str, found: JudgeReport) -> Chart:
    """Draw one of :data:`FIGURES`."""
    style.chosen([name], FIGURES)
    made: dict[str, Callable[[JudgeReport], Chart]] = {
        "agreement": agreement,
        "gaps": gaps,
        "confusion": confusion,
        "bias": bias,
        "labels": label_curve,
    }
    return made[name](found)


def _main(card: JudgeCard) -> Estimate:
    return card.accuracy if card.agreement is not None else card.rho


def agreement(found: JudgeReport) -> Chart:
    """Draw how far every judge agrees with people; beside it how far people do, and sentinels."""
    cards = sorted(found.cards, key=lambda card: -np.nan_to_num(_main(card).value, nan=-2))
    cards = [card for card in cards if _main(card).known]
    if not cards:
        raise UsageError("figure 'agreement': no judge has rows in common with people")
    names = labels(card.name for card in cards)
    values = np.array([_main(card).value for card in cards])
    span = tuple(np.array([getattr(_main(card), end) for card in cards]) for end in ("low", "high"))
    drawn = Intervals(names, values, (span[0], span[1]))
    axis = "share of rows on which it says what people say"
    if all(card.agreement is None for card in cards):
        axis = "correlation with people over rows"
    chart = interval_panel(drawn, axis=axis, width=380)
    marks = [
        {"name": name, "value": number(card.ceiling.people.value), "what": "people"}
        for name, card in zip(names, cards, strict=True)
        if card.ceiling is not None and card.ceiling.people.known
    ]
    marks += [
        {"name": name, "value": number(card.best_rule.accuracy), "what": "trivial rule"}
        for name, card in zip(names, cards, strict=True)
        if card.best_rule is not None and card.agreement is not None
    ]
    if marks:
        scale = alt.Scale(domain=["people", "trivial rule"], range=[style.GREEN, style.GREY])
        ticks = plot(marks).mark_tick(thickness=3, size=14)
        beside = ticks.encode(
            **typed(
                x=alt.X("value:Q", title=axis),
                y=alt.Y("name:N", scale=alt.Scale(domain=names), title=None),
                color=alt.Color("what:N", scale=scale, title=None),
                tooltip=["name:N", "what:N", "value:Q"],
            )
        )
        chart = alt.layer(chart, beside).resolve_scale(color="independent")
    subtitle = "lines: 95% intervals; green: how far annotators agree; grey: the best trivial rule"
    return finish(chart, "Judges beside people", [subtitle])


def gaps(found: JudgeReport) -> Chart:
    """Draw systems by people's mean and the judge's, and how wide a gap must be to count."""
    cards = [card for card in found.cards if card.systems.gap is not None][:_MOST]
    if not cards:
        raise UsageError("figure 'gaps': systems are not known")
    panels = []
    for card in cards:
        level = card.systems
        known = ~(np.isnan(level.mean_people) | np.isnan(level.mean_judge))
        rows: list[style.Row] = [
            {
                "system": name,
                "judge": number(level.mean_judge[i]),
                "people": number(level.mean_people[i]),
            }
            for i, name in enumerate(labels(level.systems))
            if known[i]
        ]
        points = plot(rows, width=230, height=200).mark_point(filled=True, color=style.BLUE)
        layers = [
            points.encode(
                **typed(
                    x=alt.X("judge:Q", title="mean of the judge", scale=alt.Scale(zero=False)),
                    y=alt.Y("people:Q", title="mean of people", scale=alt.Scale(zero=False)),
                    tooltip=["system:N", "judge:Q", "people:Q"],
                )
            )
        ]
        gap = level.gap.gap if level.gap is not None else None
        if gap is not None and gap.known and rows:
            low = min(row["judge"] for row in rows)
            bar = [{"from": low, "to": number(low + gap.value),
                    "at": min(row["people"] for row in rows)}]  # fmt: skip
            rule = plot(bar).mark_rule(color=style.RED, strokeWidth=4)
            layers.append(rule.encode(**typed(x="from:Q", x2="to:Q", y="at:Q")))
        panels.append(style.titled(alt.layer(*layers), label(card.name)))
    chart = alt.concat(*panels, columns=3).resolve_scale(x="independent", y="independent")
    text = "red: the smallest believable gap; nearer systems can't be ordered by this judge alone"
    return finish(chart, "Which gaps count", [text])


def confusion(found: JudgeReport) -> Chart:
    """Draw what judges say by what people say, as shares of what people say."""
    cards = [card for card in found.cards if card.agreement is not None][:_MOST]
    if not cards:
        raise UsageError("figure 'confusion': verdicts are scores, no labels")
    names = labels(found.verdicts.categories, longest=18)
    panels = []
    for k, card in enumerate(cards):
        assert card.agreement is not None
        counts = card.agreement.counts
        total = counts.sum(axis=1, keepdims=True)
        shares = np.divide(counts, total, out=np.full_like(counts, np.nan), where=total > 0)
        size = float(max(24, min(60, 260 / len(names))))
        texts = [[f"{100 * x:.0f}" if np.isfinite(x) else "" for x in row] for row in shares]
        matrix = Matrix(
            rows=names, columns=names, values=shares, size=size, numbers=size > 28, texts=texts,
            title=label(card.name), row_labels=k % 3 == 0,
            tip="people say {row}, the judge {column}: {percent}",
        )  # fmt: skip
        panels.append(matrix.chart())
    chart = alt.concat(*panels, columns=3)
    text = "rows: what people say; columns: what the judge says; per cent of each row"
    return finish(chart, "What judges say where people say so", [text])


def bias(found: JudgeReport) -> Chart:
    """Draw what sways every judge: position, length, its own family, other covariates."""
    rows: list[tuple[str, Estimate]] = []
    for card in found.cards:
        if card.position is not None and card.position.bias.known:
            rows.append((f"{card.name}: position", card.position.bias))
        rows += [(f"{card.name}: {effect.name}", effect.estimate) for effect in card.effects[1:]]
    rows = [(name, own) for name, own in rows if own.known]
    if not rows:
        raise UsageError("figure 'bias': no covariate and no position to look at")
    values = np.array([own.value for _, own in rows])
    low, high = (np.array([getattr(own, end) for _, own in rows]) for end in ("low", "high"))
    drawn = Intervals(labels((name for name, _ in rows), longest=48), values, (low, high))
    chart = interval_panel(drawn, axis="beyond people (0: none)", width=340)
    zero = plot([{"at": 0}]).mark_rule(strokeDash=[4, 3]).encode(**typed(x="at:Q"))
    text = "position: first minus second place; others: how the judge's errors move with them"
    return finish(alt.layer(zero, chart), "What sways judges", [text])


def label_curve(found: JudgeReport) -> Chart:
    """Draw the half-width of a corrected mean by the number of labels, with and without judges."""
    people = found.verdicts.people().value
    known = people[~np.isnan(people)]
    total = len(found.verdicts)
    if len(known) < 3 or np.ptp(known) == 0 or total < 20:
        raise UsageError("figure 'labels': too few labels, or all the same")
    spread = float(known.std(ddof=1))
    sizes = np.unique(np.geomspace(15, max(total, 16), 24).astype(int))
    lines: dict[str, list[tuple[int, float]]] = {}
    cards = [card for card in found.cards if card.rho.known][:_MOST]
    for name, rho in [("people alone", 0.0), *((c.name, max(c.rho.value, 0.0)) for c in cards)]:
        worth = [worth_of_labels(rho, float(n), float(max(total - n, 0))) for n in sizes]
        lines[name] = [(int(n), _Z * spread / np.sqrt(own))
                       for n, own in zip(sizes, worth, strict=True)]  # fmt: skip
    return _widths(lines)


def _widths(lines: Mapping[str, Sequence[tuple[int, float]]]) -> Chart:
    """Draw half-widths of a corrected mean by the number of labels."""
    rows: list[style.Row] = []
    for name, own in lines.items():
        ends = (f"half-width {shown(half)} with {n:,} labels" for n, half in (own[0], own[-1]))
        tip = f"{label(name)}: {', '.join(ends)}"  # a line is one mark
        rows += [{"judge": label(name), "labels": n, "half": number(half), "tip": tip}
                 for n, half in own]  # fmt: skip
    chart = plot(rows, width=380, height=230).mark_line(point=False)
    chart = chart.encode(
        **typed(
            x=alt.X("labels:Q", scale=alt.Scale(type="log"), title="labels of people"),
            y=alt.Y("half:Q", title="half-width of the mean"),
            color=alt.Color("judge:N", title=None),
            tooltip=["judge:N", "labels:Q", "half:Q"],
        )
    )
    return finish(chart, "What labels buy", ["with the verdicts on all rows, corrected by labels"])
