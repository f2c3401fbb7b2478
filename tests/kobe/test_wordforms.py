"""Folding: what counts as the same, and where it stood."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.kobe.linking.wordforms import fold, fold_text


@pytest.mark.parametrize(
    ("one", "other", "lang"),
    [
        ("Côte d’Ivoire", "CÔTE D'IVOIRE", "fr"),
        ("Straße", "STRASSE", "de"),
        ("Королёв", "королев", "ru"),
        ("Ｔｏｋｙｏ", "tokyo", "en"),
        ("ﾄﾞｲﾂ", "ドイツ", "ja"),
        ("Zu\u0308rich", "Zürich", "de"),
        ("New\u00a0York", "new  york", "en"),
        ("Do\u00adnau", "Donau", "de"),
        ("Βόρειος", "ΒΌΡΕΙΟΣ", "el"),
        ("İstanbul", "istanbul", "tr"),
        ("IĞDIR", "ığdır", "tr"),
        ("يَوْم", "يوم", "ar"),
        ("Saint\u2013Denis", "saint-denis", "fr"),
    ],
)
def test_same(one: str, other: str, lang: str):
    assert fold(one, lang) == fold(other, lang)


@pytest.mark.parametrize(
    ("one", "other", "lang"),
    [("Zürich", "Zurich", "de"), ("año", "ano", "es"), ("й", "и", "ru"), ("ISPARTA", "i", "tr")],
)
def test_different(one: str, other: str, lang: str):
    assert fold(one, lang) != fold(other, lang)


@given(st.text(max_size=40), st.sampled_from(["en", "tr", "ja"]))
def test_places(text: str, lang: str):
    folded = fold_text(text, lang)
    if folded.places is None:
        assert len(folded.text) == len(text)
    else:
        assert len(folded.places) == len(folded.text) + 1
        assert list(folded.places) == sorted(folded.places)
        assert folded.places[-1] == len(text)
    for at in range(len(folded.text)):
        start, end = folded.span(at, at + 1)
        assert 0 <= start < end <= len(text)


@given(st.text(max_size=30))
def test_idempotent(text: str):
    once = fold(text, "en")
    assert fold(once, "en") == once


def test_span_of_a_match_is_the_writing_of_the_text():
    text = "Die Straße nach Zu\u0308rich"
    folded = fold_text(text, "de")
    at = folded.text.index("zürich")
    start, end = folded.span(at, at + len("zürich"))
    assert text[start:end] == "Zu\u0308rich"
    at = folded.text.index("strasse")
    start, end = folded.span(at, at + len("strasse"))
    assert text[start:end] == "Straße"
