"""What studies of people are asked: one object each, checked when it is made."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from steelyard.core import bounds
from steelyard.core.options import Options, names, numbers, source, unit, whole, wholes

_LOGINS = "Who has which logins: JSON {person: [logins]}, or columns login, person."


@dataclass(frozen=True, kw_only=True)
class JudgesOptions(Options):
    """How reliable scores shall be, and by how many raters."""

    targets: Sequence[float] = numbers(
        (0.8, 0.9), "Reliabilities to find the number of raters for.", least=0
    )
    sizes: Sequence[int] = wholes(
        (1, 2, 3, 5, 10, 15, 20, 30), "Numbers of raters that the curve shows.", least=1
    )
    metrics: Collection[str] | None = names(
        None, "Metrics whose correlation is shown beside its ceiling; by default all."
    )
    unit: str = unit("auto", "What is independent: intervals resample whole units of segments; "
                     "auto: documents where ten or more are known, else segments.")  # fmt: skip
    n_bootstrap: int = whole(
        1000, "Resamples for intervals.", least=10, flag="--bootstrap", metavar="B"
    )
    raters: Any = source(None, _LOGINS, metavar="FILE")  # noqa: RUF009

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.targets or not all(0 < target < 1 for target in self.targets):
            raise bounds.fail("targets", "a list of numbers between 0 and 1", self.targets)
