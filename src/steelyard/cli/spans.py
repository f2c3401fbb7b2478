"""``steelyard spans``: which metric finds the errors that people mark."""

from __future__ import annotations

from typing import Any

from steelyard.cli import proposals
from steelyard.cli.group import RATINGS, command
from steelyard.cli.output import emit, shown_progress
from steelyard.cli.params import (
    InputOptions,
    OutputOptions,
    arguments,
    from_fields,
    input_options,
    output_options,
)
from steelyard.metaevaluation.options import SpanOptions


@command(
    headings={
        "What to compare": "measures average",
        "Tests and intervals": "significance alpha unit n_bootstrap n_resamples",
    },
    shape=RATINGS,
    examples=(
        "steelyard spans mqm.jsonl xcomet.jsonl gemba.jsonl texts.jsonl",
        "steelyard spans mqm.jsonl xcomet.jsonl gemba.jsonl --measure mpp --significance",
    ),
)
@arguments("GOLD PRED...")
@from_fields(SpanOptions)
@input_options
@output_options
def spans(
    inputs: tuple[str, ...], options: InputOptions, output: OutputOptions, **settings: Any
) -> None:
    """Measure how well predicted error spans match those that people marked.

    GOLD and every PRED hold errors of the same outputs: error lists, Appraise, mt-metrics-eval
    ratings, pearmut logs, files of the WMT26 metrics task. Texts among PRED tell how long outputs
    are, for the baseline that marks everything.
    """
    from steelyard.metaevaluation import errorspans
    from steelyard.metaevaluation.results import few_warnings

    asked = SpanOptions(**settings)
    with shown_progress("comparing", output):
        result = errorspans.spans(*inputs, options=asked, reading=options, rng=output.seed)
    several = len(result.of_measure(result.measures[0])) > 1
    then = proposals.again("--significance") if several and not asked.significance else None
    emit(result if output.json else few_warnings(result), result.tables(), output, then=then)
