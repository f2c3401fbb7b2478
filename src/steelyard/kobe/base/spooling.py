"""Reading sources into one file of records, from which an interrupted build goes on.

The spool holds one JSON line for each record: id, category, tier, prior, number of the source (a
base counts as all the sources that it was made of), other ids, names. The state beside it says how
much of it is safe, and where in the input that was.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from steelyard.core import bounds
from steelyard.core.errors import InputError
from steelyard.core.provenance import installed_version
from steelyard.kobe.base.records import STATED, UNSTATED, Entity, Name, Source
from steelyard.kobe.base.sources.lines import OtherInputError

#: What is done, how many items of it, and of how many if that is known.
Progress = Callable[[str, int, int | None], None]
#: Something that the user should know.
Note = Callable[[str], None]
CHECKPOINT = 50_000
_STATED = int(STATED)
LONGEST = 120  # characters of a name; what is longer is a description


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
        bounds.number(min_prior=self.min_prior)

    def shown(self) -> str:
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

    def __init__(self, folder: Path, target: Path, note: Note = lambda _: None) -> None:
        self.folder, self.target, self.note = folder, target, note
        self.path = folder / "records.spool"
        self._state = folder / "state.json"
        self._sources: Sequence[Source] = ()

    def fill(self, sources: Sequence[Source], limits: list[Limits], progress: Progress) -> State:
        """Read all sources, or what an earlier attempt has left of them."""
        self._sources = sources
        plan = [installed_version()]
        plan += [
            f"{s.fingerprint()} {limit.shown()}" for s, limit in zip(sources, limits, strict=True)
        ]
        state = self._resume(plan)
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
                    self._state.unlink(missing_ok=True)
                    raise
                state.source, state.position = state.source + 1, 0
                self._save(state, file)
        return state

    def _read(
        self, source: Source, limits: Limits, state: State, file: Any, progress: Progress
    ) -> None:
        import orjson

        counts = state.counts[state.source]
        before = sum(len(getattr(other, "parts", "1")) for other in self._sources[: state.source])
        for entity, names in source.rows():
            kept = limits.names(names)
            if not kept or entity.prior < limits.min_prior:
                continue
            check_id(entity, source)
            row = (entity.id, entity.category, entity.tier, round(entity.prior, 4),
                   before + getattr(source, "part", 0), entity.same_as, kept)  # fmt: skip
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
        for source in self._sources[: state.source + 1]:
            if (lines := getattr(source, "lines", None)) is not None:
                state.inputs[source.name] = lines.state()
        file.flush()
        os.fsync(file.fileno())
        state.size = file.tell()
        temporary = self._state.with_suffix(".new")
        temporary.write_text(json.dumps(asdict(state)), encoding="utf-8")
        temporary.replace(self._state)

    def _resume(self, plan: list[str]) -> State:
        try:
            found = State(**json.loads(self._state.read_bytes()))
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
            for source in self._sources:
                if (lines := getattr(source, "lines", None)) is not None:
                    lines.forget()
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        return State(plan)

    def _changed(self, state: State) -> str | None:
        """Let sources remember what was read of them; name one that is not the same any more."""
        for k, source in enumerate(self._sources[: state.source + 1]):
            if (lines := getattr(source, "lines", None)) is None:
                continue
            try:
                lines.restore(state.inputs[source.name])
                if not lines.is_still(whole=k < state.source):
                    return str(lines.path)
            except KeyError:
                return str(lines.path)
            except OtherInputError:
                self._state.unlink(missing_ok=True)
                raise
        return None

    def worth_keeping(self) -> bool:
        """Tell whether a later attempt could go on from here."""
        return self._state.exists()

    def records(self) -> Iterator[list[Any]]:
        """Give all records."""
        import orjson

        with self.path.open("rb", buffering=1 << 20) as file:
            for line in file:
                yield orjson.loads(line)


def check_id(entity: Entity, source: Source) -> None:
    """Refuse an id that could not be found again."""
    if ":" not in entity.id or any(char < " " for char in entity.id):
        what = f"'{entity.id}' is no id: expected something like wd:Q183"
        raise InputError(what, path=source.name, line=source.position or None)
