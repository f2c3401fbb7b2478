"""A meta-evaluation in words: which metric agrees most with people, and how surely."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from steelyard.core.display import Statement
from steelyard.core.text import all_of, listed, plural, sentence, span
from steelyard.core.warnings import TypedWarning

if TYPE_CHECKING:
    from steelyard.metaevaluation.outliers import Outliers
    from steelyard.metaevaluation.results import MetaEvaluation, MetaResult

#: What meta-metrics are, for those who do not know their short names.
_NAMES = {
    "spa": "soft pairwise accuracy",
    "pa": "pairwise accuracy",
    "acc-eq": "pairwise accuracy with ties",
    "tau-eq": "Kendall's tau with ties",
    "pearson": "Pearson's correlation",
    "spearman": "Spearman's correlation",
    "kendall-b": "Kendall's tau-b",
    "kendall-c": "Kendall's tau-c",
    "pdp": "correlation of differences",
}
LISTED = 5  # names that a warning lists
_SHOWN = 3  # metrics whose values a warning gives


def quoted(names: Sequence[str]) -> str:
    """Name a few metrics, and count the others."""
    return listed([f"'{name}'" for name in names], LISTED, rest="other")


def told(meta: MetaEvaluation) -> Iterator[Statement]:
    """Say in sentences what a meta-evaluation found."""
    yield from _too_sure(meta)  # what is said of sureness first is shown beside the answer
    yield from _best_metric(meta)
    yield from _leaders(meta)
    yield from _swayed(meta)


def _by_metas(meta: MetaEvaluation) -> dict[str, list[MetaResult]]:
    """Give the defined results of every meta-metric, best first."""
    found: dict[str, list[MetaResult]] = {result.by: [] for result in meta.results}
    known = [result for result in meta.results if not np.isnan(result.value)]
    for result in sorted(known, key=lambda r: (-r.value, r.metric)):
        found[result.by].append(result)
    return found


def _best_metric(meta: MetaEvaluation) -> Iterator[Statement]:
    """Say which metric agrees most with people by the first meta-metric, and how surely."""
    by, own = next(iter(_by_metas(meta).items()), ("", []))
    if not by:
        yield "undecided", "There is no metric to weigh."
        return
    if not own:
        yield "undecided", sentence(f"{named_meta(by)} is not defined for any metric")
        return
    best = own[0]
    tied = [r.metric for r in own if r.value == best.value]
    named = named_meta(by, f"{best.value:.{meta.digits()}f}")
    n = plural(len({r.metric for r in meta.results if r.by == by}), "metric")
    if len(own) == 1:
        only = "" if n == "1 metric" else f", the only one of {n} with a value,"
        yield "settled", f"{best.metric}{only} agrees with {meta.human} by {named}."
        yield "undecided", f"There is no other metric to compare {best.metric} with."
    else:
        agree = "agrees" if len(tied) == 1 else "agree"
        text = f"{all_of(tied)} {agree} most with {meta.human} of {n}, by {named}"
        if len({r.n_systems for r in own}) > 1:
            rest = "metrics were scored on different systems (common=True keeps those they share)"
            yield "undecided", f"{text}, but {rest}."
        else:
            yield "settled", f"{text}."
        if len(tied) == 1:
            yield from _open(best, own)
    yield from _surely(meta, best, alone=len(own) == 1)


def _open(best: MetaResult, own: Sequence[MetaResult]) -> Iterator[Statement]:
    """Say which metrics may agree as much as the first one."""
    if best.rank is None:
        lead = f"so that the lead of {best.metric} may be chance"
        yield "undecided", f"Metrics were not tested, {lead}."
        return
    others = [r.metric for r in own if r.rank == 1 and r.metric != best.metric]
    if others:
        more = f"agrees more with people than {all_of(others)}"
        yield "undecided", f"The tests leave open whether {best.metric} {more}."


def _surely(meta: MetaEvaluation, best: MetaResult, *, alone: bool) -> Iterator[Statement]:
    """Say what the first value rests on, and where the first metric may rank."""
    if best.rank_ci is not None and not alone:
        place = f"{span('place', *best.rank_ci)} by {best.by} in 95 % of the draws."
        yield "sureness", f"Over resampled {meta.resampled_units}, {best.metric} takes {place}"
    rests = f"The {best.by} of {best.metric} rests on {_size(meta, best)}"
    if best.ci is not None and not np.isnan(best.ci).any():
        low, high = (f"{end:.{meta.digits()}f}" for end in best.ci)
        rests += f"; the 95% interval of its expected value at this size is {low} to {high}"
    yield "sureness", f"{rests}."


def _size(meta: MetaEvaluation, result: MetaResult) -> str:
    """Count the systems, their pairs and the segments that a value rests on."""
    systems = meta.n_systems if result.n_systems is None else result.n_systems
    segments = meta.n_segments if result.n_segments is None else result.n_segments
    lacks = f"{systems:,} of " if systems < meta.n_systems else ""
    size = f"{lacks}{plural(meta.n_systems, 'system')}"
    if result.level == "sys":
        size += f" ({plural(math.comb(systems, 2), 'pair')})"
    return f"{size} and {plural(segments, 'segment')}" if segments else size


def _too_sure(meta: MetaEvaluation) -> Iterator[Statement]:
    """Say that tests by segment are too sure where segments clearly go together."""
    coarser = meta.unit.coarser
    if meta.significance and coarser is not None and coarser.low > 1:
        why = f"{meta.human} has a {coarser.shown()} over {coarser.counted()}"
        yield "sureness", f'Tests by segment are too sure: {why}. Use unit="{coarser.name}".'


def named_meta(by: str, value: str = "") -> str:
    """Name a meta-metric by what it is, and by its short name, with a value if there is one.

    Examples
    --------
    >>> named_meta("spa"), named_meta("spa", "0.846"), named_meta("kendall-10", "0.846")
    ('soft pairwise accuracy (spa)', 'soft pairwise accuracy (spa 0.846)', 'kendall-10 (0.846)')
    """
    if by in _NAMES:
        return f"{_NAMES[by]} ({f'{by} {value}'.rstrip()})"
    return f"{by} ({value})" if value else by


def _leaders(meta: MetaEvaluation) -> Iterator[Statement]:
    """Say whether the best metric depends on the meta-metric."""
    leaders = {
        by: max(own, key=lambda r: (r.value, r.metric)).metric
        for by, own in _by_metas(meta).items()
        if own
    }
    if len(set(leaders.values())) > 1:
        shown = "; ".join(f"{by}: {metric}" for by, metric in leaders.items())
        yield "undecided", f"The best metric depends on the meta-metric ({shown})."


def _swayed(meta: MetaEvaluation) -> Iterator[Statement]:
    """Say which systems are outliers, and what the first metric has without them."""
    far = meta.outliers
    if far is None or not far.systems or far.handling == "keep":
        return
    few = len(far.systems) == 1
    are = "is an outlier" if few else "are outliers"
    who = f"{listed(far.systems, LISTED, last=' and ')} {are} by {far.human}"
    if far.handling == "drop":
        yield "sureness", f"{who}, and left out."
        return
    own = next(iter(_by_metas(meta).values()), [])
    moved = [r for r in own if r.without_outliers is not None]
    if not moved:
        return
    rest = {r.metric: r.without_outliers.value for r in moved if r.without_outliers is not None}
    best, them, d = moved[0], "it" if few else "them", meta.digits()
    known = {metric: value for metric, value in rest.items() if not np.isnan(value)}
    if best.metric not in known:
        yield "sureness", f"{who}: without {them} {best.by} has no value for {best.metric}."
        return
    first = max(known, key=lambda metric: (known[metric], metric == best.metric))
    without = f"{best.metric} has {known[best.metric]:.{d}f}"
    has = f"{without} without {them}, {best.value:.{d}f} with {them}"
    if first != best.metric:
        has = f"without {them} {first} comes first ({known[first]:.{d}f}), and {without}"
    yield "sureness", f"{who}: by {best.by}, {has}."


def outlier_warnings(outliers: Outliers, results: Sequence[MetaResult]) -> list[str]:
    """Warn of outliers, and say how much they matter under each meta-metric."""
    if not outliers.systems or outliers.handling == "keep":
        return []
    if outliers.handling == "drop":
        return [f"{outliers.sentence()}: left out"]
    parts = []
    for by in dict.fromkeys(result.by for result in results):
        own = [r for r in results if r.by == by and r.without_outliers is not None]
        parts += _moves(by, own) if own else []
    if not parts:
        return []
    them = "it" if len(outliers.systems) == 1 else "them"
    return [TypedWarning(f"{outliers.sentence()}; without {them} {'; '.join(parts)}", "outliers")]


def _moves(by: str, own: Sequence[MetaResult]) -> list[str]:
    """Say which values of a meta-metric move most, and whether the order of metrics stays."""
    pairs = [(r.metric, r.value, r.without_outliers.value) for r in own if r.without_outliers]
    both = [(name, a, b) for name, a, b in pairs if not np.isnan(a - b)]
    lost = [name for name, a, b in pairs if np.isnan(b) and not np.isnan(a)]
    told = []
    if both:
        both.sort(key=lambda one: (-abs(one[2] - one[1]), one[0]))
        shown = [f"{name} {a:.3f} becomes {b:.3f}" for name, a, b in both[:_SHOWN]]
        what = " (what moves most)" if len(both) > _SHOWN else ""
        order = f", {_order(both)}" if len(both) > 1 else ""
        told.append(f"{by} of {', '.join(shown)}{what}{order}")
    if lost:
        told.append(f"{by} has no value for {quoted(lost)}")
    return told


def _order(both: Sequence[tuple[str, float, float]]) -> str:
    """Say how many pairs of metrics change their order.

    Examples
    --------
    >>> _order([("a", 0.9, 0.5), ("b", 0.8, 0.6), ("c", 0.1, 0.1)])
    'and 1 of 3 pairs of metrics changes its order (first: b, not a)'
    """
    with_all, rest = (np.array([one[k] for one in both]) for k in (1, 2))
    i, j = np.triu_indices(len(both), 1)
    turned = int(((with_all[i] - with_all[j]) * (rest[i] - rest[j]) < 0).sum())
    if not turned:
        return "and the order of metrics stays"
    names = [one[0] for one in both]
    best = [min(zip(-own, names, strict=True))[1] for own in (with_all, rest)]
    first = "" if best[0] == best[1] else f" (first: {best[1]}, not {best[0]})"
    verb = "changes its" if turned == 1 else "change their"
    return f"and {turned} of {plural(len(i), 'pair')} of metrics {verb} order{first}"
