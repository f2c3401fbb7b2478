"""The linter: each check finds what it is for, and says nothing about clean data."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from steelyard.data.evalset import EvalSet, ScoreTable
from steelyard.data.linting import CHECKS, check, table
from steelyard.data.segments import Segments

NAN = float("nan")
SYSTEMS = ("A", "B", "C", "D", "E")


def clean() -> EvalSet:
    rng = np.random.default_rng(0)
    quality = rng.normal(size=(5, 40)) + np.arange(5)[:, None] / 2  # nobody is far from the others
    return EvalSet(
        SYSTEMS,
        Segments(tuple(str(i) for i in range(40))),
        {
            "human": ScoreTable(np.round(quality, 1), kind="human"),
            "good-src": ScoreTable(quality + rng.normal(size=(5, 40)), uses=("src",)),
        },
        {s: tuple(f"{s} {i}" for i in range(40)) for s in SYSTEMS},
    )


def found(es: EvalSet) -> dict[str, list[str]]:
    result: dict[str, list[str]] = {}
    for finding in check(es):
        result.setdefault(finding.check, []).append(f"{finding.severity}: {finding.message}")
    return result


def test_clean_data_has_no_findings():
    assert found(clean()) == {}


def with_values(name, change):
    es = clean()
    values = es["good-src"].values.copy()
    change(values)
    return es.with_scores(name, values, uses=("src",))


def test_holes_and_absent_systems_are_errors():
    def change(values):
        values[0, :3] = NAN
        values[1] = NAN

    messages = found(with_values("mine", change))["coverage"]
    assert messages == [
        "error: 'mine' does not score 'B', which humans judged",
        "error: 'mine' lacks 3 cells that humans judged of the systems that it scores",
    ]


def test_a_metric_need_not_score_its_own_reference():
    es = clean()
    values = es["good-src"].values.copy()
    values[0] = NAN
    assert "coverage" not in found(es.with_scores("m-A", values, uses=("A",)))


def test_constant_and_identical_scores():
    es = clean()
    es = es.with_scores("one", np.ones((5, 40))).with_scores("copy", es["good-src"].values)
    assert found(es)["degenerate"] == [
        "warning: 'good-src' and 'copy' are identical",
        "warning: 'one' is constant (1)",
    ]


def test_a_flipped_metric():
    flipped = clean().with_scores("error-rate", -clean()["good-src"].values)
    assert "'error-rate' goes against 'human'" in found(flipped)["orientation"][0]
    right = clean().with_scores("e", -clean()["good-src"].values, higher_is_better=False)
    assert "orientation" not in found(right)


def test_systems_under_two_names():
    es = clean()
    es = replace(es, systems=("A", "B", "C", "Online-A", "online_a"), outputs={})
    es = replace(es, outputs=dict.fromkeys("AB", ("text",) * 40))
    assert sorted(found(es)["twins"]) == [
        "warning: systems 'A' and 'B' have the same outputs",
        "warning: systems 'Online-A' and 'online_a' have almost the same name",
    ]


def test_errors_come_first_and_every_check_has_a_test():
    es = with_values("mine", lambda values: values.__setitem__((0, 0), NAN))
    es = es.with_scores("one", np.ones((5, 40)))
    severities = [finding.severity for finding in check(es)]
    assert severities == ["error", "warning"]
    assert table(check(es)).rows[0][0] == "error"
    assert set(CHECKS) == {"coverage", "degenerate", "twins", "orientation", "outliers"}


@pytest.mark.parametrize("name", sorted(CHECKS))
def test_every_check_survives_an_empty_set(name):
    assert isinstance(list(CHECKS[name](EvalSet((), Segments(())))), list)


def test_systems_far_from_all_others():
    es = clean()
    values = es["human"].values.copy()
    values[2] -= 20
    es = es.with_scores("people", values, kind="human")
    (message,) = found(es)["outliers"]
    assert message.startswith("warning: 'C' is far from all other systems by 'people'")
