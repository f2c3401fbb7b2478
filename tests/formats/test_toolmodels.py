"""Scores whose name is that of a tool: which files are of one model, and which of none of it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from steelyard import load

Refusal = Callable[..., str]
TEXTS = {"source": "Ja.", "hypothesis": "Yes.", "reference": "Yes."}


def comet(path: Path, scores: dict[str, list[float | None]], **texts: str) -> Path:
    cells = {
        f"{system}.txt": [{"src": "Ja.", "mt": "Yes.", **texts, "COMET": x} for x in own]
        for system, own in scores.items()
    }
    path.write_text(json.dumps(cells))
    return path


def lines(path: Path, *rows: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_files_of_different_systems_are_one_metric(tmp_path: Path) -> None:
    one = comet(tmp_path / "one.json", {"A": [0.5, 0.25]})
    two = comet(tmp_path / "two.json", {"B": [0.75, 1.0]})
    es = load(one, two)
    assert es["COMET"].values.tolist() == [[0.5, 0.25], [0.75, 1.0]]
    assert "2 files are taken for one metric, COMET" in es.notes


def test_files_with_and_without_references_are_of_two_models(tmp_path: Path) -> None:
    one = comet(tmp_path / "one.json", {"A": [0.5, 0.25]}, ref="Yes.")
    two = comet(tmp_path / "two.json", {"B": [0.75, 1.0]})
    es = load(one, two)
    assert es.metrics == ("one", "two")
    assert np.array_equal(es["one"].values, [[0.5, 0.25], [np.nan] * 2], equal_nan=True)
    assert any("some files have references, others have none" in note for note in es.notes)


def test_shared_outputs_that_agree_are_one_metric(tmp_path: Path) -> None:
    one = comet(tmp_path / "one.json", {"A": [0.5, 0.25], "B": [0.5, None]})
    two = comet(tmp_path / "two.json", {"B": [0.5, 1.0], "C": [0.0, 0.125]})
    es = load(one, two)
    assert es["COMET"].values.tolist() == [[0.5, 0.25], [0.5, 1.0], [0.0, 0.125]]
    assert "2 files are taken for one metric, COMET" in es.notes


def test_one_output_that_differs_makes_models(tmp_path: Path) -> None:
    one = comet(tmp_path / "one.json", {"A": [0.5, 0.25], "B": [0.5, 1.0]})
    two = comet(tmp_path / "two.json", {"B": [0.5, 0.875], "C": [0.0, 0.125]})
    es = load(one, two)
    assert es.metrics == ("one", "two")
    assert es["two"].values[1].tolist() == [0.5, 0.875]
    said = "files give 1 output different scores, so each is a model: COMET is called one, two"
    assert said in es.notes


def test_one_output_with_two_texts_is_refused(tmp_path: Path, refusal: Refusal) -> None:
    one = comet(tmp_path / "one.json", {"A": [0.5]})
    two = comet(tmp_path / "two.json", {"A": [0.5]}, mt="No.")
    said = refusal(one, two)
    assert said == f"{two}:1: 'output' is 'No.', but another on line 1 of {one}"


def test_metricx_says_which_way_is_better(tmp_path: Path) -> None:
    es = load(lines(tmp_path / "sysA.jsonl", TEXTS | {"prediction": 0.5}))
    assert not es["MetricX"].higher_is_better
    said = 'MetricX counts errors: lower is better (higher_is_better=["MetricX"] says otherwise)'
    assert said in es.notes


def test_a_prediction_without_source_and_reference_is_any_score(tmp_path: Path) -> None:
    rows = [{"system_id": "A", "segment_id": k, "hypothesis": "h", "prediction": 0.75 + k / 8}
            for k in range(2)]  # fmt: skip
    es = load(lines(tmp_path / "x.jsonl", *rows))
    assert es.metrics == ("prediction",)
    assert es["prediction"].higher_is_better


def test_a_premise_is_of_no_translation(tmp_path: Path, refusal: Refusal) -> None:
    row = {"premise": "p", "hypothesis": "h", "source": "snli", "label": 0, "prediction": 2}
    assert "MetricX" not in refusal(lines(tmp_path / "x.jsonl", row))


def test_predictions_out_of_range_are_not_of_metricx(tmp_path: Path, refusal: Refusal) -> None:
    rows = [{"system_id": "A", "segment_id": k, "source": "s", "hypothesis": "h", "prediction": x}
            for k, x in enumerate((3.5, 87.5))]  # fmt: skip
    path = lines(tmp_path / "x.jsonl", *rows)
    said = refusal(path)
    assert said.startswith(f"{path}:2: 'prediction' is 87.5, expected 0..25 as of MetricX (format=")
    es = load(path, format="long table")
    assert es["prediction"].values.tolist() == [[3.5, 87.5]]


def test_any_name_with_a_signature_is_not_of_sacrebleu(tmp_path: Path, refusal: Refusal) -> None:
    path = tmp_path / "x.json"
    own = {"score": 0.5, "signature": "x"}
    path.write_text(json.dumps([{"name": "A", **own}, {"name": "B", **own}]))
    assert load(path, ignore=["signature"]).systems == ("A", "B")
    path.write_text(json.dumps([{"name": "BLEU", **own}, {"name": "B", **own}]))
    said = refusal(path)
    assert said == f"{path}:1: 'name' is 'B', expected a metric of sacreBLEU (BLEU, chrF2, TER)"


def test_a_table_of_sacrebleu_has_its_metrics_only(tmp_path: Path, refusal: Refusal) -> None:
    path = tmp_path / "x.json"
    path.write_text(json.dumps([{"system": "a.txt", "BLEU": "62.1", "mine": "7"}]))
    assert refusal(path) == f"{path}:1: 'mine' is no metric of sacreBLEU (BLEU, chrF2, TER)"
