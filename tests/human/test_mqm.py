"""MQM and ESA: official scores of WMT20-23, rules of weights, profiles, several raters."""

from __future__ import annotations

import csv
import gzip
import json
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import steelyard as sy
from steelyard import human_scores, load
from steelyard.core.errors import InputError
from steelyard.data.judgements import ErrorSpan, Ratings
from steelyard.formats.reading import read_any
from steelyard.human.ratings import read_weights

nan = float("nan")


def rated(path: Path, **options):
    return human_scores(path, protocol=sy.mqm(clusters="none", **options), n_bootstrap=0)


def cells(result) -> dict[tuple[str, str], float]:
    found = result.averages
    return {
        (found.systems[s], found.segments.ids[g]): v
        for s, g, v in zip(found.system, found.segment, found.values["mqm"], strict=True)
    }


def test_every_ted_score_of_wmt21(shared):
    folder = shared / "mqm-wmt20-21"
    with gzip.open(folder / "avg_seg_scores.csv.gz", "rt", newline="") as stream:
        rows = [row for row in csv.DictReader(stream) if row["testset"] == "ted" and row["mqm"]]
    total = 0
    for lp, count in (("en-de", 7406), ("zh-en", 7935)):
        mine = cells(rated(folder / f"ted.{lp}.ratings.csv.gz"))
        theirs = {(r["system"], r["seg"]): float(r["mqm"]) for r in rows if r["lp"] == lp}
        assert len(theirs) == count
        assert mine.keys() == theirs.keys()
        assert all(abs(mine[key] - value) < 1e-6 for key, value in theirs.items())
        total += count
    assert total == 15_341


@pytest.mark.parametrize(("lp", "n", "n_equal"), [("en-de", 5980, 5980), ("zh-en", 18_832, 18_829)])
def test_wmt23_errors_and_segment_scores(shared, lp, n, n_equal):
    path = shared / "wmt23-metrics" / f"{lp}.mqm_errors.jsonl.gz"
    weights = read_weights()
    n_errors = 0
    for errors in read_any(path)[1].errors:
        for error in errors:
            assert float(weights.weight(error)) == error.score
            n_errors += 1
    assert n_errors > 15_000
    mine = cells(rated(path))
    gold = load(shared / "wmt23-metrics" / f"{lp}.human.csv.gz", human="mqm")
    values = gold["mqm"].values
    official = {
        (gold.systems[i], gold.segments.ids[j]): values[i, j]
        for i, j in np.argwhere(~np.isnan(values))
    }
    equal = sum(abs(mine.get(key, nan) - value) < 1e-9 for key, value in official.items())
    assert (len(official), equal) == (n, n_equal)
    missing = [key for key in official if key not in mine]
    assert len(missing) == n - n_equal  # what differs are segments without a rating in the list


# Weights


@pytest.mark.parametrize(
    ("category", "severity", "weight"),
    [
        ("accuracy/omission", "MAJOR", 5),
        ("Accuracy/Omission", "minor", 1),
        ("fluency/punctuation", "Minor", Fraction(1, 10)),
        ("fluency/punctuation", "major", 5),
        ("fluency/punctuation/comma", "minor", Fraction(1, 10)),
        ("fluency", "minor", 1),
        ("Non-translation!", "major", 25),
        ("non-translation", "minor", 25),
        ("Source error", "major", 0),
        ("source issue", "minor", 0),
        ("accuracy/creative reinterpretation", "major", 0),
        ("accuracy", "neutral", 0),
        ("No-error", "no-error", 0),
        ("", "major", 5),
    ],
)
def test_default_weights(category, severity, weight):
    assert read_weights().weight(ErrorSpan(category, severity)) == weight


def test_own_weights(tmp_path):
    table = tmp_path / "own.toml"
    table.write_text(
        "[severity]\ncritical = 10\nminor = 0.25\n"
        '[[rule]]\ncategory = "style"\nweight = 3\n'
        '[[rule]]\ncategory = "style"\nseverity = "Critical"\nweight = 7\n'
        '[[rule]]\ncategory = "style/awkward"\nweight = 1\n'
    )
    weights = read_weights(table)
    assert float(weights.weight(ErrorSpan("x", "Critical"))) == 10
    assert float(weights.weight(ErrorSpan("Style", "minor"))) == 3
    assert float(weights.weight(ErrorSpan("style/other", "critical"))) == 7
    assert float(weights.weight(ErrorSpan("style/awkward", "critical"))) == 1  # longest name wins
    path = tmp_path / "x.csv"
    path.write_text("system,seg,category,severity\nA,1,x,critical\nA,1,x,minor\nB,1,x,minor\n")
    scores = {s.system: s.score for s in rated(path, weights=table).systems}
    assert scores == {"A": -10.25, "B": -0.25}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x", "not valid TOML"),
        ("", r"expected a table \[severity\]"),
        ("[severity]\nmajor = 'five'", "expected a number"),
        ("[severity]\nmajor = -1", "expected a number of at least 0"),
        ("[severity]\nmajor = true", "expected a number"),
        ("[severity]\nmajor = inf", "expected a number"),
        ("weights = 1\n[severity]\nmajor = 1", "unknown key 'weights'"),
        ("[severity]\nmajor = 1\n[[rule]]\nweight = 1", "category None, expected a name"),
        ("[severity]\nmajor = 1\n[[rule]]\ncategory = 'x'", "expected a number of at least 0"),
        ("[severity]\nmajor = 1\n[[rule]]\ncategory = 5\nweight = 1", "expected a name"),
        (
            "[severity]\nmajor = 1\n[[rule]]\ncategory = 'x'\nseverity = 'y'\nweight = 1",
            "which \\[severity\\] does not list",
        ),
        (
            "[severity]\nmajor = 1\n[[rule]]\ncategory = ['x', 'X']\nweight = 1",
            "several rules for 'X'",
        ),
        (
            "[severity]\nmajor = 1\n[[rule]]\ncategory = 'x'\nwieght = 2\nweight = 1",
            "did you mean 'weight'",
        ),
    ],
)
def test_bad_weights(tmp_path, text, message):
    path = tmp_path / "w.toml"
    path.write_text(text)
    with pytest.raises(InputError, match=message) as caught:
        read_weights(path)
    assert str(caught.value).startswith(str(path))


def test_source_errors_cost_something_among_the_categories_of_2021_only(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("system,seg,category,severity\nA,1,Source error,Major\nA,1,Other,Minor\n")
    assert rated(path).systems[0].score == -1
    assert rated(path, weights="wmt21").systems[0].score == -6
    old = path.read_text() + "A,2,Style/Awkward,Minor\n"
    path.write_text(old)
    result = rated(path)
    assert result.systems[0].score == -3.5
    assert any("weights wmt21" in note for note in result.warnings)
    assert rated(path, weights="wmt").systems[0].score == -1


# Scores


marks = st.lists(
    st.sampled_from(
        [ErrorSpan("accuracy", "major"), ErrorSpan("fluency/punctuation", "minor"),
         ErrorSpan("style", "minor"), ErrorSpan("non-translation!", "major")]
    ),
    max_size=6,
)  # fmt: skip
rating = st.tuples(st.sampled_from("AB"), st.sampled_from("12"), st.sampled_from("rs"), marks)


def as_ratings(rows) -> Ratings:
    return Ratings.from_labels(
        [r[0] for r in rows], [r[1] for r in rows], [r[2] for r in rows],
        np.full(len(rows), nan), errors=tuple(tuple(r[3]) for r in rows),
    )  # fmt: skip


@given(st.lists(rating, min_size=1, max_size=12))
def test_scores_and_profile_against_a_loop(rows):
    ratings = as_ratings(rows)
    weights = read_weights()
    by_cell: dict[tuple[str, str], list[float]] = {}
    for system, segment, _, errors in rows:
        cost = sum(float(weights.weight(e)) for e in errors)
        by_cell.setdefault((system, segment), []).append(-cost)
    result = human_scores(ratings, protocol=sy.mqm(clusters="none"), n_bootstrap=0)
    expected = {key: np.mean(values) for key, values in by_cell.items()}
    assert cells(result) == pytest.approx(expected)
    # What the errors of a system cost adds up to its score.
    profile = {row.pop("system"): row for row in result.parts["profile"].records()}
    for system in result.systems:
        costs = [v for name, v in profile[system.system].items() if name != "errors"]
        cost = sum(float(str(value)) for value in costs)
        assert -cost == pytest.approx(system.score)


def test_equal_costs_are_equal_bits():
    comma, minor = ErrorSpan("fluency/punctuation", "minor"), ErrorSpan("style", "minor")
    rows = [
        ("A", "1", "r", [comma] * 3),
        ("A", "2", "r", [comma, minor, comma, comma]),
        ("A", "3", "r", [minor, comma, comma, comma]),
        ("A", "4", "r", [minor] * 13),
    ]
    found = cells(human_scores(as_ratings(rows), protocol="mqm", n_bootstrap=0))
    assert found["A", "1"] == -0.3
    assert found["A", "2"] == found["A", "3"] == -1.3
    perfect = cells(human_scores(as_ratings([("A", "1", "r", [])]), protocol="mqm"))["A", "1"]
    assert str(float(perfect)) == "0.0"  # not -0.0


def test_raters_and_agreement():
    rng = np.random.default_rng(2)
    minor = ErrorSpan("style", "minor")
    rows = []
    for k in range(30):
        for system in "AB":
            true = int(rng.integers(0, 5))
            rows.append((system, str(k), "mild", [minor] * max(0, true - 1)))
            rows.append((system, str(k), "severe", [minor] * (true + 1)))
    result = human_scores(as_ratings(rows), protocol="mqm", n_bootstrap=100).to_dict()
    bias = {r["rater"]: r["bias"] for r in result["raters"]}
    assert bias["severe"] == -bias["mild"] < -1.5
    assert all(r["r"] > 0.9 for r in result["raters"])
    assert result["agreement"]["mqm"]["alpha_interval"]["value"] == pytest.approx(0.309, abs=0.001)


# ESA


def test_esa_reads_scores_and_spans(tmp_path):
    major = {"category": "", "severity": "major"}
    lines = [
        {"rater": "r", "system": "A", "seg": 1, "value": 80, "errors": []},
        {"rater": "s", "system": "A", "seg": 1, "value": 60, "errors": [major]},
        {"rater": "r", "system": "B", "seg": 1, "value": 30, "errors": [major, major]},
        {"rater": "r", "system": "B", "seg": 2, "value": 50, "errors": None},
    ]
    path = tmp_path / "esa.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    result = human_scores(path, protocol="esa", n_bootstrap=0)
    assert [(s.system, s.score, s.n_ratings) for s in result.systems] == [
        ("A", 70, 2),
        ("B", 40, 2),
    ]
    assert [*result.evalset.scores] == ["esa"]
    for name in ("value", "esa"):
        lines = [{"rater": "r", "system": "A", "seg": 1, name: 180, "errors": []}]
        path.write_text(json.dumps(lines[0]) + "\n")
        with pytest.raises(InputError, match=rf"esa\.jsonl:1: column '{name}': 180"):
            human_scores(path, protocol="esa")
