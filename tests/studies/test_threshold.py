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
from steelyard.studies.threshold import of_ratings, study_threshold


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


def coverage(runs):
    held = np.zeros(2)
    for seed in range(runs):
        ratings = twice(np.random.default_rng(seed), raters=15, outputs=20)
        facts = study_threshold(ratings, n_bootstrap=100, rng=seed).facts["equal"]
        low, high = facts["repeats"]["threshold"]["ci"]
        held[0] += low <= 27.718 <= high
        low, high = facts["repeats"]["called_different"]["ci"]
        held[1] += low <= 0.0771 <= high
    return held / runs


def test_intervals_cover():
    assert coverage(40).min() > 0.84


@pytest.mark.thorough
def test_intervals_cover_in_the_long_run():
    assert coverage(600).min() > 0.89


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


def test_real_repeats_and_raters(shared, capsys):
    path = str(shared / "wmt22-da" / "de-en.judgments.csv.gz")
    assert run(["study", "threshold", path, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["equal"]
    assert found["repeats"]["n"] == 2646
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
