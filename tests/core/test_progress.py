"""Who listens is told how far the work is; who does not, is not."""

from __future__ import annotations

from steelyard import EvalSet, Segments, make_report, score
from steelyard.core.progress import each, listening, report_progress
from steelyard.demo.embedded import demo_set


def heard_of(work):
    heard = []
    with listening(lambda done, whole: heard.append((done, whole))):
        work()
    return heard


def test_nobody_listens():
    report_progress(1, 2)
    assert list(each("ab")) == ["a", "b"]


def test_the_innermost_listener_is_told_and_may_be_none():
    def work():
        report_progress(1, 9)
        with listening(None):
            report_progress(2, 9)
        report_progress(3, 9)

    assert heard_of(work) == [(1, 9), (3, 9)]


def test_scoring_tells_segments():
    segments = Segments(("1", "2", "3"), references={"refA": ("a cat", "two dogs", "b")})
    es = EvalSet(("A",), segments, outputs={"A": ("a cat", "dogs", "b c")})
    for metric in ("ter", "bleu", "character"):
        heard = heard_of(lambda metric=metric: score(es, metric))
        assert heard == [(0, 3), (1, 3), (2, 3), (3, 3)], metric


def test_a_report_tells_its_parts_in_order():
    es = demo_set().select(systems=["Amber", "Basalt", "Cobalt"], scores=["mqm", "chars-refA"])
    heard = heard_of(lambda: make_report(es, "mqm", n_bootstrap=20, n_resamples=20))
    assert heard[0][0] == 0
    assert heard == sorted(heard)
    assert len(heard) >= 4
