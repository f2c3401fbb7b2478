"""Gold files are what their README says: spans that fit, kinds that exist, figures that hold."""

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

GOLD = Path(__file__).parent / "gold"
KINDS = {"number", "date", "unit", "money", "place", "person", "organisation", "product", "other"}
SENTENCES = ("sentences.jsonl", "sentences.A.jsonl", "sentences.B.jsonl")


def rows(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (GOLD / name).read_text("utf-8").splitlines()]


def spans(name: str) -> set[tuple[str, int, int, str]]:
    return {
        (row["id"], start, end, kind)
        for row in rows(name)
        for start, end, kind, _ in row["entities"]
    }


@pytest.mark.parametrize("name", SENTENCES)
def test_spans_are_pieces_of_their_text_in_order(name: str) -> None:
    for row in rows(name):
        reached = 0
        for start, end, kind, surface in row["entities"]:
            assert reached <= start < end, row["id"]
            assert row["text"][start:end] == surface, row["id"]
            assert kind in KINDS, row["id"]
            reached = end


def test_there_are_thirty_sentences_in_each_of_ten_languages_annotated_three_times() -> None:
    languages = Counter(row["lang"] for row in rows(SENTENCES[0]))
    assert len(languages) == 10
    assert set(languages.values()) == {30}
    texts = [[(row["id"], row["text"]) for row in rows(name)] for name in SENTENCES]
    assert texts[0] == texts[1] == texts[2]


def test_what_is_adjudicated_was_marked_by_someone_and_agreement_is_kept() -> None:
    first, second, decided = spans(SENTENCES[1]), spans(SENTENCES[2]), spans(SENTENCES[0])
    assert first & second <= decided <= first | second


def test_every_sentence_with_a_disagreement_is_listed() -> None:
    different = {item[0] for item in spans(SENTENCES[1]) ^ spans(SENTENCES[2])}
    table = (GOLD / "disagreements.md").read_text("utf-8")
    assert set(re.findall(r"^\| (\w\w-\d\d) \|", table, re.MULTILINE)) == different


def test_pairs_have_twenty_of_each_kind_and_a_bad_side_of_their_own() -> None:
    pairs = rows("pairs.jsonl")
    kinds = Counter(pair["kind"] for pair in pairs)
    assert len(kinds) == 7
    assert min(kinds.values()) >= 20
    for pair in pairs:
        assert pair["good"] != pair["bad"], pair["source"]
        assert pair["src_lang"] != pair["tgt_lang"], pair["source"]
        assert ("glossary" in pair) == (pair["kind"] == "glossary"), pair["source"]
        for words in pair.get("glossary", {}).values():
            assert set(words) == {pair["src_lang"], pair["tgt_lang"]}, pair["source"]
