"""Sorting more lines than fit into memory: sorted runs on disk, then one merge."""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from pathlib import Path

#: Lines that are held in memory at a time (about 100 MB of names).
RUN = 1_000_000


class ExternalSort:
    """Collects lines of bytes, and gives them back in order; memory holds one run at a time."""

    def __init__(self, folder: Path, name: str, run: int = RUN) -> None:
        self.folder, self.name, self.run = folder, name, run
        self.lines: list[bytes] = []
        self.files: list[Path] = []

    def extend(self, lines: list[bytes]) -> None:
        """Add lines; each ends in a newline and holds no other."""
        self.lines += lines
        if len(self.lines) >= self.run:
            self._spill()

    def _spill(self) -> None:
        self.lines.sort()
        path = self.folder / f"{self.name}-{len(self.files):05d}.run"
        with path.open("wb", buffering=1 << 20) as file:
            file.writelines(self.lines)
        self.files.append(path)
        self.lines = []

    def __iter__(self) -> Iterator[bytes]:
        """Give all lines in order; this can be done more than once."""
        if not self.files:
            self.lines.sort()
            yield from self.lines
            return
        if self.lines:
            self._spill()
        streams = [path.open("rb", buffering=1 << 18) for path in self.files]
        try:
            yield from heapq.merge(*streams)
        finally:
            for stream in streams:
                stream.close()

    def clear(self) -> None:
        """Delete the runs."""
        for path in self.files:
            path.unlink(missing_ok=True)
        self.files, self.lines = [], []
