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


TWENTY = _segments([f"d{i // 2:02}" for i in range(40)])


def test_auto_takes_documents_where_ten_are_known():
    found = units_of(TWENTY, "auto", _all(TWENTY))
    assert (found.name, found.n, found.warnings) == ("document", 20, ())
    np.testing.assert_array_equal(found.codes, np.arange(40) // 2)


def test_auto_takes_segments_where_fewer_than_ten_documents_are_known_and_says_so():
    nine = _segments([f"d{i // 2}" for i in range(18)])
    found = units_of(nine, "auto", _all(nine))
    assert (found.name, found.n, found.codes) == ("segment", 18, None)
    assert found.coarser is not None
    assert found.coarser.n == 9
    assert "cut 9 documents" in found.warnings[0]


def test_auto_counts_the_documents_of_segments_that_take_part():
    used = np.arange(40) < 18  # nine documents
    assert units_of(TWENTY, "auto", used).name == "segment"


def test_auto_without_documents_takes_segments_in_silence():
    plain = Segments(("1", "2", "3"))
    found = units_of(plain, "auto", _all(plain))
    assert (found.name, found.n, found.warnings, found.coarser) == ("segment", 3, (), None)


def test_a_segment_without_a_document_is_no_guess():
    torn = _segments(["d1", None, "d2"])
    assert "1 segment without a document" in units_of(torn, "auto", _all(torn)).warnings[0]
    with pytest.raises(UsageError, match=r"not known \(1 of 3 have none\)"):
        units_of(torn, "document", _all(torn))
    unused = np.array([True, False, True])
    assert units_of(torn, "document", unused).n == 2


def test_documents_of_one_segment_each_have_no_codes():
    single = _segments([f"d{i}" for i in range(12)])
    found = units_of(single, "auto", _all(single))
    assert (found.name, found.n, found.codes) == ("document", 12, None)
    assert found.effect(np.random.default_rng(0).normal(size=(3, 12))).design_effect == 1.0


def test_segments_that_were_asked_for_are_said_to_be_finer_than_documents():
    found = units_of(TWENTY, "segment", _all(TWENTY))
    assert (found.name, found.n, found.codes) == ("segment", 40, None)
    assert "cut 20 documents" in found.warnings[0]


def test_few_documents_that_were_asked_for_are_said_to_be_few():
    some = _segments(["a", "a", "b", "b", "c"])
    found = units_of(some, "document", _all(some))
    assert found.few
    assert "3 documents are too few for anything but exact tests" in found.warnings[0]
    assert "no p-value can be below 0.12, two-sided 0.25" in found.warnings[0]


@pytest.mark.parametrize("asked", ["5", 5])
def test_a_number_takes_consecutive_segments(asked):
    plain = Segments(tuple(str(i + 1) for i in range(52)))
    found = units_of(plain, asked, _all(plain))
    assert (found.name, found.n) == ("5 segments", 11)
    np.testing.assert_array_equal(found.codes, np.arange(52) // 5)
    assert units_of(plain, "1", _all(plain)).name == "segment"


def test_auto_takes_prompts_that_segments_share():
    ids = tuple(str(i) for i in range(60))
    shared = Segments(ids, sources=tuple(f"q{i % 20}" for i in range(60)))
    found = units_of(shared, "auto", _all(shared))
    assert (found.name, found.n) == ("prompt", 20)
    assert "cut 20 prompts" in units_of(shared, "segment", _all(shared)).warnings[0]
    single = Segments(ids, sources=tuple(f"q{i}" for i in range(60)))
    assert units_of(single, "auto", _all(single)).name == "segment"


def test_runs_that_cut_documents_are_said_to():
    own = _segments([f"d{i // 3:02}" for i in range(60)])
    assert (
        "30 runs of 2 segments are taken as independent, but cut 20 documents"
        in (units_of(own, 2, _all(own)).warnings[0])
    )
    assert units_of(own, 6, _all(own)).warnings == ()  # two documents each


def test_prompts_are_segments_with_the_same_source_and_domains_are_domains():
    ids = tuple(str(i) for i in range(30))
    own = Segments(
        ids, sources=tuple(f"q{i % 15}" for i in range(30)), domains=("a",) * 10 + ("b",) * 20
    )
    assert units_of(own, "prompt", _all(own)).n == 15
    assert units_of(own, "domain", _all(own)).n == 2
    with pytest.raises(UsageError, match="prompts of the segments are not known"):
        units_of(TWENTY, "prompt", _all(TWENTY))


def test_a_column_is_a_unit_if_it_was_read_as_the_documents():
    own = _segments([f"t{i // 3}" for i in range(60)], document_column="topic")
    assert units_of(own, "topic", _all(own)).name == "topic"
    with pytest.raises(UsageError, match="a column of the input"):
        units_of(own, "genre", _all(own))


def test_any_further_column_is_a_unit():
    topics = tuple(f"t{i // 3:02}" for i in range(60))
    units = units_of(Segments(tuple(map(str, range(60))), metadata={"topic": topics}),
                     "topic", np.ones(60, dtype=bool))  # fmt: skip
    assert (units.name, units.n) == ("topic", 20)
    np.testing.assert_array_equal(units.codes, np.arange(60) // 3)


def test_words_and_numbers_are_no_columns():
    words = ("auto", "segment", "document", "doc", "prompt", "domain", "7", 7)
    assert [column_of(word) for word in words] == [None] * len(words)
    assert column_of("topic") == "topic"


def test_counts_in_words():
    assert counted(1, "document") == "1 document"
    assert counted(2, "user") == "2 values of 'user'"


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
    found = rater_groups(rated(rows), [*"0123"], [*"0123"])
    expected = naive(rows)
    assert (found >= 0).sum() == len(expected)
    for one, people in expected.items():
        for other, others in expected.items():
            assert (found[one] == found[other]) == (people == others)


def test_what_does_not_count():
    rows = [(0, 0, 0), (0, 0, 1), (1, 0, 1), (2, 0, 2)]
    codes = rater_groups(rated(rows, [1, np.nan, 1, np.nan]), ["0", "1", "2"], ["0"]).ravel()
    assert codes.tolist() == [0, 1, -1]  # who gave no value is part of no team
