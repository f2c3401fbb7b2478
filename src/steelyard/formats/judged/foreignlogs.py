"""Battles in files of other tools, or in folders of these, where a log is asked for."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from steelyard.core.errors import InputError, UsageError
from steelyard.data.judgements import BattleLog
from steelyard.formats import files, registry, roles
from steelyard.formats.format import Foreign, Format
from steelyard.formats.judged import battlelogs
from steelyard.formats.judged.battlelogs import LogColumns
from steelyard.formats.load import check_columns
from steelyard.formats.reading import Read, Reading, read_all
from steelyard.formats.view import FileView

_OWN = (battlelogs.FORMAT, battlelogs.RANKINGS)


def read_foreign(given: Sequence[Path], columns: LogColumns) -> Read | None:
    """Read logs of another tool; None for those of ours, or whose sides are named as if they were.

    The beginnings of files show what they are: logs of ours may be too long to be looked through.
    """
    form = None if columns.form is None else registry.named(columns.form)
    if form is not None and form not in _OWN and not _holds_battles(form):
        raise UsageError(f'format="{form.name}" is no log of battles')
    if form in _OWN or any((columns.left, columns.right, columns.outcome)):
        return None
    found = [_logs_of(path, form) for path in given]
    if not any(found):
        return None
    paths = [path for own in found for path in own]
    for path, own in zip(given, found, strict=True):
        if not own:
            _mixed(path, paths)
    unit = () if columns.unit is None else (("unit", columns.unit),)
    reading = Reading(columns.where, columns.ignore, columns=unit, form=columns.form)
    (read,) = read_all(paths, reading)
    check_columns([read], reading)
    return read


def _logs_of(path: Path, form: Format | None) -> list[Path]:
    """Give the logs of other tools that a path is, or that lie in it."""
    if not files.is_folder(path):
        return [path] if _holds_battles(form or registry.foreign(FileView(path))) else []
    paths = [view.path for _, view in registry.logs_in(path, form, BattleLog)]
    _refuse_mixed(path, paths)
    return paths


def _holds_battles(form: Format | None) -> bool:
    return isinstance(form, Foreign) and issubclass(form.gives, BattleLog)


def _refuse_mixed(folder: Path, known: Sequence[Path]) -> None:
    """Refuse a folder with logs of a tool in which a log of ours would be passed over."""
    for path in sorted(folder.iterdir()) if known else ():
        if path in known or not path.is_file():
            continue
        names = set(FileView(path).names)
        sides = all(names & set(role) for role in (roles.LEFT, roles.RIGHT, roles.OUTCOME))
        if sides or {roles.BETTER, roles.WORSE} <= names:
            _mixed(path, known)


def _mixed(path: Path, known: Sequence[Path]) -> NoReturn:
    message = f"a battle log among logs of another format, such as {known[0].name}"
    raise InputError(f"{message}: expected one kind", path=path)
