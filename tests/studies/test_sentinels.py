"""Sentinels: what they know, which metrics they beat, and that ``meta`` says so."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import steelyard as sy
from steelyard.cli.main import run
from steelyard.core.errors import UsageError
from steelyard.core.table import dumps
from steelyard.data.evalset import EvalSet
from steelyard.data.segments import Segments
from steelyard.demo import embedded
from steelyard.metaevaluation.floor import is_sentinel, sentinel_tables
from steelyard.metaevaluation.run import meta_evaluate
from steelyard.studies.metrics.discernment import guard
from steelyard.studies.results import Study

NAN = float("nan")


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


def records(study: Study, name: str) -> list[dict[str, Any]]:
    return study.table(name).records()


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


def test_a_name_is_worth_the_same_whatever_the_other_names():
    es = make_set()
    part = es.select(systems=["b", "e"])
    one = sentinel_tables(es, "people", np.random.default_rng(3))["sentinel-name"].values
    two = sentinel_tables(part, "people", np.random.default_rng(3))["sentinel-name"].values
    assert two.tolist() == one[[1, 4]].tolist()


def test_missing_texts_are_missing_scores():
    es = make_set()
    outputs = {**es.outputs, "a": (None, *es.outputs["a"][1:])}
    holes = EvalSet(es.systems, es.segments, es.scores, outputs=outputs)
    found = sentinel_tables(holes, "people", np.random.default_rng(0))
    assert np.isnan(found["sentinel-length"].values[0, 0])
    bare = EvalSet(es.systems, Segments(es.segments.ids), es.scores)
    assert "sentinel-length" not in sentinel_tables(bare, "people", np.random.default_rng(0))


def test_floors_are_means_and_quantiles_of_draws():
    es = make_set(1)
    study = guard(es, "people", by="pa", draws=30, rng=7)
    tables = sentinel_tables(es, "people", np.random.default_rng(7), draws=30)
    human = es["people"].values.mean(axis=1)
    for kind in ("random", "name"):
        values = []
        for k in range(30):
            means = tables[f"sentinel-{kind}-{k + 1}"].values.mean(axis=1)
            agree = [np.sign(human[i] - human[j]) == np.sign(means[i] - means[j])
                     for i in range(6) for j in range(i)]  # fmt: skip
            values.append(np.mean(agree))
        row = next(r for r in records(study, "floor") if r["sentinel"] == kind)
        assert row["pa"] == pytest.approx(np.mean(values))
        assert row["high"] == pytest.approx(np.quantile(values, 0.975))


def test_a_metric_below_the_floor_is_named():
    study = guard(make_set(2), "people", by=["spa", "acc-eq"], draws=10)
    rows = {row["metric"]: row for row in records(study, "metrics")}
    assert list(rows) == ["good", "wrong"]
    assert rows["good"]["above"] is True
    assert rows["wrong"]["above"] is False
    assert any(w.startswith("spa: the sentinel") and "'wrong'" in w for w in study.warnings)
    assert not any("'good'" in w for w in study.warnings)
    assert study.facts["floor"]["spa"] < rows["good"]["spa"]


def test_the_same_seed_gives_the_same_bytes():
    es = make_set(3)
    one, two, other = (dumps(guard(es, "people", by="pa", draws=4, rng=r).to_dict())
                       for r in (1, 1, 2))  # fmt: skip
    assert one == two != other
    with pytest.raises(UsageError, match="draws is a whole number of at least 1"):
        guard(es, "people", draws=0)


def test_meta_warns_of_a_sentinel_that_wins():
    es = make_set(4)
    rng = np.random.default_rng(0)
    with_random = es.with_scores("random", rng.random(es["people"].values.shape))
    found = meta_evaluate(with_random, "people", by=["pa"])
    texts = [w for w in found.warnings if "sentinel" in w]
    assert len(texts) == 1
    assert "'random'" in texts[0]
    assert "'wrong' (0.000)" in texts[0]
    assert "good" not in texts[0]
    assert not any("sentinel" in w for w in meta_evaluate(es, "people", by=["pa"]).warnings)


def test_meta_weighs_sentinels_if_asked():
    es = make_set(5)
    found = meta_evaluate(es, "people", by=["pa"], sentinels=True)
    assert sum(is_sentinel(name) for name in found.values("pa")) == 6
    again = meta_evaluate(es, "people", by=["pa"])
    both = {name: found.values("pa")[name] for name in again.values("pa")}
    assert both == again.values("pa")


def test_the_commands(capsys):
    scores = str(embedded.SCORES)
    assert run(["study", "sentinels", scores, "--human", "mqm", "--draws", "3", "--quiet"]) == 0
    assert "Metrics against the floor" in capsys.readouterr().out
    arguments = ["meta", scores, "--human", "mqm", "--by", "pa", "--sentinels", "--quiet"]
    assert run(arguments) == 0
    assert "sentinel-name" in capsys.readouterr().out
