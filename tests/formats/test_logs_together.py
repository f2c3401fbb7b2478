"""What holds of every tool's logs: found in folders, joined with labels, compared, converted."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from steelyard import load

SAMPLES = Path(__file__).parent / "samples"
#: Folder or file, the score, and rows that are chosen.
TOOLS = {
    "lm-eval/out": ("acc", {"task": "made_up_mc"}),
    "inspect/logs-eval": ("match", {}),
    "promptfoo/out.json": ("score", {}),
}


@pytest.mark.parametrize("where", TOOLS)
def test_joined_with_labels(where, tmp_path):
    score, select = TOOLS[where]
    log = load(SAMPLES / where, where=select)
    labels = [(system, item) for system in log.systems for item in log.segments.ids[:3]]
    path = tmp_path / "labels.csv"
    rows = [f'"{system}",{item},{i % 2}' for i, (system, item) in enumerate(labels)]
    path.write_text("\n".join(["system,segment,label", *rows]) + "\n")
    es = load(SAMPLES / where, path, human="label", where=select)
    assert es["label"].kind == "human"
    assert es[score].kind == "metric"
    assert es.n_segments == log.n_segments
    assert (~(es["label"].values != es["label"].values)).sum() == len(labels)


def test_logs_of_several_tools_in_one_folder(tmp_path, refusal):
    shutil.copytree(SAMPLES / "lm-eval" / "out", tmp_path / "d")
    shutil.copytree(SAMPLES / "inspect" / "logs-eval", tmp_path / "i")
    message = refusal(tmp_path)
    assert "2 of Inspect log, 4 of lm-evaluation-harness samples" in message
    assert load(tmp_path, format="Inspect log").systems == ("mockllm/alpha", "mockllm/beta")


@pytest.mark.parametrize("column", ["system", "segment"])
@pytest.mark.parametrize("where", TOOLS)
def test_without_a_column_that_is_needed(where, column, refusal):
    message = refusal(SAMPLES / where, ignore=[column])
    assert message.endswith(f"be read without column {column}")
