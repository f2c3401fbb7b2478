"""``steelyard gate``: whether a change may ship."""

from __future__ import annotations

import click

from steelyard.cli.engine import READING, Answer, Call, command
from steelyard.cli.group import SCORES
from steelyard.cli.params import FINITE, NAMES, OUTPUT, InputOptions, Known, options_of
from steelyard.comparison.options import CompareOptions
from steelyard.core.errors import UsageError
from steelyard.formats import files

_CODES = {"pass": 0, "fail": 3, "undecided": 4}


@command(
    click.Argument(["baseline"], type=click.Path()),
    click.Argument(["candidate"], type=click.Path()),
    click.Option(["--score"], type=NAMES, help="The score, or several that must all pass."),
    click.Option(
        ["--min-delta"], type=FINITE, metavar="D", help="Pass if better by more than D. [0]"
    ),
    click.Option(["--max-loss"], type=FINITE, metavar="L", help="Pass if worse by less than L."),
    options_of(CompareOptions, "slices", "unit"),
    click.Option(
        ["--require"],
        multiple=True,
        metavar="EXPR",
        help="A bound on an end of an interval, with names as in --json: 'difference.low>=-0.02' "
        "or 'tasks.math.difference.low>=-0.05' (repeatable).",
    ),
    click.Option(
        ["--undecided"],
        type=Known(["pass", "fail"]),
        help="Exit code where it is undecided: 0 or 3.",
    ),
    click.Option(
        ["--summary"],
        type=OUTPUT,
        metavar="FILE.md",
        help="Write a summary for a pull request.",
    ),
    click.Option(
        ["--record"],
        type=click.Path(),
        metavar="FILE.parquet",
        help="Keep the baseline; if the file exists, refuse a test set that has changed.",
    ),
    InputOptions,
    inputs="",
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
