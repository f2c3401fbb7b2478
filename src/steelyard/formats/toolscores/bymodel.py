"""Scores of several models of one tool, which all call their score by the tool's name.

Files are taken for one metric as long as nothing speaks against it. Where two give one output
different scores, or only some have references, they are of different models: each file names its
score.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from steelyard.core.table import missing
from steelyard.core.text import listed, plural
from steelyard.formats import columns as roles
from steelyard.formats import files
from steelyard.formats.rawtable import RawTable

_REFERENCE = "reference"


def named_by_file(score: str) -> Callable[[RawTable], RawTable]:
    """Give what settles a table of several files whose only score has this name."""
    return lambda table: _named(table, score)


def _named(table: RawTable, score: str) -> RawTable:
    if table.path_of is None or score not in table:
        return table
    paths = [table.path_of(row) for row in range(table.n_rows)]
    keys = list(zip(*(table.columns[n] for n in ("system", "segment") if n in table), strict=True))
    rows: dict[Any, dict[Path, int]] = {}
    for row, (key, path) in enumerate(zip(keys, paths, strict=True)):
        own = rows.setdefault(key, {})
        if path in own:
            table.fail("the system and the segment stand above already", row)
        own[path] = row
    several = list(dict.fromkeys(paths))
    differing = _differing(table, score, rows)
    kept = _merged(table, rows)
    if differing:
        why = f"files give {plural(differing, 'output')} different scores"
    elif _has_some_references(table, paths):
        why = "some files have references, others have none"
    else:
        found = [_first(table, score, own.values()) for own in rows.values()]
        note = f"{plural(len(several), 'file')} are taken for one metric, {score}"
        return replace(kept, columns={**kept.columns, score: found}, notes=(*table.notes, note))
    names = files.by_stem(map(str, several))
    cells = table.columns[score]
    scores = {
        names[str(path)]: [cells[own[path]] if path in own else None for own in rows.values()]
        for path in several
    }
    facts = {name: fact for name, fact in table.facts.items() if name != score}
    if score in table.facts:
        facts |= dict.fromkeys(scores, table.facts[score])
    note = f"{why}, so each is a model: {score} is called {listed(list(scores), 6)}"
    return replace(
        kept,
        columns={**kept.without([score]).columns, **scores},
        facts=facts,
        notes=(*table.notes, note),
    )


def _differing(table: RawTable, score: str, rows: dict[Any, dict[Path, int]]) -> int:
    """Count the outputs that have several scores."""
    cells = table.columns[score]
    return sum(
        len({str(cells[row]) for row in own.values() if not missing(cells[row])}) > 1
        for own in rows.values()
    )


def _has_some_references(table: RawTable, paths: Sequence[Path]) -> bool:
    """Tell whether a model of some files needs references, and that of others does not."""
    if _REFERENCE not in table:
        return False
    cells = table.columns[_REFERENCE]
    having = {path for cell, path in zip(cells, paths, strict=True) if not missing(cell)}
    return having != set(paths)


def _first(table: RawTable, column: str, rows: Any) -> Any:
    """Give what the first row has that has anything."""
    return next((c for row in rows if not missing(c := table.columns[column][row])), None)


def _merged(table: RawTable, rows: dict[Any, dict[Path, int]]) -> RawTable:
    """Give a row for each output; files that say different things of one are refused."""
    kept = table.take([next(iter(own.values())) for own in rows.values()])
    columns = dict(kept.columns)
    for name in table.columns:
        if not roles.is_text(name):
            continue
        cells = columns[name] = [_first(table, name, own.values()) for own in rows.values()]
        for cell, own in zip(cells, rows.values(), strict=True):
            for row in own.values():
                other = table.columns[name][row]
                if not missing(other) and other != cell:
                    first = table.place_of(next(iter(own.values())))
                    table.fail(f"'{name}' is {str(other)[:40]!r}, but another {first}", row)
    return replace(kept, columns=columns)
