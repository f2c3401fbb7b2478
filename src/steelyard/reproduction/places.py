"""Where the data of the papers are: what is looked for, and under which names.

Every paper asks for its sets one by one and goes on with those that are there. A folder of data
holds tables in folders of their own (``bt-eval/tac.csv.gz``), mt-metrics-eval folders (``wmt23/``
or ``mt-metrics-eval-v2/wmt23/``) and releases side by side, or it is itself one of these.
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
_ENDINGS = (".csv.gz", ".csv", ".tsv.gz", ".tsv", ".parquet", ".jsonl.gz", ".jsonl")
Data = str | Path | Iterable[str | Path]


def default_folder() -> Path:
    """Return ``data`` in ``$STEELYARD_SHARED``, else where ``steelyard data get`` puts files."""
    shared = os.environ.get("STEELYARD_SHARED")
    return Path(shared, "data") if shared else cache_dir()


@dataclass(frozen=True, slots=True)
class Places:
    """The folders that are searched, the first before the next.

    Names have slashes, whatever the system: ``bt-eval/tac.csv`` is looked for in each folder, and,
    in a folder that is called ``bt-eval`` itself, as ``tac.csv``.
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
                raise UsageError(f'data="{root}": expected a folder that holds data sets')
            if not _is_there(Path(root), Path.is_dir):
                raise InputError("no such folder", path=root)
        return cls(tuple(dict.fromkeys(map(Path, roots))))

    def file(self, *names: str) -> Path | None:
        """Return the first file of these names, whatever kind of table it is; None without any."""
        forms = [[name, *(_stem(name) + end for end in _ENDINGS)] for name in names]
        return self._first(forms, Path.is_file)

    def folder(self, *names: str, holds: Callable[[Path], bool] = Path.is_dir) -> Path | None:
        """Return the first folder that has one of the names and passes a test of its contents."""
        return self._first([[name] for name in names], lambda path: path.is_dir() and holds(path))

    def test_set(self, name: str, lp: str) -> Path | None:
        """Return the mt-metrics-eval folder of a test set that has a language pair."""

        def has_pair(path: Path) -> bool:
            return mtme.recognise(path) and lp in mtme.language_pairs(path)

        return self.folder(name, f"{PACKAGE}/{name}", holds=has_pair)

    def without(self, *names: str) -> str:
        """Say what was looked for and where, of a set that is not there."""
        where = listed([str(root) for root in self.roots], 3)
        return f"no {', nor '.join(names)} in {where}"

    def _first(self, names: Iterable[list[str]], fits: Callable[[Path], bool]) -> Path | None:
        every = ((root, form) for forms in names for root in self.roots for form in forms)
        paths = (path for root, form in every for path in _paths(root, form))
        return next((path for path in paths if _is_there(path, fits)), None)


def pair_name(name: str, lp: str) -> str:
    """Name what :meth:`Places.test_set` looks for."""
    return f"{name}/ (mt-metrics-eval) with {lp}"


def _stem(name: str) -> str:
    return next((name.removesuffix(end) for end in _ENDINGS if name.endswith(end)), name)


def _paths(root: Path, name: str) -> Iterator[Path]:
    """Yield the places of a name: below the folder, and in it if it bears the first name itself."""
    yield root.joinpath(*name.split("/"))
    first, _, rest = name.partition("/")
    if (root.name or root.absolute().name) == first:  # also of ``.``
        yield root.joinpath(*rest.split("/")) if rest else root


def _is_there(path: Path, fits: Callable[[Path], bool]) -> bool:
    """Tell whether something is there; what can't be looked at is not."""
    try:
        return fits(path)
    except OSError:
        return False
