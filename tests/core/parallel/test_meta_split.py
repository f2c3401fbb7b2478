"""``meta`` over several sets: the same bytes from one process and from several."""

from __future__ import annotations

import json

import pytest

import steelyard as sy
from steelyard.cli.main import run
from steelyard.core.parallel import Workers
from steelyard.core.table import dumps
from steelyard.metaevaluation.benchmark import tasks as presets
from steelyard.metaevaluation.benchmark.run import run_benchmark
from steelyard.metaevaluation.options import MetaOptions

TOML = """
title = "Three sets"
human = "mqm"
{sets}
[[task]]
with = "spa"
[[task]]
with = "acc-eq"
[[task]]
with = "pearson"
level = "seg"
group_by = "none"
"""


@pytest.fixture(scope="module")
def protocol(tmp_path_factory):
    """Three sets of the size of the demo: other systems are left out of each."""
    folder = tmp_path_factory.mktemp("sets")
    chosen = ["mqm", "chars-refA", "judge-1to5-src", "learned-refA", "random-src"]
    es = sy.demo_set().select(scores=chosen)
    sets = ""
    for k in range(3):
        part = es.drop(systems=[es.systems[k], es.systems[-1 - k]])
        sy.save(part, folder / f"set{k}.csv")
        sets += f'[[set]]\nname = "set{k}"\nfiles = ["set{k}.csv"]\n'
    path = folder / "three.toml"
    path.write_text(TOML.format(sets=sets))
    return path


@pytest.fixture(scope="module")
def benchmark(protocol):
    return presets.read(protocol)


OPTIONS = MetaOptions(significance=True, n_resamples=200)


@pytest.fixture(scope="module")
def alone(benchmark):
    return dumps(run_benchmark(benchmark, options=OPTIONS).to_dict())


def shown(benchmark, **workers):
    return dumps(run_benchmark(benchmark, options=OPTIONS, workers=Workers(**workers)).to_dict())


def test_the_result_is_what_it_should_be(alone):
    result = json.loads(alone)
    assert len(result["tasks"]) == 9
    assert result["significance"]["average"]["n_resamples"] == 200
    ranked = [row["metric"] for row in result["results"]]
    assert ranked[0] == "learned-refA"
    assert set(ranked) == {"chars-refA", "judge-1to5-src", "learned-refA", "random-src"}


def test_processes(benchmark, alone):
    assert shown(benchmark, jobs=2) == alone


def test_the_command(protocol, capsys):
    command = ["meta", "--benchmark", str(protocol), "--significance", "--resamples", "50",
               "--quiet", "--json"]  # fmt: skip
    texts = []
    for more in ([], ["--jobs", "2"]):
        assert run([*command, *more]) == 0
        texts.append(capsys.readouterr().out)
    assert texts[0] == texts[1]
