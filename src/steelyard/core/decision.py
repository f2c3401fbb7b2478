"""The verdict on two systems, in the same words in every command.

"Not significant" is never worded as "equal".
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from steelyard.core.table import decimals, shown_number, shown_p_value
from steelyard.core.text import all_of, plural

#: With fewer independent units no difference is called significant.
FEWEST_UNITS = 6


def shown_p(p: float) -> str:
    """Write a p-value with two digits: ``p = 0.0052``, ``p < 0.0001``."""
    text = shown_p_value(p)
    return f"p < {text[1:]}" if text.startswith("<") else f"p = {text}"


def shown_interval(value: float, low: float, high: float, level: float = 0.95) -> tuple[str, str]:
    """Write an estimate and its interval with the digits that the interval supports."""
    width = high - low
    wide = math.isfinite(width) and width > 1e-9 * abs(value)  # or the same but for rounding
    digits = decimals([], standard_error=width / 4) if wide else None
    numbers = [shown_number(number, digits) for number in (value, low, high)]
    return numbers[0], f"{100 * level:g}% CI {numbers[1]} to {numbers[2]}"


@dataclass(frozen=True, slots=True)
class Decision:
    """How far one system leads another by a score, and how sure that is.

    ``difference`` is positive in the direction that is better; ``low`` and ``high`` are the ends of
    its interval, NaN where there is none. ``p`` is of this pair alone, ``p_adjusted`` after
    ``correction`` for ``n_pairs`` pairs. ``test`` is in words: ``paired t-test``.
    """

    leader: str
    other: str
    difference: float
    low: float
    high: float
    p: float
    p_adjusted: float
    n_pairs: int = 1
    correction: str = "Holm"
    test: str = ""
    unit: str = "segment"
    n_units: int = 0
    level: float = 0.95
    alpha: float = 0.05

    @property
    def enough_units(self) -> bool:
        """Whether there are enough units to call any difference significant."""
        return self.n_units >= FEWEST_UNITS

    @property
    def significant_alone(self) -> bool:
        """Whether the pair alone is significant."""
        return self.enough_units and self.p <= self.alpha

    @property
    def significant(self) -> bool:
        """Whether the pair is significant after correction for all pairs."""
        return self.enough_units and self.p_adjusted <= self.alpha

    def cells(self) -> tuple[str, ...]:
        """Return the lead with its interval, p and corrected p, as a terminal shows them."""
        amount, interval = shown_interval(self.difference, self.low, self.high, self.level)
        ends = "" if math.isnan(self.low) else f" ({interval.partition('CI ')[2]})"
        values = ("" if math.isnan(p) else shown_p_value(p) for p in (self.p, self.p_adjusted))
        return f"{amount}{ends}", *values

    def evidence(self) -> str:
        """Return the interval and the p-values: ``95% CI 0.2 to 1.2; p = 0.005 alone, ...``."""
        _, interval = shown_interval(self.difference, self.low, self.high, self.level)
        parts = [] if math.isnan(self.low) else [interval]
        if not math.isnan(self.p):
            alone = shown_p(self.p)
            if self.n_pairs > 1 and not math.isnan(self.p_adjusted):
                adjusted = shown_p(self.p_adjusted).removeprefix("p = ").removeprefix("p ")
                alone += f" alone, {adjusted} after {self.correction} for {self.n_pairs:,} pairs"
            parts.append(alone)
        return "; ".join(parts)

    def lead(self, verb: str = "leads") -> str:
        """Return who is ahead and by how much, without a full stop."""
        amount, _ = shown_interval(self.difference, self.low, self.high, self.level)
        evidence = f" ({self.evidence()})" if self.evidence() else ""
        by = f" by {amount}" if math.isfinite(self.difference) else ""
        return f"{self.leader} {verb} {self.other}{by}{evidence}"

    def words(self) -> str:
        """Return the verdict in one sentence."""
        if not self.enough_units:
            return f"Too few {self.unit}s to decide ({self.n_units}): {self.lead()}."
        if self.significant:
            return f"{self.lead('is better than')}."
        if self.significant_alone or math.isnan(self.p):
            return f"{self.lead()}."
        return f"Too close to call: {self.lead()}."


def too_close(systems: Sequence[str]) -> str:
    """Return the sentence on systems that no test separates."""
    return f"{all_of(systems)} are too close to call."


def first_place(best: Sequence[str], n_systems: int, measure: str) -> str:
    """Return the sentence on who comes first."""
    if n_systems == 1:
        return f"{best[0]} is the only system: there is nothing to compare."
    if len(best) > 1:
        return f"{all_of(best)} share first place of {n_systems} systems by {measure}."
    return f"{best[0]} ranks first of {n_systems} systems by {measure}."


def rests_on(n: int, noun: str, *more: tuple[int, str]) -> str:
    """Return what a result rests on: ``450 segments in 52 documents``."""
    return " in ".join(plural(count, name) for count, name in ((n, noun), *more))
