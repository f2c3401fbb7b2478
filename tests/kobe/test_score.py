"""The score: by hand, against a naive reading of the formula, and on the authors' annotations."""

from __future__ import annotations

import math
from collections import Counter
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.core.errors import ShapeError
from steelyard.kobe.linking.linker import that_count
from steelyard.kobe.matching import (
    Kobe,
    count_penalty,
    match,
    pair_all,
    pair_candidates,
    segment_scores,
    statistics,
)
from steelyard.kobe.mention import Mention
from steelyard.kobe.metric import match_all

SIDES = st.lists(st.lists(st.sampled_from("abcd"), max_size=5), min_size=1, max_size=6)


def mentions(ids):
    return tuple(Mention(i, i + 1, one, one) for i, one in enumerate(ids))


def naive(sources, outputs):
    """Recall times penalty, in percent, as the paper writes it."""
    pairs = [(Counter(s), Counter(t)) for s, t in zip(sources, outputs, strict=True)]
    matched = sum(min(n, t[e]) for s, t in pairs for e, n in s.items())
    s, c = sum(map(len, sources)), sum(map(len, outputs))
    if s == 0:
        return math.nan
    return 100 * matched / s * (1 if c < 2 * s else math.exp(1 - c / (2 * s)))


@given(SIDES, st.randoms(use_true_random=False))
def test_against_the_formula(sources, random):
    outputs = [random.choices("abcd", k=random.randint(0, 8)) for _ in sources]
    found = match([mentions(s) for s in sources], {"A": [mentions(t) for t in outputs]})
    score = statistics(found).corpus_scores()[0]
    np.testing.assert_allclose(score, naive(sources, outputs), rtol=1e-12, equal_nan=True)


@pytest.mark.parametrize(("c", "expected"), [(19, 1.0), (20, 1.0), (21, math.exp(1 - 21 / 20))])
def test_penalty_at_the_edge(c, expected):
    assert count_penalty(np.array(c), np.array(10)).item() == pytest.approx(expected, abs=1e-15)


def test_clipping_and_segments_without_entities():
    found = match(
        [mentions("aab"), (), mentions("c")], {"A": [mentions("abbb"), mentions("c"), ()]}
    )
    assert found.kept.tolist() == [[True, False, True, False]]
    assert int((found.wanted == 0).sum()) == 1
    scores = segment_scores(statistics(found))
    np.testing.assert_allclose(scores, [[200 / 3, np.nan, 0.0]])


@given(SIDES, st.randoms(use_true_random=False))
def test_segments_add_up_to_the_corpus(sources, random):
    outputs = [random.choices("abcd", k=random.randint(0, 3)) for _ in sources]
    found = match([mentions(s) for s in sources], {"A": [mentions(t) for t in outputs]})
    stats = statistics(found, Kobe(penalty=False))
    wanted = found.wanted
    if wanted.sum():
        parts = np.nansum(segment_scores(stats)[0] * wanted) / wanted.sum()
        assert parts == pytest.approx(stats.corpus_scores()[0])


def test_missing_outputs_and_undefined_scores():
    matches = match([mentions("ab"), mentions("b")], {"A": [mentions("acc"), None], "B": [(), ()]})
    assert statistics(matches).corpus_scores().tolist() == [50.0, 0.0]
    nothing = statistics(match([()], {"A": [mentions("a")]}))
    assert np.isnan(nothing.corpus_scores()).all()
    with pytest.raises(ShapeError, match="'A' has 1 segments, the source has 2"):
        match([(), ()], {"A": [()]})


def test_rounding_before_the_penalty():
    sums = np.array([1.0, 3.0, 12.0])
    assert Kobe(rounded=True)(sums).item() == pytest.approx(33.33 * math.exp(-1), abs=1e-12)
    assert Kobe()(sums).item() == pytest.approx(100 / 3 * math.exp(-1), abs=1e-12)


def ambiguous(*readings):
    return Mention(0, 1, "x", readings[0], candidates=readings)


@given(
    st.lists(st.sets(st.sampled_from("abc"), min_size=1), max_size=4),
    st.lists(st.sets(st.sampled_from("abc"), min_size=1), max_size=4),
)
def test_candidates_make_the_largest_matching(left, right):
    wanted = [ambiguous(*sorted(one)) for one in left]
    there = [ambiguous(*sorted(one)) for one in right]
    pairs = pair_candidates(wanted, there)
    assert len(set(pairs.values())) == len(pairs)
    assert all(set(wanted[i].readings) & set(there[j].readings) for i, j in pairs.items())
    size = max(len(left), len(right))
    edges = np.zeros((size, size), dtype=int)
    for i, one in enumerate(left):
        for j, other in enumerate(right):
            edges[i, j] = bool(one & other)
    best = max(sum(edges[i, j] for i, j in enumerate(order)) for order in permutations(range(size)))
    assert len(pairs) == best
    assert match([wanted], {"A": [there]}, {"A": [pairs]}).kept.sum() == best


NAMES = st.lists(
    st.tuples(st.sampled_from(["a", "b", "ab", "name:x", "name:y"]), st.booleans()), max_size=6
)


@given(NAMES, NAMES)
def test_what_counts_is_matched_as_if_alone(left, right):
    sources, outputs = (
        tuple(
            Mention(i, i + 1, one, one[0] if one in ("ab", "a", "b") else one, doubtful=doubtful,
                    candidates=tuple(one) if one == "ab" else ())
            for i, (one, doubtful) in enumerate(side)
        )
        for side in (left, right)
    )  # fmt: skip
    found = match_all((sources,), {"A": (outputs,)})
    counted = that_count((sources,), {"A": (outputs,)})
    everything = ((sources,), {"A": (outputs,)})
    for own, naively in (
        (found.counted, match(*counted)),
        (found.loose, match(*everything, pair_all(*everything))),
    ):
        assert own.kept.tolist() == naively.kept.tolist()
        assert own.mention == naively.mention
        assert own.segment.tolist() == naively.segment.tolist()
    assert found.counted.mentioned.tolist() == match(*counted).mentioned.tolist()
