"""The class of a judge: a made-up set for each, and the edges of every rule."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.judging.made import noisy, opinion, points

import steelyard as sy
from steelyard.core.errors import SteelyardError
from steelyard.data.verdicts import OF_PAIRS, POINTS_OF_LEFT, Opinion, Verdicts
from steelyard.judging.card import trivial_rules
from steelyard.judging.report import (
    AS_IS,
    TOO_LITTLE,
    TRIVIAL,
    UNUSABLE,
    WITH_LABELS,
    JudgeReport,
    judge,
)


def classed(verdicts: Verdicts) -> tuple[str, JudgeReport]:
    report = judge(verdicts)
    return report.decisions[0].word, report


def truth_of(n: int, seed: int = 1) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 2, n)


def scores(judge_scores: np.ndarray, human: np.ndarray) -> Verdicts:
    n = len(human)
    return Verdicts("points", tuple(map(str, range(n))), np.arange(n, dtype=np.int32),
                    (Opinion("gpt", judge_scores),), (Opinion("r", human),))  # fmt: skip


@pytest.mark.parametrize(("of_people", "expected"), [(0.85, AS_IS), (0.98, WITH_LABELS)])
def test_the_same_judge_beside_fair_and_better_annotators(of_people, expected):
    rng, truth = np.random.default_rng(0), truth_of(400)
    people = {f"r{k}": noisy(truth, of_people, rng) for k in range(3)}
    assert classed(points({"gpt": noisy(truth, 0.88, rng)}, people))[0] == expected


@pytest.mark.parametrize(
    ("right", "expected"),
    [(0.97, AS_IS), (0.85, WITH_LABELS), (0.75, WITH_LABELS), (0.55, TRIVIAL), (0.2, UNUSABLE)],
)
def test_one_annotator(right, expected):
    truth = truth_of(600)
    judged = noisy(truth, right, np.random.default_rng(4))
    word, report = classed(points({"gpt": judged}, {"gold": truth}))
    assert word == expected
    assert (report.cards[0].kappa.low >= 0.8) == (expected == AS_IS)


@pytest.mark.parametrize(("noise", "expected"), [(0.2, AS_IS), (1.0, WITH_LABELS), (30.0, TRIVIAL)])
def test_scores(noise, expected):
    rng = np.random.default_rng(5)
    human = rng.normal(size=400)
    assert classed(scores(human + noise * rng.normal(size=400), human))[0] == expected
    assert classed(scores(-human, human))[0] == UNUSABLE


def test_a_harsh_judge_that_orders_systems_is_usable_with_labels():
    """It hardly agrees on single outputs."""
    rng = np.random.default_rng(3)
    systems = np.repeat(np.arange(8), 500)
    good = np.linspace(0.2, 0.9, 8)[systems]
    human = (rng.random(4000) < good).astype(int)
    judged = (rng.random(4000) < 0.4 * good).astype(int)
    word, report = classed(points({"gpt": judged}, {"r": human}, systems))
    assert word == WITH_LABELS
    assert report.cards[0].rho.value < 0.3


def test_grades_are_judged_by_weighted_kappa():
    """A judge one grade too low never agrees exactly, and knows more than any constant."""
    rng = np.random.default_rng(7)
    human = rng.integers(2, 6, 300)
    frame = pl.DataFrame({"item": range(300), "expert": human, "gpt": human - 1})
    report = sy.judge(frame, human=["expert"])
    card = report.cards[0]
    assert (card.measure, card.accuracy.value) == ("weighted kappa", 0)
    assert card.headline.value == card.weighted_kappa.value > 0.5
    assert report.decisions[0].word == WITH_LABELS
    chance = (human[:, None] - (human - 1)) ** 2
    assert card.headline.value == pytest.approx(1 - 1 / chance.mean())


def test_too_little_data_says_how_much_would_do():
    truth = truth_of(20)
    word, report = classed(points({"gpt": truth}, {"r": truth}))
    assert (word, report.decisions[0].labels_needed) == (TOO_LITTLE, 30)
    truth = truth_of(32)
    judged = noisy(truth, 0.7, np.random.default_rng(0))
    word, report = classed(points({"gpt": judged}, {"r": truth}))
    assert word == TOO_LITTLE
    assert report.decisions[0].labels_needed in range(31, 60)
    same = np.ones(200, dtype=int)
    assert classed(points({"gpt": same}, {"r": same}))[0] == TOO_LITTLE


def test_what_is_plainly_below_a_constant_is_not_spared_by_width():
    human = np.array([1] * 33 + [0] * 3)
    assert classed(points({"gpt": 1 - human}, {"r": human}))[0] == UNUSABLE
    word, report = classed(points({"gpt": np.array([1, 0] * 18)}, {"r": human}))
    assert (report.cards[0].accuracy.high - report.cards[0].accuracy.low) / 2 > 0.15
    assert word == UNUSABLE


def test_a_constant_judge_is_a_trivial_rule():
    assert classed(points({"gpt": np.ones(300, dtype=int)}, {"r": truth_of(300)}))[0] == TRIVIAL
    human = np.random.default_rng(0).normal(size=50)
    assert classed(scores(np.full(50, 0.5), human))[0] == TRIVIAL
    assert classed(scores(human, np.full(50, 0.5)))[0] == TOO_LITTLE


def test_a_gap_wider_than_the_systems_are_apart_is_not_usable_as_is():
    """As good as annotators on outputs, but what it prefers in systems is not what they prefer."""
    rng = np.random.default_rng(6)
    systems = np.repeat(np.arange(10), 300)
    human = (rng.random(3000) < 0.5).astype(int)
    people = {f"r{k}": noisy(human, 0.8, rng) for k in range(3)}
    assert classed(points({"gpt": noisy(human, 0.85, rng)}, people, systems))[0] == WITH_LABELS
    judged = noisy(human, 0.85, np.random.default_rng(6))
    assert classed(points({"gpt": judged}, people))[0] == AS_IS


def test_unparsed_verdicts_are_wrong_or_left_out():
    truth = truth_of(100)
    judged = np.where(np.arange(100) < 10, -2, truth)  # ten words that nobody understands
    judged[:5] = -1  # and five of them are empty cells
    verdicts = points({"gpt": truth}, {"r": truth})
    made = Verdicts("points", verdicts.items, verdicts.item, (opinion("gpt", judged),),
                    verdicts.raters, verdicts.categories, ordered=True)  # fmt: skip
    for option, n, share in (("auto", 95, 90 / 95), ("wrong", 100, 0.9), ("drop", 90, 1.0)):
        card = judge(made, unparsed=option).cards[0]
        assert card.n == n
        assert card.accuracy.value == pytest.approx(share)


def test_trivial_rules_by_hand():
    # Annotators: left, left, left, right, tie. The longer answer: left, left, right, right, tie.
    value = np.array(POINTS_OF_LEFT)
    human, judged = ([2, 2, 2, 0, 1], [2, 0, 0, 0, 0])
    gpt, rater = (Opinion(name, value[labels], np.array(labels, dtype=np.int32))
                  for name, labels in (("gpt", judged), ("r", human)))  # fmt: skip
    verdicts = Verdicts("pairs", tuple("abcde"), np.arange(5, dtype=np.int32), (gpt,), (rater,),
                        OF_PAIRS, ordered=True,
                        covariates={"length": np.array([1.0, 0.5, -1, -0.1, 0])})  # fmt: skip
    rules = {rule.name: rule.accuracy for rule in trivial_rules(verdicts, gpt.label)}
    expected = {"length": 4 / 5, "constant": 3 / 5, "first": 3 / 5, "random": 7 / 25}
    assert rules == pytest.approx(expected)
    assert list(rules) == list(expected)


@settings(max_examples=25)
@given(
    st.lists(st.tuples(st.integers(-1, 1), st.integers(-1, 1), st.integers(0, 1)),
             min_size=2, max_size=30)
)  # fmt: skip
def test_every_result_has_sentences(rows):
    human, judged, system = (np.array(column) for column in zip(*rows, strict=True))
    data = points({"gpt": judged}, {"r": human}, system)
    for make in (
        lambda: sy.judge(data),
        lambda: sy.judge_bias(data),
        lambda: sy.correct(data, judge="gpt"),
        lambda: sy.plan_labels(data, judge="gpt"),
        lambda: sy.judge_drift(data, data),
    ):
        try:
            result = make()
        except SteelyardError:
            continue
        sentences = result.words().sentences()
        assert sentences
        assert all(text.endswith(".") and "nan" not in text for text in sentences)
        assert len(repr(result)) < 200
