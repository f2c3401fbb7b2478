"""The embedded demo data: what the simulator promises, and that the written files keep it."""

from __future__ import annotations

import itertools
import json
from typing import Any

import numpy as np
import pytest

from make_demo import judges, simulator
from make_demo.simulator import SimulatedSet, agreement, simulate
from steelyard.demo.embedded import FOLDER

GOOD = ("learned-refA", "learned-twin-refA")
FAIR = "estimator-src"
LEXICAL = ("chars-refA", "overlap-refA")
SYSTEMS = ("careful", "fluent", "hasty", "copycat")


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


def test_there_are_eight_sentences_for_each_pair():
    expected = [
        (pair, f"{pair}.{n}")
        for pair in ("de-en", "ru-en", "zh-en", "cs-en", "en-de")
        for n in range(1, 9)
    ]
    assert [(line["lp"], line["seg"]) for line in sentences()] == expected


def test_a_sentence_is_complete_and_so_are_its_entities():
    keys = ["lp", "seg", "doc", "domain", "src", "refs", "out", "entities", "mistakes"]
    for line in sentences():
        assert list(line) == keys
        assert list(line["refs"]) == ["refA"]
        assert tuple(line["out"]) == SYSTEMS
        assert all(text.strip() == text != "" for text in line["out"].values())
        assert line["doc"] == f"{line['lp']}.{line['domain']}"
        assert 2 <= len(line["entities"]) <= 4
        for source, expected, *_ in line["entities"]:
            assert source in line["src"]
            assert expected in line["refs"]["refA"]


@pytest.mark.parametrize("line", sentences(), ids=lambda line: line["seg"])
def test_mistakes_are_valid_and_complete(line):
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


def test_systems_behave_as_described():
    lines = sentences()
    faulty = {system: sum(bool(mistakes_of(line, system)) for line in lines) for system in SYSTEMS}
    assert faulty == {"careful": 0, "fluent": 20, "hasty": 35, "copycat": 20}
    assert sum(line["out"]["copycat"] == line["src"] for line in lines) >= 5
    kinds = {
        system: {mistake[0] for line in lines for mistake in mistakes_of(line, system)}
        for system in SYSTEMS
    }
    assert kinds["fluent"] == {"changed", "added"}
    assert kinds["hasty"] == {"lost", "changed", "copied", "added"}
    assert kinds["copycat"] == {"copied"}


def test_one_judge_is_careful_and_one_picks_what_stands_left(demo):
    from steelyard.judging.report import judge

    found = judge(FOLDER / judges.VERDICTS_FILE, human=["ann", "bo", "cy"])
    careful, hasty = found.cards
    assert careful.kappa.low > hasty.kappa.high
    assert hasty.position.bias.low > 0.5
    assert abs(careful.position.bias.value) < 0.15
    assert careful.systems.alike >= hasty.systems.alike
