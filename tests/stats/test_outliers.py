"""The robust rule of outlying systems, against the formula and against the organisers' lists."""

from __future__ import annotations

import math
from collections import defaultdict
from statistics import median

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.stats.judged.realdata import rows
from tests.stats.naive import NAN

from steelyard.stats.spread import LEAST, robust_deviations

scores = st.lists(
    st.one_of(st.sampled_from([NAN, 0.0, 1.0, 2.0, 2.5]), st.floats(-100, 100)), max_size=14
)


def naive(values, cutoff=2.5):
    """|score - median| > cutoff x 1.483 x MAD; None where there is no answer."""
    known = [x for x in values if not math.isnan(x)]
    if len(known) < 5:
        return None
    middle = median(known)
    mad = median(abs(x - middle) for x in known)
    if mad <= 1e-12 * max(map(abs, known)):
        return None
    return [not math.isnan(x) and abs(x - middle) / (1.483 * mad) > cutoff for x in values]


@given(scores, st.sampled_from([0.5, 2.5, 3.0]))
def test_against_the_formula(values, cutoff):
    result, expected = robust_deviations(values, cutoff), naive(values, cutoff)
    assert (result.undefined is None) == (expected is not None)
    assert result.flags.tolist() == (expected or [False] * len(values))


@pytest.mark.parametrize(
    ("values", "why"),
    [
        ([], "there are 0 scores, and it takes 5"),
        ([1.0], "there is 1 score, and it takes 5"),
        ([1.0, 2.0, 3.0, 99.0, NAN], "there are 4 scores, and it takes 5"),
        ([1.0, 1.0, 1.0, 2.0, 99.0], "more than half of the scores are the same"),
        ([0.1 + 0.2, 0.3, 0.3, 0.3, 99.0], "more than half of the scores are the same"),
        ([3.0] * 8, "more than half of the scores are the same"),
    ],
)
def test_undefined_has_a_reason(values, why):
    result = robust_deviations(values)
    assert result.undefined == why
    assert np.isnan(result.deviations).all()
    assert not result.flags.any()
    assert LEAST == 5


def test_how_often_like_systems_are_called_outliers():
    """One system in twenty of ten like ones, and one in three such sets has one: no rare event."""
    drawn = np.random.default_rng(0).normal(size=(2000, 10))
    flags = np.array([robust_deviations(row).flags for row in drawn])
    assert 0.04 < flags.mean() < 0.06
    assert 0.28 < flags.any(axis=1).mean() < 0.37


# ---------------------------------------------------------------- WMT20

#: Tables whose official list the rule does not give, and what it has more (+) or less (-).
UNLIKE = {
    "csen": {"-CUNI-DocTransformer.1457", "-zlabs-nlp.1149"},
    "encs": {"-Online-G.1555"},
    "ende": {"-Online-G.1556"},
    "enpl": {"-Online-A.1576"},
    "iuen": {"-Facebook_AI.729", "-NiuTrans.1206"},
    "jaen": {"-zlabs-nlp.66"},
    "plen": {"-zlabs-nlp.1162"},
    "taen": {"-Online-G.1568", "-TALP_UPC.192"},
}


@pytest.fixture(scope="module")
def wmt20(shared):
    """Rows of translation systems by table, and the official outliers of each direction."""
    folder = shared / "wmt20-metrics"
    tables, official = defaultdict(list), defaultdict(set)
    for row in rows(folder / "sys-scores.csv.gz"):
        if row["refset"] == "newstest2020" and not row["system"].startswith("Human"):
            tables[row["table"]].append(row)
    for row in rows(folder / "outliers.csv"):
        official[row["lp"]].add(row["system"])
    return tables, official


def test_official_outliers_of_wmt20(wmt20):
    """Standardised scores of the translation systems alone, in one pass: 11 of 19 lists."""
    tables, official = wmt20
    differ = {}
    for name, systems in tables.items():
        flags = robust_deviations([float(row["human_z"]) for row in systems]).flags
        result = {row["system"] for row, out in zip(systems, flags, strict=True) if out}
        wanted = official[systems[0]["lp"]]
        if result != wanted:
            differ[name] = {f"+{s}" for s in result - wanted} | {f"-{s}" for s in wanted - result}
    assert len(tables) == 19
    assert differ == UNLIKE
