"""Combinations against their best part: error rates, folds, gaps, and what is written."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

import steelyard as sy
from steelyard.cli.main import run
from steelyard.core.errors import UsageError
from steelyard.studies.metrics.combination import combine_metrics


def some(seed=0, n=8, s=60, docs=20, noise=(1.0, 1.0), useless=0, steady=0.6, **more):
    """Make people, metrics that see quality with errors of their own, and metrics that see none."""
    rng = np.random.default_rng(seed)
    quality = steady * rng.normal(size=(n, 1)) + rng.normal(size=(n, s))
    scores = {"people": sy.ScoreTable(quality + rng.normal(size=(n, s)), kind="human")}
    for k, size in enumerate(noise):
        scores[f"m{k}"] = sy.ScoreTable(quality + size * rng.normal(size=(n, s)))
    for k in range(useless):
        scores[f"noise{k}"] = sy.ScoreTable(rng.normal(size=(n, s)))
    names = None if docs is None else tuple(f"d{i * docs // s:02}" for i in range(s))
    segments = sy.Segments(tuple(str(i) for i in range(s)), documents=names)
    return sy.EvalSet(tuple(f"s{i}" for i in range(n)), segments, scores | more)


HALF = np.arange(60) < 30
QUICK = {"n_bootstrap": 20, "n_resamples": 199, "system_folds": 2, "folds": 3}


def rows(found, by="spa"):
    return {row["score"]: row for row in found.study.table(by).records()}


def test_two_metrics_with_errors_of_their_own_are_better_together():
    es = some(s=300, noise=(2.0, 2.0))
    found = combine_metrics(es, "people", by="acc-eq", **QUICK)
    for how in ("rank", "z", "nnls", "nnls-pairs"):
        row = rows(found, "acc-eq")[f"combined-{how}"]
        assert row["difference"] > 0.02
        assert row["p"] <= 0.01
        assert row["low"] > 0
    (sentence,) = [s for s in found.study.facts["verdicts"]["acc-eq"] if "combined-z " in s]
    assert sentence.startswith("combined-z is better than its best part by 0.0")
    assert found.study.facts["weights"]["nnls"]["every"]["m0"] == pytest.approx(0.5, abs=0.1)


def rejected(times: int, by: str, how: list[str], **made) -> dict[str, float]:
    """Share of simulated sets in which each combination passes for better than its best part."""
    counts = dict.fromkeys(how, 0)
    for seed in range(times):
        found = combine_metrics(some(seed, **made), "people", by=by, how=how, rng=seed, **QUICK)
        table = rows(found, by)
        for one in how:
            counts[one] += table[f"combined-{one}"]["p"] <= 0.05
    return {one: n / times for one, n in counts.items()}


@pytest.mark.parametrize("by", ["acc-eq", "pearson"])
def test_noise_beside_a_good_metric_does_not_look_better(by):
    found = rejected(40, by, ["rank", "z", "nnls", "nnls-pairs"], noise=(1.0,), useless=2)
    assert max(found.values()) <= 0.1  # 5 % at most, and chance


@pytest.mark.thorough
@pytest.mark.parametrize("by", ["spa", "acc-eq", "pearson"])
def test_noise_does_not_look_better_in_many_sets(by):
    found = rejected(300, by, ["nnls", "nnls-pairs"], noise=(1.0,), useless=3)
    assert max(found.values()) <= 0.07


def test_outputs_that_are_the_same_stay_tied():
    """Systems in different folds have different weights: that must not break ties by chance."""
    es = some(9, noise=(1.0, 1.5))
    shared = np.random.default_rng(0).random((8, 60)) < 0.5
    tables = {"people": es["people"]}
    for name in ("m0", "m1"):
        values = es[name].values
        tables[name] = sy.ScoreTable(np.where(shared, values[:1], values))
    es = sy.EvalSet(es.systems, es.segments, tables)
    found = combine_metrics(es, "people", by="acc-eq", **QUICK)
    ties = [sum(int((v[i] == v[j]).sum()) for i in range(8) for j in range(i))
            for v in (es["m0"].values, found.scores["combined-nnls"].values)]  # fmt: skip
    assert ties[0] == ties[1] > 100
    table = rows(found, "acc-eq")
    for how in ("nnls", "nnls-pairs"):
        assert abs(table[f"combined-{how}"]["acc-eq"] - table["combined-z"]["acc-eq"]) < 0.03


def test_the_same_metric_twice_is_no_combination():
    es = some()
    es = es.with_scores("again", es["m0"].values).select(scores=["people", "m0", "again"])
    found = combine_metrics(es, "people", by=["spa", "acc-eq"], **QUICK)
    for by in ("spa", "acc-eq"):
        for row in found.study.table(by).records():
            if row["kind"] == "combination" and row["score"] != "combined-rank":
                assert row["difference"] == pytest.approx(0, abs=1e-9)
                assert row["p"] is None or float(row["p"]) > 0.3


def test_the_best_part_is_the_mean_of_what_folds_chose():
    es = some(3, noise=(1.5, 1.5, 1.6))
    found = combine_metrics(es, "people", by="acc-eq", **QUICK)
    table, chosen = rows(found, "acc-eq"), found.study.facts["best_part"]["acc-eq"]
    assert sum(chosen.values()) == 6
    expected = sum(n / 6 * table[name]["acc-eq"] for name, n in chosen.items())
    assert table["best part"]["acc-eq"] == pytest.approx(expected)
    whole = sy.meta_evaluate(es, "people", by="acc-eq", intervals=None).values("acc-eq")
    for name in ("m0", "m1", "m2"):  # z-scores keep the order, and ties
        assert table[name]["acc-eq"] == pytest.approx(whole[name], abs=1e-9)


def test_what_is_written_is_what_was_weighed(tmp_path, capsys):
    path, out = tmp_path / "set.parquet", tmp_path / "combined.csv"
    es = some(1)
    sy.save(es, path)
    asked = ["study", "combine", str(path), "--human", "people", "--with", "acc-eq,pearson"]
    asked += ["--bootstrap", "20", "--resamples", "99", "--json", "--out", str(out)]
    assert run(asked) == 0
    found = json.loads(capsys.readouterr().out)
    again = sy.load(path, out, human="people")
    assert again.n_systems == 8
    values = sy.meta_evaluate(again, "people", by=["acc-eq", "pearson"], intervals=None)
    for by in ("acc-eq", "pearson"):
        for row in found["tables"][by]:
            if row["kind"] == "combination":
                assert values.values(by)[row["score"]] == pytest.approx(row[by], abs=1e-7)
    assert found["folds"] == {"systems": 5, "segments": 5, "of": "document", "n": 20}


def test_the_result_goes_where_other_suffixes_say(tmp_path, capsys):
    path, out = tmp_path / "set.parquet", tmp_path / "result.md"
    sy.save(some(1), path)
    asked = ["study", "combine", str(path), "--human", "people", "--with", "acc-eq"]
    assert run([*asked, "--bootstrap", "20", "--how", "z", "--out", str(out)]) == 0
    assert "| combined-z" in out.read_text()
    assert "Weights" not in capsys.readouterr().out
    assert run([*asked, "--how", "best"]) == 2
    assert "no combination 'best'" in capsys.readouterr().err


def test_rows_and_systems_may_stand_in_any_order():
    es = some(4)
    turned = sy.EvalSet(
        es.systems[::-1],
        sy.Segments(es.segments.ids[::-1], documents=es.segments.documents[::-1]),
        {name: sy.ScoreTable(t.values[::-1, ::-1], kind=t.kind) for name, t in es.scores.items()},
    )
    one, two = (combine_metrics(x, "people", by="acc-eq", **QUICK) for x in (es, turned))
    assert one.study.table().records() == two.study.table().records()
    assert one.scores.identical(two.scores)


def test_gaps_are_counted_and_left_out():
    es = some(5)
    holes = es["m1"].values.copy()
    holes[0, :10] = np.nan
    es = es.with_scores("m1", holes)
    found = combine_metrics(es, "people", by="acc-eq", **QUICK)
    assert "10 outputs that people scored and a part lacks left out" in found.study.warnings
    assert np.isnan(found.scores["combined-z"].values[0, :10]).all()
    assert not np.isnan(found.scores["combined-z"].values[0, 10:]).any()


def test_segments_that_nobody_judged_are_scored_too():
    es = some(6)
    people = es["people"].values.copy()
    people[:, 40:] = np.nan
    found = combine_metrics(
        es.with_scores("people", people, kind="human"), "people", by="acc-eq", **QUICK
    )
    assert not np.isnan(found.scores["combined-nnls"].values).any()


def test_without_documents_segments_are_held_out():
    found = combine_metrics(some(docs=None), "people", by="acc-eq", **QUICK)
    assert found.study.facts["folds"]["of"] == "segment"
    assert found.study.warnings == ()
    found = combine_metrics(some(docs=2), "people", by="acc-eq", **QUICK)
    assert found.study.facts["folds"]["of"] == "segment"
    assert any("2 documents are known, too few for 3 folds or" in w for w in found.study.warnings)


def test_directions_are_turned():
    es = some(7)
    less = es.with_scores("m1", -es["m1"].values, higher_is_better=False)
    one, two = (combine_metrics(x, "people", by="acc-eq", **QUICK) for x in (es, less))
    assert rows(one, "acc-eq") == rows(two, "acc-eq")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda es: es.select(scores=["people", "m0"]), "at least two metrics"),
        (lambda es: es.select(systems=es.systems[:3]), "3 systems: four at least"),
        (lambda es: es.with_scores("m1", np.ones((8, 60))), "'m1' constant"),
        (lambda es: es.with_scores("m1", np.full((8, 60), np.nan), system_scores=np.arange(8.0)),
         "no segment scores of 'm1'"),
        (lambda es: es.with_scores("people", np.full((8, 60), np.nan), kind="human",
                                   system_scores=np.arange(8.0)), "nothing to learn from"),
        (lambda es: es.select(segments=es.segments.ids[:2]), "2 segments: expected at least as"),
        (lambda es: es.with_scores("combined-z", es["m0"].values), "a combination has that name"),
        (lambda es: es.with_scores("m1", np.where(HALF, 1.0, np.nan) * es["m1"].values)
         .with_scores("m0", np.where(HALF, np.nan, 1.0) * es["m0"].values),
         "no output that people scored has scores of all parts"),
    ],
)  # fmt: skip
def test_what_can_not_be_combined_is_refused(change, said):
    with pytest.raises(UsageError, match=said):
        combine_metrics(change(some()), "people", by="acc-eq", **QUICK)


def test_two_metrics_of_wmt23_that_are_better_together(shared):
    folder = shared / "wmt23-metrics"
    files = ("human.csv.gz", "metrics.seg.csv.gz", "text.jsonl.gz")
    es = sy.load(*(folder / f"zh-en.{file}" for file in files), human="mqm")
    found = combine_metrics(es, "mqm", by="spa", metrics=["KG-BERTScore-src", "YiSi-1-refA"],
                            how=["nnls"], n_bootstrap=50)  # fmt: skip
    row = rows(found)["combined-nnls"]
    assert row["difference"] > 0.02
    assert row["p"] < 0.1  # of segments alone far less: 15 systems say little


def test_a_system_that_a_part_lacks_is_left_out_and_named():
    es = sy.demo_set()
    values = es["chars-refA"].values.copy()
    values[0] = np.nan
    es = es.with_scores("chars-refA", replace(es["chars-refA"], values=values, system_scores=None))
    found = combine_metrics(
        es, "mqm", by="pearson", metrics=["chars-refA", "learned-refA"], n_bootstrap=20
    )
    assert es.systems[0] not in found.scores.systems
    assert any(f"'{es.systems[0]}' left out" in text for text in found.study.warnings)
