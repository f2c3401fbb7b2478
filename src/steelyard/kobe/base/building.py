"""Building a knowledge base: read, sort on disk, merge, index; whole or not at all.

Memory does not grow with the input: records go to a file as they are read, names and ids are sorted
on disk, and a trie is built for some millions of names at a time. The same sources give the same
bytes. A build that was interrupted goes on when it is called again with the same arguments, as long
as what was read has not changed, which is known by its hash.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import sqlite3
from array import array
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from steelyard.core.errors import InputError, UsageError, need_extra
from steelyard.core.provenance import installed_version
from steelyard.kobe.base import indexing, merging, store
from steelyard.kobe.base.records import TIERS, Source
from steelyard.kobe.base.sorting import RUN, ExternalSort
from steelyard.kobe.base.spooling import Limits, Note, Progress, Spool, State

_STEP = 200_000


def build(
    sources: Sequence[Source],
    out: str | Path,
    *,
    limits: Limits | Sequence[Limits] | None = None,
    force: bool = False,
    progress: Progress = lambda *_: None,
    note: Note = lambda _: None,
    run: int = RUN,
) -> dict[str, Any]:
    """Build a knowledge base from sources; give its manifest.

    Parameters
    ----------
    sources
        Where records come from, see :class:`steelyard.kobe.base.records.Source`.
    out
        The folder to make. Until it is complete, all is in a hidden folder beside it.
    limits
        Languages and smallest prior that are wanted, for all sources or for each.
    force
        Replace `out` if it exists.
    progress
        Called with what is done, how many and of how many.
    note
        Called with what the user should know: whether an interrupted build goes on.
    run
        Lines that are sorted in memory at a time.
    """
    need_extra("kobe", "a knowledge base", "marisa_trie", "orjson")
    target = Path(out)
    if (target.exists() or target.is_symlink()) and not force:
        raise UsageError(f"{target} exists already; --force replaces it")
    if target.exists() and not (target / store.MANIFEST).exists():
        raise UsageError(f"{target} is not a knowledge base, and is not replaced")
    each = [limits or Limits()] * len(sources) if not isinstance(limits, Sequence) else list(limits)
    work = target.with_name(f".{target.name}.building")
    spool, reading = Spool(work / "spool", target, note), True
    try:
        work.mkdir(parents=True, exist_ok=True)
        with _alone(work / "lock", target):
            state = spool.fill(sources, each, progress)
            reading = False
            fresh = work / "base"
            shutil.rmtree(fresh, ignore_errors=True)
            fresh.mkdir()
            manifest = _write(spool, state, sources, fresh, progress, run)
            put(fresh, target)
            shutil.rmtree(work)
    except OSError as error:
        place = error.filename or target
        raise InputError(f"can't be written ({error.strerror or error})", path=place) from error
    except InputError:
        if not (reading and spool.worth_keeping()):
            shutil.rmtree(work, ignore_errors=True)
        raise
    return manifest


@contextmanager
def _alone(path: Path, target: Path) -> Iterator[None]:
    """Refuse to build what another process is building."""
    with path.open("w") as file:
        try:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except ImportError:  # Windows has no such locks
            pass
        except OSError:
            raise UsageError(f"another process is building {target} now") from None
        yield


def put(fresh: Path, target: Path) -> None:
    """Put a finished base into its place; who has the old one open keeps it."""
    old = fresh.with_name("old")
    shutil.rmtree(old, ignore_errors=True)
    if target.exists():
        target.rename(old)
    fresh.rename(target)
    shutil.rmtree(old, ignore_errors=True)


def _write(
    spool: Spool,
    state: State,
    sources: Sequence[Source],
    folder: Path,
    progress: Progress,
    run: int,
) -> dict[str, Any]:
    ids, names = (ExternalSort(folder, name, run) for name in ("ids", "names"))
    for number, row in enumerate(spool.records()):
        ids.extend(merging.lines(number, row))
        names.extend(indexing.lines(number, row[6]))
        if number % _STEP == _STEP - 1:
            progress("sorting records", number + 1, state.records)
    progress("merging", 0, None)
    entities = merging.merge(ids, state.records, folder)
    ids.clear()
    if not len(entities.prior):
        raise InputError("no names were found in it", path=", ".join(s.name for s in sources))
    found = indexing.index(names, entities, folder, progress, state.names)
    names.clear()
    for name, dtype in (("prior", "<f4"), ("category", "|u1"), ("tier", "|u1")):
        np.save(folder / f"{name}.npy", np.frombuffer(getattr(entities, name), dtype))
    _meta(spool, entities.of_record, folder / store.META, progress, state.records)
    manifest = _manifest(state, sources, entities, found, folder)
    text = json.dumps(manifest, ensure_ascii=False, indent=1) + "\n"
    (folder / store.MANIFEST).write_text(text, encoding="utf-8")
    return manifest


def _meta(spool: Spool, of_record: array[int], path: Path, progress: Progress, total: int) -> None:
    """Write all records, for explanations and for bases that build upon this one."""
    import orjson

    progress("writing records", 0, total)
    db = sqlite3.connect(path, isolation_level=None)
    db.execute("PRAGMA journal_mode = OFF")
    db.execute("PRAGMA synchronous = OFF")
    db.execute("PRAGMA cache_size = -32768")
    db.execute(
        "CREATE TABLE records (entity INTEGER, id TEXT, category TEXT, tier INTEGER, prior REAL,"
        " source INTEGER, same_as BLOB, names BLOB)"
    )
    db.execute("BEGIN")
    rows = (
        (of_record[number], *row[:5], orjson.dumps(row[5]), orjson.dumps(row[6]))
        for number, row in enumerate(spool.records())
    )
    db.executemany("INSERT INTO records VALUES (?, ?, ?, ?, ?, ?, ?, ?)", rows)
    db.execute("CREATE INDEX by_entity ON records (entity)")
    db.execute("COMMIT")
    db.close()


def _manifest(
    state: State,
    sources: Sequence[Source],
    entities: merging.Entities,
    found: indexing.Index,
    folder: Path,
) -> dict[str, Any]:
    files = {path.name: _facts(path) for path in sorted(folder.iterdir())}
    known = [facts["sha256"] for name, facts in files.items() if name != store.META]
    tiers = np.bincount(np.frombuffer(entities.tier, np.uint8), minlength=len(TIERS))
    return {
        "format": store.FORMAT,
        "steelyard": installed_version(),
        "folding": store.folding_version(),
        "signature": hashlib.sha256("".join(known).encode()).hexdigest()[:12],
        "sources": _parts(sources, state),
        "warnings": [text for s in sources for text in getattr(s, "warnings", list)()],
        "entities": len(entities.prior),
        "merged": entities.merged,
        "names": found.keys,
        "postings": found.postings,
        "tiers": {name: int(tiers[i]) for i, name in enumerate(TIERS)},
        "categories": entities.categories,
        "languages": found.languages,
        "scripts": found.scripts,
        "speech": found.speech,
        "tries": found.tries,
        "files": files,
    }


def _parts(sources: Sequence[Source], state: State) -> list[dict[str, Any]]:
    """List all sources, those of bases one by one: what records call by number."""
    parts: list[dict[str, Any]] = []
    for source, counts in zip(sources, state.counts, strict=True):
        own = {"name": source.name, "version": source.version, "licence": source.licence, **counts}
        parts += getattr(source, "parts", [own])
    return parts


def _facts(path: Path) -> dict[str, Any]:
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
        return {"bytes": os.fstat(file.fileno()).st_size, "sha256": digest}
