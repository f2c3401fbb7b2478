"""``steelyard judge``: which judge can be trusted, and what can be concluded with it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING, Any

import click

from steelyard.cli.engine import Answer, Call, command, typed_option
from steelyard.cli.group import VERDICTS, LazyGroup, Question
from steelyard.cli.params import PAIR, ROWS, SUFFIXES, TABLES, DetailsOptions, options_of
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
_BUDGET = 50  # labels that are proposed
_HEADINGS = {
    "Who is who": "human judge judges own covariates",
    "How verdicts are read": "words swapped",
    "What is wanted": "by pair labels half_width kappa budget",
    "How it is computed": "unit unparsed alt_epsilon level draws",
}
_OWN = click.Option(
    ["--own"],
    type=PAIR,
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
        is_question = bool(args) and args[0] in self.commands
        return super().parse_args(ctx, args if is_question else [CARD, *args])


def _question(
    options: type[ReadOptions],
    *more: Any,
    inputs: str = "FILES...",
    without: Collection[str] = (),
    **settings: Any,
) -> Callable[[Callable[[Call], Answer]], Question]:
    """Make a command of options, but those left out."""
    made = [option for option in options_of(options) if option.name not in without]
    if issubclass(options, BiasOptions):
        made.append(_OWN)
    parts = {"headings": _HEADINGS, "shape": VERDICTS, **settings}
    return command(made, ROWS, *more, inputs=inputs, **parts)


@_question(
    JudgeOptions,
    DetailsOptions,
    click.Option(
        ["--require"],
        multiple=True,
        metavar="EXPR",
        help="What every judge must meet, about an end of an interval, with names as in --json: "
        "'kappa.low>=0.4' (repeatable). Exit code 3 if one fails, 4 if one is undecided.",
    ),
    plots=" ".join(PLOTS),
    hidden="seed jobs",
    cls=_Usage,
    examples=(
        "steelyard judge verdicts.csv --human expert",
        "steelyard judge verdicts.csv labels.csv --human rater1,rater2 --judges gpt,claude",
        "steelyard judge verdicts.csv --human expert --require 'kappa.low>=0.4'",
    ),
)
def card(call: Call) -> Answer:
    """Compare judges with annotators: which can be trusted, where they err, what to do.

    FILES hold verdicts on outputs (columns system and item) or on pairs of outputs (left and
    right), with a column for each judge and each annotator, who may have labelled few rows; or a
    row for each, with a column judge or rater. Labels may be in a file of their own.
    """
    from steelyard.judging.report import judge as compare_judges

    figures, settings = call.figures(PLOTS), call.settings
    _, details = settings.pop("plot"), settings.pop("details")
    report = compare_judges(*call.inputs, **settings)
    return Answer(
        result=report,
        words=() if details else None,
        shown=report.pieces(details=details),
        figures=figures,
        draw=report.plot,
        then=_next(call, report),
        code=report.exit_code,
    )


def _next(call: Call, report: JudgeReport) -> str | None:
    """Propose what fits the classes: correct by labels, plan more of them, or look at biases."""
    from steelyard.judging.report import TOO_LITTLE

    best = report.best_with_labels()
    question, name = "judge bias", None
    if best is not None and not report.verdicts.labelled.all():
        question, name = "judge correct", best.name
    elif report.cards and all(verdict.word == TOO_LITTLE for verdict in report.decisions):
        question, name = "judge plan", report.cards[0].name
    if name is None:
        return call.another(question, keep=_READING)
    option = typed_option("--judge", name)
    return call.another(question, *option, keep=_READING - {"judges"})


@_question(
    BiasOptions,
    DetailsOptions,
    hidden="seed jobs",
    examples=(
        "steelyard judge bias battles.csv --human vote",
        "steelyard judge bias battles.csv --human vote --own 'gpt-4=gpt-*'",
    ),
)
def bias(call: Call) -> Answer:
    """Measure what biases judges beyond annotators: position, length, their own family, covariates.

    Errors (judge minus annotators) are regressed on all covariates at once, on labelled rows.
    """
    from steelyard.judging.bias import judge_bias

    details = call.settings.pop("details")
    report = judge_bias(*call.inputs, **call.settings)
    return Answer(result=report, words=report.sentences if details else report.answer())


@_question(
    CorrectOptions,
    without=["judges"],
    examples=(
        "steelyard judge correct verdicts.csv --human expert --judge gpt",
        "steelyard judge correct battles.csv --human vote --judge gpt --by bt",
    ),
)
def correct(call: Call) -> Answer:
    """Estimate what annotators would say about all rows, from few labels and a judge's verdicts.

    Labels correct the judge's errors (prediction-powered inference), for every system and every
    pair of systems, by means or by Bradley-Terry strengths, with tiers and ranks.
    """
    from steelyard.judging.correction import correct as run

    return Answer(result=run(*call.inputs, rng=call.output.seed, **call.settings))


@_question(
    PlanOptions,
    without=["judges"],
    suffixes=(*SUFFIXES, *TABLES),
    examples=(
        "steelyard judge plan verdicts.csv --human expert --judge gpt --half-width 0.03",
        "steelyard judge plan verdicts.csv --human expert --judge gpt --budget 50 --out next.csv",
    ),
)
def plan(call: Call) -> Answer:
    """Say how many labels are needed, and which rows to label next.

    With --budget N, --out FILE.csv (.tsv, .jsonl, .parquet) writes all rows with the probability
    that each had of being chosen, and which to label next. Fill in the labels; then judge correct
    --labels probability:probability reads the file as it is.
    """
    from steelyard.formats import tables
    from steelyard.judging.plan import plan_labels

    result = plan_labels(*call.inputs, rng=call.output.seed, **call.settings)
    out, writes, then = call.out(TABLES), [], None
    if result.rows is not None:
        columns = result.rows.to_columns()
        writes.append((out, lambda path: tables.write(path, columns)))
    elif out is not None and files.suffix(out) not in SUFFIXES:
        raise UsageError(f"--out {out}: rows to label are those of --budget N")
    left = result.n_judged - result.n_labelled
    if result.rows is None and left > 0:
        then = call.again("--budget", str(min(_BUDGET, left)), "--out", "to-label.csv")
    shown: Sequence[Any] | None = None if result.needs else []
    return Answer(result=result, shown=shown, writes=writes, then=then)


@_question(
    DriftOptions,
    inputs="OLD NEW [LABELS]...",
    hidden="seed jobs",
    examples=(
        "steelyard judge drift old.csv new.csv --human expert",
        "steelyard judge drift old.csv new.csv labels.csv --human expert",
    ),
)
def drift(call: Call) -> Answer:
    """Test whether the new version of a judge is better than the old one, by annotators.

    OLD and NEW hold verdicts on the same rows, LABELS those of annotators, unless OLD and NEW do.
    """
    from steelyard.judging.drift import judge_drift

    if len(call.inputs) < 2:
        example = "steelyard judge drift old.csv new.csv --human expert"
        raise UsageError(f"expected the old and the new verdicts; for example: {example}")
    return Answer(result=judge_drift(*call.inputs, **call.settings))


judge = WithDefault(
    name="judge",
    help="Compare judges with annotators.",
    commands=[card, bias, correct, plan, drift],
    add_help_option=False,
)
