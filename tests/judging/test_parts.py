"""Parts of the card: sentinels, juries, families, and the sentences made of them."""

from __future__ import annotations

import numpy as np
import pytest
from tests.judging.made import noisy, points

from steelyard.data.verdicts import OF_PAIRS, POINTS_OF_LEFT, Opinion, Verdicts
from steelyard.judging.jury import jury
from steelyard.judging.run import judge
from steelyard.judging.sentinels import sentinels


def pairs(human: list[int], said: list[int], length: list[float]) -> Verdicts:
    value = np.array(POINTS_OF_LEFT)
    own = [Opinion(name, value[labels], np.array(labels, dtype=np.int32))
           for name, labels in (("gpt", said), ("r", human))]  # fmt: skip
    n = len(human)
    return Verdicts("pairs", tuple(map(str, range(n))), np.arange(n, dtype=np.int32), (own[0],),
                    (own[1],), OF_PAIRS, ordered=True,
                    covariates={"length": np.array(length)})  # fmt: skip


def test_sentinels_by_hand():
    # People: left, left, left, right, tie. The longer one: left, left, right, right, tie.
    verdicts = pairs([2, 2, 2, 0, 1], [2, 0, 0, 0, 0], [1.0, 0.5, -1, -0.1, 0])
    found = {own.name: own.accuracy for own in sentinels(verdicts, verdicts.judges[0].label)}
    assert found["constant"] == pytest.approx(3 / 5)
    assert found["first"] == pytest.approx(3 / 5)
    assert found["length"] == pytest.approx(4 / 5)
    assert found["random"] == pytest.approx((3 * 1 + 1 * 4 + 1 * 0) / 25)
    best = sentinels(verdicts, verdicts.judges[0].label)[0]
    assert (best.name, best.what) == ("length", "a judge that always picks the longer one")


def test_lengths_that_are_not_known_are_no_sentinel():
    verdicts = pairs([2, 0, 0], [2, 2, 0], [np.nan] * 3)
    found = sentinels(verdicts, verdicts.judges[0].label)
    assert "length" not in [own.name for own in found]


def test_a_jury_that_shares_its_errors_is_worse_than_its_best_member():
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, 400)
    shared = noisy(truth, 0.4, rng)
    judges = {"best": noisy(truth, 0.9, rng), **{f"j{k}": shared for k in range(4)}}
    verdicts = points(judges, {"r": truth})
    found = jury(verdicts, 0.95)
    assert found is not None
    assert (found.best, len(found.judges)) == ("best", 5)
    assert found.vote.value == pytest.approx((shared == truth).mean())
    assert found.difference.high < 0
    said = judge(verdicts).summary()
    assert "The jury of all 5 judges is right in" in said
    assert "worse than its best member (best, " in said


def test_a_jury_of_independent_judges_is_better():
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, 600)
    verdicts = points({f"j{k}": noisy(truth, 0.75, rng) for k in range(7)}, {"r": truth})
    found = jury(verdicts, 0.95)
    assert found is not None
    assert found.difference.low > 0
    assert "better than its best member" in judge(verdicts).summary()
    assert jury(points({"a": truth, "b": truth}, {"r": truth}), 0.95) is None


def _family_of(sign: float) -> str:
    rng = np.random.default_rng(0)
    systems = np.tile(np.arange(6), 400)
    truth = rng.integers(0, 2, len(systems))
    mine = systems < 3
    flip = rng.random(len(systems)) < 0.3
    said = np.where(mine & flip, 1 if sign > 0 else 0, truth)
    verdicts = points({"gpt-4": said}, {"r": truth}, systems)
    names = ("gpt-a", "gpt-b", "gpt-c", "x", "y", "z")
    own = Verdicts("points", verdicts.items, verdicts.item, verdicts.judges, verdicts.raters,
                   verdicts.categories, ordered=True, systems=names,
                   left=verdicts.left)  # fmt: skip
    assert [effect.name for effect in judge(own).cards[0].effects] == []  # no family is guessed
    return judge(own, own={"gpt-4": "gpt-*|none"}).summary()


def test_its_own_family_in_words():
    assert "is kinder to its own family than people are" in _family_of(1)
    assert "is harder on its own family than people are" in _family_of(-1)


def test_the_side_that_a_judge_picks():
    rng = np.random.default_rng(0)
    human = rng.integers(0, 3, 300).tolist()
    said = np.where(rng.random(300) < 0.5, 0, np.where(rng.random(300) < 0.3, 2, 1)).tolist()
    found = judge(pairs(human, said, rng.uniform(-1, 1, 300).tolist())).summary()
    left, right = (round(100 * said.count(code) / 300) for code in (2, 0))
    assert (
        f"picks the answer on the right in {right} % of battles, the left one in {left} %" in found
    )


def test_unlabelled_verdicts_can_be_corrected():
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, 300)
    human = np.where(np.arange(300) < 100, truth, -1)
    found = judge(points({"gpt": noisy(truth, 0.8, rng)}, {"r": human})).summary()
    assert "correct its 200 unlabelled verdicts (steelyard judge correct)" in found


def test_own_names_a_judge_that_is_there():
    truth = np.random.default_rng(0).integers(0, 2, 50)
    with pytest.raises(Exception, match="own: no judge 'gtp'"):
        judge(points({"gpt": truth}, {"r": truth}), own={"gtp": "x*"})


def test_a_jury_whose_members_never_agree_with_themselves():
    """Both orders of all pairs differ: nothing to vote on, and a split jury is half right."""
    n = 40
    left, right = np.full(n, 2, dtype=np.int32), np.zeros(n, dtype=np.int32)
    human = Opinion("r", np.tile([0.0, 1.0], n // 2), np.tile([0, 2], n // 2).astype(np.int32))
    judges = tuple(Opinion(f"j{k}", np.full(n, 0.5), left, right) for k in range(3))
    verdicts = Verdicts("pairs", tuple(map(str, range(n))), np.arange(n, dtype=np.int32), judges,
                        (human,), OF_PAIRS, ordered=True)  # fmt: skip
    found = jury(verdicts, 0.95)
    assert found is not None
    assert found.vote.value == 0.5
    assert found.best_accuracy.value == 0.5
