"""Documents or domains in the place of segments: what levels ``doc`` and ``domain`` weigh.

The score of a system on a document is the mean over the segments of the document that people
scored; of a corpus metric whose statistics are known, its score of these segments together; and the
official one where scores of documents are stored, as the toolkit of the shared tasks takes it. From
there on, documents are what segments are at level ``seg``, also for tests and intervals.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import fsum

import numpy as np

from steelyard.core.errors import UsageError
from steelyard.data.evalset import EvalSet, ScoreTable
from steelyard.data.segments import Segments
from steelyard.data.units import (
    AUTO,
    DOCUMENT,
    DOMAIN,
    FEWEST,
    SEGMENT,
    Units,
    least_p,
    units_of,
)
from steelyard.metaevaluation.cube import Data
from steelyard.metaevaluation.options import POOLED, MetaOptions
from steelyard.metaevaluation.words import quoted
from steelyard.stats.arrays import Floats
from steelyard.stats.metametrics.base import MetaMetric
from steelyard.stats.ranks import levelled, rounding


def pooled(data: Data, human: str, level: str) -> tuple[Data, list[str]]:
    """Put documents, or domains, in the place of the segments that people scored; and notes."""
    es, used = data.es, data.judged
    names = es.segments.documents if level == "doc" else es.segments.domains
    lost = len(used) if names is None else sum(names[i] is None for i in used)
    if names is None or lost:
        some = f" for {lost:,} of {len(used):,} segments" if lost < len(used) else ""
        what = f"the {POOLED[level]}s of segments are not known{some}"
        raise UsageError(f'level="{level}": {what}; expected a column "{level}"')
    members: dict[str, list[int]] = {}
    for i in used:
        members.setdefault(names[i] or "", []).append(int(i))
    judged = ~np.isnan(data.human)
    scores: dict[str, ScoreTable] = {}
    stored = []
    for name in (human, *data.metrics):
        table = es.scores[name]
        official = table.document_scores if level == "doc" else table.domain_scores
        if official is not None:
            known = es.documents if level == "doc" else es.domains
            values = official[:, [known.index(one) for one in members]]
            stored.append(name)
        elif table.statistics is not None:
            stats = table.statistics.masked(judged)
            parts = [stats.select(segments=own).corpus_scores() for own in members.values()]
            values = np.stack(parts, axis=1)
        else:
            cells = np.where(judged, table.values, np.nan)
            values = unit_means(cells, list(members.values()))
            values = levelled(values.ravel(), floor=rounding(cells)).reshape(values.shape)
        scores[name] = replace(
            table, values=values, statistics=None, domain_scores=None, document_scores=None
        )
    domains = es.segments.domains
    above = None
    if level == "doc" and domains is not None:
        above = tuple(domains[own[0]] for own in members.values())
    segments = Segments(tuple(members), domains=above)
    own = EvalSet(es.systems, segments, scores, name=es.name, inputs=es.inputs)
    found = Data(own, own[human].oriented, data.human_systems, data.metrics)
    return found, [f"level {level}: stored scores of {quoted(stored)}"] if stored else []


def unit_means(values: Floats, members: Sequence[Sequence[int]]) -> Floats:
    """Means over the known cells of each group of columns; NaN where none is known.

    Sums are exact, so that outputs with the same scores in another order tie.

    Examples
    --------
    >>> unit_means(np.array([[0.1, 0.2, 0.3, np.nan]]), [[0, 1, 2], [3]]).tolist()
    [[0.19999999999999998, nan]]
    """
    found = np.full((len(values), len(members)), np.nan)
    for k, own in enumerate(members):
        for n, row in enumerate(values[:, own]):
            known = row[~np.isnan(row)].tolist()
            if known:
                found[n, k] = fsum(known) / len(known)
    return found


def check_levels(metas: Sequence[MetaMetric], level: str) -> None:
    """Refuse meta-metrics that know nothing but systems."""
    for meta in metas:
        if "seg" not in meta.levels:
            others = 'by=["acc-eq", "pearson"]'
            raise UsageError(f"'{meta.name}' compares systems: it has no level {level} ({others})")


def item_units(data: Data, options: MetaOptions) -> tuple[Units, MetaOptions] | None:
    """Say what is independent among documents or domains, and how to go on with them.

    They are units themselves; documents may also be taken together by domain. None at other levels.
    """
    level = options.level
    if level not in POOLED:
        return None
    own, used = POOLED[level], np.ones(data.es.n_segments, dtype=bool)
    if options.unit == DOMAIN and level == "doc":
        found = units_of(data.es.segments, DOMAIN, used)
    elif options.unit in (SEGMENT, AUTO, own, level):
        found = Units(own, data.es.n_segments)
    else:
        more = ", or domains of them" if own == DOCUMENT else ""
        what = f"at level {level}, {own}s are what is independent{more}"
        raise UsageError(f'unit="{options.unit}": {what}')
    drawn = options.intervals
    if found.n < FEWEST:
        told = f"level {level}: {found.too_few()} for an interval"
        told += f" or a test that is not exact{least_p(found.n)}" if options.significance else ""
        found = replace(found, warnings=(told,))
        drawn = drawn if drawn == "system" else None
    return found, replace(options, level="seg", intervals=drawn)
