"""A cache of scores by signature and texts, for metrics that are slow or cost money.

One SQLite file in the cache folder; several processes may use it at once. A cache that can't be
read or written is never a reason to fail: scores are computed again.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from steelyard.core.download import cache_dir

if TYPE_CHECKING:
    import sqlite3

_FILE = "scores.sqlite"
_CHUNK = 500  # keys in a query


def cache_key(signature: str, texts: Sequence[object]) -> bytes:
    """Hash a signature and texts so that no two lists of texts run into each other.

    Examples
    --------
    >>> cache_key("m", ["a b"]) == cache_key("m", ["a", "b"])
    False
    """
    return hashlib.sha256(json.dumps([signature, *texts]).encode()).digest()


@dataclass(frozen=True, slots=True)
class ScoreCache:
    """Scores by key, in a file.

    Examples
    --------
    >>> import tempfile
    >>> cache = ScoreCache(Path(tempfile.mkdtemp(), "scores.sqlite"))
    >>> cache.put({b"key": 0.5})
    >>> cache.get([b"key", b"other"])
    {b'key': 0.5}
    """

    path: Path

    @classmethod
    def default(cls) -> ScoreCache:
        """Give the cache in the user's cache folder (``STEELYARD_CACHE``)."""
        return cls(cache_dir() / _FILE)

    def _open(self) -> sqlite3.Connection:
        import sqlite3

        self.path.parent.mkdir(parents=True, exist_ok=True)
        connection = sqlite3.connect(self.path, timeout=30)
        connection.execute("CREATE TABLE IF NOT EXISTS scores (key BLOB PRIMARY KEY, score REAL)")
        return connection

    def get(self, keys: Iterable[bytes]) -> dict[bytes, float]:
        """Give the scores that are known."""
        import sqlite3

        wanted = list(keys)
        found: dict[bytes, object] = {}
        try:
            with closing(self._open()) as connection:
                for start in range(0, len(wanted), _CHUNK):
                    part = wanted[start : start + _CHUNK]
                    marks = ",".join("?" * len(part))
                    query = f"SELECT key, score FROM scores WHERE key IN ({marks})"
                    found.update(connection.execute(query, part).fetchall())
        except (sqlite3.Error, OSError):
            return {}
        return {key: float(score) for key, score in found.items() if isinstance(score, float)}

    def put(self, scores: Mapping[bytes, float]) -> None:
        """Keep scores."""
        import sqlite3

        try:
            with closing(self._open()) as connection, connection:
                rows = list(scores.items())
                connection.executemany("INSERT OR REPLACE INTO scores VALUES (?, ?)", rows)
        except (sqlite3.Error, OSError):
            return
