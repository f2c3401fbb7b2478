"""The embedded demo data: what the simulator promises, and that the written files keep it."""

from __future__ import annotations

import itertools
import json
from typing import Any

import numpy as np
import pytest

from make_demo import simulator
from make_demo.simulator import SimulatedSet, agreement, simulate
from steelyard.demo.embedded import FOLDER

GOOD = ("learned-refA", "learned-twin-refA")
FAIR = "estimator-src"
LEXICAL = ("chars-refA", "overlap-refA")


@pytest.fixture(scope="module")
def demo() -> SimulatedSet:
    return simulate(np.random.default_rng(simulator.SEED))


def sentences() -> list[dict[str, Any]]:
    text = (FOLDER / "entities.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def paired_z(scores: np.ndarray, first: int, second: int) -> float:
    """How many standard errors the first system is ahead of the second."""
    differences = scores[first] - scores[second]
    differences = differences[~np.isnan(differences)]
    return float(differences.mean() / (differences.std(ddof=1) / np.sqrt(differences.size)))


def test_every_system_has_clear_and_unclear_differences(demo):
    mqm = demo.scores["mqm"]
    n = len(demo.systems)
    for first in range(n):
        clear = [abs(paired_z(mqm, first, other)) > 1.96 for other in range(n) if other != first]
        assert any(clear)
        assert not all(clear)


def test_two_systems_change_places_in_one_domain(demo):
    mqm = demo.scores["mqm"]
    manuals = np.array(demo.domains) == "manuals"
    flips = [
        (demo.systems[a], demo.systems[b])
        for a, b in itertools.permutations(range(len(demo.systems)), 2)
        if paired_z(mqm[:, ~manuals], a, b) > 3 and paired_z(mqm[:, manuals], a, b) < -3
    ]
    assert flips == [("Amber", "Cobalt")]


def test_agreement_with_mqm_is_realistic(demo):
    found = agreement(demo)
    assert "mqm" not in found
    for name in GOOD:
        assert 0.55 <= found[name] <= 0.65
    assert found[FAIR] == pytest.approx(0.4, abs=0.05)
    for name in LEXICAL:
        assert found[name] == pytest.approx(0.225, abs=0.05)
    assert abs(found["random-src"]) < 0.03


# The sentences with entities


def mistakes_of(line: dict[str, Any], system: str) -> list[list[str]]:
    found: list[list[str]] = line["mistakes"].get(system, [])
    return found


def check_mistakes(line):
    expected_of = {source: expected for source, expected, *_ in line["entities"]}
    assert "careful" not in line["mistakes"]
    for system, output in line["out"].items():
        wrong = set()
        for kind, source, expected, found in mistakes_of(line, system):
            assert kind in {"lost", "changed", "copied", "added"}
            assert (found == "") == (kind == "lost")
            assert found in output
            if kind == "added":
                assert source == expected == ""
                assert found not in line["refs"]["refA"]
                continue
            wrong.add(source)
            assert source in line["src"]
            assert expected_of[source] == expected
            assert expected not in output
            assert (found == source) == (kind == "copied")
        for source, *accepted in line["entities"]:
            assert any(form in output for form in accepted) == (source not in wrong)


def test_mistakes_are_valid_and_complete():
    for line in sentences():
        check_mistakes(line)
