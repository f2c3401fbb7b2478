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
