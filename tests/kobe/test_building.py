"""Records in, knowledge base out: against plain dictionaries, and byte by byte."""

from __future__ import annotations

import random
from collections import defaultdict
from itertools import count

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.kobe.conftest import Rows

from steelyard.core.errors import InputError, UsageError
from steelyard.kobe.base.build import Limits, build
from steelyard.kobe.base.codec import Entity, Flag, Name, script, spelling, spelt
from steelyard.kobe.base.knowledge import Base, KnowledgeBase
from steelyard.kobe.linking.wordforms import fold


def e(id_, prior=1.0, category="city", tier=0, same_as=()):
    return Entity(id_, category, tier, prior, same_as)


def files_of(folder):
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def found(kb, lang, text):
    key = kb.key(lang, fold(text, lang))
    return [] if key is None else [kb.external_id(i) for i in kb.postings(key)[0]]


LANGS = ("de", "en", "ru", "mul")
TEXTS = st.text("aбAБé中 -'", min_size=1, max_size=4)
ROWS = st.lists(
    st.tuples(
        st.integers(0, 12),
        st.sampled_from([0.5, 1.0, 2.0]),
        st.lists(st.tuples(st.sampled_from(LANGS), TEXTS), min_size=1, max_size=5),
    ),
    min_size=1,
    max_size=25,
)
folders = count()


@given(ROWS)
@settings(max_examples=60)
@pytest.mark.thorough
def test_a_base_holds_what_dictionaries_would(tmp_path_factory, rows):
    records = [(e(f"x:{n}", prior), [Name(*name) for name in names]) for n, prior, names in rows]
    names: dict[tuple[str, str], set[str]] = defaultdict(set)
    spoken: dict[str, set[str]] = defaultdict(set)
    prior: dict[str, float] = {}
    for entity, own in records:
        kept = [(n.lang, fold(n.text, n.lang)) for n in own if " ".join(n.text.split())]
        if any(n.text.split() for n in own):
            prior[entity.id] = max(prior.get(entity.id, 0), entity.prior)
        for lang, folded in kept:
            if folded:
                names[lang, folded].add(entity.id)
                spoken[f"mul-{script(folded[0])}" if lang == "mul" else lang].add(entity.id)
    out = tmp_path_factory.mktemp("kb") / str(next(folders))
    if not names:
        return
    build([Rows(records)], out)
    kb = KnowledgeBase.open(out)
    assert [kb.external_id(i) for i in range(len(kb))] == sorted(prior)
    np.testing.assert_allclose(kb.prior, [prior[i] for i in sorted(prior)], rtol=1e-6)
    assert kb.manifest["names"] == len(names)
    for (lang, folded), ids in names.items():
        expected = sorted(ids, key=lambda i: (-prior[i], i))
        assert found(kb, lang, folded) == expected
        lengths = {length for length, _ in kb.finder(lang)(folded + "x")}
        near = [f for la, f in names if la in (lang, "mul")]
        assert lengths == {len(f) for f in near if (folded + "x").startswith(f)}
    for lang in ("de", "en", "ru"):
        scripts = kb.manifest["scripts"].get(lang, [])
        expected_ids = spoken[lang].union(*(spoken[f"mul-{s}"] for s in scripts))
        assert {kb.external_id(int(i)) for i in np.flatnonzero(kb.spoken(lang))} == expected_ids
    both = kb.spoken("de") & kb.spoken("ru")
    assert (kb.shared("ru", "de") == both).all()


def many(n=500):
    rng = random.Random(1)
    words = ["".join(rng.choice("abcdeабв") for _ in range(rng.randint(1, 5))) for _ in range(300)]
    for i in range(n):
        names = [Name(rng.choice(LANGS), rng.choice(words)) for _ in range(4)]
        yield e(f"x:{i % 400}", rng.randint(0, 40) / 8), names


def test_order_of_rows_does_not_matter(tmp_path):
    rows = list(many())
    build([Rows(rows)], tmp_path / "a")
    random.Random(2).shuffle(rows)
    build([Rows(rows)], tmp_path / "b")
    a, b = (KnowledgeBase.open(tmp_path / name) for name in "ab")
    assert a.signature == b.signature


def test_same_rows_same_bytes_and_nothing_is_left_of_an_interrupted_build(tmp_path):
    rows = list(many())
    build([Rows(rows)], tmp_path / "a")
    with pytest.raises(KeyboardInterrupt):
        build([Rows(rows, stop_at=333)], tmp_path / "b")
    assert [path.name for path in tmp_path.iterdir()] == ["a"]
    build([Rows(rows)], tmp_path / "b")
    assert files_of(tmp_path / "a") == files_of(tmp_path / "b")


def test_what_is_the_same_is_merged_by_ids_only(tmp_path):
    rows = [
        (e("gn:1", 6.0), [Name("de", "Wien")]),
        (e("wd:Q1741", 5.0, "place", same_as=("gn:1", "iso:XX")), [Name("en", "Vienna")]),
        (e("wd:Q9", 4.0, same_as=("gn:1",)), [Name("en", "Wien district")]),
        (e("iso:XX", 7.0, "country"), [Name("fr", "Vienne")]),
        (e("gn:2", 1.0), [Name("en", "Vienna")]),
        (e("a:1", 1.0, same_as=("z:9",)), [Name("en", "one")]),
        (e("b:1", 2.0, same_as=("z:9",)), [Name("en", "two")]),
        (e("c:1", 2.0, tier=1, same_as=("c:2",)), [Name("en", "three")]),
        (e("c:2", 2.0), [Name("en", "four")]),
    ]
    build([Rows(rows)], tmp_path / "kb")
    kb = KnowledgeBase.open(tmp_path / "kb")
    ids = [kb.external_id(i) for i in range(len(kb))]
    assert ids == ["a:1", "c:1", "c:2", "gn:2", "wd:Q1741", "wd:Q9"]
    assert found(kb, "de", "Wien") == ["wd:Q1741"]
    assert found(kb, "fr", "Vienne") == ["wd:Q1741"]
    assert found(kb, "en", "Vienna") == ["wd:Q1741", "gn:2"]
    assert found(kb, "en", "two") == ["a:1"]
    vienna = ids.index("wd:Q1741")
    assert kb.entity("wd:Q1741") == vienna
    assert kb.prior[vienna] == 7.0
    assert kb.category_name(vienna) == "place"
    assert kb.same_as(vienna) == ["wd:Q1741", "iso:XX", "gn:1"]
    assert kb.tier.tolist() == [0, 1, 0, 0, 0, 0]
    assert kb.entity("gn:1") is None
    assert kb.owner("gn:1") == kb.owner("iso:XX") == kb.owner("wd:Q1741") == vienna
    assert kb.owner("z:9") == 0
    assert kb.owner("z:8") is None


def test_flags(tmp_path):
    rows = [
        (e("x:1"), [Name("en", "US"), Name("en", "Euro", Flag.LABEL), Name("en", "euro")]),
        (e("x:2"), [Name("mul", "McDonald"), Name("en", "'s-Hof"), Name("en", "kg", Flag.SYMBOL)]),
    ]
    build([Rows(rows)], tmp_path / "kb")
    kb = KnowledgeBase.open(tmp_path / "kb")

    def flags(lang, text):
        key = kb.key(lang, text)
        return Flag(int(kb.postings(key)[1][0]))

    assert flags("en", "us") == Flag.CASED | Flag.UPPER
    assert flags("en", "euro") == Flag.LABEL  # not CASED: it is written small as well
    assert flags("mul", "mcdonald") == Flag.CASED | Flag.UNSTATED
    assert flags("en", "'s-hof") == 0
    assert flags("en", "kg") == Flag.SYMBOL


def test_limits(tmp_path):
    rows = [
        (e("x:1", 5.0), [Name("de", "Wien"), Name("en", "Vienna"), Name("mul", "Вена")]),
        (e("x:2", 1.0), [Name("de", "Linz")]),
        (e("x:3", 5.0), [Name("en", "Graz")]),
    ]
    build([Rows(rows)], tmp_path / "kb", limits=Limits(frozenset({"de"}), 2.0))
    kb = KnowledgeBase.open(tmp_path / "kb")
    assert list(kb.manifest["languages"]) == ["de", "mul"]
    assert kb.manifest["entities"] == 1


def test_a_base_upon_a_base(tmp_path):
    first = [(e("x:1", 5.0), [Name("de", "Wien", Flag.LABEL)]), (e("x:2"), [Name("de", "Linz")])]
    build([Rows(first)], tmp_path / "one")
    more = Rows([(e("x:1", 2.0, "other"), [Name("en", "Vienna")])])
    more.name = "more"
    build([Base(tmp_path / "one"), more], tmp_path / "two")
    kb = KnowledgeBase.open(tmp_path / "two")
    assert found(kb, "de", "Wien") == found(kb, "en", "Vienna") == ["x:1"]
    assert kb.category_name(0) == "city"
    assert [part["name"] for part in kb.manifest["sources"]] == ["rows", "more"]
    assert kb.names(0) == [Name("de", "Wien", Flag.LABEL), Name("en", "Vienna")]
    with pytest.raises(UsageError, match="no names in language 'xx'; known: de, en"):
        kb.check_language("xx")
    build([Base(tmp_path / "two")], tmp_path / "same")
    assert KnowledgeBase.open(tmp_path / "same").signature == kb.signature


def test_refusals(tmp_path):
    rows = [(e("x:1"), [Name("de", "Wien")])]
    build([Rows(rows)], tmp_path / "kb")
    with pytest.raises(UsageError, match="exists already; force=True"):
        build([Rows(rows)], tmp_path / "kb")
    build([Rows(rows)], tmp_path / "kb", force=True)
    (tmp_path / "precious").mkdir()
    with pytest.raises(UsageError, match="is not a knowledge base, and is not replaced"):
        build([Rows(rows)], tmp_path / "precious", force=True)
    for bad, message in (
        ([(e("x:1"), [Name("de", "  ")])], "no names were found"),
        ([(e("x:1"), [Name("de", "\u00ad")])], "no names were found in it"),  # only a mark
        ([(e("Q1"), [Name("de", "Wien")])], "rows: 'Q1' is no id"),
        ([(e(f"x:{i}", category=f"c{i}"), [Name("en", "a")]) for i in range(300)],
         "expected 256 at most"),
    ):  # fmt: skip
        with pytest.raises(InputError, match=message):
            build([Rows(bad)], tmp_path / "none")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["kb", "precious"]
    with pytest.raises(InputError, match="no such knowledge base"):
        KnowledgeBase.open(tmp_path / "nowhere")
    with pytest.raises(InputError, match=r"is not a knowledge base: it has no manifest.json"):
        KnowledgeBase.open(tmp_path / "precious")
    (tmp_path / "kb" / "flags.npy").write_bytes(b"x")
    with pytest.raises(InputError, match=r"flags.npy: is damaged"):
        KnowledgeBase.open(tmp_path / "kb")
    manifest = tmp_path / "kb" / "manifest.json"
    manifest.write_text(manifest.read_text().replace('"format": 2', '"format": 1'))
    with pytest.raises(InputError, match="is of format 1, expected 2: build it again"):
        KnowledgeBase.open(tmp_path / "kb")


def test_control_characters_in_names_categories_and_claims(tmp_path):
    rows = [
        (e("x:1", category="a\tb\nc", same_as=("y:\t1",)), [Name("de", "Wi\0en"), Name("de", "x")])
    ]
    build([Rows(rows)], tmp_path / "kb")
    kb = KnowledgeBase.open(tmp_path / "kb")
    assert kb.category_name(0) == "a\tb\nc"
    assert kb.manifest["languages"] == {"de": 1}  # tries hold no NUL


@pytest.mark.parametrize("damage", ["header", "npz", "dtype"])
def test_a_file_that_is_not_ours(tmp_path, damage):
    base = tmp_path / "kb"
    build([Rows([(e("x:1"), [Name("de", "Wien")]), (e("x:2"), [Name("de", "Graz")])])], base)
    path = base / "flags.npy"
    good = path.read_bytes()
    if damage == "header":
        path.write_bytes(good.replace(b"{'descr'", b"{((scr'"))
    elif damage == "npz":
        with path.open("wb") as stream:
            np.savez(stream, other=np.arange(3))
    else:
        np.save(path, np.zeros((2, 2)))
    with pytest.raises(InputError, match=r"flags.npy: is damaged"):
        KnowledgeBase.open(base)
    (base / "manifest.json").write_text("{}")
    with pytest.raises(InputError, match="build it again"):
        KnowledgeBase.open(base)


# -- spellings

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


def test_many_blocks(tmp_path):
    # One block holds 4,096 names.
    names = [
        [Name("en", f"{word} {n}") for word in ("mcX", "Mcx", "plain", "eTa")] for n in range(1500)
    ]
    build([Rows([(Entity(f"x:{n}", "term"), own) for n, own in enumerate(names)])], tmp_path / "kb")
    kb = KnowledgeBase.open(tmp_path / "kb")
    for n, own in list(enumerate(names))[::70]:
        entity = kb.entity(f"x:{n}")
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
