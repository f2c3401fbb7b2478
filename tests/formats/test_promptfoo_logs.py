"""Results of promptfoo: providers and prompts, repeats, errors, and tests that assert nothing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from steelyard import load

SAMPLES = Path(__file__).parent / "samples" / "promptfoo"
ROW = {
    "promptIdx": 0, "testIdx": 0, "provider": {"id": "p"}, "prompt": {"label": "Say {{x}}"},
    "testCase": {"vars": {"x": "a"}, "assert": [{"type": "equals"}]}, "vars": {"x": "a"},
    "response": {"output": "b"}, "success": True, "score": 1, "namedScores": {"n": 0.5},
    "gradingResult": {"componentResults": [{}]}, "failureReason": 0,
}  # fmt: skip
NAN = float("nan")


def _write(path: Path, *rows: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def _document(path: Path, *rows: object) -> Path:
    log = {"evalId": "e", "results": {"version": 3, "results": list(rows)}, "config": {}}
    path.write_text(json.dumps(log, indent=2), encoding="utf-8")
    return path


def _values(es, score: str) -> dict[str, list[float]]:
    return dict(zip(es.systems, es[score].values.tolist(), strict=True))


@pytest.mark.parametrize("name", ["out.json", "out.jsonl", "out.csv"])
def test_two_providers(name):
    es = load(SAMPLES / name)
    assert es.segments.ids == tuple("012345")
    digits = 2 if name == "out.csv" else 16
    beetle = [0.4222222222222222, 0.888888888888889]
    expected = {
        "canned-b": [round(beetle[0], digits), 1, 0.65, 1, NAN, NAN],  # the last is an error
        "echo-plain": [round(beetle[1], digits), 0, 0.15, 0, NAN, 0],
    }
    for system, own in _values(es, "score").items():
        assert np.allclose(own, expected[system], rtol=0, atol=1e-12, equal_nan=True)
    success = _values(es, "success")
    assert np.array_equal(success["canned-b"], [1, 1, 0, 1, NAN, NAN], equal_nan=True)
    assert np.array_equal(success["echo-plain"], [1, 0, 0, 0, NAN, 0], equal_nan=True)
    judge = _values(es, "judge")["canned-b"]
    assert np.array_equal(judge, [NAN, NAN, 0.3, NAN, NAN, NAN], equal_nan=True)
    assert es["score"].direction_given
    assert es.outputs["canned-b"][:2] == ("six legs", "Velm")
    assert es.segments.sources is not None
    assert json.loads(es.segments.sources[0] or "")["target"] == "six"
    notes = " ".join(es.notes)
    assert "1 of 12 results are errors of the provider" in notes
    assert "2 of 12 results assert nothing" in notes
    assert ("two digits" in notes) == (name == "out.csv")


@pytest.mark.parametrize("name", ["two-prompts.jsonl", "two-prompts.csv"])
def test_several_prompts(name):
    es = load(SAMPLES / name)
    assert es.systems == (
        "canned-b [Answer shortly: {{question}}]",
        "canned-b [Q: {{question}} A:]",
        "echo-plain [Answer shortly: {{question}}]",
        "echo-plain [Q: {{question}} A:]",
    )
    assert _values(es, "score")["echo-plain [Q: {{question}} A:]"][1] == 0.5


def test_repeats_are_epochs():
    es = load(SAMPLES / "repeat2.jsonl")
    once = load(SAMPLES / "out.jsonl")
    assert es.segments.ids == once.segments.ids
    assert np.array_equal(es["score"].values, once["score"].values, equal_nan=True)
    assert any("epochs of an item" in note for note in es.notes)


def test_runs_with_and_without_repeats_have_the_same_items(tmp_path):
    lines = (SAMPLES / "repeat2.jsonl").read_text(encoding="utf-8").splitlines()
    echo = [line for line in lines if '"label":"echo-plain"' in line.replace(": ", ":")]
    (tmp_path / "a.jsonl").write_text("\n".join(echo), encoding="utf-8")
    lines = (SAMPLES / "out.jsonl").read_text(encoding="utf-8").splitlines()
    canned = [line for line in lines if '"label":"canned-b"' in line.replace(": ", ":")]
    (tmp_path / "b.jsonl").write_text("\n".join(canned), encoding="utf-8")
    es = load(tmp_path)
    once = load(SAMPLES / "out.jsonl")
    assert np.array_equal(es["score"].values, once["score"].values, equal_nan=True)


def test_tests_that_differ_are_not_compared(tmp_path):
    _write(tmp_path / "a.jsonl", ROW)
    other = ROW | {"testCase": {"vars": {"x": "other"}, "assert": [{}]}, "provider": {"id": "q"}}
    _write(tmp_path / "b.jsonl", other)
    es = load(tmp_path)
    assert es.segments.sources == ("a", "other")
    assert np.array_equal(es["score"].values, [[1, NAN], [NAN, 1]], equal_nan=True)
    assert any("2 of 2 tests not in all files" in note for note in es.notes)


def test_tests_with_the_same_variables_and_other_assertions(tmp_path):
    other = ROW | {"testIdx": 1, "testCase": {"vars": {"x": "a"}, "assert": [{"type": "is-json"}]}}
    assert load(_write(tmp_path / "a.jsonl", ROW, other)).n_segments == 2


def test_results_of_one_test_stay_together(tmp_path):
    """Whatever providers did to its variables: its number is the same."""
    other = ROW | {
        "promptIdx": 1, "provider": {"id": "q", "label": " "},
        "testCase": {"vars": {"x": "a", "sessionId": "123"}, "assert": [{}]},
    }  # fmt: skip
    es = load(_write(tmp_path / "a.jsonl", ROW, other))
    assert es.systems == ("p", "q")
    assert es.n_segments == 1


def test_columns_of_one_name_are_kept_apart(tmp_path):
    es = load(_write(tmp_path / "a.jsonl", ROW, ROW | {"promptIdx": 1, "score": 0.5}))
    assert _values(es, "score") == {"p": [1.0], "p #2": [0.5]}
    assert any("the second is called 'p #2'" in note for note in es.notes)


def test_order_of_threads_does_not_matter(tmp_path):
    rows = [
        ROW | {"testIdx": i, "score": i, "testCase": {"vars": {"x": str(i)}, "assert": [{}]}}
        for i in range(5)
    ]
    es = load(_write(tmp_path / "a.jsonl", *rows[::-1]))
    assert es["score"].values.tolist() == [[0, 1, 2, 3, 4]]
    assert es.segments.sources == tuple("01234")


def test_named_scores_that_are_called_like_others(tmp_path):
    row = ROW | {"namedScores": {"score": 0.25, "segment": 1, "success": 0}}
    es = load(_write(tmp_path / "a.jsonl", row))
    assert {name: own.values.item() for name, own in es.scores.items()} == {
        "score": 1, "success": 1, "score (named)": 0.25, "success (named)": 0,
        "segment (score)": 1,
    }  # fmt: skip


def test_judges_are_named(tmp_path):
    asked = [
        {"type": "llm-rubric", "metric": "kind", "provider": "openai:gpt"},
        {"type": "factuality", "provider": {"id": "local"}},
        {"type": "equals", "provider": 3},
        "odd",
    ]
    row = ROW | {"testCase": {"vars": {"x": "a"}, "assert": asked}}
    (note,) = load(_write(tmp_path / "a.jsonl", row)).notes
    assert note.endswith("scores that a model gave: 'factuality' by local, 'kind' by openai:gpt")


def test_old_files_without_numbers(tmp_path):
    keys = ("provider", "prompt", "vars", "success", "score", "namedScores", "gradingResult")
    old = {key: ROW[key] for key in keys} | {"provider": "p", "error": "no", "gradingResult": None}
    fine = old | {"vars": {"x": "z"}, "error": None, "gradingResult": {"componentResults": [1]}}
    es = load(_document(tmp_path / "a.json", old, fine))
    assert np.array_equal(es["score"].values, [[NAN, 1]], equal_nan=True)


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        ({"provider": {}}, "'provider' is {}, expected one with a label or an id"),
        ({"provider": {"id": [1]}}, "'provider' is {'id': [1]}, expected one with a label"),
        ({"provider": 3}, "'provider' is 3, expected one with a label or an id"),
        ({"prompt": 3}, "'prompt' is 3, expected an object"),
        ({"testCase": 3}, "'testCase' is 3, expected an object"),
        ({"testCase": {}, "vars": 3}, "'vars' is 3, expected an object"),
        ({"testIdx": "x"}, "'testIdx' is 'x', expected a whole number"),
        ({"testIdx": True}, "'testIdx' is True, expected a whole number"),
        ({"testIdx": 1, "score": {}}, "score 'score' is {}, expected a number"),
        ({"testIdx": 1, "success": "maybe"}, "score 'success' is 'maybe', expected a number"),
        ({"namedScores": [1]}, "'namedScores' is [1], expected an object"),
        ({"testIdx": 1, "namedScores": {"n": "x"}}, "score 'n' is 'x', expected a number"),
    ],
)
def test_bad_values_are_named_with_their_line(damage, message, tmp_path, refusal):
    lines = _write(tmp_path / "a.jsonl", ROW, ROW | damage)
    assert refusal(lines).startswith(f"{lines}:2: {message}")
    document = _document(tmp_path / "a.json", ROW, ROW | damage)
    second = [i for i, line in enumerate(document.read_text().splitlines(), 1) if line == "      {"]
    placed = message.replace("'", "'results.results[1].", message.startswith("'"))
    assert refusal(document).startswith(f"{document}:{second[1]}: {placed}")


@pytest.mark.parametrize(
    "damage", [{"response": 3}, {"gradingResult": 3}, {"promptIdx": None}, {"promptIdx": "x"}]
)
def test_odd_values_that_do_not_matter(damage, tmp_path):
    assert load(_write(tmp_path / "a.jsonl", ROW | damage))["score"].values == 1


@pytest.mark.parametrize("depth", [300, 900, 5000])
@pytest.mark.parametrize("key", ['"vars"', '"testIdx"', '"score"'])
def test_values_of_many_levels(depth, key, tmp_path, refusal):
    path = tmp_path / "a.jsonl"
    deep = '{"x": ' * depth + "1" + "}" * depth
    row = json.dumps(ROW).replace(f"{key}: ", f'{key}: {deep}, {key[:-1]}_": ', 1)
    path.write_text(f"{json.dumps(ROW)}\n{row}\n")
    if depth > 300 or key != '"vars"':
        assert "expected" in (message := refusal(path)) or "nested too deeply" in message
    else:
        assert load(path).n_segments == 1  # the number of the test says so


def test_documents_of_another_shape(tmp_path, refusal):
    path = _document(tmp_path / "a.json", ROW, 3)
    assert "'results.results[1]' is 3, expected an object" in refusal(path)
    path.write_text('{"config": {"provider": 1}, "results": {"results": 5}}')
    assert refusal(path) == f"{path}: 'results.results' is 5, expected a list"


def test_a_table_that_is_damaged(tmp_path, refusal):
    text = (SAMPLES / "out.csv").read_text(encoding="utf-8")
    path = tmp_path / "a.csv"
    path.write_text(text.replace(",PASS,", ",GOOD,", 1), encoding="utf-8")
    assert refusal(path) == f"{path}:2: Status is 'GOOD', expected PASS, FAIL or ERROR"
    path.write_text(text.replace("beetle,", "beetle,x,"), encoding="utf-8")
    assert refusal(path) == f"{path}:2: 22 cells, expected 21 as in the header"
    path.write_text(text.replace(",0.89,", ",much,", 1), encoding="utf-8")
    assert refusal(path) == f"{path}:2: score 'score' is 'much', expected a number"
    path.write_text(text + '"', encoding="utf-8")
    assert f"{path}:8: not valid CSV" in refusal(path)
    path.write_text(text.splitlines()[0] + "\n", encoding="utf-8")
    assert refusal(path) == f"{path}: holds no samples"


def _test(provider: str, number: int, value: int, score: float) -> dict[str, Any]:
    case = {"vars": {}, "assert": [{"type": "equals", "value": value}]}
    own = {"provider": {"id": provider}, "testIdx": number, "testCase": case, "vars": {}}
    return ROW | own | {"score": score, "namedScores": {}}


def test_tests_of_several_files_are_known_by_what_they_are(tmp_path):
    one = _write(tmp_path / "a.jsonl", *(_test("A", k, k, k / 8) for k in range(3)))
    two = _write(tmp_path / "b.jsonl", *(_test("B", 2 - k, k, k / 4) for k in range(3)))
    es = load(one, two)
    assert _values(es, "score") == {"A": [0, 0.125, 0.25], "B": [0, 0.25, 0.5]}
    assert not any("not in all files" in note for note in es.notes)


def test_tests_that_only_some_files_have_are_counted(tmp_path):
    one = _write(tmp_path / "a.jsonl", *(_test("A", k, k, k / 8) for k in range(3)))
    two = _write(tmp_path / "b.jsonl", *(_test("B", k - 1, k, k / 4) for k in range(1, 4)))
    es = load(one, two)
    values = _values(es, "score")
    assert np.array_equal(values["B"], [NAN, 0.25, 0.5, 0.75], equal_nan=True)
    said = "2 of 4 tests not in all files of promptfoo: one is known by its variables, description"
    assert f"{said} and assertions" in es.notes
