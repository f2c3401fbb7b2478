"""Clusters as ranks with ties, and fuzzy ranks, as gold for metrics."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest

import steelyard as sy
from steelyard.cli.main import run
from steelyard.core.errors import UsageError
from steelyard.data.judgements import Ratings


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
    assert result.p is not None
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
