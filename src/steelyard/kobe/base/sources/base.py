"""A knowledge base as a source: another one can be built upon it."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from steelyard.kobe.base import store
from steelyard.kobe.base.records import Entity, Name


class Base:
    """All records of a base, except those of the sources named in `without`."""

    def __init__(self, path: str | Path, *, without: Sequence[str] = ()) -> None:
        self.path = Path(path)
        self.without = frozenset(without)
        manifest = store.read_manifest(self.path)
        #: The sources that the base was made of, for the manifest of the new one.
        self.parts: list[dict[str, Any]] = [
            part for part in manifest["sources"] if part["name"] not in self.without
        ]
        self.name = "base"
        self.version = self.signature = str(manifest["signature"])
        self.licence = ", ".join(dict.fromkeys(part["licence"] for part in self.parts))
        self.position = 0
        #: Which of the parts the last record was from.
        self.part = 0
        kept = [n for n, p in enumerate(manifest["sources"]) if p["name"] not in self.without]
        self._kept = {number: place for place, number in enumerate(kept)}

    def fingerprint(self) -> str:
        """Tell this input from all others."""
        return f"base {self.signature} {sorted(self.without)}"

    def rows(self) -> Iterator[tuple[Entity, Sequence[Name]]]:
        """Yield the records as they were read once."""
        import orjson

        uri = f"{(self.path / store.META).resolve().as_uri()}?mode=ro&immutable=1"
        db = sqlite3.connect(uri, uri=True)
        query = (
            "SELECT id, category, tier, prior, source, same_as, names FROM records ORDER BY rowid"
        )
        try:
            for id_, category, tier, prior, source, same_as, names in db.execute(query):
                if source in self._kept:
                    self.part = self._kept[source]
                    same = tuple(orjson.loads(same_as))
                    entity = Entity(id_, category, tier, prior, same)
                    yield entity, [Name(*name) for name in orjson.loads(names)]
        finally:
            db.close()
