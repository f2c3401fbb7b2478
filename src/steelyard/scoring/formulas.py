"""The formulas of BLEU, chrF and TER on sums of sacreBLEU's statistics, for many sums at once.

Each takes (..., K) sums and gives (...) scores, equal to those of sacreBLEU. Frozen and comparable,
so that statistics that carry one can be compared and pickled.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from steelyard.stats.arrays import Floats


@dataclass(frozen=True, slots=True)
class Bleu:
    """BLEU of (output length, reference length, matches of each order, n-grams of each order).

    ``smoothing`` is ``exp`` (an order without a match counts 1/2, the next such one 1/4, ...),
    ``floor`` (it counts ``value``), ``add-k`` (``value`` is added from the second order on) or
    ``none``. With ``effective_order`` orders longer than the output are left out, as is usual for
    single sentences; without it they make the score 0. No match at all is a score of 0.

    Examples
    --------
    >>> import numpy as np
    >>> Bleu()(np.array([10, 10, 8, 5, 3, 1, 10, 9, 8, 7])).round(6).item()
    39.281465
    """

    order: int = 4
    smoothing: str = "exp"
    value: float = 0.0
    effective_order: bool = False

    @property
    def width(self) -> int:
        """How many statistics there are."""
        return 2 + 2 * self.order

    def __call__(self, sums: Floats) -> Floats:
        """Score sums of statistics."""
        length, reference = sums[..., 0], sums[..., 1]
        matches, total = sums[..., 2 : 2 + self.order], sums[..., 2 + self.order :]
        none = ~(matches != 0).any(axis=-1)
        if self.smoothing == "add-k":
            extra = np.where(np.arange(self.order) > 0, self.value, 0.0)
            matches, total = matches + extra, total + extra
        live = np.logical_and.accumulate(total > 0, axis=-1)
        empty = live & (matches == 0)
        if self.smoothing == "exp":
            matches = np.where(empty, 0.5 ** np.cumsum(empty, axis=-1), matches)
        elif self.smoothing == "floor":
            matches = np.where(empty, self.value, matches)
        with np.errstate(divide="ignore", invalid="ignore"):
            logs = np.where(live, np.log(matches / total), 0.0).sum(axis=-1)
            penalty = np.where(length < reference, 1 - reference / length, 0.0)
            orders = live.sum(axis=-1) if self.effective_order else self.order
            score = 100 * np.exp(penalty + logs / orders)
        zero = none | (length <= 0) | ~(live[..., 0] if self.effective_order else live.all(axis=-1))
        return np.where(zero, 0.0, score)


@dataclass(frozen=True, slots=True)
class Chrf:
    """chrF of (n-grams of the output, of the reference, matches) for each order.

    ``order`` counts the orders of characters and words together. Orders that output or reference
    lack are left out, or count next to nothing with ``epsilon_smoothing``.

    Examples
    --------
    >>> import numpy as np
    >>> Chrf(order=2)(np.array([10, 12, 9, 9, 11, 6])).round(6).item()
    67.095772
    """

    order: int = 6
    beta: float = 2
    epsilon_smoothing: bool = False

    @property
    def width(self) -> int:
        """How many statistics there are."""
        return 3 * self.order

    def __call__(self, sums: Floats) -> Floats:
        """Score sums of statistics."""
        output, reference, matches = (sums[..., k::3] for k in range(3))
        factor = self.beta**2
        if self.epsilon_smoothing:
            tiny = 1e-16
            precision = _divide(matches, output, tiny)
            recall = _divide(matches, reference, tiny)
            f = _divide((1 + factor) * precision * recall, factor * precision + recall, tiny)
            mean: Floats = 100 * f.mean(axis=-1)
            return mean
        both = (output > 0) & (reference > 0)
        orders = both.sum(axis=-1)
        precision = _divide(np.where(both, _divide(matches, output), 0.0).sum(axis=-1), orders)
        recall = _divide(np.where(both, _divide(matches, reference), 0.0).sum(axis=-1), orders)
        return 100 * _divide((1 + factor) * precision * recall, factor * precision + recall)


@dataclass(frozen=True, slots=True)
class Ter:
    """TER of (edits, length of the reference). Edits of an empty reference make 100.

    Examples
    --------
    >>> import numpy as np
    >>> Ter()(np.array([[3, 12], [1, 0], [0, 0]])).tolist()
    [25.0, 100.0, 0.0]
    """

    @property
    def width(self) -> int:
        """How many statistics there are."""
        return 2

    def __call__(self, sums: Floats) -> Floats:
        """Score sums of statistics."""
        edits, length = sums[..., 0], sums[..., 1]
        return 100 * np.where(length > 0, _divide(edits, length), (edits > 0).astype(np.float64))


@dataclass(frozen=True, slots=True)
class Ratio:
    """The first of two sums by the second; NaN where the second is 0.

    Examples
    --------
    >>> import numpy as np
    >>> Ratio()(np.array([[3, 12], [1, 0]])).tolist()
    [0.25, nan]
    """

    @property
    def width(self) -> int:
        """How many statistics there are."""
        return 2

    def __call__(self, sums: Floats) -> Floats:
        """Score sums of statistics."""
        return _divide(sums[..., 0], sums[..., 1], np.nan)


def _divide(top: Floats, bottom: Floats, otherwise: float = 0.0) -> Floats:
    """Divide; a given number where there is nothing to divide by."""
    result: Floats = np.full_like(top, otherwise, dtype=np.float64)
    np.divide(top, bottom, out=result, where=bottom > 0)
    return result
