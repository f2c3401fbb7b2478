"""What is independent in a set: which units, how many, and what is said of them."""

from __future__ import annotations

import numpy as np
import pytest

from steelyard.core.errors import UsageError
from steelyard.data.segments import Segments
from steelyard.data.units import column_of, counted, units_of


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
