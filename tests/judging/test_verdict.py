"""The five verdicts: a made-up set for each, and the edges of every rule."""

from __future__ import annotations

import numpy as np
import pytest
from tests.judging.made import noisy, opinion, points

from steelyard.data.verdicts import Opinion, Verdicts
from steelyard.judging.results import JudgeReport
from steelyard.judging.run import judge
from steelyard.judging.verdict import BELIEVE, CORRECT, DO_NOT, RANKING, TOO_LITTLE


def decided(verdicts: Verdicts) -> tuple[str, JudgeReport]:
    found = judge(verdicts)
    return found.decisions[0].word, found


def truth_of(n: int, seed: int = 1) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 2, n)


def test_believe_is_as_good_as_people():
    rng, truth = np.random.default_rng(0), truth_of(400)
    people = {f"r{k}": noisy(truth, 0.85, rng) for k in range(3)}
    word, found = decided(points({"gpt": noisy(truth, 0.95, rng)}, people))
    assert word == BELIEVE
    assert "gpt: believe it." in found.summary()
    assert any("not below people" in why for why in found.decisions[0].reasons)


def test_the_same_judge_is_not_believed_below_better_people():
    rng, truth = np.random.default_rng(0), truth_of(400)
    people = {f"r{k}": noisy(truth, 0.99, rng) for k in range(3)}
    word, found = decided(points({"gpt": noisy(truth, 0.85, rng)}, people))
    assert word == CORRECT
    assert any(why.startswith("below people") for why in found.decisions[0].reasons)
    assert "people agree more with each other" in found.summary()


@pytest.mark.parametrize(("right", "expected"), [(0.97, BELIEVE), (0.85, CORRECT)])
def test_one_rater_asks_for_a_kappa_of_point_eight(right, expected):
    truth = truth_of(600)
    word, found = decided(points({"gpt": noisy(truth, right, np.random.default_rng(2))},
                                 {"gold": truth}))  # fmt: skip
    assert word == expected
    assert (found.cards[0].kappa.low >= 0.8) == (expected == BELIEVE)
    assert any("how far people agree is not known (one rater)" in why
               for why in found.decisions[0].reasons)  # fmt: skip


def test_ranking_without_levels():
    """A harsh judge that hardly agrees on single outputs, but orders systems as people do."""
    rng = np.random.default_rng(3)
    systems = np.repeat(np.arange(8), 500)
    good = np.linspace(0.2, 0.9, 8)[systems]
    human = (rng.random(4000) < good).astype(int)
    said = (rng.random(4000) < 0.4 * good).astype(int)
    word, found = decided(points({"gpt": said}, {"r": human}, systems))
    assert word == RANKING
    assert "believe it for ranking, not for levels or single verdicts" in found.summary()
    assert "pairs of systems as people do; gaps under" in found.summary()


def test_use_only_with_correction_and_do_not_use():
    truth = truth_of(500)
    for right, expected in ((0.75, CORRECT), (0.55, DO_NOT), (0.2, DO_NOT)):
        said = noisy(truth, right, np.random.default_rng(4))
        assert decided(points({"gpt": said}, {"r": truth}))[0] == expected


def test_too_little_data_says_how_much_would_do():
    truth = truth_of(20)
    word, found = decided(points({"gpt": truth}, {"r": truth}))
    assert word == TOO_LITTLE
    assert found.decisions[0].labels_needed == 30
    assert "too little data to say: 20 labelled rows give agreement between 0.84 and 1.00" in (
        found.summary()
    )
    truth = truth_of(32)
    word, found = decided(points({"gpt": noisy(truth, 0.7, np.random.default_rng(0))},
                                 {"r": truth}))  # fmt: skip
    assert word == TOO_LITTLE
    needed = found.decisions[0].labels_needed
    assert needed is not None
    assert 30 < needed < 60


def test_what_is_plainly_below_a_constant_is_not_spared_by_width():
    human = np.array([1] * 33 + [0] * 3)
    assert decided(points({"gpt": 1 - human}, {"r": human}))[0] == DO_NOT
    said = np.array([1, 0] * 18)
    word, found = decided(points({"gpt": said}, {"r": human}))
    assert (found.cards[0].accuracy.high - found.cards[0].accuracy.low) / 2 > 0.15
    assert word == DO_NOT


def test_labels_that_are_all_the_same_tell_nothing():
    human = np.ones(200, dtype=int)
    word, found = decided(points({"gpt": human}, {"r": human}))
    assert word == TOO_LITTLE
    assert found.decisions[0].labels_needed is None
    assert "all labels are the same" in found.summary()
    assert not found.cards[0].kappa.known
    assert found.cards[0].kappa.why == "people and judge both used one category only"


def test_a_constant_judge():
    truth = truth_of(300)
    word, found = decided(points({"gpt": np.ones(300, dtype=int)}, {"r": truth}))
    assert word == DO_NOT
    assert found.cards[0].kappa.value == pytest.approx(0)
    assert any("no correlation" in why for why in found.decisions[0].reasons)


def test_a_constant_judge_of_scores_and_people_who_never_differ():
    n = 50
    rng = np.random.default_rng(0)
    human = Opinion("r", rng.normal(size=n))
    flat = Opinion("flat", np.full(n, 0.5))
    items = tuple(map(str, range(n)))
    codes = np.arange(n, dtype=np.int32)
    word, found = decided(Verdicts("points", items, codes, (flat,), (human,)))
    assert word == DO_NOT
    assert "same number to all rows" in found.decisions[0].reasons[0]
    other = Verdicts("points", items, codes, (human,), (flat,))
    word, found = decided(other)
    assert word == TOO_LITTLE
    assert "agreement is undefined (people gave the same number to all rows)" in found.summary()


def test_scores_alone_with_one_rater():
    rng = np.random.default_rng(5)
    human = rng.normal(size=400)
    for noise, expected in ((0.2, BELIEVE), (1.0, CORRECT), (10.0, DO_NOT)):
        judges = (Opinion("gpt", human + noise * rng.normal(size=400)),)
        verdicts = Verdicts("points", tuple(map(str, range(400))), np.arange(400, dtype=np.int32),
                            judges, (Opinion("r", human),))  # fmt: skip
        word, found = decided(verdicts)
        assert word == expected
        assert "It correlates with people at" in found.summary()
        assert found.cards[0].kappa.why == "verdicts are scores, no labels"


def test_a_gap_wider_than_the_systems_are_apart_is_not_believed():
    """As good as people on outputs, but what it prefers in systems is not what they prefer."""
    rng = np.random.default_rng(6)
    systems = np.repeat(np.arange(10), 300)
    human = (rng.random(3000) < 0.5).astype(int)
    people = {f"r{k}": noisy(human, 0.8, rng) for k in range(3)}
    word, found = decided(points({"gpt": noisy(human, 0.85, rng)}, people, systems))
    level = found.cards[0].systems
    assert word != BELIEVE
    assert level.gap is None or not level.gap.gap.value < level.median_gap
    without = points({"gpt": noisy(human, 0.85, np.random.default_rng(6))}, people)
    assert decided(without)[0] == BELIEVE


def test_unparsed_verdicts_are_wrong_or_left_out():
    truth = truth_of(100)
    said = np.where(np.arange(100) < 10, -2, truth)  # ten words that nobody understands
    said[:5] = -1  # and five of them are empty cells
    verdicts = points({"gpt": truth}, {"r": truth})
    own = opinion("gpt", said)
    made = Verdicts("points", verdicts.items, verdicts.item, (own,), verdicts.raters,
                    verdicts.categories, ordered=True)  # fmt: skip
    for option, n, share in (("auto", 95, 90 / 95), ("wrong", 100, 0.9), ("drop", 90, 1.0)):
        card = judge(made, unparsed=option).cards[0]
        assert card.n == n
        assert card.accuracy.value == pytest.approx(share)
