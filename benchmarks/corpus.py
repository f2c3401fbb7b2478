"""How fast corpus scores are: statistics of texts by sacreBLEU, then tests of all pairs.

    python benchmarks/corpus.py [TEXTS.jsonl.gz REFERENCE]

Without a file, statistics of 15 systems on 2,000 segments are drawn at random.
"""

from __future__ import annotations

import sys
import time

import numpy as np

import steelyard as sy
from steelyard.scoring.surface import Bleu, Chrf, surface_table
from steelyard.stats.permutation.corpus import CorpusStatistics, corpus_pvalues


def drawn(orders: int) -> np.ndarray:
    """Lengths of output and reference, then n-grams and matches of every order."""
    rng = np.random.default_rng(0)
    length = rng.integers(10, 40, (1, 2000, 1))
    own = length + rng.integers(-2, 3, (15, 2000, 1)) - np.arange(orders)
    return np.stack([own, np.broadcast_to(length, own.shape), rng.binomial(own, 0.5)], axis=-1)


def made() -> dict[str, CorpusStatistics]:
    chrf, bleu = drawn(6), drawn(4)
    columns = [bleu[:, :, :1, 0], bleu[:, :, :1, 1], bleu[..., 2], bleu[..., 0]]
    return {
        "bleu": CorpusStatistics(np.concatenate(columns, axis=-1), Bleu()),
        "chrf": CorpusStatistics(chrf.reshape(15, 2000, 18), Chrf()),
    }


def read(path: str, reference: str) -> dict[str, CorpusStatistics]:
    es, found = sy.load(path), {}
    for name in ("bleu", "chrf", "chrf++"):
        start = time.perf_counter()
        table = surface_table(es, name, [reference])
        rate = table.values.size / (time.perf_counter() - start)
        print(f"{name:6} {rate:8.0f} outputs/s")
        assert table.statistics is not None
        found[name] = table.statistics
    return found


def main() -> None:
    for name, stats in (read(*sys.argv[1:3]) if len(sys.argv) > 2 else made()).items():
        start = time.perf_counter()
        result = corpus_pvalues(stats)
        seconds = time.perf_counter() - start
        shape = " x ".join(map(str, stats.values.shape))
        print(f"{name:6} {shape}: {seconds:.2f} s for all pairs, error {result.error:.5f}")


if __name__ == "__main__":
    main()
