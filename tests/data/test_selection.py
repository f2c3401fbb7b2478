"""Metrics by name, by pattern, and by what they see."""

from __future__ import annotations

from fnmatch import fnmatchcase

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import steelyard as sy
from steelyard.core.errors import UsageError
from steelyard.data.selection import chosen_metrics, matching, with_metrics

SEES = {"a-refA": ("refA",), "b-refB": ("refB",), "q-src": ("src",), "both": ("refA", "src"),
        "every-all": ("all",), "x[1]*": (), "plain": ()}  # fmt: skip


def some(**more: tuple[str, ...]) -> sy.EvalSet:
    tables = {
        name: sy.ScoreTable(np.ones((2, 3)), uses=uses) for name, uses in (SEES | more).items()
    }
    tables["mqm"] = sy.ScoreTable(np.ones((2, 3)), kind="human")
    tables["da-refA"] = sy.ScoreTable(np.ones((2, 3)), kind="human")
    return sy.EvalSet(("A", "B"), sy.Segments(("1", "2", "3")), tables)


def test_patterns_stand_for_metrics_and_never_for_human_scores():
    assert chosen_metrics(some(), ["*-refA"]) == ["a-refA"]
    assert chosen_metrics(some(), ["?-*", "plain"]) == ["a-refA", "b-refB", "plain", "q-src"]
    assert chosen_metrics(some(), ["*"], human="plain") == sorted(set(SEES) - {"plain"})
    assert chosen_metrics(some(), ["da-refA", "plain"]) == ["da-refA", "plain"]  # as it is named


def test_a_name_stands_for_itself_whatever_it_holds():
    assert chosen_metrics(some(), ["x[1]*"]) == ["x[1]*"]
    assert chosen_metrics(some(x1z=()), ["x[1]*"]) == ["x[1]*"]
    assert chosen_metrics(some(x1z=()), ["x[1]?"]) == ["x1z"]


def test_another_case_stands_for_the_only_name_that_is_alike():
    assert matching("PLAIN", ["plain", "Other"]) == ["plain"]
    assert matching("PLAIN", ["plain", "Plain"]) == []
    assert matching("p*", ["Plain"]) == []  # patterns have a case


@pytest.mark.parametrize("asked", ["nothing*", "[z]", "nothing", "!plain"])
def test_what_stands_for_nothing_is_an_error_that_names_the_known(asked):
    with pytest.raises(UsageError, match=r"no metric .*(known|Known): a-refA"):
        chosen_metrics(some(), [asked])


@given(st.lists(st.text("ab-*", min_size=1, max_size=3), unique=True, min_size=1, max_size=6),
       st.text("ab-*?", min_size=1, max_size=3))  # fmt: skip
def test_matching_is_what_shells_do(names, asked):
    result = matching(asked, names)
    if asked in names:
        assert result == [asked]
    elif "*" in asked or "?" in asked:
        assert result == sorted(name for name in names if fnmatchcase(name, asked))


@pytest.mark.parametrize(
    ("sees", "kept"),
    [
        (["src"], ["q-src"]),
        (["ref"], ["a-refA", "b-refB", "both", "every-all"]),
        (["both"], ["both"]),
        (["none"], ["plain", "x[1]*"]),
        (["refA"], ["a-refA", "both"]),
        (["src", "refB"], ["b-refB", "q-src"]),
    ],
)
def test_what_metrics_see(sees, kept):
    es = with_metrics(some(), sees=sees)
    assert list(es.metrics) == kept
    assert es.human == ("da-refA", "mqm")
    unknown = "not known what they see: 'plain', 'x[1]*'"
    assert any(unknown in note for note in es.notes) == ("none" not in sees)


def test_nothing_that_sees_it_is_an_error_that_counts():
    with pytest.raises(UsageError, match=r"no metric sees refC; they see: .*src \(1\)"):
        with_metrics(some(), sees=["refC"])


def test_metrics_are_left_out_by_pattern_and_human_scores_stay():
    es = with_metrics(some(), drop=["*-*", "both"])
    assert list(es.metrics) == ["plain", "x[1]*"]
    assert es.human == ("da-refA", "mqm")
    with pytest.raises(UsageError, match="no metric is left"):
        with_metrics(some(), drop=["*"])
    assert with_metrics(es) is es
