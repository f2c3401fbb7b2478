"""Parameters of ratings that are chosen by what they predict."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import steelyard as sy
from steelyard.cli.main import run
from steelyard.comparison.options import ELO_KS, RankOptions
from steelyard.comparison.scores import Sample
from steelyard.comparison.tuning import tune_log, tune_scores
from steelyard.core.errors import UsageError
from steelyard.core.table import dumps
from steelyard.data.judgements import BattleLog
from steelyard.stats.strength.battlelog import Battles
from steelyard.stats.strength.heldout import validate
from steelyard.stats.strength.predictors import Elo
from steelyard.stats.strength.splits import SplitScores, random_folds
from steelyard.stats.strength.trueskill import TrueSkillOptions
from steelyard.studies.systems.disagreement import disagree


def make_scores(seed=0, n=4, segments=60):
    rng = np.random.default_rng(seed)
    return (rng.normal(size=(n, segments)) + 0.4 * np.arange(n)[:, None]).round(1)


def make_set(seed=0) -> sy.EvalSet:
    scores = make_scores(seed)
    return sy.EvalSet(tuple("abcd"), sy.Segments(tuple(f"{i:02}" for i in range(60))),
                      {"m": sy.ScoreTable(scores)})  # fmt: skip


def make_log(seed=0) -> BattleLog:
    rng = np.random.default_rng(seed)
    left = rng.integers(0, 4, 300).astype(np.int32)
    right = ((left + rng.integers(1, 4, 300)) % 4).astype(np.int32)
    chance = 1 / (1 + np.exp(0.6 * (right - left)))
    outcome = (rng.random(300) < chance).astype(float)
    outcome[::7] = 0.5
    return BattleLog(tuple("abcd"), left, right, outcome)


def test_the_k_with_the_lowest_loss_is_taken():
    rng = np.random.default_rng(3)
    scores = make_scores()
    found = tune_scores("elo", RankOptions(k=None), Sample(scores, tuple("abcd")), rng)
    own = np.random.default_rng(3).spawn(4)[3]
    folds, units = random_folds(np.arange(60), 5, own)
    losses = validate(SplitScores(scores, units, folds), [Elo(ELO_KS)], own).means("log-loss")
    best = ELO_KS[int(losses.argmin())]
    assert found.options.k == best
    assert found.parameters == {"k": best}
    assert f"elo with K {best:.3g} predicts held-out units best" in found.notes[0]
    assert f"log-loss {losses.min():.4f}" in found.notes[0]


def test_with_the_chosen_parameters_nothing_else_changes():
    es = make_set()
    found = sy.compare(es, by=["elo", "trueskill"], k=None, trueskill_beta=None,
                       trueskill_draw=None, n_bootstrap=20, orders=5)  # fmt: skip
    own = found.aggregations["trueskill"].parameters
    k = found.aggregations["elo"].parameters
    assert own is not None
    assert k is not None
    again = sy.compare(es, by=["elo", "trueskill"], k=k["k"], trueskill_beta=own["beta"],
                       trueskill_draw=own["draw"], n_bootstrap=20, orders=5)  # fmt: skip
    for name in ("elo", "trueskill"):
        one, two = (x.aggregations[name].to_dict(found.systems) for x in (found, again))
        assert dumps(one) == dumps(two)
    log = make_log()
    found_log = sy.compare_battles(log, by="elo", k=None, intervals=None)
    chosen = found_log.aggregations["elo"].parameters
    assert chosen is not None
    again_log = sy.compare_battles(log, by="elo", k=chosen["k"], intervals=None)
    for a, b in zip(found_log.aggregations["elo"].scores, again_log.aggregations["elo"].scores,
                    strict=True):  # fmt: skip
        assert a == b


def test_the_usual_parameters_are_as_ever():
    usual, rules = RankOptions(), TrueSkillOptions()
    assert usual.k == 20
    assert (usual.trueskill_beta, usual.trueskill_tau, usual.trueskill_draw) == (
        rules.beta, rules.tau, rules.draw_probability,
    )  # fmt: skip
    es = make_set()
    plain = sy.compare(es, by=["elo", "trueskill"], n_bootstrap=10)
    named = sy.compare(es, by=["elo", "trueskill"], n_bootstrap=10, k=20, trueskill_beta=25 / 6,
                       trueskill_tau=25 / 300, trueskill_draw=0.1)  # fmt: skip
    assert dumps(plain.to_dict()) == dumps(named.to_dict())
    assert plain.provenance is not None
    assert "elo-k" not in plain.provenance.line()
    assert plain.aggregations["elo"].to_dict(plain.systems)["parameters"] == {"k": 20.0}
    mean = sy.compare(es, by="mean", n_bootstrap=10).to_dict()
    assert mean["aggregations"]["mean"]["parameters"] is None


def test_parameters_of_trueskill_move_ratings():
    es = make_set()
    usual = sy.compare(es, by="trueskill", intervals=None).aggregations["trueskill"].scores
    asked: list[dict[str, Any]] = [
        {"trueskill_beta": 20.0}, {"trueskill_tau": 1.0}, {"trueskill_draw": 0.6}
    ]  # fmt: skip
    for more in asked:
        other = sy.compare(es, by="trueskill", intervals=None, **more)
        assert not np.allclose(other.aggregations["trueskill"].scores, usual)
        assert other.provenance is not None
        assert next(iter(more)).replace("_", "-") in other.provenance.line()


def test_a_draw_probability_of_auto_is_the_share_of_ties():
    log = make_log()
    battles = Battles(log.left, log.right, log.outcome, 4)
    rng = np.random.default_rng(0)
    found = tune_log("trueskill", RankOptions(trueskill_draw=None), battles, None, rng)
    assert found.options.trueskill_draw == pytest.approx((43 + 0.5) / (300 + 1.5))
    assert found.options.trueskill_beta == 25 / 6
    assert found.notes == (
        "trueskill: draw 0.144, the share of ties with half a tie and a win added",
    )


def test_in_the_order_of_the_file_later_units_are_predicted():
    scores = make_scores()
    rng = np.random.default_rng(0)
    sample = Sample(scores, tuple("abcd"), blocks=np.arange(60) // 10)
    found = tune_scores("elo", RankOptions(k=None, orders=0), sample, rng)
    assert found.options.k in ELO_KS
    log = make_log()
    battles = Battles(log.left, log.right, log.outcome, 4)
    again = tune_log("elo", RankOptions(k=None, orders=0), battles, None, rng)
    assert again.options.k in ELO_KS
    assert again == tune_log("elo", RankOptions(k=None, orders=0), battles, None, rng)


def test_one_unit_keeps_the_usual_parameters():
    rng = np.random.default_rng(0)
    sample = Sample(make_scores()[:, :1], tuple("abcd"))
    for name, asked in (("elo", RankOptions(k=None)),
                        ("trueskill", RankOptions(trueskill_tau=None))):  # fmt: skip
        found = tune_scores(name, asked, sample, rng)
        assert found.options == RankOptions()
        assert "nothing is left to learn from" in found.warnings[0]


def test_disagreement_takes_a_chosen_k_too():
    study = disagree(make_set(), by=["mean", "elo"], k=None, sizes=[], tests=[], orders=5)
    assert len(study.table().rows) == 1


def test_the_command(capsys, tmp_path):
    log = tmp_path / "log.csv"
    sy.save(make_log(), log)
    code = run(["compare", "--battles", str(log), "--by", "elo,trueskill", "--elo-k", "auto",
                 "--trueskill-beta", "auto", "--trueskill-tau", "auto", "--trueskill-draw", "auto",
                 "--intervals", "none", "--json"])  # fmt: skip
    found = json.loads(capsys.readouterr().out)
    assert code == 0
    assert found["aggregations"]["elo"]["parameters"]["k"] in ELO_KS
    assert found["aggregations"]["trueskill"]["parameters"]["draw"] == pytest.approx(43.5 / 301.5)
    assert any("predicts held-out units best" in text for text in found["notes"])
    assert found["provenance"]["options"]["elo-k"] == "auto"
    for bad in ("0", "-1", "nan", "best"):
        assert run(["compare", "--battles", str(log), "--by", "elo", "--elo-k", bad]) == 2
        assert "elo-k" in capsys.readouterr().err
    assert run(["compare", "--battles", str(log), "--trueskill-draw", "1"]) == 2


@pytest.mark.parametrize(
    "asked", [{"k": 0}, {"trueskill_beta": 0}, {"trueskill_tau": -1}, {"trueskill_draw": 0}]
)
def test_bounds(asked):
    with pytest.raises(UsageError, match=next(iter(asked))):
        sy.compare(make_set(), **asked)


def test_where_all_parameters_predict_alike_none_is_best():
    es = make_set()
    flat = es.with_scores("flat", np.ones(es[es.metrics[0]].values.shape))
    found = sy.compare(flat, "flat", by="elo", k=None, n_bootstrap=10)
    told = "elo: all parameters predict held-out units alike: usual parameters (K 20)"
    assert told in found.warnings
