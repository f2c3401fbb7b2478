"""What the difference on a card is worth: where it is taken from, and what is said."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import steelyard as sy
from steelyard.comparison.card import decide, reference_worth
from steelyard.core.table import dumps
from steelyard.data.evalset import EvalSet, ScoreTable
from steelyard.data.segments import Segments
from steelyard.metaevaluation.data import curve_of_set, system_pairs
from steelyard.metaevaluation.run import meta_evaluate
from steelyard.stats.curves import LEAST_SYSTEMS, AgreementCurve, agreement_curve

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
        f"people agree with a difference of 1 chrF in 62% of such pairs (55 to 69): {basis}"
    )
    assert one.sentence(9.0).startswith("people agree with differences of 2 chrF and more in 80%")
    sure = replace(one, significant=rising / 2, significant_low=rising / 4,
                   significant_high=rising)  # fmt: skip
    assert ", and significantly so in 31% (16 to 62): 45 pairs" in sure.sentence(1.0)
    assert one.needed_sentence() == (
        f"people agree with 2 chrF in 80% of pairs (1.2 to beyond all for that): {basis}"
    )
    never = replace(one, needed={0.8: (NAN, NAN, NAN)})
    assert never.needed_sentence() == one.sentence(2.0)


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
    table = (root / "src/steelyard/comparison/worth.toml").read_text(encoding="utf-8")
    notice = (root / "NOTICE").read_text(encoding="utf-8")
    assert "CC BY-SA 4.0" in table.partition("[[metric]]")[0]
    named = notice.partition("steelyard/comparison/worth.toml")[2].partition("-----")[0]
    assert "CC BY-SA 4.0" in named
    assert "ToShipOrNotToShip" in named
