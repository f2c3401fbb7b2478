"""The section "Domains": systems and metrics in each domain, and whether the domain matters."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from steelyard.comparison.results import Comparison
from steelyard.comparison.segmentgroups import Groups, compare_groups, units_behind
from steelyard.core.words import all_of, listed, plural
from steelyard.data.evalset import EvalSet
from steelyard.data.independence import counted
from steelyard.metaevaluation.metricgroups import weigh_groups
from steelyard.metaevaluation.results import MetaEvaluation
from steelyard.report.parts.groupstrips import metric_strips, system_strips
from steelyard.stats.arrays import Counts
from steelyard.stats.paired.interactions import interactions

if TYPE_CHECKING:
    from markupsafe import Markup

    from steelyard.report.sections import Writer

_FEWEST_SEGMENTS, _FEWEST_UNITS = 10, 5  # of a domain that is looked at
_METRICS = 20  # that are weighed in each domain, the best ones
_TURNS = 10  # changes of places that are listed
_FOLDED = "The numbers, with their intervals"


def domain_blocks(
    es: EvalSet, found: Comparison, meta: MetaEvaluation | None, writer: Writer
) -> tuple[Markup, ...]:
    """Write the blocks of the section; none where fewer than two domains have enough segments."""
    groups, left_out = domains_of(es, found)
    if len(groups) < 2 or len(found.systems) < 2:
        return ()
    ranked = compare_groups(es, found, groups)
    lines = [ranked.led("domain"), *order_sentences(es, found, ranked, groups)]
    if left_out:
        lines.append(f"Too small to be looked at: {all_of(left_out)}.")
    if len(ranked.systems) < len(found.systems):
        lines.append(f"The best {len(ranked.systems)} of {len(found.systems)} systems are shown.")
    turns = [turn.sentence() for turn in ranked.turns()]
    caption = (
        f"Rank and mean {found.score} of each system in each domain. A dot is the mean, its line "
        "the 95 % interval; each domain has a scale of its own, better is "
        f"{'to the right' if found.higher_is_better else 'to the left'}. The first is bold."
    )
    table = writer.table(ranked.table("domain"), "Systems in each domain")
    blocks = [
        writer.words(*lines),
        *([writer.findings(turns[:_TURNS])] if turns else []),
        writer.made("strips", system_strips(ranked, "Systems by domain", caption)),
        writer.folded(_FOLDED, table),
    ]
    return (*blocks, *_metric_blocks(es, meta, groups, writer))


def _metric_blocks(
    es: EvalSet, meta: MetaEvaluation | None, groups: dict[str, Counts], writer: Writer
) -> list[Markup]:
    weighed = None if meta is None else weigh_groups(es, meta, groups, most=_METRICS)
    if weighed is None:
        return []
    caption = (
        f"Agreement of metrics with {weighed.human} by {weighed.by} (1 is perfect) in each domain: "
        "place and value. A dot is the value, its line the 95 % interval over resampled "
        f"{weighed.unit}s; each domain has a scale of its own, better is to the right."
    )
    table = writer.table(weighed.table("domain"), "Metrics in each domain")
    return [
        writer.words(*weighed.sentences("domain")),
        writer.made("strips", metric_strips(weighed, "Metrics by domain", caption)),
        writer.folded(_FOLDED, table),
    ]


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


def order_sentences(
    es: EvalSet, found: Comparison, ranked: Groups, groups: dict[str, Counts]
) -> list[str]:
    """Say whether differences between systems depend on the domain, and how many change places."""
    n = len(ranked.systems)
    pairs = plural(n * (n - 1) // 2, "pair")
    told = stand_outs(es, found, ranked, groups)
    changed, turns = ranked.changes(), len(ranked.turns())
    if not changed:
        told.append(f"All {pairs} of systems are in the same order in every domain.")
        return told
    text = f"{changed:,} of {pairs} of systems are not in the same order in every domain"
    how = "t-tests, Holm's correction over all pairs and domains"
    if turns:
        both = "significantly one way here and the other way there"
        told.append(f"{text}; {turns:,} of them {both} ({how}):")
    else:
        told.append(f"{text}; for none of them is it significant both ways ({how}).")
    return told


def stand_outs(
    es: EvalSet, found: Comparison, ranked: Groups, groups: dict[str, Counts]
) -> list[str]:
    """Say which systems do better or worse in a domain, against the others, than elsewhere.

    That is tested on the segments that all systems have.
    """
    rows = [es.systems.index(name) for name in ranked.systems]
    places = np.concatenate(list(groups.values()))
    kinds = np.repeat(np.arange(len(groups)), [len(own) for own in groups.values()])
    scores = es[found.score].oriented[rows][:, places]
    whole = ~np.isnan(scores).any(axis=0)
    codes = units_behind(es, found).codes
    blocks = (np.arange(es.n_segments) if codes is None else codes)[places][whole]
    if len(np.unique(kinds[whole])) < len(groups):
        why = "too few segments have scores of all systems"
        return [f"Whether the domain matters by more than chance is not tested: {why}."]
    gain, p = interactions(scores[:, whole], kinds[whole], blocks)
    if np.isnan(p).all():
        why = f"too few {ranked.unit}s"
        return [f"Whether the domain matters by more than chance is not tested: {why}."]
    how = f"t-tests over {counted(len(np.unique(blocks)), ranked.unit)}, Holm's correction"
    lines = []
    for g, name in enumerate(groups):
        sure = sorted(np.flatnonzero(p[:, g] < found.alpha), key=lambda i: -abs(gain[i, g]))
        better = [ranked.systems[i] for i in sure if gain[i, g] > 0]
        worse = [ranked.systems[i] for i in sure if gain[i, g] < 0]
        both = (("better", better), ("worse", worse))
        sides = [f"{word} than elsewhere: {listed(own)}" for word, own in both if own]
        lines += [f"In {name}, against the others, {'; '.join(sides)}."] if sides else []
    if lines:
        return [f"Differences between systems depend on the domain by more than chance ({how}).",
                *lines]  # fmt: skip
    none = "none does better or worse against the others in one domain than elsewhere by more than"
    told = "Whether differences between systems depend on the domain is not decided"
    return [f"{told}: {none} noise explains ({how})."]
