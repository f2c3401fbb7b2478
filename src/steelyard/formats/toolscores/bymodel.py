"""Scores of several models of one tool, which all call their score by the tool's name.

Where files score the same outputs, each file is a model, and names its score.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from steelyard.core.words import listed
from steelyard.formats import files
from steelyard.formats.rawtable import RawTable


def named_by_file(score: str) -> Callable[[RawTable], RawTable]:
    """Give what settles a table of several files whose only score has this name."""
    return lambda table: _named(table, score)


def _named(table: RawTable, score: str) -> RawTable:
    if table.path_of is None or score not in table:
        return table
    paths = [table.path_of(row) for row in range(table.n_rows)]
    keys = list(zip(*(table.columns[n] for n in ("system", "segment") if n in table), strict=True))
    seen: dict[Any, set[Path]] = {}
    for key, path in zip(keys, paths, strict=True):
        seen.setdefault(key, set()).add(path)
    if all(len(own) == 1 for own in seen.values()):
        return table
    names = _names(list(dict.fromkeys(paths)))
    first: dict[Any, int] = {}
    found: dict[str, dict[Any, Any]] = {name: {} for name in names.values()}
    for row, (key, path) in enumerate(zip(keys, paths, strict=True)):
        first.setdefault(key, row)
        if key in found[names[path]]:
            table.fail("the system and the segment stand above already", row)
        found[names[path]][key] = table.columns[score][row]
    scores = {name: [own.get(key) for key in first] for name, own in found.items()}
    kept = table.take(list(first.values()))
    facts = {name: fact for name, fact in table.facts.items() if name != score}
    if score in table.facts:
        facts |= dict.fromkeys(scores, table.facts[score])
    note = f"files that score the same outputs: {score} is called {listed(list(scores), 6)}"
    return replace(
        kept,
        columns={**kept.without([score]).columns, **scores},
        facts=facts,
        notes=(*table.notes, note),
    )


def _names(paths: list[Path]) -> dict[Path, str]:
    """Name files by their stems, or by their paths if two have the same."""
    stems = {path: files.stem(path) for path in paths}
    alike = len(set(stems.values())) < len(stems)
    return {path: str(path) for path in paths} if alike else stems
