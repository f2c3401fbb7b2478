"""What stands in the place of a lost entity: another of its kind, or a name nobody knows."""

from __future__ import annotations

import pytest

from steelyard.kobe.confidence import Around, features, model
from steelyard.kobe.explaining import Finding, explain
from steelyard.kobe.forms import Forms
from steelyard.kobe.languages import LanguageFilter
from steelyard.kobe.matching import pair_candidates
from steelyard.kobe.mention import Mention
from steelyard.kobe.rivals import can_be_new, nearly, only_rivals, rivals, strangers

NOBODY = Forms(None, None)


def mention(text: str, category: str = "name", *, doubtful: bool = False) -> Mention:
    return Mention(0, len(text), text, text, category, doubtful=doubtful)


def sure(finding: Finding) -> float:
    return model()(finding, features(finding, Around(1, 0, empty=False), NOBODY, NOBODY))


@pytest.mark.parametrize(
    ("source", "output", "found"),
    [
        ("Sie traf Claudia Muntschick.", "She met Olaf Tschentscher.", ["Olaf Tschentscher"]),
        ("Sie traf Claudia Muntschick.", "She met Claudia Muntschick.", []),
        ("Об этом сказал Решетников.", "Reshetnikov said so.", []),
        ("Sie traf das Amt.", "She met the Foreign Office.", []),  # a title is translated
    ],
)
def test_names_that_nothing_in_the_source_is_like_are_strangers(source, output, found):
    assert [m.text for m in strangers(output, source, "en", (), ())] == found


def test_what_is_accounted_for_is_no_stranger():
    text = "She met Olaf Tschentscher."
    assert strangers(text, "Sie traf sie.", "en", (), [(8, 12)]) == []


def test_names_are_new_only_where_letters_are_the_same():
    latin = frozenset({"LATIN"})
    assert can_be_new("Sie traf Weber.", latin)
    assert not can_be_new("Она встретила Вебера.", latin)
    assert not can_be_new("She met Weber.", frozenset({"CYRILLIC"}))


def test_endings_that_no_rule_knows_do_not_make_another_name():
    assert nearly(mention("Pekka Hyväriseltä"), mention("Pekka Hyvärinen"))
    assert not nearly(mention("Pekka Hyväriseltä"), mention("Pekka Laaksonen"))


def test_unknown_names_replace_names_and_towns_but_no_countries():
    stranger = mention("Maliński")._replace(tier="name", rule="unknown")
    for category, fits in (("name", True), ("person", True), ("city", True), ("country", False)):
        own = mention("Wien", category)
        assert bool(rivals((own,), [0], [stranger], 20)) is fits, category


def test_a_changed_unit_is_an_alarm_though_a_lost_one_is_none():
    days, weeks = (mention(text, "unit", doubtful=True) for text in ("days", "weeks"))
    (lost,) = explain((days,), "soon", ())
    assert lost.kind == "undecided"
    (changed,) = explain((days,), "weeks", (weeks,))
    assert (changed.kind, changed.output) == ("changed", weeks)
    assert sure(changed) > model().cut["alone"]


def test_doubtful_mentions_change_only_one_for_one():
    days, hours, weeks = (mention(t, "unit", doubtful=True) for t in ("days", "hours", "weeks"))
    assert only_rivals((days, hours), [0, 1], [weeks]) == []
    assert only_rivals((days,), [0], [weeks, hours]) == []
    city = mention("Oulu", "city", doubtful=True)
    assert only_rivals((city,), [0], [weeks]) == []


def test_doubtful_mentions_of_an_output_are_no_additions():
    assert explain((), "weeks", (mention("weeks", "unit", doubtful=True),)) == []


def test_currencies_match_by_a_first_reading_of_one_side():
    yuan = Mention(0, 1, "元", "CNY", "currency", candidates=("CNY", "HKD", "TWD"))
    dollar = Mention(0, 1, "$", "USD", "currency", candidates=("USD", "HKD", "TWD"))
    assert pair_candidates((yuan,), (dollar,)) == {}
    assert pair_candidates((yuan,), (Mention(0, 3, "HK$", "HKD", "currency"),)) == {0: 0}


def test_changed_beside_one_that_is_kept_is_surer_than_one_fewer():
    own, other = mention("$", "currency"), mention("€", "currency")
    changed = Finding("changed", own, other, repeated=True)
    fewer = Finding("lost", own, None, repeated=True)
    assert sure(changed) > model().cut["alone"] > sure(fewer)


def test_foreign_names_do_not_make_a_sentence_foreign():
    keep = LanguageFilter("fi", "en")
    assert keep.is_target("I asked Riitta Mäkinen and Pekka Hyvärinen about it.")
    assert not keep.is_target("Kysyin asiasta Riitta Mäkiseltä ja Pekka Hyväriseltä eilen illalla.")


def test_a_fraction_in_words_may_be_put_otherwise():
    half, one = (Mention(0, 7, t, "num:1.5", "number") for t in ("полтора", "1,5"))
    assert (
        sure(Finding("lost", half, None)) < model().cut["alone"] < sure(Finding("lost", one, None))
    )


def test_two_doubtful_numbers_do_not_replace_each_other():
    thousand = Mention(0, 8, "thousand", "num:1000", "number", doubtful=True)
    all_four = Mention(0, 5, "चारों", "num:4", "number", doubtful=True)
    assert only_rivals((thousand,), [0], [all_four]) == []
    sure = all_four._replace(doubtful=False)
    assert only_rivals((thousand,), [0], [sure]) == [(0, sure)]


@pytest.mark.parametrize(("category", "least"), [("organisation", 0.0), ("city", 0.0)])
def test_what_is_left_as_it_is_is_less_sure_than_what_is_lost(category, least):
    own = Mention(0, 9, "Blackrock", 1, category)
    nobody, around = Forms(None, None), Around(1, 0, empty=False)
    sure = {
        kind: model()(finding, features(finding, around, nobody, nobody))
        for kind in ("lost", "copied")
        for finding in [Finding(kind, own, own if kind == "copied" else None)]
    }
    assert least < sure["copied"] < sure["lost"]
