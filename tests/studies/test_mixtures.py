"""Metrics on hybrids: what is real, what intervals cover, and what is refused."""

from __future__ import annotations

import json

import numpy as np
import pytest

import steelyard as sy
from steelyard.cli.main import run
from steelyard.core.errors import UsageError
from steelyard.metaevaluation.run import meta_evaluate
from steelyard.studies.metrics.mixtures import mix_systems


def some(seed=0, n=10, s=50, **more) -> sy.EvalSet:
    rng = np.random.default_rng(seed)
    level = rng.normal(size=(n, 1))
    people = level + rng.normal(size=(n, s))
    scores = {"people": sy.ScoreTable(people, kind="human")}
    for k in range(3):  # errors of a metric on whole systems, and on single outputs
        own = level + (k + 1) / 2 * rng.normal(size=(n, 1)) + rng.normal(size=(n, s))
        scores[f"m{k}"] = sy.ScoreTable(own)
    segments = sy.Segments(tuple(f"{i:03}" for i in range(s)))
    return sy.EvalSet(tuple(f"s{i:03}" for i in range(n)), segments, scores | more)


QUICK = {"hybrids": 200, "n_bootstrap": 40}


def rows(study, by="pearson"):
    return {row["metric"]: row for row in study.table(by).records()}


@pytest.mark.parametrize("by", ["pearson", "spearman", "kendall-b", "pa"])
def test_hybrids_stay_near_the_real_systems(by):
    es = some(s=400)
    found = rows(mix_systems(es, "people", by=by, **QUICK), by)
    real = meta_evaluate(es, "people", by=by, level="sys", intervals=None).values(by)
    for name, row in found.items():
        assert row["real systems"] == pytest.approx(real[name])
        assert row["hybrids"] == pytest.approx(real[name], abs=0.12)


def test_a_metric_that_is_the_human_score_is_perfect():
    es = some()
    es = es.with_scores("same", 2 * es["people"].values + 1)
    row = rows(mix_systems(es, "people", metrics=["same"], **QUICK))["same"]
    for key, value in row.items():
        if key != "metric":
            assert value == pytest.approx(1), key


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("gap", [np.s_[0], np.s_[2, :20], np.s_[:2]])
def test_people_are_averaged_over_the_cells_that_a_metric_has(gap):
    es = some()
    own = 2 * es["people"].values + 1
    own[gap] = np.nan
    es = es.with_scores("same", own)
    row = rows(mix_systems(es, "people", metrics=["same"], **QUICK))["same"]
    for key, value in row.items():
        if key != "metric":
            assert value == pytest.approx(1), key


def test_the_number_of_hybrids_narrows_only_what_is_naive():
    es = some(3)
    few, many = (rows(mix_systems(es, "people", hybrids=h, n_bootstrap=100))["m1"]
                 for h in (100, 2000))  # fmt: skip

    def width(row, what):
        return float(row[f"{what}: high"]) - float(row[f"{what}: low"])

    assert width(many, "independent") < width(few, "independent") / 3
    assert width(many, "systems") > width(few, "systems") / 1.5
    assert width(many, "systems") > 3 * width(many, "independent")


def coverage(times: int) -> dict[str, float]:
    """Share of intervals that hold the correlation of endlessly many systems' hybrids."""
    big = rows(mix_systems(some(10**6, n=1500), "people", hybrids=10_000, n_bootstrap=10,
                           metrics=["m1"]))["m1"]["hybrids"]  # fmt: skip
    held = {"systems": 0, "independent": 0}
    for seed in range(times):
        study = mix_systems(some(seed, n=15), "people", metrics=["m1"], hybrids=200,
                            n_bootstrap=200)  # fmt: skip
        row = rows(study)["m1"]
        for what in held:
            held[what] += row[f"{what}: low"] <= big <= row[f"{what}: high"]
    return {what: n / times for what, n in held.items()}


def test_intervals_over_systems_cover_and_naive_ones_do_not():
    found = coverage(40)
    assert found["systems"] >= 0.8
    assert found["independent"] <= 0.5


def test_fewer_hybrids_are_further_off():
    table = mix_systems(some(), "people", hybrids=1000, n_bootstrap=10).table("convergence")
    off = [float(row["off by"] or 0) for row in table.records()]
    assert off == sorted(off, reverse=True)


def test_what_is_the_same_is_the_same():
    one, two = (mix_systems(some(), "people", **QUICK) for _ in range(2))
    assert one.to_dict()["tables"] == two.to_dict()["tables"]
    other = mix_systems(some(), "people", rng=1, **QUICK)
    assert one.table().records() != other.table().records()


def test_segments_without_all_systems_are_left_out_and_counted():
    es = some()
    people = es["people"].values.copy()
    people[0, :5] = np.nan
    study = mix_systems(es.with_scores("people", people, kind="human"), "people", **QUICK)
    assert study.facts["n_segments"] == 45
    assert any("5 segments of which people did not score every" in w for w in study.warnings)


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ({"by": "spa"}, "'spa' tests segments of two systems, which hybrids share"),
        ({"by": "acc-eq", "parts": 2}, "'acc-eq'"),
        ({"by": "pa", "hybrids": 2000}, "'pa' counts all pairs: at most 1,000 hybrids"),
        ({"parts": 11}, "hybrids of 11 take 11 at least"),
    ],
)
def test_what_has_no_meaning_is_refused(how, said):
    with pytest.raises(UsageError, match=said):
        mix_systems(some(), "people", **({"hybrids": 1500, "n_bootstrap": 10} | how))


def test_the_command_scores_corpus_metrics_on_mixed_texts(tmp_path, capsys):
    rng = np.random.default_rng(0)
    words = ["the", "a", "cat", "dog", "house", "tree", "runs", "sees", "blue", "old"]
    lines = [" ".join(rng.choice(words, 12)) for _ in range(30)]
    outputs, people = {}, np.zeros((5, 30))
    for i in range(5):
        kept = rng.random((30, 12)) > 0.1 + 0.1 * i
        people[i] = kept.sum(axis=1)
        outputs[f"s{i}"] = tuple(
            " ".join(w if k else "xyz" for w, k in zip(line.split(), own, strict=True))
            for line, own in zip(lines, kept, strict=True)
        )
    segments = sy.Segments(tuple(f"{i:02}" for i in range(30)), references={"refA": tuple(lines)})
    scores = {"people": sy.ScoreTable(people, kind="human")}
    path, figure = tmp_path / "set.parquet", tmp_path / "f.svg"
    sy.save(sy.EvalSet(tuple(outputs), segments, scores, outputs), path)
    asked = ["study", "hybrids", str(path), "--human", "people", "--corpus", "bleu,chrf"]
    assert (
        run([*asked, "--hybrids", "60", "--bootstrap", "20", "--json", "--out", str(figure)]) == 0
    )
    found = json.loads(capsys.readouterr().out)
    assert {row["metric"] for row in found["tables"]["pearson"]} == {"bleu-refA", "chrf-refA"}
    assert all(row["hybrids"] > 0.9 for row in found["tables"]["pearson"])
    assert figure.stat().st_size > 1000


def test_hybrids_of_wmt23_say_what_its_systems_say(shared):
    folder = shared / "wmt23-metrics"
    files = ("human.csv.gz", "metrics.seg.csv.gz")
    es = sy.load(*(folder / f"en-de.{file}" for file in files), human="mqm")
    study = mix_systems(es, "mqm", metrics=["COMET-refA", "BLEU-refA", "chrF-refA"], n_bootstrap=50)
    found = rows(study)
    assert found["COMET-refA"]["real systems"] == pytest.approx(0.988, abs=5e-4)
    for row in found.values():
        assert abs(row["hybrids"] - row["real systems"]) < 0.03


def test_equal_metrics_stand_in_the_same_order():
    es = some()
    first = es.metrics[0]
    twin = es.with_scores("twin", es[first].values)
    flat = twin.with_scores("flat", np.ones(es[first].values.shape))
    study = mix_systems(flat, metrics=[first, "twin", "flat"], hybrids=50, n_bootstrap=20)
    assert "1 of 1 pair of metrics stand in the same order" in study.table("pearson").notes[0]
