"""Random numbers: always a Generator that is passed down, never a global state."""

from __future__ import annotations

import numpy as np

from steelyard.core.options import bad_value

Rng = int | np.random.SeedSequence | np.random.Generator | None


def generator(rng: Rng = 0) -> np.random.Generator:
    """Turn what users pass as ``rng`` into a Generator.

    An integer seeds a new stream, a Generator is used as it is, and None draws fresh entropy.

    Examples
    --------
    >>> bool(generator(0).random() == generator(0).random())
    True
    """
    check_rng(rng)
    return np.random.default_rng(rng)


def check_rng(rng: Rng) -> None:
    """Refuse what can't seed anything, also where nothing is drawn.

    Examples
    --------
    >>> check_rng(-1)
    Traceback (most recent call last):
    steelyard.core.errors.UsageError: rng is a seed (a whole number of at least 0), ... got -1
    """
    seed = isinstance(rng, (int, np.integer)) and not isinstance(rng, bool) and rng >= 0
    if not (rng is None or seed or isinstance(rng, (np.random.SeedSequence, np.random.Generator))):
        wanted = "a seed (a whole number of at least 0), a NumPy Generator or SeedSequence, or None"
        raise bad_value("rng", wanted, rng)


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
