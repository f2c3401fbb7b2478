"""Protocols and their options, and the verdict on the first system."""

from __future__ import annotations

import inspect
import io
import json
from contextlib import redirect_stderr, redirect_stdout

import numpy as np
import pytest

import steelyard as sy
from steelyard.cli.main import run
from steelyard.core.errors import UsageError
from steelyard.data.judgements import Ratings
from steelyard.demo import embedded
from steelyard.human.options import PROTOCOLS, HumanOptions
from steelyard.human.rr import COUNTED
from steelyard.human.run import scorer_of
from steelyard.stats.paired.corrections import CORRECTIONS


def test_names_that_help_shows_are_those_of_the_registries():
    declared = HumanOptions.declared()
    assert [scorer_of(name).name for name in PROTOCOLS] == list(PROTOCOLS)
    assert set(declared["correction"].choices) == set(CORRECTIONS)
    assert set(declared["by"].choices) == {"trueskill", *COUNTED}
    assert len(inspect.signature(sy.human_scores).parameters) <= 12


@pytest.mark.parametrize("name", PROTOCOLS)
def test_a_protocol_says_what_it_expects(name):
    with pytest.raises(UsageError, match=f"protocol {name} expects ") as caught:
        sy.human_scores(protocol=name)
    assert scorer_of(name).expected in str(caught.value)


@pytest.mark.parametrize(
    ("protocol", "option"),
    [("da", "--threshold=3"), ("da", "--keep-ties"), ("mqm", "--by=bt"), ("da", "--cap=3"),
     ("mqm", "--quality-control"), ("rr", "--systems=A")],
)  # fmt: skip
def test_options_of_other_protocols_are_refused(protocol, option, capsys):
    assert run(["human", "nothing.csv", "--protocol", protocol, option]) == 2
    assert option.partition("=")[0] in capsys.readouterr().err


def printed(*arguments: str) -> str:
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        assert run(["human", *arguments]) == 0
    return out.getvalue()


def test_the_verdict_has_both_p_values():
    result = sy.human_scores(embedded.ERRORS, n_bootstrap=0)
    assert result.protocol == "mqm"
    second, amber = result.decisions
    assert (second.leader, second.other, amber.other) == ("Kaolin", "Dolomite", "Amber")
    scores = {system.system: system.score for system in result.systems}
    assert amber.difference == pytest.approx(scores["Kaolin"] - scores["Amber"], abs=1e-12)
    assert amber.p == pytest.approx(0.005, abs=5e-4)
    assert amber.p_adjusted == pytest.approx(0.13, abs=0.01)
    assert (amber.n_pairs, amber.unit, amber.n_units) == (66, "segment", 450)
    shown = printed(str(embedded.ERRORS), "--bootstrap", "0")
    assert amber.evidence() in shown
    found = json.loads(printed(str(embedded.ERRORS), "--bootstrap", "0", "--json"))
    assert [d["other"] for d in found["decisions"]] == ["Dolomite", "Amber"]


@pytest.mark.parametrize("seed", range(20))
def test_interval_and_p_agree_on_small_sets(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 40))
    values = rng.normal([[0.6], [0.0]], 1, size=(2, n)).ravel()
    ratings = Ratings.from_labels(["A"] * n + ["B"] * n, [str(k) for k in range(n)] * 2,
                                  ["r"] * 2 * n, values)  # fmt: skip
    for test in ("permutation", "rank-sum", "t"):
        options = sy.esa(test=test, scale=(-9, 9))
        (verdict,) = sy.human_scores(ratings, protocol=options, n_bootstrap=0).decisions
        assert (verdict.p < 0.05) == (verdict.low > 0)
        assert n >= 6 or not verdict.significant_alone


def test_documents_beside_an_official_rule():
    rng = np.random.default_rng(1)
    n = 60
    values = np.clip(60 + rng.normal([[6], [0]], 9, size=(2, n)), 0, 100).ravel()
    documents = tuple(f"d{k // 5}" for k in range(n)) * 2
    ratings = Ratings.from_labels(["A"] * n + ["B"] * n, [str(k) for k in range(n)] * 2,
                                  ["r"] * 2 * n, values, document=documents)  # fmt: skip
    result = sy.human_scores(ratings, protocol="esa", preset="wmt24-micro", n_bootstrap=0)
    assert result.decisions[0].unit == "segment"
    assert result.to_dict()["preset"]["pairs"]["documents"] == 12


def test_raters_who_fail_are_named_first():
    assert "rater-04" in printed(str(embedded.RATINGS), "--quiet", "--bootstrap", "0")
    brief = printed(str(embedded.RATINGS), "--bootstrap", "0", "--protocol", "da")
    whole = printed(str(embedded.RATINGS), "--bootstrap", "0", "--protocol", "da", "--details")
    assert len(brief.splitlines()) <= 30 < len(whole.splitlines())
    assert "Spearman-Brown" in whole
