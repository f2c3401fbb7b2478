"""Random numbers: always a Generator that is passed down, never a global state."""

from __future__ import annotations

import numpy as np

from steelyard.core.options import bad_value

Rng = int | np.random.SeedSequence | np.random.Generator | None


def generator(rng: Rng = 0) -> np.random.Generator:
    """Return ``rng`` itself if it is a Generator, else a new one with that seed or a fresh one."""
    check_rng(rng)
    return np.random.default_rng(rng)


def check_rng(rng: Rng) -> None:
    """Raise UsageError for what can't seed anything, also where nothing is drawn."""
    seed = isinstance(rng, (int, np.integer)) and not isinstance(rng, bool) and rng >= 0
    if not (rng is None or seed or isinstance(rng, (np.random.SeedSequence, np.random.Generator))):
        wanted = "a seed (a whole number of at least 0), a NumPy Generator or SeedSequence, or None"
        raise bad_value("rng", wanted, rng)


def streams(rng: Rng, n: int) -> list[np.random.Generator]:
    """Return a stream for each of ``n`` tasks, so that workers can run them in any order."""
    return generator(rng).spawn(n)
