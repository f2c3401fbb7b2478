"""``steelyard report``: everything about a test set in one HTML file."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from steelyard.cli.emit import emit, shown_progress
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
from steelyard.report.options import ReportOptions

if TYPE_CHECKING:
    from steelyard.core.provenance import Provenance
    from steelyard.report.page import Report


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
@click.option(
    "--baseline",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="An earlier report (.html, or .json of --json): say what changed, and what is noise.",
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
    from steelyard.report.page import Given, earlier, write_report

    need_inputs(inputs)
    assert output.out is not None  # it has a usual name
    baseline = earlier(settings["baseline"])  # a wrong one is refused before anything is worked out
    es = options.load(inputs)
    for path in settings["ratings"]:
        es = explorer.with_ratings(es, path)
    entities = settings["entities"]
    given = Given()
    if entities is not None:
        notes = explorer.not_shown(entities, es)
        given = Given(explorer.read_mistakes(entities, es), notes=notes)
    given = replace(
        given,
        judges=_judges(settings["verdicts"], settings["raters"]),
        baseline=baseline,
    )
    shown = ReportOptions.of(settings)
    with shown_progress("making the report", output):
        made = write_report(es, options.human, shown, given, output.seed, spoken)
    made.save(output.out)
    told = made.words()
    words = told.brief() or ["The page shows texts: there is no score to compare systems by."]
    emit(
        _Written(made, output.out),
        [one.table() for one in (made.comparison, made.meta) if one is not None],
        replace(output, out=None),
        words=words,
        shown=[told.rest().text()],
        wrote=[f"{output.out}: open it in a browser"],
    )


@dataclass(frozen=True)
class _Written:
    """A report, and where it is."""

    made: Report
    out: Path

    @property
    def warnings(self) -> tuple[str, ...]:
        return self.made.warnings

    @property
    def provenance(self) -> Provenance | None:
        return self.made.provenance

    def to_dict(self) -> dict[str, Any]:
        return {"out": str(self.out), **self.made.to_dict()}


def _judges(verdicts: tuple[Path, ...], raters: str) -> Any:
    """Weigh the judges of files of verdicts, if there are any."""
    if not verdicts:
        if raters:
            raise UsageError("--verdict-raters names columns of --verdicts, which is not given")
        return None
    from steelyard.judging.report import judge

    human = [name.strip() for name in raters.split(",") if name.strip()]
    return judge(*verdicts, human=human)
