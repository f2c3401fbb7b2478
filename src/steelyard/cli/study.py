"""``steelyard study``: whether a verdict survives other data, other metrics, other rankings.

Every study is an entry of :data:`STUDIES`; its command is made when it is called.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

import click

from steelyard.cli.group import JUDGED, RATINGS, SCORES, LazyGroup, command
from steelyard.cli.output import emit, progress_of, wants_figure, workers_with_progress
from steelyard.cli.params import (
    Finite,
    InputOptions,
    Names,
    OutputOptions,
    arguments,
    details_option,
    figure_options,
    from_fields,
    given,
    input_options,
)
from steelyard.core.errors import UsageError
from steelyard.core.text import all_of
from steelyard.studies import options as asked

if TYPE_CHECKING:
    from steelyard.data.evalset import EvalSet
    from steelyard.studies.study import Study

Decorator = Callable[[Any], Any]
Settings = dict[str, Any]
_ROWS = 20  # of a table after the first that is printed without --details

_BY = click.option("--by", type=Names(), default=",".join(asked.META), show_default=True,
                   help="Meta-metrics, as for steelyard meta.")  # fmt: skip
_EACH = click.option("--each", metavar="COLUMN", help="One set for every value of this column.")
_PLOT = click.option(
    "--plot", type=Names(), help="Curves that a figure shows, by name; all by default."
)


@dataclass(frozen=True)
class _Call:
    """What a command was called with; ``how`` is what every study function takes."""

    inputs: tuple[str, ...]
    options: InputOptions
    settings: Settings
    how: Settings

    def function(self, name: str) -> Callable[..., Study]:
        """Load a function of the studies."""
        made: Callable[..., Study] = getattr(import_module("steelyard.studies"), name)
        return made

    def load(self, unit: str = "segment") -> EvalSet:
        """Load the inputs, a column that is the unit as documents."""
        return self.options.by_unit(unit).load(self.inputs)


@dataclass(frozen=True)
class _Entry:
    """A study as a command: its help, how it runs, and its options."""

    short: str  # the line of the group's help
    help: str
    run: Callable[[_Call], Study]
    options: Sequence[Decorator]
    examples: tuple[str, ...]
    shape: str = JUDGED
    inputs: str = "INPUT..."  # the argument; in brackets where it may be left out
    progress: str = ""  # what is under way
    plots: bool = True
    workers: bool = False


def _of_metrics(function: str, cls: type[asked.MetaStudyOptions]) -> Callable[[_Call], Study]:
    """Return how a study of meta-evaluations runs."""

    def run(call: _Call) -> Study:
        by = call.settings.pop("by")
        es = call.load()
        study = call.function(function)
        return study(es, call.options.human, by=by, options=cls(**call.settings), **call.how)

    return run


def _each_set(call: _Call, column: str) -> dict[str, EvalSet]:
    """Load a set for every value of a column."""
    from steelyard.formats.load import column_values

    sets = {}
    for value in column_values(*call.inputs, column=column):
        where = (*call.options.where, (column, value))
        es = replace(call.options, where=where).load(call.inputs)
        files = (replace(file, chosen=(*file.chosen, ("each", column))) for file in es.inputs)
        sets[value] = replace(es, inputs=tuple(files))
    return sets


def _worth(call: _Call) -> Study:
    from steelyard.formats.load import systems_by
    from steelyard.studies.worth import difference_worth, read_pair_pvalues

    each, path = call.settings.pop("each"), call.settings.pop("pvalues")
    how = asked.WorthOptions(**call.settings)
    options = call.options.by_unit(how.unit)
    groups = None if each is None else systems_by(*call.inputs, column=each)
    if each is None or groups is not None:  # systems of one campaign each need one load
        skipped = () if each is None else (each,)
        sets: Any = [replace(options, ignore=(*options.ignore, *skipped)).load(call.inputs)]
    else:
        by_value = _each_set(replace(call, options=options), each)
        sets = [replace(es, name=name) for name, es in sorted(by_value.items())]
    pvalues = None if path is None else read_pair_pvalues(path)
    return difference_worth(
        sets, call.options.human, options=how, groups=groups, pvalues=pvalues, **call.how
    )


def _ties(call: _Call) -> Study:
    path = call.settings.pop("pairs")
    if not call.settings["matrices"]:
        del call.settings["matrices"]
    how = asked.TiesOptions(**call.settings)
    files: tuple[Any, ...] = ()
    if path is None:
        data: Any = call.load(how.unit)
    else:
        data, files = _decided(path, call, how)
    study = call.function("vary_ties")
    return study(data, call.options.human, options=how, inputs=files, **call.how)


def _decided(path: str, call: _Call, how: asked.TiesOptions) -> tuple[Any, Any]:
    """Read a list of pairs that people decided, with texts and scores of metrics."""
    from steelyard.data.judgements import BattleLog
    from steelyard.data.selection import chosen_metrics
    from steelyard.human.darr import DARR, pairs_of_battles
    from steelyard.human.options import HumanOptions
    from steelyard.human.run import read_inputs

    options = call.options
    if options.human is not None:
        raise UsageError("--pairs and --human: expected one of them")
    human = HumanOptions(protocol="darr", where=options.where, ignore=options.ignore, lp=options.lp)
    read = read_inputs((path, *call.inputs), DARR, human)
    if not isinstance(read.judgements, BattleLog) or read.scores is None:
        raise UsageError(f"--pairs {path}: expected columns better and worse, and one INPUT more")
    es = read.scores
    names = tuple(name for name in es.scores if es[name].has_segments)
    names = tuple(chosen_metrics(es, how.metrics)) if how.metrics else names
    return pairs_of_battles(read.judgements, es, names), read.files


def _disagreement(call: _Call) -> Study:
    each = call.settings.pop("each")
    sets = _each_set(call, each) if each else call.load()
    return call.function("disagree")(sets, **call.settings, **call.how)


def _simulation(call: _Call) -> Study:
    return call.function("simulate")(asked.Design(**call.settings), **call.how)


def _ranking_rule(call: _Call) -> Study:
    options = call.options
    keep = {"where": options.where, "columns": options.columns, "ignore": options.ignore,
            "lp": options.lp, "format": options.format, "human": options.human}  # fmt: skip
    study = call.function("study_ranking_rule")
    return study(call.inputs, options=asked.RankingRuleOptions(**call.settings), **keep, **call.how)


def _threshold(call: _Call) -> Study:
    from steelyard.studies.threshold import read_ratings, study_threshold

    how = asked.ThresholdOptions(**call.settings)
    read = read_ratings(call.inputs, call.options, how)
    return study_threshold(read, call.options.human, options=how, rng=call.how["rng"])


def _power(call: _Call) -> Study:
    settings = {name: value for name, value in call.settings.items() if value is not None}
    if not settings.get("tests"):
        settings.pop("tests", None)
    if "effect" in settings:
        if call.inputs:
            raise UsageError("--effect does without a pilot: expected no INPUT")
        usual = {k: settings[k] for k in ("alpha", "target", "sizes", "tests") if k in settings}
        return call.function("power_of_effect")(settings["effect"], **usual)
    if not call.inputs:
        raise UsageError("expected a pilot (INPUT) or --effect")
    es = call.load(settings["unit"])
    if not given("unit"):
        del settings["unit"]  # what is usual differs for systems and metrics
    score, pair = settings.get("score"), settings.get("pair", ())
    if pair or score:
        if score is None or len(pair) != 2:
            raise UsageError("expected --score NAME and --pair A,B together")
        tests = asked.TestPowerOptions.of(settings)
        return call.function("power_of_test")(es, score, pair, options=tests, **call.how)
    metrics = asked.MetricPowerOptions.of(settings)
    study = call.function("power_of_metrics")
    return study(es, call.options.human, by=settings["by"], options=metrics, **call.how)


_FILE: Settings = {"type": click.Path(dir_okay=False), "metavar": "FILE"}
STUDIES = {
    "systems": _Entry(
        "Would metrics rank alike with fewer systems?",
        "Drop systems, and see how well values and ranks of the metrics survive.",
        _of_metrics("ablate_systems", asked.SystemsOptions),
        (_BY, from_fields(asked.SystemsOptions)),
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
        (_BY, from_fields(asked.SegmentsOptions)),
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
        (_BY, from_fields(asked.DistinctOptions)),
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
            from_fields(asked.WorthOptions, "metrics", "at"),
            _EACH,
            click.option("--p-values", "pvalues", **_FILE, help="People's p-values of pairs "
                         "(columns a, b, p), where there are no segments to test."),
            from_fields(asked.WorthOptions, "alpha", "unit", "draws"),
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
            from_fields(asked.TiesOptions, "metrics"),
            click.option("--matrices", type=Names(), help="Kendall variants, the first of which "
                         "others are compared with; by default those of the paper, tau-eq and "
                         "acc-eq."),
            from_fields(asked.TiesOptions, "thresholds", "threshold", "metric_thresholds",
                        "identical_ties", "unit", "n_bootstrap", "n_resamples", "alternative",
                        "alpha", "correction"),
            click.option("--pairs", **_FILE, help="Pairs that people decided (columns better, "
                         "worse), instead of --human."),
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
            click.option("--score", "scores", type=Names(), help="Only these scores."),
            _EACH,
            from_fields(asked.DisagreementOptions, "by", "top", "sizes", "draws", "ties",
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
        (from_fields(asked.Design),),
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
            click.option("--pair", type=Names(), help="Two systems of a pilot, by --score."),
            click.option("--score", metavar="NAME", help="The score of the systems of --pair."),
            _BY,
            from_fields(asked.MetricPowerOptions, "metrics"),
            click.option("--effect", type=Finite(), metavar="X", help="Without a pilot: mean "
                         "difference of two systems in standard deviations of differences."),
            click.option("--tests", type=Names(), help="Tests: t permutation sign."),
            from_fields(asked.PowerOptions, "unit", "difference", "sizes"),
            click.option("--draws", type=click.IntRange(min=10), default=1000, show_default=True,
                         metavar="N", help="Draws of each size."),
            from_fields(asked.PowerOptions, "alpha", "target"),
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
        (from_fields(asked.RankingRuleOptions),),
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
        (from_fields(asked.ThresholdOptions),),
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

    def run(output: OutputOptions, *, details: bool, **settings: Any) -> None:
        inputs, options = settings.pop("inputs", ()), settings.pop("options", InputOptions())
        plot = settings.pop("plot", None)
        if entry.inputs and not entry.inputs.startswith("["):
            wants_figure(output)
        call = _Call(inputs, options, settings, {"rng": output.seed})
        if entry.workers:
            with workers_with_progress(entry.progress, output) as shown:
                study = entry.run(replace(call, how=call.how | {"workers": shown}))
        elif entry.progress:
            with progress_of(entry.progress, output) as progress:
                study = entry.run(replace(call, how=call.how | {"progress": progress}))
        else:
            study = entry.run(call)
        _emit(study, plot, output, details=details)

    argument = arguments(entry.inputs, required=not entry.inputs.startswith("["))
    decorators: list[Decorator] = [
        *([argument] if entry.inputs else []),
        *entry.options,
        *([_PLOT] if entry.plots else []),
        details_option,
        *([input_options] if entry.inputs else []),
        partial(figure_options, splits=entry.workers),
    ]
    decorated: Any = run
    for decorator in reversed(decorators):
        decorated = decorator(decorated)
    return command(name, shape=entry.shape, examples=entry.examples, help=entry.help)(decorated)


def _emit(
    study: Study, plot: tuple[str, ...] | None, output: OutputOptions, *, details: bool
) -> None:
    """Print and write a study; a figure has the chosen curves."""
    curves = study.curves if plot is None else [study.curve(name) for name in plot]

    def draw() -> Any:
        from steelyard.report.figures.curves import draw_curves

        return draw_curves(curves)

    tables = {name: table for name, table in study.parts.items() if table.rows}
    shown: list[Any] = []
    hidden: list[str] = []
    for name, table in tables.items():
        if shown and len(table.rows) > _ROWS and not details:
            hidden.append(name)
        else:
            shown.append(table)
    shown += [f"Not shown: {all_of(hidden)} (--details prints all tables)."] if hidden else []
    emit(study, list(study.parts.values()), output, draw=draw, shown=shown)


class _Studies(LazyGroup):
    """The group, whose commands are made from :data:`STUDIES`."""

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Make one command."""
        del ctx
        return _made(cmd_name) if cmd_name in STUDIES else None


@click.group(
    cls=_Studies,
    lazy={name: ("", entry.short) for name, entry in STUDIES.items()},
    context_settings={"help_option_names": ["-h", "--help"]},
)
def study() -> None:
    """See whether a verdict survives other data and other rankings."""
