"""``steelyard report``: everything about a test set in one HTML file."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from steelyard.cli.flags import spoken
from steelyard.cli.group import JUDGED, command
from steelyard.cli.output import emit, shown_progress
from steelyard.cli.params import (
    InputOptions,
    OutputOptions,
    arguments,
    as_object,
    from_fields,
    input_options,
    output_options,
)
from steelyard.core.errors import UsageError
from steelyard.core.options import Options, names, option
from steelyard.core.provenance import origin
from steelyard.report.options import ReportOptions


@dataclass(frozen=True, kw_only=True)
class _Files(Options):
    """What the page shows beside scores."""

    entities: Path | None = option(
        "file", None, "Entity mistakes to mark in the outputs: JSON lines.", metavar="FILE"
    )
    ratings: tuple[Path, ...] = option(
        "files",
        (),
        "Raw judgements, for the agreement of raters and the errors they marked (repeatable).",
        metavar="FILE",
    )
    verdicts: tuple[Path, ...] = option(
        "files",
        (),
        "Verdicts of judges beside labels of annotators, for a section on judges (repeatable).",
        metavar="FILE",
    )
    raters: tuple[str, ...] = names(
        (), "Columns of --verdicts that are labels of annotators.", flag="--verdict-raters"
    )


@command(
    headings={
        "What to show": "score metrics explored title",
        "Beside scores": "ratings entities checked verdicts raters",
        "Tests and intervals": "alpha n_bootstrap n_resamples",
    },
    shape=JUDGED,
    examples=(
        "steelyard report scores.csv --human mqm",
        "steelyard report human.csv.gz metrics.csv.gz texts.jsonl --human mqm --out report.html",
    ),
)
@arguments()
@as_object("beside", _Files)
@from_fields(ReportOptions)
@input_options
@partial(output_options, suffixes=("html", "htm"), usual="steelyard-report.html")
def report(
    inputs: tuple[str, ...],
    beside: _Files,
    options: InputOptions,
    output: OutputOptions,
    **settings: Any,
) -> None:
    """Write all that there is to say about a test set as one HTML file.

    INPUT is a table, an mt-metrics-eval folder (with --lp) or a native file; several are joined.
    Texts among them can be read in the page.
    """
    from steelyard.report import explorer
    from steelyard.report.page import make_report

    assert output.out is not None  # it has a default
    es = explorer.add_ratings(options.load(inputs), beside.ratings)
    judges = _judges(beside)
    mistakes = () if beside.entities is None else explorer.read_mistakes(beside.entities, es)
    with shown_progress("making the report", output):
        page = make_report(
            es,
            options.human,
            options=ReportOptions(**settings),
            rng=output.seed,
            judges=judges,
            mistakes=mistakes,
            speak=spoken,
        )
    page.save(output.out)
    words = page.words()
    result = {"warnings": page.warnings, **origin(page.provenance)}
    if output.json:
        result = {"out": str(output.out), **page.to_dict()}
    emit(
        result,
        [one.table() for one in (page.comparison, page.meta) if one is not None],
        replace(output, out=None),
        words=words.brief() or ["The page shows texts: there is no score to compare systems by."],
        shown=[],
        wrote=[f"{output.out}: open it in a browser"],
    )


def _judges(beside: _Files) -> Any:
    """Compare the judges of files of verdicts, if there are any."""
    if not beside.verdicts:
        if beside.raters:
            raise UsageError("--verdict-raters names columns of --verdicts, which is not given")
        return None
    from steelyard.judging.report import judge

    return judge(*beside.verdicts, human=beside.raters)
