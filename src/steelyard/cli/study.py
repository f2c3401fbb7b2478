"""``steelyard study``: whether a verdict survives other data, other metrics, other rankings."""

# ruff: noqa: D400 - each study begins with its question

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from steelyard import studies
from steelyard.cli.engine import Answer, Call, command
from steelyard.cli.group import JUDGED, RATINGS, SCORES, LazyGroup, Question
from steelyard.cli.output import wants_figure
from steelyard.cli.params import FINITE, NAMES, DetailsOptions, InputOptions, options_of
from steelyard.core.errors import UsageError
from steelyard.core.text import all_of
from steelyard.studies import options as asked

if TYPE_CHECKING:
    from steelyard.data.evalset import EvalSet
    from steelyard.studies.study import Study

How = dict[str, Any]  # what study functions take: rng, and workers or progress
_Run = Callable[[Call, How], "Study"]
_ROWS = 20  # of a table after the first that is printed without --details

_BY = click.Option(["--by"], type=NAMES, default=",".join(asked.META), show_default=True,
                   help="Meta-metrics, as for steelyard meta.")  # fmt: skip
_EACH = click.Option(["--each"], metavar="COLUMN", help="One set for every value of this column.")
_PLOT = click.Option(
    ["--plot"], type=NAMES, help="Curves that a figure shows, by name; all by default."
)
_FILE = click.Path(dir_okay=False)

study = LazyGroup(
    name="study", help="See whether a verdict survives other data and other rankings."
)


def _study(
    *options: Any,
    examples: tuple[str, ...],
    shape: str = JUDGED,
    inputs: str = "INPUT...",
    plots: bool = True,
    splits: bool = False,
) -> Callable[[_Run], Question]:
    """Make a command of a study; figures have the curves that ``--plot`` names."""

    def decorate(run: _Run) -> Question:
        name = run.__name__.replace("_", "-")

        def answer(call: Call) -> Answer:
            from steelyard.core.parallel import Workers

            figures = ["curves"] if wants_figure(call.output) else []
            plot, details = call.settings.pop("plot", None), call.settings.pop("details")
            how: How = {"rng": call.output.seed}
            with call.progress(f"study {name}", counted=True) as progress:
                workers = Workers(call.output.jobs, progress)
                how |= {"workers": workers} if splits else {"progress": progress}
                result = run(call, how)
            return replace(_answer(result, plot, details=details), figures=figures)

        made = command(
            *options,
            *([_PLOT] if plots else []),
            DetailsOptions,
            *([InputOptions] if inputs else []),
            inputs=inputs,
            required=not inputs.startswith("["),
            figures=True,
            hidden="" if splits else "jobs",
            name=name,
            help=run.__doc__,
            shape=shape,
            examples=examples,
        )(answer)
        study.add_command(made)
        return made

    return decorate


def _answer(result: Study, plot: tuple[str, ...] | None, *, details: bool) -> Answer:
    """Show a study; a figure has the chosen curves."""
    curves = result.curves if plot is None else [result.curve(name) for name in plot]

    def draw(_: str) -> Any:
        from steelyard.report.figures.curves import draw_curves

        return draw_curves(curves)

    tables = {name: table for name, table in result.parts.items() if table.rows}
    others = [] if details else [*tables][1:]
    hidden = [name for name in others if len(tables[name].rows) > _ROWS]
    shown: list[Any] = [table for name, table in tables.items() if name not in hidden]
    shown += [f"Not shown: {all_of(hidden)} (--details prints all tables)."] if hidden else []
    return Answer(result=result, tables=list(result.parts.values()), shown=shown, draw=draw)


def _load(call: Call, unit: str = "segment") -> EvalSet:
    return call.reading.by_unit(unit).load(call.inputs)


def _of_metrics(
    run: Callable[..., Study], cls: type[asked.MetaStudyOptions], call: Call, how: How
) -> Study:
    human, by, options = call.reading.human, call.settings["by"], call.take(cls)
    return run(_load(call), human, by=by, options=options, **how)


def _each_set(call: Call, column: str, reading: InputOptions) -> dict[str, EvalSet]:
    from steelyard.formats.load import column_values

    sets = {}
    for value in column_values(*call.inputs, column=column):
        es = replace(reading, where=(*reading.where, (column, value))).load(call.inputs)
        files = (replace(file, chosen=(*file.chosen, ("each", column))) for file in es.inputs)
        sets[value] = replace(es, inputs=tuple(files))
    return sets


@_study(
    _BY,
    asked.SystemsOptions,
    examples=(
        "steelyard study systems scores.csv --human mqm",
        "steelyard study systems scores.csv --human mqm --by spa,pa,pearson --out systems.svg",
    ),
)
def systems(call: Call, how: How) -> Study:
    """Would metrics rank alike with fewer systems?

    Drop systems, and see how well values and ranks of the metrics survive.
    """
    return _of_metrics(studies.ablate_systems, asked.SystemsOptions, call, how)


@_study(
    _BY,
    asked.SegmentsOptions,
    examples=(
        "steelyard study segments scores.csv --human mqm",
        "steelyard study segments scores.csv --human mqm --metrics chrF --sizes 50,500",
    ),
)
def segments(call: Call, how: How) -> Study:
    """Would metrics rank alike with fewer segments?

    Find how wide intervals of metrics' values are, by number of segments. Without --metrics, of the
    two metrics that are best by the first meta-metric.
    """
    return _of_metrics(studies.ablate_segments, asked.SegmentsOptions, call, how)


@_study(
    _BY,
    asked.DistinctOptions,
    plots=False,
    examples=(
        "steelyard study distinct scores.csv --human mqm",
        "steelyard study distinct scores.csv --human mqm --by spa,pa,pearson",
    ),
)
def distinct(call: Call, how: How) -> Study:
    """Which meta-metric separates metrics?

    Count distinct values, significant comparisons and clusters under each meta-metric.
    """
    return _of_metrics(studies.count_distinct, asked.DistinctOptions, call, how)


@_study(
    _EACH,
    click.Option(["--p-values", "pvalues"], type=_FILE, metavar="FILE", help="People's p-values of "
                 "pairs (columns a, b, p), where there are no segments to test."),
    asked.WorthOptions,
    examples=(
        "steelyard study worth scores.csv --human mqm --metrics chrF --at 0.5,1",
        "steelyard study worth systems.csv.gz --human da --each campaign --p-values pairs.csv",
    ),
)  # fmt: skip
def worth(call: Call, how: How) -> Study:
    """How often do people agree with a difference of this size?

    Pairs of systems of one set, or of many (--each). Also which difference it takes, how often
    people's difference is significant, and whether half of the data predicts the other.
    """
    from steelyard.formats.load import systems_by
    from steelyard.studies.worth import read_pair_pvalues

    each, path = call.settings["each"], call.settings["pvalues"]
    options = call.take(asked.WorthOptions)
    reading = call.reading.by_unit(options.unit)
    groups = None if each is None else systems_by(*call.inputs, column=each)
    if each is None or groups is not None:  # systems of one campaign each need one load
        skipped = () if each is None else (each,)
        sets: Any = [replace(reading, ignore=(*reading.ignore, *skipped)).load(call.inputs)]
    else:
        by_value = _each_set(call, each, reading)
        sets = [replace(es, name=name) for name, es in sorted(by_value.items())]
    pvalues = None if path is None else read_pair_pvalues(path)
    return studies.difference_worth(
        sets, reading.human, options=options, groups=groups, pvalues=pvalues, **how
    )


@_study(
    click.Option(["--matrices"], type=NAMES, help="Kendall variants, the first of which others are "
                 "compared with; by default those of the paper, tau-eq and acc-eq."),
    asked.TiesOptions,
    click.Option(["--pairs"], type=_FILE, metavar="FILE", help="Pairs that people decided "
                 "(columns better, worse), instead of --human."),
    examples=(
        "steelyard study ties scores.csv --human da --metric-thresholds 0,0.1",
        "steelyard study ties texts.jsonl eed.csv --pairs pairs.csv",
    ),
)  # fmt: skip
def ties(call: Call, how: How) -> Study:
    """Would metrics rank alike with other ties?

    Ties of people by a threshold, ties of metrics by another, identical texts, and what a tie is
    worth by each Kendall matrix; with intervals, and tests of the metrics.
    """
    path = call.settings["pairs"]
    if not call.settings["matrices"]:
        del call.settings["matrices"]
    options, files = call.take(asked.TiesOptions), ()
    if path is None:
        data: Any = _load(call, options.unit)
    else:
        data, files = _decided(path, call, options)
    human = call.reading.human
    return studies.vary_ties(data, human, options=options, inputs=files, **how)


def _decided(path: str, call: Call, asked: asked.TiesOptions) -> tuple[Any, Any]:
    """Read a list of pairs that people decided, with texts and scores of metrics."""
    from steelyard.data.judgements import BattleLog
    from steelyard.data.selection import chosen_metrics
    from steelyard.human.darr import DARR, pairs_of_battles
    from steelyard.human.options import HumanOptions
    from steelyard.human.run import read_inputs

    options = call.reading
    if options.human is not None:
        raise UsageError("--pairs and --human: expected one of them")
    human = HumanOptions(protocol="darr", where=options.where, ignore=options.ignore, lp=options.lp)
    read = read_inputs((path, *call.inputs), DARR, human)
    if not isinstance(read.judgements, BattleLog) or read.scores is None:
        raise UsageError(f"--pairs {path}: expected columns better and worse, and one INPUT more")
    es = read.scores
    names = tuple(name for name in es.scores if es[name].has_segments)
    names = tuple(chosen_metrics(es, asked.metrics)) if asked.metrics else names
    return pairs_of_battles(read.judgements, es, names), read.files


@_study(
    click.Option(["--score", "scores"], type=NAMES, help="Only these scores."),
    _EACH,
    options_of(asked.DisagreementOptions, "by", "top", "sizes", "draws", "ties", "tolerance",
               "prior", "orders", "tests", "alpha"),
    shape=SCORES,
    splits=True,
    examples=(
        "steelyard study disagreement scores.csv",
        "steelyard study disagreement tac.csv.gz --each year --by mean,bt",
    ),
)  # fmt: skip
def disagreement(call: Call, how: How) -> Study:
    """How often do mean, median and others disagree?

    Mean, median, Bradley-Terry, Elo and TrueSkill, on pairs of systems, on the best, and on the
    top; by score, by set, by the number of segments; and which tests find the same differences.
    """
    each = call.settings.pop("each")
    sets = _each_set(call, each, call.reading) if each else _load(call)
    return studies.disagree(sets, **call.settings, **how)


@_study(
    asked.Design,
    inputs="",
    shape="",
    splits=True,
    examples=(
        "steelyard study simulation --repeats 100 --out curves.csv",
        "steelyard study simulation --by mean,median,bt,elo,trueskill",
    ),
)
def simulation(call: Call, how: How) -> Study:
    """Which ranking finds a known order?

    Simulate scores of systems of known strength, and judge rankings by Kendall's tau, as in Figure
    3 of the paired-evaluation paper: mean, median, Bradley-Terry, and any that --by names.
    """
    return studies.simulate(call.take(asked.Design), **how)


@_study(
    click.Option(["--pair"], type=NAMES, help="Two systems of a pilot, by --score."),
    click.Option(["--score"], metavar="NAME", help="The score of the systems of --pair."),
    _BY,
    options_of(asked.MetricPowerOptions, "metrics"),
    click.Option(["--effect"], type=FINITE, metavar="X", help="Without a pilot: mean difference of "
                 "two systems in standard deviations of differences."),
    click.Option(["--tests"], type=NAMES, help="Tests: t permutation sign."),
    options_of(asked.PowerOptions, "unit", "difference", "sizes"),
    click.Option(["--draws"], type=click.IntRange(min=10), default=1000, show_default=True,
                 metavar="N", help="Draws of each size."),
    options_of(asked.PowerOptions, "alpha", "target"),
    shape=SCORES,
    inputs="[INPUT]...",
    examples=(
        "steelyard study power scores.csv --score chrF --pair A,B",
        "steelyard study power scores.csv --human mqm --metrics chrF,BLEU --unit system",
        "steelyard study power --effect 0.1",
    ),
)  # fmt: skip
def power(call: Call, how: How) -> Study:
    """How much does it take to find a difference?

    How many segments, documents or systems: for a pair of systems by a test, for two metrics by a
    meta-metric, or from an assumption.
    """
    settings = {name: value for name, value in call.settings.items() if value is not None}
    if not settings.get("tests"):
        settings.pop("tests", None)
    if "effect" in settings:
        if call.inputs:
            raise UsageError("--effect does without a pilot: expected no INPUT")
        usual = {k: settings[k] for k in ("alpha", "target", "sizes", "tests") if k in settings}
        return studies.power_of_effect(settings["effect"], **usual)
    if not call.inputs:
        raise UsageError("expected a pilot (INPUT) or --effect")
    es = _load(call, settings["unit"])
    if not call.given("unit"):
        del settings["unit"]  # what is usual differs for systems and metrics
    score, pair = settings.get("score"), settings.get("pair", ())
    if pair or score:
        if score is None or len(pair) != 2:
            raise UsageError("expected --score NAME and --pair A,B together")
        tests = asked.TestPowerOptions.of(settings)
        return studies.power_of_test(es, score, pair, options=tests, **how)
    metrics = asked.MetricPowerOptions.of(settings)
    human, by = call.reading.human, settings["by"]
    return studies.power_of_metrics(es, human, by=by, options=metrics, **how)


@_study(
    asked.RankingRuleOptions,
    plots=False,
    shape=RATINGS,
    inputs="LOG...",
    examples=(
        "steelyard study ranking-rule ratings.csv texts.jsonl",
        "steelyard study ranking-rule ratings.csv texts.jsonl --draws 50",
    ),
)
def ranking_rule(call: Call, how: How) -> Study:
    """How often does WMT26's rule separate equal systems?

    Simulate how often that rule, and ours, separate two equal systems. LOG is a pearmut log of
    contrastive ESA, or any ratings with documents.
    """
    names = ("where", "columns", "ignore", "lp", "format", "human")
    keep = {name: getattr(call.reading, name) for name in names}
    options, rng = call.take(asked.RankingRuleOptions), how["rng"]
    return studies.study_ranking_rule(call.inputs, options=options, **keep, rng=rng)


@_study(
    asked.ThresholdOptions,
    shape=RATINGS,
    inputs="RATINGS...",
    examples=(
        "steelyard study threshold ratings.csv",
        "steelyard study threshold scores.csv texts.jsonl --human esa",
    ),
)
def threshold(call: Call, how: How) -> Study:
    """How wide is a tie of people?

    Estimated from what they give to outputs that are equal. RATINGS are raw ratings, with repeats
    or several raters, and texts that show identical outputs; or scores (--human) with texts.
    """
    from steelyard.studies.threshold import read_ratings

    options = call.take(asked.ThresholdOptions)
    read = read_ratings(call.inputs, call.reading, options)
    return studies.study_threshold(read, call.reading.human, options=options, rng=how["rng"])
