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
from typing import NoReturn

from steelyard.core.errors import InputError, UsageError, hint
from steelyard.core.text import listed
from steelyard.formats import (
    arenas,
    entities,
    evallogs,
    files,
    metricscores,
    plaintext,
    scoretables,
    submission,
    tables,
)
from steelyard.formats import columns as roles
from steelyard.formats.folders import mtme, native
from steelyard.formats.format import (
    FileFormat,
    Foreign,
    ForeignFormat,
    Format,
    MarkedFormat,
)
from steelyard.formats.judged import (
    appraise,
    battles,
    errors,
    googlemqm,
    labelstudio,
    pearmut,
    ratings,
    wmt,
)
from steelyard.formats.rawtable import RawTable
from steelyard.formats.view import FileView

FORMATS: tuple[Format, ...] = (
    native.FORMAT,
    mtme.FORMAT,
    entities.RELEASE,
    *wmt.FORMATS,
    pearmut.FORMAT,
    *labelstudio.FORMATS,
    entities.FORMAT,
    *appraise.FORMATS,
    googlemqm.google_mqm,
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
    submission.FORMAT,
    submission.SYSTEM_FORMAT,
)

_DEPTH = 5  # folders in folders that are looked into
GROUP = "steelyard.formats"


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


def named(name: str) -> Format:
    """Give a format by its name, for those who know better than what files look like."""
    known = {form.name: form for form in (*installed(), *FORMATS) if readable(form)}
    if name not in known:
        raise UsageError(f'no format "{name}" can be read; {hint(name, known)}')
    return known[name]


def _every() -> Iterator[Format]:
    """Yield our formats, then those of installed packages, which are looked for only then."""
    yield from FORMATS
    yield from installed()


def readable(form: Format) -> bool:
    """Tell whether files of a format are read, and not only written."""
    return isinstance(form, (FileFormat, MarkedFormat))


def of_file(view: FileView) -> FileFormat | None:
    """Give the format of a file or folder; None if it can only be a table, or a folder of runs."""
    folder = files.is_folder(view.path)
    if not folder and tables.is_excel(view.path):
        return None
    candidates = (f for f in _every() if isinstance(f, FileFormat) and f.folder == folder)
    return next((f for f in candidates if f.sees(view)), None)


def claimed_by(table: RawTable) -> MarkedFormat | None:
    """Give the format of a table, None if it has none."""
    has = roles.present(table)  # it looks at cells: once for all formats
    forms = (form for form in _every() if isinstance(form, MarkedFormat))
    return next((form for form in forms if form.marked_by(has)), None)


def of_table(table: RawTable) -> MarkedFormat:
    """Give the format of a table."""
    form = claimed_by(table)
    return refuse_table(table) if form is None else form


def refuse_table(table: RawTable) -> NoReturn:
    """Refuse a table that no format knows, and say which it is near to."""
    _refuse_objects(table)
    columns = listed(list(table.columns), 8)
    if len(table.columns) == 1:
        helps = tables.PLAIN
    elif roles.are_battles(table):
        helps = 'battles need a column of outcomes: columns={"outcome": "NAME"} says which it is'
    else:
        helps = 'columns={"system": "NAME"} says what a column is'
    raise InputError(f"no known format has columns {columns}; {helps}", path=table.path)


def _refuse_objects(table: RawTable) -> None:
    """Name columns of objects or lists, if the table would be known without them."""
    odd = [n for n, own in table.columns.items() if any(isinstance(c, (dict, list)) for c in own)]
    rest = table.without(odd)
    has = roles.present(rest)
    known = [form for form in FORMATS if isinstance(form, MarkedFormat)]
    marked = any(form.marked_by(has) for form in known if form is not scoretables.WIDE)
    if odd and (marked or not set(rest.columns).isdisjoint(roles.SYSTEM_ALSO)):
        names = ", ".join(f'"{name}"' for name in odd)
        what = f"column '{odd[0]}' holds objects or lists, expected cells"
        raise InputError(f"{what} (ignore=[{names}] skips it)", path=table.path)


def runs(folder: Path, form: Format | None = None) -> list[tuple[Foreign, FileView]]:
    """Find the logs in a folder, and in folders in it: of any format, or of the one that is named.

    What else is there is left alone: tools put their settings and summaries beside their logs.
    """
    found = logs_in(folder, form)
    if not found:
        raise InputError(
            "folder is neither laid out like mt-metrics-eval (documents/, sources/, ...) nor holds "
            "a log that is known (steelyard data formats lists them)",
            path=folder,
        )
    return found


def logs_in(
    folder: Path, form: Format | None = None, gives: type = object
) -> list[tuple[Foreign, FileView]]:
    """Find the logs that give what is wanted, which all are of one format; maybe there are none."""
    found: list[tuple[Foreign, FileView]] = []
    known = [f for f in _foreign() if issubclass(f.gives, gives) and (form is None or f is form)]
    for path in _files_in(folder):
        candidates = [f for f in known if any(fnmatchcase(path.name, glob) for glob in f.files)]
        if not candidates:
            continue
        view = FileView(path)
        seen = next((f for f in candidates if _is_of(view, f)), None)
        if seen is not None:
            found.append((seen, view))
    counts = Counter(form.name for form, _ in found)
    if len(counts) > 1:
        shown = ", ".join(f"{count} of {name}" for name, count in sorted(counts.items()))
        choose = f'choose with format="{min(counts)}"'
        raise InputError(f"holds logs of several formats: {shown}; {choose}", path=folder)
    return found


_TABLES = ("parquet", "pq", "csv", "tsv", "jsonl", "ndjson", "json", *tables.EXCEL)


def tables_in(folder: Path) -> list[Path]:
    """Find the tables of a folder and of those in it: of the first kind that there is."""
    paths = list(_files_in(folder))
    kinds = ((path, files.suffix(path)) for path in paths)
    present = [(path, kind) for path, kind in kinds if kind in _TABLES]
    first = min((_TABLES.index(kind) for _, kind in present), default=None)
    return [path for path, kind in present if _TABLES.index(kind) == first]


def are_parts(paths: Iterable[Path]) -> bool:
    """Tell from their names whether files are parts of one table, as tools split them."""
    return all(re.search(r"[0-9]+-of-[0-9]+|part-?[0-9]+|shard", path.name) for path in paths)


def _foreign() -> Iterator[Foreign]:
    return (form for form in _every() if isinstance(form, Foreign))


def foreign(view: FileView) -> Foreign | None:
    """Give the foreign format of a file by a look at its beginning; None if it has none."""
    return next((form for form in _foreign() if _is_of(view, form)), None)


def _is_of(view: FileView, form: Foreign) -> bool:
    if isinstance(form, ForeignFormat):
        return form.sees(view)
    return isinstance(form, MarkedFormat) and form.marked_by({f".{name}" for name in view.names})


def _files_in(folder: Path) -> Iterable[Path]:
    """Yield the files of a folder and of those in it, by name; links are not followed."""

    def below(own: Path, depth: int) -> Iterable[Path]:
        for path in sorted(own.iterdir()):
            if path.name.startswith(".") or path.is_symlink():
                continue
            if path.is_dir():
                yield from below(path, depth + 1) if depth < _DEPTH else ()
            elif path.is_file():
                yield path

    return below(folder, 0)


def refuse_document(view: FileView) -> NoReturn:
    """Refuse a JSON document that no format knows, and say which it is near to."""
    tables.refuse_json(view.document, view.path)
