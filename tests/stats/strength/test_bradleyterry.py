"""Bradley-Terry strengths: against other packages, plain likelihoods, and the paper's examples."""

from __future__ import annotations

import math
from collections import defaultdict

import choix
import evalica
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.optimize import minimize
from tests.stats.judged.realdata import rows
from tests.stats.naive import NAN

from steelyard.core.errors import UsageError
from steelyard.stats.strength.bradleyterry import (
    METHODS,
    TIE_MODELS,
    TIES,
    bradley_terry,
    bradley_terry_pairs,
    win_probability,
)
from steelyard.stats.strength.wins import (
    Battles,
    battle_counts,
    battle_pairs,
    expected_wins,
    win_counts,
)


@st.composite
def tables(draw, largest=6, *, ties=True):
    """Wins and ties of a few systems, with empty cells."""
    n = draw(st.integers(1, largest))
    cells = st.sampled_from([0.0, 0.0, 1.0, 2.0, 5.0])
    wins = draw(hnp.arrays(np.float64, (n, n), elements=cells))
    np.fill_diagonal(wins, 0)
    tied = np.zeros((n, n))
    if ties:
        tied = np.triu(draw(hnp.arrays(np.float64, (n, n), elements=cells)), 1)
    return wins, tied + tied.T


def random_table(n, seed, games=40, tie_share=0.3):
    """Wins and ties of a log of random strengths."""
    rng = np.random.default_rng(seed)
    theta = rng.normal(size=n)
    wins, ties = np.zeros((n, n)), np.zeros((n, n))
    for i in range(n):
        for j in range(i):
            tied = rng.binomial(games, tie_share)
            won = rng.binomial(games - tied, 1 / (1 + math.exp(theta[j] - theta[i])))
            ties[i, j] = ties[j, i] = tied
            wins[i, j], wins[j, i] = won, games - tied - won
    return wins, ties


def log_likelihood(theta, wins, ties, ties_as, parameter=None):
    """Sum over pairs of counts times log probabilities, from the definition of each model."""
    total = 0.0
    n = len(wins)
    for i in range(n):
        for j in range(i):
            a, b = math.exp(theta[i]), math.exp(theta[j])
            w, v, t = wins[i, j], wins[j, i], ties[i, j]
            if ties_as == "davidson":
                whole = a + b + parameter * math.sqrt(a * b)
                chances = (a / whole, b / whole, parameter * math.sqrt(a * b) / whole)
            elif ties_as == "rao-kupper":
                first, second = a / (a + parameter * b), b / (b + parameter * a)
                chances = (first, second, 1 - first - second)
            else:
                if ties_as == "half":
                    w, v = w + t / 2, v + t / 2
                elif ties_as == "second":
                    w += t  # i > j here: the later system
                chances, t = (a / (a + b), b / (a + b), 1.0), 0
            for count, chance in zip((w, v, t), chances, strict=True):
                if count:
                    total += count * math.log(chance)
    return total


def maximum(wins, ties, ties_as):
    """Climb the likelihood without our derivatives: log-strengths with mean 0, tie parameter."""
    n = len(wins)
    model = ties_as in TIE_MODELS
    low = 1.0 if ties_as == "rao-kupper" else 0.0

    def loss(x):
        parameter = low + math.exp(x[-1]) if model else None
        theta = np.append(x[: n - 1], 0.0)
        return -log_likelihood(theta, wins, ties, ties_as, parameter)

    start = np.zeros(n - 1 + model)
    ours = minimize(loss, start, method="BFGS", options={"gtol": 1e-7})
    theta = np.append(ours.x[: n - 1], 0.0)
    return theta - theta.mean(), (low + math.exp(ours.x[-1]) if model else NAN), -ours.fun


# ---------------------------------------------------------------- against others


def as_log(wins, ties):
    """List every battle for evalica."""
    xs, ys, winners = [], [], []
    for i, j in zip(*np.nonzero(wins), strict=True):
        for _ in range(int(wins[i, j])):
            xs.append(str(i))
            ys.append(str(j))
            winners.append(evalica.Winner.X)
    for i, j in zip(*np.nonzero(np.triu(ties)), strict=True):
        for _ in range(int(ties[i, j])):
            xs.append(str(i))
            ys.append(str(j))
            winners.append(evalica.Winner.Draw)
    return xs, ys, winners


@pytest.mark.parametrize("n", [2, 3, 12, 30])
@pytest.mark.parametrize("seed", range(2))
def test_against_choix_and_evalica(n, seed):
    wins, ties = random_table(n, seed, games=60)
    fit = bradley_terry(wins, ties)
    assert fit.connected
    params = choix.ilsr_pairwise_dense(wins + ties / 2, tol=1e-13, max_iter=1000)
    np.testing.assert_allclose(fit.log_strength, params - params.mean(), atol=1e-9)
    xs, ys, winners = as_log(wins, ties)
    scores = evalica.bradley_terry(xs, ys, winners, tolerance=1e-13, limit=100_000).scores
    theirs = np.array([scores[str(k)] for k in range(n)])
    np.testing.assert_allclose(fit.strength, theirs / theirs.sum(), rtol=1e-9)
    # What evalica calls Newman's method is Davidson's model with nu = 2 v.
    result = evalica.newman(xs, ys, winners, tolerance=1e-13, limit=100_000)
    theirs = np.array([result.scores[str(k)] for k in range(n)])
    fit = bradley_terry(wins, ties, ties_as="davidson")
    np.testing.assert_allclose(fit.strength, theirs / theirs.sum(), rtol=1e-9)
    if n > 2:  # with two systems evalica stops before it updates v
        assert fit.tie_parameter == pytest.approx(2 * result.v, rel=1e-9)


@pytest.mark.parametrize("ties_as", TIES)
@pytest.mark.parametrize("n", [2, 3, 6])
def test_against_the_likelihood(ties_as, n):
    for seed in range(2):
        wins, ties = random_table(n, seed, games=25)
        fit = bradley_terry(wins, ties, ties_as=ties_as)
        theta, parameter, value = maximum(wins, ties, ties_as)
        np.testing.assert_allclose(fit.log_strength, theta, atol=2e-4)
        assert fit.tie_parameter == pytest.approx(parameter, rel=1e-3, nan_ok=True)
        fitted = log_likelihood(fit.log_strength, wins, ties, ties_as, fit.tie_parameter)
        assert fitted >= value - 1e-9


@given(tables(), st.sampled_from(["half", "drop", "second"]))
def test_methods_agree_and_nothing_but_the_scale_is_lost(table, ties_as):
    wins, ties = table
    newton = bradley_terry(wins, ties, ties_as=ties_as)
    mm = bradley_terry(wins, ties, ties_as=ties_as, method="mm")
    np.testing.assert_allclose(mm.strength, newton.strength, atol=0.02)
    assert newton.components == mm.components
    known = ~np.isnan(newton.strength)
    if known.any():
        assert newton.strength[known].sum() == pytest.approx(1)
        assert newton.log_strength[known].sum() == pytest.approx(0, abs=1e-9)
        ratios = newton.strength[known] / np.exp(newton.log_strength[known])
        np.testing.assert_allclose(ratios, ratios[0])
        # At the maximum, expected wins are observed wins (within the component).
        inside = np.ix_(known, known)
        bonus = {"half": ties / 2, "second": np.tril(ties), "drop": 0 * ties}[ties_as]
        w = (wins + bonus)[inside]
        expected = ((w + w.T) * win_probability(newton.strength[known])).sum(axis=1)
        np.testing.assert_allclose(expected, w.sum(axis=1), atol=1e-6)


def test_the_papers_iteration_stops_where_the_papers_code_does():
    """A transcription of equations 3 and 4 and of the stopping rule."""
    wins, _ = random_table(5, 1, games=50)
    strength = [0.5] * 5
    while True:
        new = [
            sum(wins[i])
            / sum(
                (wins[i][j] + wins[j][i]) / (strength[i] + strength[j]) for j in range(5) if i != j
            )
            for i in range(5)
        ]
        new = [x / sum(new) for x in new]
        change = sum((a - b) ** 2 for a, b in zip(new, strength, strict=True))
        strength = new
        if change < 1e-9:
            break
    fit = bradley_terry(wins, ties_as="drop", method="mm")
    np.testing.assert_allclose(fit.strength, strength, rtol=1e-12)
    exact = bradley_terry(wins, ties_as="drop")
    assert 1e-6 < np.abs(fit.log_strength - exact.log_strength).max() < 1e-2


@given(tables(), st.sampled_from(TIES), st.sampled_from([0.01, 0.5, 3.0]))
def test_a_prior_is_an_opponent_whom_everybody_beats_half_of_the_time(table, ties_as, prior):
    wins, ties = table
    n = len(wins)
    fit = bradley_terry(wins, ties, ties_as=ties_as, prior=prior)
    assert fit.connected
    assert np.isfinite(fit.strength).all()
    assert fit.strength.sum() == pytest.approx(1)
    edge = ((0, 1), (0, 1))
    padded = np.pad(wins, edge, constant_values=prior)
    padded[n, n] = 0
    whole = bradley_terry(padded, np.pad(ties, edge), ties_as=ties_as)
    np.testing.assert_allclose(
        fit.log_strength, whole.log_strength[:n] - whole.log_strength[:n].mean(), atol=1e-9
    )


def test_more_systems_than_a_table_holds():
    n = 6000
    left, right = np.arange(n), (np.arange(n) + 1) % n
    ring = battle_pairs(Battles(left, right, np.ones(n), n))
    with pytest.raises(UsageError, match="up to 5,000 systems, got 6,000"):
        bradley_terry_pairs(ring)
    np.testing.assert_allclose(bradley_terry_pairs(ring, method="mm").strength, 1 / n)


# ---------------------------------------------------------------- edges, by hand


def test_all_ties():
    wins, ties = np.zeros((3, 3)), 4 * (1 - np.eye(3))
    for ties_as in ("half", "davidson", "rao-kupper"):
        fit = bradley_terry(wins, ties, ties_as=ties_as)
        np.testing.assert_allclose(fit.strength, 1 / 3)
        assert fit.ranks.tolist() == [1, 1, 1]
        assert fit.unbeaten == fit.winless == fit.unmet == ()
    assert bradley_terry(wins, ties, ties_as="davidson").tie_parameter == math.inf
    dropped = bradley_terry(wins, ties, ties_as="drop")
    assert np.isnan(dropped.strength).all()
    assert np.isnan(dropped.ranks).all()
    assert dropped.unmet == (0, 1, 2)


def test_a_system_that_always_wins_and_one_that_always_loses():
    wins = np.zeros((4, 4))
    wins[0, 1:] = 5  # always wins
    wins[1:3, 3] = 5  # 3 always loses
    wins[1, 2], wins[2, 1] = 3, 1
    for method in METHODS:
        fit = bradley_terry(wins, method=method)
        assert fit.strength.tolist() == pytest.approx([NAN, 0.75, 0.25, NAN], nan_ok=True)
        assert fit.ranks.tolist() == [1, 2, 3, 4]
        assert fit.unbeaten == (0,)
        assert fit.winless == (3,)
        assert fit.components == ((0,), (1, 2), (3,))
        assert fit.main == (1, 2)
        assert not fit.connected
    # One more system without a game changes nothing for the others.
    more = bradley_terry(np.pad(wins, ((0, 1), (0, 1))))
    assert more.strength.tolist() == pytest.approx([NAN, 0.75, 0.25, NAN, NAN], nan_ok=True)
    assert np.isnan(more.ranks).all()  # nothing is known about it, so no rank is certain
    assert more.unmet == (4,)


def test_a_lead_and_a_taste_for_ties_that_grow_together():
    """Wins of one side and ties only: half wins have a maximum, a model of ties has none."""
    wins, ties = [[0, 3], [0, 0]], [[0, 2], [2, 0]]
    np.testing.assert_allclose(bradley_terry(wins, ties).strength, [0.8, 0.2])
    for ties_as in TIE_MODELS:
        fit = bradley_terry(wins, ties, ties_as=ties_as)
        assert fit.components == ((0,), (1,))
        assert fit.ranks.tolist() == [1, 2]
        assert fit.unbeaten == (0,)
        finite = bradley_terry(wins, ties, ties_as=ties_as, prior=0.1)
        assert np.isfinite(finite.strength).all()


def test_one_system_and_none():
    one = bradley_terry([[0]])
    assert one.strength.tolist() == [1]
    assert one.ranks.tolist() == [1]
    assert one.connected
    assert one.unmet == (0,)
    assert bradley_terry([[0]], prior=0.5).strength.tolist() == [1]
    none = bradley_terry(np.zeros((0, 0)))
    assert none.strength.shape == (0,)
    assert none.components == ()
    assert bradley_terry(np.zeros((0, 0)), prior=0.5).strength.shape == (0,)


def test_extreme_but_connected_tables_converge():
    n = 8
    wins = np.triu(np.full((n, n), 1e6), 1) + np.tril(np.ones((n, n)), -1)
    fit = bradley_terry(wins)
    assert (np.diff(fit.log_strength) < -10).all()
    expected = ((wins + wins.T) * win_probability(fit.strength)).sum(axis=1)
    np.testing.assert_allclose(expected, wins.sum(axis=1), rtol=1e-9)
    chain = np.diag(np.full(n - 1, 1e6), 1) + np.diag(np.ones(n - 1), -1)
    fit = bradley_terry(chain)
    np.testing.assert_allclose(np.diff(fit.log_strength), -math.log(1e6), rtol=1e-9)


# ---------------------------------------------------------------- the paper


def strengths(scores, **options):
    counts = win_counts(np.array(scores, dtype=float))
    return bradley_terry(counts.wins, counts.ties, **options)


def test_figure_1_of_the_paper():
    a, b, c = [1, 5, 11, 12, 17], [2, 6, 7, 13, 18], [5, 11, 12, 17, 1]
    scores = np.array([a, b, c], dtype=float)
    assert np.ptp(scores.mean(axis=1)) == 0
    medians = np.median(scores, axis=1)
    assert medians[0] > medians[1]
    fit = strengths(scores)
    assert fit.strength[2] > fit.strength[1] > fit.strength[0]
    # Each pair by itself: better on all instances but one.
    for better, worse in ((1, 0), (2, 0), (2, 1)):
        pair = strengths(scores[[better, worse]])
        np.testing.assert_allclose(pair.strength, [0.8, 0.2])


def test_appendix_f_a_third_system_changes_the_other_two():
    a, b = [1, 2, 3], [2, 3, 1]
    np.testing.assert_allclose(strengths([a, b]).strength, [1 / 3, 2 / 3])
    # Printed is C = (3, 2, 1), with which the strengths are not equal under any treatment of
    # ties; (3, 1, 2) completes the cycle and gives the result that the text describes.
    np.testing.assert_allclose(strengths([a, b, [3, 1, 2]]).strength, 1 / 3)
    assert strengths([a, b, [3, 1, 2]]).ranks.tolist() == [1, 1, 1]
    for ties_as in TIES:
        printed = strengths([a, b, [3, 2, 1]], ties_as=ties_as)
        assert np.ptp(printed.log_strength) > 0.1


@given(
    hnp.arrays(np.float64, st.tuples(st.just(2), st.integers(1, 15)), elements=st.integers(-4, 4)),
    st.sampled_from(["half", "drop", "davidson", "rao-kupper"]),
)
def test_proposition_1(scores, ties_as):
    """BT prefers A to B iff A is better on most of the instances that differ.

    Without ties that is: iff the median of the differences is positive.
    """
    gap = scores[0] - scores[1]
    fit = strengths(scores, ties_as=ties_as)
    lead = np.sign((gap > 0).sum() - (gap < 0).sum())
    if (gap == 0).all() and ties_as == "drop":
        assert np.isnan(fit.ranks).all()
    else:
        assert np.sign(fit.ranks[1] - fit.ranks[0]) == lead
    if (gap != 0).all() and len(gap) % 2:
        assert np.sign(np.median(gap)) == lead


# ---------------------------------------------------------------- real battles


def test_llmfao(shared):
    battles = rows(shared / "llmfao" / "crowd-comparisons.csv.gz")
    scores: dict[str, dict[str, float]] = defaultdict(dict)
    for row in rows(shared / "llmfao" / "expected-scores.csv"):
        scores[row["algorithm"]][row["item"]] = float(row["score"])
    names = sorted(scores["elo"])
    expected = {key: np.array([own[name] for name in names]) for key, own in scores.items()}
    code = {name: k for k, name in enumerate(names)}
    outcome = {"left": 1.0, "right": 0.0, "tie": 0.5}
    left, right = (np.array([code[row[side]] for row in battles]) for side in ("left", "right"))
    won = np.array([outcome[row["winner"]] for row in battles])
    counts = battle_counts(Battles(left, right, won, len(names)))
    np.testing.assert_allclose((counts.wins + counts.ties / 2).sum(axis=1), expected["counting"])
    shares = expected_wins(counts, ties_as="half")
    np.testing.assert_allclose(shares, expected["average_win_rate"], atol=1e-12)
    for key, ties_as in (("bradley_terry", "half"), ("newman", "davidson")):
        fit = bradley_terry(counts.wins, counts.ties, ties_as=ties_as)
        assert fit.connected
        share = expected[key] / expected[key].sum()
        np.testing.assert_allclose(fit.strength, share, rtol=0, atol=1e-9)
