"""Printing results: tables or JSON on stdout, everything else on stderr, files by their suffix."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from steelyard.cli.options import OutputOptions
from steelyard.errors import printable
from steelyard.formats import files
from steelyard.formats.tables import write as write_parquet
from steelyard.table import Table, dumps


def note(message: str, output: OutputOptions) -> None:
    """Say something on stderr, unless the user wants quiet."""
    if not output.quiet:
        click.echo(printable(message), err=True)


def emit(
    result: dict[str, Any], tables: Sequence[Table], output: OutputOptions, text: str | None = None
) -> None:
    """Print a result, and write it where ``--out`` says.

    ``result`` is what JSON shows; it must have ``warnings``. ``tables`` are what people see (or
    ``text``, if given), and the first of them is what other formats hold.
    """
    for warning in result["warnings"]:
        note(f"warning: {warning}", output)
    if output.out is not None:
        suffix = files.suffix(output.out)
        if suffix == "parquet":
            write_parquet(output.out, tables[0].to_columns())
        else:
            rendered = dumps(result) + "\n" if suffix == "json" else tables[0].render(suffix)
            files.write_text(output.out, rendered)
        note(f"wrote {output.out}", output)
    if output.json:
        click.echo(dumps(result))
    elif text is not None:
        click.echo(text)
    else:
        click.echo("\n\n".join(table.text() for table in tables))
