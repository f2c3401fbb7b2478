"""Intervals of values and ranks: every meta-metric, level, grouping and unit, or a reason."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import steelyard as sy
from steelyard.core.table import dumps
from steelyard.data.evalset import EvalSet, ScoreTable
from steelyard.data.segments import Segments
from steelyard.metaevaluation.data import Run, prepare
from steelyard.metaevaluation.options import MetaOptions
from steelyard.metaevaluation.run import meta_evaluate
from steelyard.metaevaluation.tests import with_intervals
from steelyard.stats.metametrics.base import MetaMetric, Resamples
from steelyard.stats.metametrics.registry import METAMETRICS

NAN = float("nan")
THRESHOLD = 0.3  # of the human score, which is in steps of a half


def made(n=7, s=60, seed=0, missing=0.0) -> EvalSet:
    rng = np.random.default_rng(seed)
    quality = rng.normal(0, 0.7, n)[:, None] + rng.normal(size=(n, s))
    tables = {"human": np.round(quality * 2) / 2}
    for name, noise in (("good-src", 0.6), ("fair-src", 1.5), ("bad-src", 4.0)):
        tables[name] = np.round(quality + rng.normal(0, noise, (n, s)), 1)
    for values in tables.values():
        values[rng.random((n, s)) < missing] = NAN
    return EvalSet(
        tuple("ABCDEFGHIJ"[:n]),
        Segments(tuple(str(i) for i in range(s)), documents=tuple(f"d{i // 3}" for i in range(s))),
        {
            name: ScoreTable(values, kind="human" if name == "human" else "metric")
            for name, values in tables.items()
        },
    )


UNITS = ("segment", "document", "system", "both")


def combinations() -> list[tuple[str, str, str | None]]:
    found: list[tuple[str, str, str | None]] = []
    for name, meta in sorted(METAMETRICS.items()):
        if "sys" in meta.levels:
            found.append((name, "sys", None))
        if "seg" in meta.levels:
            found += [(name, "seg", group) for group in ("none", "item", "system")]
    return found


def of_pairs(name):
    return name not in ("spa", "pearson", "spearman", "pdp")


def pairs_of_cells(name, group, unit):
    """Whether pairs of cells would have to be resampled, rather than whole groups."""
    whole = group == "system" and unit == "system" and METAMETRICS[name].by_mean
    return of_pairs(name) and group in ("none", "system") and not whole


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize(("name", "level", "group"), combinations())
def test_every_value_and_rank_has_an_interval_or_a_reason(name, level, group, unit):
    result = meta_evaluate(
        made(),
        by=name,
        level=level,
        group_by=group,
        intervals=unit,
        n_bootstrap=60,
        rules=sy.meta_rules(threshold=THRESHOLD),
    )
    reasons = [text for text in result.warnings if "no interval" in text]
    if pairs_of_cells(name, group, unit):
        assert all(row.ci is None and row.rank_ci is None for row in result.results)
        assert not any(np.isnan(row.value) for row in result.results)
        (reason,) = reasons
        assert "for 'bad-src', 'fair-src', 'good-src': pairs of cells" in reason
        return
    assert not reasons
    for row in result.results:
        low, high = row.ci
        meta = METAMETRICS[name]
        assert meta.lowest <= low <= high <= 1
        # Dropped copies and half as many distinct systems move resamples a little.
        assert low - 0.05 <= row.value <= high + 0.05
        assert 1 <= row.rank_ci[0] <= row.rank_ci[1] <= 3
    best, worst = result.results[0], result.results[-1]
    assert (best.metric, worst.metric) == ("good-src", "bad-src")
    assert best.rank_ci[0] == 1
    assert worst.rank_ci[1] == 3


@pytest.mark.parametrize("missing", [0.0, 0.1])
@pytest.mark.parametrize(("name", "level", "group"), combinations())
def test_drawing_everything_once_gives_the_value_itself(name, level, group, missing):
    data, _ = prepare(made(missing=missing), "human", None, keep_references=False)
    options = MetaOptions(level=level, group_by=group, threshold=THRESHOLD)
    run = Run.of(data, METAMETRICS[name], options)
    n, s = data.human.shape
    tolerance = 0.01 if name == "spa" else 1e-9  # spa: quick p-values in resamples
    for unit in UNITS:
        segments = None if unit == "system" else np.ones((2, s))
        ones = Resamples(unit, segments, np.ones((2, n)) if unit in ("system", "both") else None)
        found, _ = with_intervals(run, run.results(), ones)
        if pairs_of_cells(name, group, unit):
            assert all(row.ci is None for row in found)
            continue
        for row in found:
            assert row.ci == pytest.approx([row.value] * 2, abs=tolerance), unit
            place = 1 + sum(other.value > row.value for other in found)
            assert row.rank_ci == (place, place), unit


def test_functions_of_ones_own_are_resampled_where_that_has_a_meaning():
    class Mine(MetaMetric):
        def columns(self, human, metric, ties):
            return METAMETRICS["pearson"].columns(human, metric, ties)

    own = Mine("mine")
    known = meta_evaluate(made(), by="pearson", level="sys").results
    mine = meta_evaluate(made(), by=own, level="sys").results
    for one, other in zip(known, mine, strict=True):
        assert one.value == pytest.approx(other.value)
        assert one.ci == pytest.approx(other.ci)
        assert one.rank_ci == other.rank_ci
    both: dict[str, Any] = {"level": "seg", "significance": sy.metric_test(n_resamples=50)}
    test = meta_evaluate(made(), by=own, **both).significance["mine"]
    assert test.p[test.metrics.index("good-src"), test.metrics.index("bad-src")] < 0.05
    assert all(row.ci for row in meta_evaluate(made(), by=own, level="seg").results)
    by_system: dict[str, Any] = {"by": own, "level": "seg", "group_by": "system"}
    assert all(row.ci for row in meta_evaluate(made(), intervals="system", **by_system).results)
    for options in ({"level": "sys", "intervals": "system"}, by_system):
        result = meta_evaluate(made(), **{"by": own, **options})
        assert not any(row.ci for row in result.results)
        assert "a function of your own has no definition for copies" in result.warnings[-1]


def test_shuffled_systems_and_segments_give_the_same_intervals():
    es = made()
    rng = np.random.default_rng(1)
    rows, columns = rng.permutation(es.n_systems), rng.permutation(es.n_segments)
    names = es.segments.documents
    shuffled = EvalSet(
        tuple(es.systems[i] for i in rows),
        Segments(
            tuple(es.segments.ids[j] for j in columns), documents=tuple(names[j] for j in columns)
        ),
        {
            name: replace(table, values=table.values[np.ix_(rows, columns)])
            for name, table in reversed(list(es.scores.items()))
        },
    )
    by = ["spa", "pa", "acc-eq", "spearman", "kendall-c"]
    for unit in UNITS:
        options: dict[str, Any] = {"by": by, "intervals": unit, "n_bootstrap": 50}
        options["significance"] = unit == "segment" and sy.metric_test(n_resamples=20)
        plain = meta_evaluate(es, "human", **options).to_dict()
        other = meta_evaluate(shuffled, "human", **options).to_dict()
        for part in ("results", "significance"):
            assert dumps(plain[part]) == dumps(other[part])


def test_intervals_do_not_depend_on_the_other_metrics():
    es = made()
    es = es.with_scores("twin", es["fair-src"].values)
    for by in ("spearman", "acc-eq", "pdp"):
        for unit in ("segment", "both"):
            every = meta_evaluate(es, by=by, level="seg", intervals=unit, n_bootstrap=50).results
            alone = meta_evaluate(
                es, by=by, level="seg", intervals=unit, n_bootstrap=50, metrics=["fair-src"]
            ).results
            twins = [row for row in every if row.metric in ("fair-src", "twin")]
            assert [row.ci for row in twins] == [alone[0].ci] * 2
            assert twins[0].rank_ci == twins[1].rank_ci


def test_official_scores_that_are_no_means_are_resampled_over_systems_only():
    es = made()
    es = es.with_scores("good-src", es["good-src"], system_scores=np.arange(7.0))
    result = meta_evaluate(es, by="pa")
    rows = {row.metric: row for row in result.results}
    assert rows["good-src"].ci is None
    assert rows["bad-src"].ci is not None
    assert (
        "pa: no interval over segments for 'good-src': official system scores are not means of "
        'segments (intervals="system")'
    ) in result.warnings
    assert all(row.ci for row in meta_evaluate(es, by="pa", intervals="system").results)


def test_official_means_over_more_than_people_judged():
    """Then the metric's means are over all resampled segments, the human ones over the judged."""
    es = made(s=80)
    human = es["human"].values.copy()
    human[:, 50:] = NAN
    means = es["good-src"].values.mean(axis=1)
    es = es.with_scores("human", human, kind="human")
    es = es.with_scores("good-src", es["good-src"], system_scores=means)
    data, _ = prepare(es, "human", ["good-src"], keep_references=False)
    run = Run.of(data, METAMETRICS["pearson"], MetaOptions(level="sys"))
    counts = np.ones((2, 80))
    counts[:, 60] = 5
    row = with_intervals(run, run.results(), Resamples("segment", counts))[0][0]
    copies = np.repeat(es["good-src"].values, counts[0].astype(int), axis=1).mean(axis=1)
    expected = np.corrcoef(human[:, :50].mean(axis=1), copies)[0, 1]
    assert row.ci == pytest.approx([expected] * 2)


def test_system_scores_alone_have_intervals_over_systems():
    human = ScoreTable(np.empty((6, 0)), kind="human", system_scores=np.arange(6.0))
    metric = ScoreTable(np.empty((6, 0)), system_scores=np.array([0.0, 2, 1, 3, 5, 4]))
    es = EvalSet(tuple("ABCDEF"), Segments(()), {"h": human, "m": metric})
    row = meta_evaluate(es, by="pa", intervals="system").results[0]
    assert row.ci[0] < row.value == 13 / 15 < row.ci[1] <= 1
    for unit in ("segment", "document", "both"):
        result = meta_evaluate(es, by="pa", intervals=unit)
        assert result.results[0].ci is None
        assert "the human score has system scores only" in result.warnings[-1]


def test_human_scores_that_are_no_means_and_metrics_without_segments_are_named():
    es = made()
    bare = ScoreTable(np.full((7, 60), NAN), system_scores=np.arange(7.0))
    es = es.with_scores("bare", bare)
    result = meta_evaluate(es, by="pa")
    assert "for 'bare': there are system scores only (intervals=\"system\")" in result.warnings[-1]
    gold = replace(es["human"], system_scores=np.arange(7.0))
    result = meta_evaluate(es.with_scores("human", gold), "human", by="pa")
    assert not any(row.ci for row in result.results)
    assert "the official human scores are not means of segments" in result.warnings[-1]


def test_statistics_that_are_mostly_undefined_say_so():
    """Two systems: one half of all resamples have one of them twice, and nothing to compare."""
    rng = np.random.default_rng(0)
    values = rng.normal(size=(2, 9))
    es = EvalSet(
        ("A", "B"), Segments(tuple("123456789")),
        {"h": ScoreTable(values, kind="human"), "m": ScoreTable(values[::-1])},
    )  # fmt: skip
    texts = [meta_evaluate(es, by="pa", intervals="system", rng=seed).warnings for seed in range(6)]
    undefined = "pa: no interval over systems for 'm': it is undefined in most resamples"
    assert any(undefined in text for text in texts)


@pytest.mark.slow
def test_intervals_cover_the_population():
    """Fixed systems, segments drawn anew each time: 95 % intervals hold the true value."""
    true_mean = np.linspace(-1.5, 1.5, 6)
    offset = np.array([0.3, -0.3, 0.5, 0.0, -0.4, 0.2])

    def drawn(rng, s):
        shared = rng.normal(size=(1, s))
        human = np.round(true_mean[:, None] + shared + rng.normal(0, 1, (6, s)))
        return human, true_mean[:, None] + offset[:, None] + shared + rng.normal(0, 1, (6, s))

    def result(scores, intervals):
        human, metric = scores
        ids = tuple(str(i) for i in range(human.shape[1]))
        tables = {"h": ScoreTable(human, kind="human"), "m": ScoreTable(metric)}
        es = EvalSet(tuple("ABCDEF"), Segments(ids), tables)
        options: dict[str, Any] = {"by": ["pearson", "acc-eq"], "n_bootstrap": 400}
        return meta_evaluate(
            es, intervals=intervals, **options, rules=sy.meta_rules(epsilon=0.3)
        ).results

    truth = {r.by: r.value for r in result(drawn(np.random.default_rng(10**6), 200_000), None)}
    covered, trials = dict.fromkeys(truth, 0), 400
    for seed in range(trials):
        for row in result(drawn(np.random.default_rng(seed), 150), "segment"):
            covered[row.by] += row.ci[0] <= truth[row.by] <= row.ci[1]
    for by, count in covered.items():
        assert 0.90 <= count / trials <= 0.98, (by, count / trials)
