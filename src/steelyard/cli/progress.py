"""How far long work has come: a bar on a terminal, one line elsewhere, nothing if quiet.

What is drawn on a terminal is drawn by ``rich``, which is loaded there alone.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial

from steelyard.cli.emit import note
from steelyard.cli.options import OutputOptions
from steelyard.core.errors import printable
from steelyard.core.parallel import Workers


@contextmanager
def progress_of(
    title: str, output: OutputOptions, *, in_bytes: bool = False
) -> Iterator[Callable[[int, int | None], None] | None]:
    """Give a function to call with how much is done and how much there is, or None if quiet."""
    if output.quiet:
        yield None
    elif not sys.stderr.isatty():
        said: list[str] = []

        def once(_done: int, total: int | None) -> None:
            if not said:
                size = f" ({total:,} bytes)" if total and in_bytes else ""
                said.append(f"{title}{size} ...")
                note(said[0], output)

        yield once
    else:
        from rich import progress
        from rich.console import Console
        from rich.markup import escape

        columns = list(progress.Progress.get_default_columns()[:2])
        if in_bytes:
            columns += [progress.DownloadColumn(), progress.TransferSpeedColumn()]
        columns.append(progress.TimeRemainingColumn())
        bar = progress.Progress(*columns, console=Console(stderr=True), transient=not in_bytes)
        with bar:
            task = bar.add_task(escape(printable(title)), total=None)
            yield lambda done, total: bar.update(task, completed=done, total=total)


@contextmanager
def workers_with_progress(title: str, workers: Workers, output: OutputOptions) -> Iterator[Workers]:
    """Give workers that show how far they have come."""
    with progress_of(title, output) as progress:
        yield replace(workers, progress=progress, note=partial(note, output=output))
