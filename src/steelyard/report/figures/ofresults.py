"""The figures of each kind of result: what ``result.plot()`` draws."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from steelyard.comparison.results import RankedSystems
from steelyard.core.errors import UsageError, hint
from steelyard.metaevaluation.results import MetaEvaluation
from steelyard.report.figures import comparison, drawing, metaevaluation
from steelyard.report.figures.style import Chart

_Draws = Callable[[Any], Chart]


def _kinds(result: Any) -> Mapping[str, _Draws]:
    """Give the figures that can be drawn of a result alone, the usual one first."""
    if isinstance(result, RankedSystems):
        return {name: partial(comparison.draw, name) for name in comparison.OF_RANKINGS}
    if isinstance(result, MetaEvaluation):
        return {"forest": metaevaluation.forest, "metametrics": metaevaluation.metametrics}
    return {}


def draw(result: Any, kind: str | None = None) -> Chart:
    """Draw a result; ``kind`` None takes its usual figure."""
    known = _kinds(result)
    if not known:
        raise UsageError(f"there is no figure of a {type(result).__name__}")
    name = next(iter(known)) if kind is None else kind
    if name not in known:
        raise UsageError(f"no figure '{name}' of a {type(result).__name__}; {hint(name, known)}")
    return known[name](result)


def picture(result: Any) -> str:
    """Draw the usual figure as an SVG element; nothing where there is none."""
    known = _kinds(result)
    return drawing.draw(lambda: draw(result), "figure").svg if known else ""
