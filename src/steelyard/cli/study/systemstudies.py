"""Studies of rankings, as commands."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from steelyard.cli.group import SCORES, command
from steelyard.cli.output import wants_figure, workers_with_progress
from steelyard.cli.params import (
    InputOptions,
    Names,
    OutputOptions,
    figure_options,
    from_fields,
    input_options,
    need_inputs,
    worker_options,
)
from steelyard.cli.study.shared import EACH, INPUTS, PLOT, each_set, emit_study
from steelyard.studies.systems.options import (
    Design,
    DisagreementOptions,
)

if TYPE_CHECKING:
    from steelyard.core.parallel import Workers


@command(
    examples=(
        "steelyard study simulation --repeats 100 --out curves.csv",
        "steelyard study simulation --by mean,median,bt,elo,trueskill",
    ),
)
@from_fields(Design)
@PLOT
@figure_options
@worker_options
def simulation(
    plot: tuple[str, ...] | None, output: OutputOptions, workers: Workers, **settings: Any
) -> None:
    """Simulate scores of systems of known strength, and see which ranking finds their order.

    Mean, median and Bradley-Terry are judged by Kendall's tau, as in Figure 3 of the
    paired-evaluation paper; Elo and TrueSkill, too, if --by names them.
    """
    from steelyard.studies.systems.simulation import simulate

    design = Design(**settings)
    wants_figure(output)
    with workers_with_progress("simulating", workers, output) as shown:
        found = simulate(design, rng=output.seed, workers=shown)
    emit_study(found, plot, output)


@command(
    shape=SCORES,
    examples=(
        "steelyard study disagreement scores.csv",
        "steelyard study disagreement tac.csv.gz --each year --by mean,bt",
    ),
)
@INPUTS
@click.option("--score", "scores", type=Names(), help="Only these scores.")
@EACH
@from_fields(DisagreementOptions, "by", "top", "sizes", "draws", "ties", "tolerance", "prior")
@from_fields(DisagreementOptions, "orders", "tests", "alpha")
@PLOT
@input_options
@figure_options
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
    from steelyard.studies.systems.disagreement import disagree

    need_inputs(inputs)
    wants_figure(output)
    sets = each_set(inputs, each, options) if each else options.load(inputs)
    with workers_with_progress("ranking", workers, output) as shown:
        found = disagree(sets, rng=output.seed, workers=shown, **settings)
    emit_study(found, plot, output)
