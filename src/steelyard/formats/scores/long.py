"""Long tables: a row for every (system, segment), a column for every score."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from steelyard.data.evalset import EvalSet, ScoreTable
from steelyard.data.judgements import encode
from steelyard.data.segments import Texts
from steelyard.formats import layout, tables
from steelyard.formats.tables import RawTable, one_of


def recognise(table: RawTable) -> bool:
    """Tell whether a table has a system and a segment column."""
    return layout.SYSTEM[0] in table and any(name in table for name in layout.SEGMENT)


def read(table: RawTable) -> EvalSet:
    """Read scores, and whatever the table says of segments and outputs."""
    languages, table = layout.language_pair(table)
    segment_column = layout.segment_column(table)
    assert segment_column is not None
    output = one_of(table, layout.OUTPUT, "output")
    described = layout.SegmentColumns.find(table)
    systems, system = encode(table.labels(layout.SYSTEM[0]))
    ids, segment = encode(table.labels(segment_column))
    cell = system.astype(np.int64) * len(ids) + segment
    repeat = layout.first_repeat(cell)
    if repeat is not None:
        first, second = repeat
        table.fail(
            f"system '{systems[system[second]]}' and segment '{ids[segment[second]]}' stand on "
            f"line {table.line(first)} already; expected one row each "
            "(--where COL=VALUE selects rows)",
            second,
        )
    segments = described.read(table, ids, segment)
    known = {layout.SYSTEM[0], segment_column, output, *described.names}
    scores = {}
    for name in table.columns:
        if name not in known:
            values = np.full(len(systems) * len(ids), np.nan)
            values[cell] = table.scores(name)
            scores[name] = ScoreTable(
                values.reshape(len(systems), len(ids)),
                uses=layout.uses(name, tuple(segments.references)),
            )
    outputs = {} if output is None else _outputs(table, output, systems, len(ids), cell)
    return EvalSet(systems, segments, scores, outputs, language_pair=languages)


def _outputs(
    table: RawTable, column: str, systems: tuple[str, ...], n: int, cell: np.ndarray
) -> dict[str, Texts]:
    texts: list[str | None] = [None] * (len(systems) * n)
    for place, text in zip(cell.tolist(), table.texts(column), strict=True):
        texts[place] = text
    rows = {name: tuple(texts[i * n : (i + 1) * n]) for i, name in enumerate(systems)}
    return {name: row for name, row in rows.items() if any(text is not None for text in row)}


def write(es: EvalSet, path: Path) -> None:
    """Write scores and texts of a set, a row for every system and segment."""
    layout.check_free(es.scores, "score")
    columns = es.columns(texts=True)
    if es.language_pair is not None:
        columns = {"lp": [es.language_pair] * len(columns["system"]), **columns}
    tables.write(path, columns, names=("system", "segment"))
