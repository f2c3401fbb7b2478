r"""What sways a judge: its errors (judge minus human) regressed on what should not matter.

People may prefer longer answers, too; only what a judge adds to that is bias. With
:math:`e_i = f_i - y_i` on labelled rows and covariates x, :math:`e = a + x' b`; errors of the
coefficients are HC3: how far each unit (a row, or all rows of a prompt) would pull a fit without
it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr, stdtrit

from steelyard.core.errors import UsageError
from steelyard.stats.arrays import Floats, group_sums
from steelyard.stats.estimate import Estimate
from steelyard.stats.paired.corrections import adjust

CONSTANT = "constant"
KINDS = ("HC3", "HC0")


@dataclass(frozen=True, slots=True)
class Effect:
    """One coefficient: its value, interval and t test, before and after Holm's correction."""

    name: str
    estimate: Estimate
    p: float
    p_adjusted: float

    def to_dict(self) -> dict[str, Any]:
        """Give what ``--json`` prints."""
        return {
            "name": self.name,
            **self.estimate.to_dict(),
            "p": self.p,
            "p_adjusted": self.p_adjusted,
        }


def regress_errors(
    errors: Floats,
    covariates: Mapping[str, Floats],
    *,
    unit: NDArray[np.integer] | None = None,
    level: float = 0.95,
    kind: str = "HC3",
) -> tuple[Effect, ...]:
    """Regress errors on covariates; the first effect is the constant.

    Parameters
    ----------
    errors
        Judge minus human, NaN where either is missing.
    covariates
        Numbers by name; rows where one is NaN take no part.
    unit
        What rows share; None: rows are independent.
    level
        Of the intervals (t, with as many degrees of freedom as rows, or units, allow).
    kind
        ``HC3``, or ``HC0`` without leverage.

    Examples
    --------
    >>> x = np.arange(8.0)
    >>> e = 0.5 * x + np.array([0.1, -0.1, 0.1, -0.1, -0.1, 0.1, -0.1, 0.1])
    >>> constant, length = regress_errors(e, {"length": x})
    >>> length.name, round(length.estimate.value, 6), length.estimate.low > 0.4
    ('length', 0.5, True)
    """
    names = [CONSTANT, *covariates]
    design = np.stack([np.ones(len(errors)), *covariates.values()], axis=1)
    keep = ~(np.isnan(errors) | np.isnan(design).any(axis=1))
    y, x = errors[keep], design[keep]
    n, width = x.shape
    if n <= width:
        raise UsageError(
            f"{n} labelled rows with all covariates, expected more than {width} to regress on "
            f"{', '.join(covariates) or 'a constant'}"
        )
    _check_columns(x, names)
    q, r = np.linalg.qr(x)
    inverse = np.linalg.inv(r)
    coefficients = inverse @ (q.T @ y)
    residuals = y - x @ coefficients
    if unit is None:
        codes, groups = np.arange(n), n
    else:
        _, codes = np.unique(unit[keep], return_inverse=True)
        groups = int(codes.max()) + 1
        if groups <= width:
            raise UsageError(f"{groups} units, expected more than the {width} coefficients")
    pulls = _by_group(codes, q * residuals[:, None], groups)
    alone = np.zeros((0, width))
    if kind == "HC3":
        pulls, alone = _without_own(codes, q, groups, pulls)
    pulls = pulls @ inverse.T
    # What a single unit decides has no finite error.
    decided = np.abs(alone @ inverse.T) > 1e-8 * np.abs(inverse).max(axis=1)
    se = np.where(decided.any(axis=0), np.inf, np.sqrt(np.diagonal(pulls.T @ pulls)))
    freedom = groups - (width if unit is None else 1)
    return _effects(names, coefficients, se, n, freedom, level)


def _by_group(codes: NDArray[np.integer], rows: Floats, groups: int) -> Floats:
    return np.stack([group_sums(codes, column, groups) for column in rows.T], axis=1)


def _without_own(
    codes: NDArray[np.integer], q: Floats, groups: int, pulls: Floats
) -> tuple[Floats, Floats]:
    """Give the pulls that units have on a fit without them: (I - Q'Q of the unit)^-1 times theirs.

    Of a single row this is its residual divided by one minus its leverage. A direction that a unit
    alone decides has nothing to be fitted without it: such directions are given beside.
    """
    width = q.shape[1]
    products = (q[:, :, None] * q[:, None, :]).reshape(len(q), width * width)
    rest = np.eye(width) - _by_group(codes, products, groups).reshape(groups, width, width)
    values, vectors = np.linalg.eigh(rest)
    lost = values < 1e-10
    scale = np.divide(1.0, values, out=np.zeros_like(values), where=~lost)
    turned = (vectors.transpose(0, 2, 1) @ pulls[:, :, None])[:, :, 0] * scale
    freed: Floats = (vectors @ turned[:, :, None])[:, :, 0]
    return freed, vectors.transpose(0, 2, 1)[lost]


def _check_columns(x: Floats, names: list[str]) -> None:
    """Refuse a column that is constant, or follows from those before it."""
    for place in range(1, x.shape[1]):
        if np.ptp(x[:, place]) == 0:
            raise UsageError(f"covariate '{names[place]}' is the same in all labelled rows")
    scaled = x / np.linalg.norm(x, axis=0)
    for place in range(1, x.shape[1]):
        before = scaled[:, :place]
        fitted = before @ np.linalg.lstsq(before, scaled[:, place], rcond=None)[0]
        if np.linalg.norm(scaled[:, place] - fitted) < 1e-7:
            others = ", ".join(f"'{name}'" for name in names[1:place]) or "the constant"
            raise UsageError(f"covariate '{names[place]}' follows from {others}: leave one out")


def _effects(
    names: list[str], values: Floats, errors: Floats, n: int, freedom: int, level: float
) -> tuple[Effect, ...]:
    reach = float(stdtrit(freedom, 0.5 + level / 2))
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.where(values == 0, 0.0, np.abs(values) / errors)
    p = 2 * np.asarray(stdtr(freedom, -t), dtype=np.float64)
    adjusted = np.concatenate([p[:1], adjust(p[1:])])  # the constant is no covariate
    return tuple(
        Effect(
            name,
            Estimate(float(b), float(b - reach * se), float(b + reach * se), float(se), n=n)
            if np.isfinite(se)
            else Estimate(float(b), n=n, why="no interval: a single unit decides it"),
            float(own),
            float(both),
        )
        for name, b, se, own, both in zip(names, values, errors, p, adjusted, strict=True)
    )
