"""The benchmark of meta-evaluation runs, and what it compares agrees."""

from __future__ import annotations

import importlib.util
import json
import os
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[1]
TINY = ["--quick", "--systems", "4", "--segments", "50", "--metrics", "3"]


@pytest.fixture(scope="module")
def bench():
    spec = importlib.util.spec_from_file_location("meta_bench", ROOT / "benchmarks" / "meta.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["meta_bench"] = module
    environment = dict(os.environ)  # the benchmark asks for one BLAS thread
    spec.loader.exec_module(module)
    os.environ.clear()
    os.environ.update(environment)
    yield module
    del sys.modules["meta_bench"]


def test_a_tiny_run_as_a_table(bench, capsys):
    bench.main(TINY)
    shown = capsys.readouterr().out
    assert shown.startswith("CPU seconds, 4 systems x 50 segments, 3 metrics\n")
    assert "\npeer: not given\n" in shown
    assert "one draw of 3,000 of the baseline was timed" in shown
    assert "SPA of 3 metrics, mtme: p-values equal the baseline's bit for bit" in shown


def test_a_tiny_run_as_json(bench, capsys):
    bench.main([*TINY, "--json", "--only", "spa,tau,bootstrap"])
    result = json.loads(capsys.readouterr().out)
    assert (result["shape"], result["peer"]) == ([3, 4, 50], None)
    assert [row["task"] for row in result["rows"]] == [
        "SPA of 3 metrics, exact",
        "SPA of 3 metrics, analytic",
        "SPA of 3 metrics, mtme",
        "tau-b by item, one metric",
        "SPA of 3 metrics, bootstrap of segments",
    ]
    for row in result["rows"]:
        assert row["ratio"] == pytest.approx(row["baseline"] / row["ours"])
        assert row["met"] is None  # targets are for the full size
    assert result["rows"][-1]["extrapolated_from_one_of"] == 1000


def test_targets_are_met_or_not(bench):
    case = bench.Case("x", "nothing", lambda: sum(range(9)), lambda: sum(range(20_000)), target=2)
    row = bench.measure(case, 1, None, full=True)
    assert (row["target"], row["met"]) == (">= 2x", False)
    case = bench.Case("x", "a lot", lambda: sum(range(20_000)), lambda: None, times=9, limit=5)
    row = bench.measure(case, 1, (lambda: None, 3), full=True)
    assert (row["target"], row["met"]) == ("< 5 s", True)
    assert row["peer_ratio"] == row["peer"] / row["ours"]


def test_the_test_bed_is_like_mqm(bench):
    bed = bench.make_bed(14, 1315, 5)
    assert np.mean(bed.human == 0) == pytest.approx(0.61, abs=0.02)
    assert bed.human.min() == -25
    assert bed.human.max() == 0
    assert np.abs(bed.human * 10 - np.rint(bed.human * 10)).max() < 1e-9
    assert np.array_equal(bed.metrics[3], np.rint(bed.metrics[3]))
    assert np.unique(bed.metrics[1]).size == bed.metrics[1].size


def test_the_reference_against_all_signs(bench):
    rng = np.random.default_rng(0)
    signs = 2 * ((np.arange(2**12)[:, None] >> np.arange(12)) & 1) - 1
    for gap in (rng.integers(-9, 10, 12) / 10, rng.integers(-3, 4, 12).astype(float)):
        null, t = signs @ np.rint(gap * 10), np.rint(gap * 10).sum()
        truth = np.mean(null > t) + np.mean(null == t) / 2
        assert bench.slow_p(gap) == pytest.approx(truth, abs=1e-12)


STANDIN = """
class Correlation:
    def __init__(self, num_sys, gold_scores, metric_scores):
        assert len(gold_scores) == len(metric_scores)
    def KendallVariants(self, average_by, variant): ...
class PermutationSigDiffParams:
    def __init__(self, block_size): ...
def PairwiseConfidenceError(gold, metric, num_sys): ...
def PermutationSigDiff(corr1, corr2, corr_fcn, average_by, k, params): ...
def PairwisePermutationSigDiff(corr1, corr2, variant, average_by, k, params, eps1, eps2): ...
def KendallWithTiesOpt(gold, metric, variant, num_sys, average_by, sample_rate): ...
"""


def test_the_toolkit_is_called_from_a_checkout(bench, tmp_path, monkeypatch, capsys):
    # A stand-in with the signatures that are used: the toolkit itself is on no package index.
    folder = tmp_path / "mt_metrics_eval"
    folder.mkdir()
    (folder / "__init__.py").touch()
    (folder / "stats.py").write_text(STANDIN)
    (folder / "pce.py").write_text("def compute_pairwise_p_values(scores, num_permutations): ...\n")
    monkeypatch.setattr(sys, "path", sys.path.copy())
    bench.main([*TINY, "--only", "test-spa,calibration", "--peer", str(tmp_path)])
    shown = capsys.readouterr().out
    for name in [name for name in sys.modules if name.startswith(("mt_metrics", "apache_beam"))]:
        del sys.modules[name]
    assert f"\npeer: {tmp_path}\n" in shown
    assert "peer ratio" in shown.splitlines()[1]


def test_too_little_and_no_toolkit(bench, tmp_path, capsys):
    with pytest.raises(SystemExit):
        bench.main(["--systems", "1"])
    assert "needs two systems" in capsys.readouterr().err
    with pytest.raises(SystemExit, match=f"error: {tmp_path}: no checkout of mt-metrics-eval"):
        bench.main([*TINY, "--peer", str(tmp_path)])
