"""Metrics by name: those of Steelyard, and whatever installed packages add.

A package adds a metric by an entry point of the group ``steelyard.metrics``: its name is the name
of the metric, its object a function or class that takes the metric's options as keyword arguments
and gives a :class:`~steelyard.scoring.metric.Metric`::

    [project.entry-points."steelyard.metrics"]
    mine = "my_package:MyMetric"
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from inspect import Parameter, signature
from typing import Any

from steelyard.core.errors import UsageError, hint
from steelyard.scoring.metric import Metric

GROUP = "steelyard.metrics"

#: name: module:class; a module loads when its metric is asked for. Names that share a class pass it
#: their own name.
BUILT_IN = {
    "kobe": "steelyard.scoring.entities:Kobe",
    "bleu": "steelyard.scoring.surface:SurfaceMetric",
    "chrf": "steelyard.scoring.surface:SurfaceMetric",
    "chrf++": "steelyard.scoring.surface:SurfaceMetric",
    "ter": "steelyard.scoring.surface:SurfaceMetric",
    "eed": "steelyard.scoring.editmetrics:Eed",
    "character": "steelyard.scoring.editmetrics:Character",
    "length": "steelyard.scoring.sentinels:Length",
    "copy": "steelyard.scoring.sentinels:Copy",
}


def names() -> list[str]:
    """Name the metrics there are: those built in, then those of other packages.

    Examples
    --------
    >>> names()[:4]
    ['kobe', 'bleu', 'chrf', 'chrf++']
    """
    return [*BUILT_IN, *sorted(set(_added()) - set(BUILT_IN))]


def _added() -> dict[str, EntryPoint]:
    return {point.name: point for point in entry_points(group=GROUP)}


def make(name: str, options: Mapping[str, Any] | None = None) -> Metric:
    """Make a metric from its name and its options.

    Examples
    --------
    >>> make("bleu", {"tokenize": "intl"}).name
    'bleu'
    >>> make("blue")
    Traceback (most recent call last):
    ...
    steelyard.core.errors.UsageError: unknown metric 'blue'; did you mean 'bleu'? Known: bleu, ...
    """
    if name in BUILT_IN:
        module, _, kind = BUILT_IN[name].partition(":")
        factory: Callable[..., Any] = getattr(import_module(module), kind)
        if kind == "SurfaceMetric":
            factory = partial(factory, name)
    else:
        added = _added()
        if name not in added:
            raise UsageError(f"unknown metric '{name}'; {hint(name, names())}")
        try:
            factory = added[name].load()
        except (ImportError, AttributeError) as error:
            value = added[name].value
            raise UsageError(f"metric '{name}' can't be loaded from {value}: {error}") from error
    _check(name, factory, options or {})
    metric = factory(**(options or {}))
    if not isinstance(metric, Metric):
        raise UsageError(f"metric '{name}': a {type(metric).__name__} has no name and score method")
    return metric


def _check(name: str, factory: Callable[..., Any], options: Mapping[str, Any]) -> None:
    parameters = signature(factory).parameters
    if any(p.kind is Parameter.VAR_KEYWORD for p in parameters.values()):
        return  # it checks them itself
    for option in options:
        if option not in parameters:
            known = hint(option, parameters) if parameters else "it has none"
            raise UsageError(f"{name} has no option '{option}'; {known}")
