"""Metrics by name, and the sentinels."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.metadata import EntryPoint, EntryPoints

import numpy as np
import pytest

import steelyard as sy
from steelyard import EvalSet, ScoreTable, Segments
from steelyard.core.errors import UsageError
from steelyard.scoring import metric as metrics
from steelyard.scoring.metric import Metric, Scored
from steelyard.scoring.surface import surface_table


@dataclass
class Constant:
    """What another package might add."""

    value: float = 1.0
    name: str = "constant"

    def score(self, es, references=None):
        values = np.full((es.n_systems, es.n_segments), self.value)
        return Scored(ScoreTable(values), f"value:{self.value}")


@pytest.fixture
def es():
    segments = Segments(
        ("1", "2"),
        sources=("ein Hund", "so"),
        references={"a": ("a dog", "so")},
        accepted=("dog\nhound", "so"),
    )
    return EvalSet(("A", "B"), segments, outputs={"A": ("a dog", "so"), "B": ("ein Hund", "")})


@pytest.fixture
def added(monkeypatch):
    points = EntryPoints(
        [
            EntryPoint("constant", f"{__name__}:Constant", metrics.GROUP),
            EntryPoint("nothing", f"{__name__}:NOTHING", metrics.GROUP),
            EntryPoint("gone", "no_such_module_anywhere:X", metrics.GROUP),
        ]
    )
    monkeypatch.setitem(__import__("sys").modules, __name__, __import__("types").SimpleNamespace(
        Constant=Constant, NOTHING=lambda: 3))  # fmt: skip
    monkeypatch.setattr(metrics, "entry_points", lambda group: points.select(group=group))


@pytest.mark.parametrize("name", sorted(set(metrics.BUILT_IN) - {"kobe", "kobe-ref"}))
def test_every_built_in_metric_scores(es, name):
    metric = metrics.make_metric(name)
    assert isinstance(metric, Metric)
    assert metric.name == name
    scored = metric.score(es)
    assert scored.table.values.shape == (2, 2)
    assert "version:" in scored.signature
    again = metric.score(es)
    np.testing.assert_array_equal(again.table.values, scored.table.values)


def test_metrics_of_other_packages(es, added):
    assert metrics.metric_names()[-3:] == ["constant", "gone", "nothing"]
    found = sy.score(es, "constant", options={"constant": {"value": 2.5}})
    assert found.system_scores() == {"A": {"constant": 2.5}, "B": {"constant": 2.5}}
    assert found.signatures == {"constant": "value:2.5"}
    with pytest.raises(UsageError, match="constant has no option 'valeu'; did you mean 'value'"):
        metrics.make_metric("constant", {"valeu": 1})
    with pytest.raises(UsageError, match="'gone' can't be loaded from no_such_module_anywhere:X"):
        metrics.make_metric("gone")
    with pytest.raises(UsageError, match="'nothing': a int has no name and score method"):
        metrics.make_metric("nothing")


def test_length_adds_up_before_it_divides(es):
    scored = metrics.make_metric("length").score(es)
    np.testing.assert_allclose(scored.table.values, np.array([[1, 1], [8 / 5, 0]]))
    np.testing.assert_allclose(scored.table.system_means(), [1, 8 / 7])
    assert scored.table.uses == ("a",)
    bare = EvalSet(es.systems, Segments(es.segments.ids, sources=es.segments.sources),
                   outputs=es.outputs)  # fmt: skip
    scored = metrics.make_metric("length").score(bare)
    np.testing.assert_allclose(scored.table.system_means(), [7 / 10, 8 / 10])
    assert "to:src" in scored.signature


def test_length_of_missing_and_empty_texts():
    references = {"a": ("", None, "xx"), "b": ("xx", None, "xxxx")}
    es = EvalSet(("A",), Segments(("1", "2", "3"), references=references),
                 outputs={"A": ("xx", "x", None)})  # fmt: skip
    values = metrics.make_metric("length").score(es, ["a", "b"]).table.values
    np.testing.assert_array_equal(values, [[2, np.nan, np.nan]])


def test_a_copy_is_like_its_source(es):
    scored = metrics.make_metric("copy").score(es)
    assert scored.table.values[1, 0] == 100
    assert scored.table.values[0, 0] < 30
    assert not scored.table.higher_is_better
    as_reference = Segments(es.segments.ids, references={"r": es.segments.sources})
    other = surface_table(EvalSet(es.systems, as_reference, outputs=es.outputs), "chrf")
    np.testing.assert_array_equal(scored.table.values, other.values)
    np.testing.assert_array_equal(scored.table.system_means(), other.system_means())
    bare = EvalSet(("A",), Segments(("1",)), outputs={"A": ("so",)})
    with pytest.raises(UsageError, match="copy: the set has no sources"):
        metrics.make_metric("copy").score(bare)


def test_options_reach_sacrebleu(es):
    found = sy.score(es, ["bleu"], options={"bleu": {"tokenize": "char", "lowercase": True}})
    assert "case:lc" in found.signatures["bleu"]
    assert "tok:char" in found.signatures["bleu"]
    with pytest.raises(UsageError, match="options of 'bleu', which is not asked for"):
        sy.score(es, ["chrf"], options={"bleu": {"tokenize": "char"}})
