"""How many units it takes, from a pilot and from assumptions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.stats as reference

import steelyard as sy
from steelyard.core.errors import UsageError
from steelyard.data.evalset import EvalSet
from steelyard.data.segments import Segments
from steelyard.stats.paired.power import resampled_p, t_power
from steelyard.stats.paired.tests import t_test
from steelyard.studies.power import power_of_effect, power_of_metrics, power_of_test
from steelyard.studies.study import Study


def pilot(seed=0, segments=300, *, documents=False):
    rng = np.random.default_rng(seed)
    base = rng.normal(size=(6, segments))
    people = base + np.arange(6)[:, None] * 0.15
    scores = {"people": sy.ScoreTable(people, kind="human")}
    for name, noise in (("good", 0.3), ("bad", 5.0)):
        scores[name] = sy.ScoreTable(people + rng.normal(0, noise, people.shape))
    names = tuple(f"d{k // 10:02d}" for k in range(segments)) if documents else None
    ids = tuple(f"{k:04d}" for k in range(segments))
    return EvalSet(tuple("abcdef"), Segments(ids, documents=names), scores)


def records(study: Study, name: str) -> list[dict[str, Any]]:
    return study.table(name).records()


def test_power_from_a_pilot_is_near_that_of_its_effect():
    es = pilot()
    study = power_of_test(es, "people", ("f", "a"), sizes=[20, 40, 80], draws=3000)
    effect = study.facts["effect"]
    x = es["people"].values[5] - es["people"].values[0]
    assert effect == pytest.approx(x.mean() / x.std(ddof=1))
    for row in records(study, "power"):
        assert row["t"] == pytest.approx(t_power(effect, row["segments"]), abs=0.05)
        assert row["permutation"] == pytest.approx(row["t"], abs=0.04)


def test_documents_are_the_units_that_are_tested():
    es = pilot(2, documents=True)
    study = power_of_test(es, "people", ("f", "a"), unit="document", sizes=[10, 20], draws=500)
    assert study.facts["pilot"] == 30
    assert [row["documents"] for row in records(study, "power")] == [10, 20]
    with pytest.raises(UsageError, match="documents of the segments are not known"):
        power_of_test(pilot(), "people", ("f", "a"), unit="document")


@pytest.mark.parametrize("unit", ["segment", "system", "document"])
def test_two_metrics_that_differ_are_told_apart(unit):
    es = pilot(3, documents=True)
    sizes = [5, 200]
    study = power_of_metrics(es, "people", metrics=["good", "bad"], unit=unit, sizes=sizes,
                             draws=200)  # fmt: skip
    for name, gap in study.facts["differences"].items():
        row = {r["what"]: r for r in records(study, "needed")}[name]
        assert row["difference"] == pytest.approx(gap)
        errors = study.facts["errors"][name]
        assert errors[1] < errors[0]
        expected = reference.norm.cdf(abs(gap) / errors - 1.959964) + reference.norm.cdf(
            -abs(gap) / errors - 1.959964
        )
        found = [r[name] for r in records(study, "power")]
        assert found == pytest.approx(expected.tolist(), abs=1e-5)


def test_from_assumptions():
    study = power_of_effect(0.3, sizes=[10, 90])
    (t, sign) = records(study, "needed")
    assert t_power(0.3, t["needed"]) >= 0.8 > t_power(0.3, t["needed"] - 1)
    assert sign["needed"] > t["needed"]
    assert records(study, "power")[1]["t"] == pytest.approx(t_power(0.3, 90))
    nothing = power_of_effect(1e-5, tests=["t"])
    assert records(nothing, "needed")[0]["note"] == "over 10,000,000"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda es: power_of_test(es, "people", ("a", "z")), "no system 'z'"),
        (lambda es: power_of_test(es, "people", ("a", "a")), "the same 'people' on every segment"),
        (lambda es: power_of_test(es, "people", ("a", "b"), tests=["mood"]), "no power of test"),
        (
            lambda es: power_of_test(es, "people", ("a", "b"), unit="system"),
            "segments or documents",
        ),
        (lambda es: power_of_metrics(es, "people", metrics=["good"]), "expected two metrics"),
        (
            lambda es: power_of_metrics(es, "people", unit="word"),
            "unit 'word': expected auto, segment",
        ),
        (lambda _: power_of_effect(0.1, tests=["permutation"]), "from an effect"),
    ],
)
def test_what_is_refused(call, message):
    with pytest.raises(UsageError, match=message):
        call(pilot())


def test_t_by_unit_is_that_of_comparisons():
    """In a resample that holds every unit once, and in one with copies of units."""
    rng = np.random.default_rng(0)
    sizes = np.array([12, 7, *[1] * 6, 3, 4])
    codes = np.repeat(np.arange(len(sizes)), sizes)
    gap = rng.normal(0.3, 1, len(codes))
    sums = np.bincount(codes, gap).astype(np.float64)
    counts = np.array([[1] * 10, [2, 0, 1, 1, 0, 3, 1, 1, 0, 1]])
    found = resampled_p("t", sums, sizes.astype(float), np.sign(sums), counts)
    for p, row in zip(found, counts, strict=True):
        copies = [gap[codes == k] for k, times in enumerate(row) for _ in range(times)]
        names = np.repeat(np.arange(len(copies)), [len(part) for part in copies])
        whole = np.concatenate(copies)
        expected = t_test(np.stack([whole, 0 * whole]), names).p[0, 1]
        assert p == pytest.approx(expected)
