"""The same two samples of scores, paired in other ways: what a mean and a median cannot see.

Two systems' scores may meet segment by segment as they do, or by chance, or the best with the best,
or the best with the worst. Neither system's scores change, hence no mean, no median and no test
that looks at each system alone. Who wins more segments does, and so do paired tests (appendix A.1
of Peyrard et al. 2021, where permuting the kinds of segments of one system does the same).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import bdtr

from steelyard.core.errors import ShapeError, UsageError
from steelyard.stats.arrays import Floats
from steelyard.stats.instances.scorespread import pairing_strength
from steelyard.stats.paired.effects import superiority
from steelyard.stats.paired.pairedtests import sign_test, t_test

AS_IT_IS, INDEPENDENT, SORTED, REVERSED = "as it is", "independent", "sorted", "reversed"
ARRANGEMENTS = (AS_IT_IS, INDEPENDENT, SORTED, REVERSED)
_CELLS = 2_000_000  # scores that are shuffled in all
_SHUFFLES = (20, 200)  # fewest and most


@dataclass(frozen=True, slots=True)
class Arrangement:
    """What one way of pairing gives: differences are the first less the second.

    ``superiority`` is the share of segments that the first wins, ties as half; p-values are of the
    paired t-test and the sign test, each segment by itself.
    """

    name: str
    correlation: float
    difference_of_means: float
    difference_of_medians: float
    median_of_differences: float
    superiority: float
    p_t: float
    p_sign: float


def arrange(a: Floats, b: Floats, name: str, rng: np.random.Generator) -> Floats:
    """Give two samples in one of :data:`ARRANGEMENTS`, 2 x segments; by chance if independent.

    Examples
    --------
    >>> arrange(np.array([2.0, 1.0]), np.array([3.0, 4.0]), "reversed", np.random.default_rng(0))
    array([[1., 2.],
           [4., 3.]])
    """
    if a.shape != b.shape or a.ndim != 1 or not a.size:
        raise ShapeError(f"two samples of one length are paired, got {a.shape} and {b.shape}")
    if name == AS_IT_IS:
        return np.stack([a, b])
    if name == INDEPENDENT:
        return np.stack([a, rng.permutation(b)])
    if name not in ARRANGEMENTS:
        raise UsageError(f"no way '{name}' to pair scores; known: {', '.join(ARRANGEMENTS)}")
    ascending = np.sort(b)
    return np.stack([np.sort(a), ascending if name == SORTED else ascending[::-1]])


def rearranged(a: Floats, b: Floats, rng: np.random.Generator) -> tuple[Arrangement, ...]:
    """Pair two samples in every way, and give what each would say.

    The independent way is a mean over all n x n pairs for ``superiority``, and for the rest the
    median of up to 200 random ones.

    Examples
    --------
    >>> a, b = np.array([2.0, 4.0, 6.0]), np.array([1.0, 3.0, 8.0])
    >>> found = rearranged(a, b, np.random.default_rng(0))
    >>> [(one.name, round(one.superiority, 2), one.difference_of_means) for one in found]
    [('as it is', 0.67, 0.0), ('independent', 0.56, 0.0), ('sorted', 0.67, 0.0), ...]
    """
    found = {
        name: _measured(name, arrange(a, b, name, rng))
        for name in ARRANGEMENTS
        if name != INDEPENDENT
    }
    found[INDEPENDENT] = _independent(found[AS_IT_IS], a, b, rng)
    return tuple(found[name] for name in ARRANGEMENTS)


def _independent(known: Arrangement, a: Floats, b: Floats, rng: np.random.Generator) -> Arrangement:
    """Pair two samples at random, again and again; means and medians are ``known``."""
    times = int(np.clip(_CELLS // len(a), *_SHUFFLES))
    gaps = np.stack([np.subtract(*arrange(a, b, INDEPENDENT, rng)) for _ in range(times)])
    wins, losses = (gaps > 0).sum(axis=1), (gaps < 0).sum(axis=1)
    none = (wins + losses) == 0
    p_sign = 2 * bdtr(np.minimum(wins, losses), np.maximum(wins + losses, 1), 0.5)
    # The mean is always the same, so the middle p-value is that of the middle deviation.
    middle = int(np.argsort(gaps.std(axis=1), kind="stable")[times // 2])
    typical = np.stack([gaps[middle], np.zeros(len(a))])
    ordered = np.sort(b)
    below = np.searchsorted(ordered, a, "left") + np.searchsorted(ordered, a, "right")
    return replace(
        known,
        name=INDEPENDENT,
        correlation=0.0 if np.ptp(a) > 0 and np.ptp(b) > 0 else np.nan,
        median_of_differences=float(np.median(np.median(gaps, axis=1))),
        superiority=float(below.mean() / (2 * len(b))),
        p_t=float(t_test(typical)[0, 1]),
        p_sign=float(np.median(np.where(none, 1.0, np.minimum(p_sign, 1.0)))),
    )


def _measured(name: str, both: Floats) -> Arrangement:
    a, b = both
    return Arrangement(
        name=name,
        correlation=float(pairing_strength(both).correlation[0]),
        difference_of_means=float(a.mean() - b.mean()),
        difference_of_medians=float(np.median(a) - np.median(b)),
        median_of_differences=float(np.median(a - b)),
        superiority=float(superiority(both)[0, 1]),
        p_t=float(t_test(both)[0, 1]),
        p_sign=float(sign_test(both)[0, 1]),
    )


def win_range(a: Floats, b: Floats) -> tuple[int, int]:
    """Give the fewest and the most segments that the first could win, however the two are paired.

    Most: each score of the second meets the least score of the first that is still above it.
    Fewest: as many as possible meet one of the second that is no lower.

    Examples
    --------
    >>> win_range(np.array([2.0, 4.0, 6.0]), np.array([1.0, 3.0, 8.0]))
    (1, 2)
    """
    if a.shape != b.shape or a.ndim != 1:
        raise ShapeError(f"two samples of one length are paired, got {a.shape} and {b.shape}")
    most = _matched(np.sort(b), np.sort(a), ties=False)
    return len(a) - _matched(np.sort(a), np.sort(b), ties=True), most


def _matched(low: Floats, high: Floats, *, ties: bool) -> int:
    """Count the pairs that can be made of a lower (or equal) value and a higher one."""
    count = 0
    for value in high.tolist():
        if low[count] < value or (ties and low[count] == value):
            count += 1
    return count
