"""``steelyard report``: everything about a test set in one HTML file."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import click

from steelyard.cli.emit import note, said, shown_progress
from steelyard.cli.fields import from_fields
from steelyard.cli.helping import JUDGED, command
from steelyard.cli.options import (
    InputOptions,
    OutputOptions,
    input_options,
    need_inputs,
    output_options,
)
from steelyard.cli.values import FileName
from steelyard.cli.wording import spoken
from steelyard.core.errors import UsageError
from steelyard.core.table import dumps
from steelyard.report.options import ReportOptions


@command(
    headings={
        "What to show": "score metrics explored title",
        "Beside scores": "ratings entities verdicts raters",
        "Tests and intervals": "alpha n_bootstrap n_resamples",
    },
    shape=JUDGED,
    examples=(
        "steelyard report scores.csv --human mqm",
        "steelyard report human.csv.gz metrics.csv.gz texts.jsonl --human mqm --out report.html",
    ),
)
@click.argument("inputs", nargs=-1, type=FileName(), metavar="INPUT...")
@from_fields(ReportOptions, "score", "metrics", "explored")
@click.option(
    "--entities",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Entity mistakes to mark in the outputs: JSON lines.",
)
@click.option(
    "--ratings",
    type=click.Path(path_type=Path, dir_okay=False),
    multiple=True,
    metavar="FILE",
    help="Raw judgements, for the agreement of raters and the errors they marked (repeatable).",
)
@click.option(
    "--verdicts",
    type=click.Path(path_type=Path, dir_okay=False),
    multiple=True,
    metavar="FILE",
    help="Verdicts of judges beside labels of people, for a section on judges (repeatable).",
)
@click.option(
    "--verdict-raters",
    "raters",
    metavar="COLS",
    default="",
    help="Columns of --verdicts that are labels of people.",
)
@from_fields(ReportOptions, "title", "alpha", "n_bootstrap", "n_resamples")
@input_options
@partial(output_options, suffixes=("html", "htm"), usual="steelyard-report.html")
def report(
    inputs: tuple[str, ...], options: InputOptions, output: OutputOptions, **settings: Any
) -> None:
    """Write all that there is to say about a test set as one HTML file.

    INPUT is a table, an mt-metrics-eval folder (with --lp) or a native file; several are joined.
    Texts among them can be read in the page.
    """
    from steelyard.report import explorer
    from steelyard.report.page import Given, write_report

    need_inputs(inputs)
    assert output.out is not None  # it has a usual name
    es = options.load(inputs)
    for path in settings["ratings"]:
        es = explorer.with_ratings(es, path)
    entities = settings["entities"]
    given = Given()
    if entities is not None:
        notes = explorer.not_shown(entities, es)
        given = Given(explorer.read_mistakes(entities, es), notes=notes)
    given = replace(given, judges=_judges(settings["verdicts"], settings["raters"]))
    shown = ReportOptions.of(settings)
    with shown_progress("making the report", output):
        made = write_report(es, options.human, shown, given, output.seed, spoken)
    result = said({"out": str(output.out), **made.to_dict()}, output)
    made.save(output.out)
    note(f"wrote {output.out}", output)
    if output.json:
        click.echo(dumps(result))
    else:
        click.echo(made.summary.text())


def _judges(verdicts: tuple[Path, ...], raters: str) -> Any:
    """Weigh the judges of files of verdicts, if there are any."""
    if not verdicts:
        if raters:
            raise UsageError("--verdict-raters names columns of --verdicts, which is not given")
        return None
    from steelyard.judging.run import judge

    human = [name.strip() for name in raters.split(",") if name.strip()]
    return judge(*verdicts, human=human)
