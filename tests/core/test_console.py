"""Tables on screens: whatever stands in them, no line is wider, and names stay apart."""

from __future__ import annotations

import io
import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.core.console import (
    PLAIN,
    Screen,
    bars_of,
    names_in,
    result_text,
    shortened,
    table_text,
    text_width,
    wrapped,
)
from steelyard.core.errors import printable
from steelyard.core.table import Column, Table
from steelyard.core.warnings import brief

LETTERS = st.text(
    st.sampled_from("abcdefg XYZ-_.,01系统ラн\u0301\u200b\u202e\x1b\t\nا"), min_size=1, max_size=60
)
NUMBERS = st.one_of(st.floats(-1e6, 1e6), st.floats(0, 1), st.just(math.nan), st.none())
WIDTHS = st.integers(40, 200)


@st.composite
def tables(draw) -> Table:
    """Names, then numbers and texts, some of them with intervals, of any importance."""
    n = draw(st.integers(1, 6))
    names = draw(st.lists(LETTERS, min_size=n, max_size=n, unique_by=printable))
    columns, cells = [Column(draw(LETTERS))], [list(names)]
    for _ in range(draw(st.integers(0, 8))):
        importance = draw(st.integers(0, 9))
        kind = draw(st.sampled_from(["number", "text", "interval"]))
        if kind == "text":
            columns.append(Column(draw(LETTERS), importance=importance))
            cells.append(draw(st.lists(LETTERS, min_size=n, max_size=n)))
            continue
        parts = ["value", "low", "high"] if kind == "interval" else [draw(LETTERS)]
        for part in parts:
            columns.append(
                Column(part, "higher" if part == "value" else None, importance=importance)
            )
            cells.append(draw(st.lists(NUMBERS, min_size=n, max_size=n)))
    rows = tuple(zip(*cells, strict=True))
    notes = tuple(draw(st.lists(LETTERS, max_size=2)))
    rules = frozenset({1}) if n > 1 else frozenset()
    bold = frozenset({(0, 0), (0, len(columns) - 1)})
    return Table(draw(st.one_of(st.just(""), LETTERS)), tuple(columns), rows, notes, rules, bold)


@given(tables(), WIDTHS, st.booleans())
def test_no_line_is_wider_than_the_screen(table, width, drawn):
    shown = table_text(table, Screen(width, colour=False, drawn=drawn))
    assert max(map(text_width, shown.split("\n"))) <= width
    assert shown.isprintable() or {c for c in shown if not c.isprintable()} <= {"\n", "\u0301"}


@given(tables(), WIDTHS)
def test_colours_change_nothing_else(table, width):
    coloured = table_text(table, Screen(width, colour=True, drawn=True))
    plain = table_text(table, Screen(width, colour=False, drawn=True))
    bare = re.sub(r"\x1b\[\d+m", "", coloured)
    assert [line.rstrip() for line in bare.split("\n")] == [
        line.rstrip() for line in plain.split("\n")
    ]


@given(st.lists(LETTERS.map(printable), min_size=1, max_size=30, unique=True), st.integers(8, 40))
def test_names_that_differ_stay_apart(names, width):
    cut = shortened(names, width)
    assert len(set(cut)) == len(names)
    assert all(text_width(name) <= width for name in cut)
    assert all(
        short == name for short, name in zip(cut, names, strict=True) if text_width(name) <= width
    )


def test_many_names_that_are_alike_at_both_ends_stay_apart():
    names = [f"checkpoint-{'x' * 20}{k:04d}{'y' * 20}-final" for k in range(500)]
    cut = shortened(names, 16)
    assert len(set(cut)) == 500
    assert max(map(text_width, cut)) <= 16
    assert shortened(names[:2], 16)[1] != shortened(["x" * 40, *names[:2]], 16)[0]


@given(st.text(st.sampled_from("ab 系\u0301-"), max_size=200), st.integers(8, 60))
def test_wrapping_loses_no_letter(text, width):
    lines = wrapped(text, width)
    assert all(text_width(line) <= width for line in lines)
    assert "".join("".join(lines).split()) == "".join(text.split())


@given(tables())
def test_without_a_width_everything_is_there(table):
    shown = table_text(table, PLAIN)
    assert "Not shown" not in shown
    assert "●" not in shown
    for row in table.shown():
        for cell in row:
            assert printable(cell).rstrip() in shown


def test_what_matters_least_goes_first():
    kept = {"aaaaaaaaaa": 1, "bbbbbbbbbb": 9, "cccccccccc": 1}
    columns = (Column("system"), *(Column(name, importance=n) for name, n in kept.items()))
    table = Table("", columns, (("A", 0.25, 0.5, 0.75),))
    assert "cccccccccc" in table_text(table, Screen(42))
    two = table_text(table, Screen(40))
    assert two.startswith("system  aaaaaaaaaa  bbbbbbbbbb\n")
    assert " ".join(two.split()).endswith(
        "Not shown: cccccccccc (a wider window or to_frame() has all columns)."
    )
    one = table_text(table, Screen(24))
    assert one.startswith("system  bbbbbbbbbb\n")


def test_low_and_high_go_first_where_they_are_drawn():
    ends = (Column(name, importance=9) for name in ("low", "high"))
    columns = (Column("system"), Column("mean", "higher", importance=9), *ends, Column("other"))
    rows = (("A", 0.5, 0.4, 0.6, 1.0), ("B", 0.3, 0.2, 0.4, 2.0))
    table = Table("", columns, rows)
    drawn = table_text(table, Screen(50, drawn=True))
    assert "●" in drawn
    assert "other" in drawn
    assert "Not shown: low, high" in drawn
    assert "low" in table_text(table, Screen(50, drawn=False)).split("\n")[0]


@pytest.mark.parametrize(
    ("rows", "bars"),
    [
        ((("A", 1.0, 0.5, 2.0),), 0),  # nothing to compare with
        ((("A", 1.0, 0.5, 2.0), ("B", 2.0, 1.5, 3.0)), 1),
        ((("A", 1.0, 1.0, 1.0), ("B", 1.0, 1.0, 1.0)), 0),  # no width
        ((("A", 1.0, math.nan, None), ("B", 2.0, 1.5, 3.0)), 0),
        ((("A", 1.0, -math.inf, 2.0), ("B", 2.0, 1.5, 3.0)), 0),
        ((("A", None, 0.5, 2.0), ("B", 9.0, 1.5, 3.0)), 1),  # the value itself is outside
    ],
)
def test_bars(rows, bars):
    columns = (Column("system"), Column("mean", "higher"), Column("low"), Column("high"))
    found = bars_of(Table("", columns, rows))
    assert len(found) == bars
    for bar in found:
        assert max(map(len, bar.cells)) <= len(bar.heading)


def test_bars_are_of_the_column_that_they_name():
    columns = (Column("metric"), Column("spa", "higher"), Column("without"),
               Column("low", key="spa low"), Column("high", key="spa high"))  # fmt: skip
    rows = (("A", 0.9, 0.1, 0.8, 1.0), ("B", 0.5, 0.1, 0.4, 0.6))
    (bar,) = bars_of(Table("", columns, rows))
    assert bar.value == 1
    mixed = (*columns[:1], Column("spa", "higher", mixed=True), *columns[2:])
    assert not bars_of(Table("", mixed, rows))


def test_what_the_words_say_is_not_said_again():
    table = Table("", (Column("x"),), ((1,),), notes=("A is best.", "and a note"))
    text = result_text(["A is best."], [table])
    assert text.count("A is best.") == 1
    assert "and a note" in text


def test_warnings_of_a_kind_are_one_line():
    said = [f"'{name}' sounds as if lower were better: --lower-is-better {name}" for name in "AB"]
    said += ["1,800 of 6,000 scores are missing", "600 of 6,000 scores are missing", "other"]
    assert brief(said) == [f"{said[0]} (and 1 more like this)",
                           f"{said[2]} (and 1 more like this)", "other"]  # fmt: skip
    assert brief(["spa: beats x", "pa: beats y"], ["spa", "pa", "x", "y"]) == [
        "spa: beats x (and 1 more like this)"
    ]


def test_long_lists_are_cut_and_their_sentence_stays():
    names = [f"'metric-{k}'" for k in range(34)]
    told = f"tests use means, which the official scores of {', '.join(names)} are not (see --x)"
    kept = "'metric-0', 'metric-1', 'metric-2' and 31 more"
    assert brief([told]) == [
        f"tests use means, which the official scores of {kept} are not (see --x)"
    ]
    few = "left out: a-1, b-2, c-3, d-4 and e-5"
    assert brief([few]) == [few]
    prose = "one thing and another, then a third thing, after that more, and so on, all told"
    assert brief([prose]) == [prose]


def test_names_are_those_of_rows_and_columns():
    table = Table("", (Column("system"), Column("mean")), (("A", 1.0), ("B", 2.0)))
    assert names_in([table]) == {"system", "mean", "A", "B"}


@pytest.mark.parametrize(
    ("colour", "environment", "coloured"),
    [
        ("auto", {}, False),
        ("auto", {"FORCE_COLOR": "1"}, True),
        ("auto", {"FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
        ("auto", {"FORCE_COLOR": "0"}, False),
        ("always", {"NO_COLOR": "1"}, True),
        ("never", {"FORCE_COLOR": "1"}, False),
    ],
)
def test_colours_of_a_pipe(colour, environment, coloured):
    assert Screen.of(io.StringIO(), colour, environment=environment).colour is coloured


class Tty(io.TextIOWrapper):
    def isatty(self) -> bool:
        return True


def test_a_terminal_that_lacks_letters_gets_none_drawn():
    old = Tty(io.BytesIO(), encoding="ascii")
    screen = Screen.of(old, environment={"COLUMNS": "50"})
    assert screen == Screen(50, colour=True, drawn=False)
    assert Screen.of(old, environment={"TERM": "dumb"}) == Screen(80)
    assert Screen.of(old, environment={"COLUMNS": "3"}).width == 20  # nothing is so narrow
    assert Screen.of(Tty(io.BytesIO(), encoding="utf-8"), environment={}).drawn
    closed = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    closed.close()
    assert Screen.of(closed) == PLAIN
