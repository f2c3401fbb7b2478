"""``steelyard study``: whether the verdict survives other data, other metrics, other rankings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from steelyard.cli.emit import emit, progress_of, wants_figure, workers_with_progress
from steelyard.cli.fields import from_fields
from steelyard.cli.options import (
    F,
    Finite,
    InputOptions,
    Names,
    Numbers,
    OutputOptions,
    figure_options,
    given,
    input_options,
    need_inputs,
    worker_options,
)
from steelyard.core.errors import UsageError
from steelyard.core.options import Options
from steelyard.studies.options import (
    META,
    Design,
    DisagreementOptions,
    DistinctOptions,
    MetricPowerOptions,
    PowerOptions,
    SegmentsOptions,
    SentinelOptions,
    SystemsOptions,
    TestPowerOptions,
    TiesOptions,
    UnitsOptions,
)

if TYPE_CHECKING:
    from steelyard.core.parallel import Workers
    from steelyard.data.evalset import EvalSet
    from steelyard.studies.results import Study

_INPUTS = click.argument("inputs", nargs=-1, metavar="INPUT...")
_PLOT = click.option(
    "--plot", type=Names(), help="Curves that a figure shows, by name; all by default."
)


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def study() -> None:
    """See whether a verdict survives other data and other rankings."""


def _emit(found: Study, plot: tuple[str, ...] | None, output: OutputOptions) -> None:
    """Print and write a study; a figure has the chosen curves."""
    curves = found.curves if plot is None else [found.curve(name) for name in plot]

    def draw() -> Any:
        from steelyard.report.figures.curves import draw_curves

        return draw_curves(curves)

    emit(found.to_dict(), list(found.tables.values()), output, draw=draw)


def _plain(command: F) -> F:
    return command


def _meta_command(
    cls: type[Options], example: str, *, plots: bool = True
) -> Callable[[Callable[[], tuple[str, Callable[..., Study]]]], click.Command]:
    """Make a command of a study of meta-evaluations, from its title and its function."""

    def made(asked: Callable[[], tuple[str, Callable[..., Study]]]) -> click.Command:
        @study.command(asked.__name__, epilog=f"Example: {example}", help=asked.__doc__)
        @_INPUTS
        @click.option("--with", "by", type=Names(), default=",".join(META), show_default=True,
                      help="Meta-metrics, as for steelyard meta.")  # fmt: skip
        @from_fields(cls)
        @(_PLOT if plots else _plain)
        @input_options
        @figure_options
        def command(
            inputs: tuple[str, ...],
            by: tuple[str, ...],
            options: InputOptions,
            output: OutputOptions,
            plot: tuple[str, ...] | None = None,
            **settings: Any,
        ) -> None:
            title, run = asked()
            need_inputs(inputs)
            wants_figure(output)
            es = options.load(inputs)
            how: dict[str, Any] = {"by": by, "options": cls(**settings), "rng": output.seed}
            with progress_of(title, output) as progress:
                found = run(es, options.human, progress=progress, **how)
            _emit(found, plot, output)

        return command

    return made


@_meta_command(
    SystemsOptions,
    "steelyard study systems scores.csv --human mqm --with spa,pa,pearson --out systems.svg",
)
def systems() -> tuple[str, Callable[..., Study]]:
    """Drop systems, and see how well values and ranks of the metrics survive."""
    from steelyard.studies.ablations import ablate_systems

    return "dropping systems", ablate_systems


@_meta_command(
    SegmentsOptions,
    "steelyard study segments scores.csv --human mqm --metrics chrF --sizes 50,500",
)
def segments() -> tuple[str, Callable[..., Study]]:
    """Find how wide intervals of metrics' values are, by number of segments.

    Without --metrics, of the two metrics that are best by the first meta-metric.
    """
    from steelyard.studies.ablations import ablate_segments

    return "drawing segments", ablate_segments


@_meta_command(
    DistinctOptions,
    "steelyard study distinct scores.csv --human mqm --with spa,pa",
    plots=False,
)
def distinct() -> tuple[str, Callable[..., Study]]:
    """Count distinct values, significant comparisons and clusters under each meta-metric."""
    from steelyard.studies.discernment import count_distinct

    return "testing", count_distinct


@_meta_command(SentinelOptions, "steelyard study sentinels scores.csv texts.jsonl --human mqm")
def sentinels() -> tuple[str, Callable[..., Study]]:
    """Weigh scores that know nothing of quality, and name the metrics that don't beat them.

    Random numbers, names of systems, segments; with texts, lengths of outputs and sources.
    """
    from steelyard.studies.discernment import guard

    return "weighing sentinels", guard


@study.command(
    epilog="Examples: steelyard study ties scores.csv --human da --metric-thresholds 0,0.1; "
    "steelyard study ties texts.jsonl eed.csv --pairs pairs.csv"
)
@_INPUTS
@from_fields(TiesOptions, "metrics")
@click.option(
    "--matrices",
    type=Names(),
    help="Kendall variants, the first of which others are compared with; by default those of the "
    "paper, tau-eq and acc-eq.",
)
@from_fields(TiesOptions, "thresholds", "threshold", "metric_thresholds", "identical_ties")
@click.option(
    "--pairs",
    type=click.Path(dir_okay=False),
    metavar="FILE",
    help="Pairs that people decided (columns better, worse), instead of --human.",
)
@_PLOT
@input_options
@figure_options
def ties(
    inputs: tuple[str, ...],
    pairs: str | None,
    plot: tuple[str, ...] | None,
    options: InputOptions,
    output: OutputOptions,
    **settings: Any,
) -> None:
    """Rank metrics under every treatment of ties, and see which change places.

    Ties of people by a threshold, ties of metrics by another, identical texts, and what a tie is
    worth by each Kendall matrix.
    """
    from steelyard.studies.ties import vary_ties

    need_inputs(inputs)
    wants_figure(output)
    if not settings["matrices"]:
        del settings["matrices"]
    asked = TiesOptions(**settings)
    files: tuple[Any, ...] = ()
    if pairs is None:
        data: Any = options.load(inputs)
    else:
        data, files = _decided(pairs, inputs, options, settings["metrics"])
    with progress_of("counting pairs", output) as progress:
        found = vary_ties(data, options.human, options=asked, inputs=files, progress=progress)
    _emit(found, plot, output)


def _decided(
    path: str, inputs: tuple[str, ...], options: InputOptions, metrics: tuple[str, ...] | None
) -> tuple[Any, Any]:
    """Read a list of pairs, with texts and scores of metrics."""
    from steelyard.data.judgements import BattleLog
    from steelyard.human.darr import DARR, pairs_of_battles
    from steelyard.human.options import HumanOptions
    from steelyard.human.protocol import read_inputs

    if options.human is not None:
        raise UsageError("--pairs and --human: expected one of them")
    how = HumanOptions(protocol="darr", where=options.where, ignore=options.ignore, lp=options.lp)
    read = read_inputs((path, *inputs), DARR, how)
    if not isinstance(read.judgements, BattleLog) or read.scores is None:
        raise UsageError(f"--pairs {path}: expected columns better and worse, and one INPUT more")
    es = read.scores
    names = metrics or tuple(name for name in es.scores if es[name].has_segments)
    return pairs_of_battles(read.judgements, es, names), read.files


@study.command(
    epilog="Examples: steelyard study power scores.csv --score chrF --pair A,B; steelyard study "
    "power scores.csv --human mqm --metrics chrF,BLEU --unit system; steelyard study power "
    "--effect 0.1"
)
@click.argument("inputs", nargs=-1, metavar="[INPUT]...")
@click.option("--pair", type=Names(), help="Two systems of a pilot to tell apart, by --score.")
@click.option("--score", metavar="NAME", help="The score that tells the systems of --pair apart.")
@click.option(
    "--with",
    "by",
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
@click.option("--test", "tests", type=Names(), help="Tests of two systems: t permutation sign.")
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
@_PLOT
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
    from steelyard.studies import power as powers

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
        _emit(found, plot, output)
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
    _emit(found, plot, output)


@study.command(
    epilog="Examples: steelyard study units scores.csv --score esa --delta 1,2,3; "
    "steelyard study units ratings.csv texts.jsonl --raters persons.json"
)
@_INPUTS
@click.option("--score", metavar="NAME", help="The score, if there are several.")
@from_fields(UnitsOptions)
@_PLOT
@input_options
@figure_options
def units(
    inputs: tuple[str, ...],
    score: str | None,
    plot: tuple[str, ...] | None,
    options: InputOptions,
    output: OutputOptions,
    **settings: Any,
) -> None:
    """Find what documents, raters and domains share, and what more documents would bring.

    INPUT are scores with a column doc, or raw ratings, which also tell what raters share.
    """
    from steelyard.studies.units import study_units
    from steelyard.studies.unitsets import read_units

    need_inputs(inputs)
    wants_figure(output)
    asked = UnitsOptions(**settings)
    found = study_units(read_units(inputs, options, unit=asked.unit), score, options=asked)
    _emit(found, plot, output)


@study.command(epilog="Example: steelyard study simulation --repeats 100 --out curves.csv")
@from_fields(Design)
@_PLOT
@figure_options
@worker_options
def simulation(
    plot: tuple[str, ...] | None, output: OutputOptions, workers: Workers, **settings: Any
) -> None:
    """Simulate scores of systems of known strength, and see which ranking finds their order.

    Mean, median and Bradley-Terry are judged by Kendall's tau, as in Figure 3 of the
    paired-evaluation paper.
    """
    from steelyard.studies.simulation import simulate

    design = Design(**settings)
    wants_figure(output)
    with workers_with_progress("simulating", workers, output) as shown:
        found = simulate(design, rng=output.seed, workers=shown)
    _emit(found, plot, output)


@study.command(
    epilog="Examples: steelyard study disagreement scores.csv; "
    "steelyard study disagreement tac.csv.gz --each year --by mean,bt"
)
@_INPUTS
@click.option("--score", "scores", type=Names(), help="Only these scores.")
@click.option("--each", metavar="COLUMN", help="One set for every value of this column.")
@from_fields(DisagreementOptions, "by", "top", "sizes", "draws", "ties", "tolerance", "prior")
@from_fields(DisagreementOptions, "orders", "tests", "alpha")
@_PLOT
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
    from steelyard.studies.disagreement import disagree

    need_inputs(inputs)
    wants_figure(output)
    sets = _each(inputs, each, options) if each else options.load(inputs)
    with workers_with_progress("ranking", workers, output) as shown:
        found = disagree(sets, rng=output.seed, workers=shown, **settings)
    _emit(found, plot, output)


def _each(inputs: tuple[str, ...], column: str, options: InputOptions) -> dict[str, EvalSet]:
    """Load a set for every value of a column."""
    from steelyard.formats.load import column_values

    values = column_values(*inputs, column=column)
    return {
        value: replace(options, where=(*options.where, (column, value))).load(inputs)
        for value in values
    }
