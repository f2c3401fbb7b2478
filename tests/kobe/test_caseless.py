"""Names in scripts without capitals: what tells them, and what does not."""

from __future__ import annotations

import pytest

from steelyard.kobe.base.packaged import default
from steelyard.kobe.linking.dates import arabic_hours
from steelyard.kobe.linking.linker import DictionaryLinker
from steelyard.kobe.linking.nameparts import people, same_part
from steelyard.kobe.linking.nametier import NameTier
from steelyard.kobe.linking.signs import signed_names
from steelyard.kobe.linking.unknown import find_names
from steelyard.kobe.linking.wordforms import common, without_prefix


@pytest.fixture(scope="module")
def linker() -> DictionaryLinker:
    return DictionaryLinker(default())


def ids(linker: DictionaryLinker, text: str, lang: str) -> dict[str, str]:
    (found,) = linker.link([text], lang, "en")
    return {mention.text: linker.name(mention.id) for mention in found}


# -- small places


@pytest.mark.parametrize(
    ("lang", "text"),
    [
        ("ar", "فاز النادي في المباراة"),  # the club, not a town
        ("ar", "انتهى دوري هذا العام"),
        ("ar", "غنت صباح أغنية"),  # a singer, not the state
        ("zh", "民主和团结"),
        ("zh", "青年人要奋斗"),
    ],
)
def test_a_small_place_needs_something_that_tells(linker, lang, text):
    assert not ids(linker, text, lang)


@pytest.mark.parametrize(
    ("lang", "text", "place"),
    [
        ("ar", "وصل الوفد إلى مدينة الطائف", "الطائف"),
        ("ar", "سافر إلى القاهرة", "القاهرة"),
        ("zh", "浙江余姚的厂房", "余姚"),
        ("zh", "他住在眉山市", "眉山"),
        ("hi", "स्कॉटलैंड में बारिश", "स्कॉटलैंड"),
    ],
)
def test_what_tells_a_place(linker, lang, text, place):
    assert place in ids(linker, text, lang)


# -- prefixes


def test_a_prefix_of_arabic_is_no_part_of_the_word():
    assert "الأمم" in without_prefix("للأمم", "ar")
    assert "الأمم" in without_prefix("والأمم", "ar")
    assert without_prefix("New", "en") == []


@pytest.mark.parametrize(
    "text", ["للأمم المتحدة", "والأمم المتحدة", "بالأمم المتحدة", "الأمم المتحدة"]
)
def test_names_of_several_words_behind_a_prefix(linker, text):
    found = ids(linker, f"قرار {text} اليوم", "ar")
    assert "wd:Q1065" in found.values()


def test_a_word_that_is_spelt_with_hamza_is_no_other_word():
    assert not common("اوبك", "ar")
    assert common("النادي", "ar")


# -- famous names


@pytest.mark.parametrize(
    ("lang", "text", "id_"),
    [
        ("ar", "قرار منظمة أوبك", "wd:Q7795"),
        ("ar", "تطبيق واتساب", "wd:Q1049511"),
        ("ar", "ضفاف نهر دجلة", "geo:tigris"),
        ("ar", "في كانون الأول", "month:12"),
        ("hi", "गूगल ने कहा", "wd:Q95"),
        ("hi", "पृथ्वी से दूर", "geo:earth"),
        ("ja", "ビットコイン投資", "brand:bitcoin"),
        ("zh", "长江干流", "geo:yangtze"),
        ("zh", "新华社记者", "brand:xinhua"),
    ],
)
def test_what_everybody_knows(linker, lang, text, id_):
    assert id_ in ids(linker, text, lang).values()


def test_a_famous_name_that_is_a_word_is_doubtful_in_its_language(linker):
    (found,) = linker.link(["I love my Apple computer."], "en", "ar")
    assert [(m.text, m.doubtful) for m in found] == [("Apple", True)]
    (found,) = linker.link(["An apple a day"], "en", "ar")
    assert not found
    (found,) = linker.link(["They paid in bitcoin."], "en", "ja")
    assert [m.text for m in found] == ["bitcoin"]


# -- values


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("دفعت 150 ريالا", "cur:SAR"),
        ("بسعر 220 درهما", "cur:AED"),
        ("بعد 40 يوما", "unit:duration-day"),
        ("عمره 87 عاما", "unit:duration-year"),
    ],
)
def test_units_and_money_in_the_case_that_numbers_ask_for(linker, text, found):
    assert found in ids(linker, text, "ar").values()


@pytest.mark.parametrize(
    ("text", "time"),
    [
        ("الساعة السابعة مساء", "time:19:00"),
        ("الساعة الثامنة صباحا", "time:08:00"),
        ("الساعة الحادية عشرة والنصف صباحا", "time:11:30"),
        ("الساعة الثانية عشرة ظهرا", "time:12:00"),
    ],
)
def test_hours_are_counted_as_places_are(text, time):
    assert [value.id for value in arabic_hours(text)] == [time]


def test_an_ordinal_is_no_hour():
    assert not list(arabic_hours("المرة السابعة"))


# -- people


@pytest.mark.parametrize(
    ("lang", "text", "names"),
    [
        ("ar", "وزير الخارجية التركي هاكان فيدان إلى", ["هاكان فيدان"]),
        ("ar", "ذهب الولد إلى المدرسة وقرأ الكتاب", []),
        ("hi", "क्रिस जॉनसन एक आर्किटेक्ट हैं", ["क्रिस जॉनसन"]),
        ("hi", "माथेसन ने कहा", ["माथेसन"]),
        ("hi", "सरकार ने कहा", []),
        ("en", "Hakan Fidan", []),
    ],
)
def test_people_are_told_by_parts_of_names(lang, text, names):
    assert [text[start:end] for start, end, _ in people(text, lang)] == names


def test_parts_of_names_are_the_same_across_scripts():
    assert same_part("Trump", "ترامب")
    assert same_part("トランプ", "Trump")
    assert same_part("Trump", "总统特朗普表示")
    assert not same_part("Trump", "バイデン")
    assert not same_part("Trump", "Trump")  # of one script, which needs no table


@pytest.mark.parametrize(
    ("lang", "text", "names"),
    [
        ("zh", "陆先生决定购买", ["陆"]),
        ("zh", "本报记者李小明，北京报道", ["李小明"]),
        ("zh", "记者周六到达", []),
        ("zh", "据湖南日报报道", ["据湖南日报"]),
        ("zh", "该公司表示", []),
        ("ja", "ブリュースター社は", ["ブリュースター"]),
        ("ja", "インターコンチネンタル空港から", ["インターコンチネンタル空港"]),
        ("ja", "ソーシャルメディア社会", []),
    ],
)
def test_signs_of_names(lang, text, names):
    assert [text[n.start : n.end] for n in signed_names(text, lang)] == names


def test_a_town_after_a_known_place(linker):
    text = "位于浙江余姚丈亭镇的厂房"
    (known,) = linker.link([text], "zh", "en")
    assert ("丈亭镇",) in [name.words for name in find_names(text, "zh", known)]


def test_a_chinese_name_with_a_dot_is_wanted_and_found():
    tier = NameTier("zh", "en")
    (mention,) = tier.mentions("唐纳德·特朗普说", ())
    assert not mention.doubtful
    assert tier.kept((mention,), "Donald Trump said", ())
    assert not tier.kept((mention,), "Joe Biden said", ())
