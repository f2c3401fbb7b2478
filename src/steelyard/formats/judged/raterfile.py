"""Which logins are one person: campaigns hand out a login per batch, and people take several.

JSON ``{person: [logins]}``, or a table with a row per login.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from steelyard.core.errors import InputError, UsageError
from steelyard.formats import tables
from steelyard.formats.rawtable import one_of
from steelyard.formats.view import FileView

_LOGIN, _PERSON = "login", "person"
_EITHER = ("rater", "annotator")  # what both are called, beside the other one


def read(given: Path | str | Mapping[str, Any]) -> dict[str, str]:
    """Give the person of each login.

    Parameters
    ----------
    given
        A file, or ``{person: [logins]}``.

    Examples
    --------
    >>> read({"Ann": ["eng01", "eng07"], "Bo": ["eng02"]})
    {'eng01': 'Ann', 'eng07': 'Ann', 'eng02': 'Bo'}
    """
    if isinstance(given, Mapping):
        return _by_login(_of_persons(given, None), None)
    if not isinstance(given, (str, Path)):
        expected = "a file, or logins by person, as {'Ann': ['eng01', 'eng07']}"
        raise UsageError(f"raters is {expected}, got a {type(given).__name__}")
    view = FileView(Path(given))
    document = view.document
    if isinstance(document, dict) and _PERSON not in document:
        return _by_login(_of_persons(document, view.path), view.path)
    return _by_login(_of_table(view.path), view.path)


def _fail(message: str, path: Path | None, line: int | None = None) -> InputError:
    return InputError(message, path="raters" if path is None else path, line=line)


def _of_persons(
    given: Mapping[str, Any], path: Path | None
) -> Iterable[tuple[str, str, int | None]]:
    for person, logins in given.items():
        good = isinstance(logins, (list, tuple)) and all(isinstance(one, str) for one in logins)
        if not isinstance(person, str) or not person.strip() or not good:
            raise _fail(f"{person!r}: {logins!r:.60}, expected a person and a list of logins", path)
        for login in logins:
            yield login, person, None


def _of_table(path: Path) -> Iterable[tuple[str, str, int | None]]:
    table = tables.read(path, is_text=lambda _: True)
    login = _LOGIN if _LOGIN in table else one_of(table, _EITHER, _LOGIN)
    others = [name for name in _EITHER if name in table and name != login]
    person = _PERSON if _PERSON in table else next(iter(others), None)
    if login is None or person is None:
        found = ", ".join(list(table.columns)[:8])
        raise _fail(f"columns {found}, expected {_LOGIN} and {_PERSON}", path)
    pairs = zip(table.labels(login), table.labels(person), strict=True)
    for row, (one, other) in enumerate(pairs):
        yield one, other, table.line(row)


def _by_login(pairs: Iterable[tuple[str, str, int | None]], path: Path | None) -> dict[str, str]:
    found: dict[str, str] = {}
    for login, person, line in pairs:
        if found.setdefault(login, person) != person:
            both = f"'{found[login]}' and '{person}'"
            raise _fail(f"login '{login}' is of {both}, expected one person", path, line)
    return found
