"""Words that are looked up one by one: what the lemmatiser would say, for all of them."""

from __future__ import annotations

import random
from itertools import takewhile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.kobe.linking import frontcoded
from steelyard.kobe.linking.frontcoded import FrontCoded, UnreadableError, dictionaries

simplemma = pytest.importorskip("simplemma")
WORDS = st.text(st.sampled_from("ab\u00e9\u4e2d"), min_size=1, max_size=6)


def number(value: int) -> bytes:
    return bytes([value]) if value < 128 else bytes([value % 128 + 128]) + number(value // 128)


def alike(one: bytes, other: bytes) -> int:
    """Count the first bytes that two words share."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def encoded(words: dict[str, str], *, reverse: bool = False) -> bytes:
    """Write words as simplemma's tools do, plainly."""
    step = -1 if reverse else 1
    pairs = sorted((k.encode()[::step], v.encode()[::step]) for k, v in words.items())
    content = b"SMFC1" + bytes([reverse]) + number(len(pairs))
    last, before = b"", None
    for key, value in pairs:
        shared = alike(last, key)
        content += number(shared) + number(len(key) - shared) + key[shared:]
        kept = alike(key, value)
        if value == before:
            content += bytes([254])
        elif len(key) - kept < 254:
            content += bytes([len(key) - kept]) + number(len(value) - kept) + value[kept:]
        else:
            content += bytes([255]) + number(len(value)) + value
        last, before = key, value
    return content


@given(st.dictionaries(WORDS, WORDS, min_size=1, max_size=200), WORDS, st.booleans())
def test_all_words_are_found_and_no_others(words: dict[str, str], other: str, reverse: bool):
    found = FrontCoded(encoded(words, reverse=reverse))
    assert {word: found[word] for word in words} == words
    assert found.get(other) == words.get(other)
    assert (len(found), dict(found)) == (len(words), words)


def test_many_words_and_long_ones():
    rng = random.Random(0)
    words = {f"{rng.getrandbits(40):x}": f"{rng.getrandbits(20):x}" for _ in range(5000)}
    words |= {"a" * 300: "b" * 400, "a" * 301: "b" * 400, "\u4e2d" * 100: "x"}
    found = FrontCoded(encoded(words))
    assert all(found[word] == form for word, form in words.items())
    assert [found.get(word) for word in ("", "a", "a" * 299, "a" * 302, "zz")] == [None] * 5


@pytest.mark.parametrize("content", [b"", b"\x80\x04pickle", encoded({"a": "b"}) + b"\0"])
def test_other_content_is_refused(content: bytes):
    with pytest.raises(UnreadableError):
        FrontCoded(content)


def test_the_lemmatiser_says_the_same(monkeypatch):
    whole = simplemma.strategies.DefaultDictionaryFactory().get_dictionary("id")
    own = frontcoded.Dictionaries()
    words = sorted(whole)[::40]
    ours = own.get_dictionary("id")
    assert [ours.get(word) for word in words] == [whole.get(word) for word in words]
    for word in [*words[:20], "Xyzzy", "makan-makan", "2024"]:
        assert own.lemmatizer.lemmatize(word, "id") == simplemma.lemmatize(word, lang="id")
    assert type(ours._words) is not FrontCoded  # so many were asked for that all have been read
    assert type(dictionaries().get_dictionary("id")._words) is FrontCoded

    monkeypatch.setattr(frontcoded, "_MAGIC", b"OTHER")
    assert frontcoded.Dictionaries().get_dictionary("id").get("makanan") == whole.get("makanan")
