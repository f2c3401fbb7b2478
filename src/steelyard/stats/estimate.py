"""A number with its interval, or the reason why there is none."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

_NAN = float("nan")


@dataclass(frozen=True, slots=True)
class Estimate:
    """A value, its interval and standard error, and how many it rests on.

    NaN is undefined, and ``why`` then says so in words; an interval may be undefined where the
    value is not (one unit, no spread to be had).

    Examples
    --------
    >>> Estimate(0.5, 0.4, 0.6, n=80).to_dict()
    {'value': 0.5, 'ci': [0.4, 0.6], 'se': nan, 'n': 80, 'why': None}
    >>> undefined("one category only").known
    False
    """

    value: float
    low: float = _NAN
    high: float = _NAN
    se: float = _NAN
    n: int = 0
    why: str = ""

    @property
    def known(self) -> bool:
        """Whether there is a value."""
        return not math.isnan(self.value)

    @property
    def bounded(self) -> bool:
        """Whether there is an interval."""
        return not (math.isnan(self.low) or math.isnan(self.high))

    def to_dict(self) -> dict[str, Any]:
        """Give what ``--json`` prints."""
        return {
            "value": self.value,
            "ci": [self.low, self.high] if self.bounded else None,
            "se": self.se,
            "n": self.n,
            "why": self.why or None,
        }


def undefined(why: str, n: int = 0) -> Estimate:
    """Give an estimate that is none, with the reason."""
    return Estimate(_NAN, n=n, why=why)
