"""Domains and distributions in the page: what is said of hand-made sets."""

from __future__ import annotations

import re

import numpy as np
import pytest

from steelyard.data.evalset import EvalSet, ScoreTable
from steelyard.data.segments import Segments
from steelyard.report import sections
from steelyard.report.page import make_report
from steelyard.report.parts import distributions
from steelyard.stats.arrays import Floats


@pytest.fixture(autouse=True)
def no_charts(monkeypatch) -> None:
    """As if the plotting libraries were not installed, which saves their time."""
    monkeypatch.setattr(sections, "without_figures", lambda: ["the page has no figures"])


def made(
    values: Floats,
    *,
    topics: tuple[str | None, ...] | None = None,
    sources: tuple[str | None, ...] | None = None,
    higher: bool = True,
) -> EvalSet:
    n = values.shape[1]
    return EvalSet(
        tuple("ABCDE"[: len(values)]),
        Segments(tuple(f"{k:03}" for k in range(n)), domains=topics, sources=sources),
        {"s": ScoreTable(values, kind="human", higher_is_better=higher)},
    )


def part(html: str, name: str) -> str:
    found = re.search(f'<section id="{name}".*?</section>', html, re.DOTALL)
    return "" if found is None else found[0]


def test_ties_and_mass_points_are_seen():
    rng = np.random.default_rng(0)
    values = np.where(rng.random((3, 80)) < 0.4, 0.0, -np.round(rng.gamma(2, 3, (3, 80)), 2))
    told = distributions.sentences(values, ["A", "B", "C"], "s", higher=True)
    share = 100 * (values == 0).mean()
    assert told[1].startswith(f"{share:.0f}% of the scores are 0, the highest value there is: from")
    strips = distributions.pictures(values, ["A", "B", "C"], "s")
    assert strips.heads[-1] == "at 0"
    for (_, cells), row in zip(strips.rows, values, strict=True):
        assert cells[-1].text == f"{100 * (row == 0).mean():.1f}%"
        assert cells[0].bars.count("M") > 5
        assert "half of them between" in cells[0].tip


def test_few_values_have_a_bar_each():
    values = np.array([[1.0, 2, 2, 5, 5, 5], [1.0, 1, 1, 2, 5, 5]])
    strips = distributions.pictures(values, ["A", "B"], "s")
    assert [cells[0].bars.count("M") for _, cells in strips.rows] == [3, 3]


def test_zero_and_one_are_a_share():
    values = np.array([[1.0, 0, 1, 1], [0.0, 0, np.nan, 1]])
    strips = distributions.pictures(values, ["A", "B"], "ok")
    assert [cells[0].share for _, cells in strips.rows] == [75.0, 33.3]
    assert strips.heads == ("system", "scores", "share of 1")
    assert [cells[1].text for _, cells in strips.rows] == ["75.0%", "33.3%"]
    (told,) = distributions.sentences(values, ["A", "B"], "ok", higher=True)
    assert told == "Every ok is 0 or 1; the share of 1 goes from 33.3% (B) to 75.0% (A)."
    (same,) = distributions.sentences(values[:, :2], ["A", "A2"], "ok", higher=True)[:1]
    assert "from 0.0% (A2) to 50.0% (A)" in same


def test_one_value_tells_nothing():
    ones = np.ones((2, 4))
    (told,) = distributions.sentences(ones, ["A", "B"], "s", higher=True)
    assert told == "Every score is 1: nothing tells the systems apart."
    assert distributions.pictures(ones, ["A", "B"], "s").rows[0][1][0].bars
    assert "Every score is 1" in part(make_report(made(ones), n_bootstrap=10).html, "distributions")


def test_a_system_without_scores_has_none_and_no_number_is_made_up():
    values = np.array([[1.0, 2, 3, 4, 7], [np.nan] * 5])
    strips = distributions.pictures(values, ["A", "B"], "s")
    assert [cell.text for cell in strips.rows[1][1]] == ["no scores", "--", "--", "--"]
    assert distributions.quantiles(values, ["A", "B"], "s").records()[1]["50%"] is None


def test_where_systems_differ():
    rng = np.random.default_rng(1)
    base = -rng.gamma(1, 1, (2, 200))
    base[1] *= 6
    (told,) = [
        t for t in distributions.sentences(base, ["A", "B"], "s", higher=True) if "worst" in t
    ]
    assert "more on their worst outputs than on their best: the score below which" in told
    (turned,) = [t for t in distributions.sentences(-base, ["A", "B"], "s", higher=False)
                 if "worst" in t]  # fmt: skip
    assert "the score above which a tenth" in turned
