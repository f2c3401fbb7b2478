"""Studies of meta-evaluations against naive twins: sets with fewer systems, copies of segments."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import steelyard as sy
from steelyard.core.errors import UsageError
from steelyard.data.evalset import EvalSet
from steelyard.data.segments import Segments
from steelyard.metaevaluation.run import meta_evaluate
from steelyard.stats.resampling.bootstrap import draw_counts
from steelyard.studies.distinct import count_distinct
from steelyard.studies.segments import ablate_segments
from steelyard.studies.study import Study, draw_subsets
from steelyard.studies.systems import ablate_systems

NAN = float("nan")


def make_set(seed, n=6, segments=48, metrics=5, *, holes=0.0):
    rng = np.random.default_rng(seed)
    skill = rng.normal(size=n)
    human = skill[:, None] + rng.normal(size=(n, segments))
    tables = {"people": (human * 4).round() / 4}  # quarters add up without rounding
    for k in range(metrics):
        tables[f"m{k}"] = human * rng.random() + rng.normal(size=(n, segments))
    if holes:
        tables["people"][:, rng.random(segments) < holes] = NAN
    return as_set(tables)


def as_set(tables, ids=None) -> EvalSet:
    first = next(iter(tables.values()))
    names = tuple(f"s{i:02d}" for i in range(len(first)))
    columns = tuple(f"{k:04d}" for k in range(first.shape[1])) if ids is None else ids
    scores = {
        name: sy.ScoreTable(values, kind="human" if name == "people" else "metric")
        for name, values in tables.items()
    }
    return EvalSet(names, Segments(columns), scores)


def records(study: Study, name: str) -> list[dict[str, Any]]:
    return study.table(name).records()


def values_of(es, by, metrics):
    found = meta_evaluate(es, "people", by=by, intervals=None).values(by)
    return np.array([found[name] for name in metrics])


@pytest.mark.parametrize("by", ["pa", "pearson", "spearman", "spa", "kendall-b"])
@settings(max_examples=2)
@given(seed=st.integers(0, 10_000))
def test_dropped_systems_are_sets_without_them(seed, by):
    es = make_set(seed, metrics=4, holes=0.1)
    sizes, trials = (3, 5), 3
    study = ablate_systems(es, "people", by=by, sizes=sizes, trials=trials, rng=3)
    streams = np.random.default_rng(3).spawn(len(sizes))
    # p-values inside resamples are expansions: the whole is that of the study, too.
    slack = 0.05 if by == "spa" else 1e-9
    whole = values_of(es, by, es.metrics)
    for k, (size, stream) in enumerate(zip(sizes, streams, strict=True)):
        found = []
        for drawn in draw_subsets(es.n_systems, size, trials, stream):
            kept = [name for name, count in zip(es.systems, drawn, strict=True) if count]
            own = values_of(es.select(systems=kept), by, es.metrics)
            known = ~np.isnan(own) & ~np.isnan(whole)
            constant = np.ptp(own[known]) == 0 if known.any() else True
            found.append(NAN if constant else np.corrcoef(own[known], whole[known])[0, 1])
        expected = np.nanmean(found) if not np.isnan(found).all() else NAN
        line = study.curve("values").lines[0]
        assert line.y[k] == pytest.approx(expected, abs=slack, nan_ok=True)
        assert line.n[k] == int((~np.isnan(found)).sum())


@pytest.mark.parametrize("by", ["pa", "pearson", "spa", "acc-eq"])
@settings(max_examples=2)
@given(seed=st.integers(0, 10_000))
def test_drawn_segments_are_sets_of_copies(seed, by):
    es = make_set(seed, n=5, segments=60, metrics=2, holes=0.2)
    study = ablate_segments(es, "people", by=by, metrics=["m0", "m1"], sizes=[45], draws=10, rng=5)
    (stream,) = np.random.default_rng(5).spawn(1)
    judged = np.flatnonzero(~np.isnan(es["people"].values).any(axis=0))
    counts = draw_counts(10, len(judged), stream, 45).astype(int)
    found = []
    epsilon = meta_evaluate(es, "people", by="acc-eq", metrics=["m0"]).results[0].epsilon
    for row in counts:
        columns = np.repeat(judged, row)
        ids = tuple(f"{k:04d}" for k in range(len(columns)))
        part = as_set({name: es[name].values[:, columns] for name in es.scores}, ids)
        own = meta_evaluate(
            part,
            "people",
            by=by,
            metrics=["m0"],
            intervals=None,
            rules=sy.meta_rules(epsilon=epsilon if by == "acc-eq" else None),
        )
        found.append(own.results[0].value)
    curve = study.curve("m0")
    low, high = np.quantile(found, [0.025, 0.975])
    slack = 0.02 if by == "spa" else 1e-9
    line = curve.lines[0]
    got = [line.y[0], line.low[0], line.high[0]]
    assert got == pytest.approx([np.mean(found), low, high], abs=slack)
    row = next(r for r in records(study, "values") if r["metric"] == "m0")
    assert row[by] == line.y[0]


def test_the_best_two_are_drawn_unless_named():
    es = make_set(1)
    best = [r.metric for r in meta_evaluate(es, "people", by="spa").results[:2]]
    study = ablate_segments(es, "people", draws=10)
    assert [curve.name for curve in study.curves] == best
    assert study.curves[0].x == (25, 48)


def test_distinct_counts_are_those_of_meta():
    es = make_set(4, metrics=6)
    study = count_distinct(es, "people", by=["spa", "pa"], n_resamples=300, rng=1)
    for row in records(study, "counts"):
        whole = meta_evaluate(es, "people", by=row["with"], intervals=None)
        shown = {round(x, 9) for x in whole.values(row["with"]).values()}
        assert row["distinct"] == len(shown)
        assert (row["of"], row["pairs"]) == (6, 15)
        assert 0 <= row["significant"] <= 15
        assert 1 <= row["clusters"] <= 6


def test_significant_comparisons_by_hand():
    es = make_set(5, metrics=3)
    study = count_distinct(es, "people", by="pearson", scheme="williams")
    whole = meta_evaluate(
        es, "people", by="pearson", significance=sy.metric_test(scheme="williams")
    )
    p = whole.significance["pearson"].p
    expected = sum(p[a, b] <= 0.05 for a in range(3) for b in range(a + 1, 3))
    row = records(study, "counts")[0]
    assert row["significant"] == expected
    assert row["clusters"] == max(r.rank or 0 for r in whole.results)


@pytest.mark.parametrize(
    ("study", "options", "message"),
    [
        (ablate_systems, {"sizes": [6]}, "sizes lie between 2 and 5"),
        (ablate_systems, {"metrics": ["m0"]}, "fewer than two metrics"),
    ],
)
def test_what_is_refused(study, options, message):
    with pytest.raises(UsageError, match=message):
        study(make_set(8), "people", **options)
