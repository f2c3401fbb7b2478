"""A bar with the time left, on a terminal, for work that takes longer than a moment.

It is drawn by ``rich``, which takes a tenth of a second to load: only where somebody has to wait.
"""

from __future__ import annotations

import threading
from typing import Any, Self

from steelyard.core.errors import printable

_PATIENCE = 1.0  # seconds before a bar is shown


class WaitingBar:
    """Shows how far the work has come, once it has taken a while; it is gone afterwards.

    Downloads (``in_bytes``) stay on the screen, with their size and speed.
    """

    def __init__(
        self,
        title: str,
        *,
        in_bytes: bool = False,
        colour: bool = True,
        patience: float = _PATIENCE,
    ) -> None:
        self._title, self._in_bytes, self._colour = title, in_bytes, colour
        self._lock = threading.Lock()
        self._last: tuple[float, float | None] = (0, None)
        self._ended = False
        self._bar: Any = None
        self._task: Any = None
        self._timer = threading.Timer(patience, self._begin)
        self._timer.daemon = True

    def __enter__(self) -> Self:
        """Begin to wait."""
        self._timer.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Take the bar away."""
        self._timer.cancel()
        with self._lock:
            self._ended = True
            if self._bar is not None:
                self._bar.stop()

    def tell(self, done: float, whole: float | None) -> None:
        """Say how much is done, and how much there is."""
        with self._lock:
            self._last = done, whole
            if self._bar is not None:
                self._bar.update(self._task, completed=done, total=whole)

    def _begin(self) -> None:
        from rich import progress
        from rich.console import Console
        from rich.markup import escape

        columns = list(progress.Progress.get_default_columns()[:2])
        if self._in_bytes:
            columns += [progress.DownloadColumn(), progress.TransferSpeedColumn()]
        columns.append(progress.TimeRemainingColumn(elapsed_when_finished=True))
        console = Console(stderr=True, no_color=not self._colour)
        with self._lock:
            if self._ended:
                return
            bar = progress.Progress(*columns, console=console, transient=not self._in_bytes)
            self._task = bar.add_task(escape(printable(self._title)), total=None)
            bar.start()
            done, whole = self._last
            bar.update(self._task, completed=done, total=whole)
            self._bar = bar
