"""A meta-evaluation in words: which metric agrees most with people, and how surely."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from steelyard.core.summary import Told
from steelyard.core.words import all_of, listed, plural, span

if TYPE_CHECKING:
    from steelyard.metaevaluation.outliers import Outliers
    from steelyard.metaevaluation.results import MetaEvaluation, MetaResult

LISTED = 5  # names that a warning lists
_SHOWN = 3  # metrics whose values a warning gives


def quoted(names: Sequence[str]) -> str:
    """Name a few metrics, and count the others."""
    return listed([f"'{name}'" for name in names], LISTED, rest="other")


def told(meta: MetaEvaluation) -> Iterator[Told]:
    """Say in sentences what a meta-evaluation found."""
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


def _best_metric(meta: MetaEvaluation) -> Iterator[Told]:
    """Say which metric agrees most with people by the first meta-metric, and how surely."""
    by, own = next(iter(_by_metas(meta).items()), ("", []))
    if not own:
        if by:
            yield "undecided", f"{by} is not defined for any metric."
        return
    best = own[0]
    shown = f"{best.value:.3f}"
    if best.ci is not None and not np.isnan(best.ci).any():
        shown += f", 95 % interval {best.ci[0]:.3f} to {best.ci[1]:.3f}"
    size = f"{plural(meta.n_systems, 'system')}, {plural(meta.n_segments, 'segment')}"
    most = f"{best.metric} agrees most with {meta.human} by {by} ({shown}; {size})"
    yield "settled", f"Of {plural(len(own), 'metric')}, {most}."
    others = [r.metric for r in own if r.rank == 1 and r.metric != best.metric]
    if others:
        open_ = "the tests leave open which of them agrees more with people."
        yield "undecided", f"{by} does not tell {best.metric} from {all_of(others)}: {open_}"
    if best.rank_ci is not None:
        place = f"{span('place', *best.rank_ci)} by {by} in 95 % of the draws."
        yield "sureness", f"Over resampled {meta.resampled_units}, {best.metric} takes {place}"


def _leaders(meta: MetaEvaluation) -> Iterator[Told]:
    """Say whether the best metric depends on the meta-metric."""
    leaders = {
        by: max(own, key=lambda r: (r.value, r.metric)).metric
        for by, own in _by_metas(meta).items()
        if own
    }
    if len(set(leaders.values())) > 1:
        shown = "; ".join(f"{by}: {metric}" for by, metric in leaders.items())
        yield "undecided", f"The best metric depends on the meta-metric ({shown})."


def _swayed(meta: MetaEvaluation) -> Iterator[Told]:
    """Say which systems are outliers, and what agreement is without them."""
    if meta.outliers is not None:
        for text in outlier_warnings(meta.outliers, meta.results):
            yield "sureness", f"{text}."


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
    return [f"{outliers.sentence()}; without {them} {'; '.join(parts)}"]


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
