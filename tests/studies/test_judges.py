"""How many judges are enough: reliability on made-up and on real ratings."""

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
from steelyard.human.numeric import DA
from steelyard.human.options import HumanOptions
from steelyard.studies.people.judgedsets import Judged
from steelyard.studies.people.judges import study_judges


def made(rng, *, n=3, segments=60, raters=2, noise=2.0, documents=None):
    """Ratings of n systems; the reliability of one is 1 / (1 + noise^2)."""
    worth = rng.normal(size=(n, segments))
    rows = [(f"s{i}", f"{k:03d}", f"r{r}-{i}-{k}", worth[i, k] + noise * rng.normal())
            for i in range(n) for k in range(segments) for r in range(raters)]  # fmt: skip
    system, segment, rater, value = zip(*rows, strict=True)
    more = {} if documents is None else {"document": [documents[int(k)] for k in segment]}
    return Ratings.from_labels(system, segment, rater, np.array(value), **more)


def raw(study):
    return study.facts["scores"]["raw"]


def test_a_known_reliability_is_found():
    study = study_judges(made(np.random.default_rng(0), segments=2000), n_bootstrap=50)
    own = raw(study)
    assert own["reliability"]["value"] == pytest.approx(0.2, abs=0.02)
    assert own["now"]["value"] == pytest.approx(1 / 3, abs=0.03)
    assert own["at_enough"]["value"] == pytest.approx(15 * 0.2 / 3.8, abs=0.02)
    assert own["needed"]["0.8"]["value"] == pytest.approx(16, abs=2)
    assert own["ceiling"]["value"] == pytest.approx(np.sqrt(own["now"]["value"]))
    assert study.facts["ratings_per_output"] == 2
    assert study.facts["n_enough"] == 0
    assert "z" not in study.facts["scores"]  # raters with one rating each have none


def coverage(runs, **options):
    held = 0
    for seed in range(runs):
        ratings = made(np.random.default_rng(seed), **options)
        low, high = raw(study_judges(ratings, n_bootstrap=200, rng=seed))["reliability"]["ci"]
        held += low <= 0.2 <= high
    return held / runs


def test_intervals_cover():
    assert coverage(120) > 0.95 - 3 * np.sqrt(0.95 * 0.05 / 120)


@pytest.mark.thorough
def test_intervals_cover_in_the_long_run():
    assert 0.93 < coverage(1000) < 0.975
    assert 0.92 < coverage(1000, n=1, segments=30) < 0.98


def test_documents_are_units_and_one_tells_nothing_of_chance():
    documents = [f"d{k // 5}" for k in range(60)]
    study = study_judges(made(np.random.default_rng(1), documents=documents), n_bootstrap=50)
    assert (study.facts["unit"]["name"], study.facts["unit"]["n"]) == ("document", 12)
    one = study_judges(made(np.random.default_rng(1), segments=1), n_bootstrap=50)
    assert raw(one)["reliability"]["ci"] is None


def test_nothing_is_rated_twice():
    study = study_judges(made(np.random.default_rng(2), raters=1), n_bootstrap=20)
    assert np.isnan(raw(study)["reliability"]["value"])
    assert any("no output was rated by two raters" in text for text in study.warnings)


def test_outputs_that_do_not_differ_need_raters_without_number():
    rng = np.random.default_rng(3)
    value = np.tile([0.0, 1.0], 20)
    names = [f"{k // 2}" for k in range(40)]
    ratings = Ratings.from_labels(["A"] * 40, names, [f"r{k}" for k in range(40)], value)
    own = raw(study_judges(ratings, n_bootstrap=20, rng=rng))
    assert own["reliability"]["value"] == 0
    assert own["needed"]["0.8"]["value"] is None


def test_repeats_of_a_rater_are_one_opinion_and_controls_none():
    values = np.array([60.0, 60, 50, 30, 0, 90])
    items = ("system", "repeat", "system", "system", "bad-ref", "system")
    ratings = Ratings.from_labels(["A"] * 6, list("111222"), list("rrsrrs"), values, item=items)
    study = study_judges(ratings, n_bootstrap=10)
    assert study.facts["n_ratings"] == 4
    assert study.table("counts").records() == [{"ratings": 2, "outputs": 2, "share": 1.0}]


def test_raters_without_names_are_many():
    values = np.array([60.0, 61, 20, 22])
    ratings = Ratings.from_labels(["A"] * 4, list("1122"), ["unknown"] * 4, values)
    study = study_judges(ratings, n_bootstrap=10)
    assert raw(study)["reliability"]["value"] > 0.99
    assert study.facts["n_raters"] is None


def test_a_metric_and_its_ceiling():
    """A metric that knows the worth correlates by the ceiling; without noise, by 1."""
    rng = np.random.default_rng(4)
    worth = rng.normal(size=(1, 4000))
    ids = tuple(f"{k:04d}" for k in range(4000))
    value = (worth[0] + 2 * rng.normal(size=(3, 4000))).ravel()
    labels = [name for _ in range(3) for name in ids]
    raters = [f"r{k}" for k in range(12_000)]
    ratings = Ratings.from_labels(["A"] * 12_000, labels, raters, value)
    es = EvalSet(("A",), Segments(ids), {"knows": sy.ScoreTable(worth)})
    study = study_judges(Judged(ratings, ratings.value, Segments(ids), es), n_bootstrap=50)
    row: dict[str, Any] = study.table("metrics").records()[0]
    assert row["r"] == pytest.approx(raw(study)["ceiling"]["value"], abs=0.02)
    assert row["without noise"] == pytest.approx(1, abs=0.03)
    assert row["its low"] < 1 < row["its high"]


def test_refusals():
    ratings = made(np.random.default_rng(5), segments=4)
    with pytest.raises(UsageError, match="no scores among the inputs"):
        study_judges(ratings, metrics=["chrF"])
    with pytest.raises(UsageError, match="targets"):
        study_judges(ratings, targets=[1.5])
    with pytest.raises(UsageError, match="scores but no raw ratings"):
        study_judges(EvalSet(("A",), Segments(("1",)), {"m": sy.ScoreTable(np.ones((1, 1)))}))


def test_direct_assessment_says_how_far_from_enough():
    rng = np.random.default_rng(0)
    result = DA.rate(made(rng, segments=3), HumanOptions(protocol="da", standardised=False), rng)
    (said,) = [note for note in result.notes if "ratings on average" in note]
    assert "an output has 2 ratings on average, and none has 15 or more" in said


def test_real_ratings(shared, capsys):
    """MQM with three raters, and direct assessment of WMT22, whose raters differ more."""
    assert run(["study", "judges", str(shared / "mqm-sxs23" / "ende.tsv.gz"), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    own = found["scores"]["raw"]
    assert own["reliability"]["value"] == pytest.approx(0.539, abs=0.001)  # as alpha of interval
    assert own["needed"]["0.8"]["value"] == 4
    assert found["unit"]["name"] == "document"
    path = str(shared / "wmt22-da" / "de-en.judgments.csv.gz")
    assert run(["study", "judges", path, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["scores"]["z"]["needed"]["0.8"]["value"] == 21
    assert found["n_enough"] == 0


def test_one_rater_with_repeats_says_that_nothing_is_known():
    values = np.random.default_rng(0).normal(50, 9, 40)
    items = ("system", "repeat") * 20
    given = Ratings.from_labels(["A", "A", "B", "B"] * 10, [str(k // 4) for k in range(40)],
                                ["r"] * 40, values, item=items)  # fmt: skip
    study = study_judges(given, n_bootstrap=10)
    assert "no output was rated by two raters: reliability is undefined" in study.warnings
