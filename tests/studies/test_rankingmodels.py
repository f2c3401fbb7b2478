"""Which model predicts best: on data made by a model, on edge cases, on real data."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest

import steelyard as sy
from steelyard.cli import main
from steelyard.core.errors import UsageError
from steelyard.core.table import dumps
from steelyard.data.judgements import BattleLog
from steelyard.stats.strength.heldout import LOSSES
from steelyard.studies.systems.options import LOSSES as NAMED
from steelyard.studies.systems.options import MODELS, ModelsOptions
from steelyard.studies.systems.rankingmodels import weigh_models

QUICK = {"k": [5, 20], "trueskill_beta": [25 / 6], "orders": 2}


def make_log(rng, theta, nu, size, *, units=None, times=False) -> BattleLog:
    """Battles by Davidson's model; strengths may change with time (size x systems)."""
    n = theta.shape[-1]
    left = rng.integers(0, n, size)
    right = (left + rng.integers(1, n, size)) % n
    own = np.broadcast_to(theta, (size, n))
    rows = np.arange(size)
    gap = (own[rows, left] - own[rows, right]) / 2
    odds = np.stack([np.exp(-gap), np.full(size, nu), np.exp(gap)])
    drawn = rng.random(size) * odds.sum(axis=0)
    outcome = (drawn > np.cumsum(odds[:2], axis=0)).sum(axis=0) / 2
    names = tuple(f"s{i}" for i in range(n))
    log = BattleLog(names, left.astype(np.int32), right.astype(np.int32), outcome)
    if times:
        log = replace(log, time=rows.astype(float))
    if units:
        code = rng.integers(0, units, size).astype(np.int32)
        log = replace(log, units=tuple(f"p{i:03}" for i in range(units)), unit=code)
    return log


def values(study, name="log-loss", table="models") -> dict[str, Any]:
    return {str(row["model"]): row[name] for row in study.table(table).records()}


# ---------------------------------------------------------------- data made by a model


def test_davidson_predicts_what_davidson_made():
    rng = np.random.default_rng(0)
    log = make_log(rng, np.linspace(-1.5, 1.5, 6), 2.0, 12_000)
    study = weigh_models(log, loss="outcomes", models=MODELS[:1] + MODELS[3:], **QUICK)
    assert study.facts["best"] == "davidson"
    assert {"trueskill", "half"} <= set(study.facts["worse"])
    assert values(study, "outcomes")["bt"] is None  # which knows no ties
    told = weigh_models(log, models=["davidson", "bt", "half"])
    assert set(told.facts["not_told_apart"]) <= {"bt", "davidson"}  # of expected scores


def test_elo_follows_strengths_that_drift():
    rng = np.random.default_rng(1)
    drift = np.cumsum(0.04 * rng.normal(size=(6000, 6)), axis=0)
    log = make_log(rng, drift, 0.1, 6000, times=True)
    study = weigh_models(log, order="time", models=["bt", "elo", "half"])
    assert study.facts["best"] == "elo"
    assert study.facts["parameters"]["elo"]["k"] >= 10
    assert "bt" in study.facts["worse"]
    assert not [text for text in study.warnings if "no times" in text]
    still = make_log(rng, 0.5 * rng.normal(size=6), 0.1, 6000, times=True)
    study = weigh_models(still, order="time", models=["bt", "elo", "half"])
    assert study.facts["best"] == "bt"


def test_pairs_know_that_paper_beats_rock():
    rng = np.random.default_rng(2)
    left = rng.integers(0, 3, 900).astype(np.int32)
    right = ((left + rng.integers(1, 3, 900)) % 3).astype(np.int32)
    ahead = (left - right) % 3 == 1
    outcome = (rng.random(900) < np.where(ahead, 0.8, 0.2)).astype(float)
    study = weigh_models(BattleLog(("a", "b", "c"), left, right, outcome), **QUICK)
    assert study.facts["best"] == "pairs"
    assert values(study)["bt"] == pytest.approx(np.log(2), abs=0.01)
    assert study.facts["n_ties"] == 0


def test_a_coin_is_told_as_one():
    rng = np.random.default_rng(3)
    study = weigh_models(make_log(rng, np.zeros(4), 0.5, 800), models=["half", "bt", "mean"])
    assert study.facts["verdict"].endswith("These data do not tell anything from a coin.")
    assert values(study)["half"] == pytest.approx(np.log(2))


def test_of_scores_outliers_mislead_the_mean_and_not_who_wins():
    rng = np.random.default_rng(4)
    scores = rng.normal(size=(3, 400)) + np.array([[0.0], [0.7], [1.4]])
    scores[0, ::20] += 200
    es = sy.EvalSet(("a", "b", "c"), sy.Segments(tuple(map(str, range(400)))),
                    {"m": sy.ScoreTable(scores)})  # fmt: skip
    study = weigh_models(es, **QUICK)
    right = values(study, "accuracy")
    assert right["mean"] < right["median"]
    assert right["median"] == pytest.approx(right["bt"], abs=0.01)
    assert {"mean", "half"} <= set(study.facts["worse"])
    assert study.facts["n_battles"] == 1200
    assert study.facts["unit"]["name"] == "segment"


# ---------------------------------------------------------------- what must not matter


def test_order_of_rows_and_sides_do_not_matter():
    rng = np.random.default_rng(5)
    log = make_log(rng, rng.normal(size=4), 0.5, 200, units=20)
    order, swap = rng.permutation(200), rng.random(200) < 0.5
    assert log.unit is not None
    other = BattleLog(
        log.systems,
        np.where(swap, log.right, log.left)[order],
        np.where(swap, log.left, log.right)[order],
        np.where(swap, 1 - log.outcome, log.outcome)[order],
        units=log.units,
        unit=log.unit[order],
    )
    one, two = (dumps(weigh_models(x, rng=1, **QUICK).to_dict()) for x in (log, other))
    assert one == two
    assert one != dumps(weigh_models(log, rng=2, **QUICK).to_dict())
    table = {"system": [], "segment": [], "m": []}  # type: dict[str, list[Any]]
    for i in range(3):
        table["system"] += [f"s{i}"] * 30
        table["segment"] += list(range(30))
        table["m"] += (i + rng.normal(size=30)).tolist()
    order = rng.permutation(90)
    shuffled = {name: [own[k] for k in order] for name, own in table.items()}
    one, two = (dumps(weigh_models(pl.DataFrame(x), **QUICK).to_dict()) for x in (table, shuffled))
    assert one == two


def test_whole_units_are_held_out():
    """Prompts that each have a favourite teach nothing about other prompts."""
    rng = np.random.default_rng(6)
    log = make_log(rng, np.zeros(4), 1e-9, 4000, units=20)
    assert log.unit is not None
    favourite = rng.normal(size=(20, 4)) * 3
    chance = 1 / (1 + np.exp(favourite[log.unit, log.right] - favourite[log.unit, log.left]))
    log = replace(log, outcome=(rng.random(4000) < chance).astype(float))
    whole = weigh_models(log, models=["pairs", "half"])
    cut = weigh_models(log, models=["pairs", "half"], unit="battle")
    assert whole.facts["unit"]["name"] == "prompt"
    assert values(whole)["pairs"] > values(cut)["pairs"] + 0.01
    gap = [s.table().records()[1] for s in (whole, cut)]
    assert gap[0]["high"] - gap[0]["low"] > 2 * (gap[1]["high"] - gap[1]["low"])  # type: ignore[operator]


def test_scores_and_their_log_agree():
    rng = np.random.default_rng(7)
    scores = rng.integers(0, 4, (4, 60)).astype(float)
    es = sy.EvalSet(tuple("abcd"), sy.Segments(tuple(f"{i:02}" for i in range(60))),
                    {"m": sy.ScoreTable(scores)})  # fmt: skip
    rows = [(i, j, s) for s in range(60) for i in range(4) for j in range(i + 1, 4)]
    i, j, s = np.array(rows, dtype=np.int32).T
    outcome = (np.sign(scores[i, s] - scores[j, s]) + 1) / 2
    log = BattleLog(tuple("abcd"), i, j, outcome, units=es.segments.ids, unit=s)
    families = ["half", "pairs", "bt", "davidson", "rao-kupper"]
    one, two = (weigh_models(x, models=families, unit=u) for x, u in
                ((es, "segment"), (log, "prompt")))  # fmt: skip
    assert dumps(one.table("parameters").records()) == dumps(two.table("parameters").records())
    assert one.facts["n_battles"] == two.facts["n_battles"] == 360


# ---------------------------------------------------------------- what is said


def test_tables_facts_and_curves():
    rng = np.random.default_rng(8)
    study = weigh_models(make_log(rng, rng.normal(size=5), 0.5, 600))
    rows = study.table().records()
    assert {row["model"] for row in rows} == set(MODELS) - {"median"}
    losses = [row["log-loss"] for row in rows]
    assert losses == sorted(losses)  # type: ignore[type-var]
    assert rows[0]["behind"] == rows[0]["low"] == 0
    assert study.facts["best"] == rows[0]["model"]
    named = {rows[0]["model"], *study.facts["not_told_apart"], *study.facts["worse"]}
    assert named == {row["model"] for row in rows}
    assert set(study.facts["within_one_error"]) <= named
    every = study.table("parameters").records()
    assert len(every) == 3 + 3 * 4 + 10 + 5 * 2 * 2
    for name in ("bt", "elo", "trueskill"):
        (best,) = [row for row in every if row["model"] == name and row["best"]]
        assert best["log-loss"] == min(r["log-loss"] for r in every if r["model"] == name)  # type: ignore[type-var]
    assert [curve.name for curve in study.curves] == [
        "models", "bt", "davidson", "rao-kupper", "elo", "trueskill"
    ]  # fmt: skip
    assert study.curve("elo").x == ModelsOptions().k
    assert len(study.curve("trueskill").lines) == 4
    assert study.provenance is not None
    assert "folds:5" in study.provenance.line()
    dumps(study.to_dict())
    assert NAMED == LOSSES


@pytest.mark.parametrize("loss", LOSSES)
def test_every_loss_can_choose(loss):
    rng = np.random.default_rng(9)
    study = weigh_models(make_log(rng, rng.normal(size=5), 0.5, 600), loss=loss, **QUICK)
    column = [row[loss] for row in study.table().records()]
    known: list[Any] = [x for x in column if x is not None]
    assert known == sorted(known, reverse=loss == "accuracy")
    assert column[: len(known)] == known  # what is undefined comes last
    notes = {row["model"]: row["note"] for row in study.table().records()}
    unknown = {name for name, note in notes.items() if note == "does not know ties"}
    assert unknown == ({"mean", "pairs", "bt", "elo"} if loss == "outcomes" else set())
    assert loss in study.facts["verdict"]


def test_what_is_undefined_says_why():
    left, right = np.array([0, 1, 0, 1] * 9), np.array([1, 0, 2, 2] * 9)
    log = BattleLog(tuple("abc"), left.astype(np.int32), right.astype(np.int32), np.ones(36))
    study = weigh_models(log, models=["bt", "half"], prior=[0])
    rows = study.table().records()
    assert [row["model"] for row in rows] == ["half", "bt"]
    assert rows[1]["log-loss"] is None
    assert rows[1]["worse"] is None
    assert "without a prior" in str(rows[1]["note"])
    alone = weigh_models(log, models=["bt"], prior=[0])
    assert alone.facts["best"] is None
    assert alone.facts["verdict"] == "No model could be weighed."
    both = weigh_models(log, models=["bt"], prior=[0, 1])
    assert both.facts["parameters"] == {"bt": {"prior": 1}}


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("outcome", [0.5, 1.0])
def test_one_outcome_alone(loss, outcome):
    """Nothing but ties, and nothing but wins of the first: every model has a value or a reason."""
    left, right = np.array([0, 0, 1] * 10), np.array([1, 2, 2] * 10)
    log = BattleLog(tuple("abc"), left.astype(np.int32), right.astype(np.int32),
                    np.full(30, outcome))  # fmt: skip
    for order in ("random", "time"):
        study = weigh_models(log, loss=loss, order=order, **QUICK)
        for row in study.table().records():
            assert (row[loss] is None) == bool(row["note"])
        dumps(study.to_dict())
        if outcome == 0.5:
            assert values(study, "accuracy")["half"] is None  # nobody won
            assert loss == "accuracy" or values(study)["davidson"] == pytest.approx(np.log(2))


def test_parts_of_a_win_and_weights_have_no_trueskill():
    rng = np.random.default_rng(0)
    log = make_log(rng, rng.normal(size=3), 0.5, 90)
    shared = replace(log, outcome=np.where(log.outcome == 1, 0.8, log.outcome))
    for odd in (shared, replace(log, weight=np.full(90, 2.0))):
        study = weigh_models(odd, **QUICK)
        assert "trueskill" not in values(study)
        assert any(text.startswith("trueskill is left out:") for text in study.warnings)
    with pytest.raises(UsageError, match="no model of trueskill fits"):
        weigh_models(shared, models=["trueskill"])


def test_few_units_and_no_times_are_said():
    rng = np.random.default_rng(0)
    log = make_log(rng, rng.normal(size=3), 0.5, 90, units=3)
    study = weigh_models(log, unit="prompt", **QUICK)
    assert study.facts["n_folds"] == 3
    assert "3 folds: there are no more units" in study.warnings
    assert any("intervals of differences are rough" in text for text in study.warnings)
    study = weigh_models(log, order="time", **QUICK)
    assert any("has no times" in text for text in study.warnings)


def test_missing_scores_take_no_part():
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(3, 40))
    scores[0, ::2] = scores[1, 1::2] = np.nan
    es = sy.EvalSet(tuple("abc"), sy.Segments(tuple(map(str, range(40)))),
                    {"m": sy.ScoreTable(scores)})  # fmt: skip
    study = weigh_models(es, **QUICK)
    assert study.facts["n_battles"] == 40
    assert any("scores are missing" in text for text in study.warnings)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"models": ["bt", "ello"]}, "did you mean 'elo'"),
        ({"models": []}, "at least one"),
        ({"loss": "mse"}, "unknown loss"),
        ({"folds": 1}, "at least 2"),
        ({"k": [0]}, "k is a list of numbers above 0"),
        ({"trueskill_draw": [1]}, "strictly between 0 and 1"),
        ({"order": "time"}, "segments have no order of time"),
        ({"unit": "topic"}, "unit 'topic'"),
        ({"where": {"lp": "en-de"}}, "load scores with them first"),
    ],
)
def test_bad_arguments(settings, message):
    with pytest.raises(UsageError, match=message):
        weigh_models(sy.demo_set(), "learned-refA", **settings)


def test_one_system_or_no_meeting():
    one = sy.EvalSet(("a",), sy.Segments(("1", "2")), {"m": sy.ScoreTable(np.ones((1, 2)))})
    with pytest.raises(UsageError, match="nothing to predict"):
        weigh_models(one)
    apart = np.array([[1.0, np.nan], [np.nan, 1.0]])
    none = sy.EvalSet(("a", "b"), sy.Segments(("1", "2")), {"m": sy.ScoreTable(apart)})
    with pytest.raises(UsageError, match="no segment has a score of two systems"):
        weigh_models(none)


# ---------------------------------------------------------------- the command


def run(capsys, *arguments) -> tuple[int, str, str]:
    code = main.run([str(x) for x in arguments])
    found = capsys.readouterr()
    return code, found.out, found.err


def test_the_command_takes_scores_and_logs(capsys, tmp_path):
    rng = np.random.default_rng(0)
    log = make_log(rng, rng.normal(size=4), 0.5, 300, times=True)
    path = tmp_path / "log.csv"
    sy.save(log, path)
    quick = ("--models", "half,bt,elo", "--elo-k", "5,20", "--orders", "2")
    code, out, _ = run(capsys, "study", "models", path, *quick, "--order", "time", "--json")
    assert code == 0
    found = json.loads(out)
    assert found["study"] == "models"
    assert found["n_battles"] == 300
    expected = weigh_models(log, models=["half", "bt", "elo"], k=[5, 20], orders=2, order="time")
    assert found["tables"] == json.loads(dumps(expected.to_dict()))["tables"]
    renamed = pl.read_csv(path).rename({"left": "a", "right": "b", "outcome": "who"})
    other = tmp_path / "other.csv"
    renamed.write_csv(other)
    columns = ("--left", "a", "--right", "b", "--outcome", "who")
    code, out, _ = run(capsys, "study", "models", other, *columns, *quick, "--json")
    assert code == 0
    assert json.loads(out)["n_battles"] == 300
    table = tmp_path / "scores.csv"
    scores = [(f"s{i}", s, rng.normal() + i) for i in range(3) for s in range(50)]
    rows = {name: [row[k] for row in scores] for k, name in enumerate(("system", "segment", "m"))}
    pl.DataFrame(rows).write_csv(table)
    code, out, err = run(capsys, "study", "models", table, *quick)
    assert code == 0
    assert "predicts best" in out
    for bad, said in (
        (("study", "models", table, "--order", "time"), "no order of time"),
        (("study", "models", path, "--score", "m"), "--score applies to scores"),
        (("study", "models", path, "--systems", "s1"), "--systems applies to scores"),
        (("study", "models", table, "--elo-k", "0"), "above 0"),
        (("study", "models"), "no input"),
    ):
        code, _, err = run(capsys, *bad)
        assert code == 2
        assert said in err


def test_a_figure(capsys, tmp_path):
    pytest.importorskip("altair")
    log = tmp_path / "log.csv"
    sy.save(make_log(np.random.default_rng(0), np.arange(3.0), 0.5, 100), log)
    path = tmp_path / "x.svg"
    code, _, _ = run(capsys, "study", "models", log, "--models", "bt,elo,half", "--orders", "2",
                     "--plot", "models,elo", "--out", path, "--quiet")  # fmt: skip
    assert code == 0
    text = path.read_text()
    assert "log-loss above the best" in text
    assert "trueskill" not in text


# ---------------------------------------------------------------- real data


def test_models_of_the_crowd(shared):
    study = weigh_models(
        shared / "llmfao/crowd-comparisons.csv.gz", left="left", right="right", outcome="winner",
        orders=4,
    )  # fmt: skip
    assert study.facts["n_battles"] == 8931
    assert study.facts["n_ties"] == 3471
    assert study.facts["unit"]["name"] == "prompt"
    assert {"half", "mean", "pairs"} <= {*study.facts["worse"], *study.facts["not_told_apart"]}
    own = values(study)
    assert own["bt"] == pytest.approx(0.667, abs=0.003)
    assert own["half"] == pytest.approx(np.log(2))


def test_usual_elo_is_not_the_best_of_tac(shared):
    es = sy.load(shared / "bt-eval/tac.csv.gz", where=[("year", "08")])
    study = weigh_models(es, "BLEU", models=["bt", "elo", "mean", "half"])
    k = {row["K"]: row["log-loss"] for row in study.table("parameters").records() if row["K"]}
    assert k[1.0] < k[20.0]  # type: ignore[operator]
    assert study.facts["worse"][-1] == "half"
