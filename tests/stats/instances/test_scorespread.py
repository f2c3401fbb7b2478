"""How scores spread: against pandas, which the paper's tool computes it with, and by hand."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.core.errors import ShapeError
from steelyard.stats.instances.scorespread import (
    box_outliers,
    pairing_strength,
    score_spread,
    win_shares,
)

NAN = float("nan")


def naive_share(values: np.ndarray) -> float:
    first, third = np.percentile(values, 25), np.percentile(values, 75)
    reach = 1.5 * (third - first)
    return float(((values < first - reach) | (values > third + reach)).mean())


@given(st.integers(0, 10_000), st.booleans())
def test_diagnostics_of_the_paper_s_tool(seed, tied):
    rng = np.random.default_rng(seed)
    scores = rng.standard_cauchy((4, 25))
    scores = np.round(scores) if tied else scores
    frame = pd.DataFrame(scores.T)
    found = score_spread(scores)
    assert found.outliers.share == pytest.approx(naive_share(scores.ravel()))
    for row, own in zip(scores, found.by_system, strict=True):
        assert own.share == pytest.approx(naive_share(row))
    assert found.within.mean() == pytest.approx(frame.std(axis=1).mean())
    assert found.ranks == pytest.approx(frame.rank(axis=1).std(axis=0).to_numpy())
    assert found.between == pytest.approx(frame.mean(axis=1).std())


@given(st.integers(0, 10_000))
def test_missing_cells_are_left_out_as_pandas_does(seed):
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(4, 20))
    scores[rng.random(scores.shape) < 0.2] = NAN
    frame = pd.DataFrame(scores.T)
    found = score_spread(scores)
    assert np.nanmean(found.within) == pytest.approx(frame.std(axis=1).mean())
    assert found.ranks == pytest.approx(frame.rank(axis=1).std(axis=0).to_numpy(), nan_ok=True)
    assert found.between == pytest.approx(frame.mean(axis=1).std())


@given(st.integers(0, 10_000))
def test_what_pairing_is_worth(seed):
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(4, 15)) + 2 * rng.normal(size=15) + 100
    scores[rng.random(scores.shape) < 0.1] = NAN
    scores[:, :3] = rng.normal(100, 2, (4, 3))
    found = pairing_strength(scores)
    for k, (i, j) in enumerate(combinations(range(4), 2)):
        both = ~np.isnan(scores[i] + scores[j])
        a, b = scores[i, both], scores[j, both]
        assert found.correlation[k] == pytest.approx(np.corrcoef(a, b)[0, 1], abs=1e-9)
        gain = (a.var(ddof=1) + b.var(ddof=1)) / (a - b).var(ddof=1)
        assert found.gain[k] == pytest.approx(gain, rel=1e-6)


def test_pairing_by_hand():
    same = np.array([1.0, 2, 3])
    found = pairing_strength(np.stack([same, same + 5]))
    assert found.correlation.tolist() == pytest.approx([1.0])
    assert np.isinf(found.gain).all()  # a constant difference: any pair of segments shows it
    flat = pairing_strength(np.stack([same, np.full(3, 2.0)]))
    assert np.isnan(flat.correlation).all()
    assert flat.gain.tolist() == pytest.approx([1.0])
    nothing = pairing_strength(np.ones((2, 3)))
    assert np.isnan(nothing.gain).all()
    assert np.isnan(nothing.middle()).all()
    assert np.isnan(pairing_strength(np.array([[1.0, NAN], [NAN, 2.0]])).gain).all()
    opposed = pairing_strength(np.stack([same, -same]))
    assert opposed.gain.tolist() == pytest.approx([0.5])  # pairing can also cost


def test_outliers_by_hand():
    assert box_outliers(np.array([])).n == 0
    assert np.isnan(box_outliers(np.array([NAN])).share)
    found = box_outliers(np.array([-50.0, 1, 2, 3, 4, 5, 60]))
    assert (found.low, found.high, found.n) == (1, 1, 7)
    assert box_outliers(np.array([1.0, 1, 1, 1, 2])).high == 1


def test_win_shares_and_shapes():
    assert win_shares(np.array([[1.0], [NAN]])).tolist() == [[pytest.approx(NAN, nan_ok=True)]] * 2
    with pytest.raises(ShapeError):
        score_spread(np.ones(3))


def test_the_example_of_the_paper_s_tool(shared):
    frame = pd.read_csv(shared / "bt-eval" / "pairformance-dialogue-example.csv")
    scores = frame.select_dtypes("number").filter(regex="^M").to_numpy().T
    found = score_spread(scores)
    assert found.outliers.share == pytest.approx(naive_share(scores.ravel()))
    assert found.within.mean() == pytest.approx(pd.DataFrame(scores.T).std(axis=1).mean())
