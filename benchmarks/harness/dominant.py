"""Where the time goes: a profile folded into the functions of ours that asked for it."""

from __future__ import annotations

import pstats
from collections import defaultdict

Function = tuple[str, int, str]
IMPORTS = "imports"
_ROUNDS = 60  # of handing time up; calls are seldom as deep outside of Steelyard


def dominant(stats: pstats.Stats, most: int = 3, least: float = 0.08) -> str:
    """Name the functions of Steelyard that take most of the time, with their shares.

    Time of other packages, and of Python itself, counts for the function of ours that called them;
    what imports take stands by itself.
    """
    shares = folded(stats)
    total = sum(shares.values())
    first = sorted(shares.items(), key=lambda item: -item[1])[:most]
    kept = [(name, own / total) for name, own in first if total and own / total >= least]
    return ", ".join(f"{name} {100 * share:.0f} %" for name, share in kept)


def folded(stats: pstats.Stats) -> dict[str, float]:
    """Give seconds by function of ours, imports, and what called neither."""
    raw: dict[
        Function, tuple[int, int, float, float, dict[Function, tuple[int, int, float, float]]]
    ]
    raw = stats.stats  # type: ignore[attr-defined]
    found: defaultdict[str, float] = defaultdict(float)
    held = {function: entry[2] for function, entry in raw.items()}
    for _ in range(_ROUNDS):
        above: defaultdict[Function, float] = defaultdict(float)
        for function, seconds in held.items():
            name = label(function)
            callers = raw[function][4]
            weights = {c: max(own[3], own[2]) for c, own in callers.items() if c != function}
            whole = sum(weights.values())
            if name is not None or not whole:
                found[name or "other"] += seconds
                continue
            for caller, weight in weights.items():
                above[caller] += seconds * weight / whole
        held = above
        if not held:
            break
    for seconds in held.values():
        found["other"] += seconds
    return dict(found)


def label(function: Function) -> str | None:
    """Name a function of ours, or an import; None for what others wrote.

    Examples
    --------
    >>> label(("/x/src/steelyard/stats/ranks.py", 3, "placed"))
    'stats/ranks.placed'
    """
    file, _, name = function
    if "importlib" in file:
        return IMPORTS
    _, mark, own = file.replace("\\", "/").rpartition("/steelyard/")
    if not mark or name == "<module>" or "site-packages" in own:
        return None
    # A comprehension or a lambda is told by its file alone.
    return own.removesuffix(".py") + ("" if name.startswith("<") else f".{name}")
