"""What people would say of systems, from few labels and many verdicts."""

from __future__ import annotations

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
from steelyard.stats.prediction_powered.mean import corrected_mean, stratified_mean

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


def same(one, other) -> None:
    """Two estimates are the same but for rounding."""
    assert (one.n, one.why) == (other.n, other.why)
    for name in ("value", "low", "high", "se"):
        assert getattr(one, name) == pytest.approx(getattr(other, name), rel=1e-9, nan_ok=True)


def test_strengths_of_pandalm_are_those_of_the_notes(shared):
    found = sy.correct(pandalm(shared, 5), human=["people"], judge="pandalm-7b", unit="row")
    assert found.by == "bt"
    assert found.weight == pytest.approx(0.26286, abs=5e-6)
    values = {one.system: one.corrected.estimate for one in found.systems}
    golden = [0.10187775, -0.83741387, 0.71074109, -0.27417075, 0.29896577]
    errors = [0.159215, 0.174443, 0.168225, 0.168415, 0.164687]
    for name, strength, error in zip(sorted(values), golden, errors, strict=True):
        assert values[name].value == pytest.approx(strength, abs=1e-6)
        assert values[name].se == pytest.approx(error, abs=1e-5)


def test_a_difference_is_the_mean_of_differences_and_not_of_two_corrections():
    rng = np.random.default_rng(0)
    truth, judge = simulated.points(rng, 2)
    labelled = simulated.chosen(rng, truth.shape, 80, alike=True)
    found = sy.correct(simulated.verdicts(truth, judge, labelled), pair=["s1", "s0"])
    human = np.where(labelled, truth, np.nan)
    expected = corrected_mean(human[1] - human[0], judge[1] - judge[0])
    (pair,) = found.pairs
    assert (pair.first, pair.second, pair.how) == ("s1", "s0", "the same items")
    assert pair.corrected.estimate == expected.estimate
    assert pair.corrected.people == expected.people
    one, other = (own.corrected.estimate.se for own in found.systems)
    assert pair.corrected.estimate.se < np.hypot(one, other)


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
    own = told.overall.estimate
    assert own.low < truth.mean() < own.high
    expected = stratified_mean(np.array([np.nan if x is None else x for x in labels]),
                               said.astype(float), said)  # fmt: skip
    same(own, expected.estimate)
    by_column = sy.correct(frame, human=["people"], judge="gpt", labels="by:level")
    same(by_column.overall.estimate, expected.estimate)
    random = sy.correct(frame, human=["people"], judge="gpt")
    unknown = sy.correct(frame, human=["people"], judge="gpt", labels="unknown")
    assert unknown.overall.estimate == random.overall.estimate
    assert any("how rows were chosen for labelling is not known" in w for w in unknown.warnings)


def test_a_system_with_an_empty_stratum_is_undefined_and_the_others_are_not():
    rng = np.random.default_rng(4)
    truth, judge = simulated.points(rng, 3, 200)
    labelled = simulated.chosen(rng, truth.shape, 60, alike=True)
    labelled[0] &= np.arange(200) >= 100
    words = np.where(np.arange(200) < 100, "a", "b")
    data = simulated.verdicts(truth, judge, labelled, slices={"set": tuple(np.tile(words, 3))})
    found = sy.correct(data, labels="by:set")
    first, *others = (one.corrected.estimate for one in found.systems)
    assert "'a' (0)" in first.why
    assert all(own.bounded for own in others)
    assert set(found.ranking) == {"s1", "s2"}


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
    same(pair.corrected.estimate, expected.estimate)


def test_ranks_and_tiers_follow_the_tests_of_all_pairs(shared):
    found = sy.correct(pandalm(shared, 2), human=["people"], judge="pandalm-7b")
    order = sorted(found.systems, key=lambda one: -one.corrected.estimate.value)
    assert list(found.ranking) == [one.system for one in order]
    assert next(iter(found.ranking)) == "llama-7b"
    for rank, (best, worst, _) in enumerate(found.ranking.values(), 1):
        assert best <= rank <= worst
    tiers = [tier for *_, tier in found.ranking.values()]
    assert tiers[0] == 1
    assert tiers == sorted(tiers)
    apart = {frozenset((one.first, one.second)): one.p_adjusted for one in found.pairs}
    names = list(found.ranking)
    for i, second in enumerate(names):  # systems of one tier never differ
        for j, first in enumerate(names[:i]):
            assert tiers[i] > tiers[j] or apart[frozenset((first, second))] > 0.05
    told = json.loads(json.dumps(found.to_dict(), default=lambda x: x.tolist()))
    assert [one["system"] for one in told["ranking"]] == names
    own = told["corrected"]
    assert own["judge"] == "pandalm-7b"
    assert 0 < own["lambda"] < 1
    assert len(own["pairs"]) == 10
    assert {"system", "judge", "human", "corrected", "ci", "n_labelled"} <= set(own["systems"][0])
    assert [row[0] for row in found.table().rows] == names


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
    ],
)
def test_what_can_not_be_is_refused(settings, said):
    frame = pl.DataFrame({
        "item": [i for i in range(60) for _ in "AB"], "system": ["A", "B"] * 60,
        "people": [1, 0, 1, 1] * 10 + [None] * 80, "gpt": [1, 0, 0, 1] * 30,
    })  # fmt: skip
    with pytest.raises(UsageError, match=said):
        sy.correct(frame, **({"human": ["people"], "judge": "gpt"} | settings))


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
            own = one.corrected.estimate
            inside.append(own.low <= 0.1 * place <= own.high)
        for pair in found.pairs:
            apart = 0.1 * (int(pair.first[1]) - int(pair.second[1]))
            of_pairs.append(pair.corrected.estimate.low <= apart <= pair.corrected.estimate.high)
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
            own = one.corrected.estimate
            if own.bounded:
                inside.append(own.low <= expected[one.system] <= own.high)
    assert 0.93 <= np.mean(inside) <= 0.98
