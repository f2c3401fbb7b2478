"""``steelyard judge``: which judge deserves to be believed, and what may be concluded with it."""

from __future__ import annotations

import math
from collections.abc import Callable
from difflib import get_close_matches
from functools import partial, reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from steelyard.cli import following
from steelyard.cli.emit import emit, plot_option, wanted_figures, write_figures
from steelyard.cli.fields import from_fields
from steelyard.cli.helping import VERDICTS, Question, command
from steelyard.cli.lazy import LazyGroup
from steelyard.cli.options import (
    COLUMNS,
    FIGURES,
    SUFFIXES,
    F,
    OutputOptions,
    need_inputs,
    settled_options,
)
from steelyard.cli.values import FileName, Known, Pair
from steelyard.judging.options import JudgeOptions, ReadOptions

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from steelyard.judging.results import JudgeReport

_MORE = "steelyard.cli.judgemore"
#: name: (module:function, one line of help); what is none of them is a file, and goes to the card.
QUESTIONS = {
    "bias": (f"{_MORE}:bias", "What sways it beyond people, and where does it agree less?"),
    "correct": (f"{_MORE}:correct", "What would people say of my systems, from few labels?"),
    "plan": (f"{_MORE}:plan", "How many labels do I need, and of which rows?"),
    "drift": (f"{_MORE}:drift", "Is the new version of a judge better than the old one?"),
}
CARD = "card"
PLOTS = ("agreement", "gaps", "confusion", "bias", "labels")  # what judgefigures draws
_READING = frozenset((*ReadOptions.declared(), "where", "columns"))
_UNDECIDED = {"pass": 0, "fail": 3}
OWN = click.option(
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
            formatter.write_dl([(name, about) for name, (_, about) in QUESTIONS.items()])
        super().format_epilog(ctx, formatter)


class _Files(FileName):
    """Files of the card, or the name of a question in their place."""

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """Complete questions as long as no file is named, and leave files to the shell."""
        from click.shell_completion import CompletionItem

        begun = bool(ctx.params.get("inputs"))
        asked = [] if begun else [name for name in QUESTIONS if name.startswith(incomplete)]
        items = [CompletionItem(name, help=QUESTIONS[name][1]) for name in asked]
        return [*items, *super().shell_complete(ctx, param, incomplete)]


class WithDefault(LazyGroup):
    """A group whose first argument may be a file: then it is the card that is asked for."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Put the name of the card before what is no question."""
        if args[:1] == ["help"]:
            args = [*args[1:], "--help"]
        if not args or (args[0] not in self.lazy and args[0] != CARD):
            if args and not args[0].startswith("-") and not Path(args[0]).exists():
                self._meant(args[0])
            args = [CARD, *args]
        return super().parse_args(ctx, args)

    def _meant(self, word: str) -> None:
        """Refuse what is no file and looks like a question."""
        close = get_close_matches(word, self.lazy, 1)
        if close:
            raise click.UsageError(
                f"no file '{word}', and no question of this name; did you mean '{close[0]}'?"
            )

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command; the card stands here."""
        return card if cmd_name == CARD else super().get_command(ctx, cmd_name)

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        """Find the card, or a question."""
        if args and args[0] == CARD:
            return CARD, card, args[1:]
        return super().resolve_command(ctx, args)


@click.group(
    cls=WithDefault,
    lazy=QUESTIONS,
    context_settings={"help_option_names": ["-h", "--help"]},
    add_help_option=False,
)
def judge() -> None:
    """Weigh judges against people."""


def reading(*names: str) -> Callable[[F], F]:
    """Add the options by which files of verdicts are read; ``names`` are those of their fields."""
    where = click.option(
        "--where", type=Pair(), multiple=True, help="Keep only rows with this value (repeatable)."
    )
    fields = names or tuple(ReadOptions.declared())
    before = tuple(name for name in fields if name != "ignore")

    def added(command: F) -> F:
        options = (from_fields(ReadOptions, *before), where, COLUMNS,
                   from_fields(ReadOptions, "ignore"))  # fmt: skip
        return reduce(lambda own, option: option(own), reversed(options), command)

    return added


INPUTS = click.argument("inputs", nargs=-1, type=FileName(), metavar="FILES...")


@command(
    cls=_Usage,
    headings={
        "Who is who": "human judges own covariates",
        "How verdicts are read": "words swapped",
        "How they are weighed": "unit unparsed alt_epsilon level",
        "A gate": "require undecided baseline",
    },
    shape=VERDICTS,
    examples=(
        "steelyard judge verdicts.csv --human expert",
        "steelyard judge verdicts.csv labels.csv --human rater1,rater2 --judges gpt,claude",
        "steelyard judge verdicts.csv --human expert --require 'kappa.low>=0.4'",
    ),
)
@click.argument("inputs", nargs=-1, type=_Files(), metavar="FILES...")
@reading()
@from_fields(JudgeOptions, "unparsed", "alt_epsilon")
@OWN
@from_fields(JudgeOptions, "level")
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
@click.option(
    "--baseline",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="An old card (--out FILE.json): how far agreement moved since, as drift.kappa.",
)
@plot_option(PLOTS)
@partial(settled_options, suffixes=(*SUFFIXES, *FIGURES))
def card(
    inputs: tuple[str, ...],
    require: tuple[str, ...],
    undecided: str | None,
    baseline: Path | None,
    output: OutputOptions,
    **settings: Any,
) -> int:
    """Weigh judges against people: who deserves to be believed, where it errs, what to do.

    FILES hold verdicts on outputs (columns system and item) or on pairs of outputs (left and
    right), with a column for each judge and for each person, who may have labelled few rows; or a
    row for each, with a column judge or rater. Labels may stand in a file of their own.
    """
    from steelyard.judging.results import EXIT_UNDECIDED
    from steelyard.judging.run import judge as weigh

    need_inputs(inputs, "steelyard judge verdicts.csv --human expert")
    plots = wanted_figures(settings.pop("plot"), output, PLOTS)
    report = weigh(*inputs, require=require, baseline=baseline, **settings)
    output = write_figures(plots, report.plot, output)
    emit(report, [report.table()], output, shown=report.pieces(), then=_next(report))
    code = report.exit_code
    if code == EXIT_UNDECIDED and undecided is not None:
        return _UNDECIDED[undecided]
    return code


def _next(report: JudgeReport) -> str | None:
    """Correct by labels what can be corrected; of other judges, see what sways them."""
    from steelyard.judging.verdict import BELIEVE

    known = [card for card in report.cards if not math.isnan(card.worth)]
    believed = any(own.word == BELIEVE for own in report.decisions)
    if believed or not known or report.verdicts.labelled.all():
        return following.another("judge bias", keep=_READING)
    best = max(known, key=lambda card: (card.worth, card.name))
    judge = following.option("--judge", following.names(best.name))
    return following.another("judge correct", *judge, keep=_READING - {"judges"})
