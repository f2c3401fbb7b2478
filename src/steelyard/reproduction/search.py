"""Where the data of the papers are: what is looked for, under which names, and what was found.

Every paper asks for its sets one by one and goes on with those that are there. A folder of data may
hold, side by side,

* tables in folders of their own (``wmt23-metrics/en-de.human.csv.gz``, ``bt-eval/tac.csv.gz``);
* mt-metrics-eval folders, as ``steelyard data get wmt23`` makes them (``wmt23/`` or
  ``mt-metrics-eval-v2/wmt23/``);
* annotations and other releases, which are folders, too;

and it may itself be one of these. Tables are found compressed or not.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from steelyard.core.download import cache_dir
from steelyard.core.errors import InputError, UsageError
from steelyard.core.text import listed
from steelyard.formats.folders import mtme

#: The folder in which the public package of WMT test sets comes.
PACKAGE = "mt-metrics-eval-v2"
_SCORES = ("human", "metrics.seg")  # tables of one language pair: LP.human.csv.gz, ...
_TABLES = (".csv.gz", ".csv", ".tsv.gz", ".tsv", ".parquet", ".jsonl.gz", ".jsonl")
Data = str | Path | Iterable[str | Path]


def default_folder() -> Path:
    """Give the folder that is searched if none is named.

    That is ``data`` in ``$STEELYARD_SHARED`` if that variable is set, else where ``steelyard data
    get`` keeps what it fetched.
    """
    shared = os.environ.get("STEELYARD_SHARED")
    return Path(shared, "data") if shared else cache_dir()


@dataclass(frozen=True, slots=True)
class Found:
    """What to load of a set: tables, or a folder and its language pair.

    ``paths`` is empty if nothing is there; ``missing`` then says what was looked for, and where.
    """

    paths: tuple[Path, ...] = ()
    lp: str | None = None
    missing: str = ""


@dataclass(frozen=True, slots=True)
class Places:
    """The folders that are searched, the first before the next.

    Names have slashes, whatever the system: ``bt-eval/tac`` is looked for in each folder, and, in a
    folder that is called ``bt-eval`` itself, as ``tac``.

    Examples
    --------
    >>> places = Places((Path("nowhere"),))
    >>> places.file("wmt19-metrics/sys-scores.csv.gz") is None
    True
    >>> places.without("wmt19-metrics/sys-scores.csv.gz", "wmt19/ (mt-metrics-eval) with gu-en")
    'no wmt19-metrics/sys-scores.csv.gz, nor wmt19/ (mt-metrics-eval) with gu-en in nowhere'
    """

    roots: tuple[Path, ...]

    @classmethod
    def of(cls, data: Places | Data | None = None) -> Places:
        """Make places of a folder, of several, or, without any, of the default.

        Folders that are named have to be there; the default may still be without data.
        """
        if isinstance(data, Places):
            return data
        if data is None:
            return cls((default_folder(),))
        roots = (data,) if isinstance(data, (str, Path)) else tuple(data)
        if not roots:
            raise UsageError("data: expected at least one folder")
        for root in roots:
            if not str(root) or Path(root).is_file():
                what = "a file; expected" if str(root) else "expected"
                raise UsageError(f'data="{root}": {what} a folder that holds data sets')
            if not _there(Path(root), Path.is_dir):
                raise InputError("no such folder", path=root)
        return cls(tuple(dict.fromkeys(map(Path, roots))))

    def file(self, *names: str) -> Path | None:
        """Give the first file that has one of the names, ``.gz`` or not; None if there is none."""
        return self._first(names, _packed, Path.is_file)

    def table(self, *names: str) -> Path | None:
        """Give the first table that has one of the names, whatever kind of table it is.

        Names come without an ending: ``bt-eval/tac`` may be ``tac.csv.gz`` or ``tac.parquet``.
        """
        return self._first(names, lambda name: (f"{name}{end}" for end in _TABLES), Path.is_file)

    def folder(self, *names: str, holds: Callable[[Path], bool] = Path.is_dir) -> Path | None:
        """Give the first folder that has one of the names and passes a test of what it holds."""
        return self._first(names, lambda name: (name,), lambda path: path.is_dir() and holds(path))

    def test_set(self, name: str, lp: str) -> Path | None:
        """Give the mt-metrics-eval folder of a test set that has a language pair."""

        def has_pair(path: Path) -> bool:
            return mtme.recognise(path) and lp in mtme.language_pairs(path)

        return self.folder(name, f"{PACKAGE}/{name}", holds=has_pair)

    def scores(self, name: str, lp: str) -> Found:
        """Find the scores of a metrics task: tables of people and of metrics, or a folder.

        Examples
        --------
        >>> Places((Path("nowhere"),)).scores("wmt23", "he-en").missing
        'no wmt23/ (mt-metrics-eval) with he-en, nor wmt23-metrics/he-en.{human,metrics.seg}.csv...'
        """
        tables = [self.file(f"{name}-metrics/{lp}.{part}.csv.gz") for part in _SCORES]
        found = tuple(path for path in tables if path is not None)
        if len(found) == len(tables):
            return Found(found)
        folder = self.test_set(name, lp)
        if folder is not None:
            return Found((folder,), lp)
        wanted = f"{name}-metrics/{lp}.{{{','.join(_SCORES)}}}.csv.gz"
        return Found(missing=self.without(wanted_pair(name, lp), wanted))

    def without(self, *names: str) -> str:
        """Say what was looked for and where, of a set that is not there."""
        where = listed([str(root) for root in self.roots], 3)
        return f"no {', nor '.join(names)} in {where}"

    def _first(
        self,
        names: Iterable[str],
        forms: Callable[[str], Iterable[str]],
        fits: Callable[[Path], bool],
    ) -> Path | None:
        for name in names:
            for root in self.roots:
                for form in forms(name):
                    for path in _paths(root, form):
                        if _there(path, fits):
                            return path
        return None


def wanted_pair(name: str, lp: str) -> str:
    """Name what :meth:`Places.test_set` looks for.

    Examples
    --------
    >>> wanted_pair("wmt22", "en-ru")
    'wmt22/ (mt-metrics-eval) with en-ru'
    """
    return f"{name}/ (mt-metrics-eval) with {lp}"


def _packed(name: str) -> tuple[str, str]:
    plain = name.removesuffix(".gz")
    return (name, plain if plain != name else f"{name}.gz")


def _paths(root: Path, name: str) -> Iterator[Path]:
    """Give the places of a name: below the folder, and in it if it bears the first name itself."""
    yield root.joinpath(*name.split("/"))
    first, _, rest = name.partition("/")
    if _called(root) == first:
        yield root.joinpath(*rest.split("/")) if rest else root


def _called(root: Path) -> str:
    """The name of a folder, also of ``.``; a link goes by its own name."""
    return root.name or root.absolute().name


def _there(path: Path, fits: Callable[[Path], bool]) -> bool:
    """Tell whether something is there; what can't be looked at is not."""
    try:
        return fits(path)
    except OSError:
        return False
