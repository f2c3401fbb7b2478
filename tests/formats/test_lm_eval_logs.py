"""Samples of lm-evaluation-harness: filters, models, tasks, runs, and what is wrong with them."""

from __future__ import annotations

import gzip
import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from steelyard import load

OUT = Path(__file__).parent / "samples" / "lm-eval" / "out"
ONE = OUT / "made-up-org__model-1"
MC = ONE / "samples_made_up_mc_2026-11-17T00-16-45.330923.jsonl"
GEN = ONE / "samples_made_up_gen_2026-11-17T00-16-45.330923.jsonl"
ROW = {
    "doc_id": 0, "doc": {}, "target": "dog", "arguments": {}, "resps": [["a dog"]],
    "filtered_resps": ["dog"], "filter": "none", "metrics": ["acc"], "acc": 1.0,
}  # fmt: skip


def _write(path: Path, *rows: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def test_two_models_of_a_folder():
    es = load(OUT, where={"task": "made_up_mc"})
    assert es.systems == ("made-up-org/model-1", "made-up-org/model-2")
    assert es.segments.ids == tuple("01234567")
    assert es["acc"].values.tolist() == [[0, 0, 0, 0, 0, 0, 0, 1], [0, 1, 1, 0, 0, 0, 0, 1]]
    assert es["acc"].higher_is_better
    assert es["acc"].direction_given
    assert not es.outputs  # a model that weighs choices writes nothing
    assert not es.segments.references
    assert {Path(one.path).name for one in es.inputs} == {p.name for p in OUT.glob("*/samples_*")}


def test_several_tasks_are_domains():
    es = load(OUT)
    assert es.n_segments == 16
    assert es.segments.ids[0] == "made_up_gen/0"
    assert set(es.segments.domains or ()) == {"made_up_mc", "made_up_gen"}
    assert np.nanmean(es["acc"].values, axis=1).tolist() == [0.125, 0.375]


def test_filters_are_columns_of_one_row():
    es = load(GEN)
    assert es.n_segments == 8  # 16 rows
    assert set(es.scores) == {"exact_match,strict-match", "exact_match,flexible-extract"}
    assert es["exact_match,strict-match"].values.tolist() == [[0, 0, 0, 0, 0, 0, 0, 1]]
    assert es.outputs["made-up-org/model-1"][0] == "lol"
    assert es.segments.references["ref"][:2] == ("dog", "5")
    assert any("'chrf,strict-match' (holds ['dog', 'lol'])" in note for note in es.notes)


def test_the_only_filter_goes_without_saying(tmp_path):
    path = _write(tmp_path / "samples_t.jsonl", ROW | {"filter": "strict"})
    assert list(load(path).scores) == ["acc"]


def test_the_filter_of_one_model_is_not_that_of_another(tmp_path):
    rows = {"A": ("strict", "exact"), "B": ("flexible", "exact"), "C": ("strict", "acc")}
    for system, (name, metric) in rows.items():
        (tmp_path / system).mkdir()
        task = "other" if system == "C" else "gsm"
        row = ROW | {"filter": name, "metrics": [metric], metric: 0.25}
        _write(tmp_path / system / f"samples_{task}_2026-11-17T00-16-45.jsonl", row)
    es = load(tmp_path / "A", tmp_path / "B")
    assert es.metrics == ("exact,flexible", "exact,strict")
    assert np.array_equal(es["exact,strict"].values, [[0.25], [np.nan]], equal_nan=True)
    said = "files of task 'gsm' have different filters: scores are called METRIC,FILTER"
    assert said in es.notes
    assert set(load(tmp_path).metrics) == {"exact,strict", "exact,flexible", "acc"}
    assert load(tmp_path / "A").metrics == ("exact",)


def test_a_model_with_a_filter_more(tmp_path):
    for system, names in {"A": ("none",), "B": ("none", "strict")}.items():
        (tmp_path / system).mkdir()
        rows = [ROW | {"filter": name} for name in names]
        _write(tmp_path / system / "samples_gsm_2026-11-17T00-16-45.jsonl", *rows)
    es = load(tmp_path)
    assert es.metrics == ("acc,none", "acc,strict")
    assert es["acc,none"].values.tolist() == [[1], [1]]


def test_without_results_the_folder_is_the_system(tmp_path):
    folder = tmp_path / "some__model"
    folder.mkdir()
    shutil.copy(MC, folder)
    es = load(folder)
    assert es.systems == ("some__model",)
    assert not es["acc"].direction_given
    assert any("is the name of the folder" in note for note in es.notes)


@pytest.mark.parametrize("content", ["{", "[]", '{"model_name": 3, "higher_is_better": []}'])
def test_results_that_can_not_be_read_name_nothing(content, tmp_path):
    shutil.copy(MC, tmp_path)
    (tmp_path / "results_2026-11-17T00-16-45.330923.json").write_text(content)
    assert load(tmp_path).systems == (tmp_path.name,)


def test_direction_is_that_of_the_results(tmp_path):
    time = "2026-01-01T00-00-00.000001"
    _write(tmp_path / f"samples_a_b_{time}.jsonl", ROW | {"metrics": ["ppl"], "ppl": 3})
    results = {"model_name": "m", "higher_is_better": {"a_b": {"ppl": False}}}
    (tmp_path / f"results_{time}.json").write_text(json.dumps(results))
    assert not load(tmp_path)["ppl"].higher_is_better


def test_two_runs_of_one_model_are_refused_by_both_names(tmp_path, refusal):
    for time in ("2026-01-01T00-00-00.1", "2026-01-02T00-00-00.1"):
        _write(tmp_path / f"samples_t_{time}.jsonl", ROW)
    message = refusal(tmp_path)
    assert "samples_t_2026-01-02T00-00-00.1.jsonl:1: " in message
    assert "on line 1 of " in message
    assert "samples_t_2026-01-01T00-00-00.1.jsonl already" in message
    es = load(tmp_path, columns={"system": "file"})  # as the message says
    assert [Path(name).name for name in es.systems] == sorted(p.name for p in tmp_path.iterdir())


def test_runs_in_folders_of_one_model_are_kept_apart_by_folder(tmp_path):
    for name in ("before", "after"):
        shutil.copytree(ONE, tmp_path / name / ONE.name)
    es = load(tmp_path, columns={"system": "folder"}, where={"task": "made_up_mc"})
    assert es.systems == tuple(str(tmp_path / n / ONE.name) for n in ("after", "before"))


def test_documents_that_are_not_the_same_are_refused(tmp_path, refusal):
    for model, second in (("m", "h2"), ("n", "h3")):
        (tmp_path / model).mkdir()
        rows = [ROW | {"doc_hash": "h1"}, ROW | {"doc_id": 1, "doc_hash": second}]
        _write(tmp_path / model / "samples_t.jsonl", *rows)
    message = refusal(tmp_path)
    assert f"{tmp_path / 'n' / 'samples_t.jsonl'}:2: doc_id '1' is another document" in message
    assert f"than on line 2 of {tmp_path / 'm' / 'samples_t.jsonl'}: its doc_hash" in message
    assert load(tmp_path, ignore=["doc_hash"]).n_segments == 2
    assert load(tmp_path, columns={"segment": "doc_hash"}).segments.ids == ("h1", "h2", "h3")


def test_files_before_filters_and_metrics_were_named(tmp_path, refusal):
    old = {key: value for key, value in ROW.items() if key not in ("filter", "metrics")}
    path = _write(tmp_path / "samples_t.jsonl", old, old | {"doc_id": 1, "acc": 0.0})
    assert load(path)["acc"].values.tolist() == [[1.0, 0.0]]
    message = refusal(_write(path, old, old))
    assert message == f"{path}:2: doc_id '0' with filter 'none' stands on line 1 already"


def test_values_that_tools_write(tmp_path):
    values = [1, True, "False", "0.25", None, float("nan")]
    rows = [ROW | {"doc_id": i, "acc": value} for i, value in enumerate(values)]
    es = load(_write(tmp_path / "samples_t.jsonl", *rows))
    assert es["acc"].values[0, :4].tolist() == [1, 1, 0, 0.25]
    assert np.isnan(es["acc"].values[0, 4:]).all()
    assert any("NaN are missing: 1 of 'acc'" in note for note in es.notes)


def test_a_score_that_is_called_like_a_column_of_ours(tmp_path):
    row = ROW | {"metrics": ["line", "task"], "line": 0.5, "task": 1}
    assert set(load(_write(tmp_path / "samples_t.jsonl", row)).scores) == {
        "line (score)", "task (score)",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        ({"doc_id": None}, "'doc_id' is None, expected a name or a whole number"),
        ({"doc_id": [1]}, "'doc_id' is [1], expected a name or a whole number"),
        ({"doc_id": True}, "'doc_id' is True, expected a name or a whole number"),
        ({"doc_id": 1, "filter": {}}, "'filter' is {}, expected a name or a whole number"),
        ({"doc_id": 1, "metrics": "acc"}, "'metrics' is 'acc', expected a list"),
        ({"doc_id": 1, "metrics": [["acc"]]}, "'metrics[0]' is ['acc'], expected a text"),
        ({"doc_id": 1, "acc": [1, 2]}, "score 'acc' is [1, 2], expected a number"),
        ({"doc_id": 1, "acc": "good"}, "score 'acc' is 'good', expected a number"),
        ({"doc_id": 1, "acc": {}}, "score 'acc' is {}, expected a number"),
        ({"doc_id": 1, "acc": float("inf")}, "column 'acc': infinite score"),
        ({"doc_id": 1, "acc": 2**80 + 1}, "is beyond 2^53"),
    ],
)
def test_bad_values_are_named_with_their_line(damage, message, tmp_path, refusal):
    path = _write(tmp_path / "samples_t.jsonl", ROW, ROW | damage)
    assert refusal(path).startswith(f"{path}:2: ")
    assert message in refusal(path)


@pytest.mark.parametrize("resps", [None, 3, [], [[]], [[3]], {"a": 1}, "word"])
def test_answers_of_any_shape(resps, tmp_path):
    assert load(_write(tmp_path / "samples_t.jsonl", ROW | {"resps": resps}))["acc"].values == 1


def test_a_line_that_is_cut_off(tmp_path, refusal):
    path = tmp_path / "samples_t.jsonl"
    path.write_text(json.dumps(ROW) + '\n{"doc_id": 1, "res')
    assert refusal(path).startswith(f"{path}:2: not valid JSON")
    packed = tmp_path / "samples_t.jsonl.gz"
    packed.write_bytes(gzip.compress(MC.read_bytes())[:-20])
    assert "damaged or truncated gzip" in refusal(packed)


def test_lines_longer_than_what_is_looked_at(tmp_path):
    row = ROW | {"arguments": {"gen_args_0": {"arg_0": "words " * 50_000}}}
    path = _write(tmp_path / "samples_t.jsonl", row, row | {"doc_id": 1})
    assert load(path).n_segments == 2


def test_packed_and_streamed(tmp_path):
    packed = tmp_path / "samples_t.jsonl.gz"
    packed.write_bytes(gzip.compress(MC.read_bytes()))
    assert load(packed)["acc"].values.mean() == 0.125
    assert load(tmp_path)["acc"].values.mean() == 0.125
