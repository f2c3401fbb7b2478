"""All formats: the first that recognises an input reads it.

To add one, write its file and put its object here, before any that would recognise it, too.
"""

from __future__ import annotations

from pathlib import Path

from steelyard.core.errors import InputError
from steelyard.formats import entityfiles, files, roles, scoretables, submission
from steelyard.formats.folders import mtme, native
from steelyard.formats.format import FileFormat, Format, TableFormat
from steelyard.formats.judged import battlelogs, directassessment, errorlists
from steelyard.formats.tables import RawTable

FORMATS: tuple[Format, ...] = (
    native.FORMAT,
    mtme.FORMAT,
    entityfiles.FORMAT,
    errorlists.FORMAT,
    battlelogs.RANKINGS,
    battlelogs.FORMAT,
    directassessment.FORMAT,
    scoretables.LONG,
    scoretables.WIDE,
    scoretables.SYSTEM_TABLE,
    scoretables.TEXT,
    submission.FORMAT,
    submission.SYSTEM_FORMAT,
)


def of_file(path: Path) -> FileFormat | None:
    """Give the format of a file or folder; None if it can only be a table."""
    folder = files.is_folder(path)
    candidates = (f for f in FORMATS if isinstance(f, FileFormat) and f.folder == folder)
    found = next((f for f in candidates if f.recognise(path)), None)
    if folder and found is None:
        expected = "folder is not laid out like mt-metrics-eval (documents/, sources/, ...)"
        raise InputError(expected, path=path)
    return found


def of_table(table: RawTable) -> TableFormat:
    """Give the format of a table."""
    has = roles.present(table)  # it looks at cells: once for all formats
    for candidate in FORMATS:
        if isinstance(candidate, TableFormat) and candidate.marked_by(has):
            return candidate
    raise InputError(
        f"no known format has columns {', '.join(list(table.columns)[:8])}; see the documentation",
        path=table.path,
    )
