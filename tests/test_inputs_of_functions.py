"""Functions take what ``load`` takes: frames, paths, several of them; what they can't is told."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest

import steelyard as sy
from steelyard.core.errors import SteelyardError
from steelyard.core.table import dumps
from steelyard.demo import embedded


@pytest.fixture
def frame() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    rows = [(system, segment) for system in "ABC" for segment in range(30)]
    found = pd.DataFrame(rows, columns=["system", "segment"])
    found["people"] = rng.normal(size=len(found)) + (found["system"] == "A")
    found["m"] = found["people"] + rng.normal(size=len(found))
    return found


def test_a_frame_is_compared_as_the_set_that_it_is_loaded_as(frame):
    loaded = sy.compare(sy.load(frame), "m", n_bootstrap=50).to_dict()
    assert dumps(sy.compare(frame, "m", n_bootstrap=50).to_dict()) == dumps(loaded)
    assert sy.compare(pl.from_pandas(frame), "m", n_bootstrap=50).ranking("mean")[0] == "A"


def test_several_frames_and_paths_are_joined(frame, tmp_path):
    keys = ["system", "segment"]
    frame[[*keys, "m"]].to_csv(tmp_path / "metric.csv", index=False)
    parts = [frame[[*keys, "people"]], tmp_path / "metric.csv"]
    joined = sy.meta_evaluate(parts, "people", by="pa", n_bootstrap=50)
    whole = sy.meta_evaluate(frame, "people", by="pa", n_bootstrap=50)
    assert joined.values("pa") == whole.values("pa")


def test_battles_come_from_a_frame():
    rows = [("A", "B", "left"), ("B", "C", "right"), ("A", "C", "tie"), ("A", "B", "left")]
    frame = pd.DataFrame(rows, columns=["left", "right", "outcome"])
    found = sy.compare_battles(frame, intervals=None, by="mean")
    assert found.n_battles == 4
    other = frame.rename(columns={"left": "one", "right": "two", "outcome": "who"})
    columns = {"left": "one", "right": "two", "outcome": "who"}
    named = sy.compare_battles(other, columns=columns, intervals=None, by="mean")
    assert named.aggregations["mean"].scores.tolist() == found.aggregations["mean"].scores.tolist()
    assert found.aggregations["mean"].scores.tolist() == [2.5 / 3, 0.0, 0.75]


def test_a_frame_without_battles_is_refused(frame):
    with pytest.raises(SteelyardError, match="expected battles"):
        sy.compare_battles(frame[["system", "segment", "m"]])


def test_raw_judgements_say_which_function_takes_them(tmp_path):
    with pytest.raises(SteelyardError, match=r"not scores; sy\.human_scores takes them"):
        sy.load(embedded.RATINGS)
    arena = tmp_path / "arena.csv"
    arena.write_text("model_a,model_b,winner\nx,y,model_a\ny,z,tie\n", encoding="utf-8")
    with pytest.raises(SteelyardError, match=r"not scores; sy\.compare_battles takes them"):
        sy.load(arena)
