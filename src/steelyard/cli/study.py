"""``steelyard study``: whether a verdict survives other data, other metrics, other rankings.

Every study is an entry of :data:`STUDIES`; its command is made when it is called.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from typing import TYPE_CHECKING, Any

import click

from steelyard.cli.engine import Answer, Call, command, given
from steelyard.cli.group import JUDGED, RATINGS, SCORES, LazyGroup
from steelyard.cli.output import progress_of, wants_figure
from steelyard.cli.params import (
    FIGURES,
    FINITE,
    NAMES,
    SUFFIXES,
    DetailsOptions,
    InputOptions,
    options_of,
)
from steelyard.core.errors import UsageError
from steelyard.core.text import all_of
from steelyard.studies import options as asked

if TYPE_CHECKING:
    from steelyard.data.evalset import EvalSet
    from steelyard.studies.study import Study

How = dict[str, Any]  # what every study function takes: rng, and workers or progress
_ROWS = 20  # of a table after the first that is printed without --details

_BY = click.Option(["--by"], type=NAMES, default=",".join(asked.META), show_default=True,
                   help="Meta-metrics, as for steelyard meta.")  # fmt: skip
_EACH = click.Option(["--each"], metavar="COLUMN", help="One set for every value of this column.")
_PLOT = click.Option(
    ["--plot"], type=NAMES, help="Curves that a figure shows, by name; all by default."
)


@dataclass(frozen=True)
class _Entry:
    """A study as a command: its help, how it runs, and its options."""

    short: str  # the line of the group's help
    help: str
    run: Callable[[Call, How], Study]
    options: Sequence[Any]
    examples: tuple[str, ...]
    shape: str = JUDGED
    inputs: str = "INPUT..."  # the argument; in brackets where it may be left out
    progress: str = ""  # what is under way
    plots: bool = True
    workers: bool = False


def _function(name: str) -> Callable[..., Study]:
    """Load a function of the studies."""
    made: Callable[..., Study] = getattr(import_module("steelyard.studies"), name)
    return made


def _load(call: Call, unit: str = "segment") -> EvalSet:
    """Load the inputs, a column that is the unit as documents."""
    return call.reading.by_unit(unit).load(call.inputs)


def _of_metrics(function: str, cls: type[asked.MetaStudyOptions]) -> Callable[[Call, How], Study]:
    """Return how a study of meta-evaluations runs."""

    def run(call: Call, how: How) -> Study:
        study, human = _function(function), call.reading.human
        by = call.settings["by"]
        return study(_load(call), human, by=by, options=call.take(cls), **how)

    return run


def _each_set(call: Call, column: str, reading: InputOptions) -> dict[str, EvalSet]:
    """Load a set for every value of a column."""
    from steelyard.formats.load import column_values

    sets = {}
    for value in column_values(*call.inputs, column=column):
        es = replace(reading, where=(*reading.where, (column, value))).load(call.inputs)
        files = (replace(file, chosen=(*file.chosen, ("each", column))) for file in es.inputs)
        sets[value] = replace(es, inputs=tuple(files))
    return sets


def _worth(call: Call, how: How) -> Study:
    from steelyard.formats.load import systems_by
    from steelyard.studies.worth import difference_worth, read_pair_pvalues

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
    human = reading.human
    return difference_worth(sets, human, options=options, groups=groups, pvalues=pvalues, **how)


def _ties(call: Call, how: How) -> Study:
    path = call.settings["pairs"]
    if not call.settings["matrices"]:
        del call.settings["matrices"]
    options = call.take(asked.TiesOptions)
    files: tuple[Any, ...] = ()
    if path is None:
        data: Any = _load(call, options.unit)
    else:
        data, files = _decided(path, call, options)
    study = _function("vary_ties")
    return study(data, call.reading.human, options=options, inputs=files, **how)


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


def _disagreement(call: Call, how: How) -> Study:
    each = call.settings.pop("each")
    sets = _each_set(call, each, call.reading) if each else _load(call)
    return _function("disagree")(sets, **call.settings, **how)


def _simulation(call: Call, how: How) -> Study:
    return _function("simulate")(call.take(asked.Design), **how)


def _ranking_rule(call: Call, how: How) -> Study:
    names = ("where", "columns", "ignore", "lp", "format", "human")
    keep = {name: getattr(call.reading, name) for name in names}
    options = call.take(asked.RankingRuleOptions)
    return _function("study_ranking_rule")(call.inputs, options=options, **keep, **how)


def _threshold(call: Call, how: How) -> Study:
    from steelyard.studies.threshold import read_ratings, study_threshold

    options = call.take(asked.ThresholdOptions)
    read = read_ratings(call.inputs, call.reading, options)
    return study_threshold(read, call.reading.human, options=options, rng=how["rng"])


def _power(call: Call, how: How) -> Study:
    settings = {name: value for name, value in call.settings.items() if value is not None}
    if not settings.get("tests"):
        settings.pop("tests", None)
    if "effect" in settings:
        if call.inputs:
            raise UsageError("--effect does without a pilot: expected no INPUT")
        usual = {k: settings[k] for k in ("alpha", "target", "sizes", "tests") if k in settings}
        return _function("power_of_effect")(settings["effect"], **usual)
    if not call.inputs:
        raise UsageError("expected a pilot (INPUT) or --effect")
    es = _load(call, settings["unit"])
    if not given("unit"):
        del settings["unit"]  # what is usual differs for systems and metrics
    score, pair = settings.get("score"), settings.get("pair", ())
    if pair or score:
        if score is None or len(pair) != 2:
            raise UsageError("expected --score NAME and --pair A,B together")
        tests = asked.TestPowerOptions.of(settings)
        return _function("power_of_test")(es, score, pair, options=tests, **how)
    metrics = asked.MetricPowerOptions.of(settings)
    study = _function("power_of_metrics")
    return study(es, call.reading.human, by=settings["by"], options=metrics, **how)


_FILE = click.Path(dir_okay=False)
STUDIES = {
    "systems": _Entry(
        "Would metrics rank alike with fewer systems?",
        "Drop systems, and see how well values and ranks of the metrics survive.",
        _of_metrics("ablate_systems", asked.SystemsOptions),
        (_BY, options_of(asked.SystemsOptions)),
        (
            "steelyard study systems scores.csv --human mqm",
            "steelyard study systems scores.csv --human mqm --by spa,pa,pearson --out systems.svg",
        ),
        progress="dropping systems",
    ),
    "segments": _Entry(
        "Would they with fewer segments?",
        "Find how wide intervals of metrics' values are, by number of segments.\n\n"
        "Without --metrics, of the two metrics that are best by the first meta-metric.",
        _of_metrics("ablate_segments", asked.SegmentsOptions),
        (_BY, options_of(asked.SegmentsOptions)),
        (
            "steelyard study segments scores.csv --human mqm",
            "steelyard study segments scores.csv --human mqm --metrics chrF --sizes 50,500",
        ),
        progress="drawing segments",
    ),
    "distinct": _Entry(
        "Which meta-metric separates metrics?",
        "Count distinct values, significant comparisons and clusters under each meta-metric.",
        _of_metrics("count_distinct", asked.DistinctOptions),
        (_BY, options_of(asked.DistinctOptions)),
        (
            "steelyard study distinct scores.csv --human mqm",
            "steelyard study distinct scores.csv --human mqm --by spa,pa,pearson",
        ),
        progress="testing",
        plots=False,
    ),
    "worth": _Entry(
        "How often do people agree with a difference of this size?",
        "Find how often people agree with a difference of a metric, by its size.\n\n"
        "Pairs of systems of one set, or of many (--each). Also which difference it takes, how "
        "often people's difference is significant, and whether half of the data predicts the "
        "other.",
        _worth,
        (
            options_of(asked.WorthOptions, "metrics", "at"),
            _EACH,
            click.Option(["--p-values", "pvalues"], type=_FILE, metavar="FILE",
                         help="People's p-values of pairs (columns a, b, p), where there are no "
                         "segments to test."),
            options_of(asked.WorthOptions, "alpha", "unit", "draws"),
        ),
        (
            "steelyard study worth scores.csv --human mqm --metrics chrF --at 0.5,1",
            "steelyard study worth systems.csv.gz --human da --each campaign --p-values pairs.csv",
        ),
        progress="measuring",
    ),
    "ties": _Entry(
        "Would they rank alike with other ties?",
        "Rank metrics under every treatment of ties, and see which change places.\n\n"
        "Ties of people by a threshold, ties of metrics by another, identical texts, and what a "
        "tie is worth by each Kendall matrix; with intervals, and tests of the metrics.",
        _ties,
        (
            options_of(asked.TiesOptions, "metrics"),
            click.Option(["--matrices"], type=NAMES, help="Kendall variants, the first of which "
                         "others are compared with; by default those of the paper, tau-eq and "
                         "acc-eq."),
            options_of(asked.TiesOptions, "thresholds", "threshold", "metric_thresholds",
                        "identical_ties", "unit", "n_bootstrap", "n_resamples", "alternative",
                        "alpha", "correction"),
            click.Option(["--pairs"], type=_FILE, metavar="FILE", help="Pairs that people decided "
                         "(columns better, worse), instead of --human."),
        ),
        (
            "steelyard study ties scores.csv --human da --metric-thresholds 0,0.1",
            "steelyard study ties texts.jsonl eed.csv --pairs pairs.csv",
        ),
        progress="counting pairs",
    ),
    "disagreement": _Entry(
        "How often do mean, median and others disagree?",
        "See how often mean, median, Bradley-Terry, Elo and TrueSkill disagree.\n\n"
        "On pairs of systems, on the best, and on the top; by score, by set, by the number of "
        "segments; and which tests find the same differences.",
        _disagreement,
        (
            click.Option(["--score", "scores"], type=NAMES, help="Only these scores."),
            _EACH,
            options_of(asked.DisagreementOptions, "by", "top", "sizes", "draws", "ties",
                        "tolerance", "prior", "orders", "tests", "alpha"),
        ),
        (
            "steelyard study disagreement scores.csv",
            "steelyard study disagreement tac.csv.gz --each year --by mean,bt",
        ),
        shape=SCORES,
        progress="ranking",
        workers=True,
    ),
    "simulation": _Entry(
        "Which ranking finds a known order?",
        "Simulate scores of systems of known strength, and see which ranking finds their order.\n\n"
        "Mean, median and Bradley-Terry are judged by Kendall's tau, as in Figure 3 of the "
        "paired-evaluation paper; Elo and TrueSkill, too, if --by names them.",
        _simulation,
        (options_of(asked.Design),),
        (
            "steelyard study simulation --repeats 100 --out curves.csv",
            "steelyard study simulation --by mean,median,bt,elo,trueskill",
        ),
        shape="",
        inputs="",
        progress="simulating",
        workers=True,
    ),
    "power": _Entry(
        "How much does it take to find a difference?",
        "Find how many segments, documents or systems it takes to find a difference.\n\n"
        "Of two systems by a test (--score, --pair), of two metrics by a meta-metric (--human), or "
        "from an assumption (--effect).",
        _power,
        (
            click.Option(["--pair"], type=NAMES, help="Two systems of a pilot, by --score."),
            click.Option(["--score"], metavar="NAME", help="The score of the systems of --pair."),
            _BY,
            options_of(asked.MetricPowerOptions, "metrics"),
            click.Option(["--effect"], type=FINITE, metavar="X", help="Without a pilot: mean "
                         "difference of two systems in standard deviations of differences."),
            click.Option(["--tests"], type=NAMES, help="Tests: t permutation sign."),
            options_of(asked.PowerOptions, "unit", "difference", "sizes"),
            click.Option(["--draws"], type=click.IntRange(min=10), default=1000, show_default=True,
                         metavar="N", help="Draws of each size."),
            options_of(asked.PowerOptions, "alpha", "target"),
        ),
        (
            "steelyard study power scores.csv --score chrF --pair A,B",
            "steelyard study power scores.csv --human mqm --metrics chrF,BLEU --unit system",
            "steelyard study power --effect 0.1",
        ),
        shape=SCORES,
        inputs="[INPUT]...",
        progress="drawing",
    ),
    "ranking-rule": _Entry(
        "How often does WMT26's rule separate equal systems?",
        "Simulate how often WMT26's rule, and ours, separate two equal systems.\n\n"
        "LOG is a pearmut log of contrastive ESA, or any ratings with documents.",
        _ranking_rule,
        (options_of(asked.RankingRuleOptions),),
        (
            "steelyard study ranking-rule ratings.csv texts.jsonl",
            "steelyard study ranking-rule ratings.csv texts.jsonl --draws 50",
        ),
        shape=RATINGS,
        inputs="LOG...",
        plots=False,
    ),
    "threshold": _Entry(
        "How wide is a tie of people?",
        "Estimate how wide a tie of people is, from what they give to outputs that are equal.\n\n"
        "RATINGS are raw ratings, with repeats or several raters, and texts that show identical "
        "outputs; or scores (--human) with texts.",
        _threshold,
        (options_of(asked.ThresholdOptions),),
        (
            "steelyard study threshold ratings.csv",
            "steelyard study threshold scores.csv texts.jsonl --human esa",
        ),
        shape=RATINGS,
        inputs="RATINGS...",
    ),
}  # fmt: skip


def _made(name: str) -> click.Command:
    """Make the command of a study."""
    entry = STUDIES[name]
    required = bool(entry.inputs) and not entry.inputs.startswith("[")

    def run(call: Call) -> Answer:
        wants_figure(call.output)  # which refuses at once what can't be drawn
        plot, details = call.settings.pop("plot", None), call.settings.pop("details")
        how = {"rng": call.output.seed}
        if entry.workers:
            with call.workers(entry.progress) as workers:
                study = entry.run(call, how | {"workers": workers})
        elif entry.progress:
            with progress_of(entry.progress, call.output) as progress:
                study = entry.run(call, how | {"progress": progress})
        else:
            study = entry.run(call, how)
        return _answer(study, plot, call, details=details)

    return command(
        *entry.options,
        *([_PLOT] if entry.plots else []),
        DetailsOptions,
        *([InputOptions] if entry.inputs else []),
        inputs=entry.inputs,
        required=required,
        suffixes=(*SUFFIXES, *FIGURES),
        splits=entry.workers,
        name=name,
        help=entry.help,
        shape=entry.shape,
        examples=entry.examples,
    )(run)


def _answer(study: Study, plot: tuple[str, ...] | None, call: Call, *, details: bool) -> Answer:
    """Show a study; a figure has the chosen curves."""
    from steelyard.human.results import brief_pairs

    curves = study.curves if plot is None else [study.curve(name) for name in plot]

    def draw(_: str) -> Any:
        from steelyard.report.figures.curves import draw_curves

        return draw_curves(curves)

    tables = {name: table for name, table in study.parts.items() if table.rows}
    shown: list[Any] = []
    hidden: list[str] = []
    for name, table in tables.items():
        if shown and len(table.rows) > _ROWS and name != "identical" and not details:
            hidden.append(name)
        else:
            shown.append(brief_pairs(table, "--json") if name == "identical" else table)
    shown += [f"Not shown: {all_of(hidden)} (--details prints all tables)."] if hidden else []
    figures = ["curves"] if call.out(FIGURES) else []
    every = list(study.parts.values())
    return Answer(result=study, tables=every, shown=shown, figures=figures, draw=draw)


class _Studies(LazyGroup):
    """The group, whose commands are made from :data:`STUDIES`."""

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Make one command."""
        del ctx
        return _made(cmd_name) if cmd_name in STUDIES else None


study = _Studies(
    name="study",
    help="See whether a verdict survives other data and other rankings.",
    lazy={name: entry.short for name, entry in STUDIES.items()},
)
