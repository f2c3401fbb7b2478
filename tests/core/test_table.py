"""One table, six renderings: the same figures, and nothing in a cell acts as markup."""

from __future__ import annotations

import csv
import html
import html.parser
import io
import json
import math
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.core.errors import printable
from steelyard.core.table import (
    Column,
    Table,
    decimals,
    dumps,
    escape_latex,
    interval_decimals,
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


@pytest.mark.parametrize("hidden", "\u200b\u200e\u200f\u2060\ufeff\xad\u061c\u180e\U000e0041")
@pytest.mark.parametrize("form", ["txt", "md", "tex", "html"])
def test_invisible_characters_of_names_are_shown(hidden, form):
    table = Table("", (Column("name"),), ((f"x{hidden}y",), ("xy",)))
    assert hidden not in table.render(form)
    assert table.render(form).count("xy") == 1


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645", True),  # Persian: I want
        ("\u0915\u094d\u200d\u0937", True),  # Devanagari: a half consonant
        ("\U0001f469\u200d\U0001f4bb", True),  # a woman and a computer, which are one sign
        ("\u2764\ufe0f\u200d\U0001f525", True),
        ("\u0601\u0661\u0662", True),  # a sign under an Arabic number
        ("a\u200db", False),
        ("\u0645\u200c", False),
        ("\u200d\U0001f4bb", False),
        ("\u0645\u200c\u200c\u062e", False),
    ],
)
def test_joiners_stay_where_they_shape_what_is_beside_them(name, shown):
    assert (printable(name) == name) is shown
    assert printable(printable(name)) == printable(name)


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
    records = json.loads(table.render("json"))
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


plain = st.text("abcXYZ_&%#<>$עברית日本", min_size=1, max_size=12)
figures = st.floats(-1e4, 1e4, allow_nan=False)
keys = st.sampled_from(["higher", "lower", None])


def from_text(table):
    """Cells of the terminal rendering: columns are two spaces apart, and no name has two."""
    return [re.split(r" {2,}", line.strip()) for line in table.text().split("\n")[2:]]


def from_markdown(table):
    """Cells of the pipe table, escapes undone."""
    found = []
    for line in table.markdown().strip().split("\n")[2:]:
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        cells = [re.sub(r"^\*\*(.*)\*\*$", r"\1", cell) for cell in cells]
        found.append([html.unescape(re.sub(r"\\(.)", r"\1", cell)) for cell in cells])
    return found


def from_latex(table):
    """Cells of the LaTeX table, escapes undone."""
    back = {escape_latex(char): char for char in "&%#$_<>"}
    pattern = "|".join(re.escape(code) for code in sorted(back, key=len, reverse=True))
    body = table.latex().split(r"\midrule", 1)[1].split(r"\bottomrule")[0]
    rows = [line for line in body.replace(r"\midrule", "").split("\n") if line]
    found = []
    for line in rows:
        cells = line.removesuffix(r" \\").split(" & ")
        cells = [re.sub(r"^\\textbf\{(.*)\}$", r"\1", cell) for cell in cells]
        found.append([re.sub(pattern, lambda m: back[m[0]], cell) for cell in cells])
    return found


def from_html(table):
    parser = Cells()
    parser.feed(table.html())
    width = len(table.columns)
    cells = [cell.strip("\n") for cell in parser.cells]
    return [cells[i : i + width] for i in range(width, len(cells), width)]


@given(
    st.lists(st.tuples(plain, figures, st.one_of(st.none(), figures)), min_size=1, max_size=5),
    keys,
    st.one_of(st.none(), st.integers(0, 6)),
)
def test_the_same_numbers_in_all_six_renderings(rows, better, digits):
    columns = (Column("name"), Column("x", better, digits), Column("y"))
    bold, rules = frozenset({(0, 1)}), frozenset({1})
    table = Table(
        "", columns, tuple(rows), rules=rules if len(rows) > 1 else frozenset(), bold=bold
    )
    shown = table.shown()
    text = [cells for cells in from_text(table) if not set("".join(cells)) <= {"-"}]
    assert text == shown
    assert from_markdown(table) == shown
    assert from_latex(table) == shown
    assert from_html(table) == shown
    exact = [list(row.values()) for row in json.loads(table.render("json"))]
    read = [
        [name.removeprefix("'"), *(float(cell) if cell else None for cell in cells)]
        for name, *cells in csv.reader(io.StringIO(table.csv()))
        if name != "name"
    ]
    assert exact == read == [list(row) for row in rows]
    assert Table("", columns, tuple(map(tuple, exact))).shown() == shown


def test_headings_that_repeat_have_keys_of_their_own():
    columns = (Column("low", key="mean low"), Column("low", key="bt low"), Column("x"), Column("x"))
    table = Table("", columns, ((1.0, 2.0, 3.0, 4.0),))
    assert json.loads(table.render("json")) == [{"mean low": 1, "bt low": 2, "x": 3, "x (2)": 4}]
    assert table.csv().split("\n")[0] == "mean low,bt low,x,x (2)"
    assert list(table.to_columns()) == ["mean low", "bt low", "x", "x (2)"]
    assert table.text().split("\n")[0].split() == ["low", "low", "x", "x"]


def test_digits_follow_intervals():
    assert interval_decimals([50.0, 51.0], [49.0, 50.0], [51.0, 52.0]) == 2
    assert interval_decimals([0.5], [0.4996], [0.5004]) == 5
    assert interval_decimals([0.5], [0.5], [0.5]) is None
    assert interval_decimals([0.5], [float("nan")], [float("nan")]) is None


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
    assert "\\caption{Top}\n\\end{table}\n% n = 2\n" in table.latex()


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


def test_dumps_turns_numpy_and_nan_into_plain_json():

    value = {"a": np.array([1.0, np.nan]), "b": np.float64(2), "c": (np.int32(1), {"d": np.inf})}
    assert json.loads(dumps(value)) == {"a": [1, None], "b": 2, "c": [1, {"d": None}]}
