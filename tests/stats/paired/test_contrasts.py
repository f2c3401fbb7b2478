"""Whether differences depend on the kind of segments: against loops, Welch and chance."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import ttest_ind

from steelyard.stats.arrays import Counts, Floats
from steelyard.stats.paired.clustered import mean_error
from steelyard.stats.paired.contrasts import contrast


def example(seed: int = 0) -> tuple[Floats, Counts, Counts]:
    rng = np.random.default_rng(seed)
    units = np.repeat(np.arange(8), [1, 3, 2, 4, 2, 1, 3, 2])
    kinds = (units % 3 == 0).astype(np.int64) + (units % 3 == 1) * 2
    return rng.normal(size=(3, len(units))), kinds, units


def naive(scores: Floats, kinds: Counts) -> tuple[list[list[float]], list[list[float]]]:
    """Leads over the mean of all, in a kind and elsewhere, one number at a time; Welch's errors."""
    gains, statistics = [], []
    for i in range(len(scores)):
        lead = [scores[i, s] - scores[:, s].mean() for s in range(scores.shape[1])]
        own, ts = [], []
        for kind in range(int(kinds.max()) + 1):
            inside = [x for x, k in zip(lead, kinds, strict=True) if k == kind]
            outside = [x for x, k in zip(lead, kinds, strict=True) if k != kind]
            own.append(float(np.mean(inside) - np.mean(outside)))
            ts.append(float(ttest_ind(inside, outside, equal_var=False).statistic))
        gains.append(own)
        statistics.append(ts)
    return gains, statistics


def test_a_contrast_of_single_segments_is_welchs():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(1, 30))
    long = np.arange(30) < 12
    found = contrast(x, long, ~long, np.arange(30))
    welch = ttest_ind(x[0, long], x[0, ~long], equal_var=False)
    assert found.difference[0] / found.error[0] == pytest.approx(welch.statistic)
    assert found.freedom[0] == 11  # the fewer of both, which is careful


def test_a_contrast_of_units_apart_adds_two_errors():
    scores, _, units = example()
    long = units < 4
    found = contrast(scores, long, ~long, units)
    parts = [mean_error(scores[:, own], units[own]) for own in (long, ~long)]
    assert found.error == pytest.approx(np.hypot(parts[0].error, parts[1].error))
    assert found.difference == pytest.approx(parts[0].mean - parts[1].mean)


def test_what_a_unit_shares_cancels_in_a_contrast():
    rng = np.random.default_rng(1)
    units = np.repeat(np.arange(30), 2)
    long = np.tile([True, False], 30)
    x = 10 * rng.normal(size=30)[units][None] + rng.normal(size=(1, 60))
    found = contrast(x, long, ~long, units)
    alone = contrast(x, long, ~long, np.arange(60))
    assert found.error[0] < alone.error[0] / 3
    gaps = mean_error((x[:, long] - x[:, ~long]), np.arange(30))
    assert found.error[0] == pytest.approx(gaps.error[0])


def test_gaps_and_empty_kinds_of_a_contrast():
    x = np.array([[1.0, np.nan, 3.0, 4.0], [np.nan] * 4])
    long = np.array([True, True, False, False])
    found = contrast(x, long, ~long, np.arange(4))
    assert found.difference[0] == -2.5
    assert np.isnan(found.freedom).all()  # one value on one side, none on either
    assert np.isnan(found.difference[1])
