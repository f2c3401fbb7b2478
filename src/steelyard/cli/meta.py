"""``steelyard meta``: which metric, or LLM judge, agrees with people."""

from __future__ import annotations

import click

from steelyard.cli.emit import emit
from steelyard.cli.options import (
    InputOptions,
    Names,
    OutputOptions,
    input_options,
    need_inputs,
    output_options,
)
from steelyard.errors import UsageError


@click.command(
    epilog="Example: steelyard meta human.csv.gz metrics.csv.gz --human mqm --significance"
)
@click.argument("inputs", nargs=-1, metavar="INPUT...")
@click.option("--metrics", type=Names(), help="Weigh only these metrics.")
@click.option("--level", type=click.Choice(["sys", "seg"]), help="Systems or segments; by default "
              "each meta-metric's own.")  # fmt: skip
@click.option("--with", "by", type=Names(), default="spa,pa,acc-eq", show_default=True,
              help="Meta-metrics: spa pa pearson spearman kendall-b kendall-c acc-eq tau-eq pdp "
              "kendall-like and other Kendall variants.")  # fmt: skip
@click.option("--group-by", type=click.Choice(["none", "item", "system"]),
              help="What segments are grouped by; by default each meta-metric's own.")  # fmt: skip
@click.option("--significance", is_flag=True, help="Test all pairs of metrics; give clusters.")
@click.option("--scheme", type=click.Choice(["inputs", "cells", "systems", "rows+columns", "pairs",
                                        "williams"]), default="inputs", show_default=True,
              help="What is swapped between two metrics (pairs: verdicts, for acc-eq and tau-eq), "
              "or Williams' test of pearson.")  # fmt: skip
@click.option("--correction", type=click.Choice(["none", "holm", "bonferroni",
                                                 "benjamini-hochberg"]), default="none",
              show_default=True, help="Correct p-values for the number of pairs.")  # fmt: skip
@click.option("--alternative", type=click.Choice(["greater", "two-sided"]), default="greater",
              show_default=True, help="One- or two-sided tests.")  # fmt: skip
@click.option("--resamples", type=click.IntRange(min=1), metavar="K",
              help="Draws of a test; by default 10,000, or 1,000 if that takes long.")  # fmt: skip
@click.option("--alpha", type=click.FloatRange(0, 1), default=0.05, show_default=True)
@click.option("--intervals", type=click.Choice(["segment", "document", "system", "both", "none"]),
              default="segment", show_default=True,
              help="What is resampled for intervals of values and ranks.")  # fmt: skip
@click.option("--bootstrap", type=click.IntRange(min=10), default=1000, show_default=True,
              metavar="B", help="Resamples for intervals.")  # fmt: skip
@click.option("--method", type=click.Choice(["exact", "analytic", "monte-carlo", "mtme"]),
              default="exact", show_default=True,
              help="p-values inside soft pairwise accuracy.")  # fmt: skip
@click.option("--unit", default="segment", show_default=True, metavar="segment|document|N",
              help="What changes sign together in the permutation test.")  # fmt: skip
@click.option("--epsilon", default="auto", show_default=True, metavar="auto|X",
              help="Metric differences that acc-eq and tau-eq take for ties.")  # fmt: skip
@click.option("--threshold", type=float, metavar="X",
              help="Human differences below which Kendall variants see a tie.")  # fmt: skip
@click.option("--pa-ties", type=click.Choice(["strict", "drop-human"]), default="strict",
              show_default=True, help="Pairs of systems that the human score ties.")  # fmt: skip
@click.option("--keep-references", is_flag=True, help="Keep systems that are a metric's reference.")
@input_options
@output_options
def meta(
    inputs: tuple[str, ...],
    by: tuple[str, ...],
    epsilon: str,
    resamples: int | None,
    intervals: str,
    bootstrap: int,
    options: InputOptions,
    output: OutputOptions,
    **settings: object,
) -> None:
    """Weigh metrics against a human score, and test which of them really differ.

    INPUT is a table, an mt-metrics-eval folder (with --lp) or a native file; several are joined.
    """
    from steelyard.metaevaluation import meta_evaluate

    need_inputs(inputs)
    es = options.load(inputs)
    result = meta_evaluate(
        es,
        options.human,
        by=by,
        epsilon=_number(epsilon),
        n_resamples=resamples,
        intervals=None if intervals == "none" else intervals,
        n_bootstrap=bootstrap,
        rng=output.seed,
        **settings,  # type: ignore[arg-type]
    )
    emit(result.to_dict(), [result.table()], output)


def _number(text: str) -> float | None:
    if text == "auto":
        return None
    try:
        return float(text)
    except ValueError:
        raise UsageError(f"--epsilon {text}: expected auto or a number") from None
