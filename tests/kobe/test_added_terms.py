"""Terms that are added to a base link as those of a base built whole."""

from __future__ import annotations

import json
import shutil
from itertools import count

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from steelyard.core.errors import InputError, UsageError
from steelyard.kobe.base.build import build
from steelyard.kobe.base.codec import Entity, Flag, Name
from steelyard.kobe.base.glossary import add
from steelyard.kobe.base.knowledge import Base, Glossary, KnowledgeBase
from steelyard.kobe.linking.linker import DictionaryLinker
from steelyard.kobe.options import LinkOptions


class Rows:
    """A source that is a list."""

    version, licence = "1", "none"

    def __init__(self, rows, name="rows"):
        self.data, self.name = rows, name

    def rows(self):
        yield from self.data


def terms(rows, name="terms"):
    return Glossary(name, "1", "yours", list(rows))


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
        for name, key in kb.starting(lang, ""):
            entities, flags = kb.postings(key)
            if kb.restored(key)[0] != lang:
                continue
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
@settings(max_examples=15, phases=[Phase.explicit, Phase.generate])  # to shrink takes minutes
def test_added_terms_are_as_a_base_built_whole(tmp_path_factory, below, above):
    folder = tmp_path_factory.mktemp("layers") / str(next(folders))
    below, above = list(of_lower(below)), list(of_upper(above))
    build([Rows(below)], folder / "lower")
    layers = add(terms(above), folder / "upper", upon=str(folder / "lower"))
    build([Rows(below), Rows(above, "terms")], folder / "whole")
    whole = KnowledgeBase.open(folder / "whole")
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
    add(terms(above), tmp_path / "lower")
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
    add(terms([row("t:1", "anvil"), row("t:2", "sled")], "a.csv"), folder, upon=upon)
    add(terms([row("x:1", "Wien", "de")], "b.csv"), folder)
    assert texts(folder) == ["Vienna", "Wien", "anvil", "sled"]
    first = KnowledgeBase.open(folder).signature
    add(terms([row("t:1", "hammer")], "a.csv"), folder)
    assert texts(folder) == ["Vienna", "Wien", "hammer"]
    kb = KnowledgeBase.open(folder)
    assert kb.signature != first
    assert [source["name"] for source in kb.manifest["sources"]] == ["rows", "b.csv", "a.csv"]
    assert (kb.label(0, "en"), kb.label(0, "de")) == ("Vienna", "Wien")
    assert kb.owner("t:1") == 1


def test_terms_upon_terms(tmp_path, lower):
    add(terms([row("t:1", "anvil")], "a"), tmp_path / "one", upon=str(lower))
    add(terms([row("t:2", "sled"), row("t:1", "Amboss", "de")], "b"), tmp_path / "two",
        upon=str(tmp_path / "one"))  # fmt: skip
    kb = KnowledgeBase.open(tmp_path / "two")
    assert [kb.external_id(n) for n in range(len(kb))] == ["x:1", "t:1", "t:2"]
    assert texts(tmp_path / "two") == ["Amboss", "Vienna", "anvil", "sled"]
    assert np.flatnonzero(kb.shared("de", "en")).tolist() == [1]


def test_two_ids_of_one_source_stay_two(tmp_path):
    build([Rows([row("wd:Q1", "Vienna", same_as=("gn:1",))])], tmp_path / "lower")
    own = [row("wd:Q2", "Wien", same_as=("gn:1",)), row("t:1", "Wean", same_as=("gn:1",))]
    add(terms(own, "a"), tmp_path / "upper", upon=str(tmp_path / "lower"))
    kb = KnowledgeBase.open(tmp_path / "upper")
    assert [kb.external_id(n) for n in range(len(kb))] == ["wd:Q1", "wd:Q2"]


def test_moved_together(tmp_path, lower):
    add(terms([row("t:1", "anvil")], "a"), tmp_path / "upper", upon=str(lower))
    (tmp_path / "there").mkdir()
    for name in ("lower", "upper"):
        (tmp_path / name).rename(tmp_path / "there" / name)
    assert texts(tmp_path / "there" / "upper") == ["Vienna", "anvil"]


def test_what_it_lies_upon_is_gone_or_another(tmp_path, lower):
    upper = tmp_path / "upper"
    add(terms([row("t:1", "anvil")], "a"), upper, upon=str(lower))
    build([Rows([row("x:1", "Wien")])], lower, force=True)
    assert texts(upper) == ["Wien", "anvil"]
    with pytest.raises(UsageError, match="exists already; force=True"):
        add(terms([row("t:1", "anvil")]), upper, upon=str(lower))
    with pytest.raises(UsageError, match="can't lie upon itself"):
        add(terms([row("t:1", "anvil")], "a"), upper, upon=str(upper), force=True)
    shutil.rmtree(lower)
    with pytest.raises(InputError, match=r"upper: lies upon the .*lower, which is not there"):
        KnowledgeBase.open(upper)


def test_forbidden_names_are_kept_and_never_linked(tmp_path, lower):
    banned = int(Flag.FORBIDDEN)
    rows = [
        (Entity("t:1", "term", 0, 9.0), [Name("en", "laptop", 16), Name("en", "portable", banned)]),
        (Entity("t:1", "term", 0, 9.0), [Name("de", "Laptop", 16), Name("de", "Klapp", banned)]),
        (Entity("t:2", "term", 0, 9.0), [Name("en", "Vienna", banned)]),
    ]
    kb = add(terms(rows), tmp_path / "upper", upon=str(lower))
    number = kb.entity("t:1")
    assert number is not None
    assert kb.forbidden("en") == [("portable", number), ("Vienna", kb.entity("t:2"))]
    assert kb.forbidden("de") == [("Klapp", number)]
    assert kb.forbidden("fr") == []
    assert [name.text for name in kb.names(number, ("en",))] == ["laptop"]
    linker = DictionaryLinker(kb, LinkOptions(inventory="full"))
    (mentions,) = linker.link(["A portable laptop in Vienna"], "en", "de")
    assert [(m.text, linker.name(m.id)) for m in mentions] == [("laptop", "t:1"), ("Vienna", "x:1")]
    build([Base(tmp_path / "upper")], tmp_path / "whole")
    assert "portable" not in texts(tmp_path / "whole")


@pytest.mark.parametrize(
    ("lang", "term", "text", "expected"),
    [
        ("de", "Klausel", "die Klauselart der Klauseln", ["Klausel", "Klauseln"]),
        ("de", "bedarfsorientiert", "bedarfsorientierte Planung", ["bedarfsorientierte"]),
        ("de", "jährlicher Bericht", "des jährlichen Berichts", ["jährlichen Berichts"]),
        ("ru", "тип", "типа, типов", ["типа", "типов"]),
        ("de", "Bericht", "Berichterstatter", ["Bericht"]),
        ("de", "Rat", "der Ratte", []),
    ],
)
def test_terms_in_other_forms(tmp_path, lang, term, text, expected):
    rows = [(Entity("t:1", "term", 0, 9.0), [Name(lang, term, 16), Name("en", "x y", 16)])]
    build([Rows([row("x:1", "Wien", lang), row("x:1", "Vienna")])], tmp_path / "lower")
    kb = add(terms(rows), tmp_path / "upper", upon=str(tmp_path / "lower"))
    (mentions,) = DictionaryLinker(kb).link([text], lang, "en")
    assert [mention.text for mention in mentions] == expected


@pytest.mark.parametrize(
    "line",
    ["no json", "3", '{"name": "a"}', '{"name": "a", "version": "1", "licence": "", "rows": 5}',
     '{"name": "a", "version": "1", "licence": "", "rows": [[["x:1"], []]]}'],
)  # fmt: skip
def test_damaged(tmp_path, lower, line):
    upper = tmp_path / "upper"
    add(terms([row("t:1", "anvil")], "a"), upper, upon=str(lower))
    (upper / "terms.jsonl").write_text(f"{line}\n")
    with pytest.raises(InputError, match=r"terms.jsonl: is damaged .*: add all files again"):
        KnowledgeBase.open(upper)
    with pytest.raises(InputError, match=r"terms.jsonl: is damaged"):
        add(terms([row("t:1", "anvil")], "b"), upper)


@pytest.mark.parametrize("upon", [3, {"base": 5}, {}])
def test_damaged_manifest(tmp_path, lower, upon):
    upper = tmp_path / "upper"
    add(terms([row("t:1", "anvil")], "a"), upper, upon=str(lower))
    manifest = json.loads((upper / "manifest.json").read_text())
    (upper / "manifest.json").write_text(json.dumps(manifest | {"upon": upon}))
    with pytest.raises(InputError, match=r"upper: .*'upon'.*build it again"):
        KnowledgeBase.open(upper)
    (upper / "manifest.json").write_text(json.dumps(manifest | {"upon": {"base": str(upper)}}))
    with pytest.raises(InputError, match=r"upper: lies upon itself"):
        KnowledgeBase.open(upper)
