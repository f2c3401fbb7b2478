"""Entity annotations: JSON lines."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steelyard import save
from steelyard.formats.entities import EntityAnnotations, EntityMention, Sentence
from steelyard.formats.reading import read_any

Refusal = Callable[..., str]
Fresh = Callable[[], Path]


def written(path: Path, *rows: Any) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def read(path: Path) -> EntityAnnotations:
    form, found, _ = read_any(path)
    assert form == "entity annotations"
    assert isinstance(found, EntityAnnotations)
    return found


def row(system: str, line: int, *mentions: Any) -> dict[str, Any]:
    return {"system": system, "line": line, "sentence": f"{system}{line}", "entities": mentions}


def test_systems_must_have_the_same_lines(tmp_path: Path, refusal: Refusal) -> None:
    path = written(tmp_path / "x.jsonl", row("A", 1), row("A", 2), row("B", 2))
    message = refusal(read_any, path)
    assert "'B'" in message
    assert "'1'" in message


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)


@st.composite
def annotated(draw: st.DrawFn) -> Sentence:
    text = draw(texts)
    place = st.integers(0, len(text.encode()))
    spans = [sorted((draw(place), draw(place))) for _ in range(draw(st.integers(0, 3)))]
    found = [
        EntityMention(
            draw(texts.filter(str.strip)),
            begin,
            end,
            draw(st.none() | texts),
            draw(st.none() | texts),
            tuple(draw(st.lists(texts, max_size=2))),
        )
        for begin, end in spans
    ]
    return Sentence(text, tuple(found))


sentences = annotated()


@pytest.mark.parametrize("suffix", ["jsonl", "jsonl.gz", "csv", "tsv", "parquet"])
@settings(max_examples=30)
@given(data=st.data())
def test_annotations_come_back(fresh: Fresh, suffix: str, data: st.DataObject) -> None:
    n = data.draw(st.integers(1, 12))
    names = data.draw(st.lists(texts.filter(str.strip), min_size=1, max_size=3, unique=True))
    made = EntityAnnotations(
        {
            name: tuple(data.draw(st.lists(sentences, min_size=n, max_size=n)))
            for name in sorted(names)
        }
    )
    path = fresh() / f"x.{suffix}"
    save(made, path)
    assert read(path) == made
