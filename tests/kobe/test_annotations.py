"""Annotations from elsewhere: spans put right, counts untouched."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.core.errors import InputError, UsageError
from steelyard.formats.entities import EntityAnnotations, Sentence
from steelyard.formats.entities import EntityMention as Written
from steelyard.kobe.annotations import (
    AnnotatedLinker,
    mentions_of,
    read_annotations,
)
from steelyard.kobe.mention import Linker


@given(st.text(min_size=1, max_size=20), st.data())
def test_spans_of_the_release(text: str, data):
    start = data.draw(st.integers(0, len(text) - 1))
    end = data.draw(st.integers(start + 1, len(text)))
    try:
        begin = len(text[:start].encode())
    except UnicodeEncodeError:
        return
    found = mentions_of(Sentence(text, (Written("Q1", begin, begin + end - start),)))[0]
    assert (found.start, found.end, found.text) == (start, end, text[start:end])


def test_repeats_and_nested_mentions_stay():
    listed = (Written("Q1", 0, 4), Written("Q1", 0, 4), Written("Q2", 0, 12))
    assert len(mentions_of(Sentence("2014 elections", listed))) == 3


def test_spans_beyond_the_text_are_cut():
    found = mentions_of(Sentence("ab", (Written("Q1", 1, 9),)))[0]
    assert (found.start, found.end, found.text) == (1, 2, "b")


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=3, max_size=20))
def test_spans_in_characters_that_come_with_their_text(text: str):
    written = (Written("wd:Q7", 1, 3, text[1:3]), Written("num:1", 0, 1, text[:1]))
    back = mentions_of(Sentence(text, written))
    assert [(m.start, m.end, m.text, m.id) for m in back] == [
        (1, 3, text[1:3], "wd:Q7"),
        (0, 1, text[:1], "num:1"),
    ]


def test_no_annotations(tmp_path: Path):
    path = tmp_path / "a.csv"
    path.write_text("system,segment,chrF\nA,1,2\n")
    with pytest.raises(InputError, match="holds no entity annotations"):
        read_annotations(path)


def test_annotated_linker():
    one = EntityAnnotations({"src": (Sentence("In Wien", (Written("Q1741", 3, 7),)),)})
    linker = AnnotatedLinker([one])
    assert isinstance(linker, Linker)
    assert linker.name(linker.link(["In Wien"], "de", "en")[0][0].id) == "Q1741"
    with pytest.raises(UsageError, match=r"text 1 \(de\) is not in the annotations: 'In Graz'"):
        linker.link(["In Graz"], "de", "en")
