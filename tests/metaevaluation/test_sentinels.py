"""Sentinels: what they know, which metrics they beat, and that ``meta`` says so."""

from __future__ import annotations

import numpy as np
import pytest

import steelyard as sy
from steelyard.cli.main import run
from steelyard.core.warnings import code_of
from steelyard.data.evalset import EvalSet
from steelyard.data.segments import Segments
from steelyard.demo import embedded
from steelyard.metaevaluation.data import is_sentinel, sentinel_tables
from steelyard.metaevaluation.run import meta_evaluate


def make_set(seed=0, n=6, segments=80):
    rng = np.random.default_rng(seed)
    people = np.arange(n)[:, None] * 0.4 + rng.normal(size=(n, segments))
    scores = {
        "people": sy.ScoreTable(people, kind="human"),
        "good": sy.ScoreTable(people + rng.normal(0, 0.3, people.shape)),
        "wrong": sy.ScoreTable(-people),
    }
    systems = tuple("abcdef"[:n])
    outputs = {name: tuple("x" * int(rng.integers(3, 30)) for _ in range(segments))
               for name in systems}  # fmt: skip
    sources = tuple("y" * (k % 7 + 1) for k in range(segments))
    ids = tuple(f"{k:03d}" for k in range(segments))
    return EvalSet(systems, Segments(ids, sources=sources), scores, outputs=outputs)


def test_what_sentinels_know():
    es = make_set()
    found = sentinel_tables(es, "people", np.random.default_rng(0))
    values = {name.removeprefix("sentinel-"): table.values for name, table in found.items()}
    assert set(values) == {"random", "name", "segment", "length", "brevity", "source"}
    assert len(np.unique(values["random"])) == values["random"].size
    assert (values["name"] == values["name"][:, :1]).all()
    assert len(np.unique(values["name"])) == es.n_systems
    for same in ("segment", "source"):
        assert (values[same] == values[same][:1]).all()
    assert values["segment"][0] == pytest.approx(es["people"].values.mean(axis=0))
    assert values["length"][2, 5] == len(es.outputs["c"][5] or "")
    assert (values["brevity"] == -values["length"]).all()
    assert values["source"][0, 3] == -4


def test_meta_warns_of_a_sentinel_that_wins():
    es = make_set(4)
    rng = np.random.default_rng(0)
    with_random = es.with_scores("random", rng.random(es["people"].values.shape))
    found = meta_evaluate(with_random, "people", by=["pa"])
    assert [w for w in found.warnings if code_of(w) == "sentinel"] == [
        "pa: 'random', which ignores quality, beats 'wrong'"
    ]
    plain = meta_evaluate(es, "people", by=["pa"]).warnings
    assert not any(code_of(w) == "sentinel" for w in plain)


def test_meta_weighs_sentinels_if_asked():
    es = make_set(5)
    found = meta_evaluate(es, "people", by=["pa"], rules=sy.meta_rules(sentinels=True))
    assert sum(is_sentinel(name) for name in found.values("pa")) == 6
    again = meta_evaluate(es, "people", by=["pa"])
    both = {name: found.values("pa")[name] for name in again.values("pa")}
    assert both == again.values("pa")


def test_the_command(capsys):
    scores = str(embedded.SCORES)
    arguments = ["meta", scores, "--human", "mqm", "--by", "pa", "--sentinels", "--quiet"]
    assert run(arguments) == 0
    assert "sentinel-name" in capsys.readouterr().out
