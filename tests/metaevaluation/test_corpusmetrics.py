"""Corpus metrics in a meta-evaluation: the score of the whole, not the mean of sentence scores."""

from __future__ import annotations

import json

import numpy as np
import pytest

import steelyard as sy
from steelyard.cli.main import run
from steelyard.metaevaluation.run import meta_evaluate
from steelyard.scoring.run import with_corpus_metrics
from steelyard.stats.metametrics.accuracy import pairwise_accuracy, soft_agreement
from steelyard.stats.permutation.corpus import corpus_pvalues
from steelyard.stats.permutation.pvalues import pairwise_pvalues

WORDS = ["the", "a", "cat", "dog", "house", "tree", "runs", "sees", "blue", "old", "near", "very"]


def texts(n=4, s=40, seed=0):
    """Systems that spoil more or fewer words of the reference, and people who count them."""
    rng = np.random.default_rng(seed)
    references = [" ".join(rng.choice(WORDS, size=rng.integers(4, 30))) for _ in range(s)]
    outputs, spoilt = {}, np.zeros((n, s))
    for i in range(n):
        rows = []
        for k, reference in enumerate(references):
            words = reference.split()
            bad = rng.random(len(words)) < 0.1 + 0.08 * i
            spoilt[i, k] = -bad.sum()
            rows.append(" ".join("xyz" if b else w for w, b in zip(words, bad, strict=True)))
        outputs[f"s{i}"] = tuple(rows)
    segments = sy.Segments(tuple(str(k) for k in range(s)), references={"refA": tuple(references)})
    scores = {"people": sy.ScoreTable(spoilt, kind="human")}
    return sy.EvalSet(tuple(outputs), segments, scores, outputs)


def test_values_are_those_of_the_corpus_score():
    es = with_corpus_metrics(texts(), ["bleu", "ter"])
    assert set(es.metrics) == {"bleu-refA", "ter-refA"}
    found = meta_evaluate(es, "people", by=["spa", "pa", "pearson"], intervals=None)
    means = es["people"].values.mean(axis=1)
    for name, sign in (("bleu-refA", 1), ("ter-refA", -1)):
        stats = es[name].statistics
        corpus = sign * stats.corpus_scores()
        assert found.values("pa")[name] == pairwise_accuracy(means, corpus).value
        assert found.values("pearson")[name] == pytest.approx(np.corrcoef(means, corpus)[0, 1])
        gold = pairwise_pvalues(es["people"].values).p
        soft = soft_agreement(gold, corpus_pvalues(stats).p).value
        assert found.values("spa")[name] == pytest.approx(soft)


def test_only_what_people_judged_counts():
    es = with_corpus_metrics(texts(), ["chrf"])
    judged = es["people"].values.copy()
    judged[:, 20:] = np.nan
    es = es.with_scores("people", judged, kind="human")
    half = es.select(segments=es.segments.ids[:20])
    one = meta_evaluate(es, "people", by=["spa", "pearson"], intervals=None)
    two = meta_evaluate(half, "people", by=["spa", "pearson"], intervals=None)
    for by in ("spa", "pearson"):
        assert one.values(by)["chrf-refA"] == pytest.approx(two.values(by)["chrf-refA"], abs=1e-9)


def test_intervals_and_tests_use_the_corpus_score():
    es = with_corpus_metrics(texts(n=6), ["bleu", "chrf"])
    noise = np.random.default_rng(1).normal(size=(6, 40))
    es = es.with_scores("noise", noise)
    found = meta_evaluate(
        es, "people", by=["spa", "pa", "pearson"], significance=sy.metric_test(n_resamples=200)
    )
    for result in found.results:
        assert result.ci is not None, result
        assert result.ci[0] <= result.ci[1]
        assert result.rank is not None
    p = found.significance["pearson"]
    bleu, random = p.metrics.index("bleu-refA"), p.metrics.index("noise")
    assert p.p[bleu, random] < 0.05
    assert not [w for w in found.warnings if "tests use means" in w]


def test_official_scores_that_are_no_means_are_said_to_be_tested_otherwise():
    es = with_corpus_metrics(texts(n=6), ["bleu"])
    from dataclasses import replace

    bare = replace(es["bleu-refA"], statistics=None)
    es = es.with_scores("bare", bare).with_scores("other", es["people"].values + 0.0)
    found = meta_evaluate(
        es,
        "people",
        by="pearson",
        metrics=["bare", "other"],
        intervals=None,
        significance=sy.metric_test(n_resamples=50),
    )
    assert any("tests use segment means" in w and "'bare'" in w for w in found.warnings)


def test_through_the_command(tmp_path, capsys):
    es = texts()
    sy.save(es, tmp_path / "texts.jsonl", to="text")
    sy.save(es, tmp_path / "people.csv")
    inputs = [str(tmp_path / "people.csv"), str(tmp_path / "texts.jsonl")]
    arguments = ["meta", *inputs, "--human", "people", "--corpus", "bleu,chrf", "--by", "spa,pa",
                 "--bootstrap", "50", "--json"]  # fmt: skip
    assert run(arguments) == 0
    names = {row["metric"] for row in json.loads(capsys.readouterr().out)["results"]}
    assert names == {"bleu-refA", "chrf-refA"}
    assert run([*arguments, "--refs", "refZ"]) == 2
