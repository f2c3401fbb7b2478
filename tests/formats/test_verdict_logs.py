"""Logs of other tools as verdicts of judges, with labels of people in a table of their own."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from steelyard.data.verdicts import UNPARSED, Verdicts
from steelyard.formats.verdicts.read import VerdictReading, read_verdicts

SAMPLES = Path(__file__).parent / "samples"
PAIRS = SAMPLES / "fastchat/model_judgment/made-judge_pair.jsonl"


def read(*sources: Any, **how: Any) -> Verdicts:
    tables = [pl.DataFrame(own, strict=False) if isinstance(own, dict) else own for own in sources]
    return read_verdicts(tables, VerdictReading(human=["human"], **how))


def by_row(found: Verdicts, name: str) -> dict[tuple[str, str], float]:
    known = {own.name: own for own in (*found.judges, *found.raters)}
    assert found.left is not None
    keys = [(found.items[i], found.systems[s]) for i, s in zip(found.item, found.left, strict=True)]
    return {key: x for key, x in zip(keys, known[name].value.tolist(), strict=True) if x == x}


@pytest.mark.parametrize("folder", ["logs-json", "logs-eval"])
def test_inspect(folder):
    labels = {"item": ["q1", "q2", "6"], "system": ["mockllm/alpha", "mockllm/beta",
              "mockllm/beta"], "human": ["pass", "fail", "pass"]}  # fmt: skip
    found = read(SAMPLES / "inspect" / folder, labels, judges=["model_graded_qa"])
    assert found.items == ("6", "q1", "q2", "q3", "q4", "q5")  # one task: no part of the names
    assert by_row(found, "human") == {
        ("q1", "mockllm/alpha"): 1, ("q2", "mockllm/beta"): 0, ("6", "mockllm/beta"): 1,
    }  # fmt: skip
    own = found.judge("model_graded_qa")
    assert own.runs is not None
    assert own.runs.shape[0] == 2  # epochs are runs, never items
    assert len(found) == 12
    means = {s: [x for (_, own), x in by_row(found, "model_graded_qa").items() if own == s]
             for s in found.systems}  # fmt: skip
    assert np.allclose([np.mean(own) for own in means.values()], [0.75, 0.7083333333333334])


@pytest.mark.parametrize("name", ["out.json", "out.jsonl"])
def test_promptfoo(name):
    labels = {"item": ["1", "2"], "system": ["canned-b", "echo-plain"], "human": [1, 0]}
    found = read(SAMPLES / "promptfoo" / name, labels, judges=["success", "judge"])
    assert by_row(found, "human") == {("1", "canned-b"): 1, ("2", "echo-plain"): 0}
    success = by_row(found, "success")
    assert [success[item, "canned-b"] for item in "0123"] == [1, 1, 0, 1]
    assert by_row(found, "judge")["2", "canned-b"] == 0.3  # a score, though it is called judge


def test_fastchat_scores():
    labels = {"item": ["81/1"], "system": ["alpha"], "human": [9]}
    found = read(SAMPLES / "fastchat/model_judgment/made-judge_single.jsonl", labels)
    assert by_row(found, "made-judge")["81/1", "alpha"] == 7
    assert [own.name for own in found.raters] == ["human"]


def test_fastchat_pairs_keep_both_orders():
    labels = {"item": ["81/1", "82/1"], "left": ["beta", "alpha"], "right": ["alpha", "beta"],
              "human": ["right", "tie"]}  # fmt: skip
    found = read(PAIRS, labels)
    judge, human = found.judge("made-judge"), found.rater("human")
    assert judge.label is not None
    assert judge.other_order is not None
    assert found.left is not None
    assert found.right is not None
    at = {(found.items[code], found.systems[left], found.systems[right]): row
          for row, (code, left, right) in enumerate(zip(found.item, found.left, found.right,
                                                        strict=True))}  # fmt: skip
    first, second, failed = (at[item, "alpha", "beta"] for item in ("81/1", "82/1", "83/1"))
    assert (judge.label[first], judge.other_order[first], judge.value[first]) == (2, 2, 1)
    assert judge.value[second] == 0.5
    assert (judge.label[failed], judge.other_order[failed]) == (UNPARSED, 2)
    assert human.value[[first, second]].tolist() == [1, 0.5]  # told of our left
    assert any("could not be understood" in note for note in found.notes)


@pytest.mark.parametrize("version", ["arena-hard-v0.1", "arena-hard-v2.0"])
def test_arena_hard_shows_the_baseline_first_in_its_first_game(version, tmp_path):
    folder = SAMPLES / "arena-hard" / version
    base = "made-base" if version.endswith("2.0") else "baseline"
    item = "0" * (16 if base == "made-base" else 32)
    labels = {"item": [item], "left": ["alpha"], "right": [base], "human": ["right"]}
    found = read(folder, labels)
    judge = found.judge("made-judge")
    assert judge.other_order is not None
    assert judge.label is not None
    assert found.left is not None
    row = next(r for r in range(len(found)) if found.items[found.item[r]] == item
               and found.systems[found.left[r]] == "alpha")  # fmt: skip
    # Game 1, the baseline first: A>B, so the baseline. Game 2, the model first: A=B.
    assert (judge.other_order[row], judge.label[row], judge.value[row]) == (0, 1, 0.25)
    shutil.copytree(folder, tmp_path / "again")
    again = read(tmp_path / "again", labels).judge("made-judge")
    assert np.array_equal(again.value, judge.value, equal_nan=True)


def test_votes_in_which_people_are_called_judges():
    table = {"item": [1, 1, 2, 2], "left": ["A"] * 4, "right": ["B"] * 4, "winner": ["left",
             "right", "tie", "left"], "judge": ["author_0", "gpt-4"] * 2}  # fmt: skip
    found = read_verdicts([pl.DataFrame(table)], VerdictReading(human=["author*"]))
    assert [own.name for own in found.raters] == ["author_0"]
    assert found.rater("author_0").value.tolist() == [1, 0.5]
    assert found.judge("gpt-4").value.tolist() == [0, 1]
