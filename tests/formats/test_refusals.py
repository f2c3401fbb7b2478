"""Files of ``refusals.json``: each is refused with its line, and with words that name the field."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from steelyard import human_scores
from steelyard.formats.bitext import read_bitext, read_glossary
from steelyard.formats.judged.battle_counts import read_counts
from steelyard.formats.reading import read_any
from steelyard.formats.verdicts.read import VerdictReading, read_verdicts

CASES = json.loads((Path(__file__).parent / "refusals.json").read_text(encoding="utf-8"))


def verdicts(path: Path, **options: Any) -> Any:
    how = {name: tuple(v) if isinstance(v, list) else v for name, v in options.items()}
    pairs = {n: tuple(map(tuple, how[n])) for n in ("where", "columns") if n in how}
    return read_verdicts([path], VerdictReading(**{"human": ("human",), **how, **pairs}))


READERS: dict[str, Callable[..., Any]] = {
    "any": read_any,
    "battles": read_counts,
    "bitext": read_bitext,
    "esa": lambda path: human_scores(path, protocol="esa", n_bootstrap=0),
    "glossary": read_glossary,
    "verdicts": verdicts,
}


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.get('reader', 'any')}")
def test_a_file_is_refused(
    case: dict[str, Any], tmp_path: Path, refusal: Callable[..., str]
) -> None:
    path = tmp_path / case["file"]
    path.write_bytes(case["text"].encode(case.get("encoding", "utf-8")))
    reader = READERS[case.get("reader", "any")]
    message = refusal(reader, path, **case.get("options", {}))
    if case["line"]:
        assert message.startswith(f"{path}:{case['line']}: ")
    for word in case["words"]:
        assert word in message
