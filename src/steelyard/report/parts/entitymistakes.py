"""The section "Entities": mistakes that were given, who makes them, and where to read them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import numpy as np

from steelyard.comparison.results import LEVEL
from steelyard.core.errors import printable
from steelyard.core.text import all_of, plural
from steelyard.data.evalset import EvalSet
from steelyard.data.units import AUTO, units_of
from steelyard.report.explorer import Mistake
from steelyard.report.parts.strips import Scale, StripCell, Strips
from steelyard.stats.arrays import Floats
from steelyard.stats.paired.corrections import adjust_pairs, wilson_interval
from steelyard.stats.paired.tests import t_test

if TYPE_CHECKING:
    from markupsafe import Markup

    from steelyard.report.sections import Writer

_LISTED = 30  # mistakes that are listed, the surest ones
_KINDS = 4  # kinds that have a column
_LONG = 60  # characters of a text that are shown


def entity_blocks(
    es: EvalSet, mistakes: Sequence[Mistake], notes: Sequence[str], writer: Writer
) -> tuple[Markup, ...]:
    """Write the blocks of the section; none without mistakes."""
    if not mistakes:
        return ()
    named = {one.system for one in mistakes}
    systems = [name for name in es.systems if name in named]
    hit = outputs_hit(es, mistakes, systems)
    order = sorted(range(len(systems)), key=lambda k: (hit[k].sum(), systems[k]))
    systems, hit = [systems[k] for k in order], hit[order]
    return (
        writer.words(*sentences(es, mistakes, systems, hit), *(f"{note}." for note in notes)),
        writer.made("strips", strips(mistakes, systems, hit)),
        linked(mistakes, writer),
    )


def outputs_hit(es: EvalSet, mistakes: Sequence[Mistake], systems: Sequence[str]) -> Floats:
    """Give 1 where an output has a mistake, else 0: systems x segments."""
    row = {name: k for k, name in enumerate(systems)}
    column = {name: k for k, name in enumerate(es.segments.ids)}
    hit = np.zeros((len(systems), es.n_segments))
    for one in mistakes:
        hit[row[one.system], column[one.segment]] = 1.0
    return hit


def sentences(
    es: EvalSet, mistakes: Sequence[Mistake], systems: Sequence[str], hit: Floats
) -> list[str]:
    """Say how many mistakes there are, who has fewest and most, and whether that is noise."""
    n = plural(len(mistakes), "mistake")
    text = f"{n} {'is' if len(mistakes) == 1 else 'are'} marked, in {int(hit.sum()):,} of "
    text += f"{plural(hit.size, 'output')} of {plural(len(systems), 'system')}"
    kinds = Counter(one.kind for one in mistakes)
    most = [f"{kind} ({count:,})" for kind, count in kinds.most_common(3)]
    told = [f"{text}; most often {all_of(most)}."]
    left = es.n_systems - len(systems)
    if left:
        verb = "has none, or was not looked at" if left == 1 else "have none, or were not looked at"
        told.append(f"{plural(left, 'other system')} {verb}: the file does not say which.")
    if len(systems) < 2:
        return told
    share = 100 * hit.mean(axis=1)
    fewest, worst = f"{share[0]:.1f}% ({systems[0]})", f"{share[-1]:.1f}% ({systems[-1]})"
    units = units_of(es.segments, AUTO, np.ones(es.n_segments, dtype=bool))
    blocks = np.arange(es.n_segments) if units.codes is None else units.codes
    p = adjust_pairs(t_test(hit, blocks).p, "holm", symmetric=True)
    upper = p[np.triu_indices(len(systems), 1)]
    sure, known = int((upper < 0.05).sum()), int((~np.isnan(upper)).sum())
    pairs = plural(known, "pair")
    verdict = f"{sure:,} of {pairs} of systems differ by more than noise"
    if not sure:
        verdict = f"for none of {pairs} of systems the difference is more than noise"
    told.append(f"Outputs with a mistake: from {fewest} to {worst}; {verdict} (t-tests by "
                f"{units.name}, Holm's correction).")  # fmt: skip
    return told


def strips(mistakes: Sequence[Mistake], systems: Sequence[str], hit: Floats) -> Strips:
    """Draw the share of outputs with a mistake, the fewest first, and count kinds."""
    n = hit.shape[1]
    low, high = wilson_interval(hit.sum(axis=1), np.full(len(hit), float(n)), LEVEL)
    scale = Scale.over(low, high, np.zeros(1))
    counts = Counter((one.system, one.kind) for one in mistakes)
    totals = Counter(one.system for one in mistakes)
    kinds = [kind for kind, _ in Counter(one.kind for one in mistakes).most_common(_KINDS)]
    rows = []
    for k, name in enumerate(systems):
        share = float(hit[k].mean())
        ends = f"95% interval {100 * low[k]:.1f} to {100 * high[k]:.1f}%"
        tip = f"{name}: {int(hit[k].sum())} of {n} outputs with a mistake, {100 * share:.1f}%"
        cell = StripCell(f"{100 * share:.1f}%", printable(f"{tip} ({ends})"), scale.at(share),
                         scale.at(float(low[k])), scale.at(float(high[k])))  # fmt: skip
        numbers = [totals[name], *(counts[name, kind] for kind in kinds)]
        rows.append((name, [cell, *(StripCell(f"{x:,}", number=True) for x in numbers)]))
    caption = (
        "Outputs with a mistake, fewest first. A dot is their share, its line Wilson's 95% "
        "interval, all on one scale from 0; then how many mistakes there are, in all and of the "
        "kinds that occur most."
    )
    heads = ("system", "outputs with a mistake", "mistakes", *kinds)
    return Strips.of("Entity mistakes of each system", caption, heads, rows)


def linked(mistakes: Sequence[Mistake], writer: Writer) -> Markup:
    """List the mistakes to look at first, each with a link to its segment."""
    sure = any(one.confidence is not None for one in mistakes)
    order = sorted(mistakes, key=lambda one: -(one.confidence or 0.0))
    rows: list[tuple[str, list[Any]]] = []
    for one in order[:_LISTED]:
        cells: list[Any] = [one.system, one.segment, one.kind, _cut(one.text or ""), one.side]
        cells = [printable(text) for text in cells]
        if sure:
            cells.append("--" if one.confidence is None else f"{one.confidence:.2f}")
        rows.append((segment_link(one.system, one.segment), cells))
    heads = ["system", "segment", "what", "text", "where"] + (["confidence"] if sure else [])
    caption = "Mistakes to look at" + (", the surest first." if sure else ".")
    caption += " A segment leads to its outputs."
    left = len(mistakes) - len(rows)
    notes = [f"{plural(left, 'more mistake')} are marked in the segments"] if left else []
    return writer.made("linked", caption, "Mistakes, with links to their segments", heads, rows,
                       notes)  # fmt: skip


def segment_link(system: str, segment: str) -> str:
    """Give the address of a segment in the page, as the explorer reads it.

    Examples
    --------
    >>> segment_link("A & B", "doc 1::2")
    '#segments?a=A+%26+B&segment=doc+1%3A%3A2'
    """
    return "#segments?" + urlencode({"a": printable(system), "segment": printable(segment)})


def _cut(text: str) -> str:
    return text if len(text) <= _LONG else f"{text[: _LONG - 1]}…"
