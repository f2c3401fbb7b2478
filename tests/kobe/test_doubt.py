"""What is inside a longer name or a title need not be found again."""

from __future__ import annotations

import pytest

from steelyard.kobe.linking.linker import DictionaryLinker
from steelyard.kobe.linking.nametier import NameTier
from steelyard.kobe.linking.runs import undecided_parts
from steelyard.kobe.mention import Mention


@pytest.fixture(scope="module")
def linker() -> DictionaryLinker:
    return DictionaryLinker()


def sure(linker: DictionaryLinker, text: str, lang: str, other: str = "de") -> set[str]:
    """Give what is wanted of a translation."""
    found = NameTier(lang, other).mentions(text, linker.link([text], lang, other)[0])
    return {mention.text for mention in found if not mention.doubtful}


@pytest.mark.parametrize(
    ("text", "lang", "part"),
    [
        ("When did he finish Symphony No. 9 at last?", "en", "9"),
        ("Does it still run on Windows 11 today?", "en", "11"),
        ("Have you ever seen 7 Little Johnstons on a screen?", "en", "7"),
        ("Who was the star of Woman Times Seven back then?", "en", "Seven"),
        ("Who was the 6th Duke of Leuchtenberg really?", "en", "6th"),
        ("How often is the Turkish March played today?", "en", "March"),
        ("Was the March of Ukrainian Nationalists held there?", "en", "March"),
        ("Who watches American Restoration these days?", "en", "American"),
        ("Is Stand on Zanzibar a long read?", "en", "Zanzibar"),
        ("When did Joan I of Navarre become queen?", "en", "Navarre"),
        ("What did Rudolph, Duke of Lorraine want?", "en", "Lorraine"),
        ("Where was William, Duke of Bavaria born?", "en", "William"),
        ("Why did Isabella of Aragon go there?", "en", "Isabella"),
        ("What did Prince George of Yugoslavia say?", "en", "Prince George"),
        ("How tall is the Shukhov Tower in the city?", "en", "Shukhov Tower"),
        ("Is the Monument to Christopher Columbus old?", "en", "Christopher Columbus"),
        ("Is the novel Kalashnikova worth reading?", "en", "Kalashnikova"),
        ("Il joue encore en Ligue 1 cette saison.", "fr", "1"),
        ("Lo dice el Artículo 5 de la ley.", "es", "5"),
    ],
)
def test_a_part_of_a_name_is_not_wanted(
    linker: DictionaryLinker, text: str, lang: str, part: str
) -> None:
    other = "en" if lang != "en" else "de"
    assert part not in sure(linker, text, lang, other)


@pytest.mark.parametrize(
    ("text", "lang", "whole"),
    [
        ("Yesterday the German Chancellor Olaf Scholz spoke.", "en", {"German", "Olaf Scholz"}),
        ("He told President Emmanuel Macron about it.", "en", {"Emmanuel Macron"}),
        ("About 20 Russian soldiers left Germany on Monday.", "en", {"20", "Russian", "Germany"}),
        ("They paid 300 euros on 5 March 2022 in Vienna.", "en", {"300", "Vienna"}),
        ("It happened in March and in Germany.", "en", {"March", "Germany"}),
        ("Germany's Ministry of Defence is in Berlin and Bonn.", "en", {"Germany", "Berlin"}),
        ("Three Die In Germany As 12 Trains Collide", "en", {"Germany", "12"}),
        ("Die Kanzlerin besuchte 12 Städte in Frankreich.", "de", {"12", "Frankreich"}),
        ("В Германии живут 12 человек из Франции.", "ru", {"12", "Германии", "Франции"}),
        ("Prezident Emmanuel Macron přijel do Německa.", "cs", {"Emmanuel Macron", "Německa"}),
        ("Le ministre a vu 12 maisons en Allemagne.", "fr", {"12", "Allemagne"}),
    ],
)
def test_what_stands_by_itself_is_wanted(
    linker: DictionaryLinker, text: str, lang: str, whole: set[str]
) -> None:
    other = "en" if lang != "en" else "de"
    assert whole <= sure(linker, text, lang, other)


@pytest.mark.parametrize(
    ("text", "lang"),
    [("My apologies, Madame Roseau, for that.", "en"), ("Včera tam byla paní Roseau.", "cs")],
)
def test_a_place_behind_an_address_is_a_surname(
    linker: DictionaryLinker, text: str, lang: str
) -> None:
    (found,) = linker.link([text], lang, "de")
    assert not [m for m in found if m.text == "Roseau"]


def test_scripts_without_capitals_are_left_alone() -> None:
    mentions = (Mention(0, 2, "柏林", 1, "city"),)
    assert undecided_parts("柏林交响曲", "zh", mentions) is mentions


def test_technical_words_are_no_names() -> None:
    found = NameTier("en", "de").mentions("Charge the eReader by WiFi, not the iPhone.", ())
    assert [m.text for m in found] == ["iPhone"]
