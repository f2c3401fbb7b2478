"""Logs counted out of core give what the reader of short logs gives, and the same errors."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.formats.test_battles import logs

from steelyard import BattleLog, save
from steelyard.errors import InputError, UsageError
from steelyard.formats import battlecounts, bigtables, duck, tables
from steelyard.formats.battlecounts import CountedLog, LogColumns, from_log, read_counts
from steelyard.formats.battleparts import UnitParts
from steelyard.formats.load import read_any
from steelyard.stats.battles import UnitCounts

Refusal = Callable[..., str]
Fresh = Callable[[], Path]
SUFFIXES = ["csv", "tsv", "jsonl", "parquet", "csv.gz", "jsonl.gz"]


@pytest.fixture
def long(monkeypatch: pytest.MonkeyPatch) -> None:
    """Count every file as if it were long."""
    monkeypatch.setattr(battlecounts, "_LONG", 0)


def counted_long(path: Path, **options: Any) -> CountedLog:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(battlecounts, "_LONG", 0)
        return read_counts(path, **options)


def same(one: CountedLog, other: CountedLog) -> None:
    assert (one.systems, one.n_battles, one.n_units) == (
        other.systems,
        other.n_battles,
        other.n_units,
    )
    for name in ("i", "j"):
        np.testing.assert_array_equal(getattr(one.pairs, name), getattr(other.pairs, name))
    for name in ("wins_i", "wins_j", "ties"):
        mine, theirs = getattr(one.pairs, name), getattr(other.pairs, name)
        np.testing.assert_allclose(mine, theirs, rtol=1e-13)
    assert (one.units is None) == (other.units is None)
    if isinstance(one.units, UnitCounts) and isinstance(other.units, UnitCounts):
        assert one.units.cells.shape == other.units.cells.shape
        mine, theirs = one.units.cells.toarray(), other.units.cells.toarray()
        np.testing.assert_allclose(mine, theirs, rtol=1e-13)
    assert (one.played is None) == (other.played is None)
    if one.played is not None and other.played is not None:
        for name in ("left", "right", "outcome"):
            mine, theirs = getattr(one.played, name), getattr(other.played, name)
            np.testing.assert_array_equal(mine, theirs)
        if one.played.weight is not None or other.played.weight is not None:
            np.testing.assert_array_equal(one.played.weight, other.played.weight)
    if one.unit is not None or other.unit is not None:
        np.testing.assert_array_equal(one.unit, other.unit)


@pytest.mark.parametrize("suffix", SUFFIXES)
@settings(max_examples=12)
@given(made=logs(), by_unit=st.booleans(), in_order=st.booleans())
def test_both_ways_count_alike(
    fresh: Fresh, suffix: str, made: BattleLog, by_unit: bool, in_order: bool
) -> None:
    path = fresh() / f"x.{suffix}"
    save(made, path)
    expected = from_log(made, by_unit=by_unit, in_order=in_order)
    same(counted_long(path, by_unit=by_unit, in_order=in_order), expected)
    same(read_counts(path, by_unit=by_unit, in_order=in_order), expected)


def random_log(size: int, n: int, n_units: int, seed: int = 0) -> BattleLog:
    rng = np.random.default_rng(seed)
    left = rng.integers(0, n, size).astype(np.int32)
    right = ((left + rng.integers(1, n, size)) % n).astype(np.int32)
    units = tuple(sorted(f"p{k}" for k in range(n_units)))
    unit = rng.integers(0, n_units, size).astype(np.int32)
    outcome = rng.choice([0.0, 0.5, 1.0], size)
    names = tuple(f"s{k}" for k in range(n))
    return BattleLog(names, left, right, outcome, units=units, unit=unit)


@pytest.mark.parametrize("n_units", [2, 4000])
@pytest.mark.parametrize("suffix", ["parquet", "csv"])
def test_a_longer_log(tmp_path: Path, suffix: str, n_units: int) -> None:
    """Few units are counted in SQL, many are fetched battle by battle."""
    made = random_log(5000, 6, n_units)
    path = tmp_path / f"x.{suffix}"
    save(made, path)
    same(counted_long(path), from_log(read_any(path)[1]))


BAD = [
    "A,A,left,1,p",
    "A,B,win,1,p",
    "A,B,,1,p",
    "A,B,1.5,1,p",
    "A,B,-1,1,p",
    "A,B,nan,1,p",
    "A,B,inf,1,p",
    ",B,left,1,p",
    "A,,left,1,p",
    "A,B,left,-1,p",
    "A,B,left,x,p",
    "A,B,left,,p",
    "A,B,left,nan,p",
    "A,B,left,inf,p",
    "A,B,left,1,",
]


@pytest.mark.usefixtures("long")
@pytest.mark.parametrize("bad", BAD)
@pytest.mark.parametrize("suffix", ["csv", "tsv", "csv.gz", "jsonl"])
def test_errors_are_those_of_short_logs(
    tmp_path: Path, refusal: Refusal, suffix: str, bad: str
) -> None:
    header = ["left", "right", "outcome", "weight", "prompt"]
    rows = [line.split(",") for line in ("A,B,tie,1,p", "B,C,0.25,2,p", bad, "A,C,left,1,q")]
    path = tmp_path / f"x.{suffix}"
    if suffix == "jsonl":
        tables.write(path, {name: [row[k] for row in rows] for k, name in enumerate(header)})
    else:
        mark = "\t" if suffix == "tsv" else ","
        text = "".join(mark.join(row) + "\n" for row in [header, *rows])
        path.write_bytes(gzip.compress(text.encode()) if suffix.endswith("gz") else text.encode())
    message = refusal(read_counts, path)
    assert message == refusal(read_any, path)
    assert message.startswith(f"{path}:{3 if suffix == 'jsonl' else 4}: ")


@pytest.mark.usefixtures("long")
@pytest.mark.parametrize("cell", ["true", "false", "[1]", '{"a": 1}', "null", "2", '"x"'])
def test_bad_outcomes_in_json(tmp_path: Path, refusal: Refusal, cell: str) -> None:
    rows = [f'{{"left":"A","right":"B","outcome":{x}}}\n' for x in ("1", "0", cell)]
    path = tmp_path / "x.jsonl"
    path.write_text("\n" + "".join(rows), encoding="utf-8")
    message = refusal(read_counts, path)
    assert message == refusal(read_any, path)
    assert message.startswith(f"{path}:4: ")


@pytest.mark.parametrize(
    ("columns", "place"),
    [
        ({"outcome": ["left", "win"]}, 2),
        ({"outcome": np.array([0.5, 1.5])}, 2),
        ({"outcome": np.array([np.nan, 1.0])}, 1),
        ({"right": ["B", "A"]}, 2),
        ({"left": ["A", None]}, 2),
        ({"weight": np.array([1.0, -1.0])}, 2),
        ({"weight": np.array([1.0, np.nan])}, 2),
    ],
)
def test_errors_in_parquet(
    tmp_path: Path, refusal: Refusal, columns: dict[str, object], place: int
) -> None:
    good = {"left": ["A", "A"], "right": ["B", "B"], "outcome": ["left", "tie"]}
    path = tmp_path / "x.parquet"
    tables.write(path, good | columns)
    message = refusal(read_counts, path)
    assert message == refusal(read_any, path)
    assert message.startswith(f"{path}:{place}: ")


def test_names_that_are_no_names_in_parquet(tmp_path: Path, refusal: Refusal) -> None:
    path = tmp_path / "x.parquet"
    tables.write(path, {"left": [True], "right": ["B"], "outcome": ["left"]})
    assert refusal(read_counts, path).startswith(f"{path}:1: column 'left' is empty")


@pytest.mark.usefixtures("long")
@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("left,right,outcome\nA,B,left\nA,B\n", ":3: 2 cells, expected 3"),
        ("left,right,outcome\n", "no rows"),
        ('left,right,outcome\nA,B,left\n"A,B,left\n', ":3: not valid CSV"),
        ("", "empty file"),
        ("left,left,outcome\nA,B,left\n", "occurs twice"),
        ("a,right,outcome\nA,B,left\n", "no column 'left'"),
        ("left,model_a,right,outcome\nA,A,B,left\n", "left and model_a"),
    ],
)
def test_broken_tables(tmp_path: Path, refusal: Refusal, text: str, words: str) -> None:
    path = tmp_path / "x.csv"
    path.write_text(text, encoding="utf-8")
    assert words in refusal(read_counts, path)


@pytest.mark.usefixtures("long")
@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"left":"A","right":"B","outcome":1}\n{"left": }\n', ":2: not valid JSON"),
        ('{"left":"A","right":"B","outcome":1}\n[1]\n', ":2: expected a JSON object"),
    ],
)
def test_broken_json(
    tmp_path: Path, refusal: Refusal, monkeypatch: pytest.MonkeyPatch, text: str, words: str
) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text(text, encoding="utf-8")
    assert words in refusal(read_counts, path)
    monkeypatch.setattr(bigtables, "_HEAD", 10)  # what is wrong is found by DuckDB
    assert words in refusal(read_counts, path)


@pytest.mark.usefixtures("long")
def test_bytes_that_are_no_text(
    tmp_path: Path, refusal: Refusal, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "x.csv"
    path.write_bytes(b"left,right,outcome\nA,B,left\nA,\xff,left\n")
    assert refusal(read_counts, path).startswith(f"{path}:3: byte 0xff")
    monkeypatch.setattr(bigtables, "_HEAD", 10)
    assert refusal(read_counts, path).startswith(f"{path}:3: byte 0xff")


@pytest.mark.usefixtures("long")
def test_quotes_and_lines_within_cells(tmp_path: Path, refusal: Refusal) -> None:
    path = tmp_path / "x.csv"
    path.write_text('left,text,right,outcome\n"A, ""x""","a\nb",B,left\n\nB,y,C,tie\nB,y,B,tie\n')
    assert refusal(read_counts, path).startswith(f"{path}:6: 'B' meets itself")
    path.write_text('left,text,right,outcome\n"A, ""x""","a\nb",B,left\n\nB,y,C,tie\n')
    assert read_counts(path).systems == ('A, "x"', "B", "C")


@pytest.mark.usefixtures("long")
def test_tabs_with_stray_quotes(tmp_path: Path) -> None:
    path = tmp_path / "x.tsv"
    path.write_text('left\tright\toutcome\n"A\tB\tleft\nB\tC\ttie\n', encoding="utf-8")
    assert read_counts(path).systems == ('"A', "B", "C")


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_named_columns_rows_and_what_is_skipped(
    tmp_path: Path, suffix: str, refusal: Refusal
) -> None:
    path = tmp_path / f"x.{suffix}"
    columns = {
        "one": ["007", "A", "B"],
        "two": ["A", "7", "A"],
        "vote": ["left", "tie", "right"],
        "language": ["de", "de", "en"],
        "prompt": ["1", "2", "2"],
        "question_id": ["1", "1", "2"],
    }
    tables.write(path, columns)
    given = LogColumns("one", "two", "vote", (("language", "de"),), ("question_id",))
    for limit in (0, 10**9):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(battlecounts, "_LONG", limit)
            found = read_counts(path, given)
            assert found.systems == ("007", "7", "A")
            assert (found.n_battles, found.n_units) == (2, 2)
            both = LogColumns("one", "two", "vote")
            assert "prompt and question_id" in refusal(read_counts, path, both)
            none = LogColumns("one", "two", "vote", (("language", "fr"),), ("prompt",))
            assert "no row has language=fr" in refusal(read_counts, path, none)
            missing = LogColumns("one", "two", "vote", ignore=("x",))
            assert "no column 'x'" in refusal(read_counts, path, missing)
            wrong = LogColumns("on", "two", "vote", ignore=("prompt",))
            assert "did you mean 'one'?" in refusal(read_counts, path, wrong)


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet"])
def test_battles_are_played_in_time(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"x.{suffix}"
    columns = {
        "left": ["A", "B", "C", "A"],
        "right": ["B", "C", "A", "C"],
        "outcome": ["left", "tie", "right", "0.25"],
        "time": np.array([3.0, np.nan, 1.0, 1.0]),
    }
    tables.write(path, columns)
    for limit in (0, 10**9):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(battlecounts, "_LONG", limit)
            played = read_counts(path, in_order=True).played
        assert played is not None
        assert played.left.tolist() == [2, 0, 0, 1]
        assert played.outcome.tolist() == [0.0, 0.25, 1.0, 0.5]


def test_dates_in_parquet_are_times(tmp_path: Path) -> None:
    import duckdb

    path = tmp_path / "x.parquet"
    rows = "('A', 'B', 1, DATE '2024-02-01'), ('B', 'C', 0, DATE '2024-01-01')"
    sql = f'SELECT * FROM (VALUES {rows}) t("left", "right", outcome, time)'
    duckdb.connect().execute(f"COPY ({sql}) TO '{path}'")
    played = read_counts(path, in_order=True).played
    assert played is not None
    assert played.left.tolist() == [1, 0]


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet"])
def test_rankings_are_battles(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"x.{suffix}"
    columns = {
        "segmentId": ["1", "1", "2"],
        "judgeId": ["x", "y", "x"],
        "system1Id": ["A", "A", "B"],
        "system2Id": ["B", "C", "C"],
        "system3Id": ["C", None, "A"],
        "system1rank": np.array([1.0, 2.0, 1.0]),
        "system2rank": np.array([2.0, 2.0, 1.0]),
        "system3rank": np.array([2.0, np.nan, 3.0]),
    }
    tables.write(path, columns)
    for limit in (0, 10**9):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(battlecounts, "_LONG", limit)
            found = read_counts(path)
        assert (found.form, found.systems) == ("rankings", ("A", "B", "C"))
        assert (found.n_battles, found.n_units) == (7, 2)
        table = found.pairs.tables()
        assert table.wins.tolist() == [[0, 1, 1], [1, 0, 0], [1, 0, 0]]
        assert table.ties.tolist() == [[0, 0, 1], [0, 0, 2], [1, 2, 0]]


def test_folders_and_nothing(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="folder"):
        read_counts(tmp_path)
    with pytest.raises(InputError, match="no such file"):
        read_counts(tmp_path / "x.csv")
    with pytest.raises(InputError, match="no such file"):
        read_counts(tmp_path / "x.parquet")


def test_names_that_could_steer_sql(tmp_path: Path) -> None:
    """Names of columns and systems are quoted wherever they reach a query."""
    path = tmp_path / "x.parquet"
    odd = "a\"b'; DROP TABLE log; --"
    tables.write(
        path, {odd: [odd, "B"], "two": ["B", "C"], "vote'": ["left", "tie"], "k'": ["x'", "y"]}
    )
    given = LogColumns(odd, "two", "vote'", (("k'", "x'"),))
    assert read_counts(path, given).systems == (odd, "B") if odd < "B" else ("B", odd)


def test_unknown_columns_are_named(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("left,right,outcome\nA,B,tie\n", encoding="utf-8")
    with pytest.raises(UsageError, match="no column 'lang'"):
        read_counts(path, LogColumns(where=(("lang", "de"),)))


def test_units_in_parts_are_the_same_units(tmp_path, monkeypatch):
    rng = np.random.default_rng(3)
    left = rng.integers(0, 5, 600)
    right = (left + rng.integers(1, 5, 600)) % 5
    outcome = rng.choice(["left", "right", "tie"], 600)
    unit = rng.integers(0, 80, 600)
    path = tmp_path / "log.parquet"
    rows = ", ".join(
        f"('s{a}', 's{b}', '{o}', 'u{u}')"
        for a, b, o, u in zip(left, right, outcome, unit, strict=True)
    )
    with duck.connect() as connection:
        connection.execute(
            f'COPY (SELECT * FROM (VALUES {rows}) AS t("left", "right", outcome, unit)) '
            f"TO '{path}' (FORMAT parquet)"
        )
    whole = read_counts(path)
    monkeypatch.setattr(battlecounts, "_PARTED", 100)
    monkeypatch.setattr(battlecounts, "_PART", 90)
    parted = read_counts(path)
    assert isinstance(whole.units, UnitCounts)
    assert isinstance(parted.units, UnitParts)
    assert len(parted.units._parts) == 7
    assert parted.n_units == whole.n_units == len(set(unit.tolist()))
    for name in ("i", "j", "wins_i", "wins_j", "ties"):
        assert np.array_equal(getattr(parted.pairs, name), getattr(whole.pairs, name))
    for mine, theirs in zip(parted.units.ahead(), whole.units.ahead(), strict=True):
        assert np.array_equal(mine, theirs)
    # Resamples: as many tables as asked for, the same for any step, and with the same spread.
    drawn = [
        np.concatenate([t.wins for t in parted.units.tables(4000, k, np.random.default_rng(1))])
        for k in (4000, 900)
    ]
    assert np.array_equal(drawn[0], drawn[1])
    assert np.allclose(drawn[0].mean(axis=0), whole.pairs.tables().wins, atol=0.6)
    # The variance of a sum of Poisson weights of mean 1 is the sum of squares of what they weigh.
    squares = whole.units.cells.multiply(whole.units.cells).sum(axis=1)[: len(whole.pairs.i)]
    spread = drawn[0].var(axis=0)[whole.pairs.i, whole.pairs.j]
    assert np.allclose(spread, squares, rtol=0.12)
    folder = parted.units._folder
    assert folder.is_dir()
    del parted
    assert not folder.exists()
