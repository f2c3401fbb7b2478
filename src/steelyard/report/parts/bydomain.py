"""The section "Domains": systems in each domain, and whether the domain matters."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from steelyard.comparison.diagnosis import Groups, compare_groups, units_behind
from steelyard.comparison.results import Comparison
from steelyard.core.text import all_of, plural
from steelyard.data.evalset import EvalSet
from steelyard.report.parts.groupstrips import system_strips
from steelyard.stats.arrays import Counts

if TYPE_CHECKING:
    from markupsafe import Markup

    from steelyard.report.sections import Writer

_FEWEST_SEGMENTS, _FEWEST_UNITS = 10, 5  # of a domain that is looked at
_TURNS = 10  # changes of places that are listed
_FOLDED = "The numbers, with their intervals"


def domain_blocks(es: EvalSet, found: Comparison, writer: Writer) -> tuple[Markup, ...]:
    """Write the blocks of the section; none where fewer than two domains have enough segments."""
    groups, left_out = domains_of(es, found)
    if len(groups) < 2 or len(found.systems) < 2:
        return ()
    ranked = compare_groups(es, found, groups)
    lines = [ranked.led("domain"), *order_sentences(ranked)]
    if left_out:
        lines.append(f"Too small to be looked at: {all_of(left_out)}.")
    if len(ranked.systems) < len(found.systems):
        lines.append(f"The best {len(ranked.systems)} of {len(found.systems)} systems are shown.")
    turns = ranked.turns()
    caption = (
        f"Rank and mean {found.score} of each system in each domain. A dot is the mean, its line "
        "the 95 % interval; each domain has a scale of its own, better is "
        f"{'to the right' if found.higher_is_better else 'to the left'}. The first is bold."
    )
    table = writer.table(ranked.table("domain"), "Systems in each domain")
    return (
        writer.words(*lines),
        *([writer.findings(turns[:_TURNS])] if turns else []),
        writer.made("strips", system_strips(ranked, "Systems by domain", caption)),
        writer.folded(_FOLDED, table),
    )


def domains_of(es: EvalSet, found: Comparison) -> tuple[dict[str, Counts], list[str]]:
    """Give the scored segments of each domain with enough of them, and the other domains."""
    names = es.segments.domains
    if names is None:
        return {}, []
    rows = [es.systems.index(name) for name in found.systems]
    scored = ~np.isnan(es[found.score].values[rows]).all(axis=0)
    units = units_behind(es, found)
    codes = np.arange(es.n_segments) if units.codes is None else units.codes
    groups, left_out = {}, []
    for domain in es.domains:
        own = np.flatnonzero(scored & np.array([name == domain for name in names]))
        if len(own) >= _FEWEST_SEGMENTS and len(np.unique(codes[own])) >= _FEWEST_UNITS:
            groups[domain] = own
        elif len(own):
            left_out.append(f"{domain} ({plural(len(own), 'segment')})")
    return groups, left_out


def order_sentences(ranked: Groups) -> list[str]:
    """Say how many pairs of systems change places between domains."""
    n = len(ranked.systems)
    pairs = plural(n * (n - 1) // 2, "pair")
    changed, turns = ranked.changes(), len(ranked.turns())
    if not changed:
        return [f"All {pairs} of systems are in the same order in every domain."]
    text = f"{changed:,} of {pairs} of systems are not in the same order in every domain"
    how = "t-tests, Holm's correction over all pairs and domains"
    if turns:
        both = "significantly one way here and the other way there"
        return [f"{text}; {turns:,} of them {both} ({how}):"]
    return [f"{text}; for none of them is it significant both ways ({how})."]
