"""Data that rows work on: simulated test sets, scores of systems, battles; and real ones, loaded.

Rows must run on other revisions, too (``make bench-compare``): only public names are used here.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import steelyard as sy
from harness.setting import Setting

Floats = NDArray[np.float64]
FULL = (14, 1315, 21)  # systems, segments and metrics of WMT22 en-de
SMALL = (4, 50, 3)
GOLD = "mqm"


@dataclass(frozen=True, eq=False)  # beds are told apart as objects: arrays have no hash
class Bed:
    """A test set: human scores, and metrics x systems x segments, none missing."""

    human: Floats
    metrics: Floats

    @property
    def shape(self) -> tuple[int, int, int]:
        return self.metrics.shape  # type: ignore[return-value]

    @property
    def n_pairs(self) -> int:
        """Pairs of metrics."""
        return math.comb(len(self.metrics), 2)

    @cached_property
    def evalset(self) -> sy.EvalSet:
        _, systems, segments = self.shape
        scores = {f"m{i:03d}": sy.ScoreTable(x) for i, x in enumerate(self.metrics)}
        scores[GOLD] = sy.ScoreTable(self.human, kind="human")
        names = tuple(f"s{i:02d}" for i in range(systems))
        return sy.EvalSet(names, sy.Segments(tuple(str(i) for i in range(segments))), scores)


@cache
def make_bed(systems: int, segments: int, metrics: int) -> Bed:
    """Make scores like MQM (61 % zeros, tenths, at least -25) and metrics that see through noise.

    Every seventh metric gives whole numbers from 0 to 100, as an LLM judge does.
    """
    rng = np.random.default_rng(0)
    hard = rng.normal(size=segments)
    flaw = 0.9 * hard + rng.normal(0, 0.22, (systems, 1)) + rng.normal(0, 0.9, (systems, segments))
    minor, major = (rng.poisson(np.exp(a + b * flaw)) for a, b in ((-1.3, 0.85), (-2.7, 1.05)))
    marks = rng.poisson(0.06, flaw.shape)
    human = np.round(np.maximum(-(minor + 5.0 * major + 0.1 * marks), -25), 1) + 0.0
    views = []
    for i, sight in enumerate(np.linspace(0.25, 0.85, metrics)):
        noise = math.sqrt(1 - sight**2) * rng.normal(size=flaw.shape)
        view = noise - sight * flaw - 0.3 * hard + rng.normal(0, 0.1, (systems, 1))
        share = 1 / (1 + np.exp(-view))
        views.append(np.round(100 * share) if i % 7 == 3 else view if i % 3 else share)
    return Bed(human, np.stack(views))


def wmt_files(pair: str) -> tuple[str, ...]:
    """Files of WMT23 below the shared data: ratings, metrics, texts."""
    kinds = ("human.csv.gz", "metrics.seg.csv.gz", "text.jsonl.gz")
    return tuple(f"wmt23-metrics/{pair}.{kind}" for kind in kinds)


@cache
def wmt(setting: Setting, pair: str) -> sy.EvalSet:
    assert setting.data is not None
    own = [setting.data / name for name in wmt_files(pair)[:2]]
    return sy.load(*own, human=GOLD)


def judged(es: sy.EvalSet) -> Bed:
    """What people scored, as arrays: the cells that the WMT toolkit is given."""
    human = es[GOLD].values
    rows = ~np.isnan(human).all(axis=1)
    columns = ~np.isnan(human[rows]).any(axis=0)
    cut = np.ix_(rows, columns)
    values = np.stack([es[name].values[cut] for name in es.metrics])
    return Bed(np.ascontiguousarray(human[cut]), np.nan_to_num(values))


# -------------------------------------------------------------------------- scores of systems


def score_matrix(systems: int, segments: int) -> Floats:
    """Scores of systems that differ little, with some ties, as metrics give them."""
    rng = np.random.default_rng(0)
    easy = rng.normal(0.6, 0.18, segments)
    gaps = np.linspace(-0.06, 0.06, systems)[:, None]
    return np.round(easy + gaps + rng.normal(0, 0.12, (systems, segments)), 2)


@cache
def scored(systems: int, segments: int) -> sy.EvalSet:
    names = tuple(f"system-{i:04d}" for i in range(systems))
    ids = sy.Segments(tuple(str(i) for i in range(segments)))
    return sy.EvalSet(names, ids, {"score": sy.ScoreTable(score_matrix(systems, segments))})


def score_file(setting: Setting, systems: int, segments: int, suffix: str) -> Path:
    """Write scores once, as a table or in the native format."""
    path, there = setting.made(f"scores-{systems}x{segments}.{suffix}")
    if not there:
        sy.save(scored(systems, segments), path)
    return path


# ------------------------------------------------------------------------------------ battles


@dataclass(frozen=True)
class Log:
    """Battles as codes, with a prompt each; a fifth of them ties."""

    left: NDArray[np.int32]
    right: NDArray[np.int32]
    outcome: Floats
    unit: NDArray[np.int32]
    systems: int

    @property
    def winners(self) -> NDArray[np.uint8]:
        """Outcomes as evalica codes them: 0 a draw, 1 the first, 2 the second."""
        codes = np.array([2, 0, 1], dtype=np.uint8)
        return codes[(self.outcome * 2).astype(np.int64)]

    def public(self) -> sy.BattleLog:
        names = tuple(f"system-{i:04d}" for i in range(self.systems))
        return sy.BattleLog(names, self.left, self.right, self.outcome)


@cache
def make_log(size: int, systems: int) -> Log:
    rng = np.random.default_rng(1)
    strength = rng.normal(0, 1, systems)
    left = rng.integers(0, systems, size, dtype=np.int32)
    step = rng.integers(1, systems, size, dtype=np.int32)
    right = ((left + step) % systems).astype(np.int32)
    p = 1 / (1 + np.exp(strength[right] - strength[left]))
    outcome = (rng.random(size) < p).astype(np.float64)
    outcome[rng.random(size) < 0.2] = 0.5
    unit = rng.integers(0, max(1, size // 10), size, dtype=np.int32)
    return Log(left, right, outcome, unit, systems)


def log_file(setting: Setting, size: int, systems: int) -> Path:
    """Write names, words and prompts once, as arenas do."""
    path, there = setting.made(f"battles-{size}.parquet")
    if not there:
        import duckdb

        log = make_log(size, systems)
        columns: dict[str, Any] = {
            "l": log.left,
            "r": log.right,
            "o": (log.outcome * 2).astype(np.int32),
            "u": log.unit,
        }
        part = path.with_suffix(".part")
        with duckdb.connect() as connection:
            connection.register("log", columns)
            connection.execute(
                "COPY (SELECT printf('system-%04d', l) AS \"left\", printf('system-%04d', r) AS "
                "\"right\", ['right', 'tie', 'left'][o + 1] AS outcome, 'prompt ' || u AS prompt "
                f"FROM log) TO '{part}' (FORMAT parquet)"
            )
        part.rename(path)
    return path
