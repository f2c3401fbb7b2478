"""EED and CharacTER: worked examples, plain versions of both, and the scores of WMT19."""

from __future__ import annotations

import csv
import gzip
import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steelyard import EvalSet, Segments
from steelyard.core.errors import UsageError
from steelyard.scoring import edit
from steelyard.scoring.edit import character, eed, eed_preprocess
from steelyard.scoring.metric import make_metric

texts = st.text(alphabet="ab c.1", max_size=14)
sentences = st.lists(st.sampled_from(["a", "bb", "ccc", "dddd"]), max_size=7).map(" ".join)

# ---------------------------------------------------------------- EED


def plain_eed(output, reference):
    """The table, cell by cell, in tenths."""
    row = [0, *[10] * len(output)]
    visits = [0] * len(row)
    for symbol in reference:
        new = [row[0] + 10]
        for i, c in enumerate(output, 1):
            new.append(min(new[i - 1] + 2, row[i - 1] + 10 * (c != symbol), row[i] + 10))
        best = min(new)
        visits[new.index(best)] += 1
        if symbol == " ":
            new = [min(cost, best + 20) for cost in new]
        row = new
    coverage = 3 * sum(abs(v - 1) for v in visits)
    return min(1.0, (row[-1] + coverage) / (10 * len(reference) + coverage))


@settings(max_examples=60)
@given(st.lists(st.tuples(texts, texts), min_size=1, max_size=6))
def test_eed_is_the_table_cell_by_cell(pairs):
    expected = [plain_eed(eed_preprocess(out), eed_preprocess(ref)) for out, ref in pairs]
    np.testing.assert_allclose(eed(pairs), expected, rtol=0, atol=1e-12)


def test_eed_of_long_texts_in_several_batches(monkeypatch):
    rng = np.random.default_rng(0)

    def text():
        return "".join(rng.choice(list("abc de"), rng.integers(0, 60)))

    pairs = [(text(), text()) for _ in range(30)]
    whole = eed(pairs)
    monkeypatch.setattr(edit, "_CELLS", 150)
    np.testing.assert_array_equal(eed(pairs), whole)
    np.testing.assert_array_equal(eed(pairs[::-1])[::-1], whole)


def test_eed_by_hand():
    # " a " against itself: the walk visits every place but the start, 0.3 on both sides.
    assert eed([("a", "a")])[0] == pytest.approx(0.3 / 3.3)
    # " b " against " a ": a substitution. Up to it, waiting after the first blank costs as much and
    # comes first: that place has two visits, the start and the place of the letter have none.
    assert eed([("b", "a")])[0] == pytest.approx((1 + 3 * 0.3) / (3 + 3 * 0.3))
    pairs = [("this is the prediction", "this is the reference"),
             ("here is an other sample", "here is another one")]  # fmt: skip
    # published as 0.3078 in the documentation of another implementation
    assert eed(pairs).mean() == pytest.approx(0.3078, abs=5e-5)


def test_eed_of_nothing():
    assert eed([]).shape == (0,)
    assert eed([("", "")], "ja")[0] == 1.0  # nothing was visited


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Well, yes.", " Well , yes . "),
        ("In the U.S. today", " In the U.S. today "),
        ("1.5 and 2,000", " 1.5 and 2,000 "),
        ("Mr. X  said\tso", " Mr. X said so "),
        ("", "  "),
    ],
)
def test_what_eed_makes_words_of(text, expected):
    assert eed_preprocess(text) == expected


# ---------------------------------------------------------------- CharacTER


def levenshtein(one, other):
    row = list(range(len(other) + 1))
    for i, x in enumerate(one, 1):
        new = [i]
        for j, y in enumerate(other, 1):
            new.append(min(new[-1] + 1, row[j] + 1, row[j - 1] + (x != y)))
        row = new
    return row[-1]


def plain_character(output, reference):
    """Search, charge and edit as the definition says, with nothing shared or skipped."""
    start, words, ref = output.split(), output.split(), reference.split()
    if words == ref:
        return 0.0
    if not words:
        return 1.0
    while True:
        options: list[Any] = []
        for begin in range(len(words)):
            for place in range(len(ref)):
                length = 0
                while (
                    words[begin + length : begin + length + 1]
                    == ref[place + length : place + length + 1]
                    != []
                ):
                    length += 1
                if length and place != begin:
                    phrase = words[begin : begin + length]
                    rest = words[:begin] + words[begin + length :]
                    after = rest[:place] + phrase + rest[place:]
                    cost = len("".join(phrase)) / length
                    options.append((levenshtein(after, ref), cost, len(options), after))
        if not options or min(options)[0] >= levenshtein(words, ref):
            break
        words = min(options)[3]
    cost, i = 0.0, 0
    while i < len(start):
        length = 0
        if start[i] != words[i]:
            later: int | None = next(
                (k for k in range(i + 1, len(words)) if words[k] == start[i]), None
            )
            if later is not None:
                while (
                    words[later + length : later + length + 1]
                    == start[i + length : i + length + 1]
                    != []
                ):
                    length += 1
                cost += len("".join(start[i : i + length])) / length
        i += max(1, length)
    edits = levenshtein(" ".join(words), " ".join(ref))
    return min(1.0, (cost + edits) / len(" ".join(start)))


@given(st.lists(st.tuples(sentences, sentences), min_size=1, max_size=4))
def test_character_is_its_definition(pairs):
    expected = [plain_character(out, ref) for out, ref in pairs]
    np.testing.assert_allclose(character(pairs), expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ("output", "reference", "cost", "length"),
    [
        # published with the authors' program
        ("this week the saudis denied information published in the new york times",
         "saudi arabia denied this week information published in the american new york times",
         26, 71),
        ("this is in fact an estimate", "this is actually an estimate", 7, 27),
        ("i like your bag", "i like their bags", 5, 15),
        # by hand: a swap costs the mean length of the words that go to the right
        ("bbbb aaaa", "aaaa bbbb", 4, 9),
        ("aaaaaa bbbbbb cccc", "cccc aaaaaa bbbbbb", 6, 18),
        ("a bbb q ccccc ddddddd", "ccccc ddddddd q a bbb", 2, 21),
        # a move and an edit
        ("bbb aaa", "aaa bbd", 4, 7),
        # more edits than characters
        ("abc", "xyzxyz xyz", 3, 3),
    ],
)  # fmt: skip
def test_character_by_hand(output, reference, cost, length):
    assert character([(output, reference)])[0] == pytest.approx(cost / length)


# ---------------------------------------------------------------- as metrics


def test_the_nearest_reference_counts_and_missing_texts_are_missing():
    references = {"refA": ("a cat", None, "so"), "refB": ("two dogs", None, None)}
    segments = Segments(("1", "2", "3"), references=references)
    es = EvalSet(("A", "B"), segments, outputs={"A": ("two dogs", "x", None)})
    for name in ("eed", "character"):
        scored = make_metric(name).score(es, ["refA", "refB"])
        assert scored.signature.startswith("nrefs:2|")
        assert scored.table.uses == ("refA", "refB")
        assert not scored.table.higher_is_better
        measure = {"eed": eed, "character": character}[name]
        expected = measure([("two dogs", "two dogs")])[0]
        np.testing.assert_array_equal(
            scored.table.values, [[expected, np.nan, np.nan], [np.nan] * 3]
        )
    with pytest.raises(UsageError, match="several references"):
        make_metric("eed").score(es)


def test_the_language_decides_how_eed_prepares_texts():
    segments = Segments(("1",), references={"refA": ("１２億。",)})
    es = EvalSet(("A",), segments, outputs={"A": ("12億。",)}, language_pair="en-ja")
    scored = make_metric("eed").score(es)
    assert "prep:nfkc" in scored.signature
    assert scored.table.values[0, 0] == eed([("12億。", "12億。")], "ja")[0]


def test_scores_of_wmt19(shared):
    """Eight systems, 250 segments each; benchmarks/official.py takes all 2000."""
    texts: dict[str, dict[int, str]] = {}
    folder = shared / "wmt19-metrics"
    with gzip.open(folder / "kobe-entities.ru-en.jsonl.gz", "rt", encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            texts.setdefault(row["system"], {})[row["line"]] = row["sentence"]
    reference = texts.pop("ref")
    chosen = sorted(reference)[::8]
    with gzip.open(folder / "sys-scores.csv.gz", "rt", encoding="utf-8", newline="") as lines:
        rows = {row["system"]: row for row in csv.DictReader(lines) if row["lp"] == "ru-en"}
    pairs = [(out[k], reference[k]) for out in texts.values() for k in chosen]
    assert len(pairs) == 8 * 250
    for name, measure in (("EED", eed), ("CharacTER", character)):
        official = [-float(rows[system][name]) for system in texts]
        found = measure(pairs).reshape(8, -1).mean(axis=1)
        assert np.corrcoef(official, found)[0, 1] > 0.99
        if name == "CharacTER":  # close in value, too
            np.testing.assert_allclose(found, official, atol=0.015)
