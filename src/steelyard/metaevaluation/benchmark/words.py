"""A benchmark in words: which metric is first over all tasks, and what the average rests on."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

from steelyard.core.display import Statement
from steelyard.core.text import all_of, plural

if TYPE_CHECKING:
    from steelyard.metaevaluation.benchmark.results import BenchmarkResult, Standing


def told_of_benchmark(found: BenchmarkResult) -> Iterator[Statement]:
    """Say in sentences what a leaderboard over several sets tells."""
    known = [s for s in found.standings if not math.isnan(s.average)]
    if not known:
        yield "undecided", f"No metric has an average over the tasks of {found.benchmark}."
        return
    best = known[0]  # standings are ordered
    value = f"average {best.average:.3f}"
    if len(found.standings) == 1:
        yield "settled", f"{best.metric} has an {value} over the tasks of {found.benchmark}."
        yield "undecided", f"There is no other metric to compare {best.metric} with."
    else:
        n = plural(len(found.standings), "metric")
        tied = [s.metric for s in known if _place(found, s) == _place(found, best)]
        if len(tied) > 1:
            text = f"{all_of(tied)} share the first place of {n} on {found.benchmark}"
        else:
            text = f"{best.metric} ranks first of {n} on {found.benchmark}"
        yield "settled", f"{text} ({value})."
        if len(tied) == 1:
            yield from _open(best, known)
    yield from _rests_on(found)


def _place(found: BenchmarkResult, own: Standing) -> float:
    """Give the number that metrics are ordered by."""
    return own.average_rank if found.order == "rank" else own.average


def _open(best: Standing, known: list[Standing]) -> Iterator[Statement]:
    if best.rank is None:
        lead = f"so that the lead of {best.metric} may be chance"
        yield "undecided", f"Metrics were not tested, {lead}."
        return
    others = [s.metric for s in known if s.rank == best.rank and s.metric != best.metric]
    if others:
        more = f"agrees more with people than {all_of(others)}"
        yield "undecided", f"The tests leave open whether {best.metric} {more}."


def _rests_on(found: BenchmarkResult) -> Iterator[Statement]:
    tasks = plural(sum(column.weight > 0 for column in found.columns), "task")
    sets = plural(len(found.sets), "set")
    yield "sureness", f"The average is over {tasks} on {sets}, each task scaled to 0..1."
    if found.absent:
        whole = f"{len(found.absent)} of {plural(len(found.sets) + len(found.absent), 'set')}"
        be = "is" if len(found.absent) == 1 else "are"
        yield "sureness", f"It is partial: {whole} {be} not here ({all_of(found.absent)})."
