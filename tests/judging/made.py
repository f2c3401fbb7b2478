"""Verdicts made up for tests of the card."""

from __future__ import annotations

from typing import Any

import numpy as np

from steelyard.data.verdicts import Opinion, Verdicts

CATEGORIES = ("fail", "pass")


def opinion(name: str, labels: Any) -> Opinion:
    """Labels 0 and 1, below 0 where silent."""
    own = np.asarray(labels, dtype=np.int32)
    return Opinion(name, np.where(own < 0, np.nan, own).astype(float), own)


def points(
    judges: dict[str, Any], raters: dict[str, Any], systems: Any = None, **more: Any
) -> Verdicts:
    """Pass and fail of outputs."""
    n = len(next(iter(raters.values())))
    names = () if systems is None else tuple(f"s{k}" for k in range(int(np.max(systems)) + 1))
    return Verdicts(
        kind="points",
        items=tuple(map(str, range(n))),
        item=np.arange(n, dtype=np.int32),
        judges=tuple(opinion(name, own) for name, own in judges.items()),
        raters=tuple(opinion(name, own) for name, own in raters.items()),
        categories=CATEGORIES,
        ordered=True,
        systems=names,
        left=None if systems is None else np.asarray(systems, dtype=np.int32),
        **more,
    )


def noisy(truth: Any, right: float, rng: np.random.Generator) -> Any:
    """Say the truth so often, and the opposite else."""
    return np.where(rng.random(len(truth)) < right, truth, 1 - truth)
