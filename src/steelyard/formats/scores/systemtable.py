"""System tables: a row for every system, a column for every score, no segments."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from steelyard.data.evalset import EvalSet, ScoreTable
from steelyard.data.judgements import encode
from steelyard.data.segments import Segments
from steelyard.formats import layout, tables
from steelyard.formats.tables import RawTable


def recognise(table: RawTable) -> bool:
    """Tell whether a table has a system column but no segments."""
    return layout.SYSTEM[0] in table and not any(name in table for name in layout.SEGMENT)


def read(table: RawTable) -> EvalSet:
    """Read official system scores; the set has no segments."""
    languages, table = layout.language_pair(table)
    labels = table.labels(layout.SYSTEM[0])
    systems, system = encode(labels)
    repeat = layout.first_repeat(system)
    if repeat is not None:
        first, second = repeat
        table.fail(
            f"system '{labels[second]}' stands on line {table.line(first)} already; expected one "
            "row each (--where COL=VALUE selects rows; a table of segments needs a segment column)",
            second,
        )
    scores = {}
    for name in table.columns:
        if name != layout.SYSTEM[0]:
            values = np.full(len(systems), np.nan)
            values[system] = table.scores(name)
            scores[name] = ScoreTable(
                np.empty((len(systems), 0)), uses=layout.uses(name), system_scores=values
            )
    return EvalSet(systems, Segments(()), scores, language_pair=languages)


def write(es: EvalSet, path: Path) -> None:
    """Write the system scores: the official ones, else the means over the segments."""
    layout.check_free(es.scores, "score")
    means = {name: table.system_means() for name, table in es.scores.items()}
    tables.write(path, {"system": es.systems, **means}, names=("system",))
