r"""Which ranking finds a known order of systems.

The simulation of the paired-evaluation paper (section 4, appendix A.2). Systems have strengths
:math:`10 u_i / \sum u`, u uniform. Segments are of several types, each of which shifts all scores
by a uniform amount of up to 100, and scores have normal noise of deviation 1. Outliers are segments
on which scores, uniform up to 100, are ordered against the strengths. Every ranking is judged by
Kendall's tau with the strengths; Elo and TrueSkill are means over random orders of the segments.

This is what the paper's code does. Its text has outliers whose scores are permuted among systems
(``outliers="permuted"``): these hardly move a mean, since a permuted score is not far from others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steelyard.comparison.options import RankOptions
from steelyard.comparison.rankings import RATINGS
from steelyard.core.display import Statement
from steelyard.core.options import check_instance
from steelyard.core.parallel import Workers
from steelyard.core.provenance import Provenance
from steelyard.core.rng import Rng, generator
from steelyard.core.table import Column, Table
from steelyard.core.text import all_of, plural
from steelyard.stats.arrays import Floats
from steelyard.stats.correlation import kendall_b
from steelyard.stats.kendall.counting import count_pairs
from steelyard.stats.ranks import levelled
from steelyard.stats.strength.bradleyterry import bradley_terry_batch
from steelyard.stats.strength.sequential import scores_in_orders, sequences
from steelyard.stats.strength.wins import WinCounts
from steelyard.studies.options import SIMULATED, Design
from steelyard.studies.study import Curve, Line, Row, Study, line_of

RANKINGS = SIMULATED[:3]  # those of the paper's Figure 3
Bools = NDArray[np.bool_]
_CELLS = 20_000_000  # comparisons of scores made at a time
_SPREAD = 100.0  # offsets of types and scores of outliers are up to this
_TOTAL = 10.0  # strengths sum to this


def simulate_scores(
    design: Design, setting: tuple[int, float, int, int], rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """Draw all data sets of one setting: strengths (sets x systems), scores (x segments).

    Types have equally many segments, as many as fit; outliers come on top, at least one if there
    are any.
    """
    types, share, n, segments = setting
    sets = design.repeats
    strengths = rng.random((sets, n))
    strengths *= _TOTAL / strengths.sum(axis=1, keepdims=True)
    each = segments // types
    offsets = np.repeat(_SPREAD * rng.random((sets, types)), each, axis=1)
    noise = design.noise * rng.standard_normal((sets, n, types * each))
    scores = strengths[:, :, None] + offsets[:, None, :] + noise
    count = max(int(share * types * each), 1) if share else 0
    if not count:
        return strengths, scores
    if design.outlier_kind == "permuted":
        scores[:, :, :count] = rng.permuted(scores[:, :, :count], axis=1)
        return strengths, scores
    extra = _SPREAD * np.swapaxes(_reversed_rows(strengths, count, rng), 1, 2)
    return strengths, np.concatenate([scores, extra], axis=2)


def _reversed_rows(strengths: Floats, count: int, rng: np.random.Generator) -> Floats:
    """Draw uniform rows whose tau with the strengths is negative: sets x count x systems."""
    sets, n = strengths.shape
    i, j = np.triu_indices(n, 1)
    ahead = np.sign(strengths[:, i] - strengths[:, j])
    rows = np.empty((sets, count, n))
    filled = np.zeros(sets, dtype=np.int64)
    while (filled < count).any():
        drawn = rng.random((sets, count, n))
        tau = (np.sign(drawn[:, :, i] - drawn[:, :, j]) * ahead[:, None, :]).sum(axis=2)
        for k in range(sets):
            kept = drawn[k, tau[k] < 0][: count - filled[k]]
            rows[k, filled[k] : filled[k] + len(kept)] = kept
            filled[k] += len(kept)
    return rows


def recovered(
    strengths: Floats,
    scores: Floats,
    by: Sequence[str] = RANKINGS,
    *,
    orders: int = 10,
    rng: np.random.Generator | None = None,
) -> Floats:
    """Kendall's tau of each ranking with the true strengths: sets x rankings.

    NaN where a ranking has nothing but ties. ``orders`` and ``rng`` are of Elo and TrueSkill.
    """
    ways: dict[str, Callable[[], Floats]] = {
        "mean": lambda: scores.mean(axis=2),
        "median": lambda: np.median(scores, axis=2),
        "bt": lambda: -bradley_terry_batch(_wins(scores)).ranks,
    }
    streams = dict(zip(RATINGS, generator(rng).spawn(len(RATINGS)), strict=True))
    truth = strengths.T
    taus = []
    for name in by:
        values = ways[name]() if name in ways else _rated(name, scores, orders, streams[name])
        taus.append(kendall_b(count_pairs(truth, levelled(values).T)))
    return np.stack(taus, axis=1)


def _rated(name: str, scores: Floats, orders: int, rng: np.random.Generator) -> Floats:
    """Mean rating over random orders of the segments, sets x systems; all sets play together."""
    sets, n, segments = scores.shape
    in_a_row = np.concatenate(scores, axis=1)
    order = sequences(segments, sets * orders, rng)
    order += np.repeat(np.arange(sets) * segments, orders)[:, None]
    rated = scores_in_orders(RATINGS[name](RankOptions()), in_a_row, order, rng)
    return np.asarray(rated.scores.reshape(sets, orders, n).mean(axis=1))


def _wins(scores: Floats) -> WinCounts:
    """Wins and ties within each set: sets x systems x systems."""
    sets, n, segments = scores.shape
    wins = np.empty((sets, n, n))
    step = max(1, _CELLS // (n * n * segments))
    for first in range(0, sets, step):
        x = scores[first : first + step]
        wins[first : first + step] = (x[:, :, None, :] > x[:, None, :, :]).sum(axis=3)
    ties = segments - wins - np.swapaxes(wins, 1, 2)
    ties[:, np.arange(n), np.arange(n)] = 0
    return WinCounts(wins, ties)


def simulate_setting(
    task: tuple[Design, tuple[int, float, int, int]], rng: np.random.Generator
) -> Floats:
    """Simulate one setting: Kendall's tau of each ranking, sets x rankings."""
    design = task[0]
    drawn = simulate_scores(*task, rng)
    return recovered(*drawn, design.by, orders=design.orders, rng=rng)


def simulate(
    design: Design | None = None, *, rng: Rng = 0, workers: Workers | None = None
) -> Study:
    """Simulate all settings, and draw the curves of the paper's Figure 3.

    Examples
    --------
    >>> small = Design(types=(1,), outliers=(0.0,), systems=(9,), segments=(30,), repeats=20)
    >>> study = simulate(small, rng=1)
    >>> [round(row["tau"], 1) for row in study.table("overall").records()]
    [0.8, 0.8, 0.8]
    """
    check_instance(Design, "a Design", optional=True, design=design)
    check_instance(Workers, "Workers", optional=True, workers=workers)
    design = design or Design()
    draws, resamples = generator(rng).spawn(2)
    settings = design.settings()
    tasks = [(design, setting) for setting in settings]
    taus = (workers or Workers()).run(simulate_setting, tasks, rng=draws)
    # A row per data set: its setting, and the tau of each ranking.
    setting, tau = np.repeat(np.array(settings), design.repeats, axis=0), np.concatenate(taus)
    undefined = int(np.isnan(tau).sum())
    warning = f"{undefined:,} of {tau.size:,} rankings have nothing but ties: no tau"
    shown: dict[str, Any] = {
        "repeats": design.repeats,
        "noise": design.noise,
        "outliers": design.outlier_kind,
        "settings": len(settings),
    }
    shown |= {} if design.by == RANKINGS else {"by": ",".join(design.by)}
    shown |= {"orders": design.orders} if set(design.by) & set(RATINGS) else {}
    curves = tuple(_curve(panel, design.by, setting, tau, resamples) for panel in PANELS)
    overall = [line_of(name, [tau[:, k]], resamples) for k, name in enumerate(design.by)]
    claims = list(_claims(curves, overall))
    return Study(
        "simulation",
        {
            "curves": _curve_table(curves),
            "overall": _overall_table(overall),
            "claims": _claim_table(claims),
        },
        sentences=tuple(_sentences(overall, claims)),
        curves=curves,
        facts={"n_settings": len(settings), "n_sets": len(tau)},
        warnings=(warning,) if undefined else (),
        provenance=Provenance.of("study simulation", shown, rng=rng, asked=design),
    )


@dataclass(frozen=True, slots=True)
class Panel:
    """One panel of Figure 3: which data sets it shows, against which setting."""

    name: str
    title: str
    x_label: str
    column: int  # of the setting
    keep: Callable[[Floats], Bools] = lambda setting: np.ones(len(setting), dtype=bool)


def _easy(setting: Floats) -> Bools:
    return np.asarray((setting[:, 0] == 1) & (setting[:, 1] == 0))


PANELS = (
    Panel("a", "no outliers, one type", "systems", 2, _easy),
    Panel("b", "no outliers, one type", "segments", 3, _easy),
    Panel("c", "one type", "share of outliers", 1, lambda s: s[:, 0] == 1),
    Panel("d", "no outliers", "types", 0, lambda s: s[:, 1] == 0),
    Panel("e", "any number of types", "share of outliers", 1),
    Panel("f", "with outliers", "types", 0, lambda s: s[:, 1] > 0),
    Panel("g", "all simulations", "systems", 2),
    Panel("h", "all simulations", "segments", 3),
)
#: Of a panel and a ranking: whether its tau falls along the panel, as the paper claims.
_FALLS = {
    "c": {"mean": True, "median": False, "bt": False},
    "d": {"mean": False, "median": True, "bt": False},
    "f": {"median": True, "bt": False},
}
Claim = tuple[str, bool, str]  # what the paper says, whether it holds here, and by which numbers


def _curve(
    panel: Panel, by: Sequence[str], setting: Floats, tau: Floats, rng: np.random.Generator
) -> Curve:
    kept = panel.keep(setting)
    at, taus = setting[kept, panel.column], tau[kept]
    x = np.unique(at)
    lines = tuple(
        line_of(name, [taus[at == value, k] for value in x], rng) for k, name in enumerate(by)
    )
    label = "Kendall's tau with the true strengths"
    ticks = tuple(int(v) if v.is_integer() else v for v in x.tolist())
    return Curve(panel.name, panel.title, panel.x_label, label, ticks, lines)


def _sentences(overall: Sequence[Line], claims: Sequence[Claim]) -> Iterator[Statement]:
    taus = {line.name: line.y[0] for line in overall if not np.isnan(line.y[0])}
    order = sorted(taus, key=lambda name: -round(taus[name], 3))
    if not order:
        return
    shown = all_of([f"{name} {taus[name]:.3f}" for name in order])
    yield "settled", f"By Kendall's tau with the true order, {order[0]} comes first: {shown}."
    hold = sum(holds for _, holds, _ in claims)
    yield "sureness", f"{hold} of {plural(len(claims), 'claim')} of the paper hold here."


def _overall_table(lines: Sequence[Line]) -> Table:
    names = ("tau", "low", "high")
    columns = (Column("ranking"), *(Column(name, digits=3) for name in names), Column("data sets"))
    rows = tuple((x.name, *x.at(0), x.n[0]) for x in lines)
    note = "low, high: 95% interval over resampled data sets"
    return Table("Kendall's tau with the true strengths", columns, rows, (note,))


def _curve_table(curves: Sequence[Curve]) -> Table:
    head = (Column("panel"), Column("data sets with"), Column("against"), Column("x", mixed=True))
    numbers = tuple(
        Column(f"{line.name}{part}", digits=3)
        for line in curves[0].lines
        for part in ("", " low", " high")
    )
    rows: tuple[Row, ...] = tuple(
        (
            curve.name,
            curve.title,
            curve.x_label,
            x,
            *(c for line in curve.lines for c in line.at(k)),
        )
        for curve in curves
        for k, x in enumerate(curve.x)
    )
    starts = np.cumsum([len(curve.x) for curve in curves]).tolist()
    rules = frozenset(k for k in starts if 0 < k < len(rows))
    return Table("Curves of Figure 3", (*head, *numbers), rows, (), rules)


def _claim_table(claims: Sequence[Claim]) -> Table:
    columns = (Column("claim"), Column("holds"), Column("evidence"))
    note = "falls: the interval at the last point lies below the interval at the first"
    return Table("What the paper claims", columns, tuple(claims), (note,))


def _claims(curves: Sequence[Curve], overall: Sequence[Line]) -> Iterator[Claim]:
    """Check each claim of section 4 on mean, median and Bradley-Terry, as far as they are there."""
    panels = {curve.name: curve for curve in curves}
    lines = [line for line in overall if line.name in RANKINGS]
    complete = len(lines) == len(RANKINGS)
    if panels["a"].x and complete:
        alike = _overlap(panels["a"]) and _overlap(panels["b"])
        yield "easy data: all three are alike", alike, "panels a, b: whether intervals overlap"
    for curve, claims in ((panels[name], claims) for name, claims in _FALLS.items()):
        by_name = {line.name: line for line in curve.lines} if len(curve.x) > 1 else {}
        for name, falls in claims.items():
            if name in by_name:
                line = by_name[name]
                fallen = bool(line.high[-1] < line.low[0])
                how = "falls" if falls else "does not fall"
                what = f"{curve.title}: {name} {how} with {curve.x_label}"
                yield what, fallen == falls, f"{_shown(line, 0)}, then {_shown(line, -1)}"
    if complete:
        *others, bt = sorted(lines, key=lambda line: RANKINGS.index(line.name))
        ahead = bool(bt.low[0] > max(line.high[0] for line in others))
        evidence = ", ".join(f"{x.name} {_shown(x, 0)}" for x in (*others, bt))
        yield "overall: bt is best", ahead, evidence


def _overlap(curve: Curve) -> bool:
    lines = [line for line in curve.lines if line.name in RANKINGS]
    lows, highs = (np.array([getattr(x, part) for x in lines]) for part in ("low", "high"))
    return bool((lows.max(axis=0) <= highs.min(axis=0)).all())


def _shown(line: Line, k: int) -> str:
    return f"{line.y[k]:.3f} ({line.low[k]:.3f} to {line.high[k]:.3f})"
