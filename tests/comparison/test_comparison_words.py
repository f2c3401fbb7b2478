"""What comparisons say in words: hand-made cases for each sentence, and random ones for all."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import steelyard as sy
from steelyard.comparison.pair import decide
from steelyard.core.display import Summary
from steelyard.core.errors import SteelyardError

NOT_EQUAL = ("equal", "the same", "identical", "no difference", "as good as")


def made(values: Any, **scores: Any) -> sy.EvalSet:
    """A set of systems A, B, ... with one score m, or several."""
    values = np.asarray(values, dtype=float)
    tables = {"m": values, **{name: np.asarray(own, dtype=float) for name, own in scores.items()}}
    segments = sy.Segments(tuple(map(str, range(values.shape[1]))))
    systems = tuple("ABCDEFGH"[: len(values)])
    return sy.EvalSet(systems, segments, {n: sy.ScoreTable(own) for n, own in tables.items()})


def compared(values: Any, **settings: Any) -> sy.Comparison:
    return sy.compare(made(values), "m", **{"by": "mean", "n_bootstrap": 50, **settings})


def checked(told: Summary) -> None:
    """What holds for every summary."""
    assert told.sentences()
    assert 1 <= len(told.brief()) <= 3
    for text in told.sentences():
        assert text.endswith(".")
        assert "nan" not in text.replace("significan", "")
        assert "None" not in text


STEP = np.arange(20) % 5 / 10


def test_a_clear_winner_is_called_the_best():
    told = compared([STEP + 2, STEP + 1 + np.arange(20) % 2 / 9, STEP]).words()
    assert told.settled[0] == (
        "A is the best of 3 systems by mean m over 20 segments: its lead over every other one is "
        "significant at 5 %."
    )
    assert told.undecided == ()
    assert "In 95 % of the resampled test sets, A takes rank 1 by mean." in told.sureness


def test_what_a_test_leaves_open_is_said_and_nobody_is_called_equal():
    rng = np.random.default_rng(1)
    told = compared([rng.normal(0.1, 1, 30), rng.normal(0, 1, 30), rng.normal(-9, 1, 30)]).words()
    assert told.settled[0] in [
        f"{s} ranks first of 3 systems by mean m over 30 segments." for s in "AB"
    ]
    assert told.undecided[0].startswith("The test leaves open whether")
    assert "C" not in told.undecided[0]
    assert len(told.undecided[0]) < 100
    text = " ".join(told.sentences()).replace("does not make them equally good", "")
    assert not any(word in text for word in NOT_EQUAL)


def test_the_first_place_can_be_shared():
    told = compared([[1, 2, 3, 4, 5.0], [5, 4, 3, 2, 1.0], [0, 0, 0, 0, 0.0]]).words()
    assert (
        told.settled[0] == "A and B share the first place of 3 systems by mean m over 5 segments."
    )
    assert told.undecided[0] == "Which of A and B is best is not decided: they rank alike."


def test_lower_is_better_is_not_turned_round():
    es = made([STEP + 2, STEP + 1, STEP])
    es = replace(es, scores={"m": replace(es["m"], higher_is_better=False)})
    found = sy.compare(es, "m", by="mean", n_bootstrap=50)
    assert found.words().settled[0].startswith("C is the best of 3 systems")


def test_one_system_has_nothing_to_compare_with():
    found = compared([STEP])
    assert found.words() == Summary(
        undecided=("A is the only system: there is nothing to compare.",)
    )


def test_no_rank_at_all_is_said():
    found = compared([STEP, STEP + 1])
    nothing = {by: replace(own, ranks=np.full(2, np.nan)) for by, own in found.aggregations.items()}
    told = replace(found, aggregations=nothing).words()
    assert told.sentences() == ("No system can be ranked by mean m over 20 segments.",)


def test_without_tests_a_lead_may_be_chance():
    told = replace(compared([STEP, STEP + 1]), tests={}, tiers={}).words()
    assert told.settled[0] == "B ranks first of 2 systems by mean m over 20 segments."
    assert told.undecided[0] == "No pair was tested, so that the lead of B may be chance."
    assert not any("better" in text for text in told.sentences())


def test_one_segment_settles_nothing():
    told = compared([[1.0], [2.0]]).words()
    checked(told)
    assert told.settled[0] == "B ranks first of 2 systems by mean m over 1 segment."
    assert "significant" not in str(told)


def duels(wins: dict[tuple[str, str], int]) -> sy.BattleLog:
    names = tuple(sorted({name for pair in wins for name in pair}))
    rows = [(names.index(a), names.index(b)) for (a, b), n in wins.items() for _ in range(n)]
    left, right = (np.array(column, dtype=np.int32) for column in zip(*rows, strict=True))
    return sy.BattleLog(names, left, right, np.ones(len(rows)))


def test_battles_are_told_as_battles():
    found = sy.compare_battles(
        duels({("A", "B"): 60, ("B", "A"): 20, ("B", "C"): 60, ("C", "B"): 20, ("A", "C"): 70,
               ("C", "A"): 10}), n_bootstrap=100
    )  # fmt: skip
    told = found.words()
    checked(told)
    assert told.settled[0] == (
        "A is the best of 3 systems by Bradley-Terry strength over 240 battles: its lead over "
        "every other one is significant at 5 %."
    )
    assert "A ranks first by Bradley-Terry strength and share of battles won." in told.settled
    assert (
        "In 95 % of the resampled logs, A takes rank 1 by Bradley-Terry strength." in told.sureness
    )


def test_few_battles_leave_it_open():
    told = sy.compare_battles(duels({("A", "B"): 12, ("B", "A"): 10}), n_bootstrap=100).words()
    assert (
        told.settled[0] == "A ranks first of 2 systems by Bradley-Terry strength over 22 battles."
    )
    assert told.undecided[0] == "The test leaves open whether A is better than B."
    assert "That does not make them equally good; more battles could order them." in told.undecided


def test_several_scores_agree_or_not():
    up = np.array([STEP, STEP + 1, STEP + 2])
    agree = sy.compare_scores(made(up, n=up * 2), ["m", "n"], n_bootstrap=50).words()
    assert agree.settled[:2] == (
        "All scores put C first.", "C is alone in the first tier by each of them.",
    )  # fmt: skip
    assert (
        agree.sureness[0] == "Rankings by two scores agree at 1.000 (tau-b: 1 is the same order)."
    )
    against = sy.compare_scores(made(up, n=up[::-1]), ["m", "n"], n_bootstrap=50).words()
    assert against.undecided[0] == "The scores do not agree on the best system: C by m; A by n."
    assert "beats" in against.undecided[1]


def test_autorank_tests_nothing():
    es = made([STEP, STEP + 1, STEP + 2], n=[STEP, STEP + 1, STEP + 1.5])
    told = sy.compare_scores(es, ["m", "n"], by="autorank", n_bootstrap=50).words()
    checked(told)
    assert "by AutoRank of m and n over 20 segments" in told.settled[0]
    assert not any(" better" in text or " best" in text for text in told.sentences())


def test_a_card_says_its_verdict_first():
    es = made([STEP + 1, STEP + np.arange(20) % 2 / 9])
    card = decide(es, ("A", "B"), n_bootstrap=100)
    told = card.words()
    assert told.settled[0] == card.verdict
    assert told.settled[0].startswith("A is better than B by m: +0.9")
    assert told.sureness[0] == "A is ahead in 100.0 % of the resampled test sets."
    level = decide(made([STEP, STEP]), ("A", "B"), n_bootstrap=100).words()
    assert level.settled == ()
    assert level.undecided[0] == (
        "m does not settle which of A and B is better: they tie on every segment."
    )


def test_an_open_card_says_what_would_settle_it():
    rng = np.random.default_rng(3)
    card = decide(made(rng.normal(size=(2, 40))), ("A", "B"), n_bootstrap=100)
    told = card.words()
    checked(told)
    assert told.undecided[0].startswith("m does not settle which of A and B is better: ")
    assert told.undecided[1].startswith("A difference this large would take")
    assert card.verdict == " ".join(told.undecided[:2])


SOME = st.integers(1, 4).flatmap(
    lambda n: st.integers(1, 12).flatmap(
        lambda s: arrays(
            float, (n, s), elements=st.one_of(st.integers(-2, 2).map(float), st.just(np.nan))
        )
    )
)


@settings(max_examples=60)
@given(SOME, st.sampled_from(["mean", "bt", "median"]))
def test_words_never_fail_on_what_can_be_compared(values, by):
    try:
        found = compared(values, by=by, n_bootstrap=20)
    except SteelyardError:
        return
    checked(found.words())
    assert len(repr(found)) < 200


@settings(max_examples=40)
@given(SOME)
def test_words_of_several_scores_and_of_pairs_never_fail(values):
    es = made(values, n=values[::-1])
    try:
        checked(sy.compare_scores(es, ["m", "n"], n_bootstrap=20).words())
        checked(sy.compare_scores(es, ["m", "n"], by="autorank", n_bootstrap=20).words())
        checked(decide(es, ("A", "B"), "m", n_bootstrap=20).words())
    except SteelyardError:
        return


@settings(max_examples=40)
@given(
    st.lists(
        st.tuples(st.integers(0, 3), st.integers(0, 3), st.sampled_from([0.0, 0.5, 1.0])),
        min_size=1, max_size=30,
    ),
    st.sampled_from([("bt", "mean"), ("mean",), ("elo",)]),
)  # fmt: skip
def test_words_of_battles_never_fail(rows, by):
    rows = [row for row in rows if row[0] != row[1]]
    if not rows:
        return
    left, right, outcome = (np.array(column) for column in zip(*rows, strict=True))
    log = sy.BattleLog(tuple("ABCD"), left.astype(np.int32), right.astype(np.int32), outcome)
    try:
        found = sy.compare_battles(log, by=by, n_bootstrap=20, orders=2)
    except SteelyardError:
        return
    checked(found.words())
    assert len(repr(found)) < 200


def lacking(n_common):
    """A lacks hard segments of 40 and is worse on all others, so its mean is higher."""
    rng = np.random.default_rng(0)
    values = np.stack([rng.normal(2.0, 0.5, 40)] * 2)
    values[0] -= 0.3 + rng.normal(0, 0.01, 40)
    values[:, n_common:] -= 3
    values[0, n_common:] = np.nan
    return values


def test_ranks_go_by_the_segments_that_all_systems_have():
    values = lacking(25)
    alone = compared(values[:, :25], by="mean")
    for settings_ in ({}, {"alternative": "greater"}, {"tests": "permutation"}):
        found = compared(values, **settings_)
        assert found.ranking("mean") == ["B", "A"]
        assert not found.tiers["mean"].against
        np.testing.assert_array_equal(
            found.aggregations["mean"].scores, alone.aggregations["mean"].scores
        )
        told = found.words()
        checked(told)
        assert "over the 25 segments that all systems have" in told.settled[0]
        shown = found.to_dict()
        assert [place["system"] for place in shown["ranking"]] == ["B", "A"]
        assert shown["aggregations"]["mean"]["ranks"] == {"A": 2, "B": 1}
        assert shown["n_scored"] == {"A": 25, "B": 40}
        assert shown["over_all"]["n_segments"] == 40
        assert list(shown["over_all"]["means"].values()) == pytest.approx(
            np.nanmean(values, axis=1)
        )
        assert [row["system"] for row in found.table().records()] == ["B", "A"]
    lower = replace(made(-values), scores={"m": sy.ScoreTable(-values, higher_is_better=False)})
    found = sy.compare(lower, "m", by="mean", n_bootstrap=50)
    assert found.ranking("mean") == ["B", "A"]
    assert list(found.to_dict()["over_all"]["means"].values()) == pytest.approx(
        np.nanmean(-values, axis=1)
    )
    many = sy.compare_scores(made(values, other=values), ["m", "other"], n_bootstrap=50)
    for one in many.to_dict()["scores"].values():
        assert [place["system"] for place in one["ranking"]] == ["B", "A"]


def test_nothing_changes_where_the_orders_agree():
    values = lacking(25)
    values[0] += 1
    found = compared(values)
    assert found.over_all is None
    assert found.n_segments == 40
    assert found.aggregations["mean"].scores == pytest.approx(np.nanmean(values, axis=1))


def test_three_systems_are_ranked_on_what_all_have():
    values = np.vstack([lacking(25), lacking(40)[1] - 5])
    values[2, 24] = np.nan
    found = compared(values)
    assert found.ranking("mean") == ["B", "A", "C"]
    assert found.n_segments == 24


def test_where_few_segments_are_common_the_test_of_pairs_decides():
    found = compared(lacking(15))
    assert found.over_all is None
    assert found.ranking("mean") == ["A", "B"]
    assert found.tiers["mean"].against == (("A", "B"),)
    told = found.words()
    checked(told)
    assert told.settled[0].startswith("B is better than A")
    assert "over the segments that each has (15 to 40)" in told.settled[0]
    assert not any("takes rank" in text for text in told.sentences())


def test_a_lead_on_common_segments_is_told_in_the_first_sentence():
    """B is ahead on the two segments that both have, by too little to tell."""
    nan = float("nan")
    told = compared([[2.0, 3.0, nan, nan, nan], [2.6, 2.7, 0.0, 0.0, 0.0]]).words()
    checked(told)
    assert told.settled[0].startswith("A ranks first")
    assert "B is ahead" in told.settled[0]
    even = compared([[1.0, 2.0, 3.0, 4.0, 5.0], [1.5, 1.6, 2.7, 0.0, 0.0]]).words()
    assert "ahead" not in even.settled[0]
    assert "over 5 segments" in even.settled[0]
