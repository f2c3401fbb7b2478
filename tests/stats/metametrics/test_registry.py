"""A meta-metric of one's own, from the registry to a result."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import steelyard as sy
from steelyard.data.evalset import ScoreTable
from steelyard.data.segments import Segments
from steelyard.stats.metametrics.base import MetaMetric

HUMAN = np.random.default_rng(3).normal(size=(5, 40))


@dataclass(frozen=True)
class SameBest(MetaMetric):
    """Whether people and the metric have the same best: 1 or 0."""

    lowest: float = 0.0

    def columns(self, human, metric, ties):
        return (human.argmax(axis=0) == metric.argmax(axis=0)).astype(float)


SAME_BEST = SameBest("same-best")


def made() -> sy.EvalSet:
    noise = np.random.default_rng(4).normal(size=HUMAN.shape)
    scores = {"fair": HUMAN + noise, "same": 2 * HUMAN + 1, "turned": -HUMAN}
    tables = {name: ScoreTable(values) for name, values in scores.items()}
    ids = tuple(f"s{i}" for i in range(HUMAN.shape[1]))
    human = {"h": ScoreTable(HUMAN, kind="human")}
    return sy.EvalSet(tuple("ABCDE"), Segments(ids), human | tables)


def test_one_method_is_enough_for_values():
    es = made()
    values = sy.meta_evaluate(es, by=SAME_BEST, level="seg", intervals=None).values("same-best")
    best = HUMAN.argmax(axis=0)
    expected = np.mean(es["fair"].values.argmax(axis=0) == best)
    assert values == {"fair": pytest.approx(expected), "same": 1.0, "turned": 0.0}
    systems = sy.meta_evaluate(es, by=[SAME_BEST, "pearson"], level="sys", intervals=None)
    assert systems.values("same-best")["same"] == 1.0
    assert systems.values("pearson")["same"] == pytest.approx(1.0)


def test_intervals_and_tests_of_differences_come_with_it():
    chosen: dict[str, Any] = {"by": SAME_BEST, "level": "seg", "rng": 1}
    result = sy.meta_evaluate(
        made(), **chosen, n_bootstrap=200, significance=sy.metric_test(n_resamples=200)
    )
    assert all(row.ci and row.ci[0] <= row.value <= row.ci[1] for row in result.results)
    test = result.significance["same-best"]
    better, worse = test.metrics.index("same"), test.metrics.index("turned")
    assert test.p[better, worse] < 1e-6
    assert "same-best" in result.table().text()
