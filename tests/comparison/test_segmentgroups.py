"""Systems on groups of segments: means as by hand, leaders, and who changes places."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import t as student

import steelyard as sy
from steelyard.comparison.diagnosis import Groups, compare_groups, units_behind
from steelyard.data.evalset import EvalSet, ScoreTable
from steelyard.data.segments import Segments
from steelyard.stats.arrays import Floats


def made(
    values: Floats, *, documents: tuple[str, ...] | None = None, higher: bool = True
) -> EvalSet:
    n = values.shape[1]
    segments = Segments(tuple(f"{k:03}" for k in range(n)), documents)
    systems = tuple("ABCDE"[: len(values)])
    return EvalSet(systems, segments, {"s": ScoreTable(values, higher_is_better=higher)})


HALVES = {"early": np.arange(20), "late": np.arange(20, 40)}


def crossing(seed: int = 0) -> Floats:
    """A is far ahead of B early, and far behind late."""
    values = np.random.default_rng(seed).normal(size=(3, 40))
    values[0, :20] += 5
    values[1, 20:] += 5
    return values


def test_means_and_intervals_are_those_of_a_t_test():
    values = crossing()
    es = made(values)
    found = compare_groups(es, sy.compare(es, "s", n_bootstrap=20), HALVES)
    for g, own in enumerate(HALVES.values()):
        for i, name in enumerate(found.systems):
            x = values[es.systems.index(name), own]
            low, high = student.interval(
                0.95, len(x) - 1, x.mean(), x.std(ddof=1) / np.sqrt(len(x))
            )
            assert (found.mean[i, g], found.low[i, g], found.high[i, g]) == pytest.approx(
                (x.mean(), low, high)
            )
    assert found.sizes == found.units == (20, 20)


def test_who_leads_and_who_changes_places():
    es = made(crossing())
    found = compare_groups(es, sy.compare(es, "s", n_bootstrap=20), HALVES)
    assert found.leaders() == {"early": ("A",), "late": ("B",)}
    (turn,) = found.turns()
    assert {turn.split()[0], turn.split()[5]} == {"A", "B"}
    assert found.changes() >= 1
    assert found.led("half") in {
        "A ranks first in 1 of 2 halfs; in late B.",
        "B ranks first in 1 of 2 halfs; in early A.",
    }


def test_less_may_be_better():
    es = made(-crossing(), higher=False)
    found = compare_groups(es, sy.compare(es, "s", n_bootstrap=20), HALVES)
    assert found.leaders() == {"early": ("A",), "late": ("B",)}
    assert len(found.turns()) == 1
    assert found.mean[found.systems.index("A"), 0] < 0


def test_noise_changes_places_without_a_claim():
    es = made(np.random.default_rng(5).normal(size=(5, 40)))
    found = compare_groups(es, sy.compare(es, "s", n_bootstrap=20), HALVES)
    assert found.changes() > 0
    assert found.turns() == []


def test_ties_share_a_lead():
    values = np.tile(np.arange(40.0) % 3, (2, 1))
    es = made(values)
    found = compare_groups(es, sy.compare(es, "s", n_bootstrap=20), HALVES)
    assert found.led("half") == "A and B rank first in both halfs."
    assert found.changes() == 0
    assert np.nanmin(found.p) == 1


def test_documents_are_the_units_and_gaps_stay_gaps():
    values = crossing()
    values[2, :20] = np.nan
    documents = tuple(f"d{k // 2}" for k in range(40))
    es = made(values, documents=documents)
    comparison = sy.compare(es, "s", n_bootstrap=20)
    found = compare_groups(es, comparison, HALVES)
    assert found.units == (10, 10)
    assert units_behind(es, comparison).name == "document"
    row = found.systems.index("C")
    assert np.isnan([found.mean[row, 0], found.low[row, 0], found.ranks[row, 0]]).all()
    records = found.table("half").records()
    assert next(one["mean"] for one in records if one["system"] == "C") is None
    assert len(records) == 6


def test_the_best_systems_are_looked_at():
    es = made(np.random.default_rng(5).normal(size=(5, 40)) + np.arange(5.0)[:, None] * 3)
    found = compare_groups(es, sy.compare(es, "s", n_bootstrap=20), HALVES, most=2)
    assert found.systems == ("E", "D")
    assert found.n_systems == 5


def test_a_corpus_score_is_that_of_the_group():
    texts = [f"the cat number {k} sat on the mat near the door" for k in range(40)]
    worse = [text.replace("sat on the mat", "is there") if k < 30 else text
             for k, text in enumerate(texts)]  # fmt: skip
    es = EvalSet(
        ("A", "B"),
        Segments(tuple(f"{k:03}" for k in range(40)), references={"r": tuple(texts)}),
        {},
        {"A": tuple(worse), "B": tuple(texts)},
    )
    scored = sy.score(es, ["bleu"]).evalset
    (name,) = scored.scores
    found = compare_groups(scored, sy.compare(scored, name, n_bootstrap=20), HALVES)
    stats = scored[name].statistics
    assert stats is not None
    for g, own in enumerate(HALVES.values()):
        corpus = stats.select(segments=own).corpus_scores()
        order = [scored.systems.index(system) for system in found.systems]
        assert found.mean[:, g] == pytest.approx(corpus[order])


def test_nobody_leads_where_nobody_has_a_score():
    none = np.full((1, 2), np.nan)
    found = Groups("s", ("A",), ("x", "y"), (0, 0), (0, 0), "segment", none, none, none,
                   np.full((2, 1, 1), np.nan))  # fmt: skip
    assert found.led("part") == "No system has a score in most parts."
    some = replace(found, mean=np.array([[1.0, np.nan]]))
    assert some.led("part") == "A ranks first in 1 of 2 parts; in y nobody."
