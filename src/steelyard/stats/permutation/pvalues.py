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
  Many segments need no product: a series in the moments of x gives it, with a bound of its error.
* ``edgeworth`` and ``normal``: expansions in the moments of x, for use inside resampling loops.
* ``monte-carlo``: sampled signs, for comparison; ``mtme``: the signs, precision and tie rule of
  the WMT toolkit, for its published numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steelyard.core.errors import ShapeError
from steelyard.core.options import check_choice, check_number, check_whole
from steelyard.core.rng import Rng, check_rng, generator
from steelyard.stats.arrays import Counts, Floats, real_array
from steelyard.stats.permutation.enumeration import enumeration_work
from steelyard.stats.permutation.lattice import (
    CELLS,
    TAIL,
    Z,
    as_lattices,
    declared_lattice,
    in_few_bytes,
    lattice_tails,
    lattice_width,
)
from steelyard.stats.permutation.pairsums import gram, stacked_pair_sums
from steelyard.stats.permutation.signdraws import random_signs
from steelyard.stats.permutation.tails import NARROW, expansion, product_tails, stacked_tails

_CHUNK = 4_000_000  # signs or differences held at a time
_ALONE = 400_000  # multiplications that BLAS does in one thread
_CACHED = 16_000  # differences that stay in the processor's cache
_ROWS = 60_000  # ... where they are sorted, and much is done to each
_COUNTED = 30_000  # ... where they are counted
TAILS = ("mid", "ge")
ALTERNATIVES = ("two-sided", "greater", "less")
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


@dataclass(frozen=True, slots=True)
class SignFlips:
    """How p-values are found.

    Attributes
    ----------
    method
        ``exact`` (lattice, enumeration or characteristic function, whichever fits), ``analytic``
        (Edgeworth expansion), ``normal``, ``monte-carlo`` or ``mtme``.
    tail
        ``mid`` or ``ge`` (at least as extreme, ties in full).
    n_resamples, rng
        For ``monte-carlo``.
    step
        For ``exact``: what all scores are multiples of but for the rounding of what was published
        (1/3 for the means of three raters). Without it only scores that are on a lattice in double
        or single precision are taken for one; any other score counts as it stands.
    """

    method: str = "exact"
    tail: str = "mid"
    n_resamples: int = 10_000
    rng: Rng = 0
    step: float | None = None

    def __post_init__(self) -> None:
        check_choice(METHODS, method=self.method)
        check_choice(TAILS, tail=self.tail)
        check_whole(1, n_resamples=self.n_resamples)
        check_number(0, strict=True, optional=True, step=self.step)
        check_rng(self.rng)


def pairwise_pvalues(
    scores: Floats, *, blocks: Counts | None = None, **options: Any
) -> PairwisePValues:
    """Test every pair of systems on the segments that both have.

    Parameters
    ----------
    scores
        Systems x segments, higher is better, NaN where missing.
    blocks
        A code per segment: segments with the same code change sign together (documents, windows).
    options
        Those of :class:`SignFlips`: ``method``, ``tail``, ``n_resamples``, ``rng``, ``step``.

    Examples
    --------
    >>> import numpy as np
    >>> result = pairwise_pvalues(np.array([[3.0, 2, 5], [1, 2, 2]]))
    >>> result.p.round(3).tolist(), result.how
    ([[0.5, 0.125], [0.875, 0.5]], 'lattice')
    """
    return stacked_pvalues([scores], SignFlips(**options), blocks=blocks)[0]


def stacked_pvalues(
    matrices: Sequence[Floats], options: SignFlips | None = None, *, blocks: Counts | None = None
) -> list[PairwisePValues]:
    """Test every pair of systems by several scores, as :func:`pairwise_pvalues` does by each.

    The scores have one shape, and are worked on together where that is faster.
    """
    chosen = options or SignFlips()
    stack = [real_array("scores", scores) for scores in matrices]
    for x in stack:
        if x.ndim != 2 or x.shape != stack[0].shape:
            raise ShapeError(f"expected systems x segments, got shape {x.shape}")
    if chosen.method == "mtme":
        return [_mtme(x) for x in stack]
    if chosen.method != "exact":
        return _assemble(stack, blocks, _WAYS[chosen.method](chosen), chosen.tail)
    # A lattice comes first, for its ties are real: only there do P(T > t) and P(T = t) fall apart,
    # and a characteristic function that returns to 1 again and again is its bad case and the
    # lattice's good one. Whatever is no lattice, or too fine a one to be worth its transform, is
    # left for the characteristic function, which takes all such scores together: by a series in
    # their moments, and pair by pair where its bound is not good enough.
    whole: dict[int, Pairs] = {}
    lattices = (
        as_lattices(stack)
        if chosen.step is None
        else [declared_lattice(x, chosen.step) for x in stack]
    )
    for place, scores in enumerate(lattices):
        result = None if scores is None else _try_lattice(scores, blocks, chosen.tail)
        if result is not None:
            whole[place] = result
    others = [place for place in range(len(stack)) if place not in whole]
    way = _Way("characteristic", partial(product_tails, series=True), stacked_tails, _ROWS)
    # Whole numbers tie where scores do on paper. Many of them would be taken for a lattice again.
    n_units = stack[0].shape[1] if blocks is None else len(np.unique(blocks))
    exact = n_units <= NARROW or chosen.step is not None
    left = [stack[place] if (numbers := lattices[place]) is None or not exact else numbers
            for place in others]  # fmt: skip
    results = _assemble(left, blocks, way, chosen.tail)
    found = dict(zip(others, results, strict=True))
    found.update(zip(whole, _of_lattices(whole.values(), len(stack[0]), chosen.tail), strict=True))
    return [found[place] for place in range(len(stack))]


def _of_lattices(pairs: Collection[Pairs], size: int, tail: str) -> list[PairwisePValues]:
    if not pairs:
        return []
    above, at, units, errors = zip(*pairs, strict=True)
    squares = _square(size, np.stack(above), np.stack(at), np.stack(units), tail)
    return [
        PairwisePValues(p, error, "lattice", n)
        for p, n, error in zip(*squares, errors, strict=True)
    ]


@lru_cache(maxsize=8)
def pair_index(n: int) -> tuple[Counts, Counts]:
    """Give i and j of all pairs i < j."""
    i, j = np.triu_indices(n, 1)
    i, j = i.astype(np.int64), j.astype(np.int64)
    i.flags.writeable = j.flags.writeable = False  # everyone gets the same arrays
    return i, j


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


def _pairs(
    x: Floats, whole: Floats | None, blocks: Counts | None, which: Counts, cells: int | None = None
) -> Iterator[tuple[Counts, Floats, Counts | int]]:
    """Yield chunks of pairs: their places, differences per unit (0 where missing), common units.

    ``whole`` are the scores per unit, where :func:`_units` can tell.
    """
    rows, columns = pair_index(len(x))
    step = max(1, (cells or _CACHED) // max(1, x.shape[1]))
    for start in range(0, len(which), step):
        some = which[start : start + step]
        i, j = rows[some], columns[some]
        if whole is not None:
            gap = np.empty((len(some), whole.shape[1]), dtype=whole.dtype)
            for row, a, b in zip(gap, i.tolist(), j.tolist(), strict=True):
                np.subtract(whole[a], whole[b], out=row)
            yield some, gap, whole.shape[1]
            continue
        gap = x[i] - x[j]
        absent = np.isnan(gap)
        gap[absent] = 0
        n = block_sums((~absent).astype(np.float64), blocks) > 0
        yield some, block_sums(gap, blocks), n.sum(axis=-1)


def _units(x: Floats, blocks: Counts | None) -> Floats | None:
    """Give scores per segment that anyone has, or per block; None if something else is missing."""
    if np.isnan(np.add.reduce(x, axis=None)):
        absent = np.isnan(x)
        kept = ~absent.all(axis=0)
        if blocks is not None or absent[:, kept].any():
            return None
        x = x[:, kept]
    return block_sums(x, blocks)


Tails = Callable[[Floats], tuple[Floats, Floats, Floats | float]]
Quick = Callable[[Sequence[Floats], Counts, Counts], tuple[Floats, Floats, Floats]]


@dataclass(frozen=True, slots=True)
class _Way:
    """A method over all pairs, by its name.

    ``tails`` takes differences and gives P(T > t), P(T = t) and an error bound. ``quick`` takes
    matrices without gaps and gives the same for all pairs, with a bound for each. ``cells`` are the
    differences that ``tails`` gets at a time, if not few.
    """

    how: str
    tails: Tails
    quick: Quick | None = None
    cells: int | None = None


def _assemble(
    matrices: Sequence[Floats], blocks: Counts | None, way: _Way, tail: str
) -> list[PairwisePValues]:
    """Run a method over all pairs of each matrix."""
    if not matrices:
        return []
    size = len(matrices[0])
    i, j = pair_index(size)
    above, at = np.zeros((2, len(matrices), len(i)))
    error = np.full(above.shape, np.inf)
    units = np.zeros(above.shape, dtype=np.int64)
    if way.quick is not None:
        for places, alike in _alike(matrices, blocks):
            above[places], at[places], error[places] = way.quick(alike, i, j)
            units[places] = alike[0].shape[1]
    for k in np.flatnonzero(np.isinf(error).any(axis=1)).tolist():
        x, which = matrices[k], np.flatnonzero(np.isinf(error[k]))
        for some, gap, n in _pairs(x, _units(x, blocks), blocks, which, way.cells):
            above[k, some], at[k, some], error[k, some] = way.tails(gap)
            units[k, some] = n
    return [
        PairwisePValues(p, float(worst), way.how, n)
        for p, n, worst in zip(
            *_square(size, above, at, units, tail), error.max(axis=1, initial=0), strict=True
        )
    ]


def _alike(
    matrices: Sequence[Floats], blocks: Counts | None
) -> Iterator[tuple[list[int], list[Floats]]]:
    """Yield places and units of matrices without gaps, those of one shape together."""
    shapes: dict[tuple[int, ...], tuple[list[int], list[Floats]]] = {}
    for place, x in enumerate(matrices):
        whole = _units(x, blocks)
        if whole is not None and whole.size:
            places, found = shapes.setdefault(whole.shape, ([], []))
            places.append(place)
            found.append(whole)
    yield from shapes.values()


def _square(
    size: int, above: Floats, at: Floats, units: Counts, tail: str
) -> tuple[Floats, Counts]:
    """Put pairs (of some scores each) into matrices, both ways round: p-values, and units."""
    i, j = pair_index(size)
    share = 0.5 if tail == "mid" else 1.0
    above = np.where(units > 0, above, np.nan)
    p = np.full((*above.shape[:-1], size, size), share)
    p[..., i, j] = above + share * at
    p[..., j, i] = 1 - above - (1 - share) * at
    np.minimum(np.maximum(p, 0, out=p), 1, out=p)
    n = np.zeros(p.shape, dtype=np.int64)
    n[..., i, j] = n[..., j, i] = units
    return p, n


def sided(p: Floats, alternative: str) -> Floats:
    """Make p-values of an alternative of those that row is better than column, ties in full."""
    check_choice(ALTERNATIVES, alternative=alternative)
    if alternative == "two-sided":
        p = np.minimum(1.0, 2 * np.minimum(p, p.T))
    else:
        p = p.copy() if alternative == "greater" else p.T.copy()
    np.fill_diagonal(p, np.nan)
    return p


Pairs = tuple[Floats, Floats, Counts, float]  # P(T > t), P(T = t), units, error


def _try_lattice(x: Floats, blocks: Counts | None, tail: str) -> Pairs | None:
    """Transform the lattice, unless it is so fine that there is no point in it."""
    n_pairs = math.comb(len(x), 2)
    above, at, units = np.zeros(n_pairs), np.zeros(n_pairs), np.zeros(n_pairs, dtype=np.int64)
    error, whole = TAIL, _units(x, blocks)
    live = np.arange(n_pairs)
    narrow = most = None
    if whole is not None:  # sums of whole numbers tell who is beyond all doubt
        i, j = pair_index(len(x))
        products, totals = gram(whole)
        t = totals[i] - totals[j]
        squares = products.diagonal()[i] + products.diagonal()[j] - 2 * products[i, j]
        beyond = t * t >= Z * Z * np.maximum(squares, 1)
        above[beyond & (t < 0)] = 1.0
        units[:] = whole.shape[1]
        live = np.flatnonzero(~beyond)
        most = float(whole.max() - whole.min()) if whole.size else 0.0
        width = lattice_width(t[live], np.sqrt(squares[live])) if live.size else 0
        # Of few units, all signs are enumerated where that is less work than the transform.
        n = whole.shape[1]
        limit = min(CELLS, enumeration_work(n)) if n <= NARROW else CELLS
        for some in () if most * width // 2 <= limit else (live[:1], live[:: len(live) // 8 + 1]):
            steps = len(np.unique(np.abs(whole[i[some]] - whole[j[some]]))) - 1
            if steps * width // 2 > limit:
                return None
        narrow = in_few_bytes(whole, most)

    def gaps(which: Counts) -> Iterator[Floats]:
        for some, gap, n in _pairs(x, narrow, blocks, which, _COUNTED):
            units[some] = n
            yield gap

    step = max(1, _CHUNK // max(1, x.shape[1]))
    for start in range(0, len(live), step):
        which = live[start : start + step]
        own = None if whole is None else t[which]
        found = lattice_tails(gaps(which), ties=tail != "mid", most=most, t=own)
        if found is None:
            return None
        above[which], at[which], error = found
    return above, at, units, error


def _monte_carlo(options: SignFlips) -> _Way:
    n_resamples = options.n_resamples
    seed = generator(options.rng).integers(2**63)

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

    return _Way("monte-carlo", tails, cells=_CHUNK)


def _by_moments(how: str, order: int) -> _Way:
    """Take tails from sums of powers; the error is the first term left out, or the last one kept.

    Differences are formed only where systems lack segments: the sums need them nowhere else.
    """

    def of_sums(
        t: Floats, second: Floats, fourth: Floats, sixth: Floats
    ) -> tuple[Floats, Floats, Floats]:
        p, last = expansion(t, second, fourth, sixth if order > 2 else None)
        if order == 2:
            p = expansion(t, second)[0]
        still = second == 0  # equal systems: all of the null stands at 0
        return np.where(still, 0.0, p), still.astype(np.float64), last

    def tails(gap: Floats) -> tuple[Floats, Floats, Floats]:
        square = gap * gap
        second, fourth, sixth = (x.sum(axis=-1) for x in (square, square**2, square**3))
        return of_sums(gap.sum(axis=-1), second, fourth, sixth)

    return _Way(how, tails, lambda *stacked: of_sums(*stacked_pair_sums(*stacked)))


_WAYS: dict[str, Callable[[SignFlips], _Way]] = {
    "analytic": lambda _: _by_moments("edgeworth", 6),
    "normal": lambda _: _by_moments("normal", 2),
    "monte-carlo": _monte_carlo,
}


@lru_cache(maxsize=1)
def mtme_signs(n_resamples: int, n: int, seed: int = 4) -> NDArray[np.float32]:
    """Draw the signs of the WMT toolkit: float32 uniforms, rounded (kept for the next metric)."""
    signs = np.random.default_rng(seed).random(size=(n_resamples, n), dtype=np.float32)
    np.rint(signs, out=signs)
    signs *= 2
    signs -= 1
    signs.flags.writeable = False
    return signs


def _in_one_thread(signs: NDArray[np.float32], x: NDArray[np.float32]) -> NDArray[np.float32]:
    """Multiply x with the signs, systems x draws, so few at a time that BLAS takes one thread.

    Sums of floats depend on how many it takes.
    """
    rows = _ALONE // max(1, x.size)
    rows = rows // 16 * 16 if rows >= 16 else max(2, rows)  # one alone would be another product
    wide = max(1, _ALONE // (rows * max(1, x.shape[1])))
    products = [
        np.concatenate([signs[k : k + rows] @ own.T for k in range(0, len(signs), rows)]).T
        for own in (x[i : i + wide] for i in range(0, max(1, len(x)), wide))
    ]
    return np.ascontiguousarray(np.concatenate(products))


def _mtme(scores: Floats, n_resamples: int = 1000) -> PairwisePValues:
    """The WMT toolkit's p-values: its 1,000 signs, float32, ``>=``, on segments that all have."""
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
