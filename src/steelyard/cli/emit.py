"""What commands print and write: results on stdout, all else on stderr, files by their suffix.

How far long work has come is a bar on a terminal (drawn by ``rich``, loaded there alone), one line
elsewhere, nothing if quiet.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from steelyard.cli.options import FIGURES, F, OutputOptions
from steelyard.cli.values import Names
from steelyard.cli.wording import spoken
from steelyard.core.errors import UsageError, printable, shown_path
from steelyard.core.provenance import taken_alike
from steelyard.core.table import Table, dumps
from steelyard.core.telling import told
from steelyard.formats import files

if TYPE_CHECKING:
    from steelyard.core.parallel import Workers


def note(message: str, output: OutputOptions) -> None:
    """Say something on stderr, unless the user wants quiet."""
    if not output.quiet:
        click.echo(printable(message), err=True)


def wants_figure(output: OutputOptions) -> bool:
    """Tell whether ``--out`` is a figure; if so, refuse at once where figures can't be drawn."""
    if not _is_figure(output):
        return False
    from steelyard.report.figures.style import need_plots

    need_plots()
    return True


def _is_figure(output: OutputOptions) -> bool:
    return output.out is not None and files.suffix(output.out) in FIGURES


def emit(
    result: dict[str, Any],
    tables: Sequence[Table],
    output: OutputOptions,
    text: str | None = None,
    draw: Callable[[], Any] | None = None,
    *,
    says_read: bool = False,
    minded_last: bool = False,
) -> None:
    """Print a result, and write it where ``--out`` says.

    ``result`` is what JSON shows; it must have ``warnings``. ``tables`` are what people see (or
    ``text``, if given), and the first of them is what other formats hold. ``draw`` makes the chart
    that a figure holds; ``says_read`` tells that the text says what was read, ``minded_last`` that
    what is to be minded comes after it.
    """
    last = minded_last and not output.json
    result = said(result, output, quiet_read=says_read and not output.json, quiet_warnings=last)
    if output.out is not None:
        suffix = files.suffix(output.out)
        if draw is not None and suffix in FIGURES:
            from steelyard.report.figures.drawing import write as write_figure

            write_figure(draw(), output.out)
        elif suffix == "parquet":
            from steelyard.formats.tables import write as write_parquet

            write_parquet(output.out, tables[0].to_columns())
        else:
            rendered = dumps(result) + "\n" if suffix == "json" else tables[0].render(suffix)
            files.write_text(output.out, rendered)
        note(f"wrote {output.out}", output)
    if output.json:
        click.echo(dumps(result))
        return
    shown = "\n\n".join(table.text() for table in tables) if text is None else text
    # Whatever made the text: names of the user's must not steer the terminal.
    click.echo("\n".join(map(printable, shown.split("\n"))))
    for warning in result["warnings"] if last else ():
        note(f"warning: {warning}", output)


def said(
    result: dict[str, Any],
    output: OutputOptions,
    *,
    quiet_read: bool = False,
    quiet_warnings: bool = False,
) -> dict[str, Any]:
    """Say what was read and what is to be minded; give the result in the command's own words."""
    result = result | {"warnings": [spoken(text) for text in result["warnings"]]}
    read = result.get("read", ())
    if not quiet_read:
        for line in taken_alike(read):
            note(f"read {line}", output)
    told = {
        f"{shown_path(one['file'])}: column '{name}' is taken as the {role}"
        for one in read
        for role, name in one["columns"].items()
    }
    for warning in () if quiet_warnings else result["warnings"]:
        if warning not in told:
            note(f"warning: {warning}", output)
    return result


def plot_option(names: Sequence[str], more: str = "") -> Callable[[F], F]:
    """Add ``--plot``; ``names`` are those of the command's figures, shown in its help."""
    return click.option(
        "--plot",
        type=Names(names),
        help="Figures to draw into --out FILE.png (.svg, .pdf), the first by default: "
        f"{' '.join(names)}{more}. Several go to FILE-NAME.png.",
    )


def wanted_figures(
    plot: tuple[str, ...] | None, output: OutputOptions, known: Sequence[str]
) -> tuple[str, ...]:
    """Give the names of the figures to draw, none if ``--out`` is no figure.

    ``known`` are those that can be drawn; the first is drawn where ``--plot`` names none.
    """
    drawn = _is_figure(output)
    if plot is None and not drawn:
        return ()
    from steelyard.report.figures.style import chosen, need_plots

    names = chosen(plot, known) if plot else tuple(known[:1])
    if not drawn:
        expected = ", ".join(f".{kind}" for kind in FIGURES)
        raise UsageError(f"--plot {','.join(names)}: --out FILE is missing, expected {expected}")
    need_plots()
    return names


def write_figures(
    names: Sequence[str], draw: Callable[[str], Any], output: OutputOptions
) -> OutputOptions:
    """Draw and write figures, all or none; give the output options without what is written."""
    if not names:
        return output
    from steelyard.report.figures.drawing import write_all

    assert output.out is not None
    charts = {name: (lambda name=name: draw(name)) for name in names}
    for path in write_all(charts, output.out):
        note(f"wrote {path}", output)
    return replace(output, out=None)


@contextmanager
def progress_of(
    title: str, output: OutputOptions, *, in_bytes: bool = False, aloud: bool = True
) -> Iterator[Callable[[int, int | None], None] | None]:
    """Give a function to call with how much is done and how much there is, or None if quiet.

    Where standard error is no terminal, a line says what is done; none unless ``aloud``.
    """
    if output.quiet or not (aloud or sys.stderr.isatty()):
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
def shown_progress(title: str, output: OutputOptions) -> Iterator[None]:
    """Show, on a terminal, how far the work inside has come, and how long it will still take."""
    with progress_of(title, output, aloud=False) as progress, told(progress):
        yield


@contextmanager
def workers_with_progress(title: str, workers: Workers, output: OutputOptions) -> Iterator[Workers]:
    """Give workers that show how far they have come."""
    with progress_of(title, output) as progress:
        yield replace(workers, progress=progress, note=partial(note, output=output))
