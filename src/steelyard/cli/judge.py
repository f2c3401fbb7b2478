"""``steelyard judge``: which judge can be trusted, and what can be concluded with it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from difflib import get_close_matches
from functools import partial, reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from steelyard.cli import proposals
from steelyard.cli.group import VERDICTS, LazyGroup, Question
from steelyard.cli.output import emit, plot_option, wanted_figures, write_figures
from steelyard.cli.params import (
    FIGURES,
    ROWS,
    SUFFIXES,
    TABLES,
    F,
    Known,
    OutputOptions,
    Pair,
    arguments,
    details_option,
    from_fields,
    output_options,
    settled_options,
)
from steelyard.core.errors import UsageError
from steelyard.formats import files
from steelyard.judging.options import (
    BiasOptions,
    CorrectOptions,
    DriftOptions,
    JudgeOptions,
    PlanOptions,
    ReadOptions,
)

if TYPE_CHECKING:
    from steelyard.judging.report import JudgeReport

CARD = "card"
PLOTS = ("agreement", "gaps", "confusion", "bias", "labels")  # what report.figures.judges draws
_READING = frozenset((*ReadOptions.declared(), "where", "columns"))
_WHO = ("human", "judge", "judges", "own", "covariates")
_UNDECIDED = {"pass": 0, "fail": 3}
_BUDGET = 50  # labels that are proposed
_OWN = click.option(
    "--own",
    type=Pair(),
    multiple=True,
    metavar="JUDGE=PATTERN",
    help="Systems of a judge's family, such as 'gpt-4=gpt-*|o1-*' (repeatable).",
)


class _Usage(Question):
    """A command that is called by the name of its group."""

    def format_usage(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Leave out the name that nobody need type."""
        name = ctx.parent.command_path if ctx.parent is not None else ctx.command_path
        formatter.write_usage(name, " ".join(self.collect_usage_pieces(ctx)))

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the other questions before the examples."""
        with formatter.section("Further questions (steelyard judge QUESTION --help)"):
            formatter.write_dl(list(judge.about().items()))
        super().format_epilog(ctx, formatter)


class WithDefault(LazyGroup):
    """A group whose first argument may be a file: then the card is asked for."""

    def about(self) -> dict[str, str]:
        """Return the questions, without the card, which nobody need name."""
        return {name: line for name, line in super().about().items() if name != CARD}

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Put the name of the card before what is no question."""
        if args[:1] == ["help"]:
            args = [*args[1:], "--help"]
        if not args or args[0] not in self.commands:
            if args and not args[0].startswith("-") and not Path(args[0]).exists():
                close = get_close_matches(args[0], self.about(), 1)
                if close:
                    raise click.UsageError(
                        f"no file '{args[0]}', and no question of this name; did you mean "
                        f"'{close[0]}'?"
                    )
            args = [CARD, *args]
        return super().parse_args(ctx, args)


@click.group(cls=WithDefault, add_help_option=False)
def judge() -> None:
    """Compare judges with annotators."""


def _question(
    options: type[ReadOptions], *examples: str, headings: dict[str, str], files: str = "FILES...",
    cls: type[Question] = Question,
) -> Callable[[F], click.Command]:  # fmt: skip
    """Make a command of options: those for reading first, then the rest in their order."""
    names = list(options.declared())
    if "judge" in names:  # it names the judge
        names.remove("judges")
    declared = ReadOptions.declared()
    parts: list[Callable[[Any], Any]] = [
        arguments(files),
        from_fields(options, *(name for name in names if name in declared and name != "ignore")),
        ROWS,
        from_fields(options, "ignore", *(name for name in names if name not in declared)),
    ]  # fmt: skip
    if issubclass(options, BiasOptions):
        parts.append(_OWN)

    def made(function: F) -> click.Command:
        decorated = reduce(lambda made, part: part(made), reversed(parts), function)
        known = [name for name in _WHO if name in names or (name == "own" and _OWN in parts)]
        shown = {"Who is who": " ".join(known), "How verdicts are read": "words swapped"}
        return judge.command(cls=cls, headings=shown | headings, shape=VERDICTS, examples=examples)(
            decorated
        )

    return made


@_question(
    JudgeOptions,
    "steelyard judge verdicts.csv --human expert",
    "steelyard judge verdicts.csv labels.csv --human rater1,rater2 --judges gpt,claude",
    "steelyard judge verdicts.csv --human expert --require 'kappa.low>=0.4'",
    headings={
        "How they are compared": "unit unparsed alt_epsilon level details",
        "A gate": "require undecided",
    },
    cls=_Usage,
)
@details_option
@click.option(
    "--require",
    multiple=True,
    metavar="EXPR",
    help="What every judge must meet, about an end of an interval, with names as in --json: "
    "'kappa.low>=0.4' (repeatable). Exit code 3 if one fails, 4 if one is undecided.",
)
@click.option(
    "--undecided",
    type=Known(list(_UNDECIDED)),
    help="Let requirements that are undecided pass (exit code 0), or fail (3).",
)
@plot_option(PLOTS)
@partial(settled_options, suffixes=(*SUFFIXES, *FIGURES))
def card(
    inputs: tuple[str, ...],
    require: tuple[str, ...],
    undecided: str | None,
    output: OutputOptions,
    *,
    details: bool,
    **settings: Any,
) -> int:
    """Compare judges with annotators: which can be trusted, where they err, what to do.

    FILES hold verdicts on outputs (columns system and item) or on pairs of outputs (left and
    right), with a column for each judge and each annotator, who may have labelled few rows; or a
    row for each, with a column judge or rater. Labels may be in a file of their own.
    """
    from steelyard.judging.report import EXIT_UNDECIDED
    from steelyard.judging.report import judge as compare_judges

    plots = wanted_figures(settings.pop("plot"), output, PLOTS)
    report = compare_judges(*inputs, require=require, **settings)
    output = write_figures(plots, report.plot, output)
    shown = report.pieces(details=details)
    words = () if details else report.answer()
    emit(report, [report.table()], output, words=words, shown=shown, then=_next(report))
    code = report.exit_code
    if code == EXIT_UNDECIDED and undecided is not None:
        return _UNDECIDED[undecided]
    return code


def _next(report: JudgeReport) -> str | None:
    """Propose what fits the classes: correct by labels, plan more of them, or look at biases."""
    from steelyard.judging.report import TOO_LITTLE

    best = report.best_with_labels()
    question, name = "judge bias", None
    if best is not None and not report.verdicts.labelled.all():
        question, name = "judge correct", best.name
    elif report.cards and all(verdict.word == TOO_LITTLE for verdict in report.decisions):
        question, name = "judge plan", report.cards[0].name
    if name is None:
        return proposals.another(question, keep=_READING)
    option = proposals.option("--judge", proposals.names(name))
    return proposals.another(question, *option, keep=_READING - {"judges"})


@_question(
    BiasOptions,
    "steelyard judge bias battles.csv --human vote",
    "steelyard judge bias battles.csv --human vote --own 'gpt-4=gpt-*'",
    headings={"What to look at": "unit level details"},
)
@details_option
@settled_options
def bias(inputs: tuple[str, ...], output: OutputOptions, *, details: bool, **settings: Any) -> None:
    """Measure what biases judges beyond annotators: position, length, their own family, covariates.

    Errors (judge minus annotators) are regressed on all covariates at once, on labelled rows.
    """
    from steelyard.judging.bias import judge_bias

    report = judge_bias(*inputs, **settings)
    words = report.sentences if details else report.answer()
    emit(report, [report.table()], output, words=words)


@_question(
    CorrectOptions,
    "steelyard judge correct verdicts.csv --human expert --judge gpt",
    "steelyard judge correct verdicts.csv --human expert --judge gpt --labels by:verdict",
    "steelyard judge correct battles.csv --human vote --judge gpt --by bt",
    headings={"What to estimate": "by pair labels", "Intervals": "unit level draws"},
)
@output_options
def correct(inputs: tuple[str, ...], output: OutputOptions, **settings: Any) -> None:
    """Estimate what annotators would say about all rows, from few labels and a judge's verdicts.

    Labels correct the judge's errors (prediction-powered inference), for every system and every
    pair of systems, by means or by Bradley-Terry strengths, with tiers and ranks.
    """
    from steelyard.judging.correction import correct as run

    result = run(*inputs, rng=output.seed, **settings)
    emit(result, [result.table()], output, shown=result.pieces())


@_question(
    PlanOptions,
    "steelyard judge plan verdicts.csv --human expert --judge gpt --half-width 0.03",
    "steelyard judge plan verdicts.csv --human expert --judge gpt --budget 50 --out next.csv",
    headings={
        "What is wanted": "half_width kappa budget",
        "Intervals": "unit level",
    },
)
@partial(output_options, suffixes=tuple(dict.fromkeys((*SUFFIXES, *TABLES))))
def plan(inputs: tuple[str, ...], output: OutputOptions, **settings: Any) -> None:
    """Say how many labels are needed, and which rows to label next.

    With --budget N, --out FILE.csv (.tsv, .jsonl, .parquet) writes all rows with the probability
    that each had of being chosen, and which to label next. Fill in the labels; then judge correct
    --labels probability:probability reads the file as it is.
    """
    from steelyard.formats import tables
    from steelyard.judging.plan import plan_labels

    result = plan_labels(*inputs, rng=output.seed, **settings)
    out, wrote, then = output.out, [], None
    if out is not None and files.suffix(out) in TABLES and result.rows is not None:
        tables.write(out, result.rows.to_columns())
        wrote.append(out)
        output = replace(output, out=None)
    elif out is not None and files.suffix(out) in set(TABLES) - set(SUFFIXES):
        raise UsageError(f"--out {out}: rows to label are those of --budget N")
    left = result.n_judged - result.n_labelled
    if result.rows is None and left > 0:
        then = proposals.again("--budget", str(min(_BUDGET, left)), "--out", "to-label.csv")
    table = result.table()
    emit(result, [table], output, shown=[table] if result.needs else [], wrote=wrote, then=then)


@_question(
    DriftOptions,
    "steelyard judge drift old.csv new.csv --human expert",
    "steelyard judge drift old.csv new.csv labels.csv --human expert",
    headings={"How they are compared": "unit level"},
    files="OLD NEW [LABELS]...",
)
@settled_options
def drift(inputs: tuple[str, ...], output: OutputOptions, **settings: Any) -> None:
    """Test whether the new version of a judge is better than the old one, by annotators.

    OLD and NEW hold verdicts on the same rows, LABELS those of annotators, unless OLD and NEW do.
    """
    from steelyard.judging.drift import judge_drift

    if len(inputs) < 2:
        example = "steelyard judge drift old.csv new.csv --human expert"
        raise UsageError(f"expected the old and the new verdicts; for example: {example}")
    report = judge_drift(*inputs, **settings)
    emit(report, [report.table()], output)
