"""Random numbers: always a Generator that is passed down, never a global state."""

from __future__ import annotations

import numpy as np

Rng = int | np.random.SeedSequence | np.random.Generator | None


def generator(rng: Rng = 0) -> np.random.Generator:
    """Turn what users pass as ``rng`` into a Generator.

    An integer seeds a new stream, a Generator is used as it is, and None draws fresh entropy.

    Examples
    --------
    >>> bool(generator(0).random() == generator(0).random())
    True
    """
    return np.random.default_rng(rng)


def streams(rng: Rng, n: int) -> list[np.random.Generator]:
    """Give each of ``n`` tasks a stream of its own, so that workers can run them in any order.

    Examples
    --------
    >>> first, second = streams(7, 2)
    >>> bool(first.random() == second.random())
    False
    >>> bool(streams(7, 2)[1].random() == streams(7, 5)[1].random())
    True
    """
    return generator(rng).spawn(n)
