"""Fair signs at random: one bit each."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from steelyard.stats.arrays import Floats


def random_signs(n_resamples: int, n: int, rng: np.random.Generator) -> Floats:
    """Draw n_resamples x n fair signs, one random bit each (the same on every platform)."""
    signs = _random_bits(n_resamples, n, rng).astype(np.float64)
    signs *= 2
    signs -= 1
    return signs


def random_singles(n_resamples: int, n: int, rng: np.random.Generator) -> NDArray[np.float32]:
    """Draw the signs of :func:`random_signs` in single precision."""
    signs = _random_bits(n_resamples, n, rng).astype(np.float32)
    signs *= 2
    signs -= 1
    return signs


def _random_bits(n_resamples: int, n: int, rng: np.random.Generator) -> NDArray[np.uint8]:
    width = (n + 7) // 8
    bits = np.frombuffer(rng.bytes(n_resamples * width), np.uint8).reshape(n_resamples, width)
    return np.unpackbits(bits, axis=1, count=n)
