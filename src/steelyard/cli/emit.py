"""Printing results: tables or JSON on stdout, everything else on stderr, files by their suffix."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import click

from steelyard.cli.options import FIGURES, OutputOptions
from steelyard.cli.wording import spoken
from steelyard.core.errors import printable
from steelyard.core.table import Table, dumps
from steelyard.formats import files


def note(message: str, output: OutputOptions) -> None:
    """Say something on stderr, unless the user wants quiet."""
    if not output.quiet:
        click.echo(printable(message), err=True)


def wants_figure(output: OutputOptions) -> bool:
    """Tell whether ``--out`` is a figure; if so, refuse at once where figures can't be drawn."""
    if output.out is None or files.suffix(output.out) not in FIGURES:
        return False
    from steelyard.report.figures.style import need_plots

    need_plots()
    return True


def emit(
    result: dict[str, Any],
    tables: Sequence[Table],
    output: OutputOptions,
    text: str | None = None,
    draw: Callable[[], Any] | None = None,
) -> None:
    """Print a result, and write it where ``--out`` says.

    ``result`` is what JSON shows; it must have ``warnings``. ``tables`` are what people see (or
    ``text``, if given), and the first of them is what other formats hold. ``draw`` makes the chart
    that a figure holds.
    """
    result = result | {"warnings": [spoken(text) for text in result["warnings"]]}
    for warning in result["warnings"]:
        note(f"warning: {warning}", output)
    if output.out is not None:
        suffix = files.suffix(output.out)
        if draw is not None and suffix in FIGURES:
            from steelyard.report.figures.style import write as write_figure

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
