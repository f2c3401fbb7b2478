"""Disagreement of rankings against a naive twin of section 5."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest
import scipy.stats as reference
from hypothesis import given, settings
from hypothesis import strategies as st

import steelyard as sy
from steelyard.comparison.options import RankOptions
from steelyard.core.errors import UsageError
from steelyard.core.table import dumps
from steelyard.data.evalset import EvalSet
from steelyard.stats.strength.bradleyterry import bradley_terry
from steelyard.stats.strength.wins import win_counts
from steelyard.studies import disagreement as units
from steelyard.studies.disagreement import Rules, Setup, disagree
from steelyard.studies.options import DisagreementOptions
from steelyard.studies.study import draw_subsets

NAN = float("nan")


def naive_rankings(scores, ties="half"):
    """Mean, median and Bradley-Terry of one table, one by one."""
    counts = win_counts(scores)
    ranks = bradley_terry(counts.wins, counts.ties, ties_as=ties).ranks
    mean, median = np.nanmean(scores, axis=1), np.nanmedian(scores, axis=1)
    return {"mean": mean.round(12), "median": median.round(12), "bt": -ranks}


def naive_top(values, n):
    return {i for i, x in enumerate(values) if not np.isnan(x) and sum(values > x) < n}


def naive_measures(rankings):
    rows = []
    for a, b in combinations(rankings.values(), 2):
        known = ~(np.isnan(a) | np.isnan(b))
        x, y = a[known], b[known]
        constant = len(set(x)) < 2 or len(set(y)) < 2
        tau = NAN if constant else reference.kendalltau(x, y).statistic
        tops = [(naive_top(a, n), naive_top(b, n)) for n in (1, 3)]
        rows.append([(1 - tau) / 2, *(float(one != two) for one, two in tops)])
    return np.array(rows)


def make_set(rng, n=5, segments=25, scores=3, *, levels=7):
    table: dict[str, list[Any]] = {"system": [], "segment": []}
    for i in range(n):
        table["system"] += [f"s{i}"] * segments
        table["segment"] += list(range(segments))
    for k in range(scores):
        skill = rng.integers(0, 3, n)
        values = skill[:, None] + rng.integers(0, levels, (n, segments))
        table[f"m{k}"] = values.astype(float).ravel().tolist()
    return table


def load(table) -> EvalSet:
    polars = pytest.importorskip("polars")
    return sy.load(polars.DataFrame(table))


@settings(max_examples=12)
@given(st.integers(0, 10_000))
def test_means_over_setups(seed):
    rng = np.random.default_rng(seed)
    sets = {name: load(make_set(rng, n=4, segments=12)) for name in ("one", "two")}
    study = disagree(sets, sizes=[])
    measures = {
        (name, score): naive_measures(naive_rankings(es[score].values))
        for name, es in sets.items()
        for score in es.scores
    }
    whole = np.nanmean(np.stack(list(measures.values())), axis=0)
    for row, expected in zip(study.table().records(), whole, strict=True):
        found = [row["pairs"], row["best"], row["top 3"]]
        assert found == pytest.approx(expected.tolist(), abs=1e-12)


def test_samples_of_every_size_count_once():
    """Means over draws, then over the sizes of a setup, then over setups, by loops."""
    rng = np.random.default_rng(6)
    sets = {"long": load(make_set(rng, segments=40)), "short": load(make_set(rng, segments=9))}
    sizes, draws, by = (10, 30), 4, ("mean", "median", "bt")
    study = disagree(sets, sizes=sizes, draws=draws, rng=5)
    options = DisagreementOptions(sizes=sizes, draws=draws)
    setups, _ = units.find_setups(sets)
    draw = np.random.default_rng(5).spawn(1)[0]
    expected = {}
    for setup, own in zip(setups, draw.spawn(len(setups)), strict=True):
        each = []
        for size, stream in zip(sizes, own.spawn(3)[1:], strict=True):
            if size < setup.n_segments:
                counts = draw_subsets(setup.n_segments, size, draws, stream)
                ranked = units.rank_samples(setup, by, options, counts)
                measured = units.measure(ranked, Rules(options))
                each.append(np.nanmean(measured, axis=0))
        if each:
            expected[setup.set, setup.score] = np.mean(each, axis=0).ravel()
    rows = study.table("setups").records()
    assert len(rows) == 6
    for row in rows:
        key = (str(row["set"]), str(row["score"]))
        assert row["setups"] == (1 if key in expected else 0)
        if key in expected:
            assert list(row.values())[3:] == pytest.approx(expected[key].tolist())
        else:
            assert set(list(row.values())[3:]) == {None}
    for row in study.table("scores").records():
        assert list(row.values())[2:] == pytest.approx(expected["long", str(row["score"])].tolist())
    long, short = study.table("sets").records()
    assert list(long.values())[2:] == pytest.approx(np.mean(list(expected.values()), axis=0))
    assert short["setups"] == 0
    line = study.curve("sets").lines[0]
    assert line.y[0] == pytest.approx(np.mean([own[0] for own in expected.values()]))
    assert np.isnan(line.y[1])


def test_table_3_of_the_paper(shared):
    """TAC08, BERTScore: pairs .05, .11, .12; our samples are of 10 segments, nearly a fifth."""
    es = sy.load(shared / "bt-eval/tac.csv.gz", where=[("year", "08")])
    study = disagree(es, ["BERTScore", "BLEU"], sizes=[10], draws=30, tests=[])
    found = study.table("scores").records()
    printed = {"BERTScore": (0.12, 0.05, 0.11), "BLEU": (0.15, 0.09, 0.13)}
    for row in found:
        pairs = [row[name] for name in ("mean/median", "mean/bt", "median/bt")]
        assert pairs == pytest.approx(printed[str(row["score"])], abs=0.02)


@pytest.mark.parametrize("ties", ["half", "second", "drop"])
@settings(max_examples=25)
@given(seed=st.integers(0, 10_000), holes=st.booleans())
def test_samples_are_the_whole_of_fewer_segments(seed, holes, ties):
    rng = np.random.default_rng(seed)
    scores = rng.integers(0, 4, (4, 10)).astype(float)
    if holes:
        scores[rng.random(scores.shape) < 0.2] = NAN
    setup = Setup("set", "score", tuple("abcd"), scores)
    options = RankOptions(ties=ties)
    counts = draw_subsets(10, 6, 3, rng)
    found = units.rank_samples(setup, ("mean", "median", "bt"), options, counts)
    rules = Rules(options)
    measured = units.measure(found, rules)
    for k, drawn in enumerate(counts):
        part = scores[:, drawn > 0]
        if np.isnan(part).all(axis=1).any():
            continue
        expected = naive_measures(naive_rankings(part, ties))
        known = ~np.isnan(expected[:, 0])
        assert measured[k][known] == pytest.approx(expected[known], abs=1e-12)


def test_samples_are_drawn_without_replacement():
    counts = draw_subsets(20, 7, 500, np.random.default_rng(0))
    assert set(np.unique(counts)) == {0.0, 1.0}
    assert (counts.sum(axis=1) == 7).all()
    assert counts.mean(axis=0) == pytest.approx(np.full(20, 7 / 20), abs=0.08)
    setup = Setup("set", "score", ("a", "b"), np.arange(40.0).reshape(2, 20))
    part = setup.sample(7, np.random.default_rng(0))
    assert part.scores.shape == (2, 7)
    assert (np.diff(part.scores[0]) > 0).all()


def test_tests_against_scipy():
    rng = np.random.default_rng(3)
    es = load(make_set(rng, n=5, segments=30))
    study = disagree(es, sizes=[])
    significant: dict[str, list[bool]] = {name: [] for name in ("t", "mood", "sign", "wilcoxon")}
    for score in es.scores:
        for x, y in combinations(es[score].values, 2):
            wins, losses = int((x > y).sum()), int((x < y).sum())
            p = {
                "t": reference.ttest_rel(x, y).pvalue,
                "mood": reference.median_test(x, y).pvalue,
                "sign": reference.binomtest(wins, wins + losses).pvalue,
                "wilcoxon": reference.wilcoxon(x, y, method="approx").pvalue,
            }
            for name, verdicts in significant.items():
                verdicts.append(p[name] < 0.05)
    for row in study.table("tests").records():
        test = str(row["test"])
        own = np.array(significant[test])
        for name, other in significant.items():
            share = own.mean() if name == test else np.array(other)[own].mean()
            assert row[name] == pytest.approx(share)
    assert study.facts["n_pairs"] == 30


def test_the_same_seed_gives_the_same_bytes_whatever_the_order():
    rng = np.random.default_rng(0)
    table = make_set(rng)
    order = rng.permutation(len(table["system"]))
    shuffled = {name: [own[k] for k in order] for name, own in table.items()}
    one, two = (dumps(disagree(load(t), sizes=[10], rng=5).to_dict()) for t in (table, shuffled))
    assert one == two
    assert one != dumps(disagree(load(table), sizes=[10], rng=6).to_dict())


def test_constant_scores_order_nothing():
    table = {"system": ["a", "a", "b", "b"], "segment": [1, 2, 1, 2], "x": [1.0, 2.0, 1.0, 2.0]}
    study = disagree(load(table), sizes=[])
    for row in study.table().records():
        assert row["pairs"] is None
        assert row["best"] == 0  # all are best by every ranking
    assert "nothing but ties" in study.warnings[-1]
    for row in study.table("tests").records():
        assert row[str(row["test"])] == 0


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"by": ["mean", "mean"]}, "at least two rankings"),
    ],
)
def test_bad_arguments(settings, message):
    with pytest.raises(UsageError, match=message):
        disagree(sy.demo_set(), ["kin-src"], **settings)
