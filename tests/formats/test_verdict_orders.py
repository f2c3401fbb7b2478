"""Verdicts given more than once: both orders of a pair, runs; and what stands around them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
import pytest

from steelyard.data.verdicts import MISSING, UNPARSED, Verdicts
from steelyard.formats.verdicts.read import VerdictReading, read_verdicts

NAN = float("nan")
LEFT, TIE, RIGHT = 2, 1, 0
Refusal = Callable[..., str]


def read(*tables: dict[str, Any], **how: Any) -> Verdicts:
    frames = [pl.DataFrame(own, strict=False) for own in tables]
    return read_verdicts(frames, VerdictReading(**how))


def orders(found: Verdicts, judge: str = "gpt") -> tuple[list[int], list[int]]:
    own = found.judge(judge)
    assert own.label is not None
    assert own.other_order is not None
    return own.label.tolist(), own.other_order.tolist()


# Item 1: A both times. Item 2: whoever is shown first. Item 3: B is preferred in one order only.
BOTH = [([LEFT, LEFT, RIGHT], [LEFT, RIGHT, TIE]), [1.0, 0.5, 0.25]]


def test_both_orders_as_two_rows():
    table = {
        "item": [1, 1, 2, 2, 3, 3],
        "left": ["A", "B", "A", "B", "A", "B"],
        "right": ["B", "A", "B", "A", "B", "A"],
        "human": ["left", "right", "tie", "tie", "left", ""],  # of the row's own left
        "gpt": ["left", "right", "left", "left", "right", "tie"],
    }
    found = read(table, human=["human"])
    assert len(found) == 3
    assert orders(found) == BOTH[0]
    assert found.judge("gpt").value.tolist() == BOTH[1]  # the mean of both orders
    assert found.rater("human").value.tolist() == [1, 0.5, 1]


def test_both_orders_as_columns():
    table = {"item": [1, 2, 3], "left": list("AAA"), "right": list("BBB"),
             "human": ["left", "tie", "left"], "gpt_12": ["left", "left", "right"],
             "gpt_21": ["left", "right", "tie"]}  # fmt: skip
    for judges in (None, ["gpt"]):
        found = read(table, human=["human"], judges=judges)
        assert orders(found) == BOTH[0]
        assert found.judge("gpt").value.tolist() == BOTH[1]


@pytest.mark.parametrize("words", [("12", "21"), ("AB", "BA"), ("original", "swapped"), (1, 2)])
def test_both_orders_by_a_column_of_orders(words):
    table = {"item": [1, 2, 3] * 2, "left": ["A"] * 6, "right": ["B"] * 6,
             "order": [words[0]] * 3 + [words[1]] * 3, "human": ["left", "tie", "left"] * 2,
             "gpt": ["left", "left", "right", "left", "right", "tie"]}  # fmt: skip
    found = read(table, human=["human"])
    assert orders(found) == BOTH[0]
    assert found.rater("human").value.tolist() == [1, 0.5, 1]


def test_both_orders_in_a_long_table_without_systems():
    """As LLMBar has them: which of two outputs, when shown as (1, 2) and as (2, 1)."""
    items = {"item": [1, 2], "gold": [1, 2], "chars1": [10, 30], "chars2": [30, 10]}
    said = {"item": [1, 2, 1, 2], "judge": ["g", "g", "h", "h"], "winner_12": [1, 1, 2, ""],
            "winner_21": [1, 2, "?", 2]}  # fmt: skip
    found = read(items, said, human=["gold"])
    assert (found.kind, found.systems, found.left) == ("pairs", (), None)
    assert found.rater("gold").value.tolist() == [1, 0]
    assert orders(found, "g") == ([LEFT, LEFT], [LEFT, RIGHT])
    assert orders(found, "h") == ([RIGHT, MISSING], [UNPARSED, RIGHT])
    assert found.judge("h").value.tolist() == [0, 0]  # of the order that there is
    assert found.covariates["length"].tolist() == [-0.5, 0.5]


def test_people_who_contradict_themselves_in_two_rows(refusal: Refusal):
    table = {"item": [1, 1], "left": ["A", "B"], "right": ["B", "A"], "human": ["left", "left"],
             "gpt": ["left", "right"]}  # fmt: skip
    said = refusal(lambda: read(table, human=["human"]))
    assert "'human' judges the same row that stands on line 1" in said


def test_runs_are_averaged():
    table = {"item": [1, 1, 1, 2, 2], "run": [1, 2, 3, 1, 2], "human": [1, 1, 1, 2, 2],
             "gpt": [1, 2, 2, 3, None]}  # fmt: skip
    found = read(table, human=["human"])
    own = found.judge("gpt")
    assert np.allclose(own.value, [5 / 3, 3])
    assert own.label is not None
    assert [found.categories[code] for code in own.label] == ["2", "3"]
    assert own.runs is not None
    assert np.array_equal(own.runs, [[1.0, 3.0], [2.0, NAN], [2.0, NAN]], equal_nan=True)
    assert found.rater("human").value.tolist() == [1, 2]
    assert "gpt: several runs are averaged" in found.notes


def test_runs_of_pairs_and_of_labels():
    table = {"item": [1, 1, 2, 2], "left": ["A"] * 4, "right": ["B"] * 4, "epoch": [1, 2, 1, 2],
             "human": ["left"] * 4, "gpt": ["left", "right", "tie", "tie"]}  # fmt: skip
    found = read(table, human=["human"])
    assert found.judge("gpt").value.tolist() == [0.5, 0.5]
    assert found.judge("gpt").runs is not None
    kinds = {"item": [1, 1, 1, 2], "trial": [1, 2, 3, 1], "human": ["x", "x", "x", "y"],
             "gpt": ["y", "y", "x", "y"]}  # fmt: skip
    own = read(kinds, human=["human"]).judge("gpt")
    assert own.label is not None
    assert own.label.tolist() == [1, 1]
    assert own.runs is not None
    assert np.array_equal(own.runs, [[0.0, 1.0], [1.0, NAN], [1.0, NAN]], equal_nan=True)


def test_a_label_that_differs_between_runs(refusal: Refusal):
    table = {"item": [1, 1], "run": [1, 2], "human": [1, 2], "gpt": [1, 1]}
    assert "'human' judges the same row" in refusal(lambda: read(table, human=["human"]))


@pytest.mark.parametrize("again", [["yes", "no"], ["yes", "yes"]])
def test_twice_without_runs_is_an_error_with_both_lines(tmp_path, refusal: Refusal, again):
    path = tmp_path / "v.csv"
    rows = "".join(f"1,yes,{word}\n" for word in again)
    path.write_text(f"item,human,gpt\n2,no,no\n{rows}")
    said = refusal(lambda: read_verdicts([path], VerdictReading(human=["human"])))
    assert said.startswith(f"{path}:4: 'gpt' judges the same row that stands on line 3 of")
    assert "a column 'run'" in said


def test_sides_become_differences():
    table = {"item": range(4), "left": list("AABB"), "right": list("BBAA"), "human": ["left"] * 4,
             "gpt": ["left"] * 4, "chars_left": [30, 10, 5, 0], "chars_right": [10, 30, 5, 0],
             "bullets_a": [3, 0, 1, 2], "bullets_b": [1, 1, 1, 1]}  # fmt: skip
    found = read(table, human=["human"])
    assert found.covariates["length"].tolist() == [0.5, -0.5, 0, 0]
    assert found.covariates["bullets"].tolist() == [2, -1, 0, 1]
    assert set(read(table, human=["human"], covariates=["bullets"]).covariates) == {"bullets"}


def test_sides_of_a_table_the_other_way_round():
    judged = {"item": [1, 2], "left": ["A", "A"], "right": ["B", "B"], "gpt": ["left", "left"]}
    labelled = {"item": [1, 2], "left": ["B", "A"], "right": ["A", "B"], "human": ["left", "tie"],
                "chars_left": [30, 30], "chars_right": [10, 10]}  # fmt: skip
    found = read(judged, labelled, human=["human"])
    assert found.covariates["length"].tolist() == [-0.5, 0.5]


def _forty(**more: Any) -> dict[str, Any]:
    return {"item": range(40), "human": [1, 2] * 20, "gpt": [1, 2] * 20} | more


def test_units():
    shared = [str(row // 2) for row in range(40)]
    for column, name in (("prompt", "prompt"), ("doc", "document"), ("question", "question"),
                         ("doc_id", "document")):  # fmt: skip
        found = read(_forty(**{column: shared}), human=["human"])
        assert (len(found.units), found.unit_name) == (20, name)
        assert read(_forty(**{column: shared}), human=["human"], unit="row").unit is None
    assert read(_forty(), human=["human"]).unit is None
    few = _forty(batch=["a", "b"] * 20)
    assert read(few, human=["human"]).unit is None
    assert read(few, human=["human"], unit="batch").units == ("a", "b")
    of_systems = {"system": ["A", "B"] * 20, "item": [row // 2 for row in range(40)],
                  "human": [1, 2] * 20, "gpt": [1, 2] * 20}  # fmt: skip
    found = read(of_systems, human=["human"])
    assert (len(found.units), found.unit_name) == (20, "item")


def test_units_that_are_missing(refusal: Refusal):
    holes = _forty(batch=["a", None] * 20)
    assert "'batch' is empty" in refusal(lambda: read(holes, human=["human"], unit="batch"))
    assert "unit: no column 'bach'; did you mean 'batch'" in refusal(
        lambda: read(holes, human=["human"], unit="bach")
    )


def test_slices_and_probabilities(refusal: Refusal):
    table = _forty(domain=["law", "news"] * 20, p=[0.5] * 40, odd=[f"x{row}" for row in range(40)])
    found = read(table, human=["human"], judges=["gpt"], probability="p")
    assert set(found.slices) == {"domain"}
    assert found.probability is not None
    assert found.probability.tolist() == [0.5] * 40
    assert "no column 'q'" in refusal(lambda: read(table, human=["human"], probability="q"))
    assert "p" not in [own.name for own in read(table, human=["human"], probability="p").judges]
