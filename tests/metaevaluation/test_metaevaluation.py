"""Metrics against people, end to end: official values, documented answers, invariances."""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import steelyard as sy
from steelyard.core.errors import UsageError
from steelyard.data.evalset import EvalSet, ScoreTable
from steelyard.data.segments import Segments
from steelyard.formats.save import save
from steelyard.metaevaluation.run import meta_evaluate
from steelyard.stats.metametrics.correlations import chance_level
from steelyard.stats.metametrics.registry import METAMETRICS

NAN = float("nan")


def small(n=5, s=30, seed=0) -> EvalSet:
    rng = np.random.default_rng(seed)
    quality = rng.normal(0, 0.4, n)[:, None] + rng.normal(size=(n, s))
    return EvalSet(
        tuple("ABCDEFGH"[:n]),
        Segments(tuple(str(i) for i in range(s)), documents=tuple(f"d{i // 5}" for i in range(s))),
        {
            "human": ScoreTable(np.round(quality, 0), kind="human"),
            "good-src": ScoreTable(quality + rng.normal(0, 0.5, (n, s)), uses=("src",)),
            "bad-src": ScoreTable(quality + rng.normal(0, 3, (n, s)), uses=("src",)),
        },
    )


WMT23: list[tuple[list[str], dict[str, Any], list[str]]] = [
    (["pearson", "spearman", "kendall-b", "pa"], {"level": "sys"},
     ["sys_pearson", "sys_spearman", "sys_kendall_b", "sys_pairwise_acc"]),
    (["spa"], {"rules": sy.meta_rules(method="mtme")}, ["spa_1000perm"]),
    (["pearson", "spearman", "kendall-b", "kendall-c"], {"level": "seg", "group_by": "none"},
     ["seg_pearson", "seg_spearman", "seg_kendall_b", "seg_kendall_c"]),
    (["pearson", "kendall-b", "kendall-c"], {"level": "seg", "group_by": "item"},
     ["seg_pearson_by_item", "seg_kendall_b_by_item", "seg_kendall_c_by_item"]),
    (["pearson", "kendall-b"], {"level": "seg", "group_by": "system"},
     ["seg_pearson_by_sys", "seg_kendall_b_by_sys"]),
    (["acc-eq", "tau-eq"], {}, ["seg_acc_eq_calibrated_item", "seg_tau_eq_calibrated_item"]),
    (["acc-eq", "tau-eq"], {"rules": sy.meta_rules(epsilon=0.0)},
     ["seg_kendall_acc23_by_item", "seg_kendall_23_by_item"]),
]  # fmt: skip


@pytest.mark.parametrize(
    ("lp", "every", "values"),
    # 45 metrics with system scores, 43 with segment scores
    [
        ("en-de", 1, 782),
        ("zh-en", 5, 148),
        pytest.param("zh-en", 1, 782, marks=pytest.mark.thorough),
    ],
)
@pytest.mark.parametrize("gold", ["mqm", "da_sqm"])
def test_official_values_of_wmt23(shared, lp, every, values, gold):
    """All metrics, or one in a few: the value of one does not depend on others."""
    folder = shared / "wmt23-metrics"
    inputs = [
        folder / f"{lp}.{part}"
        for part in ("human.csv.gz", "metrics.seg.csv.gz", "metrics.sys.csv")
    ]
    es = sy.load(*inputs, human=gold).drop(systems=["synthetic_ref"])
    with (folder / f"{lp}.expected.csv").open(encoding="utf-8", newline="") as stream:
        rows = {r["metric"]: r for r in csv.DictReader(stream) if r["gold"] == gold}
    chosen = list(es.metrics)[::every]
    checked = 0
    for names, options, columns in WMT23:
        result = meta_evaluate(es, gold, by=names, metrics=chosen, intervals=None, **options)
        for name, column in zip(names, columns, strict=True):
            for metric, value in result.values(name).items():
                if rows[metric][column]:
                    assert value == pytest.approx(float(rows[metric][column]), abs=1e-6), metric
                    checked += 1
    assert checked == values


@pytest.mark.thorough
def test_the_default_spa_is_close_to_many_permutations(shared):
    folder = shared / "wmt23-metrics"
    inputs = [folder / f"en-de.{part}" for part in ("human.csv.gz", "metrics.seg.csv.gz")]
    es = sy.load(*inputs, human="mqm").drop(systems=["synthetic_ref"])
    with (folder / "en-de.expected.csv").open(encoding="utf-8", newline="") as stream:
        rows = {r["metric"]: r for r in csv.DictReader(stream) if r["gold"] == "mqm"}
    for metric, value in meta_evaluate(es, "mqm", by="spa").values("spa").items():
        assert value == pytest.approx(float(rows[metric]["spa_20000perm"]), abs=0.003)


def test_lower_is_better_is_turned():
    es = small(s=20)
    flipped = es.with_scores("good-src", -es["good-src"].values, higher_is_better=False)
    for name in ("spa", "pa", "acc-eq", "pearson", "kendall-b"):
        one, turned = (meta_evaluate(x, by=name, intervals=None) for x in (es, flipped))
        assert one.values(name) == turned.values(name)


@pytest.mark.parametrize("name", sorted(METAMETRICS))
def test_every_meta_metric_gives_one_to_a_perfect_metric(name):
    rng = np.random.default_rng(1)
    values = rng.permuted(np.tile(np.arange(6.0), (40, 1)), axis=1).T * 30
    es = EvalSet(
        tuple("ABCDEF"),
        Segments(tuple(str(i) for i in range(40))),
        {"h": ScoreTable(values, kind="human"), "m": ScoreTable(values / 30)},
    )
    assert meta_evaluate(es, by=name, intervals=None).results[0].value == pytest.approx(1)


def test_identical_metrics_share_value_rank_and_warning():
    es = small(s=20)
    es = es.with_scores("copy-src", es["good-src"].values)
    result = meta_evaluate(es, by="spa", significance=sy.metric_test(n_resamples=100))
    ranks = {r.metric: (r.value, r.rank) for r in result.results}
    assert ranks["copy-src"] == ranks["good-src"]
    assert "'good-src' and 'copy-src' are identical" in result.warnings
    test = result.significance["spa"]
    a, b = test.metrics.index("copy-src"), test.metrics.index("good-src")
    assert test.p[a, b] == test.p[b, a] == 1


def test_a_constant_metric_is_named_and_undefined_where_it_is():
    es = small().with_scores("flat", np.ones((5, 30)))
    names = ["spa", "pa", "pearson", "acc-eq"]
    result = meta_evaluate(es, by=names, metrics=["flat"], intervals=None)
    found = {r.by: r for r in result.results}
    assert "'flat' is constant: it can't separate systems" in result.warnings
    assert found["pearson"].note == "constant"
    assert np.isnan(found["pearson"].value)
    assert found["pa"].value == 0
    assert 0 < found["spa"].value < 1
    assert found["acc-eq"].value == pytest.approx(result.chance["acc-eq"]) or (
        found["acc-eq"].value < result.chance["acc-eq"]
    )


def test_segments_without_a_human_score_are_excluded():
    es = small()
    human = es["human"].values.copy()
    human[:, :10] = NAN
    part = es.with_scores("human", human, kind="human")
    rest = es.select(segments=es.segments.ids[10:])
    names = ["spa", "pa", "acc-eq", "pearson", "kendall-b"]
    options: dict[str, Any] = {"by": names, "intervals": None}  # resamples draw other segments
    mine, theirs = meta_evaluate(part, **options), meta_evaluate(rest, **options)
    for one, other in zip(mine.results, theirs.results, strict=True):
        assert one.value == pytest.approx(other.value, abs=1e-12)
        assert replace(one, value=0.0) == replace(other, value=0.0)
    assert mine.n_segments == 20
    assert "20 of 30 segments" in mine.table().notes[0]


def test_a_metric_on_other_segments_than_the_humans():
    es = small()
    half = es["good-src"].values.copy()
    half[:, 15:] = NAN
    human = es["human"].values.copy()
    human[:, :15] = NAN
    es = es.with_scores("human", human, kind="human").with_scores("half", half)
    result = meta_evaluate(es, by=["spa", "acc-eq"], metrics=["half"])
    assert [(r.by, r.note) for r in result.results] == [
        ("spa", "no segment scores where people gave some"),
        ("acc-eq", "no segment scores where people gave some"),
    ]
    assert all(np.isnan(r.value) for r in result.results)


def test_systems_without_a_human_score_and_references_are_left_out():
    es = small()
    human = es["human"].values.copy()
    human[0] = NAN
    es = es.with_scores("human", human, kind="human")
    es = es.with_scores("m-B", es["good-src"].values, uses=("B",))
    result = meta_evaluate(es, by="pa")
    assert result.systems == ("C", "D", "E")
    assert "excluded A (no human), B (reference: keep_references=True)" in result.warnings
    kept = meta_evaluate(es, by="pa", rules=sy.meta_rules(keep_references=True))
    assert kept.systems == ("B", "C", "D", "E")


def test_ranks_follow_the_greedy_rule_and_letters_never_lie():
    result = meta_evaluate(
        sy.demo_set(), "mqm", by="spa", significance=sy.metric_test(n_resamples=500)
    )
    test = result.significance["spa"]
    rows = {r.metric: r for r in result.results}
    for i, a in enumerate(test.metrics):
        for j in range(i + 1, len(test.metrics)):
            b = test.metrics[j]
            share = set(rows[a].letters or "") & set(rows[b].letters or "")
            assert bool(share) == (test.p[i, j] > 0.05)
    assert [r.rank for r in result.results] == sorted(r.rank or 0 for r in result.results)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"by": "spa", "level": "seg"}, "'spa' compares systems"),
        ({"by": "acc-eq", "level": "sys"}, "'acc-eq' compares segments"),
        ({"unit": "paragraph"}, "expected auto, segment, document, prompt, domain, a number"),
    ],
)
def test_bad_arguments_have_a_hint(options, message):
    with pytest.raises(UsageError, match=message):
        meta_evaluate(small(), **options)


def test_spa_on_system_scores_only_is_refused():
    systems = ScoreTable(np.empty((3, 0)), kind="human", system_scores=np.arange(3.0))
    metric = ScoreTable(np.empty((3, 0)), system_scores=np.arange(3.0) ** 2)
    es = EvalSet(("A", "B", "C"), Segments(()), {"h": systems, "m": metric})
    assert meta_evaluate(es, by="pa").results[0].value == 1
    with pytest.raises(UsageError, match="spa needs segment scores"):
        meta_evaluate(es, by="spa")


def test_chance_level_by_hand():
    human = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 2.0]])  # one of six pairs is tied
    assert chance_level(human) == pytest.approx(max(1 / 6, (2 / 3 + 1) / 4))


def test_a_metric_that_runs_against_people_is_named():
    es = small(s=20)
    turned = es.with_scores("good-src", -es["good-src"].values)
    against, plain = (meta_evaluate(x, "human", intervals=None).warnings for x in (turned, es))
    assert any("'good-src' goes against 'human'" in text for text in against)
    assert not any("goes against" in text for text in plain)


def test_files_and_threads_may_come_in_any_order(tmp_path):
    es = small()
    save(es.select(scores=["human"]), tmp_path / "people.csv")
    save(es.drop(scores=["human"]), tmp_path / "metrics.csv")
    seen = set()
    for threads, names in (("1", ["people", "metrics"]), ("2", ["metrics", "people"])):
        command = [sys.executable, "-m", "steelyard", "meta", "--human", "human", "--json",
                   "--significance", "--resamples", "200", "--bootstrap", "100",
                   *(str(tmp_path / f"{name}.csv") for name in names)]  # fmt: skip
        environment = os.environ | {"OMP_NUM_THREADS": threads, "OPENBLAS_NUM_THREADS": threads}
        out = subprocess.run(command, env=environment, capture_output=True, check=True).stdout
        result = json.loads(out)
        del result["provenance"]  # it lists the files as they were given
        seen.add(json.dumps(result))
    assert len(seen) == 1


#: Distinct values, significant pairs and clusters of PA and SPA over the 25 reference-based metrics
#: of WMT23 (SPA paper, Table 1). The paper has 14 systems for Chinese-English, the data 15: of the
#: fifteen sets of fourteen, only the one without HW-TSC has the published distinct values and
#: clusters.
TABLE1 = {
    ("en-de", None): {"pa": (12, 171, 5), "spa": (24, 206, 6)},
    ("zh-en", "HW-TSC"): {"pa": (12, 186, 7), "spa": (25, 229, 7)},
}


@pytest.mark.parametrize(("lp", "left_out"), TABLE1)
def test_table_1_of_the_spa_paper(shared, lp, left_out):
    folder = shared / "wmt23-metrics"
    es = sy.load(folder / f"{lp}.human.csv.gz", folder / f"{lp}.metrics.seg.csv.gz", human="mqm")
    es = es.drop(systems=["refA", "synthetic_ref", *([left_out] if left_out else [])])
    metrics = [name for name in es.metrics if name.endswith("-refA")]
    assert len(metrics) == 25
    found = meta_evaluate(
        es,
        "mqm",
        by=["pa", "spa"],
        metrics=metrics,
        intervals=None,
        significance=sy.metric_test(n_resamples=1000),
    )
    for by, (distinct, significant, clusters) in TABLE1[lp, left_out].items():
        values = np.array(list(found.values(by).values()))
        assert len(np.unique(values.round(10))) == distinct
        p = found.significance[by].p
        # The published counts come from unseeded draws with Monte Carlo inside.
        assert abs(int((np.nan_to_num(p, nan=1.0) < 0.05).sum()) - significant) <= 12
        assert max(r.rank or 0 for r in found.results if r.by == by) == clusters
    if lp == "en-de":
        named = "'sescoreX-refA' and 'instructscore-refA' are identical"
        assert any(text == named for text in found.warnings), found.warnings


def holed() -> EvalSet:
    """A metric without a system, one without single scores, one with all, one with none."""
    es = small()
    for name, rows, columns in (("no-B", 1, slice(None)), ("gaps", 0, slice(5))):
        values = es["good-src"].values.copy()
        values[rows, columns] = NAN
        es = es.with_scores(name, values)
    return es.with_scores("empty", np.full((5, 30), NAN))


def test_metrics_that_lack_systems_or_scores_are_named_and_counted():
    result = meta_evaluate(
        holed(), by=["spa", "pa", "acc-eq"], significance=sy.metric_test(n_resamples=20)
    )
    lacking = [text.partition(" (common")[0] for text in result.warnings if "lacks" in text]
    assert lacking == [
        "'no-B' lacks 1 of 5 systems (B)",
        "'gaps' lacks 5 of 150 scores (5 segments, not the same for all systems)",
    ]
    assert "no spa, pa, acc-eq for 'empty': no scores" in result.warnings
    assert not any("official" in text for text in result.warnings)
    sizes = {r.metric: (r.n_systems, r.n_cells, r.note) for r in result.results if r.by == "pa"}
    assert sizes == {
        "good-src": (5, 150, None),
        "bad-src": (5, 150, None),
        "no-B": (4, 120, "4 of 5 systems, 120 of 150 segment scores"),
        "gaps": (5, 145, "145 of 150 segment scores"),
        "empty": (0, 0, "no scores"),
    }
    assert [c.name for c in result.table().columns][:2] == ["metric", "systems"]
    details = result.table(details=True)
    assert [c.name for c in details.columns][:3] == ["metric", "systems", "cells"]
    assert {"n_systems", "n_cells"} <= set(result.to_frame().columns)
    whole = meta_evaluate(small(), by="pa")
    assert [c.name for c in whole.table().columns][:2] == ["metric", "pa"]
    assert not whole.warnings


def test_the_common_part_is_what_all_metrics_have():
    es = holed().drop(scores=["empty"])
    result = meta_evaluate(es, by=["spa", "pa", "pearson"], rules=sy.meta_rules(common=True))
    assert "common: excluded B, which a metric lacks" in result.warnings
    assert "common: excluded 5 of 30 segments, which a metric lacks" in result.warnings
    assert not any("common=True" in text for text in result.warnings)
    assert {(r.n_systems, r.n_cells, r.note) for r in result.results} == {(4, 100, None)}
    by_hand = es.select(systems=list("ACDE"), segments=[str(i) for i in range(5, 30)])
    expected = meta_evaluate(by_hand, by=["spa", "pa", "pearson"])
    for by in ("spa", "pa", "pearson"):
        assert result.values(by) == expected.values(by)
    assert result.provenance.options["common"] is True


def test_a_metric_that_lacks_the_worst_segments_of_a_system():
    """B is 5 above A on every segment, for people and metric alike; A's lowest scores are lost."""
    human = np.arange(20.0) + np.array([[0.0], [5.0]])
    metric = human.copy()
    metric[0, :12] = NAN
    es = EvalSet(
        ("A", "B"),
        Segments(tuple(str(i) for i in range(20))),
        {"h": ScoreTable(human, kind="human"), "m": ScoreTable(metric)},
    )
    plain = meta_evaluate(es, by="pa", intervals=None)
    assert plain.results[0].value == 0
    assert "12 segments, not the same for all systems" in plain.warnings[0]
    same = meta_evaluate(es, by="pa", intervals=None, rules=sy.meta_rules(common=True))
    assert same.results[0].value == 1


def test_nothing_in_common_is_an_error():
    es = small()
    halves = [es["good-src"].values.copy() for _ in range(2)]
    halves[0][:, :15] = NAN
    halves[1][:, 15:] = NAN
    for name, values in zip(("one", "two"), halves, strict=True):
        es = es.with_scores(name, values)
    with pytest.raises(UsageError, match="no segment has scores of all metrics: 'one' has 75 of"):
        meta_evaluate(es, rules=sy.meta_rules(common=True))
    with pytest.raises(UsageError, match="no system has scores of all metrics: 'empty' has 0 of"):
        meta_evaluate(holed(), rules=sy.meta_rules(common=True))


def test_one_segment_has_no_interval():
    es = small().select(segments=["3"])
    result = meta_evaluate(es, by=["spa", "pa", "acc-eq"])
    assert not any(r.ci for r in result.results)
    assert (
        "spa: no interval over segments for 'bad-src', 'good-src': there is only one to draw"
    ) in result.warnings
    one = meta_evaluate(small(s=5), by="pa", intervals="document")
    assert "there is only one to draw" in one.warnings[-1]


def test_one_system_is_said_to_be_too_few():
    result = meta_evaluate(small().select(systems=["A"]), by=["spa", "pa", "acc-eq"])
    names = "'bad-src', 'good-src'"
    assert f"no spa, pa, acc-eq for {names}: fewer than two systems" in result.warnings
    assert not result.chance
    assert "nan" not in result.table().text()


def by_document(seed=0, documents=10, size=50) -> EvalSet:
    """Documents have effects of their own on people and metrics."""
    rng = np.random.default_rng(seed)
    n, s = 6, documents * size
    quality = rng.normal(0, 0.5, (n, 1))
    effect = np.repeat(rng.normal(0, 2, (n, documents)), size, axis=1)
    other = np.repeat(rng.normal(0, 1.6, (n, documents)), size, axis=1)
    tables = {"human": ScoreTable(quality + effect + rng.normal(0, 1, (n, s)), kind="human")}
    for name, noise in (("m1", 1), ("m2", 4)):
        tables[name] = ScoreTable(quality + effect / 2 + other + rng.normal(0, noise, (n, s)))
    ids = tuple(str(i) for i in range(s))
    names = tuple(f"d{i // size}" for i in range(s))
    return EvalSet(tuple("ABCDEF"), Segments(ids, documents=names), tables)


def summed(es: EvalSet, size=50) -> EvalSet:
    """The same with one segment per document: the sums of its scores."""
    tables = {
        name: replace(table, values=table.values.reshape(6, -1, size).sum(axis=2))
        for name, table in es.scores.items()
    }
    return EvalSet(
        es.systems, Segments(tuple(f"{i}" for i in range(es.n_segments // size))), tables
    )


@pytest.mark.parametrize("unit", ["document", "50"])
def test_values_intervals_and_ranks_have_one_unit(unit):
    """Documents of one size: everything is as if each were one segment."""
    es = by_document()
    options: dict[str, Any] = {"by": ["spa", "pa"], "n_bootstrap": 200}
    for intervals in ("segment", "both"):
        found = meta_evaluate(es, unit=unit, intervals=intervals, **options)
        expected = meta_evaluate(summed(es), intervals=intervals, **options)
        for one, other in zip(found.results, expected.results, strict=True):
            assert one.metric == other.metric
            assert one.value == pytest.approx(other.value, abs=1e-9)
            assert one.ci == pytest.approx(other.ci, abs=1e-6)
            assert one.rank_ci == other.rank_ci
    words = "documents" if unit == "document" else "runs of 50 segments"
    assert f"95% CI over {words} and systems" in found.table().notes[0]


def test_tests_of_metrics_have_the_unit_of_the_values():
    """Ten documents: the exact test of acc-eq is over 2**10 swaps of documents."""
    es = by_document(size=5)
    result = meta_evaluate(
        es,
        by="acc-eq",
        unit="document",
        significance=True,
        intervals=None,
        rules=sy.meta_rules(epsilon=0.5),
    )
    i, j = np.triu_indices(6, 1)
    h = es["human"].values
    share = {}
    for name in ("m1", "m2"):
        gap = es[name].values[i] - es[name].values[j]
        sign = np.where(np.abs(gap) <= 0.5, 0, np.sign(gap))
        share[name] = (sign == np.sign(h[i] - h[j])).mean(axis=0)
    gaps = (share["m1"] - share["m2"]).reshape(10, 5).sum(axis=1)
    signs = 1 - 2 * ((np.arange(1024)[:, None] >> np.arange(10)) & 1)
    expected = np.mean(signs @ gaps >= gaps.sum() - 1e-9)
    test = result.significance["acc-eq"]
    a, b = (test.metrics.index(name) for name in ("m1", "m2"))
    assert test.p[a, b] == pytest.approx(expected, abs=1e-9)


def test_units_that_do_not_fit():
    es = by_document()
    with pytest.raises(UsageError, match="values, tests and intervals have one unit"):
        meta_evaluate(es, unit="5", intervals="document")
    with pytest.raises(UsageError, match="method mtme flips single segments"):
        meta_evaluate(es, unit="document", rules=sy.meta_rules(method="mtme"))


@pytest.mark.parametrize("shared", [0.0, 3.0])
def test_tests_by_segment_are_called_too_sure_where_documents_matter(shared):
    rng = np.random.default_rng(3)
    n, s = 5, 200
    document = np.repeat(np.arange(40), 5)
    noise = rng.normal(size=(n, s)) + shared * rng.normal(size=(n, 40))[:, document]
    people = rng.normal(size=(n, 1)) + noise
    tables = {"people": ScoreTable(people, kind="human")}
    tables |= {f"m{k}": ScoreTable(people + rng.normal(size=(n, s))) for k in range(2)}
    segments = Segments(tuple(map(str, range(s))), documents=tuple(f"d{d}" for d in document))
    es = EvalSet(tuple("ABCDE"), segments, tables)
    options: dict[str, Any] = {
        "by": "pa",
        "significance": sy.metric_test(n_resamples=50),
        "intervals": None,
    }

    def warned(**more):
        words = meta_evaluate(es, "people", **options, **more).words()
        return any('unit="document"' in text for text in words.sureness)

    assert warned() == (shared > 0)
    assert not warned(unit="document")
