"""Figures of two systems on the same segments, and of who wins how often."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from steelyard.comparison.rankings import is_binary
from steelyard.comparison.results import SENTENCES
from steelyard.core.errors import UsageError, hint
from steelyard.core.text import plural
from steelyard.report.figures import vega
from steelyard.report.figures.panels import Matrix, cell_size, heat
from steelyard.report.figures.vega import (
    Chart,
    Row,
    amount,
    finish,
    label,
    labels,
    limited,
    mark,
    number,
    shown,
)
from steelyard.stats.arrays import Floats
from steelyard.stats.strength.wins import win_counts

#: Names of the figures of two systems.
PAIR_FIGURES = ("density", "differences", "wins")
_SIDE = 340
_LINES = (
    {"color": vega.RED, "strokeWidth": 1.8},
    {"color": vega.GREEN, "strokeWidth": 1.8, "strokeDash": [5, 3]},
)


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
    a, b = _shared(scores, pair) == 1
    counts = np.array([[(x & y).sum() for y in (b, ~b)] for x in (a, ~a)], dtype=float)
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
    shares = f"{first} {a.mean():.3f}, {second} {b.mean():.3f}"
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
    edges = vega.bins(np.r_[a, b], most=42, least=20)
    low, high = number(edges[0]), number(edges[-1])
    first, second = map(label, pair)
    above, below = int((b > a).sum()), int((a > b).sum())
    titles = (f"{first} ({label(score)})", f"{second} ({label(score)})")
    x = amount("x", titles[0], domain=(low, high))
    y = amount("y", titles[1], domain=(low, high))
    layers = []
    if above != below:
        corner = high if above > below else low
        rows: list[Row] = [{"x": end, "y": end, "y2": corner} for end in (low, high)]
        look = {"color": "#FBE7B5", "opacity": 0.75}
        layers.append(mark("area", rows, look=look, x=x, y=y, y2={"field": "y2"}))
    layers.append(heat(a, b, (edges, edges), titles=titles))
    ends = [{"x": low, "y": low}, {"x": high, "y": high}]
    layers.append(mark("line", ends, look={"color": vega.INK, "strokeWidth": 1}, x=x, y=y))
    middles = {"mean": (a.mean(), b.mean()), "median": (np.median(a), np.median(b))}
    for (of, (u, v)), look in zip(middles.items(), _LINES, strict=True):
        tip = f"{of}: {first} {shown(number(u))}, {second} {shown(number(v))}"
        at: list[Row] = [{"x": number(u), "y": number(v), "tip": tip}]
        point = {"filled": True, "size": 60, "opacity": 1, "color": look["color"]}
        layers += [
            mark("rule", at, look=look, x=x),
            mark("rule", at, look=look, y=y),
            mark("point", at, tip=True, look=point, x=x, y=y),
        ]
    ties = len(a) - above - below
    counts = f"{second} is higher on {above:,} segments, {first} on {below:,}, {ties:,} ties"
    better = 1 if higher_is_better else -1
    arrow = "" if higher_is_better else "; lower is better"
    return finish(
        {"layer": layers, "width": _SIDE, "height": _SIDE},
        f"{first} against {second}, segment by segment",
        [
            f"{counts}; the half-plane with more segments is shaded{arrow}",
            "lines: means (solid) and medians (dashed); "
            + _verdicts(middles, above - below, first, second, better),
        ],
    )


def _verdicts(
    middles: dict[str, tuple[float, float]], lead: int, first: str, second: str, better: int
) -> str:
    """Say which of the two each ranking prefers."""

    def ahead(gap: float) -> str:
        return second if gap * better > 0 else first if gap * better < 0 else "neither"

    preferred = [f"{of}: {ahead(v - u)}" for of, (u, v) in middles.items()]
    return "preferred by " + ", by ".join([*preferred, f"bt: {ahead(lead)}"])


def differences(
    scores: Floats, pair: Sequence[str], score: str = "score", *, higher_is_better: bool = True
) -> Chart:
    """Draw the paired differences of two systems, the first minus the second, as a histogram."""
    gap = np.subtract(*_shared(scores, pair))
    first, second = map(label, pair)
    kinds = [f"{first} higher", "tie", f"{second} higher"]
    colours = [vega.BLUE, vega.GREY, vega.ORANGE]
    x = amount("from", f"{first} minus {second} ({label(score)})")
    bars = mark(
        "rect",
        difference_bars(gap, kinds),
        tip=True,
        x=x,
        x2={"field": "to"},
        y=amount("base", "segments", scale={"zero": True}),
        y2={"field": "top"},
        color=vega.colour("kind", kinds, colours),
    )
    marks = {"mean": float(gap.mean()), "median": float(np.median(gap))}
    lines = [
        mark("rule", [{"at": number(v)}], look=look, x={**x, "field": "at"})
        for v, look in zip(marks.values(), _LINES, strict=True)
    ]
    zero = mark("rule", [{"at": 0}], look={"color": vega.INK}, x={**x, "field": "at"})
    lead = gap if higher_is_better else -gap
    counts = f"{(lead > 0).sum():,} wins, {(lead == 0).sum():,} ties, {(lead < 0).sum():,} losses"
    counts += "" if higher_is_better else " (lower is better)"
    middles = f"mean {marks['mean']:+.4g} (solid), median {marks['median'] + 0.0:+.4g} (dashed)"
    return finish(
        {"layer": [bars, zero, *lines], "width": 460, "height": 250},
        f"Differences of {first} and {second}",
        [f"{counts}; {middles}"],
    )


def difference_bars(gap: Floats, kinds: Sequence[str]) -> list[Row]:
    """Bin differences into stacked bars: of each bin, those above 0, at 0 and below it.

    Ties stand in the middle of a bin, where neither side can claim them.

    Examples
    --------
    >>> bars = difference_bars(np.array([0.0, 0.0, 1.0]), ["win", "tie", "loss"])
    >>> [(bar["kind"], bar["n"]) for bar in bars]
    [('tie', 2), ('win', 1)]
    """
    width = float(np.diff(vega.bins(gap, most=40)[:2])[0])
    place = np.rint(gap / width).astype(np.int64)
    bars: list[Row] = []
    for k in np.unique(place).tolist():
        inside = gap[place == k]
        start, end = number((k - 0.46) * width), number((k + 0.46) * width)
        base = 0
        for kind, n in zip(kinds, (inside > 0, inside == 0, inside < 0), strict=True):
            count = int(n.sum())
            if count:
                tip = f"{kind}: {plural(count, 'segment')} from {shown(start)} to {shown(end)}"
                bars.append({"from": start, "to": end, "kind": kind, "n": count, "base": base,
                             "top": base + count, "tip": tip})  # fmt: skip
            base += count
    return bars


def wins(systems: Sequence[str], scores: Floats) -> Chart:
    """Draw how often each system wins, ties and loses against all others, segment by segment."""
    names = labels(systems)[: vega.MOST]
    if len(names) < 2:
        raise UsageError("figure 'wins' needs two systems")
    rows: list[Row] = []
    for name, shares in zip(names, win_shares(scores), strict=False):
        start = 0.0
        for kind, (n, share) in shares.items():
            end = start + share
            rows.append({
                "system": name, "kind": kind, "n": n, "from": number(start), "to": number(end),
                "middle": number((start + end) / 2), "strong": kind == "wins",
                "text": f"{100 * share:.0f}" if share > 0.06 else "",
                "tip": f"{name}: {n:,} {kind} ({100 * share:.1f}% of its comparisons)",
            })  # fmt: skip
            start = end
    axis = {"format": "%"}
    x = amount("from", "share of comparisons with other systems", domain=(0, 1), axis=axis)
    fill = vega.colour("kind", ("wins", "ties", "losses"), (vega.BLUE, vega.FAINT, vega.ORANGE))
    text: Chart = {
        "x": {**x, "field": "middle"},
        "text": {"field": "text"},
        "color": vega.on_strong(),
    }
    height = cell_size(len(names), most=24, least=14, whole=640) * len(names)
    bars = vega.chart(
        rows,
        mark("bar", tip=True, x=x, x2={"field": "to"}, color=fill),
        mark("text", look={"fontSize": 10}, **text),
        size=(420, height),
        y=vega.category("system", names, grid=False),
    )
    return finish(bars, "Wins, ties and losses in percent", [limited(len(systems), "systems")])


def win_shares(scores: Floats) -> list[dict[str, tuple[int, float]]]:
    """Return how many comparisons each system wins, ties and loses, and their shares."""
    counts = win_counts(scores)
    shares = []
    for i in range(len(scores)):
        n = (counts.wins[i].sum(), counts.ties[i].sum(), counts.wins[:, i].sum())
        total = sum(n) or 1
        kinds = zip(("wins", "ties", "losses"), n, strict=True)
        shares.append({kind: (int(count), float(count / total)) for kind, count in kinds})
    return shares
