"""Tables of verdicts: points and pairs, wide and long, joined labels, orders, runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.data.verdicts import MISSING, UNPARSED, Verdicts
from steelyard.formats.verdicts.read import VerdictReading, read_verdicts

NAN = float("nan")
Columns = Mapping[str, Any]


def frame(columns: Columns) -> pl.DataFrame:
    return pl.DataFrame(dict(columns), strict=False)


def read(*tables: Columns | Path, **how: Any) -> Verdicts:
    sources = [own if isinstance(own, Path) else frame(own) for own in tables]
    return read_verdicts(sources, VerdictReading(**how))


def values(verdicts: Verdicts, name: str) -> list[float]:
    known = {one.name: one for one in (*verdicts.judges, *verdicts.raters)}
    return list(known[name].value.tolist())


def labels(verdicts: Verdicts, name: str) -> list[str | int]:
    known = {one.name: one for one in (*verdicts.judges, *verdicts.raters)}
    own = known[name].label
    assert own is not None
    return [verdicts.categories[code] if code >= 0 else code for code in own.tolist()]


def same(found: Sequence[float], expected: Sequence[float]) -> bool:
    return bool(np.array_equal(found, expected, equal_nan=True))


PAIRS = {
    "item": ["1", "2", "3", "4"],
    "left": ["A", "B", "A", "C"],
    "right": ["B", "C", "C", "A"],
    "human": ["left", "tie", "", "right"],
    "gpt": ["left", "left", "tie", "right"],
}


def test_wide_pairs():
    found = read(PAIRS, human=["human"])
    assert found.kind == "pairs"
    assert found.systems == ("A", "B", "C")
    assert found.left is not None
    assert [found.systems[code] for code in found.left] == ["A", "B", "A", "C"]
    assert same(values(found, "human"), [1, 0.5, NAN, 0])
    assert labels(found, "gpt") == ["left", "left", "tie", "right"]
    assert found.labelled.tolist() == [True, True, False, True]


@pytest.mark.parametrize(
    "words",
    [
        ("left", "right", "tie"), ("model_a", "model_b", "tie (bothbad)"), ("A", "B", "C"),
        ("[[A]]", "[[B]]", "[[C]]"), ("A>>B", "B>A", "A=B"), ("1", "2", "0"), (1, 2, 0),
        ("1", "-1", "0"), (1.0, 0.0, 0.5), ("first", "second", "draw"), ("LEFT", " Right ", "Tie"),
    ],
)  # fmt: skip
def test_who_won_in_many_words(words):
    left, right, tie = words
    table = {**PAIRS, "left": list("XXXX"), "right": list("YYYY"), "human": [left, right, tie, ""],
             "gpt": [right, right, left, tie]}  # fmt: skip
    found = read(table, human=["human"])
    assert same(values(found, "human"), [1, 0, 0.5, NAN])
    assert same(values(found, "gpt"), [0, 0, 1, 0.5])


def test_noughts_and_ones_are_what_others_write():
    """A judge that never says 2 is no judge that gives points."""
    table = {**PAIRS, "human": ["1", "2", "0", "2"], "gpt": ["1", "0", "1", "0"]}
    assert same(values(read(table, human=["human"]), "gpt"), [1, 0.5, 1, 0.5])
    table["human"] = ["1", "-1", "0", "1"]
    assert same(values(read(table, human=["human"]), "gpt"), [1, 0.5, 1, 0.5])
    table["human"] = ["1", "0.5", "0", "1"]
    assert same(values(read(table, human=["human"]), "gpt"), [1, 0, 1, 0])


def test_a_winner_by_its_name_whatever_else_it_could_mean():
    table = {**PAIRS, "gpt": ["B", "B", "C", "sorry"]}
    found = read(table, human=["human"], judges=["gpt"])
    assert same(values(found, "gpt"), [0, 1, 0, NAN])  # B is the right one, not "[[B]]"
    assert labels(found, "gpt")[-1] == UNPARSED
    assert any("gpt: 1 verdict could not be understood" in note for note in found.notes)


def test_probabilities_are_points_with_the_label_of_who_has_more():
    found = read({**PAIRS, "gpt": [0.9, 0.2, 0.5, 0.51]}, human=["human"])
    assert values(found, "gpt") == [0.9, 0.2, 0.5, 0.51]
    assert labels(found, "gpt") == ["left", "right", "tie", "left"]


def test_points_wide():
    table = {"system": ["A", "A", "B", "B"], "item": [1, 2, 1, 2], "expert": ["pass", None, "fail",
             "pass"], "gpt": ["Pass", "FAIL", "yes", "?!"], "tokens": [5, 6, 7, 8]}  # fmt: skip
    found = read(table, human=["expert"], judges=["gpt"])
    assert (found.kind, found.categories, found.ordered) == ("points", ("fail", "pass"), True)
    # Rows stand by item, then by system.
    assert same(values(found, "expert"), [1, 0, NAN, 1])
    assert same(values(found, "gpt"), [1, 1, 0, NAN])
    assert labels(found, "gpt") == ["pass", "pass", "fail", UNPARSED]
    assert found.covariates["length"].tolist() == [5, 7, 6, 8]


def test_grades_and_a_judge_with_further_ones():
    table = {"item": [1, 2, 3], "human": [1, 3, 2], "gpt": [5, 3, 2], "fine": [2.5, 3, 1]}
    found = read(table, human=["human"])
    assert found.categories == ("1", "2", "3", "5")
    assert labels(found, "gpt") == ["5", "3", "2"]
    assert not found.judge("fine").categorical  # 2.5 is no grade of people
    assert values(found, "fine") == [2.5, 3, 1]


def test_scores_beside_pass_and_fail():
    table = {"item": [1, 2, 3], "human": ["pass", "fail", "pass"], "gpt": [0.7, 0.1, 1.0]}
    found = read(table, human=["human"])
    assert values(found, "gpt") == [0.7, 0.1, 1.0]
    assert not found.judge("gpt").categorical
    assert found.rater("human").categorical


@pytest.mark.parametrize("people", [[1, 0, 1], [True, False, True], ["1", "0", "1"]])
@pytest.mark.parametrize("judge", [["pass", "fail", "fail"], [True, False, False], ["yes", "NO",
                                   "no"], [1.0, 0.0, 0.0]])  # fmt: skip
def test_truths_in_words_and_numbers(people, judge):
    found = read({"item": [1, 2, 3], "human": people, "gpt": judge}, human=["human"])
    assert values(found, "human") == [1, 0, 1]
    assert values(found, "gpt") == [1, 0, 0]
    assert labels(found, "gpt") == ["1", "0", "0"]


def test_labels_without_order():
    kinds = ["cause", "part", "cause", "kind"] * 5
    said = ["cause", "Part", "other", "I am not at all sure what this could be, sorry"] * 5
    table = {"item": range(20), "human": kinds, "gpt": said}
    found = read(table, human=["human"])
    assert (found.categories, found.ordered) == (("cause", "kind", "other", "part"), False)
    assert labels(found, "gpt")[:3] == ["cause", "part", "other"]  # items as text: 0, 1, 10
    assert set(labels(found, "gpt")) == {"cause", "part", "other", UNPARSED}
    assert np.isnan(values(found, "gpt")).all()


def test_a_slip_among_numbers_of_people_is_no_label():
    grades = [1, 2, 3, 4] * 10
    table = {"item": range(41), "human": [*map(str, grades), "4?"], "gpt": [*grades, 4]}
    found = read(table, human=["human"])
    assert found.categories == ("1", "2", "3", "4")
    assert any("human: 1 verdict could not be understood: left out" in n for n in found.notes)


def test_long_tables_of_raters_and_of_judges():
    humans = {"item": [1, 1, 2], "rater": ["r1", "r2", "r1"], "label": ["yes", "no", "yes"]}
    judges = {"item": [1, 2, 2], "judge": ["g", "g", "h"], "label": ["yes", "no", "yes"]}
    found = read(humans, judges)
    assert [own.name for own in found.raters] == ["r1", "r2"]
    assert [own.name for own in found.judges] == ["g", "h"]
    assert labels(found, "r2") == ["no", MISSING]
    assert labels(found, "h") == [MISSING, "yes"]
    assert any("h: no verdict on 1 of 2 rows" in note for note in found.notes)


def test_one_long_table_of_people_and_judges():
    table = {"item": [1, 1, 1, 2], "rater": ["ann", "bob", "gpt", "gpt"], "score": [1, 2, 3, 4]}
    found = read(table, human=["ann", "bob"])
    assert [own.name for own in found.raters] == ["ann", "bob"]
    assert same(values(found, "gpt"), [3, 4])


def test_labels_beside_a_long_table_of_judges():
    table = {"item": [1, 1, 2, 2], "judge": ["g", "h", "g", "h"], "verdict": ["yes", "no"] * 2,
             "human": ["yes", "yes", "no", "no"]}  # fmt: skip
    found = read(table, human=["human"])
    assert labels(found, "human") == ["yes", "no"]
    assert labels(found, "h") == ["no", "no"]


def test_a_judge_beside_a_long_table_of_raters():
    table = {"item": [1, 1, 2], "rater": ["a", "b", "a"], "label": [1, 2, 3], "gpt": [2, 2, 3]}
    found = read(table)
    assert [own.name for own in found.raters] == ["a", "b"]
    assert values(found, "gpt") == [2, 3]


def test_labels_in_a_table_of_their_own():
    judged = {"system": list("AABB"), "item": [1, 2, 1, 2], "gpt": [1, 2, 3, 4]}
    labelled = {"item": [2, 1], "system": ["B", "A"], "human": [5, 1]}
    found = read(judged, labelled, human=["human"])
    assert same(values(found, "human"), [1, NAN, NAN, 5])  # 1 A, 1 B, 2 A, 2 B
    assert values(found, "gpt") == [1, 3, 2, 4]


def test_labels_by_item_alone_where_it_has_one_row():
    judged = {"system": list("AB"), "item": [1, 2], "gpt": [1, 2]}
    found = read(judged, {"item": [2, 9], "human": [5, 1]}, human=["human"])
    assert same(values(found, "human"), [NAN, 5])
    assert any("1 row of items that no table with systems has" in note for note in found.notes)


def test_labels_of_pairs_the_other_way_round():
    labelled = {"item": ["1", "2"], "left": ["B", "B"], "right": ["A", "C"],
                "human": ["left", "left"]}  # fmt: skip
    judged = {name: own for name, own in PAIRS.items() if name != "human"}
    for tables in ((judged, labelled), (labelled, judged)):
        found = read(*tables, human=["human"])
        assert same(values(found, "human"), [0, 1, NAN, NAN])
        assert values(found, "gpt") == [1, 1, 0.5, 0]


def test_where_and_sets_of_items():
    table = {"set": ["x", "x", "y", "y"], "item": [1, 2, 1, 2], "human": [1, 2, 3, 4],
             "gpt": [1, 2, 3, 4]}  # fmt: skip
    assert values(read(table, human=["human"], where=(("set", "y"),)), "gpt") == [3, 4]
    found = read(table, human=["human"], columns=(("task", "set"),))
    assert found.items == ("x/1", "x/2", "y/1", "y/2")


def test_columns_that_are_named_by_their_role():
    table = {"nr": [1, 2], "who": ["A", "B"], "people": [1, 2], "gpt": [1, 2], "part": ["p", "p"]}
    roles = (("item", "nr"), ("system", "who"), ("unit", "part"))
    found = read(table, human=["people"], columns=roles, unit="part")
    assert found.systems == ("A", "B")
    assert (found.items, found.units) == (("1", "2"), ("p",))


@given(st.permutations(range(12)), st.booleans())
def test_the_order_of_rows_and_tables_changes_nothing(order, swap):
    rng = np.random.default_rng(3)
    whole: dict[str, Any] = {
        "item": rng.permutation(12), "left": rng.choice(list("AB"), 12), "right": ["C"] * 12,
        "gpt": rng.choice(["left", "right", "tie", ""], 12),
    }  # fmt: skip
    people = {"item": range(12), "left": whole["left"][np.argsort(whole["item"])],
              "right": ["C"] * 12, "human": rng.choice(["left", "right"], 12)}  # fmt: skip
    shuffled = {name: [own[row] for row in order] for name, own in whole.items()}
    tables = (people, shuffled) if swap else (shuffled, people)
    found, expected = read(*tables, human=["human"]), read(whole, people, human=["human"])
    assert found.items == expected.items
    for one, other in zip((*found.judges, *found.raters), (*expected.judges, *expected.raters),
                          strict=True):  # fmt: skip
        assert one.name == other.name
        assert same(one.value.tolist(), other.value.tolist())
        assert one.label is not None
        assert other.label is not None
        assert np.array_equal(one.label, other.label)


def test_frames_and_files_are_the_same(tmp_path):
    path = tmp_path / "battles.csv"
    frame(PAIRS).write_csv(path)
    expected = read(PAIRS, human=["human"])
    for source in (path, frame(PAIRS), pd.DataFrame(PAIRS)):
        found = read_verdicts([source], VerdictReading(human=["human"]))
        assert same(values(found, "human"), values(expected, "human"))
        assert found.items == expected.items


def test_a_judge_that_is_called_judge():
    table = {
        "item": [1, 2, 3],
        "human": ["pass", "fail", "pass"],
        "judge": ["pass", "pass", "fail"],
    }
    found = read(table, human=["human"])
    assert [own.name for own in found.judges] == ["judge"]
    assert values(found, "judge") == [1.0, 1.0, 0.0]
