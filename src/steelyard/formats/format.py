"""What a format is: an object that knows its name, its marks, and how it is read and written.

Every file of a format ends with its object, and :mod:`steelyard.formats.registry` lists them all.
Which commands take a format follows from what it ``gives``: an EvalSet is for all that load sets,
judgements are for those that ask for their type.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from steelyard.formats import roles
from steelyard.formats.tables import RawTable


@dataclass(frozen=True, kw_only=True)
class Format:
    """A format that can be written, at least.

    Attributes
    ----------
    name
        What messages and provenance call it.
    gives
        The type of what it holds.
    write
        Takes such a value and a path; that of a ``folder`` also whether to ``overwrite``.
    to
        What ``save(to=...)`` calls it, where a value can be written in several formats.
    suits
        Tells whether a value is written so to a path if nobody says how; of several formats that
        suit, the first in the registry is taken.
    drops
        What it has no place for, in the words of :data:`steelyard.formats.save.LOSSES`.
    """

    name: str
    gives: type
    write: Callable[..., None]
    to: str | None = None
    suits: Callable[[Any, Path], bool] = lambda _value, _path: False
    drops: tuple[str, ...] = ()
    folder: bool = False


@dataclass(frozen=True, kw_only=True)
class FileFormat(Format):
    """A format that is recognised by a file, or a ``folder``, before anybody takes it for a table.

    ``read`` takes the path, the language pair that is wanted (or None), and pairs of a column and
    the value that selects rows; ``columns`` are those that rows can be selected by.
    """

    recognise: Callable[[Path], bool]
    read: Callable[[Path, str | None, tuple[tuple[str, str], ...]], Any]
    columns: frozenset[str] = frozenset()


@dataclass(frozen=True, kw_only=True)
class TableFormat(Format):
    """A format that is a table, recognised by the roles of its columns.

    ``marks`` are alternatives. Each names roles (:func:`steelyard.formats.roles.present`) that must
    be there, or must not if a minus stands before them. In a table ``of_scores`` any other column
    is a score or a system, so names that are not ours are guessed and doubted first; in one that is
    ``numbered`` the segment is.
    """

    marks: tuple[str, ...]
    read: Callable[[RawTable], Any]
    of_scores: bool = False
    numbered: bool = False

    def recognise(self, table: RawTable) -> bool:
        """Tell whether a table has the columns."""
        return self.marked_by(roles.present(table))

    def marked_by(self, has: set[str]) -> bool:
        """Tell whether the roles that a table has are those of the format."""
        return any(
            all((word.removeprefix("-") in has) != word.startswith("-") for word in mark.split())
            for mark in self.marks
        )
