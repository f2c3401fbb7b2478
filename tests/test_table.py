"""One table, six renderings: the same figures, and nothing in a cell acts as markup."""

from __future__ import annotations

import csv
import html.parser
import io
import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.errors import UsageError, printable
from steelyard.table import (
    Column,
    Table,
    decimals,
    dumps,
    escape_latex,
    escape_markdown,
)

HOSTILE = ["<script>alert(1)</script>", "a|b", "-x",
           "50% & 1_000 #1 $x$ ~^\\{}", "=1+1", "\x1b[31mred",
           "line\nbreak", "עברית", "日本語",
           "`code` **bold**", '"quoted"', "\u202eevil"]  # fmt: skip

names = st.one_of(st.sampled_from(HOSTILE), st.text(min_size=1, max_size=20))
cells = st.one_of(
    st.none(),
    st.integers(-(10**6), 10**6),
    st.floats(-1e6, 1e6, allow_nan=False),
    st.just(float("nan")),
)


class Cells(html.parser.HTMLParser):
    """Collect the texts of cells, and every tag that occurs."""

    def __init__(self):
        super().__init__()
        self.cells: list[str] = []
        self.tags: set[str] = set()

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        if tag in ("td", "th"):
            self.cells.append("")

    def handle_data(self, data):
        if self.cells:
            self.cells[-1] += data


@given(st.lists(st.tuples(names, cells), min_size=1, max_size=6), names, st.integers(0, 4))
def test_html_shows_the_same_figures_and_no_foreign_tag(rows, heading, digits):
    table = Table("", (Column(heading), Column("x", "lower", digits)), tuple(rows))
    parser = Cells()
    parser.feed(table.html())
    assert parser.tags <= {"table", "thead", "tbody", "tr", "th", "td"}
    shown = [printable(cell) for row in table.shown() for cell in row]
    assert [c.replace("\n", "") for c in parser.cells[2:]] == [c.replace("\n", "") for c in shown]


@given(st.lists(st.tuples(names, cells), min_size=1, max_size=6))
def test_json_and_csv_hold_the_exact_values(rows):
    table = Table("t", (Column("n"), Column("x")), tuple(rows))
    records = json.loads(table.json())
    read = list(csv.reader(io.StringIO(table.csv())))
    assert read[0] == ["n", "x"]
    assert len(records) == len(read) - 1 == len(rows)
    for (name, value), record, line in zip(rows, records, read[1:], strict=True):
        assert record["n"] == name
        assert line[0].removeprefix("'") == name.removeprefix("'")
        if value is None or math.isnan(value):
            assert record["x"] is None
            assert line[1] == ""
        else:
            assert record["x"] == value
            assert float(line[1]) == value


@given(st.lists(st.tuples(names, cells), min_size=1, max_size=6))
def test_text_and_latex_and_markdown_have_a_line_per_row(rows):
    table = Table("", (Column("n"), Column("x")), tuple(rows))
    assert len(table.text().split("\n")) == len(rows) + 2
    assert table.latex().count(r"\\" + "\n") == len(rows) + 1
    assert len(table.markdown().strip().split("\n")) == len(rows) + 2


def test_latex_escapes_every_special_character():
    assert escape_latex("a_b & 50% {x} $y$ #1 ~ ^ \\ < >") == (
        r"a\_b \& 50\% \{x\} \$y\$ \#1 \textasciitilde{} \textasciicircum{} "
        r"\textbackslash{} \textless{} \textgreater{}"
    )


def test_markdown_escapes_pipes_and_html():
    assert escape_markdown("<b>|_*") == r"&lt;b>\|\_\*"


def test_a_formula_in_a_csv_cell_is_inert():
    table = Table("", (Column("n"),), (("=cmd()",), ("+1",), ("@x",), ("-a",), ("ok",), (-1.5,)))
    assert table.csv().split("\n")[1:7] == ["'=cmd()", "'+1", "'@x", "'-a", "ok", "-1.5"]


def test_rules_and_bold_mark_clusters():
    table = Table(
        "Top",
        (Column("s"), Column("x", "higher", 1)),
        (("A", 2.0), ("B", 1.0)),
        notes=("n = 2",),
        rules=frozenset({1}),
        bold=frozenset({(0, 1)}),
    )
    assert table.text().count("-  ---") == 2
    assert r"\textbf{2.0} \\" + "\n" + r"\midrule" in table.latex()
    assert "**2.0**" in table.markdown()
    assert "<strong>2.0</strong>" in table.html()
    assert r"\caption{Top n = 2}" in table.latex()


def test_wide_characters_keep_columns_aligned():
    lines = Table("", (Column("name"), Column("x")), (("日本", 1), ("ab", 22))).text().split("\n")
    assert lines[2] == "日本   1"
    assert lines[3] == "ab    22"


@pytest.mark.parametrize(
    ("values", "error", "expected"),
    [
        ([123.456], None, 1),
        ([0.5, 0.25], None, 4),
        ([1e6], None, 0),
        ([], None, 0),
        ([0.0], None, 1),
        ([50.123], 0.5, 2),
        ([50.123], 12.0, 0),
        ([0.9123], 0.0004, 5),
    ],
)
def test_digits_follow_the_standard_error(values, error, expected):
    assert decimals(values, error) == expected


def test_unknown_rendering_is_an_error():
    with pytest.raises(UsageError, match="can't write a table as 'pdf'"):
        Table("", (), ()).render("pdf")


def test_dumps_turns_numpy_and_nan_into_plain_json():
    import numpy as np

    value = {"a": np.array([1.0, np.nan]), "b": np.float64(2), "c": (np.int32(1), {"d": np.inf})}
    assert json.loads(dumps(value)) == {"a": [1, None], "b": 2, "c": [1, {"d": None}]}
