"""What a set says of itself: how much it holds, what is in doubt, what is missing."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import steelyard as sy
from steelyard.data.overview import overview

NAN = float("nan")


def made(**values: object) -> sy.EvalSet:
    tables = {name: np.asarray(own, dtype=float) for name, own in values.items()}
    n, s = next(iter(tables.values()), np.zeros((2, 3))).shape
    segments = sy.Segments(tuple(map(str, range(s))))
    return sy.EvalSet(tuple("ABCD"[:n]), segments, {k: sy.ScoreTable(v) for k, v in tables.items()})


def test_gaps_and_doubtful_directions_are_told():
    told = overview(made(latency=[[1.0, NAN], [3.0, 4.0]], m=[[1.0, 2.0], [3.0, 4.0]])).words()
    assert told.sureness == ("1 score lacks cells, most of all latency (25.0%).",)
    assert told.undecided[0].startswith("'latency' sounds as if lower were better")


@given(arrays(float, (2, 2, 3), elements=st.sampled_from([-1.0, 0.0, 1.0, NAN])))
def test_words_never_fail(values):
    told = overview(made(error=values[0], m=values[1]), "m").words()
    assert 1 <= len(told.brief()) <= 3
    for text in told.sentences():
        assert text.endswith(".")
        assert "nan" not in text
