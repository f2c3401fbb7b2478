"""Each source of knowledge on small inputs, good and bad."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import sys

import pytest

from make_base.cldr import Cldr, language_codes
from make_base.places import cities, city_entity
from steelyard.core.errors import InputError, UsageError
from steelyard.kobe.base.build import build
from steelyard.kobe.base.codec import CONCEPT, CORE, Entity, Flag, Name, Source
from steelyard.kobe.base.knowledge import KnowledgeBase
from steelyard.kobe.base.sources import TERM_PRIOR, AliasTable, Wikidata, counted, read_glossary
from steelyard.kobe.languages import known

LANGS = frozenset({"cs", "de", "en", "he", "ja", "ru", "zh"})


@pytest.fixture(scope="module")
def cldr():
    found: dict[str, tuple[Entity, set[tuple[str, str]]]] = {}
    for entity, names in Cldr(LANGS).rows():
        found.setdefault(entity.id, (entity, set()))[1].update((n.lang, n.text) for n in names)
    return found


# -- CLDR and GeoNames


def test_cldr_names(cldr):
    def names(id_):
        return cldr[id_][1]

    assert {("de", "Deutschland"), ("ja", "ドイツ"), ("ru", "Германия")} <= names("wd:Q183")
    assert ("en", "United States") in names("wd:Q30")
    assert {("ru", "март"), ("ru", "марта"), ("he", "מרץ"), ("zh", "三月")} <= names("month:3")
    assert {("de", "Montag"), ("de", "Mo."), ("cs", "pondělí")} <= names("dow:0")
    assert {("en", "euros"), ("de", "€"), ("mul", "EUR")} <= names("cur:EUR")
    assert {("ru", "долларов"), ("en", "dollars"), ("de", "Dollar")} <= names("cur:USD")
    assert ("cs", "korun") in names("cur:CZK")
    assert ("en", "won") not in names("cur:KRW")
    assert {("de", "Deutsch"), ("cs", "němčina")} <= names("lang:de")
    assert ("de", "Kyrillisch") in names("script:Cyrl")
    assert {("de", "Kilometer"), ("ru", "километров"), ("en", "km")} <= names(
        "unit:length-kilometer"
    )
    assert {("de", "Wien"), ("ja", "ウィーン")} <= names("gn:2761369")
    assert {("en", "kilometres"), ("en", "kilometers")} <= names("unit:length-kilometer")
    assert {("en", "Myanmar"), ("en", "Burma")} <= names("wd:Q836")
    assert not any(lang not in LANGS | {"mul"} for _, own in cldr.values() for lang, _ in own)


def test_cldr_does_not_depend_on_what_babel_was_asked_before(cldr):
    from babel import Locale

    # Babel itself gives Chinese names of months in Hebrew after these two lines.
    assert Locale.parse("zh").months["stand-alone"]["wide"][3]
    assert Locale.parse("he").months["stand-alone"]["wide"][3]
    again = {entity.id: names for entity, names in Cldr(frozenset({"he"})).rows()}
    assert {name.text for name in again["month:3"]} == {"מרץ"}


def test_abbreviations_of_units_that_differ_by_a_capital(cldr):
    def texts(id_):
        return {(lang, text.casefold()) for lang, text in cldr[id_][1]}

    assert ("ru", "мл") in texts("unit:volume-milliliter") - texts("unit:volume-megaliter")
    assert ("en", "mb") in texts("unit:digital-megabyte") - texts("unit:digital-megabit")
    assert ("en", "megaliters") in texts("unit:volume-megaliter")


def test_the_shipped_codes_are_those_of_cldr():
    assert sorted(known()) == language_codes()


# -- Wikidata


def item(id_, labels, *, aliases=None, links=9, classes=("Q5",), **claims):
    def statement(value, rank="normal"):
        return {"mainsnak": {"snaktype": "value", "datavalue": {"value": value}}, "rank": rank}

    found = {"P31": [statement({"id": c}) for c in classes]} if classes else {}
    for name, values in claims.items():
        found[name] = [statement(v) for v in values]
    return {
        "type": "item", "id": id_,
        "labels": {k: {"language": k, "value": v} for k, v in labels.items()},
        "aliases": {
            k: [{"language": k, "value": v} for v in vs] for k, vs in (aliases or {}).items()
        } or [],
        "claims": found or [],
        "sitelinks": {f"l{i}wiki": {} for i in range(links)} | {"commonswiki": {}},
    }  # fmt: skip


ITEMS = [
    item("Q64", {"en": "Berlin", "zh-hant": "柏林", "de": "Berlin"}, aliases={"en": ["B"]},
         links=100, classes=("Q515",), P1566=["2950159"]),
    item("Q183", {"en": "Germany"}, classes=("Q6256",), P297=["DE"],
         P1549=[{"text": "German", "language": "en"}, {"text": "Deutscher", "language": "de"}]),
    item("Q1", {"en": "Berlin"}, classes=("Q4167410",)),
    item("Q2", {"en": "Rare One"}, links=2),
    item("Q3", {"mul": "Ada Lovelace"}),
    item("Q4", {"en": "table"}, classes=(), P279=[{"id": "Q999"}]),
    item("Q6", {"en": "thingummy"}, classes=("Q999",)),
    {"type": "property", "id": "P31", "labels": {"en": {"language": "en", "value": "instance"}}},
]  # fmt: skip


def dumped(items):
    return ("[\n" + ",\n".join(json.dumps(i, ensure_ascii=False) for i in items) + "\n]\n").encode()


@pytest.mark.parametrize("pack", [bytes, gzip.compress, bz2.compress])
def test_wikidata(tmp_path, pack):
    path = tmp_path / "dump"
    path.write_bytes(pack(dumped(ITEMS)))
    rows = {entity.id: (entity, names) for entity, names in Wikidata(path).rows()}
    assert list(rows) == ["wd:Q64", "wd:Q183", "wd:Q183:dem", "wd:Q3", "wd:Q4", "wd:Q6"]
    berlin, names = rows["wd:Q64"]
    assert berlin == Entity("wd:Q64", "city", CORE, 6.0, ("gn:2950159",))
    assert Name("zh", "柏林", 16) in names
    assert Name("en", "B") in names
    assert rows["wd:Q183"][0].same_as == ("iso:DE",)
    assert rows["wd:Q183:dem"][0].category == "demonym"
    assert rows["wd:Q183:dem"][1] == [Name("en", "German", 32), Name("de", "Deutscher", 32)]
    assert rows["wd:Q3"][1] == [Name("mul", "Ada Lovelace", 16)]
    assert (rows["wd:Q4"][0].category, rows["wd:Q4"][0].tier) == ("concept", CONCEPT)
    assert (rows["wd:Q6"][0].category, rows["wd:Q6"][0].tier) == ("concept", CONCEPT)
    assert [e.id for e, _ in Wikidata(path, min_sitelinks=0).rows()][3] == "wd:Q2"


def test_wikidata_from_a_pipe(monkeypatch):
    stream = io.TextIOWrapper(io.BytesIO(dumped(ITEMS)))
    monkeypatch.setattr(sys, "stdin", stream)
    assert len(list(Wikidata("-").rows())) == 6


class Berlin:
    """One city of GeoNames."""

    name, version, licence = "geonames", "1", "CC-BY-4.0"

    def rows(self):
        (city,) = [city for city in cities() if city["geonameid"] == 2950159]
        yield city_entity(city), [Name("mul", name) for name in city["alternatenames"]]


def test_wikidata_joins_the_embedded_records(tmp_path):
    (tmp_path / "dump").write_bytes(dumped(ITEMS))
    sources: list[Source] = [Cldr(frozenset({"de"})), Berlin(), Wikidata(tmp_path / "dump")]
    build(sources, tmp_path / "kb")
    kb = KnowledgeBase.open(tmp_path / "kb")
    berlin, germany = kb.entity("wd:Q64"), kb.entity("wd:Q183")
    assert {"柏林", "Берлин", "B"} <= {name.text for name in kb.names(berlin)}
    assert kb.entity("gn:2950159") is None
    assert kb.same_as(germany) == ["wd:Q183", "iso:DE", "gn:2921044"]


# -- tables


TABLE = (
    "tier\tid\tcategory\tlang\talias\tprior\n"
    "core\tgn:1\tcity\tde\tWien\t99999\ncore\tgn:1\tcity\ten\tVienna\t99999\n"
    "concept\twn:1-n\tnoun.animal\ten\tdog\t99\n"
)


def test_alias_table(tmp_path):
    path = tmp_path / "names.tsv"
    path.write_text(TABLE)
    (wien, names), (dog, _) = AliasTable(path).rows()
    assert wien == Entity("gn:1", "city", CORE, 5.0)
    assert names == [Name("de", "Wien"), Name("en", "Vienna")]
    assert dog == Entity("wn:1-n", "noun.animal", CONCEPT, 2.0)
    path.write_text("id\tlang\talias\nx:1\ten\tdog\n")
    assert next(AliasTable(path).rows())[0] == Entity("x:1", "other", CORE, 0.0)


def test_alias_table_of_plain_items(tmp_path):
    path = tmp_path / "names.tsv"
    path.write_text("id\tlang\tname\nQ567\ten\tAngela Merkel\n")
    ((entity, names),) = AliasTable(path).rows()
    assert (entity.id, names) == ("wd:Q567", [Name("en", "Angela Merkel")])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("alias", "nom"), r":1: column 'alias' is missing; found: tier, id"),
        (("\ten\tdog", "\te\tdog"), r":4: unknown language code 'e'"),
        (("\ten\tdog", "\ten"), r":4: 5 fields, expected 6"),
        (("\t99\n", "\tmany\n"), r":4: prior 'many' is not a number"),
        (("dog", "d\xf6g"), r":4: byte 0xf6 is not UTF-8"),
    ],
)
def test_bad_alias_tables(tmp_path, change, message):
    path = tmp_path / "names.tsv"
    path.write_text(TABLE.replace(*change), encoding="latin-1")
    with pytest.raises(InputError, match=f"names.tsv{message}"):
        list(AliasTable(path).rows())


# -- terminologies


def test_terms_in_columns(tmp_path):
    path = tmp_path / "terms.csv"
    path.write_text(
        "id,category,en,de-AT\n"
        "acme:1,product,Rocket Sled|ACME Sled,Raketenschlitten\n,brand,Anvil & Co,\n"
    )
    (sled, names), (anvil, _) = read_glossary(path).rows
    assert sled == Entity("acme:1", "product", CORE, TERM_PRIOR)
    assert names == [
        Name("en", "Rocket Sled", 16),
        Name("en", "ACME Sled"),
        Name("de", "Raketenschlitten", 16),
    ]
    assert anvil.id == "term:anvil_&_co"


def test_terms_in_rows(tmp_path):
    path = tmp_path / "terms.tsv"
    path.write_text("concept\tlanguage\tterm\n7\ten\tanvil\n7\tde\tAmboss\n")
    rows = read_glossary(path).rows
    assert [entity.id for entity, _ in rows] == ["term:7", "term:7"]


def test_a_pair_is_two_languages(tmp_path):
    (tmp_path / "terms.csv").write_text("source,target\na,b\n")
    with pytest.raises(UsageError, match="lp='en', expected two languages"):
        read_glossary(tmp_path / "terms.csv", lp="en")


@pytest.mark.parametrize(
    ("text", "lp", "expected"),
    [
        ("source,target\nbrake pad,Bremsbelag\n", "en-de", "en brake pad, de Bremsbelag"),
        (
            "\ufeffen-US;de\nsettings;Einstellungen\n",
            None,
            "en settings, de Einstellungen",
        ),
        ("term_en,term_de,Definition\na,b,said, by\n".replace("said, by", "x"), None, "en a, de b"),
        ("Language\tTerm\nen-GB\tanvil\n", None, "en anvil"),
        ("en;de;\na;b;\n", None, "en a, de b"),
        ('en,de\n"a ""b""\nc",d\n', None, 'en a "b"\nc, de d'),
        ("en,fr,status\na,b,Preferred\n", None, "en a, fr b"),
        ("en,case sensitive\nApple,no\n", None, "en Apple, en apple"),
    ],
)
def test_glossaries_as_people_have_them(tmp_path, text, lp, expected):
    path = tmp_path / "terms.csv"
    path.write_text(text)
    rows = read_glossary(path, lp=lp).rows
    assert len(rows) == 1
    assert ", ".join(f"{name.lang} {name.text}" for name in rows[0][1]) == expected


def test_terms_are_counted(tmp_path):
    path = tmp_path / "terms.csv"
    path.write_text("en,de,status,case sensitive\na|b,c,,\nd,,deprecated,\nApple,,,yes\n")
    assert [entity.category for entity, _ in read_glossary(path).rows] == ["term", "term", "name"]
    assert counted(read_glossary(path)) == {
        "terms": 2, "names": 4, "languages": {"de": 1, "en": 3}, "forbidden": 1,
    }  # fmt: skip


TBX2 = """<?xml version="1.0"?>
<!DOCTYPE martif SYSTEM "TBXcoreStructV02.dtd">
<martif type="TBX"><text><body>
<termEntry id="c1"><langSet xml:lang="en"><tig><term>hard <hi>disk</hi></term></tig>
<tig><term>HDD</term></tig></langSet><langSet xml:lang="de-DE"><ntig><termGrp>
<term>Festplatte</term></termGrp></ntig></langSet></termEntry></body></text></martif>"""
TBX3 = """<tbx style="dca" xmlns="urn:iso:std:iso:30042:ed-2"><text><body><conceptEntry id="k:9">
<langSec xml:lang="fr"><termSec><term>disque dur</term></termSec></langSec>
</conceptEntry></body></text></tbx>"""


def test_tbx(tmp_path):
    path = tmp_path / "terms.tbx"
    path.write_text(TBX2)
    ((disk, names),) = read_glossary(path).rows
    assert disk.id == "term:c1"
    assert names == [Name("en", "hard disk", 16), Name("en", "HDD"), Name("de", "Festplatte", 16)]
    path.write_text(TBX3)
    ((disk, names),) = read_glossary(path).rows
    assert (disk.id, names) == ("k:9", [Name("fr", "disque dur", 16)])


TBX_STATUS = """\ufeff<?xml version="1.0" encoding="UTF-8"?>
<t:martif xmlns:t="urn:x" type="TBX-Basic"><t:text><t:body>
<t:termEntry><t:langSet xml:lang="en_US">
<t:tig><t:term>laptop</t:term>
<t:termNote type="administrativeStatus">preferredTerm-admn-sts</t:termNote></t:tig>
<t:tig><t:term>portable</t:term>
<t:termNote type="administrativeStatus">deprecatedTerm-admn-sts</t:termNote></t:tig></t:langSet>
<t:langSet xml:lang="de"><t:ntig><t:termGrp><t:term>Klapprechner</t:term>
<t:termNote type="normativeAuthorization">forbidden</t:termNote></t:termGrp></t:ntig>
<t:tig><t:term>Laptop</t:term></t:tig></t:langSet></t:termEntry>
</t:body></t:text></t:martif>"""
TBX_DCT = """<tbx type="TBX-Core" style="dct" xml:lang="en" xmlns="urn:iso:std:iso:30042:ed-2"
 xmlns:min="http://www.tbxinfo.net/ns/min"><text><body><conceptEntry id="c5">
<langSec xml:lang="en-GB"><termSec><term>anvil</term>
<min:administrativeStatus>supersededTerm-admn-sts</min:administrativeStatus></termSec>
<termSec><term>stithy</term></termSec></langSec></conceptEntry></body></text></tbx>"""


@pytest.mark.parametrize(
    ("text", "expected", "banned"),
    [
        (TBX_STATUS, ["laptop", "Laptop"], ["portable", "Klapprechner"]),
        (TBX_DCT, ["stithy"], ["anvil"]),
    ],
)
def test_forbidden_terms_of_tbx(tmp_path, text, expected, banned):
    path = tmp_path / "terms.tbx"
    path.write_text(text)
    glossary = read_glossary(path)
    ((_, names),) = glossary.rows
    assert [name.text for name in names if name.flags & Flag.LABEL] == expected
    assert [name.text for name in names if name.flags & Flag.FORBIDDEN] == banned
    assert counted(glossary)["forbidden"] == len(banned)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("id,lang,category\n1,en,x\n", r".* no names: column 'alias' or 'lang' is missing"),
        ("id,alias\n1,x\n", r".* column 'alias' or 'lang' is missing"),
        ("id,colour\n1,x\n", r".* column 'colour' is no language; expected 'lang' and 'alias'"),
        ("", r".*empty"),
        ("lang,alias\nen,x\nxq,y\n", r":3: unknown language code 'xq'"),
        ("source,target\na,b\n", r".* column 'source' does not say its language"),
        ("en,en\na,b\n", ""),
        ("en,de\na,b,c\n", ""),
        (TBX2.replace("</martif>", ""), r":6: not valid XML: no element found"),
        (TBX2.replace("de-DE", "xq"), r": unknown language code 'xq'"),
        ('<?xml version="1.0"?><!DOCTYPE a [<!ENTITY b "c">]><a/>', r":1: declares a DTD"),
        ("<tbx><text/></tbx>", r": no terms: expected TBX"),
    ],
)
def test_bad_glossaries(tmp_path, text, message):
    name = "terms.tbx" if text.startswith("<") else "terms.csv"
    (tmp_path / name).write_text(text)
    with pytest.raises(InputError, match=f"{name}{message}"):
        read_glossary(tmp_path / name)
