"""Raw ratings come back from every kind of table."""

from __future__ import annotations

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

Fresh = Callable[[], Path]
nan = float("nan")


def read(path: Path) -> Any:
    return read_any(path)[1]


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
