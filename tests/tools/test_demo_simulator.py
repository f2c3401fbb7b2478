"""The embedded demo data: what the simulator promises, and that the written files keep it."""

from __future__ import annotations

import csv
import gzip
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


@pytest.fixture(scope="module")
def shipped() -> list[dict[str, str]]:
    with gzip.open(FOLDER / simulator.SCORES_FILE, "rt", encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def sentences() -> list[dict[str, Any]]:
    text = (FOLDER / "entities.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def paired_z(scores: np.ndarray, first: int, second: int) -> float:
    """How many standard errors the first system is ahead of the second."""
    differences = scores[first] - scores[second]
    differences = differences[~np.isnan(differences)]
    return float(differences.mean() / (differences.std(ddof=1) / np.sqrt(differences.size)))


# The shipped files


def test_the_shipped_scores_are_those_of_the_fixed_seed(demo, shipped):
    names = list(demo.scores)
    assert list(shipped[0]) == ["system", "segment", "doc", "domain", *names]
    cells = itertools.product(
        demo.systems, zip(demo.segment_ids, demo.documents, demo.domains, strict=True)
    )
    expected_labels = [[system, *label] for system, label in cells]
    columns = ("system", "segment", "doc", "domain")
    assert [[row[c] for c in columns] for row in shipped] == expected_labels
    for name in names:
        values = np.array([float(row[name] or "nan") for row in shipped])
        # Another CPU may differ in the last bit, which can move a value over a rounding edge.
        np.testing.assert_allclose(values, demo.scores[name].ravel(), rtol=0, atol=1e-3)


def test_the_shipped_system_scores_are_those_of_the_fixed_seed(demo):
    with (FOLDER / simulator.SYSTEM_SCORES_FILE).open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == ["system", "overlap-refA"]
    assert tuple(row["system"] for row in rows) == demo.systems
    values = [float(row["overlap-refA"]) for row in rows]
    np.testing.assert_allclose(values, demo.system_scores["overlap-refA"], rtol=0, atol=1e-3)


# The layout


# The human scores


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


# The metrics


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


@pytest.fixture(scope="module", params=sentences(), ids=lambda line: line["seg"])
def line(request) -> dict[str, Any]:
    found: dict[str, Any] = request.param
    return found


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


def test_a_sentence_is_complete(line):
    keys = ["lp", "seg", "doc", "domain", "src", "refs", "out", "entities", "mistakes"]
    assert list(line) == keys
    assert list(line["refs"]) == ["refA"]
    assert tuple(line["out"]) == SYSTEMS
    assert all(text.strip() == text != "" for text in line["out"].values())
    assert line["doc"] == f"{line['lp']}.{line['domain']}"


def test_entities_are_in_source_and_reference(line):
    assert 2 <= len(line["entities"]) <= 4
    for source, expected, *_ in line["entities"]:
        assert source in line["src"]
        assert expected in line["refs"]["refA"]


def test_mistakes_are_valid(line):
    expected_of = {source: expected for source, expected, *_ in line["entities"]}
    assert "careful" not in line["mistakes"]
    for system, mistakes in line["mistakes"].items():
        output = line["out"][system]
        assert mistakes
        for kind, source, expected, found in mistakes:
            assert kind in {"lost", "changed", "copied", "added"}
            assert (found == "") == (kind == "lost")
            assert found in output
            if kind == "added":
                assert source == expected == ""
                assert found not in line["refs"]["refA"]
                continue
            assert source in line["src"]
            assert expected_of[source] == expected
            assert expected not in output
            assert (found == source) == (kind == "copied")


def test_mistakes_are_complete(line):
    for system, output in line["out"].items():
        wrong = {source for kind, source, *_ in mistakes_of(line, system) if kind != "added"}
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


def test_the_shipped_verdicts_are_those_of_the_fixed_seed(demo):
    with gzip.open(FOLDER / judges.VERDICTS_FILE, "rt", encoding="utf-8", newline="") as file:
        found = list(csv.reader(file))
    drawn = list(judges.verdicts(demo, np.random.default_rng(judges.SEED)))
    assert found[0] == list(judges.HEADER)
    # The last two are lengths, which are those of the texts (tests/demo).
    assert [row[:-2] for row in found[1:]] == [[str(cell) for cell in row[:-2]] for row in drawn]


def test_one_judge_is_careful_and_one_picks_what_stands_left(demo):
    from steelyard.judging.report import judge

    found = judge(FOLDER / judges.VERDICTS_FILE, human=["ann", "bo", "cy"])
    careful, hasty = found.cards
    assert careful.kappa.low > hasty.kappa.high
    assert hasty.position is not None
    assert hasty.position.bias.low > 0.5
    assert careful.position is not None
    assert abs(careful.position.bias.value) < 0.15
    assert careful.systems.alike >= hasty.systems.alike
