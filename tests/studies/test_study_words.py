"""What studies say in words: small studies of the demo, and that each has something to say."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import pytest

import steelyard as sy
from steelyard.core.table import Column, Table
from steelyard.demo import embedded
from steelyard.studies.metrics.ablations import ablate_segments, ablate_systems
from steelyard.studies.metrics.differences import difference_worth
from steelyard.studies.metrics.discernment import count_distinct, guard
from steelyard.studies.metrics.ties import vary_ties
from steelyard.studies.people.threshold import study_threshold
from steelyard.studies.planning.power import power_of_effect
from steelyard.studies.results import Study
from steelyard.studies.systems.disagreement import disagree
from steelyard.studies.systems.options import Design
from steelyard.studies.systems.simulation import simulate
from steelyard.studies.words import SAID

SOME = ["learned-refA", "estimator-src", "chars-refA"]
SMALL = Design(types=(1,), outliers=(0.0, 0.01), systems=(3,), segments=(10,), repeats=3)

demo = cache(sy.demo_set)
STUDIES: dict[str, Callable[[], Study]] = {
    "disagreement": lambda: disagree(demo(), SOME[:2], sizes=[10]),
    "distinct": lambda: count_distinct(demo(), "mqm", metrics=SOME, n_resamples=50),
    "power": lambda: power_of_effect(0.1, sizes=[50, 800]),
    "segments": lambda: ablate_segments(demo(), "mqm", metrics=SOME[:1], draws=20),
    "sentinels": lambda: guard(demo(), "mqm", by="spa", metrics=SOME, draws=5),
    "simulation": lambda: simulate(SMALL, rng=1),
    "systems": lambda: ablate_systems(demo(), "mqm", metrics=SOME, sizes=[4, 10], trials=10),
    "threshold": lambda: study_threshold(embedded.RATINGS, n_bootstrap=20),
    "ties": lambda: vary_ties(demo(), "da", metrics=SOME[:2]),
    "worth": lambda: difference_worth(demo(), "mqm", metrics=SOME, draws=20),
}
#: How the first sentence starts.
FIRST = {
    "disagreement": "Mean and median order ",
    "distinct": "spa tells ",
    "power": "Power for an effect of 0.1 is 0.8 or more with 787 segments by t and 1280",
    "segments": "The 95 % interval of spa of learned-refA is ",
    "sentinels": "By spa, ",
    "simulation": "By Kendall's tau with the true order, ",
    "systems": "Values of ",
    "threshold": "Differences under 46 may be a tie of people (raters: 1652 pairs",
    "worth": "People agree with a difference of ",
}


def test_every_study_is_told():
    assert sorted(STUDIES) == sorted(SAID)


@pytest.mark.parametrize("name", sorted(STUDIES))
def test_a_study_answers_in_words(name):
    found = STUDIES[name]()
    told = found.words()
    assert found.name == name
    assert 1 <= len(told.brief()) <= 3
    assert told.brief()[0].startswith(FIRST.get(name, ""))
    assert not told.brief()[0].startswith("The study '")
    for text in told.sentences():
        assert text.endswith(".")
        assert "nan" not in text.replace("significan", "")
        assert "--" not in text
    assert told.brief()[0] in str(found)
    assert len(repr(found)) < 200


def test_what_power_does_not_reach_stays_open():
    columns = tuple(map(Column, ("what", "needed", "note")))
    title = "Power to tell A from B: segments needed for a power of 0.8"
    needed = Table(title, columns, (("t", None, "more than 50"), ("sign", 40, "")))
    power = Table("", (Column("segments"), Column("t")), ((50, 0.2),))
    told = Study("power", {"needed": needed, "power": power}).words()
    assert told.settled == ("Power to tell A from B is 0.8 or more with 40 segments by sign.",)
    assert told.undecided[0] == "By t it takes more than 50 segments."


def test_a_study_that_says_nothing_names_its_tables():
    table = Table("", (Column("x"),), ((1,),))
    told = Study("own", {"a": table, "b": table}).words()
    assert told.sentences() == ("The study 'own' gives 2 tables: a and b.",)
