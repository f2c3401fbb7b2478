"""Names come back as they were spelt, and damaged files are said to be so."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.core.errors import InputError
from steelyard.kobe.base.build import build
from steelyard.kobe.base.codec import Entity, Flag, Name, spelling, spelt
from steelyard.kobe.base.knowledge import KnowledgeBase
from steelyard.kobe.linking.wordforms import fold

ODD = (
    "McDonald's",
    "İstanbul",
    "STRASSE",
    "straße",
    "ǅ",
    "ﬁne",
    "Ⅳ",
    "o'Neil",
    "\x01a",
    "ΌΣΟΣ",
    "Ё",
)


@given(st.one_of(st.text(max_size=12), st.sampled_from(ODD)), st.sampled_from(["en", "tr", "mul"]))
def test_every_spelling_comes_back(text, lang):
    clean = " ".join(text.split())
    folded = fold(clean, lang)
    assert spelt(spelling(clean, folded), folded) == clean
    assert not {"\n", "\t"} & set(spelling(clean, folded))


class Rows:
    name, version, licence = "rows", "1", "none"

    def __init__(self, rows):
        self.data = rows

    def rows(self):
        yield from self.data


def test_many_blocks(tmp_path):
    # One block holds 4,096 names.
    names = [
        [Name("en", f"{word} {n}") for word in ("mcX", "Mcx", "plain", "eTa")] for n in range(1500)
    ]
    build([Rows([(Entity(f"x:{n}", "term"), own) for n, own in enumerate(names)])], tmp_path / "kb")
    kb = KnowledgeBase.open(tmp_path / "kb")
    for n, own in list(enumerate(names))[::70]:
        entity = kb.entity(f"x:{n}")
        assert entity is not None
        assert set(kb.names(entity)) == set(own)
        assert kb.label(entity) == kb.label(entity, "xx") == f"mcX {n}"  # the first that was read


def test_labels(tmp_path):
    label = int(Flag.LABEL)
    rows = [
        (
            Entity("x:1", "city"),
            [Name("de", "Wien", label), Name("en", "Wien"), Name("mul", "VIE")],
        ),
        (Entity("x:1", "city"), [Name("en", "Vienna", label), Name("mul", "Vienna")]),
        (Entity("x:2", "city"), [Name("fr", "Linz"), Name("de", "Linz an der Donau", label)]),
        (Entity("x:3", "city"), [Name("mul", "ZZ"), Name("mul", "Aa"), Name("ru", "Яя", label)]),
    ]
    build([Rows(rows)], tmp_path / "kb")
    kb = KnowledgeBase.open(tmp_path / "kb")
    assert [kb.label(n, "en") for n in range(3)] == ["Vienna", "Linz an der Donau", "ZZ"]
    assert [kb.label(n, "de") for n in range(3)] == ["Wien", "Linz an der Donau", "ZZ"]
    assert [kb.label(n, "ru") for n in range(3)] == ["Vienna", "Linz an der Donau", "Яя"]


def asked(folder):
    kb = KnowledgeBase.open(folder)
    return kb.names(0), kb.label(0), kb.entity("x:1")


@pytest.mark.parametrize(
    "name", ["labels.npy", "cases.npy", "spellings.npy", "ids.bin", "extra.npy"]
)
@pytest.mark.parametrize("how", ["missing", "damaged"])
def test_damaged_files(tmp_path, name, how):
    build([Rows([(Entity("x:1", "city"), [Name("de", "McWien")])])], tmp_path / "kb")
    path = tmp_path / "kb" / name
    path.unlink() if how == "missing" else path.write_bytes(b"")
    with pytest.raises(InputError, match=f"{name}: is {how}.*again"):
        asked(tmp_path / "kb")


def test_damaged_blocks(tmp_path):
    build([Rows([(Entity("x:1", "city"), [Name("de", "McWien")])])], tmp_path / "kb")
    path = tmp_path / "kb" / "spellings.bin"
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(InputError, match=r"spellings.bin: is damaged \(.*again"):
        KnowledgeBase.open(tmp_path / "kb").names(0)
