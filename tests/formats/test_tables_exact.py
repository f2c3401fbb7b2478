"""Both readers of delimited tables give the same cells, and every double comes back bit for bit."""

from __future__ import annotations

import gzip
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from steelyard import EvalSet, load
from steelyard.core.errors import InputError, SteelyardError
from steelyard.formats import tables
from steelyard.formats.rawtable import RawTable
from steelyard.formats.reading import read_any

Fresh = Callable[[], Path]

MISSING = ["", "nan", "NaN", "None", "NA"]
NUMBERS = [
    "1.", ".5", "+1", "1e5", "1E+5", "1e-400", "-0.0", "-0", "5e-324", "-5e-324", "007", "-.5e-3",
    " 1 ", "1 ", "\t1", "0.12345678901234567", "0.1234567890123456", "9007199254740993", "1e308",
    "2.2250738585072011e-308", "2.2250738585072014e-308", "0.30000000000000004", "1" * 30,
    "0." + "1" * 60, "123456789012345678", "100000000000000016777215", "9.5e-323",
]  # fmt: skip
JUNK = [
    "inf", "-inf", "Infinity", "1e999", "-1e400", "word", "1_000", "１２", "NAN", "null", "NULL",
    "+-1", "-+1", "++1", "--1", "0x10", "1f", "1d", "true", "1e", ".", "+", "- 1", "+ 1", "1 2",
    " NaN ", "1,5", "1e5.0", "٣", "1\x0b", "nan(1)", "+nan", "-nan", "0b1", "1e+", "1L", "1%",
    "(1)", "$1", "1\xa0", "TRUE", "1'000",
]  # fmt: skip


def read_both(path: Path, text: set[str] | None = None) -> tuple[RawTable, RawTable]:
    """Read by DuckDB wherever that is allowed, then by the Python parser."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tables, "_FAST_FROM", 0)
        fast = tables.read(path, is_text=(text or {"system", "segment"}).__contains__)
        patch.setattr(tables, "_FAST_FROM", 1 << 60)
        return fast, tables.read(path, is_text=(text or {"system", "segment"}).__contains__)


def bits(values: Any) -> list[bytes]:
    """Give the bits of numbers, all NaN alike."""
    return [b"nan" if x != x else struct.pack("<d", x) for x in np.asarray(values).tolist()]


def outcome(call: Callable[..., Any], *arguments: Any) -> Any:
    """Give what a call returns, or the text of its refusal."""
    try:
        return call(*arguments)
    except SteelyardError as error:
        return str(error)


def assert_same_table(path: Path, text: set[str] | None = None) -> None:
    both = outcome(read_both, path, text)
    if isinstance(both, str):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(tables, "_FAST_FROM", 1 << 60)
            assert outcome(tables.read, path) == both
        return
    fast, slow = both
    assert list(fast.columns) == list(slow.columns)
    assert fast.n_rows == slow.n_rows
    assert [fast.line(i) for i in range(fast.n_rows)] == [slow.line(i) for i in range(slow.n_rows)]
    for name in fast.columns:
        if name in (text or {"system", "segment"}):
            assert outcome(fast.labels, name) == outcome(slow.labels, name)
            assert outcome(fast.texts, name) == outcome(slow.texts, name)
        else:
            one, two = outcome(fast.numbers, name), outcome(slow.numbers, name)
            assert (one if isinstance(one, str) else bits(one)) == (
                two if isinstance(two, str) else bits(two)
            )


plain_names = st.one_of(
    st.sampled_from(["A", "1", "01", "1e5", "1.0", " A ", "NA", "nan", "None", "inf", "模型"]),
    st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=5),
)
cells = st.one_of(
    st.sampled_from(MISSING),
    st.sampled_from(NUMBERS),
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.integers(-(10**20), 10**20).map(str),
)
junk_like = st.text("0123456789+-.eE _ainfNAx", max_size=7)


@st.composite
def delimited(draw: st.DrawFn, cell: st.SearchStrategy[str] = cells) -> bytes:
    """Draw a table of two names and up to three scores per row, with odd line ends."""
    delimiter = draw(st.sampled_from([",", "\t", ";"]))
    width = draw(st.integers(1, 3))
    head = ["system", "segment", *(f"m{i}" for i in range(width))]
    rows = draw(
        st.lists(st.tuples(plain_names, plain_names, *[cell] * width), min_size=1, max_size=6)
    )
    lines = [delimiter.join(head)]
    for row in rows:
        lines.append(delimiter.join(c.replace(delimiter, ".").replace('"', "'") for c in row))
        if draw(st.integers(0, 9)) == 0:
            lines.append("")  # a blank line
    end = draw(st.sampled_from(["\n", "\r\n"]))
    last = draw(st.sampled_from([end, "", end + end]))
    mark = draw(st.sampled_from(["", "", "\ufeff"]))
    return (mark + end.join(lines) + last).encode()


@settings(max_examples=200)
@given(delimited())
@pytest.mark.thorough
def test_fast_reader_equals_parser_on_good_cells(fresh: Fresh, data: bytes) -> None:
    path = fresh() / "table.csv"
    path.write_bytes(data)
    assert_same_table(path)


@pytest.mark.thorough
@settings(max_examples=200)
@given(delimited(st.one_of(cells, cells, st.sampled_from(JUNK), junk_like)))
def test_fast_reader_equals_parser_on_any_cell(fresh: Fresh, data: bytes) -> None:
    path = fresh() / "table.csv"
    path.write_bytes(data)
    assert_same_table(path)


@pytest.mark.parametrize("cell", [*NUMBERS, *MISSING, *JUNK])
def test_fast_reader_equals_parser_on_one_cell(tmp_path: Path, cell: str) -> None:
    path = tmp_path / "table.csv"
    path.write_text(f"system;segment;x\nA;1;0.5\nA;2;{cell}\n", encoding="utf-8")
    assert_same_table(path)


@pytest.mark.parametrize(
    "text",
    [
        "A\n1\n\n2\n",
        "A\n1\n2\n\n\n",
        "A\r\n1\r\n\r\n2\r\n",
        "A\n1\nNA\n2\n",
        "A,B\n1,2\n\n\n3,4\n",
        "A,B\n1,2\n   \n3,4\n",
        "A,B\n1,2\n3\n",
        "A,B\n1,2\n3,4,5\n",
        "A,B\n1,2\n,\n",
        "A,B\n\n1,2\n",
        "\nA,B\n1,2\n",
        "A,B\n1,2",
        "A,B\r\n1,2\r\n3,4",
        "A,B\n1,2\r\n3,4\n",
        "A,B\n1,2\n3,4\r",
        "A,A\n1,2\n",
        "A,\n1,2\n",
        "A,B\n#1,2\n3,4\n",
        "#A,B\n1,2\n",
        "A,B\n1,2\n\ufeff3,4\n",
        "A,B\n1,2\n3,4\n\x1a",
        "A\tB\n1\t2\n3\t4\n",
        "A,B\n'1',2\n",
        "A,B\n1,2\\\n3,4\n",
        "system,segment,x\nA,A,\nA,A,\nA,NA,\n",
    ],
)
def test_fast_reader_equals_parser_on_odd_lines(tmp_path: Path, text: str) -> None:
    path = tmp_path / "table.csv"
    path.write_bytes(text.encode())
    assert_same_table(path)


def test_fast_reader_equals_parser_on_packed_files(tmp_path: Path) -> None:
    one, two = b"system,segment,x\nA,1,0.1\n", b"A,2,0.2\nB,1,0.3\n"
    path = tmp_path / "table.csv.gz"
    path.write_bytes(gzip.compress(one) + gzip.compress(two))
    assert_same_table(path)
    assert load(path)["x"].values[0].tolist() == [0.1, 0.2]
    plain = tmp_path / "packed-but-not-named-so.csv"
    plain.write_bytes(gzip.compress(one + two))
    assert_same_table(plain)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("rater,system,segment,hit,raw\n007,A,08,0042,1\n7,A,8,0042,2\n", {"007", "7"}),
        ("worker,system,segment,raw\n12345678901234567890,A,1e5,1\n3,A,2,1\n", {"1e5", "2"}),
        (("segmentId,judgeId,system1Id,system2Id,system1rank,system2rank\n"
         "007,01,00,1e5,1,2\n008,01,00,1e5,2,1\n"), {"00", "1e5"}),
        ("system,segment,ref:A,source,document,hyp,x\nA,1,007,1.50,08,1e5,1\n", {"007", "1.50"}),
        ("system,sid,x\nA,007,1\nA,1.50,2\n", {"007", "1.50"}),
        ("segment,007,1.50\n1,3,4\n2,3,4\n", {"007", "1.50"}),
    ],
)  # fmt: skip
def test_names_do_not_depend_on_the_size_of_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, names: set[str]
) -> None:
    path = tmp_path / "table.csv"
    path.write_text(text)
    values = []
    for fast_from in (0, 1 << 60):
        monkeypatch.setattr(tables, "_FAST_FROM", fast_from)
        held = read_any(path)[1]
        columns = held.columns(texts=True) if isinstance(held, EvalSet) else held.__getstate__()
        values.append(repr(columns))
        assert all(repr(name) in values[-1] for name in names)
    assert values[0] == values[1]


doubles = st.lists(st.floats(allow_nan=True, allow_infinity=False), min_size=1, max_size=12)
SUFFIXES = ["csv", "tsv", "jsonl", "ndjson", "csv.gz", "tsv.gz", "jsonl.gz", "parquet", "pq"]


@pytest.mark.parametrize("suffix", SUFFIXES)
@settings(max_examples=30)
@given(values=doubles)
@example(values=[0.0, -0.0, 5e-324, -5e-324, 1.7976931348623157e308, 2.2250738585072014e-308])
@example(values=[0.1 + 0.2, -1.3000000000000003, -1.3, 1 / 3, 1e22, 1e23, 9007199254740993.0])
def test_doubles_come_back_bit_for_bit(fresh: Fresh, suffix: str, values: list[float]) -> None:
    path = fresh() / f"table.{suffix}"
    names = ["A"] * len(values)
    segments = [str(i) for i in range(len(values))]
    tables.write(path, {"system": names, "segment": segments, "x": np.array(values)})
    table = tables.read(path, is_text={"system", "segment"}.__contains__)
    found = table.numbers("x") if "x" in table else np.full(len(values), np.nan)
    assert bits(found) == bits(values)
    assert table.labels("segment") == segments
    if path.suffix == ".csv":
        assert_same_table(path)


def test_parquet_without_a_column_is_refused_in_a_line(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"x\.parquet: "):
        tables.write(tmp_path / "x.parquet", {})
    assert not list(tmp_path.iterdir())
