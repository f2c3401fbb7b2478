"""Exports of Label Studio, in its four shapes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from steelyard import BattleLog, Ratings
from steelyard.cli.main import run
from steelyard.data.judgements import ErrorSpan
from steelyard.formats.reading import Reading, read_all, read_any

SAMPLES = Path(__file__).parent / "samples" / "label-studio"
SHAPES = ("json", "json-min.json", "csv", "tsv")
DA = Reading(columns=(("score", "da"),))
Refusal = Callable[..., str]


def read(path: Path, *columns: tuple[str, str]) -> Any:
    return read_any(path, Reading(columns=columns))[1]


def notes(path: Path, *columns: tuple[str, str]) -> str:
    (found,) = read_all([path], Reading(columns=columns))
    return "\n".join(found.notes)


def task(number: int, *results: dict[str, Any], **more: Any) -> dict[str, Any]:
    """One task with one annotation."""
    data = more.pop("data", {"system": "A", "segment": number, "text": "Bis bald 😀 mal."})
    made = {"completed_by": 1, "result": list(results), "was_cancelled": False} | more
    return {"id": 100 + number, "data": data, "annotations": [made]}


def result(name: str, kind: str, **value: Any) -> dict[str, Any]:
    return {"from_name": name, "to_name": "mt", "type": kind, "value": value}


def written(path: Path, *tasks: Any) -> Path:
    path.write_text(json.dumps(tasks), encoding="utf-8")
    return path


@pytest.mark.parametrize("shape", SHAPES)
def test_ratings_with_spans(shape: str) -> None:
    form, ratings, _ = read_any(SAMPLES / f"export-points.{shape}", DA)
    assert form == "Label Studio spans"
    assert isinstance(ratings, Ratings)
    assert (ratings.systems, ratings.raters) == (("sysA", "sysB"), ("1", "2"))
    assert (len(ratings), ratings.segments) == (22, ("0", "1", "2", "3", "4", "5"))
    first = [i for i in range(22) if (ratings.system[i], ratings.segment[i]) == (1, 0)]
    assert ratings.value[first].tolist() == [72, 69]
    assert ratings.seconds is not None
    assert ratings.seconds[0] == 11.5
    assert ratings.errors is not None
    spans = (ErrorSpan("", "Minor", 0, 3), ErrorSpan("", "Major", 4, 17))
    assert ratings.errors[first[0]] == spans
    assert ratings.errors[0] == ()
    assert ratings.document is not None
    assert set(ratings.document) == {"doc0", "doc1", "doc2"}


@pytest.mark.parametrize("shape", SHAPES)
def test_all_shapes_say_the_same(shape: str) -> None:
    expected = read(SAMPLES / "export-points.json", ("score", "quality"))
    found = read(SAMPLES / f"export-points.{shape}", ("score", "quality"))
    assert found.identical(expected)


def test_two_numbers_are_not_guessed_between(refusal: Refusal) -> None:
    message = refusal(read_any, SAMPLES / "export-points.json")
    assert 'quality and da could each be the score: choose with columns={"score": ' in message


def test_what_is_left_out_is_said() -> None:
    said = notes(SAMPLES / "export-points.json", ("score", "da"))
    assert "1 cancelled annotation left out" in said
    assert "1 annotation marked as ground truth and kept" in said
    assert "not used, no scores: comment, tags, verdict" in said


@pytest.mark.parametrize("shape", SHAPES)
def test_pairs_are_battles(shape: str) -> None:
    form, log, _ = read_any(SAMPLES / f"export-pairs.{shape}")
    assert form == "Label Studio pairs"
    assert isinstance(log, BattleLog)
    assert log.systems == ("sysA", "sysB")
    assert (len(log), log.outcome.sum()) == (12, 7)
    assert log.units == ("0", "1", "2", "3", "4", "5")
    assert "winner" in notes(SAMPLES / f"export-pairs.{shape}")


def test_one_number_is_the_score(tmp_path: Path) -> None:
    ratings = [task(i, result("quality", "rating", rating=i)) for i in range(1, 5)]
    path = written(tmp_path / "x.json", *ratings)
    form, found, _ = read_any(path)
    assert form == "Label Studio ratings"
    assert found.value.tolist() == [1, 2, 3, 4]
    assert found.errors is None
    assert read(path, ("score", "quality")).identical(found)  # it may be named all the same


def test_a_name_of_the_file_is_no_column_that_selects(tmp_path: Path, refusal: Refusal) -> None:
    from steelyard import human_scores

    path = written(tmp_path / "x.json", task(1, result("q", "rating", rating=3)))
    message = refusal(human_scores, path, protocol="da", where={"q": "3"})
    assert "no input has a column 'q'" in message


def test_choices_that_are_numbers_are_scores(tmp_path: Path) -> None:
    tasks = [task(i, result("q", "choices", choices=[str(i)])) for i in range(3)]
    assert read(written(tmp_path / "x.json", *tasks)).value.tolist() == [0, 1, 2]


def test_words_are_no_scores(tmp_path: Path, refusal: Refusal) -> None:
    tasks = [task(i, result("q", "choices", choices=[w])) for i, w in enumerate(("good", "bad"))]
    message = refusal(read_any, written(tmp_path / "x.json", *tasks))
    assert "no control gives numbers ('q' holds bad, good): words are no scores" in message


def test_the_system_goes_by_other_names(tmp_path: Path, refusal: Refusal) -> None:
    rating = result("q", "rating", rating=3)
    path = written(tmp_path / "x.json", task(1, rating, data={"model": "M", "example_id": "e1"}))
    found = read(path)
    assert (found.systems, found.segments) == (("M",), ("e1",))
    said = notes(path)
    assert "'model' is taken as the system" in said
    assert "'example_id' is taken as the segment" in said
    path = written(tmp_path / "y.json", task(1, rating, data={"machine": "M", "sentence": 7}))
    message = refusal(read_any, path)
    assert (
        'no data of a task names the system (found machine, sentence); columns={"system"' in message
    )
    found = read(path, ("system", "machine"), ("segment", "sentence"))
    assert (found.systems, found.segments) == (("M",), ("7",))


def test_data_can_not_pass_for_judgements(tmp_path: Path) -> None:
    data = {"system": "A", "segment": 1, "score": 0.9, "rater": "x", "type": "quiz"}
    path = written(tmp_path / "x.json", task(1, result("q", "rating", rating=3), data=data))
    assert read(path).value.tolist() == [3]
    assert read(path).raters == ("1",)
    assert "data of tasks not used: score, rater, type" in notes(path)


def test_a_rater_may_be_an_object(tmp_path: Path) -> None:
    one = task(1, result("q", "rating", rating=3), completed_by={"id": 7, "email": "a@b.c"})
    none = task(2, result("q", "rating", rating=3), completed_by=None)
    assert read(written(tmp_path / "x.json", one, none)).raters == ("7", "unknown")


@pytest.mark.parametrize(
    ("start", "end", "text", "expected", "said"),
    [
        (9, 10, "😀", (9, 10), None),
        (9, 11, "😀", (9, 10), "1 span counted in UTF-16 units and corrected"),
        (12, 15, "mal", (11, 14), "1 span counted in UTF-16 units and corrected"),
        (0, 3, "xyz", (0, 3), "1 span not where the text is that it quotes"),
    ],
)
def test_units_of_a_browser_are_corrected_where_the_text_proves_it(
    tmp_path: Path, start: int, end: int, text: str, expected: tuple[int, int], said: str | None
) -> None:
    span = result("e", "labels", start=start, end=end, text=text, labels=["Fluency", "minor"])
    path = written(tmp_path / "x.json", task(1, span))
    assert read(path).errors == ((ErrorSpan("Fluency", "minor", *expected),),)
    assert (said or "") in notes(path)
    assert (said is None) == ("span" not in notes(path))


@pytest.mark.parametrize(
    ("results", "words"),
    [
        ([result("q", "rating", rating="x")], "'annotations[0].result[0].value.rating' is 'x'"),
        ([result("q", "rating", rating=[1])], "expected a finite number or null"),
        ([result("e", "labels", start=1, end=2, labels=5)], "expected a list"),
        ([result("e", "labels", start=1, end=2, labels=[])], "expected a list of texts"),
        ([result("e", "labels", start=1.5, end=2, labels=["a"])], "expected a whole number"),
        ([result("e", "labels", start=1, labels=["a"])], "expected a start and an end"),
        ([result("b", "pairwise", selected="up")], "expected one of left, right"),
        ([result("q", "choices", choices=[1])], "expected a list of texts"),
        (["x"], "result[0]' is 'x', expected an object"),
    ],
)
def test_bad_exports_are_refused(
    tmp_path: Path, refusal: Refusal, results: list[Any], words: str
) -> None:
    path = written(tmp_path / "x.json", task(1, *results))
    message = refusal(read_any, path)
    assert f"{path}:1" in message
    assert words in message


def test_an_export_without_annotations_is_refused(tmp_path: Path, refusal: Refusal) -> None:
    path = written(tmp_path / "x.json", task(1, was_cancelled=True))
    assert "holds no annotation" in refusal(read_any, path)


def test_a_folder_of_exports(tmp_path: Path) -> None:
    for number in (1, 2):
        path = tmp_path / f"project-{number}-at-2026-01-01-10-00-abc.json"
        written(path, task(number, result("q", "rating", rating=number)))
    assert read(tmp_path).value.tolist() == [1, 2]


def test_human_evaluation_from_the_command_line(capsys: Any) -> None:
    path = str(SAMPLES / "export-points.csv")
    assert run(["human", path, "--protocol", "esa", "--columns", "score=da", "--json"]) == 0
    systems = json.loads(capsys.readouterr().out)["systems"]
    assert [system["system"] for system in systems] == ["sysA", "sysB"]
    assert run(["data", "info", path]) == 2
    assert "choose with --columns score=" in capsys.readouterr().err
    assert run(["data", "info", str(SAMPLES / "export-pairs.tsv")]) == 0


def of_span(own: str, name: str, kind: str, **value: Any) -> dict[str, Any]:
    place = {"start": 0, "end": 3, "text": "Bis"}
    return result(name, kind, **place, **value) | {"id": own}


def test_several_answers_to_one_question_are_refused(tmp_path: Path, refusal: Refusal) -> None:
    parts = [of_span(own, "sev", "rating", rating=x) for own, x in (("r1", 1), ("r2", 5))]
    path = written(tmp_path / "x.json", task(0, *parts))
    said = refusal(read_any, path)
    assert said.startswith(f"{path}:1: control 'sev' has 2 answers in one annotation, expected one")
    pair = [result("p", "pairwise", selected=side) for side in ("left", "right")]
    data = {"model_a": "A", "model_b": "B", "segment": 0}
    path = written(tmp_path / "y.json", task(0, *pair, data=data))
    assert "control 'p' has 2 answers" in refusal(read_any, path)


def test_an_answer_on_a_part_of_the_text_is_said(tmp_path: Path) -> None:
    path = written(tmp_path / "x.json", task(0, of_span("r1", "q", "rating", rating=3)))
    assert "1 answer on a part of the text taken for the whole" in notes(path)


def test_a_choice_of_a_span_is_its_severity(tmp_path: Path) -> None:
    parts = [
        of_span("r1", "severity", "choices", choices=["Major"]),
        of_span("r1", "kind", "labels", labels=["Accuracy"]),
        of_span("r2", "kind", "labels", labels=["Style"]),
        of_span("r2", "sure", "rating", rating=3),
        of_span("r2", "severity", "choices", choices=["minor"]),
    ]
    path = written(tmp_path / "x.json", task(0, *parts))
    (errors,) = read(path).errors
    assert errors == (ErrorSpan("Accuracy", "Major", 0, 3), ErrorSpan("Style", "minor", 0, 3))
    assert "1 answer to 'sure' of a span not used" in notes(path)


def test_two_labels_of_one_span_are_one_error(tmp_path: Path) -> None:
    kinds = [of_span("r1", name, "labels", labels=[name]) for name in ("Accuracy", "Major")]
    path = written(tmp_path / "x.json", task(0, *kinds))
    assert read(path).errors == ((ErrorSpan("Accuracy", "Major", 0, 3),),)


def test_two_severities_of_one_span_are_refused(tmp_path: Path, refusal: Refusal) -> None:
    label = of_span("r1", "kind", "labels", labels=["Minor"])
    choice = of_span("r1", "severity", "choices", choices=["major"])
    path = written(tmp_path / "x.json", task(0, label, choice))
    assert "a span is Minor and major, expected one severity" in refusal(read_any, path)


def test_flat_exports_tell_spans_by_their_place(tmp_path: Path, refusal: Refusal) -> None:
    own = {"id": 1, "annotation_id": 1, "annotator": 1, "lead_time": 2.5, "system": "A",
           "segment": 0}  # fmt: skip
    place = {"start": 0, "end": 3, "text": "Bis"}
    kind, other = place | {"labels": ["Accuracy"]}, place | {"labels": ["Style"]}
    choice = [place | {"choices": ["major"]}]
    path = written(tmp_path / "x.json", own | {"kind": [kind], "severity": choice})
    assert read(path).errors == ((ErrorSpan("Accuracy", "major", 0, 3),),)
    path = written(tmp_path / "y.json", own | {"kind": [kind, other], "severity": choice})
    assert "'severity' is of a place that several spans have" in refusal(read_any, path)
