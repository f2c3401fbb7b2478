"""Who listens is told how far the work is; who does not, is not."""

from __future__ import annotations

from steelyard.core.progress import each, listening, report_progress


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
