"""A set is checked once, however many tables it comes from; what is made of it needs no check."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard import EvalSet, ScoreTable, Segments, load
from steelyard.core.errors import ShapeError, UsageError
from steelyard.data.segments import Frozen

HUMAN = "system,segment,doc,mqm\nB,1,x,1\nA,1,x,2\nA,2,y,3\nB,2,y,4\n"
METRICS = "system,segment,chrF-refA,ter,xyz\nB,2,1,2,3\nA,1,4,5,6\nA,2,7,8,9\nB,1,2,3,5\n"


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Count how often each class checks its objects."""
    counts: Counter[str] = Counter()
    for kind in (EvalSet, ScoreTable):
        check = kind.__post_init__

        def counting(self: object, check=check, name=kind.__name__) -> None:
            counts[name] += 1
            check(self)

        monkeypatch.setattr(kind, "__post_init__", counting)
    return counts


def test_a_set_of_two_tables_is_checked_once(tmp_path: Path, counted: Counter[str]):
    (tmp_path / "human.csv").write_text(HUMAN)
    (tmp_path / "metrics.csv").write_text(METRICS)
    es = load(
        tmp_path / "human.csv",
        tmp_path / "metrics.csv",
        human="mqm",
        lower_is_better=["ter"],
        systems=["A", "B"],
    )
    assert es.human == ("mqm",)
    assert counted == {"EvalSet": 1, "ScoreTable": len(es.scores)}


def test_parts_of_a_set_are_not_checked_again(counted: Counter[str]):
    es = torn()
    counted.clear()
    es.select(systems=["A"], segments=["2", "3"], scores=["m"]).drop(segments=["2"])
    assert not counted
    es.with_scores("n", [[1, 2, 3], [4, 5, 6]])
    assert counted == {"ScoreTable": 1}


def torn() -> EvalSet:
    """A set in whose canonical order a document is put together again."""
    return EvalSet(
        ("B", "A"),
        Segments(("1", "2", "3"), documents=("x", "y", "x"), domains=("n", "n", "s")),
        {
            "m": ScoreTable(np.array([[1.0, 2, 3], [4, 5, 6]])),
            "d": ScoreTable(
                np.array([[1.0, 2, 3], [4, 5, np.nan]]),
                "human",
                system_scores=np.array([1.0, 2.0]),
                domain_scores=np.array([[1.0, 2], [3, 4]]),
                document_scores=np.array([[1.0, 2], [3, 4]]),
            ),
        },
        {"A": ("a", "b", "c")},
        notes=("one",),
    )


@given(
    systems=st.none() | st.lists(st.sampled_from("AB"), unique=True),
    segments=st.none() | st.lists(st.sampled_from("123"), unique=True),
    scores=st.none() | st.lists(st.sampled_from("md"), unique=True),
    domain=st.none() | st.just("n"),
)
def test_parts_are_what_a_check_would_give(systems, segments, scores, domain):
    part = torn().select(systems=systems, segments=segments, scores=scores, domain=domain)
    whole = replace(part, scores={name: replace(table) for name, table in part.scores.items()})
    assert part.identical(whole)
    assert (
        part.segments.ids == Segments(part.segments.ids, part.segments.documents).canonical()[0].ids
    )
    for own in (part.scores, part.outputs, part.ratings, part.segments.references):
        assert isinstance(own, Frozen)
        assert list(own) == sorted(own)
    for table in part.scores.values():
        for name in ("values", "system_scores", "domain_scores", "document_scores"):
            array = getattr(table, name)
            assert array is None or not array.flags.writeable


@pytest.mark.parametrize(
    ("name", "scores", "error"),
    [
        ("m", [[1.0, 2.0]], ShapeError),
        (" ", np.zeros((2, 3)), UsageError),
        (3, np.zeros((2, 3)), UsageError),
        ("m", [[np.inf] * 3] * 2, ShapeError),
        ("m", "abc", (ShapeError, UsageError)),
    ],
)
def test_what_a_user_adds_is_checked(name, scores, error):
    with pytest.raises(error):
        torn().with_scores(name, scores)


def test_no_segment_is_taken_twice():
    with pytest.raises(ShapeError):
        torn().segments.take(np.array([0, 0]))
