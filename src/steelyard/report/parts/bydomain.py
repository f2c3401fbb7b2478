"""The section "Domains": metrics in each domain, and whether the domain matters."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from steelyard.comparison.results import Comparison
from steelyard.data.evalset import EvalSet
from steelyard.data.units import AUTO, units_of
from steelyard.metaevaluation.results import MetaEvaluation
from steelyard.metaevaluation.run import weigh_groups
from steelyard.report.parts.groupstrips import metric_strips
from steelyard.stats.arrays import Counts

if TYPE_CHECKING:
    from markupsafe import Markup

    from steelyard.report.sections import Writer

_FEWEST_SEGMENTS, _FEWEST_UNITS = 10, 5  # of a domain that is looked at
_METRICS = 20  # that are weighed in each domain, the best ones
_FOLDED = "The numbers, with their intervals"


def domain_blocks(
    es: EvalSet, found: Comparison, meta: MetaEvaluation | None, writer: Writer
) -> tuple[Markup, ...]:
    """Write the blocks of the section; none where fewer than two domains have enough segments."""
    groups = domains_of(es, found)
    return () if len(groups) < 2 else tuple(_metric_blocks(es, meta, groups, writer))


def _metric_blocks(
    es: EvalSet, meta: MetaEvaluation | None, groups: dict[str, Counts], writer: Writer
) -> list[Markup]:
    weighed = None if meta is None else weigh_groups(es, meta, groups, most=_METRICS)
    if weighed is None:
        return []
    caption = (
        f"Agreement of metrics with {weighed.human} by {weighed.by} (1 is perfect) in each domain: "
        "place and value. A dot is the value, its line the 95% interval over resampled "
        f"{weighed.unit}s; each domain has a scale of its own, better is to the right."
    )
    table = writer.table(weighed.table("domain"), "Metrics in each domain")
    return [
        writer.words(*weighed.sentences("domain")),
        writer.made("strips", metric_strips(weighed, "Metrics by domain", caption)),
        writer.folded(_FOLDED, table),
    ]


def domains_of(es: EvalSet, found: Comparison) -> dict[str, Counts]:
    """Return the scored segments of each domain that has enough of them."""
    names = es.segments.domains
    if names is None:
        return {}
    rows = [es.systems.index(name) for name in found.systems]
    scored = np.asarray(~np.isnan(es[found.score].values[rows]).all(axis=0))
    codes = units_of(es.segments, AUTO, scored).codes
    codes = np.arange(es.n_segments) if codes is None else codes
    groups = {}
    for domain in es.domains:
        inside = np.flatnonzero(scored & np.array([name == domain for name in names]))
        if len(inside) >= _FEWEST_SEGMENTS and len(np.unique(codes[inside])) >= _FEWEST_UNITS:
            groups[domain] = inside
    return groups
