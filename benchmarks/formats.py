"""How fast inputs load: CPU time against a plain loop over Python's csv module, in the same run.

    python benchmarks/formats.py

The table is made here: 45 metrics x 17 systems x 1,976 segments, the size of WMT23 zh-en.
"""

from __future__ import annotations

import csv
import gzip
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

import steelyard as sy

METRICS, SYSTEMS, SEGMENTS = 45, 17, 1976


def make(path: Path) -> None:
    rng = np.random.default_rng(0)
    systems = tuple(f"system-{i:02d}" for i in range(SYSTEMS))
    segments = sy.Segments(tuple(str(i) for i in range(SEGMENTS)))
    scores = {
        f"metric{i:02d}-refA": sy.ScoreTable(rng.normal(size=(SYSTEMS, SEGMENTS)))
        for i in range(METRICS)
    }
    sy.save(sy.EvalSet(systems, segments, scores), path)


def plain_loop(path: Path) -> dict[str, np.ndarray]:
    """The baseline: csv.DictReader into dictionaries, then one array per metric."""
    cells: dict[str, dict[tuple[str, str], float]] = {}
    with gzip.open(path, "rt", encoding="utf-8", newline="") as stream:
        for row in csv.DictReader(stream):
            key = (row.pop("system"), row.pop("segment"))
            for name, value in row.items():
                cells.setdefault(name, {})[key] = float(value)
    systems = sorted({system for system, _ in cells["metric00-refA"]})
    segments = sorted({segment for _, segment in cells["metric00-refA"]}, key=int)
    return {
        name: np.array([[own[system, segment] for segment in segments] for system in systems])
        for name, own in cells.items()
    }


def cpu(task: Callable[[], object], repeats: int = 3) -> float:
    best = float("inf")
    for _ in range(repeats):
        start = time.process_time()
        task()
        best = min(best, time.process_time() - start)
    return best


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        table, native = Path(folder) / "scores.csv.gz", Path(folder) / "scores.parquet"
        make(table)
        sy.save(sy.load(table), native)
        expected = plain_loop(table)
        for name, values in expected.items():
            np.testing.assert_array_equal(sy.load(table)[name].values, values)
            break
        baseline = cpu(lambda: plain_loop(table), 1)
        print(f"{'input':<28} {'CPU s':>8} {'ratio':>8}")
        print(f"{'csv.DictReader loop':<28} {baseline:8.2f} {1:8.1f}")
        for label, path in (("long table (.csv.gz)", table), ("native (.parquet)", native)):
            seconds = cpu(lambda path=path: sy.load(path))  # type: ignore[misc]
            print(f"{label:<28} {seconds:8.2f} {baseline / seconds:8.1f}")


if __name__ == "__main__":
    main()
