"""Tables that are an EvalSet: long, system and wide tables of scores, and texts as JSON lines.

A long table has a row for every (system, segment) and a column for every score, a system table a
row for every system, a wide one a row for every segment and a column for every system.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steelyard.core.table import dumps
from steelyard.core.text import plural
from steelyard.data.evalset import EvalSet, ScoreTable
from steelyard.data.judgements import Codes, encode
from steelyard.data.segments import Segments, Texts
from steelyard.formats import columns as roles
from steelyard.formats import files, reshape, tables
from steelyard.formats.cells import label
from steelyard.formats.columns import MENTIONS, OUTPUTS, REFERENCES, SYSTEM
from steelyard.formats.format import TableFormat
from steelyard.formats.rawtable import RawTable, one_of
from steelyard.stats.arrays import sealed

_SINGLE = {"documents": roles.DOCUMENT, "domains": roles.DOMAIN, "sources": roles.SOURCE,
           "accepted": roles.ACCEPTED}  # fmt: skip


def _described(table: RawTable) -> tuple[dict[str, str], dict[str, str]]:
    """Return the columns that describe segments, by what they say, and those of references."""
    single = {
        field: column
        for field, names in _SINGLE.items()
        if (column := one_of(table, names, names[0].replace("_", " ")))
    }
    prefix = roles.REFERENCE_PREFIX
    references = {
        name.removeprefix(prefix): name
        for name in table.columns
        if name.startswith(prefix) and name != prefix
    }
    reference = one_of(table, roles.REFERENCE, "reference")
    return single, references | ({} if reference is None else {"ref": reference})


def _segments(table: RawTable, ids: Sequence[str], segment: Codes) -> Segments:
    """Read what the table says of each segment; rows of one segment must agree."""
    single, references = _described(table)
    described = [*references.values(), *single.values()]

    def texts(name: str, *, strict: bool) -> Texts | None:
        return _per_segment(table, name, len(ids), segment, strict=strict)

    columns = {name: texts(name, strict=name not in table.given) for name in described}
    metadata = {name: texts(name, strict=False) for name in table.columns
                if name in table.metadata and name not in described}  # fmt: skip
    return Segments(
        tuple(ids),
        **{field: columns[name] for field, name in single.items()},  # type: ignore[arg-type]
        references=_held({key: columns[name] for key, name in references.items()}),
        metadata=_held(metadata),
        document_column=table.given.get(single.get("documents", "")),
    )


def _held(columns: dict[str, Texts | None]) -> dict[str, Texts]:
    return {name: texts for name, texts in columns.items() if texts is not None}


def _per_segment(
    table: RawTable, column: str, n: int, segment: Codes, *, strict: bool
) -> Texts | None:
    """Fold a column of texts to one per segment; of two that differ, None unless ``strict``."""
    values: list[str | None] = [None] * n
    texts = table.texts(column) if strict else _as_texts(table, column)
    for row, (at, text) in enumerate(zip(segment.tolist(), texts, strict=True)):
        earlier = values[at]
        if text is None or earlier == text:
            continue
        if earlier is not None and not strict:
            return None
        if earlier is not None:
            differs = f"{text[:40]!r} differs from {earlier[:40]!r}"
            message = f"{table.named(column)}: {differs} on an earlier line of the same segment"
            table.fail(message, row)
        values[at] = text
    return tuple(values)


def _as_texts(table: RawTable, column: str) -> list[str | None]:
    cells = table.cells(column)
    return [(str(cell) if isinstance(cell, bool) else label(cell)) or None for cell in cells]


def _first_repeat(codes: NDArray[Any]) -> tuple[int, int] | None:
    """Give the rows (first, second) of the earliest code that occurs twice, or None."""
    order = np.argsort(codes, kind="stable")
    ordered = codes[order]
    again = np.flatnonzero(ordered[1:] == ordered[:-1])
    if not len(again):
        return None
    at = again[np.argmin(order[again + 1])]
    return int(order[at]), int(order[at + 1])


def _one_row_each(
    table: RawTable, labels: list[str], what: str, hint: str
) -> tuple[tuple[str, ...], Codes]:
    """Encode the names of rows, where none may have two."""
    names, codes = encode(labels)
    repeat = _first_repeat(codes)
    if repeat is not None:
        first, second = repeat
        message = f"{what} '{labels[second]}' stands on line {table.line(first)} already{hint}"
        table.fail(message, second)
    return names, codes


def _encoded_segments(table: RawTable, column: str | None) -> tuple[tuple[str, ...], Codes]:
    if column is None:
        return encode(list(map(str, range(1, table.n_rows + 1))))
    guess = f" ({table.named(column)} is taken as the segment; a document is a 'doc')"
    hint = guess if column in table.given else ""
    return _one_row_each(table, table.labels(column), "segment", hint)


def read_long(table: RawTable) -> EvalSet:
    """Read scores, and whatever the table says of segments and outputs."""
    languages, table = roles.language_pair(table)
    segment_column = roles.segment_column(table)
    assert segment_column is not None
    output = one_of(table, roles.OUTPUT, "output")
    single, references = _described(table)
    systems, system = encode(table.labels(SYSTEM[0]))
    ids, segment = encode(table.labels(segment_column))
    cell = system.astype(np.int64) * len(ids) + segment
    repeat = _first_repeat(cell)
    if repeat is not None:
        first, second = repeat
        once = table if len(table.files()) > 1 else _without_copies(table)
        if once.n_rows < table.n_rows:
            return replace(read_long(once), notes=once.notes[-1:])
        what = f"system '{systems[system[second]]}', segment '{ids[segment[second]]}'"
        table.repeats(first, second, what, _apart(table, segment_column))
    segments = _segments(table, ids, segment)
    roles_taken = {SYSTEM[0], segment_column, output, *single.values(), *references.values()}
    scores = {}
    n_cells = len(systems) * len(ids)
    at = slice(None) if np.array_equal(cell, np.arange(n_cells)) else cell  # a slice is faster
    for name in table.columns:
        if name not in roles_taken and name not in table.metadata:
            values = np.full(n_cells, np.nan)
            values[at] = table.scores(name)
            uses = roles.uses(name, tuple(segments.references))
            matrix = sealed(values).reshape(len(systems), len(ids))
            scores[name] = ScoreTable(matrix, uses=uses, **_stated(table, name))
    outputs = {} if output is None else _outputs(table, output, systems, len(ids), cell)
    return EvalSet(systems, segments, scores=scores, outputs=outputs, language_pair=languages)


def _without_copies(table: RawTable) -> RawTable:
    """Leave out rows that are the same as an earlier one in every cell, and say so."""
    rows = zip(*(map(repr, table.cells(name)) for name in table.columns), strict=True)
    first = {cells: row for row, cells in reversed(list(enumerate(rows)))}
    copies = table.n_rows - len(first)
    note = f"{plural(copies, 'row')} left out, the same as an earlier one in every cell"
    return table.take(sorted(first.values())).noted(note)


def _apart(table: RawTable, segment: str) -> str:
    """Name the column that tells rows of a system and segment apart, and what it may be."""
    for name in table.columns:
        described = roles.is_text(name) or name in table.metadata or roles.is_whole(table, name)
        if not described or name in (SYSTEM[0], segment):
            continue
        keys = zip(*(map(str, table.columns[n]) for n in (SYSTEM[0], segment, name)), strict=True)
        if len(set(keys)) == table.n_rows:
            shown = table.given.get(name, name)
            within = f'columns={{"task": "{shown}"}} if ids are counted within it'
            repeats = f'columns={{"epoch": "{shown}"}} if it numbers repeats'
            return f"{within}, {repeats}" if roles.is_whole(table, name) else within
    return ""


def _stated(table: RawTable, name: str) -> dict[str, Any]:
    """Give what the file says of a score, where it says anything."""
    if name not in table.facts:
        return {}
    kind, higher = table.facts[name]
    direction = {"higher_is_better": higher is not False, "direction_given": higher is not None}
    return {"kind": kind, **direction}


def _outputs(
    table: RawTable, column: str, systems: tuple[str, ...], n: int, cell: NDArray[np.int64]
) -> dict[str, Texts]:
    texts = np.full(len(systems) * n, None, dtype=object)
    texts[cell] = table.texts(column)
    rows = zip(systems, texts.reshape(-1, n).tolist(), strict=True)
    return {name: tuple(row) for name, row in rows if any(text is not None for text in row)}


def write_long(es: EvalSet, path: Path) -> None:
    """Write scores and texts of a set, a row for every system and segment."""
    roles.check_free(es.scores, "score")
    columns = es.columns(texts=True)
    if es.language_pair is not None:
        columns = {"lp": [es.language_pair] * len(columns["system"]), **columns}
    tables.write(path, columns, names=("system", "segment"))


def read_system(table: RawTable) -> EvalSet:
    """Read official system scores; the set has no segments."""
    languages, table = roles.language_pair(table)
    hint = (
        "; expected one row each (where={COL: VALUE} selects rows; a table of segments needs a "
        "segment column)"
    )
    systems, system = _one_row_each(table, table.labels(SYSTEM[0]), "system", hint)
    rows, empty = np.argsort(system), np.empty((len(systems), 0))
    scores = {
        name: ScoreTable(
            empty,
            uses=roles.uses(name),
            system_scores=sealed(table.scores(name)[rows]),
            **_stated(table, name),
        )
        for name in table.columns
        if name != SYSTEM[0] and name not in table.metadata
    }
    return EvalSet(systems, Segments(()), scores=scores, language_pair=languages)


def write_system(es: EvalSet, path: Path) -> None:
    """Write the system scores: the official ones, else the means over the segments."""
    roles.check_free(es.scores, "score")
    means = {name: table.system_means() for name, table in es.scores.items()}
    tables.write(path, {"system": es.systems, **means}, names=("system",))


def _wide_systems(table: RawTable) -> list[str]:
    single, references = _described(table)
    described = {*single.values(), *references.values(), *roles.LANGUAGES, *roles.SEGMENT}
    return [n for n in table.columns if n not in described and n not in table.metadata]


def _prepared_wide(table: RawTable) -> RawTable:
    """Name segments by their documents, and leave out a last row that is the mean of all."""
    systems = [name for name in _wide_systems(table) if not roles.is_text(name)]
    percent = [name for name in systems if table.has_percents(name)]
    plain = [(table, name) for name in systems if name not in percent]
    table = reshape.as_shares(table, percent, plain) if percent and plain else table
    table = reshape.within_documents(reshape.within_tasks(table))
    return roles.without_mean_row(table, systems)


def read_wide(table: RawTable, score: str = "score") -> EvalSet:
    """Read one score; without a segment column, segments are numbered from 1 by row."""
    languages, table = roles.language_pair(table)
    column = roles.segment_column(table)
    if column is None and "segment" in table.needed:
        table.fail(table.needed["segment"])
    systems = _wide_systems(table)
    ids, segment = _encoded_segments(table, column)
    segments = _segments(table, ids, segment)
    if not systems and column is not None and (segments.documents or segments.domains):
        # A table that describes segments, for other inputs that only name them.
        return EvalSet((), segments, language_pair=languages)
    if not systems:
        table.fail("no column holds the scores of a system")
    values = np.full((len(systems), len(ids)), np.nan)
    for i, name in enumerate(systems):
        values[i, segment] = table.scores(name)
    names = tuple(table.given.get(name, name) for name in systems)
    scores = {score: ScoreTable(sealed(values), uses=roles.uses(score, tuple(segments.references)))}
    return EvalSet(names, segments, scores=scores, language_pair=languages)


def read_texts(table: RawTable) -> EvalSet:
    """Read texts, documents and domains; a system without a text for a segment has None there."""
    languages, table = roles.language_pair(table)
    column = roles.segment_column(table)
    if column is None:
        table.fail(f"no segment column (one of {', '.join(roles.SEGMENT)}, or an id)")
    ids, segment = _encoded_segments(table, column)
    order = np.argsort(segment).tolist()
    segments = _segments(table, ids, segment)
    references = {**segments.references, **_objects(table, REFERENCES, order)}
    outputs = _objects(table, OUTPUTS, order)
    segments = replace(segments, references=references)
    if MENTIONS in table.columns:
        segments = replace(segments, accepted=_lists(table, MENTIONS, order))
    return EvalSet(tuple(outputs), segments, outputs=outputs, language_pair=languages)


def _lists(table: RawTable, column: str, order: list[int]) -> Texts:
    """Turn a column of lists of names into texts with a name per line; no name is None."""
    texts: list[str | None] = []
    for row, cell in enumerate(table.columns[column]):
        names = [cell] if isinstance(cell, str) else cell or []
        fail = partial(table.fail, row=row)
        if not isinstance(names, list) or not all(isinstance(n, str) and n.strip() for n in names):
            fail(f"'{column}': expected a list of names")
        kept = [" ".join(files.whole(n, f"a name of '{column}'", fail).split()) for n in names]
        texts.append("\n".join(kept) or None)
    return tuple(texts[row] for row in order)


def _objects(table: RawTable, column: str, order: list[int]) -> dict[str, Texts]:
    """Turn a column of objects {name: text} into texts per name; a list is ref1, ref2, ..."""
    cells: list[dict[str, Any]] = []
    for row, cell in enumerate(table.columns.get(column, [None] * table.n_rows)):
        fail = partial(table.fail, row=row)
        if isinstance(cell, list) and column == REFERENCES:
            cell = {f"ref{number}": text for number, text in enumerate(cell, 1)}  # noqa: PLW2901
        if cell is not None and not isinstance(cell, dict):
            fail(f"'{column}': expected an object of texts by name")
        for name, text in (cell or {}).items():
            if not name.strip() or not (text is None or isinstance(text, str)):
                fail(f"'{column}': '{name}' should be a name with a text")
            files.whole(name, f"a name of '{column}'", fail)
        cells.append(cell or {})
    names = sorted({name for cell in cells for name in cell})
    return {name: tuple(cells[row].get(name) for row in order) for name in names}


def write_texts(es: EvalSet, path: Path) -> None:
    """Write texts, documents and domains of a set."""
    seg = es.segments
    lines = []
    for i, segment in enumerate(seg.ids):
        row: dict[str, Any] = {"seg": segment}
        if es.language_pair is not None:
            row["lp"] = es.language_pair
        singles = {"doc": seg.documents, "domain": seg.domains, "src": seg.sources}
        row |= {name: texts[i] for name, texts in singles.items() if texts and texts[i] is not None}
        if names := seg.accepted and seg.accepted[i]:
            row[MENTIONS] = names.split("\n")
        for name, texts in ((REFERENCES, seg.references), (OUTPUTS, es.outputs)):
            row[name] = {key: column[i] for key, column in texts.items() if column[i] is not None}
        lines.append(dumps(row, indent=None) + "\n")
    files.write_text(path, "".join(lines))


_DETAILS = ("stored domain and document scores", "ratings", "which scores are human",
            "which scores are better when lower", "scores without any value")  # fmt: skip
LONG = TableFormat(
    name="long table",
    gives=EvalSet,
    known_by="columns system and segment",
    example="system,segment,chrF\nA,1,61.2\nB,1,58.4\n",
    example_name="scores.csv",
    marks=("system segment -texts",),
    of_scores=True,
    prepare=reshape.folded,
    read=read_long,
    write=write_long,
    to="long",
    suits=lambda es, path: es.n_segments > 0 and bool(es.scores or files.suffix(path) != "jsonl"),
    drops=("official system scores", *_DETAILS),
)
WIDE = TableFormat(
    name="wide table",
    gives=EvalSet,
    known_by="no column system: every other column is a system",
    example="segment,A,B\n1,61.2,58.4\n2,70.1,70.3\n",
    example_name="scores.csv",
    marks=("-system -texts",),
    of_scores=True,
    prepare=_prepared_wide,
    read=read_wide,
)
SYSTEM_TABLE = TableFormat(
    name="system table",
    gives=EvalSet,
    known_by="column system, none for segments",
    example="system,BLEU\nA,32.1\nB,30.9\n",
    example_name="systems.csv",
    marks=("system -texts",),
    of_scores=True,
    read=read_system,
    write=write_system,
    to="system",
    suits=lambda es, _path: not es.n_segments,
    drops=("texts", "segment scores", *_DETAILS),
)
TEXT = TableFormat(
    name="text",
    gives=EvalSet,
    known_by="JSON with out or refs",
    example='{"seg": 1, "src": "Ja.", "refs": {"refA": "Yes."}, "out": {"A": "Yes", "B": "Yo"}}\n',
    example_name="texts.jsonl",
    marks=("texts",),
    numbered=True,
    read=read_texts,
    write=write_texts,
    to="text",
    suits=lambda es, _path: not es.scores,
    drops=("scores", "ratings"),
)
