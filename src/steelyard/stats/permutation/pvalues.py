r"""Paired permutation tests of all pairs of systems, without sampling.

Two systems are scored on the same segments; :math:`x_s` is the difference on segment s and
:math:`t = \sum_s x_s` what was observed. If the systems were equally good, each difference could
as well have had the other sign: :math:`T = \sum_s e_s x_s` with independent fair signs is the null.
The one-sided p-value is :math:`P(T \ge t)`; its mid version :math:`P(T > t) + P(T = t) / 2` treats
both systems alike (swapping them gives 1 - p, equal systems give 1/2) and is the default.

T is a sum of independent terms, so its distribution needs no sampling:

* ``lattice``: scores that are multiples of some step (MQM, DA, an LLM judge) have a T on a lattice;
  its probabilities are the inverse Fourier transform of :math:`\prod_s \cos(u x_s)`.
* ``characteristic``: anything else; the same product, inverted at few well-chosen frequencies, or
  all signs of few differences. Many segments need no product: a series in the moments of x gives
  it, with a bound of its error.
* ``mtme``: the signs, precision and tie rule of the WMT toolkit, for its published numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steelyard.core.errors import ShapeError
from steelyard.core.options import check_choice, check_number
from steelyard.core.progress import each
from steelyard.stats.arrays import Counts, Floats, real_array
from steelyard.stats.permutation.lattice import TAIL, Z, as_lattice, declared_lattice, lattice_tails
from steelyard.stats.permutation.tails import (
    SURE,
    Bools,
    Singles,
    far_tails,
    product_tails,
    repeated_sizes,
    risen,
    series_tails,
)

_CHUNK = 4_000_000  # differences held at a time
_ALONE = 400_000  # multiplications that BLAS does in one thread
_CELLS = 500_000  # scores whose powers are held at a time
_ROWS = 400_000  # differences of pairs in doubt held at a time
# Higher powers are added up in single precision; no p-value moves by more than this.
_ROUNDING = 1e-8
_SINGLE = 5e-7  # relative error of such sums
_MOVES = (0.06 * 8, 0.055 * 32)  # of a p-value per error of the fourth over V^2, sixth over V^3
_SAMPLE = 48  # differences that tell whether they come in steps
TAILS = ("mid", "ge")
ALTERNATIVES = ("two-sided", "greater", "less")
METHODS = ("exact", "mtme")

RowTails = Callable[[Floats], tuple[Floats, Floats, Floats | float] | None]


@dataclass(frozen=True, slots=True)
class PairwisePValues:
    """p-values of all pairs: ``p[i, j]`` is small where i is better than j beyond chance.

    ``error`` bounds the numerical error of each (of ``mtme`` it is the largest standard error);
    ``how`` names the algorithm; ``n[i, j]`` counts the units compared. Pairs without a common unit
    have NaN.
    """

    p: Floats
    error: float
    how: str
    n: Counts


@dataclass(frozen=True, slots=True)
class SignFlips:
    """How p-values are computed.

    ``method`` is ``exact`` (whichever algorithm fits) or ``mtme``; ``tail`` is ``mid`` or ``ge``
    (at least as extreme, ties in full). ``step`` is what all scores are multiples of but for
    rounding in print (1/3 for the means of three raters); without it every score counts as it
    stands.
    """

    method: str = "exact"
    tail: str = "mid"
    step: float | None = None

    def __post_init__(self) -> None:
        check_choice(METHODS, method=self.method)
        check_choice(TAILS, tail=self.tail)
        check_number(0, strict=True, optional=True, step=self.step)


def pairwise_pvalues(
    scores: Floats, *, blocks: Counts | None = None, **options: Any
) -> PairwisePValues:
    """Test every pair of systems (rows; NaN is missing) on the segments that both have.

    Segments with the same code in ``blocks`` change sign together (documents, windows). Options are
    those of :class:`SignFlips`: ``method``, ``tail``, ``step``.
    """
    return stacked_pvalues([scores], SignFlips(**options), blocks=blocks)[0]


def stacked_pvalues(
    matrices: Sequence[Floats], options: SignFlips | None = None, *, blocks: Counts | None = None
) -> list[PairwisePValues]:
    """Test every pair of systems by several scores, those without gaps together."""
    options = options or SignFlips()
    stack = [real_array("scores", scores) for scores in matrices]
    for x in stack:
        if x.ndim != 2:
            raise ShapeError(f"expected systems x segments, got shape {x.shape}")
    if options.method == "mtme":
        return [_mtme(x) for x in stack]
    results: dict[int, PairwisePValues] = {}
    together: dict[tuple[int, ...], dict[int, Floats]] = {}
    for k, x in enumerate(stack):
        # A lattice comes first, for its ties are real: only there do P(T > t) and P(T = t) fall
        # apart, and a characteristic function that returns to 1 again and again is its bad case
        # and the lattice's good one.
        whole = as_lattice(x) if options.step is None else declared_lattice(x, options.step)
        how = "lattice"
        pairs = None if whole is None else _lattice_pairs(whole, blocks, options.tail)
        if pairs is None:
            # Of a declared lattice, whole numbers tie where scores do on paper.
            numbers = x if whole is None or options.step is None else whole
            units = _complete_units(numbers, blocks)
            if units is not None:
                together.setdefault(units.shape, {})[k] = units
                continue
            pairs, how = _paired_rows(numbers, blocks, product_tails), "characteristic"
            assert pairs is not None
        results[k] = _squared(len(x), pairs, how, options.tail)
    for (size, width), units_of in together.items():
        above, at, error = _complete_pairs(list(units_of.values()), *pair_index(size))
        counts = np.full(above.shape[1], width)
        for row, k in enumerate(units_of):
            pairs = above[row], at[row], error[row], counts
            results[k] = _squared(size, pairs, "characteristic", options.tail)
    return [results[k] for k in range(len(stack))]


@lru_cache(maxsize=8)
def pair_index(n: int) -> tuple[Counts, Counts]:
    """Return i and j of all pairs i < j."""
    i, j = np.triu_indices(n, 1)
    i, j = i.astype(np.int64), j.astype(np.int64)
    i.flags.writeable = j.flags.writeable = False  # everyone gets the same arrays
    return i, j


def block_sums(differences: Floats, blocks: Counts | None) -> Floats:
    """Add up differences within blocks (along the last axis)."""
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


def sided(p: Floats, alternative: str) -> Floats:
    """Return p-values of an alternative from those that row is better than column, ties in full."""
    check_choice(ALTERNATIVES, alternative=alternative)
    if alternative == "two-sided":
        p = np.minimum(1.0, 2 * np.minimum(p, p.T))
    else:
        p = p.copy() if alternative == "greater" else p.T.copy()
    np.fill_diagonal(p, np.nan)
    return p


PairTails = tuple[Floats, Floats, Floats, Counts]  # P(T > t), P(T = t), error, units


def _squared(size: int, pairs: PairTails, how: str, tail: str) -> PairwisePValues:
    """Put p-values of pairs into a matrix, both ways round."""
    above, at, error, units = pairs
    i, j = pair_index(size)
    share = 0.5 if tail == "mid" else 1.0
    above = np.where(units > 0, above, np.nan)
    p = np.full((size, size), share)
    p[i, j] = above + share * at
    p[j, i] = 1 - above - (1 - share) * at
    n = np.zeros(p.shape, dtype=np.int64)
    n[i, j] = n[j, i] = units
    return PairwisePValues(np.clip(p, 0, 1), float(error.max(initial=0)), how, n)


def _lattice_pairs(x: Floats, blocks: Counts | None, tail: str) -> PairTails | None:
    """Transform the lattice of each pair; None if it is so fine that this would not pay."""
    tails = partial(lattice_tails, ties=tail != "mid")
    units = _complete_units(x, blocks)
    if units is None:
        return _paired_rows(x, blocks, tails)
    i, j = pair_index(len(units))
    products, totals = units @ units.T, units.sum(axis=1)
    t = totals[i] - totals[j]
    squares = products.diagonal()[i] + products.diagonal()[j] - 2 * products[i, j]
    beyond = t * t >= Z * Z * np.maximum(squares, 1)  # sums of whole numbers are exact
    above, at = np.where(beyond & (t < 0), 1.0, 0.0), np.zeros(len(t))
    live = np.flatnonzero(~beyond)
    step = max(1, _CHUNK // max(1, units.shape[1]))
    for part in (live[start : start + step] for start in range(0, len(live), step)):
        result = tails(units[i[part]] - units[j[part]])
        if result is None:
            return None
        above[part], at[part], _ = result
    return above, at, np.full(len(t), TAIL + 1e-12), np.full(len(t), units.shape[1])


def _complete_units(x: Floats, blocks: Counts | None) -> Floats | None:
    """Return scores per segment that anyone has, or per block; None if others are missing."""
    missing = np.isnan(x)
    if missing.any():
        present = ~missing.all(axis=0)
        if blocks is not None or missing[:, present].any():
            return None
        x = x[:, present]
    return block_sums(x, blocks)


def _paired_rows(x: Floats, blocks: Counts | None, tails: RowTails) -> PairTails | None:
    """Take the tails of all pairs on the units that both have; a missing difference is 0."""
    i, j = pair_index(len(x))
    above, at, error = np.zeros((3, len(i)))
    units = np.zeros(len(i), dtype=np.int64)
    step = max(1, _CHUNK // max(1, x.shape[1]))
    for start in range(0, len(i), step):
        part = slice(start, start + step)
        gap = x[i[part]] - x[j[part]]
        present = ~np.isnan(gap)
        gap[~present] = 0
        units[part] = (block_sums(present.astype(np.float64), blocks) > 0).sum(axis=1)
        result = tails(block_sums(gap, blocks))
        if result is None:
            return None
        above[part], at[part], error[part] = result
    return above, at, error, units


# Moments of all pairs
#
# With a and b the centred scores of two systems, the second, fourth and sixth power of a - b are
# those of a and of b less, summed both ways round, ab, 4 a^3 b - 3 a^2 b^2 and
# 6 a^5 b - 15 a^4 b^2 + 10 a^3 b^3: a few matrix products give their sums for all pairs.


def _complete_pairs(matrices: list[Floats], i: Counts, j: Counts) -> tuple[Floats, Floats, Floats]:
    """Return P(T > t), P(T = t) and the error, matrices x pairs, of scores without gaps.

    Pairs far apart and pairs that a series is sure of need no differences; others do.
    """
    t, sums, alike, coarse = (
        np.stack(part) for part in zip(*(_pair_sums(x, i, j) for x in matrices), strict=True)
    )
    above, error = far_tails(t, sums[:, 0])
    at = np.zeros(above.shape)
    rises = np.repeat(_rises(matrices, i, j)[:, None], len(i), axis=1)
    doubt = (error > SURE) | alike
    near = doubt & ~coarse & (sums[:, 0] > 0) & (rises < SURE / 5)
    if near.any():
        variance = sums[:, 0][near]
        powers = [sums[:, k][near] / variance ** (k + 1) for k in range(3)]
        p, bound = series_tails(t[near] / np.sqrt(variance), powers, np.cbrt(powers[-1]))
        bound += _ROUNDING + rises[near]
        above[near] = np.where(bound <= SURE, p, above[near])
        error[near], doubt[near] = bound, bound > SURE
    matrix, pair = np.nonzero(doubt)
    step = max(1, _ROWS // max(1, matrices[0].shape[1]))
    for start in each(range(0, len(matrix), step)):
        part = matrix[start : start + step], pair[start : start + step]
        members, starts = np.unique(part[0], return_index=True)
        pairs = zip(members, np.split(part[1], starts[1:]), strict=True)
        gap = np.concatenate([matrices[k][i[c]] - matrices[k][j[c]] for k, c in pairs])
        above[part], at[part], error[part] = product_tails(gap, rises=rises[part])
    return above, at, error


def _pair_sums(x: Floats, i: Counts, j: Counts) -> tuple[Floats, Floats, Bools, Bools]:
    """Return sums of differences, and of their second, fourth and sixth powers: powers x pairs.

    And which pairs are so alike that the second cancels, or need double precision for higher ones.
    """
    n, width = x.shape
    totals, products, higher = np.zeros(n), np.zeros((n, n)), np.zeros((5, n, n))
    step = max(1, _CELLS // max(1, n))
    for start in range(0, width, step):
        part = x[:, start : start + step]
        centred = np.ones((n + 1, part.shape[1]))  # the last row adds up the others
        np.subtract(part, part.sum(axis=0) / n, out=centred[:n])
        product = centred @ centred[:n].T
        totals += product[n]
        products += product[:n]
        size = math.sqrt(float(product[:n].trace()) / part.size) or 1.0
        a = np.multiply(centred[:n], 1 / size, dtype=np.float32, casting="same_kind")
        a2 = a * a
        a3 = a2 * a
        # Of a matrix with itself BLAS takes twice as long as of others: hence pairs, and a copy.
        higher[:2] += _products([a3, a3 * a2], a) * [[[size**4]], [[size**6]]]
        higher[2:4] += _products([a2, a2 * a2], a2) * [[[size**4]], [[size**6]]]
        higher[4] += size**6 * (a3.copy() @ a3.T).astype(np.float64)
    both = np.stack([
        products, 4 * higher[0] - 3 * higher[2], 6 * higher[1] - 15 * higher[3] + 10 * higher[4]
    ])  # fmt: skip
    both += both.swapaxes(1, 2).copy()
    single = np.stack([products.diagonal(), higher[2].diagonal(), higher[4].diagonal()])
    alone = single[:, i] + single[:, j]
    sums = alone - both[:, i, j]
    variance = sums[0]
    alike = variance < 1e-3 * alone[0]
    coarse = alike.copy()
    for power, moves in zip((1, 2), _MOVES, strict=True):
        coarse |= alone[power] * _SINGLE * moves > _ROUNDING / 2 * variance ** (power + 1)
        # Powers of means bound means of powers from below.
        np.maximum(sums[power], variance ** (power + 1) / max(1, width) ** power, out=sums[power])
    return totals[i] - totals[j], sums, alike, coarse


def _products(powers: list[Singles], power: Singles) -> Singles:
    """Multiply each of several matrices by another's transpose, at once."""
    product = np.concatenate(powers) @ power.T
    return product.reshape(len(powers), *product.shape[1:] * 2)


def _rises(matrices: list[Floats], i: Counts, j: Counts) -> Floats:
    """Bound what higher frequencies add for each matrix, by a sample; 1 where sizes repeat."""
    width = matrices[0].shape[1]
    if not len(i) or not width:
        return np.ones(len(matrices))
    segments = np.arange(width)[:: width // _SAMPLE + 1]
    pair = np.arange(len(segments)) % len(i)
    sample = np.stack([x[i[pair], segments] - x[j[pair], segments] for x in matrices])
    mean = np.sqrt((sample * sample).mean(axis=1))
    repeated = repeated_sizes(sample)[0] | (mean == 0)
    mean[mean == 0] = 1.0
    lowest = np.pi / (2 * Z * mean * math.sqrt(width))
    return np.where(repeated, 1.0, risen(np.abs(sample), np.full(len(mean), width), mean, lowest))


# The WMT toolkit


@lru_cache(maxsize=1)
def mtme_signs(n_resamples: int, n: int) -> NDArray[np.float32]:
    """Draw the signs of the WMT toolkit: float32 uniforms, rounded (kept for the next metric)."""
    signs = np.random.default_rng(4).random(size=(n_resamples, n), dtype=np.float32)
    np.rint(signs, out=signs)
    signs *= 2
    signs -= 1
    signs.flags.writeable = False
    return signs


def _in_one_thread(signs: NDArray[np.float32], x: NDArray[np.float32]) -> NDArray[np.float32]:
    """Multiply x with the signs in one thread of BLAS: float sums depend on the threads."""
    rows = _ALONE // max(1, x.size)
    rows = rows // 16 * 16 if rows >= 16 else max(2, rows)  # one alone would be another product
    wide = max(1, _ALONE // (rows * max(1, x.shape[1])))
    products = [
        np.concatenate([signs[k : k + rows] @ part.T for k in range(0, len(signs), rows)]).T
        for part in (x[i : i + wide] for i in range(0, max(1, len(x)), wide))
    ]
    return np.ascontiguousarray(np.concatenate(products))


def _mtme(scores: Floats, n_resamples: int = 1000) -> PairwisePValues:
    """Return the WMT toolkit's p-values: 1,000 signs, float32, ``>=``, segments that all have."""
    complete = ~np.isnan(scores).any(axis=0)
    # Selecting columns changes their order in memory, and float32 sums depend on that.
    x = (scores if complete.all() else scores[:, complete]).astype(np.float32)
    null = _in_one_thread(mtme_signs(n_resamples, x.shape[1]), x)
    totals = x.sum(axis=1)
    size = len(x)
    p = np.full((size, size), 1.0 if x.shape[1] else np.nan)
    for i in range(size if x.shape[1] else 0):
        lead = null[i] - null[i + 1 :] >= (totals[i] - totals[i + 1 :])[:, None]
        p[i, i + 1 :] = np.count_nonzero(lead, axis=1) / n_resamples
        p[i + 1 :, i] = 1 - p[i, i + 1 :]
    n = np.full((size, size), x.shape[1], dtype=np.int64)
    return PairwisePValues(p=p, error=0.5 / math.sqrt(n_resamples), how="mtme", n=n)
