"""Names that no base knows: where they are found, and what is taken for one of them."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.data.evalset import EvalSet
from steelyard.data.segments import Segments
from steelyard.kobe.linking.linker import link_set, make_linker, name_tier
from steelyard.kobe.linking.names import (
    NameTier,
    alike,
    find_in,
    find_names,
    pieces,
    romanise,
    similarity,
)
from steelyard.kobe.mention import Mention
from steelyard.kobe.options import KobeOptions

LANGUAGES = ("en", "de", "cs", "ru", "zh", "ja", "hi", "es", "fr", "ar", "uk", "pl", "tr", "xx")


def found(text: str, lang: str, *known: Mention) -> dict[str, str]:
    return {text[n.start : n.end]: n.kind for n in find_names(text, lang, known)}


def kept(name: str, output: str) -> str | None:
    span = find_in(name, output, lambda: pieces(output))
    return None if span is None else output[span[0] : span[1]]


# -- what is a name


@pytest.mark.parametrize(
    ("lang", "text", "names"),
    [
        ("en", "Mr. Kowalski told Reuters about it.", {"Kowalski", "Reuters"}),
        ("en", "Yesterday Ursula von der Leyen's plane left.", {"Ursula von der Leyen"}),
        ("de", "Gestern traf er Elon Musk im Kanzleramt.", {"Elon Musk"}),
        ("ru", "Вчера он встретился с Камалой Харрис.", {"Камалой Харрис"}),
        ("ru", "Об этом пишет газета Financial Times.", {"Financial Times"}),
        ("fr", "Hier, Jean-Luc Mélenchon a parlé d'Airbus.", {"Jean-Luc Mélenchon", "Airbus"}),
        ("ja", "映画『君の名は』はNetflixで見た。", {"Netflix"}),
        ("zh", "《红楼梦》和ChatGPT很有名。", {"ChatGPT"}),
    ],
)
def test_names_are_found(lang, text, names):
    assert set(found(text, lang)) == names


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("She flew in the A380 twice.", "code"),
        ("She works for the WDR now.", "acronym"),
        ("She likes her iPhone a lot.", "mixed"),
        ("She saw @somebody there.", "address"),
        ("She met Olaf Tschentscher there.", "person"),
        ("She works for the Foreign Office now.", "titled"),
        ("She knows Tschentscher well.", "single"),
        ("She knows Johnson well.", "listed"),
    ],
)
def test_names_know_how_they_are_written(text, kind):
    assert list(found(text, "en").values()) == [kind]


@pytest.mark.parametrize(
    ("lang", "text"),
    [
        ("en", "Thousands came. Yesterday they left, and nobody knows why."),
        ("en", "Five Ways To Improve Your Garden This Spring"),
        ("en", "I did NOT say that, and the President knows it."),
        ("de", "Die Donaudampfschifffahrt und der Fahrradschlauch sind Nebensachen."),
        ("de", "Das Ergebnis der Untersuchungskommission ist z.B. eine Enttäuschung."),
        ("ja", "皆さん、コンピューターを使いましょう。"),
        ("xx", ""),
    ],
)
def test_other_words_are_none(lang, text):
    assert found(text, lang) == {}


def test_a_doubtful_mention_may_be_a_part_of_a_name():
    text = "He met Paris Hiltonova there."
    part = Mention(7, 12, "Paris", "gn:1", "city", doubtful=True)
    assert found(text, "en", part) == {"Paris Hiltonova": "person"}
    assert "Paris Hiltonova" not in found(text, "en", part._replace(doubtful=False))


# -- one name in two languages


@pytest.mark.parametrize(
    ("name", "output", "there"),
    [
        ("Зеленский", "said Zelenskyy on Monday", "Zelenskyy"),
        ("Зеленский", "sagte Selenskyj", "Selenskyj"),
        ("Си Цзиньпин", "that Xi Jinping spoke", "Xi Jinping"),
        ("Tschaikowski", "by Tchaikovsky", "Tchaikovsky"),
        ("Максом Ферстаппеном", "behind Max Verstappen", "Max Verstappen"),
        ("Karolínou Muchovou", "with Karolína Muchová", "Karolína Muchová"),
        ("Joe Biden", "ジョー・バイデン大統領は", "ジョー・バイデン"),
        ("Narendra Modi", "प्रधानमंत्री नरेंद्र मोदी ने", "नरेंद्र मोदी"),
        ("Orbán Viktor", "said Viktor Orbán", "Viktor Orbán"),
        ("Cyber Punk", "das Spiel Cyberpunk", "Cyberpunk"),
        ("Netflix", "bei Netflix'", "Netflix"),
        ("John Smith", "sagte Smith gestern", "Smith"),
    ],
)
def test_a_name_is_known_again(name, output, there):
    assert kept(name, output) == there


@pytest.mark.parametrize(
    ("name", "output"),
    [
        ("John Smith", "sagte John Miller gestern"),
        ("Smith", "sagte Schmidt gestern"),
        ("Зеленский", "said Biden on Monday"),
        ("A380", "mit dem A350"),
        ("F-16", "mit der F-15"),
        ("Ana", "die Banane und Anatol"),
        ("Narendra Modi", "प्रधानमंत्री राहुल गांधी ने"),
        ("Tschentscher", ""),
    ],
)
def test_another_name_is_not(name, output):
    assert kept(name, output) is None


# -- the tier


@pytest.mark.parametrize(
    ("pair", "text", "doubtful"),
    [
        (("en", "de"), "She met Olaf Tschentscher there.", False),
        (("en", "de"), "She works for the Foreign Office now.", True),
        (("zh", "en"), "他说IFCSS会来。", False),
        (("en", "ja"), "She met Olaf Tschentscher there.", False),
        (("en", "ja"), "She met Kenji Miyazawa there.", True),
        (("en", "th"), "She met Olaf Tschentscher there.", True),
    ],
)
def test_what_people_translate_is_doubtful(pair, text, doubtful):
    (mention,) = NameTier(*pair).mentions(text, ())
    assert mention.doubtful is doubtful


def test_people_of_the_base_are_known_by_their_form_too():
    tier = NameTier("de", "ru")
    source = (Mention(0, 5, "Trump", 7, "person"),)
    (there,) = tier.kept(source, "Об этом сказал Трамп.", ())
    assert (there.id, there.text) == (7, "Трамп")
    city = (Mention(0, 5, "Trump", 7, "city"),)
    assert tier.kept(city, "Об этом сказал Трамп.", ()) == ()


def test_other_linkers_go_without():
    class Mine:
        signature = "mine"

        def link(self, texts, lang, other):
            return [()] * len(texts)

        def name(self, entity):
            return str(entity)

    assert name_tier(Mine(), "en", "de") is None


def test_a_set_has_names_on_both_sides():
    segments = Segments(
        ("1", "2"),
        sources=("Gestern sprach Elon Muskowski.", None),
        references={"ref": ("Elon Muskowski spoke yesterday.", "x")},
    )
    outputs = {"A": ("Yesterday Elon Muskowski spoke.", "x"), "B": ("Yesterday he spoke.", "x")}
    es = EvalSet(("A", "B"), segments, outputs=outputs)
    options = KobeOptions().settled()
    linked = link_set(es, ("de", "en"), options, make_linker())
    (name,) = linked.source_mentions[0]
    assert name.id == "name:elon muskowski"
    ids = {row: [m.id for m in own[0] or ()] for row, own in linked.output_mentions.items()}
    assert ids == {"A": [name.id], "B": [], "ref": [name.id]}
    against = KobeOptions(against="ref").settled()
    linked = link_set(es, ("de", "en"), against, make_linker())
    assert [m.text for m in linked.source_mentions[0]] == ["Elon Muskowski"]
    assert [m.id for m in linked.output_mentions["A"][0] or ()] == [name.id]


# -- any text

_TEXT = st.text(
    st.one_of(st.characters(), st.sampled_from("AbČя习アनع .-'’&·・@#《》1")), max_size=60
)


@given(_TEXT, st.sampled_from(LANGUAGES))
def test_spans_are_those_of_the_text(text, lang):
    names = find_names(text, lang)
    assert list(names) == sorted(names)
    for one, other in pairwise(names):
        assert one.end <= other.start
    for name in names:
        assert 0 <= name.start < name.end <= len(text)
        assert all(word in text for word in name.words)


@given(_TEXT, _TEXT, st.sampled_from(LANGUAGES[:-1]), st.sampled_from(LANGUAGES[:-1]))
def test_any_output_can_be_searched(source, output, lang, other):
    tier = NameTier(lang, other)
    wanted = tier.mentions(source, ())
    there = tier.kept(wanted, output, ())
    assert all(output[m.start : m.end] == m.text for m in there)
    assert {m.id for m in there} <= {m.id for m in wanted}
    # What was asked before makes no difference.
    fresh = NameTier(lang, other)
    assert fresh.kept(fresh.mentions(source, ()), output, ()) == there


@given(_TEXT)
def test_an_output_keeps_what_it_copies(text):
    tier = NameTier("en", "de")
    wanted = [m for m in tier.mentions(text, ()) if not m.doubtful]
    assert {m.id for m in wanted} <= {m.id for m in tier.kept(tuple(wanted), text, ())}


@given(st.text(min_size=1, max_size=12), st.text(min_size=1, max_size=12))
def test_similarity_is_a_share_of_the_same_both_ways(one, other):
    assert 0 <= similarity(one, other) <= 1
    assert similarity(one, other) == pytest.approx(similarity(other, one))
    if romanise(one):
        assert alike(one, one) >= 1
