"""What studies of designs are asked: one object each, checked when it is made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from steelyard.comparison.options import check_named
from steelyard.core.options import (
    Options,
    as_tuple,
    fraction,
    names,
    number,
    unit,
    whole,
    wholes,
)

POWERS = ("t", "permutation", "sign")  # tests whose power can be found from a pilot
SIZES = (50, 100, 200, 400, 800, 1600, 3200, 6400)
SYSTEM_SIZES = (5, 8, 12, 20, 30, 50, 80)


@dataclass(frozen=True, kw_only=True)
class PowerOptions(Options):
    """What is drawn from a pilot, how often, and which power is wanted."""

    unit: str = unit("auto", "What is independent, and drawn from a pilot: auto, segment, "
                     "document, prompt, a column, a number of segments; for metrics also "
                     "system.")  # fmt: skip
    difference: float | None = number(
        None, "The difference to find; by default that of the pilot.", metavar="X"
    )
    sizes: Sequence[int] | None = wholes(
        None, "Numbers of units: of segments, documents or systems.", least=2
    )
    draws: int = whole(1000, least=1)
    alpha: float = fraction(0.05, "Level of the tests, two-sided.", metavar="X")
    target: float = fraction(0.8, "The power that is wanted.", flag="--power", metavar="X")

    def shown(self) -> dict[str, object]:
        """Give what the provenance shows."""
        return {
            "unit": self.unit,
            "alpha": self.alpha,
            "draws": self.draws,
            "difference": "pilot" if self.difference is None else self.difference,
        }


@dataclass(frozen=True, kw_only=True)
class TestPowerOptions(PowerOptions):
    """And the tests of two systems; a single one may be a plain name."""

    __test__ = False  # not for pytest

    tests: Sequence[str] = names(POWERS)
    sizes: Sequence[int] = wholes(SIZES, least=2)
    draws: int = whole(2000, least=1)

    def __post_init__(self) -> None:
        object.__setattr__(self, "tests", as_tuple(tests=self.tests))
        check_named("power of test", self.tests, POWERS)
        super().__post_init__()


@dataclass(frozen=True, kw_only=True)
class MetricPowerOptions(PowerOptions):
    """And two metrics; their meta-metrics are defined by segments, unless said otherwise."""

    unit: str = unit("segment")
    metrics: Sequence[str] | None = names(
        None, "Two metrics of a pilot to tell apart; by default the best two."
    )
