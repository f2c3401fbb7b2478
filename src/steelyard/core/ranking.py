"""One shape for what is ranked, whichever command ranks it: the list ``ranking`` of its JSON."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, Literal, NamedTuple


class Place(NamedTuple):
    """Who is where: ``tier`` counts groups that tests do not tell apart, where there are any."""

    name: str
    rank: int | None
    score: float
    low: float | None = None
    high: float | None = None
    tier: int | None = None


def ranking(kind: Literal["system", "metric"], places: Iterable[Place]) -> list[dict[str, Any]]:
    """Give an object per system or metric, the best first as they come.

    Examples
    --------
    >>> ranking("system", [Place("A", 1, 0.9, 0.8, 1.0)])
    [{'system': 'A', 'rank': 1, 'score': 0.9, 'low': 0.8, 'high': 1.0, 'tier': None}]
    """
    return [
        {
            kind: own.name,
            "rank": own.rank,
            "score": _known(own.score),
            "low": _known(own.low),
            "high": _known(own.high),
            "tier": own.tier,
        }
        for own in places
    ]


def _known(number: float | None) -> float | None:
    return None if number is None or math.isnan(number) else float(number)


def ranked(scores: Sequence[float], *, higher_is_better: bool = True) -> list[int | None]:
    """Count places from the best; those of equal scores share one, undefined scores have none.

    Examples
    --------
    >>> ranked([0.5, 0.9, 0.5, float("nan")])
    [2, 1, 2, None]
    """
    known = sorted((x for x in scores if not math.isnan(x)), reverse=higher_is_better)
    first: dict[float, int] = {}
    for place, score in enumerate(known, 1):
        first.setdefault(score, place)
    return [first.get(score) for score in scores]
