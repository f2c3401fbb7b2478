"""Leaderboards and repeated runs: naive twins, coverage, real logs, and what the command prints."""

from __future__ import annotations

import csv
import itertools
import json
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.special import beta
from tests.stats.judged import realdata

import steelyard as sy
from steelyard.cli.main import run
from steelyard.comparison.suites import enough_runs, run_noise
from steelyard.core.errors import UsageError
from steelyard.core.table import plain
from steelyard.stats.estimate import passes, rate_estimate
from steelyard.stats.strength.bradleyterry import bradley_terry
from steelyard.stats.strength.clustered_errors import fewest_battles, fewest_items
from steelyard.stats.strength.wins import WinCounts

# Fewest battles between neighbours of the arena, from the first on; each is that of a refit.
ARENA = [177, 68, 120, 85, 32, 45, 5, 37, 90, 216, 11, 6, 78, 18, 93, 25, 148, 29, 52]


def test_passes_are_averages_over_subsets_of_runs() -> None:
    rng = np.random.default_rng(0)
    for n in range(1, 7):
        runs = rng.integers(0, 2, (12, n))
        for k in range(1, n + 1):
            subsets = [runs[:, list(one)] for one in itertools.combinations(range(n), k)]
            every = np.mean([one.all(axis=1) for one in subsets], axis=0)
            some = np.mean([one.any(axis=1) for one in subsets], axis=0)
            c, size = runs.sum(axis=1), np.full(12, n)
            assert passes(c, size, k, every=True) == pytest.approx(every)
            assert passes(c, size, k, every=False) == pytest.approx(some)
    assert np.isnan(passes(np.array([1.0]), np.array([2.0]), 3, every=True)).all()


def coverage(a: float, b: float, n_items: int, n_runs: int, k: int, n: int) -> float:
    """How often the interval of pass^k holds what all items of a Beta distribution have."""
    rng = np.random.default_rng(n_items + n_runs)
    truth = beta(a + k, b) / beta(a, b)
    hits = 0
    for _ in range(n):
        correct = rng.binomial(n_runs, rng.beta(a, b, n_items)).astype(float)
        own = rate_estimate(passes(correct, np.full(n_items, float(n_runs)), k, every=True))
        hits += bool(own.low <= truth <= own.high)
    return hits / n


@pytest.mark.parametrize("shape", [(1, 1), (0.3, 0.3), (3, 1), (8, 2)])
@pytest.mark.parametrize("n_items", [50, 200])
def test_intervals_of_pass_all_cover(shape: tuple[float, float], n_items: int) -> None:
    assert 0.93 <= coverage(*shape, n_items, 5, 3, 1000) <= 0.97


def test_noise_is_that_of_runs_and_of_items() -> None:
    rng = np.random.default_rng(1)
    runs = rng.normal(0, 2, (4000, 1)) + rng.normal(0, 1, (4000, 4))
    within, between = run_noise(runs)
    assert within == pytest.approx(1, abs=0.05)
    assert between == pytest.approx(4, abs=0.3)
    kept = np.sqrt(4 / (4 + 1 / np.arange(1, 50)))  # of the width, with endless runs
    assert enough_runs(1.0, 4.0) == 1 + int(np.argmax(kept >= 0.95))
    assert enough_runs(1.0, 0.0) is None


def test_fewest_items_is_the_smallest_subset() -> None:
    rng = np.random.default_rng(2)
    for _ in range(60):
        ahead = rng.choice([-1.0, 0.0, 0.5, 1.0], 9)
        if ahead.sum() <= 0:
            continue
        naive = next(
            m for m in range(1, 10)
            if any(ahead.sum() - sum(one) <= 1e-12 for one in itertools.combinations(ahead, m))
        )  # fmt: skip
        assert fewest_items(ahead) == naive


def small_logs(n: int):
    """Connected logs of three or four systems."""
    rng = np.random.default_rng(0)
    for _ in range(n):
        k = int(rng.integers(3, 5))
        wins, ties, strength = np.zeros((k, k)), np.zeros((k, k)), rng.normal(0, 0.7, k)
        for _ in range(int(rng.integers(10, 20))):
            i, j = rng.choice(k, 2, replace=False)
            if rng.random() < 0.2:
                ties[i, j] += 1
                ties[j, i] += 1
            elif rng.random() < 1 / (1 + np.exp(strength[j] - strength[i])):
                wins[i, j] += 1
            else:
                wins[j, i] += 1
        if bradley_terry(wins, ties).connected:
            yield wins, ties


def brute_force(wins, ties, first: int, second: int, most: int) -> int | None:
    """Try all removals of up to so many battles."""
    battles = []
    for i, j in itertools.combinations(range(len(wins)), 2):
        battles += [(i, j, "w")] * int(wins[i, j]) + [(j, i, "w")] * int(wins[j, i])
        battles += [(i, j, "t")] * int(ties[i, j])
    for m in range(1, most + 1):
        for gone in sorted(set(itertools.combinations(battles, m))):
            w, t = wins.copy(), ties.copy()
            for i, j, kind in gone:
                if kind == "w":
                    w[i, j] -= 1
                else:
                    t[i, j] -= 1
                    t[j, i] -= 1
            fit = bradley_terry(w, t)
            theta = fit.log_strength
            over = theta[first] - theta[second] <= 1e-9 if fit.connected else (
                fit.ranks[first] >= fit.ranks[second])  # fmt: skip
            if over:
                return m
    return None


def test_fewest_battles_against_brute_force() -> None:
    most, same, near = 3, 0, 0
    for wins, ties in small_logs(30):
        theta = bradley_terry(wins, ties).log_strength
        order = np.argsort(-theta)
        for i, j in itertools.pairwise(order.tolist()):
            if theta[i] - theta[j] < 1e-6:
                continue
            ours, naive = (
                fewest_battles(WinCounts(wins, ties), theta, i, j),
                brute_force(wins, ties, i, j, most),
            )
            if naive is None:
                assert ours is None or ours > most
                continue
            assert ours is not None
            assert naive <= ours <= naive + 1
            same, near = same + (ours == naive), near + (ours > naive)
    assert same >= 40
    assert near <= 1


def test_the_arena(shared: Path) -> None:
    log = realdata.arena(shared)
    points = log.points("human")
    wins, ties = np.zeros((20, 20)), np.zeros((20, 20))
    np.add.at(wins, (log.left[points == 1], log.right[points == 1]), 1)
    np.add.at(wins, (log.right[points == 0], log.left[points == 0]), 1)
    for one, other in ((log.left, log.right), (log.right, log.left)):
        np.add.at(ties, (one[points == 0.5], other[points == 0.5]), 1)
    theta = bradley_terry(wins, ties).log_strength
    order = np.argsort(-theta).tolist()
    counts = WinCounts(wins, ties)
    assert [fewest_battles(counts, theta, i, j) for i, j in itertools.pairwise(order)] == ARENA


def table(path: Path, rows: list[list[object]]) -> str:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(rows)
    return str(path)


def json_of(capsys, *words: str) -> dict[str, Any]:
    assert run([*words, "--json"]) == 0
    return dict(json.loads(capsys.readouterr().out))


def test_the_command_on_an_arena(shared: Path, capsys) -> None:
    log = str(shared / "judges/arena-judges/battles.csv.gz")
    board = json_of(capsys, "compare", "--battles", log, "--outcome", "human")["board"]
    assert [flip["fewest"] for flip in board["flips"]] == ARENA
    assert (board["first"], board["of"], board["n"]) == ("gpt-4", "battles", 26919)
    assert (board["tied_with_first"], board["chance_first"]) == ([], 1.0)


def test_a_matrix_of_models_and_tasks(tmp_path: Path, capsys) -> None:
    rows: list[list[object]] = [
        ["model", "mmlu", "gsm8k", "arc", "boolq"], ["A", 70, 61, 55, 80],
        ["B", 69, 60, 57, 78], ["C", 50, 40, 41, 60],
    ]  # fmt: skip
    found = json_of(capsys, "compare", table(tmp_path / "board.csv", rows))
    assert found["aggregations"]["mean"]["scores"] == {"A": 66.5, "B": 66.0, "C": 47.75}
    board = found["board"]
    assert [(flip["system"], flip["next"], flip["fewest"]) for flip in board["flips"]] == [
        ("A", "B", 1), ("B", "C", 4)
    ]  # fmt: skip
    assert (board["of"], board["n"]) == ("items", 4)
    assert 0 < board["chance_first"] < 1
    assert "B" in board["tied_with_first"]
    two = table(tmp_path / "two.csv", [row[:3] for row in rows])
    assert run(["compare", two]) == 2
    assert "scores of whole systems" in capsys.readouterr().err


def test_lists_of_resolved_instances(tmp_path: Path, capsys) -> None:
    lists = {"new": ["a", "b", "c"], "old": ["a"], "other": ["b", "d"]}
    for model, resolved in lists.items():
        folder = tmp_path / "verified" / model / "results"
        folder.mkdir(parents=True)
        report = {"no_generation": ["e"], "resolved": resolved}
        (folder / "results.json").write_text(json.dumps(report))
    found = json_of(capsys, "compare", str(tmp_path / "verified"))
    assert found["n_segments"] == 5
    assert found["aggregations"]["mean"]["scores"] == {"new": 0.6, "old": 0.2, "other": 0.4}
    harness = {"total_instances": 3, "resolved_ids": ["a"], "unresolved_ids": ["b", "c"]}
    for name in ("m1", "m2"):
        (tmp_path / f"{name}.json").write_text(json.dumps(harness))
    found = json_of(capsys, "compare", str(tmp_path / "m1.json"), str(tmp_path / "m2.json"))
    assert found["aggregations"]["mean"]["scores"] == pytest.approx({"m1": 1 / 3, "m2": 1 / 3})


def test_repeated_runs(tmp_path: Path, capsys) -> None:
    right = {"A": [[1, 1, 1], [1, 0, 1], [0, 0, 0]], "B": [[1, 1, 1], [1, 1, 1], [0, 1, 0]]}
    rows: list[list[object]] = [["model", "item", "seed", "correct"]]
    rows += [[system, f"q{i}", seed, value] for system, items in right.items()
             for i, values in enumerate(items) for seed, value in enumerate(values)]  # fmt: skip
    path = table(tmp_path / "runs.csv", rows)
    repeats = json_of(capsys, "compare", path, "--k", "1,2,3")["repeats"]
    assert (repeats["score"], repeats["k"]) == ("correct", [1, 2, 3])
    assert plain(sy.compare(path, pass_k=[1, 2, 3]).to_dict()["repeats"]) == repeats
    with pytest.raises(UsageError, match="not a loaded set"):
        sy.compare(sy.load(path), pass_k=[1])
    first, second = repeats["systems"]
    assert (first["n_items"], first["n_runs"], first["flips"]) == (3, [3, 3], ["q1"])
    assert second["flips"] == ["q2"]
    assert first["pass_all"]["2"]["value"] == pytest.approx((1 + 1 / 3 + 0) / 3)
    assert first["pass_at"]["2"]["value"] == pytest.approx((1 + 1 + 0) / 3)
    for kind in ("pass_all", "pass_at"):
        assert first[kind]["1"]["value"] == pytest.approx(5 / 9)
    assert first["within"] == pytest.approx(2 / 3 / 6)
    low, high = first["pass_all"]["3"]["ci"]
    assert 0 <= low < 1 / 3 < high <= 1
    assert run(["compare", path]) == 0
    assert "q2" in capsys.readouterr().out
    assert run(["compare", path, "--k", "4"]) == 2
    assert "up to 3 runs" in capsys.readouterr().err
    rated = table(tmp_path / "rated.csv", [[*row[:3], f"{row[3]}.5"] if k else row
                                           for k, row in enumerate(rows)])  # fmt: skip
    assert json_of(capsys, "compare", rated)["repeats"]["systems"][0]["pass_all"] == {}
    assert run(["compare", rated, "--k", "1"]) == 2
    assert "0 or 1" in capsys.readouterr().err
    single = table(tmp_path / "single.csv", [row for row in rows if row[2] in ("seed", 0)])
    assert run(["compare", single, "--k", "1"]) == 2
    assert "repeats" not in json_of(capsys, "compare", single)


def test_a_large_leaderboard_takes_less_than_two_seconds(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    hard, skill = rng.normal(0, 1.5, 500), rng.normal(0, 1, 134)
    right = rng.random((500, 134)) < 1 / (1 + np.exp(hard[:, None] - skill))
    rows: list[list[object]] = [["segment", *(f"m{k}" for k in range(134))]]
    rows += [[f"i{n}", *map(int, row)] for n, row in enumerate(right)]
    path = table(tmp_path / "board.csv", rows)
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    shown = subprocess.run([sys.executable, "-m", "steelyard", "compare", path], check=True,
                           capture_output=True, text=True)  # fmt: skip
    assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before < 2
    assert "of 500 segments decide" in shown.stdout
