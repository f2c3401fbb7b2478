"""The study of segments, end to end: lists, reliability, shorter tests, diagnostics, edge cases."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from steelyard.cli.main import run
from steelyard.core.errors import UsageError
from steelyard.core.table import dumps
from steelyard.data.evalset import EvalSet, ScoreTable
from steelyard.data.segments import Segments
from steelyard.demo import embedded
from steelyard.studies.systems.instances import study_instances

NAN = float("nan")


def make(values: Any, *, better: bool = True, **segments: Any) -> EvalSet:
    values = np.asarray(values, dtype=float)
    ids = tuple(f"s{i:03}" for i in range(values.shape[1]))
    systems = tuple(f"M{i}" for i in range(len(values)))
    table = ScoreTable(values, higher_is_better=better)
    return EvalSet(systems, Segments(ids, **segments), {"m": table})


def simulated(seed=0, n=8, s=120, *, tau=0.7, binary=False) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(seed)
    ability = np.linspace(-1, 1, n)[:, None]
    ease, slope = rng.normal(0, 1, s), rng.normal(1, tau, s)
    if binary:
        chance = 1 / (1 + np.exp(-ease - 2 * slope * ability))
        return (rng.random((n, s)) < chance).astype(float), ease, slope
    return ease + slope * ability + rng.normal(0, 0.4, (n, s)), ease, slope


def lists(study: Any) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for row in study.table("segments").records():
        found.setdefault(row["list"], []).append(row["segment"])
    return found


def test_lists_are_those_of_the_estimates():
    values, ease, slope = simulated()
    study = study_instances(make(values), splits=5, listed=7)
    own = study.facts["estimates"]
    shown = lists(study)
    assert {len(names) for names in shown.values()} == {7}
    names = np.array(own["segment"])
    order = np.argsort(own["ease"], kind="stable")
    assert shown["hardest"] == names[order[:7]].tolist()
    assert shown["easiest"] == names[order[::-1][:7]].tolist()
    by = np.argsort(-own["discrimination"], kind="stable")
    assert shown["most discriminating"] == names[by[:7]].tolist()
    assert np.corrcoef(own["ease"], ease)[0, 1] > 0.95
    assert np.corrcoef(own["discrimination"], slope)[0, 1] > 0.85
    assert study.facts["model"] == "linear 2PL"
    assert sum(study.facts["abilities"].values()) == pytest.approx(0)


def test_less_is_better_mirrors():
    values, *_ = simulated()
    one = study_instances(make(values), splits=5)
    two = study_instances(make(-values, better=False), splits=5)
    assert lists(one) == lists(two)
    assert two.facts["estimates"]["ease"] == pytest.approx(-one.facts["estimates"]["ease"])
    assert two.facts["abilities"] == pytest.approx(one.facts["abilities"])
    low, high = (one.table("systems").records()[0][k] for k in ("low outliers", "high outliers"))
    other = two.table("systems").records()[0]
    assert (other["high outliers"], other["low outliers"]) == (low, high)


@pytest.mark.parametrize("better", [True, False])
def test_right_and_wrong(better):
    values, ease, _ = simulated(binary=True)
    shown = values if better else 1 - values
    study = study_instances(make(shown, better=better), splits=5)
    assert study.facts["model"] == "logistic 2PL"
    own = study.facts["estimates"]["ease"]
    assert ((own > 0) & (own < 1)).all()
    assert np.corrcoef(own if better else -own, ease)[0, 1] > 0.7
    assert "chance that a system of average ability is right" in study.table().text()
    information = study.curve("information")
    assert information.x_label == "ability (logits)"
    assert (information.lines[0].y > 0).all()
    likelihoods = study.facts["log_likelihood"]
    assert likelihoods["2PL"] >= likelihoods["1PL"] - 1e-6


def test_wins_know_neither_outliers_nor_scale():
    values, *_ = simulated()
    study = study_instances(make(values), splits=5, on="wins")
    bent = study_instances(make(np.exp(3 * values)), splits=5, on="wins")
    for key in ("discrimination", "discrimination_sd"):
        assert bent.facts["estimates"][key] == pytest.approx(study.facts["estimates"][key])
    ease = study.facts["estimates"]["ease"]
    assert np.corrcoef(ease, values.mean(axis=0))[0, 1] > 0.99


def test_two_systems_and_three():
    values, *_ = simulated(n=2)
    study = study_instances(make(values), splits=5)
    assert study.facts["model"] == "linear 1PL"
    assert set(lists(study)) == {"hardest", "easiest"}
    assert any("two systems: discrimination can't be told" in text for text in study.warnings)
    assert study.facts["needed"] is None
    assert "too few systems to hold two out" in study.table("shorter").text()
    assert "can't be split" in study.table("reliability").text()
    assert json.loads(dumps(study.to_dict()))["spread"]["discrimination"] is None
    three = study_instances(make(simulated(n=3)[0]), splits=5)
    assert three.facts["model"] == "linear 2PL"


def test_missing_cells_constant_segments_and_systems_without_scores():
    values, *_ = simulated()
    values[:, 0] = 3.0
    values[:, 1] = NAN
    values[2:, 2] = NAN
    values[7] = NAN
    study = study_instances(make(values), splits=5)
    assert "s001" not in study.facts["estimates"]["segment"]
    assert study.facts["n_systems"] == 7
    assert "all systems score alike on 1 segment" in study.table().text()
    assert any("1 system without 'm' left out: M7" in text for text in study.warnings)
    assert any("scores are missing" in text for text in study.warnings)


def test_systems_that_are_equal_and_one_that_is_far_off():
    rng = np.random.default_rng(0)
    equal = study_instances(make(rng.normal(size=60) + rng.normal(size=(5, 60))), splits=5)
    assert any("do not differ by more than chance" in text for text in equal.warnings)
    assert equal.facts["model"] == "linear 1PL"
    values, *_ = simulated()
    values[0] -= 9
    far = study_instances(make(values), splits=5)
    assert any(text.startswith("M0 is so far from the others") for text in far.warnings)


def test_a_list_that_is_mostly_chance_says_so():
    values, *_ = simulated(tau=0.1, n=6)
    told = study_instances(make(values), splits=20).table().text()
    assert "mostly chance here" in told or "do not differ in discrimination" in told


def test_texts_are_shown_where_known():
    values, *_ = simulated(s=30)
    long = "eine  sehr lange Zeile, die nicht in eine Spalte passt, weil sie so lang ist"
    sources = (long, *(f"Zeile {i}" for i in range(1, 30)))
    found = study_instances(make(values, sources=sources), splits=2, listed=30)
    texts = {row["segment"]: row["text"] for row in found.table().records()}
    assert texts["s000"] == "eine sehr lange Zeile, die nicht in eine Spalte passt, weil…"
    assert texts["s001"] == "Zeile 1"
    columns = study_instances(make(values), splits=2).table().columns
    assert "text" not in [column.name for column in columns]


def test_same_seed_same_bytes_and_order_does_not_matter():
    values, *_ = simulated()
    es = make(values)
    one = dumps(study_instances(es, splits=5, rng=3).to_dict())
    assert one == dumps(study_instances(es, splits=5, rng=3).to_dict())
    order = np.random.default_rng(0).permutation(120)
    ids = tuple(es.segments.ids[i] for i in order)
    table = ScoreTable(values[::-1][:, order])
    moved = EvalSet(es.systems[::-1], Segments(ids), {"m": table})
    assert dumps(study_instances(moved, splits=5, rng=3).to_dict()) == one


def test_shares_are_sorted_and_bounded():
    es = make(simulated()[0])
    study = study_instances(es, splits=2, shares=[1.0, 0.1, 0.1])
    assert [row["segments"] for row in study.table("shorter").records()] == [12, 120]
    last = study.table("shorter").records()[-1]
    assert (last["most"], last["random"], last["carried"]) == (1.0, 1.0, 1.0)
    for bad in ([0.0], [1.5], [0.5, 2]):
        with pytest.raises(UsageError, match="shares of segments are above 0 and at most 1"):
            study_instances(es, shares=bad)


def test_what_can_t_be_studied():
    with pytest.raises(UsageError, match="is known of one system"):
        study_instances(make(np.arange(5.0)[None]))
    with pytest.raises(UsageError, match="all scores are the same"):
        study_instances(make(np.ones((3, 6))))
    es = make(simulated()[0])
    with pytest.raises(UsageError, match="no score named 'x'"):
        study_instances(es, "x")
    empty = replace(es, scores={"m": ScoreTable(np.full((8, 120), NAN), system_scores=np.ones(8))})
    with pytest.raises(UsageError, match="system scores only"):
        study_instances(empty)


def test_diagnostics_for_machines():
    values, *_ = simulated()
    found = study_instances(make(values), splits=2).facts["diagnostics"]
    correlation = np.median(
        [np.corrcoef(values[i], values[j])[0, 1] for i in range(8) for j in range(i)]
    )
    assert found["pairing"]["correlation"] == pytest.approx(correlation)
    assert found["spread_of_segment_means"] == pytest.approx(values.mean(axis=0).std(ddof=1))
    assert set(found["rank_spread"]) == {f"M{i}" for i in range(8)}


def test_the_command_and_its_figure(tmp_path, capsys):
    pytest.importorskip("altair")
    arguments = ["study", "instances", str(embedded.SCORES), "--score", "learned-refA"]
    arguments += ["--splits", "5"]
    assert run([*arguments, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["study"] == "instances"
    assert {"segments", "reliability", "information", "shorter", "scores", "systems"} == set(
        found["tables"]
    )
    out = tmp_path / "f.svg"
    assert run([*arguments, "--out", str(out), "--quiet"]) == 0
    text = out.read_text(encoding="utf-8")
    assert "Held-out pairs that rank as on all segments" in text
    assert "of an average system" in text
    assert run([*arguments, "--plot", "carried", "--out", str(out), "--quiet"]) == 0
    assert "of an average system" not in out.read_text(encoding="utf-8")
    assert run([*arguments, "--plot", "segments", "--out", str(out), "--quiet"]) == 0
    capsys.readouterr()
    assert run([*arguments, "--plot", "carrots", "--out", str(out), "--quiet"]) == 2
    assert "no curve 'carrots' in this study" in capsys.readouterr().err
    assert run([*arguments, "--shares", "2"]) == 2
    assert "at most 1" in capsys.readouterr().err


def test_real_systems_agree_with_the_model(shared):
    """WMT23: what the model expects of reliability is what halves of the systems show."""
    path = shared / "wmt23-metrics" / "zh-en.metrics.seg.csv.gz"
    study = study_instances(path, "cometoid22-wmt23-src", splits=30)
    found = study.facts["reliability"]
    for name in ("ease", "discrimination"):
        half = found[name]["halves"][0]
        assert 2 * half / (1 + half) == pytest.approx(found[name]["model"], abs=0.06)
    needed = study.facts["needed"]
    assert needed["random"]["share"] < needed["most"]["share"]  # choosing is worse than chance


def test_segments_that_are_alike_are_not_listed():
    """Two systems a constant apart: every segment is as hard as every other."""
    rng = np.random.default_rng(0)
    study = study_instances(make(np.stack([np.ones(30), np.zeros(30)])), splits=5)
    assert not {"hardest", "easiest"} & set(lists(study))
    other = study_instances(make(rng.normal(size=(4, 30)) + 5 * rng.normal(size=30)), splits=5)
    assert {"hardest", "easiest"} <= set(lists(other))
