"""Logs of Inspect, as archives and as JSON: grades, parts, epochs, failures, broken runs."""

from __future__ import annotations

import copy
import json
import shutil
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from steelyard import load

SAMPLES = Path(__file__).parent / "samples" / "inspect"
ALPHA = next((SAMPLES / "logs-json").glob("*TDBu*"))
BETA_ARCHIVE = next((SAMPLES / "logs-eval-deflate").glob("*Tm83*"))
ERRORS = next((SAMPLES / "logs-with-error").iterdir())


def _log(*samples: dict[str, Any], **eval_: object) -> dict[str, Any]:
    return {
        "version": 2,
        "status": "success",
        "eval": {"task": "t", "model": "m", **eval_},
        "samples": list(samples),
    }


def _sample(item: object = 1, value: object = 1.0, **more: object) -> dict[str, Any]:
    return {"id": item, "epoch": 1, "target": "x", "scores": {"s": {"value": value}}, **more}


def _write(path: Path, log: dict[str, Any]) -> Path:
    path.write_text(json.dumps(log, indent=1), encoding="utf-8")
    return path


@pytest.mark.parametrize("folder", ["logs-eval", "logs-eval-deflate", "logs-json"])
def test_epochs_are_averaged_per_item(folder):
    es = load(SAMPLES / folder)
    assert es.systems == ("mockllm/alpha", "mockllm/beta")
    assert es.segments.ids == ("6", "q1", "q2", "q3", "q4", "q5")  # one of them is a number
    assert es["match"].values.tolist() == [[1, 0.5, 1, 1, 0.5, 1], [0, 0.5, 0.5, 0.5, 1, 0.5]]
    # As Inspect has them in its results.
    assert np.allclose(es["match"].values.mean(axis=1), [0.8333333333333334, 0.5])
    assert np.allclose(es["length_ratio"].values.mean(axis=1), [1.1979166666666667, 1.03125])
    assert es["model_graded_qa"].values.mean(axis=1).tolist() == [0.75, 0.7083333333333334]
    assert es["two_values.fluent"].values.mean(axis=1).tolist() == [4.25, 3.5]
    assert es["two_values.short"].values.min() == 1
    assert es.segments.references["ref"][:3] == (None, "6", "Velm")  # several targets are no text
    notes = " ".join(es.notes)
    assert "scores that a model gave: 'model_graded_qa' by mockllm/judge" in notes
    assert "values that are NaN are missing: 1 of 'model_graded_qa'" in notes
    assert "epochs of an item" in notes


def test_json_has_the_answers():
    assert load(ALPHA).outputs["mockllm/alpha"][:2] == ("2, 3", "6")


def test_a_failed_sample_is_missing_and_counted():
    es = load(ERRORS)
    known = dict(zip(es.segments.ids, es["sometimes_nan"].values[0].tolist(), strict=True))
    assert np.isnan(known.pop("q2"))  # it failed
    assert np.isnan(known.pop("q1"))  # NaN
    assert known == {"6": 0.5, "q3": 1.0, "q4": 0.25, "q5": 0.0}  # P, true, "0.25", N
    assert any("1 of 6 samples failed" in note for note in es.notes)


def test_a_failed_sample_that_was_to_be_scored(tmp_path):
    failed = _sample(2, "C", error={"message": "no"})
    log = _log(_sample(), failed, config={"score_on_error": True})
    assert load(_write(tmp_path / "a.json", log))["s"].values.tolist() == [[1.0, 1.0]]
    log["eval"]["config"] = {}
    assert np.isnan(load(_write(tmp_path / "a.json", log))["s"].values[0, 1])


def test_what_the_header_says_of_the_run(tmp_path):
    log = _log(
        _sample(), _sample(2, scores={}), _sample(3, invalidation={"author": "me"}),
        config={"epochs": 1, "epochs_reducer": ["mode", "mean"]},
        scorers=[{"name": "s", "options": {"model": ["j1", {"model": "j2"}]}}],
    )  # fmt: skip
    log |= {"status": "cancelled", "invalidated": True}
    es = load(_write(tmp_path / "a.json", log))
    assert np.isnan(es["s"].values[0, 1:]).all()
    notes = " ".join(es.notes)
    for said in ("status is 'cancelled'", "declared invalid", "reduced epochs by mode;",
                 "'s' by j1, j2", "1 of 3 samples have no scores",
                 "1 of 3 samples failed or were declared invalid"):  # fmt: skip
        assert said in notes


def test_lists_and_words_are_no_scores(tmp_path):
    scores = {"a": {"value": [1, 2]}, "b": {"value": "blue"}, "c": {"value": {"d": "I"}}}
    es = load(_write(tmp_path / "a.json", _log(_sample(scores=scores))))
    assert list(es.scores) == ["c.d"]
    assert any("hold no numbers: 'a' (holds [1, 2]), 'b'" in note for note in es.notes)


def test_ids_with_slashes_and_several_tasks(tmp_path):
    _write(tmp_path / "a.json", _log(_sample("x/1"), _sample("x/2", "I")))
    _write(tmp_path / "b.json", _log(_sample("x/1"), task="u"))
    assert load(tmp_path).segments.ids == ("t/x/1", "t/x/2", "u/x/1")


def test_one_model_in_two_runs_is_refused_by_both_names(tmp_path, refusal):
    for name in ("a", "b"):
        shutil.copy(ALPHA, tmp_path / f"{name}.json")
    message = refusal(tmp_path)
    assert f"{tmp_path / 'b.json'}:278: system 'mockllm/alpha', item '6' and epoch '1'" in message
    assert f"on line 278 of {tmp_path / 'a.json'} already" in message
    assert load(tmp_path, columns={"system": "file"}).n_segments == 6


def test_archives_and_json_together():
    archive = next((SAMPLES / "logs-eval").glob("*Tm83*"))
    es = load(ALPHA, archive)
    assert es["match"].values.mean(axis=1).tolist() == [pytest.approx(5 / 6), 0.5]


def _repacked(target: Path, drop: tuple[str, ...]) -> Path:
    with zipfile.ZipFile(BETA_ARCHIVE) as old, zipfile.ZipFile(target, "w") as new:
        for name in old.namelist():
            if not name.startswith(drop):
                new.writestr(name, old.read(name))
    return target


@pytest.mark.parametrize(
    "drop",
    [
        ("summaries.json",),
        ("header.json", "summaries.json", "reductions.json"),
        ("header.json", "summaries.json", "_journal/summaries"),
    ],
)
def test_a_run_that_broke_off(drop, tmp_path):
    es = load(_repacked(tmp_path / "a.eval", drop))
    assert es["match"].values.tolist() == [[0, 0.5, 0.5, 0.5, 1, 0.5]]
    assert any("broke off" in note for note in es.notes) == ("header.json" in drop)
    assert bool(es.outputs) == ("_journal/summaries" in drop)


def test_texts_that_a_summary_may_have_cut(tmp_path):
    sample = _sample(target="word " * 200)
    header = {key: value for key, value in _log().items() if key != "samples"}
    with zipfile.ZipFile(tmp_path / "a.eval", "w") as archive:
        archive.writestr("header.json", json.dumps(header))
        archive.writestr("summaries.json", json.dumps([sample]))
    assert not load(tmp_path).segments.references


def test_without_samples(tmp_path, refusal):
    log = _log()
    path = _write(tmp_path / "a.json", log)
    assert refusal(path) == f"{path}: holds no samples"
    del log["samples"]
    assert "wrote it without them" in refusal(_write(path, log))


@pytest.mark.parametrize(
    ("keys", "value", "message"),
    [
        (("samples", 1), 3, ":19: 'samples[1]' is 3, expected an object"),
        (("samples", 1, "id"), None, ":19: 'samples[1].id' is None, expected a name"),
        (("samples", 1, "id"), [], ":19: 'samples[1].id' is [], expected a name"),
        (("samples", 1, "epoch"), {}, ":19: 'samples[1].epoch' is {}, expected a name"),
        (("samples", 1, "scores"), [1], ":19: 'samples[1].scores' is [1], expected an obj"),
        (("samples", 1, "scores", "s"), 1, ":19: 'samples[1].scores.s' is 1, expected an obj"),
        (("samples", 1, "scores", "s", "value"), "Q", ":19: score 's' is 'Q', expected a number"),
        (("samples", 1, "scores", "s", "value"), [1], ":19: score 's' is [1], expected a number"),
        (("samples",), {}, ": 'samples' is {}, expected a list"),
        (("eval", "config"), 3, ": 'eval.config' is 3, expected an object"),
    ],
)
def test_bad_values_are_named_with_their_line(keys, value, message, tmp_path, refusal):
    log = _log(_sample(1), _sample(2))
    within = log
    for key in keys[:-1]:
        within = within[key]
    within[keys[-1]] = value
    path = _write(tmp_path / "a.json", log)
    assert refusal(path).startswith(f"{path}{message}")


@pytest.mark.parametrize("model", [None, 3, "", []])
def test_without_a_model_the_file_is_the_system(model, tmp_path):
    es = load(_write(tmp_path / "mine.json", _log(_sample(), model=model)))
    assert es.systems == ("mine",)
    assert any("is the name of the file" in note for note in es.notes)


def test_odd_headers_do_not_matter(tmp_path):
    for scorers in (3, [3], [{"options": 3}], [{"name": "s", "options": {"model": 3}}], {"a": 1}):
        log = copy.deepcopy(_log(_sample(), scorers=scorers, config={"epochs_reducer": 5}))
        assert load(_write(tmp_path / "a.json", log | {"status": 3}))["s"].values == 1
