"""All formats: the first that recognises an input reads it.

To add one, write its file and put its object here, before any that would recognise it, too.
"""

from __future__ import annotations

import re
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path
from typing import NoReturn, TypeVar

from steelyard.core.errors import InputError, UsageError, hint
from steelyard.core.text import listed
from steelyard.formats import (
    arenas,
    bitext,
    entities,
    evallogs,
    files,
    metricscores,
    plaintext,
    scoretables,
    tables,
)
from steelyard.formats import columns as roles
from steelyard.formats.folders import mtme, native
from steelyard.formats.format import FileFormat, ForeignFormat, Format, MarkedFormat
from steelyard.formats.judged import appraise, battles, errors, ratings, wmt, wmt26
from steelyard.formats.rawtable import RawTable
from steelyard.formats.view import FileView

FORMATS: tuple[Format, ...] = (
    native.FORMAT,
    mtme.FORMAT,
    *wmt.FORMATS,
    *wmt26.FORMATS,
    entities.FORMAT,
    *bitext.FORMATS,
    *appraise.FORMATS,
    *arenas.FORMATS,
    *metricscores.FORMATS,
    *evallogs.FORMATS,
    plaintext.FORMAT,
    errors.FORMAT,
    battles.RANKINGS,
    battles.FORMAT,
    ratings.FORMAT,
    scoretables.LONG,
    scoretables.WIDE,
    scoretables.SYSTEM_TABLE,
    scoretables.TEXT,
)

_DEPTH = 5  # folders in folders that are looked into
_TABLES = ("parquet", "pq", "csv", "tsv", "jsonl", "ndjson", "json", *tables.EXCEL)
GROUP = "steelyard.formats"
Kind = TypeVar("Kind", bound=Format)


@cache
def installed() -> tuple[Format, ...]:
    """Load the formats of other packages once; a package that is broken is left out."""
    formats = []
    for point in entry_points(group=GROUP):
        try:
            loaded = point.load()
        except Exception as error:  # noqa: BLE001 - other people's code may raise anything
            problem = f"{type(error).__name__}: {error}"
        else:
            if isinstance(loaded, Format):
                formats.append(loaded)
                continue
            problem = f"expected a Format, found a {type(loaded).__name__}"
        package = "" if point.dist is None else f" of package {point.dist.name}"
        warnings.warn(f"format '{point.name}'{package} is left out ({problem})", stacklevel=2)
    return tuple(formats)


def _every() -> Iterator[Format]:
    """Yield our formats, then those of installed packages, which are looked for only then."""
    yield from FORMATS
    yield from installed()


def _of_type(kind: type[Kind]) -> Iterator[Kind]:
    return (form for form in _every() if isinstance(form, kind))


def readable(form: Format) -> bool:
    """Tell whether files of a format are read, and not only written."""
    return isinstance(form, (FileFormat, MarkedFormat))


def named(name: str) -> Format:
    """Give a format by its name, for those who know better than what files look like."""
    formats = {form.name: form for form in (*installed(), *FORMATS) if readable(form)}
    if name not in formats:
        raise UsageError(f'no format "{name}" can be read; {hint(name, formats)}')
    return formats[name]


def of_file(view: FileView) -> FileFormat | None:
    """Give the format of a file or folder; None if it can only be a table, or a folder of runs."""
    if files.is_folder(view.path):
        return next((f for f in _of_type(FileFormat) if f.folder and f.recognise(view)), None)
    return next((f for f in _of_type(FileFormat) if not f.folder and f.sees(view)), None)


def claimed_by(table: RawTable) -> MarkedFormat | None:
    """Give the format of a table, None if it has none."""
    marks = roles.present(table)  # one look for all
    return next((form for form in _of_type(MarkedFormat) if form.marked_by(marks)), None)


def foreign(view: FileView) -> ForeignFormat | None:
    """Give the foreign format of a file by a look at its beginning; None if it has none."""
    return next((form for form in _of_type(ForeignFormat) if form.sees(view)), None)


# What nobody knows.


def refuse_table(table: RawTable) -> NoReturn:
    """Refuse a table that no format knows, and say which it is near to."""
    nested = roles.nested_columns(table)
    rest = table.without(nested)
    form = claimed_by(rest)
    marked = form is not None and form is not scoretables.WIDE
    if nested and (marked or not set(rest.columns).isdisjoint(roles.SYSTEM_ALSO)):
        names = ", ".join(f'"{name}"' for name in nested)
        what = f"column '{nested[0]}' holds objects or lists, expected cells"
        table.fail(f"{what} (ignore=[{names}] skips it)")
    if len(table.columns) == 1:
        helps = tables.PLAIN
    elif roles.are_battles(table):
        helps = 'battles need a column of outcomes: columns={"outcome": "NAME"} says which it is'
    else:
        helps = 'columns={"system": "NAME"} says what a column is'
    table.fail(f"no known format has columns {listed(list(table.columns), 8)}; {helps}")


def refuse_document(view: FileView) -> NoReturn:
    """Refuse a JSON document that no format knows."""
    tables.refuse_json(view.document, view.path)


# Folders.


def runs(folder: Path, form: Format | None = None) -> list[tuple[ForeignFormat, FileView]]:
    """Find the logs in a folder and below, of any format or of the one that is named.

    What else is there is left alone: tools put their settings and summaries beside their logs.
    """
    logs = logs_in(folder, form)
    if not logs:
        raise InputError(
            "folder is neither laid out like mt-metrics-eval (documents/, sources/, ...) nor holds "
            "a log that is known (steelyard data formats lists them)",
            path=folder,
        )
    return logs


def logs_in(
    folder: Path, form: Format | None = None, gives: type = object
) -> list[tuple[ForeignFormat, FileView]]:
    """Find the logs that give what is wanted, which all are of one format; maybe there are none."""
    wanted = [
        f
        for f in _of_type(ForeignFormat)
        if issubclass(f.gives, gives) and (form is None or f is form)
    ]
    logs: list[tuple[ForeignFormat, FileView]] = []
    for path in _files_in(folder):
        view = FileView(path)
        by_name = (f for f in wanted if any(fnmatchcase(path.name, glob) for glob in f.files))
        logs += [(form, view) for form in by_name if form.sees(view)][:1]
    counts = Counter(form.name for form, _ in logs)
    if len(counts) > 1:
        shown = ", ".join(f"{count} of {name}" for name, count in sorted(counts.items()))
        choose = f'choose with format="{min(counts)}"'
        raise InputError(f"holds logs of several formats: {shown}; {choose}", path=folder)
    return logs


def tables_in(folder: Path) -> list[Path]:
    """Find the tables of a folder and of those in it: of the first kind that there is."""
    by_kind: dict[str, list[Path]] = {}
    for path in _files_in(folder):
        by_kind.setdefault(files.suffix(path), []).append(path)
    return next((by_kind[kind] for kind in _TABLES if kind in by_kind), [])


def are_parts(paths: Iterable[Path]) -> bool:
    """Tell from their names whether files are parts of one table, as tools split them."""
    return all(re.search(r"[0-9]+-of-[0-9]+|part-?[0-9]+|shard", path.name) for path in paths)


def _files_in(folder: Path, depth: int = 0) -> Iterator[Path]:
    """Yield the files of a folder and of those in it, by name; links are not followed."""
    for path in sorted(folder.iterdir()):
        if path.name.startswith(".") or path.is_symlink():
            continue
        if path.is_dir():
            yield from _files_in(path, depth + 1) if depth < _DEPTH else ()
        elif path.is_file():
            yield path
