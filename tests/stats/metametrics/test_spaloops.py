"""Compiled loops over swapped metrics: the same bits as NumPy, and used only where they pay."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.core import compiled
from steelyard.stats.metametrics import spaloops, swappedspa
from steelyard.stats.metametrics.swappedspa import null_spa
from steelyard.stats.metametrics.swapping import SCHEMES, Swaps
from steelyard.stats.permutation.pvalues import pairwise_pvalues

needs_numba = pytest.mark.skipif(not compiled.available(), reason="numba is not installed")

PLAIN = spaloops.Loops(
    inputs=spaloops.swapped_inputs.plain,
    cells=spaloops.swapped_cells.plain,
    cross=spaloops.cross_products.plain,
    signs=spaloops.sign_products.plain,
)


def drawn(monkeypatch, loops, shape, scheme, n, part=None, missing=0.0):
    """The draws of made scores (metrics x systems x segments) by these loops, None for NumPy."""
    rng = np.random.default_rng(0)
    metrics = rng.normal(size=shape) + 0.2 * rng.normal(size=shape[:2])[..., None]
    metrics[rng.random(shape) < missing] = np.nan
    p_human = pairwise_pvalues(rng.normal(size=shape[1:]), method="analytic").p
    monkeypatch.setattr(swappedspa, "compiled_loops", lambda seconds: loops)
    swaps = Swaps(scheme=scheme, n=n, rng=np.random.default_rng(1), part=part)
    return null_spa(p_human, metrics, swaps).differences


def in_order_of_leaves(x):
    """Add up single numbers as :func:`spaloops.leaves` says."""
    sums: list[np.float32] = []
    for begin, end, merges in spaloops.leaves(len(x)):
        whole = begin + (end - begin) // 8 * 8
        lanes = [np.float32(0)] * 8
        for i in range(begin, whole):
            lanes[(i - begin) % 8] += x[i]
        a, b, c, d, e, f, g, h = lanes
        total = ((a + b) + (c + d)) + ((e + f) + (g + h))
        for i in range(whole, end):
            total += x[i]
        for _ in range(merges):
            total = sums.pop() + total
        sums.append(total)
    (result,) = sums
    return result


@given(st.integers(0, 1500), st.integers(0, 100))
def test_leaves_are_numpys_order_of_sums(n, seed):
    x = np.random.default_rng(seed).random((2, n)).astype(np.float32)
    assert in_order_of_leaves(x[1]) == x.sum(axis=1)[1]


# Few and many pairs of systems (a block, several), few segments (an Edgeworth term) and many.
SHAPES = [(3, 2, 30), (4, 5, 40), (3, 6, 520), (3, 20, 60)]


@needs_numba
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("missing", [0.0, 0.01])
def test_compiled_loops_give_the_bits_of_numpy(monkeypatch, shape, scheme, missing):
    for part in (None, (1, 2)):
        asked = {"shape": shape, "scheme": scheme, "n": 75, "part": part, "missing": missing}
        loops = spaloops.compiled_loops(3600.0)
        assert loops is not None
        expected = drawn(monkeypatch, None, **asked)
        np.testing.assert_array_equal(drawn(monkeypatch, loops, **asked), expected)
        assert np.ptp(expected) > 0


@pytest.mark.parametrize("shape", [(3, 4, 12), (2, 17, 8)])
@pytest.mark.parametrize("scheme", ["inputs", "cells"])
def test_plain_loops_give_the_bits_of_numpy(monkeypatch, shape, scheme):
    asked = {"shape": shape, "scheme": scheme, "n": 3}
    expected = drawn(monkeypatch, None, **asked)
    np.testing.assert_array_equal(drawn(monkeypatch, PLAIN, **asked), expected)


@pytest.mark.parametrize("scheme", ["cells", "rows+columns"])
def test_pairs_of_metrics_in_pieces_are_the_same_draws(monkeypatch, scheme):
    asked = {"shape": (5, 4, 30), "scheme": scheme, "n": 20}
    whole = drawn(monkeypatch, None, **asked)
    monkeypatch.setattr(swappedspa, "_TOGETHER", 3)
    np.testing.assert_allclose(drawn(monkeypatch, None, **asked), whole, atol=1e-6)


@pytest.mark.parametrize("scheme", ["cells", "rows+columns"])
def test_the_layout_of_signs_does_not_matter(monkeypatch, scheme):
    asked = {"shape": (3, 4, 30), "scheme": scheme, "n": 20}
    draws = []
    for small in (0, 10**9):
        monkeypatch.setattr(swappedspa, "_SMALL", small)
        draws.append(drawn(monkeypatch, None, **asked))
    np.testing.assert_allclose(draws[0], draws[1], atol=1e-6)


@needs_numba
def test_loops_are_loaded_once_numpy_has_taken_as_long(monkeypatch):
    monkeypatch.setattr(spaloops, "_numpy", [0.0])
    assert spaloops.compiled_loops(0.01) is None
    assert spaloops.compiled_loops(3600.0) is not None
    assert spaloops.compiled_loops(0.01) is not None


def test_without_numba_there_are_no_loops(monkeypatch):
    monkeypatch.setattr(spaloops, "worth", lambda seconds: False)
    assert spaloops.compiled_loops(3600.0) is None


def multiplied(monkeypatch, n_metrics):
    """How many numbers the matrix products of all draws multiply."""
    products = []
    plain = np.matmul

    def counted(x, y, **options):
        products.append(x.size * y.shape[1])
        return plain(x, y, **options)

    monkeypatch.setattr(np, "matmul", counted)
    drawn(monkeypatch, None, (n_metrics, 4, 30), "inputs", 20)
    monkeypatch.setattr(np, "matmul", plain)
    return sum(products)


def test_matrix_products_grow_with_metrics_not_with_their_pairs(monkeypatch):
    few, many = (multiplied(monkeypatch, n) for n in (4, 12))
    assert few > 0
    assert many == 3 * few


def test_products_of_metrics_are_held_for_some_pairs_at_a_time(monkeypatch):
    held = []
    plain = swappedspa._Buffers.of

    def noted(signs, n_pairs):
        held.append(n_pairs)
        return plain(signs, n_pairs)

    monkeypatch.setattr(swappedspa._Buffers, "of", noted)
    monkeypatch.setattr(swappedspa, "_TOGETHER", 20)
    for n_metrics in (4, 12):
        drawn(monkeypatch, None, (n_metrics, 3, 10), "cells", 5)
    assert held == [6, 20]
