r"""What documents, raters and domains share of a score, and what another design would bring.

Tests compare two systems by differences on the same segments. A difference is taken apart into what
all segments of a domain share, what those of a document share, and a rest,

.. math:: d = \mu + \text{domain} + \text{document} + \text{segment},

and raw ratings also tell what raters share. Components are found by moments
(:mod:`steelyard.stats.components`), as means over all pairs of systems; intervals leave out whole
documents, and raters. From them follows the error of a mean difference with other documents, and
how many it takes to find one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from steelyard.core import bounds
from steelyard.core.options import keywords
from steelyard.core.provenance import Provenance
from steelyard.core.table import Cell, Column, Table
from steelyard.core.words import plural
from steelyard.data.evalset import EvalSet
from steelyard.data.independence import DOCUMENT, UnitEffect
from steelyard.data.judgements import Ratings
from steelyard.formats.judged import raterfile
from steelyard.formats.load import Source
from steelyard.stats.arrays import Floats, range_of
from steelyard.studies.planning.gains import Plan, errors_needed, gain_table, needed_table
from steelyard.studies.planning.options import UnitsOptions
from steelyard.studies.planning.sharing import (
    Component,
    Sharing,
    below_zero,
    share_ratings,
    share_scores,
)
from steelyard.studies.planning.unitsets import chosen, grouped, rated, read_units, scored
from steelyard.studies.results import Curve, Study, plain_line

_LENGTHS = (1, 2, 3, 5, 8, 12, 20, 30)  # of documents, in segments, that the figure shows


@keywords(UnitsOptions)
def study_units(es: Source | Ratings, score: str | None = None, *, options: UnitsOptions) -> Study:
    """Estimate what documents, raters and domains share, and what more documents would bring.

    Parameters
    ----------
    es
        A set or what becomes one, with the documents of its segments; or raw :class:`Ratings` (also
        those that a set carries), which tell what raters share.
    score
        The score, or the ratings of a set; needed if there are several.

    See :class:`UnitsOptions` for the rest. The tables are ``components`` (of the difference of two
    systems), ``design``, ``gains``, ``needed`` and ``scores`` (components of scores themselves).

    Examples
    --------
    >>> import steelyard as sy
    >>> study = study_units(sy.demo_set(), "da")
    >>> [row["component"] for row in study.table().records()]
    ['domain', 'document', 'segment', 'total']
    """
    bounds.text(optional=True, score=score)
    data = es if isinstance(es, EvalSet) else read_units([es], unit=options.unit)
    data = grouped(data, options.unit)
    name = chosen(data, score)
    told: list[str] = []
    if name in data.ratings:
        own, told = rated(data, name, options.raters)
        found, values = share_ratings(own), own.value
    else:
        scores = scored(data, name)
        found, values = share_scores(scores), scores.values
        if options.raters is not None:
            raterfile.read(options.raters)  # which is checked even where nobody needs it
            told.append("raters=... has no use: scores do not say who gave them")
    seen = errors_needed(options.alpha, options.target)
    deltas = _deltas(values) if options.delta is None else tuple(map(float, options.delta))
    summary = _summary(found)
    tables = {
        "components": _components(name, found, summary),
        "design": _design(found),
        "gains": gain_table(found.plan, seen),
        "needed": needed_table(found.plan, deltas, seen, options.target),
        "scores": _scores(name, found.scores),
    }
    shape = found.plan.shape
    facts: dict[str, Any] = {
        "score": name,
        "summary": summary,
        "n_systems": found.n_systems,
        "n_pairs": found.n_pairs,
        "n_documents": shape.documents,
        "n_segments": shape.segments,
        "effective_size": shape.effective,
        "correlation": _dict(found.correlation),
        "design_effect": _dict(found.effect),
        "unit": UnitEffect(
            options.unit, shape.documents, found.effect.value, found.effect.low, found.effect.high
        ).to_dict(),
    }
    settings: dict[str, Any] = {
        "score": name,
        "unit": options.unit,
        "alpha": options.alpha,
        "power": options.target,
    }
    settings |= {"delta": ",".join(f"{delta:g}" for delta in deltas)}
    found_warnings = (*found.warnings, *below_zero(found.components))
    if options.unit != DOCUMENT:  # what is said of documents holds for other units
        tables = {name: _called(table, options.unit) for name, table in tables.items()}
        facts["summary"] = summary.replace(DOCUMENT, options.unit)
        found_warnings = tuple(text.replace(DOCUMENT, options.unit) for text in found_warnings)
    return Study(
        name="units",
        parts=tables,
        curves=(_curve(found.plan),),
        facts=facts,
        warnings=(*data.notes, *told, *found_warnings),
        provenance=Provenance.of("study units", settings, data.inputs, asked=options),
    )


def _called(table: Table, unit: str) -> Table:
    """Call documents by the name of the unit that stands for them."""
    return replace(
        table,
        title=table.title.replace(DOCUMENT, unit),
        columns=tuple(replace(c, name=c.name.replace(DOCUMENT, unit)) for c in table.columns),
        rows=tuple(
            tuple(x.replace(DOCUMENT, unit) if isinstance(x, str) else x for x in row)
            for row in table.rows
        ),
        notes=tuple(note.replace(DOCUMENT, unit) for note in table.notes),
    )


def _dict(value: Any) -> dict[str, float]:
    return {"value": value.value, "low": value.low, "high": value.high}


def _deltas(values: Floats) -> tuple[float, ...]:
    """Give 1, 2 and 3 hundredths of the scale: of the range, rounded up to a power of 10.

    Examples
    --------
    >>> _deltas(np.array([12.0, 96.0])), _deltas(np.array([0.2, 0.9]))
    ((1.0, 2.0, 3.0), (0.01, 0.02, 0.03))
    """
    low, high = range_of(values)
    if not high > low:
        return (1.0, 2.0, 3.0)
    power = int(np.ceil(np.log10(high - low) - 1e-9)) - 2
    return tuple(float(f"{k}e{power}") for k in (1, 2, 3))


def _components(score: str, found: Sharing, summary: str) -> Table:
    total = sum(c.variance for c in found.components if not np.isnan(c.variance))
    unknown = any(np.isnan(c.estimate) and c.name in ("document", "segment")
                  for c in found.components)  # fmt: skip
    total = found.plan.total if unknown else total
    rows = [_row(c, total) for c in found.components]
    share = 1.0 if total > 0 else float("nan")
    rows.append(("total", total, None, None, share, float(np.sqrt(total))))
    told = f"means over {plural(found.n_pairs, 'pair')} of systems"
    notes = [f"{told}; 95 % intervals leave out whole units"]
    if found.plan.severity is None:
        notes.append("document: with what raters share, where a document is judged by one rater")
    else:
        notes.append("rater: two raters, one for each system; a rater who judges both cancels out")
    if any(c.name == "noise" for c in found.components):
        notes.append("noise: what another rating of the same output would not repeat")
    title = f"Variance of the difference of two systems by {score}"
    return Table(title, _columns(interval=True), tuple(rows), (*notes, summary))


def _columns(*, interval: bool) -> tuple[Column, ...]:
    ends = (Column("low"), Column("high")) if interval else ()
    return (Column("component"), Column("variance"), *ends, Column("share", digits=3),
            Column("deviation"))  # fmt: skip


def _row(component: Component, total: float) -> tuple[Cell, ...]:
    variance = component.variance
    share = variance / total if total > 0 else float("nan")
    return component.name, variance, component.low, component.high, share, float(np.sqrt(variance))


def _design(found: Sharing) -> Table:
    shape = found.plan.shape
    worth = shape.segments / found.effect.value
    rows: tuple[tuple[Cell, ...], ...] = (
        ("correlation within a document", *_three(found.correlation)),
        ("design effect", *_three(found.effect)),
        ("documents", shape.documents, None, None),
        ("segments", shape.segments, None, None),
        ("segments in a document, mean", shape.mean, None, None),
        ("segments in a document, effective", shape.effective, None, None),
        ("independent segments that are worth as much", worth, None, None),
    )
    columns = (Column("of this design"), *(Column(n, mixed=True) for n in ("value", "low", "high")))
    return Table("What the units cost now", columns, rows)


def _three(value: Any) -> tuple[float, float, float]:
    return value.value, value.low, value.high


def _scores(score: str, components: Sequence[Component]) -> Table:
    total = sum(c.variance for c in components if not np.isnan(c.variance))
    rows = [_row(c, total) for c in components]
    kept = tuple((row[0], row[1], row[4], row[5]) for row in rows)
    told = (
        "system, document and segment: what all outputs of one share; a difference of two systems "
        "on a segment is free of the last two"
    )
    return Table(f"Variance of {score} itself", _columns(interval=False), kept, (told,))


def _summary(found: Sharing) -> str:
    """Say in a sentence what documents share, and which design would be better."""
    plan = found.plan
    shape = plan.shape
    now = float(np.sqrt(plan.variance()))
    n = f"{plural(round(shape.segments), 'segment')} in {plural(shape.documents, 'document')}"
    if np.isnan(found.correlation.value):
        return (
            f"{n}: what documents share is not known; a mean difference has an error of {now:.3g}"
        )
    more = float(np.sqrt(plan.variance(2.0)))
    longer = float(np.sqrt(plan.variance(1.0, 2.0)))
    return (
        f"two segments of a document share {found.correlation.value:.0%} of the variance of a "
        f"difference (design effect {found.effect.value:.3g}): {n} are worth "
        f"{shape.segments / found.effect.value:,.0f} independent ones; twice as many documents "
        f"cut the error of a mean difference from {now:.3g} to {more:.3g}, documents twice as "
        f"long to {longer:.3g}"
    )


def _curve(plan: Plan) -> Curve:
    """Draw the error with as many segments as now in documents of other lengths."""
    now = plan.shape.mean
    even = replace(plan, shape=replace(plan.shape, effective=now))
    errors = [float(np.sqrt(even.variance(now / k, k / now))) for k in _LENGTHS]
    title = f"Error with {round(plan.shape.segments):,} segments in documents of one length"
    line = plain_line("error", np.array(errors))
    return Curve("lengths", title, "segments in a document", "error", _LENGTHS, (line,))
