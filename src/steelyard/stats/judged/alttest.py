"""The alternative annotator test (Calderon, Reichart and Dror, 2025): who may stand in for people.

For every rater j, on rows that others judged, too: is the judge at least as near to the others as j
is? With W the indicator that the judge is, and W' that the rater is, a one-sided t test asks
whether the mean of W' - W is below epsilon, the price of a person. The winning rate is the share of
raters for which it is (Benjamini and Yekutieli over raters), the advantage the mean of W.

A constant judge can pass: always look at the best one beside it (:func:`best_constant`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr

from steelyard.core.errors import ShapeError
from steelyard.core.options import check_choice
from steelyard.stats.arrays import Floats
from steelyard.stats.estimate import Estimate, undefined
from steelyard.stats.judged.proportions import with_noise

SCORINGS = ("accuracy", "neg_rmse")
PASSES = 0.5  # winning rate from which a judge may stand in
Codes = NDArray[np.integer]


@dataclass(frozen=True, slots=True, eq=False)
class AltTest:
    """The winning rate, the advantage probability, and p by rater.

    ``raters`` are the places of those with enough rows. Undefined without any.
    """

    winning_rate: float
    advantage: Estimate
    p: Floats
    raters: tuple[int, ...]
    epsilon: float
    scoring: str
    why: str = ""

    @property
    def passes(self) -> bool:
        """Whether half of the raters, or more, are beaten."""
        return bool(self.winning_rate >= PASSES)

    def to_dict(self) -> dict[str, Any]:
        """Give what ``--json`` prints."""
        own = self.advantage.to_dict()
        return {
            "winning_rate": self.winning_rate,
            "advantage": own["value"],
            "advantage_ci": own["ci"],
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
    """Run the test.

    Parameters
    ----------
    raters
        Raters x rows: numbers, or codes of categories as numbers; NaN where silent.
    judge
        The same of the judge.
    scoring
        ``accuracy``: how many others said the same; ``neg_rmse``: how near to their numbers.
    epsilon
        What a person costs: the paper takes 0.2 for experts, 0.15 for skilled raters, 0.1 for a
        crowd.
    q
        Level over all raters.
    least_rows
        Raters with fewer rows take no part.
    unit, level
        For the interval of the advantage alone; the test takes rows for independent, as published.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> truth = rng.integers(0, 3, 90).astype(float)
    >>> raters = np.where(rng.random((3, 90)) < 0.7, truth, rng.integers(0, 3, (3, 90)))
    >>> found = alternative_annotator(raters, truth)
    >>> found.winning_rate, found.advantage.value > 0.8
    (1.0, True)
    """
    check_choice(SCORINGS, scoring=scoring)
    if raters.ndim != 2 or judge.shape != raters.shape[1:]:
        raise ShapeError(f"{raters.shape} raters x rows but {judge.shape} of the judge")
    keep = ((~np.isnan(raters)).sum(axis=0) >= 2) & ~np.isnan(judge)
    own, f = raters[:, keep], judge[keep]
    known = ~np.isnan(own)
    near = _Equal(own, f) if scoring == "accuracy" else _Near(own)
    p: list[float] = []
    means: list[float] = []
    places: list[int] = []
    influence = np.zeros(own.shape[1])
    for place, said in enumerate(known):
        rows = np.flatnonzero(said)
        if len(rows) < least_rows:
            continue
        rater, llm = near.of(rows, own[place, rows]), near.of(rows, f[rows], own[place, rows])
        wins = (llm >= rater).astype(np.float64)
        p.append(_p((rater >= llm) - wins, epsilon))
        means.append(float(wins.mean()))
        places.append(place)
        influence[rows] += (wins - wins.mean()) / len(rows)
    if not p:
        why = f"no rater has {least_rows} rows that others judged, too"
        nothing = undefined(why)
        return AltTest(float("nan"), nothing, np.empty(0), (), epsilon, scoring, why)
    found = np.array(p)
    own_unit = None if unit is None else unit[keep]
    scaled = influence * own.shape[1] / len(p)
    return AltTest(
        winning_rate=float(_rejected(found, q).mean()),
        advantage=with_noise(float(np.mean(means)), scaled, own_unit, level, least=0.0, most=1.0),
        p=found,
        raters=tuple(places),
        epsilon=epsilon,
        scoring=scoring,
    )


class _Equal:
    """How many of the others said the same."""

    def __init__(self, raters: Floats, judge: Floats) -> None:
        labels, codes = np.unique(np.concatenate([raters.ravel(), judge]), return_inverse=True)
        n_rows = raters.shape[1]
        self._labels = labels
        self._counts = np.zeros((n_rows, len(labels)))
        known = ~np.isnan(raters)
        rows = np.broadcast_to(np.arange(n_rows), raters.shape)[known]
        np.add.at(self._counts, (rows, codes[: raters.size].reshape(raters.shape)[known]), 1)

    def of(self, rows: Codes, said: Floats, rater: Floats | None = None) -> Floats:
        """Count the others who said so; ``rater`` is whom to leave out, by default who said it."""
        codes = np.searchsorted(self._labels, said)
        own = said if rater is None else rater
        found: Floats = self._counts[rows, codes] - (said == own)
        return found


class _Near:
    """How near the others are: minus the sum of squared differences, which orders as the rmse."""

    def __init__(self, raters: Floats) -> None:
        known = ~np.isnan(raters)
        self._n = known.sum(axis=0) - 1
        filled = np.where(known, raters, 0.0)
        self._sum, self._squares = filled.sum(axis=0), (filled * filled).sum(axis=0)

    def of(self, rows: Codes, said: Floats, rater: Floats | None = None) -> Floats:
        own = said if rater is None else rater
        total, squares = self._sum[rows] - own, self._squares[rows] - own * own
        found: Floats = -(self._n[rows] * said * said - 2 * said * total + squares)
        return found


def _p(difference: Floats, epsilon: float) -> float:
    """One-sided t test of a mean below epsilon; without spread, whether it is."""
    n, mean = len(difference), float(difference.mean())
    spread = float(difference.std(ddof=1))
    if spread == 0:
        return 0.0 if mean < epsilon else 1.0
    return float(stdtr(n - 1, (mean - epsilon) / (spread / np.sqrt(n))))


def _rejected(p: Floats, q: float) -> NDArray[np.bool_]:
    """Benjamini and Yekutieli: whatever the raters have in common."""
    m = len(p)
    order = np.argsort(p, kind="stable")
    steps = np.arange(1, m + 1)
    below = np.flatnonzero(p[order] <= steps / m * q / (1 / steps).sum())
    result = np.zeros(m, dtype=bool)
    if len(below):
        result[order[: below[-1] + 1]] = True
    return result


def best_constant(raters: Floats, **options: Any) -> tuple[float, AltTest]:
    """Find the verdict that would do best if a judge always gave it, by its advantage.

    Takes the options of :func:`alternative_annotator`. Of several the lowest is given.

    Examples
    --------
    >>> raters = np.tile([4.0, 4.0, 4.0, 2.0], (3, 10))
    >>> best_constant(raters)[0]
    4.0
    """
    said = np.unique(raters[~np.isnan(raters)])
    if not len(said):
        raise ShapeError("no rater said anything")
    tried = [
        alternative_annotator(raters, np.full(raters.shape[1], one), **options) for one in said
    ]
    rates = [-np.inf if np.isnan(own.advantage.value) else own.advantage.value for own in tried]
    best = int(np.argmax(rates))
    return float(said[best]), tried[best]
