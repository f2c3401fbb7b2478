"""What a unit of work costs, and whether it costs the same when there is much of it.

    python benchmarks/scale.py [--largest 1e8] [--folder DIR] [--only NAME]

Two kinds of work, by factors of ten: battles counted and resampled (100 systems, 10 battles a
prompt, 100 resamples, Parquet), and resamples of a meta-evaluation (swaps of 20 metrics on 12
systems and 500 segments, soft pairwise accuracy). All data are made here. Every size is a process
of its own, on one core and with one BLAS thread.

``CPU s`` is the whole work (of battles: with the Bradley-Terry fits), with the time to start taken
off. ``us each`` is that by unit; of battles, it is the time to count and draw them beyond that of a
log of 1e4, which is a column of its own (``fixed s``): opening files, a table of all pairs for each
resample. The last column is the time per unit against that at 1e5. The largest sizes need about
2 GB of disk each.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from steelyard.formats import duck

BATTLES = """
import numpy as np
from steelyard.comparison.logs import compare_battles
from steelyard.comparison.logs import LogSample
from steelyard.formats.judged.battle_counts import read_counts
def count(path, n):
    counted = read_counts(path)
    assert counted.n_battles == n
    for tables in LogSample(counted, n_resamples=100).tables(np.random.default_rng(0)):
        assert tables.wins.shape[1:] == (100, 100)
few = sys.argv[1].rsplit("-", 1)[0] + "-few.parquet"
count(few, 10_000)
fixed = least(count, few, 10_000, 20)
n = int(sys.argv[2])
each = None
if n > 10_000:
    times = max(1, 2 * 10**6 // n)  # what is short is measured often: the least has no noise
    each = (least(count, sys.argv[1], n, times) - fixed) / (n - 10_000)
told.update(each=each, fixed=fixed)
start()
assert compare_battles(sys.argv[1], by="bt", n_bootstrap=100).n_battles == n
"""
RESAMPLES = """
import numpy as np
from steelyard.stats.permutation.pvalues import pairwise_pvalues
from steelyard.stats.metametrics.swap_tests import Swaps, null_spa
rng = np.random.default_rng(0)
scores = rng.normal(size=(21, 12, 500))
human = pairwise_pvalues(scores[0]).p
start()
for _ in range(0, int(sys.argv[2]), 10_000):
    null_spa(human, scores[1:], Swaps(n=10_000, rng=rng))
"""
HEAD = """
import os, resource, sys
if hasattr(os, "sched_setaffinity"):
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
def used():
    own = resource.getrusage(resource.RUSAGE_SELF)
    return own.ru_utime + own.ru_stime
def start():
    global begun
    begun = used()
def least(fn, path, n, times):
    spent = []
    for _ in range(times):
        before = used()
        fn(path, n)
        spent.append(used() - before)
    return min(spent)
told = {}
"""
TAIL = """
import json
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
cpu = used() - begun
print(json.dumps({"cpu": cpu, "memory": peak, "each": cpu / int(sys.argv[2]), **told}))
"""


def make_battles(n: int, path: Path) -> None:
    """Write a log of battles between 100 systems, ten to a prompt."""
    with duck.connect() as connection:
        connection.execute("SET memory_limit = '1GB'; SET preserve_insertion_order = false")
        connection.execute(
            "COPY (SELECT 'model-' || a AS \"left\", 'model-' || (a + 1 + b) % 100 AS \"right\", "
            "CASE WHEN h % 10 < 2 THEN 'tie' WHEN (h >> 8) % 1000 < 500 + 2 * (b - 49) THEN 'left' "
            "ELSE 'right' END AS outcome, 'prompt-' || i // 10 AS unit FROM "
            "(SELECT i, hash(i) AS h, "
            "CAST(hash(i * 7 + 1) % 100 AS INTEGER) AS a, CAST(hash(i * 13 + 5) % 99 AS INTEGER) "
            f"AS b FROM range({n}) AS t(i))) TO {duck.literal(str(path))} (FORMAT parquet)"
        )


def measure(script: str, path: Path, n: int) -> dict[str, Any]:
    environment = os.environ | dict.fromkeys(
        ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"
    )
    command = [sys.executable, "-c", HEAD + script + TAIL, str(path), str(n)]
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def table(
    title: str, script: str, make: Callable[[int, Path], None] | None, largest: int, folder: Path
) -> None:
    names = ("CPU s", "fixed s", "us each", "per core-s", "peak MB", "to 1e5")
    widths = (9, 8, 9, 11, 8, 7)
    shown = " ".join(f"{name:>{width}}" for name, width in zip(names, widths, strict=True))
    print(f"\n{title:<12} {shown}")
    sizes = [10**k for k in range(4, 10) if 10**k < largest] + [largest]
    base: float | None = None
    suffix = "parquet" if title == "battles" else "jsonl"
    few = folder / f"{title}-few.{suffix}"
    if make is not None:
        make(10**4, few)
    for n in sizes:
        path = folder / f"{title}-{n}.{suffix}"
        if make is not None:
            make(n, path)
        found = measure(script, path, n)
        path.unlink(missing_ok=True)
        each = found["each"]
        base = each if n == 10**5 else base
        cells = [f"{found['cpu']:.2f}", f"{found.get('fixed', 0):.2f}"]
        cells += ["", ""] if each is None else [f"{each * 1e6:.2f}", f"{1 / each:,.0f}"]
        cells += [f"{found['memory']:.0f}", f"{each / base:.2f}" if each and base else ""]
        shown = " ".join(f"{cell:>{width}}" for cell, width in zip(cells, widths, strict=True))
        print(f"{n:<12.3g} {shown}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--largest", type=float, default=1e7, help="battles of the longest log")
    parser.add_argument(
        "--resamples", type=float, default=1e5, help="resamples of the longest test"
    )
    parser.add_argument("--folder", type=Path, help="where the data are made; by default in /tmp")
    parser.add_argument("--only", choices=["battles", "resamples"])
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=given.folder) as made:
        for title, script, make, largest in (
            ("battles", BATTLES, make_battles, given.largest),
            ("resamples", RESAMPLES, None, given.resamples),
        ):
            if given.only in (None, title):
                table(title, script, make, int(largest), Path(made))


if __name__ == "__main__":
    main()
