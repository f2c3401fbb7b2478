"""How fast systems are ranked: CPU time against other packages and plain loops, in the same run.

    python benchmarks/compare.py [--quick] [--folder DIR]

Baselines: evalica, choix and trueskill (``pip install 'steelyard[bench]'``); the paired-evaluation
paper's Bradley-Terry as plain loops, written here from its description, and its package
(pairformance) where that is installed. All data are made here; ``--quick`` takes a tenth of the
battles. CPU time of one process, one BLAS thread, best of several; DuckDB may use more threads,
whose time is counted, too. The last part runs the whole job, from Parquet to intervals, in a
process of its own, and gives its wall time and memory.
"""
# ruff: noqa: E402 - BLAS looks for its number of threads when numpy is imported

from __future__ import annotations

import os

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_name] = "1"

import argparse
import importlib
import itertools
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steelyard.formats import duck
from steelyard.formats.judged.logcounts import read_counts
from steelyard.stats.strength.battlelog import Battles, battle_counts
from steelyard.stats.strength.bradleyterry import Strengths, bradley_terry, bradley_terry_pairs
from steelyard.stats.strength.elo import EloOptions, elo_ratings
from steelyard.stats.strength.trueskill import trueskill_ratings
from steelyard.stats.strength.wins import win_counts

Floats = NDArray[np.float64]
Task = Callable[[], Any]
WHOLE = """
import json, resource, sys, time
from steelyard.comparison.logs import compare_battles
start = time.perf_counter()
found = compare_battles(sys.argv[1], by="bt", n_bootstrap=100)
bt = found.aggregations["bt"]
use = resource.getrusage(resource.RUSAGE_SELF)
print(json.dumps({"wall": time.perf_counter() - start, "cpu": use.ru_utime + use.ru_stime,
                  "memory": use.ru_maxrss / 1024, "defined": bool((bt.low < bt.high).all())}))
"""


def cpu(task: Task, repeats: int = 3) -> tuple[float, Any]:
    """CPU seconds of the fastest of several runs, and what it gave."""
    best, result = float("inf"), None
    for _ in range(repeats):
        start = time.process_time()
        result = task()
        best = min(best, time.process_time() - start)
    return best, result


def package(name: str) -> Any:
    """Import a baseline, or None where it is not installed."""
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


def row(what: str, who: str, seconds: float, ours: float | None = None, note: str = "") -> None:
    """Print a line: how long it took, and how many times our time that is."""
    ratio = "" if ours is None else f"{seconds / ours:8.1f}"
    print(f"{what:<34} {who:<34} {seconds:9.4f} {ratio:>8}  {note}".rstrip(), flush=True)


# -------------------------------------------------------------------------------- the test beds


def score_matrix(systems: int, segments: int) -> Floats:
    """Scores of systems that differ little, with some ties, as metrics give them."""
    rng = np.random.default_rng(0)
    easy = rng.normal(0.6, 0.18, segments)
    gaps = np.linspace(-0.06, 0.06, systems)[:, None]
    return np.round(easy + gaps + rng.normal(0, 0.12, (systems, segments)), 2)


@dataclass(frozen=True)
class Log:
    """Battles as codes, with a prompt each; a fifth of them ties."""

    battles: Battles
    unit: NDArray[np.int32]

    @classmethod
    def make(cls, size: int, systems: int, units: int) -> Log:
        rng = np.random.default_rng(1)
        strength = rng.normal(0, 1, systems)
        left = rng.integers(0, systems, size, dtype=np.int32)
        step = rng.integers(1, systems, size, dtype=np.int32)
        right = ((left + step) % systems).astype(np.int32)
        p = 1 / (1 + np.exp(strength[right] - strength[left]))
        outcome = (rng.random(size) < p).astype(np.float64)
        outcome[rng.random(size) < 0.2] = 0.5
        unit = rng.integers(0, units, size, dtype=np.int32)
        return cls(Battles(left, right, outcome, systems), unit)

    @property
    def winners(self) -> NDArray[np.uint8]:
        """Outcomes as evalica codes them: 0 a draw, 1 the first, 2 the second."""
        codes = np.array([2, 0, 1], dtype=np.uint8)
        return codes[(self.battles.outcome * 2).astype(np.int64)]

    def write(self, path: Path) -> None:
        """Write names and words, as arenas do."""
        columns = {
            "l": self.battles.left,
            "r": self.battles.right,
            "o": (self.battles.outcome * 2).astype(np.int32),
            "u": self.unit,
        }
        with duck.connect() as connection:
            connection.register("log", columns)
            connection.execute(
                "COPY (SELECT printf('system-%04d', l) AS \"left\", printf('system-%04d', r) AS "
                "\"right\", ['right', 'tie', 'left'][o + 1] AS outcome, 'p' || u AS prompt "
                f"FROM log) TO {duck.literal(str(path))} (FORMAT parquet)"
            )


# ------------------------------------------------------------------------------- the plain loops


def paper_loops(scores: Floats) -> Floats:
    """Bradley-Terry as the paper's code is described: loops over instances, pairs and systems.

    A pair's instances are gone through one by one, and what the first does not win is the second's;
    then the classic iteration from 0.5, until the squares of the changes sum to less than 1e-9.
    """
    n = len(scores)
    wins = np.zeros((n, n))
    for i, j in itertools.combinations(range(n), 2):
        first = sum([int(a > b) for a, b in zip(scores[i], scores[j], strict=True)])
        wins[i][j], wins[j][i] = first, len(scores[i]) - first
    won = wins.sum(axis=1)
    strength = [0.5] * n
    while True:
        new = []
        for i in range(n):
            total = 0.0
            for j in range(n):
                if i != j:
                    total += (wins[i][j] + wins[j][i]) / (strength[i] + strength[j])
            new.append(won[i] / total)
        scale = sum(new)
        new = [x / scale for x in new]
        change = sum([(a - b) ** 2 for a, b in zip(new, strength, strict=True)])
        strength = new
        if change < 1e-9:
            return np.array(new)


def matrices(*, quick: bool) -> None:
    """Bradley-Terry from scores of 12 systems, and of 200."""
    scores = score_matrix(12, 11_432)
    what = "BT, scores 12 x 11,432"

    def ours(ties: str = "half", method: str = "newton") -> Strengths:
        counts = win_counts(scores)
        return bradley_terry(counts.wins, counts.ties, ties_as=ties, method=method)

    fast, _ = cpu(ours, 200)
    alike, found = cpu(lambda: ours("second", "mm"), 200)
    row(what, "steelyard, Newton", fast, fast)
    row(what, "steelyard, the paper's iteration", alike, fast)
    slow, expected = cpu(lambda: paper_loops(scores), 5)
    np.testing.assert_allclose(found.strength, expected, rtol=1e-9)
    row(what, "the paper's loops", slow, fast)
    pairformance = package("pairformance.bt")
    if pairformance is not None:
        import pandas as pd

        frame = pd.DataFrame(scores.T)
        slow, expected = cpu(lambda: pairformance.BT(frame), 2)
        counts = win_counts(scores)
        same = bradley_terry(counts.wins, counts.ties, ties_as="drop", method="mm")
        np.testing.assert_allclose(same.strength, expected, rtol=1e-9)
        row(what, "pairformance", slow, fast)
    size = 10_000 if quick else 100_000
    wide = score_matrix(200, size)
    counts_time, counts = cpu(lambda: win_counts(wide), 1)
    fit_time, _ = cpu(lambda: bradley_terry(counts.wins, counts.ties), 1)
    row(f"BT, scores 200 x {size:,}", "steelyard, Newton", counts_time + fit_time)


def logs(size: int, systems: int, *, names: bool, folder: Path) -> None:
    """Bradley-Terry from a log: integer codes in memory, and names from Parquet."""
    log = Log.make(size, systems, max(1, size // 100))
    battles = log.battles
    what = f"BT, {size:,} battles of {systems:,}"

    def ours() -> Floats:
        counts = battle_counts(battles)
        return bradley_terry(counts.wins, counts.ties).strength

    fast, expected = cpu(ours)
    row(what, "steelyard, codes", fast, fast)
    evalica, choix = package("evalica"), package("choix")
    if evalica is not None:
        import pandas as pd

        index = pd.Index(range(systems))
        winners = log.winners
        slow, found = cpu(
            lambda: evalica.bradley_terry(battles.left, battles.right, winners, index=index), 1
        )
        scores = found.scores.sort_index().to_numpy()
        off = np.abs(scores / scores.sum() - expected).max()
        row(what, "evalica, codes", slow, fast, f"differs by {off:.0e}")
    if choix is not None and size <= 1_000_000:
        keep = battles.outcome != 0.5
        first = battles.outcome[keep] == 1
        left, right = battles.left[keep], battles.right[keep]
        won = np.where(first, left, right).tolist()
        lost = np.where(first, right, left).tolist()
        slow, _ = cpu(lambda: choix.ilsr_pairwise(systems, list(zip(won, lost, strict=True))), 1)
        row(what, "choix, codes, ties dropped", slow, fast)
    path = folder / f"{size}.parquet"
    log.write(path)
    fast, found = cpu(lambda: bradley_terry_pairs(read_counts(path, by_unit=False).pairs), 1)
    np.testing.assert_allclose(found.strength, expected, rtol=1e-9)
    row(what, "steelyard, names in Parquet", fast, fast)
    if evalica is not None and package("pyarrow") is not None and names:
        import pandas as pd

        def peer() -> Any:
            frame = pd.read_parquet(path, columns=["left", "right", "outcome"])
            words = {
                "left": evalica.Winner.X,
                "right": evalica.Winner.Y,
                "tie": evalica.Winner.Draw,
            }
            return evalica.bradley_terry(
                frame["left"], frame["right"], frame["outcome"].map(words).tolist()
            )

        slow, _ = cpu(peer, 1)
        row(what, "evalica, names in Parquet", slow, fast)


def ratings(size: int) -> None:
    """Elo and TrueSkill, battle after battle."""
    battles = Log.make(size, 100, 100).battles
    options = EloOptions(k=4, initial=1000)
    fast, expected = cpu(lambda: elo_ratings(battles, options), 1)
    what = f"Elo, {size:,} battles"
    row(what, "steelyard", fast, fast)
    evalica, trueskill = package("evalica"), package("trueskill")
    if evalica is not None:
        import pandas as pd

        winners = Log(battles, battles.left).winners
        slow, found = cpu(
            lambda: evalica.elo(battles.left, battles.right, winners, index=pd.Index(range(100))), 1
        )
        np.testing.assert_allclose(found.scores.sort_index(), expected, atol=1e-6)
        row(what, "evalica", slow, fast)
    few = 10_000
    short = Battles(battles.left[:few], battles.right[:few], battles.outcome[:few], 100)
    what = f"TrueSkill, {few:,} battles"
    fast, skills = cpu(lambda: trueskill_ratings(short), 3)
    row(what, "steelyard", fast, fast)
    if trueskill is not None:

        def play() -> list[Any]:
            rated = [trueskill.Rating() for _ in range(100)]
            for i, j, score, _ in short.rows():
                if score:
                    rated[i], rated[j] = trueskill.rate_1vs1(rated[i], rated[j], drawn=score == 0.5)
                else:
                    rated[j], rated[i] = trueskill.rate_1vs1(rated[j], rated[i])
            return rated

        slow, rated = cpu(play, 1)
        np.testing.assert_allclose(skills.mu, [r.mu for r in rated], atol=1e-5)
        row(what, "trueskill", slow, fast)


def whole_job(path: Path, size: int) -> None:
    """From Parquet to strengths with 100 resamples of the prompts, in a process of its own."""
    command = [sys.executable, "-c", WHOLE, str(path)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    found = json.loads(done.stdout)
    assert found["defined"]
    note = f"{found['wall']:.0f} s on the clock, {found['memory']:.0f} MB"
    row(
        f"BT with intervals, {size:,} battles",
        "steelyard, names in Parquet",
        found["cpu"],
        note=note,
    )


@dataclass(frozen=True)
class _Sizes:
    few: int
    many: int
    systems: int


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a tenth of the battles")
    parser.add_argument("--folder", type=Path, help="where the logs are made; by default in /tmp")
    given = parser.parse_args()
    sizes = _Sizes(100_000, 1_000_000, 1000) if given.quick else _Sizes(1_000_000, 10_000_000, 1000)
    print(f"{'task':<34} {'by':<34} {'CPU s':>9} {'ratio':>8}")
    matrices(quick=given.quick)
    with tempfile.TemporaryDirectory(dir=given.folder) as made:
        folder = Path(made)
        ratings(sizes.few)
        logs(sizes.few, 100, names=True, folder=folder)
        logs(sizes.many, sizes.systems, names=given.quick, folder=folder)
        whole_job(folder / f"{sizes.many}.parquet", sizes.many)


if __name__ == "__main__":
    main()
