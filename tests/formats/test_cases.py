"""Tables of ``cases.toml``: each is read as it says, or refused at the line and with the words."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from steelyard import EvalSet, load
from steelyard.formats.reading import read_any

CASES = tomllib.loads((Path(__file__).parent / "cases.toml").read_text(encoding="utf-8"))
_OF_SEGMENTS = ("documents", "domains", "sources", "metadata")


def written(folder: Path, case: dict[str, Any]) -> list[Path]:
    texts = case.get("files") or {case.get("file", "x.csv"): case["text"]}
    for name, text in texts.items():
        (folder / name).write_bytes(text.encode())
    return [folder / name for name in texts]


def contents(es: EvalSet, case: dict[str, Any]) -> dict[str, Any]:
    """Give what the case asks for."""
    segments = {name: getattr(es.segments, name) for name in _OF_SEGMENTS}
    values = {name: es[name].values.tolist() for name in case.get("scores", ())}
    of_set = {"systems": es.systems, "segments": es.segments.ids, "human": es.human}
    texts = {"outputs": es.outputs, "language_pair": es.language_pair, "scores": values}
    return {name: held for name, held in (segments | of_set | texts).items() if name in case}


def as_lists(value: Any) -> Any:
    if isinstance(value, tuple):
        return list(value)
    return {k: as_lists(v) for k, v in value.items()} if hasattr(value, "items") else value


@pytest.mark.parametrize("case", CASES["read"], ids=lambda case: case.get("file", "x.csv"))
def test_a_table_is_read_right(case: dict[str, Any], tmp_path: Path) -> None:
    paths, options = written(tmp_path, case), case.get("options", {})
    if "format" in case:
        assert read_any(paths[0])[0] == case["format"]
    if not {"systems", "segments", "scores", "human", "notes", "outputs"} & case.keys():
        return
    es = load(*paths, **options)
    assert as_lists(contents(es, case)) == {
        k: v for k, v in case.items() if k in contents(es, case)
    }
    for note in case.get("notes", ()):
        assert any(note in text for text in es.notes), es.notes
    if case.get("notes") == []:
        assert es.notes == ()


@pytest.mark.parametrize("case", CASES["refuse"], ids=lambda case: case.get("file", "x.csv"))
def test_a_table_is_refused(
    case: dict[str, Any], tmp_path: Path, refusal: Callable[..., str]
) -> None:
    paths = written(tmp_path, case)
    message = refusal(*paths, **case.get("options", {}))
    if "line" in case:
        assert message.startswith(f"{paths[0]}:{case['line']}: ")
    assert all(word in message for word in case["words"]), message
    assert message.isprintable()
