"""What sways judges beyond people."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from steelyard.core.errors import UsageError
from steelyard.judging.bias import judge_bias


def test_the_arena_says_who_picks_the_left(shared):
    found = judge_bias(shared / "judges/arena-judges/battles.csv.gz", human=["human"],
                       judges=["gpt-3.5-turbo"], own={"gpt-3.5-turbo": "gpt-3.5*"})  # fmt: skip
    (one,) = found.judges
    assert one.position is not None
    assert one.position.bias.value == pytest.approx(0.724, abs=5e-4)
    effects = {effect.name: effect.estimate.value for effect in one.effects}
    assert effects["constant"] == pytest.approx(0.3609, abs=6e-5)
    assert effects["exaggeration"] == pytest.approx(-0.1535, abs=6e-5)
    assert effects["own family"] == pytest.approx(-0.0080, abs=6e-5)


def test_bias_is_what_a_judge_adds_to_people():
    rng = np.random.default_rng(0)
    long = rng.normal(size=600)
    people = long + rng.normal(size=600)  # people like length, too
    frame = pl.DataFrame({"item": range(600), "length": long, "people": people,
                              "fair": people + rng.normal(size=600),
                              "swayed": people + 0.5 * long + rng.normal(size=600)})  # fmt: skip
    fair, swayed = judge_bias(frame, human=["people"]).judges
    assert abs(fair.effects[1].estimate.value) < 0.15
    assert swayed.effects[1].estimate.value == pytest.approx(0.5, abs=0.15)
    assert swayed.effects[1].p_adjusted < 1e-6


def test_slices_are_compared_with_the_rest_and_corrected_for_being_many():
    rng = np.random.default_rng(1)
    truth = rng.integers(0, 2, 900)
    words = np.array(["en", "de", "zh"])[np.arange(900) % 3]
    wrong = rng.random(900) < np.where(words == "zh", 0.45, 0.1)
    frame = pl.DataFrame({"item": range(900), "people": truth, "language": words,
                              "gpt": np.where(wrong, 1 - truth, truth)})  # fmt: skip
    report = judge_bias(frame, human=["people"])
    own = {one.value: one for one in report.judges[0].slices}
    assert set(own) == {"en", "de", "zh"}
    right = (~wrong)[words == "zh"]
    assert own["zh"].agreement.value == pytest.approx(right.mean())
    assert own["zh"].beyond_the_rest.value == pytest.approx(
        right.mean() - (~wrong)[words != "zh"].mean()
    )
    assert own["zh"].p_adjusted < 1e-6
    assert own["zh"].beyond_the_rest.high < 0
    assert [table.title for table in report.tables()][1] == "Agreement by slice"
    with pytest.raises(UsageError, match="by: no column 'lang'"):
        judge_bias(frame, human=["people"], by=["lang"])


def test_no_slice_differs_by_chance_more_often_than_said():
    rng = np.random.default_rng(2)
    alarms = 0
    for _ in range(200):
        truth = rng.integers(0, 2, 200)
        said = np.where(rng.random(200) < 0.85, truth, 1 - truth)
        frame = pl.DataFrame({"item": range(200), "people": truth, "gpt": said,
                                  "set": rng.choice(["a", "b", "c", "d"], 200)})  # fmt: skip
        own = judge_bias(frame, human=["people"]).judges[0].slices
        alarms += any(one.p_adjusted < 0.05 for one in own)
    assert alarms <= 20
