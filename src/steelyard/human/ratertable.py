"""The table of raters: how much each rated, who disagrees, who fails which check."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from steelyard.core.table import Cell, Column, Table
from steelyard.data.judgements import Floats, Ratings
from steelyard.human import da, quality, raters

_COLUMNS = (
    Column("rater"),
    Column("n_ratings"),
    Column("mean", digits=1),
    Column("sd", digits=1),
    Column("low", digits=1),
    Column("high", digits=1),
    Column("range_use", digits=2),
    Column("n_shared"),
    Column("bias", digits=2),
    Column("r", digits=2),
)
_CHECKS = (
    Column("bad_ref_n"),
    Column("bad_ref_gap", digits=1),
    Column("bad_ref_p", digits=3),
    Column("repeat_n"),
    Column("repeat_gap", digits=1),
    Column("repeat_p", digits=3),
    Column("seconds", digits=1),
    Column("verdict"),
    Column("reason"),
)
NOTES = (
    "n_shared: outputs that others rated too; bias: mean difference to them; r: correlation",
    "range_use: width of the middle 90 % of the ratings, to that of all raters together",
)


def rater_table(
    ratings: Ratings,
    scale: da.RaterScale,
    rows: NDArray[np.bool_],
    comparable: Floats,
    checks: quality.QualityControl | None = None,
) -> Table:
    """Make a row per rater, those to look at first on top: failed, then least in agreement.

    ``comparable`` is the score that a rater's correlation with others is computed from.
    """
    size = len(ratings.raters)
    others = raters.with_others(raters.opinions(ratings, ratings.value, rows), size)
    alike = raters.with_others(raters.opinions(ratings, comparable, rows), size)
    used = raters.range_use(ratings, rows)
    found: list[tuple[Cell, ...]] = []
    for code, name in enumerate(ratings.raters):
        row: list[Cell] = [name, int(scale.n[code])]
        row += [float(x[code]) for x in (scale.mean, scale.sd, scale.low, scale.high, used)]
        row += [int(others.n[code]), float(others.bias[code]), float(alike.r[code])]
        if checks is not None:
            for control in (checks.bad_reference, checks.repeat):
                row += [int(control.n[code]), float(control.gap[code]), float(control.p[code])]
            row += [float(checks.seconds[code]), checks.verdict(code)]
            row.append("; ".join(checks.reasons[code]) or None)
        found.append(tuple(row))
    failed = set() if checks is None else set(checks.failed)
    order = sorted(
        range(size),
        key=lambda i: (i not in failed, np.nan_to_num(alike.r[i], nan=2.0), ratings.raters[i]),
    )
    columns = _COLUMNS if checks is None else (*_COLUMNS, *_CHECKS)
    return Table("Raters", columns, tuple(found[i] for i in order), NOTES)
