"""Intervals of Kendall variants on pairs, tests of metrics by them, and identical outputs."""

from __future__ import annotations

import csv
import gzip
import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import steelyard as sy
from steelyard.data.evalset import EvalSet
from steelyard.data.judgements import BattleLog
from steelyard.data.segments import Segments
from steelyard.human.darr import identical_table, pairs_of_battles, pairs_of_scores
from steelyard.stats.kendall.counting import KENDALL, threshold_counts
from steelyard.stats.metametrics.swap_tests import Swaps, null_ratios
from steelyard.studies.ties import vary_ties


def simulated(rng, n=6, segments=80, *, documents=None, noise=(1.0, 1.0)):
    """People, and metrics that see the same truth with noise of their own."""
    truth = rng.normal(size=(n, segments))
    people = np.round(50 + 20 * (truth + rng.normal(size=truth.shape)))
    scores = {"people": sy.ScoreTable(people, kind="human")}
    for k, own in enumerate(noise):
        metric = np.round(4 * (truth + own * rng.normal(size=truth.shape)))
        scores[f"m{k}"] = sy.ScoreTable(metric)
    ids = tuple(f"{k:03d}" for k in range(segments))
    named = tuple(f"s{i}" for i in range(n))
    return EvalSet(named, Segments(ids, documents), scores)


@given(st.integers(0, 10_000))
def test_swapped_ratios_against_every_swap(seed):
    """Of all 2^n ways to swap segments, draws find the share that naive enumeration does."""
    rng = np.random.default_rng(seed)
    top = rng.integers(-3, 4, (2, 4)).astype(float)
    bottom = np.abs(top) + rng.integers(1, 3, (2, 4))
    observed = top[0].sum() / bottom[0].sum() - top[1].sum() / bottom[1].sum()
    beyond = 0
    for swap in itertools.product((False, True), repeat=4):
        a, b = np.where(swap, 1, 0), np.where(swap, 0, 1)
        at = np.arange(4)
        gap = top[a, at].sum() / bottom[a, at].sum() - top[b, at].sum() / bottom[b, at].sum()
        beyond += gap >= observed - 1e-9
    null = null_ratios(top, bottom, Swaps(n=4000, rng=np.random.default_rng(1)))
    assert null.compare().p[0, 1] == pytest.approx(beyond / 16, abs=0.03)


def test_intervals_are_those_of_resampled_segments():
    """Each resample again, pair by pair."""
    es = simulated(np.random.default_rng(1), n=4, segments=30)
    study = vary_ties(es, "people", matrices=["kendall-no-tie-penalty"], threshold=10)
    pairs = pairs_of_scores(es, "people", ["m0"])
    rng = np.random.default_rng(5)
    values = []
    for _ in range(600):
        picked = rng.integers(0, 30, 30)
        rows = np.concatenate([np.flatnonzero(pairs.segment == k) for k in picked])
        gaps = pairs.gap[rows], pairs.metric_gap["m0"][rows]
        counts = threshold_counts(*gaps, [10.0])
        values.append(KENDALL["kendall-no-tie-penalty"].value(counts)[0])
    (row,) = [r for r in study.facts["results"] if r["metric"] == "m0"]
    assert row["ci"] == pytest.approx(np.quantile(values, [0.025, 0.975]), abs=0.03)


def _trial(seed, unit, **options):
    rng = np.random.default_rng(seed)
    es = simulated(rng, **options)
    settings = {"matrices": ["kendall-soft"], "threshold": 10, "n_bootstrap": 200}
    return vary_ties(es, "people", unit=unit, n_resamples=200, rng=seed, **settings)


def test_level_of_the_test_and_coverage_of_the_interval():
    """Metrics with the same noise differ by chance alone; the long run tells the true value."""
    truth = np.mean([_trial(10_000 + k, "segment", segments=400).facts["results"][0]["value"]
                     for k in range(15)])  # fmt: skip
    rejected, held = 0, 0
    runs = 150
    for seed in range(runs):
        study = _trial(seed, "segment")
        p = np.asarray(study.facts["significance"]["kendall-soft"]["p"], dtype=float)
        rejected += np.nanmin(p) <= 0.025
        low, high = study.facts["results"][seed % 2]["ci"]
        held += low - 0.004 <= truth <= high + 0.004
    assert rejected / runs < 0.05 + 3 * np.sqrt(0.05 * 0.95 / runs)
    assert held / runs > 0.88


@pytest.mark.thorough
def test_level_in_the_long_run():
    runs = 2000
    rejected = 0
    for seed in range(runs):
        p = np.asarray(
            _trial(seed, "segment").facts["significance"]["kendall-soft"]["p"], dtype=float
        )
        rejected += np.nanmin(p) <= 0.025
    assert 0.035 < rejected / runs < 0.065


def test_documents_are_units_where_they_are_known():
    documents = tuple(f"d{k // 4}" for k in range(80))
    rng = np.random.default_rng(2)
    study = vary_ties(simulated(rng, documents=documents), "people", n_bootstrap=50)
    assert study.facts["unit"]["name"] == "document"
    assert study.facts["unit"]["n"] == 20
    one = simulated(np.random.default_rng(2), segments=1)
    study = vary_ties(one, "people", n_bootstrap=50)
    assert all(row["ci"] is None and row["rank"] is None for row in study.facts["results"])
    assert study.facts["significance"] == {}


def test_identical_outputs_that_people_decided():
    values = np.array([[90.0, 60.0], [50.0, 60.0], [90.0, 20.0]])
    texts = {"A": ("same", "x"), "B": ("same", "x"), "C": ("other", "x")}
    es = EvalSet(("A", "B", "C"), Segments(("1", "2")),
                 {"people": sy.ScoreTable(values, kind="human")}, outputs=texts)  # fmt: skip
    study = vary_ties(es, "people", thresholds=[0, 25])
    expected = [("1", "A", "B", 90, 50, "same"), ("2", "A", "C", 60, 20, "x"),
                ("2", "B", "C", 60, 20, "x")]  # fmt: skip
    assert [tuple(row.values()) for row in study.table("identical").records()] == expected
    lower = EvalSet(es.systems, es.segments,
                    {"people": sy.ScoreTable(values, kind="human", higher_is_better=False)},
                    outputs=texts)  # fmt: skip
    table = identical_table(pairs_of_scores(lower, "people"), 25)
    assert table.rows[0] == ("1", "B", "A", 50, 90, "same")
    log = BattleLog(("A", "B"), np.array([1], np.int32), np.array([0], np.int32), np.array([1.0]),
                    units=("1",), unit=np.array([0], np.int32))  # fmt: skip
    table = identical_table(pairs_of_battles(log, es), 25)
    assert table.rows == (("1", "B", "A", None, None, "same"),)
    assert identical_table(pairs_of_battles(log, None), 25) is None


def official(path, lp, metric):
    with path.open() as lines:
        rows = [row for row in csv.DictReader(lines) if (row["lp"], row["metric"]) == (lp, metric)]
    return {row["systems"]: float(row["kendall_like"]) for row in rows}


@pytest.mark.parametrize("lp", ["de-en", "cs-en"])
def test_wmt20_official_kendall_with_intervals(shared, lp):
    """The official Kendall of the shared task is kendall-hard on pairs at 25, without people."""
    folder = shared / "wmt20-metrics"
    with gzip.open(folder / "segments" / f"{lp}.csv.gz", "rt") as lines:
        systems = {row["system"] for row in csv.DictReader(lines)}
    people = sorted(name for name in systems if name.startswith("Human"))
    es = sy.load(
        folder / "segments" / f"{lp}.csv.gz", human="da_raw", kind={"human": ["da_z", "da_n"]},
        ignore=["line"], columns={"segment": "doc_seg"}, drop_systems=people,
    )  # fmt: skip
    study = vary_ties(es, "da_raw", metrics=["chrF", "TER"], matrices=["kendall-hard"],
                      n_bootstrap=100, n_resamples=100)  # fmt: skip
    for row in study.facts["results"]:
        known = official(folder / "darr-kendall.official.csv", lp, row["metric"])
        assert any(row["value"] == pytest.approx(value, abs=6e-5) for value in known.values())
        assert row["ci"][0] < row["value"] < row["ci"][1]
    assert study.facts["results"][0]["metric"] == "chrF"
    assert study.facts["results"][1]["rank"] == 2
