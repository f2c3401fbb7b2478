"""What is said beside rankings is worked out when it is looked at, and is the same then."""

from __future__ import annotations

import copy
import pickle
import sys
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import steelyard as sy
from steelyard.comparison import beside, diagnosis
from steelyard.comparison.diagnosis import order_flips, tie_note
from steelyard.comparison.options import RankOptions
from steelyard.core.errors import UsageError
from steelyard.core.provenance import Provenance
from steelyard.data.evalset import EvalSet, ScoreTable
from steelyard.data.segments import Segments
from steelyard.stats.paired import tests as paired
from steelyard.stats.strength.wins import win_counts

PARTS = ("unit", "tests", "tiers", "effects", "diagnosis", "notes", "warnings", "provenance")


def a_set(n=6, size=80, *, seed=0, documents=False, digits=1):
    rng = np.random.default_rng(seed)
    scores = np.round(rng.normal(np.linspace(0, 0.5, n)[:, None], 1, (n, size)), digits)
    names = tuple(f"d{k // 4}" for k in range(size)) if documents else None
    return EvalSet(
        tuple(f"s{i:03d}" for i in range(n)),
        Segments(tuple(map(str, range(size))), documents=names),
        {"quality": ScoreTable(scores)},
    )


def refused(*_args, **_named):
    raise AssertionError("nobody asked")


def test_a_ranking_alone_pays_for_nothing_else(monkeypatch):
    for name in ("pair_test", "tiers_by", "tie_note", "order_flips", "diagnose", "pairing_note"):
        monkeypatch.setattr(beside, name, refused)
    monkeypatch.setattr(paired, "cliffs_delta", refused)
    monkeypatch.setattr(paired, "standardised_difference", refused)
    monkeypatch.setattr(Provenance, "of", refused)
    found = sy.compare(a_set(documents=True), by=["mean", "bt"], intervals=None)
    assert len(found.ranking("bt")) == 6
    assert found.aggregations["bt"].alone is not None
    for part in PARTS:
        if part != "unit":
            with pytest.raises(AssertionError, match="nobody asked"):
                getattr(found, part)


@pytest.mark.parametrize("order", [PARTS, PARTS[::-1]])
def test_it_makes_no_difference_what_is_looked_at_first(order):
    es = a_set(documents=True)
    asked: dict[str, Any] = {
        "tests": ["t", "permutation", "bootstrap", "sign"],
        "n_bootstrap": 50,
        "rng": 3,
    }
    expected = sy.compare(es, **asked).to_dict()
    found = sy.compare(es, **asked)
    for part in order:
        assert getattr(found, part) is getattr(found, part)
    np.testing.assert_equal(found.to_dict(), expected)


def test_copies_hold_what_would_have_been_worked_out():
    whole = sy.compare(a_set(), n_bootstrap=20).to_dict()
    for copied in (
        pickle.loads(pickle.dumps(sy.compare(a_set(), n_bootstrap=20))),
        copy.deepcopy(sy.compare(a_set(), n_bootstrap=20)),
        replace(sy.compare(a_set(), n_bootstrap=20), alpha=0.05),
    ):
        np.testing.assert_equal(copied.to_dict(), whole)


def test_resamples_are_not_kept():
    """A comparison whose tests nobody has looked at holds no counts of its resamples."""
    kept = []

    def sizes(value, seen):
        if id(value) in seen:
            return
        seen.add(id(value))
        if isinstance(value, np.ndarray):
            kept.append(value.size)
        parts = value.values() if isinstance(value, dict) else value
        if isinstance(value, (dict, list, tuple)):
            for part in parts:
                sizes(part, seen)
        elif type(value).__module__.startswith("steelyard"):
            names = [*getattr(value, "__dict__", ()), *getattr(type(value), "__slots__", ())]
            for name in names:
                sizes(vars(value).get(name) if name in getattr(value, "__dict__", ()) else
                      getattr(value, name, None), seen)  # fmt: skip
        elif callable(value) and getattr(value, "__closure__", None):
            for cell in value.__closure__:
                sizes(cell.cell_contents, seen)

    found = sy.compare(a_set(size=500), n_bootstrap=400)
    sizes(found.__dict__, set())
    assert max(kept) < 400 * 500
    assert 6 * 500 in kept, "the search found the scores, at least"


def test_options_that_do_not_fit_are_refused_at_once():
    es = a_set()
    with pytest.raises(UsageError, match="mood's test is two-sided"):
        sy.compare(es, tests="mood", alternative="less")
    with pytest.raises(UsageError, match="needs resamples"):
        sy.compare(es, tests="bootstrap", intervals=None)
    with pytest.raises(UsageError, match="no errors by unit"):
        sy.compare(es, tests="bt-gap", ties="davidson")


@pytest.mark.parametrize("ties", ["half", "davidson", "drop"])
def test_treatments_that_order_alike_need_no_fit(ties, monkeypatch):
    """What is known of points gives the notes that all fits give."""
    options = RankOptions(ties=ties)
    names = [f"s{i}" for i in range(5)]
    shortcut = 0
    for seed in range(12):
        counts = win_counts(a_set(5, 30 + seed, seed=seed)["quality"].values)
        shortcut += diagnosis._by_points(counts, options)
        found = tie_note(counts, names, options)
        with monkeypatch.context() as patched:
            patched.setattr(diagnosis, "_by_points", lambda *_: False)
            assert tie_note(counts, names, options) == found
    assert shortcut > 6


def test_a_few_contradictions_are_told_and_all_are_counted(monkeypatch):
    scores = a_set(40, 30, seed=1)["quality"].values
    counts, names = win_counts(scores), [f"s{i:02d}" for i in range(40)]
    monkeypatch.setattr(diagnosis, "_MOST", 2)  # no system is left out
    found = order_flips(counts, names, RankOptions())
    fit = diagnosis._fit(counts, RankOptions())
    half = counts.wins + counts.ties / 2
    expected = 0
    for i in range(40):
        for j in range(i + 1, 40):
            joint, alone = fit.ranks[j] - fit.ranks[i], half[i, j] - half[j, i]
            expected += joint * alone < 0 or (joint == 0 and alone != 0)
    assert len(found) == 5
    assert found[-1].endswith(f"(and {expected - 5} more of this kind)")


def test_no_loop_over_pairs():
    """Four times the systems, sixteen times the pairs, and about four times the Python calls."""

    def calls(n):
        es, count = a_set(n, 40), 0

        def counted(_frame, event, _argument):
            nonlocal count
            count += event in ("call", "c_call")

        sys.setprofile(counted)
        try:
            found = sy.compare(es, by="bt", intervals=None)
            for part in ("effects", "tests", "notes"):
                getattr(found, part)
        finally:
            sys.setprofile(None)
        return count

    calls(70)
    few, many = calls(70), calls(280)
    assert many < 6 * few, (few, many)
