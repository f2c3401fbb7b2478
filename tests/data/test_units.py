"""What is independent in a set: which units, how many, and what is said of them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.core.errors import UsageError
from steelyard.data.judgements import Ratings
from steelyard.data.segments import Segments
from steelyard.data.units import UnitEffect, column_of, counted, rater_groups, units_of


def _segments(documents, **more):
    return Segments(tuple(str(i + 1) for i in range(len(documents))), tuple(documents), **more)


def _all(segments):
    return np.ones(len(segments), dtype=bool)


IDS = tuple(str(i + 1) for i in range(60))


def items(documents=None, sources=None, **more):
    """Sixty segments, with so many of each in turn."""

    def names(size):
        return None if size is None else tuple(f"d{i // size:02}" for i in range(60))

    return Segments(IDS, names(documents), sources=names(sources), **more)


@pytest.mark.parametrize(
    ("segments", "unit", "name", "size", "cut"),
    [
        (items(2), "auto", "document", 2, ""),
        (items(7), "auto", "segment", 1, "cut 9 documents"),  # nine documents are too few
        (items(), "auto", "segment", 1, ""),
        (items(1), "auto", "document", 1, ""),
        (items(None, 3), "auto", "prompt", 3, ""),
        (items(None, 1), "auto", "segment", 1, ""),
        (items(3), "segment", "segment", 1, "cut 20 documents"),
        (items(None, 3), "segment", "segment", 1, "cut 20 prompts"),
        (items(3, 4), "prompt", "prompt", 4, "cut 20 documents"),
        (items(), "5", "5 segments", 5, ""),
        (items(), 1, "segment", 1, ""),
        (items(3), 2, "2 segments", 2, "30 runs of 2 segments are taken as independent, but cut"),
        (items(3), 6, "6 segments", 6, ""),  # two documents each
        (items(3, document_column="topic"), "topic", "topic", 3, ""),
        (items(metadata={"topic": tuple(str(i // 6) for i in range(60))}), "topic", "topic", 6, ""),
    ],
)
def test_units_that_are_asked_for(segments, unit, name, size, cut):
    units = units_of(segments, unit, _all(segments))
    assert (units.name, units.n) == (name, -(-60 // size))
    if size == 1:
        assert units.codes is None
    else:
        np.testing.assert_array_equal(units.codes, np.arange(60) // size)
    assert cut in " ".join(units.warnings)
    assert bool(units.warnings) == bool(cut) == (units.coarser is not None)
    scores = np.random.default_rng(0).normal(size=(3, 60))
    effect = units.effect(scores)
    assert (effect.design_effect == 1) == (size == 1)
    assert (column_of(unit) is None) == (unit != "topic")


def test_units_that_there_are_not_and_too_few():
    for segments, unit, problem in (
        (items(3), "prompt", "prompts of the segments are not known"),
        (items(3, document_column="topic"), "genre", "a column of the input"),
    ):
        with pytest.raises(UsageError, match=problem):
            units_of(segments, unit, _all(segments))
    assert units_of(items(2), "auto", np.arange(60) < 18).name == "segment"  # nine documents used
    few = _segments(["a", "a", "b", "b", "c"])
    units = units_of(few, "document", _all(few))
    assert units.few
    assert "no p-value can be below 0.12, two-sided 0.25" in units.warnings[0]
    assert [counted(1, "document"), counted(2, "user")] == ["1 document", "2 values of 'user'"]


def test_a_segment_without_a_document_is_no_guess():
    torn = _segments(["d1", None, "d2"])
    assert "1 segment without a document" in units_of(torn, "auto", _all(torn)).warnings[0]
    with pytest.raises(UsageError, match=r"not known \(1 of 3 have none\)"):
        units_of(torn, "document", _all(torn))
    unused = np.array([True, False, True])
    assert units_of(torn, "document", unused).n == 2


def test_a_sentence_says_what_was_independent():
    effect = UnitEffect("document", 170, 2.77, 2.46, 3.13, effective=228.9)
    assert effect.sentence() == (
        "unit: 170 documents, taken as independent; design effect 2.8 (2.5 to 3.1), as much as 229 "
        "independent segments tell"
    )
    assert UnitEffect("segment", 5, 1.0).sentence() == "unit: 5 segments, taken as independent"
    assert "unknown" in UnitEffect("prompt", 5, float("nan")).sentence()
    assert UnitEffect("segment", 5, 1.0).to_dict()["design_effect_ci"] is None


RATED = st.lists(st.tuples(*(st.integers(0, 3),) * 3), min_size=1, max_size=12, unique=True)


def rated(rows, values=None) -> Ratings:
    system, segment, rater = ([f"{x}" for x in column] for column in zip(*rows, strict=True))
    known = np.ones(len(rows)) if values is None else np.asarray(values, dtype=float)
    return Ratings.from_labels(system, segment, rater, known)


def naive(rows) -> dict[tuple[int, int], frozenset[int]]:
    """Join teams that share a rater until none do; the people behind each output."""
    teams = [{r for a, b, r in rows if (a, b) == cell} for cell in {row[:2] for row in rows}]
    for _ in teams:
        teams = [set().union(*(other for other in teams if other & one)) for one in teams]
    return {(a, b): next(frozenset(t) for t in teams if r in t) for a, b, r in rows}


@given(RATED)
def test_groups_are_unions_of_teams(rows):
    result = rater_groups(rated(rows), [*"0123"], [*"0123"])
    expected = naive(rows)
    assert (result >= 0).sum() == len(expected)
    for one, people in expected.items():
        for other, others in expected.items():
            assert (result[one] == result[other]) == (people == others)


def test_what_does_not_count():
    rows = [(0, 0, 0), (0, 0, 1), (1, 0, 1), (2, 0, 2)]
    codes = rater_groups(rated(rows, [1, np.nan, 1, np.nan]), ["0", "1", "2"], ["0"]).ravel()
    assert codes.tolist() == [0, 1, -1]  # who gave no value is part of no team
