"""Which model judged, by which rubric: columns that must not change without a word."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from steelyard.core.errors import UsageError
from steelyard.core.text import listed
from steelyard.data.verdicts import Verdicts
from steelyard.formats import files, frames, registry, tables
from steelyard.formats.load import selection
from steelyard.formats.rawtable import RawTable
from steelyard.formats.view import FileView
from steelyard.judging.options import DriftOptions

#: Columns that tell which model judged, and by which rubric.
MODELS = ("judge_model_id", "judge_model_version", "judge_version", "judge_id", "judge_revision")
RUBRICS = (
    "rubric", "rubric_id", "rubric_version", "rubric_hash", "judge_prompt", "judge_prompt_id",
    "judge_prompt_version", "prompt_version", "template", "template_id", "criteria_version",
    "scorer_version",
)  # fmt: skip


def versions_of(old: Any, new: Any, options: DriftOptions) -> tuple[str, ...]:
    """Say which model and rubric judged; refuse several in one file, and a rubric that changed."""
    said = []
    values = [_told(source) for source in (old, new)]
    kept = {column for column, _ in selection(options.where)}  # rows were chosen by these
    for name in (*MODELS, *RUBRICS):
        if name in kept:
            continue
        was, now = (own.get(name) for own in values)
        for which, own in (("old", was), ("new", now)):
            if own is not None and len(own) > 1:
                raise UsageError(
                    f"the {which} file has several values of '{name}' ({listed(sorted(own))}): "
                    f'keep one of them (where={{"{name}": ...}})'
                )
        if was is None or now is None or was == now:
            continue
        before, after = next(iter(was)), next(iter(now))
        if name in RUBRICS and not options.changed_rubric:
            raise UsageError(
                f"column '{name}' differs: '{before}' in the old file, '{after}' in the new; a "
                "judge with another rubric is another judge (changed_rubric=True)"
            )
        said.append(f"{name}: {before} before, {after} now.")
    return tuple(said)


def _told(source: Any) -> dict[str, set[str]]:
    """Give the values of columns that tell the model and the rubric."""
    table = _table(source)
    if table is None:
        return {}
    found = {}
    for name in (*MODELS, *RUBRICS):
        if name in table.columns:
            cells = {str(cell) for cell in table.columns[name] if cell not in (None, "")}
            if cells:
                found[name] = cells
    return found


def _table(source: Any) -> RawTable | None:
    if isinstance(source, Verdicts):
        return None
    if not isinstance(source, (str, Path)):
        return frames.read(source) if frames.recognise(source) else None
    path = Path(source)
    if files.is_folder(path) or registry.foreign(FileView(path)) is not None:
        return None
    return tables.read(path, is_text=lambda _: True)
