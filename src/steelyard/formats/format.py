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

from steelyard.formats import columns as roles
from steelyard.formats.rawtable import RawTable
from steelyard.formats.view import FileView


@dataclass(frozen=True, kw_only=True)
class Format:
    """A format that can be written, at least."""

    name: str  # what messages and provenance call it
    gives: type  # the type of what it holds
    known_by: str = ""  # what it is recognised by, in a few words
    example: str = ""  # a small file of it, or how a folder is laid out
    example_name: str = ""  # the name of such a file; none where it is only a description
    rated: bool = False  # whether a set that it gives carries raw judgements
    write: Callable[[Any, Path], None] | None = None
    to: str | None = None  # what ``save(to=...)`` calls it
    suits: Callable[[Any, Path], bool] = lambda _value, _path: False  # if nobody says ``to``
    drops: tuple[str, ...] = ()  # what it has no place for, as in save.LOSSES
    folder: bool = False

    def sees(self, view: FileView) -> bool:
        """Tell whether a file is of this format, by a look at its beginning."""
        raise NotImplementedError


@dataclass(frozen=True, kw_only=True)
class FileFormat(Format):
    """A format that is recognised by a file, or a ``folder``, and not by columns."""

    looks: tuple[str, ...] = ("json",)  # what its files are at one look (:attr:`FileView.look`)
    keys: tuple[str, ...] = ()  # of the first object of its JSON
    recognise: Callable[[FileView], bool] = lambda _view: True

    def sees(self, view: FileView) -> bool:
        """Look at its kind, the keys of its first object, and whatever marks it."""
        return view.look in self.looks and view.has(*self.keys) and self.recognise(view)


@dataclass(frozen=True, kw_only=True)
class SetFormat(FileFormat):
    """A file or folder that is read in one go, given the language pair and the rows wanted.

    ``columns`` are those that rows can be selected by.
    """

    read: Callable[[FileView, str | None, tuple[tuple[str, str], ...]], Any]
    columns: frozenset[str] = frozenset()


@dataclass(frozen=True, kw_only=True)
class MarkedFormat(Format):
    """A format that is a table, recognised by the roles and names of its columns.

    ``marks`` are alternatives. Each names roles (:func:`steelyard.formats.roles.present`) that must
    be there, or must not if a minus stands before them; ``.name`` is a column of that very name.
    """

    marks: tuple[str, ...]

    def sees(self, view: FileView) -> bool:
        """Look at the names that a file begins with."""
        return self.marked_by(roles.of_names(view.names))

    def marked_by(self, has: set[str]) -> bool:
        """Tell whether what a table has fits any of the marks."""
        return any(
            all((word.removeprefix("-") in has) != word.startswith("-") for word in mark.split())
            for mark in self.marks
        )


@dataclass(frozen=True, kw_only=True)
class TableFormat(MarkedFormat):
    """A table of ours.

    ``prepare`` changes a table before it is read. In a table ``of_scores`` any other column is a
    score or a system, so names that are not ours are guessed and doubted first; in one that is
    ``numbered`` the segment is.
    """

    read: Callable[[RawTable], Any]
    prepare: Callable[[RawTable], RawTable] = lambda table: table
    of_scores: bool = False
    numbered: bool = False

    def recognise(self, table: RawTable) -> bool:
        """Tell whether a table has the columns."""
        return self.marked_by(roles.present(table))


@dataclass(frozen=True, kw_only=True)
class ForeignFormat(FileFormat):
    """A file of another tool: ``unfold`` makes a table of it, of the format it ``becomes``.

    In a folder it is looked for in files whose names match ``files``. Several files of the format
    are one table, and ``settle`` decides what the rows of one file do to those of another.
    """

    becomes: TableFormat
    unfold: Callable[[FileView], RawTable]
    files: tuple[str, ...] = ()
    settle: Callable[[RawTable], RawTable] = lambda table: table
