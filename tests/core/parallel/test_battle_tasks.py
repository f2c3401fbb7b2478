"""Battle logs counted and resampled by several: the bytes of one, whatever they are split into."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from steelyard.cli.main import run
from steelyard.comparison.logs import compare_battles
from steelyard.core.errors import SteelyardError
from steelyard.core.parallel import Workers
from steelyard.core.table import dumps
from steelyard.formats import tables
from steelyard.formats.judged import logcounts

N = 4000


@pytest.fixture(autouse=True)
def _small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Five parts of units, rows by the thousand, three groups of parts."""
    monkeypatch.setattr(logcounts, "_MANY", 100)
    monkeypatch.setattr(logcounts, "_PART", 800)
    monkeypatch.setattr(logcounts, "_ROWS", 1000)
    monkeypatch.setattr("steelyard.formats.judged.logcounts._HELD", 3 * 24 * 50 * 45)


@pytest.fixture(scope="module")
def columns() -> dict[str, Any]:
    rng = np.random.default_rng(8)
    left = rng.integers(0, 10, N)
    right = (left + rng.integers(1, 10, N)) % 10
    better = rng.random(N) < 1 / (1 + np.exp((left - right) / 5))
    return {
        "left": [f"s{k}" for k in left],
        "right": [f"s{k}" for k in right],
        "outcome": np.where(rng.random(N) < 0.2, "tie", np.where(better, "left", "right")).tolist(),
        "unit": [f"p{k}" for k in rng.integers(0, 500, N)],
    }


@pytest.fixture(scope="module")
def log(columns: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("log") / "log.parquet"
    tables.write(path, columns)
    return path


def compared(path: Path, **workers: Any) -> str:
    """What a comparison says, but for where it was read."""
    found = compare_battles(path, n_bootstrap=50, rng=1, workers=Workers(**workers)).to_dict()
    assert found["n_battles"] == N
    assert found["n_segments"] == 500
    del found["provenance"], found["read"]
    return dumps(found)


@pytest.fixture(scope="module")
def alone(log: Path) -> str:
    """The comparison by one process, which takes the log whole."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(logcounts, "_MANY", 100)
        return compared(log)


def test_split_rows_and_parts(log: Path, alone: str) -> None:
    assert compared(log) == alone
    assert compared(log, jobs=2) == alone


def test_a_folder_of_files(columns: dict[str, Any], alone: str, tmp_path: Path) -> None:
    order = np.random.default_rng(3).permutation(N)
    for k, rows in enumerate(np.array_split(order, 3)):
        part = {name: [cells[row] for row in rows] for name, cells in columns.items()}
        tables.write(tmp_path / f"{k}.{('csv', 'jsonl', 'parquet')[k]}", part)
    assert compared(tmp_path) == alone


def test_on_a_cluster_that_loses_a_worker(log: Path, alone: str, cluster: Any) -> None:
    def lose(done: int, _total: int | None) -> None:
        if done == 2 and len(cluster.workers) == 2:
            cluster.kill_one()

    assert compared(log, cluster=cluster.address, progress=lose) == alone
    assert len(cluster.workers) == 1


def test_relative_paths_on_a_cluster(
    log: Path, alone: str, cluster: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Workers were started elsewhere."""
    monkeypatch.chdir(log.parent)
    kept = Path(os.path.relpath(tmp_path / "kept"))
    assert compared(Path(log.name), cluster=cluster.address, resume=kept) == alone


@pytest.mark.parametrize("steps", [1, 6, 11])
def test_interrupted_and_resumed(log: Path, alone: str, tmp_path: Path, steps: int) -> None:
    """Rows (4 tasks), then parts (5), then resamples (3 groups of parts)."""
    told = []

    def interrupt(done: int, _total: int | None) -> None:
        told.append(done)
        if len([one for one in told if one]) == steps:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        compared(log, resume=tmp_path, progress=interrupt)
    assert len(list(tmp_path.glob("*.npz"))) == steps
    assert compared(log, resume=tmp_path) == alone
    assert len(list(tmp_path.glob("*.npz"))) == 12
    assert compared(log, resume=tmp_path, jobs=2) == alone


def test_battles_that_are_gone(log: Path, tmp_path: Path) -> None:
    """What is kept must not be counted without the files that go with it."""
    compared(log, resume=tmp_path)
    shutil.rmtree(tmp_path / "rows" / "2")
    for kept in tmp_path.glob("units*"):
        kept.unlink() if kept.is_file() else shutil.rmtree(kept)
    with pytest.raises(SteelyardError, match="battles are gone"):
        compared(log, resume=tmp_path)


@pytest.mark.parametrize("damage", ["missing", "short"])
def test_units_that_are_gone(log: Path, tmp_path: Path, damage: str) -> None:
    compared(log, resume=tmp_path)
    for kept in tmp_path.glob("resamples*"):
        kept.unlink()
    part = tmp_path / "units" / "part-0.key.npy"
    if damage == "missing":
        part.unlink()
    else:
        part.write_bytes(part.read_bytes()[:200])
    with pytest.raises(SteelyardError, match=r"battles are gone from .*units"):
        compared(log, resume=tmp_path)


def test_counts_are_good_for_other_draws(log: Path, tmp_path: Path) -> None:
    """Another seed or another number of resamples needs no new counts."""
    compared(log, resume=tmp_path)
    rows = {path: path.stat().st_mtime_ns for path in tmp_path.glob("units/*.npy")}
    for n, seed in ((50, 2), (60, 1)):
        workers = Workers(resume=tmp_path)
        found = compare_battles(log, n_bootstrap=n, rng=seed, workers=workers)
        expected = compare_battles(log, n_bootstrap=n, rng=seed)
        assert dumps(found.to_dict()) == dumps(expected.to_dict())
    assert {path: path.stat().st_mtime_ns for path in tmp_path.glob("units/*.npy")} == rows


def test_a_short_text_is_split_where_asked(
    columns: dict[str, Any], alone: str, tmp_path: Path
) -> None:
    tables.write(tmp_path / "log.csv", columns)
    assert compared(tmp_path / "log.csv") == alone
    assert compared(tmp_path / "log.csv", resume=tmp_path / "kept") == alone
    assert len(list((tmp_path / "kept").glob("*.npz"))) > 2


def test_a_missing_log_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("x.parquet", "x.csv"):
        path = tmp_path / name
        assert run(["compare", "--battles", str(path), "--resume", str(tmp_path / "r")]) == 2
        assert capsys.readouterr().err == f"error: {path}: no such file\n"


def test_another_log_is_another_run(
    log: Path, columns: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = tmp_path / "log.parquet"
    tables.write(other, columns | {"outcome": ["tie"] * N})
    kept = ["--resume", str(tmp_path / "kept"), "--bootstrap", "50", "--json", "--quiet"]
    assert run(["compare", "--battles", str(log), *kept]) == 0
    assert json.loads(capsys.readouterr().out)["n_battles"] == N
    assert run(["compare", "--battles", str(other), *kept]) == 2
    assert "holds results of another run (inputs differ)" in capsys.readouterr().err
    assert run(["compare", "--battles", str(log), "--intervals", "battle", *kept]) == 2
    assert "(by_unit differ)" in capsys.readouterr().err
    scores = tmp_path / "scores.csv"
    scores.write_text("segment,A,B\n1,0.5,0.25\n2,0.5,0.5\n")
    assert run(["compare", str(scores), "--resume", str(tmp_path)]) == 2
    assert capsys.readouterr().err == (
        "error: --resume: only a log of battles is split (--battles LOG)\n"
    )


def test_tasks_that_a_scheduler_repeats(log: Path, alone: str, tmp_path: Path) -> None:
    """A task whose worker dies after it is done again, while others read what it wrote."""
    compared(log, resume=tmp_path)
    rows = {path: path.stat().st_mtime_ns for path in tmp_path.glob("rows/*/*.npy")}
    assert rows
    done = [*tmp_path.glob("battles.*.npz"), *tmp_path.glob("units.*.npz")]
    assert len(done) == 9  # four of rows, five of units
    for kept in done:
        kept.unlink()
    reader = np.load(tmp_path / "units" / "part-0.count.npy", mmap_mode="r")
    before = reader.copy()
    assert compared(log, resume=tmp_path) == alone
    assert {path: path.stat().st_mtime_ns for path in tmp_path.glob("rows/*/*.npy")} == rows
    np.testing.assert_array_equal(reader, before)


@pytest.mark.parametrize("other", ["tree", "plain", "array", "objects", "swapped"])
def test_a_result_that_is_not_ours_is_computed_again(
    log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], other: str
) -> None:
    kept = ["--resume", str(tmp_path / "kept"), "--bootstrap", "50", "--json", "--quiet"]
    assert run(["compare", "--battles", str(log), *kept]) == 0
    expected = capsys.readouterr().out
    results = sorted((tmp_path / "kept").glob("*.npz"))
    path = results[0]
    with np.load(path) as stored:
        members = dict(stored)
    if other == "swapped":
        path.write_bytes(results[1].read_bytes())
    elif other == "array":
        with path.open("wb") as stream:
            np.save(stream, np.arange(3))
    else:
        tree = np.frombuffer(b'{"keys": ["x"], "values": [1]}', np.uint8)
        changed = {"tree": members | {"tree": tree}, "plain": {"x": np.arange(3)},
                   "objects": members | {"tree": np.array([{}])}}[other]  # fmt: skip
        np.savez(path, **changed)
    assert run(["compare", "--battles", str(log), *kept]) == 0
    assert capsys.readouterr().out == expected
