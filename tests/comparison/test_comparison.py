"""Systems against systems, end to end: the paper's examples, documented answers, invariances."""

from __future__ import annotations

import json
import tracemalloc
from dataclasses import replace
from typing import Any, get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import steelyard as sy
from steelyard.cli.main import run
from steelyard.comparison import options, rankings
from steelyard.comparison.card import decide
from steelyard.comparison.run import compare, compare_each
from steelyard.core.errors import UsageError
from steelyard.core.rng import generator
from steelyard.core.table import dumps
from steelyard.data.evalset import EvalSet, ScoreTable
from steelyard.data.segments import Segments
from steelyard.stats.paired import corrections
from steelyard.stats.resampling.bootstrap import bootstrap_medians, segment_counts
from steelyard.stats.resampling.cluster_df import expanded_level
from steelyard.stats.strength import bradleyterry
from steelyard.stats.strength.bradleyterry import bradley_terry
from steelyard.stats.strength.wins import win_counts

NAN = float("nan")
FIGURE1 = {"A": [1.0, 5, 11, 12, 17], "B": [2.0, 6, 7, 13, 18], "C": [5.0, 11, 12, 17, 1]}


def rated(name: str, orders: int) -> Any:
    """A ranking in so many orders, where it has any."""
    made = {"elo": sy.elo(orders=orders), "trueskill": sy.trueskill(orders=orders)}
    return made.get(name, name)


def make(scores: Any, **segments: Any) -> EvalSet:
    """A set with one score from rows of systems."""
    rows = scores if isinstance(scores, dict) else dict(zip("ABCDEFGH", scores, strict=False))
    values = np.array(list(rows.values()), dtype=float)
    ids = tuple(str(i) for i in range(values.shape[1]))
    return EvalSet(tuple(rows), Segments(ids, **segments), {"m": ScoreTable(values)})


def noisy(n=4, s=80, seed=0, gap=0.3) -> EvalSet:
    rng = np.random.default_rng(seed)
    easy = rng.normal(size=s)
    return make([easy - gap * i + rng.normal(0, 1, s) for i in range(n)])


def test_figure_1_of_the_paper():
    found = compare(make(FIGURE1), by=["mean", "median", "bt"], intervals=None)
    mean = found.aggregations["mean"].scores
    assert mean.tolist() == pytest.approx([9.2] * 3)
    assert found.aggregations["mean"].ranks.tolist() == [1, 1, 1]
    # The median puts A above B; four of five segments say B, and C beats A on four, too.
    place = dict(zip(found.systems, found.aggregations["median"].ranks, strict=True))
    assert place["A"] < place["B"]
    bt = found.aggregations["bt"]
    a, b, c = (found.systems.index(x) for x in "ABC")
    assert bt.ranks[b] < bt.ranks[a]
    assert bt.ranks[c] < bt.ranks[a]
    for pair in (("B", "A"), ("C", "A")):
        alone = compare(make({x: FIGURE1[x] for x in pair}), by="bt", intervals=None)
        strength = dict(zip(alone.systems, alone.aggregations["bt"].scores, strict=True))
        assert strength[pair[0]] == pytest.approx(0.8)


def test_a_third_system_can_change_the_verdict_on_two():
    """Appendix F; the scores printed for C there tie with the others, a cycle needs 3, 1, 2."""
    two = {"A": [1.0, 2, 3], "B": [2.0, 3, 1]}
    alone = compare(make(two), by="bt", intervals=None)
    assert alone.aggregations["bt"].scores.tolist() == pytest.approx([1 / 3, 2 / 3])
    three = compare(make(two | {"C": [3.0, 1, 2]}), by="bt", intervals=None)
    assert three.aggregations["bt"].scores.tolist() == pytest.approx([1 / 3] * 3)


@given(arrays(np.float64, (2, 9), elements=st.integers(0, 4).map(float)))
def test_two_systems_by_bt_are_their_wins(scores):
    found = compare(make(scores), by=sy.bt(ties="drop"), intervals=None)
    wins, losses = (scores[0] > scores[1]).sum(), (scores[0] < scores[1]).sum()
    if wins and losses:
        expected = wins / (wins + losses)
        assert found.aggregations["bt"].scores[0] == pytest.approx(expected, abs=1e-9)


@given(arrays(np.float64, (2, 11), elements=st.integers(-9, 9).map(float)))
def test_proposition_1(scores):
    """Mean follows the difference of means, median of medians, bt the median of differences."""
    found = compare(make(scores), by=["mean", "median", "bt"], intervals=None)
    gap = scores[0] - scores[1]
    signs = {
        "mean": np.sign(round(gap.mean(), 9)),
        "median": np.sign(np.median(scores[0]) - np.median(scores[1])),
    }
    if not (gap == 0).any():
        signs["bt"] = np.sign(np.median(gap))
    for name, sign in signs.items():
        ranks = found.aggregations[name].ranks
        if not np.isnan(ranks).any():
            assert np.sign(ranks[1] - ranks[0]) == sign


@given(st.integers(0, 50))
def test_pairing_decides_bt_only(seed):
    """Figure 2: re-pairing leaves mean and median alone; mass above the diagonal is bt."""
    rng = np.random.default_rng(seed)
    kinds = np.array([[23.0, 28.0], [50.0, 45.0], [40.0, 30.0]])
    a = np.concatenate([rng.normal(x, 3, 20) for x, _ in kinds])
    b = np.concatenate([rng.normal(y, 3, 20) for _, y in kinds])
    plain = compare(make([a, b]), by=["mean", "median", "bt"], intervals=None)
    mixed = compare(make([a, rng.permutation(b)]), by=["mean", "median", "bt"], intervals=None)
    for name in ("mean", "median"):
        np.testing.assert_allclose(
            plain.aggregations[name].scores, mixed.aggregations[name].scores, rtol=1e-12
        )
    ahead = np.sign((a > b).sum() - (a < b).sum())
    ranks = plain.aggregations["bt"].ranks
    assert np.sign(ranks[1] - ranks[0]) == ahead


def test_identical_systems():
    row = np.random.default_rng(0).normal(size=30)
    tests = ["t", "permutation", "bootstrap", "sign", "wilcoxon", "mood"]
    found = compare(make([row, row]), tests=tests)
    for name in tests:
        assert found.tests[name].p[0, 1] == 1, name
    assert found.aggregations["bt"].scores.tolist() == [0.5, 0.5]
    assert set(found.tiers["mean"].clusters) == {1}


def test_one_system():
    found = compare(make([[1.0, 2.0, 3.0]]))
    assert found.aggregations["mean"].scores.tolist() == [2.0]
    assert found.aggregations["bt"].ranks.tolist() == [1.0] or np.isnan(
        found.aggregations["bt"].ranks[0]
    )
    assert not found.tests
    assert any("nothing to compare" in w for w in found.warnings)


def test_all_ties():
    found = compare(make(np.full((3, 5), 2.0)))
    assert found.aggregations["bt"].scores.tolist() == pytest.approx([1 / 3] * 3)
    assert found.tests["sign"].p[0, 1] == 1
    assert np.isnan(found.tests["mood"].p[0, 1])


def test_a_system_that_always_wins():
    rng = np.random.default_rng(1)
    scores = rng.normal(size=(3, 40))
    scores[1] = 10 + scores[1]
    found = compare(make(scores), by="bt")
    bt = found.aggregations["bt"]
    assert np.isnan(bt.scores[1])
    assert bt.ranks[1] == 1
    assert bt.scores[0] + bt.scores[2] == pytest.approx(1)
    assert "B never lost: no finite Bradley-Terry strength" in found.warnings
    with_prior = compare(make(scores), by=sy.bt(prior=0.5))
    assert not np.isnan(with_prior.aggregations["bt"].scores).any()


def test_half_of_the_segments_missing():
    es = noisy(3, 40)
    values = es["m"].values.copy()
    values[0, :20] = NAN
    found = compare(es.with_scores("m", values), by=["mean", "bt"])
    assert any("20 of 120 scores are missing" in w for w in found.warnings)
    both = values[0, 20:].mean() - values[1, 20:].mean()
    assert found.aggregations["mean"].pairwise[0, 1] == pytest.approx(both)


def test_the_order_of_systems_does_not_matter():
    es = noisy()
    turned = EvalSet(es.systems[::-1], es.segments, {"m": ScoreTable(es["m"].values[::-1])})
    by: Any = ["mean", "median", "bt", sy.elo(orders=5), sy.trueskill(orders=5)]
    one, two = (compare(x, by=by, n_bootstrap=50).to_dict() for x in (es, turned))
    assert dumps(one) == dumps(two)


def test_an_interval_of_95_percent_is_one():
    es = noisy(2, 60)
    found = compare(es, by="mean", n_bootstrap=4000).aggregations["mean"]
    assert found.low is not None
    assert found.high is not None
    error = es["m"].values.std(axis=1, ddof=1) / np.sqrt(60)
    np.testing.assert_allclose((found.high - found.low) / error, 2 * 1.96, rtol=0.06)


def test_tiers_follow_the_ranking_and_the_test():
    found = compare(noisy(4, 300, gap=0.6), by="mean")
    assert found.tiers["mean"].test == "permutation"
    assert list(found.tiers["mean"].clusters) == [1, 2, 3, 4]
    assert found.ranking("mean") == ["A", "B", "C", "D"]


@pytest.mark.parametrize("binary", [False, True])
@pytest.mark.parametrize("n", [8, 30, 120])
def test_one_pair_has_one_p_in_every_answer(n: int, binary: bool):
    rng = np.random.default_rng(n)
    a = rng.normal(0, 1, n)
    b = a / 2 + rng.normal(0.3, 1, n)
    rows = [(x > 0).astype(float) if binary else x for x in (a, b)]
    es = make(rows)
    result = compare(es, by="mean")
    p = result.lead().p
    frame = result.pairs("mean", "pandas")
    gated = sy.gate(es.select(systems=["A"]), es.select(systems=["B"]))
    assert frame.loc[0, "p"] == pytest.approx(p, abs=1e-12)
    assert decide(es, ("A", "B")).p == pytest.approx(p, abs=1e-12)
    assert gated.to_dict()["p"] == pytest.approx(p, abs=1e-12)


def test_a_ranking_against_the_chosen_test_is_a_warning():
    rng = np.random.default_rng(0)
    a = rng.normal(0, 1, 200)
    b = a - 0.5
    b[:20] += 30  # a few large wins: the mean says B, the segments say A
    found = compare(make([a, b]), by="mean", tests="sign")
    assert any("mean ranks B above A, but by sign A is better" in w for w in found.warnings)


@given(arrays(np.float64, (2, 7), elements=st.integers(0, 9).map(float)), st.integers(0, 99))
def test_resampled_medians_by_hand(scores, seed):
    counts = np.random.default_rng(seed).multinomial(7, [1 / 7] * 7, size=4).astype(float)
    found = bootstrap_medians(scores, counts)
    for row, own in zip(found, counts.astype(int), strict=True):
        expected = [np.median(np.repeat(x, own)) for x in scores]
        assert row.tolist() == expected


@pytest.mark.parametrize("name", ["elo", "trueskill"])
def test_file_order_and_random_orders(name):
    es = noisy(3, 50)
    plain, many = (
        compare(es, by=rated(name, orders), intervals=None).aggregations[name] for orders in (0, 20)
    )
    assert not np.array_equal(plain.scores, many.scores)
    assert many.pairwise[0, 2] > 0.5


def test_decision_card():
    es = noisy(2, 100, gap=0.5)
    card = decide(es, ("A", "B"))
    gap = es["m"].values[0] - es["m"].values[1]
    assert card.difference == pytest.approx(gap.mean())
    assert card.ci[0] < card.difference < card.ci[1]
    assert (card.wins, card.losses) == ((gap > 0).sum(), (gap < 0).sum())
    assert (card.decision.leader, card.decision.significant) == ("A", True)
    turned = decide(es, ("B", "A"))
    assert turned.difference == pytest.approx(-card.difference)
    assert turned.decision.words() == card.decision.words()
    assert turned.needed == card.needed


def test_a_card_never_calls_systems_equal():
    rng = np.random.default_rng(5)
    row = rng.normal(size=50)
    card = decide(make([row, row + rng.normal(0, 1, 50)]), ("A", "B"))
    assert card.p > 0.05
    assert not card.decision.significant
    assert card.needed is not None
    assert card.needed > 50
    same = decide(make([row, row]), ("A", "B"))
    assert same.needed is None
    assert same.p == 1


@pytest.mark.parametrize(
    ("gap", "p"),
    [
        ([1.0, 2, 3, 4], 0.125),  # all four won: six would do, and not fewer
        ([30.0, 25, 20, 12, 8, -3], 0.0625),  # as TER on six segments
        ([3.5, 33.3, 10, 8, -1, -2], 0.125),
    ],
)
def test_the_card_does_not_ask_for_fewer_segments_than_its_test_needs(gap, p):
    card = decide(make([gap, [0.0] * len(gap)]), ("A", "B"), n_bootstrap=100)
    assert round(card.p, 4) == p
    assert card.needed is not None
    assert card.needed >= 6
    assert card.needed > card.n_segments
    if len(gap) == 4:
        assert card.needed == 6


def test_the_card_does_not_ask_for_fewer_documents_than_its_test_needs():
    names = tuple("aabbccdd")
    card = decide(make([[1.0, 2] * 4, [0.0] * 8], documents=names), ("A", "B"), unit="document")
    assert card.p == 0.125
    assert card.needed == 12  # six documents of two segments


@pytest.mark.parametrize("by", ["mean", "median", "bt", "elo", "trueskill"])
def test_pairs_and_gaps_have_intervals_of_their_own(by):
    found = compare(noisy(3, 60), by=rated(by, 20), n_bootstrap=200)
    own = found.to_dict()["aggregations"][by]
    low, high = (np.array(own["pairwise_ci"][end]) for end in ("low", "high"))
    pairwise = np.array(own["pairwise"])
    off = ~np.eye(3, dtype=bool)
    assert ((low <= pairwise) & (pairwise <= high))[off].all()
    gap = np.array(own["gap_ci"]["low"]), np.array(own["gap_ci"]["high"])
    if by in ("mean", "median"):
        np.testing.assert_array_equal((low, high), gap)
        np.testing.assert_allclose(low, -high.T, atol=1e-12)
    else:
        np.testing.assert_allclose(low, 1 - high.T, atol=1e-9)
        assert ((low >= 0) & (high <= 1)).all()
    if by == "elo":  # the lead in points, as a chance; the ends are between two resamples
        for end, points in ((low, gap[0]), (high, gap[1])):
            np.testing.assert_allclose(end[off], 1 / (1 + 10 ** (-points[off] / 400)), atol=1e-3)


def test_intervals_of_pairs_by_bradley_terry_are_those_of_its_resamples():
    es = noisy(3, 40)
    own = compare(es, by="bt", n_bootstrap=100, rng=4).aggregations["bt"]
    assert own.pairwise_ci is not None
    stream = generator(4).spawn(6)[0]
    drawn = segment_counts(100, 40, stream)
    chances = []
    for counts in drawn.astype(int):
        table = win_counts(np.repeat(es["m"].values, counts, axis=1))
        fit = bradley_terry(table.wins, table.ties)
        assert fit.connected
        chances.append(fit.strength[0] / (fit.strength[0] + fit.strength[2]))
    tail = (1 - expanded_level(0.95, np.ones(40))) / 2
    expected = np.quantile(chances, [tail, 1 - tail])
    found = own.pairwise_ci[0][0, 2], own.pairwise_ci[1][0, 2]
    np.testing.assert_allclose(found, expected, atol=1e-9)


def test_intervals_of_pairs_where_scores_are_missing():
    """The mean of a pair is over what both have, and so is its interval."""
    es = noisy(3, 60)
    values = es["m"].values.copy()
    values[1, :30] = NAN
    es = es.with_scores("m", values)
    own = compare(es, by=["mean", "median"], n_bootstrap=300).aggregations
    assert own["mean"].pairwise_ci is not None
    low, high = own["mean"].pairwise_ci
    assert low[0, 1] <= own["mean"].pairwise[0, 1] <= high[0, 1]
    gap = (values[0] - values[1])[30:]
    assert high[0, 1] - low[0, 1] == pytest.approx(3.92 * gap.std() / np.sqrt(30), rel=0.25)
    assert own["median"].pairwise_ci is None


def test_segments_needed_by_simulation():
    """At the number that the card gives, a test sees the difference as often as promised."""
    rng = np.random.default_rng(0)
    gap = rng.normal(0.2, 1, 100_000)
    card = decide(make([gap, np.zeros(100_000)]), ("A", "B"), n_bootstrap=10)
    assert card.needed is not None
    n = card.needed
    draws = rng.normal(0.2, 1, (2000, n))
    t = draws.mean(axis=1) / draws.std(axis=1, ddof=1) * np.sqrt(n)
    assert (np.abs(t) > 1.96).mean() == pytest.approx(0.8, abs=0.04)


def test_documents_need_more_segments():
    rng = np.random.default_rng(1)
    topic = np.repeat(rng.normal(0, 1, 40), 10)
    gap = 0.3 + topic + rng.normal(0, 0.3, 400)
    documents = tuple(f"d{i // 10}" for i in range(400))
    es = make([gap, np.zeros(400)], documents=documents)
    alone, together = decide(es, ("A", "B"), unit="segment"), decide(es, ("A", "B"))
    assert alone.needed is not None
    assert together.needed is not None
    assert together.needed > 5 * alone.needed
    assert together.p > alone.p


def test_cards_show_human_terms_and_texts():
    es = noisy(2, 40)
    people = np.where(np.arange(40) < 10, NAN, es["m"].values * 2)
    es = replace(
        es,
        scores={**es.scores, "mqm": ScoreTable(people, kind="human")},
        outputs={s: tuple(f"{s} {i}" for i in range(40)) for s in es.systems},
    )
    card = decide(es, ("A", "B"), "m", human="mqm")
    worst = card.regressions[0]
    assert worst.outputs == (f"A {worst.segment}", f"B {worst.segment}")


def test_several_scores():
    es = noisy(3, 100, gap=0.8)
    es = es.with_scores("n", es["m"].values + 1).with_scores("o", -es["m"].values)
    alone = options.CompareOptions(intervals=None)
    found = compare_each(es, ["m", "n", "o"], alone)
    assert [row[1] for row in found.table().rows] == ["A", "A", "C"]
    assert list(found.leads()) == list(found.to_dict()["scores"]) == ["m", "n", "o"]
    assert "A by m and n; C by o" in found.answer()[0]


def test_nothing_quadratic_in_systems_unless_asked_for():
    rng = np.random.default_rng(0)
    n = 3000
    rows = {f"s{i:04d}": row for i, row in enumerate(rng.normal(size=(n, 5)))}
    rows["s0001"] = rows["s0000"]
    es = make(rows)
    tracemalloc.start()
    try:
        found = compare(es, n_bootstrap=20)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 4 * n * n  # half a matrix of all pairs
    assert list(found.aggregations) == ["mean", "median"]
    assert not found.tests
    assert not found.tiers
    result = found.to_dict()
    assert result["aggregations"]["mean"]["pairwise"] is None
    assert [note for note in found.notes if "tests=..." in note]
    assert len(found.table().rows) == n


def test_many_systems_are_tested_where_asked_for():
    rng = np.random.default_rng(0)
    es = make({f"s{i:03d}": row for i, row in enumerate(rng.normal(size=(301, 4)))})
    assert not compare(es, by="mean", intervals=None).tests
    found = compare(es, by="mean", tests="t", intervals=None)
    assert found.tests["t"].p.shape == (301, 301)
    assert found.tiers["mean"].test == "t"
    assert not [note for note in found.notes if "tests=..." in note]


def test_one_segment_has_no_interval():
    es = make([[2.0], [3.0], [1.0]])
    found = compare(es)
    assert found.aggregations["mean"].ci is None
    assert "1 segment: there is nothing to resample, and no interval" in found.warnings
    card = decide(es, ("A", "B"))
    assert np.isnan(card.ci).all()
    text = card.table().text()
    assert "-1 (no interval)" in text
    assert "nan" not in text
    assert card.to_dict()["warnings"]
    whole = make(noisy(2, 6)["m"].values, documents=("d",) * 6)
    assert compare(whole, unit="document").aggregations["mean"].ci is None
    assert np.isnan(decide(whole, ("A", "B"), unit="document").ci).all()


def test_words_where_nothing_differs():
    es = make(np.full((3, 5), 2.0))
    card = decide(es, ("A", "B"))
    assert card.verdict == "A and B tie on every segment."
    assert "nan" not in card.table().text()


def test_a_small_p_value_is_not_shown_as_zero():
    rows = np.random.default_rng(0).normal(size=(2, 60))
    card = decide(make([rows[0] + 5, rows[1]]), ("A", "B"), n_bootstrap=50)
    assert card.p < 1e-4
    values = dict(zip(*card.table().to_columns().values(), strict=True))
    assert "< 0.0001" in values["p (permutation)"]
    assert "<0.0001" in values["p of wins (sign)"]


def test_a_score_without_any_cell():
    es = make(np.full((2, 3), NAN))
    for call in (lambda: compare(es), lambda: decide(es, ("A", "B"))):
        with pytest.raises(UsageError, match="'m' has no scores: every cell is missing"):
            call()


def test_json_contract(tmp_path, capsys):
    path = tmp_path / "wide.csv"
    path.write_text(
        "segment,A,B,C\n" + "".join(f"{i},{i % 3},{i % 4},{i % 5}\n" for i in range(40))
    )
    arguments = ["compare", str(path), "--by", "mean,median,bt,elo,trueskill", "--json",
                 "--bootstrap", "50", "--orders", "5"]  # fmt: skip
    assert run(arguments) == 0
    first = capsys.readouterr().out
    found = json.loads(first)
    assert found["systems"] == ["A", "B", "C"]
    assert found["n_segments"] == 40
    for own in found["aggregations"].values():
        assert own.keys() >= {"scores", "ranks", "ci", "pairwise"}
        assert len(own["pairwise"]) == 3
    assert sum(found["aggregations"]["bt"]["scores"].values()) == pytest.approx(1)
    assert found["tests"]["sign"].keys() >= {"p", "p_adjusted"}
    assert set(found["clusters"]) == set(found["aggregations"])
    assert isinstance(found["warnings"], list)
    assert run([*arguments, "--jobs", "2"]) == 0
    assert capsys.readouterr().out == first


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--by", "mode"], "no ranking 'mode'"),
        (["--tests", "z"], "no test 'z'"),
        (["--pair", "A"], "--pair A,B: expected two systems"),
        (["--pair", "A,Z"], "no system 'Z'"),
        (["--pair", "A,A"], "a pair needs two systems"),
        (["--score", "x"], "no score named 'x'"),
        (["--unit", "document"], "documents of the segments are not known"),
        (["--tests", "bootstrap", "--intervals", "none"], "needs resamples"),
    ],
)
def test_bad_calls(tmp_path, capsys, arguments, message):
    path = tmp_path / "s.csv"
    path.write_text("system,segment,m\nA,1,2\nA,2,3\nB,1,1\nB,2,5\n")
    assert run(["compare", str(path), *arguments]) == 2
    error = capsys.readouterr().err.splitlines()[-1]
    assert message in error


def test_system_scores_alone_are_refused():
    es = EvalSet(("A", "B"), Segments(()), {
        "m": ScoreTable(np.zeros((2, 0)), system_scores=np.array([1.0, 2.0]))})  # fmt: skip
    with pytest.raises(UsageError, match="system scores only"):
        compare(es)


@settings(max_examples=20)
@given(st.integers(0, 10**6))
def test_seeds_repeat(seed):
    es = noisy(3, 20, seed=1)
    one = compare(es, by="bt", n_bootstrap=20, rng=seed)
    two = compare(es, by="bt", n_bootstrap=20, rng=seed)
    assert dumps(one.to_dict()) == dumps(two.to_dict())


def test_options_without_a_part_in_the_card_are_named(tmp_path, capsys):
    path = tmp_path / "x.csv"
    rows = [f"{s},{k},{(k * 7 + i) % 5}" for i, s in enumerate("AB") for k in range(8)]
    path.write_text("system,segment,m\n" + "\n".join(rows) + "\n", encoding="utf-8")
    given = ["--tests", "t", "--elo-k", "3", "--bootstrap", "50"]
    assert run(["compare", str(path), "--pair", "A,B", "--json", *given]) == 0
    card = json.loads(capsys.readouterr().out)
    told = "--elo-k, --tests are ignored in the decision card"
    assert told in card["warnings"]
    assert card["provenance"]["options"]["bootstrap"] == 50
    assert run(["compare", str(path), "--pair", "A,B", "--json"]) == 0
    assert not any("ignored" in text for text in json.loads(capsys.readouterr().out)["warnings"])


def test_options_name_what_the_registries_hold():
    assert tuple(rankings.AGGREGATIONS) == options.RANKINGS
    assert tuple(rankings.TESTS) == options.TESTS
    assert bradleyterry.TIES == options.TIES
    assert set(corrections.CORRECTIONS) == set(get_args(options.Correction))


def test_rankings_bring_options_that_fit_together():
    with pytest.raises(UsageError, match="orders is 3 and 4"):
        compare(noisy(3, 20), by=[sy.elo(orders=3), sy.trueskill(orders=4)])


def test_pairs_are_a_frame_in_the_order_of_the_ranking(tmp_path, capsys):
    result = compare(noisy(6, 80, gap=0.1), by=["mean", "bt"], n_bootstrap=50)
    for by, test in (("mean", "paired permutation test"), ("bt", "sign test")):
        frame = result.pairs(by, "pandas")
        assert len(frame) == 15
        assert frame.loc[0, ["leader", "other"]].tolist() == result.ranking(by)[:2]
        assert set(frame["test"]) == {test}
        p = result.tests[result.tiers[by].test]
        i, j = (result.systems.index(name) for name in frame.loc[3, ["leader", "other"]])
        assert frame.loc[3, "p"] == p.p[i, j]
        assert frame.loc[3, "p_adjusted"] == p.p_adjusted[i, j]
        ranked = result.aggregations[by]
        assert ("chance" in frame) == ("alone" in frame) == (by == "bt")
        if ranked.alone is not None:
            assert frame.loc[3, "chance"] == ranked.pairwise[i, j]
            assert frame.loc[3, "alone"] == ranked.alone[i, j]
    path = tmp_path / "s.csv"
    path.write_text("system,segment,m\nA,1,2\nA,2,3\nB,1,1\nB,2,5\nC,1,4\nC,2,4\n")
    assert run(["compare", str(path), "--pairwise", "--quiet"]) == 0
    assert "leader  other  difference" in capsys.readouterr().out


def test_one_number_says_how_often_the_first_stays_first(capsys, tmp_path):
    """Also where some scores are missing, and rankings are of common segments."""
    rng = np.random.default_rng(0)
    rows = [f"{s},{k},{rng.normal() + i / 3:.3f}" for i, s in enumerate("ABC") for k in range(40)
            if (k + i) % 9]  # fmt: skip
    path = tmp_path / "gaps.csv"
    path.write_text("system,segment,m\n" + "\n".join(rows) + "\n")
    assert run(["compare", str(path), "--details", "--quiet"]) == 0
    printed = capsys.readouterr().out
    assert printed.count("resample") == printed.count("is first in") == 1
