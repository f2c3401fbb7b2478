"""``steelyard meta``: which metric, or LLM judge, agrees with people."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from steelyard.cli.emit import emit
from steelyard.cli.options import (
    FIGURES,
    LEVEL,
    SUFFIXES,
    InputOptions,
    Names,
    OutputOptions,
    Real,
    input_options,
    need_inputs,
    output_options,
    refuse_workers,
    without_part,
    worker_options,
)
from steelyard.cli.plots import plot_option, wanted_figures, write_figures
from steelyard.cli.progress import workers_with_progress
from steelyard.core.errors import UsageError

if TYPE_CHECKING:
    from steelyard.core.parallel import Workers
    from steelyard.data.evalset import EvalSet
    from steelyard.metaevaluation.benchmark.results import BenchmarkResult
    from steelyard.metaevaluation.results import MetaEvaluation
    from steelyard.stats.metametrics.base import MetaMetric

    Result = MetaEvaluation | BenchmarkResult

PRESETS = (
    "wmt22",
    "wmt23",
    "wmt24",
    "wmt24-esa",
    "wmt25",
)  # reading the folder would cost start-up

# What averages over domains have no part for, and what the tasks of a protocol decide besides.
_NOT_BY_DOMAIN = frozenset(
    ("intervals", "bootstrap", "epsilon", "threshold", "pa_ties", "keep_references")
)
_NOT_IN_PROTOCOLS = _NOT_BY_DOMAIN | {"by", "level", "group_by", "ties", "corpus", "refs"}
# What report.figures.metaevaluation draws of one set, and of a protocol.
PLOTS = ("forest", "pvalues", "comparison", "calibration", "scatter", "metametrics")
PROTOCOL_PLOTS = ("leaderboard", "comparison")


class Epsilon(Real):
    """A number of at least 0, or auto."""

    def __init__(self) -> None:
        super().__init__(min=0)

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        """Give None for auto."""
        return None if value == "auto" else super().convert(value, param, ctx)


@click.command(
    epilog="Examples: steelyard meta human.csv.gz metrics.csv.gz --human mqm --significance; "
    "steelyard meta --preset wmt23 mt-metrics-eval-v2/wmt23 --add my-metric.seg.score"
)
@click.argument("inputs", nargs=-1, metavar="INPUT...")
@click.option("--metrics", type=Names(), help="Weigh only these metrics.")
@click.option("--level", type=click.Choice(["sys", "seg"]), help="Systems or segments; by default "
              "each meta-metric's own.")  # fmt: skip
@click.option("--with", "by", type=Names(), default="spa,pa,acc-eq", show_default=True,
              help="Meta-metrics: spa pa pearson spearman kendall-b kendall-c acc-eq tau-eq pdp "
              "kendall-like and other Kendall variants.")  # fmt: skip
@click.option("--ties", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE.toml",
              help="Kendall variants of your own, for --with.")  # fmt: skip
@click.option("--group-by", type=click.Choice(["none", "item", "system"]),
              help="What segments are grouped by; by default each meta-metric's own.")  # fmt: skip
@click.option("--significance", is_flag=True, help="Test all pairs of metrics; give clusters.")
@click.option("--scheme", type=click.Choice(["inputs", "cells", "systems", "rows+columns", "pairs",
                                        "williams"]), default="inputs", show_default=True,
              help="What is swapped between two metrics (pairs: verdicts, for acc-eq and tau-eq), "
              "or Williams' test of pearson; all but inputs can reject too often.")  # fmt: skip
@click.option("--correction", type=click.Choice(["none", "holm", "bonferroni",
                                                 "benjamini-hochberg"]), default="none",
              show_default=True, help="Correct p-values for the number of pairs.")  # fmt: skip
@click.option("--alternative", type=click.Choice(["greater", "two-sided"]), default="greater",
              show_default=True, help="One- or two-sided tests.")  # fmt: skip
@click.option("--resamples", type=click.IntRange(min=1), metavar="K",
              help="Draws of a test; by default 10,000, or 1,000 if that takes long.")  # fmt: skip
@click.option("--alpha", type=LEVEL, default=0.05, show_default=True)
@click.option("--intervals", type=click.Choice(["segment", "document", "system", "both", "none"]),
              default="segment", show_default=True,
              help="What is resampled for intervals of every value and rank (segment: whole units, "
              "see --unit; both: segments and systems).")  # fmt: skip
@click.option("--bootstrap", type=click.IntRange(min=10), default=1000, show_default=True,
              metavar="B", help="Resamples for intervals.")  # fmt: skip
@click.option("--method", type=click.Choice(["exact", "analytic", "monte-carlo", "mtme"]),
              default="exact", show_default=True,
              help="p-values inside soft pairwise accuracy.")  # fmt: skip
@click.option("--unit", default="segment", show_default=True, metavar="segment|document|N",
              help="What is independent: changes sign, is swapped and is resampled as a "
              "whole.")  # fmt: skip
@click.option("--epsilon", type=Epsilon(), default="auto", show_default=True, metavar="auto|X",
              help="Metric differences that acc-eq and tau-eq take for ties.")  # fmt: skip
@click.option("--threshold", type=Real(min=0), metavar="X",
              help="Human differences below which Kendall variants see a tie.")  # fmt: skip
@click.option("--pa-ties", type=click.Choice(["strict", "drop-human"]), default="strict",
              show_default=True, help="Pairs of systems that the human score ties.")  # fmt: skip
@click.option("--corpus", type=Names(), default=(), help="Weigh these corpus metrics, too, scored "
              "on the texts: bleu chrf chrf++ ter.")  # fmt: skip
@click.option("--refs", type=Names(), help="References that --corpus compares with.")
@click.option("--by-domain", is_flag=True, help="A column per domain, and their average.")
@click.option("--preset", type=click.Choice(PRESETS), help="Run the protocol of a shared task on "
              "the folder INPUT.")  # fmt: skip
@click.option("--benchmark", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE.toml",
              help="Run a protocol of your own.")  # fmt: skip
@click.option("--add", multiple=True, metavar="[SET=]FILE",
              help="Scores of your own metric, for all sets of a protocol or one "
              "(repeatable).")  # fmt: skip
@click.option("--keep-references", is_flag=True, help="Keep systems that are a metric's reference.")
@click.option("--common", is_flag=True, help="Weigh all metrics on the systems and segments that "
              "all of them have.")  # fmt: skip
@click.option("--sentinels", is_flag=True, help="Weigh scores that know nothing of quality, too: "
              "random numbers, names of systems, segments, lengths.")  # fmt: skip
@plot_option(PLOTS)
@input_options
@partial(output_options, suffixes=(*SUFFIXES, *FIGURES))
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
    Protocols (--preset, --benchmark) and --by-domain split over --jobs or a --cluster.
    """
    preset, protocol = settings.pop("preset"), settings.pop("benchmark")
    add, by_domain = _added(settings.pop("add")), settings.pop("by_domain")
    corpus, refs = settings.pop("corpus"), settings.pop("refs")
    protocols = bool(preset or protocol or by_domain)
    plots = wanted_figures(settings.pop("plot"), output, PROTOCOL_PLOTS if protocols else PLOTS)
    if protocols and settings["sentinels"]:
        raise UsageError("--sentinels: protocols say which metrics take part; weigh one set")
    if "comparison" in plots and not settings["significance"]:
        raise UsageError("--plot comparison shows tests of metrics: add --significance")
    settings["n_resamples"] = settings.pop("resamples")
    settings["rng"] = output.seed
    es = None
    if preset or protocol:
        with workers_with_progress("weighing", workers, output) as settings["workers"]:
            result: Result = _benchmark(preset, protocol, inputs, add, options, settings)
    else:
        need_inputs(inputs)
        es = _with_corpus(options.load((*inputs, *(path for _, path in add))), corpus, refs)
        settings["by"] = _with_variants(settings["by"], settings.pop("ties"))
        if by_domain:
            result = _by_domain(es, options, settings | {"workers": workers})
        else:
            refuse_workers(
                workers, "one set is not split; for --preset, --benchmark or --by-domain"
            )
            result = _one_set(es, options, settings)
    if protocols:
        decided = _NOT_IN_PROTOCOLS if preset or protocol else _NOT_BY_DOMAIN
        result = replace(result, warnings=(*result.warnings, *without_part(decided, "a protocol")))
    draw = partial(_draw, result, es, settings["metrics"] or (), settings["alpha"])
    emit(result.to_dict(), [result.table()], write_figures(plots, draw, output))


def _draw(
    result: Result, es: EvalSet | None, metrics: tuple[str, ...], alpha: float, name: str
) -> Any:
    from steelyard.metaevaluation.results import MetaEvaluation
    from steelyard.report.figures import metaevaluation

    if isinstance(result, MetaEvaluation):
        return metaevaluation.draw(name, metaevaluation.MetaInput(result, es, metrics, alpha))
    return metaevaluation.draw_protocol(name, result, alpha)


def _with_corpus(es: EvalSet, names: tuple[str, ...], refs: tuple[str, ...] | None) -> EvalSet:
    if not names:
        return es
    from steelyard.scoring.surface import with_surface_metrics

    return with_surface_metrics(es, names, refs)


def _one_set(es: EvalSet, options: InputOptions, settings: dict[str, Any]) -> Result:
    from steelyard.metaevaluation.run import meta_evaluate

    settings["n_bootstrap"] = settings.pop("bootstrap")
    if settings["intervals"] == "none":
        settings["intervals"] = None
    return meta_evaluate(es, options.human, **settings)


def _with_variants(by: tuple[str, ...], ties: Path | None) -> list[str | MetaMetric]:
    """Replace names of the user's own variants by what they stand for."""
    if ties is None:
        return list(by)
    from steelyard.formats import tiematrices

    own = tiematrices.read(ties)
    return [own.get(name, name) for name in by]


def _added(add: Sequence[str]) -> list[tuple[str | None, str]]:
    """Split SET=FILE; a file may have an equals sign in its name, so it is tried whole first."""
    found: list[tuple[str | None, str]] = []
    for text in add:
        name, equals, path = text.partition("=")
        found.append((name, path) if equals and not Path(text).exists() else (None, text))
    return found


def _common(settings: dict[str, Any]) -> dict[str, Any]:
    """Give the settings that protocols and single sets share."""
    from steelyard.metaevaluation.significance import Procedure

    names = ("scheme", "alternative", "n_resamples", "alpha", "correction")
    kept = {
        name: settings[name]
        for name in ("metrics", "method", "unit", "common", "significance", "rng", "workers")
    }
    return {**kept, "procedure": Procedure(**{name: settings[name] for name in names})}


def _benchmark(
    preset: str | None,
    path: Path | None,
    inputs: tuple[str, ...],
    add: Sequence[tuple[str | None, str]],
    options: InputOptions,
    settings: dict[str, Any],
) -> Result:
    from steelyard.metaevaluation.benchmark import tasks as presets
    from steelyard.metaevaluation.benchmark.run import run_benchmark

    if preset and path:
        raise UsageError("--preset and --benchmark: expected one of them")
    if len(inputs) > 1 or (preset and not inputs):
        raise UsageError(f"expected one folder with the sets, found {len(inputs)} inputs")
    chosen = presets.preset(preset) if preset else presets.read(path or Path())
    folder = inputs[0] if inputs else None
    return run_benchmark(chosen, folder, human=options.human, add=add, **_common(settings))


def _by_domain(es: EvalSet, options: InputOptions, settings: dict[str, Any]) -> Result:
    from steelyard.metaevaluation.benchmark.run import run_benchmark
    from steelyard.metaevaluation.benchmark.tasks import Benchmark, SetSpec, Task
    from steelyard.metaevaluation.run import the_human

    if not es.domains:
        raise UsageError("--by-domain: the domains of the segments are not known")
    name = es.language_pair or "all"
    level, group = settings["level"], settings["group_by"]
    tasks = tuple(Task(one, level, group, domains=True) for one in settings["by"])
    human = the_human(es, options.human)
    own = Benchmark("by domain", "By domain", human, (SetSpec(name),), tasks, weights="domains")
    return run_benchmark(own, sets={name: es}, **_common(settings))
