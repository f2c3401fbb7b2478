"""The language filter: copied text does not count, whatever the scripts."""

from __future__ import annotations

import pytest

from steelyard.kobe.languages import LanguageFilter, script_share, scripts
from steelyard.kobe.mention import Mention

SENTENCES = {
    "de": "Der Zug aus Wien hat heute wieder eine Stunde Verspätung.",
    "en": "The train from Vienna is an hour late again today.",
    "cs": "Vlak z Vídně má dnes opět hodinu zpoždění.",
    "ru": "Поезд из Вены сегодня опять опаздывает на час.",
    "zh": "从维也纳来的火车今天又晚点一小时。",
    "ja": "ウィーンからの列車は今日も一時間遅れている。",
}
VIENNA = Mention(0, 6, "Vienna", "Q1741")


@pytest.mark.parametrize("tgt", SENTENCES)
@pytest.mark.parametrize("src", SENTENCES)
def test_every_pair(src: str, tgt: str):
    if src == tgt:
        return
    keep = LanguageFilter(src, tgt)
    assert keep.is_target(SENTENCES[tgt])
    assert not keep.is_target(SENTENCES[src])


def test_short_texts_are_kept_unless_letters_tell():
    assert LanguageFilter("de", "en").is_target("Wien")
    assert not LanguageFilter("ru", "en").is_target("Вена")
    assert LanguageFilter("ru", "en").is_target("12:30")


def test_modes():
    german = SENTENCES["de"]
    for off in (False, True):
        assert len(LanguageFilter("de", "en", off=off).apply([german], [(VIENNA,)])[0]) == off


def test_mentions_in_another_script():
    cyrillic = Mention(0, 4, "Вена", "Q1741")
    number = Mention(5, 7, "12", "num:12", rule="value")
    text = "An English sentence with Вена in it, 12 times."
    (found,) = LanguageFilter("ru", "en").apply([text], [(cyrillic, VIENNA, number)])
    assert found == (VIENNA, number)


def test_missing_output():
    assert LanguageFilter("de", "en").apply([None], [()]) == [()]


def test_unknown_to_the_identifier():
    keep = LanguageFilter("de", "gsw")
    assert keep.is_target(SENTENCES["de"])  # only letters can tell then


def test_script_share():
    assert script_share("", scripts("en")) == 1.0
    assert script_share("abвг", scripts("ru")) == 0.5


@pytest.mark.parametrize(
    ("tgt", "text"),
    [
        ("ja", "映画「The Grass Is Always Greener Elsewhere」は何年に公開されましたか？"),
        ("ja", "Greener Grass of Somewhereは架空の庭です。"),
        ("ar", 'ما هو نوع فيلم "Always Greener Grass"؟'),
        ("ar", "ما هو نوع فيلم Always Greener Grass؟"),
        ("en", "They sang «Вечерняя песня о далёком доме» at home."),
        ("ja", "詳しくは https://www.example.org/a/long/address/of-a-page?x=1 を。"),
        ("hi", "जानकारी के लिए averylongnameofagallery.org पर जाएँ."),
        ("ja", "@somebody_with_a_name うれしい"),
        ("ja", "わーーーーい！！"),
        ("ja", "https://www.example.org/page"),
    ],
)
def test_titles_and_addresses_make_no_text_foreign(tgt: str, text: str):
    assert LanguageFilter("ru" if tgt == "en" else "en", tgt).is_target(text)


@pytest.mark.parametrize(
    ("tgt", "text"),
    [
        ("ja", "Where is the Old Town Hall of Springfield in 日本?"),
        ("ja", "Where Is The Old Town Hall Of Springfield (市役所)"),  # capitals throughout
        ("ja", 'They call it "市役所" in the old town, which means "town hall".'),
        ("ja", "Nicolas Cage"),
        ("ja", "Please see https://www.example.org/page for more."),
        ("ar", "What is the genre of the film العشب؟"),
        ("en", "Они пели “Song” дома."),
    ],
)
def test_other_languages_are_not_saved_by_names(tgt: str, text: str):
    assert not LanguageFilter("ru" if tgt == "en" else "en", tgt).is_target(text)
