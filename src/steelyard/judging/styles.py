"""Strengths with style controlled, beside plain ones; win rates at equal length."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from steelyard.core.errors import UsageError
from steelyard.core.table import Cell
from steelyard.data.verdicts import Opinion, Verdicts
from steelyard.formats.verdicts.read import LENGTH
from steelyard.stats.arrays import Floats
from steelyard.stats.judged.bias import ControlledWinRate, length_controlled
from steelyard.stats.prediction_powered.strengths import Strengths, styled_strengths

_LEAST = 20  # battles against a baseline that are worth a win rate


@dataclass(frozen=True, slots=True, eq=False)
class Styled:
    """Strengths by people and by a judge, plain and with covariates; None where there are none."""

    systems: tuple[str, ...]
    covariates: tuple[str, ...]
    people: Strengths | None
    people_styled: Strengths | None
    judge: Strengths | None
    judge_styled: Strengths | None

    def _fits(self) -> tuple[Strengths | None, ...]:
        return self.people, self.people_styled, self.judge, self.judge_styled

    def rows(self) -> list[tuple[Cell, ...]]:
        """Give a row per system, by people's strength."""
        own = [
            [None if fit is None else float(fit.log_strength[i]) for fit in self._fits()]
            for i in range(len(self.systems))
        ]
        order = sorted(range(len(own)), key=lambda i: (-(own[i][0] or own[i][2] or 0.0),
                                                       self.systems[i]))  # fmt: skip
        return [(self.systems[i], *own[i]) for i in order]

    def to_dict(self) -> dict[str, Any]:
        """Give what ``--json`` prints."""

        def told(fit: Strengths | None) -> dict[str, Any] | None:
            if fit is None:
                return None
            strengths = dict(zip(self.systems, map(float, fit.log_strength), strict=True))
            errors = dict(zip(self.systems, map(float, fit.errors), strict=True))
            effects = {name: effect.to_dict() for name, effect in fit.effects.items()}
            return {"strengths": strengths, "se": errors, "effects": effects}

        names = ("people", "people_styled", "judge", "judge_styled")
        fits = {name: told(fit) for name, fit in zip(names, self._fits(), strict=True)}
        return {"covariates": list(self.covariates), **fits}


def styled(
    verdicts: Verdicts,
    people: Opinion,
    judge: Opinion,
    covariates: Mapping[str, Floats],
    level: float,
) -> tuple[Styled | None, list[str]]:
    """Fit strengths with and without covariates, on battles that both people and the judge judged.

    None for points, and where nothing is controlled for.
    """
    if verdicts.left is None or verdicts.right is None or not covariates:
        return None, []
    whole = ~(np.isnan(people.value) | np.isnan(judge.value))
    for column in covariates.values():
        whole &= ~np.isnan(column)
    whole &= verdicts.left != verdicts.right
    met = np.unique(np.concatenate([verdicts.left[whole], verdicts.right[whole]]))
    if len(met) < 2:
        return None, ["strengths with style: no battle that people and the judge both judged"]
    place = np.full(len(verdicts.systems), -1)
    place[met] = np.arange(len(met))
    left, right = place[verdicts.left[whole]], place[verdicts.right[whole]]
    unit = None if verdicts.unit is None else verdicts.unit[whole]
    scaled = {name: _scaled(x[whole]) for name, x in covariates.items()}
    notes: list[str] = []

    def fit(points: Floats, own: Mapping[str, Floats] | None) -> Strengths | None:
        try:
            return styled_strengths(left, right, points[whole], len(met), own, unit=unit,
                                    level=level)  # fmt: skip
        except UsageError as error:
            notes.append(f"strengths with style: {error}")
            return None

    found = Styled(
        tuple(verdicts.systems[code] for code in met),
        tuple(scaled),
        fit(people.value, None),
        fit(people.value, scaled),
        fit(judge.value, None),
        fit(judge.value, scaled),
    )
    return found, sorted(set(notes))


def _scaled(x: Floats) -> Floats:
    """Measure a covariate in standard deviations, nought staying where nothing differs."""
    size = float(np.sqrt((x * x).mean()))
    return x / size if size > 0 else x


@dataclass(frozen=True, slots=True)
class Baseline:
    """A system against the one that all others met."""

    system: str
    baseline: str
    found: ControlledWinRate

    def to_dict(self) -> dict[str, Any]:
        """Give what ``--json`` prints."""
        return {
            "system": self.system,
            "baseline": self.baseline,
            "win_rate": self.found.plain.to_dict(),
            "controlled": self.found.controlled.to_dict(),
            "mean_length_difference": self.found.mean_difference,
            "extrapolated": self.found.extrapolated,
        }


def against_baseline(verdicts: Verdicts, judge: Opinion, level: float) -> tuple[Baseline, ...]:
    """Give win rates at equal length by a judge, where all pairs have one system in common."""
    length = verdicts.covariates.get(LENGTH)
    if verdicts.left is None or verdicts.right is None or length is None:
        return ()
    left, right = verdicts.left, verdicts.right
    common = [
        code for code in range(len(verdicts.systems)) if ((left == code) | (right == code)).all()
    ]
    if len(common) != 1:
        return ()
    base = common[0]
    found = []
    for code, name in enumerate(verdicts.systems):
        rows = (left == code) | (right == code)
        if code == base or rows.sum() < _LEAST:
            continue
        ours = left[rows] == code
        points = np.where(ours, judge.value[rows], 1 - judge.value[rows])
        longer = np.where(ours, length[rows], -length[rows])
        found.append(Baseline(name, verdicts.systems[base],
                              length_controlled(points, longer, level=level)))  # fmt: skip
    return tuple(found)
