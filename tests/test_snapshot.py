"""What commands print, to the byte: a change is seen, and is meant.

``python tools/snapshot.py --keep`` records anew what is compared here.
"""

from __future__ import annotations

import pytest

import snapshot

RUNS = dict(snapshot.runs(snapshot.KEPT / "commands.txt"))


@pytest.mark.parametrize("name", RUNS)
def test_a_command_says_what_it_said(name, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    kept = (snapshot.KEPT / f"{name}.out").read_text(encoding="utf-8")
    assert snapshot.told(RUNS[name]) == kept


def test_nothing_else_is_kept():
    assert {path.stem for path in snapshot.KEPT.glob("*.out")} == set(RUNS)
