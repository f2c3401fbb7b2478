"""What a run has at hand: real data, peers, a folder for files that are made once."""

from __future__ import annotations

import importlib
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Setting:
    """Where things are; ``small`` makes beds so small that a run takes seconds (for tests)."""

    cache: Path
    data: Path | None = None
    mtme: Path | None = None
    small: bool = False

    @classmethod
    def here(cls, *, mtme: Path | None = None, small: bool = False) -> Setting:
        """Look where the environment says: ``STEELYARD_SHARED``, ``STEELYARD_BENCH_CACHE``."""
        own = Path(__file__).parents[3] / "shared"
        data = Path(os.environ.get("STEELYARD_SHARED", own)) / "data"
        folder = os.environ.get("STEELYARD_BENCH_CACHE")
        cache = Path(folder) if folder else Path(tempfile.gettempdir()) / "steelyard-bench"
        cache.mkdir(parents=True, exist_ok=True)
        return cls(cache, data if data.is_dir() else None, mtme, small)

    def lacks(self, *paths: str) -> str:
        """Say which files of the shared data are missing; nothing if all are there."""
        if self.data is None:
            return "no STEELYARD_SHARED"
        missing = [path for path in paths if not (self.data / path).exists()]
        return f"no {', '.join(missing)}" if missing else ""

    def made(self, name: str) -> tuple[Path, bool]:
        """Give a place in the cache, and whether something is there already."""
        path = self.cache / (f"small-{name}" if self.small else name)
        return path, path.exists()


def package(name: str) -> Any:
    """Import a peer, or None where it is not installed."""
    try:
        return importlib.import_module(name)
    except ImportError:
        return None
