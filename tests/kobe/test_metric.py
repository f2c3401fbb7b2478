"""The metric on sets: report, explanation on the demo's mistakes, bad input."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import get_args

import numpy as np
import pytest

import steelyard as sy
import steelyard.demo
from steelyard.core.errors import DegenerateError, UsageError
from steelyard.kobe.base.knowledge import KnowledgeBase
from steelyard.kobe.explaining import Finding, Kind, explain
from steelyard.kobe.linking.linker import DictionaryLinker
from steelyard.kobe.mention import Mention
from steelyard.kobe.metric import kobe_metric
from steelyard.kobe.options import KobeOptions
from steelyard.stats.permutation.corpus import bootstrap_scores

LINES = (Path(steelyard.demo.__file__).parent / "entities.jsonl").read_text("utf-8").splitlines()
ROWS = [json.loads(line) for line in LINES]
PAIRS = ("de-en", "ru-en", "zh-en", "cs-en", "en-de")


def demo_report(lp: str, linker: DictionaryLinker, options: KobeOptions | None = None):
    own = [row for row in ROWS if row["lp"] == lp]
    src, tgt = lp.split("-")
    outputs = {name: [row["out"][name] for row in own] for name in own[0]["out"]}
    outputs["copy"] = [row["src"] for row in own]
    return sy.kobe.score(
        [row["src"] for row in own],
        outputs,
        src=src,
        tgt=tgt,
        references={"refA": [row["refs"]["refA"] for row in own]},
        linker=linker,
        options=options,
    )


@pytest.fixture(scope="module")
def linker(small_kb: KnowledgeBase) -> DictionaryLinker:
    return DictionaryLinker(small_kb)


@pytest.mark.parametrize("lp", PAIRS)
def test_demo_ranks_as_it_was_written(lp: str, linker: DictionaryLinker):
    report = demo_report(lp, linker)
    scores = report.scores
    assert scores["careful"] == max(scores.values())
    assert scores["careful"] >= 75
    assert scores["copy"] == min(scores.values())
    assert scores["copy"] < 2
    assert report.n_without_entities <= 1  # one sentence has a name that no base knows, alone


def test_demo_mistakes_are_found(linker: DictionaryLinker):
    """Mistakes on entities that the base knows must be listed, and careful output hardly ever."""
    expected = found = false = total = 0
    for lp in PAIRS:
        report = demo_report(lp, linker)
        own = [row for row in ROWS if row["lp"] == lp]
        listed: dict[tuple[str, int], list[Finding]] = {}
        for system, at, finding in report.findings():
            listed.setdefault((system, at), []).append(finding)
        for at, row in enumerate(own):
            known = [f.source.text for f in listed[("careful", at)] if f.source]
            wrong = [f for f in listed[("careful", at)] if f.kind in ("lost", "changed", "copied")]
            false, total = false + len(wrong), total + len(known)
            for system, mistakes in row["mistakes"].items():
                kept = [f for f in listed[(system, at)] if f.kind == "found"]
                for kind, source, _, _ in mistakes:
                    if kind != "added" and source in known:
                        expected += 1
                        found += source not in [f.source.text for f in kept if f.source]
    assert expected >= 50
    assert found / expected >= 0.85
    assert false / total <= 0.15


def test_findings_have_spans_of_the_texts(linker: DictionaryLinker):
    report, seen = demo_report("de-en", linker), set[str]()
    for line in report.jsonl():
        row = json.loads(line)
        for entity in row["entities"]:
            for side in ("source", "output"):
                if entity[side] is not None:
                    start, end, text = entity[side]
                    assert row[side][start:end] == text
            assert entity["kind"] in get_args(Kind)
            assert (entity["source"] is None) == (entity["kind"] == "added")
            if entity["kind"] in ("undecided", "missed"):
                assert entity["output"] is None
            seen.add(entity["kind"])
    assert {"found", "lost", "changed", "copied", "undecided"} <= seen


def test_explanation_by_hand():
    wien = Mention(0, 4, "Wien", "Q1741", "city")
    five = Mention(8, 9, "5", "num:5", "number")
    year = Mention(10, 14, "2019", "num:2019", "number")
    output = "Wien, 6 and Rome in 2019"
    six = Mention(6, 7, "6", "num:6", "number")
    rome = Mention(12, 16, "Rome", "Q220", "city")
    there = Mention(20, 24, "2019", "num:2019", "number")
    findings = explain((wien, five, year), output, (six, rome, there))
    assert [f.kind for f in findings] == ["copied", "changed", "found", "added"]
    assert findings[0].output is not None
    assert (findings[0].output.start, findings[0].output.end) == (0, 4)
    assert findings[1].output == six
    assert explain((), "", ()) == []
    assert [f.kind for f in explain((wien,), "Wiener", ())] == ["lost"]


def test_report(linker: DictionaryLinker):
    report = demo_report("de-en", linker)
    result = report.to_dict()
    assert json.loads(json.dumps(result))["n_segments"] == 8
    names = [s["system"] for s in result["systems"]]
    assert names[-1] == "refA"
    assert set(names) == {"careful", "fluent", "hasty", "copycat", "copy", "refA"}
    assert sum(c["wanted"] for c in result["categories"]) == report.n_source_entities
    for category in report.categories:
        assert set(category.recall) == set(names)
    assert "refA" in report.table().text()
    assert "Recall by group" in report.category_table().text()
    assert "Most often lost" in report.lost_table().text()
    frame = report.to_frame("polars")
    assert list(frame["system"]) == names
    assert all(0 < e.lost <= e.wanted for e in report.lost)
    sure = [e.confidence for e in report.lost]
    assert sure == sorted(sure, reverse=True)
    assert min(sure) >= report.cut


def test_filter_and_its_effect(linker: DictionaryLinker):
    on = demo_report("de-en", linker)
    off = demo_report("de-en", linker, KobeOptions(language_filter="off"))
    assert off.scores["copy"] > 20 > on.scores["copy"]
    assert on.scores["careful"] == off.scores["careful"]


def evalset(sources, references=None, **outputs):
    ids = tuple(str(i) for i in range(len(sources)))
    refs = {} if references is None else {"refA": tuple(references)}
    segments = sy.Segments(ids, sources=tuple(sources), references=refs)
    texts = {name: tuple(own) for name, own in outputs.items()}
    return sy.EvalSet(tuple(outputs), segments, outputs=texts)


def test_score_table(linker: DictionaryLinker):
    es = evalset(
        ["Wien und Prag", "nichts", "5 Euro"],
        A=["Vienna and Prague", "nothing", "6 euros"],
        B=["Vienna", "nothing", None],
    )
    table, report = kobe_metric(es, "de", "en", linker=linker)
    assert table.uses == ("src",)
    np.testing.assert_array_equal(table.values, [[100, np.nan, 50], [50, np.nan, np.nan]])
    assert table.system_scores is not None
    np.testing.assert_allclose(table.system_scores, [75.0, 50.0])
    assert table.statistics is not None
    assert table.statistics.signature == report.signature
    assert report.n_without_entities == 1
    # A selection of segments has the corpus score of what is left.
    half = es.with_scores("kobe", table).select(segments=["2"])["kobe"]
    np.testing.assert_allclose(half.system_means(), [50.0, np.nan])


def test_reference_based(linker: DictionaryLinker):
    es = evalset(["x"], ["Vienna, 5 March"], A=["Vienna, 5 May"])
    table, report = kobe_metric(es, "de", "en", options=KobeOptions("refA"), linker=linker)
    assert table.uses == ("refA",)
    assert table.system_scores is not None
    np.testing.assert_allclose(table.system_scores, [200 / 3])
    assert report.against == "refA"


def test_consensus(linker: DictionaryLinker):
    source = ["Wien und Prag, 7 Euro"]
    es = evalset(source, A=["Vienna, 7 euros"], B=["Vienna, Prague"], C=["Vienna, 7 euros"])
    plain, _ = kobe_metric(es, "de", "en", linker=linker)
    table, report = kobe_metric(es, "de", "en", options=KobeOptions(weights="consensus"),
                                linker=linker)  # fmt: skip
    assert table.system_scores is not None
    assert plain.system_scores is not None
    assert table.system_scores[0] > plain.system_scores[0]
    assert "weights:consensus" in report.signature


def test_resamples_are_scores_of_resampled_texts(linker: DictionaryLinker):
    sources = ["Wien", "Prag und 7 Uhr", "5 Euro", "nichts", "Rom und Berlin"]
    good = ["Vienna", "Prague and 7 am", "5 euros", "nothing", "Rome and Berlin"]
    bad = ["Venice", "Prague", "6 euros", "London", "Rome"]
    table, _ = kobe_metric(evalset(sources, A=good, B=bad), "de", "en", linker=linker)
    assert table.statistics is not None
    counts = np.random.default_rng(0).multinomial(5, [0.2] * 5, size=20).astype(float)
    found = bootstrap_scores(table.statistics, counts)
    for row, scores in zip(counts, found, strict=True):
        drawn = np.repeat(np.arange(5), row.astype(int))
        texts = [[own[i] for i in drawn] for own in (sources, good, bad)]
        again, _ = kobe_metric(evalset(texts[0], A=texts[1], B=texts[2]), "de", "en", linker=linker)
        assert again.system_scores is not None
        np.testing.assert_allclose(scores, again.system_scores)


def test_meta_evaluation_takes_it_as_a_corpus_metric(linker: DictionaryLinker):
    sources = ["Wien", "Prag", "5 Euro", "Paris", "Rom und Berlin"] * 2
    good = ["Vienna", "Prague", "5 euros", "Paris", "Rome and Berlin"] * 2
    bad = ["Venice", "Prague", "6 euros", "London", "Rome"] * 2
    worse = ["Venice", "Bonn", "6 dollars", "London", "Bern"] * 2
    es = evalset(sources, A=good, B=bad, C=worse)
    table, _ = kobe_metric(es, "de", "en", linker=linker)
    human = np.array([[3.0] * 10, [2.0] * 10, [1.0] * 10])
    es = es.with_scores("human", human, kind="human").with_scores("kobe", table)
    result = sy.meta_evaluate(es, human="human", by=["pearson", "pa"], level="sys").to_dict()
    values = {row["with"]: row["value"] for row in result["results"]}
    assert table.system_scores is not None
    assert values["pa"] == 1.0
    assert values["pearson"] == pytest.approx(np.corrcoef(table.system_scores, [3, 2, 1])[0, 1])


def test_warnings(linker: DictionaryLinker):
    sources = ["nichts", "gar nichts", "Wien"]
    es = evalset(sources, A=["a", "b", "Vienna"], B=["a", "b", "Vienna, Rome, Paris, Prague"])
    _, report = kobe_metric(es, "de", "en", linker=linker)
    text = " ".join(report.warnings)
    assert "only 33% of the segments" in text
    assert "'B' have 4.0 times the entities" in text
    assert "all systems lie within 0.0 points" in text


def test_warnings_say_what_outputs_are_compared_with(linker: DictionaryLinker):
    es = evalset(["Wien"], A=["Vienna, Rome"])
    es = replace(es, segments=replace(es.segments, references={"ref": ("Vienna",)}))
    _, report = kobe_metric(es, "de", "en", linker=linker, options=KobeOptions(against="ref"))
    assert "times the entities of the reference: the penalty" in report.warnings[0]


@pytest.mark.parametrize("against", ["src", "ref"])
def test_segments_without_a_source_take_no_part(linker: DictionaryLinker, against: str):
    """Neither in what is wanted nor in what is found: the score is that of the other segments."""
    texts: dict[str, list[str | None]] = {
        "src": ["Wien", "Rom", "Paris"],
        "ref": ["Vienna", "Rome", "Paris"],
        "A": ["Vienna, Prague", "Rome, Vienna, Prague", "Rome"],
        "B": ["x", None, "Paris"],
    }
    texts[against][1] = None
    found = []
    for kept in ([0, 1, 2], [0, 2]):
        rows = {name: [own[i] for i in kept] for name, own in texts.items()}
        segments = sy.Segments(
            tuple(map(str, kept)),
            sources=tuple(rows.pop("src")),
            references={"ref": tuple(rows.pop("ref"))},
        )
        es = sy.EvalSet(tuple(rows), segments, outputs={n: tuple(o) for n, o in rows.items()})
        options = KobeOptions(against=against)
        found.append(kobe_metric(es, "de", "en", linker=linker, options=options))
    (table, report), (fewer, expected) = found
    what = "source" if against == "src" else "reference"
    assert report.warnings == (f"1 segment without a {what} is excluded", *expected.warnings)
    assert report.systems == expected.systems
    assert report.to_dict() | {"warnings": []} == expected.to_dict() | {"warnings": []}
    np.testing.assert_array_equal(table.values[:, [0, 2]], fewer.values)
    assert np.isnan(table.values[:, 1]).all()
    assert not any(at == 1 for _, at, _ in report.findings())


@pytest.mark.parametrize(
    ("sources", "outputs", "languages", "message"),
    [
        (["Wien"], {"A": ["Vienna"]}, ("xx", "en"), "language code 'xx'"),
        (["Wien"], {"A": [""]}, ("de", "en"), "all outputs of system 'A' are empty"),
        (["Wien", "Rom"], {"A": ["Rome"]}, ("de", "en"), "'A' has 1 texts, the source has 2"),
        (["Wien"], {}, ("de", "en"), "no outputs"),
        (
            ["Wien", "Rom"],
            {"A": "Vienna"},
            ("de", "en"),
            "outputs is a list of texts, got 'Vienna'",
        ),
    ],
)
def test_bad_input(sources, outputs, languages, message, linker: DictionaryLinker):
    with pytest.raises(UsageError, match=message) as caught:
        sy.kobe.score(sources, outputs, src=languages[0], tgt=languages[1], linker=linker)
    assert "\n" not in str(caught.value)


def test_undefined_says_why(linker: DictionaryLinker):
    with pytest.raises(DegenerateError, match=r"undefined: no entity .* any source \(S = 0\)"):
        sy.kobe.score(["nichts"], ["nothing"], src="de", tgt="en", linker=linker)


def test_bad_options(linker: DictionaryLinker):
    with pytest.raises(UsageError, match="unknown weights"):
        KobeOptions(weights="mine")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="unknown measure"):
        KobeOptions(measure="f1")  # type: ignore[arg-type]
    es = evalset(["Wien"], A=["Vienna"])
    with pytest.raises(UsageError, match="no reference named 'refB'"):
        kobe_metric(es, "de", "en", options=KobeOptions("refB"), linker=linker)
    with pytest.raises(UsageError, match="can't link with a int"):
        kobe_metric(es, "de", "en", 5)
