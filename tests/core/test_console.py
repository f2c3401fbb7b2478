"""Tables on screens: whatever stands in them, no line is wider, and no shown letter is lost."""

from __future__ import annotations

import io
import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.core.display import (
    PLAIN,
    Screen,
    table_text,
    text_width,
    wrapped,
)
from steelyard.core.errors import printable
from steelyard.core.table import Column, Table

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


@given(tables(), WIDTHS)
def test_no_line_is_wider_than_the_screen(table, width):
    shown = table_text(table, Screen(width, colour=False))
    assert max(map(text_width, shown.split("\n"))) <= width
    assert shown.isprintable() or {c for c in shown if not c.isprintable()} <= {"\n", "\u0301"}


@given(tables(), WIDTHS)
def test_colours_change_nothing_else(table, width):
    coloured = table_text(table, Screen(width, colour=True))
    plain = table_text(table, Screen(width, colour=False))
    bare = re.sub(r"\x1b\[\d+m", "", coloured)
    assert [line.rstrip() for line in bare.split("\n")] == [
        line.rstrip() for line in plain.split("\n")
    ]


@given(st.text(st.sampled_from("ab 系\u0301-"), max_size=200), st.integers(8, 60))
def test_wrapping_loses_no_letter(text, width):
    lines = wrapped(text, width)
    assert all(text_width(line) <= width for line in lines)
    assert "".join("".join(lines).split()) == "".join(text.split())


@given(tables())
def test_without_a_width_everything_is_there(table):
    shown = table_text(table, PLAIN)
    assert "Not shown" not in shown
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
def test_colours_of_a_pipe(monkeypatch, colour, environment, coloured):
    for name in ("FORCE_COLOR", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert Screen.of(io.StringIO(), colour).colour is coloured


class Tty(io.TextIOWrapper):
    def isatty(self) -> bool:
        return True


def test_the_width_of_a_terminal(monkeypatch):
    for name in ("FORCE_COLOR", "NO_COLOR", "TERM"):
        monkeypatch.delenv(name, raising=False)
    terminal = Tty(io.BytesIO(), encoding="ascii")
    monkeypatch.setenv("COLUMNS", "50")
    assert Screen.of(terminal) == Screen(50, colour=True)
    monkeypatch.setenv("COLUMNS", "3")
    assert Screen.of(terminal).width == 20  # nothing is so narrow
    monkeypatch.setenv("TERM", "dumb")
    assert not Screen.of(terminal).colour
    closed = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    closed.close()
    assert Screen.of(closed) == PLAIN
