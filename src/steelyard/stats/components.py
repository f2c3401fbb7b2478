r"""Variance that units share: components of nested and of crossed effects, by moments.

Two estimators, both unbiased for any numbers of members of a unit, and free of distributions:

* :func:`nested_components`: domains hold documents, documents hold segments; the analysis of
  variance with Searle's coefficients, for many rows of numbers and many weightings at once.
* :func:`crossed_components`: any effects side by side (documents, raters, systems in documents);
  Henderson's first method around the means of some groups.

Either sets sums of squares equal to their expectations. An estimate can be below 0: whoever shows
it cuts it off, after all averages are taken. What the data can't tell apart is NaN.

Intervals (:func:`cube_root_interval`) are of delete-a-group jackknives: whole units are left out,
so that nothing is assumed of what happens within one.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.special import stdtrit

from steelyard.core import bounds
from steelyard.core.errors import ShapeError
from steelyard.stats.arrays import Counts, Floats, group_sums, ratio
from steelyard.stats.permutation.pvalues import block_sums

_ROUNDING = 1e-9  # of the number of segments: what is less is 0
_SINGULAR = 1e-9  # smallest against largest singular value of scaled equations


def nested_components(
    x: Floats, documents: Counts, domains: Counts | None = None, weights: Floats | None = None
) -> Floats:
    r"""Estimate variances between domains, documents and segments: rows x weightings x 3.

    Parameters
    ----------
    x
        Rows x segments, NaN where missing; each row is a sample of its own.
    documents, domains
        A code per segment. Without domains that component is NaN, and that of documents holds all
        that documents differ by.
    weights
        Weightings x documents: how often each document (in the order of its code) counts, as
        documents of their own. None counts each once.

    Examples
    --------
    >>> x = np.array([[1.0, 3.0, 5.0, 7.0]])
    >>> nested_components(x, np.array([0, 0, 1, 1])).tolist()
    [[[nan, 7.0, 2.0]]]
    """
    if x.ndim != 2 or x.shape[1:] != documents.shape:
        raise ShapeError(f"{x.shape} values but {documents.shape} codes of documents")
    if domains is not None and domains.shape != documents.shape:
        raise ShapeError(f"{documents.shape} codes of documents but {domains.shape} of domains")
    first, codes = np.unique(documents, return_index=True, return_inverse=True)[1:]
    n_documents = len(first)
    w = np.ones((1, n_documents)) if weights is None else weights
    if w.ndim != 2 or w.shape[1] != n_documents:
        raise ShapeError(f"{n_documents} documents but weights of shape {w.shape}")
    known = ~np.isnan(x)
    middle = ratio(np.where(known, x, 0.0).sum(axis=1), known.sum(axis=1))
    centred = np.where(known, x - middle[:, None], 0.0)  # digits are lost if the mean is large
    n, total, square = (
        block_sums(part, codes) for part in (known.astype(np.float64), centred, centred**2)
    )
    mean_square = np.where(n > 0, total**2 / np.maximum(n, 1), 0.0)

    size, count = n @ w.T, (n > 0).astype(np.float64) @ w.T
    squared_sizes = n**2 @ w.T
    overall = _over((total @ w.T) ** 2, size)
    within = square @ w.T - mean_square @ w.T
    between = mean_square @ w.T - overall
    segment = _over(within, size - count, size)
    document = _over(between - (count - 1) * segment, size - _over(squared_sizes, size), size)
    domain = np.full_like(document, np.nan)
    if domains is not None:
        place = np.unique(domains[first], return_inverse=True)[1]
        parts, shares, n_domains, squares = (np.zeros_like(size) for _ in range(4))
        for code in range(int(place.max(initial=-1)) + 1):
            own = np.flatnonzero(place == code)
            inside = w[:, own].T
            held = n[:, own] @ inside
            some = held > 0
            parts += np.where(some, (total[:, own] @ inside) ** 2 / np.maximum(held, 1), 0.0)
            shares += np.where(some, (n[:, own] ** 2 @ inside) / np.maximum(held, 1), 0.0)
            n_domains += some
            squares += held**2
        inner = mean_square @ w.T - parts
        document = _over(inner - (count - n_domains) * segment, size - shares, size)
        outer = parts - overall
        spread = shares - _over(squared_sizes, size)
        domain = _over(
            outer - spread * document - (n_domains - 1) * segment,
            size - _over(squares, size),
            size,
        )
    return np.stack([domain, document, segment], axis=-1)


def _over(top: Floats, bottom: Floats, size: Floats | None = None) -> Floats:
    """Divide; NaN where there is nothing to divide by, but for rounding."""
    least = 0.0 if size is None else _ROUNDING * size
    return ratio(top, np.where(bottom > least, bottom, 0.0))


def crossed_components(y: Floats, fixed: Counts, factors: Sequence[Counts]) -> Floats:
    r"""Estimate the variance of each of some effects, and last that of what is left.

    Parameters
    ----------
    y
        One number per row.
    fixed
        A code per row: the groups (systems) around whose means everything varies.
    factors
        For each effect a code per row. Effects may be nested or crossed in any way.

    With :math:`P` what removes the means of the groups, and :math:`Z_k` the table of rows and
    levels of effect k, sums of squares :math:`y'PZ_kD_kZ_k'Py` (:math:`D_k`: one over the size of
    each level) have expectations :math:`\sum_l\sigma_l^2\,\|D_k^{1/2}Z_k'PZ_l\|^2`: as many linear
    equations as there are effects. Tables :math:`Z_k'Z_l` are kept where they are not 0, so that
    work grows with the number of rows.

    Examples
    --------
    >>> rater, document = np.array([0, 1, 0, 1, 0, 1]), np.array([0, 0, 1, 1, 2, 2])
    >>> y = np.array([1.0, 2.0, 3.0, 4.0, 8.0, 9.5])
    >>> crossed_components(y, np.zeros(6, dtype=int), [rater, document]).round(4).tolist()
    [0.6667, 14.0, 0.0417]
    """
    coded = [np.unique(code, return_inverse=True)[1] for code in (fixed, *factors)]
    if any(code.shape != y.shape for code in coded):
        raise ShapeError("expected a code per row, of every effect")
    group, *codes = coded
    n, n_groups = len(y), int(group.max(initial=-1)) + 1
    size = group_sums(group, None, n_groups)
    rest = y - (group_sums(group, y, n_groups) / size)[group] if n else y
    levels = [int(code.max(initial=-1)) + 1 for code in codes]
    sizes = [group_sums(code, None, q) for code, q in zip(codes, levels, strict=True)]
    # How often each level stands in each group; and the same as shares of the group.
    stands = [_table(code, q, group, n_groups) for code, q in zip(codes, levels, strict=True)]
    k = len(codes)
    lines, sums = np.zeros((k + 1, k + 1)), np.zeros(k + 1)
    for i in range(k):
        scaled = stands[i] / sizes[i][:, None]
        sums[i] = (group_sums(codes[i], rest, levels[i]) ** 2 / sizes[i]).sum()
        lines[i, k] = levels[i] - (scaled * stands[i] / size).sum()
        lines[k, i] = n - (stands[i] ** 2 / size).sum()
        for j in range(k):
            one, two, met = _met(codes[i], codes[j], levels[j])
            bent = ((stands[i][one] / size) * stands[j][two]).sum(axis=1)
            both = (stands[i].T @ scaled) * (stands[j].T @ stands[j]) / np.outer(size, size)
            lines[i, j] = ((met**2 - 2 * met * bent) / sizes[i][one]).sum() + both.sum()
    sums[k], lines[k, k] = (rest**2).sum(), n - n_groups
    return _solved(lines, sums)


def _table(one: Counts, n: int, two: Counts, m: int) -> Floats:
    """Count the rows of each pair of levels, levels x groups."""
    return group_sums(one * m + two, None, n * m).reshape(n, m)


def _met(one: Counts, two: Counts, m: int) -> tuple[Counts, Counts, Floats]:
    """List the pairs of levels that meet in a row, and how often."""
    keys, counts = np.unique(one.astype(np.int64) * m + two, return_counts=True)
    return keys // m, keys % m, counts.astype(np.float64)


def _solved(lines: Floats, sums: Floats) -> Floats:
    """Solve the equations; NaN where effects can't be told apart."""
    scale = np.abs(lines).max(axis=1, initial=0.0)
    if not scale.all():
        return np.full(len(sums), np.nan)
    scaled = lines / scale[:, None]
    length = np.linalg.norm(scaled, axis=0)
    if not length.all():  # an effect that no equation has
        return np.full(len(sums), np.nan)
    values = np.linalg.svd(scaled / length, compute_uv=False)
    if values[-1] <= _SINGULAR * values[0]:
        return np.full(len(sums), np.nan)
    return np.asarray(np.linalg.solve(scaled, sums / scale))


def leave_out(n_units: int, most: int = 200) -> Counts:
    """Put units into at most so many groups, each of which a jackknife leaves out.

    Neighbours get different groups: units that stand together are often alike.

    Examples
    --------
    >>> leave_out(3).tolist(), leave_out(5, 2).tolist()
    ([0, 1, 2], [0, 1, 0, 1, 0])
    """
    bounds.whole(n_units=n_units)
    bounds.whole(2, most=most)
    return np.arange(n_units, dtype=np.int64) % max(min(n_units, most), 1)


def jackknife_errors(replicates: Floats) -> Floats:
    """Standard error of each column from replicates that leave out one of k groups each.

    NaN where a replicate is undefined, or there are fewer than two.

    Examples
    --------
    >>> jackknife_errors(np.array([[2.0], [3.0], [4.0]])).round(4).tolist()
    [1.1547]
    """
    k = len(replicates)
    if k < 2:
        return np.full(replicates.shape[1:], np.nan)
    spread = ((replicates - replicates.mean(axis=0)) ** 2).sum(axis=0)
    return np.asarray(np.sqrt((k - 1) / k * spread))


def cube_root_interval(
    value: float, error: float, freedom: int, level: float = 0.95
) -> tuple[float, float]:
    """Give the interval of a variance, from Student's t on the scale of cube roots.

    A variance is nearly a multiple of chi-squared, whose cube root is nearly normal (Wilson and
    Hilferty). Of an estimate that is not above 0 the interval begins there.

    Examples
    --------
    >>> [round(end, 3) for end in cube_root_interval(8.0, 2.0, 50)]
    [4.618, 12.727]
    >>> cube_root_interval(-1.0, 2.0, 50)[0]
    0.0
    """
    bounds.fraction(level=level)
    if np.isnan(value) or np.isnan(error) or freedom < 1:
        return float("nan"), float("nan")
    t = float(stdtrit(freedom, (1 + level) / 2))
    if value <= 0:
        return 0.0, max(value + t * error, 0.0)
    root = value ** (1 / 3)
    half = t * error / (3 * root**2)
    return max(root - half, 0.0) ** 3, (root + half) ** 3
