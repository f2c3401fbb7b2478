"""Scores as tools write them: exact values of the samples, joined with labels, and compared."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from steelyard import load, save
from steelyard.cli.main import run
from steelyard.formats.load import column_values

SAMPLES = Path(__file__).parent / "samples"
COMET, METRICX = SAMPLES / "comet", SAMPLES / "metricx"
BLEU = SAMPLES / "sacrebleu"
ITEMS = SAMPLES / "subset2evaluate/items.jsonl"
COUNTS = 'MetricX counts errors: lower is better (higher_is_better=["MetricX"] says otherwise)'
Refusal = Callable[..., str]
Capture = pytest.CaptureFixture[str]


def compared(capsys: Capture, *arguments: object) -> dict[str, Any]:
    assert run(["compare", *map(str, arguments), "--json", "--bootstrap", "20"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def labels(path: Path, systems: tuple[str, ...], segments: range) -> Path:
    rows = [f"{system},{k},{10 * i + k}" for i, system in enumerate(systems) for k in segments]
    path.write_text("system,segment,label\n" + "\n".join(rows) + "\n")
    return path


# COMET


def test_comet_json() -> None:
    es = load(COMET / "comet-two.json")
    assert es.systems == ("sysA", "sysB")
    assert es.segments.ids == ("0", "1", "2", "3", "4", "5")
    assert es["COMET"].values[0, :3].tolist() == [1.0, 0.580078125, 0.52978515625]
    assert es["COMET"].values[1, 3] == 0.04998779296875
    assert es["COMET"].direction_given
    assert es.outputs["sysB"][0] == "A cat is sitting on a mat."
    assert es.segments.sources is not None
    assert es.segments.sources[4] == "Die alte Brücke wurde im Mai gesperrt."
    assert es.segments.references["ref"][5] == "Nobody knew where the key was."
    (note,) = es.notes
    assert note.endswith("the files that were scored, segments are numbered from 0")


def test_comet_without_references_and_with_spans() -> None:
    assert load(COMET / "kiwi-two.json").references == ()
    path = COMET / "xcomet-two.json"
    assert f"{path}: 9 error spans are not read, only the scores" in load(path).notes


def test_comet_output(tmp_path: Path) -> None:
    path = tmp_path / "log.txt"
    noise = "GPU available: False\nPredicting: 100%\t6/6\n"
    path.write_text(noise + (COMET / "comet-two.txt").read_text())
    es = load(path)
    assert es.systems == ("sysA", "sysB")
    assert es["COMET"].values[1].tolist() == [0.8301, 0.4299, 0.5801, 0.05, 0.73, 1.0]
    means = load(COMET / "comet-only-system.txt")
    assert means.n_segments == 0
    assert means["COMET"].system_means().tolist() == [0.8033, 0.6033]


def test_comet_files_with_the_same_stem_keep_their_paths(tmp_path: Path) -> None:
    path = tmp_path / "x.txt"
    path.write_text("a/out.en\tSegment 0\tscore: 0.5\nb/out.en\tSegment 0\tscore: 0.25\n")
    assert load(path).systems == ("a/out.en", "b/out.en")


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("0.5", "'a.txt[1].COMET' is '0.5', expected a finite number or null"),
        (True, "'a.txt[1].COMET' is True, expected a finite number or null"),
    ],
)
def test_comet_scores_are_numbers(
    value: object, message: str, tmp_path: Path, refusal: Refusal
) -> None:
    path = tmp_path / "x.json"
    first, second = {"src": "a", "mt": "b", "COMET": 0.5}, {"src": "c", "mt": "d", "COMET": value}
    path.write_text(json.dumps({"a.txt": [first, second]}))
    assert refusal(path) == f"{path}:1: {message}"
    second["COMET"] = float("nan")
    path.write_text(json.dumps({"a.txt": [first, second]}))
    assert np.isnan(load(path)["COMET"].values[0, 1])


def test_an_odd_score_in_output_is_refused(tmp_path: Path, refusal: Refusal) -> None:
    path = tmp_path / "x.txt"
    path.write_text("a.en\tSegment 0\tscore: 0.5\na.en\tSegment 1\tscore: high\n")
    assert refusal(path).startswith(f"{path}:2: column 'COMET': 'high' is not a number")


def test_models_of_comet_are_named_by_their_files() -> None:
    es = load(SAMPLES / "comet" / "comet-two.json", SAMPLES / "comet" / "kiwi-two.json")
    alone = [load(SAMPLES / "comet" / f"{name}-two.json") for name in ("comet", "kiwi")]
    assert es.metrics == ("comet-two", "kiwi-two")
    for name, one in zip(es.metrics, alone, strict=True):
        assert np.array_equal(es[name].values, one["COMET"].values)
    note = "files give 12 outputs different scores, so each is a model: COMET is called "
    assert f"{note}comet-two, kiwi-two" in es.notes


def test_systems_of_comet_in_several_files_keep_the_name(tmp_path: Path) -> None:
    for name in "AB":
        own = {f"{name}.txt": [{"src": "s", "mt": name, "COMET": 0.5}]}
        (tmp_path / f"{name}.json").write_text(json.dumps(own))
    assert load(tmp_path / "A.json", tmp_path / "B.json").metrics == ("COMET",)


def test_comet_is_compared_and_joined(tmp_path: Path, capsys: Capture) -> None:
    found = compared(capsys, COMET / "comet-two.json")
    assert found["systems"] == ["sysA", "sysB"]
    assert found["aggregations"]["mean"]["scores"]["sysA"] == pytest.approx(4.81982421875 / 6)
    human = labels(tmp_path / "labels.csv", ("sysA", "sysB"), range(6))
    es = load(COMET / "comet-two.txt", human, human="label")
    assert es.human == ("label",)
    assert es["label"].values[1, 2] == 12
    assert run(["meta", str(COMET / "comet-two.json"), str(human), "--human", "label"]) == 0


# MetricX


def test_metricx_counts_errors() -> None:
    es = load(METRICX / "metricx24-output.jsonl")
    assert (es.human, es.metrics) == (("label",), ("MetricX",))
    assert not es["MetricX"].higher_is_better
    assert es["label"].higher_is_better
    assert es["MetricX"].values.tolist() == [
        [0.3125, 1.7421875, 2.90625, 0.84375, 0.0, 4.015625],
        [0.84375, 0.0, 4.015625, 25.0, 0.3125, 1.7421875],
    ]
    assert es["label"].values[0].tolist() == [0, -1, -2, -3, -4, -5]
    assert es.outputs["sysA"][0] == "The cat sat on the warm mat."
    assert es.notes == (COUNTS,)


def test_metricx_without_ids_is_named_by_file_and_line(tmp_path: Path, capsys: Capture) -> None:
    for name in ("sysA", "sysB"):
        shutil.copy(METRICX / f"metricx24-{name}-no-ids.jsonl", tmp_path / f"{name}.jsonl")
    es = load(tmp_path)
    assert es.systems == ("sysA", "sysB")
    assert es.segments.ids == ("1", "2", "3", "4", "5", "6")
    assert es["MetricX"].values[1, 3] == 25
    assert es.notes == (
        "MetricX: without system_id, a system is called as its file",
        "MetricX: without segment_id, segments are lines, from 1",
        "2 files are taken for one metric, MetricX",
        COUNTS,
    )
    human = labels(tmp_path / "labels.csv", ("sysA", "sysB"), range(1, 7))
    joined = load(tmp_path / "sysA.jsonl", tmp_path / "sysB.jsonl", human, human="label")
    assert (joined.human, joined.metrics) == (("label",), ("MetricX",))
    assert joined["label"].values[0].tolist() == [1, 2, 3, 4, 5, 6]
    found = compared(capsys, tmp_path, "--by", "mean")
    assert list(found["aggregations"]["mean"]["ranks"].values()) == [
        1,
        2,
    ]  # fewer errors are better


def test_metricx_without_references() -> None:
    for name in ("metricx24-qe-output", "metricx23-qe-output"):
        es = load(METRICX / f"{name}.jsonl")
        assert es.references == ()
        assert es.systems == (name,)


def test_other_fields_of_metricx_are_named(tmp_path: Path, refusal: Refusal) -> None:
    path = tmp_path / "a.jsonl"
    record = {"source": "s", "hypothesis": "x", "prediction": 1.5, "doc": "d", "year": 2024}
    path.write_text(json.dumps(record))
    es = load(path)
    assert f"{path}: not read: year" in es.notes
    assert es.segments.documents == ("d",)
    path.write_text(json.dumps(record | {"prediction": "bad"}))
    assert refusal(path).startswith(f"{path}:1: column 'prediction': 'bad' is not a number")


# sacreBLEU


def test_sacrebleu_of_one_system(tmp_path: Path, capsys: Capture) -> None:
    for name in ("one-system.json", "one-system-confidence.json"):
        es = load(BLEU / name)
        assert es.systems == (name.removesuffix(".json"),)
        means = {score: table.system_means().tolist() for score, table in es.scores.items()}
        assert means == {"BLEU": [62.1], "chrF2": [77.6], "TER": [23.8]}
        assert [s for s, table in es.scores.items() if not table.higher_is_better] == ["TER"]
    assert set(load(BLEU / "one-system-one-metric.json").scores) == {"BLEU"}
    for name in ("A", "B"):
        shutil.copy(BLEU / "one-system.json", tmp_path / f"{name}.json")
    assert load(tmp_path).systems == ("A", "B")
    assert run(["data", "info", str(tmp_path)]) == 0
    assert "2 systems, 0 segments" in capsys.readouterr().out


def test_sacrebleu_of_several_systems(tmp_path: Path) -> None:
    es = load(BLEU / "two-systems.json")
    assert es.systems == ("sysA", "sysB")
    assert es["BLEU"].system_means().tolist() == [62.1, 31.4]
    assert es["TER"].system_means().tolist() == [23.8, 52.4]
    assert not es["TER"].higher_is_better
    paired = load(BLEU / "two-systems-paired-bs.json")
    assert paired.systems == ("sysA", "sysB")  # sysA is the baseline
    assert paired["chrF2"].system_means().tolist() == [77.5847691801818, 54.08559287377128]
    assert paired.notes == ("sacreBLEU: p-values, means and intervals of its test are not read",)
    assert set(load(BLEU / "two-systems-paired-ar.json").scores) == {"BLEU"}
    human = tmp_path / "labels.csv"
    human.write_text("system,label\nsysA,1\nsysB,2\n")
    joined = load(BLEU / "two-systems.json", human, human="label")
    assert joined.human == ("label",)


def test_sacrebleu_sentences(tmp_path: Path, capsys: Capture) -> None:
    # Files of one stem are one system, however many metrics there are.
    for metric in ("bleu", "chrf", "ter"):
        shutil.copy(BLEU / f"sentence-level-A-{metric}.txt", tmp_path / f"A.{metric}")
    shutil.copy(BLEU / "sentence-level-A-ter.txt", tmp_path / "B.ter")
    paths = [tmp_path / name for name in ("A.bleu", "A.chrf", "A.ter", "B.ter")]
    es = load(*paths)
    assert es.systems == ("A", "B")
    assert es.segments.ids == ("1", "2", "3", "4", "5", "6")
    assert es["BLEU"].values[0].tolist() == [100.0, 23.0, 47.8, 61.3, 100.0, 33.4]
    assert es["chrF2"].values[0].tolist() == [100.0, 50.0, 69.1, 80.7, 100.0, 75.1]
    assert es["TER"].values[1].tolist() == [0.0, 37.5, 42.9, 14.3, 0.0, 50.0]
    assert not es["TER"].higher_is_better
    assert np.isnan(es["BLEU"].values[1]).all()
    found = compared(capsys, *paths, "--score", "TER", "--by", "mean")
    assert list(found["aggregations"]["mean"]["ranks"].values()) == [1, 1]
    human = labels(tmp_path / "labels.csv", ("A", "B"), range(1, 7))
    assert load(paths[2], paths[3], human, human="label")["label"].values[1, 0] == 11


def test_a_line_of_sacrebleu_is_a_corpus_score() -> None:
    es = load(BLEU / "one-system.txt")
    assert (es.n_segments, es["BLEU"].system_means().tolist()) == (0, [62.1])


def test_a_line_for_each_metric_is_of_a_system(tmp_path: Path) -> None:
    path = tmp_path / "A.txt"  # -m bleu chrf -f text, which aligns the signatures
    path.write_text("  BLEU|nrefs:1|eff:no = 62.1 91.8/74.4\nchrF2|nrefs:1|eff:yes = 77.6")
    es = load(path)
    assert es.n_segments == 0
    assert es["BLEU"].system_means().tolist() == [62.1]
    assert es["chrF2"].system_means().tolist() == [77.6]


def test_sacrebleu_twice_is_refused(tmp_path: Path, refusal: Refusal) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        shutil.copy(BLEU / "sentence-level-A-ter.txt", tmp_path / name / "A.txt")
    message = refusal(tmp_path / "a/A.txt", tmp_path / "b/A.txt")
    assert message == f"{tmp_path / 'b/A.txt'}:1: TER of system 'A' and segment '1' is given twice"


def test_what_sacrebleu_leaves_when_it_breaks(tmp_path: Path, refusal: Refusal) -> None:
    empty = tmp_path / "x.json"
    empty.write_text("")
    assert refusal(empty) == f"{empty}: empty file"
    broken = tmp_path / "x.txt"
    lines = (BLEU / "sentence-level-A-ter.txt").read_text().splitlines()
    broken.write_text("\n".join([*lines[:2], "Traceback", *lines[2:]]))
    assert refusal(broken).startswith(f"{broken}:3: 'Traceback': expected METRIC|SIGNATURE = SCORE")
    odd = tmp_path / "y.json"
    odd.write_text('[{"system": "a", "BLEU": "1"},\n{"system": "b", "BLEU": "high"}]')
    assert refusal(odd) == f"{odd}:2: 'BLEU' is 'high', expected a finite number or null"


def test_plain_files_of_sacrebleu(capsys: Capture) -> None:
    found = compared(
        capsys, BLEU / "sysA.txt", BLEU / "sysB.txt", "--ref", BLEU / "ref.txt", "--metric", "chrf"
    )
    assert found["pair"] == ["sysA", "sysB"]
    alone = BLEU / "sentence-level-A-bleu-score-only-w4.txt"
    found = compared(capsys, alone, BLEU / "sentence-level-A-score-only.txt")
    assert found["pair"] == ["sentence-level-A-bleu-score-only-w4", "sentence-level-A-score-only"]


# subset2evaluate


def test_items() -> None:
    es = load(ITEMS)
    assert (es.human, es.metrics) == (("human",), ("COMET", "MetricX-24"))
    assert es["human"].values[0].tolist() == [90, 83, 76, 69, 62, 55]
    assert np.isnan(es["human"].values[1, 4])  # null in the file
    assert es["MetricX-24"].values[1, 3] == -25
    assert es.segments.ids == ("0", "1", "2", "3", "4", "5")
    assert es.segments.domains is not None
    assert es.segments.domains[1] == "speech"
    assert es.segments.documents is not None
    assert es.segments.documents[2] == "news_#_doc1"
    assert es.outputs["sysB"][1] == "It rained all day in town."
    assert es.notes == (f"{ITEMS}: not read: cost",)


def test_items_are_written_again(tmp_path: Path, capsys: Capture) -> None:
    es = load(ITEMS)
    path = tmp_path / "items.jsonl"
    assert save(es, path, to="subset2evaluate") == []
    first = json.loads(path.read_text(encoding="utf-8").splitlines()[0])
    original = json.loads(ITEMS.read_text(encoding="utf-8").splitlines()[0])
    assert first == {key: own for key, own in original.items() if key != "cost"}
    again = load(path)
    for name, table in es.scores.items():
        assert np.array_equal(again[name].values, table.values, equal_nan=True)
    assert again.outputs == es.outputs
    assert again.segments == es.segments
    long = tmp_path / "long.csv"
    long.write_text("system,segment,mqm,m\nA,x,-1,5\nA,y,0,6\nB,x,-2,7\nB,y,,8\n")
    command = ["data", "convert", str(long), str(path), "--to", "subset2evaluate", "--force"]
    assert run([*command, "--human", "mqm", "--lower-is-better", "m"]) == 0
    assert "which scores are better when lower" in capsys.readouterr().err
    named = load(path)
    assert named.segments.ids == ("x", "y")  # beside the places, which the tool wants
    assert [json.loads(line)["i"] for line in path.read_text().splitlines()] == [0, 1]


def test_items_are_compared_and_joined(tmp_path: Path, capsys: Capture) -> None:
    found = compared(capsys, ITEMS, "--score", "MetricX-24", "--by", "mean")
    assert list(found["aggregations"]["mean"]["ranks"].values()) == [1, 2]
    human = labels(tmp_path / "labels.csv", ("sysA", "sysB"), range(6))
    es = load(ITEMS, human, kind={"human": ["label"]})
    assert es.human == ("human", "label")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"scores": {"A": {"m": "x"}}}, "'scores.A.m' is 'x', expected a finite number or null"),
        ({"scores": {"A": 3}}, "'scores.A' is 3, expected an object"),
        ({"scores": {"A": {"doc": 3}}}, "'scores.A' has 'doc', expected a metric's name"),
        ({"tgt": {"A": 3}}, "'tgt.A' is 3, expected text or null"),
        ({"i": True}, "'i' is True, expected a name or a whole number"),
    ],
)
def test_items_that_are_wrong(
    change: dict[str, object], message: str, tmp_path: Path, refusal: Refusal
) -> None:
    path = tmp_path / "x.jsonl"
    good: dict[str, object] = {"i": 0, "src": "s", "tgt": {"A": "a"}, "scores": {"A": {"m": 1}}}
    path.write_text(json.dumps(good) + "\n" + json.dumps(good | {"i": 1} | change))
    assert refusal(path) == f"{path}:2: {message}"


# WMT automatic scores


def documents(path: Path, base: float, *pairs: str) -> Path:
    lines = [
        {
            "language_pair": pair,
            "domain": "news",
            "document_id": f"d{k}",
            "metric_scores": {"X": [base + k, base + k + 0.5], "Y": [float("nan"), 1]},
        }
        for pair in pairs
        for k in range(3)
    ]
    path.write_text("\n".join(map(json.dumps, lines)))
    return path


def test_automatic_scores(tmp_path: Path, capsys: Capture) -> None:
    for name, base in (("GPT-4.1", 1.0), ("ONLINE-B", 2.0)):
        documents(tmp_path / f"{name}.jsonl", base, "en-is_IS")
    es = load(tmp_path)
    assert es.systems == ("GPT-4.1", "ONLINE-B")
    assert es.language_pair == "en-is_IS"
    assert es.segments.ids[:3] == ("d0_#_0", "d0_#_1", "d1_#_0")
    assert es["X"].values[1].tolist() == [2, 2.5, 3, 3.5, 4, 4.5]
    assert np.isnan(es["Y"].values[:, ::2]).all()
    assert es["X"].direction_given
    found = compared(capsys, tmp_path, "--score", "X", "--by", "mean")
    assert list(found["aggregations"]["mean"]["ranks"].values()) == [2, 1]
    human = tmp_path / "labels.csv"
    human.write_text("system,segment,label\nGPT-4.1,d0_#_0,3\nONLINE-B,d0_#_0,4\n")
    paths = sorted(tmp_path.glob("*.jsonl"))
    assert load(*paths, human, human="label")["label"].values[1, 0] == 4


def test_several_language_pairs(tmp_path: Path, refusal: Refusal) -> None:
    path = documents(tmp_path / "A.jsonl", 0.0, "en-is_IS", "cs-uk_UA")
    assert 'choose one with where={"lp": "cs-uk_UA"}' in refusal(path)
    assert column_values(path, column="lp") == ["en-is_IS", "cs-uk_UA"]
    for chosen in ({"lp": "cs-uk_UA"}, {"where": {"lp": "cs-uk_UA"}}):
        es = load(path, **chosen)
        assert (es.language_pair, es.n_segments) == ("cs-uk_UA", 6)
    assert "mixes 2 language pairs" in refusal(path, lp="de-en")


def test_automatic_scores_that_are_wrong(tmp_path: Path, refusal: Refusal) -> None:
    path = tmp_path / "A.jsonl"
    record = {"language_pair": "en-is", "document_id": "d"}
    path.write_text(json.dumps(record | {"metric_scores": {"X": [1], "Y": [1, 2]}}))
    assert "Y has 2 values, X has 1, expected as many" in refusal(path)
    path.write_text(json.dumps(record | {"metric_scores": {"X": [1, "a"]}}))
    assert (
        refusal(path) == f"{path}:1: 'metric_scores.X[1]' is 'a', expected a finite number or null"
    )


def test_real_automatic_scores(shared: Path) -> None:
    es = load(shared / "wmt25-autorank/raw-sample.Erlendur.jsonl")
    table = load(shared / "wmt25-autorank/en-is_IS.scores.csv.gz")
    assert es.n_segments == 332
    row = table.systems.index("Erlendur")
    places = [table.segments.ids.index(own) for own in es.segments.ids]
    for name in es.scores:
        assert np.allclose(es[name].values[0], table[name].values[row, places], rtol=1e-6)
