"""Exports of Label Studio: which answers are scores, where spans are, and what is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from steelyard.cli.main import run
from steelyard.data.judgements import ErrorSpan
from steelyard.formats.reading import Read, Reading, read_all

SAMPLES = Path(__file__).parent / "samples" / "label-studio"
DATA = {"system": "A", "segment": 7, "text": "Bis bald 😀 mal."}
Refusal = Callable[..., str]


def task(number: int, *results: Any, **more: Any) -> dict[str, Any]:
    """One task with one annotation."""
    data = more.pop("data", DATA | {"segment": number})
    made = {"completed_by": 1, "result": list(results), "was_cancelled": False} | more
    return {"id": 100 + number, "data": data, "annotations": [made]}


def answer(name: str, region: str | None = None, **value: Any) -> dict[str, Any]:
    place = {} if region is None else {"start": 0, "end": 3, "text": "Bis"}
    return {"from_name": name, "id": region, "value": {**place, **value}}


@pytest.fixture
def read(tmp_path: Path) -> Callable[..., Read]:
    def reader(*tasks: Any, **more: Any) -> Read:
        path = tmp_path / "x.json"
        path.write_text(json.dumps(tasks), encoding="utf-8")
        (found,) = read_all([path], Reading(**more))
        return found

    return reader


def test_one_number_is_the_score(read: Any) -> None:
    tasks = [task(i, answer("quality", rating=i)) for i in range(1, 5)]
    assert read(*tasks).value.value.tolist() == [1, 2, 3, 4]
    assert read(*tasks, columns=(("score", "quality"),)).value.identical(read(*tasks).value)
    tasks = [task(i, answer("q", choices=[str(i)])) for i in range(3)]
    assert read(*tasks).value.value.tolist() == [0, 1, 2]


def test_words_have_an_order_that_is_asked_for(read: Any, refusal: Refusal) -> None:
    tasks = [
        task(i, answer("q", choices=[w])) for i, w in enumerate(("good", "bad", "good", "bad"))
    ]
    assert "column 'q' holds 'bad', 'good': scale=WORST,...,BEST" in refusal(read, *tasks)
    assert read(*tasks, scale=("bad", "good")).value.value.tolist() == [2, 1, 2, 1]


def test_the_system_goes_by_other_names(read: Any, refusal: Refusal) -> None:
    rating = answer("q", rating=3)
    found = read(task(1, rating, data={"model": "M", "example_id": "e1"}))
    assert (found.value.systems, found.value.segments) == (("M",), ("e1",))
    other = task(1, rating, data={"machine": "M", "place": 7})
    assert 'no data of a task names the system: columns={"system"' in refusal(read, other)
    columns = (("system", "machine"), ("segment", "place"))
    assert read(other, columns=columns).value.segments == ("7",)


def test_data_can_not_pass_for_judgements(read: Any) -> None:
    data = {**DATA, "score": 0.9, "rater": "x", "type": "quiz", "year": 2020, "q": 1}
    ratings = read(task(1, answer("q", rating=3), data=data)).value
    assert (ratings.value.tolist(), ratings.raters) == ([3], ("1",))


def test_a_rater_may_be_an_object(read: Any) -> None:
    one = task(1, answer("q", rating=3), completed_by={"id": 7, "email": "a@b.c"})
    none = task(2, answer("q", rating=3), completed_by=None)
    assert read(one, none).value.raters == ("7", "unknown")


@pytest.mark.parametrize(
    ("start", "end", "text", "expected", "note"),
    [
        (9, 10, "😀", (9, 10), ""),
        (9, 11, "😀", (9, 10), "1 span counted in UTF-16 units"),
        (12, 15, "mal", (11, 14), "1 span counted in UTF-16 units"),
        (0, 3, "xyz", (0, 3), "1 span not where the text is"),
        ("/p[1]", "/p[2]", "xyz", (None, None), "1 span without a place"),
    ],
)
def test_units_of_a_browser_are_corrected_where_the_text_proves_it(
    read: Any, start: int, end: int, text: str, expected: tuple[int, int], note: str
) -> None:
    found = read(task(1, answer("e", start=start, end=end, text=text, labels=["Style", "minor"])))
    assert found.value.errors == ((ErrorSpan("Style", "minor", *expected),),)
    assert note in "\n".join(found.notes)


def test_a_choice_about_a_span_is_its_severity(read: Any) -> None:
    parts = [
        answer("severity", "r1", choices=["Major"]),
        answer("kind", "r1", labels=["Accuracy"]),
        answer("kind", "r2", labels=["Style"]),
        answer("sure", "r2", rating=3),
        answer("kind", "r2", labels=["minor"]),
    ]
    (errors,) = read(task(0, *parts)).value.errors
    assert errors == (ErrorSpan("Accuracy", "Major", 0, 3), ErrorSpan("Style", "minor", 0, 3))


@pytest.mark.parametrize(
    ("results", "words"),
    [
        ([answer("q", rating="x")], ":1: 'annotations[0].result[0].value.rating' is 'x'"),
        ([answer("q", rating=[1])], "expected a finite number or null"),
        ([answer("e", start=1, end=2, labels=5)], "expected a list"),
        ([answer("e", start=1, end=2, labels=[])], "expected a list of texts"),
        ([answer("e", start=1.5, end=2, labels=["a"])], "expected whole numbers"),
        ([answer("e", start=1, labels=["a"])], "expected whole numbers as start and end"),
        ([answer("b", selected="up")], "expected one of left, right"),
        ([answer("b", selected="left"), answer("b", selected="right")], "'b' has several answers"),
        ([answer("q", "r1", rating=1), answer("q", "r2", rating=2)], "'q' has several answers"),
        ([answer("q", choices=[1])], "expected a text"),
        (
            [answer("k", "r", labels=["Minor"]), answer("s", "r", choices=["major"])],
            "Minor and maj",
        ),
        (["x"], "result[0]' is 'x', expected an object"),
        ([answer("a", rating=1), answer("b", rating=2)], "columns 'a' and 'b' could each be the"),
    ],
)
def test_bad_exports_are_refused(
    read: Any, refusal: Refusal, results: list[Any], words: str
) -> None:
    assert words in refusal(read, task(1, *results))


def test_nothing_that_counts_and_flat_exports_are_refused(
    read: Any, refusal: Refusal, tmp_path: Path
) -> None:
    assert "holds no annotation" in refusal(read, task(1, was_cancelled=True))
    path = tmp_path / "flat.csv"
    path.write_text("annotation_id,annotator,id,lead_time,quality\n1,1,1,2.5,4\n")
    assert "flat export (JSON-MIN, CSV or TSV): export the project" in refusal(read_all, [path])


def test_a_folder_of_exports(tmp_path: Path) -> None:
    for number in (1, 2):
        path = tmp_path / f"project-{number}-at-2026-01-01-10-00-abc.json"
        path.write_text(json.dumps([task(number, answer("q", rating=number))]))
    assert read_all([tmp_path])[0].value.value.tolist() == [1, 2]


def test_human_evaluation_from_the_command_line(capsys: Any) -> None:
    path = str(SAMPLES / "export-points.json")
    assert run(["human", path, "--protocol", "esa"]) == 2
    assert "--score quality picks one" in capsys.readouterr().err
    assert run(["human", path, "--protocol", "esa", "--score", "da", "--json"]) == 0
    systems = json.loads(capsys.readouterr().out)["systems"]
    assert [system["system"] for system in systems] == ["sysA", "sysB"]
    assert run(["data", "info", str(SAMPLES / "export-pairs.json")]) == 0
