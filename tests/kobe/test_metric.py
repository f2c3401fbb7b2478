"""The metric on sets: scores, report, explanation of the demo's mistakes, bad input."""

from __future__ import annotations

import json
from pathlib import Path
from typing import get_args

import numpy as np
import pytest

import steelyard as sy
import steelyard.demo
from steelyard.core.errors import DegenerateError, UsageError
from steelyard.kobe.explaining import Finding, Kind
from steelyard.kobe.linking.linker import DictionaryLinker
from steelyard.kobe.metric import kobe_metric
from steelyard.kobe.options import KobeOptions

LINES = (Path(steelyard.demo.__file__).parent / "entities.jsonl").read_text("utf-8").splitlines()
ROWS = [json.loads(line) for line in LINES]
PAIRS = ("de-en", "ru-en", "zh-en", "cs-en", "en-de")


def demo_report(lp: str, linker: DictionaryLinker, options: KobeOptions | None = None):
    rows = [row for row in ROWS if row["lp"] == lp]
    src, tgt = lp.split("-")
    outputs = {name: [row["out"][name] for row in rows] for name in rows[0]["out"]}
    outputs["copy"] = [row["src"] for row in rows]
    return sy.kobe.score(
        [row["src"] for row in rows],
        outputs,
        src=src,
        tgt=tgt,
        references={"refA": [row["refs"]["refA"] for row in rows]},
        linker=linker,
        options=options,
    )


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
    """Mistakes on entities of the base must be listed, and careful output hardly ever."""
    expected = detected = false = total = 0
    for lp in PAIRS:
        report = demo_report(lp, linker)
        listed: dict[tuple[str, int], list[Finding]] = {}
        for system, at, finding in report.findings():
            listed.setdefault((system, at), []).append(finding)
        for at, row in enumerate(row for row in ROWS if row["lp"] == lp):
            linked = [f.source.text for f in listed["careful", at] if f.source]
            wrong = [f for f in listed["careful", at] if f.kind in ("lost", "changed", "copied")]
            false, total = false + len(wrong), total + len(linked)
            for system, mistakes in row["mistakes"].items():
                kept = [f.source.text for f in listed[system, at] if f.kind == "found" and f.source]
                for kind, source, _, _ in mistakes:
                    if kind != "added" and source in linked:
                        expected += 1
                        detected += source not in kept
    assert expected >= 50
    assert detected / expected >= 0.85
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


def test_report_and_language_filter(linker: DictionaryLinker):
    report = demo_report("de-en", linker)
    result = report.to_dict()
    assert json.loads(json.dumps(result))["n_segments"] == 8
    names = [s["system"] for s in result["systems"]]
    assert names[-1] == "refA"
    assert set(names) == {"careful", "fluent", "hasty", "copycat", "copy", "refA"}
    assert sum(c["wanted"] for c in result["categories"]) == report.n_source_entities
    assert all(set(category.recall) == set(names) for category in report.categories)
    assert "Recall by category" in [table.title for table in report.tables()]
    assert list(report.to_frame("polars")["system"]) == names
    off = demo_report("de-en", linker, KobeOptions(language_filter="off"))
    assert off.scores["copy"] > 20 > report.scores["copy"]
    assert off.scores["careful"] == report.scores["careful"]


def evalset(sources, references=None, **outputs):
    ids = tuple(str(i) for i in range(len(sources)))
    refs = {} if references is None else {"refA": tuple(references)}
    segments = sy.Segments(ids, sources=tuple(sources), references=refs)
    return sy.EvalSet(tuple(outputs), segments, outputs={n: tuple(t) for n, t in outputs.items()})


def test_score_table(linker: DictionaryLinker):
    es = evalset(
        ["Wien und Prag", "nichts", "5 Euro"],
        A=["Vienna and Prague", "nothing", "6 euros"],
        B=["Vienna", "nothing", None],
    )
    table, report = kobe_metric(es, "de", "en", linker=linker)
    assert table.uses == ("src",)
    np.testing.assert_array_equal(table.values, [[100, np.nan, 50], [50, np.nan, np.nan]])
    np.testing.assert_allclose(table.system_scores, [75.0, 50.0])
    assert table.statistics.signature == report.signature
    assert report.n_without_entities == 1
    # A selection of segments has the corpus score of what is left.
    half = es.with_scores("kobe", table).select(segments=["2"])["kobe"]
    np.testing.assert_allclose(half.system_means(), [50.0, np.nan])


def test_reference_based(linker: DictionaryLinker):
    es = evalset(["x"], ["Vienna, 5 March"], A=["Vienna, 5 May"])
    table, report = kobe_metric(es, "de", "en", options=KobeOptions("refA"), linker=linker)
    assert table.uses == ("refA",)
    assert report.against == "refA"
    assert report.scores == {"A": pytest.approx(200 / 3)}


def test_warnings(linker: DictionaryLinker):
    sources = ["nichts", "gar nichts", "Wien"]
    es = evalset(sources, A=["a", "b", "Vienna"], B=["a", "b", "Vienna, Rome, Paris, Prague"])
    _, report = kobe_metric(es, "de", "en", linker=linker)
    few, close = report.warnings
    assert "33%" in few
    assert "within 0.0 points" in close


@pytest.mark.parametrize("against", ["src", "ref"])
def test_segments_without_a_source_are_excluded(linker: DictionaryLinker, against: str):
    """Neither wanted nor mentioned: the score is that of the other segments."""
    texts: dict[str, list[str | None]] = {
        "src": ["Wien", "Rom", "Paris"],
        "ref": ["Vienna", "Rome", "Paris"],
        "A": ["Vienna, Prague", "Rome, Vienna, Prague", "Rome"],
        "B": ["x", None, "Paris"],
    }
    texts[against][1] = None
    results = []
    for kept in ([0, 1, 2], [0, 2]):
        rows = {name: tuple(row[i] for i in kept) for name, row in texts.items()}
        sources, references = rows.pop("src"), {"ref": rows.pop("ref")}
        segments = sy.Segments(tuple(map(str, kept)), sources=sources, references=references)
        es = sy.EvalSet(tuple(rows), segments, outputs=rows)
        options = KobeOptions(against=against)
        results.append(kobe_metric(es, "de", "en", linker=linker, options=options))
    (table, report), (fewer, expected) = results
    assert report.warnings[1:] == expected.warnings
    assert report.to_dict() | {"warnings": []} == expected.to_dict() | {"warnings": []}
    np.testing.assert_array_equal(table.values[:, [0, 2]], fewer.values)
    assert np.isnan(table.values[:, 1]).all()
    assert not any(at == 1 for _, at, _ in report.findings())


@pytest.mark.parametrize(
    ("sources", "outputs", "src", "message"),
    [
        (["Wien"], {"A": ["Vienna"]}, "xx", "language code 'xx'"),
        (["Wien"], {"A": [""]}, "de", "all outputs of system 'A' are empty"),
        (["Wien", "Rom"], {"A": ["Rome"]}, "de", "'A' has 1 texts, the source has 2"),
        (["Wien"], {}, "de", "no outputs"),
        (["Wien", "Rom"], {"A": "Vienna"}, "de", "outputs is a list of texts, got 'Vienna'"),
    ],
)
def test_bad_input(sources, outputs, src, message, linker: DictionaryLinker):
    with pytest.raises(UsageError, match=message) as caught:
        sy.kobe.score(sources, outputs, src=src, tgt="en", linker=linker)
    assert "\n" not in str(caught.value)


def test_undefined_scores_and_bad_options(linker: DictionaryLinker):
    with pytest.raises(DegenerateError, match=r"undefined: no entity .* any source \(S = 0\)"):
        sy.kobe.score(["nichts"], ["nothing"], src="de", tgt="en", linker=linker)
    with pytest.raises(UsageError, match="unknown language filter"):
        KobeOptions(language_filter="mine")
    es = evalset(["Wien"], A=["Vienna"])
    with pytest.raises(UsageError, match="no reference named 'refB'"):
        kobe_metric(es, "de", "en", options=KobeOptions("refB"), linker=linker)
    with pytest.raises(UsageError, match="can't link with a int"):
        kobe_metric(es, "de", "en", 5)
