"""``steelyard gate``: whether a change may ship."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import click

from steelyard.cli.engine import READING, Answer, Call, command
from steelyard.cli.group import SCORES
from steelyard.cli.params import InputOptions, options_of, output_file, path, texts
from steelyard.comparison.options import CompareOptions
from steelyard.core.errors import UsageError
from steelyard.core.options import Options, choice, names, number
from steelyard.formats import files

_CODES = {"pass": 0, "fail": 3, "undecided": 4}


@dataclass(frozen=True, kw_only=True)
class GateOptions(Options):
    """What must hold, and the files that are written."""

    score: tuple[str, ...] | None = names(None, "The score, or several that must all pass.")
    min_delta: float | None = number(None, "Pass if better by more than D. [0]", metavar="D")
    max_loss: float | None = number(None, "Pass if worse by less than L.", metavar="L")
    require: tuple[str, ...] = texts(
        "A bound on an end of an interval, with names as in --json: 'difference.low>=-0.02' or "
        "'tasks.math.difference.low>=-0.05' (repeatable).",
        metavar="EXPR",
    )
    undecided: str | None = choice(
        None, ("pass", "fail"), "Exit code where it is undecided: 0 or 3."
    )
    summary: Path | None = output_file("Write a summary for a pull request.", metavar="FILE.md")
    record: Path | None = path(
        "Keep the baseline; if the file exists, refuse a test set that has changed.",
        metavar="FILE.parquet",
    )


@command(
    click.Argument(["baseline"], type=click.Path()),
    click.Argument(["candidate"], type=click.Path()),
    GateOptions,
    options_of(CompareOptions, "slices", "unit"),
    InputOptions,
    inputs="",
    shape=SCORES,
    examples=(
        "steelyard gate before.csv after.csv --max-loss 0.02",
        "steelyard gate before.csv after.csv --min-delta 0.01 --summary gate.md",
    ),
)
def gate(call: Call) -> Answer:
    """Decide whether CANDIDATE may replace BASELINE: pass, fail or undecided.

    Both are scores of one system on the same items: tables, folders, or logs of any format. The
    95% interval of the difference is compared with a margin. Exit code 0 pass, 3 fail, 4 undecided,
    2 bad input.
    """
    from steelyard.comparison.gate import gate as decide

    settings = call.settings
    paths = [settings.pop(name) for name in ("baseline", "candidate")]
    summary, undecided = settings.pop("summary"), settings.pop("undecided") or "undecided"
    if "-" in paths:
        raise UsageError("gate reads two files, not standard input")
    reading = call.reading.by_unit(settings["unit"])
    with call.progress("comparing"):
        sets = [reading.load([path]) for path in paths]
        settings["score"] = settings["score"] or None
        result = decide(*sets, rng=call.output.seed, **settings)
    return Answer(
        result=result,
        writes=[(summary, lambda to: files.write_text(to, result.markdown()))],
        then=call.another("compare", keep={*READING, "score"}),
        code=_CODES[undecided if result.passed is None else result.verdict],
    )
