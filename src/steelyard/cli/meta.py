"""``steelyard meta``: which metric, or LLM judge, agrees with people."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from steelyard.cli.engine import READING, Answer, Call, command
from steelyard.cli.flags import spoken
from steelyard.cli.group import JUDGED
from steelyard.cli.params import InputOptions, texts
from steelyard.core.errors import UsageError
from steelyard.core.options import Options, choice, flag, names
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


@dataclass(frozen=True, kw_only=True)
class _Request(Options):
    by: tuple[str, ...] = names(
        DEFAULT,
        "Meta-metrics: spa pa pearson spearman kendall-b kendall-c acc-eq tau-eq pdp kendall-like "
        "and other Kendall variants.",
    )
    corpus: tuple[str, ...] = names(
        (), "Add these metrics, scored on the texts: bleu chrf ter kobe kobe-ref, others of score."
    )
    refs: tuple[str, ...] | None = names(
        None, "References that --corpus compares with.", flag="--ref"
    )
    details: bool = flag("Show all columns, warnings, and how large a difference counts.")
    by_domain: bool = flag("A column per domain, and their average.")
    preset: str | None = choice(
        None,
        (*PRESETS, _TASKS),
        "Run the protocol of a shared task on the folder INPUT; wmt26: on human ratings and "
        "predictions.",
    )
    add: tuple[str, ...] = texts(
        "Scores of your own metric, for all sets or one (repeatable).", metavar="[SET=]FILE"
    )

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


@command(
    _Request,
    MetaOptions,
    InputOptions,
    required=False,
    plots=" ".join(PLOTS),
    hidden="",
    headings={
        "What to compare": "metrics by level group_by details by_domain",
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
def meta(call: Call) -> Answer:
    """Find the metrics that agree with a human score, and test which of them really differ.

    INPUT is a table, an mt-metrics-eval folder (with --lp) or a native file; several are joined.
    Protocols (--preset) and --by-domain split over --jobs.
    """
    from steelyard.metaevaluation.results import MetaEvaluation, few_warnings

    asked, request, output = call.take(MetaOptions), call.take(_Request), call.output
    if request.preset == _TASKS:
        return _metrics_task(call, request, asked)
    figures = _figures(call, request, asked)
    human, es = call.reading.human, None
    brief = not (request.details or output.as_json)
    result: Result
    if request.preset:
        benchmark, sets = _protocol(request, call.inputs)
        result = _run(call, benchmark, sets, asked, human, _NOT_IN_PROTOCOLS)
    else:
        call.need_inputs()
        es, asked = _loaded(call, request, asked)
        if request.by_domain:
            benchmark, sets = _domains(es, request, human, asked)
            result = _run(call, benchmark, sets, asked, None, _NOT_BY_DOMAIN)
        else:
            from steelyard.metaevaluation.run import evaluate

            with call.progress("comparing"):
                metas, few = request.metametrics(), brief and not figures
                result = evaluate(es, human, metas, asked, output.seed, brief=few)

    def draw(name: str) -> Any:
        from steelyard.data.selection import chosen_metrics
        from steelyard.report.figures import meta as figures

        if not isinstance(result, MetaEvaluation):
            return figures.draw_protocol(name, result, asked.alpha)
        assert es is not None
        metrics = asked.metrics
        named = () if metrics is None else chosen_metrics(es, metrics, human=human)
        return figures.draw(name, figures.MetaInput(result, es, tuple(named), asked.alpha))

    if isinstance(result, MetaEvaluation):
        table = shown = result.table(details=request.details)
    else:
        table, shown = result.table(), result.table(tasks=request.details or request.by_domain)
    return Answer(
        result=few_warnings(result) if brief else result,
        tables=[table],
        shown=[replace(shown, notes=tuple(map(spoken, shown.notes)))],
        figures=figures,
        draw=draw,
        then=_next(call, asked, es),
        says_read=es is None,
    )


def _metrics_task(call: Call, request: _Request, asked: MetaOptions) -> Answer:
    """Run the three tasks of WMT26: the first input is what people said."""
    from steelyard.metaevaluation.errorspans import metrics_task
    from steelyard.metaevaluation.results import few_warnings

    if len(call.inputs) < 2:
        raise UsageError("--preset wmt26: expected what people marked, and at least one prediction")
    by = request.by if call.given("by") else ("spa", "acc-eq")
    gold, *predicted = call.inputs
    with call.progress("comparing"):
        result = metrics_task(gold, predicted, by, asked, call.reading, call.output.seed)
    return Answer(
        result=result if request.details or call.output.as_json else few_warnings(result),
        tables=result.tables(),
        then=None if asked.significance else call.again("--significance"),
    )


def _next(call: Call, asked: MetaOptions, es: EvalSet | None) -> str | None:
    """Test which metrics differ; after that, look at it all in one page."""
    if not asked.significance:
        return call.again("--significance", without={"plot"})
    if es is None or call.given("corpus", "add", "refs"):
        return None  # a report reads scores as they are
    return call.another("report", "--out", "report.html", keep={*READING, "metrics"})


def _figures(call: Call, request: _Request, asked: MetaOptions) -> Sequence[str]:
    """Return the figures to draw; refuse options that do not go together."""
    protocol = bool(request.preset or request.by_domain)
    figures = call.figures(PROTOCOL_PLOTS if protocol else PLOTS)
    if protocol and asked.sentinels:
        raise UsageError("--sentinels: a protocol names its metrics; use one set")
    for name in figures:
        if name in ("comparison", "side-by-side") and not asked.significance:
            raise UsageError(f"--plot {name} shows tests of metrics: add --significance")
    return figures


def _loaded(call: Call, request: _Request, asked: MetaOptions) -> tuple[EvalSet, MetaOptions]:
    """Load a set, and score its texts by the corpus metrics that were asked for."""
    reading = call.reading.by_unit(asked.unit)
    es = reading.load([*call.inputs, *(path for _, path in request.added)])
    if request.corpus:
        from steelyard.scoring.run import with_corpus_metrics

        before = es.scores.keys()
        with call.progress("scoring"):
            es = with_corpus_metrics(es, request.corpus, request.refs)
        if asked.metrics is not None:  # what was computed for this is shown
            added = sorted(es.scores.keys() - before)
            asked = replace(asked, metrics=(*asked.metrics, *added))
    return es, asked


def _protocol(request: _Request, inputs: tuple[str, ...]) -> tuple[Benchmark, Inputs]:
    from steelyard.metaevaluation.benchmark import tasks

    if len(inputs) != 1:
        raise UsageError(f"expected one folder with the sets, got {len(inputs)} inputs")
    return tasks.preset(str(request.preset)), tasks.Inputs(inputs[0], add=request.added)


def _domains(
    es: EvalSet, request: _Request, human: str | None, asked: MetaOptions
) -> tuple[Benchmark, Inputs]:
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
    call: Call,
    benchmark: Benchmark,
    sets: Inputs,
    asked: MetaOptions,
    human: str | None,
    ignored: frozenset[str],
) -> BenchmarkResult:
    from steelyard.core.parallel import Workers
    from steelyard.metaevaluation.benchmark.run import run_benchmark

    with call.progress("comparing", counted=True) as progress:
        seed, workers = call.output.seed, Workers(call.output.jobs, progress)
        result = run_benchmark(benchmark, sets, asked, human=human, rng=seed, workers=workers)
    return replace(result, warnings=(*result.warnings, *call.without(ignored, "a protocol")))
