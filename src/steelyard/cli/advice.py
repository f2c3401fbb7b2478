"""What to do about a warning, where an option of the command that runs does something about it.

The library says what is to be minded; which option helps is known here.
"""

from __future__ import annotations

from collections.abc import Collection

from steelyard.core.warnings import code_of

#: By the kind of a warning: the option that does something about it, and what it does.
ADVICE = {
    "head-to-head": ("--pairwise", "shows every pair"),
    "bt-order": ("--pair", "A,B compares two systems alone"),
    "quality-control": ("--quality-control", "leaves out their ratings"),
}


def advised(warning: str, flags: Collection[str]) -> str:
    """Add what to do, if the command has an option for it and the warning does not name it.

    Examples
    --------
    >>> from steelyard.core.warnings import TypedWarning
    >>> advised(TypedWarning("A beats B, but ranks below it", "head-to-head"), {"--pairwise"})
    'A beats B, but ranks below it; --pairwise shows every pair'
    """
    flag, does = ADVICE.get(code_of(warning), ("", ""))
    return f"{warning}; {flag} {does}" if flag in flags and flag not in warning else warning
