"""``steelyard study power``: how many segments, documents or systems a difference takes."""

from __future__ import annotations

from typing import Any

import click

from steelyard.cli.emit import wants_figure
from steelyard.cli.options import (
    LEVEL,
    Finite,
    InputOptions,
    Names,
    Numbers,
    OutputOptions,
    input_options,
)
from steelyard.cli.progress import progress_of
from steelyard.cli.studyoptions import emit_study, plot_option, study_output
from steelyard.core.errors import UsageError


@click.command(
    epilog="Examples: steelyard study power scores.csv --score chrF --pair A,B; steelyard study "
    "power scores.csv --human mqm --metrics chrF,BLEU --unit system; steelyard study power "
    "--effect 0.1"
)
@click.argument("inputs", nargs=-1, metavar="[INPUT]...")
@click.option("--pair", type=Names(), help="Two systems of a pilot to tell apart, by --score.")
@click.option("--score", metavar="NAME", help="The score that tells the systems of --pair apart.")
@click.option("--with", "by", type=Names(), default="spa,pa", show_default=True,
              help="Meta-metrics that tell two --metrics apart.")  # fmt: skip
@click.option("--metrics", type=Names(), help="Two metrics of a pilot to tell apart; by default "
              "the best two.")  # fmt: skip
@click.option("--effect", type=Finite(), metavar="X",
              help="Without a pilot: mean difference of two systems in standard deviations of "
              "differences.")  # fmt: skip
@click.option("--correlations", type=Numbers(float), help="Without a pilot: of two metrics with "
              "people, and with each other.")  # fmt: skip
@click.option("--test", "tests", type=Names(), help="Tests of two systems: t permutation sign.")
@click.option("--unit", type=click.Choice(["segment", "document", "system"]), default="segment",
              show_default=True, help="What is drawn from a pilot.")  # fmt: skip
@click.option("--difference", type=Finite(), metavar="X",
              help="The difference to find; by default that of the pilot.")  # fmt: skip
@click.option("--sizes", type=Numbers(int), help="Numbers of segments, documents or systems.")
@click.option("--draws", type=click.IntRange(min=10), default=1000, show_default=True, metavar="N",
              help="Draws of each size.")  # fmt: skip
@click.option("--alpha", type=LEVEL, default=0.05, show_default=True, metavar="X",
              help="Level of the tests, two-sided.")  # fmt: skip
@click.option("--power", "target", type=LEVEL, default=0.8, show_default=True,
              metavar="X", help="The power that is wanted.")  # fmt: skip
@plot_option
@input_options
@study_output
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
    from steelyard.studies import power as powers

    wants_figure(output)
    chosen = {"alpha": settings["alpha"], "target": settings["target"]}
    if settings["sizes"] is not None:
        chosen["sizes"] = settings["sizes"]
    if settings["effect"] is not None or settings["correlations"]:
        if inputs:
            raise UsageError("--effect and --correlations do without a pilot: expected no INPUT")
        if settings["tests"]:
            chosen["tests"] = settings["tests"]
        found = powers.power_of_effect(
            settings["effect"], correlations=_three(settings["correlations"]), **chosen
        )
        emit_study(found, plot, output)
        return
    if not inputs:
        raise UsageError("expected a pilot (INPUT), --effect or --correlations")
    es = options.load(inputs)
    chosen |= {"unit": settings["unit"], "difference": settings["difference"],
               "draws": settings["draws"], "rng": output.seed}  # fmt: skip
    with progress_of("drawing", output) as progress:
        if settings["pair"] or settings["score"]:
            if settings["score"] is None or len(settings["pair"] or ()) != 2:
                raise UsageError("expected --score NAME and --pair A,B together")
            if settings["tests"]:
                chosen["tests"] = settings["tests"]
            found = powers.power_of_test(
                es, settings["score"], settings["pair"], progress=progress, **chosen
            )
        else:
            found = powers.power_of_metrics(
                es, options.human, by=settings["by"], metrics=settings["metrics"],
                progress=progress, **chosen,
            )  # fmt: skip
    emit_study(found, plot, output)


def _three(numbers: tuple[float, ...] | None) -> tuple[float, float, float] | None:
    if not numbers:
        return None
    if len(numbers) != 3:
        raise UsageError(f"--correlations: expected three numbers, found {len(numbers)}")
    return numbers[0], numbers[1], numbers[2]
