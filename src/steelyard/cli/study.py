"""``steelyard study``: whether the verdict survives other data and other rankings."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from steelyard.cli import studymeta, studypower
from steelyard.cli.emit import wants_figure
from steelyard.cli.options import (
    LEVEL,
    InputOptions,
    Names,
    Numbers,
    OutputOptions,
    Real,
    input_options,
    need_inputs,
    worker_options,
)
from steelyard.cli.progress import workers_with_progress
from steelyard.cli.studyoptions import emit_study, plot_option, study_output

if TYPE_CHECKING:
    from steelyard.core.parallel import Workers
    from steelyard.data.evalset import EvalSet


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def study() -> None:
    """See whether a verdict survives other data and other rankings."""


for command in (*studymeta.COMMANDS, studypower.power):
    study.add_command(command)


@study.command(epilog="Example: steelyard study simulation --repeats 100 --out curves.csv")
@click.option("--types", type=Numbers(int), default="1,3,5,10", show_default=True,
              help="Numbers of types of segments.")  # fmt: skip
@click.option("--outliers", type=Numbers(float), default="0,0.01,0.025", show_default=True,
              help="Shares of outliers.")  # fmt: skip
@click.option("--systems", type=Numbers(int), default="2,3,5,10,25,50", show_default=True,
              help="Numbers of systems.")  # fmt: skip
@click.option("--segments", type=Numbers(int), default="10,30,100,200", show_default=True,
              help="Numbers of segments.")  # fmt: skip
@click.option("--repeats", type=click.IntRange(min=1), default=10, show_default=True, metavar="N",
              help="Data sets of each combination.")  # fmt: skip
@click.option("--noise", type=Real(min=0), default=1.0, show_default=True, metavar="X",
              help="Deviation of the noise.")  # fmt: skip
@click.option("--outlier-kind", type=click.Choice(["reversed", "permuted"]), default="reversed",
              show_default=True, help="Outliers: ordered against the strengths, or scores swapped "
              "among systems.")  # fmt: skip
@plot_option
@study_output
@worker_options
def simulation(
    plot: tuple[str, ...] | None, output: OutputOptions, workers: Workers, **settings: Any
) -> None:
    """Simulate scores of systems of known strength, and see which ranking finds their order.

    Mean, median and Bradley-Terry are judged by Kendall's tau, as in Figure 3 of the
    paired-evaluation paper.
    """
    from steelyard.studies.simulation import Design, simulate

    design = Design(**settings)
    wants_figure(output)
    with workers_with_progress("simulating", workers, output) as shown:
        found = simulate(design, rng=output.seed, workers=shown)
    emit_study(found, plot, output)


@study.command(
    epilog="Examples: steelyard study disagreement scores.csv; "
    "steelyard study disagreement tac.csv.gz --each year --by mean,bt"
)
@click.argument("inputs", nargs=-1, metavar="INPUT...")
@click.option("--score", "scores", type=Names(), help="Only these scores.")
@click.option("--each", metavar="COLUMN", help="One set for every value of this column.")
@click.option("--by", type=Names(), default="mean,median,bt", show_default=True,
              help="Rankings: mean median bt elo trueskill.")  # fmt: skip
@click.option("--top", type=click.IntRange(min=1), default=3, show_default=True, metavar="N",
              help="How many systems are the top.")  # fmt: skip
@click.option("--sizes", type=Numbers(int), default="10,50,100,500,1000,5000", show_default=True,
              help="Numbers of segments to sample, as far as a set has more.")  # fmt: skip
@click.option("--draws", type=click.IntRange(min=1), default=20, show_default=True, metavar="N",
              help="Samples of each size.")  # fmt: skip
@click.option("--ties", type=click.Choice(["half", "drop", "davidson", "rao-kupper", "second"]),
              default="half", show_default=True,
              help="What ties are to Bradley-Terry.")  # fmt: skip
@click.option("--tolerance", type=Real(min=0), default=0.0, show_default=True,
              metavar="X", help="Differences of at most this are ties.")  # fmt: skip
@click.option("--prior", type=Real(min=0), default=0.0, show_default=True, metavar="X",
              help="Wins and losses against an imaginary opponent, for Bradley-Terry.")  # fmt: skip
@click.option("--orders", type=click.IntRange(min=0), default=100, show_default=True, metavar="N",
              help="Random orders that Elo and TrueSkill are averaged over; 0: as in the "
              "file.")  # fmt: skip
@click.option("--test", "tests", type=Names(), default="t,mood,sign,wilcoxon", show_default=True,
              help="Tests whose verdicts are compared.")  # fmt: skip
@click.option("--alpha", type=LEVEL, default=0.05, show_default=True, metavar="X",
              help="Level of the tests.")  # fmt: skip
@plot_option
@input_options
@study_output
@worker_options
def disagreement(
    inputs: tuple[str, ...],
    each: str | None,
    plot: tuple[str, ...] | None,
    options: InputOptions,
    output: OutputOptions,
    workers: Workers,
    **settings: Any,
) -> None:
    """See how often mean, median, Bradley-Terry, Elo and TrueSkill disagree.

    On pairs of systems, on the best, and on the top; by score, by set, by the number of segments;
    and which tests find the same differences.
    """
    from steelyard.studies.disagreement import disagree

    need_inputs(inputs)
    wants_figure(output)
    sets = _each(inputs, each, options) if each else options.load(inputs)
    with workers_with_progress("ranking", workers, output) as shown:
        found = disagree(sets, rng=output.seed, workers=shown, **settings)
    emit_study(found, plot, output)


def _each(inputs: tuple[str, ...], column: str, options: InputOptions) -> dict[str, EvalSet]:
    """Load a set for every value of a column."""
    from steelyard.formats.load import column_values

    values = column_values(*inputs, column=column)
    return {
        value: replace(options, where=(*options.where, (column, value))).load(inputs)
        for value in values
    }
