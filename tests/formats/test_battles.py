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
from steelyard.formats.judged import battle_counts
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
    played = battle_counts.read_counts(path, LogColumns(**columns), in_order=True).played
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
        (LOG + "X,Y,1\nX,Y,2\nX,Y,0\n", [1, 0, 0.5]),
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
        message = refusal(battle_counts.read_counts, path)
        assert "words=[" in message or "'yes'" in message
        assert outcomes_of(path, **option) == outcomes


def test_swapped_orders_that_contradict_each_other_are_asked(
    tmp_path: Path, refusal: Refusal
) -> None:
    rows = [f"{k},X,Y,{flag},{'AB'[k % 2]}" for k in range(20) for flag in (0, 1)]
    text = "\n".join(["id,left,right,swapped,winner", *rows]) + "\n"
    path = written(tmp_path / "x.csv", text)
    assert 'swapped="column"' in refusal(battle_counts.read_counts, path)
    for how, wins in (("column", 20), ("place", 20)):
        pairs = battle_counts.read_counts(path, LogColumns(swapped=how)).pairs
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
    message = refusal(battle_counts.read_counts, path)
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
