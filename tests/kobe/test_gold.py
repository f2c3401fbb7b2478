"""Gold files are what their README says: spans that fit, kinds that exist, figures that hold."""

import json
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


def test_what_is_adjudicated_was_marked_by_someone_and_agreement_is_kept() -> None:
    first, second, decided = spans(SENTENCES[1]), spans(SENTENCES[2]), spans(SENTENCES[0])
    assert first & second <= decided <= first | second
