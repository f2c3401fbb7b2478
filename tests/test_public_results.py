"""Every public result, made of the demo's data: a line, words, a table, a page of a notebook."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest

import steelyard as sy
from steelyard.comparison.card import decide
from steelyard.core.display import Result, Summary
from steelyard.core.lazy import Lazy
from steelyard.core.table import Table
from steelyard.data.overview import overview
from steelyard.demo import embedded
from steelyard.judging.bias import judge_bias
from steelyard.judging.drift import judge_drift
from steelyard.metaevaluation.benchmark.run import BenchmarkResult, Standing
from steelyard.reproduction.reproduction import Reproduction, Row, printed
from steelyard.studies.power import power_of_effect

LONGEST = 500  # characters of a repr
RATERS = list(embedded.RATERS)
SCORES = ["learned-refA", "overlap-refA"]


@cache
def demo() -> sy.EvalSet:
    return sy.demo_set()


def log() -> sy.BattleLog:
    rng = np.random.default_rng(0)
    left = rng.integers(0, 4, 300).astype(np.int32)
    right = ((left + rng.integers(1, 4, 300)) % 4).astype(np.int32)
    won = rng.random(300) < 1 / (1 + np.exp(left - right))
    return sy.BattleLog(tuple("ABCD"), left, right, won.astype(np.float64))


def judged() -> dict[str, Any]:
    return {"human": RATERS, "judge": "careful-judge"}


#: What is made by each public function, and by commands that have none.
RESULTS: dict[str, Callable[[], Any]] = {
    "compare": lambda: sy.compare(demo(), "mqm", n_bootstrap=50),
    "compare_battles": lambda: sy.compare_battles(log(), n_bootstrap=50),
    "autorank": lambda: sy.compare_scores(demo(), SCORES, by="autorank", n_bootstrap=50),
    "many": lambda: sy.compare_scores(demo(), SCORES, n_bootstrap=50),
    "card": lambda: decide(demo(), ("Dolomite", "Kaolin"), "mqm", human="da", n_bootstrap=50),
    "meta": lambda: sy.meta_evaluate(demo(), "mqm", metrics=SCORES, n_bootstrap=50),
    "benchmark": lambda: BenchmarkResult(
        "toy",
        "Toy",
        "average",
        (),
        ("absent",),
        (),
        (Standing("a", 0.7, 1.0), Standing("b", 0.6, 2.0)),
    ),
    "human": lambda: sy.human_scores(embedded.RATINGS, protocol="da", n_bootstrap=50),
    "mqm": lambda: sy.human_scores(embedded.ERRORS, protocol="mqm", n_bootstrap=50),
    "score": lambda: sy.score(embedded.demo_texts("de-en"), ["chrf", "character"]),
    "kobe": lambda: sy.score(embedded.demo_texts("de-en"), "kobe").reports["kobe"],
    "judge": lambda: sy.judge(embedded.VERDICTS, human=RATERS),
    "bias": lambda: judge_bias(embedded.VERDICTS, human=RATERS),
    "correct": lambda: sy.correct(embedded.VERDICTS, **judged()),
    "plan_labels": lambda: sy.plan_labels(embedded.VERDICTS, **judged()),
    "drift": lambda: judge_drift(embedded.VERDICTS, embedded.VERDICTS, human=RATERS),
    "overview": lambda: overview(demo()),
    "report": lambda: sy.make_report(
        demo().select(systems=["Amber", "Basalt", "Cobalt"], scores=["mqm"]),
        options=sy.report_options(n_bootstrap=20),
    ),
    "study": lambda: power_of_effect(0.2),
    "reproduction": lambda: Reproduction(
        "paper", "A paper", (Row.judge("Table 1, x", 0.4, 0.41, printed(2)),)
    ),
}
#: What is read, and held by results.
DATA: dict[str, Callable[[], Any]] = {
    "EvalSet": demo,
    "ScoreTable": lambda: demo()["mqm"],
    "Segments": lambda: demo().segments,
    "BattleLog": log,
    "Ratings": lambda: sy.formats.load.read([embedded.RATINGS]).parts[0].value,
    "Verdicts": lambda: sy.judge(embedded.VERDICTS, human=RATERS).verdicts,
}
made = cache(lambda name: RESULTS[name]())


@pytest.fixture(params=sorted(RESULTS))
def result(request: pytest.FixtureRequest) -> Any:
    return made(request.param)


def test_a_line_says_what_it_is(result):
    line = repr(result)
    assert line.startswith(f"<{type(result).__name__} ")
    assert "\n" not in line
    assert len(line) < 200


@pytest.mark.parametrize("name", sorted(DATA))
def test_data_is_a_line_too(name):
    line = repr(DATA[name]())
    assert name in line
    assert "\n" not in line
    assert len(line) < LONGEST


def test_the_answer_is_one_to_three_sentences(result):
    assert isinstance(result, Result)
    told = result.words()
    assert isinstance(told, Summary)
    assert 1 <= len(told.brief()) <= 3
    for text in told.sentences():
        assert text.endswith(".")
        assert "nan" not in text.lower().split()
        assert text[0] == text[0].strip()


def test_what_is_printed_starts_with_the_answer(result):
    assert result.summary()
    for line in result.answer():
        assert line in str(result)
    assert isinstance(result.table(), Table)
    for table in result.tables():
        assert isinstance(table, Table)


def test_a_notebook_shows_words_and_a_table(result, monkeypatch):
    monkeypatch.setitem(sys.modules, "vl_convert", None)  # other tests draw figures
    shown = result._repr_html_()
    assert shown.count("<p>") >= len(result.words().sentences())
    assert "<table>" in shown
    assert "<script" not in shown
    assert len(shown) < 200_000


def test_a_set_shows_its_scores_in_a_notebook(monkeypatch):
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    shown = demo()._repr_html_()
    assert "demo (simulated) de-en holds 12 systems, 500 segments" in shown
    assert "learned-refA" in shown


def test_no_line_works_out_what_is_lazy():
    weighed = sy.meta_evaluate(demo(), "mqm", metrics=SCORES, intervals=None)
    repr(weighed)
    assert isinstance(vars(weighed)["_gaps"], Lazy)


def test_hostile_names_make_no_second_line_and_no_long_one():
    name = "evil\x1b[31m\n" + "x" * 3000
    segments = sy.Segments(tuple(map(str, range(5))))
    values = np.arange(10.0).reshape(2, 5)
    es = sy.EvalSet((name, "b"), segments, {name: sy.ScoreTable(values)}, name=name)
    for one in (es, es.segments, sy.compare(es, name, n_bootstrap=20)):
        line = repr(one)
        assert "\n" not in line
        assert "\x1b" not in line
        assert len(line) < LONGEST
