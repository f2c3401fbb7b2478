"""An old card beside a new one: what a pipeline may require not to fall."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from steelyard.core.errors import InputError, UsageError
from steelyard.stats.estimate import Estimate, symmetric

WHAT = ("accuracy", "kappa", "ac1")


def read_baseline(source: Any) -> dict[str, Mapping[str, Any]]:
    """Read the judges of an old card: a file that ``--out`` wrote, or what ``to_dict`` gave."""
    path = None
    if isinstance(source, (str, Path)):
        path = Path(source)
        try:
            source = json.loads(path.read_text(encoding="utf-8"))
        except OSError as error:
            raise InputError(f"can't be read ({error.strerror})", path=path) from None
        except ValueError:
            raise InputError("is no JSON, expected a card of judges", path=path) from None
    judges = source.get("judges") if isinstance(source, Mapping) else None
    good = isinstance(judges, list) and all(
        isinstance(own, Mapping) and isinstance(own.get("accuracy"), Mapping) for own in judges
    )
    if not good or not judges:
        said = "has no card of a judge, expected the JSON that judge writes"
        raise UsageError(f"baseline: {said}") if path is None else InputError(said, path=path)
    return {str(own.get("judge")): own for own in judges}


def drift_from(old: Mapping[str, Any], new: Mapping[str, Any], level: float) -> dict[str, Any]:
    """Give how far agreement moved from an old card: new minus old, their errors independent.

    The rows may be the same, which makes the interval wider than it need be; ``judge drift`` pairs
    them.

    Examples
    --------
    >>> card = {"accuracy": {"value": 0.8, "se": 0.03}, "kappa": {"value": 0.6, "se": 0.04}}
    >>> found = drift_from(card, card | {"accuracy": {"value": 0.7, "se": 0.04}}, 0.95)
    >>> round(found["accuracy"]["value"], 3), round(found["accuracy"]["se"], 3)
    (-0.1, 0.05)
    """
    found: dict[str, Any] = {}
    for name in WHAT:
        was, now = (own.get(name) or {} for own in (old, new))
        values = [own.get("value") for own in (was, now)]
        errors = [own.get("se") for own in (was, now)]
        numbers = [float("nan") if x is None else float(x) for x in (*values, *errors)]
        step = numbers[1] - numbers[0]
        if math.isnan(step):
            found[name] = Estimate(step, why="undefined before, or now").to_dict()
            continue
        found[name] = symmetric(step, math.hypot(*numbers[2:]), 0, level).to_dict()
    return found
