"""Figures of human and of entity recall, on numbers that can be checked by eye."""

from __future__ import annotations

import numpy as np
import pytest

import steelyard as sy
from steelyard.core.errors import UsageError
from steelyard.demo import embedded
from steelyard.report.figures import comparison, human

pytest.importorskip("vl_convert")
SOURCE = {"person": 80, "place": 40, "event": 0}
KEPT = {"A": {"person": 72, "place": 40}, "B": {"person": 60, "place": 10}}


@pytest.fixture(scope="module")
def rated():
    return sy.human_scores(embedded.RATINGS, protocol="da", n_bootstrap=20)


def test_ranking_shows_scores_errors_and_clusters(look, rated):
    got = look.rows(human.draw("ranking", rated), "name", "value", "low")
    assert [row["name"] for row in got] == [one.system for one in rated.systems]
    table = rated.averages.matrix("da_z")
    for one, row in zip(rated.systems, got, strict=True):
        own = table[rated.averages.systems.index(one.system)]
        own = own[~np.isnan(own)]
        error = own.std(ddof=1) / np.sqrt(len(own))
        assert row["high"] - row["value"] == pytest.approx(1.96 * error, rel=1e-3)
        assert (row["group"] == 1) == (one.rank_from == 1)


def test_severity_shows_bias_and_correlation(look, rated):
    chart = human.draw("severity", rated)
    raters = {r["rater"]: r for r in rated.to_dict()["raters"]}
    shown = look.rows(chart, "name", "value")
    severe = [row["name"] for row in shown[: len(raters)]]
    assert severe == sorted(severe, key=lambda name: -raters[name]["bias"])
    for name, r in raters.items():
        values = {row["value"] for row in shown if row["name"] == name}
        for key in ("bias", "r"):
            if r[key] is not None and not np.isnan(r[key]):
                assert float(f"{r[key]:.6g}") in values
    with pytest.raises(UsageError, match="no rater judged what another"):
        human.draw_raters({"rater": ["a"], "bias": [float("nan")], "r": [None]})


def test_agreement_shows_what_is_defined(look):
    found = {"da": {"alpha_interval": {"value": 0.4, "ci": [0.3, 0.5], "n_units": 9},
                    "ranking": {"share": {"value": 0.7, "ci": None, "n_units": 9}},
                    "repeats_alpha_interval": {"value": float("nan"), "ci": None, "n_units": 0},
                    "repeats_mean_difference": 3.0}}  # fmt: skip
    got = look.rows(human.agreement(found), "name", "value", "low")
    assert [(r["name"], r["value"], r["low"], r["high"]) for r in got] == [
        ("da: Krippendorff's alpha (interval)", 0.4, 0.3, 0.5),
        ("da: same order of two systems", 0.7, None, None),
    ]
    with pytest.raises(UsageError, match="nothing was judged twice"):
        human.agreement({"da": {"repeats_mean_difference": 3.0}})


def test_both_rankings_and_the_lines_that_survive():
    """Forty documents of two outputs: A is ahead everywhere, C is not separated from B by us."""
    rng = np.random.default_rng(3)
    cells = [(s, d, k) for s in "ABC" for d in range(40) for k in range(2)]
    mood = rng.normal(0, 9, (3, 40))
    value = [{"A": 90, "B": 60, "C": 58}[s] + mood["ABC".index(s), d] for s, d, _ in cells]
    log = sy.Ratings.from_labels(
        [s for s, _, _ in cells], [f"{d}-{k}" for _, d, k in cells], ["r"] * len(cells),
        np.clip(value, 0, 100), document=tuple(f"d{d}" for _, d, _ in cells),
    )  # fmt: skip
    result = sy.human_scores(log, protocol="esa", preset="wmt26", n_bootstrap=0)
    facts = result.to_dict()["preset"]
    chart = human.draw("rankings", result)
    bars, lines = (layer["data"]["values"] for layer in chart["layer"])
    assert [(b["from"], b["to"]) for b in bars if b["rule"] == "ours"] == [
        (first - 0.35, last + 0.35) for first, last in facts["our_ranges"]
    ]
    assert {(r["system"], r["line"] == "survives") for r in lines} == {
        (line["after"], line["survives"]) for line in facts["lines"]
    }
    assert ("A", True) in {(line["after"], line["survives"]) for line in facts["lines"]}
    with pytest.raises(UsageError, match="expected preset=NAME"):
        human.draw("rankings", sy.human_scores(embedded.RATINGS, protocol="da", n_bootstrap=0))


def test_shares_of_entities_that_systems_keep(look):
    cells = look.rows(comparison.categories(SOURCE, KEPT), "row", "column", "value")
    assert {(c["row"], c["column"]): c["value"] for c in cells} == {
        ("A", "person (80)"): 0.9, ("A", "place (40)"): 1.0,
        ("B", "person (80)"): 0.75, ("B", "place (40)"): 0.25,
    }  # fmt: skip
    with pytest.raises(UsageError, match="needs entities"):
        comparison.categories({}, KEPT)


def test_hostile_names_are_data(look):
    names = look.hostile
    counts = {name: dict.fromkeys(names, 3) for name in names}
    look.inert(comparison.categories(dict.fromkeys(names, 5), counts))
    look.inert(comparison.categories(dict.fromkeys(names, 5), {names[0]: counts[names[0]]}))
    bias = [float(i) for i, _ in enumerate(names)]
    look.inert(human.draw_raters({"rater": names, "bias": bias, "r": bias}))
