"""Sentinels as a floor: scores that know nothing of the quality of an output, for any set.

* ``random``: a random number for each output;
* ``name``: a number for each system that depends on its name alone;
* ``segment``: the mean human score of a segment, the same for all systems: all that can be known of
  quality without the output;
* ``length``, ``brevity``: number of characters of the output, and less them (where texts are
  known);
* ``source``: less the number of characters of the source, the same for all systems.

A metric that agrees with people no better than one of these has shown nothing.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence

import numpy as np

from steelyard.data.evalset import EvalSet, ScoreTable
from steelyard.stats.arrays import Floats, row_means

PREFIX = "sentinel-"
#: Names by which sentinels among the metrics of a set are known; what they use may follow.
_KNOWN = re.compile(r"(sentinel|random)([-_. ].*)?|(length|copy)(-src|-ref[^-]*)?", re.IGNORECASE)
DRAWN = ("random", "name")  # sentinels that chance has a part in


def is_sentinel(name: str) -> bool:
    """Tell by its name whether a metric is a sentinel.

    Examples
    --------
    >>> names = ("Random-sysname-src", "length", "sentinel-name", "chrF", "randomness")
    >>> [is_sentinel(name) for name in names]
    [True, True, True, False, False]
    """
    return _KNOWN.fullmatch(name) is not None


def sentinel_tables(
    es: EvalSet, human: str, rng: np.random.Generator, *, draws: int = 1
) -> dict[str, ScoreTable]:
    """Make the sentinels of a set; those with chance in them ``draws`` times, numbered.

    Examples
    --------
    >>> import steelyard as sy
    >>> sorted(sentinel_tables(sy.demo_set(), "mqm", np.random.default_rng(0)))
    ['sentinel-name', 'sentinel-random', 'sentinel-segment']
    """
    n, s = es.n_systems, es.n_segments
    found: dict[str, Floats] = {}
    numbers, salts = rng.spawn(2)
    for k in range(draws):
        mark = f"-{k + 1}" if draws > 1 else ""
        found[f"random{mark}"] = numbers.random((n, s))
        salt = int(salts.integers(2**32))
        hashes = np.array([[_hashed(name, salt)] for name in es.systems])
        found[f"name{mark}"] = np.broadcast_to(hashes, (n, s))
    people = row_means(es[human].oriented.T)
    found["segment"] = np.broadcast_to(people, (n, s))
    if es.outputs:
        blank = (None,) * s
        lengths = np.array([_lengths(es.outputs.get(name, blank)) for name in es.systems])
        found["length"], found["brevity"] = lengths, -lengths
    if es.segments.sources is not None:
        found["source"] = np.broadcast_to(-_lengths(es.segments.sources), (n, s))
    return {PREFIX + name: ScoreTable(np.array(values)) for name, values in found.items()}


def _hashed(name: str, salt: int) -> float:
    """Give a number between 0 and 1 for a name, the same on every machine."""
    digest = hashlib.sha256(f"{salt}:{name}".encode()).digest()
    return int.from_bytes(digest[:6], "big") / 2**48


def _lengths(texts: Sequence[str | None]) -> Floats:
    return np.array([np.nan if text is None else float(len(text)) for text in texts])
