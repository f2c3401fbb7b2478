"""Is one metric really better than another? The test that fits a meta-metric and a scheme."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from steelyard.core.errors import DegenerateError
from steelyard.core.text import plural
from steelyard.core.warnings import TypedWarning
from steelyard.metaevaluation.cube import Run
from steelyard.metaevaluation.options import Procedure
from steelyard.metaevaluation.results import MetaResult, Significance
from steelyard.stats import clusters
from steelyard.stats.metametrics import swap_tests
from steelyard.stats.metametrics.swap_tests import MetricComparison, Null, Swaps
from steelyard.stats.paired.corrections import adjust_pairs
from steelyard.stats.permutation.pvalues import pair_index

#: True nulls that are rejected at 5 %, where that is not 3 % to 7 %, by scheme and level.
_MEASURED = {
    ("cells", "sys"): "1 %",
    ("rows+columns", "sys"): "1 %",
    ("williams", "sys"): "7 %",
    ("cells", "seg"): "20 %",
    ("systems", "seg"): "23 %",
    ("rows+columns", "seg"): "20 %",
    ("williams", "seg"): "25 %",
}
VALID = "inputs"  # the scheme that keeps its level
KEEPS = '(scheme="inputs" keeps its level)'
_WORK = 3e8  # pairs of metrics x pairs of systems x draws that cost some seconds
_SLOW = 200  # draws of a statistic that is computed anew in each


def compare_metrics(
    run: Run, found: list[MetaResult], procedure: Procedure, stream: np.random.Generator
) -> tuple[Significance | None, list[str]]:
    """Test the differences of all pairs of metrics that have a value, best first; and warnings."""
    scheme = procedure.scheme
    names = [r.metric for r in found if not np.isnan(r.value)]
    if scheme != "williams":
        names = swappable(run, found)
    if len(names) < 2:
        return None, []
    result, warnings = _compare(run, names, procedure, stream)
    if result is None:
        return None, [f"{run.label}: there is no test of differences by '{scheme}'"]
    if np.isnan(result.p).all():
        why = "there is no segment that all systems and metrics have (common=True)"
        return None, [*warnings, f"{run.meta.name}: no test of differences by '{scheme}': {why}"]
    warnings += _other_scores(run, found, names, result)
    reason = caveat(run, scheme)
    test = replace(significance_of(names, result, procedure), note=reason)
    if reason is None or scheme == VALID:
        return test, warnings
    # A test that may not keep its level has the one beside it that does.
    other = replace(procedure, scheme=VALID)
    beside, told = _compare(run, names, other, stream.spawn(1)[0], slow=False)
    if beside is None:
        return test, [*warnings, *told, f"{run.meta.name}: {reason} {KEEPS}"]
    test = replace(test, valid=significance_of(names, beside, other))
    text = f"{run.meta.name}: {reason}; {_beside(test, procedure.alpha)}"
    return test, [*warnings, *told, TypedWarning(text, "level-of-test")]


def significance_of(
    names: Sequence[str], result: MetricComparison, procedure: Procedure
) -> Significance:
    """Correct p-values as was asked, and keep how they were found."""
    adjusted = None
    if procedure.correction != "none":
        symmetric = procedure.alternative == "two-sided"
        adjusted = adjust_pairs(result.p, procedure.correction, symmetric=symmetric)
    return Significance(
        metrics=tuple(names),
        p=result.p,
        scheme=result.scheme,
        n_resamples=result.n_resamples,
        alternative=procedure.alternative,
        p_adjusted=adjusted,
        correction=procedure.correction,
    )


def caveat(run: Run, scheme: str) -> str | None:
    """Say where a scheme rejects too many true nulls, or far too few; None if it does not.

    The shares are measured, on metrics of a shared task (the documentation has all of them).
    """
    if scheme == "pairs":
        return (
            "scheme pairs takes the pairs of one segment for independent, though they share "
            "systems, and rejects about 18 % of true nulls at 5 %"
        )
    share = _MEASURED.get((scheme, run.view.level))
    if share is not None:
        return (
            f"scheme {scheme} rejects about {share} of true nulls at 5 % where metrics err on "
            "whole segments"
        )
    return run.meta.caveat


def _beside(test: Significance, alpha: float) -> str:
    """Say how many differences are significant by the scheme asked for, and by the valid one."""
    assert test.valid is not None
    i, j = pair_index(len(test.metrics))
    counts = []
    for one in (test, test.valid):
        p = one.p if one.p_adjusted is None else one.p_adjusted
        counts.append(int((np.fmin(p[i, j], p[j, i]) <= alpha).sum()))
    return (
        f"{plural(counts[0], 'difference')} significant by it, {counts[1]} by inputs, which keeps "
        "its level (p-values in 'valid')"
    )


def _other_scores(
    run: Run, found: list[MetaResult], names: list[str], result: MetricComparison
) -> list[str]:
    """Say where what was tested is not what is shown: official scores that are no means."""
    if run.view.level != "sys" or run.meta.on_cells:
        return []
    shown = {r.metric: r.value for r in found}
    other = [
        name
        for name, value in zip(names, result.values, strict=True)
        if abs(value - shown[name]) > 1e-6 and run.data.es.scores[name].system_scores is not None
    ]
    if not other:
        return []
    unlike = [f"'{name}'" for name in other]
    text = "tests use means of segment scores, which the official system scores of"
    text = f"{run.meta.name}: {text} {', '.join(unlike)} are not"
    return [TypedWarning(text, "official-scores", unlike)]


def swappable(run: Run, found: list[MetaResult]) -> list[str]:
    """Metrics whose segments can be swapped."""
    names = [r.metric for r in found if not np.isnan(r.value)]
    return [name for name in names if run.data.es.scores[name].has_segments]


def _compare(
    run: Run,
    names: list[str],
    procedure: Procedure,
    stream: np.random.Generator,
    *,
    slow: bool = True,
) -> tuple[MetricComparison | None, list[str]]:
    scheme, alternative = procedure.scheme, procedure.alternative
    exact = run.meta.exact(run.view, run.places(names), scheme, alternative)
    if exact is not None or scheme not in swap_tests.SCHEMES:
        return exact, []
    again = run.meta.recomputed(run.view, scheme)
    if again and not slow:
        return None, []
    told = []
    if again and procedure.n_resamples is None:
        told.append(
            f"{run.meta.name}: computed anew in each of {_SLOW} draws, so no p-value is below "
            f"{1 / (_SLOW + 1):.3f} (n_resamples=... for more)"
        )
        procedure = replace(procedure, n_resamples=_SLOW)
    return draw_null(run, names, procedure, stream).compare(alternative), told


def draw_null(
    run: Run,
    names: list[str],
    procedure: Procedure,
    stream: np.random.Generator,
    part: swap_tests.Part | None = None,
) -> Null:
    """Draw the differences of metrics under a scheme of swaps, for all pairs or a block of them."""
    n = run.data.es.n_systems
    work = max(1, len(names) * (len(names) - 1) / 2 * n * (n - 1) / 2)
    k = procedure.n_resamples or (10_000 if work * 10_000 < _WORK else 1000)
    blocks = run.view.blocks
    swaps = Swaps(scheme=procedure.scheme, n=k, rng=stream, part=part, blocks=blocks)
    return run.meta.null(run.view, run.places(names), swaps)


def n_blocks(n_metrics: int, n_systems: int, n_resamples: int) -> int:
    """Say into how many blocks of pairs of metrics the draws are worth splitting.

    That depends on the data alone, so that every number of workers does the same sums.
    """
    work = n_metrics * (n_metrics - 1) / 2 * n_systems * (n_systems - 1) / 2 * n_resamples
    return max(1, round(work / _WORK))


def ranked(found: list[MetaResult], test: Significance, alpha: float) -> list[MetaResult]:
    """Give each tested metric its cluster (greedy, as the shared tasks do) and its letters."""
    p = test.decisive
    ranks = dict(zip(test.metrics, clusters.greedy_clusters(p, alpha).tolist(), strict=True))
    try:
        letters = dict(zip(test.metrics, clusters.compact_letters(p, alpha), strict=True))
    except DegenerateError:  # too many overlapping groups to letter: the p-values remain
        letters = {}
    return [replace(r, rank=ranks.get(r.metric), letters=letters.get(r.metric)) for r in found]
