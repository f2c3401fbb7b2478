"""The scores of two systems, paired in four ways: what their own distributions do not tell."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from steelyard.comparison.pairwords import shown_p
from steelyard.core.rng import Rng, generator
from steelyard.report.figures import style
from steelyard.report.figures.panels import heat, histogram
from steelyard.report.figures.style import Chart, alt, finish, label, number, plot, typed
from steelyard.stats.arrays import Floats
from steelyard.stats.paired.arrangements import Arrangement, arrange, rearranged, win_range

_SIDE = 230


def draw_pairings(
    scores: Floats,
    pair: Sequence[str],
    score: str = "score",
    *,
    higher_is_better: bool = True,
    rng: Rng = 0,
) -> Chart:
    """Draw the same two distributions of scores as they are paired, and as they might be.

    ``scores`` is 2 x segments, none missing. The margins of all panels are the same, and so are
    means and medians; who wins more segments, and what paired tests say, is not. With the ``rng``
    of a decision card, numbers are those of the card.
    """
    sign = 1.0 if higher_is_better else -1.0
    x, y = sign * scores
    stream = generator(rng).spawn(1)[0]  # as the card has it
    ways = rearranged(x, y, stream)
    first, second = map(label, pair)
    edges = style.bins(scores.ravel(), most=34, least=16)
    titles = (f"{first} ({label(score)})", f"{second} ({label(score)})")
    panels = []
    for way in ways:
        a, b = sign * arrange(x, y, way.name, stream)
        panels.append(_panel(a, b, edges, titles, _said(way, sign, first)))
    least, most = win_range(x, y)
    n = scores.shape[1]
    same = ways[0]
    mean, median = sign * same.difference_of_means + 0.0, sign * same.difference_of_medians + 0.0
    return finish(
        alt.concat(*panels, columns=2, spacing=30),
        f"{first} and {second}: the same scores, paired in four ways",
        [
            f"in all four: difference of means {mean:+.4g}, of medians {median:+.4g}",
            f"with these scores, {first} could win {least:,} to {most:,} of {n:,} segments",
            "tests take each segment by itself: other pairings have no documents",
        ],
    )


def _said(way: Arrangement, sign: float, first: str) -> list[str]:
    middle = sign * way.median_of_differences + 0.0
    related = "undefined" if np.isnan(way.correlation) else f"{way.correlation:.2f}"
    return [
        f"{way.name}: {first} wins {100 * way.superiority:.1f} %",
        f"median of differences {middle:+.3g}, correlation {related}",
        f"p: t {shown_p(way.p_t)}, sign {shown_p(way.p_sign)}",
    ]


def _panel(
    a: Floats, b: Floats, edges: Floats, titles: tuple[str, str], said: Sequence[str]
) -> Chart:
    low, high = number(edges[0]), number(edges[-1])
    scale = alt.Scale(domain=[low, high], nice=False, zero=False)
    ends = [{"x": low, "y": low}, {"x": high, "y": high}]
    diagonal = (
        plot(ends)
        .mark_line(color=style.INK, strokeWidth=1)
        .encode(**typed(x=alt.X("x:Q", scale=scale), y=alt.Y("y:Q", scale=scale)))
    )
    cells = heat(a, b, (edges, edges), titles=titles, size=(_SIDE, _SIDE))
    grid = alt.vconcat(
        histogram(a, edges, upright=False, length=_SIDE),
        alt.hconcat(
            alt.layer(cells, diagonal), histogram(b, edges, upright=True, length=_SIDE), spacing=4
        ),
        spacing=4,
    )
    title = {"text": said[0], "subtitle": list(said[1:]), "fontSize": 12, "anchor": "start"}
    return grid.properties(title=title)
