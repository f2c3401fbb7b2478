"""What studies of people are asked: one object each, checked when it is made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from steelyard.core.options import (
    Options,
    bad_value,
    bootstraps,
    flag,
    fraction,
    number,
    numbers,
    source,
    unit,
)

_LOGINS = "Who has which logins: JSON {person: [logins]}, or columns login, person."


@dataclass(frozen=True, kw_only=True)
class ThresholdOptions(Options):
    """What counts as a tie of people, and how surely."""

    share: float = fraction(0.05, "Share of equal outputs that may be called different.")
    quantiles: Sequence[float] = numbers(
        (0.5, 0.75, 0.9, 0.95), "Shares of differences to show the size of.", least=0
    )
    customary: float = number(25.0, "The threshold to compare with.", least=0, metavar="X")
    agreement: float = fraction(
        0.75, "Share of decided pairs that another rater shall order the same way."
    )
    standardised: bool = flag("Standardise ratings by rater.", flag="--z/--raw")
    unit: str = unit("auto", "What is independent: intervals resample whole units of segments, or "
                     "rater; auto: documents where ten or more are known, else segments.",
                     metavar="auto|segment|document|rater|COLUMN|N")  # fmt: skip
    n_bootstrap: int = bootstraps()
    raters: Any = source(None, _LOGINS, metavar="FILE")  # noqa: RUF009

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.quantiles or not all(0 < share < 1 for share in self.quantiles):
            raise bad_value("quantiles", "a list of numbers between 0 and 1", self.quantiles)
