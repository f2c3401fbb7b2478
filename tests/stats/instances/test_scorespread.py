"""What pairing is worth: against variances written out, and by hand."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.stats.instances.scorespread import (
    pairing_strength,
)

NAN = float("nan")


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
