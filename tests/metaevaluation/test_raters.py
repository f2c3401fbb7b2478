"""Raters as what is drawn, and as what makes noise in human p-values."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import steelyard as sy
from steelyard.cli.main import run
from steelyard.core.errors import UsageError
from steelyard.data.evalset import EvalSet
from steelyard.data.judgements import Ratings
from steelyard.data.segments import Segments
from steelyard.metaevaluation.data import Run, prepare
from steelyard.metaevaluation.options import MetaOptions
from steelyard.metaevaluation.run import meta_evaluate, pair_preferences
from steelyard.metaevaluation.tests import Judgements, ratings_behind
from steelyard.stats.arrays import row_means
from steelyard.stats.metametrics import registry
from steelyard.stats.metametrics.accuracy import Spa
from steelyard.stats.paired.unpaired import unpaired_means_test


def made(rng, *, n=5, raters=12, each=6, severity=5.0, quality=None, noise=8.0, bias=0.0):
    """Every rater judges segments of their own, all systems; a metric sees the truth, or errs."""
    quality = np.linspace(70, 50, n) if quality is None else np.asarray(quality, dtype=float)
    rows, truth = [], np.empty((n, raters * each))
    for r in range(raters):
        bent = severity * rng.normal(size=n)  # what this rater makes of each system
        for k in range(r * each, (r + 1) * each):
            for i in range(n):
                truth[i, k] = quality[i] + 4 * rng.normal()
                value = truth[i, k] + bent[i] + noise * rng.normal()
                rows.append((f"s{i}", f"{k:04d}", f"r{r:02d}", value))
    system, segment, rater, value = zip(*rows, strict=True)
    ratings = Ratings.from_labels(system, segment, rater, np.array(value))
    human = np.array(value).reshape(raters * each, n).T
    names, ids = tuple(f"s{i}" for i in range(n)), tuple(sorted(set(segment)))
    scores = {"people": sy.ScoreTable(human, kind="human"),
              "good": sy.ScoreTable(truth + 6 * rng.normal(size=truth.shape)
                                    + bias * rng.normal(size=(n, 1))),
              "bad": sy.ScoreTable(truth + 60 * rng.normal(size=truth.shape))}  # fmt: skip
    return EvalSet(names, Segments(ids), scores, ratings={"people": ratings})


@given(st.integers(0, 10_000))
def test_redrawn_scores_against_loops(seed):
    rng = np.random.default_rng(seed)
    rows = [(f"s{rng.integers(3)}", str(rng.integers(4)), f"r{rng.integers(4)}", rng.normal())
            for _ in range(25)]  # fmt: skip
    system, segment, rater, value = zip(*rows, strict=True)
    ratings = Ratings.from_labels(system, segment, rater, np.array(value))
    gold = np.full((3, 4), np.nan)
    for i in range(3):
        for k in range(4):
            own = [v for s, g, _, v in rows if (s, g) == (f"s{i}", str(k))]
            gold[i, k] = np.mean(own) if own else np.nan
    tables = {"people": sy.ScoreTable(gold, "human"), "m": sy.ScoreTable(np.ones((3, 4)))}
    es = EvalSet(("s0", "s1", "s2"), Segments(tuple("0123")), tables, ratings={"people": ratings})
    data, _ = prepare(es, "people", None, keep_references=False)
    found = Judgements.behind(data, "people", ratings)
    names = sorted(set(rater))
    weights = rng.integers(0, 3, (2, len(names))).astype(float)
    for w, human in zip(weights, found.humans(weights), strict=True):
        for i, one in enumerate(data.es.systems):
            for k in range(4):
                met = [(v, w[names.index(r)]) for s, g, r, v in rows if (s, g) == (one, str(k))]
                mass = sum(often for _, often in met)
                expected = sum(v * often for v, often in met) / mass if mass else np.nan
                assert human[i, k] == pytest.approx(expected, nan_ok=True)


@pytest.mark.parametrize("by", ["pearson", "spa"])
def test_values_with_scores_averaged_anew_against_their_functions(by):
    es = made(np.random.default_rng(0))
    ratings = es.ratings["people"]
    data, _ = prepare(es, "people", None, keep_references=False)
    run_of = Run.of(data, registry.metametric(by), MetaOptions())
    humans = list(
        Judgements.behind(data, "people", ratings).humans(
            np.random.default_rng(1).integers(1, 4, (3, 12)).astype(float)
        )
    )
    values = run_of.meta.rejudged(run_of.view, run_of.index(["bad", "good"]), humans)
    for human, row in zip(humans, values, strict=True):
        for name, value in zip(("bad", "good"), row, strict=True):
            metric = es[name].values
            r = np.corrcoef(row_means(human), row_means(metric))[0, 1]
            expected = r if by == "pearson" else sy.spa(human, metric)
            assert value == pytest.approx(expected, abs=1e-9 if by == "pearson" else 2e-3)


def test_intervals_over_raters():
    es = made(np.random.default_rng(1))
    options: dict[str, Any] = {"by": ["spa", "pearson"], "n_bootstrap": 200}
    result = meta_evaluate(es, "people", intervals="rater", **options)
    again = meta_evaluate(es, "people", intervals="rater", **options)
    plain = meta_evaluate(es, "people", **options)
    assert [r.ci for r in result.results] == [r.ci for r in again.results]
    assert [r.value for r in result.results] == [r.value for r in plain.results]
    assert all(r.ci is not None for r in result.results)
    assert result.resampled == "rater"


def coverage(runs):
    """How often the interval holds the value that raters without number would give.

    The metric errs by system, so that the noise of people is not all that keeps it from 1.
    """
    held = 0
    quality = np.linspace(70, 40, 8)
    for seed in range(runs):
        es = made(np.random.default_rng(seed), n=8, raters=30, quality=quality, bias=8.0)
        result = meta_evaluate(
            es,
            "people",
            by="pearson",
            metrics=["good"],
            intervals="rater",
            n_bootstrap=200,
            rng=seed,
            rules=sy.meta_rules(outliers="keep"),
        )
        ci = result.results[0].ci
        assert ci is not None
        held += ci[0] <= np.corrcoef(quality, row_means(es["good"].values))[0, 1] <= ci[1]
    return held / runs


@pytest.mark.thorough
def test_intervals_hold_what_many_raters_would_give():
    assert coverage(60) > 0.68


@pytest.mark.thorough
def test_intervals_hold_it_in_the_long_run():
    assert 0.78 < coverage(600) < 0.95  # less than 95 %: noise of raters lowers correlations


def rejections(runs, unit):
    """Two systems of one quality whose raters differ: how often p is below 5 %."""
    low = 0
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        es = made(rng, n=2, raters=16, quality=[60, 60], severity=12.0)
        data, _ = prepare(es, "people", None, keep_references=False)
        if unit == "segment":
            p = pair_preferences(es, "people", "good")[1]
        else:
            codes = es.ratings["people"]
            raters = [codes.rater[codes.system == i].astype(np.int64) for i in range(2)]
            values = [codes.value[codes.system == i] for i in range(2)]
            p = unpaired_means_test(values, raters)
            asked = MetaOptions(unit=unit)
            _, known = ratings_behind(es, "people", asked, data)
            one = Run.of(known, registry.chosen("spa")[0], asked)
            assert isinstance(one.meta, Spa)
            assert one.meta.pair_pvalues(one.view, 0)[0][0, 1] == pytest.approx(p[0, 1])
        low += min(p[0, 1], p[1, 0]) < 0.025
    return low / runs


@pytest.mark.thorough
def test_human_p_values_by_rater_keep_their_level():
    """By segment, raters who bend systems each their own way are taken for a difference."""
    assert rejections(150, "segment") > 0.2
    assert rejections(150, "rater") < 0.05 + 3 * np.sqrt(0.05 * 0.95 / 150)


def test_soft_accuracy_by_rater():
    """Raters as units give other p-values than segments, no interval, and tests."""
    es = made(np.random.default_rng(3))
    rules = sy.meta_rules(outliers="keep")
    plain = meta_evaluate(es, "people", by="spa", intervals=None, rules=rules)
    for unit in ("rater", "segment+rater"):
        result = meta_evaluate(es, "people", by="spa", unit=unit, intervals=None, rules=rules)
        assert result.values("spa") != plain.values("spa")
        assert result.unit.name == unit
    result = meta_evaluate(es, "people", by="spa", unit="rater", rules=rules)
    assert any("no interval over raters" in text for text in result.warnings)
    test = sy.metric_test(n_resamples=50)
    tested = meta_evaluate(es, "people", by="spa", unit="rater", intervals=None,
                           significance=test, rules=rules)  # fmt: skip
    assert tested.significance["spa"].p.shape == (2, 2)


def test_refusals():
    es = made(np.random.default_rng(4))
    bare = replace(es, ratings={})
    with pytest.raises(UsageError, match='intervals="rater": the ratings behind'):
        meta_evaluate(bare, "people", by="pearson", intervals="rater")
    with pytest.raises(UsageError, match='unit="rater": the ratings behind'):
        meta_evaluate(bare, "people", by="spa", unit="rater")
    other = sy.ScoreTable(es["people"].values + 1, "human")
    moved = replace(es, scores={**es.scores, "people": other})
    with pytest.raises(UsageError, match="do not average to its scores"):
        meta_evaluate(moved, "people", by="pearson", intervals="rater")
    few = made(np.random.default_rng(5), raters=4)
    with pytest.raises(UsageError, match="4 raters: too few"):
        meta_evaluate(few, "people", by="spa", unit="rater")
    result = meta_evaluate(few, "people", by="pearson", intervals="rater", n_bootstrap=20)
    assert any("4 raters" in text and "too few" in text for text in result.warnings)
    documents = tuple(f"d{k // 6}" for k in range(72))
    told = replace(es, segments=Segments(es.segments.ids, documents))
    with pytest.raises(UsageError, match="ratings are of segments"):
        meta_evaluate(told, "people", by="pearson", level="doc", intervals="rater")
    with pytest.raises(UsageError, match="unit 'rater'"):
        pair_preferences(es, "people", "good", unit="rater")


def test_systems_left_out_take_their_ratings_along():
    es = made(np.random.default_rng(6), quality=[70, 69, 68, 67, 10])
    result = meta_evaluate(
        es, "people", by="spa", unit="rater", intervals=None, rules=sy.meta_rules(outliers="drop")
    )
    assert result.n_systems == 4
    both = meta_evaluate(es, "people", by="spa", unit="rater", intervals=None)
    assert both.results[0].without_outliers is not None


def test_raw_ratings_on_the_command_line(shared, tmp_path, capsys):
    """MQM by ten raters, a metric that knows it and one that does not."""
    path = shared / "mqm-sxs23" / "ende.tsv.gz"
    gold = sy.human_scores(path, protocol="mqm", n_bootstrap=0).evalset
    assert gold is not None
    rng = np.random.default_rng(0)
    lines = ["system,segment,good"]
    for system, own in zip(gold.systems, gold["mqm"].values, strict=True):
        pairs = zip(gold.segments.ids, own + 4 * rng.normal(size=len(own)), strict=True)
        lines += [f"{system},{segment},{score}" for segment, score in pairs]
    (tmp_path / "good.csv").write_text("\n".join(lines) + "\n")
    command = ["meta", str(path), str(tmp_path / "good.csv"), "--protocol", "mqm", "--json"]
    more = ["--by", "pearson", "--intervals", "rater", "--bootstrap", "100"]
    assert run([*command, *more]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["human"] == "mqm"
    low, high = found["results"][0]["ci"]
    assert 0.9 < low < high < 1
    assert run([*command, "--by", "spa", "--unit", "document+rater"]) == 2
    told = "10 raters, who share outputs, are 1 independent group: too few for a test by rater"
    assert f"{told}; --intervals rater draws" in capsys.readouterr().err
    assert run(["meta", str(tmp_path / "good.csv"), "--protocol", "mqm"]) == 2
    assert "no input holds raw ratings" in capsys.readouterr().err
