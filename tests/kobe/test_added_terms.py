"""Terms: added to a base, found in any form, and rendered by a translation."""

from __future__ import annotations

import itertools
import json
import shutil

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.kobe.conftest import Rows

from steelyard.core.errors import InputError, UsageError
from steelyard.formats.bitext import GlossaryTerm
from steelyard.kobe.base.build import build
from steelyard.kobe.base.codec import Entity, Flag, Name
from steelyard.kobe.base.knowledge import Base, Glossary, KnowledgeBase
from steelyard.kobe.base.sources import add
from steelyard.kobe.linking.linker import DictionaryLinker
from steelyard.kobe.linking.terms import Form, TermFinder, TermPair
from steelyard.kobe.linking.terms import terms as find_terms


def terms(rows, name="terms"):
    return Glossary(name, "1", "yours", list(rows))


def row(id_, text, lang="en", **more):
    return Entity(id_, "term", 0, 9.0, **more), [Name(lang, text, int(Flag.LABEL))]


def texts(folder):
    kb = KnowledgeBase.open(folder)
    added = {name.text for g in kb.glossaries for _, names in g.rows for name in names}
    return sorted({name.text for n in range(len(kb)) for name in kb.names(n)} | added)


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
    assert [name.text for name in kb.names(0)] == ["Wien", "Vienna"]
    assert [name.text for name in kb.names("t:1")] == ["hammer"]
    assert (kb.manifest["entities"], kb.manifest["languages"]) == (2, {"de": 1, "en": 2})


def test_terms_upon_terms(tmp_path, lower):
    add(terms([row("t:1", "anvil")], "a"), tmp_path / "one", upon=str(lower))
    add(terms([row("t:2", "sled"), row("t:1", "Amboss", "de")], "b"), tmp_path / "two",
        upon=str(tmp_path / "one"))  # fmt: skip
    kb = KnowledgeBase.open(tmp_path / "two")
    assert texts(tmp_path / "two") == ["Amboss", "Vienna", "anvil", "sled"]
    assert list(kb.terms("de", "en")) == [("t:1", "Amboss", "term")]
    build([Base(tmp_path / "two")], tmp_path / "whole")
    whole = KnowledgeBase.open(tmp_path / "whole")
    assert [whole.external_id(n) for n in range(len(whole))] == ["t:1", "t:2", "x:1"]


def test_a_term_that_states_an_id_of_the_base_is_its_entity(tmp_path):
    build([Rows([row("wd:Q1", "Vienna", same_as=("gn:1",))])], tmp_path / "lower")
    rows = [row("t:1", "Wean", "de", same_as=("gn:1",)), row("t:2", "Wean-Stadt", "de")]
    kb = add(terms(rows, "a"), tmp_path / "upper", upon=str(tmp_path / "lower"))
    linker = DictionaryLinker(kb)
    (source,), (output,) = linker.link(["In Wean"], "de", "en"), linker.link(["Vienna"], "en", "de")
    assert [(m.text, linker.name(m.id)) for m in source] == [("Wean", "wd:Q1")]
    assert [m.id for m in output] == [m.id for m in source]


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
    build([Rows([(row("x:1", "Vienna")[0], [Name("en", "Vienna"), Name("de", "Wien")])])], lower,
          force=True)  # fmt: skip
    kb = add(terms(rows), tmp_path / "upper", upon=str(lower))
    assert [name.text for name in kb.names("t:1", ("en",))] == ["laptop"]
    linker = DictionaryLinker(kb)
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
        ("en", "IT", "IT does it", ["IT"]),
        ("en", "C++", "C++ or C", ["C++"]),
        ("en", "check-in", "the check in, a Check-In", ["check in", "Check-In"]),
        ("zh", "合同条款", "本合同条款有效", ["合同条款"]),
    ],
)
def test_terms_in_other_forms(lang, term, text, expected):
    mentions = TermFinder([Form(term, "t:1")], lang).find(text)
    assert [mention.text for mention in mentions] == expected
    assert [text[m.start : m.end] for m in mentions] == expected


def test_only_what_is_in_a_compound_is_doubtful():
    finder = TermFinder([Form("Klausel", "t:1"), Form("Klauselart", "t:2")], "de")
    mentions = finder.find("Klauselarten, Sonderklauseln, Klausel")
    assert [(m.text, m.id, m.doubtful) for m in mentions] == [
        ("Klauselarten", "t:2", False), ("klausel", "t:1", True), ("Klausel", "t:1", False),
    ]  # fmt: skip


WORDS = ("red", "house", "redhouse", "big", "x")


@given(st.lists(st.lists(st.sampled_from(WORDS), min_size=1, max_size=3), max_size=6),
       st.lists(st.sampled_from(WORDS), max_size=12))  # fmt: skip
def test_matches_are_exclusive_and_maximal(forms, words):
    text = " ".join(words)
    forms = {" ".join(form) for form in forms}
    mentions = TermFinder([Form(form, form) for form in forms], "ga").find(text)
    spans = [(m.start, m.end) for m in mentions]
    assert all(a[1] <= b[0] for a, b in itertools.pairwise(spans))
    padded = f" {text} "
    every = [(at, at + len(f)) for f in forms for at in range(len(text))
             if padded.startswith(f" {f} ", at)]  # fmt: skip
    for start, end in every:  # a naive search finds nothing that is left out and longer
        rivals = [s for s in spans if s[0] < end and start < s[1]]
        assert any(b - a >= end - start for a, b in rivals)
    assert set(spans) <= set(every)


def glossary(*rows):
    return TermPair([GlossaryTerm(*row) for row in rows], "en", "de")


@pytest.mark.parametrize(
    ("rows", "source", "target", "segment", "expected"),
    [
        ([("clause", "Klausel")], "two clauses and a clause", "Klauselarten", None,
         [("kept", "clauses", "Klausel"), ("term", "clause", None)]),
        ([("laptop", "Laptop"), ("laptop", "Notebook")], "a laptop", "ein Notebook", None,
         [("kept", "laptop", "Notebook")]),
        ([("laptop", "Laptop"), ("laptop", "Klapprechner", True)], "a laptop", "Klapprechner", None,
         [("term", "laptop", None), ("forbidden", "laptop", "Klapprechner")]),
        ([("laptop", "Klapprechner", True)], "a computer", "Klapprechner", None, []),
        ([("", "Handy", True)], "a phone", "ein Handy", None, [("forbidden", None, "Handy")]),
        ([("", "Handy", True), ("case", "Handy Hülle")], "case", "eine Handy Hülle", None,
         [("kept", "case", "Handy Hülle")]),
        ([("SAP", "", False, True)], "SAP, SAP", "SAP und sap", None,
         [("kept", "SAP", "SAP"), ("untranslatable", "SAP", None)]),
        ([("Apple", "Apple", False, False, True)], "Apple, apple", "Apfel", None,
         [("term", "Apple", None)]),
        ([("big house", "großes Haus", False, False, False, "7")], "big house", "Haus", "7",
         [("term", "big house", None)]),
        ([("big house", "großes Haus", False, False, False, "7")], "big house", "Haus", "8", []),
        ([("house", "Haus"), ("big house", "Villa")], "a big house", "ein Haus", None,
         [("term", "big house", None)]),
    ],
)  # fmt: skip
def test_terms_of_a_translation(rows, source, target, segment, expected):
    findings = find_terms(source, target, glossary(*rows), segment)
    assert [(f.kind, f.source and f.source.text, f.output and f.output.text)
            for f in findings] == expected  # fmt: skip


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
