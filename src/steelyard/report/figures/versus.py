"""Figures of two systems on the same segments, and of who wins how often."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from steelyard.comparison.rankings import is_binary
from steelyard.comparison.results import SENTENCES
from steelyard.core.errors import UsageError, hint
from steelyard.report.figures import style
from steelyard.report.figures.panels import Matrix, cell_size, heat, histogram
from steelyard.report.figures.speaking import shown
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
from steelyard.stats.arrays import Floats
from steelyard.stats.strength.wins import win_counts

#: Names of the figures of two systems.
PAIR_FIGURES = ("density", "differences", "wins")
_SIDE = 340
_LINES = (
    {"color": style.RED, "strokeWidth": 1.8},
    {"color": style.GREEN, "strokeWidth": 1.8, "strokeDash": [5, 3]},
)
_LEGEND = "means (solid) and medians (dashed)"


def draw_pair(
    name: str,
    scores: Floats,
    pair: Sequence[str],
    score: str = "score",
    *,
    higher_is_better: bool = True,
) -> Chart:
    """Draw one of :data:`PAIR_FIGURES` of two systems; ``scores`` is 2 x segments.

    Scores are shown as they are; ``higher_is_better`` says who wins.
    """
    if name not in PAIR_FIGURES:
        raise UsageError(f"no figure '{name}' of two systems; {hint(name, PAIR_FIGURES)}")
    if len(pair) != 2:
        raise UsageError(f"figure '{name}' needs two systems")
    if name == "wins":
        return wins(pair, scores if higher_is_better else -scores)
    if name == "density" and is_binary(scores):
        return two_by_two(scores, pair, score)
    draw = density if name == "density" else differences
    return draw(scores, pair, score, higher_is_better=higher_is_better)


def segment_label(score: str, *, corpus: bool) -> str:
    """Name what segments are scored by: of a corpus metric that is not its score of systems."""
    return f"{score}, {SENTENCES}" if corpus else score


def _shared(scores: Floats, pair: Sequence[str]) -> Floats:
    """Keep the segments that both have scores of."""
    both = np.isfinite(scores).all(axis=0)
    if not both.any():
        raise UsageError(f"{pair[0]} and {pair[1]} share no segment with scores")
    return np.asarray(scores[:, both])


def two_by_two(scores: Floats, pair: Sequence[str], score: str = "score") -> Chart:
    """Draw scores of two systems that are 0 or 1: how many segments each of the four cases has.

    Only the segments that one system alone has right tell the two apart: McNemar's test.
    """
    one, two = _shared(scores, pair) == 1
    counts = np.array([[(x & y).sum() for y in (two, ~two)] for x in (one, ~one)], dtype=float)
    first, second = labels(pair)
    drawn = Matrix(
        rows=[f"{first}: 1", f"{first}: 0"],
        columns=[f"{second}: 1", f"{second}: 0"],
        values=counts,
        texts=[[f"{int(n):,}" for n in row] for row in counts],
        ends=(0.0, float(counts.max())),
        size=90,
        legend="segments",
        numbers=True,
        angle=0,
    )
    shares = f"{first} {one.mean():.3f}, {second} {two.mean():.3f}"
    return finish(
        drawn.chart(),
        f"{first} against {second}: segments by {label(score)}",
        [f"share of 1: {shares}", "the two systems differ on the other diagonal alone"],
    )


def density(
    scores: Floats, pair: Sequence[str], score: str = "score", *, higher_is_better: bool = True
) -> Chart:
    """Draw the scores of two systems on the same segments, and what three rankings make of them.

    The first system's scores are on the x-axis, the second's on the y-axis. Above the diagonal the
    second one scored higher. Where the lines of the means (solid) cross above the diagonal, the
    mean prefers the second; the same for the medians (dashed); Bradley-Terry prefers the system
    whose half-plane holds more segments, which is shaded. Where lower is better, it is the other
    way round.
    """
    a, b = _shared(scores, pair)
    edges = style.bins(np.r_[a, b], most=42, least=20)
    low, high = number(edges[0]), number(edges[-1])
    first, second = map(label, pair)
    above, below = int((b > a).sum()), int((a > b).sum())
    scale = alt.Scale(domain=[low, high], nice=False, zero=False)
    titles = (f"{first} ({label(score)})", f"{second} ({label(score)})")
    x, y = alt.X("x:Q", scale=scale, title=titles[0]), alt.Y("y:Q", scale=scale, title=titles[1])
    layers = []
    if above != below:
        corner = high if above > below else low
        rows = [{"x": low, "y": low, "y2": corner}, {"x": high, "y": high, "y2": corner}]
        area = plot(rows).mark_area(color="#FBE7B5", opacity=0.75)
        layers.append(area.encode(**typed(x=x, y=y, y2="y2:Q")))
    layers.append(heat(a, b, (edges, edges), titles=titles, size=(_SIDE, _SIDE)))
    ends = [{"x": low, "y": low}, {"x": high, "y": high}]
    layers.append(plot(ends).mark_line(color=style.INK, strokeWidth=1).encode(**typed(x=x, y=y)))
    middles = {"mean": (a.mean(), b.mean()), "median": (np.median(a), np.median(b))}
    for (of, (u, v)), look in zip(middles.items(), _LINES, strict=True):
        tip = f"{of}: {first} {shown(number(u))}, {second} {shown(number(v))}"
        one = plot([{"x": number(u), "y": number(v), "tip": tip}])
        layers += [
            one.mark_rule(**look).encode(**typed(x=x)),
            one.mark_rule(**look).encode(**typed(y=y)),
            one.mark_point(filled=True, size=60, opacity=1, color=look["color"]).encode(
                **typed(x=x, y=y, tooltip=["tip:N"])
            ),
        ]
    centre = alt.layer(*layers)
    grid = alt.vconcat(
        histogram(a, edges, upright=False, length=_SIDE),
        alt.hconcat(centre, histogram(b, edges, upright=True, length=_SIDE), spacing=6),
        spacing=6,
    )
    ties = len(a) - above - below
    counts = f"{second} is higher on {above:,} segments, {first} on {below:,}, {ties:,} ties"
    better = 1 if higher_is_better else -1
    arrow = "" if higher_is_better else "; lower is better"
    return finish(
        grid,
        f"{first} against {second}, segment by segment",
        [
            f"{counts}; the half-plane with more segments is shaded{arrow}",
            f"lines: {_LEGEND}; {_verdicts(middles, above - below, first, second, better)}",
        ],
    )


def _verdicts(
    middles: dict[str, tuple[float, float]], lead: int, first: str, second: str, better: int
) -> str:
    """Say which of the two each ranking prefers."""

    def ahead(gap: float) -> str:
        return second if gap * better > 0 else first if gap * better < 0 else "neither"

    found = [f"{of}: {ahead(v - u)}" for of, (u, v) in middles.items()]
    return "preferred by " + ", by ".join([*found, f"bt: {ahead(lead)}"])


def differences(
    scores: Floats, pair: Sequence[str], score: str = "score", *, higher_is_better: bool = True
) -> Chart:
    """Draw the paired differences of two systems, the first minus the second, as a histogram."""
    gap = np.subtract(*_shared(scores, pair))
    first, second = map(label, pair)
    kinds = [f"{first} higher", "tie", f"{second} higher"]
    bars = (
        plot(difference_bars(gap, kinds), width=460, height=250)
        .mark_rect()
        .encode(
            **typed(
                x=alt.X("from:Q", title=f"{first} minus {second} ({label(score)})"),
                x2="to:Q",
                y=alt.Y("base:Q", title="segments"),
                y2="top:Q",
                color=alt.Color(
                    "kind:N",
                    scale=alt.Scale(domain=kinds, range=[style.BLUE, style.GREY, style.ORANGE]),
                    title=None,
                ),
                tooltip=["kind:N", "n:Q", "from:Q", "to:Q"],
            )
        )
    )
    marks = {"mean": float(gap.mean()), "median": float(np.median(gap))}
    lines = [
        plot([{"at": number(v)}]).mark_rule(**look).encode(**typed(x="at:Q"))
        for v, look in zip(marks.values(), _LINES, strict=True)
    ]
    zero = plot([{"at": 0}]).mark_rule(color=style.INK).encode(**typed(x="at:Q"))
    lead = gap if higher_is_better else -gap
    counts = f"{(lead > 0).sum():,} wins, {(lead == 0).sum():,} ties, {(lead < 0).sum():,} losses"
    counts += "" if higher_is_better else " (lower is better)"
    shown = f"mean {marks['mean']:+.4g} (solid), median {marks['median'] + 0.0:+.4g} (dashed)"
    return finish(
        alt.layer(bars, zero, *lines),
        f"Differences of {first} and {second}",
        [f"{counts}; {shown}"],
    )


def difference_bars(gap: Floats, kinds: Sequence[str]) -> list[style.Row]:
    """Bin differences into stacked bars: of each bin, those above 0, at 0 and below it.

    Ties stand in the middle of a bin, where neither side can claim them.

    Examples
    --------
    >>> bars = difference_bars(np.array([0.0, 0.0, 1.0]), ["win", "tie", "loss"])
    >>> [(bar["kind"], bar["n"]) for bar in bars]
    [('tie', 2), ('win', 1)]
    """
    width = float(np.diff(style.bins(gap, most=40)[:2])[0])
    place = np.rint(gap / width).astype(np.int64)
    found: list[style.Row] = []
    for k in np.unique(place).tolist():
        own = gap[place == k]
        ends = {"from": number((k - 0.46) * width), "to": number((k + 0.46) * width)}
        base = 0
        for kind, n in zip(kinds, (own > 0, own == 0, own < 0), strict=True):
            count = int(n.sum())
            if count:
                found.append({**ends, "kind": kind, "n": count, "base": base, "top": base + count})
            base += count
    return found


def wins(systems: Sequence[str], scores: Floats) -> Chart:
    """Draw how often each system wins, ties and loses against all others, segment by segment."""
    names = labels(systems)[: style.MOST]
    if len(names) < 2:
        raise UsageError("figure 'wins' needs two systems")
    counts = win_counts(scores)
    kinds = ("wins", "ties", "losses")
    rows = []
    for i, name in enumerate(names):
        own = (counts.wins[i].sum(), counts.ties[i].sum(), counts.wins[:, i].sum())
        total = sum(own)
        start = 0.0
        for kind, n in zip(kinds, own, strict=True):
            end = start + (n / total if total else 0.0)
            text = f"{100 * n / total:.0f}" if total and n / total > 0.06 else ""
            place = {"from": number(start), "to": number(end), "middle": number((start + end) / 2)}
            share = f"{100 * n / total:.1f}%" if total else "none"
            tip = f"{name}: {int(n):,} {kind} ({share} of its comparisons)"
            told = {"n": int(n), "text": text, "tip": tip}
            rows.append({"system": name, "kind": kind, **place, **told})
            start = end
    left = alt.Axis(grid=False, labelOverlap=False)
    y = alt.Y("system:N", scale=alt.Scale(domain=names), title=None, axis=left)
    height = cell_size(len(names), most=24, least=14, whole=640) * len(names)
    base = plot(rows, width=420, height=height).encode(**typed(y=y))
    scale = alt.Scale(domain=list(kinds), range=[style.BLUE, style.FAINT, style.ORANGE])
    bars = base.mark_bar().encode(
        **typed(
            x=alt.X(
                "from:Q",
                title="share of comparisons with other systems",
                axis=alt.Axis(format="%"),
                scale=alt.Scale(domain=[0, 1]),
            ),
            x2="to:Q",
            color=alt.Color("kind:N", scale=scale, title=None),
            tooltip=["system:N", "kind:N", "n:Q"],
        )
    )
    dark = alt.condition("datum.kind == 'wins'", alt.value("white"), alt.value(style.INK))
    text = base.mark_text(fontSize=10).encode(**typed(x="middle:Q", text="text:N", color=dark))
    more = limited(len(systems), "systems")
    return finish(alt.layer(bars, text), "Wins, ties and losses in percent", [more])
