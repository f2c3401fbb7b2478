"""Wide tables: a row for every segment, a column for every system, one score."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from steelyard.core.errors import UsageError
from steelyard.data.evalset import EvalSet, ScoreTable
from steelyard.data.judgements import encode
from steelyard.formats import layout, tables
from steelyard.formats.tables import RawTable


def recognise(table: RawTable) -> bool:
    """Tell whether a table has no system column, so that its columns must be the systems."""
    return layout.SYSTEM[0] not in table and not any(
        isinstance(cells[0], (dict, list)) for cells in table.columns.values() if len(cells)
    )


def read(table: RawTable, score: str = "score") -> EvalSet:
    """Read one score; without a segment column, segments are numbered from 1 by row."""
    languages, table = layout.language_pair(table)
    column = layout.segment_column(table)
    labels = (
        [str(row + 1) for row in range(table.n_rows)] if column is None else table.labels(column)
    )
    ids, segment = encode(labels)
    layout.refuse_repeats(table, column, labels, segment)
    described = layout.SegmentColumns.find(table)
    systems = [name for name in table.columns if name != column and name not in described.names]
    if not systems:
        table.fail("no column holds the scores of a system")
    values = np.full((len(systems), len(ids)), np.nan)
    for i, name in enumerate(systems):
        values[i, segment] = table.scores(name)
    segments = described.read(table, ids, segment)
    scores = {score: ScoreTable(values, uses=layout.uses(score, tuple(segments.references)))}
    return EvalSet(tuple(systems), segments, scores, language_pair=languages)


def write(es: EvalSet, path: Path, score: str | None = None) -> None:
    """Write one score of a set (the only one, or the one that is named)."""
    if score is None:
        if len(es.scores) != 1:
            raise UsageError(f"a wide table holds one score, the set has {len(es.scores)}")
        score = next(iter(es.scores))
    layout.check_free(es.systems, "system")
    table = es[score]
    systems = dict(zip(es.systems, table.values, strict=True))
    tables.write(path, {"segment": es.segments.ids, **systems}, names=("segment",))
