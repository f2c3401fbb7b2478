"""``steelyard report``: everything about a test set in one HTML file."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import click

from steelyard.cli.emit import note
from steelyard.cli.options import (
    LEVEL,
    InputOptions,
    Names,
    OutputOptions,
    input_options,
    need_inputs,
    output_options,
)
from steelyard.core.errors import UsageError
from steelyard.core.table import dumps


@click.command(
    epilog="Example: steelyard report human.csv.gz metrics.csv.gz texts.jsonl --human mqm "
    "--out report.html"
)
@click.argument("inputs", nargs=-1, metavar="INPUT...")
@click.option("--score", metavar="NAME", help="Compare systems by this score; by default by the "
              "human one, else the first.")  # fmt: skip
@click.option("--metrics", type=Names(), help="Weigh only these metrics.")
@click.option("--explore", "explored", type=Names(), default=(),
              help="Scores to have with the segments, if not all fit.")  # fmt: skip
@click.option("--entities", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE",
              help="Entity mistakes to mark in the outputs: JSON lines.")  # fmt: skip
@click.option("--ratings", type=click.Path(path_type=Path, dir_okay=False), multiple=True,
              metavar="FILE", help="Raw judgements, for the agreement of raters and the errors "
              "they marked (repeatable).")  # fmt: skip
@click.option("--title", metavar="TEXT", help="Heading of the page.")
@click.option("--alpha", type=LEVEL, default=0.05, show_default=True)
@click.option("--bootstrap", "n_bootstrap", type=click.IntRange(min=10), default=1000,
              show_default=True, metavar="B", help="Resamples for intervals.")  # fmt: skip
@click.option("--resamples", "n_resamples", type=click.IntRange(min=1), metavar="K",
              help="Draws of the tests between metrics; by default as many as take "
              "seconds.")  # fmt: skip
@input_options
@partial(output_options, suffixes=("html", "htm"))
def report(
    inputs: tuple[str, ...], options: InputOptions, output: OutputOptions, **settings: Any
) -> None:
    """Write all that there is to say about a test set as one HTML file.

    INPUT is a table, an mt-metrics-eval folder (with --lp) or a native file; several are joined.
    Texts among them can be read in the page.
    """
    from steelyard.report import mistakes
    from steelyard.report.page import make_report

    need_inputs(inputs)
    if output.out is None:
        raise UsageError("name the file to write: --out report.html")
    es = options.load(inputs)
    entities, ratings = settings.pop("entities"), settings.pop("ratings")
    for path in ratings:
        es = mistakes.with_ratings(es, path)
    marks = () if entities is None else mistakes.read_mistakes(entities, es)
    made = make_report(es, options.human, mistakes=marks, rng=output.seed, **settings)
    for warning in made.warnings:
        note(f"warning: {warning}", output)
    made.save(output.out)
    note(f"wrote {output.out}", output)
    if output.json:
        click.echo(dumps({"out": str(output.out), **made.to_dict()}))
    else:
        click.echo(made.summary.text())
