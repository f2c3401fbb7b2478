"""Folders of the KoBE release: a folder per language pair, in it a file per system.

``annotations/wmt19-submitted-data/newstest2019/LP/newstest2019.SYSTEM.LP`` holds the mentions of a
system, ``newstest2019-XXYY-src.XX`` and ``...-ref.YY`` those of source and reference. A folder
above that of a language pair will do, however far, and one that holds a single pair is that pair.
"""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import NoReturn

from steelyard.core import provenance
from steelyard.core.errors import InputError, UsageError, hint, printable
from steelyard.core.provenance import InputFile
from steelyard.core.table import dumps
from steelyard.core.text import listed, plural
from steelyard.formats import entityfiles, files, tables
from steelyard.formats.cells import brief
from steelyard.formats.entityfiles import SIDES, EntityAnnotations, Sentence
from steelyard.formats.format import SetFormat

_NAME = "KoBE release"
_SET = "newstest2019"  # which the authors' script cuts off the names of files
_PAIR = re.compile(r"[a-z]{2,3}(_[A-Za-z]+)?-[a-z]{2,3}(_[A-Za-z]+)?")
_DEPTH = 6  # folders in folders that are looked into
_MOST = 300  # folders that are looked into in all
_FILES = 50  # files of a folder that are looked at to tell whether it is one
_LONGEST = 255  # bytes of the name of a file
_BEGINNING = 4096  # bytes of a file in which its key must stand


def annotated_folders(folder: Path) -> dict[str, Path]:
    """Find the folders of language pairs in a folder and below, or the folder itself.

    They are told by a few files in each, so a folder of anything else costs little.
    """
    found: dict[str, Path] = {}
    for seen, own in enumerate(_folders(folder, 0)):
        if seen == _MOST:
            break
        first = next(filter(_is_annotated, islice(_files(own), _FILES)), None)
        if first is not None:
            pair = _pair_of(own, first)
            if pair in found:
                told = f"two folders of {pair}: {found[pair]} and {own}; give one of them"
                raise InputError(told, path=folder)
            found[pair] = own
    return found


def _folders(folder: Path, depth: int) -> Iterator[Path]:
    yield folder
    if depth < _DEPTH:
        for path in sorted(folder.iterdir()):
            if path.is_dir() and not path.is_symlink() and not path.name.startswith("."):
                yield from _folders(path, depth + 1)


def _files(folder: Path) -> list[Path]:
    """Give the files of a folder, those that are named as in the release before all others."""
    shown = (path for path in folder.iterdir() if not path.name.startswith("."))
    return sorted(filter(Path.is_file, shown), key=lambda path: (not _is_named(path), path))


def _is_named(path: Path) -> bool:
    return path.name.startswith("newstest")


def _is_annotated(path: Path) -> bool:
    return b'"annotated_sentence"' in files.head(path, _BEGINNING)


def _pair_of(folder: Path, first: Path) -> str:
    """Give the language pair of a folder by its name, else by the end of a file's."""
    plain = first.name.removesuffix(".gz").removesuffix(".json")
    for name in (folder.resolve().name, plain.rpartition(".")[2]):
        if _PAIR.fullmatch(name):
            return name
    return folder.resolve().name


def read_folder(folder: Path, lp: str | None = None) -> EntityAnnotations:
    """Read one language pair: a file per system, all with the same number of sentences."""
    pairs = annotated_folders(folder)
    if not pairs:
        raise InputError(
            f"holds no entity annotations: expected LP/{_SET}.SYSTEM.LP as in the KoBE release",
            path=folder,
        )
    if lp is None and len(pairs) > 1:
        found = f"annotations of {plural(len(pairs), 'language pair')}: {', '.join(pairs)}"
        raise UsageError(f"{folder}: {found}; choose one with lp=...")
    pair = next(iter(pairs)) if lp is None else lp
    if pair not in pairs:
        alone = next(iter(pairs))
        if len(pairs) > 1 or _PAIR.fullmatch(alone):
            raise UsageError(f"{folder}: no language pair '{pair}'; {hint(pair, pairs)}")
        pairs = {pair: pairs[alone]}  # files that do not say what they are
    return _read_pair(pairs[pair], pair)


def _read_pair(folder: Path, pair: str) -> EntityAnnotations:
    found: dict[str, tuple[Sentence, ...]] = {}
    for path in sorted(folder.iterdir()):
        if path.is_symlink() and not path.exists() and not path.name.startswith("."):
            raise InputError("is a link to a file that is not there", path=path)
    paths, others, unlinked = [], [], 0
    for path in sorted(_files(folder)):
        if not (_is_named(path) or _is_annotated(path)):
            others.append(printable(path.name))
            continue
        name, sentences, bare = entityfiles.released(tables.read(path))
        if name in found:
            raise InputError(f"a second file for system '{name}'", path=path)
        found[name] = sentences
        unlinked += bare
        paths.append(path)
    notes = entityfiles.left_out(unlinked, str(folder))
    if others:
        notes += (f"{folder}: passed over {listed(others)}: not of the KoBE release",)
    lengths = {name: len(sentences) for name, sentences in found.items()}
    if len(set(lengths.values())) != 1:
        raise InputError(f"systems differ in their number of sentences: {lengths}", path=folder)
    used = InputFile(str(folder), _NAME, provenance.sha256(paths, folder))
    return EntityAnnotations(
        found, language_pair=pair if _PAIR.fullmatch(pair) else None, inputs=(used,), notes=notes
    )


def write(annotations: EntityAnnotations, folder: Path, *, overwrite: bool = False) -> None:
    """Write a file per system into the folder of the language pair, which is made in ``folder``.

    Spans are written as they stand: in characters where the text of a mention stands beside them,
    and else as the authors count. All files are made in a temporary folder first: a failure leaves
    everything as it was.
    """
    pair = annotations.language_pair
    if pair is None or not _PAIR.fullmatch(pair):
        raise UsageError(f"the layout needs a language pair such as de-en, got {pair!r} (lp=...)")
    target = folder / pair
    paths = {name: target / _file_name(name, pair) for name in annotations.systems}
    for name, path in paths.items():
        if not _can_be_named(path, name):
            raise UsageError(
                f"system {brief(name)} can't be the name of a file of the KoBE release"
            )
    there = sorted(target.iterdir()) if target.is_dir() else []
    if there and not overwrite:
        raise UsageError(f"{there[0]} exists already; overwrite=True overwrites it")
    for path in paths.values():
        if path.is_dir():
            raise UsageError(f"{path} is a folder, expected a file to overwrite, or none")
    _replace(
        target,
        {paths[name]: _document(own, paths[name]) for name, own in annotations.systems.items()},
    )


def _replace(folder: Path, documents: Mapping[Path, str]) -> None:
    """Write files at once, and remove those of systems that are no more."""
    files.make_folder(folder)
    stale = [path for path in _files(folder) if _is_annotated(path) and path not in documents]
    try:
        with tempfile.TemporaryDirectory(prefix=".steelyard-", dir=folder) as temporary:
            for path, document in documents.items():
                files.write_text(Path(temporary) / path.name, document)
            for path in documents:
                shutil.move(Path(temporary) / path.name, path)
        for path in stale:
            path.unlink()
    except OSError as error:
        told = f"can't be written ({error.strerror or error})"
        raise InputError(told, path=folder) from error


def _can_be_named(path: Path, system: str) -> bool:
    """Tell whether a file can have the name, and whether it tells the system again."""
    try:
        size = len(path.name.encode())
    except UnicodeEncodeError:
        return False
    plain = "/" not in system and "\0" not in system and size <= _LONGEST
    return plain and entityfiles.system_name(path) == system


def _document(sentences: Sequence[Sentence], path: Path) -> str:
    """Give the file of a system; what can't be written is an error with its sentence."""
    for number, own in enumerate(sentences, 1):
        for text in (own.text, *(m.text or "" for m in own.mentions)):
            files.whole(text, f"sentence {number}", partial(_fail, path))
    rows = [
        {"sentence": own.text, "entities": [entityfiles.written(m) for m in own.mentions]}
        for own in sentences
    ]
    return dumps({"annotated_sentence": rows}, indent=None) + "\n"


def _fail(path: Path, message: str) -> NoReturn:
    raise InputError(message, path=path)


def _file_name(system: str, pair: str) -> str:
    source, _, target = pair.partition("-")
    if system in SIDES:
        return f"{_SET}-{source}{target}-{system}.{source if system == 'src' else target}"
    return f"{_SET}.{system}.{pair}"


FORMAT = SetFormat(
    name=_NAME,
    gives=EntityAnnotations,
    known_by="folder of files with annotated_sentence, LP/newstest2019.SYSTEM.LP",
    example="annotations/.../ru-en/newstest2019-ruen-src.ru, .../newstest2019.SYSTEM.ru-en, ...",
    folder=True,
    recognise=lambda view: bool(annotated_folders(view.path)),
    read=lambda view, lp, _where: read_folder(view.path, lp),
    write=write,
    to="kobe-release",
)
