"""Requirements that a judge must meet, for a pipeline: ``kappa.low>=0.4``.

Names are those of the JSON of a judge. A requirement is about the end of an interval: a point says
nothing of how sure it is.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from steelyard.core.errors import UsageError, hint

_FORM = re.compile(
    r"\s*(abs\()?\s*([^<>=()\s][^<>=()]*?)\s*(\))?"  # what it is about
    r"\s*(>=|<=|>|<)\s*([-+]?[0-9.]+(?:e-?[0-9]+)?)\s*"
)
_SHORT = {"gap": "systems.gap", "rho": "scores.rho", "offset": "scores.offset"}
HOLDS, FAILS, UNDECIDED = "holds", "fails", "undecided"


@dataclass(frozen=True, slots=True)
class Requirement:
    """A bound on something that has an interval: ``end`` is the end that is asked about.

    Examples
    --------
    >>> found = parse("kappa.low >= 0.4")
    >>> found.name, found.end, found.sign, found.limit
    ('kappa', 'low', '>=', 0.4)
    >>> parse("kappa>=0.4")
    Traceback (most recent call last):
    steelyard.core.errors.UsageError: requirement 'kappa>=0.4' is about a point; ask for an end of
    its interval: kappa.low>=0.4
    """

    text: str
    name: str
    end: str
    absolute: bool
    sign: str
    limit: float


@dataclass(frozen=True, slots=True)
class Checked:
    """What came of a requirement for one judge."""

    judge: str
    requirement: str
    result: str
    found: str

    def to_dict(self) -> dict[str, Any]:
        """Give what ``--json`` prints."""
        return {
            "judge": self.judge,
            "requirement": self.requirement,
            "result": self.result,
            "found": self.found,
        }


def parse(text: str) -> Requirement:
    """Read a requirement; a bare point is refused with what to ask instead."""
    match = _FORM.fullmatch(text)
    if match is None or bool(match[1]) != bool(match[3]):
        raise UsageError(
            f"requirement '{text}': expected NAME.low>=X, NAME.high<=X or abs(NAME)<=X, such as "
            "kappa.low>=0.4"
        )
    absolute, name, sign = match[1] is not None, match[2].strip(), match[4]
    try:
        limit = float(match[5])
    except ValueError:
        raise UsageError(f"requirement '{text}': '{match[5]}' is no number") from None
    wanted = "low" if sign.startswith(">") else "high"
    base, _, end = name.rpartition(".")
    if absolute:
        if sign.startswith(">"):
            raise UsageError(f"requirement '{text}': abs() is bounded from above, as abs(NAME)<=X")
        return Requirement(
            text, base if end in ("low", "high") else name, "both", True, sign, limit
        )
    if end not in ("low", "high"):
        raise UsageError(
            f"requirement '{text}' is about a point; ask for an end of its interval: "
            f"{name}.{wanted}{sign}{match[5]}"
        )
    if end != wanted:
        raise UsageError(
            f"requirement '{text}' asks for the end that proves nothing: {base}.{wanted}"
        )
    return Requirement(text, base, end, False, sign, limit)


def check(requirement: Requirement, judge: Mapping[str, Any]) -> Checked:
    """Check a requirement against the JSON of one judge.

    It holds if the whole interval does, fails if none of it does, and is undecided between, or
    where the value is undefined.

    Examples
    --------
    >>> card = {"judge": "x", "kappa": {"value": 0.5, "ci": [0.41, 0.59]}}
    >>> [check(parse(f"kappa.low>={x}"), card).result for x in (0.4, 0.5, 0.6)]
    ['holds', 'undecided', 'fails']
    """
    value, low, high = _interval(requirement, judge)
    name = str(judge["judge"])
    if value is None or low is None or high is None:
        return Checked(name, requirement.text, UNDECIDED, "undefined")
    if requirement.absolute:
        low, high = (
            0.0 if low <= 0 <= high else min(abs(low), abs(high)),
            max(abs(low), abs(high)),
        )
    found = f"{value:.4g} [{low:.4g}, {high:.4g}]"
    above = requirement.sign.startswith(">")
    strict = len(requirement.sign) == 1
    worst, best = (low, high) if above else (high, low)

    def meets(x: float) -> bool:
        if x == requirement.limit:
            return not strict
        return (x > requirement.limit) == above

    result = HOLDS if meets(worst) else UNDECIDED if meets(best) else FAILS
    return Checked(name, requirement.text, result, found)


def _interval(
    requirement: Requirement, judge: Mapping[str, Any]
) -> tuple[float | None, float | None, float | None]:
    """Find a value and its interval by its name; effects are found by theirs.

    What could not be measured, or was not asked of this judge, is undefined.
    """
    place: Any = judge
    for part in _SHORT.get(requirement.name, requirement.name).split("."):
        if isinstance(place, list):
            if not place:
                return None, None, None
            place = {own.get("name"): own for own in place if isinstance(own, Mapping)}
        if not isinstance(place, Mapping) or part not in place:
            known = [str(key) for key in place] if isinstance(place, Mapping) else []
            raise UsageError(f"requirement '{requirement.text}': no '{part}'; {hint(part, known)}")
        if place[part] is None:
            return None, None, None
        beside = f"{part}_ci" if part != "bias" else "ci"  # where the interval of a number stands
        if not isinstance(place[part], (Mapping, list)) and beside in place:
            return _ends(place[part], place[beside])
        place = place[part]
    if isinstance(place, Mapping) and "value" in place:
        return _ends(place["value"], place.get("ci"))
    raise UsageError(
        f"requirement '{requirement.text}': {requirement.name} has no interval to ask about"
    )


def _ends(
    value: Any, ci: Sequence[float] | None
) -> tuple[float | None, float | None, float | None]:
    if value is None or ci is None or (isinstance(value, float) and math.isnan(value)):
        return None, None, None
    return float(value), float(ci[0]), float(ci[1])
