"""The figures of each kind of result: what ``result.plot()`` draws.

Their names are those that ``--plot`` of the commands knows; the first one is the usual one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from steelyard.comparison.pair import Decision
from steelyard.comparison.ranked import CORPUS
from steelyard.comparison.results import Comparison, RankedSystems
from steelyard.core.errors import UsageError, hint
from steelyard.human.results import HumanScores
from steelyard.judging.planning import LabelPlan
from steelyard.judging.results import JudgeReport
from steelyard.kobe.findings import KobeReport
from steelyard.metaevaluation.benchmark.results import BenchmarkResult
from steelyard.metaevaluation.results import MetaEvaluation
from steelyard.report.figures import (
    comparison,
    curves,
    drawing,
    judgefigures,
    metaevaluation,
    people,
    recall,
    tablerows,
    versus,
)
from steelyard.report.figures.style import Chart
from steelyard.reproduction.reproduction import Reproduction
from steelyard.studies.results import Study

#: What a mark says on hover: a page has a script for it, a notebook the browser's own.
_TIP = re.compile(r'<(\w+)([^<>]*?) data-tip="([^"]*)"([^<>]*)/>')
_TITLED = r"<\1\2\4><title>\3</title></\1>"
Kinds = Mapping[str, Callable[[], Chart]]


def draw(result: Any, kind: str | None = None) -> Chart:
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
    return known[name]()


def picture(result: Any) -> str:
    """Draw the usual figure as an SVG element; nothing where there is nothing to draw."""
    try:
        return _TIP.sub(_TITLED, drawing.draw(partial(draw, result), "figure").svg)
    except UsageError:  # a result without numbers: its words and its table say so
        return ""


def kinds(result: Any) -> Kinds:
    """Give the figures that can be drawn of a result, the usual one first."""
    for kind, figures in _FIGURES:
        if isinstance(result, kind):
            return figures(result)
    return {"values": lambda: tablerows.draw(result.table())}


def _of_comparison(found: Comparison) -> Kinds:
    scores = None if found.source is None else comparison.scores_of(found.source, found)
    names = comparison.OF_RANKINGS if scores is None else comparison.FIGURES
    return {name: partial(comparison.draw, name, found, scores) for name in names}


def _of_rankings(found: RankedSystems) -> Kinds:
    return {name: partial(comparison.draw, name, found) for name in comparison.OF_RANKINGS}


def _of_pair(card: Decision) -> Kinds:
    es = card.source
    if es is None:
        return {}
    pair = partial(
        versus.draw_pair,
        scores=es[card.score].values[[es.systems.index(system) for system in card.pair]],
        pair=card.pair,
        score=versus.segment_label(card.score, corpus=card.of == CORPUS),
        higher_is_better=card.higher_is_better,
    )
    return {name: partial(pair, name) for name in versus.PAIR_FIGURES}


def _of_meta(found: MetaEvaluation) -> Kinds:
    given = metaevaluation.MetaInput(found, found.source)
    tested = bool(found.significance)
    names = [name for name in metaevaluation.FIGURES
             if tested or name not in metaevaluation.OF_TESTS]  # fmt: skip
    if found.source is None:
        names = [name for name in names if name not in metaevaluation.OF_SEGMENTS]
    return {name: partial(metaevaluation.draw, name, given) for name in names}


def _of_benchmark(found: BenchmarkResult) -> Kinds:
    names = metaevaluation.PROTOCOL_FIGURES
    return {name: partial(metaevaluation.draw_protocol, name, found) for name in names}


def _of_people(found: HumanScores) -> Kinds:
    lacks = {"severity": "raters" not in found.parts, "agreement": not found.agreement,
             "thresholds": "thresholds" not in found.parts}  # fmt: skip
    names = [name for name in people.FIGURES if not lacks.get(name, False)]
    return {name: partial(people.draw, name, found) for name in names}


def _of_judges(found: JudgeReport) -> Kinds:
    return {name: partial(judgefigures.draw, name, found) for name in judgefigures.FIGURES}


def _of_plan(plan: LabelPlan) -> Kinds:
    return {"labels": lambda: judgefigures.planned(plan)}


def _of_entities(found: KobeReport) -> Kinds:
    return {"categories": lambda: recall.categories(*found.category_counts())}


def _of_study(found: Study) -> Kinds:
    if not found.curves:
        return {"values": lambda: tablerows.draw(found.table())}
    every: dict[str, Callable[[], Chart]] = {"all": lambda: curves.draw_curves(found.curves)}
    return every | {one.name: partial(curves.draw_curves, [one]) for one in found.curves}


def _of_reproduction(found: Reproduction) -> Kinds:
    return {"published": lambda: curves.draw_reproduction(found)}


#: Kinds of results, what is special before what it is a kind of.
_FIGURES: tuple[tuple[type, Callable[[Any], Kinds]], ...] = (
    (Comparison, _of_comparison),
    (RankedSystems, _of_rankings),
    (Decision, _of_pair),
    (MetaEvaluation, _of_meta),
    (BenchmarkResult, _of_benchmark),
    (HumanScores, _of_people),
    (JudgeReport, _of_judges),
    (LabelPlan, _of_plan),
    (KobeReport, _of_entities),
    (Study, _of_study),
    (Reproduction, _of_reproduction),
)
