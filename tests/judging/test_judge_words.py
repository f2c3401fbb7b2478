"""What is found of judges, in parts: the sentences of the summaries, each in its place."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.judging.made import noisy, points

import steelyard as sy
from steelyard.core.display import Summary
from steelyard.core.errors import SteelyardError
from steelyard.judging.biases import BiasReport, judge_bias
from steelyard.judging.drifting import DriftReport, judge_drift

NAN = float("nan")


def checked(told: Summary) -> None:
    assert told.sentences()
    assert 1 <= len(told.brief()) <= 3
    for text in told.sentences():
        assert text.endswith(".")
        assert "nan" not in text.replace("significan", "")


def judged(n: int = 300, **right: float) -> Any:
    """Two raters and judges that are right so often."""
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, n)
    people = {name: noisy(truth, 0.95, rng) for name in ("r", "s")}
    return points({name: noisy(truth, own, rng) for name, own in right.items()}, people)


def test_one_judge_is_told_by_the_headline_of_its_card():
    found = sy.judge(judged(gpt=0.97))
    told = found.words()
    assert told.settled[0] == found.summary().splitlines()[0] == "gpt: believe it."
    assert told.sureness[0].startswith("gpt agrees with people on")


def test_several_judges_are_told_together():
    told = sy.judge(judged(gpt=0.97, random=0.5)).words()
    assert told.settled == ("Believe gpt; do not use random.",)
    assert told.sureness[0].startswith("gpt agrees with people on")


def test_too_little_stays_open():
    told = sy.judge(judged(n=6, gpt=0.9)).words()
    assert told.settled == ()
    assert told.undecided[0].startswith("gpt: too little data to say")


def test_every_line_of_a_card_is_in_its_words():
    found = sy.judge(judged(gpt=0.8, other=0.7))
    said = " ".join(found.words().sentences())
    for line in found.summary().splitlines():
        if line.startswith("  It "):
            assert line.removeprefix("  It ") in said


def test_what_nothing_was_found_for_stays_open():
    found = judge_bias(judged(gpt=0.9))
    told = found.words()
    assert told.undecided == (found.summary(),)
    assert told.settled == ()
    assert told.sureness == ("This rests on 300 rows that people labelled.",)
    assert BiasReport(()).words().sentences() == ("There is no judge to weigh.",)


def test_a_judge_that_got_better_is_settled():
    rng = np.random.default_rng(1)
    truth = rng.integers(0, 2, 200)
    old = points({"gpt": noisy(truth, 0.5, rng)}, {"r": truth})
    new = points({"gpt": truth}, {"r": truth})
    found = judge_drift(old, new)
    told = found.words()
    assert told.settled == ("gpt: better than before.",)
    assert told.sureness[0].startswith("gpt agrees with people on 100 % of 200 labelled rows")
    assert found.summary().startswith("gpt: better than before. It agrees with people on 100 %")
    level = judge_drift(old, old).words()
    assert level.settled == ()
    assert DriftReport(()).words().sentences() == ("There is no judge to compare.",)


def test_a_plan_answers_before_it_explains():
    found = sy.plan_labels(judged(gpt=0.9), judge="gpt", half_width=0.1)
    told = found.words()
    assert told.settled[0].startswith("A mean within 0.1: ")
    assert told.sureness[0].startswith("gpt correlates with people at")
    assert sorted(told.sentences()) == sorted(found.summary().splitlines())
    out_of_reach = sy.plan_labels(judged(gpt=0.9), judge="gpt", half_width=0.0001).words()
    assert out_of_reach.settled == ()
    assert "not even with all" in out_of_reach.undecided[0]


def test_a_correction_says_who_is_first_and_who_could_be():
    rng = np.random.default_rng(2)
    systems = np.repeat([0, 1, 2], 200)
    truth = (rng.random(600) < np.array([0.9, 0.5, 0.1])[systems]).astype(int)
    labels = np.where(rng.random(600) < 0.4, truth, -1)
    data = points({"gpt": noisy(truth, 0.9, rng)}, {"r": labels}, systems)
    told = sy.correct(data, judge="gpt").words()
    assert told.settled[0].startswith("By people s0 comes first, as ")
    assert told.undecided == ()
    checked(told)
    level = (rng.random(600) < 0.5).astype(int)
    labels = np.where(rng.random(600) < 0.2, level, -1)
    data = points({"gpt": noisy(level, 0.9, rng)}, {"r": labels}, systems)
    told = sy.correct(data, judge="gpt").words()
    assert "could come first" in told.undecided[0]


@settings(max_examples=25)
@given(
    st.lists(st.tuples(st.integers(-1, 1), st.integers(-1, 1), st.integers(0, 1)),
             min_size=2, max_size=30)
)  # fmt: skip
def test_words_never_fail(rows):
    human, said, system = (np.array(column) for column in zip(*rows, strict=True))
    data = points({"gpt": said}, {"r": human}, system)
    for make in (
        lambda: sy.judge(data),
        lambda: judge_bias(data),
        lambda: sy.correct(data, judge="gpt"),
        lambda: sy.plan_labels(data, judge="gpt"),
        lambda: judge_drift(data, data),
    ):
        try:
            made = make()
        except SteelyardError:
            continue
        checked(made.words())
        assert len(repr(made)) < 200
