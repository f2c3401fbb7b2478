"""Battle logs: outcomes as words or numbers, the columns of arenas, weights, units and time."""

from __future__ import annotations

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
from steelyard.formats.judged import battlelogs
from steelyard.formats.judged.battlelogs import LogColumns
from steelyard.formats.reading import read_any

pytestmark = pytest.mark.usefixtures("one_database")
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


def test_words(tmp_path: Path) -> None:
    text = "left,right,outcome\nB,A,left\nA,C,right\nC,B,tie\nA,B,tie (bothbad)\n"
    log = read(written(tmp_path / "x.csv", text))
    assert log.systems == ("A", "B", "C")
    assert log.left.tolist() == [1, 0, 2, 0]
    assert log.right.tolist() == [0, 2, 1, 1]
    assert log.outcome.tolist() == [1.0, 0.0, 0.5, 0.5]
    assert (log.weight, log.time, log.unit, log.units) == (None, None, None, None)


@pytest.mark.parametrize("suffix", ["csv", "jsonl"])
def test_names_of_the_arena(tmp_path: Path, suffix: str) -> None:
    rows = {
        "model_a": ["gpt", "1"],
        "model_b": ["1", "gpt"],
        "winner": ["model_a", "model_b"],
        "question_id": ["7", "8"],
        "tstamp": np.array([1e9, 1.5]),
        "weight": np.array([1.0, 0.0]),
    }
    path = tmp_path / f"x.{suffix}"
    tables.write(path, rows)
    log = read(path)
    assert log.systems == ("1", "gpt")
    assert log.outcome.tolist() == [1.0, 0.0]
    assert log.units == ("7", "8")
    assert log.time is not None
    assert log.time.tolist() == [1e9, 1.5]
    assert log.weight is not None
    assert log.weight.tolist() == [1.0, 0.0]


def test_numbers(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    tables.write(
        path,
        {"left": ["A", "A", "A"], "right": ["B", "B", "B"], "outcome": np.array([1.0, 0.25, 0.0])},
    )
    assert read(path).outcome.tolist() == [1.0, 0.25, 0.0]
    text = "left,right,outcome\nA,B,1\nA,B,0.25\nA,B,0\n"
    assert read(written(tmp_path / "x.csv", text)).outcome.tolist() == [1.0, 0.25, 0.0]


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ("A,A,left", ["'A'", "itself"]),
        ("A,B,win", ["'win'", "left", "tie", "0..1"]),
        ("A,B,", ["outcome"]),
        ("A,B,1.5", ["'1.5'"]),
        ("A,B,-1", ["'-1'"]),
        ("A,B,nan", ["'nan'"]),
        ("A,B,inf", ["'inf'"]),
        (",B,left", ["'left'"]),
        ("A,,left", ["'right'"]),
    ],
)
def test_bad_battles(tmp_path: Path, refusal: Refusal, row: str, words: list[str]) -> None:
    path = written(tmp_path / "x.csv", f"left,right,outcome\nA,B,tie\n{row}\n")
    message = refusal(read_any, path)
    assert message.startswith(f"{path}:3: ")
    for word in words:
        assert word in message


@pytest.mark.parametrize("cell", ["true", "false", "[1]", '{"a": 1}', "null"])
def test_bad_outcomes_in_json(tmp_path: Path, refusal: Refusal, cell: str) -> None:
    rows = [f'{{"left":"A","right":"B","outcome":{x}}}\n' for x in ("1", "0", cell)]
    path = written(tmp_path / "x.jsonl", "".join(rows))
    assert refusal(read_any, path).startswith(f"{path}:3: ")


@pytest.mark.parametrize("weight", ["-1", "x", "", "nan", "inf"])
def test_bad_weights(tmp_path: Path, refusal: Refusal, weight: str) -> None:
    text = f"left,right,outcome,weight\nA,B,tie,1\nA,B,tie,{weight}\n"
    path = written(tmp_path / "x.csv", text)
    assert refusal(read_any, path).startswith(f"{path}:3: ")


def test_two_names_for_one_side(tmp_path: Path, refusal: Refusal) -> None:
    text = "left,model_a,right,outcome\nA,A,B,tie\n"
    message = refusal(read_any, written(tmp_path / "x.csv", text))
    assert "left and model_a" in message


def test_columns_can_be_named(tmp_path: Path, refusal: Refusal) -> None:
    table = tables.read(written(tmp_path / "x.csv", "one,two,vote\nA,B,tie\n"))
    log = battlelogs.read(table, LogColumns("one", "two", "vote"))
    assert log.outcome.tolist() == [0.5]
    message = refusal(battlelogs.read, table, LogColumns("on", "two", "vote"))
    assert "did you mean 'one'?" in message


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
