"""``result.plot()``: every kind of result has a figure, and a name that it lacks is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import steelyard as sy
from steelyard.core.errors import UsageError
from steelyard.core.table import Column, Table
from steelyard.demo import embedded
from steelyard.report.figures import drawing, registry

ROWS = [("A", "B", "left"), ("B", "C", "right"), ("A", "C", "tie")] * 8
BATTLES = pd.DataFrame(ROWS, columns=["left", "right", "outcome"])
HUMAN: dict[str, Any] = {"human": list(embedded.RATERS)}
ONE = {**HUMAN, "judge": "careful-judge"}


def results() -> dict[str, Any]:
    es = sy.demo_set()
    return {
        "comparison": sy.compare(es, "mqm", by=["mean", "bt"], n_bootstrap=50),
        "pair": sy.decide(es, ("Dolomite", "Granite"), "learned-refA", n_bootstrap=50),
        "several": sy.compare_scores(es, ["mqm", "learned-refA"], n_bootstrap=50),
        "battles": sy.compare_battles(BATTLES, n_bootstrap=50),
        "meta": sy.meta_evaluate(es, "mqm", by=["spa", "pa"], metrics=["kin-src", "learned-refA"],
                                 n_bootstrap=50, significance=sy.metric_test(n_resamples=20)),
        "people": sy.human_scores(embedded.RATINGS, protocol="da"),
        "scores": sy.score(embedded.demo_texts("de-en"), ["chrf", "bleu"]),
        "judges": sy.judge(embedded.VERDICTS, **HUMAN),
        "bias": sy.judge_bias(embedded.VERDICTS, **HUMAN),
        "correction": sy.correct(embedded.VERDICTS, **ONE, draws=100),
        "study": sy.studies.power_of_effect(0.3, sizes=[20, 50]),
    }  # fmt: skip


@pytest.fixture(scope="module")
def found() -> dict[str, Any]:
    return results()


NAMES = ("comparison", "pair", "several", "battles", "meta", "people", "scores", "judges", "bias",
         "correction", "study")  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_every_result_has_a_usual_figure(name, found):
    picture = registry.picture(found[name])
    assert picture.startswith("<svg")
    assert "<path" in picture
    assert "<title>" in picture  # what a mark stands for, on hover
    assert "data-tip" not in picture


@pytest.mark.parametrize("name", NAMES)
def test_every_kind_is_drawn_or_refused_with_a_reason(name, found):
    drawn = 0
    for kind, make in registry.kinds(found[name]).items():
        try:
            assert "<svg" in drawing.draw(make(), "f").svg, kind
            drawn += 1
        except UsageError as error:
            assert len(str(error)) > 15, kind  # noqa: PT017 - either will do
    assert drawn >= 1


def test_figures_of_segments_are_there_because_a_result_keeps_its_scores(found):
    assert {"density", "wins"} <= set(registry.kinds(found["comparison"]))
    assert {"pvalues", "scatter"} <= set(registry.kinds(found["meta"]))
    assert set(registry.kinds(found["pair"])) == {"density", "differences", "wins"}


def test_an_unknown_figure_is_refused_with_what_is_near(found):
    with pytest.raises(UsageError, match="no figure 'forrest' of a Comparison; did you mean 'fore"):
        found["comparison"].plot("forrest")


def test_a_table_is_drawn_by_its_numbers_with_the_intervals_beside_them():
    columns = (Column("judge"), Column("what"), Column("effect"), Column("low"), Column("high"))
    rows = (("a", "length", 0.25, 0.1, 0.4), ("a", "<b>", -0.5, None, None))
    spec = registry.draw_table(Table("t", columns, rows))
    values = spec["hconcat"][0]["data"]["values"]
    assert [own["value"] for own in values] == [0.25, -0.5]
    assert [own["low"] for own in values] == [0.1, None]
    assert values[0]["name"] == "a, length"


def test_a_table_without_numbers_has_no_figure():
    table = Table("", (Column("name"), Column("n")), (("a", 3), ("b", np.nan)))
    with pytest.raises(UsageError, match="no numbers to draw"):
        registry.draw_table(table)
