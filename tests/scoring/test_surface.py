"""BLEU, chrF and TER against sacreBLEU itself and against the scores that WMT published."""

from __future__ import annotations

import csv
import pickle
from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest
import sacrebleu
from hypothesis import given, settings
from hypothesis import strategies as st
from sacrebleu import BLEU, CHRF, TER

import steelyard
from steelyard import EvalSet, Segments
from steelyard.core.errors import MissingDependencyError, ShapeError, UsageError
from steelyard.scoring.surface import (
    SURFACE_METRICS,
    Bleu,
    Chrf,
    Ter,
    corpus_statistics,
    sentence_scores,
    surface_table,
)
from steelyard.stats.metametrics.accuracy import soft_agreement, spa
from steelyard.stats.permutation.corpus import bootstrap_scores, corpus_pvalues, pseudo_values
from steelyard.stats.permutation.pvalues import pair_index
from steelyard.stats.permutation.pvalues import pairwise_pvalues as segment_pvalues
from steelyard.stats.resampling.bootstrap import segment_counts

NAN = float("nan")
SETTINGS = [
    ("bleu", BLEU, {}, {}),
    ("bleu", BLEU, {"lowercase": True, "tokenize": "char"}, {}),
    ("bleu", BLEU, {"smooth_method": "floor"}, {}),
    ("bleu", BLEU, {"smooth_method": "add-k", "smooth_value": 0.5}, {}),
    ("bleu", BLEU, {"smooth_method": "none", "max_ngram_order": 2}, {}),
    ("bleu", BLEU, {"effective_order": True}, {}),
    ("chrf", CHRF, {}, {}),
    ("chrf", CHRF, {"eps_smoothing": True, "beta": 1, "whitespace": True}, {}),
    ("chrf++", CHRF, {}, {"word_order": 2}),
    ("ter", TER, {}, {}),
    ("ter", TER, {"normalized": True, "case_sensitive": True}, {}),
]
EVERY_SETTING = pytest.mark.parametrize(
    ("name", "kind", "options", "implied"), SETTINGS, ids=lambda x: str(x) if x else None
)

words = st.sampled_from(
    ["a", "b", "B", "cat", "dog", "sat", "on", ".", "mat,", "ä", "", "  ", "x y"]
)
texts = st.lists(words, max_size=7).map(" ".join)
corpora = st.integers(1, 4).flatmap(
    lambda n: st.tuples(
        st.lists(st.lists(texts, min_size=n, max_size=n), min_size=1, max_size=3),
        st.lists(st.lists(texts, min_size=n, max_size=n), min_size=1, max_size=3),
    )
)

# ---------------------------------------------------------------- against sacreBLEU


@EVERY_SETTING
@settings(max_examples=25)
@given(corpus=corpora)
def test_corpus_scores_are_those_of_sacrebleu(name, kind, options, implied, corpus):
    outputs, references = corpus
    stats = corpus_statistics(name, outputs, references, **options)
    metric = kind(**options, **implied)
    expected = [metric.corpus_score(system, references).score for system in outputs]
    np.testing.assert_allclose(stats.corpus_scores(), expected, rtol=0, atol=1e-9)
    assert stats.signature == str(metric.get_signature())
    assert stats.higher_is_better == (name != "ter")


@pytest.mark.parametrize("name", SURFACE_METRICS)
@settings(max_examples=25)
@given(corpus=corpora)
def test_sentence_scores_are_those_of_sacrebleu(name, corpus):
    outputs, references = corpus
    score: Any = {
        "bleu": sacrebleu.sentence_bleu,
        "chrf": sacrebleu.sentence_chrf,
        "chrf++": lambda h, r: sacrebleu.sentence_chrf(h, r, word_order=2),
        "ter": sacrebleu.sentence_ter,
    }[name]
    expected = [
        [score(text, list(refs)).score for text, *refs in zip(system, *references, strict=True)]
        for system in outputs
    ]
    found = sentence_scores(corpus_statistics(name, outputs, references))
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9)


@given(corpora, st.integers(0, 99))
def test_resamples_are_scored_as_sacrebleu_scores_copies(corpus, seed):
    outputs, references = corpus
    stats = corpus_statistics("bleu", outputs, references)
    counts = segment_counts(3, len(references[0]), np.random.default_rng(seed))
    for row, drawn in zip(bootstrap_scores(stats, counts), counts, strict=True):
        index = np.repeat(np.arange(len(drawn)), drawn.astype(int))
        copies = [[texts[i] for i in index] for texts in references]
        expected = [
            BLEU().corpus_score([texts[i] for i in index], copies).score for texts in outputs
        ]
        np.testing.assert_allclose(row, expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize(
    "formula", [Bleu(), Bleu(2, "floor", 0.1), Chrf(8, 2), Chrf(2, 1, True), Ter()]
)
def test_formulas_take_any_shape_and_never_warn(formula):
    rng = np.random.default_rng(0)
    sums = rng.integers(0, 3, (5, 4, formula.width)).astype(float)
    sums[0, 0] = 0
    whole = formula(sums)
    assert whole.shape == (5, 4)
    assert np.isfinite(whole).all()
    single = [[formula(cell) for cell in row] for row in sums]
    np.testing.assert_allclose(whole, single, rtol=1e-13)
    np.testing.assert_allclose(formula(np.asfortranarray(sums)), whole, rtol=1e-13)


# ---------------------------------------------------------------- missing texts, options


def test_missing_texts_are_missing_and_empty_texts_are_not():
    outputs = [["a cat", None, "a dog", "so"], ["", "it is", "a dog", None]]
    references = [["a cat", "it is", None, "so"], [None, "it was", None, "thus"]]
    stats = corpus_statistics("chrf", outputs, references)
    assert stats.known.tolist() == [[True, False, False, True], [True, True, False, False]]
    assert stats.signature.startswith("nrefs:var|")
    metric: Any = CHRF()  # it takes None, though its types do not say so
    first = metric.corpus_score(["a cat", "so"], [["a cat", "so"], [None, "thus"]]).score
    second = metric.corpus_score(["", "it is"], [["a cat", "it is"], [None, "it was"]]).score
    np.testing.assert_allclose(stats.corpus_scores(), [first, second], rtol=1e-12)
    np.testing.assert_array_equal(np.isnan(sentence_scores(stats)), ~stats.known)


def test_nothing_to_compare_with_is_not_a_number():
    stats = corpus_statistics("bleu", [["a", "b"]], [[None, None]])
    assert stats.values.shape == (1, 2, 10)
    assert np.isnan(stats.corpus_scores()).all()


def test_target_language_chooses_the_tokenizer():
    def tokenizer(target, **options):
        stats = corpus_statistics("bleu", [["猫坐着"]], [["狗坐着"]], target=target, **options)
        return stats.signature.split("tok:")[1].split("|")[0]

    assert tokenizer(None) == tokenizer("de") == "13a"
    assert tokenizer("zh") == "zh"
    assert tokenizer(None, tokenize="intl") == "intl"
    segments = Segments(("1",), references={"refA": ("狗坐着",)})
    es = EvalSet(("A",), segments, outputs={"A": ("猫坐着",)}, language_pair="en-zh_CN")
    stats = surface_table(es, "bleu").statistics
    assert "|tok:zh|" in stats.signature


@pytest.mark.skipif(find_spec("MeCab") is not None, reason="the tokenizer is installed")
def test_a_tokenizer_that_is_not_installed_says_how_to_have_it():
    with pytest.raises(MissingDependencyError, match=r"pip install sacrebleu\[ja\]$"):
        corpus_statistics("bleu", [["猫"]], [["猫"]], target="ja")


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("blue", {}, "unknown metric 'blue'; did you mean 'bleu'"),
        ("ter", {"normalised": True}, "ter has no option 'normalised'; did you mean 'normalized'"),
        ("bleu", {"trg_lang": "zh"}, "bleu has no option 'trg_lang'"),
        ("bleu", {"tokenize": "13b"}, "tokenize of bleu is '13b'; did you mean '13a'"),
        (
            "bleu",
            {"smooth_method": "ad-k"},
            "smooth_method of bleu is 'ad-k'; did you mean 'add-k'",
        ),
    ],
)
def test_unknown_names_are_refused(name, options, message):
    with pytest.raises(UsageError, match=message):
        corpus_statistics(name, [["a"]], [["a"]], **options)


@pytest.mark.parametrize("references", [[], [["a"]], [["a", "b"], ["a"]]])
def test_texts_must_have_one_length(references):
    with pytest.raises(ShapeError, match="references, texts of lengths"):
        corpus_statistics("bleu", [["a", "b"]], references)


# ---------------------------------------------------------------- tables


def two_references():
    references = {"refA": ("a cat sat", "two dogs", "so it is"), "refB": ("a cat", "dogs", None)}
    segments = Segments(("1", "2", "3"), domains=("x", "y", "y"), references=references)
    outputs = {"B": ("a cat", "dogs", "so it was"), "A": ("cats sat", "dogs", "so")}
    return EvalSet(("C", "B", "A"), segments, outputs=outputs)


def test_a_table_follows_every_selection():
    es = two_references()
    for name in SURFACE_METRICS:
        es = es.with_scores(name, surface_table(es, name, ["refA", "refB"]))
    table = es["ter"]
    assert (table.uses, table.higher_is_better) == (("refA", "refB"), False)
    np.testing.assert_array_equal(np.isnan(table.system_means()), [False, False, True])
    part = es.select(systems=["B", "C"], domain="y")
    for name in SURFACE_METRICS:
        again = surface_table(part, name, ["refA", "refB"])
        np.testing.assert_array_equal(part[name].values, again.values)
        np.testing.assert_array_equal(part[name].system_means(), again.system_scores)
        assert part[name].system_scores is None  # no longer official
        mine, new = part[name].statistics, again.statistics
        np.testing.assert_array_equal(mine.values, new.values)
    assert pickle.loads(pickle.dumps(es)).identical(es)
    assert not es.identical(es.with_scores("ter", es["ter"], statistics=None))


def test_a_table_follows_its_systems_and_segments_into_canonical_order():
    es = two_references()
    table = surface_table(es, "chrf", ["refA"])
    stats = table.statistics
    shuffled = EvalSet(
        ("C", "A", "B"),
        Segments(("3", "1", "2")),
        {"chrf": steelyard.ScoreTable(table.values[[2, 0, 1]][:, [2, 0, 1]],
                                      statistics=stats.select([2, 0, 1], [2, 0, 1]))},
    )  # fmt: skip
    found = shuffled["chrf"].statistics
    assert found.identical(stats)
    with pytest.raises(ShapeError, match="statistics of 'chrf': 3 systems, 3 segments"):
        es.with_scores("chrf", table, statistics=stats.select([0, 1]))


def test_statistics_turn_with_their_table():
    table = surface_table(two_references(), "chrf", ["refA"])
    turned = two_references().with_scores("x", table, higher_is_better=False)["x"].statistics
    assert not turned.higher_is_better


def test_statistics_survive_a_join_and_no_file_keeps_them(tmp_path):
    es = two_references()
    es = es.with_scores("ter", surface_table(es, "ter", ["refA"]))
    human = EvalSet(
        ("A", "D"), Segments(("2", "3", "4")), {"h": steelyard.ScoreTable(np.ones((2, 3)), "human")}
    )
    joined = steelyard.load(es, human, human="h")
    stats, before = joined["ter"].statistics, es["ter"].statistics
    assert stats.select([0, 1, 2], [0, 1, 2]).identical(before)
    assert stats.known.sum() == before.known.sum()
    for suffix in ("parquet", "csv"):
        lost = steelyard.save(es, tmp_path / f"set.{suffix}")
        assert "statistics of corpus scores" in lost
        assert steelyard.load(tmp_path / f"set.{suffix}")["ter"].statistics is None


@pytest.mark.parametrize(
    ("es", "references", "message"),
    [
        (two_references(), None, r"several references \(refA, refB\): name those to use"),
        (two_references(), [], "several references"),
        (two_references(), ["refC"], "no reference named 'refC'; did you mean"),
        (two_references(), "refA", "expected a list"),
        (EvalSet(("A",), Segments(("1",)), outputs={"A": ("a",)}), None, "no reference"),
        (EvalSet(("A",), Segments(("1",))), None, "no outputs"),
    ],
)
def test_references_are_named_not_guessed(es, references, message):
    with pytest.raises(UsageError, match=message):
        surface_table(es, "bleu", references)


# ---------------------------------------------------------------- WMT


@pytest.fixture(scope="module")
def en_de(shared):
    """WMT23 en-de with human and official scores."""
    parts = ("text.jsonl.gz", "human.csv.gz", "metrics.seg.csv.gz", "metrics.sys.csv")
    files = [shared / "wmt23-metrics" / f"en-de.{part}" for part in parts]
    return steelyard.load(*files, human="mqm", lp="en-de")


@pytest.fixture(scope="module")
def tables(en_de):
    """BLEU of all systems, chrF (which takes its time) of some."""
    few = en_de.select(systems=en_de.systems[:6])
    return {"bleu": surface_table(en_de, "bleu", ["refA"]),
            "chrf": surface_table(few, "chrf", ["refA"])}  # fmt: skip


@pytest.mark.parametrize(("name", "official"), [("bleu", "BLEU-refA"), ("chrf", "chrF-refA")])
@pytest.mark.thorough
def test_scores_of_the_wmt23_metrics_task(en_de, tables, name, official):
    found = tables[name]
    n = len(found.values)
    expected = en_de.select(systems=en_de.systems[:n])[official]
    scored = [system != "refA" for system in en_de.systems[:n]]
    np.testing.assert_allclose(
        found.system_scores[scored], expected.system_scores[scored], rtol=0, atol=1e-9
    )
    known = ~np.isnan(expected.values)
    assert known.sum() == sum(scored) * 557
    # the published segment scores of chrF have nine digits
    np.testing.assert_allclose(found.values[known], expected.values[known], rtol=0, atol=1e-7)


def corpus_spa(human, stats, **options):
    """Soft pairwise accuracy on the cells that people and the metric have."""
    known = stats.known & ~np.isnan(human)
    gold = segment_pvalues(np.where(known, human, NAN)).p
    return soft_agreement(gold, corpus_pvalues(stats.masked(known), **options).p).value


def test_soft_pairwise_accuracy_of_corpus_bleu_is_not_that_of_mean_sentence_bleu(en_de, tables):
    rows = [i for i, s in enumerate(en_de.systems) if s not in ("refA", "synthetic_ref")]
    human = en_de["mqm"].values[rows]
    table = tables["bleu"]
    stats = table.statistics.select(rows)
    found = corpus_spa(human, stats)
    # Means of sentence scores cost BLEU four points here (and chrF next to nothing).
    assert (found, spa(human, table.values[rows])) == pytest.approx((0.8967, 0.8566), abs=2e-4)


@pytest.mark.parametrize(
    ("name", "largest", "average"), [("bleu", 0.025, 0.002), ("chrf", 0.006, 4e-4)]
)
def test_pseudo_values_stand_for_the_corpus_score(tables, name, largest, average):
    """A permutation test of pseudo-values is near the test that swaps.

    BLEU is further off because swaps of some pairs cross the begin of the brevity penalty.
    """
    n = 12 if name == "bleu" else 6
    stats = tables[name].statistics.select(range(n))
    pseudo = pseudo_values(stats)
    np.testing.assert_allclose(pseudo.mean(axis=1), stats.corpus_scores(), rtol=1e-12)
    pairs = pair_index(n)
    gap = np.abs(segment_pvalues(pseudo).p - corpus_pvalues(stats).p)[pairs]
    assert gap.max() < largest
    assert gap.mean() < average
    plain = np.abs(segment_pvalues(tables[name].values[:n]).p - corpus_pvalues(stats).p)[pairs]
    assert plain.mean() > 5 * gap.mean()  # means of sentence scores test something else


@pytest.mark.parametrize(
    ("folder", "pair", "metric", "reference", "chosen", "n"),
    [
        ("wmt23-text", "de-en", "bleu", "A", ["refA"], 6),
        ("wmt22-text", "cs-en", "chrf", "B", ["refB"], 2),
        ("wmt22-text", "cs-en", "bleu", "all", ["refB", "refC"], 2),
        # Where an output is equally near to two references, chrF takes the lengths of the first:
        # the other order moves some scores by up to 0.009.
        ("wmt22-text", "cs-en", "chrf", "all", ["refC", "refB"], 2),
    ],
)
def test_official_scores_of_a_pair(shared, folder, pair, metric, reference, chosen, n):
    """The first systems; benchmarks/official.py does the same with every system of all pairs."""
    with (shared / folder / "automatic-scores.csv").open(encoding="utf-8", newline="") as lines:
        official = {
            row["system"]: float(row["score"])
            for row in csv.DictReader(lines)
            if (row["pair"], row["metric"].replace("-ref", "-")) == (pair, f"{metric}-{reference}")
        }
    es = steelyard.load(shared / folder / f"{pair}.text.jsonl.gz", lp=pair)
    es = es.select(systems=es.systems[:n])
    found = surface_table(es, metric, chosen).system_means()
    np.testing.assert_allclose(found, [official[s] for s in es.systems], rtol=0, atol=1e-9)


def test_chrf_takes_the_first_of_two_references_that_are_equally_near():
    outputs, long, short = [["xyz"]], ["abcd efgh"], ["abc"]
    one, other = (
        corpus_statistics("chrf", outputs, refs) for refs in ([long, short], [short, long])
    )
    assert one.values[0, 0, 1] == 8
    assert other.values[0, 0, 1] == 3
