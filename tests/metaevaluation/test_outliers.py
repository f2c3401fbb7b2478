"""Meta-evaluation with and without outlying systems: against sets from which they are dropped."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import steelyard as sy
from steelyard.cli.main import run
from steelyard.data.evalset import EvalSet, ScoreTable
from steelyard.data.segments import Segments
from steelyard.metaevaluation.benchmark.run import run_benchmark
from steelyard.metaevaluation.benchmark.tasks import Benchmark, Inputs, SetSpec, Task
from steelyard.metaevaluation.run import meta_evaluate
from steelyard.report.methods import methods, summarise
from steelyard.stats.metametrics.registry import METAMETRICS

AT_SYSTEMS = [name for name, meta in METAMETRICS.items() if "sys" in meta.levels]


def make(seed=0, n=9, s=24, far=2) -> EvalSet:
    """Systems of about the same quality, the last ``far`` of them hopeless; of all metrics."""
    rng = np.random.default_rng(seed)
    quality = rng.normal(0, 0.3, n)
    quality[n - far :] -= 30 + np.arange(far)
    human = np.round(quality[:, None] + rng.normal(size=(n, s)), 1)
    tables = {"people": ScoreTable(human, kind="human")}
    for k in range(4):
        tables[f"m{k}"] = ScoreTable(quality[:, None] * rng.random() + rng.normal(size=(n, s)))
    names = tuple(f"s{i}" for i in range(n))
    return EvalSet(names, Segments(tuple(f"{i:03d}" for i in range(s))), tables)


FAR = ("s8", "s7")


@pytest.mark.parametrize("by", AT_SYSTEMS)
def test_values_without_outliers_are_those_of_fewer_systems(by):
    es = make()
    found = meta_evaluate(es, "people", by=by, level="sys", intervals=None)
    fewer = meta_evaluate(es.drop(systems=FAR), "people", by=by, level="sys", intervals=None)
    assert found.outliers.systems == FAR
    alone = fewer.values(by)
    for result in found.results:
        rest = result.without_outliers
        assert rest.value == pytest.approx(alone[result.metric], abs=1e-12, nan_ok=True)
        assert (rest.n_systems, result.n_systems) == (7, 9)
        better = sum(value > rest.value + 1e-12 for value in alone.values())
        assert rest.rank == (None if np.isnan(rest.value) else 1 + better)


@pytest.mark.parametrize("by", ["spa", "pa", "pearson", "acc-eq"])
def test_drop_is_a_set_without_them_and_keep_changes_nothing_else(by):
    es = make()
    test = sy.metric_test(n_resamples=50)
    options: dict[str, Any] = {"by": by, "significance": test, "n_bootstrap": 20}
    dropped, kept = (
        meta_evaluate(es, "people", **options, rules=sy.meta_rules(outliers=handling))
        for handling in ("drop", "keep")
    )
    fewer = meta_evaluate(es.drop(systems=FAR), "people", **options)
    assert dropped.systems == fewer.systems
    assert dropped.results == fewer.results
    assert dropped.words().sureness[0] == "This is without the outliers s8 and s7."
    both = meta_evaluate(es, "people", **options)
    assert tuple(replace(r, without_outliers=None) for r in both.results) == kept.results
    for one, other in ((dropped, fewer), (both, kept)):
        np.testing.assert_array_equal(one.significance[by].p, other.significance[by].p)
    assert not any("outlier" in text for text in kept.warnings)
    assert kept.outliers.systems == FAR  # said in the JSON output all the same


def test_table_json_and_report_have_it():
    es = make()
    found = meta_evaluate(es, "people", by=["pearson", "acc-eq"], n_bootstrap=20)
    assert "pearson without" not in found.table().to_columns()
    table = found.table(details=True)
    assert sum(column.name == "without" for column in table.columns) == 1  # none at segments
    rows = table.records()
    first = found.results[0]
    assert rows[0]["pearson without"] == first.without_outliers.value
    assert set(found.to_dict()["results"][0]["without_outliers"]) == {
        "value", "rank", "n_systems"
    }  # fmt: skip
    assert any("outliers s8 and s7" in line for line in summarise(None, found).sureness)
    paragraph, cited = methods(es, None, found)
    assert "also left out, for comparison (s8 and s7)" in paragraph
    assert any("Mathur" in line for line in cited)


def test_protocols_keep_them_and_say_so():
    inputs = Inputs(sets={"one": make()})
    task = (Task("pearson", "sys"),)
    found = run_benchmark(Benchmark("b", "B", "people", (SetSpec("one"),), task), inputs)
    assert "one: the protocol keeps the outliers s8 and s7" in found.warnings
    task = (Task("acc-eq"),)
    found = run_benchmark(Benchmark("b", "B", "people", (SetSpec("one"),), task), inputs)
    assert not any("outlier" in text for text in found.warnings)


def test_wmt20_de_en(shared, capsys):
    file = str(shared / "wmt20-metrics" / "sys-scores.csv.gz")
    chosen = ["--where", "table=deen", "--where", "refset=newstest2020", "--human", "human_z"]
    chosen += ["--ignore", "table,refset,lp", "--kind", "human:human_z,human_raw"]
    metrics = ["--metrics", "COMET,BLEU,TER,chrF", "--higher-is-better", "TER", "--json"]
    asked = ["meta", file, *chosen, *metrics, "--by", "pearson", "--intervals", "none"]
    assert run(asked) == 0
    found = json.loads(capsys.readouterr().out)
    shown = {
        r["metric"]: (round(r["value"], 3), round(r["without_outliers"]["value"], 3))
        for r in found["results"]
    }
    assert shown == {
        "COMET": (0.998, 0.759), "chrF": (0.994, 0.442), "TER": (0.985, 0.466),
        "BLEU": (0.970, 0.480),
    }  # fmt: skip
    far = ["yolo.1052", "zlabs-nlp.1153", "WMTBiomedBaseline.387"]
    assert found["outliers"]["systems"] == far
    assert run(["data", "check", file, *chosen, "--json"]) == 0
    checks = json.loads(capsys.readouterr().out)["findings"]
    assert any(one["check"] == "outliers" and "yolo.1052" in one["message"] for one in checks)
