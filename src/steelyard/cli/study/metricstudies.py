"""Studies of meta-evaluations, as commands."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from steelyard.cli.group import JUDGED, command
from steelyard.cli.output import progress_of, wants_figure
from steelyard.cli.params import (
    InputOptions,
    Names,
    OutputOptions,
    figure_options,
    from_fields,
    input_options,
    need_inputs,
)
from steelyard.cli.study.shared import EACH, INPUTS, PLOT, each_set, emit_study, meta_command
from steelyard.core.errors import UsageError
from steelyard.studies.metrics.options import (
    DistinctOptions,
    SegmentsOptions,
    SentinelOptions,
    SystemsOptions,
    TiesOptions,
    WorthOptions,
)

if TYPE_CHECKING:
    from steelyard.studies.results import Study

#: Names of the columns of a table of tests: two systems, and the p-value.
_SIDES = (("a", "b"), ("left", "right"), ("system_a", "system_b"), ("system1", "system2"))
_P = ("p", "p_value", "pvalue")


@meta_command(
    SystemsOptions,
    "steelyard study systems scores.csv --human mqm",
    "steelyard study systems scores.csv --human mqm --by spa,pa,pearson --out systems.svg",
)
def systems() -> tuple[str, Callable[..., Study]]:
    """Drop systems, and see how well values and ranks of the metrics survive."""
    from steelyard.studies.metrics.ablations import ablate_systems

    return "dropping systems", ablate_systems


@meta_command(
    SegmentsOptions,
    "steelyard study segments scores.csv --human mqm",
    "steelyard study segments scores.csv --human mqm --metrics chrF --sizes 50,500",
)
def segments() -> tuple[str, Callable[..., Study]]:
    """Find how wide intervals of metrics' values are, by number of segments.

    Without --metrics, of the two metrics that are best by the first meta-metric.
    """
    from steelyard.studies.metrics.ablations import ablate_segments

    return "drawing segments", ablate_segments


@meta_command(
    DistinctOptions,
    "steelyard study distinct scores.csv --human mqm",
    "steelyard study distinct scores.csv --human mqm --by spa,pa,pearson",
    plots=False,
)
def distinct() -> tuple[str, Callable[..., Study]]:
    """Count distinct values, significant comparisons and clusters under each meta-metric."""
    from steelyard.studies.metrics.discernment import count_distinct

    return "testing", count_distinct


@meta_command(
    SentinelOptions,
    "steelyard study sentinels scores.csv --human mqm",
    "steelyard study sentinels scores.csv texts.jsonl --human mqm --by spa",
)
def sentinels() -> tuple[str, Callable[..., Study]]:
    """Weigh scores that know nothing of quality, and name the metrics that don't beat them.

    Random numbers, names of systems, segments; with texts, lengths of outputs and sources.
    """
    from steelyard.studies.metrics.discernment import guard

    return "weighing sentinels", guard


@command(
    shape=JUDGED,
    examples=(
        "steelyard study worth scores.csv --human mqm --metrics chrF --at 0.5,1",
        "steelyard study worth systems.csv.gz --human da --each campaign --p-values pairs.csv",
    ),
)
@INPUTS
@from_fields(WorthOptions, "metrics", "at")
@EACH
@click.option(
    "--p-values",
    "pvalues",
    type=click.Path(dir_okay=False),
    metavar="FILE",
    help="People's p-values of pairs (columns a, b, p), where there are no segments to test.",
)
@from_fields(WorthOptions, "alpha", "unit", "draws")
@PLOT
@input_options
@figure_options
def worth(
    inputs: tuple[str, ...],
    each: str | None,
    pvalues: str | None,
    plot: tuple[str, ...] | None,
    options: InputOptions,
    output: OutputOptions,
    **settings: Any,
) -> None:
    """Find how often people agree with a difference of a metric, by its size.

    Pairs of systems of one set, or of many (--each). Also which difference it takes, how often
    people's difference is significant, and whether half of the data foretells the other.
    """
    from steelyard.formats.load import systems_by
    from steelyard.studies.metrics.differences import difference_worth

    need_inputs(inputs)
    wants_figure(output)
    asked = WorthOptions(**settings)
    options = options.by_unit(asked.unit)
    groups = None if each is None else systems_by(*inputs, column=each)
    if each is None or groups is not None:  # systems of one campaign each need one load
        skipped = () if each is None else (each,)
        sets: Any = [replace(options, ignore=(*options.ignore, *skipped)).load(inputs)]
    else:
        found_sets = each_set(inputs, each, options)
        sets = [replace(es, name=name) for name, es in sorted(found_sets.items())]
    known = None if pvalues is None else read_pair_pvalues(pvalues)
    with progress_of("measuring", output) as progress:
        found = difference_worth(sets, options.human, options=asked, groups=groups, pvalues=known,
                                 rng=output.seed, progress=progress)  # fmt: skip
    emit_study(found, plot, output)


@command(
    shape=JUDGED,
    examples=(
        "steelyard study ties scores.csv --human da --metric-thresholds 0,0.1",
        "steelyard study ties texts.jsonl eed.csv --pairs pairs.csv",
    ),
)
@INPUTS
@from_fields(TiesOptions, "metrics")
@click.option(
    "--matrices",
    type=Names(),
    help="Kendall variants, the first of which others are compared with; by default those of the "
    "paper, tau-eq and acc-eq.",
)
@from_fields(TiesOptions, "thresholds", "threshold", "metric_thresholds", "identical_ties", "unit",
             "n_bootstrap", "n_resamples", "alternative", "alpha", "correction")  # fmt: skip
@click.option(
    "--pairs",
    type=click.Path(dir_okay=False),
    metavar="FILE",
    help="Pairs that people decided (columns better, worse), instead of --human.",
)
@PLOT
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
    worth by each Kendall matrix; with intervals, and tests of the metrics on these pairs.
    """
    from steelyard.studies.metrics.ties import vary_ties

    need_inputs(inputs)
    wants_figure(output)
    if not settings["matrices"]:
        del settings["matrices"]
    asked = TiesOptions(**settings)
    files: tuple[Any, ...] = ()
    if pairs is None:
        data: Any = options.by_unit(asked.unit).load(inputs)
    else:
        data, files = _decided(pairs, inputs, options, settings["metrics"])
    with progress_of("counting pairs", output) as progress:
        how: dict[str, Any] = {"inputs": files, "rng": output.seed, "progress": progress}
        found = vary_ties(data, options.human, options=asked, **how)
    emit_study(found, plot, output)


def _decided(
    path: str, inputs: tuple[str, ...], options: InputOptions, metrics: tuple[str, ...] | None
) -> tuple[Any, Any]:
    """Read a list of pairs, with texts and scores of metrics."""
    from steelyard.data.judgements import BattleLog
    from steelyard.data.selection import chosen_metrics
    from steelyard.human.darr import DARR, pairs_of_battles
    from steelyard.human.options import HumanOptions
    from steelyard.human.run import read_inputs

    if options.human is not None:
        raise UsageError("--pairs and --human: expected one of them")
    how = HumanOptions(protocol="darr", where=options.where, ignore=options.ignore, lp=options.lp)
    read = read_inputs((path, *inputs), DARR, how)
    if not isinstance(read.judgements, BattleLog) or read.scores is None:
        raise UsageError(f"--pairs {path}: expected columns better and worse, and one INPUT more")
    es = read.scores
    names = tuple(name for name in es.scores if es[name].has_segments)
    if metrics:
        names = tuple(chosen_metrics(es, metrics))
    return pairs_of_battles(read.judgements, es, names), read.files


def read_pair_pvalues(path: str | Path) -> dict[tuple[str, str], float]:
    """Read the p-value of each pair: columns ``a`` and ``b`` (or left and right) and ``p``.

    A column whose name ends in ``_p`` is one of p-values, too, if it is the only one.
    """
    import numpy as np

    from steelyard.core.errors import hint
    from steelyard.formats import tables

    sides = {name for pair in _SIDES for name in pair}
    table = tables.read(Path(path), is_text=sides.__contains__)
    pair = next((both for both in _SIDES if all(name in table for name in both)), None)
    if pair is None:
        table.fail(f"no columns a and b with the names of systems; {hint('a', table.columns)}")
    named = [name for name in table.columns if name in _P or name.endswith("_p")]
    if len(named) != 1:
        shown = ", ".join(named) or "none"
        table.fail(f"expected one column of p-values (p, or one that ends in _p), found: {shown}")
    first, second = (table.labels(name) for name in pair)
    p = table.numbers(named[0])
    pvalues: dict[tuple[str, str], float] = {}
    for row, (left, right, value) in enumerate(zip(first, second, p, strict=True)):
        if not (np.isnan(value) or 0 <= value <= 1):
            table.fail(f"{named[0]} is {value:g}, expected a number from 0 to 1", row)
        key = (left, right) if left <= right else (right, left)
        if key in pvalues:
            table.fail(f"'{left}' and '{right}' stand in an earlier row already", row)
        pvalues[key] = float(value)
    return pvalues
