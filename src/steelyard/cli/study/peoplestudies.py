"""Studies of people, as commands: what they call equal."""

from __future__ import annotations

from typing import Any

import click

from steelyard.cli.group import RATINGS, command
from steelyard.cli.output import wants_figure
from steelyard.cli.params import (
    FileName,
    InputOptions,
    OutputOptions,
    figure_options,
    from_fields,
    input_options,
    need_inputs,
)
from steelyard.cli.study.shared import PLOT, emit_study
from steelyard.studies.people.options import ThresholdOptions

_INPUTS = click.argument("inputs", nargs=-1, type=FileName(), metavar="RATINGS...")


@command(
    shape=RATINGS,
    examples=(
        "steelyard study threshold ratings.csv --unit rater",
        "steelyard study threshold scores.csv texts.jsonl --human esa",
    ),
)
@_INPUTS
@from_fields(ThresholdOptions)
@PLOT
@input_options
@figure_options
def threshold(
    inputs: tuple[str, ...],
    plot: tuple[str, ...] | None,
    options: InputOptions,
    output: OutputOptions,
    **settings: Any,
) -> None:
    """Estimate how wide a tie of people is, from what they give to outputs that are equal.

    RATINGS are raw ratings, whose repeats and several raters tell, with texts that tell identical
    outputs; or scores (--human) with texts.
    """
    from steelyard.studies.people.judgedsets import read_judged
    from steelyard.studies.people.threshold import study_threshold

    need_inputs(inputs)
    wants_figure(output)
    asked = ThresholdOptions(**settings)
    read = read_judged(inputs, options, unit=asked.unit, who=asked.raters)
    found = study_threshold(read, options.human, options=asked, rng=output.seed)
    emit_study(found, plot, output)
