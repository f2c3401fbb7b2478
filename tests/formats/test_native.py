"""Native files and foreign Parquet: what the footer may not say, and what columns may hold."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from steelyard import EvalSet, Ratings, ScoreTable, Segments, load
from steelyard.core.errors import InputError, SteelyardError
from steelyard.formats import parquet
from steelyard.formats.folders import native

Refusal = Callable[..., str]


def made() -> EvalSet:
    values, ones = np.array([[1.0, 2.0, 3.0], [4.0, np.nan, 6.0]]), np.ones((2, 2))
    return EvalSet(
        ("A", "B"),
        Segments(("0", "1", "2"), ("d", "d", "e"), ("n", "n", "m")),
        {
            "mqm": ScoreTable(values, "human", system_scores=np.array([1.0, 2.0])),
            "x": ScoreTable(values + 1, document_scores=ones, domain_scores=ones),
        },
        {"A": ("a", "b", "c")},
        {"mqm": Ratings.from_labels(["A"], ["0"], ["r"], np.array([1.0]))},
        language_pair="en-de",
    )  # fmt: skip


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], dict[str, Any]]:
    """The columns and the footer of a native file."""
    path = tmp_path_factory.mktemp("native") / "x.parquet"
    native.write(made(), path)
    columns, _ = parquet.read_columns(path)
    footer = parquet.read_footer(path, native.KEY)
    assert footer is not None
    return columns, json.loads(footer)


def test_the_parts_are_whole(parts: Any, tmp_path: Path) -> None:
    columns, about = parts
    path = tmp_path / "x.parquet"
    parquet.write_columns(path, columns, {native.KEY: json.dumps(about)})
    assert load(path).identical(made())


@pytest.mark.thorough
def test_no_flipped_bit_changes_anything(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    es = made()
    native.write(es, path)
    data = path.read_bytes()
    for place in range(0, len(data), 7):
        damaged = bytearray(data)
        damaged[place] ^= 1 << place % 8
        path.write_bytes(damaged)
        try:
            found = native.read(path)
        except SteelyardError:
            continue
        assert found.identical(es), f"byte {place} of {len(data)}"


def test_rows_in_another_order_are_refused(tmp_path: Path, refusal: Refusal) -> None:
    path = tmp_path / "x.parquet"
    native.write(made(), path)
    footer = parquet.read_footer(path, native.KEY)
    assert footer is not None
    frame = pl.read_parquet(path).sort("x")  # Arrow keeps the footer, whatever is done to the rows
    frame.write_parquet(path, metadata={native.KEY: footer})
    assert refusal(path).startswith(f"{path}: ")


@pytest.mark.parametrize(
    "text", ["", "x", "[]", "5", "null", "{}", '"x"', '{"version": 1}', "[" * 50_000]
)
def test_footers_that_are_none(parts: Any, tmp_path: Path, refusal: Refusal, text: str) -> None:
    refused(tmp_path, refusal, parts[0], text)


CHANGES: list[tuple[tuple[str, ...], Any]] = [  # which the checksum shows, if not what they are
    (("version",), 99),
    (("systems",), ["B", "A"]),
    (("segments",), ["0", "1", None]),
    (("outputs",), None),
    (("scores", "x", "kind"), "machine"),
    (("scores", "x", "system_scores"), [10**400, 1]),
    (("scores", "x"), None),
]


@pytest.mark.parametrize(("place", "value"), CHANGES, ids=str)
def test_footers_that_lie(
    parts: Any, tmp_path: Path, refusal: Refusal, place: tuple[str, ...], value: Any
) -> None:
    about = copy.deepcopy(parts[1])
    inner = about
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = value
    refused(tmp_path, refusal, parts[0], json.dumps(about))


def refused(folder: Path, refusal: Refusal, columns: dict[str, Any], footer: str) -> None:
    path = folder / "x.parquet"
    parquet.write_columns(path, columns, {native.KEY: footer})
    assert refusal(path).startswith(f"{path}: ")


@pytest.mark.parametrize(
    ("column", "cells"),
    [
        ("mqm", None),
        ("mqm", np.array([np.inf] * 6)),
        ("system", ["B"] * 6),
        ("doc", np.arange(6.0)),
        ("ratings:mqm", ["x"] * 6),
        ("ratings:mqm", ["[" * 50_000] * 6),
        ("y", np.arange(6.0)),
    ],
)
def test_columns_that_do_not_fit_the_footer(
    parts: Any, tmp_path: Path, refusal: Refusal, column: str, cells: Any
) -> None:
    columns = {name: c for name, c in parts[0].items() if name != column}
    if cells is not None:
        columns[column] = cells
    refused(tmp_path, refusal, columns, json.dumps(parts[1]))


# Foreign Parquet.

ROWS: dict[str, Any] = {"system": ["A", "B"], "segment": ["1", "1"], "x": [0.5, 0.25]}


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        ([["a"], ["b"]], pl.List(pl.String)),
        ([[1.0], []], pl.List(pl.Float64)),
        ([{"a": 1}, {"a": 2}], pl.Struct({"a": pl.Int64})),
        ([{"a": 1, "b": "x"}, None], pl.Struct({"a": pl.Int64, "b": pl.String})),
        ([[{"a": [1]}], []], pl.List(pl.Struct({"a": pl.List(pl.Int64)}))),
        (["2020-01-01", "2021-01-01"], pl.String),
        ([b"a", b"b"], pl.Binary),
    ],
    ids=str,
)
@pytest.mark.parametrize("first", [True, False])
def test_columns_that_are_no_scores_are_left_out(
    tmp_path: Path, cells: Any, kind: Any, first: bool
) -> None:
    extra = pl.DataFrame({"tags": pl.Series(cells, dtype=kind)})
    frame = pl.DataFrame(ROWS)
    path = tmp_path / "x.parquet"
    pl.concat([extra, frame] if first else [frame, extra], how="horizontal").write_parquet(path)
    es = load(path)
    assert es["x"].values.tolist() == [[0.5], [0.25]]
    assert "tags" not in es.scores


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        (pl.Int8, [1, -128]),
        (pl.UInt64, [0, 2**53]),
        (pl.Int64, [-(2**53), 5]),
        (pl.Float32, [0.5, 3.4028234663852886e38]),
        (pl.Float64, [5e-324, -0.0]),
        (pl.Decimal(18, 2), [Decimal("0.10"), Decimal("-12.34")]),
        (pl.Decimal(38, 28), [Decimal("0.1234567890123456789012345678"), Decimal(1)]),
    ],
    ids=str,
)
def test_types_of_numbers(tmp_path: Path, kind: Any, values: list[Any]) -> None:
    path = tmp_path / "x.parquet"
    pl.DataFrame({**ROWS, "x": pl.Series(values, dtype=kind)}).write_parquet(path)
    found = load(path)["x"].values.ravel()
    assert found.tobytes() == np.array([float(v) for v in values]).tobytes()


@pytest.mark.parametrize("value", [2**53 + 1, -(2**53) - 1, 2**63 - 1, -(2**63)])
def test_integers_that_no_double_holds(tmp_path: Path, refusal: Refusal, value: int) -> None:
    path = tmp_path / "x.parquet"
    pl.DataFrame({**ROWS, "x": [1, value]}).write_parquet(path)
    message = refusal(path)
    assert "x" in message
    assert "2^53" in message


@pytest.mark.parametrize(
    "text", ["", "x", "5", "{}", "[]", "[1, 2, 3]", '["a"]', '["system", "segment", "system"]',
             '["system", "segment", ""]', "[" * 50_000],
)  # fmt: skip
def test_a_list_of_columns_that_is_none(tmp_path: Path, text: str) -> None:
    path = tmp_path / "x.parquet"
    pl.DataFrame(ROWS).write_parquet(path, metadata={"steelyard.columns": text})
    try:
        es = load(path)
    except InputError as error:
        assert str(error).startswith(str(path))  # noqa: PT017
    else:
        assert es["x"].values.tolist() == [[0.5], [0.25]]
