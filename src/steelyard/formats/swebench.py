"""SWE-bench's lists of resolved instances: a file per model, as leaderboards publish them.

An instance that any file names is an item of all models: resolved (1) or not (0).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from steelyard.formats.foreign import Log, Row, foreign
from steelyard.formats.rawtable import RawTable
from steelyard.formats.scoretables import LONG
from steelyard.formats.view import document

_RESOLVED = ("resolved", "resolved_ids")
_PLAIN = ("results", "report")  # names of files and folders that name no model


def _all_items(table: RawTable) -> RawTable:
    """Give every model a row for every instance: 0 where its file does not list it as resolved."""
    systems, items = table.labels("system"), table.labels("segment")
    row_of = {key: row for row, key in enumerate(zip(systems, items, strict=True))}
    first = {system: row for row, system in reversed(list(enumerate(systems)))}
    keys = [(system, item) for system in first for item in dict.fromkeys(items)]
    kept = table.take([row_of.get(key, first[key[0]]) for key in keys])
    solved = [table.columns["resolved"][row_of[key]] if key in row_of else 0.0 for key in keys]
    columns = {**kept.columns, "segment": [item for _, item in keys], "resolved": solved}
    note = f"accuracy is over the {len(set(items)):,} instances that any file names"
    return replace(kept, columns=columns).noted(note)


@foreign(
    "SWE-bench results",
    LONG,
    names={"system": "name of the file or folder", "segment": "resolved"},
    recognise=lambda v: any(isinstance((v.record or {}).get(key), list) for key in _RESOLVED),
    files=("*.json",),
    settle=_all_items,
    empty="names no instance",
    known_by="JSON with resolved or resolved_ids: a list of instances",
    example='{"no_generation": ["django-2"], "resolved": ["django-1", "sympy-7"]}\n',
    example_name="model-1/results/results.json",
)
def swebench_results(log: Log) -> Iterator[Row]:
    """Yield a row per instance that any list of the file names."""
    report = document(log.view)
    parts = (log.view.stem, *(part.name for part in log.view.path.resolve().parents))
    system = next((part for part in parts if part not in _PLAIN), log.view.stem)
    lists = {key: value for key, value in report.values.items() if isinstance(value, list)}
    solved = {str(item) for key in _RESOLVED for item in lists.get(key, ())}
    for item in sorted(solved.union(*(map(str, value) for value in lists.values()))):
        yield log.row(None, {"resolved": float(item in solved)}, system=system, segment=item)
