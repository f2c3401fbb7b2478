"""Pairs whose order a third system changes, against Bradley-Terry fits of three systems."""

from __future__ import annotations

from itertools import permutations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from steelyard.reproduction.peyrard2021 import Overturned, overturned_pairs
from steelyard.stats.strength.bradleyterry import bradley_terry
from steelyard.stats.strength.wins import win_counts

SCORES = st.tuples(st.integers(2, 5), st.integers(1, 7)).flatmap(
    lambda shape: arrays(np.float64, shape, elements=st.integers(0, 3).map(float))
)


def half_wins(scores):
    counts = win_counts(np.array(scores))
    return counts.wins + counts.ties / 2


@settings(max_examples=60)
@given(SCORES)
def test_against_fits_of_three(scores):
    triples = turned = level = 0
    for a, b in permutations(range(len(scores)), 2):
        two = win_counts(scores[[a, b]])
        if not two.wins[0, 1] > two.wins[1, 0]:
            continue
        for c in set(range(len(scores))) - {a, b}:
            three = win_counts(scores[[a, b, c]])
            ranks = bradley_terry(three.wins, three.ties, ties_as="half").ranks
            triples += 1
            turned += bool(ranks[0] > ranks[1])
            level += bool(ranks[0] == ranks[1])
    assert overturned_pairs(half_wins(scores)) == Overturned(triples, turned, level)


def test_the_example_of_the_paper():
    """B beats A; with C, which makes a cycle, all are equal. As printed, C is no cycle."""
    a, b, cycle, as_printed = [1.0, 2, 3], [2.0, 3, 1], [3.0, 1, 2], [3.0, 2, 1]
    assert overturned_pairs(half_wins([a, b, cycle])) == Overturned(3, 0, 3)
    assert overturned_pairs(half_wins([a, b, as_printed])) == Overturned(1, 0, 0)
    assert overturned_pairs(half_wins([a, b])) == Overturned(0, 0, 0)


def test_no_systems_and_one():
    for n in (0, 1):
        assert overturned_pairs(np.zeros((n, n))) == Overturned(0, 0, 0)
