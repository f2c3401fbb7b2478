"""The figures of each kind of result: what ``result.plot()`` draws.

Their names are those that ``--plot`` of the commands knows; the first one is the usual one. What a
result has no figure of its own for is drawn as its table says it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from steelyard.core.errors import UsageError, hint
from steelyard.core.table import Cell, Table
from steelyard.report.figures import drawing
from steelyard.report.figures.drawing import Figure
from steelyard.report.figures.panels import Intervals, interval_panels
from steelyard.report.figures.vega import Chart, finish, label, labels, limited
from steelyard.stats.arrays import Floats

if TYPE_CHECKING:
    from steelyard.comparison.card import Card
    from steelyard.comparison.results import Comparison
    from steelyard.kobe.report import KobeReport
    from steelyard.metaevaluation.benchmark.run import BenchmarkResult
    from steelyard.metaevaluation.results import MetaEvaluation
    from steelyard.reproduction.reproduction import Reproduction
    from steelyard.studies.study import Study

#: What a mark says on hover: a page has a script for it, a notebook the browser's own.
_TIP = re.compile(r'<(\w+)([^<>]*?) data-tip="([^"]*)"([^<>]*)/>')
_TITLED = r"<\1\2\4><title>\3</title></\1>"
_PANELS = 4  # columns of a table that are drawn
_ENDS = ("low", "high")
Kinds = Mapping[str, Callable[[], Chart]]


def draw(result: Any, kind: str | None = None) -> Figure:
    """Draw a result; ``kind`` None takes its usual figure.

    Examples
    --------
    >>> import steelyard as sy
    >>> draw(sy.compare(sy.demo_set(), "mqm", by="mean"), "forrest")
    Traceback (most recent call last):
    ...
    steelyard.core.errors.UsageError: no figure 'forrest' of a Comparison; did you mean 'forest'...
    """
    known = kinds(result)
    name = next(iter(known)) if kind is None else kind
    if name not in known:
        raise UsageError(f"no figure '{name}' of a {type(result).__name__}; {hint(name, known)}")
    return Figure(known[name]())


def picture(result: Any) -> str:
    """Draw the usual figure as an SVG element; nothing where there is nothing to draw."""
    try:
        chart = next(iter(kinds(result).values()))()
    except UsageError:  # a result without numbers: its words and its table say so
        return ""
    return _TIP.sub(_TITLED, drawing.draw(chart, "figure").svg)


def kinds(result: Any) -> Kinds:
    """Give the figures of a result, the usual one first; what can't be drawn says why."""
    bases = (base.__name__ for base in type(result).__mro__)
    return next((_FIGURES[name] for name in bases if name in _FIGURES), _of_table)(result)


def _of_rankings(result: Comparison) -> Kinds:
    from steelyard.report.figures import comparison

    scores = None if result.source is None else comparison.scores_of(result.source, result)
    return {name: partial(comparison.draw, name, result, scores) for name in comparison.FIGURES}


def _of_pair(card: Card) -> Kinds:
    from steelyard.comparison.results import CORPUS
    from steelyard.report.figures import pair

    es = card.source
    if es is None:
        return {}
    draw_pair = partial(
        pair.draw_pair,
        scores=es[card.score].values[[es.systems.index(system) for system in card.pair]],
        pair=card.pair,
        score=pair.segment_label(card.score, corpus=card.of == CORPUS),
        higher_is_better=card.higher_is_better,
    )
    return {name: partial(draw_pair, name) for name in pair.PAIR_FIGURES}


def _of_meta(result: MetaEvaluation) -> Kinds:
    from steelyard.report.figures import meta

    inputs = meta.MetaInput(result, result.source)
    return {name: partial(meta.draw, name, inputs) for name in meta.FIGURES}


def _of_benchmark(result: BenchmarkResult) -> Kinds:
    from steelyard.report.figures import meta

    return {name: partial(meta.draw_protocol, name, result) for name in meta.PROTOCOL_FIGURES}


def _of_module(name: str, result: Any) -> Kinds:
    """Give the figures of a module that draws one kind of result by name."""
    module = import_module(f"steelyard.report.figures.{name}")
    return {figure: partial(module.draw, figure, result) for figure in module.FIGURES}


def _of_entities(result: KobeReport) -> Kinds:
    from steelyard.report.figures import comparison

    return {"categories": lambda: comparison.categories(*result.category_counts())}


def _of_study(result: Study) -> Kinds:
    from steelyard.report.figures import curves

    if not result.curves:
        return _of_table(result)
    every: dict[str, Callable[[], Chart]] = {"all": lambda: curves.draw_curves(result.curves)}
    return every | {curve.name: partial(curves.draw_curves, [curve]) for curve in result.curves}


def _of_reproduction(result: Reproduction) -> Kinds:
    from steelyard.report.figures import curves

    return {"published": lambda: curves.draw_reproduction(result)}


def _of_table(result: Any) -> Kinds:
    return {"values": lambda: draw_table(result.table())}


def draw_table(table: Table) -> Chart:
    """Draw a panel for each column of numbers, at most four, a row for each row of the table.

    Rows are named by the columns of words before the first number. Columns ``low`` and ``high`` are
    the ends of the interval of the column before them.
    """
    columns = [[row[j] for row in table.rows] for j in range(len(table.columns))]
    heads = [column.name for column in table.columns]
    drawn = [j for j, name in enumerate(heads) if name not in _ENDS and _measured(columns[j])]
    if not drawn:
        raise UsageError("this table has no numbers to draw")
    words = [cells for cells in columns[: drawn[0]] if any(isinstance(c, str) for c in cells)]
    names = labels(", ".join(str(cell) for cell in row if cell is not None)
                   for row in zip(*words, strict=True))  # fmt: skip
    panels = []
    for j in drawn[:_PANELS]:
        span = None
        if tuple(heads[j + 1 : j + 3]) == _ENDS:
            span = _numbers(columns[j + 1]), _numbers(columns[j + 2])
        panels.append((label(table.columns[j].heading), "",
                       Intervals(names, _numbers(columns[j]), span)))  # fmt: skip
    ends = "lines: 95% intervals" if "low" in heads else ""
    width = 380 if len(drawn) == 1 else 190
    lines = [ends, limited(len(names), "rows")]
    return finish(interval_panels(panels, width=width), table.title, lines)


def _measured(cells: Sequence[Cell]) -> bool:
    """Tell whether a column holds measurements: counts and ranks are whole numbers."""
    return any(isinstance(cell, float) and not np.isnan(cell) for cell in cells)


def _numbers(cells: Sequence[Cell]) -> Floats:
    return np.array([cell if isinstance(cell, (int, float)) else np.nan for cell in cells], float)


#: By the names of classes: to ask for these themselves would load all rooms for one figure.
_FIGURES: Mapping[str, Callable[[Any], Kinds]] = {
    "Comparison": _of_rankings,
    "Card": _of_pair,
    "MetaEvaluation": _of_meta,
    "BenchmarkResult": _of_benchmark,
    "HumanScores": partial(_of_module, "human"),
    "JudgeReport": partial(_of_module, "judges"),
    "KobeReport": _of_entities,
    "Study": _of_study,
    "Reproduction": _of_reproduction,
}
