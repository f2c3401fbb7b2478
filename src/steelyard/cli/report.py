"""``steelyard report``: everything about a test set in one HTML file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from steelyard.cli.engine import Answer, Call, command
from steelyard.cli.flags import spoken
from steelyard.cli.group import JUDGED
from steelyard.cli.params import InputOptions
from steelyard.core.errors import UsageError
from steelyard.core.options import Options, names, option
from steelyard.core.provenance import origin
from steelyard.report.options import ReportOptions


@dataclass(frozen=True, kw_only=True)
class _Files(Options):
    entities: Path | None = option(
        "file", None, "Entity mistakes to mark in the outputs: JSON lines.", metavar="FILE"
    )
    ratings: tuple[Path, ...] = option(
        "files", (), "Raw judgements, for agreement and marked errors (repeatable).", metavar="FILE"
    )
    verdicts: tuple[Path, ...] = option(
        "files", (), "Verdicts of judges beside labels of annotators (repeatable).", metavar="FILE"
    )
    raters: tuple[str, ...] = names(
        (), "Columns of --verdicts that are labels of annotators.", flag="--verdict-raters"
    )


@command(
    _Files,
    ReportOptions,
    InputOptions,
    suffixes=("html", "htm"),
    usual="steelyard-report.html",
    headings={
        "What to show": "score metrics explored title",
        "Beside scores": "ratings entities checked verdicts raters",
    },
    shape=JUDGED,
    examples=(
        "steelyard report scores.csv --human mqm",
        "steelyard report human.csv.gz metrics.csv.gz texts.jsonl --human mqm --out report.html",
    ),
)
def report(call: Call) -> Answer:
    """Write all that there is to say about a test set as one HTML file.

    INPUT is a table, an mt-metrics-eval folder (with --lp) or a native file; several are joined.
    Texts among them can be read in the page.
    """
    from steelyard.judging.report import judge
    from steelyard.report import explorer
    from steelyard.report.page import make_report

    beside, reading, output = call.take(_Files), call.reading, call.output
    es = explorer.add_ratings(reading.load(call.inputs), beside.ratings)
    if beside.raters and not beside.verdicts:
        raise UsageError("--verdict-raters names columns of --verdicts, which is not given")
    judged = judge(*beside.verdicts, human=beside.raters) if beside.verdicts else None
    mistakes = () if beside.entities is None else explorer.read_mistakes(beside.entities, es)
    with call.progress("making the report"):
        page = make_report(
            es,
            reading.human,
            options=call.take(ReportOptions),
            rng=output.seed,
            judges=judged,
            mistakes=mistakes,
            speak=spoken,
        )
    result = {"warnings": page.warnings, **origin(page.provenance)}
    if output.json:
        result = {"out": str(output.out), **page.to_dict()}

    def save(path: Path) -> str:
        page.save(path)
        return f"{path}: open it in a browser"

    nothing = "The page shows texts: there is no score to compare systems by."
    return Answer(
        result=result, words=page.words().brief() or [nothing], writes=[(output.out, save)]
    )
