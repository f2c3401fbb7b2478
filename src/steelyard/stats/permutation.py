r"""Paired permutation tests of all pairs of systems, without sampling.

Two systems are scored on the same segments; :math:`x_s` is the difference on segment s and
:math:`t = \sum_s x_s` what was observed. If the systems were equally good, each difference could
as well have had the other sign: :math:`T = \sum_s e_s x_s` with independent fair signs is the null.
The one-sided p-value is :math:`P(T \ge t)`; its mid version :math:`P(T > t) + P(T = t) / 2` treats
both systems alike (swapping them gives 1 - p, equal systems give 1/2) and is the default.

T is a sum of independent terms, so its distribution needs no sampling:

* ``lattice``: scores that are multiples of some step (MQM, DA, an LLM judge) have a T on a lattice;
  its probabilities are the inverse Fourier transform of :math:`\prod_s \cos(u x_s)`.
* ``enumeration``: few segments; all sign vectors, by sorting the sums of either half.
* ``characteristic``: anything else; the same product, inverted at few well-chosen frequencies.
* ``edgeworth`` and ``normal``: expansions in the moments of x, for use inside resampling loops.
* ``monte-carlo``: sampled signs, for comparison; ``mtme``: the signs, precision and tie rule of
  the WMT toolkit, for its published numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from steelyard.errors import ShapeError, UsageError, hint
from steelyard.rng import Rng, generator
from steelyard.stats.arrays import Counts, Floats
from steelyard.stats.expansions import expansion
from steelyard.stats.lattice import TAIL, Z, as_lattice, lattice_tails

_CHUNK = 4_000_000  # cells of pair differences held at a time
_NODES = 600  # frequencies at most: reached only with very few segments
_ENUMERATE = 32  # segments with a difference up to which all signs are enumerated
METHODS = ("exact", "analytic", "normal", "monte-carlo", "mtme")


@dataclass(frozen=True, slots=True)
class PairwisePValues:
    """p-values of all pairs: ``p[i, j]`` is small where i is better than j beyond chance.

    ``error`` estimates the numerical error of each (for ``monte-carlo`` it is the largest standard
    error); ``how`` names the algorithm that was used; ``n[i, j]`` counts the units compared.
    Pairs without a common unit have NaN.
    """

    p: Floats
    error: float
    how: str
    n: Counts


def pairwise_pvalues(
    scores: Floats,
    *,
    method: str = "exact",
    tail: str = "mid",
    blocks: Counts | None = None,
    n_resamples: int = 10_000,
    rng: Rng = 0,
) -> PairwisePValues:
    """Test every pair of systems on the segments that both have.

    Parameters
    ----------
    scores
        Systems x segments, higher is better, NaN where missing.
    method
        ``exact`` (lattice, enumeration or characteristic function, whichever fits), ``analytic``
        (Edgeworth expansion), ``normal``, ``monte-carlo`` or ``mtme``.
    tail
        ``mid`` or ``ge`` (at least as extreme, ties in full).
    blocks
        A code per segment: segments with the same code change sign together (documents, windows).
    n_resamples, rng
        For ``monte-carlo``.

    Examples
    --------
    >>> import numpy as np
    >>> result = pairwise_pvalues(np.array([[3.0, 2, 5], [1, 2, 2]]))
    >>> result.p.round(3).tolist(), result.how
    ([[0.5, 0.125], [0.875, 0.5]], 'lattice')
    """
    x = np.asarray(scores, dtype=np.float64)
    if x.ndim != 2:
        raise ShapeError(f"expected systems x segments, got shape {x.shape}")
    if method not in METHODS:
        raise UsageError(f"unknown method '{method}'; {hint(method, METHODS)}")
    if tail not in ("mid", "ge"):
        raise UsageError(f"unknown tail '{tail}'; {hint(tail, ('mid', 'ge'))}")
    if method == "mtme":
        return _mtme(x)
    if method == "monte-carlo":
        return _assemble(x, blocks, _monte_carlo(n_resamples, rng), tail, "monte-carlo")
    if method in ("analytic", "normal"):
        order = 6 if method == "analytic" else 2
        name = "edgeworth" if method == "analytic" else "normal"
        return _assemble(x, blocks, lambda d: _expansion(d, order), tail, name)
    whole = as_lattice(x)
    if whole is not None:
        result = _try_lattice(whole, blocks, tail)
        if result is not None:
            return result
    return _assemble(x, blocks, exact_tails, tail, "characteristic")


def pair_index(n: int) -> tuple[Counts, Counts]:
    """Give i and j of all pairs i < j."""
    i, j = np.triu_indices(n, 1)
    return i.astype(np.int64), j.astype(np.int64)


def block_sums(differences: Floats, blocks: Counts | None) -> Floats:
    """Add up differences within blocks (each a row of the result's last axis)."""
    if blocks is None:
        return differences
    if blocks.shape != differences.shape[-1:]:
        raise ShapeError(f"{differences.shape[-1]} segments but {blocks.shape} block codes")
    if not blocks.size:
        return differences
    codes = np.unique(blocks, return_inverse=True)[1]
    order = np.argsort(codes, kind="stable")
    starts = np.flatnonzero(np.r_[True, np.diff(codes[order]) > 0])
    return np.add.reduceat(differences[..., order], starts, axis=-1)


def _pairs(x: Floats, blocks: Counts | None) -> Iterator[tuple[Counts, Counts, Floats, Counts]]:
    """Yield chunks of pairs: i, j, differences per unit (0 where missing), units in common."""
    rows, columns = pair_index(len(x))
    step = max(1, _CHUNK // max(1, x.shape[1]))
    for start in range(0, len(rows), step):
        i, j = rows[start : start + step], columns[start : start + step]
        gap = x[i] - x[j]
        absent = np.isnan(gap)
        gap[absent] = 0
        n = block_sums((~absent).astype(np.float64), blocks) > 0
        yield i, j, block_sums(gap, blocks), n.sum(axis=-1)


Tails = Callable[[Floats], tuple[Floats, Floats, float]]


def _assemble(
    x: Floats, blocks: Counts | None, tails: Tails, tail: str, how: str
) -> PairwisePValues:
    """Run a method over all pairs; ``tails`` gives P(T > t), P(T = t) and an error bound."""
    size = len(x)
    p = np.full((size, size), 0.5 if tail == "mid" else 1.0)
    n = np.zeros((size, size), dtype=np.int64)
    worst = 0.0
    for i, j, gap, units in _pairs(x, blocks):
        above, at, error = tails(gap)
        share = 0.5 if tail == "mid" else 1.0
        p[i, j] = np.where(units > 0, np.clip(above + share * at, 0, 1), np.nan)
        p[j, i] = np.where(units > 0, np.clip(1 - above - (1 - share) * at, 0, 1), np.nan)
        n[i, j] = n[j, i] = units
        worst = max(worst, error)
    return PairwisePValues(p, worst, how, n)


def _try_lattice(x: Floats, blocks: Counts | None, tail: str) -> PairwisePValues | None:
    """Transform the lattice, unless it is so fine that there is no point in it."""
    how = {"lattice"}

    def tails(gap: Floats) -> tuple[Floats, Floats, float]:
        found = lattice_tails(gap)
        if found is None:
            how.add("characteristic")
            return exact_tails(gap)
        return found

    result = _assemble(x, blocks, tails, tail, "lattice")
    return result if how == {"lattice"} else None


def exact_tails(gap: Floats, reach: Floats | None = None) -> tuple[Floats, Floats, float]:
    """Tails of any differences: enumeration where few are not zero, else the transform.

    Gives P(T > t), P(T = t) and an error bound, for a row of differences each; the transform can't
    tell the two apart and gives the mid-p for the first. ``reach`` is t where it is not their sum.
    """
    t = gap.sum(axis=-1) if reach is None else reach
    active = np.count_nonzero(gap, axis=-1)
    above, at = np.empty(len(gap)), np.zeros(len(gap))
    error = 0.0
    few = active <= _ENUMERATE
    for row in np.flatnonzero(few):
        above[row], at[row] = enumerate_tails(gap[row][gap[row] != 0], float(t[row]))
    slow = ~few & _irregular(gap, active)
    for rows, full in ((~few & ~slow, False), (slow, True)):
        if rows.any():
            above[rows], worst = _characteristic(gap[rows], t[rows], full=full)
            error = max(error, worst)
    return above, at, error


def _irregular(gap: Floats, active: Counts) -> NDArray[np.bool_]:
    """Tell where the product of cosines may rise again: few differences, or repeated ones."""
    size = np.sort(np.abs(gap), axis=-1)
    distinct = ((np.diff(size, axis=-1) > 1e-12 * size[:, -1:]).sum(axis=-1)) + 1
    irregular: NDArray[np.bool_] = (active < 64) | (distinct < active // 2)
    return irregular


def enumerate_tails(x: Floats, reach: float | None = None) -> tuple[float, float]:
    """P(T > t) and P(T = t) over all sign vectors, by sorting the signed sums of either half.

    ``reach`` is t where it is not the sum of x. Sums that differ by rounding count as equal.

    Examples
    --------
    >>> import numpy as np
    >>> enumerate_tails(np.array([1.0, 1.0]))
    (0.0, 0.25)
    """

    def sums(half: Floats) -> Floats:
        found = np.zeros(1)
        for step in half:
            found = np.concatenate([found - step, found + step])
        return np.sort(found)

    middle = len(x) // 2
    left, right = sums(x[:middle]), sums(x[middle:])
    slack = 1e-12 * np.abs(x).sum()
    least = (x.sum() if reach is None else reach) - left
    within = len(right) - np.searchsorted(right, least - slack, side="left")
    beyond = len(right) - np.searchsorted(right, least + slack, side="right")
    total = len(left) * len(right)
    return float(beyond.sum() / total), float((within.sum() - beyond.sum()) / total)


def _characteristic(
    gap: Floats, t: Floats | None = None, *, full: bool = True
) -> tuple[Floats, float]:
    """Mid-p by inverting the characteristic function at half-integer frequencies.

    With step h = 2 pi / (abs(t) + Z sd), the sum over odd nodes is the expectation of a square
    wave, so the only errors are what T does beyond its period (bounded by Hoeffding) and the nodes
    left out, which are added until the product of cosines has died down. Where it may rise again
    (``full``) all nodes are added; ten times the largest product in their second half stands for
    what is missing.
    """
    t = gap.sum(axis=-1) if t is None else t
    deviation = np.sqrt((gap * gap).sum(axis=-1))
    result = np.where(t > 0, 0.0, 1.0)
    live = np.abs(t) < Z * deviation
    if not live.any():
        return result, TAIL
    x, t, deviation = gap[live], t[live], deviation[live]
    half = np.pi / (np.abs(t) + Z * deviation)
    cosine = np.cos(x * half[:, None])
    twice = 4 * cosine * cosine - 2  # cos((k+2)y) = 2 cos(2y) cos(ky) - cos((k-2)y)
    before = cosine.copy()
    total = np.zeros(len(x))
    calm = 0
    left = 0.0
    for k in range(_NODES):
        value = np.multiply.reduce(cosine, axis=-1)
        total += value * np.sin((2 * k + 1) * half * t) / (2 * k + 1)
        now = float(np.abs(value).max())
        left = now if k <= _NODES // 2 else max(left, now)
        calm = calm + 1 if now < 1e-12 else 0
        if calm == 5 and not full:
            break
        cosine, before = twice * cosine - before, cosine
    result[live] = 0.5 - 2 / np.pi * total
    return result, TAIL + min(0.5, left * (10 if full else 1))


def _expansion(gap: Floats, order: int) -> tuple[Floats, Floats, float]:
    """Tails from moments; the error is estimated by the first term left out, or the last kept."""
    square = gap * gap
    fourth = (square * square).sum(axis=-1)
    sixth = (square * square * square).sum(axis=-1) if order > 2 else None
    t, second = gap.sum(axis=-1), square.sum(axis=-1)
    p, last = expansion(t, second, fourth, sixth)
    if order == 2:
        p = expansion(t, second)[0]
    still = second == 0  # equal systems: all of the null stands at 0
    return np.where(still, 0.0, p), still.astype(np.float64), float(last.max(initial=0))


def random_signs(n_resamples: int, n: int, rng: np.random.Generator) -> Floats:
    """Draw n_resamples x n fair signs, one random bit each (the same on every platform)."""
    width = (n + 7) // 8
    bits = np.frombuffer(rng.bytes(n_resamples * width), np.uint8).reshape(n_resamples, width)
    return np.unpackbits(bits, axis=1, count=n).astype(np.float64) * 2 - 1


def _monte_carlo(n_resamples: int, rng: Rng) -> Tails:
    seed = generator(rng).integers(2**63)

    def tails(gap: Floats) -> tuple[Floats, Floats, float]:
        stream = np.random.default_rng(seed)  # the same signs for every chunk of pairs
        t = gap.sum(axis=-1)
        slack = 1e-9 * np.abs(gap).sum(axis=-1)
        above, at = np.zeros(len(gap)), np.zeros(len(gap))
        # Bytes are drawn in words of four: only whole words leave the stream where it would be.
        step = max(4, min(n_resamples, _CHUNK // max(1, gap.shape[1])) // 4 * 4)
        for start in range(0, n_resamples, step):
            count = min(step, n_resamples - start)
            null = gap @ random_signs(count, gap.shape[1], stream).T
            over = (null > (t + slack)[:, None]).sum(axis=-1)
            above += over
            at += (null >= (t - slack)[:, None]).sum(axis=-1) - over
        return above / n_resamples, at / n_resamples, 0.5 / math.sqrt(n_resamples)

    return tails


def mtme_signs(n_resamples: int, n: int, seed: int = 4) -> NDArray[np.float32]:
    """Draw the signs of the WMT toolkit: float32 uniforms, rounded."""
    uniform = np.random.default_rng(seed).random(size=(n_resamples, n), dtype=np.float32)
    signs: NDArray[np.float32] = np.rint(uniform) * np.float32(2) - np.float32(1)
    return signs


def _mtme(scores: Floats, n_resamples: int = 1000) -> PairwisePValues:
    """The WMT toolkit's p-values: its 1,000 signs, float32, ``>=``, on segments that all have."""
    complete = ~np.isnan(scores).any(axis=0)
    # Selecting columns changes their order in memory, and float32 sums depend on that.
    x = (scores if complete.all() else scores[:, complete]).astype(np.float32)
    null = mtme_signs(n_resamples, x.shape[1]) @ x.T
    totals = x.sum(axis=1)
    size = len(x)
    p = np.full((size, size), 1.0 if x.shape[1] else np.nan)
    for i, j in zip(*pair_index(size if x.shape[1] else 0), strict=True):
        p[i, j] = np.count_nonzero(null[:, i] - null[:, j] >= totals[i] - totals[j]) / n_resamples
        p[j, i] = 1 - p[i, j]
    n = np.full((size, size), x.shape[1], dtype=np.int64)
    return PairwisePValues(p, 0.5 / math.sqrt(n_resamples), "mtme", n)
