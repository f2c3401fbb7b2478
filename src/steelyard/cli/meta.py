"""``steelyard meta``: which metric, or LLM judge, agrees with people."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from steelyard.cli import proposals
from steelyard.cli.flags import spoken
from steelyard.cli.group import JUDGED, command
from steelyard.cli.output import (
    emit,
    plot_option,
    shown_progress,
    wanted_figures,
    workers_with_progress,
    write_figures,
)
from steelyard.cli.params import (
    FileName,
    InputOptions,
    Known,
    Names,
    OutputOptions,
    figure_options,
    from_fields,
    given,
    input_options,
    need_inputs,
    refuse_workers,
    without_part,
    worker_options,
)
from steelyard.core.errors import UsageError
from steelyard.metaevaluation.options import DEFAULT, POOLED, MetaOptions

if TYPE_CHECKING:
    from steelyard.core.parallel import Workers
    from steelyard.data.evalset import EvalSet
    from steelyard.metaevaluation.benchmark.results import BenchmarkResult
    from steelyard.metaevaluation.results import MetaEvaluation
    from steelyard.stats.metametrics.base import MetaMetric

    Result = MetaEvaluation | BenchmarkResult

# Reading the folder would cost start-up.
PRESETS = ("wmt22", "wmt23", "wmt24", "wmt24-esa", "wmt25")
# What averages over domains have no part for, and what the tasks of a protocol decide besides.
_NOT_BY_DOMAIN = frozenset(
    ("intervals", "n_bootstrap", "epsilon", "threshold", "pa_ties", "keep_references", "outliers",
     "details")
)  # fmt: skip
_NOT_IN_PROTOCOLS = _NOT_BY_DOMAIN | {
    *("by", "level", "group_by", "ties", "corpus", "refs", "sees", "drop_metrics", "protocol"),
}
# Of the meta-metrics, those that a shell completes.
COMPLETED = ("spa", "pa", "pearson", "spearman", "kendall-b", "kendall-c", "acc-eq", "tau-eq",
             "pdp", "kendall-like")  # fmt: skip
# What report.figures.metaevaluation draws of one set, and of a protocol.
PLOTS = (
    "forest", "pvalues", "comparison", "side-by-side", "calibration", "scatter", "metametrics",
)  # fmt: skip
PROTOCOL_PLOTS = ("leaderboard", "comparison")


_PAIR_WORTHS = ("same", "opposite", "metric_tie", "human_tie", "both_tie")


@command(
    headings={
        "What to weigh": "metrics by ties level group_by details by_domain",
        "Tests and intervals": "significance scheme alternative correction alpha n_resamples unit "
        "intervals n_bootstrap",
        "What counts": "common keep_references sentinels outliers outlier_cutoff method epsilon "
        "threshold pa_ties",
        "Texts and ratings beside scores": "corpus refs protocol",
        "Protocols of shared tasks": "preset benchmark add resume",
    },
    shape=JUDGED,
    examples=(
        "steelyard meta scores.csv --human mqm",
        "steelyard meta human.csv.gz metrics.csv.gz --human mqm --by spa,pa --significance",
        "steelyard meta --preset wmt23 mt-metrics-eval-v2/wmt23 --add my-metric.seg.score",
    ),
)
@click.argument("inputs", nargs=-1, type=FileName(), metavar="INPUT...")
@from_fields(MetaOptions, "metrics", "level")
@click.option("--by", type=Names(COMPLETED), default=",".join(DEFAULT), show_default=True,
              help="Meta-metrics: spa pa pearson spearman kendall-b kendall-c acc-eq tau-eq pdp "
              "kendall-like and other Kendall variants.")  # fmt: skip
@click.option("--variants", "ties", type=click.Path(path_type=Path, dir_okay=False),
              metavar="FILE.toml", help="Kendall variants of your own, for --by.")  # fmt: skip
@from_fields(MetaOptions, "group_by", "significance", "scheme", "correction", "alternative",
             "n_resamples", "alpha", "intervals", "n_bootstrap", "method", "unit", "epsilon",
             "threshold", "pa_ties")  # fmt: skip
@click.option("--corpus", type=Names(), default=(), help="Weigh these metrics, too, scored on the "
              "texts: bleu chrf chrf++ ter kobe kobe-ref and others of score.")  # fmt: skip
@click.option("--ref", "refs", type=Names(), help="References that --corpus compares with.")
@click.option("--protocol", type=Known(("da", "mqm", "esa")), help="Raw ratings among the "
              "inputs become the human score, as by steelyard human.")  # fmt: skip
@click.option("--details", is_flag=True, help="Show how large a difference counts: the smallest "
              "believable gap of every metric, and how often people agree.")  # fmt: skip
@click.option("--by-domain", is_flag=True, help="A column per domain, and their average.")
@click.option("--preset", type=Known(PRESETS), help="Run the protocol of a shared task on "
              "the folder INPUT.")  # fmt: skip
@click.option("--benchmark", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE.toml",
              help="Run a protocol of your own.")  # fmt: skip
@click.option("--add", multiple=True, metavar="[SET=]FILE",
              help="Scores of your own metric, for all sets of a protocol or one "
              "(repeatable).")  # fmt: skip
@from_fields(MetaOptions, "keep_references", "common", "outliers", "outlier_cutoff", "sentinels")
@plot_option(PLOTS)
@input_options
@figure_options
@worker_options
def meta(
    inputs: tuple[str, ...],
    options: InputOptions,
    output: OutputOptions,
    workers: Workers,
    **settings: Any,
) -> None:
    """Weigh metrics against a human score, and test which of them really differ.

    INPUT is a table, an mt-metrics-eval folder (with --lp) or a native file; several are joined.
    Protocols (--preset, --benchmark) and --by-domain split over --jobs.
    """
    from steelyard.data.selection import chosen_metrics
    from steelyard.metaevaluation.results import MetaEvaluation

    weighing, given = MetaOptions.take(settings), _Given(**settings)
    protocols = given.preset is not None or given.benchmark is not None or given.by_domain
    plots = wanted_figures(given.plot, output, PROTOCOL_PLOTS if protocols else PLOTS)
    if protocols and weighing.sentinels:
        raise UsageError("--sentinels: protocols say which metrics take part; weigh one set")
    if weighing.level in POOLED:
        _refuse_pooled(weighing.level, plots, by_domain=given.by_domain)
    _need_tests(plots, weighing)
    es = None
    if given.preset or given.benchmark:
        with workers_with_progress("weighing", workers, output) as shown:
            result: Result = _protocol(given, inputs, options, weighing, output.seed, shown)
    else:
        need_inputs(inputs)
        options = options.by_unit(weighing.unit)
        paths = (*inputs, *(path for _, path in given.added))
        es, options = _loaded(paths, given, options, weighing, output)
        if given.corpus:
            from steelyard.scoring.run import with_corpus_metrics

            before = es.scores.keys()
            with shown_progress("scoring", output):
                es = with_corpus_metrics(es, given.corpus, given.refs)
            if weighing.metrics is not None:  # what was computed for this is shown
                made = sorted(es.scores.keys() - before)
                weighing = replace(weighing, metrics=(*weighing.metrics, *made))
        if given.by_domain:
            result = _by_domain(es, given, options, weighing, output.seed, workers)
        else:
            from steelyard.metaevaluation.run import evaluate

            what = "one set is not split; for --preset, --benchmark or --by-domain"
            refuse_workers(workers, what)
            with shown_progress("weighing", output):
                result = evaluate(es, options.human, given.metametrics(), weighing, output.seed)
    if protocols:
        decided = _NOT_IN_PROTOCOLS if es is None else _NOT_BY_DOMAIN
        result = replace(result, warnings=(*result.warnings, *without_part(decided, "a protocol")))
    named: tuple[str, ...] = ()
    if es is not None and weighing.metrics is not None:
        named = tuple(chosen_metrics(es, weighing.metrics, human=options.human))
    draw = partial(_draw, result, es, named, weighing.alpha)
    if isinstance(result, MetaEvaluation):
        table = result.table(details=given.details)
    else:
        table = result.table()
    table = replace(table, notes=tuple(map(spoken, table.notes)))
    emit(result, [table], write_figures(plots, draw, output), then=_next(weighing, es))


def _next(weighing: MetaOptions, es: EvalSet | None) -> str | None:
    """Test which metrics differ; after that, look at it all in one page."""
    if not weighing.significance:
        return proposals.again("--significance", without={"plot"})
    if es is None or any(given(name) for name in ("protocol", "corpus", "add", "refs")):
        return None  # a report reads scores as they are
    return proposals.another("report", "--out", "report.html", keep={*proposals.READING, "metrics"})


def _need_tests(plots: Sequence[str], weighing: MetaOptions) -> None:
    """Refuse figures of tests where nothing is tested."""
    for name in plots:
        if name in ("comparison", "side-by-side") and not weighing.significance:
            raise UsageError(f"--plot {name} shows tests of metrics: add --significance")


def _refuse_pooled(level: str, plots: Sequence[str], *, by_domain: bool) -> None:
    """Refuse what documents and domains have no part in."""
    if by_domain:
        raise UsageError(f"--by-domain and --level {level}: expected one of them")
    for name in plots:
        if name not in ("forest", "comparison", "side-by-side", "metametrics"):
            raise UsageError(f"--plot {name} shows systems or segments: not with --level {level}")


def _loaded(
    inputs: tuple[str, ...],
    given: _Given,
    options: InputOptions,
    weighing: MetaOptions,
    output: OutputOptions,
) -> tuple[EvalSet, InputOptions]:
    """Load a set; raw ratings become the human score if a protocol says how.

    What errors cost is asked for only where raters are: not every severity has a weight.
    """
    from steelyard.metaevaluation.raterdraws import asks_for_raters

    sources: list[Any] = list(inputs)
    notes: tuple[str, ...] = ()
    if given.protocol is not None:
        from steelyard.human.run import scored_inputs

        sources, human, notes = scored_inputs(sources, given.protocol, options, output.seed)
        options = replace(options, human=human)
    es = options.load(sources)
    if asks_for_raters(weighing):
        from steelyard.human.run import with_costs

        es = with_costs(es, options.human)
    return replace(es, notes=(*notes, *es.notes)), options


@dataclass(frozen=True, kw_only=True)
class _Given:
    """Options of the command that are no options of weighing."""

    by: tuple[str, ...]
    ties: Path | None
    corpus: tuple[str, ...]
    refs: tuple[str, ...] | None
    protocol: str | None
    details: bool
    by_domain: bool
    preset: str | None
    benchmark: Path | None
    add: tuple[str, ...]
    plot: tuple[str, ...] | None

    @property
    def added(self) -> list[tuple[str | None, str]]:
        """Split SET=FILE; a name of a file may have an equals sign, so it is tried whole first."""
        found: list[tuple[str | None, str]] = []
        for text in self.add:
            name, equals, path = text.partition("=")
            found.append((name, path) if equals and not Path(text).exists() else (None, text))
        return found

    def metametrics(self) -> list[MetaMetric]:
        """Give the meta-metrics, names of the user's own variants being what they stand for."""
        from steelyard.stats.metametrics.registry import chosen

        own = {} if self.ties is None else read_tie_matrices(self.ties)
        return chosen([own.get(name, name) for name in self.by])


def read_tie_matrices(path: Path) -> dict[str, MetaMetric]:
    """Read Kendall variants of one's own: a table each, which says what each kind of pair is worth.

    ::

        [my-kendall]
        same = 1
        opposite = -1
        metric_tie = 0       # a key that is absent leaves such pairs out
        both_tie = 1
        calibrated = false   # true: find the metric difference below which pairs tie
        threshold = 0        # human differences below this are ties
    """
    from steelyard.formats import toml
    from steelyard.stats.kendall.counting import TieMatrix
    from steelyard.stats.metametrics.correlations import from_matrix
    from steelyard.stats.metametrics.registry import METAMETRICS

    top = toml.read(path)
    variants = {}
    for name, keys in top.keys.items():
        if not isinstance(keys, dict):
            raise top.error(f"'{name}' is {keys!r}, expected a table [{name}]")
        if name in METAMETRICS:
            raise top.error(f"[{name}]: the name is taken by a meta-metric of Steelyard")
        section = toml.Section(keys, path, f"[{name}]")
        section.only((*_PAIR_WORTHS, "calibrated", "threshold"))
        worth = TieMatrix(**{key: section.number(key) for key in _PAIR_WORTHS})
        if all(getattr(worth, key) is None for key in _PAIR_WORTHS):
            raise section.error(f"no pair is worth anything: expected {', '.join(_PAIR_WORTHS)}")
        calibrated = section.flag("calibrated")
        if calibrated and None in (getattr(worth, key) for key in _PAIR_WORTHS):
            raise section.error("'calibrated' needs all of " + ", ".join(_PAIR_WORTHS))
        threshold = section.number("threshold", 0.0)
        if threshold is None or threshold < 0:
            raise section.error(f"'threshold' is {threshold:g}, expected a number of at least 0")
        variants[name] = from_matrix(name, worth, calibrated=calibrated, threshold=threshold)
    if not variants:
        raise top.error("no variant: expected a table such as [my-kendall]")
    return variants


def _draw(
    result: Result, es: EvalSet | None, metrics: tuple[str, ...], alpha: float, name: str
) -> Any:
    from steelyard.metaevaluation.results import MetaEvaluation
    from steelyard.report.figures import metaevaluation

    if isinstance(result, MetaEvaluation):
        return metaevaluation.draw(name, metaevaluation.MetaInput(result, es, metrics, alpha))
    return metaevaluation.draw_protocol(name, result, alpha)


def _protocol(
    given: _Given,
    inputs: tuple[str, ...],
    options: InputOptions,
    weighing: MetaOptions,
    seed: int | None,
    workers: Workers,
) -> Result:
    from steelyard.metaevaluation.benchmark import tasks
    from steelyard.metaevaluation.benchmark.run import run_benchmark

    if given.preset and given.benchmark:
        raise UsageError("--preset and --benchmark: expected one of them")
    if len(inputs) > 1 or (given.preset and not inputs):
        raise UsageError(f"expected one folder with the sets, found {len(inputs)} inputs")
    chosen = tasks.preset(given.preset) if given.preset else tasks.read(given.benchmark or Path())
    where = tasks.Inputs(inputs[0] if inputs else None, add=given.added)
    return run_benchmark(chosen, where, weighing, human=options.human, rng=seed, workers=workers)


def _by_domain(
    es: EvalSet,
    given: _Given,
    options: InputOptions,
    weighing: MetaOptions,
    seed: int | None,
    workers: Workers,
) -> Result:
    from steelyard.metaevaluation.benchmark.run import run_benchmark
    from steelyard.metaevaluation.benchmark.tasks import Benchmark, Inputs, SetSpec, Task
    from steelyard.metaevaluation.cube import the_human

    if not es.domains:
        raise UsageError("--by-domain: the domains of the segments are not known")
    name = es.language_pair or "all"
    level, group = weighing.level, weighing.group_by
    tasks = tuple(Task(one, level, group, domains=True) for one in given.metametrics())
    human = the_human(es, options.human)
    own = Benchmark("by domain", "By domain", human, (SetSpec(name),), tasks, weights="domains")
    where = Inputs(sets={name: es})
    return run_benchmark(own, where, weighing, rng=seed, workers=workers)
