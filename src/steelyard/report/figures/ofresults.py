"""The figures of each kind of result: what ``result.plot()`` draws.

Their names are those that ``--plot`` of the commands knows; the first one is the usual one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from steelyard.core.errors import UsageError, hint
from steelyard.report.figures import drawing
from steelyard.report.figures.style import Chart

if TYPE_CHECKING:
    from steelyard.comparison.card import Card
    from steelyard.comparison.results import RankedSystems
    from steelyard.human.results import HumanScores
    from steelyard.judging.report import JudgeReport
    from steelyard.kobe.report import KobeReport
    from steelyard.metaevaluation.benchmark.run import BenchmarkResult
    from steelyard.metaevaluation.results import MetaEvaluation
    from steelyard.reproduction.reproduction import Reproduction
    from steelyard.studies.study import Study

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
    """Give the figures of a result, the usual one first; what can't be drawn says why."""
    known = (_FIGURES[own.__name__] for own in type(result).__mro__ if own.__name__ in _FIGURES)
    return next(known, _of_table)(result)


def _of_table(result: Any) -> Kinds:
    from steelyard.report.figures import tablerows

    return {"values": lambda: tablerows.draw(result.table())}


def _of_rankings(found: RankedSystems) -> Kinds:
    from steelyard.comparison.results import Comparison
    from steelyard.report.figures import comparison

    scores = None
    if isinstance(found, Comparison) and found.source is not None:
        scores = comparison.scores_of(found.source, found)
    return {name: partial(comparison.draw, name, found, scores) for name in comparison.FIGURES}


def _of_pair(card: Card) -> Kinds:
    from steelyard.comparison.results import CORPUS
    from steelyard.report.figures import versus

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
    from steelyard.report.figures import metaevaluation

    given = metaevaluation.MetaInput(found, found.source)
    return {name: partial(metaevaluation.draw, name, given) for name in metaevaluation.FIGURES}


def _of_benchmark(found: BenchmarkResult) -> Kinds:
    from steelyard.report.figures import metaevaluation

    names = metaevaluation.PROTOCOL_FIGURES
    return {name: partial(metaevaluation.draw_protocol, name, found) for name in names}


def _of_people(found: HumanScores) -> Kinds:
    from steelyard.report.figures import people

    return {name: partial(people.draw, name, found) for name in people.FIGURES}


def _of_judges(found: JudgeReport) -> Kinds:
    from steelyard.report.figures import judgefigures

    return {name: partial(judgefigures.draw, name, found) for name in judgefigures.FIGURES}


def _of_entities(found: KobeReport) -> Kinds:
    from steelyard.report.figures import recall

    return {"categories": lambda: recall.categories(*found.category_counts())}


def _of_study(found: Study) -> Kinds:
    from steelyard.report.figures import curves

    if not found.curves:
        return _of_table(found)
    every: dict[str, Callable[[], Chart]] = {"all": lambda: curves.draw_curves(found.curves)}
    return every | {one.name: partial(curves.draw_curves, [one]) for one in found.curves}


def _of_reproduction(found: Reproduction) -> Kinds:
    from steelyard.report.figures import curves

    return {"published": lambda: curves.draw_reproduction(found)}


#: By the names of classes: to ask for these themselves would load all rooms for one figure.
_FIGURES: Mapping[str, Callable[[Any], Kinds]] = {
    "RankedSystems": _of_rankings,
    "Card": _of_pair,
    "MetaEvaluation": _of_meta,
    "BenchmarkResult": _of_benchmark,
    "HumanScores": _of_people,
    "JudgeReport": _of_judges,
    "KobeReport": _of_entities,
    "Study": _of_study,
    "Reproduction": _of_reproduction,
}
