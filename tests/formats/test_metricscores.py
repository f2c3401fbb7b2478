"""Scores that COMET, MetricX and sacreBLEU write: which files are of one model, and what is odd."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from steelyard import load

SAMPLES = Path(__file__).parent / "samples"
Refusal = Callable[..., str]


def comet(path: Path, scores: dict[str, list[Any]], **texts: str) -> Path:
    content = {
        f"{system}.txt": [{"src": "Ja.", "mt": "Yes.", **texts, "COMET": x} for x in values]
        for system, values in scores.items()
    }
    path.write_text(json.dumps(content))
    return path


def lines(path: Path, *rows: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.mark.parametrize(
    ("first", "second", "texts", "metrics"),
    [
        ({"A": [0.5, 0.25]}, {"B": [0.75, 1.0]}, {}, ("COMET",)),
        ({"A": [0.5, 0.25], "B": [0.5, 0.875]}, {"B": [0.5, 1.0]}, {}, ("one", "two")),
        ({"A": [0.5, 0.25]}, {"B": [0.75, 1.0]}, {"ref": "Yes."}, ("one", "two")),
    ],
)
def test_files_are_one_metric_unless_something_speaks_against_it(
    first: Any, second: Any, texts: dict[str, str], metrics: tuple[str, ...], tmp_path: Path
) -> None:
    """Outputs with two scores, or references in some files only, make models of files."""
    es = load(comet(tmp_path / "one.json", first, **texts), comet(tmp_path / "two.json", second))
    assert es.metrics == metrics
    assert es[metrics[-1]].values[1].tolist()[1] == 1.0
    if len(metrics) == 1:
        assert not np.isnan(es["COMET"].values).any()
        assert any("2 files are taken for one metric, COMET" in note for note in es.notes)


def test_an_output_with_two_texts_is_refused(tmp_path: Path, refusal: Refusal) -> None:
    first = comet(tmp_path / "one.json", {"A": [0.5]})
    second = comet(tmp_path / "two.json", {"A": [0.5]}, mt="No.")
    message = refusal(first, second)
    assert message.startswith(f"{second}:1: 'output' is 'No.'")
    assert message.endswith(f"on line 1 of {first}")


def test_predictions_without_ids_are_named_by_file_and_line(tmp_path: Path) -> None:
    for name in ("sysA", "sysB"):
        source = SAMPLES / "metricx" / f"metricx24-{name}-no-ids.jsonl"
        shutil.copy(source, tmp_path / f"{name}.jsonl")
    es = load(tmp_path)
    assert (es.systems, es.segments.ids) == (("sysA", "sysB"), tuple("123456"))
    assert es["MetricX"].values[1, 3] == 25
    assert not es["MetricX"].higher_is_better
    assert len(es.notes) == 4


def test_what_is_not_of_metricx(tmp_path: Path, refusal: Refusal) -> None:
    path = tmp_path / "x.jsonl"
    row = {"system_id": "A", "source": "s", "hypothesis": "h"}
    lines(path, *(row | {"segment_id": k, "prediction": x} for k, x in enumerate((3.5, 87.5))))
    assert refusal(path).startswith(f"{path}:2: 'prediction' is 87.5")
    assert load(path, format="long table")["prediction"].values.tolist() == [[3.5, 87.5]]
    premise = {"premise": "p", "hypothesis": "h", "source": "snli", "label": 0, "prediction": 2}
    assert "MetricX" not in refusal(lines(path, premise))
    bare = {"system_id": "A", "segment_id": 0, "hypothesis": "h", "prediction": 0.75}
    assert load(lines(path, bare, bare | {"segment_id": 1})).metrics == ("prediction",)


def test_a_name_with_a_signature_need_not_be_of_sacrebleu(tmp_path: Path) -> None:
    rows = [{"name": name, "score": 0.5, "signature": "x"} for name in "AB"]
    path = tmp_path / "x.json"
    path.write_text(json.dumps(rows))
    assert load(path, ignore=["signature"]).systems == ("A", "B")
