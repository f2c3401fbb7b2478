"""``meta`` over several sets: the same bytes from one process and from several."""

from __future__ import annotations

import json

import pytest

import steelyard as sy
from steelyard.cli.main import run
from steelyard.core.parallel import Workers
from steelyard.core.table import dumps
from steelyard.metaevaluation.benchmark.run import run_benchmark
from steelyard.metaevaluation.benchmark.tasks import Benchmark, Inputs, SetSpec, Task
from steelyard.metaevaluation.options import MetaOptions


@pytest.fixture(scope="module")
def inputs():
    """Three sets of the size of the demo: other systems are left out of each."""
    chosen = ["mqm", "chars-refA", "judge-1to5-src", "learned-refA", "random-src"]
    es = sy.demo_set().select(scores=chosen)
    return Inputs(sets={f"set{k}": es.drop(systems=[es.systems[k], es.systems[-1 - k]])
                        for k in range(3)})  # fmt: skip


TASKS = (Task("spa"), Task("acc-eq"), Task("pearson", "seg", "none"))
BENCHMARK = Benchmark("three", "Three sets", "mqm", tuple(SetSpec(f"set{k}") for k in range(3)),
                      TASKS)  # fmt: skip
OPTIONS = MetaOptions(significance=True, n_resamples=100)


@pytest.fixture(scope="module")
def alone(inputs):
    return dumps(run_benchmark(BENCHMARK, inputs, OPTIONS).to_dict())


def test_the_result_is_what_it_should_be(alone):
    result = json.loads(alone)
    assert len(result["tasks"]) == 9
    assert result["significance"]["average"]["n_resamples"] == 100
    ranked = [row["metric"] for row in result["results"]]
    assert ranked[0] == "learned-refA"
    assert set(ranked) == {"chars-refA", "judge-1to5-src", "learned-refA", "random-src"}


def test_processes(inputs, alone):
    split = run_benchmark(BENCHMARK, inputs, OPTIONS, workers=Workers(jobs=2))
    assert dumps(split.to_dict()) == alone


def test_the_command(tmp_path, capsys):
    demo = tmp_path / "demo.csv"
    sy.save(sy.demo_set(), demo)
    command = ["meta", str(demo), "--human", "mqm", "--by-domain", "--by", "spa", "--significance",
               "--metrics", "learned-refA,random-src", "--resamples", "50", "--bootstrap", "50",
               "--quiet", "--json"]  # fmt: skip
    texts = []
    for more in ([], ["--jobs", "2"]):
        assert run([*command, *more]) == 0
        texts.append(capsys.readouterr().out)
    assert texts[0] == texts[1]
