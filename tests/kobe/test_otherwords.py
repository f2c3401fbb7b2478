"""What stands in an output in other words is not lost, and what a source says so is not added."""

from __future__ import annotations

import pytest

import steelyard as sy
from steelyard.kobe.explaining import ALARMS, Finding, explain
from steelyard.kobe.forms import Forms
from steelyard.kobe.languages import LanguageFilter
from steelyard.kobe.measures import Measure, measures
from steelyard.kobe.mention import Mention
from steelyard.kobe.options import KobeOptions
from steelyard.kobe.otherwords import (
    abbreviates,
    as_abbreviation,
    heard,
    is_said,
    number_in_words,
    of_place,
)
from steelyard.kobe.rewording import Origin


def number(value: str) -> Mention:
    return Mention(0, len(value), value, f"num:{value}", "number")


@pytest.mark.parametrize(
    ("value", "lang", "text"),
    [
        ("80", "cs", "osmdesátiletého Kerenského"),
        ("12", "de", "die zwölftgrößte Währung"),
        ("3", "de", "anderer Drittparteien"),
        ("3", "de", "eine dreiköpfige Familie"),
        ("1.5", "ru", "полуторачасовое зрелище"),
        ("4", "en", "in the quarterfinals"),
        ("4", "de", "im Viertelfinale"),
        ("2", "en", "the duo met twice"),
        ("2", "cs", "dvojnásobná cena"),
        ("3", "fr", "le triplement des prix"),
        ("12", "en", "a dozen eggs"),
        ("14", "en", "Louis XIV of France"),
        ("5", "es", "el quinteto de cuerda"),
        ("3", "ja", "三人の子供"),
        ("1000", "hi", "हजारों अन्य दिनों की तरह"),
    ],
)
def test_numbers_inside_words(value: str, lang: str, text: str):
    assert number_in_words(number(value), text, lang, []) is not None


@pytest.mark.parametrize(
    ("value", "lang", "text"),
    [
        ("2", "ru", "парламент обсудил оборону двора"),
        ("100", "fr", "le centre de la ville"),
        ("3", "en", "they tried the trick"),
        ("7", "de", "im Viertelfinale"),
        ("2", "cs", "ten druh ovoce"),
    ],
)
def test_words_that_only_begin_like_numbers(value: str, lang: str, text: str):
    assert number_in_words(number(value), text, lang, []) is None


def test_a_number_that_means_something_else_is_not_taken():
    text = "in 14 towns"
    assert number_in_words(number("14"), text, "en", []) is not None
    assert number_in_words(number("14"), text, "en", [(3, 5)]) is None


UNITS = {"miles": "length-mile", "km": "length-kilometer", "Fuß": "length-foot",
         "m": "length-meter", "acres": "area-acre", "ha": "area-hectare",
         "°F": "temperature-fahrenheit", "°C": "temperature-celsius",
         "months": "duration-month", "Monate": "duration-month", "minutes": "duration-minute",
         "hours": "duration-hour", "days": "duration-day", "let": "duration-year",
         "lb": "mass-pound", "kg": "mass-kilogram"}  # fmt: skip


def sizes(text: str, lang: str) -> list[Measure]:
    """Give the measures of a text whose numbers and units are words of their own."""
    found, at = [], 0
    for word in text.split():
        start = text.index(word, at)
        at = start + len(word)
        if word.replace(".", "").isdigit():
            found.append(Mention(start, at, word, f"num:{word}", "number"))
        elif word in UNITS:
            found.append(Mention(start, at, word, word, "unit"))
    return measures(text, tuple(found), lang, lambda m: UNITS[str(m.id)])


@pytest.mark.parametrize(
    ("one", "two"),
    [
        (("85 miles", "en"), ("137 km", "de")),
        (("81000 Fuß", "de"), ("24689 m", "cs")),
        (("2600 acres", "en"), ("1052 ha", "de")),
        (("100 °F", "en"), ("38 °C", "ru")),
        (("150 lb", "en"), ("68 kg", "fr")),
        (("100000 m", "en"), ("100 km", "cs")),
        (("полгода", "ru"), ("6 months", "en")),
        (("ein halbes Jahr", "de"), ("6 months", "en")),
        (("za půl roku", "cs"), ("6 months", "en")),
        (("a fortnight", "en"), ("za 14 days", "cs")),
        (("за сутки", "ru"), ("24 hours", "en")),
        (("полуторачасовой", "ru"), ("90 minutes", "en")),
        (("une heure et demie", "fr"), ("90 minutes", "en")),
        (("2 decades", "en"), ("20 let", "cs")),
        (("12 Monate", "de"), ("a year", "en")),
    ],
)
def test_equal_sizes(one: tuple[str, str], two: tuple[str, str]):
    own, theirs = sizes(*one), sizes(*two)
    assert any(a.equals(b) for a in own for b in theirs)


@pytest.mark.parametrize(
    ("one", "two"),
    [
        (("85 miles", "en"), ("85 km", "de")),
        (("81000 Fuß", "de"), ("81000 m", "cs")),
        (("100 km", "en"), ("101 km", "de")),  # rounding is for what is converted
        (("полгода", "ru"), ("7 months", "en")),
        (("100 °F", "en"), ("48 °C", "ru")),
        (("1000 m", "en"), ("1 kg", "de")),
    ],
)
def test_unequal_sizes(one: tuple[str, str], two: tuple[str, str]):
    own, theirs = sizes(*one), sizes(*two)
    assert own
    assert theirs
    assert not any(a.equals(b) for a in own for b in theirs)


@pytest.mark.parametrize(
    ("short", "name"),
    [
        ("РАН", "Российская академия наук"),
        ("NSW", "New South Wales"),
        ("PLA", "People's Liberation Army"),
        ("VB", "Velká Británie"),
        ("U.S.", "United States"),
    ],
)
def test_initials_stand_for_a_name(short: str, name: str):
    assert abbreviates(short, name)


def test_letters_that_are_no_initials():
    assert not abbreviates("UAE", "United States")
    assert not abbreviates("PLA", "Peking")


def test_abbreviations_in_outputs():
    railways = Mention(0, 5, "České", 1, "country")
    assert as_abbreviation(railways, (), "České dráhy plánují", "ČD plans", []) is not None
    disorder = Mention(8, 12, "PTBS", "name:ptbs", "name", "name")
    assert as_abbreviation(disorder, (), "Ich hab PTBS", "I have PTSD", []) is not None
    rank = Mention(0, 3, "Sgt", "name:sgt", "name", "name")
    assert as_abbreviation(rank, (), "Sgt. Moss", "Sergeant Moss", []) is not None
    assert as_abbreviation(rank, (), "Sgt. Moss", "Polizist Moss", []) is None


def test_what_the_source_says_is_not_added():
    sobyanin = Mention(0, 15, "Sergey Sobyanin", 1, "person")
    assert is_said(sobyanin, (), "мэр Москвы Сергеем Собяниным")
    assert is_said(Mention(0, 2, "UK", 2, "country"), ("Velká Británie",), "odchod VB z EU")
    albania = Mention(0, 7, "Albánie", 3, "country")
    assert not is_said(albania, ("Albania",), "the volunteers from Albany")


def kinds(source: str, output: str, src: str, tgt: str, kb: object) -> dict[str, str]:
    options = KobeOptions(language_filter="off")
    report = sy.kobe.score([source], [output], src=src, tgt=tgt, kb=kb, options=options)
    return {f.mention.text: f.kind for _, _, f in report.findings()}


def test_measures_are_converted_and_given_twice(small_kb):
    twice = kinds("85 miles (137 kilometers) away", "137 Kilometer entfernt", "en", "de", small_kb)
    assert not set(ALARMS) & set(twice.values())
    right = kinds("It is 27 miles away", "Es ist 43 Kilometer entfernt", "en", "de", small_kb)
    assert not set(ALARMS) & set(right.values())
    wrong = kinds("It is 27 miles away", "Es ist 53 Kilometer entfernt", "en", "de", small_kb)
    assert wrong["27"] == "changed"
    kept = kinds("81,000 feet tall", "81 000 metrů vysoká", "en", "cs", small_kb)
    assert kept["feet"] == "changed"


def test_letters_in_other_case_and_beside_other_scripts(small_kb):
    assert kinds("Kiew - Der Gipfel", "KIEV - The summit", "de", "en", small_kb)["Kiew"] == "found"
    assert "lost" not in kinds("在北京", "丨Beijing", "zh", "en", small_kb).values()


def test_a_name_may_be_left_as_it_is_but_not_in_foreign_letters():
    rene = Mention(0, 11, "René Hroneš", "name:x", "name", "name")

    def of(mention: Mention, output: str) -> list[Finding]:
        return explain(
            (mention,), output, (), forms=Forms(None, "en"),
            origin=Origin(mention.text, Forms(None, "cs")),
        )  # fmt: skip

    assert [f.kind for f in of(rene, "says René Hroneš")] != ["copied"]
    ivan = Mention(0, 4, "Иван", "name:ivan", "name", "name")
    assert [f.kind for f in of(ivan, "says Иван")] == ["copied"]


def test_names_of_another_language_do_not_make_a_text_one():
    keep = LanguageFilter("cs", "en")
    assert keep.is_target("Lenka Kabrhelová speaks to iRozhlas editor Dominika Kubištová.")
    assert not keep.is_target("Lenka Kabrhelová mluví s redaktorkou serveru o minulém roce.")


def test_names_with_other_hyphens_and_times_with_other_signs():
    shop = Mention(0, 9, "eCommerce", "name:x", "name", "name")
    origin = Origin(shop.text, Forms(None, "de"))
    found = explain((shop,), "in e-commerce", (), forms=Forms(None, "en"), origin=origin)
    assert [f.kind for f in found] == ["found"]
    time = Mention(0, 5, "5点9分", "time:05:09", "time", "core", (), "value")
    origin = Origin(time.text, Forms(None, "zh"))
    for output, kind in (("at 5: 9 a.m.", "found"), ("at 5: 39 a.m.", "lost")):
        found = explain((time,), output, (), forms=Forms(None, "en"), origin=origin)
        assert [f.kind for f in found] == [kind]


# -- names by ear


@pytest.mark.parametrize(
    ("name", "known", "langs", "text", "found"),
    [
        ("Miami", ("मियामी",), ("en", "hi"), "मैं मायामी जा रहा हूँ", "मायामी"),
        ("Agra", ("アーグラ",), ("en", "ja"), "アグラに行く", "アグラ"),
        ("New York City", ("न्यूयॉर्क",), ("en", "hi"), "उनके न्यू यॉर्क शहर में", "यॉर्क"),
        ("North Holland", ("उत्तर हॉलैंड",), ("en", "hi"), "उत्तर होल्लैंड प्रांत में", "उत्तर होल्लैंड"),
        ("Hollywood", ("ハリ・ウッド",), ("en", "ja"), "新しいハリウッドの", "ハリウッド"),
        ("Юрий Трутнев", ("Yuri Trutnev",), ("ru", "en"), "said Yury Trutnev", "Yury Trutnev"),
        ("Miami", ("मियामी",), ("en", "hi"), "मैं मुंबई जा रहा हूँ", None),
        ("Earth", ("पृथ्वी",), ("en", "hi"), "इसका अर्थ क्या है", None),  # arth is "meaning"
        ("Wales", ("वेल्स",), ("en", "hi"), "रहने वाले लोग", None),
        ("Germany", ("ドイツ",), ("en", "ja"), "そうです", None),
        ("Wien", (), ("de", "en"), "in Wiener style", None),  # one script: not its task
    ],
)
def test_names_that_are_spelled_by_ear(name, known, langs, text, found):
    place = heard(Mention(0, len(name), name, 1, "city"), known, text, [], langs)
    assert (place and place.text) == found


def test_words_that_mean_something_else_are_not_heard():
    miami = Mention(0, 5, "Miami", 1, "city")
    assert heard(miami, ("मियामी",), "मायामी में", [(0, 6)]) is None


def test_an_institution_of_a_place_by_its_other_name():
    bank = Mention(0, 21, "European Central Bank", 1, "organisation")
    europe = [(Mention(0, 5, "ヨーロッパ", 2, "region"), ["Europe"])]
    assert of_place(bank, ["欧州中央銀行"], "ヨーロッパ中央銀行は", europe) is not None
    assert of_place(bank, ["欧州中央銀行"], "ヨーロッパ議会は", europe) is None
    asia = [(Mention(0, 3, "アジア", 3, "region"), ["Asia"])]
    assert of_place(bank, ["欧州中央銀行"], "アジア中央銀行は", asia) is None


@pytest.mark.parametrize(
    ("source", "output", "equal"),
    [
        ([("fifth", "num:5", "ordinal", 0)], "pct:20", True),
        ([("four", "num:4", "number", 0), ("ten", "num:10", "number", 8)], "pct:40", True),
        ([("two", "num:2", "number", 0), ("thirds", "num:3", "ordinal", 4)], "pct:66.7", True),
        ([("fifth", "num:5", "ordinal", 0)], "pct:25", False),
        ([("four", "num:4", "number", 0), ("ten", "num:10", "number", 80)], "pct:40", False),
    ],
)
def test_shares_in_percent(source, output, equal):
    said = tuple(Mention(at, at + len(t), t, id_, kind) for t, id_, kind, at in source)
    there = Mention(0, 3, "x %", output, "percent")
    own = measures("", said, "en", str)
    assert any(a.equals(b) for a in own for b in measures("", (there,), "ja", str)) is equal


def test_addresses_do_not_make_a_text_foreign():
    keep = LanguageFilter("en", "hi")
    assert keep.is_target("गैलरी सांता मोनिका में है: tierradelsolgallery.org, https://a.de/bcdefghijkl")
    assert not keep.is_target("The gallery is in Santa Monica में है, visit it now")
