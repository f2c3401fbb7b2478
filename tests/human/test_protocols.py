"""Protocols and their options, the verdict on the first system, ranks with ties for metrics."""

from __future__ import annotations

import csv
import inspect
import json

import numpy as np
import pytest

import steelyard as sy
from steelyard.cli.main import run
from steelyard.core.errors import UsageError
from steelyard.data.judgements import Ratings
from steelyard.human.options import PROTOCOLS, HumanOptions
from steelyard.human.rr import COUNTED
from steelyard.human.run import scorer_of
from steelyard.stats.paired.corrections import CORRECTIONS


def test_names_that_help_shows_are_those_of_the_registries():
    declared = HumanOptions.declared()
    assert [scorer_of(name).name for name in PROTOCOLS] == list(PROTOCOLS)
    assert set(declared["correction"].choices) == set(CORRECTIONS)
    assert set(declared["by"].choices) == {"trueskill", *COUNTED}
    assert len(inspect.signature(sy.human_scores).parameters) <= 12


@pytest.mark.parametrize("name", PROTOCOLS)
def test_a_protocol_says_what_it_expects(name):
    with pytest.raises(UsageError, match=f"protocol {name} expects ") as caught:
        sy.human_scores(protocol=name)
    assert scorer_of(name).expected in str(caught.value)


@pytest.mark.parametrize(
    ("protocol", "option"),
    [("da", "--threshold=3"), ("da", "--keep-ties"), ("mqm", "--by=bt"), ("da", "--cap=3"),
     ("mqm", "--quality-control"), ("rr", "--systems=A")],
)  # fmt: skip
def test_options_of_other_protocols_are_refused(protocol, option, capsys):
    assert run(["human", "nothing.csv", "--protocol", protocol, option]) == 2
    assert option.partition("=")[0] in capsys.readouterr().err


@pytest.mark.parametrize("seed", range(20))
def test_interval_and_p_agree_on_small_sets(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 40))
    values = rng.normal([[0.6], [0.0]], 1, size=(2, n)).ravel()
    ratings = Ratings.from_labels(["A"] * n + ["B"] * n, [str(k) for k in range(n)] * 2,
                                  ["r"] * 2 * n, values)  # fmt: skip
    for test in ("permutation", "rank-sum", "t"):
        options = sy.esa(test=test, scale=(-9, 9))
        (verdict,) = sy.human_scores(ratings, protocol=options, n_bootstrap=0).decisions
        assert (verdict.p < 0.05) == (verdict.low > 0)
        assert n >= 6 or not verdict.significant_alone


def test_documents_beside_an_official_rule():
    rng = np.random.default_rng(1)
    n = 60
    values = np.clip(60 + rng.normal([[6], [0]], 9, size=(2, n)), 0, 100).ravel()
    documents = tuple(f"d{k // 5}" for k in range(n)) * 2
    ratings = Ratings.from_labels(["A"] * n + ["B"] * n, [str(k) for k in range(n)] * 2,
                                  ["r"] * 2 * n, values, document=documents)  # fmt: skip
    result = sy.human_scores(ratings, protocol="esa", preset="wmt24-micro", n_bootstrap=0)
    assert result.decisions[0].unit == "segment"
    assert result.to_dict()["preset"]["pairs"]["documents"] == 12


# Clusters as ranks with ties, and fuzzy ranks, as gold for metrics.


def rated(seed=0, means=(60.0, 59.5, 50.0, 40.0, 39.0), n=40):
    rng = np.random.default_rng(seed)
    rows = [(f"s{i}", f"{k:03d}", f"r{k % 7}", mean + 12 * rng.normal())
            for i, mean in enumerate(means) for k in range(n)]  # fmt: skip
    system, segment, rater, value = zip(*rows, strict=True)
    return Ratings.from_labels(system, segment, rater, np.array(value).clip(0, 100))


def naive(systems, p, alpha):
    """Places of the cluster, and of all that differ neither way, one system after the other."""
    found = {}
    for i, one in enumerate(systems):
        mates = [j + 1 for j, other in enumerate(systems) if other.cluster == one.cluster]
        alike = [j + 1 for j in range(len(systems))
                 if i == j or not (p[i][j] < alpha or p[j][i] < alpha)]  # fmt: skip
        found[one.system] = (sum(mates) / len(mates), sum(alike) / len(alike))
    return found


@pytest.mark.parametrize("seed", range(4))
def test_ranks_against_loops(seed):
    result = sy.human_scores(rated(seed), protocol="da", n_bootstrap=0)
    expected = naive(result.systems, result.p, 0.05)
    rows = result.to_dict()["ranks"]
    assert [row["system"] for row in rows] == [system.system for system in result.systems]
    for row in rows:
        got = (row["tied_rank"], row["fuzzy_rank"])
        assert got == pytest.approx(expected[row["system"]])
    assert sum(row["tied_rank"] for row in rows) == 15  # mean places keep their sum


def test_without_clusters_there_are_none():
    result = sy.human_scores(rated(), protocol=sy.da(clusters="none"), n_bootstrap=0)
    assert "ranks" not in result.to_dict()
    with pytest.raises(UsageError, match="there are none"):
        result.rank_table()


@pytest.mark.thorough
def test_metrics_against_clusters_of_wmt13(shared, tmp_path, capsys):
    """Pearson against clusters and fuzzy ranks of a ranking, by the command and by hand."""
    ranks, metrics = tmp_path / "ranks.csv", tmp_path / "metrics.csv"
    path = shared / "wmt13-ranking" / "fr-en.train.csv.gz"
    command = ["human", str(path), "--protocol", "rr", "--by", "expected-wins"]
    assert run([*command, "--bootstrap", "200", "--ranks", str(ranks), "--quiet"]) == 0
    with ranks.open() as lines:
        gold = list(csv.DictReader(lines))
    assert len(gold) == 13
    tied = np.array([float(row["tied_rank"]) for row in gold])
    fuzzy = np.array([float(row["fuzzy_rank"]) for row in gold])
    assert len(np.unique(tied)) == len({row["cluster"] for row in gold}) < 13
    metric = np.arange(13.0)[::-1] + np.random.default_rng(0).normal(0, 3, 13)
    rows = [f"{row['system']},{x}" for row, x in zip(gold, metric, strict=True)]
    metrics.write_text("\n".join(["system,mine", *rows]) + "\n")
    capsys.readouterr()
    for name, own in (("tied_rank", tied), ("fuzzy_rank", fuzzy)):
        command = ["meta", str(ranks), str(metrics), "--human", name, "--level", "sys"]
        lower = ["--lower-is-better", "cluster,tied_rank,fuzzy_rank", "--by", "pearson,spearman"]
        assert run([*command, *lower, "--intervals", "system", "--json"]) == 0
        found = {one["with"]: one for one in json.loads(capsys.readouterr().out)["results"]}
        assert found["pearson"]["value"] == pytest.approx(-np.corrcoef(own, metric)[0, 1])
        assert found["spearman"]["value"] > 0.7
        assert found["pearson"]["ci"] is not None
