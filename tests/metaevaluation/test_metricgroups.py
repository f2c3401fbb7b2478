"""Metrics on groups of segments: values as of the group alone, and whether a lead is noise."""

from __future__ import annotations

import numpy as np
import pytest

import steelyard as sy
from steelyard.data.evalset import EvalSet, ScoreTable
from steelyard.data.segments import Segments
from steelyard.metaevaluation.run import weigh_groups


def planted(seed: int = 0, *, swap: bool = True) -> EvalSet:
    """Metric m follows people on the first half, n on the second (or both follow everywhere)."""
    rng = np.random.default_rng(seed)
    human = rng.normal(size=(8, 400)) + 0.25 * np.arange(8)[:, None]
    good = human + 0.5 * rng.normal(size=human.shape)
    bad = rng.normal(size=human.shape) - 0.25 * np.arange(8)[:, None]
    first = np.arange(400) < 220
    m = np.where(first, good, bad) if swap else good
    n = np.where(first, bad, good) if swap else human + 0.5 * rng.normal(size=human.shape)
    return EvalSet(
        tuple("ABCDEFGH"),
        Segments(tuple(f"{k:03}" for k in range(400))),
        {"h": ScoreTable(human, kind="human"), "m": ScoreTable(m), "n": ScoreTable(n)},
    )


GROUPS = {"one": np.arange(220), "two": np.arange(220, 400)}


def test_values_are_those_of_the_segments_alone():
    es = sy.demo_set()
    names = ["learned-refA", "chars-refA"]
    meta = sy.meta_evaluate(es, "mqm", metrics=names, by="spa", n_bootstrap=10)
    groups = {d: np.flatnonzero(np.array(es.segments.domains) == d) for d in es.domains}
    found = weigh_groups(es, meta, groups)
    assert found is not None
    for g, domain in enumerate(es.domains):
        own = sy.meta_evaluate(
            es.select(domain=domain), "mqm", metrics=names, by="spa", intervals=None
        ).values("spa")
        assert found.value[:, g] == pytest.approx([own[name] for name in found.metrics], abs=0.005)
    assert found.unit == "document"
    assert found.metrics[0] == max(meta.values("spa"), key=meta.values("spa").__getitem__)


def test_a_metric_that_fails_in_a_group_is_told():
    es = planted()
    meta = sy.meta_evaluate(es, "h", by="spa", n_bootstrap=10)
    found = weigh_groups(es, meta, GROUPS)
    assert found is not None
    told = found.sentences("group")
    assert told[0].endswith("and in 1 of 2 groups.")
    assert told[1].endswith(": significant).")


def test_two_metrics_of_one_worth_are_not_told_apart():
    claims = 0
    for seed in range(30):
        es = planted(seed, swap=False)
        meta = sy.meta_evaluate(es, "h", by="spa", intervals=None)
        found = weigh_groups(es, meta, GROUPS, rng=seed)
        assert found is not None
        claims += any(": significant" in text for text in found.sentences("group"))
    assert claims <= 5  # 5 % of 30, and what chance adds once in a hundred


def test_what_has_no_answer():
    es = planted()
    other = sy.meta_evaluate(es, "h", by="pearson", intervals=None)
    assert weigh_groups(es, other, GROUPS) is None
    values = es["m"].values.copy()
    values[:, 220:] = np.nan
    gone = es.with_scores("m", ScoreTable(values)).select(scores=["h", "m"])
    meta = sy.meta_evaluate(gone, "h", by="spa", intervals=None)
    assert weigh_groups(gone, meta, GROUPS) is None
    both = es.with_scores("m", ScoreTable(values))
    meta = sy.meta_evaluate(both, "h", by="spa", intervals=None)
    found = weigh_groups(both, meta, GROUPS)
    if meta.values("spa")["n"] > meta.values("spa")["m"]:
        assert found is not None
        assert np.isnan(found.value[found.metrics.index("m"), 1])
        assert found.table("group").records()[-1]["spa"] is None
    assert weigh_groups(es, sy.meta_evaluate(es, "h", by="spa", intervals=None), GROUPS, most=1)
