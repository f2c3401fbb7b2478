"""Studies of designs, as commands: how much it takes."""

from __future__ import annotations

from typing import Any

import click

from steelyard.cli.group import SCORES, command
from steelyard.cli.output import progress_of, wants_figure
from steelyard.cli.params import (
    FileName,
    Finite,
    InputOptions,
    Names,
    Numbers,
    OutputOptions,
    figure_options,
    from_fields,
    given,
    input_options,
)
from steelyard.cli.study.shared import PLOT, emit_study
from steelyard.core.errors import UsageError
from steelyard.studies.metrics.options import (
    META,
)
from steelyard.studies.planning.options import (
    MetricPowerOptions,
    PowerOptions,
    TestPowerOptions,
)


@command(
    shape=SCORES,
    examples=(
        "steelyard study power scores.csv --score chrF --pair A,B",
        "steelyard study power scores.csv --human mqm --metrics chrF,BLEU --unit system",
        "steelyard study power --effect 0.1",
    ),
)
@click.argument("inputs", nargs=-1, type=FileName(), metavar="[INPUT]...")
@click.option("--pair", type=Names(), help="Two systems of a pilot to tell apart, by --score.")
@click.option("--score", metavar="NAME", help="The score that tells the systems of --pair apart.")
@click.option(
    "--by",
    type=Names(),
    default=",".join(META),
    show_default=True,
    help="Meta-metrics that tell two --metrics apart.",
)
@from_fields(MetricPowerOptions, "metrics")
@click.option(
    "--effect",
    type=Finite(),
    metavar="X",
    help="Without a pilot: mean difference of two systems in standard deviations of differences.",
)
@click.option(
    "--correlations",
    type=Numbers(float),
    help="Without a pilot: of two metrics with people, and with each other.",
)
@click.option("--tests", type=Names(), help="Tests of two systems: t permutation sign.")
@from_fields(PowerOptions, "unit", "difference", "sizes")
@click.option(
    "--draws",
    type=click.IntRange(min=10),
    default=1000,
    show_default=True,
    metavar="N",
    help="Draws of each size.",
)
@from_fields(PowerOptions, "alpha", "target")
@PLOT
@input_options
@figure_options
def power(
    inputs: tuple[str, ...],
    plot: tuple[str, ...] | None,
    options: InputOptions,
    output: OutputOptions,
    **settings: Any,
) -> None:
    """Find how many segments, documents or systems it takes to find a difference.

    Of two systems by a test (--score, --pair), of two metrics by a meta-metric (--human), or from
    assumptions (--effect, --correlations).
    """
    from steelyard.studies.planning import power as powers

    wants_figure(output)
    effect, correlations = settings["effect"], settings["correlations"]
    asked = {k: v for k, v in settings.items() if v is not None}  # what is usual differs
    if not settings["tests"]:
        asked.pop("tests", None)
    if effect is not None or correlations:
        if inputs:
            raise UsageError("--effect and --correlations do without a pilot: expected no INPUT")
        if correlations and len(correlations) != 3:
            raise UsageError(f"--correlations: expected three numbers, found {len(correlations)}")
        usual = {k: asked[k] for k in ("alpha", "target", "sizes", "tests") if k in asked}
        found = powers.power_of_effect(effect, correlations=correlations or None, **usual)
        emit_study(found, plot, output)
        return
    if not inputs:
        raise UsageError("expected a pilot (INPUT), --effect or --correlations")
    if not given("unit"):
        asked.pop("unit")  # what is usual differs for systems and metrics
    es = options.by_unit(settings["unit"]).load(inputs)
    with progress_of("drawing", output) as progress:
        how: dict[str, Any] = {"rng": output.seed, "progress": progress}
        score, pair = settings["score"], settings["pair"]
        if pair or score:
            if score is None or len(pair or ()) != 2:
                raise UsageError("expected --score NAME and --pair A,B together")
            how["options"] = TestPowerOptions.of(asked)
            found = powers.power_of_test(es, score, pair, **how)
        else:
            how["options"] = MetricPowerOptions.of(asked)
            found = powers.power_of_metrics(es, options.human, by=settings["by"], **how)
    emit_study(found, plot, output)
