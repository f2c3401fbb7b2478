"""Relative rankings: WMT13, duels by hand, joined names, judges."""

from __future__ import annotations

import gzip
import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import steelyard as sy
from steelyard import human_scores
from steelyard.core.errors import DegenerateError, InputError, UsageError
from steelyard.data.judgements import Rankings, encode
from steelyard.human.rr import fit, matches, wmt_options
from steelyard.human.rr import unfold as duels

nan = float("nan")


def as_rankings(rows) -> Rankings:
    """Rows of (segment, judge, [(system, rank), ...])."""
    width = max(len(row[2]) for row in rows)
    segments, segment = encode([row[0] for row in rows])
    raters, rater = encode([row[1] for row in rows])
    systems, _ = encode([name for row in rows for name, _ in row[2]])
    code = {name: i for i, name in enumerate(systems)}
    system = np.full((len(rows), width), -1, dtype=np.int32)
    rank = np.full((len(rows), width), nan)
    for k, (_, _, ranked) in enumerate(rows):
        for place, (name, value) in enumerate(ranked):
            system[k, place], rank[k, place] = code[name], value
    return Rankings(systems, segments, raters, segment, rater, system, rank)


@pytest.fixture(scope="module", params=[pytest.param(1, marks=pytest.mark.thorough), 3])
def every(request) -> int:
    """One in so many rankings: TrueSkill plays their battles one by one, which takes its time."""
    return int(request.param)


@pytest.fixture(scope="module")
def wmt13(shared, every, tmp_path_factory):
    folder = shared / "wmt13-ranking"
    with gzip.open(folder / "fr-en.train.csv.gz", "rt", encoding="utf-8", newline="") as stream:
        head, *lines = stream
    path = tmp_path_factory.mktemp("wmt13") / "fr-en.train.csv"
    path.write_text("".join([head, *lines[::every]]), encoding="utf-8", newline="")
    return human_scores(path, protocol=sy.rr(by="expected-wins"), n_bootstrap=25)


def test_wmt13_models_agree_on_the_order(wmt13, every):
    models = wmt13.to_dict()["models"]
    for name in ("trueskill", "bt", "expected-wins"):
        values = [row[name] for row in models]
        assert values == sorted(values, reverse=True)
    best = wmt13.systems[0]
    assert (best.rank_from, best.range_from) == (1, 1)
    assert best.range_to == 1 or (every > 1 and best.range_to == 2)
    assert best.rank_to == 1 or every > 1  # fewer rankings tell fewer systems apart
    for s in wmt13.systems:
        assert s.range_from <= s.rank <= s.range_to
        assert s.rank_from <= s.range_from
        assert s.range_to <= s.rank_to


def test_wmt13_agreement_of_judges(wmt13):
    found = wmt13.to_dict()["agreement"]["rankings"]
    between, within = (found[key]["kappa"]["value"] for key in ("ranking", "repeats_ranking"))
    assert 0.2 < between < within < 0.7  # people agree with themselves more than with others
    low, high = found["ranking"]["kappa"]["ci"]
    assert low < between < high


ranked = st.lists(
    st.tuples(
        st.sampled_from("12"),
        st.sampled_from("jk"),
        st.permutations("ABCDE").flatmap(
            lambda names: st.lists(
                st.one_of(st.just(nan), st.integers(1, 5).map(float)), min_size=5, max_size=5
            ).map(lambda ranks: list(zip(names, ranks, strict=True)))
        ),
    ),
    min_size=1,
    max_size=6,
)


@given(ranked)
def test_duels_against_a_loop(rows):
    rankings = as_rankings(rows)
    found = duels(rankings)
    log, raters, names = found.log, rankings.raters, found.log.systems
    columns = (found.segment, found.rater, log.left, log.right, log.outcome)
    mine = sorted(
        (rankings.segments[g], raters[r], names[a], names[b], float(o))
        for g, r, a, b, o in zip(*columns, strict=True)
    )
    expected = sorted(
        (segment, judge, a, b, 0.5 if x == y else float(x < y))
        for segment, judge, listed in rows
        for (a, x), (b, y) in itertools.combinations(sorted(listed), 2)
        if not np.isnan(x + y)
    )
    assert mine == expected


def test_joined_names_stand_for_both():
    rows = [
        ("1", "j", [("A+B", 1), ("C", 2)]),
        ("2", "j", [("A", 2), ("B", 1), ("C", 3)]),
        ("3", "j", [("X+Y", 1), ("C", 2)]),  # X and Y never occur alone: a name with a plus
    ]
    log = duels(as_rankings(rows)).log
    assert log.systems == ("A", "B", "C", "X+Y")
    assert len(log) == 2 + 3 + 1


def test_a_system_twice_in_one_ranking():
    with pytest.raises(UsageError, match="'A' stands twice"):
        duels(as_rankings([("1", "j", [("A", 1), ("A", 2)])]))


def test_trueskill_plays_every_pair_equally_often():
    rows = [(str(k), "j", [("A", 1), ("B", 2)]) for k in range(90)]
    rows += [(str(k), "j", [("A", 1), ("C", 2)]) for k in range(10)]
    found = duels(as_rankings(rows))
    runs = matches(found, 50, np.random.default_rng(0), resample=False)
    with_c = (found.log.right[runs] == 2).mean()
    assert with_c == pytest.approx(0.5, abs=0.03)
    options = wmt_options(len(found.log))
    assert (options.mu, options.sigma, options.tau, options.draw_probability) == (0, 0.5, 0, 0.25)
    assert options.beta == 0.5 * 100 / 40


def test_resamples_are_around_the_score():
    rng = np.random.default_rng(3)
    skill = {"A": 1.0, "B": 0.3, "C": -1.0}
    rows = []
    for k in range(200):
        seen = {name: value + rng.normal() for name, value in skill.items()}
        order = sorted(seen, key=lambda name: -seen[name])
        rows.append((str(k), "j", [(name, order.index(name) + 1) for name in skill]))
    found = duels(as_rankings(rows))
    for model in ("trueskill", "bt", "expected-wins"):
        fitted = fit(found, model, 80, np.random.default_rng(0))
        assert fitted.scores[model].argsort().tolist() == [2, 1, 0]
        spread = fitted.draws.std(axis=0)
        assert (np.abs(fitted.draws.mean(axis=0) - fitted.scores[model]) < spread).all()


def test_judges_by_hand():
    rows = [
        ("1", "a", [("A", 1), ("B", 2)]),
        ("1", "a", [("A", 1), ("B", 2)]),
        ("1", "b", [("A", 2), ("B", 1)]),
        ("1", "c", [("A", 1), ("B", 2)]),
    ]
    result = human_scores(as_rankings(rows), protocol=sy.rr(by="expected-wins"), n_bootstrap=0)
    judges = {row["rater"]: row for row in result.to_dict()["raters"]}
    assert [judges[j]["agree"] for j in "abc"] == [0.5, 0.0, pytest.approx(2 / 3)]
    assert judges["a"]["n_rankings"] == 2


def test_one_who_always_wins_has_no_strength_and_a_warning():
    rows = [(str(k), "j", [("A", 1), ("B", 2 + k % 2), ("C", 3 - k % 2)]) for k in range(4)]
    result = human_scores(as_rankings(rows), protocol="rr", n_bootstrap=20)
    assert any("no Bradley-Terry strength" in note and "A" in note for note in result.warnings)
    assert result.systems[0].system == "A"


def test_refusals(tmp_path):
    with pytest.raises(DegenerateError, match="no ranking"):
        human_scores(as_rankings([("1", "j", [("A", 1)])]), protocol="rr")
    with pytest.raises(UsageError, match="did you mean 'trueskill'"):
        sy.rr(by="truskill")  # type: ignore[arg-type]
    path = tmp_path / "x.csv"
    path.write_text("rater,system,segment,raw\nr,A,1,10\n")
    with pytest.raises(InputError, match=r"read as direct assessment.*protocol rr expects"):
        human_scores(path, protocol="rr")
