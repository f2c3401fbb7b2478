"""What sways a judge beyond people: its errors, regressed on what should not matter."""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatchcase

import numpy as np

from steelyard.core.errors import UsageError
from steelyard.data.verdicts import Opinion, Verdicts
from steelyard.judging.systemlevel import SystemLevel, system_level
from steelyard.stats.arrays import Floats
from steelyard.stats.judged.bias import Effect, regress_errors

EXAGGERATION, OWN_FAMILY = "exaggeration", "own family"


def bias_columns(
    verdicts: Verdicts,
    people: Opinion,
    judge: Opinion,
    own: Mapping[str, str],
    systems: SystemLevel | None = None,
) -> dict[str, Floats]:
    """Give what a judge's errors are regressed on: covariates, exaggeration, its own family.

    ``own`` are patterns of the systems of a judge's family; ``systems`` are how it orders them, if
    that is known already.
    """
    columns: dict[str, Floats] = dict(verdicts.covariates)
    if verdicts.left is None:
        return columns
    level = (systems or system_level(verdicts, people, judge)).people
    strength = np.nan_to_num(
        level, nan=float(np.nanmean(level)) if not np.isnan(level).all() else 0
    )
    patterns = own[judge.name].split("|") if judge.name in own else []
    family = np.array([any(fnmatchcase(x, p) for p in patterns) for x in verdicts.systems])
    favoured = bool(family.any() and not family.all())

    def of_rows(by_system: Floats) -> Floats:
        right = 0.0 if verdicts.right is None else by_system[verdicts.right]
        return np.asarray(by_system[verdicts.left] - right)

    if verdicts.right is not None or favoured:
        columns[EXAGGERATION] = of_rows(strength)
    if favoured:
        columns[OWN_FAMILY] = of_rows(family.astype(np.float64))
    return columns


def effects_of(
    verdicts: Verdicts,
    people: Opinion,
    judge: Opinion,
    own: Mapping[str, str],
    systems: SystemLevel,
    level: float,
) -> tuple[tuple[Effect, ...], list[str]]:
    """Regress errors on what should not matter; what can't be told apart is left out and said."""
    columns = bias_columns(verdicts, people, judge, own, systems)
    errors = judge.value - people.value
    known = ~np.isnan(errors)
    kept = {name: x for name, x in columns.items() if _varies(x[known])}
    if not kept:
        return (), []
    unit = verdicts.unit
    try:
        return regress_errors(errors, kept, unit=unit, level=level), []
    except UsageError as error:
        return (), [f"no regression of its errors: {error}"]


def _varies(values: Floats) -> bool:
    own = values[~np.isnan(values)]
    return bool(len(own)) and float(np.ptp(own)) > 0
