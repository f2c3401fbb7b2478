"""Ratings as people have them: read right, or one question whose answer then works."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steelyard import Ratings, da, human_scores, load, save
from steelyard.cli.main import run
from steelyard.data.judgements import ErrorSpan
from steelyard.formats.reading import Read, Reading, read_all, read_any

Refusal = Callable[..., str]
Fresh = Callable[[], Path]
nan = float("nan")
RATERS, SYSTEMS = ("p1", "p2"), ("A", "B", "C")
SCORE = {(r, s, i): 10 * k + i for k, (r, s) in enumerate(
    (r, s) for r in RATERS for s in SYSTEMS) for i in range(4)}  # fmt: skip


def table(header: str, rows: Any) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([header.split(","), *rows])
    return text.getvalue()


def long(header: str, row: Callable[[str, str, int], list[Any]]) -> str:
    return table(header, (row(*key) for key in SCORE))


@pytest.fixture
def read(tmp_path: Path) -> Callable[..., Read]:
    def reader(text: str, **more: Any) -> Read:
        path = tmp_path / "x.csv"
        path.write_text(text, encoding="utf-8")
        (found,) = read_all([path], Reading(**more))
        return found

    return reader


def values(ratings: Ratings) -> dict[tuple[str, str, str], float]:
    keys = zip(ratings.rater, ratings.system, ratings.segment, ratings.value, strict=True)
    return {
        (ratings.raters[r], ratings.systems[s], ratings.segments[i]): value
        for r, s, i, value in keys
    }


WIDE = table("annotator,item,A,B,C", (
    [r, i, *(SCORE[r, s, i] for s in SYSTEMS)] for r in RATERS for i in range(4)))  # fmt: skip
FORM = long(
    "Timestamp,Annotator ID,System,Sentence ID,Adequacy (1-5),Fluency,Any remarks?",
    lambda r, s, i: [f"2025-05-01 10:0{i}", r, s, i, SCORE[r, s, i], 3, "fine, thanks"],
)
WORDS = long("rater,system,segment,rating", lambda r, s, i: [r, s, i, ("bad", "ok", "good")[i % 3]])


def test_words_have_the_order_that_is_given(read: Any, refusal: Refusal) -> None:
    assert "column 'rating' holds 'bad', 'good', 'ok': scale=WORST,...,BEST" in refusal(read, WORDS)
    ratings = read(WORDS, scale=("Bad", "OK", "good")).value
    assert set(values(ratings).values()) == {1, 2, 3}
    assert values(ratings)["p1", "A", "2"] == 3
    assert "also holds 'ok'" in refusal(read, WORDS, scale=("bad", "good"))
    gaps = table("rater,system,segment,rating", [["p", "A", 1, "none"], ["p", "A", 2, ""],
                                                 ["p", "A", 3, "some"]])  # fmt: skip
    assert np.isnan(read(gaps, scale=("none", "some")).value.value[1])  # a gap is no word


def test_ratings_may_be_repeated_where_that_is_plausible(read: Any, refusal: Refusal) -> None:
    rows = [[r, s, i, 50 + i] for r in RATERS for s in "AB" for i in range(6)]
    header = "rater,system,segment,score"
    assert len(read(table(header, [*rows, *rows[:4]])).value) == 28
    message = refusal(read, table(header, rows + rows))
    assert "x.csv:26: rater 'p1' judged segment '0' of system 'A' on line 2 already" in message
    marked = [[*row, "repeat"] for row in rows] + [[*row, "system"] for row in rows]
    assert len(read(table(f"{header},type", marked)).value) == 48


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (FORM, "columns 'Adequacy (1-5)' and 'Fluency' could each be the score"),
        (WIDE.replace("A,B,C", "Adequacy,Fluency,Style"), "read like criteria: add a column"),
        (table("rater,item,A,B,C", [["p", i, 1 + i % 3, 1 + (i + 1) % 3, 1 + (i + 2) % 3]
                                    for i in range(6)]), "counts from 1, as ranks do"),
        (long("rater,variant,segment,score", lambda *k: [*k, 5]), 'columns={"system": "NAME"}'),
        (long("rater,system,place,score", lambda *k: [*k, 5]), 'columns={"segment": "NAME"} says'),
        (long("rater,system,task_id,prompt_id,score", lambda r, s, i: [r, s, i, i, 5]),
         "columns 'task_id' and 'prompt_id' could each be the segment"),
    ],
)  # fmt: skip
def test_what_is_asked(read: Any, refusal: Refusal, text: str, words: str) -> None:
    assert words in refusal(read, text)


def test_the_question_of_the_command_line_has_an_answer(tmp_path: Path, capsys: Any) -> None:
    for text, asked, answer in (
        (FORM, "--score 'Adequacy (1-5)' picks one", ["--score", "Adequacy (1-5)"]),
        (WORDS, "--scale WORST,...,BEST gives their order", ["--scale", "bad,ok,good"]),
    ):
        path = tmp_path / "x.csv"
        path.write_text(text)
        assert run(["human", str(path)]) == 2
        assert asked in capsys.readouterr().err
        assert run(["human", str(path), *answer, "--raw", "--json"]) == 0
        systems = {s["system"]: s for s in json.loads(capsys.readouterr().out)["systems"]}
        assert {s["n_segments"] for s in systems.values()} == {4}
    words = da(scale=["bad", "ok", "good"], standardised=False)
    result = human_scores(path, protocol=words, n_bootstrap=0)
    assert result.systems[0].raw == 1.75
    assert run(["human", str(path), "--scale", "bad,ok,good", "--score", "Quality"]) == 2
    assert "no input has a column 'Quality'" in capsys.readouterr().err
    for scale in ("5", "bad", "bad,bad", "2,1", "1,2,3"):
        assert run(["human", str(path), "--scale", scale]) == 2
        assert "--scale takes its two ends" in capsys.readouterr().err


def test_a_column_per_rater(tmp_path: Path, refusal: Refusal) -> None:
    rows = "A,1,50,60\nA,2,55,\nB,1,40,45\nB,2,60,62\n"
    path = tmp_path / "named.csv"
    path.write_text(f"system,segment,Rater 1,Rater 2\n{rows}")
    named = human_scores(path)
    assert {row.system: row.n_ratings for row in named.systems} == {"A": 3, "B": 4}
    path = tmp_path / "people.csv"
    path.write_text(f"system,segment,ann,bob\n{rows}")
    assert 'columns={"rater": "ann"}' in refusal(human_scores, path)
    asked = human_scores(path, columns=[("rater", "ann"), ("rater", "bob")])
    assert [row.score for row in asked.systems] == [row.score for row in named.systems]
    assert set(load(path).scores) == {"ann", "bob"}


# Ratings come back from every kind of table.

names = st.sampled_from(["A", "1", "a b", "ä", "a,b", 'a"b', "007", "NaN", "None", "a\nb"])
number = st.floats(allow_nan=False, allow_infinity=False)
spans = st.builds(
    ErrorSpan,
    st.text(st.characters(exclude_categories=["Cs"]), max_size=3),
    names,
    st.none() | st.integers(0, 9),
    st.none() | st.integers(0, 9),
    st.none() | number,
    st.booleans(),
)


@st.composite
def ratings(draw: st.DrawFn, *, errors: bool) -> Ratings:
    n = draw(st.integers(1, 6))

    def column(of: st.SearchStrategy[Any]) -> list[Any]:
        return draw(st.lists(of, min_size=n, max_size=n))

    listed = tuple(column(st.none() | st.lists(spans, max_size=2).map(tuple)))
    items = tuple(column(st.sampled_from(["system", "repeat", "ref", "bad-ref"])))
    units = tuple(column(st.sampled_from(["1", "h 2"])))
    return Ratings.from_labels(
        column(names),
        column(names),
        column(names),
        np.array(column(st.just(nan) | number)),
        errors=(((), *listed[1:]) if errors else None),
        item=items if draw(st.booleans()) and set(items) != {"system"} else None,
        unit=units if draw(st.booleans()) else None,
    )


@pytest.mark.parametrize("errors", [False, True])
@pytest.mark.parametrize("suffix", ["csv", "tsv", "jsonl", "parquet", "jsonl.gz"])
@settings(max_examples=40)
@given(data=st.data())
def test_ratings_come_back(fresh: Fresh, suffix: str, errors: bool, data: st.DataObject) -> None:
    made = data.draw(ratings(errors=errors))
    path = fresh() / f"x.{suffix}"
    save(made, path)
    read_again = read_any(path)[1]
    for part in ("systems", "segments", "raters", "errors", "item", "unit"):
        assert getattr(read_again, part) == getattr(made, part), part
    assert read_again.identical(made)
