"""The alternative annotator test (Calderon, Reichart and Dror, 2025): who may stand in for people.

For every rater j, on rows that others judged, too: is the judge at least as near to the others as j
is? With W the indicator that the judge is, and W' that the rater is, a one-sided t test asks
whether the mean of W' - W is below epsilon, the price of a person. The winning rate is the share of
raters for which it is (Benjamini and Yekutieli over raters), the advantage the mean of W.

A constant judge can pass: compare with the best one (:func:`best_constant`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steelyard.stats.arrays import Floats
from steelyard.stats.distributions import stdtr
from steelyard.stats.estimate import Codes, Estimate, from_influence, undefined
from steelyard.stats.paired.corrections import adjust


@dataclass(frozen=True, slots=True, eq=False)
class AltTest:
    """The winning rate, the advantage probability, and p by rater with enough rows."""

    winning_rate: float
    advantage: Estimate
    p: Floats
    raters: tuple[int, ...]
    epsilon: float
    scoring: str
    why: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return what ``--json`` prints."""
        advantage = self.advantage.to_dict()
        return {
            "winning_rate": self.winning_rate,
            "advantage": advantage["value"],
            "advantage_ci": advantage["ci"],
            "p": self.p.tolist(),
            "n_raters": len(self.raters),
            "epsilon": self.epsilon,
            "scoring": self.scoring,
            "why": self.why or None,
        }


def alternative_annotator(
    raters: Floats,
    judge: Floats,
    *,
    scoring: str = "accuracy",
    epsilon: float = 0.2,
    q: float = 0.05,
    least_rows: int = 30,
    unit: Codes | None = None,
    level: float = 0.95,
) -> AltTest:
    """Run the test on raters x rows of numbers, or of codes as numbers, NaN where missing.

    ``accuracy`` scores how many others said the same, ``neg_rmse`` how near their numbers are. The
    paper takes an epsilon of 0.2 for experts, 0.15 for skilled raters, 0.1 for a crowd. Raters with
    fewer than ``least_rows`` rows are excluded; ``q`` is the level over all raters. ``unit`` is for
    the interval of the advantage alone: the test takes rows for independent, as published.
    """
    keep = ((~np.isnan(raters)).sum(axis=0) >= 2) & ~np.isnan(judge)
    raters, judge = raters[:, keep], judge[keep]
    nearness = _equal_labels(raters, judge) if scoring == "accuracy" else _near_numbers(raters)
    p: list[float] = []
    means: list[float] = []
    included: list[int] = []
    influence = np.zeros(len(judge))
    for index in range(len(raters)):
        rows = np.flatnonzero(~np.isnan(raters[index]))
        if len(rows) < least_rows:
            continue
        labels = raters[index, rows]
        of_rater, of_judge = nearness(rows, labels, labels), nearness(rows, judge[rows], labels)
        wins = (of_judge >= of_rater).astype(np.float64)
        p.append(_p_below((of_rater >= of_judge) - wins, epsilon))
        means.append(float(wins.mean()))
        included.append(index)
        influence[rows] += (wins - wins.mean()) / len(rows)
    if not p:
        why = f"no rater has {least_rows} rows that others judged, too"
        return AltTest(float("nan"), undefined(why), np.empty(0), (), epsilon, scoring, why)
    # Benjamini and Yekutieli: whatever the raters have in common.
    harmonic = float((1 / np.arange(1, len(p) + 1)).sum())
    won = adjust(np.array(p) * harmonic, "benjamini-hochberg") <= q
    return AltTest(
        winning_rate=float(won.mean()),
        advantage=from_influence(
            float(np.mean(means)),
            influence * len(judge) / len(p),
            None if unit is None else unit[keep],
            level,
            (0.0, 1.0),
        ),
        p=np.array(p),
        raters=tuple(included),
        epsilon=epsilon,
        scoring=scoring,
    )


#: How near labels of some rows are to the raters without the one whose labels come last.
_Nearness = Callable[[NDArray[np.intp], Floats, Floats], Floats]


def _equal_labels(raters: Floats, judge: Floats) -> _Nearness:
    """Count the others who said the same."""
    labels, codes = np.unique(np.concatenate([raters.ravel(), judge]), return_inverse=True)
    counts = np.zeros((len(judge), len(labels)))
    present = ~np.isnan(raters)
    rows = np.broadcast_to(np.arange(len(judge)), raters.shape)[present]
    np.add.at(counts, (rows, codes[: raters.size].reshape(raters.shape)[present]), 1)

    def nearness(rows: NDArray[np.intp], verdicts: Floats, rater: Floats) -> Floats:
        count: Floats = counts[rows, np.searchsorted(labels, verdicts)] - (verdicts == rater)
        return count

    return nearness


def _near_numbers(raters: Floats) -> _Nearness:
    """Return minus the sum of squared differences to the others, which orders as the rmse."""
    present = ~np.isnan(raters)
    n_others = present.sum(axis=0) - 1
    filled = np.where(present, raters, 0.0)
    sums, squares = filled.sum(axis=0), (filled * filled).sum(axis=0)

    def nearness(rows: NDArray[np.intp], verdicts: Floats, rater: Floats) -> Floats:
        total, square = sums[rows] - rater, squares[rows] - rater * rater
        distance: Floats = n_others[rows] * verdicts * verdicts - 2 * verdicts * total + square
        return -distance

    return nearness


def _p_below(difference: Floats, epsilon: float) -> float:
    """One-sided t test of a mean below epsilon; without spread, whether it is."""
    n, mean = len(difference), float(difference.mean())
    spread = float(difference.std(ddof=1))
    if spread == 0:
        return 0.0 if mean < epsilon else 1.0
    return float(stdtr(n - 1, (mean - epsilon) / (spread / np.sqrt(n))))


def best_constant(raters: Floats, **options: Any) -> tuple[float, AltTest]:
    """Return the verdict with the best advantage if it were always given; of several the lowest."""
    constants = np.unique(raters[~np.isnan(raters)])
    n_rows = raters.shape[1]
    tests = [alternative_annotator(raters, np.full(n_rows, x), **options) for x in constants]
    best = int(np.argmax(np.nan_to_num([t.advantage.value for t in tests], nan=-np.inf)))
    return float(constants[best]), tests[best]
