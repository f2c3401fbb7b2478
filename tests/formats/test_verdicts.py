"""Tables of verdicts: points and pairs, wide and long, joined labels, orders, runs, refusals."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.core.errors import SteelyardError
from steelyard.data.verdicts import MISSING, UNPARSED, Opinion, Verdicts
from steelyard.formats.verdicts.read import VerdictReading, describe_verdicts, read_verdicts

NAN = float("nan")
LEFT, TIE, RIGHT = 2, 1, 0
Columns = Mapping[str, Any]
Refusal = Callable[..., str]


def read(*tables: Columns | Path, human: Sequence[str] = ("human",), **how: Any) -> Verdicts:
    sources = [t if isinstance(t, Path) else pl.DataFrame(dict(t), strict=False) for t in tables]
    return read_verdicts(sources, VerdictReading(human=human, **how))


def opinion(verdicts: Verdicts, name: str) -> Opinion:
    return next(o for o in (*verdicts.judges, *verdicts.raters) if o.name == name)


def values(verdicts: Verdicts, name: str) -> list[float]:
    return list(opinion(verdicts, name).value.tolist())


def labels(verdicts: Verdicts, name: str) -> list[str | int]:
    codes = opinion(verdicts, name).label
    assert codes is not None
    return [verdicts.categories[code] if code >= 0 else code for code in codes.tolist()]


def orders(verdicts: Verdicts, judge: str = "gpt") -> tuple[list[int], list[int]]:
    judged = verdicts.judge(judge)
    assert judged.label is not None
    assert judged.other_order is not None
    return judged.label.tolist(), judged.other_order.tolist()


def same(got: Sequence[float], expected: Sequence[float]) -> bool:
    return bool(np.array_equal(got, expected, equal_nan=True))


PAIRS = {
    "item": ["1", "2", "3", "4"],
    "left": ["X", "Y", "X", "Z"],
    "right": ["Y", "Z", "Z", "X"],
    "human": ["left", "tie", "", "right"],
    "gpt": ["left", "left", "tie", "right"],
}


@pytest.mark.parametrize(
    "words",
    [
        ("left", "right", "tie"), ("model_a", "model_b", "tie (bothbad)"), ("A", "B", "C"),
        ("[[A]]", "[[B]]", "[[C]]"), ("A>>B", "B>A", "A=B"), ("[[A>>B]]", "[[A<B]]", "[[B=A]]"),
        ("1", "2", "tie"), ("1", "0", "tie"), ("1", "-1", "0"),
        (1.0, 0.0, 0.5), ("first", "second", "draw"), ("win", "lose", "draw"),
        ("LEFT", " Right ", "Tie"), ("Model 1", "model-2", "both bad"), ("X", "Y", "same"),
        ("Assistant A", "Response B", "equal"),
    ],
)  # fmt: skip
def test_who_won_in_many_words(words):
    left, right, tie = words
    table = {**PAIRS, "left": list("XXXX"), "right": list("YYYY"), "human": [left, right, tie, ""],
             "gpt": [right, right, left, tie]}  # fmt: skip
    verdicts = read(table)
    assert same(values(verdicts, "human"), [1, 0, 0.5, NAN])
    assert same(values(verdicts, "gpt"), [0, 0, 1, 0.5])


@pytest.mark.parametrize(
    ("human", "how", "gpt"),
    [
        (["1", "2", "0", "2"], {}, None),
        (["1", "2", "0", "2"], {"words": ("1", "2", "0")}, [1, 0.5, 1, 0.5]),
        (["1", "2", "0", "2"], {"words": ("0", "1", "2")}, [0, 1, 0, 1]),
        (["1", "-1", "0", "1"], {}, [1, 0.5, 1, 0.5]),
        (["1", "0.5", "0", "1"], {}, [1, 0, 1, 0]),
        (["1", "0", "tie", "1"], {}, [1, 0, 1, 0]),
        (["left", "tie", "", "right"], {"words": ("1", "0")}, [1, 0, 1, 0]),
        (["left", "tie", "", "right"], {"words": ("1", "2", "0")}, [1, 0.5, 1, 0.5]),
        (["left", "tie", "", "right"], {}, None),
        (["1", "0", "0", "1"], {}, None),
    ],
)
def test_noughts_and_ones_are_what_others_write_or_asked(refusal: Refusal, human, how, gpt):
    table = {**PAIRS, "human": human, "gpt": ["1", "0", "1", "0"]}
    if gpt is None:
        message = refusal(lambda: read(table))
        assert ('words=["1", "0"]' if "2" not in human else 'words=["0", "1", "2"]') in message
        assert 'words=["1", "2", "0"]' in message
    else:
        assert same(values(read(table, **how), "gpt"), gpt)


@pytest.mark.parametrize(
    ("left", "right", "cells", "how", "expected"),
    [
        ("BB", "AA", "AB", {}, None),  # names or sides?
        ("BB", "AA", "AB", {"words": ("names",)}, [0, 1]),
        ("BB", "AA", "AB", {"words": ("A", "B", "C")}, [1, 0]),
        ("AA", "BB", "AB", {}, [1, 0]),  # either way
        ("CC", "AA", "AB", {}, [1, 0]),  # B is outside the pair: sides
        ("CCA", "AAD", "ACD", {}, [0, 1, 0]),  # D is no side: names
        ("22", "11", "12", {}, None),
    ],
)
def test_systems_that_are_called_like_sides(refusal: Refusal, left, right, cells, how, expected):
    n = len(cells)
    table = {"item": range(n), "left": list(left), "right": list(right), "human": ["left"] * n,
             "gpt": list(cells)}  # fmt: skip
    if expected is None:
        assert 'words=["names"]' in refusal(lambda: read(table))
    else:
        assert values(read(table, judges=["gpt"], **how), "gpt") == expected


def test_verdicts_that_are_not_understood_are_counted():
    verdicts = read({**PAIRS, "gpt": ["Y", "Y", "Z", "sorry"]}, judges=["gpt"])
    assert same(values(verdicts, "gpt"), [0, 1, 0, NAN])
    assert labels(verdicts, "gpt")[-1] == UNPARSED
    assert any("gpt: 1 verdict could not be understood" in note for note in verdicts.notes)


# Item 1: X both times. Item 2: whoever is shown first. Item 3: Y is preferred in one order only.
ORDERS = ([LEFT, LEFT, RIGHT], [LEFT, RIGHT, TIE])
SIDES = {"left": list("XXX"), "right": list("YYY")}
FIRST, SWAPPED = ["A", "A", "B"], ["B", "A", "C"]  # as shown
PAIR_ORDERS = [{"gpt_12": FIRST, "gpt_21": SWAPPED}, {"gpt_ab": FIRST, "gpt_ba": SWAPPED},
               *({"gpt": FIRST, f"gpt_{end}": SWAPPED}
                 for end in ("swapped", "rev", "reversed", "flipped"))]  # fmt: skip
FLAGS = [("order", "12", "21"), ("order", "AB", "BA"), ("order", "original", "swapped"),
         ("order", 1, 2), ("swapped", "False", "True"), ("swapped", 0, 1),
         ("is_swapped", False, True)]  # fmt: skip


@pytest.mark.parametrize("columns", PAIR_ORDERS)
def test_both_orders_as_columns(columns):
    table = {"item": [1, 2, 3], **SIDES, "human": ["A", "C", "A"], **columns}
    for judges in (None, ["gpt"]):
        verdicts = read(table, judges=judges)
        assert [judge.name for judge in verdicts.judges] == ["gpt"]
        assert orders(verdicts) == ORDERS
        assert values(verdicts, "gpt") == [1, 0.5, 0.25]  # the mean of both orders
        assert any("shown first" in note for note in verdicts.notes)


@pytest.mark.parametrize(("name", "usual", "swapped"), FLAGS)
def test_both_orders_by_a_flag(name, usual, swapped):
    table = {"item": [1, 2, 3] * 2, "left": ["X"] * 6, "right": ["Y"] * 6,
             name: [usual] * 3 + [swapped] * 3, "human": ["A", "C", "A"] * 2,
             "gpt": [*FIRST, *SWAPPED]}  # fmt: skip
    verdicts = read(table)
    assert orders(verdicts) == ORDERS
    assert values(verdicts, "human") == [1, 0.5, 1]
    # Where columns of systems are swapped with the flag, they are as shown.
    shown = table | {"left": list("XXXYYY"), "right": list("YYYXXX"), "human": list("ACABCB")}
    assert orders(read(shown)) == ORDERS
    assert orders(read({k: v for k, v in shown.items() if k != name})) == ORDERS


def test_words_of_a_swapped_order_that_name_systems_or_columns():
    table = {"item": [1, 2, 3], **SIDES, "human": ["A", "C", "A"], "gpt": ["X", "X", "Y"]}
    assert orders(read({**table, "gpt_swapped": ["X", "Y", "tie"]})) == ORDERS
    of_columns = {"gpt": ["model_a", "model_a", "model_b"],
                  "gpt_swapped": ["model_a", "model_b", "tie"]}  # fmt: skip
    assert orders(read({**table, **of_columns})) == ORDERS


def test_swapped_words_that_the_data_contradict_are_asked(refusal: Refusal):
    n = 30
    table = {"item": range(10, 10 + n), "left": ["X"] * n, "right": ["Y"] * n,
             **dict.fromkeys(("human", "gpt_12", "gpt_21"), ["A", "B"] * 15)}  # fmt: skip
    assert 'swapped="column" or swapped="place"' in refusal(lambda: read(table))
    by_column, by_side = (read(table, swapped=how).judge("gpt") for how in ("column", "place"))
    assert by_column.value.tolist() == [1, 0] * 15
    assert by_side.value.tolist() == [0.5] * n


def test_both_orders_in_a_long_table_without_systems():
    """As LLMBar has them: which of two outputs, whatever the order."""
    items = {"item": [1, 2], "gold": [1, 2], "chars1": [10, 30], "chars2": [30, 10]}
    said = {"item": [1, 2, 1, 2], "judge": ["g", "g", "h", "h"], "winner_12": [1, 1, 2, ""],
            "winner_21": [1, 2, "?", 2]}  # fmt: skip
    verdicts = read(items, said, human=["gold"], swapped="column")
    assert (verdicts.kind, verdicts.systems, verdicts.left) == ("pairs", (), None)
    assert values(verdicts, "gold") == [1, 0]
    assert orders(verdicts, "g") == ([LEFT, LEFT], [LEFT, RIGHT])
    assert orders(verdicts, "h") == ([RIGHT, MISSING], [UNPARSED, RIGHT])
    assert values(verdicts, "h") == [0, 0]  # of the order that there is
    assert verdicts.covariates["length"].tolist() == [-0.5, 0.5]


def test_points_wide():
    table = {"system": ["A", "A", "B", "B"], "item": [1, 2, 1, 2], "human": ["pass", None, "fail",
             "pass"], "gpt": ["Pass", "FAIL", "yes", "?!"], "tokens": [5, 6, 7, 8]}  # fmt: skip
    verdicts = read(table, judges=["gpt"])
    assert (verdicts.kind, verdicts.categories, verdicts.ordered) == ("points", ("fail", "pass"),
                                                                      True)  # fmt: skip
    assert same(values(verdicts, "human"), [1, 0, NAN, 1])  # by item, then by system
    assert labels(verdicts, "gpt") == ["pass", "pass", "fail", UNPARSED]
    assert verdicts.covariates["length"].tolist() == [5, 7, 6, 8]


GRADES = [1, 2, 3, 4] * 10
KINDS = ["cause", "part", "cause", "kind"] * 5
ODD_KINDS = ["cause", "Part", "other", "I am not at all sure what this could be, sorry"] * 5


@pytest.mark.parametrize(
    ("human", "gpt", "categories", "value", "label"),
    [
        ([1, 3, 2], [5, 3, 2], ("1", "2", "3", "5"), [5, 3, 2], ["5", "3", "2"]),
        ([1, 3, 2], [2.5, 3, 1], ("1", "2", "3"), [2.5, 3, 1], [MISSING] * 3),
        (["pass", "fail", "pass"], [0.7, 0.1, 1.0], ("fail", "pass"), [0.7, 0.1, 1], [MISSING] * 3),
        ([1, 0, 1], ["pass", "NO", "no"], ("0", "1"), [1, 0, 0], ["1", "0", "0"]),
        ([True, False, True], [True, False, False], ("0", "1"), [1, 0, 0], ["1", "0", "0"]),
        (["1", "0", "1"], [1.0, 0.0, 0.0], ("0", "1"), [1, 0, 0], ["1", "0", "0"]),
        ([*map(str, GRADES), "4?"], [*GRADES, 4], ("1", "2", "3", "4"), None, None),
        (KINDS, ODD_KINDS, ("cause", "kind", "other", "part"), [NAN] * 20, None),
    ],
)
def test_scales_of_points(human, gpt, categories, value, label):
    verdicts = read({"item": [f"{k:02d}" for k in range(len(human))], "human": human, "gpt": gpt})
    assert verdicts.categories == categories
    assert value is None or same(values(verdicts, "gpt"), value)
    assert label is None or labels(verdicts, "gpt") == label
    if human is KINDS:
        assert not verdicts.ordered
        assert labels(verdicts, "gpt")[:4] == ["cause", "part", "other", UNPARSED]
    if "4?" in human:
        assert any("human: 1 verdict could not be understood: left out" in n
                   for n in verdicts.notes)  # fmt: skip


def test_long_tables_of_raters_and_of_judges():
    humans = {"item": [1, 1, 2], "rater": ["r1", "r2", "r1"], "label": ["yes", "no", "yes"]}
    judges = {"item": [1, 2, 2], "judge": ["g", "g", "h"], "label": ["yes", "no", "yes"]}
    verdicts = read(humans, judges, human=())
    assert [rater.name for rater in verdicts.raters] == ["r1", "r2"]
    assert labels(verdicts, "r2") == ["no", MISSING]
    assert labels(verdicts, "h") == [MISSING, "yes"]
    assert any("h: no verdict on 1 of 2 rows" in note for note in verdicts.notes)


@pytest.mark.parametrize(
    ("table", "human", "raters", "judge", "expected"),
    [
        ({"item": [1, 1, 1, 2], "rater": ["ann", "bob", "gpt", "gpt"], "score": [1, 2, 3, 4]},
         ["ann", "bob"], ["ann", "bob"], "gpt", [3, 4]),
        ({"item": [1, 1, 2, 2], "judge": ["g", "h", "g", "h"], "verdict": ["yes", "no"] * 2,
          "human": ["yes", "yes", "no", "no"]}, ["human"], ["human"], "h", [0, 0]),
        ({"item": [1, 1, 2], "rater": ["a", "b", "a"], "label": [1, 2, 3], "gpt": [2, 2, 3]},
         [], ["a", "b"], "gpt", [2, 3]),
        ({"item": [1, 2, 3], "human": ["pass", "fail", "pass"], "judge": ["pass", "pass", "fail"]},
         ["human"], ["human"], "judge", [1, 1, 0]),
    ],
)  # fmt: skip
def test_people_and_judges_in_one_table(table, human, raters, judge, expected):
    verdicts = read(table, human=human)
    assert [rater.name for rater in verdicts.raters] == raters
    assert values(verdicts, judge) == expected


def test_labels_in_a_table_of_their_own():
    judged = {"system": list("AABB"), "item": [1, 2, 1, 2], "gpt": [1, 2, 3, 4]}
    verdicts = read(judged, {"item": [2, 1], "system": ["B", "A"], "human": [5, 1]})
    assert same(values(verdicts, "human"), [1, NAN, NAN, 5])  # 1 A, 1 B, 2 A, 2 B
    alone = read({"system": list("AB"), "item": [1, 2], "gpt": [1, 2]},
                 {"item": [2, 9], "human": [5, 1]})  # fmt: skip
    assert same(values(alone, "human"), [NAN, 5])
    assert any("1 row of items that no table with systems has" in note for note in alone.notes)


def test_labels_of_pairs_the_other_way_round():
    labelled = {"item": ["1", "2"], "left": ["Y", "Y"], "right": ["X", "Z"],
                "human": ["left"] * 2, "chars_left": [30] * 2, "chars_right": [10] * 2}  # fmt: skip
    judged = {name: cells for name, cells in PAIRS.items() if name != "human"}
    for tables in ((judged, labelled), (labelled, judged)):
        verdicts = read(*tables)
        assert same(values(verdicts, "human"), [0, 1, NAN, NAN])
        assert values(verdicts, "gpt") == [1, 1, 0.5, 0]
        assert same(verdicts.covariates["length"].tolist(), [-0.5, 0.5, NAN, NAN])


def test_rows_columns_and_sets_that_are_named():
    table = {"set": ["x", "x", "y", "y"], "item": [1, 2, 1, 2], "human": [1, 2, 3, 4],
             "gpt": [1, 2, 3, 4]}  # fmt: skip
    assert values(read(table, where=(("set", "y"),)), "gpt") == [3, 4]
    assert read(table, columns=(("task", "set"),)).items == ("x/1", "x/2", "y/1", "y/2")
    odd = {"nr": [1, 2], "who": ["A", "B"], "people": [1, 2], "gpt": [1, 2], "part": ["p", "p"]}
    columns = (("item", "nr"), ("system", "who"), ("unit", "part"))
    verdicts = read(odd, human=["people"], columns=columns, unit="part")
    assert (verdicts.systems, verdicts.items, verdicts.units) == (("A", "B"), ("1", "2"), ("p",))


def test_runs_are_averaged():
    table = {"item": [1, 1, 1, 2, 2], "run": [1, 2, 3, 1, 2], "human": [1, 1, 1, 2, 2],
             "gpt": [1, 2, 2, 3, None]}  # fmt: skip
    verdicts = read(table)
    judge = verdicts.judge("gpt")
    assert np.allclose(judge.value, [5 / 3, 3])
    assert labels(verdicts, "gpt") == ["2", "3"]
    assert judge.runs is not None
    assert same(judge.runs.ravel().tolist(), [1.0, 3.0, 2.0, NAN, 2.0, NAN])
    assert "gpt: several runs are averaged" in verdicts.notes
    pairs = read({"item": [1, 1, 2, 2], "left": ["X"] * 4, "right": ["Y"] * 4, "epoch": [1, 2] * 2,
                  "human": ["left"] * 4, "gpt": ["left", "right", "tie", "tie"]})  # fmt: skip
    assert values(pairs, "gpt") == [0.5, 0.5]
    kinds = {"item": [1, 1, 1, 2], "trial": [1, 2, 3, 1], "human": list("xxxy"),
             "gpt": list("yyxy")}  # fmt: skip
    assert labels(read(kinds), "gpt") == ["y", "y"]


def _forty(**more: Any) -> dict[str, Any]:
    return {"item": range(40), "human": [1, 2] * 20, "gpt": [1, 2] * 20, **more}


@pytest.mark.parametrize(
    ("more", "unit", "expected"),
    [
        ({"prompt": [row // 2 for row in range(40)]}, "auto", (20, "prompt")),
        ({"doc": [row // 2 for row in range(40)]}, "auto", (20, "document")),
        ({"prompt": [row // 2 for row in range(40)]}, "row", (0, "row")),
        ({"prompt": ["a", "b"] * 20}, "auto", (0, "row")),
        ({"batch": ["a", "b"] * 20}, "batch", (2, "batch")),
        ({"system": ["A", "B"] * 20, "item": [r // 2 for r in range(40)]}, "auto", (20, "item")),
        ({}, "auto", (0, "row")),
    ],
)
def test_units(more, unit, expected):
    verdicts = read(_forty(**more), unit=unit)
    assert (len(verdicts.units), verdicts.unit_name) == expected
    assert (verdicts.unit is None) == (expected[0] == 0)


def test_covariates_slices_and_probabilities(refusal: Refusal):
    table = {"item": range(4), "left": list("XXYY"), "right": list("YYXX"), "human": ["left"] * 4,
             "gpt": ["left"] * 4, "chars_left": [30, 10, 5, 0], "chars_right": [10, 30, 5, 0],
             "bullets_a": [3, 0, 1, 2], "bullets_b": [1, 1, 1, 1]}  # fmt: skip
    covariates = read(table).covariates
    assert covariates["length"].tolist() == [0.5, -0.5, 0, 0]
    assert covariates["bullets"].tolist() == [2, -1, 0, 1]
    assert set(read(table, covariates=["bullets"]).covariates) == {"bullets"}
    table = _forty(domain=["law", "news"] * 20, p=[0.5] * 40, odd=[f"x{row}" for row in range(40)])
    verdicts = read(table, judges=["gpt"], probability="p")
    assert set(verdicts.slices) == {"domain"}
    assert verdicts.probability is not None
    assert verdicts.probability.tolist() == [0.5] * 40
    assert "no column 'q'" in refusal(lambda: read(table, probability="q"))
    assert "p" not in [judge.name for judge in read(table, probability="p").judges]


@given(st.permutations(range(12)), st.booleans())
def test_the_order_of_rows_and_tables_changes_nothing(order, swap):
    rng = np.random.default_rng(3)
    whole: dict[str, Any] = {
        "item": rng.permutation(12), "left": rng.choice(list("XY"), 12), "right": ["Z"] * 12,
        "gpt": rng.choice(["left", "right", "tie", ""], 12),
    }  # fmt: skip
    people = {"item": range(12), "left": whole["left"][np.argsort(whole["item"])],
              "right": ["Z"] * 12, "human": rng.choice(["left", "right"], 12)}  # fmt: skip
    shuffled = {name: [cells[row] for row in order] for name, cells in whole.items()}
    got = read(*((people, shuffled) if swap else (shuffled, people)))
    expected = read(whole, people)
    assert got.items == expected.items
    for name in ("gpt", "human"):
        assert same(values(got, name), values(expected, name))
        assert labels(got, name) == labels(expected, name)


def written(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("text", "raters", "judges"),
    [
        ("id,model_a,model_b,human,gpt4,gpt4_swapped\n1,x,y,A,A,B\n", ["human"], ["gpt4"]),
        ("id,left,right,ann,fine\n1,x,y,,A\n2,x,y,B,B\n", ["ann"], ["fine"]),
        ("id,model_1,model_2,verdict\n1,x,y,B\n", [], ["verdict"]),
        ("id,left,right,annotator,verdict\n1,x,y,ann,A\n1,x,y,gpt4,B\n", ["ann"], ["gpt4"]),
        ("item,rater,label\n1,r,pass\n1,s,fail\n", ["r", "s"], []),
        ("id,left,right,one\n1,x,y,1\n2,x,y,0\n", [], ["one"]),  # open, so noted
        ("left,right,outcome\nx,y,left\n", None, None),
        ("system,segment,score\nx,1,0.5\n", None, None),
        ("id,left,right,score\n1,0.2,0.7,0.1\n", [], ["score"]),
    ],
)
def test_files_are_described(tmp_path, text, raters, judges):
    path = written(tmp_path / "v.csv", text)
    pl.read_csv(path, infer_schema_length=0).write_parquet(tmp_path / "v.parquet")
    for source in (path, tmp_path / "v.parquet"):
        verdicts = describe_verdicts([str(source)], VerdictReading())
        assert (verdicts is None) == (raters is None)
        if verdicts is not None:
            assert [rater.name for rater in verdicts.raters] == raters
            assert [judge.name for judge in verdicts.judges] == judges


def test_tables_that_do_not_belong_together(tmp_path, refusal: Refusal):
    labelled = written(tmp_path / "h.csv", "item,human\nb1,1\n")
    for text, message in (
        (
            "item,gpt\na1,1\na2,2\n",
            ": no label is of a row that a judge judged: labels are of (b1)",
        ),
        ("item,system,gpt\na1,X,1\na2,X,2\n", ":2: item 'b1', as all others here, is in no table"),
        ("item,system,gpt\nb1,X,1\nb1,Y,2\n", ":2: item 'b1' has 2 rows of several systems"),
    ):
        judged = written(tmp_path / "j.csv", text)
        assert refusal(lambda path=judged: read(path, labelled)).startswith(f"{labelled}{message}")
    first, second = (written(tmp_path / n, f"{n[0]}\n1\n2\n") for n in ("gpt.csv", "human.csv"))
    message = refusal(lambda: read(first, second, human=["h"], judges=["g"]))
    assert "no column names the items" in message


def test_odd_cells_and_names(tmp_path):
    """Huge cells, odd names, infinities, objects: counted, never an accident."""
    odd = "gpt – 4*\n(neu)"
    table = {
        "item": ["a", "ä\tß", "漢", "d", "e"], "human": [1.0, 2, 2, float("nan"), 1],
        odd: [1.0, 2, 1, float("nan"), 2], "inf": [1.0, 2, float("inf"), 1, 1],
    }  # fmt: skip
    verdicts = read(table)
    assert {judge.name for judge in verdicts.judges} == {odd, "inf"}
    assert verdicts.judge("inf").unparsed.sum() == 1
    assert verdicts.judge(odd).answered.sum() == 4
    assert [judge.name for judge in read(table, judges=[odd]).judges] == [odd]
    path = written(tmp_path / "v.csv", f'item,human,gpt\n1,2,"{"x" * 300_000}"\n2,1,1\n3,2,2\n')
    assert read(path).judges[0].unparsed.sum() == 1
    lines = '{"item": 1, "human": 1, "gpt": [1, 2]}\n{"item": 2, "human": 2, "gpt": 2}\n'
    assert read(written(tmp_path / "v.jsonl", lines)).judges[0].unparsed.sum() == 1


CELLS = st.sampled_from(
    ["", "left", "right", "tie", "A", "B", "1", "2", "0", "0.5", "-1", "nan", "pass", "fail", "x",
     "1e400", "é", "left ", '"', "yes", "no"]
)  # fmt: skip
NAMES = st.sampled_from(
    ["item", "system", "left", "right", "human", "gpt", "rater", "judge", "run", "order", "prompt",
     "label", "gpt_12", "gpt_21", "gpt_swapped", "swapped", "chars_left", "chars_right", "task",
     "score"]
)  # fmt: skip


@given(st.lists(NAMES, min_size=1, max_size=7, unique=True), st.data())
def test_any_small_table_is_read_or_refused(names, data):
    n = data.draw(st.integers(1, 6))
    columns = {name: data.draw(st.lists(CELLS, min_size=n, max_size=n)) for name in names}
    human = data.draw(st.sampled_from([(), ("human",), ("label",)]))
    try:
        verdicts = read(columns, human=human)
    except SteelyardError as error:
        assert len(str(error).splitlines()) == 1  # noqa: PT017
        return
    assert len(verdicts) <= n
    for each in (*verdicts.judges, *verdicts.raters):
        assert len(each) == len(verdicts)


# Logs of other tools as verdicts of judges, with labels of people in a table of their own.

SAMPLES = Path(__file__).parent / "samples"
FASTCHAT = SAMPLES / "fastchat/model_judgment/made-judge_pair.jsonl"


def by_row(found: Verdicts, name: str) -> dict[tuple[str, str], float]:
    known = {own.name: own for own in (*found.judges, *found.raters)}
    assert found.left is not None
    keys = [(found.items[i], found.systems[s]) for i, s in zip(found.item, found.left, strict=True)]
    return {key: x for key, x in zip(keys, known[name].value.tolist(), strict=True) if x == x}


@pytest.mark.parametrize("folder", ["logs-json", "logs-eval"])
def test_inspect(folder):
    people = {"item": ["q1", "q2", "6"], "system": ["mockllm/alpha", "mockllm/beta",
              "mockllm/beta"], "human": ["pass", "fail", "pass"]}  # fmt: skip
    found = read(SAMPLES / "inspect" / folder, people, judges=["model_graded_qa"])
    assert found.items == ("6", "q1", "q2", "q3", "q4", "q5")  # one task: no part of the names
    assert by_row(found, "human") == {
        ("q1", "mockllm/alpha"): 1, ("q2", "mockllm/beta"): 0, ("6", "mockllm/beta"): 1,
    }  # fmt: skip
    own = found.judge("model_graded_qa")
    assert own.runs is not None
    assert own.runs.shape[0] == 2  # epochs are runs, never items
    assert len(found) == 12
    means = {s: [x for (_, own), x in by_row(found, "model_graded_qa").items() if own == s]
             for s in found.systems}  # fmt: skip
    assert np.allclose([np.mean(own) for own in means.values()], [0.75, 0.7083333333333334])


@pytest.mark.parametrize("name", ["out.json", "out.jsonl"])
def test_promptfoo(name):
    people = {"item": ["1", "2"], "system": ["canned-b", "echo-plain"], "human": [1, 0]}
    found = read(SAMPLES / "promptfoo" / name, people, judges=["success", "judge"])
    assert by_row(found, "human") == {("1", "canned-b"): 1, ("2", "echo-plain"): 0}
    success = by_row(found, "success")
    assert [success[item, "canned-b"] for item in "0123"] == [1, 1, 0, 1]
    assert by_row(found, "judge")["2", "canned-b"] == 0.3  # a score, though it is called judge


def test_fastchat_scores():
    people = {"item": ["81/1"], "system": ["alpha"], "human": [9]}
    found = read(SAMPLES / "fastchat/model_judgment/made-judge_single.jsonl", people)
    assert by_row(found, "made-judge")["81/1", "alpha"] == 7
    assert [own.name for own in found.raters] == ["human"]


def test_fastchat_pairs_keep_both_orders():
    people = {"item": ["81/1", "82/1"], "left": ["beta", "alpha"], "right": ["alpha", "beta"],
              "human": ["right", "tie"]}  # fmt: skip
    found = read(FASTCHAT, people)
    judge, human = found.judge("made-judge"), found.rater("human")
    assert judge.label is not None
    assert judge.other_order is not None
    assert found.left is not None
    assert found.right is not None
    at = {(found.items[code], found.systems[left], found.systems[right]): row
          for row, (code, left, right) in enumerate(zip(found.item, found.left, found.right,
                                                        strict=True))}  # fmt: skip
    first, second, failed = (at[item, "alpha", "beta"] for item in ("81/1", "82/1", "83/1"))
    assert (judge.label[first], judge.other_order[first], judge.value[first]) == (2, 2, 1)
    assert judge.value[second] == 0.5
    assert (judge.label[failed], judge.other_order[failed]) == (UNPARSED, 2)
    assert human.value[[first, second]].tolist() == [1, 0.5]  # told of our left
    assert any("could not be understood" in note for note in found.notes)


@pytest.mark.parametrize("version", ["arena-hard-v0.1", "arena-hard-v2.0"])
def test_arena_hard_shows_the_baseline_first_in_its_first_game(version, tmp_path):
    folder = SAMPLES / "arena-hard" / version
    base = "made-base" if version.endswith("2.0") else "baseline"
    item = "0" * (16 if base == "made-base" else 32)
    people = {"item": [item], "left": ["alpha"], "right": [base], "human": ["right"]}
    found = read(folder, people)
    judge = found.judge("made-judge")
    assert judge.other_order is not None
    assert judge.label is not None
    assert found.left is not None
    row = next(r for r in range(len(found)) if found.items[found.item[r]] == item
               and found.systems[found.left[r]] == "alpha")  # fmt: skip
    # Game 1, the baseline first: A>B, so the baseline. Game 2, the model first: A=B.
    assert (judge.other_order[row], judge.label[row], judge.value[row]) == (0, 1, 0.25)
    shutil.copytree(folder, tmp_path / "again")
    again = read(tmp_path / "again", people).judge("made-judge")
    assert np.array_equal(again.value, judge.value, equal_nan=True)


def test_votes_in_which_people_are_called_judges():
    table = {"item": [1, 1, 2, 2], "left": ["A"] * 4, "right": ["B"] * 4, "winner": ["left",
             "right", "tie", "left"], "judge": ["author_0", "gpt-4"] * 2}  # fmt: skip
    found = read(table, human=["author*"])
    assert [own.name for own in found.raters] == ["author_0"]
    assert found.rater("author_0").value.tolist() == [1, 0.5]
    assert found.judge("gpt-4").value.tolist() == [0, 1]
