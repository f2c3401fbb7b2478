"""Files of shared tasks of WMT: spans of QE 2023, scores, errors and corrections of 2025."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from steelyard import Ratings, load
from steelyard.cli.main import run
from steelyard.data.judgements import ErrorSpan
from steelyard.formats.reading import Reading, read_all, read_any

SAMPLES = Path(__file__).parent / "samples"
GOLD = SAMPLES / "wmt-qe23" / "task2.de-en.gold.tsv"
TASK = [SAMPLES / "wmt25" / f"task{n}.tsv" for n in (1, 2, 3)]
Refusal = Callable[..., str]


def changed(path: Path, source: Path, line: int, column: int, cell: str) -> Path:
    rows = [row.split("\t") for row in source.read_text(encoding="utf-8").splitlines()]
    rows[line - 1][column] = cell
    path.write_text("".join("\t".join(row) + "\n" for row in rows), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("name", "rater", "errors"),
    [
        ("gold", "gold", (ErrorSpan("", "minor", 0, 1), ErrorSpan("", "major", 2, 16))),
        ("predictions", "MadeUpQE", (ErrorSpan("", "minor", 0, 4),)),
    ],
)
def test_spans_of_qe(name: str, rater: str, errors: tuple[ErrorSpan, ...]) -> None:
    path = GOLD.with_name(f"task2.de-en.{name}.tsv")
    form, ratings, _ = read_any(path)
    assert form == "WMT QE spans"
    assert isinstance(ratings, Ratings)
    assert (ratings.systems, ratings.raters) == (("mt",), (rater,))
    assert ratings.segments == ("0", "1", "2", "3", "4", "5")
    assert ratings.errors is not None
    assert (ratings.errors[0], ratings.errors[4]) == (errors, ())
    (found,) = read_all([path])
    assert "the system is not named, and is called 'mt'" in found.notes[0]


@pytest.mark.parametrize(
    ("column", "cell", "words"),
    [
        (4, "0 1", "2 start_indices, 1 end_indices, 1 error_types: expected as many of each"),
        (4, "x", "'x' is no place: expected a whole number or 'missing'"),
        (5, "1.5", "'1.5' is no place"),
        (6, "minor\tx", "8 cells, expected 7"),
    ],
)
def test_bad_spans_of_qe_are_refused(
    tmp_path: Path, refusal: Refusal, column: int, cell: str, words: str
) -> None:
    path = changed(tmp_path / "x.tsv", GOLD, 2, column, cell)
    message = refusal(read_any, path)
    assert f"{path}:2" in message
    assert words in message


def test_task_1_is_a_set_of_scores() -> None:
    es = load(TASK[0])
    assert (es.systems, es.language_pair) == (("sysA", "sysB"), "de-en_US")
    assert (es.human, es.metrics) == (("human",), ())
    assert es["human"].values.tolist() == [
        [90.5, 80.5, 70.5, 60.5, 50.5], [87.5, 77.5, 67.5, 57.5, 47.5],
    ]  # fmt: skip
    assert es.outputs["sysA"][2] == 'She said: "See you tomorrow."'
    assert es.segments.domains == ("news", "speech", "news", "speech", "news")
    assert any("2 rows left out, whose set_id is not official" in note for note in es.notes)
    assert load(TASK[0], where={"set_id": "challenge"}).segments.ids == ("5",)


def test_quotes_of_tasks_are_characters(tmp_path: Path) -> None:
    path = changed(tmp_path / "x.tsv", TASK[0], 2, 7, '"The cat sat."')
    assert load(path).outputs["sysA"][0] == '"The cat sat."'


def test_several_methods_of_task_1_are_several_scores(tmp_path: Path, refusal: Refusal) -> None:
    first, *rows = TASK[0].read_text(encoding="utf-8").splitlines()
    others = [row.replace("\thuman\t", "\tMyMetric\t") for row in rows[:3]]
    path = tmp_path / "x.tsv"
    path.write_text("\n".join([first, *rows, *others]) + "\n", encoding="utf-8")
    es = load(path)
    assert (es.human, es.metrics) == (("human",), ("MyMetric",))
    assert es["MyMetric"].values[0, :3].tolist() == [90.5, 80.5, 70.5]
    path.write_text("\n".join([first, *rows, rows[0]]) + "\n", encoding="utf-8")
    assert f"{path}:14: 'human' scored this output on an earlier line" in refusal(path)


def test_task_2_is_a_list_of_errors() -> None:
    form, ratings, _ = read_any(TASK[1])
    assert form == "WMT25 task 2"
    assert isinstance(ratings, Ratings)
    assert (len(ratings), ratings.raters) == (10, ("human",))
    assert ratings.errors is not None
    assert ratings.errors[2] == (
        ErrorSpan("", "major", None, None),
        ErrorSpan("", "minor", 0, 3),
    )
    assert ratings.errors[5] == (ErrorSpan("", "minor", 0, 1), ErrorSpan("", "major", 2, 16))
    assert ratings.errors[0] == ()
    challenge = read_any(TASK[1], Reading(where=(("set_id", "challenge"),)))[1]
    assert challenge.segments == ("5",)


def test_task_3_is_outputs_before_and_after() -> None:
    es = load(TASK[2])
    assert es.systems == ("sysA", "sysA+human", "sysB", "sysB+human")
    assert es.outputs["sysA"][1] == "It rained the whole day in the little town."
    assert es.outputs["sysA+human"][1] == "It rained all day in the small town."
    assert es.references == ("ref",)
    assert any("SYSTEM+METHOD" in note for note in es.notes)


def test_documents_may_number_segments_anew(tmp_path: Path) -> None:
    path = changed(tmp_path / "x.tsv", TASK[0], 4, 1, "0")
    es = load(path)
    assert "doc1/0" in es.segments.ids
    assert any("DOCUMENT/ID" in note for note in es.notes)


def test_several_language_pairs_are_chosen_from(tmp_path: Path, refusal: Refusal) -> None:
    path = changed(tmp_path / "x.tsv", TASK[0], 2, 3, "fr")
    assert 'choose one with where={"lp": "de-en_US"}' in refusal(path)
    assert load(path, where={"lp": "de-fr"}).n_segments == 1


@pytest.mark.parametrize(
    ("task", "column", "cell", "words"),
    [
        (0, 11, "good", "column 'overall': 'good' is not a finite number"),
        (0, 5, "", "column 'system_id' is empty, expected a name"),
        (0, 11, "1\t2", "13 cells, expected 12 as in the header"),
        (1, 11, "x", "'x' is no place"),
        (1, 13, "minor minor", "expected as many of each"),
    ],
)
def test_bad_tasks_are_refused(
    tmp_path: Path, refusal: Refusal, task: int, column: int, cell: str, words: str
) -> None:
    path = changed(tmp_path / "x.tsv", TASK[task], 3, column, cell)
    message = refusal(read_any, path)
    assert f"{path}:3" in message
    assert words in message


def test_a_header_without_a_column_is_refused(tmp_path: Path, refusal: Refusal) -> None:
    path = changed(tmp_path / "x.tsv", TASK[0], 1, 5, "who")
    assert "no column 'system_id'" in refusal(path, format="WMT25 task 1")


def test_labels_join_a_task(tmp_path: Path) -> None:
    table = tmp_path / "labels.csv"
    table.write_text("system,segment,label\nsysA,0,1\nsysB,0,0\n")
    assert set(load(TASK[0], table, human="label").human) == {"human", "label"}


def test_tasks_from_the_command_line(capsys: Any) -> None:
    assert run(["data", "info", str(TASK[0]), "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["inputs"][0]["format"] == "WMT25 task 1"
    assert "--where set_id=challenge selects them" in result["warnings"][0]
    assert run(["human", str(TASK[1]), "--protocol", "mqm"]) == 0
