"""Requirements that a judge, or a gate, must meet: ``kappa.low>=0.4``.

Names are those of the JSON. A requirement is about the end of an interval, because a point does not
say how sure it is.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from steelyard.core.display import Record
from steelyard.core.errors import UsageError, hint

HOLDS, FAILS, UNDECIDED = "holds", "fails", "undecided"
_FORM = re.compile(
    r"\s*(abs\()?\s*([^<>=()\s][^<>=()]*?)\s*(\))?"  # what it is about
    r"\s*(>=|<=|>|<)\s*([-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e-?[0-9]+)?)\s*"
)
_SHORT = {"gap": "systems.gap", "rho": "scores.rho", "offset": "scores.offset"}
_NAMED = ("name", "task", "slice")  # what an element of a list goes by
_Interval = tuple[float, float, float]  # a value and the ends of its interval


@dataclass(frozen=True, slots=True)
class Requirement:
    """A bound on something that has an interval; ``absolute`` bounds its size alone."""

    text: str
    name: str
    absolute: bool
    sign: str
    limit: float


@dataclass(frozen=True, slots=True)
class Checked(Record):
    """Whether a requirement holds for a judge; ``found`` is the value with its interval."""

    judge: str
    requirement: str
    result: str
    found: str


def parse(text: str) -> Requirement:
    """Read a requirement; a bare point is refused with what to ask instead.

    Examples
    --------
    >>> requirement = parse("kappa.low >= 0.4")
    >>> requirement.name, requirement.sign, requirement.limit
    ('kappa', '>=', 0.4)
    >>> parse("kappa>=0.4")
    Traceback (most recent call last):
    steelyard.core.errors.UsageError: requirement 'kappa>=0.4' is about a point; ask for an end of
    its interval: kappa.low>=0.4
    """
    match = _FORM.fullmatch(text)
    if match is None or bool(match[1]) != bool(match[3]):
        forms = "NAME.low>=X, NAME.high<=X or abs(NAME)<=X, such as kappa.low>=0.4"
        raise UsageError(f"requirement '{text}': expected {forms}")
    absolute, name, sign, limit = match[1] is not None, match[2].strip(), match[4], float(match[5])
    base, _, end = name.rpartition(".")
    if end not in ("low", "high"):
        base, end = name, ""
    wanted = "low" if sign.startswith(">") else "high"
    problem = ""
    if absolute and wanted == "low":
        problem = ": abs() is bounded from above, as abs(NAME)<=X"
    elif not absolute and not end:
        problem = " is about a point; ask for an end of its interval: "
        problem += f"{name}.{wanted}{sign}{match[5]}"
    elif not absolute and end != wanted:
        problem = f" asks for the end that proves nothing: {base}.{wanted}"
    if problem:
        raise UsageError(f"requirement '{text}'{problem}")
    return Requirement(text, base, absolute, sign, limit)


def check(requirement: Requirement, judge: Mapping[str, Any]) -> Checked:
    """Check a requirement against the JSON of a judge, or of a gate.

    It holds if the whole interval does, fails if none of it does, and is undecided between, or
    where the value is undefined.
    """
    name = str(judge.get("judge", "gate"))
    interval = _interval(requirement, judge)
    if interval is None:
        return Checked(name, requirement.text, UNDECIDED, "undefined")
    value, low, high = interval
    if requirement.absolute:
        nearest = 0.0 if low <= 0 <= high else min(abs(low), abs(high))
        low, high = nearest, max(abs(low), abs(high))
    above, strict = requirement.sign.startswith(">"), len(requirement.sign) == 1

    def meets(x: float) -> bool:
        return not strict if x == requirement.limit else (x > requirement.limit) == above

    worst, best = (low, high) if above else (high, low)
    result = HOLDS if meets(worst) else UNDECIDED if meets(best) else FAILS
    return Checked(name, requirement.text, result, f"{value:.4g} [{low:.4g}, {high:.4g}]")


def _interval(requirement: Requirement, judge: Mapping[str, Any]) -> _Interval | None:
    """Find a value and its interval by name, effects by theirs; None where it is undefined."""
    node: Any = judge
    for part in _SHORT.get(requirement.name, requirement.name).split("."):
        if isinstance(node, list):
            if not node:
                return None
            named = (item for item in node if isinstance(item, Mapping))
            node = {next((item[k] for k in _NAMED if k in item), None): item for item in named}
        if not isinstance(node, Mapping) or part not in node:
            keys = [str(key) for key in node] if isinstance(node, Mapping) else []
            raise UsageError(f"requirement '{requirement.text}': no '{part}'; {hint(part, keys)}")
        beside = "ci" if part in ("bias", "difference") else f"{part}_ci"  # of a bare number
        if not isinstance(node[part], (Mapping, list)) and beside in node:
            return _ends(node[part], node[beside])
        node = node[part]
        if node is None:
            return None
    if isinstance(node, Mapping) and "value" in node:
        return _ends(node["value"], node.get("ci"))
    raise UsageError(
        f"requirement '{requirement.text}': {requirement.name} has no interval to ask about"
    )


def _ends(value: float | None, ci: Any) -> _Interval | None:
    if value is None or ci is None or math.isnan(value) or None in ci:
        return None
    return float(value), float(ci[0]), float(ci[1])
