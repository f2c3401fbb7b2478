"""``steelyard spans``: which metric finds the errors that people mark."""

from __future__ import annotations

from steelyard.cli.engine import Answer, Call, command
from steelyard.cli.group import RATINGS
from steelyard.cli.params import InputOptions
from steelyard.metaevaluation.options import SpanOptions


@command(
    SpanOptions,
    InputOptions,
    inputs="GOLD PRED...",
    shape=RATINGS,
    examples=(
        "steelyard spans mqm.jsonl xcomet.jsonl gemba.jsonl texts.jsonl",
        "steelyard spans mqm.jsonl xcomet.jsonl gemba.jsonl --measure mpp --significance",
    ),
)
def spans(call: Call) -> Answer:
    """Measure how well predicted error spans match those that people marked.

    GOLD and every PRED hold errors of the same outputs: error lists, Appraise, mt-metrics-eval
    ratings, pearmut logs, files of the WMT26 metrics task. Texts among PRED tell how long outputs
    are, for the baseline that marks everything.
    """
    from steelyard.metaevaluation import errorspans
    from steelyard.metaevaluation.results import few_warnings

    asked, output = call.take(SpanOptions), call.output
    with call.progress("comparing"):
        reading, seed = call.reading, output.seed
        result = errorspans.spans(*call.inputs, options=asked, reading=reading, rng=seed)
    several = len(result.of_measure(result.measures[0])) > 1
    return Answer(
        result=result if output.json else few_warnings(result),
        tables=result.tables(),
        then=call.again("--significance") if several and not asked.significance else None,
    )
