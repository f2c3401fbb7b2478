"""Kendall's family against loops over pairs."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from steelyard.core.errors import UsageError
from steelyard.stats.kendall.counting import PairCounts, count_pairs
from steelyard.stats.kendall.matrices import KENDALL, TieMatrix, matrix

NAN = float("nan")
X = None  # leave the pair out
# human <, =, > by metric <, =, >; as the tables of the papers print them.
NO_PENALTY = ((1, X, -1), (X, X, X), (-1, X, 1))
SOFT = ((1, 0, -1), (X, X, X), (-1, 0, 1))
HARD = ((1, -1, -1), (X, X, X), (-1, -1, 1))
TABLES = {
    "kendall-no-tie-penalty": NO_PENALTY,  # table 4a
    "kendall-soft": SOFT,  # table 4b
    "kendall-hard": HARD,  # table 4c
    "kendall-human-ties": ((1, 0, -1), (0, 1, 0), (-1, 0, 1)),  # table 5
    "kendall-human-ties-error": ((1, 0, -1), (0, -1, 0), (-1, 0, 1)),
    "kendall-10": HARD,
    "kendall-13": NO_PENALTY,
    "kendall-14": SOFT,
    "tau-eq": ((1, -1, -1), (-1, 1, -1), (-1, -1, 1)),
    "acc-eq": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
}


def sign(x):
    return int(x > 0) - int(x < 0)


def naive_worths(table, human, metric, epsilon=0.0):
    """List what the pairs of one group are worth."""
    worths = []
    for (h_i, m_i), (h_j, m_j) in combinations(zip(human, metric, strict=True), 2):
        h, m = h_i - h_j, m_i - m_j
        if not (math.isnan(h) or math.isnan(m)):
            worth = table[1 + sign(h)][1 if abs(m) <= epsilon else 1 + sign(m)]
            worths += [] if worth is None else [worth]
    return worths


def counts(concordant=0, discordant=0, human_ties=0, metric_ties=0, both_ties=0):
    numbers = (concordant, discordant, human_ties, metric_ties, both_ties)
    return PairCounts(*(np.array([number]) for number in numbers))


human_cells = st.sampled_from([0.0, -1.0, -5.0, -5.1, NAN])
metric_cells = st.one_of(
    st.sampled_from([0.1, 0.2, 0.3, 0.4, 0.7, NAN]), st.floats(-1, 1, allow_subnormal=False)
)
shapes = hnp.array_shapes(min_dims=2, max_dims=2, min_side=1, max_side=5)
matrices = shapes.flatmap(
    lambda shape: st.tuples(
        hnp.arrays(np.float64, shape, elements=human_cells),
        hnp.arrays(np.float64, shape, elements=metric_cells),
    )
)


# ---------------------------------------------------------------- matrices


def test_every_variant_has_a_table():
    assert set(KENDALL) == set(TABLES)


@pytest.mark.parametrize("name", KENDALL)
@given(data=matrices, epsilon=st.sampled_from([0.0, 0.1, 0.5]))
@settings(max_examples=30)
def test_every_variant_against_the_loop(name, data, epsilon):
    human, metric = data
    found = matrix(name).value(count_pairs(human, metric, epsilon=epsilon))
    for value, h, m in zip(found, human.T, metric.T, strict=True):
        worths = naive_worths(TABLES[name], h, m, epsilon)
        expected = sum(worths) / len(worths) if worths else NAN
        np.testing.assert_allclose(value, expected, atol=1e-12)


def test_the_examples_of_the_paper():
    none, soft = KENDALL["kendall-no-tie-penalty"], KENDALL["kendall-soft"]
    assert none.value(counts(concordant=1, metric_ties=99)).tolist() == [1.0]
    assert none.value(counts(concordant=70, discordant=30)).tolist() == [0.4]
    assert soft.value(counts(concordant=80, metric_ties=20)).tolist() == [0.8]
    assert soft.value(counts(concordant=20, metric_ties=80)).tolist() == [0.2]


def test_formulas_in_counts():
    # C = 5, D = 2, tied by people 3, by the metric 4, by both 6: P = 20.
    all_kinds = counts(5, 2, 3, 4, 6)
    expected = {
        "kendall-no-tie-penalty": 3 / 7,
        "kendall-soft": 3 / 11,
        "kendall-hard": -1 / 11,
        "kendall-human-ties": 9 / 20,
        "kendall-human-ties-error": -3 / 20,
        "kendall-10": -1 / 11,
        "kendall-13": 3 / 7,
        "kendall-14": 3 / 11,
        "tau-eq": (5 + 6 - 2 - 3 - 4) / 20,
        "acc-eq": 11 / 20,
    }
    found = {name: worth.value(all_kinds)[0] for name, worth in KENDALL.items()}
    assert found == pytest.approx(expected, abs=1e-12)


def test_without_pairs_the_value_is_undefined():
    assert np.isnan(KENDALL["acc-eq"].value(counts())).all()
    # Only pairs that people tie: most variants leave them out.
    tied = counts(human_ties=3, both_ties=2)
    assert np.isnan(KENDALL["kendall-hard"].value(tied)).all()
    assert KENDALL["acc-eq"].value(tied).tolist() == [0.4]
    nobody = TieMatrix(same=None, opposite=None)
    assert np.isnan(nobody.value(counts(concordant=3))).all()


def test_unknown_variant():
    with pytest.raises(UsageError, match=r"no Kendall variant 'acc_eq'; did you mean 'acc-eq'\?"):
        matrix("acc_eq")
