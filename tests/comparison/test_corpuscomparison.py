"""Systems compared by a corpus metric: the score of the whole, as ``score`` gives it."""

from __future__ import annotations

import gzip
import itertools
import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.significance import PairedTest

import steelyard as sy
from steelyard.cli.main import run
from steelyard.comparison.card import ByScore, decide
from steelyard.comparison.run import compare, compare_scores
from steelyard.report.options import ReportOptions
from steelyard.report.page import make_report
from steelyard.stats.resampling.cluster_df import expanded_level

WORDS = "the a cat dog house tree runs sees blue old near very small".split()  # noqa: SIM905


def texts(n=4, s=40, seed=0, steps=0.04):
    """Systems that spoil more or fewer words of the reference."""
    rng = np.random.default_rng(seed)
    references = [" ".join(rng.choice(WORDS, size=rng.integers(4, 30))) for _ in range(s)]
    outputs = {}
    for i in range(n):
        rows = []
        for reference in references:
            words = reference.split()
            bad = rng.random(len(words)) < 0.15 + steps * i
            rows.append(" ".join("xyz" if b else w for w, b in zip(words, bad, strict=True)))
        outputs[f"s{i}"] = tuple(rows)
    segments = sy.Segments(tuple(str(k) for k in range(s)), references={"refA": tuple(references)})
    return sy.EvalSet(tuple(outputs), segments, {}, outputs)


def scored(es, *metrics):
    return sy.score(es, list(metrics)).evalset


@pytest.fixture(scope="module")
def four():
    return scored(texts(), "bleu", "chrf", "ter")


@pytest.mark.parametrize(("metric", "own"), [("bleu", BLEU), ("chrf", CHRF)])
def test_the_mean_is_the_corpus_score(four, metric, own):
    found = compare(four, metric, by=["mean", "median"], n_bootstrap=20)
    references = [list(four.segments.references["refA"])]
    for i, system in enumerate(found.systems):
        expected = own().corpus_score(list(four.outputs[system]), references).score
        assert found.aggregations["mean"].scores[i] == pytest.approx(expected, rel=1e-12)
    official = sy.score(texts(), metric).system_scores()
    for system, value in zip(found.systems, found.aggregations["mean"].scores, strict=True):
        assert value == official[system][metric]
    assert [own.of for own in found.aggregations.values()] == ["corpus score", "sentence scores"]
    assert found.table().columns[3].name == "corpus"
    assert "mean" in found.table().keys()  # noqa: SIM118 - what frames call the column


def test_resamples_are_scored_again(four):
    """The interval is that of corpus scores of resampled segments."""
    found = compare(four, "bleu", by="mean", n_bootstrap=200, rng=3)
    stream = np.random.default_rng(3).spawn(1)[0]
    s = four.n_segments
    drawn = stream.integers(0, s, size=(200, s))
    stats = four["bleu"].statistics
    assert stats is not None
    naive = [stats.combine(stats.values[:, row].sum(axis=1)) for row in drawn]
    own = found.aggregations["mean"]
    assert own.low is not None
    assert own.high is not None
    tail = (1 - expanded_level(0.95, np.ones(s))) / 2
    np.testing.assert_allclose(own.low, np.quantile(naive, tail, axis=0))
    np.testing.assert_allclose(own.high, np.quantile(naive, 1 - tail, axis=0))


def test_pairs_are_tested_as_sacrebleu_does():
    es = scored(texts(n=2, s=30, steps=0.05, seed=4), "bleu")
    found = compare(es, "bleu", by="mean", intervals=None)
    test = found.tests["permutation"]
    assert found.tiers["mean"].test == "permutation"
    assert test.of == "corpus score"
    references = [list(es.segments.references["refA"])]
    named: list[Any] = [(name, list(es.outputs[name])) for name in es.systems]
    own = {"BLEU": BLEU(references=references)}
    theirs: Any = PairedTest(named, own, None, test_type="ar", n_samples=4000)()[1]["BLEU"][1]
    assert test.p[0, 1] == test.p[1, 0]
    assert 0.01 < theirs.p_value < 0.6
    error = np.sqrt(theirs.p_value * (1 - theirs.p_value) / 4000)
    assert test.p[0, 1] == pytest.approx(theirs.p_value, abs=5 * error)
    card = decide(es, ("s0", "s1"), "bleu", n_bootstrap=50)
    assert card.p == pytest.approx(test.p[0, 1], abs=0.01)
    assert card.means == pytest.approx(found.aggregations["mean"].scores, rel=1e-12)
    assert card.of == "corpus score"
    assert "corpus score bleu" in card.table().text()


def test_few_segments_are_enumerated():
    es = scored(texts(n=2, s=6, steps=0.3), "chrf")
    stats = es["chrf"].statistics
    assert stats is not None
    gap = np.subtract(*stats.corpus_scores())
    swaps = []
    for k in range(2**6):
        swap = np.array([k >> b & 1 for b in range(6)], dtype=bool)[:, None]
        one, two = stats.values
        sums = [np.where(swap, two, one).sum(axis=0), np.where(swap, one, two).sum(axis=0)]
        swaps.append(np.subtract(*stats.combine(np.array(sums))))
    expected = (np.abs(swaps) >= abs(gap) - 1e-9).mean()
    found = compare(es, "chrf", by="mean", intervals=None)
    assert found.tests["permutation"].p[0, 1] == pytest.approx(expected)
    assert decide(es, ("s0", "s1"), "chrf", n_bootstrap=10).p == pytest.approx(expected)


def test_pairs_share_segments_where_some_are_missing(four):
    outputs = dict(four.outputs)
    outputs["s0"] = (None,) * 25 + outputs["s0"][25:]
    es = scored(replace(four, outputs=outputs, scores={}), "bleu")
    found = compare(es, "bleu", by="mean", n_bootstrap=20)
    half = es.select(segments=es.segments.ids[25:])
    stats = half["bleu"].statistics
    assert stats is not None
    expected = np.subtract(*stats.corpus_scores()[:2])
    assert found.aggregations["mean"].pairwise[0, 1] == pytest.approx(expected)
    card = decide(es, ("s0", "s1"), "bleu", n_bootstrap=20)
    assert card.difference == pytest.approx(expected)
    assert card.n_segments == 15


def test_less_is_better_of_ter(four):
    found = compare(four, "ter", by="mean", n_bootstrap=50)
    own = found.aggregations["mean"]
    np.testing.assert_allclose(own.scores, four["ter"].system_means(), rtol=1e-12)
    assert found.ranking("mean")[0] == found.systems[int(np.argmin(own.scores))]
    assert not found.higher_is_better
    assert found.table().columns[-3].heading == "corpus ↓"
    assert not [w for w in found.warnings if "sounds as if" in w]  # sacreBLEU's TER is known


def test_scores_report_and_figures(four):
    many = compare_scores(four, ["bleu", "ter"], n_bootstrap=20)
    assert isinstance(many, ByScore)
    for result in many.results.values():
        assert isinstance(result, sy.Comparison)
        assert result.tiers["mean"].test == "permutation"
    report = make_report(four.select(scores=["bleu"]), options=ReportOptions(n_bootstrap=20))
    assert "Systems by corpus (paired permutation test)" in report.html


def test_wmt23_compare_and_score_agree(shared, tmp_path, capsys):
    path = tmp_path / "de-en.text.jsonl"
    with gzip.open(shared / "wmt23-text" / "de-en.text.jsonl.gz", "rt", encoding="utf-8") as lines:
        path.write_text("".join(itertools.islice(lines, 0, None, 4)), encoding="utf-8")
    source = [str(path), "--metrics", "bleu",
              "--refs", "refA", "--lp", "de-en", "--json"]  # fmt: skip
    assert run(["score", *source]) == 0
    official = json.loads(capsys.readouterr().out)["systems"]
    assert run(["compare", *source, "--by", "mean", "--bootstrap", "50"]) == 0
    found = json.loads(capsys.readouterr().out)
    own = found["aggregations"]["mean"]
    assert own["scores"] == {name: scores["bleu"] for name, scores in official.items()}
    worst = min(own["scores"], key=own["scores"].__getitem__)
    assert own["ranks"][worst] == len(official) == 13
    assert own["of"] == "corpus score"


@pytest.mark.parametrize(("name", "official", "warns"), [
    ("BLEU-refA", None, True), ("spBLEU", None, True), ("COMET", None, False),
    ("COMET", [1.0, 2.0], True), ("BLEU", "means", False),
])  # fmt: skip
def test_means_of_segments_are_not_taken_for_corpus_scores(name, official, warns):
    values = np.random.default_rng(0).normal(size=(2, 30))
    means = values.mean(axis=1) if official == "means" else official
    table = sy.ScoreTable(values, system_scores=None if means is None else np.array(means))
    es = sy.EvalSet(("A", "B"), sy.Segments(tuple(map(str, range(30)))), {name: table})
    for result in (compare(es, intervals=None), decide(es, ("A", "B"), n_bootstrap=10)):
        assert any("means of segment scores" in text for text in result.warnings) is warns
