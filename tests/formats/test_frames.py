"""Frames in and out: pandas and polars, whatever types their columns have."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steelyard import EvalSet, ScoreTable, Segments, load
from steelyard.core.errors import InputError, UsageError

Refusal = Callable[..., str]

ROWS: dict[str, Any] = {
    "system": ["B", "A", "B", "A"],
    "segment": [10, 10, 9, 9],
    "doc": ["d", "d", "d", "d"],
    "output": ["b10", "", "b9", None],
    "x": [0.1, -0.0, None, 5e-324],
    "n": [1, 2, 3, 4],
}


def expected() -> EvalSet:
    return EvalSet(
        ("A", "B"),
        Segments(("9", "10"), ("d", "d")),
        {
            "x": ScoreTable(np.array([[5e-324, -0.0], [np.nan, 0.1]])),
            "n": ScoreTable(np.array([[4.0, 2.0], [3.0, 1.0]])),
        },
        {"A": (None, ""), "B": ("b9", "b10")},
    )


def pandas_frame(**types: Any) -> pd.DataFrame:
    frame = pd.DataFrame(ROWS)
    for name, kind in types.items():
        frame[name] = frame[name].astype(kind)
    return frame


@pytest.mark.parametrize(
    "types",
    [
        {},
        {"segment": "int8"},
        {"segment": "Int64"},
        {"segment": "float64"},
        {"segment": "str"},
        {"segment": "category", "system": "category"},
        {"system": "string"},
        {"system": "object", "doc": "object", "output": "object"},
        {"x": "Float64"},
        {"x": "object"},
        {"n": "Int64"},
        {"n": "float32"},
        {"n": "uint8"},
        {"n": "category"},
        {"n": "object"},
    ],
    ids=str,
)
def test_pandas_frames(types: dict[str, Any]) -> None:
    assert load(pandas_frame(**types)).identical(expected())


def test_named_levels_of_an_index_are_columns() -> None:
    for names in (["segment"], ["system"], ["system", "segment"], ["segment", "doc", "system"]):
        assert load(pandas_frame().set_index(names)).identical(expected())


def test_a_pivot_keeps_its_segments() -> None:
    """Pandas sorts ids as texts: without the index, row 2 would be taken for segment 2."""
    rng = np.random.default_rng(0)
    rows = pd.DataFrame(
        [(s, str(i), rng.normal()) for s in "ABCD" for i in range(1, 31)],
        columns=["system", "segment", "m1"],
    )
    human = rows.assign(mqm=rows["m1"] + rng.normal(size=len(rows)) / 10).drop(columns="m1")
    wide = rows.pivot_table(index="segment", columns="system", values="m1")
    for frame in (wide, wide.set_axis(pd.CategoricalIndex(list("ABCD")), axis=1)):
        joined = load(human, frame, human="mqm")
        direct = load(human, rows, human="mqm")
        np.testing.assert_array_equal(joined["score"].values, direct["m1"].values)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda f: f.set_axis(["a", "b", "c", "d"]), ["no plain range", "reset_index()"]),
        (lambda f: f.set_axis([0.0, 1.0, 2.0, 3.0]), ["no plain range"]),
        (lambda f: f.set_index(["system", "segment"]).rename_axis([None, "segment"]), ["no name"]),
        (lambda f: f.set_index("segment", drop=False), ["'segment' occurs twice"]),
        (lambda f: f.rename_axis(3), ["named 3"]),
        (lambda f: f.set_axis(range(6), axis=1), ["named 0", "expected a text"]),
        (lambda f: f.pivot_table(["n", "x"], "segment", "system"), ["('n', 'A')", "levels"]),
        (lambda _: pd.DataFrame(np.ones((2, 3))), ["named 0", "expected a text"]),
    ],
)
def test_what_pandas_leaves_unnamed_is_refused(change: Any, words: list[str]) -> None:
    with pytest.raises((UsageError, InputError)) as caught:
        load(change(pandas_frame()))
    assert str(caught.value).startswith("<frame>")
    assert all(word in str(caught.value) for word in words), caught.value


def test_a_wide_frame_of_moved_rows_is_refused() -> None:
    """Its third row may be segment 7 of another input: numbers of rows would join wrong cells."""
    wide = pd.DataFrame({"A": [1.0, 2.0, 3.0, 4.0], "B": [2.0, 3.0, 1.0, 5.0]})
    for moved in (wide[wide["B"] > 1], wide.sort_values("B"), wide.iloc[1:]):
        with pytest.raises(InputError, match=r"reset_index\(drop=True\)"):
            load(moved)
        assert load(moved.reset_index(drop=True)).n_segments == len(moved)
    named = wide.assign(segment=[10, 20, 30, 40])
    assert load(named[named["B"] > 1]).segments.ids == ("10", "20", "40")
    assert load(wide.assign(doc=list("xxyy")).set_index("doc")).segments.ids == tuple("1234")


@pytest.mark.parametrize(
    "types",
    [
        {},
        {"segment": pl.Int8},
        {"segment": pl.UInt64},
        {"segment": pl.Float64},
        {"segment": pl.String},
        {"system": pl.Categorical, "doc": pl.Categorical},
        {"system": pl.Enum(["A", "B"])},
        {"n": pl.Float32},
        {"n": pl.Int128},
        {"n": pl.Decimal(10, 2)},
    ],
    ids=str,
)
@pytest.mark.parametrize("lazy", [False, True])
def test_polars_frames(types: Any, lazy: bool) -> None:
    frame = pl.DataFrame(ROWS).cast(types)
    assert load(frame.lazy() if lazy else frame).identical(expected())


@pytest.mark.parametrize(
    ("frame", "words"),
    [
        (pd.DataFrame({"system": ["A"], "segment": [1], "x": [float("inf")]}), ["'x'", "finite"]),
        (pl.DataFrame({"system": ["A", "B"], "segment": [1, 1], "x": ["True", "0"]}), ["'x'"]),
        (pl.DataFrame({"system": ["A"], "segment": [1], "x": ["a"]}), ["'x'", "'a'"]),
        (pl.DataFrame({"system": ["A"], "segment": [1], "x": [[1.0]]}), ["'x'"]),
        (pl.DataFrame({"system": ["A"], "segment": [None], "x": [1.0]}), ["'segment'"]),
        (pd.DataFrame({"system": ["A"], "segment": [float("nan")], "x": [1.0]}), ["'segment'"]),
        (pd.DataFrame({"system": ["A"], "segment": [pd.NaT], "x": [1.0]}), ["'segment'"]),
        (pl.DataFrame({"system": ["A"], "segment": [1], "x": [2**53 + 1]}), ["'x'"]),
        (pd.DataFrame([["A", 1, 2, 3]], columns=["system", "segment", "x", "x"]), ["'x'", "twice"]),
        (pd.DataFrame({"system": [], "segment": [], "x": []}), ["no rows"]),
        (pl.DataFrame({"system": [], "segment": [], "x": []}), ["no rows"]),
        (pd.DataFrame(), []),
        (pl.DataFrame(), []),
        (pd.DataFrame({"system": ["A"], "segment": [np.array([1, 2])], "x": [1.0]}), ["'segment'"]),
        (pd.DataFrame({"system": ["A"], "segment": ["1"], "": [1.0]}), ["no name"]),
    ],
)  # fmt: skip
def test_bad_frames(refusal: Refusal, frame: Any, words: list[str]) -> None:
    message = refusal(load, frame)
    for word in words:
        assert word in message


def test_judgements_in_a_frame_are_refused_by_load(refusal: Refusal) -> None:
    frame = pl.DataFrame({"left": ["A"], "right": ["B"], "outcome": ["tie"]})
    assert "battle log" in refusal(load, frame)


some = st.sampled_from(["A", "b", "1", "ä", "模", "a b"])
names = st.lists(some, min_size=1, max_size=3, unique=True)
numbers = st.floats(allow_infinity=False)
texts = st.none() | st.text(st.characters(exclude_categories=["Cs"]), max_size=5)


@st.composite
def sets(draw: st.DrawFn) -> EvalSet:
    systems, ids = tuple(draw(names)), tuple(draw(names))
    n, s = len(systems), len(ids)

    def column() -> tuple[str | None, ...]:
        return tuple(draw(st.lists(texts, min_size=s, max_size=s)))

    def table() -> ScoreTable:
        cells = st.lists(numbers, min_size=n * s, max_size=n * s)
        return ScoreTable(np.array(draw(cells)).reshape(n, s))

    segments = Segments(
        ids, sources=draw(st.none() | st.just(column())), references={"r": column()}
    )
    outputs = {name: column() for name in systems}
    kept = {name: found for name, found in outputs.items() if any(t is not None for t in found)}
    scores = {name: found for name in ("x", "y") if (found := table()).has_segments}
    return EvalSet(systems, segments, scores, kept)


@pytest.mark.parametrize("backend", ["pandas", "polars"])
@settings(max_examples=40)
@given(es=sets())
def test_to_frame_and_back(backend: str, es: EvalSet) -> None:
    frame = es.to_frame(backend, texts=True)
    assert type(frame).__module__.split(".")[0] == backend
    assert load(frame).identical(es)


@pytest.mark.parametrize("library", [pd, pl])
def test_times_and_dates_name_segments(library: Any) -> None:
    times = [datetime(2024, 5, 1, 10), datetime(2024, 5, 2)] * 2  # noqa: DTZ001 - as frames have
    rows = {"system": list("AABB"), "segment": times, "x": [1.0, 2.0, 3.0, 4.0]}
    es = load(library.DataFrame(rows))
    assert es.segments.ids == ("2024-05-01 10:00:00", "2024-05-02 00:00:00")
    assert es.to_frame("polars")["x"].to_list() == [1, 2, 3, 4]
    days = load(library.DataFrame({**rows, "segment": [time.date() for time in times]}))
    assert days.segments.ids == ("2024-05-01", "2024-05-02")
