"""Building a knowledge base: read, sort on disk, merge, index; whole or not at all.

Memory does not grow with the input: records go to a file as they are read, names and ids are sorted
on disk, and a trie is built for some millions of names at a time. The same sources give the same
bytes. A build that was interrupted goes on when it is called again with the same arguments, as long
as what was read has not changed, which is known by its hash.

The file of records, the spool, holds one JSON line for each: id, category, tier, prior, other ids,
names. The state beside it says how much of it is safe, and where in the input that was.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from steelyard.core.errors import InputError, UsageError, need_extra
from steelyard.core.options import check_number
from steelyard.core.provenance import installed_version
from steelyard.kobe.base.index import Index, index_names, named
from steelyard.kobe.base.knowledge import FORMAT, MANIFEST, RECORDS, folding_version
from steelyard.kobe.base.lines import Lines, OtherInputError
from steelyard.kobe.base.merging import Entities, Rows, merge, size, tables
from steelyard.kobe.base.records import STATED, TIERS, UNSTATED, Name, Progress, Source
from steelyard.kobe.base.spelling import FILES as SPELLINGS

#: Something that the user should know.
Note = Callable[[str], None]
CHECKPOINT = 50_000
_STATED = int(STATED)
LONGEST = 120  # characters of a name; what is longer is a description
_STEP = 200_000


def build(
    sources: Sequence[Source],
    out: str | Path,
    *,
    limits: Limits | Sequence[Limits] | None = None,
    force: bool = False,
    progress: Progress = lambda *_: None,
    note: Note = lambda _: None,
    finish: Callable[[Path], dict[str, Any]] = lambda _: {},
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
    finish
        Called with the folder before it is put in its place; gives more entries of the manifest.
    """
    need_extra("kobe", "a knowledge base", "marisa_trie", "orjson")
    target = Path(out)
    if (target.exists() or target.is_symlink()) and not force:
        raise UsageError(f"{target} exists already; force=True replaces it")
    if target.exists() and not (target / MANIFEST).exists():
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
            manifest = _write(spool, state, sources, fresh, progress, finish)
            _put(fresh, target)
            shutil.rmtree(work)
    except OSError as error:
        place = error.filename or target
        raise InputError(f"can't be written ({error.strerror or error})", path=place) from error
    except InputError:
        if not (reading and spool.state.exists()):  # else a later attempt goes on from here
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


def _put(fresh: Path, target: Path) -> None:
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
    finish: Callable[[Path], dict[str, Any]],
) -> dict[str, Any]:
    with tables(folder / "sorting") as db:
        _collect(spool, db, progress, state.records)
        if not size(db, "names"):
            raise InputError("no names were found in it", path=", ".join(s.name for s in sources))
        progress("merging", 0, None)
        entities = merge(db, folder)
        found = index_names(db, folder, progress, state.names)
    shutil.rmtree(folder / "sorting", ignore_errors=True)
    for name, dtype in (("prior", "<f4"), ("category", "|u1"), ("tier", "|u1")):
        np.save(folder / f"{name}.npy", getattr(entities, name).astype(dtype))
    more = finish(folder)
    manifest = {**_manifest(state, sources, entities, found, folder), **more}
    text = json.dumps(manifest, ensure_ascii=False, indent=1) + "\n"
    (folder / MANIFEST).write_text(text, encoding="utf-8")
    return manifest


def _collect(spool: Spool, db: Any, progress: Progress, total: int) -> None:
    records, claims, names = (Rows(db, name) for name in ("records", "claims", "names"))
    for number, row in enumerate(spool.records()):
        id_, category, tier, prior, same_as, own = row
        records.extend([number], [id_], [prior], [category], [tier])
        others = [other for other in same_as if other != id_]
        claims.extend(others, [id_] * len(others), [prior] * len(others))
        names.extend(*named(number, own))
        if number % _STEP == _STEP - 1:
            progress("sorting records", number + 1, total)
    for rows in (records, claims, names):
        rows.flush()


def _manifest(
    state: State,
    sources: Sequence[Source],
    entities: Entities,
    found: Index,
    folder: Path,
) -> dict[str, Any]:
    files = {path.name: _facts(path) for path in sorted(folder.iterdir())}
    known = [facts["sha256"] for name, facts in files.items() if name not in (*SPELLINGS, RECORDS)]
    tiers = np.bincount(entities.tier, minlength=len(TIERS))
    return {
        "format": FORMAT,
        "steelyard": installed_version(),
        "folding": folding_version(),
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
        "letters": found.letters,
        "scripts": found.scripts,
        "speech": found.speech,
        "tries": found.tries,
        "files": files,
    }


def _parts(sources: Sequence[Source], state: State) -> list[dict[str, Any]]:
    """List all sources, those of bases one by one."""
    parts: list[dict[str, Any]] = []
    for source, counts in zip(sources, state.counts, strict=True):
        own = {"name": source.name, "version": source.version, "licence": source.licence, **counts}
        parts += getattr(source, "parts", [own])
    return parts


def _facts(path: Path) -> dict[str, Any]:
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
        return {"bytes": os.fstat(file.fileno()).st_size, "sha256": digest}


# -- reading


@dataclass
class State:
    """How far reading has come."""

    plan: list[str]
    source: int = 0
    position: int = 0
    size: int = 0
    records: int = 0
    names: int = 0
    counts: list[dict[str, int]] = field(default_factory=list)
    inputs: dict[str, dict[str, Any]] = field(default_factory=dict)


@dataclass(frozen=True)
class Limits:
    """Which records are taken: languages (None: all) and the smallest prior."""

    langs: frozenset[str] | None = None
    min_prior: float = 0.0

    def __post_init__(self) -> None:
        check_number(min_prior=self.min_prior)

    def __str__(self) -> str:
        """Give the limits as text, the same in every process."""
        return f"{sorted(self.langs) if self.langs is not None else 'all'} {self.min_prior}"

    def names(self, names: Sequence[Name]) -> list[tuple[str, str, int]]:
        """Clean names, and leave out what is not wanted."""
        kept = []
        for lang, text, flags in names:
            if self.langs is None or lang in self.langs or lang == UNSTATED:
                clean = " ".join(text.split())
                if 0 < len(clean) <= LONGEST:
                    kept.append((lang, clean, flags & _STATED))
        return kept


class Spool:
    """The file of records in a folder of work."""

    def __init__(self, folder: Path, target: Path, note: Note) -> None:
        self.folder, self.target, self.note = folder, target, note
        self.path = folder / "records.spool"
        self.state = folder / "state.json"
        self._sources: Sequence[Source] = ()

    def fill(self, sources: Sequence[Source], limits: list[Limits], progress: Progress) -> State:
        """Read all sources, or what an earlier attempt has left of them."""
        self._sources = sources
        wanted = zip(sources, limits, strict=True)
        plan = [f"{source.fingerprint()} {limit}" for source, limit in wanted]
        state = self._resume([installed_version(), *plan])
        with self.path.open("r+b" if state.size else "wb") as file:
            file.truncate(state.size)
            file.seek(state.size)
            while state.source < len(sources):
                source = sources[state.source]
                source.position = state.position
                if len(state.counts) == state.source:
                    state.counts.append({"records": 0, "names": 0})
                try:
                    self._read(source, limits[state.source], state, file, progress)
                except OtherInputError:
                    self.state.unlink(missing_ok=True)
                    raise
                state.source, state.position = state.source + 1, 0
                self._save(state, file)
        return state

    def _read(
        self, source: Source, limits: Limits, state: State, file: Any, progress: Progress
    ) -> None:
        import orjson

        counts = state.counts[state.source]
        for entity, names in source.rows():
            kept = limits.names(names)
            if not kept or entity.prior < limits.min_prior:
                continue
            if ":" not in entity.id or any(char < " " for char in entity.id):
                what = f"'{entity.id}' is no id: expected something like wd:Q183"
                raise InputError(what, path=source.name, line=source.position or None)
            prior = round(entity.prior, 4)
            row = (entity.id, entity.category, entity.tier, prior, entity.same_as, kept)
            file.write(orjson.dumps(row) + b"\n")
            state.records += 1
            state.names += len(kept)
            counts["records"] += 1
            counts["names"] += len(kept)
            if state.records % CHECKPOINT == 0:
                progress(f"reading {source.name}", state.records, None)
                if source.position:
                    state.position = source.position
                    self._save(state, file)
        progress(f"reading {source.name}", state.records, None)

    def _save(self, state: State, file: Any) -> None:
        for _, name, lines in self._lines(state.source + 1):
            state.inputs[name] = lines.state()
        file.flush()
        os.fsync(file.fileno())
        state.size = file.tell()
        temporary = self.state.with_suffix(".new")
        temporary.write_text(json.dumps(asdict(state)), encoding="utf-8")
        temporary.replace(self.state)

    def _resume(self, plan: list[str]) -> State:
        try:
            found = State(**json.loads(self.state.read_bytes()))
        except (OSError, ValueError, TypeError):
            found = State([])
        complete = self.path.exists() and self.path.stat().st_size >= found.size
        if found.plan and complete:
            if found.plan != plan:
                why = "it had other sources, limits or another version"
            elif changed := self._changed(found):
                why = f"{changed} has changed"
            else:
                n = f"{found.records:,} records are there"
                self.note(f"going on from an interrupted build of {self.target}: {n}")
                return found
            self.note(f"not going on from an interrupted build of {self.target}: {why}")
            for _, _, lines in self._lines():
                lines.forget()
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        return State(plan)

    def _changed(self, state: State) -> str | None:
        """Let sources remember what was read of them; name one that is not the same any more."""
        for k, name, lines in self._lines(state.source + 1):
            if name not in state.inputs:
                return lines.path
            try:
                lines.restore(state.inputs[name])
                if not lines.is_still(whole=k < state.source):
                    return lines.path
            except OtherInputError:
                self.state.unlink(missing_ok=True)
                raise
        return None

    def _lines(self, end: int | None = None) -> list[tuple[int, str, Lines]]:
        """Give the number, name and input of the first sources that are read line by line."""
        first = enumerate(self._sources[:end])
        return [(k, s.name, s.lines) for k, s in first if hasattr(s, "lines")]

    def records(self) -> Iterator[list[Any]]:
        """Give all records."""
        import orjson

        with self.path.open("rb", buffering=1 << 20) as file:
            for line in file:
                yield orjson.loads(line)
