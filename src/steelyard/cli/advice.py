"""What to do about a warning, where an option of the command that runs does something about it.

The library says what is to be minded; which option helps is known here.
"""

from __future__ import annotations

import re
from collections.abc import Collection

#: What a warning says, the option that does something about it, and what it does.
ADVICE = (
    (re.compile(r" head to head, but ranks? below"), "--pairwise", "shows every pair"),
    (re.compile(r"^bt: without .* change places"), "--pair", "A,B compares two systems alone"),
    (re.compile(r" (?:are outliers|is an outlier) by "), "--outliers", "drop leaves them out"),
    (re.compile(r" fail the quality control"), "--quality-control", "leaves out their ratings"),
)


def advised(warning: str, flags: Collection[str]) -> str:
    """Add what to do, if the command has an option for it and the warning does not name it.

    Examples
    --------
    >>> advised("A beats B head to head, but ranks below it among all", {"--pairwise"})
    'A beats B head to head, but ranks below it among all; --pairwise shows every pair'
    >>> advised("A beats B head to head, but ranks below it among all", {"--json"})
    'A beats B head to head, but ranks below it among all'
    """
    for says, flag, does in ADVICE:
        if flag in flags and flag not in warning and says.search(warning):
            return f"{warning}; {flag} {does}"
    return warning
