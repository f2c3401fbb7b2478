"""``steelyard gate``: whether a change may ship."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from steelyard.cli import proposals
from steelyard.cli.group import SCORES, command
from steelyard.cli.output import emit, shown_progress
from steelyard.cli.params import (
    InputOptions,
    Known,
    Names,
    OutputOptions,
    from_fields,
    input_options,
    output_options,
)
from steelyard.comparison.options import CompareOptions
from steelyard.core.errors import UsageError


@command(
    headings={
        "The question": "score min_delta max_loss slices require undecided unit",
        "Files": "summary record",
    },
    shape=SCORES,
    examples=(
        "steelyard gate before.csv after.csv --max-loss 0.02",
        "steelyard gate before.csv after.csv --min-delta 0.01 --summary gate.md",
    ),
)
@click.argument("baseline", type=click.Path())
@click.argument("candidate", type=click.Path())
@click.option("--score", type=Names(), help="The score, or several that must all pass.")
@click.option("--min-delta", type=float, metavar="D", help="Pass if better by more than D. [0]")
@click.option("--max-loss", type=float, metavar="L", help="Pass if worse by less than L.")
@from_fields(CompareOptions, "slices")
@click.option(
    "--require",
    multiple=True,
    metavar="EXPR",
    help="A bound on an end of an interval, with names as in --json: 'difference.low>=-0.02' or "
    "'tasks.math.difference.low>=-0.05' (repeatable).",
)
@click.option(
    "--undecided", type=Known(["pass", "fail"]), help="Exit code where it is undecided: 0 or 3."
)
@from_fields(CompareOptions, "unit")
@click.option(
    "--summary", type=click.Path(), metavar="FILE.md", help="Write a summary for a pull request."
)
@click.option(
    "--record",
    type=click.Path(),
    metavar="FILE.parquet",
    help="Keep the baseline; if the file exists, refuse a test set that has changed.",
)
@input_options
@output_options
def gate(
    baseline: str,
    candidate: str,
    options: InputOptions,
    output: OutputOptions,
    undecided: str | None,
    summary: str | None,
    **settings: Any,
) -> int:
    """Decide whether CANDIDATE may replace BASELINE: pass, fail or undecided.

    Both are scores of one system on the same items: tables, folders, or logs of any format. The
    95% interval of the difference is compared with a margin. Exit code 0 pass, 3 fail, 4 undecided,
    2 bad input.
    """
    from steelyard.comparison.gate import gate as decide

    if "-" in (baseline, candidate):
        raise UsageError("gate reads two files, not standard input")
    options = options.by_unit(settings["unit"])
    with shown_progress("comparing", output):
        sets = [options.load([path]) for path in (baseline, candidate)]
        score = settings.pop("score") or None
        result = decide(*sets, score=score, rng=output.seed, **settings)
    if summary is not None:
        Path(summary).write_text(result.markdown(), encoding="utf-8")
    then = proposals.another("compare", keep={*proposals.READING, "score"})
    emit(result, [result.table()], output, wrote=[summary] if summary else [], then=then)
    codes = {"pass": 0, "fail": 3, "undecided": 4}
    return codes[undecided or "undecided" if result.passed is None else result.verdict]
