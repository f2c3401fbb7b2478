"""What each metric has of what people judged: who lacks what, and the part that all have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from steelyard.core.errors import UsageError
from steelyard.core.words import plural
from steelyard.data.evalset import EvalSet
from steelyard.metaevaluation.data import Data

_LISTED = 5  # names that a warning lists
HINT = " (--common weighs all metrics on what all of them have)"

Bools = NDArray[np.bool_]


def _has(es: EvalSet, metric: str, judged: Bools) -> tuple[Bools, Bools | None]:
    """Systems that a metric scored, and the judged cells that it has (None without segments)."""
    table = es.scores[metric]
    cells = judged & ~np.isnan(table.values)
    systems: Bools = np.asarray(cells.any(axis=1))
    if table.system_scores is not None:
        systems = systems | ~np.isnan(table.system_scores)
    return systems, cells if table.has_segments else None


def lacking(data: Data) -> list[str]:
    """Warn of metrics that lack systems, or scores of single segments, that people judged.

    What they have is weighed. Values then rest on other pairs of systems than those of other
    metrics, and means of systems on other segments than people's.
    """
    es, judged = data.es, ~np.isnan(data.human)
    systems: dict[tuple[str, ...], list[str]] = {}
    cells: dict[bytes, tuple[Bools, list[str]]] = {}
    for name in data.metrics:
        scored, known = _has(es, name, judged)
        if not scored.any():
            continue  # no value; its note says why
        lost = tuple(s for s, there in zip(es.systems, scored, strict=True) if not there)
        if lost:
            systems.setdefault(lost, []).append(name)
        if known is None:
            continue
        gaps = judged & ~known & scored[:, None]
        if gaps.any():
            cells.setdefault(np.packbits(gaps).tobytes(), (gaps, []))[1].append(name)
    found = []
    for lost, names in systems.items():
        has = "has" if len(names) == 1 else "have"
        found.append(
            f"{_listed(names)} {has} no score for {len(lost)} of {es.n_systems} systems "
            f"({_shown(lost)}): weighed on the pairs of the others{HINT}"
        )
    for gaps, names in cells.values():
        found.append(_gap_warning(es, judged, gaps, names))
    return found


def _gap_warning(es: EvalSet, judged: Bools, gaps: Bools, names: list[str]) -> str:
    of = gaps.sum(axis=1)
    lack = "lacks" if len(names) == 1 else "lack"
    columns = gaps.any(axis=0)
    where = [plural(int(columns.sum()), "segment")]
    why = ""
    if (columns & (judged & ~gaps).any(axis=0)).any():  # not the same segments of all systems
        where = [f"{s}: {n:,}" for s, n in zip(es.systems, of.tolist(), strict=True) if n]
        why = ": means of systems are over different segments"
    return (
        f"{_listed(names)} {lack} {int(of.sum()):,} of {int(judged.sum()):,} scores that people "
        f"gave ({_shown(where)}){why}{HINT}"
    )


def _listed(names: Sequence[str]) -> str:
    return _shown([f"'{name}'" for name in names])


def _shown(texts: Sequence[str]) -> str:
    rest = len(texts) - _LISTED
    more = f" and {plural(rest, 'other')}" if rest > 0 else ""
    return ", ".join(texts[:_LISTED]) + more


def common_part(es: EvalSet, human: str, metrics: Sequence[str]) -> tuple[EvalSet, list[str]]:
    """Keep the systems that every metric scored, and the segments that none of them lacks.

    A segment is lacking where people judged a system and a metric did not score it. Metrics with
    system scores only have a say on systems alone. Where segments go, official system scores go
    with them: they hold for all segments.
    """
    gold = es[human]
    judged = ~np.isnan(gold.values)
    kept = np.ones(es.n_systems, dtype=bool)
    for name in metrics:
        kept &= _has(es, name, judged)[0]
    notes = []
    if not kept.any():
        raise UsageError(f"no system has scores of all metrics: {_counts(es, judged, metrics)}")
    if not kept.all():
        lost = [s for s, there in zip(es.systems, kept, strict=True) if not there]
        notes.append(f"common: {plural(len(lost), 'system')} that a metric lacks left out: "
                     f"{_shown(lost)}")  # fmt: skip
        es = es.drop(systems=lost)
        judged = judged[kept]
    whole = np.ones(es.n_segments, dtype=bool)
    for name in metrics:
        known = _has(es, name, judged)[1]
        if known is not None:
            whole &= ~(judged & ~known).any(axis=0)
    if whole.all():
        return es, notes
    if not (whole & judged.any(axis=0)).any():
        raise UsageError(f"no segment has scores of all metrics: {_counts(es, judged, metrics)}")
    lost_segments = int((~whole).sum())
    size = plural(es.n_segments, "segment")
    notes.append(f"common: {lost_segments:,} of {size} that a metric lacks left out")
    official = [n for n in (human, *metrics) if es.scores[n].system_scores is not None]
    if official:
        notes.append(f"common: official system scores of {_listed(official)} are of all segments, "
                     "so means of those that are left take their place")  # fmt: skip
    ids = [i for i, there in zip(es.segments.ids, whole, strict=True) if there]
    return es.select(segments=ids), notes


def _counts(es: EvalSet, judged: Bools, metrics: Sequence[str]) -> str:
    """Name the metrics that have least."""
    sizes: Mapping[str, int] = {
        name: int(known.sum()) if known is not None else 0
        for name in metrics
        for known in [_has(es, name, judged)[1]]
    }
    worst = sorted(metrics, key=lambda name: (sizes[name], name))[:_LISTED]
    return ", ".join(f"'{name}' has {sizes[name]:,} of {int(judged.sum()):,}" for name in worst)
