"""Names in texts: whose they are, in which form, and where they may be a part of something else."""

from __future__ import annotations

from pathlib import Path

import pytest

from steelyard.kobe.base.build import build
from steelyard.kobe.base.codec import Entity, Flag, Name
from steelyard.kobe.base.knowledge import KnowledgeBase
from steelyard.kobe.linking.linker import DictionaryLinker
from steelyard.kobe.linking.names import NameTier
from steelyard.kobe.linking.wordforms import tokenise
from steelyard.kobe.mention import Mention

LABEL = int(Flag.LABEL)


def names(linker: DictionaryLinker, text: str, lang: str, other: str) -> dict[str, Mention]:
    """The mentions of a text that are no values."""
    return {m.text: m for m in linker.link([text], lang, other)[0] if isinstance(m.id, int)}


class Own:
    """A few entities as a source, with the traps of larger bases."""

    name, version, licence, position = "own", "1", "CC0-1.0", 0

    def fingerprint(self) -> str:
        return "own 1"

    def rows(self):
        def row(id_: str, category: str, prior: float, *own: tuple[str, str, int]):
            return Entity(id_, category, prior=prior), [Name(*name) for name in own]

        both = ("mul", LABEL)
        for id_, label, prior, others in (
            ("gn:1", "Venice", 4.7, ["Venedig"]),
            ("gn:2", "Dayton", 5.2, ["Venice"]),
            ("gn:3", "Jakarta", 7.1, ["Batavia"]),
            ("gn:4", "Batavia", 4.2, []),
            ("gn:5", "Trussville", 4.4, ["Truss"]),
            ("gn:6", "Topeka", 5.1, ["Google"]),
            ("gn:7", "Bath", 4.9, []),
            ("gn:8", "London", 6.9, []),
            ("gn:9", "Charlotte", 5.9, []),
            ("gn:10", "Firenze", 5.6, ["Florence"]),
            ("gn:11", "Florence", 4.6, []),
        ):
            labels = [(both[0], label, LABEL), *(("mul", other, 0) for other in others)]
            yield row(id_, "city", prior, *labels)
        yield row("wd:Q7747", "person", 6.0, ("en", "Vladimir Putin", LABEL),
                  ("ru", "Владимир Путин", LABEL), ("de", "Wladimir Putin", LABEL))  # fmt: skip
        yield row("wd:Q567", "person", 6.0, ("en", "Angela Merkel", LABEL),
                  ("de", "Angela Merkel", LABEL), ("ru", "Ангела Меркель", LABEL))  # fmt: skip
        yield row("wd:Q1", "person", 5.0, ("en", "Charlotte Gray", LABEL))
        yield row("wd:Q1065", "organisation", 7.0, ("en", "United Nations", LABEL),
                  ("mul", "UN", 0),
                  ("ru", "Организация Объединённых Наций", LABEL))  # fmt: skip
        yield row("wd:Q30", "country", 8.5, ("en", "United States", LABEL), ("en", "US", 0),
                  ("mul", "USA", 0), ("de", "Vereinigte Staaten", LABEL))  # fmt: skip
        yield row("iso:IT", "country", 7.8, ("en", "Italy", LABEL), ("en", "IT", 0))
        yield row("dow:1", "weekday", 7.0, ("de", "Montag", LABEL), ("en", "Monday", LABEL))
        yield row("x:1", "term", 0.0, ("en", "Rocket Sled", LABEL), ("de", "Amboss 3000", LABEL))
        yield row("x:2", "term", 0.0, ("en", "control panel", LABEL),
                  ("ru", "Панель управления", LABEL), ("cs", "Ovládací panel", LABEL))  # fmt: skip
        yield row("x:3", "term", 0.0, ("en", "Settings", LABEL), ("de", "Steuerungsmodul", LABEL))


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> DictionaryLinker:
    folder: Path = tmp_path_factory.mktemp("own") / "kb"
    build([Own()], folder, progress=lambda *_: None)

    return DictionaryLinker(KnowledgeBase.open(folder))


# -- words


@pytest.mark.parametrize(
    ("text", "lang", "words"),
    [
        ("जर्मनी और भारत", "hi", ["जर्मनी", "और", "भारत"]),
        ("ஜெர்மனி, இந்தியா", "ta", ["ஜெர்மனி", "இந்தியா"]),
        ("জার্মানি।", "bn", ["জার্মানি"]),
        ("п'ять", "uk", ["п'ять"]),
        ("l'allemagne", "fr", ["l", "allemagne"]),
    ],
)
def test_marks_belong_to_words(text: str, lang: str, words: list[str]):
    assert [word for word, _, _ in tokenise(text, lang)] == words


# -- whose name it is


def test_own_name_goes_before_an_alternate_one(own: DictionaryLinker):
    def meant(name: str) -> str:
        (mention,) = names(own, f"We met in {name} yesterday.", "en", "en").values()
        return own.name(mention.id)

    assert meant("Venice") == "gn:1"
    assert meant("Batavia") == "gn:3"  # a city a thousand times as large
    assert meant("Florence") == "gn:10"  # another spelling of a larger one
    mention = names(own, "in Venice", "en", "en")["Venice"]
    assert [own.name(id_) for id_ in mention.candidates] == ["gn:1", "gn:2"]


def test_alternates_that_are_words_or_unlike_the_name(own: DictionaryLinker):
    assert names(own, "Then Truss resigned.", "en", "en") == {}
    google = names(own, "Search in Google for it.", "en", "en")
    assert all(mention.doubtful for mention in google.values())
    bath = names(own, "They live in Bath today.", "en", "en")
    assert all(mention.doubtful for mention in bath.values())


# -- abbreviations


def test_abbreviations(own: DictionaryLinker):
    found = names(own, "The USA, the US and the UN met; tell us about IT.", "en", "en")
    assert set(found) == {"USA", "US", "UN"}
    assert set(names(own, "CONTACT US TODAY", "en", "en")) == set()


# -- a part of something else


@pytest.mark.parametrize(
    ("text", "lang", "doubted"),
    [
        ("She likes London Grammar a lot.", "en", True),
        ("She likes the London mayor.", "en", False),
        ("He works for the University of London.", "en", True),
        ("Der London-Marathon war schön.", "de", True),
        ("Die Stadt London hat viele Parks.", "de", False),
    ],
)
def test_part_of_a_longer_name(own: DictionaryLinker, text: str, lang: str, doubted: bool):
    mention = names(own, text, lang, "en" if lang != "en" else "de")["London"]
    assert mention.doubtful is doubted


def test_given_names_are_cities_only_where_a_place_is_meant(own: DictionaryLinker):
    assert names(own, "Then Charlotte smiled.", "en", "de")["Charlotte"].doubtful
    assert not names(own, "They moved to Charlotte.", "en", "de")["Charlotte"].doubtful


def test_transliterated_names_are_one_name(linker: DictionaryLinker):
    found = names(linker, "埃马纽埃尔·马克龙来自法国。", "zh", "en")
    assert not found["法国"].doubtful
    assert all(mention.doubtful for text, mention in found.items() if text != "法国")


# -- forms


@pytest.mark.parametrize(
    ("text", "lang", "expected"),
    [
        ("Встреча Владимира Путина", "ru", {"Владимира Путина"}),
        ("доклад Организации Объединенных Наций", "ru", {"Организации Объединенных Наций"}),
        ("in den Vereinigten Staaten", "de", {"Vereinigten Staaten"}),
        ("Der Preis des Ambosses 3000 stieg.", "de", {"Ambosses 3000"}),
        ("Das Steuerungsmodul-Handbuch fehlt.", "de", {"Steuerungsmodul"}),
        ("Am Montagabend", "de", {"Montag"}),
        ("Laut Montageanleitung", "de", set()),
    ],
)  # fmt: skip
def test_forms(own: DictionaryLinker, text: str, lang: str, expected: set[str]):
    assert set(names(own, text, lang, "de" if lang == "en" else "en")) == expected


@pytest.mark.parametrize(
    ("text", "lang"),
    [("Среди них были львы.", "ru"), ("Самой красивой была она.", "ru"), ("Dabei blieb es.", "de"),
     ("Since then it was okay. Okay?", "en"), ("Manche kamen auf dem Boden an.", "de")],
)  # fmt: skip
def test_ordinary_words_are_no_names(linker: DictionaryLinker, text: str, lang: str):
    found = names(linker, text, lang, "en" if lang != "en" else "de")
    assert [mention.text for mention in found.values() if not mention.doubtful] == []


# -- what a translation is expected to keep


def sure(linker: DictionaryLinker, text: str, lang: str) -> set[str]:
    """Return the texts of mentions that a translation is expected to keep."""
    other = "en" if lang != "en" else "de"
    mentions = NameTier(lang, other).mentions(text, linker.link([text], lang, other)[0])
    return {mention.text for mention in mentions if not mention.doubtful}


@pytest.mark.parametrize(
    ("text", "lang", "part"),
    [
        ("Does it still run on Windows 11 today?", "en", "11"),
        ("We heard London Grammar last night.", "en", "London"),
        ("She works for the Bank of Georgia now.", "en", "Bank"),
        ("Il joue encore en Ligue 1 cette saison.", "fr", "1"),
        ("Lo dice el Artículo 5 de la ley.", "es", "5"),
    ],
)
def test_a_part_of_a_name_is_not_wanted(
    linker: DictionaryLinker, text: str, lang: str, part: str
) -> None:
    assert part not in sure(linker, text, lang)


@pytest.mark.parametrize(
    ("text", "lang", "whole"),
    [
        ("Yesterday the German Chancellor Olaf Scholz spoke.", "en", {"German", "Olaf Scholz"}),
        ("He told President Emmanuel Macron about it.", "en", {"Emmanuel Macron"}),
        ("About 20 Russian soldiers left Germany on Monday.", "en", {"20", "Russian", "Germany"}),
        ("They paid 300 euros on 5 March 2022 in Vienna.", "en", {"300", "Vienna"}),
        ("It happened in March and in Germany.", "en", {"March", "Germany"}),
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
    assert whole <= sure(linker, text, lang)
