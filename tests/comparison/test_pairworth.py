"""What the difference on a card is worth: where it is taken from, and what is said."""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import steelyard as sy
from steelyard.cli.main import run
from steelyard.comparison.card import decide
from steelyard.core.errors import InputError, UsageError
from steelyard.core.table import dumps
from steelyard.data.evalset import EvalSet, ScoreTable
from steelyard.data.segments import Segments
from steelyard.formats import files
from steelyard.formats.worthfiles import read_worths, reference_worth
from steelyard.metaevaluation.data import curve_of_set, system_pairs
from steelyard.metaevaluation.run import meta_evaluate
from steelyard.stats.curves import LEAST_SYSTEMS, AgreementCurve, agreement_curve
from steelyard.studies.worth import difference_worth

NAN = float("nan")


def make(n=9, s=40, seed=0) -> EvalSet:
    rng = np.random.default_rng(seed)
    quality = rng.normal(size=(n, 1))
    tables = {
        "people": ScoreTable(np.round(quality + rng.normal(size=(n, s)), 1), kind="human"),
        "good": ScoreTable(quality + rng.normal(0, 1, (n, s))),
        "cost": ScoreTable(-quality + rng.normal(0, 1, (n, s)), higher_is_better=False),
    }
    names = tuple(f"s{i}" for i in range(n))
    return EvalSet(names, Segments(tuple(f"{i:03d}" for i in range(s))), tables)


@pytest.fixture
def study(tmp_path):
    """A study of the user's own, written as the command does."""
    path = tmp_path / "own.json"
    path.write_text(dumps(difference_worth(make(12), "people", draws=50).to_dict()))
    return path


def test_a_study_is_read_as_it_was_written(study):
    found = read_worths(study)
    (good,) = [w for w in difference_worth(make(12), "people", draws=50).facts["worth"]
               if w["metric"] == "good"]  # fmt: skip
    again = found["good"]
    assert again.origin == "measured in own.json"
    assert dumps({**again.to_dict(), "origin": ""}) == dumps(good)


def test_the_card_takes_a_study_first(study):
    card = decide(make(), ("s0", "s1"), "good", worth=study)
    assert card.worth is not None
    assert card.worth.n_systems == 12
    told = card.to_dict()["worth"]
    assert told["difference"] == abs(card.difference)
    assert told["agree"] == pytest.approx(
        np.interp(abs(card.difference), card.worth.x, card.worth.agree)
    )
    assert told["sentence"] in card.table().notes
    with pytest.raises(UsageError, match='has no metric "people"'):
        decide(make(), ("s0", "s1"), "people", worth=study)


def test_then_the_human_score_at_hand():
    es = make()
    card = decide(es, ("s0", "s1"), "good")
    assert card.worth is not None
    assert card.worth.origin == ""
    assert card.worth.n_pairs == 36
    pairs = system_pairs(es, "people", ["good"])
    expected = agreement_curve(pairs, "good", np.random.default_rng(0))
    np.testing.assert_allclose(card.worth.agree, expected.agree)
    assert card.worth.sentence(card.difference).endswith("36 pairs of 9 systems in these data")
    # Numbers are those of the score, also where less is better.
    lower = decide(es, ("s0", "s1"), "cost")
    assert lower.worth is not None
    assert lower.worth.agree[-1] > 0.8


def test_a_card_of_people_says_nothing_of_people():
    assert decide(make(), ("s0", "s1"), "people").worth is None


def test_too_few_systems_and_no_reference():
    es = make(LEAST_SYSTEMS - 1)
    card = decide(es, ("s0", "s1"), "good", human="people")
    assert card.worth is None
    assert card.to_dict()["worth"] is None
    assert curve_of_set(make(61), "people", "good", np.random.default_rng(0)) is None


def test_no_difference_is_worth_nothing():
    es = make()
    values = es["good"].values.copy()
    values[1] = values[0]
    card = decide(es.with_scores("good", values), ("s0", "s1"), "good")
    assert card.difference == 0
    assert card.worth is None


@pytest.mark.parametrize(
    ("name", "scores", "corpus", "largest"),
    [
        ("bleu", [31.0, 33.0], True, 15.0),
        ("BLEU-refA", [0.31, 0.33], True, 0.15),
        ("chrF", [55.0, NAN], True, 15.0),
        ("TER", [51.0, 140.0], True, 20.0),
        ("eed", [0.4, 0.5], False, 0.3),
        ("character", [0.4, 0.5], True, 0.15),
        ("bleu", [31.0, 33.0], False, None),  # a mean of sentences
        ("bleu", [1.2, 3.0], True, None),  # on which scale?
        ("bleu", [-1.0, 3.0], True, None),
        ("bleu", [120.0, 3.0], True, None),
        ("bleu", [NAN], True, None),
        ("chrF++", [55.0], True, None),
        ("COMET", [0.8], True, None),  # of which model?
        ("xbleu", [31.0], True, None),
    ],
)
def test_the_reference_is_of_known_names_and_scales(name, scores, corpus, largest):
    found = reference_worth(name, np.array(scores), corpus=corpus)
    if largest is None:
        assert found is None
    else:
        assert found is not None
        assert found.metric == name
        assert found.x[-1] == pytest.approx(largest)
        assert found.agree[0] == 0.5
        peak = found.agree.argmax()
        assert found.agree[peak] > 0.85
        assert (np.diff(found.agree[: peak + 1]) > 0).all()
        assert (np.diff(found.agree[peak:]) < 0).all()  # systems of different kinds
        assert ((found.low <= found.agree) & (found.agree <= found.high)).all()
        assert (found.significant <= found.agree).all()
        assert "232 directions" in found.basis()


def test_the_reference_is_what_the_campaigns_give(shared):
    folder = shared / "toship21"
    from steelyard.formats.load import systems_by

    skipped = ["campaign", "src", "tgt", "domain", "n_test", "n_human", "n_valid"]
    es = sy.load(folder / "systems.csv.gz", human="human_mean", ignore=skipped)
    groups = systems_by(folder / "systems.csv.gz", column="campaign")
    pairs = system_pairs(es, "human_mean", ["SacreBLEU_bleu"], groups=groups)
    found = reference_worth("BLEU", np.array([30.0]), corpus=True)
    assert found is not None
    own = agreement_curve(
        pairs, "SacreBLEU_bleu", np.random.default_rng(1), draws=300, at=list(found.x)
    )
    np.testing.assert_allclose(own.agree, found.agree, atol=1e-4)
    np.testing.assert_allclose(own.low, found.low, atol=0.02)


def test_sentences():
    x = np.array([0.0, 1.0, 2.0])
    rising, unknown = np.array([0.5, 0.62, 0.8]), np.full(3, NAN)
    curves = rising, rising - 0.07, rising + 0.07, rising, unknown, unknown, unknown
    one = AgreementCurve("chrF", x, *curves, {0.8: (2.0, 1.2, NAN)}, 45, 10, 1, 0.7)
    basis = "45 pairs of 10 systems in these data"
    assert one.sentence(-1.0) == (
        f"people agree with a difference of 1 chrF in 62 % of such pairs (55 to 69): {basis}"
    )
    assert one.sentence(9.0).startswith("people agree with differences of 2 chrF and more in 80 %")
    sure = replace(one, significant=rising / 2, significant_low=rising / 4,
                   significant_high=rising)  # fmt: skip
    assert ", and significantly so in 31 % (16 to 62): 45 pairs" in sure.sentence(1.0)
    assert one.needed_sentence() == (
        f"people agree with 2 chrF in 80% of pairs (1.2 to beyond all for that): {basis}"
    )
    never = replace(one, needed={0.8: (NAN, NAN, NAN)})
    assert never.needed_sentence() == one.sentence(2.0)


NO_SHARES: tuple[Any, ...] = (None, "x", [], {}, 5, -1, True, NAN)
#: Values of a key of a metric, and what is said of each.
DAMAGE = [
    ("x", "no", "'good.x' is 'no', expected a list"),
    ("x", [], "'good.x' is [], expected numbers that rise from 0"),
    ("x", [0.5, 1], "'good.x' is [0.5, 1], expected numbers that rise from 0"),
    ("x", [0, 2, 1], "'good.x' is [0, 2, 1], expected numbers that rise from 0"),
    ("x", [0, None], "'good.x[1]' is None, expected a number that is not below 0"),
    ("x", [0, math.inf], "'good.x[1]' is inf, expected a finite number"),
    ("x", [0, 1], "'good.agree' is "),
    ("agree", [0.5, None], "'good.agree[1]' is None, expected a number from 0 to 1"),
    ("agree", [0.5, 5.0], "'good.agree[1]' is 5.0, expected a number from 0 to 1"),
    ("low", [-1], "'good.low[0]' is -1, expected a number from 0 to 1"),
    ("high", [10**400], "'good.high[0]' is 1000"),
    ("significant", [None], "'good.significant[0]' is None, expected a number from 0 to 1"),
    ("needed", None, "'good.needed' is None, expected a list"),
    ("needed", 5, "'good.needed' is 5, expected a list"),
    ("needed", [5], "'good.needed[0]' is 5, expected an object"),
    ("needed", [{}], "no 'good.needed[0].agree', expected a number between 0 and 1"),
    ("needed", [{"agree": "x"}], "'good.needed[0].agree' is 'x', expected a finite number"),
    ("needed", [{"agree": 0.8, "low": 3, "high": 2}],
     "'good.needed[0].low' is 3, expected no more than 'high', 2"),
    ("needed", [{"agree": 0.8, "difference": -1}],
     "'good.needed[0].difference' is -1, expected a number that is not below 0, or null"),
    *((key, value, f"'good.{key}' is {value!r}, expected a ") for key in ("alpha", "accuracy")
      for value in NO_SHARES),
    ("alpha", 0, "'good.alpha' is 0, expected a number between 0 and 1"),
    ("n_pairs", 0, "'good.n_pairs' is 0, expected a count"),
    ("n_pairs", 10**400, "'good.n_pairs' is 1000"),
    ("n_sets", 2.0, "'good.n_sets' is 2.0, expected a whole number"),
    ("metric", None, "'worth[0].metric' is None, expected a name"),
]  # fmt: skip


@pytest.mark.parametrize(("key", "value", "told"), DAMAGE)
def test_damaged_metrics(study, key, value, told):
    found = json.loads(study.read_text())
    found["worth"] = [one for one in found["worth"] if one["metric"] == "good"]
    found["worth"][0][key] = value
    study.write_text(json.dumps(found))
    with pytest.raises(InputError, match=re.escape(told)) as caught:
        read_worths(study)
    assert str(caught.value).startswith(f"{study}:1: ")


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda found: found.pop("worth"), ': expected the JSON of "steelyard study worth", found'),
        (lambda found: found.update(worth=[3]), ":1: 'worth[0]' is 3, expected an object"),
        (lambda found: found["worth"].append(found["worth"][0]), ":1: 'good' occurs twice"),
        (lambda found: found["worth"][0]["low"].pop(), ":1: 'good.low' is [0.5,"),
        (lambda found: found["worth"][0]["low"].__setitem__(1, 1),
         ":1: 'good.low[1]' is 1.0, expected no more than in 'high', 0."),
    ],
)  # fmt: skip
def test_damaged_files(study, change, told):
    found = json.loads(study.read_text())
    found["worth"].sort(key=lambda one: one["metric"] != "good")
    change(found)
    study.write_text(json.dumps(found))
    with pytest.raises(InputError, match=re.escape(f"{study}{told}")):
        read_worths(study)


def test_nothing_is_known_of_what_is_significant(study):
    found = json.loads(study.read_text())
    for key in ("significant", "significant_low", "significant_high"):
        found["worth"][0][key] = [None] * len(found["worth"][0]["x"])
    study.write_text(json.dumps(found))
    assert np.isnan(read_worths(study)[found["worth"][0]["metric"]].significant).all()


def test_the_command(study, tmp_path, capsys):
    path = tmp_path / "scores.csv"
    sy.save(make(), path)
    asked = ["compare", str(path), "--human", "people", "--score", "good", "--pair", "s0,s1"]
    assert run([*asked, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["worth"]["origin"] is None
    assert run([*asked, "--worth", str(study), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["worth"]["origin"] == "measured in own.json"
    assert run([*asked, "--worth", str(study), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["provenance"]["inputs"][1:] == [
        {"path": str(study), "format": "study worth", "sha256": files.sha256(study)}
    ]
    for score in ("good", "good,cost"):
        ranked = ["compare", str(path), "--score", score, "--bootstrap", "20"]
        assert run([*ranked, "--worth", str(study)]) == 0
        told = "--worth is ignored in a ranking: the decision card of --pair A,B has it"
        assert told in capsys.readouterr().err
    assert run([*asked, "--worth", "no-such.json"]) == 2
    assert "no-such.json: no such file" in capsys.readouterr().err
    asked[asked.index("good")] = "cost"
    assert run(asked) == 0


def test_meta_says_it_of_the_best_metric():
    es = make()
    found = meta_evaluate(es, "people", by=["acc-eq", "pearson"], intervals=None)
    best = next(r.metric for r in found.results if r.by == "pearson")
    assert found.worth is not None
    assert found.worth.metric == best
    assert found.to_dict()["worth"]["n_pairs"] == 36
    assert f"Differences: {found.worth.needed_sentence()}" in found.table(details=True).notes
    assert meta_evaluate(es, "people", by="acc-eq", intervals=None).worth is None
    few = es.select(systems=es.systems[:7])
    assert meta_evaluate(few, "people", by="pearson", intervals=None).worth is None
    again = meta_evaluate(es, "people", by=["acc-eq", "pearson"], intervals=None)
    assert dumps(again.to_dict()) == dumps(found.to_dict())


def test_the_licence_of_the_reference_is_told():
    root = Path(__file__).parents[2]
    table = (root / "src/steelyard/formats/worth.toml").read_text(encoding="utf-8")
    notice = (root / "NOTICE").read_text(encoding="utf-8")
    assert "CC BY-SA 4.0" in table.partition("[[metric]]")[0]
    named = notice.partition("steelyard/formats/worth.toml")[2].partition("-----")[0]
    assert "CC BY-SA 4.0" in named
    assert "ToShipOrNotToShip" in named
