"""Text files: JSON lines with source, references and outputs of one segment each."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from steelyard.core.table import dumps
from steelyard.data.evalset import EvalSet
from steelyard.data.judgements import encode
from steelyard.data.segments import Segments, Texts
from steelyard.formats import files, layout
from steelyard.formats.tables import RawTable

_OUT, _REFS = "out", "refs"


def recognise(table: RawTable) -> bool:
    """Tell whether the rows hold outputs or references as objects."""
    columns = (table.columns.get(name, ()) for name in (_OUT, _REFS))
    return any(isinstance(cell, dict) for cells in columns for cell in cells)


def read(table: RawTable) -> EvalSet:
    """Read texts, documents and domains; a system without a text for a segment has None there."""
    languages, table = layout.language_pair(table)
    column = layout.segment_column(table)
    if column is None:
        table.fail(f"no segment column (one of {', '.join(layout.SEGMENT)}, or an id)")
    labels = table.labels(column)
    ids, segment = encode(labels)
    layout.refuse_repeats(table, column, labels, segment)
    order = [0] * len(ids)
    for row, place in enumerate(segment.tolist()):
        order[place] = row
    described = layout.SegmentColumns.find(table).read(table, ids, segment)
    references = {**described.references, **_objects(table, _REFS, order)}
    segments = Segments(
        described.ids, described.documents, described.domains, described.sources, references
    )
    outputs = _objects(table, _OUT, order)
    return EvalSet(tuple(outputs), segments, {}, outputs, language_pair=languages)


def _objects(table: RawTable, column: str, order: list[int]) -> dict[str, Texts]:
    """Turn a column of objects {name: text} into texts per name."""
    cells = table.columns.get(column, [None] * table.n_rows)
    for row, cell in enumerate(cells):
        if cell is not None and not isinstance(cell, dict):
            table.fail(f"'{column}': expected an object of texts by name", row)
        for name, text in (cell or {}).items():
            if not name.strip() or not (text is None or isinstance(text, str)):
                table.fail(f"'{column}': '{name}' should be a name with a text", row)
    names = sorted({name for cell in cells if cell for name in cell})
    return {name: tuple((cells[row] or {}).get(name) for row in order) for name in names}


def write(es: EvalSet, path: Path) -> None:
    """Write texts, documents and domains of a set."""
    seg = es.segments
    lines = []
    for i, segment in enumerate(seg.ids):
        row: dict[str, Any] = {"seg": segment}
        if es.language_pair is not None:
            row["lp"] = es.language_pair
        singles = {"doc": seg.documents, "domain": seg.domains, "src": seg.sources}
        row |= {name: texts[i] for name, texts in singles.items() if texts and texts[i] is not None}
        for name, texts in ((_REFS, seg.references), (_OUT, es.outputs)):
            row[name] = {key: column[i] for key, column in texts.items() if column[i] is not None}
        lines.append(dumps(row, indent=None) + "\n")
    files.write_text(path, "".join(lines))
