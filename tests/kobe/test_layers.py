"""A base that lies upon another is what a base built whole would be."""

from __future__ import annotations

import json
import shutil
from itertools import count

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steelyard.core.errors import InputError, UsageError
from steelyard.kobe.base.build import build
from steelyard.kobe.base.knowledge import Base, KnowledgeBase
from steelyard.kobe.base.layers import Layers, add
from steelyard.kobe.base.codec import Entity, Flag, Name
from steelyard.kobe.linking.linker import DictionaryLinker
from steelyard.kobe.options import LinkOptions


class Rows:
    """A source that is a list."""

    version, licence, position = "1", "none", 0

    def __init__(self, rows, name="rows"):
        self.data, self.name = rows, name

    def fingerprint(self):
        return f"{self.name} {self.data}"

    def rows(self):
        yield from self.data


LANGS = ("de", "en", "mul")
WORDS = ("Aal", "aal", "Berg", "Bergen", "NATO", "New Berg", "Éclair", "straße", "йод", "中文")
NAMES = st.lists(
    st.tuples(st.sampled_from(LANGS), st.sampled_from(WORDS), st.sampled_from([0, 16, 4])),
    min_size=1,
    max_size=5,
)
LOWER = st.lists(
    st.tuples(st.integers(0, 6), st.sampled_from([1.0, 4.5, 5.5]), NAMES, st.booleans()),
    min_size=1,
    max_size=8,
)
UPPER = st.lists(
    st.tuples(
        st.integers(0, 6),
        st.sampled_from([1.0, 5.0, 9.0]),
        NAMES,
        st.sampled_from([(), ("x:1",), ("o:2",), ("x:3", "gn:9")]),
        st.booleans(),
    ),
    min_size=1,
    max_size=5,
)
TEXTS = ["Der Berg und der Aal von New Berg.", "aal NATO Bergen Éclair", "Straße йод 中文", *WORDS]
folders = count()


def of_lower(rows):
    for n, prior, names, claims in rows:
        category, tier = ("city", "country", "term")[n % 3], n % 2
        same = (f"o:{n}",) if claims else ()
        yield Entity(f"x:{n}", category, tier, prior, same), [Name(*name) for name in names]


def of_upper(rows):
    for n, prior, names, same, known in rows:
        id_, also = (f"x:{n}", ()) if known else (f"zz:{n}", same)
        category = ("term", "product")[n % 2]
        yield Entity(id_, category, 0, prior, also), [Name(*name) for name in names]


def seen(kb):
    """Give all that linking asks of a base, by ids."""
    ids = [kb.external_id(n) for n in range(len(kb))]
    facts = {}
    for number, id_ in enumerate(ids):
        facts[id_] = (
            float(kb.prior[number]), int(kb.tier[number]), kb.category_name(number),
            sorted(kb.names(number)), set(kb.same_as(number)),
            [bool(kb.spoken(lang)[number]) for lang in ("de", "en")],
            bool(kb.shared("de", "en")[number]), kb.entity(id_) == number,
        )  # fmt: skip
    told = {}
    for lang in LANGS:
        for name, key in kb.names_in(lang):
            entities, flags = kb.postings(key)
            assert kb.restored(key) == (lang, name)
            assert kb.key(lang, name) == key
            found = [(n, kb.restored(k)) for n, k in kb.finder(lang)(f"{name} x")]
            told[lang, name] = (
                [ids[e] for e in entities], flags.tolist(), sorted(found), kb.is_stated(key),
                kb.continues(lang)(name[:1]),
                sorted((text, kb.restored(k)) for text, k in kb.starting(lang, name[:1])),
            )  # fmt: skip
    counts = {name: kb.manifest[name] for name in ("entities", "names", "languages", "tiers")}
    return facts, told, counts, kb.manifest["scripts"]


def linked(kb):
    options = [LinkOptions(), LinkOptions(inventory="full", tiers=("core", "concept"))]
    pairs = [pair for pair in (("de", "en"), ("en", "de")) if {*pair} <= {*kb.languages}]
    linkers = [DictionaryLinker(kb, chosen) for chosen in options]
    return [
        [(m.start, m.end, linker.name(m.id), m.category) for m in mentions]
        for linker in linkers
        for pair in pairs
        for mentions in linker.link(TEXTS, *pair)
    ]


@given(LOWER, UPPER)
@settings(max_examples=15)
def test_layers_are_as_a_base_built_whole(tmp_path_factory, below, above):
    folder = tmp_path_factory.mktemp("layers") / str(next(folders))
    below, above = list(of_lower(below)), list(of_upper(above))
    build([Rows(below)], folder / "lower")
    add(Rows(above, "terms"), folder / "upper", upon=str(folder / "lower"))
    build([Rows(below), Rows(above, "terms")], folder / "whole")
    layers, whole = (KnowledgeBase.open(folder / name) for name in ("upper", "whole"))
    assert isinstance(layers, Layers)
    assert seen(layers) == seen(whole)
    assert linked(layers) == linked(whole)


def test_in_place_and_built_upon(tmp_path):
    below = list(
        of_lower([(n, 4.5, [("de", WORDS[n], 0), ("en", "Aal", 16)], True) for n in range(6)])
    )
    above = list(of_upper([(n, 9.0, [("en", WORDS[-n], 0)], ("o:2",), n > 2) for n in range(6)]))
    build([Rows(below), Rows(above, "terms")], tmp_path / "whole")
    expected = seen(KnowledgeBase.open(tmp_path / "whole"))
    build([Rows(below)], tmp_path / "lower")
    add(Rows(above, "terms"), tmp_path / "lower")
    assert seen(KnowledgeBase.open(tmp_path / "lower")) == expected
    build([Base(tmp_path / "lower")], tmp_path / "again")
    assert seen(KnowledgeBase.open(tmp_path / "again")) == expected


def row(id_, text, lang="en", **more):
    return Entity(id_, "term", 0, 9.0, **more), [Name(lang, text, int(Flag.LABEL))]


def texts(folder):
    kb = KnowledgeBase.open(folder)
    return sorted(name.text for n in range(len(kb)) for name in kb.names(n))


@pytest.fixture
def lower(tmp_path):
    build([Rows([row("x:1", "Vienna")])], tmp_path / "lower")
    return tmp_path / "lower"


@pytest.mark.parametrize("place", ["new", "inside"])
def test_files_are_added_and_replaced(tmp_path, lower, place):
    folder = lower if place == "inside" else tmp_path / "upper"
    upon = str(lower) if place == "new" else None
    add(Rows([row("t:1", "anvil"), row("t:2", "sled")], "a.csv"), folder, upon=upon)
    add(Rows([row("x:1", "Wien", "de")], "b.csv"), folder)
    assert texts(folder) == ["Vienna", "Wien", "anvil", "sled"]
    first = KnowledgeBase.open(folder).signature
    add(Rows([row("t:1", "hammer")], "a.csv"), folder)
    assert texts(folder) == ["Vienna", "Wien", "hammer"]
    kb = KnowledgeBase.open(folder)
    assert kb.signature != first
    assert [source["name"] for source in kb.manifest["sources"]] == ["rows", "b.csv", "a.csv"]
    assert [layer["names"] for layer in kb.manifest["layers"]] == [1, 2]
    assert (kb.label(0, "en"), kb.label(0, "de")) == ("Vienna", "Wien")
    assert kb.owner("t:1") == 1


def test_a_layer_upon_a_layer(tmp_path, lower):
    add(Rows([row("t:1", "anvil")], "a"), tmp_path / "one", upon=str(lower))
    add(Rows([row("t:2", "sled"), row("t:1", "Amboss", "de")], "b"), tmp_path / "two",
        upon=str(tmp_path / "one"))  # fmt: skip
    kb = KnowledgeBase.open(tmp_path / "two")
    assert [kb.external_id(n) for n in range(len(kb))] == ["x:1", "t:1", "t:2"]
    assert texts(tmp_path / "two") == ["Amboss", "Vienna", "anvil", "sled"]
    assert len(kb.manifest["layers"]) == 3
    assert np.flatnonzero(kb.shared("de", "en")).tolist() == [1]


def test_two_ids_of_one_source_stay_two(tmp_path):
    build([Rows([row("wd:Q1", "Vienna", same_as=("gn:1",))])], tmp_path / "lower")
    own = [row("wd:Q2", "Wien", same_as=("gn:1",)), row("t:1", "Wean", same_as=("gn:1",))]
    add(Rows(own, "a"), tmp_path / "upper", upon=str(tmp_path / "lower"))
    kb = KnowledgeBase.open(tmp_path / "upper")
    assert [kb.external_id(n) for n in range(len(kb))] == ["wd:Q1", "wd:Q2"]


def test_moved_together(tmp_path, lower):
    add(Rows([row("t:1", "anvil")], "a"), tmp_path / "upper", upon=str(lower))
    (tmp_path / "there").mkdir()
    for name in ("lower", "upper"):
        (tmp_path / name).rename(tmp_path / "there" / name)
    assert texts(tmp_path / "there" / "upper") == ["Vienna", "anvil"]


def test_what_it_lies_upon_is_gone_or_another(tmp_path, lower):
    upper = tmp_path / "upper"
    add(Rows([row("t:1", "anvil")], "a"), upper, upon=str(lower))
    build([Rows([row("x:1", "Wien")])], lower, force=True)
    with pytest.raises(InputError, match=r"upper: lies upon .*lower as it was before \(.*kb add"):
        KnowledgeBase.open(upper)
    add(Rows([row("t:1", "anvil")], "a"), upper)
    assert texts(upper) == ["Wien", "anvil"]
    shutil.rmtree(lower)
    with pytest.raises(InputError, match=r"upper: lies upon the .*lower, which is not there"):
        KnowledgeBase.open(upper)
    with pytest.raises(UsageError, match="can't lie upon itself"):
        add(Rows([row("t:1", "anvil")], "a"), upper, upon=str(upper), force=True)


def test_damaged(tmp_path, lower):
    upper = tmp_path / "upper"
    add(Rows([row("t:1", "anvil")], "a"), upper, upon=str(lower))
    (upper / "added.jsonl").write_text("no json\n")
    with pytest.raises(InputError, match=r"added.jsonl: is damaged .*: add all files again"):
        add(Rows([row("t:1", "anvil")], "b"), upper)
    manifest = json.loads((upper / "manifest.json").read_text())
    manifest["upon"] = 3
    (upper / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(InputError, match=r"upper: .*'upon'.*build it again"):
        KnowledgeBase.open(upper)
