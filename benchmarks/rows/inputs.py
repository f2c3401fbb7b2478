"""What is read before anything is computed, and corpus scores of texts that were read."""

from __future__ import annotations

import csv
import gzip
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np

import steelyard as sy
from harness.row import Row
from harness.setting import Setting
from harness.work import Call


def rows(setting: Setting) -> Iterator[Row]:
    """A table of the size of WMT23 zh-en, as text and in the native format."""
    metrics, systems, segments = (3, 4, 50) if setting.small else (45, 17, 1976)
    table, there = setting.made("scores.csv.gz")
    if not there:
        make(table, metrics, systems, segments)
    native, there = setting.made("scores.parquet")
    if not there:
        sy.save(sy.load(table), native)
    for key, path in (("load-csv", table), ("load-native", native)):
        yield Row(
            key=key,
            work=f"load {metrics} metrics of {systems} x {segments:,}, {''.join(path.suffixes)}",
            ours=Call(partial(sy.load, path)),
            peer="csv.DictReader of .csv.gz",
            theirs=Call(partial(plain_loop, table)),
            rounds=2,
            check=same_values,
        )


def make(path: Path, metrics: int, systems: int, segments: int) -> None:
    rng = np.random.default_rng(0)
    names = tuple(f"system-{i:02d}" for i in range(systems))
    scores = {
        f"metric{i:02d}-refA": sy.ScoreTable(rng.normal(size=(systems, segments)))
        for i in range(metrics)
    }
    sy.save(sy.EvalSet(names, sy.Segments(tuple(map(str, range(segments)))), scores), path)


def plain_loop(path: Path) -> dict[str, np.ndarray]:
    """csv.DictReader into dictionaries, then one array per metric."""
    found: dict[str, dict[tuple[str, str], float]] = {}
    with gzip.open(path, "rt", encoding="utf-8", newline="") as stream:
        for row in csv.DictReader(stream):
            key = (row.pop("system"), row.pop("segment"))
            for name, value in row.items():
                found.setdefault(name, {})[key] = float(value)
    systems = sorted({system for system, _ in found["metric00-refA"]})
    segments = sorted({segment for _, segment in found["metric00-refA"]}, key=int)
    return {
        name: np.array([[own[system, segment] for segment in segments] for system in systems])
        for name, own in found.items()
    }


def same_values(ours: sy.EvalSet, theirs: dict[str, np.ndarray] | None) -> str | None:
    for name, values in (theirs or {}).items():
        np.testing.assert_array_equal(ours[name].values, values)
    return None
