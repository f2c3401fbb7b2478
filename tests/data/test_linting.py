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
    result = found(es.with_scores("m-A", values, uses=("A",)))
    assert "coverage" not in result
    assert result["references"] == [
        "note: system 'A' is the reference of 1 metric ('m-A'): leave it out when judging them"
    ]


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


def test_names_that_look_alike():
    es = clean()
    es = replace(es, systems=("A", "Online-A", "online_a", " B", "C"), outputs={})
    assert sorted(found(es)["names"]) == [
        "warning: system ' B' begins or ends with a blank",
        "warning: systems 'Online-A' and 'online_a' look like one under two names",
    ]


def test_twin_systems_and_empty_outputs():
    es = clean()
    texts = {**es.outputs, "B": es.outputs["A"], "C": ("", None, *es.outputs["C"][2:])}
    es = replace(es, outputs=texts)
    assert found(es)["twins"] == ["warning: systems 'A' and 'B' have the same outputs"]
    assert found(es)["outputs"] == [
        "warning: system 'C' has 1 empty output",
        "warning: system 'C' has no output for 1 segment",
    ]


def test_float_noise_is_named():
    noise = [1.3, 1.3000000000000003]
    es = with_values("noisy", lambda values: values.__setitem__((0, slice(2)), noise))
    assert "1.3 and 1.3000000000000003" in found(es)["float-noise"][0]


def test_official_scores_that_order_systems_otherwise():
    es = clean()
    official = -es["good-src"].system_means()
    es = es.with_scores("good-src", es["good-src"], system_scores=official)
    assert "unlike segment means" in found(es)["official"][0]


def test_small_sets_and_missing_human():
    es = clean().select(systems=["A"], scores=["good-src"])
    assert found(es)["size"] == [
        "warning: 1 system: nothing to compare",
        "note: no human score is named (human=NAME): checks against it were skipped",
    ]


def test_errors_come_first_and_every_check_has_a_test():
    es = with_values("mine", lambda values: values.__setitem__((0, 0), NAN))
    es = es.with_scores("one", np.ones((5, 40)))
    severities = [finding.severity for finding in check(es)]
    assert severities == sorted(severities, key=["error", "warning", "note"].index)
    assert table(check(es)).rows[0][0] == "error"
    assert set(CHECKS) == {"size", "names", "coverage", "degenerate", "twins", "orientation",
                           "references", "float-noise", "official", "outputs",
                           "outliers"}  # fmt: skip


def test_real_data_wmt23(shared):
    import steelyard as sy

    folder = shared / "wmt23-metrics"
    es = sy.load(
        folder / "en-de.human.csv.gz", folder / "en-de.metrics.seg.csv.gz", human="mqm", lp="en-de"
    )
    result = found(es)
    assert "warning: 'sescoreX-refA' and 'instructscore-refA' are identical" in result["degenerate"]
    assert any("'mqm' holds" in message for message in result["float-noise"])
    assert any("'refA' is the reference of" in message for message in result["references"])


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
