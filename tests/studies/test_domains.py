"""Domains alone and left out: by hand, by definition, and how often intervals cover."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import steelyard as sy
from steelyard.cli.main import run
from steelyard.core.errors import UsageError
from steelyard.metaevaluation.run import meta_evaluate
from steelyard.studies.metrics.domains import leave_domains_out


def some(seed=0, n=6, each=8, domains=4, differ=0.0, **more) -> sy.EvalSet:
    """Metrics whose errors are as large in every domain, or differ by chance between domains."""
    rng = np.random.default_rng(seed)
    s = each * domains
    codes = np.repeat(np.arange(domains), each)
    quality = np.linspace(-1, 1, n)[:, None] + rng.normal(size=(n, s))
    scores = {"people": sy.ScoreTable(quality, kind="human")}
    for k in range(3):
        size = np.exp(differ * rng.normal(size=domains))[codes]
        scores[f"m{k}"] = sy.ScoreTable(quality + (k + 1) / 2 * size * rng.normal(size=(n, s)))
    segments = sy.Segments(
        tuple(f"{i:03}" for i in range(s)), domains=tuple(f"d{c:02}" for c in codes)
    )
    return sy.EvalSet(tuple("ABCDEFGH"[:n]), segments, scores | more)


@pytest.mark.parametrize("by", ["pa", "pearson", "acc-eq"])
def test_values_are_those_of_a_set_with_and_without_a_domain(by):
    es = some()
    found = leave_domains_out(es, "people", by=by).facts["values"][by]
    for k, domain in enumerate(es.domains):
        ids = es.segments.ids[8 * k : 8 * k + 8]
        here = meta_evaluate(es.select(domain=domain), "people", by=by, intervals=None)
        rest = meta_evaluate(es.drop(segments=ids), "people", by=by, intervals=None)
        for name, own in found.items():
            assert own["domains"][domain] == pytest.approx(here.values(by)[name], abs=1e-12)
            assert own["left_out"][domain] == pytest.approx(rest.values(by)[name], abs=1e-12)
    whole = meta_evaluate(es, "people", by=by, intervals=None).values(by)
    assert {name: own["all"] for name, own in found.items()} == pytest.approx(whole)


def test_few_domains_have_no_interval_and_say_so():
    study = leave_domains_out(some(), "people", by="pearson")
    assert all(own["ci"] is None for own in study.facts["values"]["pearson"].values())
    assert any("4 domains are too few for an interval" in text for text in study.warnings)
    assert "low" not in study.table("pearson").records()[0]


def test_the_share_of_pairs_is_counted_by_hand():
    people = np.array([[0.0, 1, 0, 1], [1.0, 0, 1, 0], [2.0, 2, 2, 2]])
    good, bad = people.copy(), -people
    mixed = np.concatenate([people[:, :2], bad[:, 2:]], axis=1)
    tables = {"people": sy.ScoreTable(people, kind="human"), "good": sy.ScoreTable(good),
              "bad": sy.ScoreTable(bad), "mixed": sy.ScoreTable(mixed)}  # fmt: skip
    segments = sy.Segments(("1", "2", "3", "4"), domains=("x", "x", "y", "y"))
    es = sy.EvalSet(("A", "B", "C"), segments, tables)
    study = leave_domains_out(es, "people", by="pearson", level="seg", group_by="item")
    # in x: good = mixed > bad; in y: good > mixed = bad. Of three pairs one agrees, two tie.
    assert study.facts["agreement"]["pearson"] == pytest.approx({"x": 2 / 3, "y": 2 / 3})
    rows = {row["metric"]: row for row in study.table("pearson").records()}
    assert (rows["good"]["in domains"], rows["bad"]["in domains"]) == ("1", "2-3")
    sentence = study.facts["verdicts"]["pearson"]
    assert sentence.startswith("pearson: good is best in 2 of 2 domains, and whichever is left out")
    assert sentence.endswith("holds in all 2, too few to say whether it would in another domain")


def test_a_verdict_that_hangs_on_a_domain_says_which():
    es = some(seed=1, domains=3, each=30)
    values = es["m0"].values.copy()
    values[:, 30:60] = -values[:, 30:60]
    study = leave_domains_out(es.with_scores("m0", values), "people", by="acc-eq")
    assert "without d01: m0" in study.facts["verdicts"]["acc-eq"]
    assert "may not hold in another domain" in study.facts["verdicts"]["acc-eq"]


def coverage(times: int, domains: int, differ: float) -> float:
    """Share of intervals over domains that hold the value of endlessly many domains."""
    how: dict[str, Any] = {"by": "pearson", "level": "seg", "group_by": "item", "metrics": ["m1"]}
    big = some(10**6, domains=4000, differ=differ)
    truth = meta_evaluate(big, "people", intervals=None, **how).values("pearson")["m1"]
    held = 0
    for seed in range(times):
        es = some(seed, domains=domains, differ=differ)
        low, high = leave_domains_out(es, "people", **how).facts["values"]["pearson"]["m1"]["ci"]
        held += low <= truth <= high
    return held / times


def test_intervals_over_domains_cover():
    assert coverage(60, 12, 0.7) >= 0.86


@pytest.mark.thorough
@pytest.mark.parametrize("domains", [10, 25])
def test_intervals_over_domains_cover_in_many_sets(domains):
    assert 0.91 <= coverage(400, domains, 0.7) <= 0.98


def test_unknown_domains_and_a_single_one_are_refused():
    es = some()
    bare = sy.EvalSet(es.systems, sy.Segments(es.segments.ids), es.scores)
    with pytest.raises(UsageError, match='not known; expected a column "domain"'):
        leave_domains_out(bare, "people", by="pearson")
    with pytest.raises(UsageError, match=r"one domain \(d00\)"):
        leave_domains_out(es.select(domain="d00"), "people", by="pearson")


def test_a_domain_without_a_system_says_so():
    es = some()
    people = es["people"].values.copy()
    people[0, :8] = np.nan
    es = es.with_scores("people", people, kind="human")
    study = leave_domains_out(es, "people", by="pearson")
    assert "d00: people scored no output of A" in study.warnings


def test_the_command(tmp_path, capsys):
    path, figure = tmp_path / "set.parquet", tmp_path / "domains.svg"
    sy.save(some(domains=12), path)
    asked = ["study", "domains", str(path), "--human", "people", "--with", "pearson,acc-eq"]
    assert run([*asked, "--json", "--out", str(figure)]) == 0
    found = json.loads(capsys.readouterr().out)
    assert figure.stat().st_size > 1000
    assert found["domains"]["d00"] == 8
    assert set(found["tables"]) == {"pearson", "acc-eq", "domains"}
    assert (
        "d00" not in found["tables"]["acc-eq"][0]
    )  # twelve columns are too many: values hold them
    assert len(found["values"]["acc-eq"]["m0"]["domains"]) == 12


def test_the_best_of_wmt23_differs_from_domain_to_domain(shared):
    folder = shared / "wmt23-metrics"
    files = ("human.csv.gz", "metrics.seg.csv.gz", "text.jsonl.gz")
    es = sy.load(*(folder / f"en-de.{file}" for file in files), human="mqm")
    chosen = ["COMET-refA", "BLEURT-20-refA", "MetricX-23-refA", "YiSi-1-refA", "BLEU-refA"]
    study = leave_domains_out(es, "mqm", by="spa", metrics=chosen)
    best = {row["domain"]: row["best here"] for row in study.table("domains").records()}
    assert best == {"news": "BLEURT-20-refA", "social": "COMET-refA",
                    "speech": "MetricX-23-refA", "user_review": "YiSi-1-refA"}  # fmt: skip


def test_equals_are_best_together():
    es = some()
    twin = es.with_scores("twin", es[es.metrics[0]].values)
    study = leave_domains_out(twin, by="pearson", metrics=[es.metrics[0], "twin"])
    both = " and ".join(sorted([es.metrics[0], "twin"]))
    assert study.facts["verdicts"]["pearson"].startswith(f"pearson: {both} are best in 4 of 4")
    assert study.table("domains").records()[0]["best here"] == both


def test_a_metric_without_scores_is_told():
    es = some()
    empty = es.with_scores("empty", np.full(es[es.metrics[0]].values.shape, np.nan))
    study = leave_domains_out(empty, by="pearson")
    assert any("no value for 'empty'" in text for text in study.warnings)
