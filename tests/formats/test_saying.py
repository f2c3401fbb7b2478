"""Nothing is guessed in silence: what was read as what, and how the user decides."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from steelyard import load
from steelyard.cli.main import run
from steelyard.core.errors import InputError, UsageError
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


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"sgment": "id"}, "no role 'sgment'; did you mean 'segment'"),
        ({"segment": "idd"}, "no input has a column 'idd'; did you mean 'id'"),
        ("segment=id", "columns is roles and columns, as .*, got 'segment=id'"),
        ([("segment",)], "columns is roles and columns, as"),
    ],
)
def test_roles_that_can_not_be(answers: Path, columns: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        load(answers, columns=columns)


def test_two_readings_are_refused_with_what_decides(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "x.csv"
    path.write_text("a,item_id,question_id,b\n0.5,1,7,0.25\n0.5,2,8,0.5\n0.5,3,8,0.5\n")
    assert run(["compare", str(path)]) == 2
    said = capsys.readouterr().err
    assert said == (
        f"error: {path}: columns 'item_id' and 'question_id' could both be the segment: "
        "--columns segment=item_id or --columns segment=question_id decides\n"
    )
    assert load(path, columns={"segment": "item_id"}).segments.ids == ("1", "2", "3")


def test_two_systems_are_refused_unless_they_are_the_same(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("model,provider,item,x\nA,p,1,1\nB,p,1,2\nA,q,2,3\n")
    with pytest.raises(UsageError, match="'model' and 'provider' could both be the system"):
        load(path)
    assert load(path, columns={"system": "model"}, ignore=["provider"]).systems == ("A", "B")
    path.write_text("model,model_id,item,x\nA,m1,1,1\nB,m2,1,2\n")
    es = load(path)
    assert es.systems == ("A", "B")
    assert f"{path}: columns not used: model_id" in es.notes


def test_a_format_can_be_forced(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "x.csv"
    path.write_text("system,segment,x\n1,1,0.5\n2,2,0.25\n")
    assert load(path).systems == ("1", "2")
    assert load(path, format="wide table").systems == ("system", "x")
    with pytest.raises(UsageError, match="did you mean 'wide table'"):
        load(path, format="wide tabel")
    words = ["data", "info", str(path), "--format", "wide table", "--json"]
    found, _ = result(words, capsys)
    assert found["read"][0]["format"] == "wide table"


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        (
            "x.csv",
            "rater,text,mood\nr1,a,good\nr2,b,bad\n",
            ["no known format has columns rater, text, mood; "],
        ),
        (
            "x.jsonl",
            '{"left": "A", "right": "B", "why": {"a": 1}}\n',
            ["no known format has columns left, right, why.a;", "outcome"],
        ),
    ],
)
def test_an_unknown_table_names_its_columns(
    tmp_path: Path, name: str, text: str, words: list[str]
) -> None:
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(InputError) as caught:
        load(path)
    assert all(word in str(caught.value) for word in words), caught.value


def test_epochs_are_no_items(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text(
        "system,item,epoch,x,output\nA,1,1,1,a\nA,1,2,0,b\nA,2,1,1,c\nA,2,2,,d\nB,1,1,0,e\n"
    )
    es = load(path)
    assert es.segments.ids == ("1", "2")
    assert es["x"].values[0].tolist() == [0.5, 1.0]
    assert es["x"].values[1, 0] == 0
    assert es.outputs["A"] == ("a", "c")
    assert es.notes == (f"{path}: scores are means over 1 to 2 epochs of an item",)


def test_an_epoch_twice_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("system,item,epoch,x\nA,1,1,1\nA,1,1,0\n")
    with pytest.raises(InputError, match=r":3: system 'A', item '1' and epoch '1' stand on line 2"):
        load(path)


def test_tasks_keep_their_items_apart(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("system,item,task,x\nA,1,maths,1\nA,1,law,0\nB,1,law,1\nB,1,maths,0\n")
    es = load(path)
    assert es.segments.ids == ("law/1", "maths/1")
    assert es.segments.domains == ("law", "maths")
    assert load(path, where={"task": "law"}).segments.ids == ("1",)


def test_labels_by_item_join_the_answers_of_one_system(tmp_path: Path) -> None:
    answers, labels = tmp_path / "answers.csv", tmp_path / "labels.csv"
    answers.write_text("system,item,judge\nA,1,0.5\nA,2,1\n")
    labels.write_text("item,label,second\n1,0,1\n2,1,1\n")
    es = load(answers, labels, human="label")
    assert es.systems == ("A",)
    assert es.human == ("label", "second")
    assert es["label"].values.tolist() == [[0.0, 1.0]]
    said = f"{labels}: 'label' and 'second' taken for scores of A, the only system"
    assert said in es.notes
    answers.write_text("system,item,judge\nA,1,0.5\nB,1,1\n")
    with pytest.raises(UsageError, match="'label' and 'second' without a system, beside 2 sys"):
        load(answers, labels, human="label")
    assert load(labels).systems == ("label", "second")


def test_a_number_on_each_line_is_no_header(tmp_path: Path) -> None:
    one, two = tmp_path / "A.txt", tmp_path / "B.txt"
    one.write_text("0.5\n0.25\n")
    two.write_text("1\n0\n")
    es = load(one, two)
    assert (es.systems, es.segments.ids) == (("A", "B"), ("1", "2"))
    assert es["score"].values.tolist() == [[0.5, 0.25], [1.0, 0.0]]
    path = tmp_path / "x.csv"
    path.write_text("0.5,2\n3,4\n")
    with pytest.raises(InputError, match=r":1: the first line holds numbers \(0.5, 2\), expected"):
        load(path)


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


def test_a_named_format_leaves_other_inputs_what_they_are(tmp_path: Path) -> None:
    numbers, labels = tmp_path / "A.txt", tmp_path / "labels.csv"
    numbers.write_text("0.5\n0.25\n")
    labels.write_text("system,segment,label\nA,1,1\nA,2,0\n")
    es = load(numbers, labels, human="label", format="plain scores")
    assert (es.human, es.metrics) == (("label",), ("score",))


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
