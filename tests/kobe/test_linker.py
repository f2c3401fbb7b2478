"""The linker: the whole hand-made set, rules one by one, and the authors' texts."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest

import steelyard.demo
from steelyard.cli.main import run
from steelyard.core.errors import UsageError
from steelyard.formats.entities import EntityAnnotations
from steelyard.kobe.linking.linker import DictionaryLinker
from steelyard.kobe.matching import match, statistics

LINES = (Path(steelyard.demo.__file__).parent / "linking.jsonl").read_text("utf-8").splitlines()
ROWS = [json.loads(line) for line in LINES]


def ids(linker: DictionaryLinker, text: str, lang: str, other: str) -> dict[str, set[str]]:
    """The ids of every written form that was linked."""
    found: dict[str, set[str]] = {}
    for mention in linker.link([text], lang, other)[0]:
        assert text[mention.start : mention.end] == mention.text
        found.setdefault(mention.text, set()).add(linker.name(mention.id))
    return found


@pytest.mark.parametrize("row", ROWS, ids=[row["id"] for row in ROWS])
def test_hand_made_pair(row, linker: DictionaryLinker):
    src, tgt = row["lp"].split("-")
    source = ids(linker, row["src"], src, tgt)
    target = ids(linker, row["tgt"], tgt, src)
    nothing: set[str] = set()
    for one, other in row["link"]:
        assert source.get(one, nothing) & target.get(other, nothing), (one, other, source, target)
    for one, other in row["apart"]:
        assert not source.get(one, nothing) & target.get(other, nothing), (one, other)
    for side, lang, against in (("src", src, tgt), ("tgt", tgt, src)):
        (mentions,) = linker.link([row[side]], lang, against)
        for form in row["plain"][side]:
            span = (row[side].index(form), row[side].index(form) + len(form))
            assert span not in [(m.start, m.end) for m in mentions], form


@pytest.mark.parametrize("code", ["xx", "english", "qq-QQ"])
def test_unknown_language(linker: DictionaryLinker, code: str, capsys):
    with pytest.raises(UsageError, match="language"):
        linker.link(["text"], code, "en")
    assert run(["kb", "link", "Wien", "--lang", code]) == 2
    assert capsys.readouterr().err.startswith(f"error: unknown language code '{code}'")


def test_the_command(capsys):
    assert run(["kb", "link", "Am 3. März in Wien", "--lang", "de", "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    found = [("3.", "num:3"), ("März", "month:3"), ("Wien", "gn:2761369")]
    assert [(m["text"], m["id"]) for m in result["mentions"]] == found
    assert result["mentions"][2]["label"] == "Wien"
    assert run(["kb", "link", "nichts", "--lang", "de"]) == 0
    assert capsys.readouterr().out == "No entity found.\n"


def test_copied_form_of_the_source_is_no_name(linker: DictionaryLinker):
    for city in ("Wien", "Prag", "Mailand", "Warschau"):
        assert city not in ids(linker, f"The train from {city} is late.", "en", "de")
        assert city in ids(linker, f"Der Zug aus {city} hat Verspätung.", "de", "en")


def test_authors_texts(linker: DictionaryLinker, ru_en: EntityAnnotations, shared: Path):
    """Our linker and theirs rank the eight systems of WMT19 ru-en alike, and as people do."""
    folder = shared / "wmt19-metrics"
    texts = {name: [s.text for s in own] for name, own in ru_en.systems.items()}
    found = {name: linker.link(own, "en", "en") for name, own in texts.items()}
    reference = found.pop("ref")
    scores = statistics(match(reference, found)).corpus_scores()
    with (folder / "kobe-expected.ru-en.csv").open() as stream:
        rows = {row["system"]: row for row in csv.DictReader(stream)}
    theirs = [float(rows[name]["score"]) for name in found]
    human = [float(rows[name]["human_z"]) for name in found]
    # The yardstick is how well their linker does here (.914 with people): ours agrees with people
    # as well or better, and with theirs more than theirs does with people. What is between the two
    # linkers is no sampling error (theirs on two halves of the segments agree at .99): theirs
    # counts what ours leaves undecided.
    peer = np.corrcoef(theirs, human)[0, 1]
    assert np.corrcoef(scores, human)[0, 1] >= peer
    assert np.corrcoef(scores, theirs)[0, 1] >= peer
