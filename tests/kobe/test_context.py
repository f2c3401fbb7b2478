"""What may be a part of a longer name, or a small place, need not be found in a translation."""

from __future__ import annotations

import pytest

from steelyard.kobe.linking.linker import DictionaryLinker
from steelyard.kobe.linking.names import NameTier


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
