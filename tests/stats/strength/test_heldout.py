"""Held-out predictions against loops, other libraries, theory, and themselves."""

from __future__ import annotations

import math
from itertools import combinations
from typing import Any

import evalica
import numpy as np
import pytest
import trueskill
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.special import stdtrit

from steelyard.core.errors import ShapeError, UsageError
from steelyard.stats.paired.clustered import mean_error, sums_error
from steelyard.stats.strength import splits
from steelyard.stats.strength.battlelog import Battles, UnitCounts, battle_counts, score_battles
from steelyard.stats.strength.elo import EloGrid, EloOptions
from steelyard.stats.strength.heldout import LOSSES, Validated, losses, validate
from steelyard.stats.strength.orders import battles_in_orders, scores_in_orders, sequences
from steelyard.stats.strength.predictors import (
    Average,
    Chances,
    Elo,
    Family,
    Half,
    Pairs,
    Strength,
    TrueSkill,
    usual_orders,
)
from steelyard.stats.strength.splits import (
    Folds,
    SplitLog,
    SplitScores,
    canonical,
    random_folds,
    time_folds,
)
from steelyard.stats.strength.trueskill import (
    TrueSkillGrid,
    TrueSkillOptions,
    trueskill_chance,
    trueskill_outcomes,
)

NAN = float("nan")


def make_log(rng, n=5, size=300, *, theta=None, nu=0.5, units=None):
    """Battles by Davidson's model, and their units."""
    theta = rng.normal(size=n) if theta is None else theta
    left = rng.integers(0, n, size)
    right = (left + rng.integers(1, n, size)) % n
    gap = (theta[left] - theta[right]) / 2
    odds = np.stack([np.exp(-gap), np.full(size, nu), np.exp(gap)])
    drawn = rng.random(size) * odds.sum(axis=0)
    outcome = (drawn > np.cumsum(odds[:2], axis=0)).sum(axis=0) / 2
    unit = np.arange(size) if units is None else rng.integers(0, units, size)
    return Battles(left, right, outcome, n), unit


def split_log(battles, unit, rng, n_folds=4) -> SplitLog:
    folds, units = random_folds(unit, n_folds, rng)
    return SplitLog(battles, units, folds)


# ---------------------------------------------------------------- folds


@given(st.integers(0, 10_000), st.integers(2, 40), st.integers(2, 8))
def test_units_are_never_cut(seed, n_units, n_folds):
    rng = np.random.default_rng(seed)
    codes = np.append(rng.integers(0, n_units, 60) * 7, [0, 7])  # some of them, any codes
    folds, units = random_folds(codes, n_folds, rng)
    assert folds.n == min(n_folds, len(set(codes.tolist())))
    assert sorted(set(units.tolist())) == list(range(len(set(codes.tolist()))))
    for unit in set(codes.tolist()):
        assert len(set(folds.code[codes == unit].tolist())) == 1
        assert len(set(units[codes == unit].tolist())) == 1
    sizes = np.bincount([folds.code[codes == u][0] for u in sorted(set(codes.tolist()))])
    assert sizes.max() - sizes.min() <= 1
    for f in range(folds.n):
        assert (folds.held(f) ^ folds.train(f)).all()


def test_very_many_units_are_put_together_within_a_fold(monkeypatch):
    monkeypatch.setattr(splits, "MOST_UNITS", 11)
    folds, units = random_folds(np.arange(1000), 4, np.random.default_rng(0))
    assert units.max() == 7
    for unit in range(8):
        assert len(set(folds.code[units == unit].tolist())) == 1
        assert (units == unit).sum() == 125


@given(st.lists(st.integers(1, 6), min_size=2, max_size=12), st.integers(1, 9))
def test_parts_in_time_follow_each_other(runs, n_folds):
    units = np.repeat(np.arange(len(runs)), runs)
    folds = time_folds(units, n_folds)
    assert folds.in_time
    assert folds.n == min(n_folds, len(runs) - 1)
    assert (np.diff(folds.code) >= 0).all()
    assert set(folds.code.tolist()) == set(range(folds.n + 1))
    for unit in range(len(runs)):
        assert len(set(folds.code[units == unit].tolist())) == 1
    for f in range(folds.n):
        learned, met = np.flatnonzero(folds.train(f)), np.flatnonzero(folds.held(f))
        assert learned.max() + 1 == met.min()
        assert learned.min() == 0


def test_parts_in_time_are_of_one_size():
    assert np.bincount(time_folds(np.arange(600), 5).code).tolist() == [100] * 6


def test_one_unit_can_not_be_predicted():
    rng = np.random.default_rng(0)
    for make in (
        lambda: random_folds(np.zeros(5, np.int64), 2, rng),
        lambda: time_folds(np.zeros(5, np.int64), 2),
    ):
        with pytest.raises(UsageError, match="nothing is left to learn from"):
            make()
    folds = Folds(np.zeros(3, dtype=np.int64), 1)
    with pytest.raises(ShapeError):
        SplitScores(np.ones((2, 4)), np.arange(3), folds)
    with pytest.raises(ShapeError):
        SplitLog(make_log(rng)[0], np.arange(3), folds)


def test_scores_are_the_battles_that_they_unfold_into():
    rng = np.random.default_rng(2)
    scores = rng.integers(0, 5, (4, 30)).astype(float)
    scores[rng.random(scores.shape) < 0.2] = NAN
    folds, units = random_folds(np.arange(30) // 3, 4, rng)
    split = SplitScores(scores, units, folds)
    total = np.zeros((2, 4, 4))
    for f in range(4):
        some = folds.train(f)
        expected = battle_counts(score_battles(scores[:, some]))
        found = split.train(f).tables()
        assert np.array_equal(found.wins, expected.wins)
        assert np.array_equal(found.ties, expected.ties)
        for counts, codes in split.held(f):
            own = counts.pairs().tables()
            total += own.wins, own.ties
            for k, unit in enumerate(codes):
                expected = battle_counts(score_battles(scores[:, units == unit]))
                column = UnitCounts(4, 1, counts.i, counts.j, counts.cells[:, [k]])
                assert np.array_equal(column.pairs().tables().wins, expected.wins)
    whole = split.whole().tables()
    assert np.array_equal(total[0], whole.wins)
    assert np.array_equal(total[1], whole.ties)
    assert split.n_battles == whole.met.sum() / 2
    assert split.averages(0)["mean"][0] == np.nanmean(scores[0, folds.train(0)])
    assert split.averages(0)["median"][0] == np.nanmedian(scores[0, folds.train(0)])


def test_scores_in_parts_give_the_same(monkeypatch):
    rng = np.random.default_rng(2)
    scores = rng.normal(size=(4, 30))
    folds, units = random_folds(np.arange(30) % 10, 4, rng)
    split = SplitScores(scores, units, folds)
    families: list[Family] = [Half(), Strength("bt", (0.1,)), Elo((20.0,), 3)]
    whole = validate(split, families, np.random.default_rng(1))
    monkeypatch.setattr(splits, "_BATTLES", 12)
    parts = validate(split, families, np.random.default_rng(1))
    for loss in LOSSES[:3]:
        np.testing.assert_allclose(parts.means(loss), whole.means(loss), rtol=1e-12)
        for one, two in zip(whole.folds, parts.folds, strict=True):
            np.testing.assert_allclose(one.sums[:3], two.sums[:3])
    rows = [[model] * 4 for model in range(3)]
    errors = [x.differences("log-loss", rows, 1)[0].error for x in (whole, parts)]
    np.testing.assert_allclose(errors[0], errors[1], rtol=1e-9)


@given(st.integers(0, 10_000))
def test_neither_rows_nor_sides_matter(seed):
    rng = np.random.default_rng(seed)
    battles, unit = make_log(rng, size=40, units=6)
    order, swap = rng.permutation(40), rng.random(40) < 0.5
    other = Battles(
        np.where(swap, battles.right, battles.left)[order],
        np.where(swap, battles.left, battles.right)[order],
        np.where(swap, 1 - battles.outcome, battles.outcome)[order],
        battles.n,
    )
    for own, theirs in ((unit, unit[order]), (None, None)):
        one, codes = canonical(battles, own)
        two, other_codes = canonical(other, theirs)
        for name in ("left", "right", "outcome"):
            assert np.array_equal(getattr(one, name), getattr(two, name))
        assert np.array_equal(codes, other_codes)


# ---------------------------------------------------------------- losses


def naive_losses(found: Chances, outcome: float) -> list[float]:
    """What one battle costs, from the definitions."""
    win, lose, tie = (float(x[0, 0]) for x in found)
    e = win if math.isnan(tie) else win + tie / 2
    log = -(outcome * math.log(e) + (1 - outcome) * math.log(1 - e))
    picked = 1.0 if e > 0.5 else 0.0 if e < 0.5 else 0.5
    wrong = 0.0 if outcome == 0.5 else abs(outcome - picked)
    happened = {1.0: win, 0.0: lose, 0.5: tie}[outcome]
    told = NAN if math.isnan(tie) else -math.log(happened)
    return [log, (outcome - e) ** 2, wrong, told]


@given(st.floats(0.01, 0.98), st.floats(0.01, 0.98), st.sampled_from([0.0, 0.5, 1.0]))
def test_losses_of_one_battle(win, share, outcome):
    tie = (1 - win) * share
    knows = Chances(*(np.array([[x]]) for x in (win, 1 - win - tie, tie)))
    plain = Chances.scores(np.array([[win]]), np.array([[1 - win]]))
    for found in (knows, plain):
        own = losses(found)[:, 0, {1.0: 0, 0.0: 1, 0.5: 2}[outcome], 0]
        expected = naive_losses(found, outcome)
        assert own.tolist() == pytest.approx(expected, rel=1e-9, nan_ok=True)


def test_models_with_and_without_ties_are_comparable():
    """The same expected score costs the same, whether or not a model calls part of it a tie."""
    three = Chances(np.array([[0.5]]), np.array([[0.1]]), np.array([[0.4]]))
    two = Chances.scores(np.array([[0.7]]), np.array([[0.3]]))
    np.testing.assert_allclose(losses(three)[:3], losses(two)[:3])
    coin = losses(Chances.scores(np.array([[0.5]]), np.array([[0.5]])))
    assert coin[0, 0, :, 0].tolist() == pytest.approx([math.log(2)] * 3)
    assert coin[2, 0, :, 0].tolist() == [0.5, 0.5, 0.0]


@settings(max_examples=10)
@given(st.integers(0, 10_000))
def test_every_mean_is_a_mean_over_battles(seed):
    """Fit fold after fold, and go through what is held out battle by battle."""
    rng = np.random.default_rng(seed)
    battles, unit = make_log(rng, n=4, size=120, units=15)
    split = split_log(battles, unit, rng)
    families: list[Family] = [Half(), Average("mean"), Pairs(), Strength("bt", (0.1, 2.0)),
                Strength("davidson", (0.5,)), Strength("rao-kupper", (0.5,))]  # fmt: skip
    found = validate(split, families, rng)
    fitted = [family.fit(split, rng) for family in families]
    total, sizes = np.zeros((7, 4)), np.zeros(4)
    by_unit = np.zeros((7, split.n_units))
    for row in range(len(battles)):
        i, j = battles.left[[row]], battles.right[[row]]
        f = int(split.folds.code[row])
        every = [x for own in fitted for x in _each(own[f](i, j))]
        own = np.array([naive_losses(x, float(battles.outcome[row])) for x in every])
        total += own
        by_unit[:, split.unit[row]] += own[:, 0]
        sizes += [1, 1, battles.outcome[row] != 0.5, 1]
    for k, loss in enumerate(LOSSES):
        np.testing.assert_allclose(found.means(loss), total[:, k] / sizes[k], rtol=1e-10)
    rows = [[model] * 4 for model in range(7)]
    mean, error, freedom, n = found.mean_error("log-loss", rows)
    per_battle = np.bincount(split.unit, minlength=split.n_units).astype(float)
    expected = sums_error(by_unit, per_battle)
    np.testing.assert_allclose(mean, expected.mean)
    np.testing.assert_allclose(error, expected.error, atol=1e-15)
    assert n[0] == split.n_units
    assert freedom[0] <= split.n_units - 1


def _each(found: Chances) -> list[Chances]:
    return [Chances(*(x[[v]] for x in found)) for v in range(len(found.win))]


@given(st.integers(0, 10_000), st.booleans())
def test_errors_of_sums_are_those_of_what_is_summed(seed, equal):
    rng = np.random.default_rng(seed)
    blocks = np.arange(24) // 4 if equal else rng.integers(0, 6, 24)
    gap = rng.normal(size=(3, 24)) + 0.3
    codes = np.unique(blocks, return_inverse=True)[1]
    sums = np.stack([np.bincount(codes, row) for row in gap]).astype(np.float64)
    sizes = np.bincount(codes).astype(float)
    expected = mean_error(gap, blocks)
    empty = np.append(sums, np.zeros((3, 1)), axis=1)  # a unit without a size
    for found in (sums_error(sums, sizes), sums_error(empty, np.append(sizes, 0.0))):
        for one, two in zip(found, expected, strict=True):
            np.testing.assert_allclose(one, two, rtol=1e-9)


def test_errors_that_are_not_known():
    mean, error, *_ = sums_error(np.array([[1.0]]), np.array([2.0]))
    assert mean[0] == 0.5
    assert np.isnan(error[0])
    mean, error, *_ = sums_error(np.array([[np.inf, 1.0], [NAN, 1.0]]), np.array([1.0, 1.0]))
    assert np.isnan(error).all()
    assert np.isposinf(mean[0])


# ---------------------------------------------------------------- models


def test_davidson_against_a_climbed_likelihood():
    rng = np.random.default_rng(5)
    battles, unit = make_log(rng, n=4, size=240)
    split = split_log(battles, unit, rng)
    predict = Strength("davidson", (0.0,)).fit(split, rng)[1]
    learned = battles.take(np.flatnonzero(split.folds.train(1)))

    def chances(x, i, j):
        theta, nu = np.append(x[:3], 0.0), math.exp(x[3])
        a, b = math.exp(theta[i]), math.exp(theta[j])
        whole = a + b + nu * math.sqrt(a * b)
        return {1.0: a / whole, 0.0: b / whole, 0.5: nu * math.sqrt(a * b) / whole}

    def against(x):
        return -sum(math.log(chances(x, i, j)[s]) for i, j, s, _ in learned.rows())

    best = minimize(against, np.zeros(4), method="BFGS", options={"gtol": 1e-6})
    for i, j in combinations(range(4), 2):
        found = predict(np.array([i]), np.array([j]))
        expected = chances(best.x, i, j)
        assert [float(x[0, 0]) for x in found] == pytest.approx(
            [expected[1.0], expected[0.0], expected[0.5]], abs=1e-6
        )


@pytest.mark.parametrize("name", ["davidson", "rao-kupper"])
def test_ties_alone_and_no_ties(name):
    pair = np.array([0]), np.array([1])
    rng = np.random.default_rng(0)
    for outcomes, expected in (([0.5] * 8, [0, 0, 1]), ([0.0, 1.0] * 4, [0.5, 0.5, 0])):
        battles = Battles(np.zeros(8, int), np.ones(8, int), np.array(outcomes), 2)
        folds = Folds(np.array([0, 0, 0, 0, 1, 1, 1, 1]), 2)
        split = SplitLog(battles, np.arange(8), folds)
        found = Strength(name, (0.0,)).fit(split, rng)[0](*pair)
        assert [float(x[0, 0]) for x in found] == pytest.approx(expected)


def test_who_never_wins_has_no_strength_without_a_prior():
    rng = np.random.default_rng(0)
    left, right = np.array([0, 1, 0, 1] * 5), np.array([1, 0, 2, 2] * 5)
    battles = Battles(left, right, np.array([1.0, 1.0, 1.0, 1.0] * 5), 3)  # 2 loses everything
    split = SplitLog(battles, np.arange(20), Folds(np.arange(20) % 2, 2))
    families = [Strength(name, (0.0, 0.5)) for name in ("bt", "davidson", "rao-kupper")]
    means = validate(split, families, rng).means("log-loss")
    assert np.isnan(means[::2]).all()
    assert np.isfinite(means[1::2]).all()


def test_what_has_not_been_met_is_open():
    """A system that is held out altogether is at the start of ratings, in the middle of a prior."""
    rng = np.random.default_rng(0)
    battles = Battles(np.array([0, 1, 0, 2]), np.array([1, 0, 1, 3]), np.array([1.0, 0, 1, 1]), 4)
    split = SplitLog(battles, np.arange(4), Folds(np.array([0, 0, 0, 1]), 2))
    for family in (Half(), Pairs(), Strength("bt", (0.1,)), Elo((20.0,)),
                   TrueSkill(((25 / 6, 25 / 300, 0.1),))):  # fmt: skip
        found = family.fit(split, rng)[1](np.array([2]), np.array([3]))
        assert found.first[0, 0] == pytest.approx(0.5), family.name
    assert np.isnan(Average("mean").fit(split, rng)[1](np.array([2]), np.array([3])).win[0, 0])


def test_pairs_and_averages_by_hand():
    rng = np.random.default_rng(0)
    battles = Battles(np.array([0, 1, 0, 1, 0]), np.array([1, 0, 1, 2, 2]),
                      np.array([1.0, 0.0, 0.5, 1.0, 0.0]), 3)  # fmt: skip
    split = SplitLog(battles, np.arange(5), Folds(np.array([0, 0, 0, 0, 1]), 2))
    one, two = np.array([1, 0, 0]), np.array([0, 1, 2])
    found = Pairs().fit(split, rng)[1](one, two)
    assert found.win[0].tolist() == pytest.approx([1 / 4, 3 / 4, 1 / 2])  # (2.5 + .5) / (3 + 1)
    # Shares won: 0 has 2.5 of 3, 1 has 1.5 of 4, 2 has 0 of 1. The higher one won 3.5 of 4.
    found = Average("mean").fit(split, rng)[1](one, two)
    assert found.win[0].tolist() == pytest.approx([0.2, 0.8, 0.8])


def test_elo_against_evalica():
    rng = np.random.default_rng(3)
    battles, unit = make_log(rng, n=6, size=200)
    split = SplitLog(battles, unit, time_folds(unit, 3))
    predict = Elo((20.0, 50.0)).fit(split, rng)
    winners = {1.0: evalica.Winner.X, 0.0: evalica.Winner.Y, 0.5: evalica.Winner.Draw}
    for f in range(3):
        rows = list(battles.take(np.flatnonzero(split.folds.train(f))).rows())
        xs, ys = [str(i) for i, *_ in rows], [str(j) for _, j, *_ in rows]
        for v, k in enumerate((20.0, 50.0)):
            scores = evalica.elo(xs, ys, [winners[s] for _, _, s, _ in rows], k=k).scores
            for i, j in combinations(range(6), 2):
                expected = 1 / (1 + 10 ** ((scores[str(j)] - scores[str(i)]) / 400))
                found = predict[f](np.array([i]), np.array([j])).win[v, 0]
                assert found == pytest.approx(expected, abs=1e-9)


def test_trueskill_against_the_library():
    rng = np.random.default_rng(3)
    battles, unit = make_log(rng, n=4, size=60)
    split = SplitLog(battles, unit, time_folds(unit, 2))
    points = ((25 / 6, 25 / 300, 0.1), (8.0, 0.0, 0.4), (4.0, 0.2, None))
    predict = TrueSkill(points).fit(split, rng)
    for f in range(2):
        learned = battles.take(np.flatnonzero(split.folds.train(f)))
        share = ((learned.outcome == 0.5).sum() + 0.5) / (len(learned) + 1.5)
        for v, (beta, tau, draw) in enumerate(points):
            env = trueskill.TrueSkill(beta=beta, tau=tau, draw_probability=draw or share)
            skills = [env.create_rating() for _ in range(4)]
            for i, j, s, _ in learned.rows():
                first, second = (i, j) if s else (j, i)
                skills[first], skills[second] = trueskill.rate_1vs1(
                    skills[first], skills[second], drawn=s == 0.5, env=env
                )
            margin = trueskill.calc_draw_margin(draw or share, 2, env)
            for i, j in combinations(range(4), 2):
                c = math.sqrt(2 * beta**2 + skills[i].sigma ** 2 + skills[j].sigma ** 2)
                lead = skills[i].mu - skills[j].mu
                win, lose = env.cdf((lead - margin) / c), env.cdf((-lead - margin) / c)
                found = predict[f](np.array([i]), np.array([j]))
                assert found.win[v, 0] == pytest.approx(win, abs=1e-6)
                assert found.lose[v, 0] == pytest.approx(lose, abs=1e-6)
                assert found.tie[v, 0] == pytest.approx(1 - win - lose, abs=1e-6)


@given(st.floats(-60, 60), st.floats(0.1, 9), st.floats(0.1, 9), st.floats(0.001, 0.9))
def test_outcomes_of_trueskill_add_up(lead, sigma, other, draw):
    rules = TrueSkillOptions(draw_probability=draw)
    win, lose, tie = map(float, trueskill_outcomes(np.array(lead), sigma, other, rules))
    assert win + lose + tie == pytest.approx(1)
    assert min(win, lose, tie) >= 0
    back = [float(x) for x in trueskill_outcomes(np.array(-lead), sigma, other, rules)]
    assert (back[1], back[0], back[2]) == pytest.approx((win, lose, tie))
    aside = trueskill_chance(np.array(lead), sigma, other, rules)
    assert (win > lose) == (aside > 0.5)


def test_a_grid_is_each_of_its_rules():
    rng = np.random.default_rng(1)
    battles, _ = make_log(rng, n=5, size=50)
    scores = rng.integers(0, 6, (5, 20)).astype(float)
    scores[2, :5] = NAN
    elos = tuple(EloOptions(k=k) for k in (1.0, 20.0, 70.0))
    skills = tuple(
        TrueSkillOptions(beta=beta, tau=tau, draw_probability=draw)
        for beta, tau, draw in ((2.0, 0.0, 0.1), (25 / 6, 0.1, 0.3), (30.0, 0.5, 0.01))
    )
    order, segments = sequences(50, 3, rng), sequences(20, 3, rng)
    grid: Any
    for rules, grid in ((elos, EloGrid(elos)), (skills, TrueSkillGrid(skills))):
        whole = [battles_in_orders(own, battles, order) for own in rules]
        found = battles_in_orders(grid, battles, order)
        one = [scores_in_orders(own, scores, segments, np.random.default_rng(4)) for own in rules]
        all_scores = scores_in_orders(grid, scores, segments, np.random.default_rng(4))
        for k in range(3):
            for each, together in ((whole, found), (one, all_scores)):
                np.testing.assert_allclose(_mu(together)[k], _mu(each[k])[k], rtol=1e-12)


def _mu(found: Any) -> Any:
    return getattr(found, "mu", found)


def test_means_over_orders():
    """Ratings of a fold are means over random orders of all that it learns from."""
    rng = np.random.default_rng(1)
    battles, unit = make_log(rng, n=4, size=80)
    split = split_log(battles, unit, rng, 2)
    predict = Elo((30.0,), 2000).fit(split, np.random.default_rng(0))[0]
    learned = np.flatnonzero(split.folds.train(0))
    order = learned[sequences(len(learned), 2000, rng)]
    ratings = battles_in_orders(EloOptions(k=30.0), battles, order).mean(axis=0)
    expected = 1 / (1 + 10 ** ((ratings[1] - ratings[0]) / 400))
    assert predict(np.array([0]), np.array([1])).win[0, 0] == pytest.approx(expected, abs=0.005)


def test_the_number_of_orders_follows_the_work():
    rng = np.random.default_rng(0)
    battles, unit = make_log(rng)
    assert usual_orders(split_log(battles, unit, rng), 8) == 20
    assert usual_orders(split_log(battles, unit, rng), 80_000) == 4
    assert usual_orders(SplitLog(battles, unit, time_folds(unit, 2)), 8) == 1


# ---------------------------------------------------------------- choices


def naive_choice(found: Validated, loss: str, models, f):
    k, best = LOSSES.index(loss), (math.inf, None)
    for model in models:
        total = size = 0.0
        for g, own in enumerate(found.folds):
            if g != f:
                total += own.sums[k, model].sum()
                size += own.sizes[k].sum()
        if total / size < best[0]:
            best = (total / size, model)
    return best[1]


@settings(max_examples=10)
@given(st.integers(0, 10_000))
def test_parameters_are_chosen_without_the_fold(seed):
    rng = np.random.default_rng(seed)
    battles, unit = make_log(rng, size=90)
    found = validate(split_log(battles, unit, rng), [Elo((1.0, 20.0, 80.0), 2), Half()], rng)
    assert found.places == ((0, 1, 2), (3,))
    for loss in ("log-loss", "accuracy"):
        chosen = found.chosen(loss, (0, 1, 2))
        assert chosen == [naive_choice(found, loss, (0, 1, 2), f) for f in range(4)]
    k = LOSSES.index("log-loss")
    chosen = found.chosen("log-loss", (0, 1, 2))
    total = sum(own.sums[k, m].sum() for own, m in zip(found.folds, chosen, strict=True))
    mean = found.mean_error("log-loss", [chosen]).mean[0]
    assert mean == pytest.approx(total / 90)
    assert mean >= found.means("log-loss")[:3].min() - 1e-12  # no choice by hindsight


def test_the_undefined_is_never_chosen():
    rng = np.random.default_rng(0)
    left, right = np.array([0, 1, 0, 1] * 5), np.array([1, 0, 2, 2] * 5)
    battles = Battles(left, right, np.ones(20), 3)
    split = SplitLog(battles, np.arange(20), Folds(np.arange(20) % 2, 2))
    found = validate(split, [Strength("bt", (0.0, 0.5)), Strength("davidson", (0.0,))], rng)
    assert found.best("log-loss", (0, 1)) == 1
    assert found.chosen("log-loss", (0, 1)) == [1, 1]
    assert found.best("log-loss", (2,)) is None
    assert found.chosen("log-loss", (2,)) == [None, None]
    assert np.isnan(found.mean_error("log-loss", [[None, None]]).mean[0])
    assert found.best("outcomes", (0, 1)) is None  # no ties to Bradley-Terry


# ---------------------------------------------------------------- under a null


def true_risk(predicts, theta, nu, model, n):
    """Mean log-loss of the models that folds fitted, over battles as they are drawn."""
    i, j = (x.ravel() for x in np.indices((n, n)))
    i, j = i[i != j], j[i != j]
    gap = (theta[i] - theta[j]) / 2
    odds = np.stack([np.exp(gap), np.exp(-gap), np.full(len(i), nu)])
    p = odds / odds.sum(axis=0)
    e = p[0] + p[2] / 2
    risks = []
    for own in predicts:
        found = own(i, j)
        risks.append(-(e * np.log(found.first) + (1 - e) * np.log(found.second)).mean(axis=1))
    return np.mean([r[model] for r in risks])


def coverage(draws, seed, *, units=None, size=400, in_time=False):
    """Share of 95 % intervals of a difference of two models that hold the true difference.

    Bradley-Terry and pairs are both right about battles that know no third system, and differ by
    what they happened to learn; half is wrong.
    """
    rng = np.random.default_rng(seed)
    families: list[Family] = [Strength("bt", (0.5,)), Strength("davidson", (0.5,)),
                              Pairs(), Half()]  # fmt: skip
    hits = np.zeros(4)
    for _ in range(draws):
        theta = 0.4 * rng.normal(size=4)
        battles, unit = make_log(rng, n=4, size=size, theta=theta, units=units)
        split = split_log(battles, unit, rng, 5)
        if in_time:
            split = SplitLog(battles, split.unit, time_folds(np.arange(size), 5))
        found = validate(split, families, rng)
        risk = np.array([true_risk(own, theta, 0.5, 0, 4) for own in found.fitted])
        _, low, high = found.differences("log-loss", [[model] * 5 for model in range(4)], 0)
        hits += (low <= risk - risk[0]) & (risk - risk[0] <= high)
    return hits[1:] / draws


def test_intervals_of_differences_cover():
    found = coverage(100, 0)
    assert found.min() > 0.9
    assert found[2] == pytest.approx(0.95, abs=0.045)  # of models that differ surely


@pytest.mark.thorough
def test_intervals_of_differences_cover_by_unit_and_in_time():
    for more in ({}, {"units": 40}, {"in_time": True}, {"size": 2000}):
        found = coverage(500, 1, **more)
        assert found.min() > 0.92, more
        assert found[2] == pytest.approx(0.95, abs=0.03), more


def test_two_models_that_are_one_are_not_told_apart():
    rng = np.random.default_rng(0)
    battles, unit = make_log(rng)
    found = validate(split_log(battles, unit, rng), [Pairs(), Pairs("twin")], rng)
    gaps, low, high = found.differences("log-loss", [[0] * 4, [1] * 4], 0)
    assert gaps.mean.tolist() == low.tolist() == high.tolist() == [0.0, 0.0]


def test_an_interval_is_a_t_interval():
    rng = np.random.default_rng(0)
    battles, unit = make_log(rng)
    split = split_log(battles, unit, rng)
    found = validate(split, [Half(), Strength("bt", (1.0,))], rng)
    gaps, low, high = found.differences("log-loss", [[0] * 4, [1] * 4], 1, 0.9)
    alone = found.mean_error("log-loss", [[0] * 4, [1] * 4])
    assert gaps.mean[0] == pytest.approx(alone.mean[0] - alone.mean[1])
    half = gaps.error[0] * stdtrit(299, 0.95)
    k = LOSSES.index("log-loss")
    each = np.concatenate([own.sums[k, 0] - own.sums[k, 1] for own in found.folds])
    # What a battle costs under the models of the other folds: the spread is what folds learn.
    learned: Any = 0.0
    for row in range(300):
        i, j = battles.left[[row]], battles.right[[row]]
        under = [
            naive_losses(found.fitted[0][g](i, j), float(battles.outcome[row]))[0]
            - naive_losses(found.fitted[1][g](i, j), float(battles.outcome[row]))[0]
            for g in range(4)
            if g != split.folds.code[row]
        ]
        learned += 3 / 2 * sum((x - np.mean(under)) ** 2 for x in under)
    expected = each.var(ddof=1) / 300 + learned / 300**2
    assert gaps.error[0] == pytest.approx(expected**0.5)
    in_time = validate(SplitLog(battles, unit, time_folds(unit, 4)), found.families, rng)
    plain = in_time.differences("log-loss", [[0] * 4, [1] * 4], 1)[0]
    each = np.concatenate([own.sums[k, 0] - own.sums[k, 1] for own in in_time.folds])
    assert plain.error[0] == pytest.approx(each.std(ddof=1) / 240**0.5)
    assert low[0] == pytest.approx(gaps.mean[0] - half)
    assert high[0] == pytest.approx(gaps.mean[0] + half)
