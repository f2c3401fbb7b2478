"""Laws of all studies, on small ones of the demo: they answer in sentences, and the same again."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
import pytest

import steelyard as sy
from steelyard.cli.study import study
from steelyard.core.table import dumps
from steelyard.data.judgements import Ratings
from steelyard.demo import embedded
from steelyard.studies.disagreement import disagree
from steelyard.studies.distinct import count_distinct
from steelyard.studies.options import Design
from steelyard.studies.power import power_of_effect, power_of_test
from steelyard.studies.ranking_rule import study_ranking_rule
from steelyard.studies.segments import ablate_segments
from steelyard.studies.simulation import simulate
from steelyard.studies.study import Study
from steelyard.studies.systems import ablate_systems
from steelyard.studies.threshold import study_threshold
from steelyard.studies.ties import vary_ties
from steelyard.studies.worth import difference_worth

SOME = ["learned-refA", "estimator-src", "chars-refA"]
SMALL = Design(types=(1,), outliers=(0.0, 0.01), systems=(3,), segments=(10,), repeats=3)

demo = cache(sy.demo_set)


@cache
def log() -> Ratings:
    """Ratings of four systems on half of forty documents each, whose segments are alike."""
    rng = np.random.default_rng(0)
    rows = []
    for name in "ABCD":
        for document in rng.permutation(40)[:20]:
            level = 60 + 12 * rng.normal()
            rows += [(name, f"{document}.{k}", f"d{document}", level + 6 * rng.normal())
                     for k in range(4)]  # fmt: skip
    system, segment, document, value = zip(*rows, strict=True)
    return Ratings.from_labels(system, segment, ["r"] * len(rows), np.clip(value, 0, 100),
                               document=document)  # fmt: skip


STUDIES: dict[str, Callable[[], Study]] = {
    "disagreement": lambda: disagree(demo(), SOME[:2], sizes=[10]),
    "distinct": lambda: count_distinct(demo(), "mqm", metrics=SOME, n_resamples=50),
    "power": lambda: power_of_effect(0.1, sizes=[50, 800]),
    "ranking-rule": lambda: study_ranking_rule(log(), draws=60),
    "segments": lambda: ablate_segments(demo(), "mqm", metrics=SOME[:1], draws=20),
    "simulation": lambda: simulate(SMALL, rng=1),
    "systems": lambda: ablate_systems(demo(), "mqm", metrics=SOME, sizes=[4, 10], trials=10),
    "threshold": lambda: study_threshold(embedded.RATINGS, n_bootstrap=20),
    "ties": lambda: vary_ties(demo(), "da", metrics=SOME[:2]),
    "worth": lambda: difference_worth(demo(), "mqm", metrics=SOME, draws=20),
}


@pytest.mark.parametrize("name", sorted(STUDIES))
def test_a_study_answers_in_words(name):
    found = STUDIES[name]()
    words = found.words()
    assert found.name == name
    assert 1 <= len(words.brief()) <= 3
    for text in words.sentences():
        assert text.endswith(".")
        assert len(text.split()) <= 30
        assert "nan" not in text.replace("significan", "")
        assert "--" not in text
    assert words.brief()[0] in str(found)
    assert len(repr(found)) < 200


@pytest.mark.parametrize("name", sorted(STUDIES))
def test_the_same_seed_gives_the_same_bytes(name):
    assert dumps(STUDIES[name]().to_dict()) == dumps(STUDIES[name]().to_dict())


def test_every_command_has_sentences():
    assert sorted(STUDIES) == sorted(study.commands)


def test_the_ranking_rule_separates_equal_systems_too_often():
    rates = STUDIES["ranking-rule"]().facts["rates"]
    assert rates["official"] > 0.3 > rates["ours"]


def test_what_power_does_not_reach_stays_open():
    rng = np.random.default_rng(0)
    scores = {name: rng.normal(size=100) for name in "AB"}
    found = power_of_test(sy.load(scores), "score", ("A", "B"), sizes=[5, 10], draws=50)
    assert found.words().settled == ()
    assert len(found.words().undecided) == 3
