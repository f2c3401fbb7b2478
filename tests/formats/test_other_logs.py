"""Logs of DeepEval, HELM and OpenAI evals."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from steelyard import load

SAMPLES = Path(__file__).parent / "samples"
HELM = sorted((SAMPLES / "helm" / "runs" / "v1").iterdir())
NAN = float("nan")
DEEP = {"testCases": [], "conversationalTestCases": [], "metricsScores": [], "testPassed": 0}


def _same(es, score: str, expected: list[Any]) -> bool:
    return np.array_equal(es[score].values, expected, equal_nan=True)


def _case(name: object = "a", *metrics: object, **more: object) -> dict[str, Any]:
    return {"name": name, "input": "i", "actualOutput": "o", "metricsData": list(metrics), **more}


def _metric(score: object = 0.5, threshold: object = 0.3, success: object = True) -> dict[str, Any]:
    return {"name": "m", "score": score, "threshold": threshold, "success": success}


def _deep(path: Path, *cases: object, **more: object) -> Path:
    path.write_text(json.dumps(DEEP | {"testCases": list(cases)} | more, indent=1))
    return path


def test_deepeval_runs_of_two_models():
    es = load(SAMPLES / "deepeval")
    assert es.systems == ("alpha", "beta")
    assert es.segments.ids == tuple(f"item_{i}" for i in range(6))
    assert _same(
        es, "Word Overlap", [[1, 1, 1, 1, 1, NAN], [0.5, 0.3333333333333333, 0, 0, 0.5, NAN]]
    )
    geval = [[0.75, 0, 0.5, 0.75, 1, 0.25], [0, 1, 0.5, 1, 0.5, 0.25]]
    assert _same(es, "Helpfulness [GEval]", geval)
    assert all(own.direction_given and own.higher_is_better for own in es.scores.values())
    assert es.outputs["beta"][0] == "eight legs"
    assert es.segments.references["ref"][0] == "six legs"
    notes = " ".join(es.notes)
    assert "1 score missing, since the metric failed" in notes
    assert "'Helpfulness [GEval]' by made-up-judge" in notes


def test_deepeval_shows_by_what_passes_which_way_is_better(tmp_path):
    path = tmp_path / "a.json"
    low = load(_deep(path, _case("a", _metric(0.1)), _case("b", _metric(0.9, success=False))))
    assert low["m"].direction_given
    assert not low["m"].higher_is_better
    assert any("lower is better, as what passes shows: 'm'" in note for note in low.notes)
    silent = (_metric(0.3), _metric(threshold=None), _metric(threshold="x"), _metric(NAN))
    for metric in (*silent, _metric(success=None), _metric(success="true"), _metric(success=1)):
        assert not load(_deep(path, _case("a", metric)))["m"].direction_given
    both = load(_deep(path, _case("a", _metric(0.1)), _case("b", _metric(0.9))))
    assert not both["m"].direction_given


@pytest.mark.parametrize(
    ("more", "system"),
    [
        ({"hyperparameters": {"model": "x"}, "identifier": "y"}, "x"),
        ({"hyperparameters": {"model": ""}, "identifier": "y"}, "y"),
        ({"hyperparameters": None, "identifier": 3}, None),
        ({}, None),
    ],
)
def test_deepeval_names_of_the_system(more, system, tmp_path):
    es = load(_deep(tmp_path / "a.json", _case("a", _metric()), **more))
    assert es.systems == (system or tmp_path.name,)
    assert any(f"system '{es.systems[0]}' is" in note for note in es.notes) == (system != "x")


def test_deepeval_conversations_and_repeats(tmp_path):
    turns = {"name": "talk", "metricsData": [_metric(0.75)], "turns": [{"role": "user"}]}
    again = [_case("a", _metric(0)), _case("a", _metric(1))]
    es = load(_deep(tmp_path / "a.json", *again, conversationalTestCases=[turns]))
    assert es.segments.ids == ("a", "talk")
    assert _same(es, "m", [[0.5, 0.75]])


@pytest.mark.parametrize(
    ("case", "message"),
    [
        (3, "'testCases[1]' is 3, expected an object"),
        (_case([]), "'testCases[1].name' is [], expected a name"),
        (_case("b") | {"metricsData": 3}, "'testCases[1].metricsData' is 3, expected a list"),
        (_case("b", 3), "'testCases[1].metricsData[0]' is 3, expected an object"),
        (_case("b", {"score": 1}), "no 'testCases[1].metricsData[0].name', expected a name"),
        (_case("b", _metric(), _metric()), "case 'b' has two metrics named 'm'"),
        (_case("b", _metric("x")), "score 'm' is 'x', expected a number"),
        (_case("a", _metric(), input="j"), "another case is named 'a', with another input"),
    ],
)
def test_deepeval_bad_values(case, message, tmp_path, refusal):
    path = _deep(tmp_path / "a.json", _case("a", _metric()), case)
    assert refusal(path).startswith(f"{path}:16: {message}")


def test_deepeval_documents_of_another_shape(tmp_path, refusal):
    path = tmp_path / "a.json"
    assert "'testCases' is 3, expected a list" in refusal(_deep(path, testCases=3))
    assert "'hyperparameters' is 3" in refusal(_deep(path, _case(), hyperparameters=3))
    assert "holds no samples" in refusal(_deep(path))


def test_helm_runs_of_two_models():
    es = load(SAMPLES / "helm")
    assert es.systems == ("made-up/alpha", "made-up/beta")
    assert es.segments.ids == ("id12", "id13", "id14", "id15", "id16")
    assert _same(es, "exact_match", [[1, 1, 1, 0, 1], [0, 1, 0, 0, 1]])
    assert _same(es, "judge_score", [[4, 1, 3, NAN, 2], [3, 5, 2, NAN, 1]])
    assert set(es.scores) == {"exact_match", "quasi_exact_match", "judge_score"}
    assert es.segments.domains is None  # one task, whose name is not that of the model
    notes = " ".join(es.notes)
    assert "2 rows of perturbed instances left out" in notes
    assert "no scores of quality: inference_runtime, num_output_tokens" in notes


def test_helm_without_a_run_spec(tmp_path):
    folder = tmp_path / "qa:subject=x,model=m_y"
    folder.mkdir()
    shutil.copy(HELM[0] / "per_instance_stats.json", folder)
    es = load(folder)
    assert es.systems == (folder.name,)
    assert any("no run_spec.json names a model" in note for note in es.notes)


def _helm(path: Path, *rows: object) -> Path:
    path.write_text(json.dumps(rows, indent=1))
    return path


def _row(item: object = "a", trial: object = 0, **stats: object) -> dict[str, Any]:
    own = [{"name": {"name": name}, "count": 1, "mean": value} for name, value in stats.items()]
    return {"instance_id": item, "train_trial_index": trial, "stats": own}


def test_helm_trials_are_epochs(tmp_path):
    path = _helm(tmp_path / "per_instance_stats.json", _row("a", 0, f1=0), _row("a", 1, f1=1))
    es = load(path)
    assert es["f1"].values.tolist() == [[0.5]]


def test_helm_statistics_of_all_sorts(tmp_path):
    row = _row("a", 0, perplexity=3)
    row["stats"] += [
        {"name": {"name": "x"}, "count": 1, "sum": 5},
        {"name": {"name": "y"}, "count": 0},
        {"name": {"name": "z", "sub_split": "en"}, "count": 1, "mean": 1},
        {"name": {"name": "z", "perturbation": {"name": "typos"}}, "count": 1, "mean": 0},
    ]
    es = load(_helm(tmp_path / "per_instance_stats.json", row))
    assert {name: own.values.item() for name, own in es.scores.items() if name != "y"} == {
        "perplexity": 3, "x": 5, "z/en": 1,
    }  # fmt: skip
    assert not es["perplexity"].higher_is_better


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (3, "expected a JSON object, found int"),
        (_row(None), "'instance_id' is None, expected a name"),
        (_row("b", []), "'train_trial_index' is [], expected a name"),
        (_row("b") | {"stats": 3}, "'stats' is 3, expected a list"),
        (_row("b") | {"stats": [3]}, "'stats[0]' is 3, expected an object"),
        (_row("b") | {"stats": [{"name": 3}]}, "'stats[0].name' is 3, expected an object"),
        (_row("b") | {"stats": [{"name": {}}]}, "no 'stats[0].name.name', expected a name"),
        (_row("b", f1="x"), "'stats[0].mean' is 'x', expected a number for 'f1'"),
        (_row("a", f1=0.5), "instance 'a' has two values of 'f1'"),
    ],
)
def test_helm_bad_values(row, message, tmp_path, refusal):
    path = _helm(tmp_path / "per_instance_stats.json", _row(f1=1), row)
    assert refusal(path).startswith(f"{path}:15: {message}")


def test_evals_of_two_models():
    es = load(SAMPLES / "evals", where={"task": "made-up-match"})
    assert es.systems == ("made-up/alpha", "made-up/beta")
    assert es.segments.ids == tuple(f"made-up-match.dev.{i}" for i in range(6))
    assert _same(es, "correct", [[1, 1, 1, 0, 1, 1], [0, 1, 0, 1, 0, 1]])
    assert es["correct"].direction_given
    assert es.outputs["made-up/alpha"][:3] == ("six", "Velm!", "fifty-six")
    assert es.segments.references["ref"][:3] == ("six", "Velm", None)  # several are no text


def test_evals_that_a_model_graded():
    es = load(SAMPLES / "evals", where={"task": "made-up-modelgraded"})
    assert _same(es, "score", [[1, 1, 1, NAN, 1, 1], [0, 1, 0, NAN, 0, 1]])
    assert es.outputs["made-up/alpha"][0] == "six"  # not what the judge said
    notes = " ".join(es.notes)
    assert "1 of 6 choices of the judge are __invalid__" in notes
    assert "models that helped or judged: made-up/judge" in notes


SPEC = {"spec": {"completion_fns": ["m"], "base_eval": "e"}}


def _events(path: Path, *events: object, spec: object = SPEC) -> Path:
    path.write_text("".join(json.dumps(own) + "\n" for own in (spec, *events)))
    return path


def _event(kind: str, item: object = "e.1", **data: object) -> dict[str, Any]:
    return {"sample_id": item, "type": kind, "data": data}


def test_evals_of_all_sorts_of_events(tmp_path):
    path = _events(
        tmp_path / "a.jsonl",
        _event("match", correct=True), _event("match", correct=False),
        _event("metrics", f1=0.5, choice="A", words="none"),
        _event("sampling", "e.2", sampled="text"), _event("error", "e.2", message="no"),
        _event("raw_sample", None),
    )  # fmt: skip
    es = load(path)
    assert _same(es, "correct", [[0.5, NAN]])
    assert _same(es, "f1", [[0.5, NAN]])
    notes = " ".join(es.notes)
    assert "1 of 3 items have no score" in notes
    assert "no final report: the run broke off" in notes
    assert "hold no numbers: 'words' (holds 'none')" in notes


@pytest.mark.parametrize("functions", [[], [3], "m", None])
def test_evals_without_a_model(functions, tmp_path):
    spec = {"spec": {"completion_fns": functions}}
    path = _events(tmp_path / "mine.jsonl", _event("match", correct=True), spec=spec)
    assert load(path).systems == ("mine",)


@pytest.mark.parametrize(
    ("event", "message"),
    [
        (3, "expected a JSON object, found int"),
        (_event("match", []), "'sample_id' is [], expected a name"),
        ({"sample_id": "x", "type": "match", "data": 3}, "'data' is 3, expected an object"),
        (_event("match", "e.2", correct="so"), "score 'correct' is 'so', expected a number"),
        ({"spec": 3}, "'spec' is 3, expected an object"),
    ],
)
def test_evals_bad_values(event, message, tmp_path, refusal):
    path = _events(tmp_path / "a.jsonl", _event("match", correct=True), event)
    assert refusal(path).startswith(f"{path}:3: {message}")


def test_deepeval_files_that_contradict_each_other(tmp_path):
    for name, score in (("x", 0.9), ("y", 0.1)):
        more = {"hyperparameters": {"model": name}}
        _deep(tmp_path / f"{name}.json", _case("a", _metric(score)), **more)
    assert load(tmp_path / "x.json")["m"].direction_given
    es = load(tmp_path)
    assert not es["m"].direction_given
    assert es["m"].higher_is_better
    said = "DeepEval: cases contradict each other on which way is better, so none is stated: 'm'"
    assert said in es.notes
    assert not any("lower is better" in note for note in es.notes)
