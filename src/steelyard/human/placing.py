"""Places of systems: by means, tests of pairs by unit and a rule, or as organisers publish."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from steelyard.core.table import Table
from steelyard.core.text import plural
from steelyard.data.judgements import Floats, Ratings
from steelyard.data.units import SEGMENT, UnitEffect
from steelyard.human import official
from steelyard.human.judgedunits import independent
from steelyard.human.options import HumanOptions
from steelyard.human.ordering import MAX_SYSTEMS, Averages, Ordering, Rule, order
from steelyard.human.presets import PRESETS

ENOUGH = 15  # ratings of an output that direct assessment asks for, to use scores of segments


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    """Systems in order, by which rule, what was independent, and what is said of it.

    ``overall`` are the scores that systems are ordered by; ``rule`` is None where nothing was
    tested, and ``errors`` are standard errors of means over segments by unit, best system first.
    """

    ordering: Ordering
    overall: Floats
    rule: Rule | None
    unit: UnitEffect | None
    errors: Floats | None
    notes: tuple[str, ...]
    warnings: tuple[str, ...]
    tables: Mapping[str, Table] = field(default_factory=dict)
    more: Mapping[str, Any] = field(default_factory=dict)


def place(
    ratings: Ratings, averages: Averages, name: str, rule: Rule, options: HumanOptions
) -> Placement:
    """Place systems by the mean of a score; a preset has rules of its own."""
    apart, told = independent(averages, ratings, options.unit)
    rule = replace(rule, test=options.test or apart.usual_test or rule.test)
    apart.check(rule.test)
    placed = order(averages, name, rule, apart.p_values)
    few = len(averages.systems) <= MAX_SYSTEMS
    if not few and rule.clusters != "none":
        most = f"more than {MAX_SYSTEMS} systems"
        told.append(f"{most}: pairs are not tested, and there are no clusters")
    used = None if placed.p is None else rule
    notes = _notes(averages, used, single=options.protocol == "da")
    if options.preset is None:
        return _with_unit(
            Placement(
                ordering=placed,
                overall=averages.means(name),
                rule=used,
                unit=apart.effect(averages, name) if few else None,
                errors=apart.errors(averages, name)[placed.order],
                notes=notes,
                warnings=tuple(told),
            )
        )
    preset = PRESETS[options.preset]
    found = official.rank(ratings, averages, name, preset)
    beside = f"{rule.test} test by {apart.name}"
    beside += "" if averages.documents else " (documents are not known)"
    tables, more = found.shown(averages.systems, beside, placed)
    alone = independent(averages, ratings, SEGMENT)[0]  # the unit of the organisers
    return _with_unit(
        Placement(
            ordering=found.placed,
            overall=found.overall,
            rule=None if used is None else official.rule_of(preset),
            unit=alone.effect(averages, name) if few else None,
            errors=None if found.errors is None else found.errors[found.placed.order],
            notes=(*official.told(preset), notes[-1]),
            warnings=found.warnings,
            tables=tables,
            more=more,
        )
    )


def _with_unit(found: Placement) -> Placement:
    """Say below the ranking what was independent."""
    if found.unit is None or found.rule is None:
        return found
    return replace(found, notes=(*found.notes, found.unit.sentence()))


def _notes(averages: Averages, rule: Rule | None, *, single: bool) -> tuple[str, ...]:
    """Say what stands in the ranking, and whether scores of single outputs are of use."""
    once = _rated_once(averages)
    if single and averages.n.min() < ENOUGH:
        enough = int((averages.n >= ENOUGH).sum())
        once += f"; an output has {averages.n.mean():.3g} ratings on average, and "
        once += f"{f'{enough:,} have' if enough else 'none has'} {ENOUGH} or more, as is asked for "
        once += "where single outputs count"
    if rule is None:
        return (once,)
    corrected = "" if rule.correction == "none" else f", {rule.correction}"
    test = f"{rule.test} test, p < {rule.alpha:g}{corrected}"
    return (
        f"rank: places of the cluster (rule {rule.clusters}: {test})",
        "range: places that the system could hold",
        once,
    )


def _rated_once(averages: Averages) -> str:
    """Say how many outputs have a single rating, which nobody can check."""
    once, total = int((averages.n == 1).sum()), plural(len(averages.n), "output")
    if not once:
        return f"each of {total} was rated more than once"
    if once == len(averages.n):
        return f"each of {total} was rated once"
    return f"{once:,} of {total} {'was' if once == 1 else 'were'} rated once"
