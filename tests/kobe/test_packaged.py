"""The embedded base: shipped, opened as it is, with a licence for every name in it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from steelyard.kobe.base.knowledge import KnowledgeBase, default
from steelyard.kobe.languages import known
from steelyard.kobe.linking.linker import DictionaryLinker
from steelyard.kobe.linking.wordforms import fold

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def kb() -> KnowledgeBase:
    return default()


def linked(kb: KnowledgeBase, text: str, lang: str = "en", other: str = "de") -> list[str]:
    (found,) = DictionaryLinker(kb).link([text], lang, other)
    return [kb.external_id(m.id) if isinstance(m.id, int) else m.id for m in found]


def test_the_whole_base(kb):
    assert isinstance(kb.prior.base, np.memmap)  # nothing is read before it is needed
    assert len(kb.languages) > 290
    assert len(kb) > 100_000
    assert set(kb.languages) <= known()
    names = {"de": "Tschechien", "ar": "التشيك", "ja": "チェコ", "sw": "Chechia", "th": "เช็ก"}
    for lang, name in names.items():
        key = kb.key(lang, fold(name, lang))
        entities, _ = kb.postings(key)
        assert "wd:Q213" in [kb.external_id(entity) for entity in entities]


def test_every_source_has_a_licence_that_is_told(kb):
    notice = (ROOT / "NOTICE").read_text(encoding="utf-8")
    assert kb.manifest["sources"]
    for source in kb.manifest["sources"]:
        assert source["names"] > 0, source
        assert source["licence"] in {
            "Apache-2.0", "BSD-3-Clause", "CC-BY-4.0", "CC0-1.0", "MIT", "Unicode-3.0",
            "Unicode-DFS-2016",
        }  # fmt: skip
        assert source["name"] in notice
        assert source["licence"].replace("-", " ") in notice.replace("-", " ")


def test_nothing_is_from_the_test_set(kb):
    """Names of ea-mt are what the linker is measured with; its rows are under CC BY-SA, too."""
    told = repr(kb.manifest["sources"]).lower()
    assert not any(word in told for word in ("ea-mt", "eamt", "enamdict", "cedict", "dbp15k"))


@pytest.mark.parametrize(
    ("text", "id_"),
    [
        ("in Venice", "gn:3164603"),
        ("in Islamabad", "gn:1176615"),
        ("in Zaragoza", "gn:3104324"),
        ("in New Delhi", "gn:1261481"),
        ("in Washington", "gn:4140963"),
        ("in Texas", "wd:Q1439"),
        ("in Bavaria", "wd:Q980"),
        ("in Scotland", "iso:GB-SCT"),
        ("in Georgia", "wd:Q230"),
        ("a British man", "wd:Q145"),
        ("a Libyan man", "wd:Q1016"),
        ("some Americans", "wd:Q30"),
        ("with Joe Biden", "wd:Q6279"),
        ("the World Health Organization", "wd:Q7817"),
        ("with Deutsche Bahn", "wd:Q9322"),
    ],
)
def test_names_that_must_be_known(kb, text, id_):
    assert linked(kb, text) == [id_]


@pytest.mark.parametrize("text", ["It was Okay then", "the White House said", "my Rand", "a Ware"])
def test_words_that_are_no_city(kb, text):
    assert linked(kb, text) == []


@pytest.mark.parametrize(
    ("lang", "text", "id_"),
    [
        ("de", "die britische Armee", "wd:Q145"),
        ("de", "unter Briten", "wd:Q145"),
        ("ru", "для британского флага", "wd:Q145"),
        ("cs", "pro americké vojáky", "wd:Q30"),
        ("fr", "les soldats américains", "wd:Q30"),
        ("ru", "сказал Владимир Путин", "wd:Q7747"),
        ("zh", "习近平说", "wd:Q15031"),
    ],
)
def test_forms_of_names(kb, lang, text, id_):
    assert id_ in linked(kb, text, lang, "en")
