"""Meta-evaluation with and without outlying systems: against sets from which they are dropped."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.cli.main import run
from steelyard.core.errors import UsageError
from steelyard.data.evalset import EvalSet, ScoreTable
from steelyard.data.segments import Segments
from steelyard.metaevaluation.benchmark.run import run_benchmark
from steelyard.metaevaluation.benchmark.tasks import Benchmark, Inputs, SetSpec, Task
from steelyard.metaevaluation.run import meta_evaluate
from steelyard.report.summary import methods, summarise
from steelyard.stats.metametrics.registry import METAMETRICS

NAN = float("nan")
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
    assert found.outliers is not None
    assert found.outliers.systems == FAR
    alone = fewer.values(by)
    for result in found.results:
        rest = result.without_outliers
        assert rest is not None
        assert rest.value == pytest.approx(alone[result.metric], abs=1e-12, nan_ok=True)
        assert (rest.n_systems, result.n_systems) == (7, 9)
        better = sum(value > rest.value + 1e-12 for value in alone.values())
        assert rest.rank == (None if np.isnan(rest.value) else 1 + better)


@pytest.mark.parametrize("by", ["spa", "pa", "pearson", "acc-eq"])
def test_drop_is_a_set_without_them(by):
    es = make()
    options: dict[str, Any] = {"by": by, "significance": True, "n_resamples": 50, "n_bootstrap": 20}
    found = meta_evaluate(es, "people", outliers="drop", **options)
    alone = meta_evaluate(es.drop(systems=FAR), "people", **options)
    assert found.systems == alone.systems
    assert found.results == alone.results
    np.testing.assert_array_equal(found.significance[by].p, alone.significance[by].p)
    assert any("are outliers" in text and text.endswith("left out") for text in found.warnings)


@pytest.mark.parametrize("by", ["spa", "pa", "pearson", "acc-eq"])
def test_nothing_else_changes(by):
    es = make()
    options: dict[str, Any] = {"by": by, "significance": True, "n_resamples": 50, "n_bootstrap": 20}
    kept = meta_evaluate(es, "people", outliers="keep", **options)
    both = meta_evaluate(es, "people", **options)
    assert all(result.without_outliers is None for result in kept.results)
    assert tuple(replace(r, without_outliers=None) for r in both.results) == kept.results
    np.testing.assert_array_equal(both.significance[by].p, kept.significance[by].p)
    assert not any("outlier" in text for text in kept.warnings)
    assert kept.outliers is not None
    assert kept.outliers.systems == FAR  # said in the JSON output all the same


def test_where_all_are_outliers_nothing_is_left_to_weigh():
    told = r'8 of 8 systems are outliers by people .*: outliers="drop" leaves no system'
    with pytest.raises(UsageError, match=told):
        meta_evaluate(make(n=8), "people", by="pa", outliers="drop", outlier_cutoff=1e-300)


def test_segments_are_not_about_systems():
    found = meta_evaluate(make(), "people", by="acc-eq", intervals=None)
    assert found.results[0].without_outliers is None
    assert not any("outlier" in text for text in found.warnings)


@given(st.integers(0, 50), st.randoms())
def test_the_order_of_systems_does_not_matter(seed, rng):
    es = make(seed)
    order = list(es.systems)
    rng.shuffle(order)
    turned = es.select(systems=order)
    a, b = (meta_evaluate(one, "people", by="pearson", intervals=None) for one in (es, turned))
    assert json.dumps(a.to_dict(), default=str) == json.dumps(b.to_dict(), default=str)


def test_lower_is_better_turns_no_head():
    es = make()
    cost = replace(es.scores["people"], values=-es.scores["people"].values, higher_is_better=False)
    turned = replace(es, scores={**es.scores, "people": cost})
    a, b = (meta_evaluate(one, "people", by="pearson", intervals=None) for one in (es, turned))
    assert [r.without_outliers for r in a.results] == [r.without_outliers for r in b.results]


@pytest.mark.parametrize(
    ("es", "why"),
    [
        (make(n=4, far=1), "there are 4 scores, and it takes 5"),
        (replace(make(), scores={**make().scores,
                 "people": ScoreTable(np.ones((9, 24)), kind="human")}),
         "more than half of the scores are the same"),
    ],
)  # fmt: skip
def test_undefined_says_why(es, why):
    found = meta_evaluate(es, "people", by="pa", intervals=None)
    assert found.to_dict()["outliers"]["undefined"] == why
    assert found.to_dict()["outliers"]["systems"] == []
    assert found.results[0].without_outliers is None


def test_the_warning_says_how_much_it_matters():
    es = make()
    (text,) = [
        t
        for t in meta_evaluate(es, "people", by=["pearson", "pa"], intervals=None).warnings
        if "outlier" in t
    ]
    assert text.startswith("2 of 9 systems are outliers by people (s8 ")
    assert "without them pearson of m" in text
    assert "; pa of m" in text
    assert " becomes " in text


def test_table_json_and_report_have_it():
    es = make()
    found = meta_evaluate(es, "people", by=["pearson", "acc-eq"], n_bootstrap=20)
    table = found.table()
    assert [column.name for column in table.columns][:3] == ["metric", "pearson", "without"]
    assert sum(column.name == "without" for column in table.columns) == 1  # none at segments
    rows = table.records()
    first = found.results[0]
    assert first.without_outliers is not None
    assert rows[0]["pearson without"] == first.without_outliers.value
    assert set(found.to_dict()["results"][0]["without_outliers"]) == {
        "value", "rank", "rank_with", "n_systems"
    }  # fmt: skip
    assert any("are outliers by people" in line for line in summarise(es, None, found).sureness)
    paragraph, cited = methods(es, None, found)
    assert "also left out, for comparison (s8 and s7)" in paragraph
    assert any("Mathur" in line for line in cited)


def test_protocols_keep_them_and_say_so():
    inputs = Inputs(sets={"one": make()})
    task = (Task("pearson", "sys"),)
    found = run_benchmark(Benchmark("b", "B", "people", (SetSpec("one"),), task), inputs)
    assert any(text.startswith("one: 2 of 9 systems are outliers") for text in found.warnings)
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
    out, err = capsys.readouterr()
    found = json.loads(out)
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
    assert "BLEU 0.970 becomes 0.480" in err
    assert "3 of 6 pairs of metrics change their order" in err
    assert run(["data", "check", file, *chosen, "--json"]) == 0
    checks = json.loads(capsys.readouterr().out)["findings"]
    assert any(one["check"] == "outliers" and "yolo.1052" in one["message"] for one in checks)
