"""What people would say of systems, from few labels and many verdicts."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from tests.judging import simulated
from tests.stats.judged import realdata

import steelyard as sy
from steelyard.core.errors import UsageError
from steelyard.data.verdicts import Opinion
from steelyard.judging.corrected import Correction
from steelyard.stats.prediction_powered.mean import Corrected, corrected_mean, stratified_mean

WORDS = {1.0: "left", 0.5: "tie", 0.0: "right"}


def pandalm(shared: Path, every: int, *, systems: bool = True) -> pl.DataFrame:
    """The majority of three people on every so many pairs, and a judge on all."""
    log = realdata.pandalm(shared)
    people = [WORDS[x] if i % every == 0 else None for i, x in enumerate(realdata.majority(log))]
    columns = {"item": [row["item"] for row in log.rows], "people": people}
    columns |= {name: [row[name] for row in log.rows] for name in ("pandalm-7b", "gpt-3.5-turbo")}
    if systems:
        columns |= {side: [row[side] for row in log.rows] for side in ("left", "right")}
    return pl.DataFrame(columns)


def overall(found: Correction) -> Corrected:
    """What was found of all rows together."""
    assert found.overall is not None
    return found.overall


def same(one, other) -> None:
    """Two estimates are the same but for rounding."""
    assert (one.n, one.why) == (other.n, other.why)
    for name in ("value", "low", "high", "se"):
        assert getattr(one, name) == pytest.approx(getattr(other, name), rel=1e-9, nan_ok=True)


def test_strengths_of_pandalm_are_those_of_the_notes(shared):
    found = sy.correct(pandalm(shared, 5), human=["people"], judge="pandalm-7b", unit="row")
    assert found.by == "bt"
    assert found.weight == pytest.approx(0.26286, abs=5e-6)
    values = {one.system: one.found.estimate for one in found.systems}
    golden = [0.10187775, -0.83741387, 0.71074109, -0.27417075, 0.29896577]
    errors = [0.159215, 0.174443, 0.168225, 0.168415, 0.164687]
    for name, strength, error in zip(sorted(values), golden, errors, strict=True):
        assert values[name].value == pytest.approx(strength, abs=1e-6)
        assert values[name].se == pytest.approx(error, abs=1e-5)


def test_strengths_of_the_arena_are_those_of_the_data(shared):
    log = realdata.arena(shared)
    frame = pl.DataFrame({name: [row[name] for row in log.rows] for name in log.rows[0]})
    labels = [row["human"] if i % 25 == 0 else None for i, row in enumerate(log.rows)]
    frame = frame.with_columns(pl.Series("human", labels))
    found = sy.correct(frame, human=["human"], judge="gpt-4-0125-preview", unit="row")
    assert found.n_labelled == 1077
    own = {one.system: one.found.estimate for one in found.systems}
    path = shared / "judges/arena-judges/expected-ppbt-gpt4-every25.csv"
    expected = list(csv.DictReader(path.read_text(encoding="utf-8").splitlines()))
    assert len(expected) == 20
    columns = list(expected[0])
    for row in expected:
        name, value = row[columns[0]], float(row[columns[1]])
        assert own[name].value == pytest.approx(value, abs=1e-5)


def test_the_mean_of_pandalm_is_that_of_ppi_python(shared):
    frame = pandalm(shared, 10, systems=False)
    found = overall(sy.correct(frame, human=["people"], judge="pandalm-7b", unit="row"))
    assert found.weight == pytest.approx(0.3889347777, abs=1e-9)
    assert found.estimate.value == pytest.approx(0.4530197606, abs=1e-9)
    assert found.estimate.se > 0.0425332932  # of few labels: a little more than theirs


def test_a_difference_is_the_mean_of_differences_and_not_of_two_corrections():
    rng = np.random.default_rng(0)
    truth, judge = simulated.points(rng, 2)
    labelled = simulated.chosen(rng, truth.shape, 80, alike=True)
    found = sy.correct(simulated.verdicts(truth, judge, labelled), pair=["s1", "s0"])
    human = np.where(labelled, truth, np.nan)
    expected = corrected_mean(human[1] - human[0], judge[1] - judge[0])
    (pair,) = found.pairs
    assert (pair.one, pair.other, pair.how) == ("s1", "s0", "the same items")
    assert pair.found.estimate == expected.estimate
    assert pair.found.people == expected.people
    one, other = (own.found.estimate.se for own in found.systems)
    assert pair.found.estimate.se < np.hypot(one, other)


def test_labels_on_other_items_are_compared_by_what_both_share():
    rng = np.random.default_rng(1)
    truth, judge = simulated.points(rng, 3)
    labelled = simulated.chosen(rng, truth.shape, 60, alike=False)
    found = sy.correct(simulated.verdicts(truth, judge, labelled))
    assert {pair.how for pair in found.pairs} == {"both means"}
    values = {one.system: one.found.estimate for one in found.systems}
    for pair in found.pairs:
        own = pair.found.estimate
        assert own.value == pytest.approx(values[pair.one].value - values[pair.other].value)
        # The judge saw the same items, which share what is hard: less noise than of strangers.
        assert own.se < np.hypot(values[pair.one].se, values[pair.other].se)


def test_labels_by_verdict_must_be_declared():
    rng = np.random.default_rng(2)
    truth = (rng.random(2000) < 0.9).astype(int)
    said = np.where(rng.random(2000) < 0.8, truth, 1 - truth)
    chosen = [*rng.choice(np.flatnonzero(said == 0), 50, replace=False),
              *rng.choice(np.flatnonzero(said == 1), 50, replace=False)]  # fmt: skip
    labels = [int(truth[i]) if i in set(chosen) else None for i in range(2000)]
    frame = pl.DataFrame({"item": range(2000), "people": labels, "gpt": said,
                              "level": said + 3})  # fmt: skip
    told = sy.correct(frame, human=["people"], judge="gpt", labels="by:verdict")
    own = overall(told).estimate
    assert own.low < truth.mean() < own.high
    expected = stratified_mean(np.array([np.nan if x is None else x for x in labels]),
                               said.astype(float), said)  # fmt: skip
    same(own, expected.estimate)
    by_column = sy.correct(frame, human=["people"], judge="gpt", labels="by:level")
    same(overall(by_column).estimate, expected.estimate)
    random = sy.correct(frame, human=["people"], judge="gpt")
    unknown = sy.correct(frame, human=["people"], judge="gpt", labels="unknown")
    assert overall(unknown).estimate == overall(random).estimate
    assert any("how rows were chosen for labelling is not known" in w for w in unknown.warnings)


def test_labels_at_random_are_not_complained_about():
    rng = np.random.default_rng(3)
    truth, judge = simulated.points(rng, 3)
    found = sy.correct(
        simulated.verdicts(truth, judge, simulated.chosen(rng, truth.shape, 60, alike=True))
    )
    assert found.warnings == ()


def test_a_stratum_without_labels_is_named():
    frame = pl.DataFrame({"item": range(60), "people": [1, 0] * 10 + [None] * 40,
                          "gpt": [1, 0, 1, 1] * 15, "set": ["a"] * 40 + ["b"] * 20})  # fmt: skip
    with pytest.raises(UsageError, match=r"'b' \(0\)"):
        sy.correct(frame, human=["people"], judge="gpt", labels="by:set")


def test_what_is_no_stratum_is_said():
    frame = pl.DataFrame({"item": range(120), "people": [0.1, 0.4, 0.2] * 20 + [None] * 60,
                          "gpt": np.linspace(0, 1, 120), "set": ["a"] * 120})  # fmt: skip
    with pytest.raises(UsageError, match="'verdict' has 120 values, too many to be strata"):
        sy.correct(frame, human=["people"], judge="gpt", labels="by:verdict")
    with pytest.raises(UsageError, match="labels: no strata in column 'set'"):
        sy.correct(frame, human=["people"], judge="gpt", labels="by:set")


def test_a_system_with_an_empty_stratum_is_undefined_and_the_others_are_not():
    rng = np.random.default_rng(4)
    truth, judge = simulated.points(rng, 3, 200)
    labelled = simulated.chosen(rng, truth.shape, 60, alike=True)
    labelled[0] &= np.arange(200) >= 100
    words = np.where(np.arange(200) < 100, "a", "b")
    data = simulated.verdicts(truth, judge, labelled, slices={"set": tuple(np.tile(words, 3))})
    found = sy.correct(data, labels="by:set")
    first, *others = (one.found.estimate for one in found.systems)
    assert "'a' (0)" in first.why
    assert all(own.bounded for own in others)
    assert found.comparison.aggregations["mean"].ranks.tolist()[1:] in ([1, 2], [2, 1])


def test_a_population_that_is_all_there_is_has_less_noise():
    rng = np.random.default_rng(6)
    truth, judge = simulated.points(rng, 2)
    data = simulated.verdicts(truth, judge, simulated.chosen(rng, truth.shape, 200, alike=True))
    each = (sy.correct(data, population=name) for name in ("any", "fixed"))
    usual, fixed = (overall(found).estimate for found in each)
    assert usual.value == fixed.value
    assert fixed.se < 0.9 * usual.se


def test_one_of_several_judges_must_be_named():
    frame = pl.DataFrame({
        "item": range(40), "people": [0, 1] * 20, "a": [0, 1] * 20, "b": [1, 0] * 20,
    })  # fmt: skip
    assert sy.correct(frame, human=["people"], judge="b").judge == "b"
    with pytest.raises(UsageError, match=r"several judges \(a, b\)"):
        sy.correct(frame, human=["people"])


def test_a_judge_that_knows_nothing_is_not_listened_to():
    rng = np.random.default_rng(9)
    frame = pl.DataFrame({
        "item": range(500), "gpt": rng.normal(size=500),
        "people": [float(x) if i < 100 else None for i, x in enumerate(rng.normal(size=500))],
    })  # fmt: skip
    found = sy.correct(frame, human=["people"], judge="gpt")
    assert found.weight < 0.2
    constant = sy.correct(frame.with_columns(gpt=pl.lit(1.0)), human=["people"], judge="gpt")
    assert constant.weight == 0
    assert overall(constant).estimate == overall(constant).people
    assert "adds nothing here (the judge says the same of all labelled rows" in constant.summary()


def test_few_labels_are_people_alone_and_said():
    frame = pl.DataFrame({"item": range(100), "gpt": [1, 0] * 50,
                              "people": [1, 0, 1, 1, 1, 0, 1, 1] + [None] * 92})  # fmt: skip
    found = sy.correct(frame, human=["people"], judge="gpt")
    assert overall(found).note == "8 labels, fewer than 15: people alone"
    assert any("8 labels, fewer than 15" in text for text in found.warnings)


def test_systems_with_few_labels_are_people_alone():
    rng = np.random.default_rng(20)
    truth, judge = simulated.points(rng, 5, 300)
    labelled = simulated.chosen(rng, truth.shape, 10, alike=False)
    labelled[0] |= simulated.chosen(rng, (1, 300), 40, alike=True)[0]
    found = sy.correct(simulated.verdicts(truth, judge, labelled))
    many, *few = (one.found for one in found.systems)
    assert many.weight > 0
    for own in few:
        assert (own.weight, own.estimate) == (0, own.people)
        assert own.note == f"{own.n_labelled} labels, fewer than 15: people alone"


def test_one_class_of_labels_has_an_exact_interval():
    frame = pl.DataFrame({"item": range(100), "gpt": [1, 0] * 50,
                              "people": [1] * 20 + [None] * 80})  # fmt: skip
    own = overall(sy.correct(frame, human=["people"], judge="gpt")).estimate
    assert own.value == 1
    assert own.low == pytest.approx(0.025 ** (1 / 20))


def test_battles_of_two_systems(shared):
    frame = pandalm(shared, 3)
    names = ["llama-7b", "opt-7b"]
    found = sy.correct(frame, human=["people"], judge="gpt-3.5-turbo", by="mean", pair=names)
    (pair,) = found.pairs
    assert pair.how == "battles of the two"
    log = realdata.pandalm(shared)
    one, other = (log.systems.index(name) for name in names)
    rows = ((log.left == one) & (log.right == other)) | ((log.left == other) & (log.right == one))
    sign = np.where(log.left == one, 1, -1)
    human = np.where(np.arange(999) % 3 == 0, realdata.majority(log), np.nan)
    expected = corrected_mean((sign * (2 * human - 1))[rows],
                              (sign * (2 * log.points("gpt-3.5-turbo") - 1))[rows])  # fmt: skip
    same(pair.found.estimate, expected.estimate)


def test_win_rates_of_pairs_sum_to_half_of_all():
    rng = np.random.default_rng(10)
    n, k = 600, 4
    left = rng.integers(0, k, n)
    right = (left + rng.integers(1, k, n)) % k
    points = rng.choice([0.0, 0.5, 1.0], n)
    said = np.where(rng.random(n) < 0.7, points, rng.choice([0.0, 0.5, 1.0], n))
    frame = pl.DataFrame({
        "item": range(n), "left": [f"s{x}" for x in left], "right": [f"s{x}" for x in right],
        "people": [WORDS[x] if i < 200 else None for i, x in enumerate(points)],
        "gpt": [WORDS[x] for x in said],
    })  # fmt: skip
    found = sy.correct(frame, human=["people"], judge="gpt", by="mean")
    for one in found.systems:
        code = int(one.system[1])
        own = np.concatenate([np.flatnonzero(left == code), np.flatnonzero(right == code)])
        y = np.where(left[own] == code, points[own], 1 - points[own])
        f = np.where(left[own] == code, said[own], 1 - said[own])
        expected = corrected_mean(np.where(own < 200, y, np.nan), f)
        assert one.found.estimate.value == pytest.approx(expected.estimate.value)
        assert one.found.estimate.se == pytest.approx(expected.estimate.se)


def test_the_result_is_a_comparison(shared):
    found = sy.correct(pandalm(shared, 2), human=["people"], judge="pandalm-7b")
    assert isinstance(found, Correction)
    comparison = found.comparison
    assert isinstance(comparison, sy.Comparison)
    assert comparison.ranking("bt")[0] == "llama-7b"
    ranked = comparison.aggregations["bt"]
    assert ranked.best_rank is not None
    assert (ranked.best_rank <= ranked.ranks).all()
    assert ranked.worst_rank is not None
    assert (ranked.ranks <= ranked.worst_rank).all()
    assert ranked.pairwise + ranked.pairwise.T == pytest.approx(1)
    assert comparison.tiers["bt"].clusters[comparison.systems.index("llama-7b")] == 1
    assert "max-t" in comparison.to_dict()["tests"]
    assert comparison.table().text()
    told = json.loads(json.dumps(found.to_dict(), default=lambda x: x.tolist()))
    own = told["corrected"]
    assert own["judge"] == "pandalm-7b"
    assert 0 < own["lambda"] < 1
    assert len(own["pairs"]) == 10
    assert {"system", "judge", "human", "corrected", "ci", "n_labelled"} <= set(own["systems"][0])
    assert found.table().columns[0].name == "system"
    assert [row[0] for row in found.table().rows] == comparison.ranking("bt")


def test_the_order_of_rows_does_not_matter_and_draws_are_those_of_the_seed(shared):
    frame = pandalm(shared, 4)
    one = sy.correct(frame, human=["people"], judge="pandalm-7b", rng=3)
    other = sy.correct(frame.reverse(), human=["people"], judge="pandalm-7b", rng=3)
    assert one.table() == other.table()
    assert [pair.p_adjusted for pair in one.pairs] == [pair.p_adjusted for pair in other.pairs]


def test_a_pair_the_other_way_round_is_its_mirror_image(shared):
    frame = pandalm(shared, 2)
    names = ["llama-7b", "opt-7b"]
    one, other = (
        sy.correct(frame, human=["people"], judge="pandalm-7b", pair=own).pairs[0]
        for own in (names, names[::-1])
    )
    assert one.found.estimate.value == -other.found.estimate.value
    assert one.found.estimate.low == -other.found.estimate.high
    assert one.p_adjusted == other.p_adjusted


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"labels": "by"}, "labels 'by': expected random, by:COLUMN"),
        ({"labels": "random:x"}, "labels 'random:x': expected|has no column"),
        ({"labels": "by:nothing"}, "nothing"),
        ({"labels": "probability:nothing"}, "no column 'nothing' of probabilities"),
        ({"judge": "gtp"}, "gtp"),
        ({"by": "bt"}, "needs pairs of systems"),
        ({"pair": ["A"]}, "expected two systems"),
        ({"pair": ["A", "Z"]}, "no system 'Z'"),
        ({"population": "all"}, "population"),
        ({"level": 1.5}, "level"),
    ],
)
def test_what_can_not_be_is_refused(settings, said):
    frame = pl.DataFrame({
        "item": [i for i in range(60) for _ in "AB"], "system": ["A", "B"] * 60,
        "people": [1, 0, 1, 1] * 10 + [None] * 80, "gpt": [1, 0, 0, 1] * 30,
    })  # fmt: skip
    with pytest.raises(UsageError, match=said):
        sy.correct(frame, **({"human": ["people"], "judge": "gpt"} | settings))


def test_too_few_labels_for_strengths_are_win_rates_and_said():
    # A wins all of its labelled battles: no finite strength.
    rng = np.random.default_rng(21)
    n = 200
    left = rng.choice(["A", "B", "C"], n)
    right = np.array([rng.choice([x for x in "ABC" if x != own]) for own in left])
    best = np.where(left == "A", "left", np.where(right == "A", "right", "tie"))
    said = np.where(rng.random(n) < 0.3, rng.choice(["left", "right"], n), best)
    labels = [word if i < 40 else None for i, word in enumerate(best)]
    frame = pl.DataFrame({"item": range(n), "left": left, "right": right, "people": labels,
                          "gpt": said})  # fmt: skip
    found = sy.correct(frame, human=["people"], judge="gpt")
    assert found.by == "mean"
    assert any(note.startswith("win rates, since there are no strengths") for note in found.notes)
    with pytest.raises(UsageError, match="too few for finite strengths"):
        sy.correct(frame, human=["people"], judge="gpt", by="bt")


def test_strengths_need_labels_at_random(shared):
    with pytest.raises(UsageError, match="chosen at random"):
        sy.correct(pandalm(shared, 2), human=["people"], judge="pandalm-7b", by="bt",
                   labels="by:verdict")  # fmt: skip


def test_no_label_at_all_is_refused():
    made = simulated.verdicts(np.zeros((1, 9)), np.ones((1, 9)), np.zeros((1, 9), bool))
    with pytest.raises(UsageError, match="no row has a label of people"):
        sy.correct(made)


def test_words_say_what_labels_and_the_judge_alone_would():
    rng = np.random.default_rng(11)
    truth, judge = simulated.points(rng, 3, 1000)
    data = simulated.verdicts(truth + 3 * np.arange(3)[:, None], judge + 5,
                              simulated.chosen(rng, truth.shape, 150, alike=True))  # fmt: skip
    said = sy.correct(data).summary()
    assert "By people s2 comes first" in said
    assert "no other system can be" in said
    assert "The judge alone is off for 3 of 3" in said
    assert "labels are worth" in said


@pytest.mark.thorough
@pytest.mark.parametrize("kind", ["alike", "apart", "strata", "probability"])
@pytest.mark.parametrize("labels", [30, 60])
def test_intervals_of_systems_and_pairs_cover(kind, labels):
    rng = np.random.default_rng(12)
    inside: list[bool] = []
    of_pairs: list[bool] = []
    all_places: list[bool] = []
    for _ in range(300):
        truth, judge = simulated.points(rng)
        more, how = {}, "random"
        high = judge > 0.8
        labelled = simulated.chosen(rng, truth.shape, labels, alike=kind == "alike")
        if kind == "strata":
            labelled[:] = False
            for system, side in [(s, side) for s in range(4) for side in (True, False)]:
                rows = np.flatnonzero(high[system] == side)
                labelled[system, rng.choice(rows, labels // 2, replace=False)] = True
            more, how = (
                {"slices": {"side": tuple(np.where(high, "high", "low").ravel())}},
                "by:side",
            )
        elif kind == "probability":
            chance = 0.5 * labels / 400 * (1 + 2 * high)
            labelled = rng.random(truth.shape) < chance
            more, how = {"probability": chance.ravel()}, "probability:p"
        data = simulated.verdicts(truth, judge, labelled, **more)
        found = sy.correct(data, labels=how, draws=300, rng=0)
        for place, one in enumerate(found.systems):
            own = one.found.estimate
            inside.append(own.low <= 0.1 * place <= own.high)
        for pair in found.pairs:
            apart = 0.1 * (int(pair.one[1]) - int(pair.other[1]))
            of_pairs.append(pair.found.estimate.low <= apart <= pair.found.estimate.high)
        assert found.together is not None
        best, worst = found.together.best, found.together.worst
        all_places.append(all(best[s] <= 4 - s <= worst[s] for s in range(4)))
    assert 0.925 <= np.mean(inside) <= 0.975
    assert 0.925 <= np.mean(of_pairs) <= 0.975
    assert np.mean(all_places) >= 0.95


@pytest.mark.thorough
@pytest.mark.parametrize("labels", [30, 60])
def test_strengths_of_pandalm_cover_those_of_all_labels(shared, labels):
    frame = pandalm(shared, 1)
    every = sy.judge(frame, human=["people"], judges=["pandalm-7b"], unit="row").verdicts
    truth = sy.correct(every, by="mean").systems
    people = every.raters[0].value
    expected = {}
    for one in truth:
        code = every.systems.index(one.system)
        points = np.concatenate([people[every.left == code], 1 - people[every.right == code]])
        expected[one.system] = points.mean()
    rng = np.random.default_rng(13)
    inside = []
    for _ in range(200):
        some = rng.permutation(len(every)) < labels
        data = replace(every, raters=(Opinion("people", np.where(some, people, np.nan)),))
        for one in sy.correct(data, by="mean", draws=100).systems:
            own = one.found.estimate
            if own.bounded:
                inside.append(own.low <= expected[one.system] <= own.high)
    assert 0.93 <= np.mean(inside) <= 0.98
