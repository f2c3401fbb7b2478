"""What commands print, to the byte: a change is seen, and is meant.

``python tools/snapshot.py --keep`` records anew what is compared here.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

import snapshot
import steelyard

RUNS = dict(snapshot.runs(snapshot.KEPT / "commands.txt"))


@pytest.mark.parametrize("name", RUNS)
def test_a_command_says_what_it_said(name, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    kept = (snapshot.KEPT / f"{name}.out").read_text(encoding="utf-8")
    assert snapshot.told(RUNS[name]) == kept


def test_nothing_else_is_kept():
    assert {path.stem for path in snapshot.KEPT.glob("*.out")} == set(RUNS)


@pytest.mark.parametrize("name", [name for name, command in RUNS.items() if "--json" in command])
def test_json_is_of_the_schema(name):
    kept = (snapshot.KEPT / f"{name}.out").read_text(encoding="utf-8")
    printed = kept.partition("\n")[2].partition("--- stderr")[0]
    schema = (Path(steelyard.__file__).parent / "schema-1.json").read_text(encoding="utf-8")
    Draft202012Validator(json.loads(schema)).validate(json.loads(printed))
