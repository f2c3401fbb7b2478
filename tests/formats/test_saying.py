"""Nothing is guessed in silence: what was read as what, and how the user decides."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from steelyard import load
from steelyard.cli.main import run
from steelyard.core.errors import UsageError
from steelyard.formats.registry import FORMATS, readable

ANSWERS = """id,question,category,model,response,correct
1,What is 1+1?,math,gpt,two,True
2,Capital of France?,geo,gpt,Paris,True
1,What is 1+1?,math,claude,2,true
2,Capital of France?,geo,claude,Rome,False
"""


@pytest.fixture
def answers(tmp_path: Path) -> Path:
    path = tmp_path / "answers.csv"
    path.write_text(ANSWERS)
    return path


def result(words: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[dict[str, Any], str]:
    assert run(words) == 0
    out, err = capsys.readouterr()
    return json.loads(out), err


@pytest.mark.parametrize("command", ["compare", "data info", "data check"])
def test_json_and_the_terminal_say_what_was_read(
    answers: Path, command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    found, said = result([*command.split(), str(answers), "--json"], capsys)
    assert found["read"] == [
        {
            "file": str(answers),
            "format": "long table",
            "columns": {
                "system": "model",
                "segment": "id",
                "domain": "category",
                "source": "question",
                "output": "response",
                "score": "correct",
            },
        }
    ]
    assert "model" not in said  # JSON has it
    assert "true counts 1, false counts 0 in 'correct'" in said
    assert run([*command.split(), str(answers), "--quiet"]) == 0
    assert capsys.readouterr().err == ""


def test_roles_can_be_given(answers: Path, capsys: pytest.CaptureFixture[str]) -> None:
    es = load(answers, columns={"segment": "question", "score": "correct"})
    assert es.segments.ids == ("Capital of France?", "What is 1+1?")
    assert any(note.endswith("columns not used: id") for note in es.notes)
    words = ["data", "info", str(answers), "--columns", "segment=question,score=correct", "--json"]
    found, _ = result(words, capsys)
    columns = found["read"][0]["columns"]
    assert columns == {"system": "model", "segment": "question", "score": "correct"}


def test_datasets_and_batches_are_frames() -> None:
    datasets = pytest.importorskip("datasets")
    pa = pytest.importorskip("pyarrow")
    rows = {"system": ["A", "A", "B"], "segment": ["1", "2", "1"], "x": [0.5, 1.0, 2.0]}
    expected = load(pl.DataFrame(rows))
    made = datasets.Dataset.from_dict(rows)
    for given in (made, made.shuffle(seed=1), pa.table(rows), pa.RecordBatch.from_pydict(rows)):
        assert load(given)["x"].values.tolist()[0] == expected["x"].values.tolist()[0]
        assert load(given).systems == expected.systems
    with pytest.raises(UsageError, match=r"several splits \(train, test\): give one of them"):
        load(datasets.DatasetDict({"train": made, "test": made}))


READ = [form for form in FORMATS if readable(form)]


@pytest.mark.parametrize("form", READ, ids=lambda form: form.name)
def test_every_format_has_an_example_that_is_read(form: Any, tmp_path: Path) -> None:
    assert form.known_by
    assert form.example
    if not form.example_name:
        return
    from steelyard.formats.reading import read_any

    path = tmp_path / form.example_name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(form.example, encoding="utf-8")
    assert read_any(path)[0] == form.name


def test_judgements_become_what_can_hold_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rankings, out = tmp_path / "rankings.csv", tmp_path / "out.csv"
    rankings.write_text(
        "segmentId,judgeId,system1Id,system1rank,system2Id,system2rank\n7,j1,A,1,B,2\n8,j1,A,1,B,1\n"
    )
    assert run(["data", "convert", str(rankings), str(out), "--to", "battles"]) == 0
    assert out.read_text() == "left,right,outcome,unit\nA,B,left,7\nA,B,tie,8\n"
    errors = tmp_path / "errors.jsonl"
    errors.write_text(
        '{"rater": "r", "system": "A", "seg": 1, "value": 60, "errors": '
        '[{"category": "x", "severity": "major", "start": 0, "end": 2}]}\n'
    )
    words = ["data", "convert", str(errors), str(out), "--to", "ratings", "--force"]
    assert run(words) == 0
    assert "has no place for: marked errors" in capsys.readouterr().err
    assert out.read_text() == "rater,system,segment,raw\nr,A,1,60.0\n"
    assert run([*words[:-2], "battles", "--force"]) == 2
    assert "--to battles is for BattleLog, and this is Ratings" in capsys.readouterr().err
