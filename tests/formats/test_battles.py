"""Battle logs: outcomes as words or numbers, columns, weights, units, time; and as counts."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steelyard import BattleLog, save
from steelyard.data.judgements import encode
from steelyard.formats import tables
from steelyard.formats.judged.battle_counts import CountedLog, from_log, read_counts
from steelyard.formats.judged.battles import LogColumns
from steelyard.formats.reading import read_any

Refusal = Callable[..., str]
Fresh = Callable[[], Path]


def written(path: Path, text: str) -> Path:
    path.write_bytes(text.encode())
    return path


def read(path: Path) -> BattleLog:
    form, log, _ = read_any(path)
    assert form == "battle log"
    assert isinstance(log, BattleLog)
    return log


def both_kinds(folder: Path, text: str) -> list[Path]:
    """Write a log as text and as Parquet, which is read through DuckDB."""
    path, parquet = written(folder / "x.csv", text), folder / "x.parquet"
    table = tables.read(path, is_text=lambda _: True)
    tables.write(parquet, {name: list(cells) for name, cells in table.columns.items()})
    return [path, parquet]


def outcomes_of(path: Path, **columns: Any) -> list[float]:
    played = read_counts(path, LogColumns(**columns), in_order=True).played
    assert played is not None
    return list(played.outcome.tolist())


LOG = "left,right,outcome\n"


@pytest.mark.parametrize(
    ("text", "outcomes"),
    [
        (LOG + "X,Y,left\nX,Y,right\nX,Y,tie\nX,Y,tie (bothbad)\n", [1, 0, 0.5, 0.5]),
        (LOG + "X,Y,[[A]]\nX,Y,[[B]]\nX,Y,[[C]]\nX,Y,A>>B\n", [1, 0, 0.5, 1]),
        (LOG + "X,Y,A\nX,Y,B\nX,Y,C\nX,Y,B>A\n", [1, 0, 0.5, 0]),
        (LOG + "X,Y,X\nX,Y,Y\nY,X,X\nY,X,tie\n", [1, 0, 0, 0.5]),
        (LOG + "X,Y,1\nX,Y,2\n", [1, 0]),
        (LOG + "X,Y,1\nX,Y,2\nX,Y,tie\n", [1, 0, 0.5]),
        (LOG + "X,Y,1\nX,Y,-1\nX,Y,0\n", [1, 0, 0.5]),
        (LOG + "X,Y,1\nX,Y,0.25\nX,Y,0\n", [1, 0.25, 0]),
        (LOG + "X,Y,1\nX,Y,0\n", [1, 0]),  # documented as points
        (LOG + "X,Y,win\nX,Y,lose\nX,Y,draw\n", [1, 0, 0.5]),
        (LOG + "A,B,A\nA,C,B\nC,A,A\n", [1, 0, 1]),  # B is outside A, C: sides
        ("model_1,model_2,verdict\nX,Y,A\nX,Y,B\n", [1, 0]),
        ("better,worse\nX,Y\nY,X\n", [1, 1]),
        ("winner,loser\nX,Y\nY,X\n", [1, 1]),
        ("winner,loser,tie\nX,Y,False\nY,X,True\n,,True\nX,X,True\n", [1, 0.5]),
        ("id,left,right,swapped,winner\n1,X,Y,0,A\n1,X,Y,1,B\n2,X,Y,1,model_a\n", [1, 1, 1]),
        ("id,left,right,swapped,winner\n1,X,Y,0,A\n1,Y,X,1,B\n", [1, 0]),  # columns as shown
    ],
)
def test_outcomes_in_many_words(tmp_path: Path, text: str, outcomes: list[float]) -> None:
    for path in both_kinds(tmp_path, text):
        assert outcomes_of(path) == outcomes


@pytest.mark.parametrize(
    ("text", "option", "outcomes"),
    [
        ("left,right,winner\nX,Y,1\nX,Y,0\n", {"words": ("1", "0")}, [1, 0]),
        ("left,right,winner\nX,Y,1\nX,Y,0\n", {"words": ("1", "2", "0")}, [1, 0.5]),
        ("left,right,winner\nA,B,A\nB,A,A\n", {"words": ("names",)}, [1, 0]),
        ("left,right,winner\nA,B,A\nB,A,A\n", {"words": ("A", "B", "C")}, [1, 1]),
        ("left,right,winner\nX,Y,yes\nY,X,no\n", {"words": ("yes", "no")}, [1, 0]),
    ],
)
def test_what_is_open_is_asked(
    tmp_path: Path, refusal: Refusal, text: str, option: dict[str, Any], outcomes: list[float]
) -> None:
    for path in both_kinds(tmp_path, text):
        message = refusal(read_counts, path)
        assert "words=[" in message or "'yes'" in message
        assert outcomes_of(path, **option) == outcomes


def test_swapped_orders_that_contradict_each_other_are_asked(
    tmp_path: Path, refusal: Refusal
) -> None:
    rows = [f"{k},X,Y,{flag},{'AB'[k % 2]}" for k in range(20) for flag in (0, 1)]
    text = "\n".join(["id,left,right,swapped,winner", *rows]) + "\n"
    path = written(tmp_path / "x.csv", text)
    assert 'swapped="column"' in refusal(read_counts, path)
    for how, wins in (("column", 20), ("place", 20)):
        pairs = read_counts(path, LogColumns(swapped=how)).pairs
        assert pairs.wins_i.tolist() == [wins]


def test_names_of_the_arena(tmp_path: Path) -> None:
    rows = {
        "model_a": ["gpt", "1"],
        "model_b": ["1", "gpt"],
        "winner": ["model_a", "model_b"],
        "question_id": ["7", "8"],
        "tstamp": np.array([1e9, 1.5]),
        "weight": np.array([1.0, 0.0]),
    }
    for suffix in ("csv", "jsonl"):
        path = tmp_path / f"x.{suffix}"
        tables.write(path, rows)
        log = read(path)
        assert (log.systems, log.units) == (("1", "gpt"), ("7", "8"))
        assert log.outcome.tolist() == [1.0, 0.0]
        assert log.time is not None
        assert log.time.tolist() == [1e9, 1.5]
        assert log.weight is not None
        assert log.weight.tolist() == [1.0, 0.0]


@pytest.mark.parametrize(
    ("columns", "line"),
    [
        ({"outcome": ["left", "best"]}, 2),
        ({"outcome": np.array([0.5, 1.5])}, 2),
        ({"outcome": np.array([np.nan, 1.0])}, 1),
        ({"right": ["B", "A"]}, 2),
        ({"left": ["A", None]}, 2),
        ({"left": [True, True]}, 1),
        ({"weight": np.array([1.0, -1.0])}, 2),
        ({"weight": np.array([1.0, np.nan])}, 2),
    ],
)
def test_bad_battles_in_parquet(
    tmp_path: Path, refusal: Refusal, columns: dict[str, object], line: int
) -> None:
    good = {"left": ["A", "A"], "right": ["B", "B"], "outcome": ["left", "tie"]}
    path = tmp_path / "x.parquet"
    tables.write(path, good | columns)
    message = refusal(read_counts, path)
    assert message.startswith(f"{path}:{line}: ")
    assert message == refusal(read_any, path)


names = st.sampled_from(["A", "b c", "007", "1", "模型", "a,b", "a\nb", "NaN"])


@st.composite
def logs(draw: st.DrawFn) -> BattleLog:
    n = draw(st.integers(1, 6))

    def column(of: st.SearchStrategy[Any]) -> list[Any]:
        return draw(st.lists(of, min_size=n, max_size=n))

    pairs = column(st.tuples(names, names).filter(lambda pair: pair[0] != pair[1]))
    systems, codes = encode([side for pair in pairs for side in pair])
    outcome = np.array(column(st.sampled_from([0.0, 0.5, 1.0]) | st.floats(0, 1)))
    positive = st.floats(0, 1e12)
    units, unit = encode(column(names))
    known = draw(st.booleans())
    return BattleLog(
        systems,
        codes[::2].copy(),
        codes[1::2].copy(),
        outcome,
        np.array(column(positive)) if draw(st.booleans()) else None,
        np.array(column(positive)) if draw(st.booleans()) else None,
        units if known else None,
        unit if known else None,
    )


@pytest.mark.parametrize("suffix", ["csv", "tsv", "jsonl", "parquet", "jsonl.gz"])
@settings(max_examples=40)
@given(made=logs())
def test_battles_come_back(fresh: Fresh, suffix: str, made: BattleLog) -> None:
    path = fresh() / f"x.{suffix}"
    save(made, path)
    assert read(path).identical(made)


# Logs as counts: through DuckDB they give what the reader of short logs gives, and the same errors.

SUFFIXES = ["csv", "tsv", "jsonl", "parquet", "csv.gz", "jsonl.gz"]


def arrays(log: CountedLog) -> list[Any]:
    units, played = log.units, log.played
    pairs = log.pairs
    held: list[Any] = [pairs.i, pairs.j, pairs.wins_i, pairs.wins_j, pairs.ties, log.unit]
    held += [] if units is None else [units.cells.toarray()]
    held += [] if played is None else [played.left, played.right, played.outcome, played.weight]
    return [array for array in held if array is not None]


def same(one: CountedLog, other: CountedLog) -> None:
    assert (one.systems, one.n_battles, one.n_units) == (
        other.systems, other.n_battles, other.n_units)  # fmt: skip
    for mine, theirs in zip(arrays(one), arrays(other), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-13)


@pytest.mark.parametrize("suffix", SUFFIXES)
@settings(max_examples=8)
@given(made=logs(), by_unit=st.booleans(), in_order=st.booleans())
def test_both_ways_count_alike(
    fresh: Fresh, suffix: str, made: BattleLog, by_unit: bool, in_order: bool
) -> None:
    path = fresh() / f"x.{suffix}"
    save(made, path)
    expected = from_log(made, by_unit=by_unit, in_order=in_order)
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
    made = random_log(5000, 6, n_units)
    path = tmp_path / f"x.{suffix}"
    save(made, path)
    same(read_counts(path), from_log(read_any(path)[1]))


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
    given = LogColumns("one", "two", "vote", None, (("language", "de"),), ("question_id",))
    found = read_counts(path, given)
    assert found.systems == ("007", "7", "A")
    assert (found.n_battles, found.n_units) == (2, 2)
    both = LogColumns("one", "two", "vote")
    assert "prompt and question_id" in refusal(read_counts, path, both)
    none = LogColumns("one", "two", "vote", None, (("language", "fr"),), ("prompt",))
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
    played = read_counts(path, in_order=True).played
    assert played is not None
    assert played.left.tolist() == [2, 0, 0, 1]
    assert played.outcome.tolist() == [0.0, 0.25, 1.0, 0.5]


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
    found = read_counts(path)
    assert (found.form, found.systems) == ("rankings", ("A", "B", "C"))
    assert (found.n_battles, found.n_units) == (7, 2)
    table = found.pairs.tables()
    assert table.wins.tolist() == [[0, 1, 1], [1, 0, 0], [1, 0, 0]]
    assert table.ties.tolist() == [[0, 0, 1], [0, 0, 2], [1, 2, 0]]


def test_names_that_could_steer_sql(tmp_path: Path) -> None:
    """Names of columns and systems are quoted wherever they reach a query."""
    path = tmp_path / "x.parquet"
    odd = "a\"b'; DROP TABLE log; --"
    tables.write(
        path, {odd: [odd, "B"], "two": ["B", "C"], "vote'": ["left", "tie"], "k'": ["x'", "y"]}
    )
    given = LogColumns(odd, "two", "vote'", None, (("k'", "x'"),))
    assert read_counts(path, given).systems == (odd, "B") if odd < "B" else ("B", odd)


@pytest.mark.parametrize("suffix", ["csv", "jsonl.gz", "parquet"])
def test_a_folder_of_logs_is_one_log(tmp_path: Path, suffix: str) -> None:
    """Units may be spread over files; which systems a file has, and their order, is its own."""
    made = random_log(1500, 6, 90)
    save(made, tmp_path / "whole.csv")
    expected = read_counts(tmp_path / "whole.csv", in_order=True)
    folder = tmp_path / "logs"
    folder.mkdir()
    for k, rows in enumerate((slice(0, 1), slice(1, 700), slice(700, 1500))):
        columns = {
            "left": [made.systems[code] for code in made.left[rows]],
            "right": [made.systems[code] for code in made.right[rows]],
            "outcome": made.outcome[rows],
            "unit": [made.units[code] for code in made.unit[rows]],  # type: ignore[index]
        }
        tables.write(folder / f"{k}.{suffix}", columns)
    (folder / "README.md").write_text("no log", encoding="utf-8")
    found = read_counts(folder, in_order=True)
    same(found, expected)
    for mine, theirs in zip(found.units.ahead(), expected.units.ahead(), strict=True):  # type: ignore[union-attr]
        assert np.array_equal(mine, theirs)


def test_what_is_wrong_in_a_folder_is_named(tmp_path: Path, refusal: Refusal) -> None:
    good = "left,right,outcome,unit\nA,B,left,p\n"
    (tmp_path / "1.csv").write_text(good, encoding="utf-8")
    (tmp_path / "2.csv").write_text("left,right,outcome\nA,B,left\n", encoding="utf-8")
    message = refusal(read_counts, tmp_path)
    assert message == f"{tmp_path / '2.csv'}: no column of units, but {tmp_path / '1.csv'} has one"
    (tmp_path / "2.csv").write_text(good + "B,B,tie,q\n", encoding="utf-8")
    assert refusal(read_counts, tmp_path) == f"{tmp_path / '2.csv'}:3: 'B' meets itself"
    (tmp_path / "2.csv").write_text(
        "segmentId,judgeId,system1Id,system2Id,system1rank,system2rank\n1,x,A,B,1,2\n"
    )
    assert "rankings in a folder of logs" in refusal(read_counts, tmp_path)
    (tmp_path / "2.csv").write_text("", encoding="utf-8")
    assert refusal(read_counts, tmp_path) == f"{tmp_path / '2.csv'}: empty file"


WITH_UNIT = "left,right,outcome,unit\nA,B,left,p\n"


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("2.txt", "no log in a folder"),
        ("2.csv.bz2", "no log in a folder"),
        ("1.CSV.gz", "the same log twice"),
        ("1.tsv", "the same log twice"),
        ("more.parquet/", "no log in a folder"),
        ("2.csv -> nowhere", "no log in a folder"),
    ],
)
def test_nothing_in_a_folder_is_left_out(
    tmp_path: Path, refusal: Refusal, name: str, words: str
) -> None:
    (tmp_path / "1.csv").write_text(WITH_UNIT, encoding="utf-8")
    (tmp_path / "_SUCCESS").touch()
    (tmp_path / ".hidden").touch()
    (tmp_path / "1.2.csv").write_text(WITH_UNIT, encoding="utf-8")
    assert read_counts(tmp_path).n_battles == 2
    path = tmp_path / name.partition(" ")[0]
    if name.endswith("/"):
        path.mkdir()
    elif "->" in name:
        path.symlink_to(tmp_path / "nowhere")
    else:
        path.write_text(WITH_UNIT, encoding="utf-8")
    message = refusal(read_counts, tmp_path)
    assert message.startswith(f"{path}: ") or path.name == "1.CSV.gz"
    assert words in message


@pytest.mark.parametrize("odd", ["a[b]c", "*", "what?", "it's"])
def test_odd_names_of_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, odd: str) -> None:
    made = random_log(1500, 4, 60)
    folder = tmp_path / odd
    folder.mkdir()
    (tmp_path / "ab").mkdir()  # what a pattern would match
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    path = folder / "x.parquet"
    save(made, path)
    same(read_counts(path), from_log(made))


def test_what_selects_rows_is_no_part_of_a_battle(tmp_path: Path, refusal: Refusal) -> None:
    path = tmp_path / "x.csv"
    path.write_text(WITH_UNIT + "A,B,left,q\n", encoding="utf-8")
    named = LogColumns(where=(("unit", "q"),), unit="unit")
    assert "column 'unit' selects rows" in refusal(read_counts, path, named)
    assert read_counts(path, LogColumns(where=(("unit", "q"),))).n_battles == 1


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_what_battles_share_can_be_named(tmp_path: Path, refusal: Refusal, suffix: str) -> None:
    path = tmp_path / f"x.{suffix}"
    columns = {
        "left": ["A", "B", "A"],
        "right": ["B", "C", "C"],
        "outcome": ["left", "tie", "right"],
        "prompt": ["1", "2", "3"],
        "user": ["u", "v", "u"],
    }
    tables.write(path, columns)
    assert read_counts(path).n_units == 3
    assert read_counts(path, LogColumns(unit="user")).n_units == 2
    assert "did you mean 'user'?" in refusal(read_counts, path, LogColumns(unit="usr"))
    assert "no column 'left'" in refusal(read_counts, path, LogColumns(unit="left"))
    tables.write(path, columns | {"user": ["u", "", "u"]})
    message = refusal(read_counts, path, LogColumns(unit="user"))
    line = 3 if suffix == "csv" else 2
    assert message.startswith(f"{path}:{line}: column 'user' is empty")


def test_dates_in_parquet_are_times_and_units(tmp_path: Path) -> None:
    import duckdb

    path = tmp_path / "x.parquet"
    rows = "('A', 'B', 1, DATE '2024-02-01'), ('B', 'C', 0, DATE '2024-01-01')"
    sql = f'SELECT *, time AS day FROM (VALUES {rows}) t("left", "right", outcome, time)'
    duckdb.connect().execute(f"COPY ({sql}) TO '{path}'")
    counted = read_counts(path, LogColumns(unit="day"), in_order=True)
    assert counted.played is not None
    assert counted.played.left.tolist() == [1, 0]
    assert counted.n_units == 2


def test_what_is_not_there_is_named(tmp_path: Path, refusal: Refusal) -> None:
    assert "folder without a log: expected files csv" in refusal(read_counts, tmp_path)
    for suffix in ("csv", "parquet"):
        assert "no such file" in refusal(read_counts, tmp_path / f"x.{suffix}")
    (tmp_path / "x.csv").write_text(WITH_UNIT, encoding="utf-8")
    columns = LogColumns(where=(("lang", "de"),))
    assert "no column 'lang'" in refusal(read_counts, tmp_path / "x.csv", columns)


def test_a_json_list_is_a_log_too(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text('[{"left":"A","right":"B","outcome":"left"}]')
    assert all(read_counts(log).systems == ("A", "B") for log in (path, [path, path]))
