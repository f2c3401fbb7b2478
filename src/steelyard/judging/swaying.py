"""What sways a judge beyond people: its errors, regressed on what should not matter."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from steelyard.core.errors import UsageError
from steelyard.data.verdicts import Opinion, Verdicts
from steelyard.judging.families import kin
from steelyard.judging.systemlevel import SystemLevel, system_level
from steelyard.stats.arrays import Floats
from steelyard.stats.judged.errorregression import Effect, regress_errors

EXAGGERATION, OWN_FAMILY = "exaggeration", "own family"


def bias_columns(
    verdicts: Verdicts,
    people: Opinion,
    judge: Opinion,
    own: Mapping[str, str],
    systems: SystemLevel | None = None,
) -> tuple[dict[str, Floats], list[str]]:
    """Give what a judge's errors are regressed on: covariates, exaggeration, its own family.

    ``systems`` are how it orders them, if that is known already.
    """
    found: dict[str, Floats] = dict(verdicts.covariates)
    notes: list[str] = []
    if verdicts.left is None:
        return found, notes
    level = (systems or system_level(verdicts, people, judge)).people
    strength = np.nan_to_num(
        level, nan=float(np.nanmean(level)) if not np.isnan(level).all() else 0
    )
    family = kin(judge.name, verdicts.systems, own)
    mine = np.array([system in family for system in verdicts.systems], dtype=np.float64)
    if verdicts.right is not None:
        found[EXAGGERATION] = strength[verdicts.left] - strength[verdicts.right]
        if family and len(family) < len(verdicts.systems):
            found[OWN_FAMILY] = mine[verdicts.left] - mine[verdicts.right]
    elif family and len(family) < len(verdicts.systems):
        found[EXAGGERATION] = strength[verdicts.left]
        found[OWN_FAMILY] = mine[verdicts.left]
    if OWN_FAMILY in found and judge.name not in own:
        notes.append(f"its family is guessed from names: {', '.join(family)}")
    return found, notes


def effects_of(
    verdicts: Verdicts,
    people: Opinion,
    judge: Opinion,
    own: Mapping[str, str],
    systems: SystemLevel,
    level: float,
) -> tuple[tuple[Effect, ...], list[str]]:
    """Regress errors on what should not matter; what can't be told apart is left out and said."""
    columns, notes = bias_columns(verdicts, people, judge, own, systems)
    errors = judge.value - people.value
    known = ~np.isnan(errors)
    kept = {name: x for name, x in columns.items() if _varies(x[known])}
    if not kept:
        return (), notes
    unit = verdicts.unit
    try:
        return regress_errors(errors, kept, unit=unit, level=level), notes
    except UsageError as error:
        return (), [*notes, f"no regression of its errors: {error}"]


def _varies(values: Floats) -> bool:
    own = values[~np.isnan(values)]
    return bool(len(own)) and float(np.ptp(own)) > 0
