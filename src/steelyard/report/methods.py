"""The report in words: a summary, and a paragraph on methods with the works to cite."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from steelyard.comparison.card import Card
from steelyard.comparison.results import (
    PROPORTION,
    TESTS,
    Comparison,
    called_rankings,
)
from steelyard.core.display import Summary
from steelyard.core.provenance import installed_version
from steelyard.core.text import all_of, plural
from steelyard.data.evalset import EvalSet
from steelyard.data.units import many
from steelyard.metaevaluation.results import MetaEvaluation
from steelyard.report.glossary import CORRECTIONS

#: What a paper cites for each method.
CITATIONS = {
    "bt": "Bradley and Terry (1952), Rank analysis of incomplete block designs; "
    "Peyrard et al. (2021), Better than Average: Paired Evaluation of NLP Systems",
    "elo": "Elo (1978), The Rating of Chessplayers, Past and Present",
    "trueskill": "Herbrich et al. (2006), TrueSkill: A Bayesian Skill Rating System",
    "spa": "Thompson et al. (2024), Improving Statistical Significance in Human Evaluation of "
    "Automatic Metrics via Soft Pairwise Accuracy",
    "pa": "Kocmi et al. (2021), To Ship or Not to Ship",
    "acc-eq": "Deutsch et al. (2023), Ties Matter: Meta-Evaluating Modern Metrics with Pairwise "
    "Accuracy and Tie Calibration",
    "bootstrap": "Koehn (2004), Statistical Significance Tests for Machine Translation Evaluation",
    "inputs": "Deutsch et al. (2021), A Statistical Analysis of Summarization Evaluation Metrics "
    "Using Resampling Methods",
    "holm": "Holm (1979), A Simple Sequentially Rejective Multiple Test Procedure",
    "benjamini-hochberg": "Benjamini and Hochberg (1995), Controlling the False Discovery Rate",
    "outliers": "Mathur et al. (2020), Tangled up in BLEU: Reevaluating the Evaluation of "
    "Automatic Machine Translation Evaluation Metrics",
    "mqm": "Freitag et al. (2021), Experts, Errors, and Context",
}


def summarise(comparison: Comparison | Card | None, meta: MetaEvaluation | None) -> Summary:
    """Say in sentences what a comparison and a meta-evaluation found."""
    parts = [result.words() for result in (comparison, meta) if result is not None]
    return Summary(
        tuple(text for part in parts for text in part.settled),
        tuple(text for part in parts for text in part.undecided),
        tuple(dict.fromkeys(text for part in parts for text in part.sureness)),
    )


def methods(
    es: EvalSet, comparison: Comparison | None, meta: MetaEvaluation | None
) -> tuple[str, list[str]]:
    """Give a paragraph to paste into a paper, and the works that it cites."""
    parts: list[str] = []
    cited: list[str] = []
    for result, describe in ((comparison, _comparison_methods), (meta, _meta_methods)):
        lines, works = ([], []) if result is None else describe(result)
        parts += lines
        cited += works
    cited += ["mqm" for name in es.human if "mqm" in name.lower()]
    parts.append(f"All numbers were computed with Steelyard {installed_version()}.")
    return " ".join(parts), list(dict.fromkeys(CITATIONS[n] for n in cited if n in CITATIONS))


def _comparison_methods(result: Any) -> tuple[list[str], list[str]]:
    """Give sentences, and the names of what they cite."""
    cited = [*result.aggregations]
    size = f"{plural(len(result.systems), 'system')} on {plural(result.n_segments, 'segment')}"
    lower = "" if result.higher_is_better else " (lower is better)"
    parts = [f"We compared {size} by {result.score}{lower}, ranked by {called_rankings(result)}."]
    options, seed = _run(result)
    if result.tests:
        test = next(iter(result.tests.values()))
        shown = all_of([TESTS[name] for name in result.tests])
        shown += "" if result.unit.design_effect == 1 else f", each by {result.unit.name}"
        parts.append(
            f"All pairs were tested two-sided at {100 * result.alpha:g}% with the "
            f"{shown}, {CORRECTIONS[test.correction]}."
        )
        cited.append(test.correction)
    parts.append(result.unit.summary())
    if "bootstrap" in options:
        parts.append(
            f"Intervals are 95% percentile bootstrap intervals over {options['bootstrap']:,} "
            f"resamples of {many(result.unit.name)} (seed {seed})."
        )
        proportions = PROPORTION in {ranked.of for ranked in result.aggregations.values()}
        if proportions and result.unit.design_effect == 1:
            parts.append("Intervals of proportions are Wilson's.")
        cited.append("bootstrap")
    if "bt" in result.aggregations:
        parts.append(f"Ties were treated as '{options.get('ties')}' by the Bradley-Terry model.")
    return parts, cited


def _meta_methods(meta: Any) -> tuple[list[str], list[str]]:
    """Give sentences, and the names of what they cite."""
    names = list(dict.fromkeys(result.by for result in meta.results))
    cited = [*names]
    metrics = {result.metric for result in meta.results}
    size = f"{plural(meta.n_systems, 'system')} and {plural(meta.n_segments, 'segment')}"
    weighed = f"{plural(len(metrics), 'metric')} against {meta.human} by {all_of(names)}"
    parts = [f"We weighed {weighed} on {size}.", meta.unit.summary()]
    options, seed = _run(meta)
    if meta.significance:
        test = next(iter(meta.significance.values()))
        parts.append(
            f"Pairs of metrics were tested by permutation (scheme '{test.scheme}', "
            f"{test.n_resamples:,} resamples, alternative '{test.alternative}', "
            f"{CORRECTIONS[test.correction]}, seed {seed}); metrics in one cluster are not told "
            f"apart at {options.get('alpha')}."
        )
        cited += ["inputs", test.correction]
    if "acc-eq" in names:
        parts.append("Ties of acc-eq were calibrated on the same data.")
    far = meta.outliers
    if far is not None and far.systems and far.handling != "keep":
        what = "left out" if far.handling == "drop" else "also left out, for comparison"
        rule = f"human scores beyond {far.cutoff:g} times 1.483 MAD from the median"
        parts.append(f"Systems with {rule} were {what} ({all_of(far.systems)}).")
        cited.append("outliers")
    return parts, cited


def _run(result: Comparison | MetaEvaluation) -> tuple[Mapping[str, Any], int | None]:
    """Give the options and the seed of a result, where they are known."""
    signed = result.provenance
    return ({}, None) if signed is None else (signed.options, signed.seed)
