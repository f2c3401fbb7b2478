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
    InputOptions,
    Known,
    Names,
    OutputOptions,
    arguments,
    figure_options,
    from_fields,
    given,
    input_options,
    need_inputs,
    without_part,
)
from steelyard.core.errors import UsageError
from steelyard.metaevaluation.options import DEFAULT, MetaOptions

if TYPE_CHECKING:
    from steelyard.data.evalset import EvalSet
    from steelyard.metaevaluation.benchmark.run import BenchmarkResult
    from steelyard.metaevaluation.benchmark.tasks import Benchmark, Inputs
    from steelyard.metaevaluation.results import MetaEvaluation
    from steelyard.stats.metametrics.base import MetaMetric

    Result = MetaEvaluation | BenchmarkResult

# Reading the folder would cost start-up.
PRESETS = ("wmt22", "wmt23", "wmt24", "wmt24-esa", "wmt25")
_TASKS = "wmt26"  # spans, scores and error-free outputs instead of a folder of sets
# Options that averages over domains ignore, and those that the tasks of a protocol decide.
_NOT_BY_DOMAIN = frozenset(
    ["intervals", "n_bootstrap", "epsilon", "threshold", "keep_references", "outliers"]
)
_NOT_IN_PROTOCOLS = _NOT_BY_DOMAIN.union(
    ["by", "level", "group_by", "corpus", "refs", "sees", "drop_metrics"]
)
# What report.figures.meta draws of one set, and of a protocol.
PLOTS = ("forest", "pvalues", "comparison", "side-by-side", "scatter")
PROTOCOL_PLOTS = ("leaderboard", "comparison")


@command(
    headings={
        "What to compare": "metrics by level group_by details by_domain",
        "Tests and intervals": "significance scheme alternative correction alpha n_resamples unit "
        "intervals n_bootstrap",
        "What counts": "common keep_references sentinels outliers method epsilon threshold",
        "Texts beside scores": "corpus refs",
        "Protocols of shared tasks": "preset add",
    },
    shape=JUDGED,
    examples=(
        "steelyard meta scores.csv --human mqm",
        "steelyard meta human.csv.gz metrics.csv.gz --human mqm --by spa,pa --significance",
        "steelyard meta --preset wmt23 mt-metrics-eval-v2/wmt23 --add my-metric.seg.score",
        "steelyard meta --preset wmt26 annotations.jsonl metric-a.jsonl metric-b.jsonl",
    ),
)
@arguments(required=False)
@from_fields(MetaOptions, "metrics", "level")
@click.option("--by", type=Names(), default=",".join(DEFAULT), show_default=True,
              help="Meta-metrics: spa pa pearson spearman kendall-b kendall-c acc-eq tau-eq pdp "
              "kendall-like and other Kendall variants.")  # fmt: skip
@from_fields(MetaOptions, "group_by", "significance", "scheme", "correction", "alternative",
             "n_resamples", "alpha", "intervals", "n_bootstrap", "method", "unit", "epsilon",
             "threshold")  # fmt: skip
@click.option("--corpus", type=Names(), default=(), help="Add these metrics, scored on the "
              "texts: bleu chrf chrf++ ter kobe kobe-ref and others of score.")  # fmt: skip
@click.option("--ref", "refs", type=Names(), help="References that --corpus compares with.")
@click.option("--details", is_flag=True, help="Show all columns, warnings, and how large a "
              "difference counts.")  # fmt: skip
@click.option("--by-domain", is_flag=True, help="A column per domain, and their average.")
@click.option("--preset", type=Known((*PRESETS, _TASKS)), help="Run the protocol of a shared task "
              "on the folder INPUT; wmt26: on human ratings and predictions.")  # fmt: skip
@click.option("--add", multiple=True, metavar="[SET=]FILE",
              help="Scores of your own metric, for all sets of a protocol or one "
              "(repeatable).")  # fmt: skip
@from_fields(MetaOptions, "keep_references", "common", "outliers", "sentinels")
@plot_option(PLOTS)
@input_options
@partial(figure_options, splits=True)
def meta(
    inputs: tuple[str, ...],
    options: InputOptions,
    output: OutputOptions,
    **settings: Any,
) -> None:
    """Find the metrics that agree with a human score, and test which of them really differ.

    INPUT is a table, an mt-metrics-eval folder (with --lp) or a native file; several are joined.
    Protocols (--preset) and --by-domain split over --jobs.
    """
    from steelyard.metaevaluation.results import MetaEvaluation, few_warnings

    asked, request = MetaOptions.take(settings), _Request(**settings)
    if request.preset == _TASKS:
        _metrics_task(inputs, request, options, asked, output)
        return
    plots = _plots(request, asked, output)
    brief = not (request.details or output.json or str(output.out or "").endswith(".json"))
    es: EvalSet | None = None
    result: Result
    if request.preset:
        benchmark, sets = _protocol(request, inputs)
        result = _run(benchmark, sets, asked, options.human, output, _NOT_IN_PROTOCOLS)
    else:
        need_inputs(inputs)
        es, asked = _loaded(inputs, request, options.by_unit(asked.unit), asked, output)
        if request.by_domain:
            benchmark, sets = _domains(es, request, options.human, asked)
            result = _run(benchmark, sets, asked, None, output, _NOT_BY_DOMAIN)
        else:
            from steelyard.metaevaluation.run import evaluate

            with shown_progress("comparing", output):
                metas, few = request.metametrics(), brief and not plots
                result = evaluate(es, options.human, metas, asked, output.seed, brief=few)

    def draw(name: str) -> Any:
        from steelyard.data.selection import chosen_metrics
        from steelyard.report.figures import meta as figures

        if not isinstance(result, MetaEvaluation):
            return figures.draw_protocol(name, result, asked.alpha)
        assert es is not None
        named: list[str] = []
        if asked.metrics is not None:
            named = chosen_metrics(es, asked.metrics, human=options.human)
        return figures.draw(name, figures.MetaInput(result, es, tuple(named), asked.alpha))

    if isinstance(result, MetaEvaluation):
        table = shown = result.table(details=request.details)
    else:
        table, shown = result.table(), result.table(tasks=request.details or request.by_domain)
    shown = replace(shown, notes=tuple(map(spoken, shown.notes)))
    emit(few_warnings(result) if brief else result, [table], write_figures(plots, draw, output),
         shown=[shown], then=_next(asked, es), says_read=es is None)  # fmt: skip


def _metrics_task(
    inputs: tuple[str, ...],
    request: _Request,
    options: InputOptions,
    asked: MetaOptions,
    output: OutputOptions,
) -> None:
    """Run the three tasks of WMT26: the first input is what people said."""
    from steelyard.metaevaluation.errorspans import metrics_task
    from steelyard.metaevaluation.results import few_warnings

    if len(inputs) < 2:
        raise UsageError("--preset wmt26: expected what people marked, and at least one prediction")
    by = request.by if given("by") else ("spa", "acc-eq")
    with shown_progress("comparing", output):
        result = metrics_task(inputs[0], inputs[1:], by, asked, options, output.seed)
    brief = not (request.details or output.json or str(output.out or "").endswith(".json"))
    then = None if asked.significance else proposals.again("--significance")
    emit(few_warnings(result) if brief else result, result.tables(), output, then=then)


def _next(asked: MetaOptions, es: EvalSet | None) -> str | None:
    """Test which metrics differ; after that, look at it all in one page."""
    if not asked.significance:
        return proposals.again("--significance", without={"plot"})
    if es is None or any(given(name) for name in ("corpus", "add", "refs")):
        return None  # a report reads scores as they are
    return proposals.another("report", "--out", "report.html", keep={*proposals.READING, "metrics"})


def _plots(request: _Request, asked: MetaOptions, output: OutputOptions) -> Sequence[str]:
    """Return the figures to draw; refuse options that do not go together."""
    protocol = bool(request.preset or request.by_domain)
    plots = wanted_figures(request.plot, output, PROTOCOL_PLOTS if protocol else PLOTS)
    if protocol and asked.sentinels:
        raise UsageError("--sentinels: a protocol names its metrics; use one set")
    for name in plots:
        if name in ("comparison", "side-by-side") and not asked.significance:
            raise UsageError(f"--plot {name} shows tests of metrics: add --significance")
    return plots


def _loaded(
    inputs: tuple[str, ...],
    request: _Request,
    options: InputOptions,
    asked: MetaOptions,
    output: OutputOptions,
) -> tuple[EvalSet, MetaOptions]:
    """Load a set, and score its texts by the corpus metrics that were asked for."""
    es = options.load([*inputs, *(path for _, path in request.added)])
    if request.corpus:
        from steelyard.scoring.run import with_corpus_metrics

        before = es.scores.keys()
        with shown_progress("scoring", output):
            es = with_corpus_metrics(es, request.corpus, request.refs)
        if asked.metrics is not None:  # what was computed for this is shown
            added = sorted(es.scores.keys() - before)
            asked = replace(asked, metrics=(*asked.metrics, *added))
    return es, asked


@dataclass(frozen=True, kw_only=True)
class _Request:
    """Options of the command beside :class:`MetaOptions`."""

    by: tuple[str, ...]
    corpus: tuple[str, ...]
    refs: tuple[str, ...] | None
    details: bool
    by_domain: bool
    preset: str | None
    add: tuple[str, ...]
    plot: tuple[str, ...] | None

    @property
    def added(self) -> list[tuple[str | None, str]]:
        """Split SET=FILE; a file name may have an equals sign, so it is tried whole first."""
        pairs: list[tuple[str | None, str]] = []
        for text in self.add:
            name, equals, path = text.partition("=")
            pairs.append((name, path) if equals and not Path(text).exists() else (None, text))
        return pairs

    def metametrics(self) -> list[MetaMetric]:
        """Return the meta-metrics."""
        from steelyard.stats.metametrics.registry import chosen

        return chosen(self.by)


def _protocol(request: _Request, inputs: tuple[str, ...]) -> tuple[Benchmark, Inputs]:
    """Return the benchmark, and where its sets are."""
    from steelyard.metaevaluation.benchmark import tasks

    if len(inputs) != 1:
        raise UsageError(f"expected one folder with the sets, got {len(inputs)} inputs")
    return tasks.preset(str(request.preset)), tasks.Inputs(inputs[0], add=request.added)


def _domains(
    es: EvalSet, request: _Request, human: str | None, asked: MetaOptions
) -> tuple[Benchmark, Inputs]:
    """Return the domains of a set as a benchmark."""
    from steelyard.metaevaluation.benchmark.tasks import Benchmark, Inputs, SetSpec, Task
    from steelyard.metaevaluation.data import the_human

    if not es.domains:
        raise UsageError("--by-domain: the domains of the segments are not known")
    name = es.language_pair or "all"
    metas = request.metametrics()
    tasks = tuple(Task(meta, asked.level, asked.group_by, domains=True) for meta in metas)
    gold = the_human(es, human)
    benchmark = Benchmark(
        "by domain", "By domain", gold, (SetSpec(name),), tasks, weights="domains"
    )
    return benchmark, Inputs(sets={name: es})


def _run(
    benchmark: Benchmark,
    sets: Inputs,
    asked: MetaOptions,
    human: str | None,
    output: OutputOptions,
    ignored: frozenset[str],
) -> BenchmarkResult:
    from steelyard.metaevaluation.benchmark.run import run_benchmark

    with workers_with_progress("comparing", output) as shown:
        result = run_benchmark(benchmark, sets, asked, human=human, rng=output.seed, workers=shown)
    return replace(result, warnings=(*result.warnings, *without_part(ignored, "a protocol")))
