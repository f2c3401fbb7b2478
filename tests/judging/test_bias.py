"""What sways judges beyond people."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from steelyard.judging.bias import judge_bias


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
