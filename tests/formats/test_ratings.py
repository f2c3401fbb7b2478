"""Raw ratings: direct assessment and error lists, in the layouts that are in use."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steelyard import Ratings, save
from steelyard.data.judgements import ErrorSpan
from steelyard.formats.reading import read_any

Refusal = Callable[..., str]
Fresh = Callable[[], Path]
nan = float("nan")


def written(path: Path, text: str) -> Path:
    path.write_bytes(text.encode())
    return path


def read(path: Path) -> Any:
    return read_any(path)[1]


# Direct assessment, a row each.


@pytest.mark.parametrize("rater", ["rater", "worker", "annotator"])
@pytest.mark.parametrize("value", ["raw", "score", "value", "rating"])
def test_direct_assessment(tmp_path: Path, rater: str, value: str) -> None:
    text = (
        f"{rater},hit,system,type,sid,{value},z\n"
        "w2,h1,B,SYSTEM,10,50,0\nw1,h1,B,repeat,9,100,0\nw1,h2,A,REF,9,0,0\n"
        "w1,h2,A,BAD_REF,9,,0\nw1,h2,A,tgt,10,7.5,0\nw1,h2,A,CHK,10,8,0\n"
    )
    form, ratings, _ = read_any(written(tmp_path / "x.csv", text))
    assert form == "direct assessment"
    assert isinstance(ratings, Ratings)
    assert ratings.systems == ("A", "B")
    assert ratings.segments == ("10", "9")
    assert ratings.raters == ("w1", "w2")
    assert [ratings.segments[c] for c in ratings.segment] == ["10", "10", "9", "9", "10", "9"]
    assert str(ratings.value.tolist()) == "[7.5, 8.0, 0.0, nan, 50.0, 100.0]"
    assert ratings.item == ("system", "repeat", "ref", "bad-ref", "system", "repeat")
    assert ratings.unit == ("h2", "h2", "h2", "h2", "h1", "h1")
    assert ratings.errors is None


# Direct assessment, packed.


def test_packed_by_system(tmp_path: Path) -> None:
    text = "system,segments,scores\nB,3 1 3,50 60.5 70\nA,2,0\n"
    ratings = read(written(tmp_path / "x.csv", text))
    assert ratings.systems == ("A", "B")
    assert [ratings.segments[c] for c in ratings.segment] == ["2", "1", "3", "3"]
    assert ratings.value.tolist() == [0.0, 60.5, 50.0, 70.0]
    assert ratings.raters == ("unknown",)


def test_packed_by_rater(tmp_path: Path) -> None:
    text = "lp,index,scores,mean\nen-de,7,20 35 100,1\nen-de,5,1 2,1\n"
    ratings = read(written(tmp_path / "x.csv", text))
    assert ratings.systems == ("unknown",)
    assert [ratings.segments[c] for c in ratings.segment] == ["5", "5", "7", "7", "7"]
    assert [ratings.raters[c] for c in ratings.rater] == ["1", "2", "1", "2", "3"]
    assert ratings.value.tolist() == [1.0, 2.0, 20.0, 35.0, 100.0]


# Error lists.

SPAN = {"start": 2, "end": 5, "category": "accuracy", "severity": "major", "score": 5}
IN_SOURCE = {**SPAN, "is_source_error": True}


def test_errors_as_json_lines(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [
        {"rater": "r", "system": "B", "seg": 1, "errors": []},
        {"rater": "r", "system": "A", "seg": 1, "errors": [SPAN, IN_SOURCE]},
        {"rater": "q", "system": "A", "seg": 1, "errors": [{"category": "", "severity": "minor"}]},
        {"rater": "q", "system": "A", "seg": 2, "errors": None},
    ]  # fmt: skip
    path = written(tmp_path / "x.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    form, ratings, _ = read_any(path)
    assert form == "error list"
    one = ErrorSpan("accuracy", "major", 2, 5, 5.0)
    assert ratings.errors == (
        (ErrorSpan("", "minor"),),
        (one, ErrorSpan("accuracy", "major", 2, 5, 5.0, in_source=True)),
        None,
        (),
    )
    assert np.isnan(ratings.value).all()


@pytest.mark.parametrize("column", ["value", "score", "esa"])
def test_errors_with_a_value(tmp_path: Path, column: str) -> None:
    row = {"system": "A", "seg": "1", "errors": [SPAN], column: 66.5}
    ratings = read(written(tmp_path / "x.jsonl", json.dumps(row)))
    assert ratings.value.tolist() == [66.5]
    assert ratings.raters == ("unknown",)


def test_errors_in_a_table_as_json(tmp_path: Path) -> None:
    cell = json.dumps([SPAN]).replace('"', '""')
    ratings = read(written(tmp_path / "x.csv", f'system,segment,errors\nA,1,"{cell}"\nA,2,[]\n'))
    assert ratings.errors == ((ErrorSpan("accuracy", "major", 2, 5, 5.0),), ())


def test_a_row_per_error(tmp_path: Path) -> None:
    text = (
        "system,doc,seg_id,rater,target,category,severity\n"
        'A,d,1,r1,"ab <v>cd</v> ef",Accuracy/Addition,Major\n'
        'A,d,1,r1,"<v>ab</v> cd ef",Fluency,Minor\n'
        "A,d,1,r2,ab cd ef,No-error,No-error\n"
        'A,d,2,r1,"a ""b"" <v></v>c",Style,Neutral\n'
        "A,d,3,r1,,Non-translation!,Major\n"
        'A,d,4,r1,"ä🦀<v>ö</v>",X,no-error\n'
    )
    ratings = read(written(tmp_path / "x.csv", text))
    assert ratings.errors == (
        (ErrorSpan("Accuracy/Addition", "Major", 3, 5), ErrorSpan("Fluency", "Minor", 0, 2)),
        (),
        (ErrorSpan("Style", "Neutral", 6, 6),),
        (ErrorSpan("Non-translation!", "Major"),),
        (),
    )  # fmt: skip
    assert [ratings.raters[c] for c in ratings.rater] == ["r1", "r2", "r1", "r1", "r1"]


# There and back.

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


@pytest.mark.parametrize("suffix", ["csv", "tsv", "jsonl", "parquet", "csv.gz"])
@settings(max_examples=40)
@given(made=ratings(errors=False))
def test_direct_assessment_comes_back(fresh: Fresh, suffix: str, made: Ratings) -> None:
    path = fresh() / f"x.{suffix}"
    save(made, path)
    assert_same(read(path), made)


@pytest.mark.parametrize("suffix", ["jsonl", "csv", "tsv", "parquet", "jsonl.gz"])
@settings(max_examples=40)
@given(made=ratings(errors=True))
def test_error_lists_come_back(fresh: Fresh, suffix: str, made: Ratings) -> None:
    path = fresh() / f"x.{suffix}"
    save(made, path)
    assert_same(read(path), made)


def assert_same(found: Ratings, made: Ratings) -> None:
    for part in ("systems", "segments", "raters", "errors", "item", "unit"):
        assert getattr(found, part) == getattr(made, part), part
    assert found.identical(made)


# Rankings.


def test_rankings(tmp_path: Path) -> None:
    text = (
        "segmentId,judgeId,system1Id,system1rank,system2Id,system2rank,system10Id,system10rank\n"
        "7,j2,B,1,A,1,C,3\n8,j1,A,2,B,-1,,\n"
    )
    form, rankings, _ = read_any(written(tmp_path / "x.csv", text))
    assert form == "rankings"
    assert rankings.systems == ("A", "B", "C")
    assert rankings.segments == ("7", "8")
    assert rankings.raters == ("j1", "j2")
    assert rankings.rater.tolist() == [1, 0]
    assert rankings.system.tolist() == [[1, 0, 2], [0, 1, -1]]
    assert str(rankings.rank.tolist()) == "[[1.0, 1.0, 3.0], [2.0, nan, nan]]"
