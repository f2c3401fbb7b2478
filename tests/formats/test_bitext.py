"""Translation files of other tools: read, refused in one line, and written back with notes."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.cli.main import run
from steelyard.formats.bitext import GlossaryTerm, read_bitext, read_glossary, write_annotated

Refusal = Callable[..., str]
FILES = Path(__file__).parent / "translations"
TEXTS = [("Open %s", "%s öffnen"), ("%d file", "%d Datei"), ("%d files", "%d Dateien")]
LONG = ('She said <b>"yes"</b> & left\non 3.5.2024', "Sie sagte <b>„ja“</b> & ging\nam 3.5.2024")
PRESS = ("Press <pc2>Save</pc2> & 3.5 < 4", "Drücken Sie <pc2>Speichern</pc2> & 3,5 < 4")
PLAIN = tuple(re.sub("</?pc2>", "", text) for text in PRESS)
HELLO = ("Hello {{name}}!", "Hallo {{name}}!")
NONE = ("Not yet", "")
EXPECTED = {
    "npm-xliff12.xlf": ("XLIFF", "en-US", "de-CH", [HELLO, PLAIN, NONE]),
    "npm-xliff20.xlf": ("XLIFF", "en-US", "de-CH", [HELLO, PRESS, NONE]),
    "toolkit.tmx": ("TMX", "en", "de", [*TEXTS, LONG]),
    "gettext.po": ("PO", None, "de", [*TEXTS, ("Close", "")]),
}
INLINE_1 = """<xliff version="1.2"><file source-language="en"><body><trans-unit id="1"><source>Hi \
<g id="1">bold</g> <x id="2"/><ph id="3">%s</ph><bpt id="4">&lt;b&gt;</bpt>q<ept id="4">&lt;/b&gt;\
</ept><ph id="9"/> <mrk mtype="term">t</mrk></source><seg-source>x</seg-source><alt-trans><source>\
no</source><target>no</target></alt-trans></trans-unit><trans-unit id="1"><source/></trans-unit>
</body></file></xliff>"""
INLINE_2 = """<?xml version="1.0" encoding="ENCODING"?>
<x:xliff xmlns:x="urn:oasis:names:tc:xliff:document:2.0" version="2.0" srcLang="en"><x:file id="f">
<x:unit id="u"><x:originalData><x:data id="d">%d</x:data><x:data id="e">&lt;b&gt;</x:data>
</x:originalData><x:segment><x:source>n <x:ph id="1" dataRef="d"/><x:pc id="2" dataRefStart="e">x\
</x:pc><x:sc id="4"/>z<x:ec startRef="4"/></x:source></x:segment>
<x:ignorable><x:source> </x:source></x:ignorable>
<x:segment id="s"><x:source>two</x:source></x:segment></x:unit></x:file></x:xliff>
"""


@pytest.mark.parametrize("name", EXPECTED)
def test_files_of_other_tools(name: str) -> None:
    form, source, target, texts = EXPECTED[name]
    bitext = read_bitext(FILES / name)
    assert (bitext.format, bitext.src_lang, bitext.tgt_lang) == (form, source, target)
    assert [(segment.source, segment.target) for segment in bitext.segments] == texts
    lines = (FILES / name).read_text(encoding="utf-8").splitlines()
    for segment in bitext.segments:
        block = "\n".join(lines[segment.line - 2 : segment.line + 8])
        word = (segment.target or segment.source).split()[0].partition("<")[0]
        assert word in block


def test_xliff_of_the_translate_toolkit() -> None:
    bitext = read_bitext(FILES / "toolkit.xlf")
    segments = {segment.id: (segment.source, segment.target) for segment in bitext.segments}
    assert (segments["3"], segments["5[1]"], segments["6"]) == (TEXTS[0], TEXTS[2], LONG)


def test_inline_tags_are_text(tmp_path: Path) -> None:
    path = tmp_path / "a.xlf"
    path.write_text(INLINE_1)
    first, second = read_bitext(path).segments
    assert first.source == "Hi <g1>bold</g1> <x2/>%s<b>q</b><ph9/> t"
    assert [(s.id, s.target) for s in (first, second)] == [("1", ""), ("1#2", "")]
    path.write_text(INLINE_2.replace("ENCODING", "utf-8"))
    first, second = read_bitext(path).segments
    assert (first.id, first.source) == ("u/1", "n %d<b>x</pc2><sc4/>z<ec4/>")
    assert (second.id, second.source) == ("u/s", "two")


def without_notes(data: bytes, encoding: str) -> bytes:
    """Take the notes of Steelyard out again, with the blanks before them."""
    text = data.decode(encoding)
    one = r'<(x:)?note (from|category)="steelyard">[^<]*</(x:)?note>'
    text = re.sub(rf"<(x:)?notes>({one})+</(x:)?notes>(\r?\n[ \t]*)?", "", text)
    text = re.sub(rf"(\r?\n[ \t]*)?{one}", "", text)
    return text.encode(encoding)


MADE = {
    "inline1.xlf": (INLINE_1, "utf-8"),
    "inline1-crlf.xlf": (INLINE_1.replace("\n", "\r\n"), "utf-8"),
    "inline2.xlf": (INLINE_2, "utf-8"),
    "inline2-wide.xlf": (INLINE_2, "utf-16-le"),
    "inline2-latin.xlf": (INLINE_2, "iso-8859-1"),
    "gettext-crlf.po": ((FILES / "gettext.po").read_text("utf-8").replace("\n", "\r\n"), "utf-8"),
}
XLIFF_AND_PO = [name for name in ("toolkit.xlf", *EXPECTED) if not name.endswith("tmx")]


@pytest.mark.parametrize("name", [*XLIFF_AND_PO, *MADE])
@given(data=st.data())
def test_a_copy_differs_in_notes_alone(
    name: str, data: st.DataObject, fresh: Callable[[], Path]
) -> None:
    path, encoding = FILES / name, "utf-8"
    if name in MADE:
        text, encoding = MADE[name]
        path = fresh() / name
        mark = b"\xff\xfe" if encoding == "utf-16-le" else b""
        declared = "utf-16" if mark else encoding
        path.write_bytes(mark + text.replace("ENCODING", declared).encode(encoding))
    before = read_bitext(path)
    chosen = data.draw(st.lists(st.sampled_from([s.id for s in before.segments]), unique=True))
    words = st.text(st.characters(codec="utf-8", exclude_characters="<"), max_size=8)
    notes = {id_: [f"1: {data.draw(words)}", "2: é<&☃"] for id_ in chosen}
    out = fresh() / path.name
    write_annotated(path, out, notes)
    after = read_bitext(out)
    assert [(s.id, s.source, s.target) for s in after.segments] == [
        (s.id, s.source, s.target) for s in before.segments
    ]
    written = out.read_bytes()
    if not chosen:
        assert written == path.read_bytes()
    elif not name.endswith(".po"):
        assert without_notes(written, encoding) == path.read_bytes()
    else:
        rest = [row for row in written.split(b"\n") if not row.startswith((b"# 1:", b"# 2:"))]
        assert b"\n".join(rest) == path.read_bytes()
    assert written.count("2: é".encode(encoding, "xmlcharrefreplace")) == len(chosen)


def test_notes_need_a_segment_and_a_format_that_has_them(tmp_path: Path, refusal: Refusal) -> None:
    out = tmp_path / "out.po"
    assert "no segment '99'" in refusal(write_annotated, FILES / "gettext.po", out, {"99": ["x"]})
    assert "XLIFF and PO" in refusal(write_annotated, FILES / "toolkit.tmx", out, {})
    assert not out.exists()


def test_plain_pairs_and_tables(tmp_path: Path, refusal: Refusal) -> None:
    source, target, table = (tmp_path / name for name in ("a.de", "b.en-GB", "t.csv"))
    source.write_text("Ja\nNein\n")
    target.write_text("Yes\n\n")
    bitext = read_bitext(source, target)
    assert (bitext.src_lang, bitext.tgt_lang) == ("de", "en-GB")
    assert [(s.id, s.source, s.target, s.line) for s in bitext.segments] == [
        ("1", "Ja", "Yes", 1), ("2", "Nein", "", 2)]  # fmt: skip
    target.write_text("Yes\n")
    assert refusal(read_bitext, source, target).startswith(f"{target}:2: ")
    table.write_text("key,src,translation,src_lang,lp\nx1,007,1 1,de,de-en\nx2,N/A,,de,de-en\n")
    bitext = read_bitext(table)
    assert [(s.source, s.target, s.line) for s in bitext.segments] == [
        ("007", "1 1", 2), ("N/A", "", 3)]  # fmt: skip
    lines = tmp_path / "t.jsonl"
    lines.write_text('{"id": "q", "source": "a", "target": "b", "tgt_lang": "fr"}\n')
    bitext = read_bitext(lines)
    assert (bitext.segments[0].id, bitext.tgt_lang) == ("q", "fr")
    table.write_text("a,b\n1,2\n")
    assert "no column 'source'" in refusal(read_bitext, table)
    assert "source file and a target file" in refusal(read_bitext)


def test_many_laughs_cost_nothing(tmp_path: Path, refusal: Refusal) -> None:
    entities = "".join(f'<!ENTITY e{k} "{f"&e{k - 1};" * 10}">' for k in range(1, 40))
    path = tmp_path / "a.xlf"
    path.write_text(f'<!DOCTYPE xliff [<!ENTITY e0 "ha">{entities}]><xliff>&e39;</xliff>')
    assert "declares a DTD" in refusal(read_bitext, path)


@pytest.mark.parametrize("name", [n for n in EXPECTED if not n.endswith(".po")] + ["toolkit.tbx"])
@given(data=st.data())
def test_damaged_files_are_read_or_refused(
    name: str, data: st.DataObject, fresh: Callable[[], Path]
) -> None:
    from steelyard.core.errors import SteelyardError

    content = bytearray((FILES / name).read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(content) - 1))
        content[at : at + data.draw(st.integers(0, 30))] = data.draw(st.binary(max_size=3))
    path = fresh() / name
    path.write_bytes(bytes(content))
    try:
        (read_glossary if name.endswith("tbx") else read_bitext)(path)
    except SteelyardError as error:
        assert len(str(error).splitlines()) == 1  # noqa: PT017


def test_glossaries(tmp_path: Path) -> None:
    assert read_glossary(FILES / "toolkit.tbx") == [
        GlossaryTerm("train", "Zug"), GlossaryTerm("bank", "Bank")]  # fmt: skip
    path = tmp_path / "terms.csv"
    path.write_text(
        "Source,Target,Forbidden,Status,DNT,Case sensitive,Segment\n"
        "train,Zug|Bahn,Eisenbahn,,,,\n"
        "mobile,Handy,yes,,,,\n"
        "old,alt,,do not use,,,\n"
        "iPhone,,,,yes,yes,7\n"
    )
    assert read_glossary(path) == [
        GlossaryTerm("train", "Zug"),
        GlossaryTerm("train", "Bahn"),
        GlossaryTerm("train", "Eisenbahn", forbidden=True),
        GlossaryTerm("mobile", "Handy", forbidden=True),
        GlossaryTerm("old", "alt", forbidden=True),
        GlossaryTerm("iPhone", "iPhone", untranslatable=True, case=True, segment="7"),
    ]
    path.write_text("fr;term_en;de-AT\neau;water;Wasser\n")
    assert read_glossary(path) == [GlossaryTerm("eau", "water")]
    assert read_glossary(path, "de", "fr") == [GlossaryTerm("Wasser", "eau")]
    path = tmp_path / "terms.tbx"
    path.write_text(
        '<tbx><conceptEntry><langSec xml:lang="en"><termSec><term>car</term></termSec></langSec>'
        '<langSec xml:lang="de-DE"><termSec><term>Auto</term></termSec><termSec><term>Kar<hi>re'
        '</hi></term><termNote type="administrativeStatus">deprecatedTerm-admn-sts</termNote>'
        "</termSec>"
        "</langSec></conceptEntry></tbx>"
    )
    assert read_glossary(path, "en", "de") == [
        GlossaryTerm("car", "Auto"), GlossaryTerm("car", "Karre", forbidden=True)]  # fmt: skip


def test_other_commands_say_who_takes_them(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["data", "info", str(FILES / "toolkit.tmx")]) == 0
    assert "4 segments, 4 translated" in capsys.readouterr().out
    assert run(["compare", str(FILES / "gettext.po")]) == 2
    assert "holds a translation (PO), not scores" in capsys.readouterr().err
