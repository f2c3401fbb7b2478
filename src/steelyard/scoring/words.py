"""Scores of texts in words: which system is first, and whether metrics agree on that.

Nothing is tested here, so that no sentence calls a system better.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from steelyard.core.display import Statement
from steelyard.core.table import decimals
from steelyard.core.text import all_of, plural

if TYPE_CHECKING:
    from steelyard.scoring.run import Scores


def told(found: Scores) -> Iterator[Statement]:
    """Say in sentences what scores tell."""
    es = found.evalset
    if not found.metrics or not es.systems:
        yield "undecided", "There is nothing to score."
        return
    tops = {name: _first(found, name) for name in found.metrics}
    known = {name: top for name, top in tops.items() if top}
    silent = [name for name in tops if name not in known]
    if silent:
        yield "undecided", f"No output has a score by {all_of(silent)}."
    if not known:
        return
    name, top = next(iter(known.items()))
    size = f"{plural(es.n_systems, 'system')} on {plural(es.n_segments, 'segment')}"
    lower = "" if es[name].higher_is_better else ", lower is better"
    value = f"{_shown(found, name, top[0])}{lower}"
    if es.n_systems == 1:
        each = all_of([f"{_shown(found, own, top[0])} by {own}" for own in known])
        yield "settled", f"{top[0]} has {each} on {plural(es.n_segments, 'segment')}."
        yield from _kept(found)
        yield "undecided", f"{top[0]} is the only system: there is nothing to compare."
        return
    rest = list(known)[1:]
    agree = all(known[other] == top for other in rest)
    by = all_of([f"{name} ({value})", *(rest if agree else ())])
    ranks = "ranks first" if len(top) == 1 else "share the first place"
    yield "settled", f"{all_of(top)} {ranks} of {size} by {by}."
    yield from _kept(found)
    if not agree:
        shown = "; ".join(f"{name}: {all_of(first)}" for name, first in known.items())
        yield "undecided", f"The metrics do not agree on the first place ({shown})."
    text = "No test was made: steelyard compare says whether a lead is more than chance."
    yield "sureness", text


def _kept(found: Scores) -> Iterator[Statement]:
    """Say what metrics found in single outputs."""
    sentences = (report.sentence() for report in found.reports.values())
    yield from (("settled", text) for text in sentences if text)


def _first(found: Scores, name: str) -> list[str]:
    """Give the systems with the best score by a metric; none where there is no score."""
    table = found.evalset[name]
    means = table.system_means()
    means = means if table.higher_is_better else -means
    if np.isnan(means).all():
        return []
    best = np.nanmax(means)
    return [s for s, value in zip(found.evalset.systems, means, strict=True) if value == best]


def _shown(found: Scores, name: str, system: str) -> str:
    """Write the score of a system with the digits that the table has."""
    means = [float(x) for x in found.evalset[name].system_means()]
    value = means[found.evalset.systems.index(system)]
    return "undefined" if np.isnan(value) else f"{value:.{decimals(means)}f}"
