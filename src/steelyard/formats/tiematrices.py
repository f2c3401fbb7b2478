"""Kendall variants of one's own, in TOML: a table per variant says what each kind of pair is worth.

::

    [my-kendall]
    same = 1
    opposite = -1
    metric_tie = 0       # a key that is absent leaves such pairs out
    both_tie = 1
    calibrated = false   # true: find the metric difference below which pairs tie
    threshold = 0        # human differences below this are ties
"""

from __future__ import annotations

from pathlib import Path

from steelyard.formats import toml
from steelyard.formats.toml import Section
from steelyard.stats.kendall.counting import TieMatrix
from steelyard.stats.metametrics.base import MetaMetric
from steelyard.stats.metametrics.catalogue import METAMETRICS
from steelyard.stats.metametrics.correlations import from_matrix

WORTHS = ("same", "opposite", "metric_tie", "human_tie", "both_tie")


def read(path: Path) -> dict[str, MetaMetric]:
    """Read all variants of a file, by name."""
    top = toml.read(path)
    found = {}
    for name, keys in top.keys.items():
        if not isinstance(keys, dict):
            raise top.error(f"'{name}' is {keys!r}, expected a table [{name}]")
        if name in METAMETRICS:
            raise top.error(f"[{name}]: the name is taken by a meta-metric of Steelyard")
        section = Section(keys, path, f"[{name}]")
        section.only((*WORTHS, "calibrated", "threshold"))
        worth = TieMatrix(**{key: section.number(key) for key in WORTHS})
        if all(getattr(worth, key) is None for key in WORTHS):
            raise section.error(f"no pair is worth anything: expected {', '.join(WORTHS)}")
        calibrated = section.flag("calibrated")
        if calibrated and None in (getattr(worth, key) for key in WORTHS):
            raise section.error("'calibrated' needs all of " + ", ".join(WORTHS))
        threshold = section.number("threshold", 0.0)
        if threshold is None or threshold < 0:
            raise section.error(f"'threshold' is {threshold:g}, expected a number of at least 0")
        found[name] = from_matrix(name, worth, calibrated=calibrated, threshold=threshold)
    if not found:
        raise top.error("no variant: expected a table such as [my-kendall]")
    return found
