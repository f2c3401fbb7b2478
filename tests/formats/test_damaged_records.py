"""Foreign JSON in which any field is anything: it is read, or refused in one line that names it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from steelyard.core.errors import SteelyardError
from steelyard.formats.reading import read_all

SAMPLES = Path(__file__).parent / "samples"
NAMES = (
    "fastchat/model_judgment/made-judge_single.jsonl",
    "fastchat/model_judgment/made-judge_pair.jsonl",
    "arena-hard/arena-hard-v0.1/model_judgment/made-judge/alpha.jsonl",
    "arena-hard/arena-hard-v2.0/model_judgment/made-judge/alpha.jsonl",
    "chatbot-arena/arena-33k.jsonl",
    "chatbot-arena/clean_battle_20260101.json",
    "alpaca-eval/results/beta/alpaca_eval_gpt4/annotations.json",
    "comet/xcomet-two.json",
    "metricx/metricx24-output.jsonl",
    "sacrebleu/one-system.json",
    "sacrebleu/two-systems.json",
    "sacrebleu/two-systems-paired-bs.json",
    "subset2evaluate/items.jsonl",
)
GONE = object()
BAD: tuple[Any, ...] = (
    GONE,
    None,
    True,
    -7.5,
    "",
    "x",
    "system",
    [],
    {},
    [None],
    {"score": []},
    10**400,
)


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if path:
        yield path
    items: Any = ()
    if isinstance(value, dict):
        items = value.items()
    elif isinstance(value, list):
        items = enumerate(value[:2])
    for key, own in items:
        yield from places(own, (*path, key))


def damaged(value: Any, place: tuple[Any, ...], bad: Any) -> Any:
    """Give a copy with another value at a place, or none."""
    copy = value.copy()
    if len(place) > 1:
        copy[place[0]] = damaged(value[place[0]], place[1:], bad)
    elif bad is GONE:
        del copy[place[0]]
    else:
        copy[place[0]] = bad
    return copy


@pytest.mark.parametrize("name", NAMES)
def test_every_field_may_be_anything(name: str, tmp_path: Path) -> None:
    path = SAMPLES / name
    text = path.read_text(encoding="utf-8")
    lines = name.endswith("jsonl")
    value = [json.loads(line) for line in text.splitlines()] if lines else json.loads(text)
    target = tmp_path / path.name
    refused = 0
    for place in places(value):
        for bad in BAD:
            broken = damaged(value, place, bad)
            written = "\n".join(map(json.dumps, broken)) if lines else json.dumps(broken)
            target.write_text(written, encoding="utf-8")
            try:
                read_all([target])
            except SteelyardError as error:
                message = str(error)
                assert target.name in message
                assert "\n" not in message
                refused += 1
    assert refused > 0
