"""Is one metric really better than another? The test that fits a meta-metric and a scheme."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from steelyard.core import bounds
from steelyard.core.errors import DegenerateError
from steelyard.core.words import plural
from steelyard.metaevaluation.data import Run
from steelyard.metaevaluation.results import MetaResult, Significance
from steelyard.stats import clusters
from steelyard.stats.arrays import Floats
from steelyard.stats.correlation import pearson
from steelyard.stats.metametrics import swapped, swaps
from steelyard.stats.metametrics.swaps import MetricComparison, Null
from steelyard.stats.paired.corrections import CORRECTIONS, adjust_pairs, williams
from steelyard.stats.permutation.pvalues import pair_index, pairwise_pvalues

SCHEMES = (*swaps.SCHEMES, "pairs", "williams")
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
_WORK = 3e8  # pairs of metrics x pairs of systems x draws that cost some seconds
_SLOW = 200  # draws of a statistic that is computed anew in each


@dataclass(frozen=True, slots=True)
class Procedure:
    """How the differences of metrics are tested."""

    scheme: str = "inputs"
    alternative: str = "greater"
    n_resamples: int | None = None  # None: as many as take seconds
    alpha: float = 0.05
    correction: str = "none"
    tick: Callable[[str, int], Callable[[], None]] = lambda _what, _total: lambda: None

    def __post_init__(self) -> None:
        """Refuse names that nobody knows before any work is done."""
        bounds.choice(SCHEMES, scheme=self.scheme)
        bounds.choice(swaps.ALTERNATIVES, alternative=self.alternative)
        bounds.choice(CORRECTIONS, correction=self.correction)
        bounds.whole(1, optional=True, n_resamples=self.n_resamples)
        bounds.fraction(alpha=self.alpha)
        bounds.function(tick=self.tick)


def compare_metrics(
    run: Run, found: list[MetaResult], procedure: Procedure, stream: np.random.Generator
) -> Significance | None:
    """Test the differences of all pairs of metrics that have a value, best first."""
    names = swappable(run, found)
    if procedure.scheme == "williams":
        names = [r.metric for r in found if not np.isnan(r.value)]
    if len(names) < 2:
        return None
    result = _compare(run, names, procedure, stream)
    if result is None:
        how = run.meta.name if run.level == "sys" else f"{run.meta.name} grouped by {run.group_by}"
        run.warnings.append(f"{how}: there is no test of differences by '{procedure.scheme}'")
        return None
    if np.isnan(result.p).all():
        run.warnings.append(
            f"{run.meta.name}: no test of differences by '{procedure.scheme}': there is no segment "
            "that all systems and metrics have (--common)"
        )
        return None
    _note_other_scores(run, found, names, result)
    test = significance_of(names, result, procedure)
    reason = caveat(run, procedure.scheme)
    test = replace(test, note=reason)
    if reason is None or procedure.scheme == "inputs":
        return test
    return _with_valid(run, test, procedure, stream)


def _with_valid(
    run: Run, test: Significance, procedure: Procedure, stream: np.random.Generator
) -> Significance:
    """Put the test by inputs beside one that may not keep its level, and say so."""
    names, reason = list(test.metrics), test.note
    other = replace(procedure, scheme="inputs")
    beside = _compare(run, names, other, stream.spawn(1)[0], slow=False)
    if beside is None:
        run.warnings.append(f"{run.meta.name}: {reason} (--scheme inputs keeps its level)")
        return test
    test = replace(test, valid=significance_of(names, beside, other))
    run.warnings.append(f"{run.meta.name}: {reason}; {_beside(test, procedure)}")
    return test


def significance_of(
    names: Sequence[str], result: MetricComparison, procedure: Procedure
) -> Significance:
    """Correct p-values as was asked, and keep how they were found."""
    adjusted = None
    if procedure.correction != "none":
        symmetric = procedure.alternative == "two-sided"
        adjusted = adjust_pairs(result.p, procedure.correction, symmetric=symmetric)
    return Significance(
        tuple(names),
        result.p,
        result.scheme,
        result.n_resamples,
        procedure.alternative,
        adjusted,
        procedure.correction,
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
    share = _MEASURED.get((scheme, run.level))
    if share is not None:
        return (
            f"scheme {scheme} rejects about {share} of true nulls at 5 % where metrics err on "
            "whole segments"
        )
    if run.meta.name == "pa":
        return "few values are possible, so the test rejects fewer true nulls than it may"
    return None


def _beside(test: Significance, procedure: Procedure) -> str:
    """Say how many differences are significant by the scheme asked for, and by the valid one."""
    assert test.valid is not None
    i, j = pair_index(len(test.metrics))
    counts = []
    for one in (test, test.valid):
        p = one.p if one.p_adjusted is None else one.p_adjusted
        counts.append(int((np.fmin(p[i, j], p[j, i]) <= procedure.alpha).sum()))
    return (
        f"{plural(counts[0], 'difference')} significant by it, {counts[1]} by inputs, which keeps "
        "its level (p-values in 'valid')"
    )


def _note_other_scores(
    run: Run, found: list[MetaResult], names: list[str], result: MetricComparison
) -> None:
    """Say where what was tested is not what is shown: official scores that are no means."""
    if run.level != "sys" or run.meta.name == "spa":
        return
    shown = {r.metric: r.value for r in found}
    other = [
        name
        for name, value in zip(names, result.values, strict=True)
        if abs(value - shown[name]) > 1e-6 and run.data.es.scores[name].system_scores is not None
    ]
    if other:
        what = ", ".join(f"'{name}'" for name in other)
        run.warnings.append(
            f"{run.meta.name}: tests use means of segment scores, which the official system scores "
            f"of {what} are not"
        )


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
) -> MetricComparison | None:
    if procedure.scheme == "williams":
        return _williams(run, names, procedure.alternative)
    if procedure.scheme == "pairs":
        return _verdicts(run, names, procedure.alternative)
    if run.group_by == "item" and run.by_mean and procedure.scheme == "inputs":
        stacks = run.group_stacks(names)
        return swaps.compare_items(*stacks, alternative=procedure.alternative, blocks=run.blocks)
    drawn = draw_null(run, names, procedure, stream, slow=slow)
    return None if drawn is None else drawn.compare(procedure.alternative)


def draw_null(
    run: Run,
    names: list[str],
    procedure: Procedure,
    stream: np.random.Generator,
    *,
    slow: bool = True,
    part: swaps.Part | None = None,
) -> Null | None:
    """Draw the differences of metrics under a scheme of swaps, for all pairs or a block of them.

    Statistics that must be computed anew in each draw are left out (None) unless ``slow``.
    """
    of = run.data.additive if run.level == "sys" else run.data.segments
    stack = np.stack([of(name) for name in names])
    scheme = procedure.scheme
    n = run.data.es.n_systems
    work = max(1, len(names) * (len(names) - 1) / 2 * n * (n - 1) / 2)
    k = procedure.n_resamples or (10_000 if work * 10_000 < _WORK else 1000)
    if run.meta.name == "spa":
        human = run.human_p(~np.isnan(run.data.human))
        return swaps.null_spa(human, stack, scheme=scheme, n_resamples=k, rng=stream,
                              part=part, blocks=run.blocks)  # fmt: skip
    if run.level == "sys":
        return swaps.null_system_scores(
            run.statistic, stack, scheme=scheme, n_resamples=k, rng=stream, part=part,
            blocks=run.blocks,
        )  # fmt: skip
    if run.group_by == "item" and run.by_mean and scheme == "inputs":
        return swapped.null_items(
            *run.group_stacks(names), n_resamples=k, rng=stream, blocks=run.blocks
        )
    if run.meta.name == "pearson" and run.group_by in ("none", "system"):
        return swapped.null_pearson(
            run.data.human,
            stack,
            group_by=run.group_by,
            scheme=scheme,
            n_resamples=k,
            rng=stream,
            part=part,
            blocks=run.blocks,
        )
    if not slow:
        return None
    k = procedure.n_resamples or _SLOW
    if procedure.n_resamples is None:
        run.warnings.append(
            f"{run.meta.name}: computed anew in each of {_SLOW} draws, so no p-value is below "
            f"{1 / (_SLOW + 1):.3f} (--resamples for more)"
        )
    tick = procedure.tick(f"{run.meta.name}: swapping", k)
    return swapped.null_recomputed(
        run.of_segments, stack, scheme=scheme, n_resamples=k, rng=stream, tick=tick,
        blocks=run.blocks,
    )  # fmt: skip


def n_blocks(run: Run, n_resamples: int) -> int:
    """Say into how many blocks of pairs of metrics the draws are worth splitting.

    That depends on the data alone, so that every number of workers does the same sums.
    """
    by_pairs = run.level == "sys" or (run.meta.name == "pearson" and run.group_by != "item")
    if not by_pairs:
        return 1
    m, n = len(run.data.metrics), run.data.es.n_systems
    return max(1, round(m * (m - 1) / 2 * n * (n - 1) / 2 * n_resamples / _WORK))


def _williams(run: Run, names: list[str], alternative: str) -> MetricComparison | None:
    """Williams' test of Pearson's correlations, of systems or of all cells."""
    if run.meta.name != "pearson" or run.group_by not in (None, "none"):
        return None
    on_systems = run.level == "sys"
    human = run.data.human_systems if on_systems else run.data.human.ravel()
    of = run.data.systems if on_systems else run.data.segments
    columns = [of(name).ravel()[:, None] for name in names]
    own = np.array([float(pearson(human[:, None], column)[0]) for column in columns])
    size = len(names)
    p = np.full((size, size), np.nan)
    for a, b in zip(*pair_index(size), strict=True):
        shared = ~np.isnan(human[:, None] + columns[a] + columns[b])[:, 0]
        h, x, y = (v[shared] for v in (human[:, None], columns[a], columns[b]))
        r = (float(pearson(h, x)[0]), float(pearson(h, y)[0]), float(pearson(x, y)[0]))
        n = int(shared.sum())
        p[a, b] = williams(*r, n, alternative=alternative)
        p[b, a] = williams(r[1], r[0], r[2], n, alternative=alternative)
    return MetricComparison(own, p, "williams", 0)


def _verdicts(run: Run, names: list[str], alternative: str) -> MetricComparison | None:
    """Swap verdicts on single pairs of translations, taken for independent (they are not)."""
    if run.meta.name not in ("acc-eq", "tau-eq") or run.group_by != "item":
        return None
    right, weights = [], None
    for name in names:
        epsilon = run.groups(name).epsilon
        verdict, pairs = _right(run.data.human, run.data.segments(name), epsilon or 0.0)
        weights = pairs if weights is None else np.where(np.isnan(weights), np.nan, pairs)
        right.append(verdict)
    assert weights is not None
    stack = np.stack(right)
    values = np.array([run.groups(name).mean for name in names])
    used = ~np.isnan(weights)
    if (weights[used] == weights[used][0]).all():
        p = swaps.compare_verdicts(stack[:, used], alternative=alternative)
        return MetricComparison(values, p, "pairs", 0)
    share = np.where(used, stack * weights, np.nan).reshape(len(names), -1)
    p = swaps.one_or_two_sided(pairwise_pvalues(share, tail="ge").p, alternative)
    return MetricComparison(values, p, "pairs", 0)


def _right(human: Floats, metric: Floats, epsilon: float) -> tuple[NDArray[np.bool_], Floats]:
    """Whether a metric is right about each pair of systems on each segment, and what that weighs.

    The weight is one over the pairs of the segment; NaN where a cell is missing.
    """
    i, j = pair_index(len(human))
    h, m = human[i] - human[j], metric[i] - metric[j]
    tied = np.abs(m) <= epsilon
    right = np.where(h == 0, tied, ~tied & ((h > 0) == (m > 0)))
    known = ~(np.isnan(h) | np.isnan(m))
    weights = np.where(known, 1.0 / np.maximum(known.sum(axis=0), 1), np.nan)
    return right & known, weights


def ranked(found: list[MetaResult], test: Significance, alpha: float) -> list[MetaResult]:
    """Give each tested metric its cluster (greedy, as the shared tasks do) and its letters."""
    p = test.decisive
    ranks = dict(zip(test.metrics, clusters.greedy_clusters(p, alpha).tolist(), strict=True))
    try:
        letters = dict(zip(test.metrics, clusters.compact_letters(p, alpha), strict=True))
    except DegenerateError:  # too many overlapping groups to letter: the p-values remain
        letters = {}
    return [replace(r, rank=ranks.get(r.metric), letters=letters.get(r.metric)) for r in found]
