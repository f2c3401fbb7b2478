"""Plain files: one line per segment, of text or with a number."""

from __future__ import annotations

import gzip

import pytest

from steelyard.core.errors import InputError
from steelyard.formats import plaintext


def write(folder, **contents):
    paths = []
    for name, text in contents.items():
        path = folder / f"{name}.en"
        path.write_text(text, encoding="utf-8", newline="")
        paths.append(path)
    return paths


def test_texts_become_a_set(tmp_path):
    src, ref, b, a = write(
        tmp_path, src="eins\nzwei\n", ref="one\ntwo\n", b="1\r\n2\r\n", a=" x\ny"
    )
    packed = tmp_path / "c.v2.en.gz"
    packed.write_bytes(gzip.compress(b"\xef\xbb\xbfo\xc3\xa9\nt\xe2\x80\xa8u\n"))
    es = plaintext.read([b, a, packed], src, [ref])
    assert es.systems == ("a", "b", "c.v2")
    assert es.segments.ids == ("1", "2")
    assert es.segments.sources == ("eins", "zwei")
    assert es.segments.references == {"ref": ("one", "two")}
    assert es.outputs == {"a": (" x", "y"), "b": ("1", "2"), "c.v2": ("oé", "t\u2028u")}
    assert [each.format for each in es.inputs] == ["plain text"] * 5


@pytest.mark.parametrize(
    ("contents", "message"),
    [
        ({"ref": "one\ntwo\n", "a": "x\n"}, r"a\.en:2: 1 line, but .*ref\.en has 2"),
        ({"ref": "one\n", "a": "x\ny\n"}, r"a\.en:2: 2 lines, but .*ref\.en has 1"),
        ({"ref": "one\ntwo\n", "a": "x\n \n"}, r"a\.en:2: no text \(allow_empty=True"),
        ({"ref": "\ntwo\n", "a": "x\ny\n"}, r"ref\.en:1: no text"),
        ({"ref": "one\n", "a": ""}, r"a\.en: is empty"),
    ],
)
def test_texts_that_do_not_fit(tmp_path, contents, message):
    ref, a = write(tmp_path, **contents)
    with pytest.raises(InputError, match=message):
        plaintext.read([a], references=[ref])


def test_empty_texts_if_asked_for(tmp_path):
    es = plaintext.read(write(tmp_path, a="x\n\n", b="\ny\n"), allow_empty=True)
    assert es.outputs == {"a": ("x", ""), "b": ("", "y")}


def test_numbers(tmp_path):
    a, b = write(tmp_path, a="1\n-2.5\n", b=" 3e2 \n4\n")
    assert plaintext.is_numbers(a)
    es = plaintext.read_scores([b, a])
    assert es["score"].values.tolist() == [[1, -2.5], [300, 4]]
    assert not plaintext.is_numbers(tmp_path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1\n", r"b\.en:2: 1 number, but .*a\.en has 2"),
        ("1\nx\n", r"b\.en:2: 'x' is not a number"),
        ("1\ninf\n", r"b\.en:2: 'inf' is not a number"),
        ("", r"b\.en: 0 numbers, expected one per line"),
    ],
)
def test_numbers_that_do_not_fit(tmp_path, text, message):
    with pytest.raises(InputError, match=message):
        plaintext.read_scores(write(tmp_path, a="1\n2\n", b=text))
