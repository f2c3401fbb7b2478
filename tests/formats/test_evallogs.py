"""Logs of lm-eval, Inspect and promptfoo: what their samples do not show."""

from __future__ import annotations

import copy
import json
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from steelyard import EvalSet, load
from steelyard.cli.main import run

SAMPLES = Path(__file__).parent / "samples"
LM_EVAL = SAMPLES / "lm-eval" / "out"
MC = LM_EVAL / "made-up-org__model-1/samples_made_up_mc_2026-11-17T00-16-45.330923.jsonl"
PROMPTFOO = SAMPLES / "promptfoo"
Refusal = Callable[..., str]

DOCUMENT = {
    "doc_id": 0, "doc": {}, "target": "dog", "arguments": {}, "resps": [["a dog"]],
    "filtered_resps": ["dog"], "filter": "none", "metrics": ["acc"], "acc": 1.0,
}  # fmt: skip
RESULT = {
    "promptIdx": 0, "testIdx": 0, "provider": {"id": "p"}, "prompt": {"label": "Say {{x}}"},
    "testCase": {"vars": {"x": "a"}, "assert": [{"type": "equals"}]}, "vars": {"x": "a"},
    "response": {"output": "b"}, "success": True, "score": 1, "namedScores": {"n": 0.5},
    "gradingResult": {"componentResults": [{}]}, "failureReason": 0,
}  # fmt: skip


def lines(path: Path, *rows: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def document(path: Path, content: Any) -> Path:
    path.write_text(json.dumps(content, indent=1), encoding="utf-8")
    return path


def sample(item: object = 1, value: object = 1.0, **more: object) -> dict[str, Any]:
    return {"id": item, "epoch": 1, "target": "x", "scores": {"s": {"value": value}}, **more}


def inspect(*samples: Any, status: str = "success", **run: object) -> dict[str, Any]:
    header = {"version": 2, "status": status, "eval": {"task": "t", "model": "m", **run}}
    return {**header, "samples": list(samples)}


def promptfoo(*rows: Any) -> dict[str, Any]:
    return {"evalId": "e", "results": {"version": 3, "results": list(rows)}, "config": {}}


def has_note(es: EvalSet, text: str) -> bool:
    return any(text in note for note in es.notes)


# Damage: the sample that is damaged, where, the line and the field that the error names.

LOGS: dict[str, Any] = {
    "samples_t.jsonl": [DOCUMENT, {**DOCUMENT, "doc_id": 1}],
    "inspect.json": inspect(sample(1), sample(2)),
    "results.jsonl": [RESULT, {**RESULT, "testIdx": 1}],
    "promptfoo.json": promptfoo(RESULT, {**RESULT, "testIdx": 1}),
}
SECOND = ("results", "results", 1)
NO_NAMES: tuple[Any, ...] = (None, 3, "", [])
REFUSALS: list[tuple[str, tuple[Any, ...], Any, int | None, str]] = [
    *(("samples_t.jsonl", (1, "acc"), bad, 2, "'acc'") for bad in ("good", 2**80 + 1, 1e999)),
    ("inspect.json", ("samples", 1), 3, 19, "'samples[1]'"),
    ("inspect.json", ("samples", 1, "scores", "s", "value"), "Q", 19, "'s'"),
    ("inspect.json", ("samples",), {}, None, "'samples'"),
    ("results.jsonl", (1, "success"), "maybe", 2, "'success'"),
    ("promptfoo.json", (*SECOND, "testIdx"), "x", 43, "'results.results[1].testIdx'"),
    ("promptfoo.json", ("results", "results"), 5, None, "'results.results'"),
]


@pytest.mark.parametrize(("name", "keys", "value", "line", "field"), REFUSALS)
def test_an_error_names_the_line_and_the_field(
    name: str, keys: tuple[Any, ...], value: Any, line: int | None, field: str,
    tmp_path: Path, refusal: Refusal,
) -> None:  # fmt: skip
    log = copy.deepcopy(LOGS[name])
    inner = log
    for key in keys[:-1]:
        inner = inner[key]
    inner[keys[-1]] = value
    path = tmp_path / name
    lines(path, *log) if isinstance(log, list) else document(path, log)
    message = refusal(path)
    assert message.startswith(f"{path}: " if line is None else f"{path}:{line}: ")
    assert field in message


def test_logs_that_hold_nothing(tmp_path: Path, refusal: Refusal) -> None:
    for log in (inspect(), {**inspect(), "samples": None}):
        assert "holds no samples" in refusal(document(tmp_path / "a.json", log))


# Metadata.


def described(path: Path) -> dict[str, tuple[str | None, ...]]:
    return dict(load(path).segments.metadata)


def test_what_logs_say_of_items_is_metadata(tmp_path: Path) -> None:
    docs = [{"subject": "law", "year": 2024, "hard": True, "choices": [1], "text": "x" * 201},
            {"subject": "art", "year": None, "hard": False}]  # fmt: skip
    rows = [DOCUMENT | {"doc_id": i, "doc": doc} for i, doc in enumerate(docs)]
    assert described(lines(tmp_path / "samples_t.jsonl", *rows)) == {
        "doc.subject": ("law", "art"), "doc.year": ("2024", None), "doc.hard": ("true", "false"),
    }  # fmt: skip
    log = inspect(sample(1, input="1+1?", metadata={"topic": "sum"}), sample(2, target="y"))
    assert described(document(tmp_path / "a.json", log)) == {
        "metadata.topic": ("sum", None), "input": ("1+1?", None), "target": ("x", "y"),
    }  # fmt: skip
    assert described(lines(tmp_path / "a.jsonl", RESULT)) == {"vars.x": ("a",)}


def test_metadata_that_systems_do_not_share_are_dropped(tmp_path: Path) -> None:
    for system, seen in (("A", "1"), ("B", "2")):
        row = DOCUMENT | {"doc": {"shared": "x", "seen by": seen}}
        lines(tmp_path / system / "samples_t.jsonl", row)
    assert described(tmp_path) == {"doc.shared": ("x",)}


def test_metadata_choose_rows_and_are_units(tmp_path: Path, capsys: Any) -> None:
    for system in "AB":
        rows = [
            DOCUMENT
            | {"doc_id": i, "doc": {"subject": f"s{i % 12}"}, "acc": i % 3 + (system > "A")}
            for i in range(36)
        ]
        lines(tmp_path / system / "samples_t.jsonl", *rows)
    compare = ["compare", str(tmp_path), "--json", "--quiet"]
    assert run([*compare, "--unit", "doc.subject"]) == 0
    unit = json.loads(capsys.readouterr().out)["unit"]
    assert (unit["name"], unit["n"]) == ("doc.subject", 12)
    assert run([*compare, "--where", "doc.subject=s3"]) == 0
    assert json.loads(capsys.readouterr().out)["n_segments"] == 3


# Runs that failed.


def test_runs_without_a_usable_sample_say_how_they_ended(tmp_path: Path, refusal: Refusal) -> None:
    broken = [sample(i, error={"message": "no"}) for i in (1, 2)]
    about = {"dataset": {"samples": 40}, "config": {"epochs": 2}}
    first = document(tmp_path / "a.json", inspect(*broken, status="error", **about))
    assert refusal(first) == f"{first}: the run ended with status error after 2 of 80 samples"
    second = document(tmp_path / "b.json", {**inspect(status="cancelled"), "samples": None})
    message = refusal(tmp_path)
    assert message.startswith(f"{first}: the run ended with status error after 2 of 80 samples")
    assert f"{second}: the run ended with status cancelled after 0 samples" in message
    document(tmp_path / "c.json", inspect(sample(), model="n"))
    es = load(tmp_path)
    assert es.systems == ("n",)
    assert has_note(es, f"{first}: the run ended with status error")
    assert has_note(es, f"{second}: the run ended with status cancelled")


def test_what_the_header_of_inspect_says(tmp_path: Path) -> None:
    log = inspect(
        sample(), sample(2, scores={}), sample(3, invalidation={"author": "me"}),
        status="cancelled", config={"epochs": 1, "epochs_reducer": ["mode", "mean"]},
        scorers=[{"name": "s", "options": {"model": ["j1", {"model": "j2"}]}}],
    )  # fmt: skip
    es = load(document(tmp_path / "a.json", log | {"invalidated": True}))
    assert np.isnan(es["s"].values[0, 1:]).all()
    assert has_note(es, "ended with status cancelled after 3 samples")
    for text in ("declared invalid", "by mode;", "1 of 3 samples have no scores"):
        assert has_note(es, text)


@pytest.mark.parametrize(
    "drop",
    [
        ("summaries.json",),
        ("header.json", "summaries.json", "reductions.json"),
        ("header.json", "summaries.json", "_journal/summaries"),
    ],
)
def test_an_archive_of_a_run_that_broke_off(drop: tuple[str, ...], tmp_path: Path) -> None:
    whole = next((SAMPLES / "inspect" / "logs-eval-deflate").glob("*Tm83*"))
    path = tmp_path / "a.eval"
    with zipfile.ZipFile(whole) as old, zipfile.ZipFile(path, "w") as new:
        for name in old.namelist():
            if not name.startswith(drop):
                new.writestr(name, old.read(name))
    es = load(path)
    assert es["match"].values.tolist() == [[0, 0.5, 0.5, 0.5, 1, 0.5]]
    assert has_note(es, "broke off") == ("header.json" in drop)
    assert bool(es.outputs) == ("_journal/summaries" in drop)


def test_texts_that_a_summary_may_have_cut(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.eval", "w") as archive:
        archive.writestr("header.json", json.dumps(inspect()))
        archive.writestr("summaries.json", json.dumps([sample(target="word " * 200)]))
    assert not load(tmp_path).segments.references


# Names of systems, items and scores.


def test_systems_that_a_log_does_not_name(tmp_path: Path) -> None:
    for model in NO_NAMES:
        es = load(document(tmp_path / "mine.json", inspect(sample(), model=model)))
        assert es.systems == ("mine",)
        assert has_note(es, "is the name of the file")


@pytest.mark.parametrize("content", [None, "{", "[]", '{"model_name": 3, "higher_is_better": []}'])
def test_samples_without_results_are_called_as_their_folder(
    content: str | None, tmp_path: Path
) -> None:
    shutil.copy(MC, tmp_path)
    if content is not None:
        (tmp_path / "results_2026-11-17T00-16-45.330923.json").write_text(content)
    es = load(tmp_path)
    assert es.systems == (tmp_path.name,)
    assert not es["acc"].direction_given


def test_descriptions_of_promptfoo_are_tasks(tmp_path: Path) -> None:
    """They are where no two of them share a test."""
    for k, (name, number) in enumerate((("sums", 1), ("sums", 2), ("art", 3))):
        log = promptfoo(asserted(number, f"p{k % 2}"))
        document(tmp_path / f"{k}.json", log | {"config": {"description": name}})
    assert load(tmp_path).segments.ids == ("art/2", "sums/0", "sums/1")
    shared = promptfoo(asserted(1, "q")) | {"config": {"description": "other"}}
    document(tmp_path / "3.json", shared)
    assert load(tmp_path).segments.ids == ("0", "1", "2")


def test_two_runs_of_one_model_are_refused_by_both_names(tmp_path: Path, refusal: Refusal) -> None:
    for time in ("2026-01-01T00-00-00.1", "2026-01-02T00-00-00.1"):
        lines(tmp_path / f"samples_t_{time}.jsonl", DOCUMENT)
    message = refusal(tmp_path)
    assert "samples_t_2026-01-02T00-00-00.1.jsonl:1: " in message
    assert "samples_t_2026-01-01T00-00-00.1.jsonl;" in message
    es = load(tmp_path, columns={"system": "file"})  # as the message says
    assert [Path(name).name for name in es.systems] == sorted(p.name for p in tmp_path.iterdir())


def test_documents_that_are_not_the_same_are_refused(tmp_path: Path, refusal: Refusal) -> None:
    for model, second in (("m", "h2"), ("n", "h3")):
        rows = [DOCUMENT | {"doc_hash": "h1"}, DOCUMENT | {"doc_id": 1, "doc_hash": second}]
        lines(tmp_path / model / "samples_t.jsonl", *rows)
    message = refusal(tmp_path)
    assert message.startswith(f"{tmp_path / 'n' / 'samples_t.jsonl'}:2: ")
    assert f"on line 2 of {tmp_path / 'm' / 'samples_t.jsonl'}" in message
    assert load(tmp_path, ignore=["doc_hash"]).n_segments == 2
    assert load(tmp_path, columns={"segment": "doc_hash"}).segments.ids == ("h1", "h2", "h3")


# promptfoo.


def asserted(number: int, provider: str = "p", **more: Any) -> dict[str, Any]:
    expected = {"vars": {}, "assert": [{"type": "equals", "value": number}]}
    return RESULT | {"provider": {"id": provider}, "testIdx": number, "testCase": expected,
                     "vars": {}, "namedScores": {}, "score": number / 8, **more}  # fmt: skip


def test_tests_are_known_by_what_they_are(tmp_path: Path) -> None:
    """In any order, under any number, in any file; a number counts within a file."""
    es = load(lines(tmp_path / "a.jsonl", *(asserted(k) for k in (3, 1, 0, 2))))
    assert es["score"].values.tolist() == [[0, 0.125, 0.25, 0.375]]
    lines(tmp_path / "a.jsonl", *(asserted(k, "A") for k in range(3)))
    lines(tmp_path / "b.jsonl", *(asserted(k, "B", testIdx=7 - k) for k in range(1, 4)))
    es = load(tmp_path)
    assert set(map(tuple, np.nan_to_num(es["score"].values, nan=-1).T.tolist())) == {
        (0, -1), (0.125, 0.125), (0.25, 0.25), (-1, 0.375),
    }  # fmt: skip
    assert has_note(es, "2 of 4 tests not in all files")
    changed = {"vars": {"x": "a", "sessionId": "123"}, "assert": [{}]}
    other = RESULT | {"promptIdx": 1, "provider": {"id": "q", "label": " "}, "testCase": changed}
    es = load(lines(tmp_path / "c.jsonl", RESULT, other))
    assert (es.systems, es.n_segments) == (("p", "q"), 1)


def test_runs_with_and_without_repeats_have_the_same_items(tmp_path: Path) -> None:
    for file, provider in (("repeat2", "echo-plain"), ("out", "canned-b")):
        text = (PROMPTFOO / f"{file}.jsonl").read_text(encoding="utf-8").splitlines()
        chosen = [row for row in map(json.loads, text) if row["provider"]["label"] == provider]
        lines(tmp_path / f"{file}.jsonl", *chosen)
    once = load(PROMPTFOO / "out.jsonl")["score"].values
    assert np.array_equal(load(tmp_path)["score"].values, once, equal_nan=True)


@pytest.mark.parametrize("depth", [300, 900, 5000])
def test_variables_of_many_levels(depth: int, tmp_path: Path, refusal: Refusal) -> None:
    deep = '{"x": ' * depth + "1" + "}" * depth
    row = json.dumps(RESULT).replace('"vars": ', f'"vars": {deep}, "vars_": ', 1)
    path = tmp_path / "a.jsonl"
    path.write_text(f"{json.dumps(RESULT)}\n{row}\n")
    if depth == 300:
        assert load(path).n_segments == 1
    else:
        assert "nested too deeply" in refusal(path)
