"""The benchmarks: every row runs, on data so small that it takes seconds; the table tells it."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"
OWN = ("bench", "beds", "exactness", "harness", "mtme", "rows")


@pytest.fixture
def load(monkeypatch, tmp_path):
    """Import a module of the benchmarks, which are no package."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    monkeypatch.setenv("STEELYARD_BENCH_CACHE", str(tmp_path))
    before = set(sys.modules)
    yield importlib.import_module
    for name in set(sys.modules) - before:
        if name.partition(".")[0] in (*OWN, "mt_metrics_eval", "apache_beam"):
            del sys.modules[name]


@pytest.fixture
def setting(load, tmp_path):
    return load("harness.setting").Setting(tmp_path, small=True)


def measured(load, setting, group, skip=(), **how):
    measure = load("harness.row").measure
    rows = load("rows").rows_of(group, setting)
    found = [measure(row, rounds=1, **how) for row in rows if row.key not in skip]
    return {row["key"]: row for row in found}


def test_every_row_of_meta_evaluation_runs_and_agrees_with_the_plain_algorithms(load, setting):
    found = measured(load, setting, "meta")
    assert list(found) == [
        "spa", "spa-mtme", "spa-wmt", "test-spa-inputs", "test-spa-cells",
        "test-spa-300", "calibration", "calibration-several", "calibration-none", "tau",
        "bootstrap", "spa-memory",
    ]  # fmt: skip
    assert found["spa-wmt"]["skipped"] == "no STEELYARD_SHARED"
    for key in ("spa", "test-spa-cells", "calibration", "tau", "bootstrap"):
        row = found[key]
        assert row["peer"] == "MTME's algorithm"
        assert row["ratio"] == pytest.approx(row["peer_amount"] / row["ours"])
    assert found["test-spa-inputs"]["extrapolated"] == 3000
    assert found["spa"]["extrapolated"] is None
    assert found["spa-mtme"]["remark"] == "p-values equal the peer's bit for bit"
    assert found["spa"]["remark"].startswith("error ")
    assert found["spa-memory"]["unit"] == "x data"
    assert "/" in found["test-spa-cells"]["dominant"]  # a function of ours


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("group", "keys"),
    [
        ("systems", {"bt-scores", "bt-scores-package", "compare-default", "compare-many"}),
        pytest.param(
            "battles", {"bt-log", "bt-log-choix", "elo-2000", "elo-5000", "elo-orders", "trueskill",
                        "trueskill-orders", "battles-none", "battles-100"},
            marks=pytest.mark.thorough),
        ("inputs", {"load-csv", "load-native"}),
    ],
)  # fmt: skip
def test_every_row_of_systems_battles_and_inputs_runs(load, setting, group, keys):
    found = measured(load, setting, group, watch=False)
    assert set(found) == keys
    for key, row in found.items():
        assert "skipped" in row or row["ours"] > 0, key


def test_rows_without_data_or_peers_say_why(load, setting, monkeypatch):
    commands = measured(load, setting, "commands", skip=("help", "demo"))
    assert commands["report"]["skipped"] == "no STEELYARD_SHARED"
    assert commands["import"]["reached"] in (True, False)
    texts = measured(load, setting, "texts")
    assert texts["bleu"]["skipped"] == "no STEELYARD_SHARED"
    monkeypatch.setitem(sys.modules, "evalica", None)
    row = next(iter(load("rows").rows_of("battles", setting)))
    assert row.skip == "evalica is not installed"
