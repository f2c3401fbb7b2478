"""Studies of meta-evaluations: ``study systems``, ``segments``, ``distinct``, ``ties``, etc."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

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
)
from steelyard.cli.progress import progress_of
from steelyard.cli.studyoptions import emit_study, plot_option, study_output
from steelyard.core.errors import UsageError

F = TypeVar("F", bound=Callable[..., Any])

_META = (
    click.option("--with", "by", type=Names(), default="spa,pa", show_default=True,
                 help="Meta-metrics, as for steelyard meta."),
    click.option("--metrics", type=Names(), help="Only these metrics."),
    click.option("--level", type=click.Choice(["sys", "seg"]),
                 help="Systems or segments; by default each meta-metric's own."),
    click.option("--group-by", type=click.Choice(["none", "item", "system"]),
                 help="What segments are grouped by; by default each meta-metric's own."),
    click.option("--keep-references", is_flag=True,
                 help="Keep systems that are a metric's reference."),
)  # fmt: skip


def _meta_options(command: F) -> F:
    for option in reversed(_META):
        command = option(command)
    return command


_INPUTS = click.argument("inputs", nargs=-1, metavar="INPUT...")


def _study(
    title: str,
    run: Callable[..., Any],
    inputs: tuple[str, ...],
    plot: tuple[str, ...] | None,
    options: InputOptions,
    output: OutputOptions,
    settings: dict[str, Any],
) -> None:
    """Load, run, print."""
    need_inputs(inputs)
    wants_figure(output)
    es = options.load(inputs)
    with progress_of(title, output) as progress:
        found = run(es, options.human, rng=output.seed, progress=progress, **settings)
    emit_study(found, plot, output)


@click.command(
    epilog="Example: steelyard study systems scores.csv --human mqm --with spa,pa,pearson "
    "--out systems.svg"
)
@_INPUTS
@_meta_options
@click.option("--sizes", type=Numbers(int), help="Numbers of systems to keep; by default up to 12 "
              "between 2 and all but one.")  # fmt: skip
@click.option("--trials", type=click.IntRange(min=1), default=1000, show_default=True, metavar="N",
              help="Random choices of systems for each size.")  # fmt: skip
@plot_option
@input_options
@study_output
def systems(
    inputs: tuple[str, ...],
    plot: tuple[str, ...] | None,
    options: InputOptions,
    output: OutputOptions,
    **settings: Any,
) -> None:
    """Drop systems, and see how well values and ranks of the metrics survive."""
    from steelyard.studies.systems import ablate_systems

    _study("dropping systems", ablate_systems, inputs, plot, options, output, settings)


@click.command(
    epilog="Example: steelyard study segments scores.csv --human mqm --metrics chrF --sizes 50,500"
)
@_INPUTS
@_meta_options
@click.option("--sizes", type=Numbers(int), help="Numbers of segments; by default 25, 50, 100, ... "
              "and as many as people scored.")  # fmt: skip
@click.option("--draws", type=click.IntRange(min=10), default=1000, show_default=True, metavar="N",
              help="Samples of each size.")  # fmt: skip
@plot_option
@input_options
@study_output
def segments(
    inputs: tuple[str, ...],
    plot: tuple[str, ...] | None,
    options: InputOptions,
    output: OutputOptions,
    **settings: Any,
) -> None:
    """Find how wide intervals of metrics' values are, by number of segments.

    Without --metrics, of the two metrics that are best by the first meta-metric.
    """
    from steelyard.studies.segments import ablate_segments

    _study("drawing segments", ablate_segments, inputs, plot, options, output, settings)


@click.command(epilog="Example: steelyard study distinct scores.csv --human mqm --with spa,pa")
@_INPUTS
@_meta_options
@click.option("--scheme", type=click.Choice(["inputs", "cells", "systems", "rows+columns", "pairs",
                                             "williams"]), default="inputs", show_default=True,
              help="What is swapped between two metrics, as for steelyard meta.")  # fmt: skip
@click.option("--alternative", type=click.Choice(["greater", "two-sided"]), default="greater",
              show_default=True, help="One- or two-sided tests.")  # fmt: skip
@click.option("--correction", type=click.Choice(["none", "holm", "bonferroni",
                                                 "benjamini-hochberg"]), default="none",
              show_default=True, help="Correct p-values for the number of pairs.")  # fmt: skip
@click.option("--resamples", "n_resamples", type=click.IntRange(min=1), metavar="K",
              help="Draws of a test; by default 10,000, or 1,000 if that takes long.")  # fmt: skip
@click.option("--alpha", type=LEVEL, default=0.05, show_default=True)
@input_options
@study_output
def distinct(
    inputs: tuple[str, ...], options: InputOptions, output: OutputOptions, **settings: Any
) -> None:
    """Count distinct values, significant comparisons and clusters under each meta-metric."""
    from steelyard.studies.distinct import count_distinct

    _study("testing", count_distinct, inputs, None, options, output, settings)


@click.command(
    epilog="Examples: steelyard study ties scores.csv --human da --metric-thresholds 0,0.1; "
    "steelyard study ties texts.jsonl eed.csv --pairs pairs.csv"
)
@_INPUTS
@click.option("--metrics", type=Names(), help="Only these metrics.")
@click.option("--matrices", type=Names(), help="Kendall variants, the first of which others are "
              "compared with; by default those of the paper, tau-eq and acc-eq.")  # fmt: skip
@click.option("--thresholds", type=Numbers(float), help="Human differences below which pairs tie; "
              "by default 0,1,5,10,25,50, or quartiles of small scales.")  # fmt: skip
@click.option("--threshold", type=Real(min=0), metavar="X",
              help="The threshold that others are compared with; by default 25.")  # fmt: skip
@click.option("--metric-thresholds", type=Numbers(float), default="0", show_default=True,
              help="Metric differences up to which pairs tie, in standard deviations of "
              "differences.")  # fmt: skip
@click.option("--identical-ties", is_flag=True, help="Identical texts are ties of people.")
@click.option("--pairs", type=click.Path(dir_okay=False), metavar="FILE",
              help="Pairs that people decided (columns better, worse), instead of "
              "--human.")  # fmt: skip
@plot_option
@input_options
@study_output
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
    from steelyard.studies.ties import MATRICES, vary_ties

    need_inputs(inputs)
    wants_figure(output)
    settings["matrices"] = settings["matrices"] or MATRICES
    found_in: dict[str, Any] = {}
    if pairs is None:
        data: Any = options.load(inputs)
    else:
        data, found_in["inputs"] = _decided(pairs, inputs, options, settings["metrics"])
    with progress_of("counting pairs", output) as progress:
        found = vary_ties(data, options.human, progress=progress, **found_in, **settings)
    emit_study(found, plot, output)


def _decided(
    path: str,
    inputs: tuple[str, ...],
    options: InputOptions,
    metrics: tuple[str, ...] | None,
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


@click.command(epilog="Example: steelyard study sentinels scores.csv texts.jsonl --human mqm")
@_INPUTS
@_meta_options
@click.option("--draws", type=click.IntRange(min=1), default=50, show_default=True, metavar="N",
              help="Random sentinels of each kind.")  # fmt: skip
@plot_option
@input_options
@study_output
def sentinels(
    inputs: tuple[str, ...],
    plot: tuple[str, ...] | None,
    options: InputOptions,
    output: OutputOptions,
    **settings: Any,
) -> None:
    """Weigh scores that know nothing of quality, and name the metrics that don't beat them.

    Random numbers, names of systems, segments; with texts, lengths of outputs and sources.
    """
    from steelyard.studies.sentinels import guard

    _study("weighing sentinels", guard, inputs, plot, options, output, settings)


COMMANDS = (systems, segments, distinct, ties, sentinels)
