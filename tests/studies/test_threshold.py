"""How wide a tie of people is: equal outputs made up, and real ones."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import steelyard as sy
from steelyard.cli.main import run
from steelyard.core.errors import UsageError
from steelyard.data.evalset import EvalSet
from steelyard.data.judgements import Ratings
from steelyard.data.segments import Segments
from steelyard.human.darr import of_pairs, of_ratings, pairs_of_scores, tie_threshold
from steelyard.studies.threshold import study_threshold
from steelyard.studies.ties import vary_ties


def twice(rng, *, raters=20, outputs=30, noise=10.0):
    """Every rater judges outputs of their own twice, with noise of a known size."""
    rows: list[tuple[str, str, str, float, str]] = []
    for r in range(raters):
        for k in range(outputs):
            worth = rng.normal(50, 15)
            who = f"r{r:02d}"
            for item in ("system", "repeat"):
                value = worth + noise * rng.normal()
                rows += [("A", f"{r}-{k}", who, value, item), ("B", f"{r}-{k}", who, 0.0, "ref")]
    system, segment, rater, values, items = zip(*rows, strict=True)
    return Ratings.from_labels(system, segment, rater, np.array(values), item=items)


def test_what_is_equal_by_hand():
    values = np.array([60.0, 70, 50, 90, 20, 0])
    items = ("system", "repeat", "system", "system", "system", "bad-ref")
    ratings = Ratings.from_labels(
        ["A", "A", "A", "B", "B", "B"], list("111122"), list("rrsrsr"), values, item=items
    )
    raters, repeats = of_ratings(ratings, values[:], ratings.is_item("system", "repeat"))
    assert repeats.kind == "repeats"
    assert np.abs(repeats.difference).tolist() == [10]
    assert np.abs(raters.difference).tolist() == [15]  # 65, the mean of repeats, and 50
    unnamed = Ratings.from_labels(["A"] * 3, list("111"), ["unknown"] * 3, np.array([1.0, 2, 4]))
    (alone,) = of_ratings(unnamed, unnamed.value, np.ones(3, dtype=bool))
    assert sorted(np.abs(alone.difference).tolist()) == [1, 2, 3]


def test_a_known_noise_is_found():
    """Differences of two ratings with noise 10 have a deviation of 14.1: 5 % exceed 27.7."""
    study = study_threshold(twice(np.random.default_rng(0), raters=60, outputs=50), n_bootstrap=50)
    (row,) = study.table().records()
    assert (row["equal"], row["pairs"]) == ("repeats", 3000)
    assert row["threshold"] == pytest.approx(1.96 * 10 * np.sqrt(2), rel=0.05)
    assert row["at 25"] == pytest.approx(0.077, abs=0.015)
    called = study.facts["equal"]["repeats"]["called_different"]
    assert called["ci"][0] < called["value"] < called["ci"][1]


def coverage(runs, unit):
    held = np.zeros(2)
    for seed in range(runs):
        ratings = twice(np.random.default_rng(seed), raters=15, outputs=20)
        facts = study_threshold(ratings, unit=unit, n_bootstrap=200, rng=seed).facts["equal"]
        low, high = facts["repeats"]["threshold"]["ci"]
        held[0] += low <= 27.718 <= high
        low, high = facts["repeats"]["called_different"]["ci"]
        held[1] += low <= 0.0771 <= high
    return held / runs


def test_intervals_cover():
    assert coverage(60, "rater").min() > 0.85


@pytest.mark.thorough
def test_intervals_cover_in_the_long_run():
    for unit in ("segment", "rater"):
        assert coverage(600, unit).min() > 0.89


def test_identical_outputs():
    rng = np.random.default_rng(1)
    values = rng.normal(60, 5, (2, 100)).round()
    texts = {"A": tuple(f"t{k}" for k in range(100)),
             "B": tuple(f"t{k}" if k < 60 else "other" for k in range(100))}  # fmt: skip
    es = EvalSet(("A", "B"), Segments(tuple(f"{k:03d}" for k in range(100))),
                 {"people": sy.ScoreTable(values, kind="human"),
                  "m": sy.ScoreTable(rng.normal(size=(2, 100)))}, outputs=texts)  # fmt: skip
    study = study_threshold(es, "people", n_bootstrap=50)
    row: dict[str, Any] = study.table().records()[0]
    gap = np.abs(values[0] - values[1])[:60]
    assert (row["equal"], row["pairs"]) == ("identical", 60)
    below = max(size for size in gap if size < row["threshold"])
    assert (gap >= row["threshold"]).mean() <= 0.05 < (gap >= below).mean()
    width, said = tie_threshold(of_pairs(pairs_of_scores(es, "people")))
    assert width == row["threshold"]
    assert "60 pairs of two systems' outputs with the same text" in said
    found = vary_ties(es, "people", threshold="auto", n_bootstrap=10, n_resamples=10)
    assert f"{width:g}" in found.table("intervals").title
    assert said in found.warnings


def test_nothing_is_equal():
    ratings = Ratings.from_labels(["A", "B"], list("11"), list("rs"), np.array([1.0, 2.0]))
    study = study_threshold(ratings, n_bootstrap=10)
    assert study.table().rows == ()
    assert any(
        "nothing is known to be equal: no output was rated twice" in w for w in study.warnings
    )
    es = EvalSet(("A", "B"), Segments(("1",)), {"people": sy.ScoreTable(np.ones((2, 1)), "human")})
    study = study_threshold(es, "people", n_bootstrap=10)
    assert any("no raw ratings" in text for text in study.warnings)
    with pytest.raises(UsageError, match=r'threshold="auto" .* found none'):
        vary_ties(es, "people", threshold="auto")


def test_real_repeats_and_raters(shared, capsys):
    path = str(shared / "wmt22-da" / "de-en.judgments.csv.gz")
    assert run(["study", "threshold", path, "--unit", "rater", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["equal"]
    assert found["repeats"]["n"] == 2646
    assert found["repeats"]["unit"] == found["repeats"]["unit"] | {"name": "rater", "n": 151}
    assert found["repeats"]["threshold"]["value"] == 41
    assert found["raters"]["threshold"]["value"] == 71
    assert found["repeats"]["called_different"]["value"] == pytest.approx(0.122, abs=0.001)


def test_real_identical_outputs(shared, capsys):
    folder = shared / "wmt24-esa"
    files = [
        str(folder / name) for name in ("en-ja.expected.segments.csv.gz", "en-ja.text.jsonl.gz")
    ]
    assert run(["study", "threshold", *files, "--human", "esa", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["equal"]["identical"]
    assert found["n"] == 1352
    assert found["called_different"]["value"] == pytest.approx(98 / 1352)


def in_pairs(rng, raters=12, segments=40) -> Ratings:
    """Two of the raters give a number to each output; raters differ in how they use the scale."""
    bias = rng.normal(0, 8, raters)
    rows = [(s, *rng.choice(raters, 2, replace=False)) for s in range(segments)]
    labels = [
        (str(s), f"r{r:02d}", 50 + bias[r] + rng.normal(0, 5)) for s, *two in rows for r in two
    ]
    segment, rater, value = zip(*labels, strict=True)
    return Ratings.from_labels(["A"] * len(labels), segment, rater, np.round(value, 1))


def test_both_raters_of_a_difference_are_drawn():
    ratings = in_pairs(np.random.default_rng(0))
    renamed = Ratings.from_labels(
        [ratings.systems[k] for k in ratings.system],
        [ratings.segments[k] for k in ratings.segment],
        [f"x{11 - int(ratings.raters[k][1:]):02d}" for k in ratings.rater],
        ratings.value,
    )  # fmt: skip
    studies = (study_threshold(x, unit="rater", n_bootstrap=4000) for x in (ratings, renamed))
    one, other = (study.table("thresholds").records()[0] for study in studies)
    assert one["units"] == other["units"] == "12 raters"
    assert one["threshold"] == other["threshold"]
    # Names decide who is drawn when, so intervals agree up to chance.
    assert other["threshold low"] == pytest.approx(one["threshold low"], abs=1.5)
    assert other["threshold high"] == pytest.approx(one["threshold high"], abs=1.5)


def test_intervals_over_pairs_of_raters_cover():
    """The share beyond a threshold, of endlessly many raters, lies in nearly all intervals."""
    rng = np.random.default_rng(1)
    gaps = rng.normal(0, np.sqrt(2 * (8**2 + 5**2)), 1_000_000)
    truth = float((np.abs(gaps) >= 15).mean())
    inside = 0
    for _ in range(60):
        given = in_pairs(rng, raters=30, segments=120)
        study = study_threshold(given, unit="rater", n_bootstrap=200, customary=15)
        low, high = study.facts["equal"]["raters"]["called_different"]["ci"]
        inside += low <= truth <= high
    assert inside >= 52


def test_two_raters_have_no_interval_and_say_so():
    two = Ratings.from_labels(["A"] * 80, [str(k // 2) for k in range(80)], list("rs") * 40,
                              np.random.default_rng(0).normal(50, 9, 80).round())  # fmt: skip
    study = study_threshold(two, unit="rater", n_bootstrap=20)
    assert study.table("thresholds").records()[0]["threshold low"] is None
    assert "raters: two raters are too few to resample, and there is no interval" in study.warnings


def test_rows_without_a_score_and_rows_that_are_there_twice_are_told():
    value = np.tile([70.0, 74.0, np.nan, 52.0], 20)
    names = [str(k // 2) for k in range(80)]
    given = Ratings.from_labels(["A"] * 80, names, list("rs") * 40, value)
    assert "20 rows without a score left out" in study_threshold(given, n_bootstrap=10).warnings
    again = Ratings.from_labels(["A"] * 4, list("1122"), list("rrrs"), np.array([1.0, 1, 2, 3]))
    told = study_threshold(again, n_bootstrap=10).warnings
    assert any(text.startswith("1 row with the rater, system, segment") for text in told)
    none = Ratings.from_labels(["A"], ["1"], ["r"], np.array([np.nan]))
    with pytest.raises(UsageError, match="there is no rating with a value"):
        study_threshold(none)
